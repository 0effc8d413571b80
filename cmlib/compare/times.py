"""Compare run times of two versions of a program by function, and find whether layout or work explains a change.

:func:`compare_times` takes the times of both, DataFrames with one row per run, and returns a :class:`Speed` with the
verdict. Layout is the position of code and data in memory; work is the number of executed instructions. ValueError if
no function was timed in both, or all were timed in too few runs for any change to be significant.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from cmlib.compare.ratios import compute_smallest_p_value, estimate_paired_ratio, estimate_unpaired_ratio
from cmlib.errors import InputError

WHOLE = "whole program"
ELAPSED, PROCESSOR = "elapsed time", "processor time"

SLOWER, FASTER, NO_CHANGE = "slower", "faster", "no change"
INCONCLUSIVE, MOVED = "inconclusive", "moved"
LAYOUT, MEMORY, WORK = "layout", "layout or memory", "work"
_SHORTEST = 1e-9  # resolution of the clock [s]; shorter times are set to it
_SAME_WORK = 0.005  # largest relative difference of instructions in runs of the same work; 1e-4 is usual
_MOST_TIMES = 100  # largest proposed number of runs, as a multiple of the present number


@dataclass(frozen=True)
class Speed:
    """Result of a comparison of times.

    Attributes
    ----------
    verdict : {"slower", "faster", "no change", "inconclusive"}
        Verdict on the version; "no change" if all confidence intervals exclude relevant changes.
    p_value : float
        Smallest of all tests, corrected for their number.
    tests : DataFrame
        One row for each function and measure, the smallest p-value first: function, measure, verdict ("no change"
        includes inconclusive), ratio, low, high (95 % confidence interval if runs are in pairs; otherwise a range that
        leaves out drift), p_slower, p_faster (corrected, at most 1), significant (one of the two is at most alpha),
        relevant (the ratio is a relevant change), old_s, new_s (medians [s]).
    runs_needed : int or None
        For an inconclusive verdict, the number of runs of each version that would decide if the estimates did not
        change; None if more than a hundred times the present number would be needed, for example if a ratio is near the
        threshold.
    untested : tuple of (function, measure)
        Left out, because there were too few runs for any change to be significant.
    disagreeing : tuple of str
        Functions with a change of processor time, but no change of elapsed time in the same direction.
    """

    verdict: str
    p_value: float
    tests: pd.DataFrame
    runs_needed: int | None = None
    untested: tuple = ()
    disagreeing: tuple = ()

    @property
    def settled(self):
        """True unless the verdict is "inconclusive", so that more runs are needed."""
        return self.verdict != INCONCLUSIVE


def compare_times(old, new, *, alpha=0.002, smallest=0.04, paired=True, n_looks=1):
    """Compare the times of a new version with those of the old one.

    A function is slower if its time increased significantly and relevantly. The increase is significant if the
    one-sided p-value is at most `alpha` after Bonferroni's correction for the number of tests (functions and measures)
    and of looks. It is relevant if the ratio is at least 1 + `smallest`. A function is faster by the same rules.
    Elapsed time decides before processor time. If only processor time changed, the ratio of elapsed time must be
    relevant in the same direction, even if it is not significant; otherwise, the times disagree. The version is slower
    if one of its functions is, unless the whole program is faster. If none is slower, it is inconclusive if the times
    of a function disagree.

    Parameters
    ----------
    old, new : DataFrame of float, shape (n_runs, n_measures)
        Times [s], one row per run; columns: pairs of function and measure ("elapsed time", "processor time").
    alpha : float, default 0.002
        Accepted probability of a false alarm in either direction.
    smallest : float, default 0.04
        Smallest relevant change, as a share of the time.
    paired : bool, default True
        True if row k of one was recorded together with row k of the other.
    n_looks : int, default 1
        Number of times that the growing data are tested.

    Returns
    -------
    Speed
        The verdict, its p-value, and a table of all tests.

    Raises
    ------
    ValueError
        If no function was timed in both versions, or all were timed in too few runs for any change to be significant.
    """
    times = _select_times(old, new, paired)
    n_tests = len(times) * n_looks
    testable = _select_testable(times, n_tests, alpha, paired)
    tests = _test_all(testable, n_tests, alpha, smallest, paired)
    p_values = tests[["p_slower", "p_faster"]].min(axis=1)
    verdict_by_function, disagreeing = _judge_functions(tests)
    verdict = _judge_version(verdict_by_function, disagreeing)
    runs_needed = None
    is_irrelevant = (tests["high"] < 1 + smallest) & (tests["low"] > 1 / (1 + smallest))
    if verdict == NO_CHANGE and not is_irrelevant.all():
        verdict = INCONCLUSIVE
        n_runs = max(min(map(len, old_and_new)) for old_and_new in testable.values())
        runs_needed = _estimate_runs_needed(tests[~is_irrelevant], n_runs, alpha / n_tests, smallest)
    order = np.argsort(p_values, kind="stable")
    return Speed(
        verdict=verdict,
        p_value=float(p_values.min()),
        tests=tests.iloc[order].reset_index(drop=True),
        runs_needed=runs_needed,
        untested=tuple(column for column in times if column not in testable),
        disagreeing=disagreeing,
    )


def _select_times(old, new, paired):
    """Return (old times, new times), two arrays, for each (function, measure) that both versions have: a dict.

    InputError if there is none.
    """
    times = {}
    for column in old:
        if column in new:
            old_times, new_times = _select_finite(old[column], new[column], paired)
            if len(old_times) and len(new_times):
                times[column] = old_times, new_times
    if not times:
        raise InputError("no function was timed in both versions: there is nothing to compare")
    return times


def _select_testable(times, n_tests, alpha, paired):
    """Return the entries of `times` with enough runs for a significant change; InputError if there is none."""
    testable = {}
    for column, (old_times, new_times) in times.items():
        smallest_p_value = compute_smallest_p_value(len(old_times), len(new_times), paired=paired)
        if n_tests * smallest_p_value <= alpha:
            testable[column] = old_times, new_times
    if not testable:
        old_times, new_times = max(times.values(), key=lambda old_and_new: min(map(len, old_and_new)))
        raise InputError(
            f"{len(new_times)} runs of the new version against {len(old_times)} of the old one, at most: too few for "
            f"any change to be significant at {alpha:g} in {n_tests} tests. Record more runs."
        )
    return testable


def _test_all(times, n_tests, alpha, smallest, paired):
    """Return the rows of ``Speed.tests``, in the order of `times`."""
    estimate_ratio = estimate_paired_ratio if paired else estimate_unpaired_ratio
    rows = []
    for (function, measure), (old_times, new_times) in times.items():
        ratio = estimate_ratio(old_times, new_times)
        rows.append(
            {
                "function": function,
                "measure": measure,
                **_test(ratio, n_tests, alpha, smallest),
                "old_s": np.median(old_times),
                "new_s": np.median(new_times),
            }
        )
    return pd.DataFrame(rows)


def _estimate_runs_needed(tests, n_runs, alpha, smallest):
    """Estimate the number of runs with which each test would be decided; None if there are too many.

    A test with a ratio below the threshold is decided if its interval excludes the threshold, another test if its
    interval excludes 1. Intervals are assumed to narrow with the root of the number of runs, `n_runs` at present.
    """
    estimate = np.log(tests["ratio"]).abs()
    threshold = np.log1p(smallest)
    half_width = np.log(tests["high"] / tests["low"].where(tests["low"] > 0)) / 2
    to_significance = stats.norm.isf(alpha) / stats.norm.isf(0.025) * half_width / estimate
    narrowing = (half_width / (threshold - estimate)).where(estimate < threshold, to_significance)
    multiple = float((narrowing**2).max(skipna=False))
    return max(n_runs + 1, math.ceil(multiple * n_runs)) if multiple < _MOST_TIMES else None


def explain_by_code(verdict, same, instructions):
    """Correct a verdict on times by a comparison of the code, and name the cause of a change.

    Parameters
    ----------
    verdict : str
        Verdict of a :class:`Speed`.
    same : bool or None
        True if all code that ran is the same except for its addresses; None if unknown.
    instructions : float or None
        Instructions of the new version as a multiple of the old one's.

    Returns
    -------
    verdict : str
        For the same code, ``moved`` if it was slower or faster and ``no change`` otherwise; for other code `verdict`.
    cause : {"layout", "layout or memory", "work"} or None
        None if `verdict` is neither slower nor faster. For the same code, ``layout``. For other code, ``work`` if the
        instructions changed in the direction of the time by 0.5 % or more, ``layout or memory`` if they did not, and
        None if they are not known.
    """
    if verdict not in (SLOWER, FASTER):
        return NO_CHANGE if same else verdict, None
    if same:
        return MOVED, LAYOUT
    if instructions is None:
        return verdict, None
    more_work = math.log(instructions) if verdict == SLOWER else -math.log(instructions)
    return verdict, WORK if more_work >= math.log1p(_SAME_WORK) else MEMORY


def list_limits(verdict, *, paired=True, code_known=True, libc=False, repeats=True, times_agree=True):
    """List the keywords (str) for the limits of a verdict, for JSON output; empty if there are none.

    Parameters
    ----------
    verdict : str
    paired : bool, default True
        False adds ``not in pairs``.
    code_known : bool, default True
        True if the machine code of both versions could be compared. False adds ``code unknown``.
    libc : bool, default False
        True if the verdict depends on routines that libc chooses by processor; adds ``libc``.
    repeats : bool, default True
        True if the count of instructions is the same in each run. False adds ``varying work``.
    times_agree : bool, default True
        False if elapsed and processor time disagree.

    Returns
    -------
    list of str
        An inconclusive verdict also has ``times disagree`` or ``runs``; the verdict "moved" has ``layout``.
    """
    is_inconclusive = verdict == INCONCLUSIVE
    applies = {
        "runs": is_inconclusive and repeats and times_agree,
        "times disagree": is_inconclusive and not times_agree,
        "layout": verdict == MOVED,
        "not in pairs": not paired,
        "code unknown": not code_known,
        "libc": libc,
        "varying work": not repeats,
    }
    return [keyword for keyword, is_limit in applies.items() if is_limit]


def judge_layouts(here, layouts):
    """Judge a version by its times in several layouts, which are orders of functions in the binary.

    Parameters
    ----------
    here : Speed
        Comparison in the layout that was compared first.
    layouts : Speed
        Comparison over several layouts.

    Returns
    -------
    str
        ``moved`` if only the first layout shows a change, else the verdict over the layouts.
    """
    changed_here = here.verdict in (SLOWER, FASTER)
    return MOVED if changed_here and layouts.verdict == NO_CHANGE else layouts.verdict


def measure_layout_range(old, new):
    """Measure how much the layout alone changes the processor time of two versions.

    Parameters
    ----------
    old, new : DataFrame
        Times [s], one row per layout; columns are pairs of function and measure. Only the column ("whole program",
        "processor time") is used.

    Returns
    -------
    smallest, largest : float
        Smallest and largest time of either version, divided by the median of the version.
    """
    relative = [times[WHOLE, PROCESSOR] / times[WHOLE, PROCESSOR].median() for times in (old, new)]
    return float(min(map(np.min, relative))), float(max(map(np.max, relative)))


def _select_finite(old, new, paired):
    """Return arrays of both versions' finite times, of complete pairs if `paired`, at least the clock's resolution."""
    old_times, new_times = old.to_numpy(), new.to_numpy()
    if paired:
        n_pairs = min(len(old_times), len(new_times))
        old_times, new_times = old_times[:n_pairs], new_times[:n_pairs]
        is_complete = np.isfinite(old_times) & np.isfinite(new_times)
        old_times, new_times = old_times[is_complete], new_times[is_complete]
    return [np.maximum(times[np.isfinite(times)], _SHORTEST) for times in (old_times, new_times)]


def _test(ratio, n_tests, alpha, smallest):
    """Return the columns of a row of ``Speed.tests`` on significance and relevance (dict), from a Ratio."""
    p_slower = min(1.0, ratio.p_slower * n_tests)
    p_faster = min(1.0, ratio.p_faster * n_tests)
    is_significant = min(p_slower, p_faster) <= alpha
    is_relevant = not 1 / (1 + smallest) < ratio.ratio < 1 + smallest
    verdict = NO_CHANGE
    if is_significant and is_relevant:
        verdict = SLOWER if p_slower < p_faster else FASTER
    return {
        "verdict": verdict,
        "ratio": ratio.ratio,
        "low": ratio.low,
        "high": ratio.high,
        "p_slower": p_slower,
        "p_faster": p_faster,
        "significant": is_significant,
        "relevant": is_relevant,
    }


def _judge_functions(tests):
    """Return the verdicts on functions (dict), and the functions (tuple) whose two times disagree."""
    verdicts = {}
    disagreeing = []
    for function, rows in tests.groupby("function", sort=False):
        by_measure = rows.set_index("measure")
        changed = by_measure.loc[by_measure["verdict"] != NO_CHANGE, "verdict"]
        if ELAPSED in changed or (len(changed) and ELAPSED not in by_measure.index):
            verdicts[function] = changed.get(ELAPSED, changed.iloc[0])
        elif len(changed):
            elapsed = by_measure.loc[ELAPSED]
            direction = SLOWER if elapsed["ratio"] > 1 else FASTER
            if elapsed["relevant"] and direction == changed.iloc[0]:
                verdicts[function] = changed.iloc[0]
            else:
                disagreeing.append(function)
    return verdicts, tuple(disagreeing)


def _judge_version(verdicts, disagreeing):
    """Return the verdict on a version from those on its functions (dict)."""
    if verdicts.get(WHOLE) == FASTER:
        return FASTER
    if SLOWER in verdicts.values():
        return SLOWER
    if disagreeing:
        return INCONCLUSIVE
    return FASTER if FASTER in verdicts.values() else NO_CHANGE
