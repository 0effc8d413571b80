"""Is a new version anomalous? Many runs against many, with the chance of a false alarm."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from cmlib.anomaly.detector import AutoPerf
from cmlib.anomaly.profiles import PLACE

FEWEST_GOOD = 5


@dataclass(frozen=True)
class Verdict:
    """What a comparison found.

    Attributes
    ----------
    anomalous : bool or None
        None if the comparison was refused.
    chance : float
        Of so large a difference between two recordings of the same version (0-1), over all functions; NaN if
        refused.
    functions : DataFrame
        The functions compared, the most suspicious first: function, chance (over all functions), anomalous,
        new_exceeding and good_exceeding (share of samples above the threshold).
    counters : DataFrame
        Causes in the anomalous functions, as `AutoPerf.causes` lists them; empty if none is.
    refused : tuple of str
        Why no comparison was made, and what to do; empty otherwise.
    """

    anomalous: bool | None
    chance: float
    functions: pd.DataFrame
    counters: pd.DataFrame
    refused: tuple[str, ...] = ()


def compare_versions(
    good_runs, new_runs, *, alpha=0.01, detector=None, good_machine=None, new_machine=None, random_state=0
):
    """Judge the runs of a new version by those of the one before.

    Parameters
    ----------
    good_runs, new_runs : sequence of DataFrame
        Normalized samples: function, location, and the counters.
    alpha : float, default 0.01
        Chance of a false alarm that is accepted.
    detector : AutoPerf, optional
        Settings; fitted to the good runs here.
    good_machine, new_machine : dict, optional
        Where they were recorded; what both tell must be equal, but for the load (load_1min).
    random_state : int

    Returns
    -------
    Verdict
    """
    refused = _reasons(good_runs, new_runs, alpha, good_machine, new_machine)
    if refused:
        return Verdict(None, math.nan, pd.DataFrame(), pd.DataFrame(), refused)
    fitted = (detector or AutoPerf(random_state=random_state)).fit(good_runs)
    return judge_runs(fitted, new_runs, alpha=alpha)


def judge_runs(detector, new_runs, *, alpha=0.01):
    """Judge new runs by a detector that is fitted already.

    For each function the distances half, and a tenth, of the samples of each new run exceed are ranked among
    those of the held-out good runs (Mann-Whitney, one-sided; Bonferroni over the two and over functions): a
    rank test, so that no shape of distribution is assumed. A function is anomalous if the chance is at most
    `alpha` and the difference matters: the median new run lies farther off than any good run. Between two
    recordings of one version there are such differences that are no chance but small, for machines drift.

    Parameters
    ----------
    detector : AutoPerf
    new_runs : sequence of DataFrame
    alpha : float

    Returns
    -------
    Verdict
    """
    new = pd.concat([detector.summary(run) for run in new_runs], ignore_index=True)
    good = detector.held_out_
    names = list(dict.fromkeys(new["function"]))
    rows = []
    for function in names:
        of_new, of_good = new[new["function"] == function], good[good["function"] == function]
        chance, matters = 1.0, False
        for part in ("half", "tenth"):
            p = stats.mannwhitneyu(of_new[part], of_good[part], alternative="greater").pvalue
            if p < chance:
                chance, matters = float(p), bool(of_new[part].median() > of_good[part].max())
        chance = min(1.0, chance * 2 * len(names))
        shares = (part["exceeding"].sum() / part["samples"].sum() for part in (of_new, of_good))
        rows.append((function, chance, matters and chance <= alpha, *shares))
    columns = ["function", "chance", "anomalous", "new_exceeding", "good_exceeding"]
    functions = pd.DataFrame(rows, columns=columns).sort_values("chance", kind="stable", ignore_index=True)
    bad = functions.loc[functions["anomalous"], "function"]
    causes = _causes(detector, new_runs, new, bad) if len(bad) else pd.DataFrame()
    return Verdict(bool(len(bad)), float(functions["chance"].min()), functions, causes)


def fewest_runs(n_good, n_functions, alpha):
    """New runs it takes for any difference to be significant.

    Parameters
    ----------
    n_good, n_functions : int
    alpha : float

    Returns
    -------
    int
        Smallest m for which the most extreme ranking of m among n_good has a chance of alpha or less.
    """
    needed = 1
    while 2 * n_functions / math.comb(n_good + needed, needed) > alpha:
        needed += 1
    return needed


def _causes(detector, runs, summary, functions):
    """Causes by the vote of anomalous samples; where the runs have few, by that of the farthest tenth."""
    samples = pd.concat(runs, ignore_index=True)
    tenth = summary.loc[summary["function"].isin(functions), "tenth"].median()
    return detector.causes(samples[samples["function"].isin(functions)], beyond=min(1.0, tenth))


def _reasons(good_runs, new_runs, alpha, good_machine, new_machine):
    reasons = []
    one, other = good_machine or {}, new_machine or {}
    differing = sorted(key for key in {*one} & {*other} - {"load_1min"} if one[key] != other[key])
    if differing:
        named = (f"{key} {one.get(key)} and {other.get(key)}" for key in differing)
        reasons.append(f"recorded on different machines ({', '.join(named)}): record both versions on one")
    if len(good_runs) < FEWEST_GOOD or not len(new_runs):
        reasons.append(
            f"{len(good_runs)} good and {len(new_runs)} new runs: at least {FEWEST_GOOD} good ones and 1 new are needed"
        )
        return tuple(reasons)
    events = [{column for column in run if column not in PLACE} for run in (*good_runs, *new_runs)]
    if any(other != events[0] for other in events):
        lacking = sorted(set.union(*events) - set.intersection(*events))
        reasons.append(
            f"not all runs counted {', '.join(lacking)}: record both versions with the same events"
        )
    known = set(np.concatenate([run["function"].unique() for run in good_runs]))
    asked = set(np.concatenate([run["function"].unique() for run in new_runs]))
    if asked - known:
        reasons.append(
            f"{', '.join(sorted(asked - known))} not in the good runs: put the regions around their callers"
        )
    needed = fewest_runs(len(good_runs), len(asked), alpha)
    if len(new_runs) < needed:
        reasons.append(
            f"{len(new_runs)} new runs against {len(good_runs)} good ones can't be told from chance at {alpha:g} "
            f"with {len(asked)} functions: record at least {needed} new runs, or more good ones"
        )
    return tuple(reasons)
