"""Compare simulated counts of two versions of a program: which events changed, and in which functions.

Events are Callgrind's: exact ones (executed instructions, loads, stores and branches) and modeled ones (cache misses
and mispredictions, by its model of caches and of a branch predictor). :func:`compare_counts` takes the counts of both
versions (DataFrames with one row per run), and returns a DataFrame with one row per event; :func:`compare_estimates`
returns the verdict ("slower", "may be slower", "faster", "same" or "inconclusive"). KeyError if an event is missing
from the counts.
"""

import numpy as np
import pandas as pd

from cmlib.compare.times import FASTER, INCONCLUSIVE, NO_CHANGE, SLOWER

MAY_BE_SLOWER, SAME = "may be slower", "same"
# Smallest relevant change of the estimated cycles. They differed by 0.001 % between 200 pairs of equal programs, on two
# sizes of caches, and by 3 % if a program's tables had other addresses.
LEAST_ESTIMATE = 0.05

_EXACT = "exact"
# A modeled event changes only if its cost changes by this share of the estimated cycles: 5 % of few misses is little.
_LEAST_COST = 0.001
# A change must be at least this multiple of the difference between runs of one version.
_TIMES_SPREAD = 5
_MOST_FUNCTIONS, _LEAST_SHARE = (
    5,
    0.1,
)  # functions named for an event at most, and their least share of its change


def compare_counts(old, new, table, smallest=0.005, smallest_modelled=0.02):
    """Compare simulated counts of two versions of a program, event by event.

    Parameters
    ----------
    old, new : DataFrame of float, shape (n_runs, n_events)
        Counts of whole runs, one row per run; columns are the events in the order of `table`.
    table : DataFrame
        Index: the events; columns ``kind`` ("exact" or "modelled") and ``weight`` (cycles that the estimate charges for
        one event), as :func:`cmlib.io.events.simulated_events` returns.
    smallest, smallest_modelled : float, default 0.005 and 0.02
        Smallest relevant change of exact and of modeled events, as a share of the old count.

    Returns
    -------
    DataFrame
        One row per event: event; kind; verdict (``more``, ``fewer``, ``no change``); ratio (new over old mean); old and
        new (means); spread (largest relative difference between runs of one version); threshold (smallest relative
        change that counts as a change: the smallest relevant one, or five times the spread if that is larger).
    """
    old_mean, new_mean = old.mean(), new.mean()
    difference = new_mean - old_mean
    is_exact = table["kind"] == _EXACT
    largest_spread = pd.concat([spread(old), spread(new)], axis=1).max(axis=1)
    smallest_relevant = pd.Series(np.where(is_exact, smallest, smallest_modelled), table.index)
    threshold = smallest_relevant.clip(lower=_TIMES_SPREAD * largest_spread)
    old_cycles = old_mean[table.index] @ table["weight"]
    is_costly = table["weight"] * difference.abs() >= _LEAST_COST * old_cycles
    is_relevant = (difference.abs() >= threshold * old_mean) & (difference != 0)
    ranges_are_disjoint = (new.min() > old.max()) | (new.max() < old.min())
    is_changed = is_relevant & ranges_are_disjoint & (is_costly | is_exact)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (new_mean / old_mean).where(old_mean > 0, np.where(new_mean > 0, np.inf, 1.0))
    verdict = np.where(is_changed, np.where(difference > 0, "more", "fewer"), NO_CHANGE)
    tests = table[["kind"]].assign(
        verdict=verdict, ratio=ratio, old=old_mean, new=new_mean, spread=largest_spread, threshold=threshold
    )
    return tests.rename_axis("event").reset_index()


def compare_estimates(tests, old, new, weight, smallest=0.02):
    """Decide whether a version is slower: by instructions, by estimated cycles, or by the misses' part of these.

    Parameters
    ----------
    tests : DataFrame
        Result of :func:`compare_counts`; its first row must be that of instructions, the only one that is used.
    old, new : DataFrame of float, shape (n_runs, n_events)
        Simulated counts, one row per run.
    weight : Series
        Cycles that the estimate charges for one event, by event: instructions first, then misses and mispredictions.
    smallest : float, default 0.02
        Smallest relevant change by misses, as a share of the old version's estimated cycles.

    Returns
    -------
    verdict : str
        ``slower``, ``may be slower`` (only misses increased), ``faster`` (fewer instructions, and misses did not
        increase), or ``same``; ``inconclusive`` if runs of one version differ so much that the smallest relevant change
        could not be recognized.
    ratio : float
        Estimated cycles of the new version, as a multiple of the old one's.
    by_misses : float
        Change of the cycles of misses and mispredictions, as a share of the old version's estimated cycles.
    threshold : float
        Smallest relative change of the estimated cycles with which a version is slower even with the same instructions.
    """
    old_cycles, new_cycles = (runs[weight.index] @ weight for runs in (old, new))
    old_misses, new_misses = (runs[weight.index[1:]] @ weight.iloc[1:] for runs in (old, new))
    noise = _TIMES_SPREAD * max(spread(old_cycles), spread(new_cycles))
    change = (new_cycles.mean() - old_cycles.mean()) / old_cycles.mean()
    by_misses = (new_misses.mean() - old_misses.mean()) / old_cycles.mean()
    threshold = max(LEAST_ESTIMATE, noise)
    instructions = tests.iloc[0]
    more_cycles = change >= threshold and new_cycles.min() > old_cycles.max()
    more_misses = by_misses >= max(smallest, noise) and new_misses.min() > old_misses.max()
    if instructions["verdict"] == "more" or more_cycles:
        verdict = SLOWER
    elif more_misses:
        verdict = MAY_BE_SLOWER
    elif instructions["verdict"] == "fewer":
        verdict = FASTER
    elif 0 < instructions["threshold"] <= _TIMES_SPREAD * instructions["spread"]:
        verdict = INCONCLUSIVE
    else:
        verdict = SAME
    return verdict, float(1 + change), float(by_misses), float(threshold)


def withhold_verdict(verdict, repetitions, n_instructions, n_threads, *, instructions, smallest=0.005):
    """Withdraw a verdict that simulated counts cannot support.

    The repetitions of string instructions (``rep movsb``) take an unknown time on a processor: between almost none
    and some cycles each. Threads run one at a time in a simulation, so that false sharing, locks and other contention
    have no effect.

    Parameters
    ----------
    verdict : str
        Verdict of :func:`compare_estimates`.
    repetitions : pair of float
        Repetitions of string instructions in a run of the old and of the new version.
    n_instructions : float
        Instructions in a run of the old version.
    n_threads : int
        Largest number of threads of either version.
    instructions : {"more", "fewer", "no change"}
        Change of the number of instructions, with each string instruction counted once.
    smallest : float, default 0.005
        Smallest relevant change, as a share of the instructions.

    Returns
    -------
    verdict : str
        The same verdict, or ``inconclusive``:

        - If several threads ran, ``same`` becomes ``inconclusive``.
        - If the repetitions changed by the smallest relevant change or more, the verdict becomes ``inconclusive``,
          unless it is ``slower`` with more repetitions and more instructions, or ``faster`` with fewer of both.
    reasons : list of str
        ``string instructions``, ``threads``, or both, if they limit the verdict.
    """
    reasons = []
    change = repetitions[1] - repetitions[0]
    if abs(change) >= smallest * n_instructions:
        reasons.append("string instructions")
        is_slower = verdict == SLOWER and instructions == "more" and change > 0
        is_faster = verdict == FASTER and instructions == "fewer" and change < 0
        if not (is_slower or is_faster):
            verdict = INCONCLUSIVE
    if n_threads > 1:
        reasons.append("threads")
        if verdict == SAME:
            verdict = INCONCLUSIVE
    return verdict, reasons


def blame_changes(tests, old, new, n_runs):
    """Find the functions that account for changed counts.

    For each event, at most five functions are listed, each with a tenth or more of the change.

    Parameters
    ----------
    tests : DataFrame
        Rows of :func:`compare_counts` on changed events.
    old, new : DataFrame
        Counts of each function itself: one row per function, one column per event, and the column ``file``.
    n_runs : int
        Number of simulated runs of each version.

    Returns
    -------
    DataFrame
        One row per event and function, with the columns of the table of causes by measured counters
        (`docs/compare-method.md`): ``counter`` (the event), ``kind``, ``votes`` (`n_runs`, because simulated runs
        agree), ``share`` (of the event's change), ``times_usual`` (new count divided by old count in the function),
        ``function`` and ``location`` (its file). No columns if there are no rows.
    """
    rows = [
        {"counter": test.event, "kind": test.kind, "votes": n_runs, **row}
        for test in tests.itertuples()
        for row in blame(old, new, test.event).to_dict("records")
    ]
    return pd.DataFrame(rows)


def blame(old, new, event):
    """Find the functions that account for the change of one event.

    Parameters
    ----------
    old, new : DataFrame
        Counts of each function itself, without its callees: one row per function, one column per event, and the column
        ``file``.
    event : str
        Name of the event.

    Returns
    -------
    DataFrame
        At most five functions with a tenth or more of the change, the largest share first: ``share`` (of the change),
        ``times_usual`` (new count divided by old count, infinite for a new function), ``function`` and ``location``
        (its file).
    """
    counts = pd.concat({"old": old[event], "new": new[event]}, axis=1).fillna(0.0)
    difference = counts["new"] - counts["old"]
    share = difference / difference.sum()
    largest = share[share >= _LEAST_SHARE].nlargest(_MOST_FUNCTIONS)
    before = counts.loc[largest.index, "old"]
    after = counts.loc[largest.index, "new"]
    ratio = (after / before.where(before > 0)).fillna(np.inf)
    files = new["file"].combine_first(old["file"])[largest.index]
    table = {"share": largest, "times_usual": ratio, "function": largest.index, "location": files}
    return pd.DataFrame(table).reset_index(drop=True)


def spread(runs):
    """Compute the largest difference between runs of one version, as a share of the smallest count.

    Parameters
    ----------
    runs : DataFrame or Series
        Counts, one row per run, one column per event; or one value per run.

    Returns
    -------
    Series or float
        By event, or one number. It is 0 for a single run; the divisor is at least 1.
    """
    return (runs.max() - runs.min()) / np.maximum(runs.min(), 1)
