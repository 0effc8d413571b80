"""How well runs of known kind are told apart: a row of AutoPerf's Table 2."""

import pandas as pd


def evaluate(detector, good_runs, bad_runs, *, cause=None):
    """Judge good and bad runs one by one.

    Parameters
    ----------
    detector : AutoPerf or a baseline
        Fitted to other runs.
    good_runs, bad_runs : sequence of DataFrame
    cause : collection of str
        Counters of the detector any of which is the true cause (for contention, the HITM-equivalent events).
        None: causes are not asked for.

    Returns
    -------
    Series
        good, bad (runs judged), false_negatives, false_positives, precision, recall, f1 (§5.3; 0 where
        nothing was found), cause_rank: the best rank of a true cause among the counters, in the median bad
        run that was found (1 is first; NaN if none was, or no cause is asked for), and named: the counter
        that is first in most of these runs (empty if none was, or causes are not asked for).
    """
    positives = [run for run, hit in zip(bad_runs, detector.predict_runs(bad_runs), strict=True) if hit]
    false_positives = sum(detector.predict_runs(good_runs))
    true_positives = len(positives)
    precision = true_positives / (true_positives + false_positives) if true_positives else 0.0
    recall = true_positives / len(bad_runs) if bad_runs else 0.0
    causes = [] if cause is None else [list(detector.causes(run)["counter"]) for run in positives]
    firsts = pd.Series([counters[0] for counters in causes if counters], dtype=object)
    ranks = [1 + min(map(counters.index, cause)) for counters in causes if counters and cause]
    return pd.Series(
        {
            "good": len(good_runs),
            "bad": len(bad_runs),
            "false_negatives": len(bad_runs) - true_positives,
            "false_positives": false_positives,
            "precision": precision,
            "recall": recall,
            "f1": 2 * precision * recall / (precision + recall) if true_positives else 0.0,
            "cause_rank": pd.Series(ranks, dtype=float).median(),
            "named": "" if firsts.empty else firsts.mode()[0],
        }
    )
