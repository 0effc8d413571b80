"""Find the events and functions in which simulated counts of two versions differ.

:func:`compare_counts` takes the counts of both versions and returns a table with one row per event.
:func:`compare_estimates` returns a verdict on the new version. :func:`blame_changes` finds the functions that
changed. Counts are from Valgrind's Callgrind. Exact events are instructions, loads, stores and branches.
Modeled events are misses and mispredictions in a model of the caches and of a branch predictor.
"""

from typing import Any

import numpy as np
import pandas as pd

from cmlib.compare.times import FASTER, INCONCLUSIVE, NO_CHANGE, SLOWER

_MAY_BE_SLOWER = "may be slower"
_SAME = "same"
# Smallest relevant change of the estimated cycles. The difference was 0.001 % in 200 pairs of equal programs, and 3 %
# if only the addresses of a program's tables differed.
_LEAST_ESTIMATE = 0.05

_EXACT = "exact"
# A modeled event changes only if its cycles change by this fraction of the estimated cycles.
_LEAST_COST = 0.001
# A change must be at least this multiple of the difference between runs of one version.
_TIMES_SPREAD = 5
_MOST_FUNCTIONS = 5  # largest number of functions of an event
_LEAST_SHARE = 0.1  # smallest fraction of the change in such a function


def compare_counts(
    old: pd.DataFrame,
    new: pd.DataFrame,
    table: pd.DataFrame,
    smallest: float = 0.005,
    smallest_modelled: float = 0.02,
) -> pd.DataFrame:
    """Compare the simulated counts of two versions, event by event.

    Parameters
    ----------
    old, new : DataFrame of float, shape (n_runs, n_events)
        Counts of complete runs, one column per event of `table`.
    table : DataFrame
        Result of :func:`cmlib.io.events.simulated_events`. Index: events. Columns: ``kind`` ("exact" or
        "modelled") and ``weight`` (estimated cycles of one event).
    smallest : float, default 0.005
        Smallest relevant change of exact events, as a fraction of the old count.
    smallest_modelled : float, default 0.02
        Smallest relevant change of modeled events, as a fraction of the old count.

    Returns
    -------
    DataFrame
        One row per event, with the following columns:

        - ``event``, ``kind``: name and kind of the event
        - ``verdict``: "more", "fewer" or "no change"
        - ``ratio``: new mean divided by old mean
        - ``old``, ``new``: mean counts
        - ``spread``: largest relative difference between runs of one version
        - ``threshold``: smallest relevant change, or five times the spread if that is larger
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


def compare_estimates(
    tests: pd.DataFrame, old: pd.DataFrame, new: pd.DataFrame, weight: pd.Series, smallest: float = 0.02
) -> tuple[str, float, float, float]:
    """Judge a version by its instructions, misses and estimated cycles.

    Parameters
    ----------
    tests : DataFrame
        Result of :func:`compare_counts`. Only the first row is used, which must be about instructions.
    old, new : DataFrame of float, shape (n_runs, n_events)
        Simulated counts, one row per run.
    weight : Series
        Estimated cycles of one event, indexed by event name. Instructions come first.
    smallest : float, default 0.02
        Smallest change of the cycles of misses that is reported, as a fraction of all estimated cycles.

    Returns
    -------
    verdict : str
        One of the following:

        - ``slower``: instructions or estimated cycles increased by more than their thresholds
        - ``may be slower``: misses increased, but the estimated cycles did not increase by more than `threshold`
        - ``faster``: instructions decreased, and misses did not increase
        - ``same``: no relevant change
        - ``inconclusive``: runs of one version differ too much to recognize a relevant change
    ratio : float
        Estimated cycles, new divided by old.
    by_misses : float
        Change of the cycles of misses, as a fraction of the old estimated cycles.
    threshold : float
        Smallest change of the estimated cycles that is reported, as a fraction. It is computed from the spread of the
        runs.
    """
    old_cycles, new_cycles = (runs[weight.index] @ weight for runs in (old, new))
    old_misses, new_misses = (runs[weight.index[1:]] @ weight.iloc[1:] for runs in (old, new))
    noise = _TIMES_SPREAD * max(spread(old_cycles), spread(new_cycles))
    change = (new_cycles.mean() - old_cycles.mean()) / old_cycles.mean()
    by_misses = (new_misses.mean() - old_misses.mean()) / old_cycles.mean()
    threshold = max(_LEAST_ESTIMATE, noise)
    instructions = tests.iloc[0]
    more_cycles = change >= threshold and new_cycles.min() > old_cycles.max()
    more_misses = by_misses >= max(smallest, noise) and new_misses.min() > old_misses.max()
    if instructions["verdict"] == "more" or more_cycles:
        verdict = SLOWER
    elif more_misses:
        verdict = _MAY_BE_SLOWER
    elif instructions["verdict"] == "fewer":
        verdict = FASTER
    elif 0 < instructions["threshold"] <= _TIMES_SPREAD * instructions["spread"]:
        verdict = INCONCLUSIVE
    else:
        verdict = _SAME
    return verdict, float(1 + change), float(by_misses), float(threshold)


def withhold_verdict(
    verdict: str,
    repetitions: tuple[float, float],
    n_instructions: float,
    n_threads: int,
    *,
    instructions: str,
    smallest: float = 0.005,
) -> tuple[str, list[str]]:
    """Change a verdict to "inconclusive" if simulated counts do not support it.

    String instructions (``rep movsb``) repeat one operation. The time of a repetition on a processor is
    unknown. Threads are simulated one at a time, so that contention has no effect.

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
        Change of the number of instructions. Repetitions are not included.
    smallest : float, default 0.005
        Smallest relevant change of the repetitions, as a fraction of `n_instructions`.

    Returns
    -------
    verdict : str
        The given verdict or ``inconclusive``.
    reasons : list of str
        Why the counts do not support a clear verdict: "string instructions", "threads" or both. Empty if they
        do.
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
        if verdict == _SAME:
            verdict = INCONCLUSIVE
    return verdict, reasons


def blame_changes(tests: pd.DataFrame, old: pd.DataFrame, new: pd.DataFrame, n_runs: int) -> pd.DataFrame:
    """Find the functions that cause the changes of counts.

    At most five functions are listed per event, each with a tenth or more of the change.

    Parameters
    ----------
    tests : DataFrame
        Rows of :func:`compare_counts` with changed events.
    old, new : DataFrame
        Counts in each function without its callees. One row per function, one column per event, and the
        column ``file``.
    n_runs : int
        Number of simulated runs of each version.

    Returns
    -------
    DataFrame
        One row per event and function, with the following columns:

        - ``counter``, ``kind``: name and kind of the event
        - ``votes``: `n_runs`, because all simulated runs agree
        - ``share``: fraction of the event's change that is in the function
        - ``times_usual``: new count of the function divided by its old count
        - ``function``, ``location``: name and file of the function
    """
    rows = [
        {"counter": test.event, "kind": test.kind, "votes": n_runs, **row}
        for test in tests.itertuples()
        for row in blame(old, new, test.event).to_dict("records")
    ]
    return pd.DataFrame(rows)


def blame(old: pd.DataFrame, new: pd.DataFrame, event: str) -> pd.DataFrame:
    """Find the functions that cause the change of one event.

    Parameters
    ----------
    old, new : DataFrame
        Counts in each function without its callees. One row per function, one column per event, and the
        column ``file``.
    event : str
        Name of the event.

    Returns
    -------
    DataFrame
        At most five functions with a tenth or more of the change, largest share first. Columns are ``share``,
        ``times_usual``, ``function`` and ``location``, as in :func:`blame_changes`. The ratio ``times_usual``
        of a new function is infinite.
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


def spread(runs: pd.DataFrame | pd.Series) -> Any:
    """Compute the relative difference between the largest and the smallest run.

    Parameters
    ----------
    runs : DataFrame or Series
        Counts, one row per run. A DataFrame has one column per event.

    Returns
    -------
    Series or float
        Difference divided by the smallest count, or by 1 if the count is smaller. A DataFrame gives one value
        per event.
    """
    return (runs.max() - runs.min()) / np.maximum(runs.min(), 1)
