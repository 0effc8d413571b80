"""Compare the run times of two versions of a program, function by function.

:func:`compare_times` takes one DataFrame of times per version, with one row per run, and returns a
:class:`Speed` with the verdict. :func:`explain_by_code` and :func:`judge_layouts` find whether a change is
due to the memory layout. The memory layout is the position of code and data in memory. A measure is "elapsed
time" or "processor time".
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from cmlib.compare.ratios import (
    Ratio,
    compute_smallest_p_value,
    estimate_paired_ratio,
    estimate_unpaired_ratio,
)
from cmlib.errors import InputError

WHOLE = "whole program"
ELAPSED, PROCESSOR = "elapsed time", "processor time"

SLOWER, FASTER, NO_CHANGE = "slower", "faster", "no change"
INCONCLUSIVE, MOVED = "inconclusive", "moved"
LAYOUT, _MEMORY, WORK = "layout", "layout or memory", "work"
_SHORTEST = 1e-9  # resolution of the clock [s]; shorter times are set to it
_SAME_WORK = 0.005  # largest relative difference of instructions in runs of the same work; 1e-4 is usual
_MOST_TIMES = 100  # largest proposed number of runs, as a multiple of the present number

# Arrays of old and new times [s], keyed by function and measure
_Times = dict[tuple[str, str], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Speed:
    """Result of comparing the times of two versions.

    Attributes
    ----------
    verdict : {"slower", "faster", "no change", "inconclusive"}
        Verdict on the new version. "no change" if all confidence intervals exclude relevant changes.
    p_value : float
        Smallest corrected p-value of all tests.
    tests : DataFrame
        One row per function and measure, smallest p-value first, with the following columns:

        - ``function``, ``measure``: what was timed
        - ``verdict``: "slower", "faster" or "no change" (including inconclusive tests)
        - ``ratio``: new time divided by old time
        - ``low``, ``high``: 95 % confidence interval of the ratio. Without pairs of runs, the interval does
          not include drift.
        - ``p_slower``, ``p_faster``: corrected one-sided p-values
        - ``significant``: one of the p-values is at most `alpha`
        - ``relevant``: the ratio is a relevant change
        - ``old_s``, ``new_s``: median times [s]
    runs_needed : int or None
        Estimated number of runs of each version for a clear verdict. None if the verdict is clear, or if more
        than a hundred times the present number would be needed.
    untested : tuple of (function, measure)
        Times with too few runs for a significant change.
    disagreeing : tuple of str
        Functions whose elapsed and processor time disagree.
    """

    verdict: str
    p_value: float
    tests: pd.DataFrame
    runs_needed: int | None = None
    untested: tuple = ()
    disagreeing: tuple = ()

    @property
    def settled(self) -> bool:
        """True if the verdict is not "inconclusive"."""
        return self.verdict != INCONCLUSIVE


def compare_times(
    old: pd.DataFrame,
    new: pd.DataFrame,
    *,
    alpha: float = 0.002,
    smallest: float = 0.04,
    paired: bool = True,
    n_looks: int = 1,
) -> Speed:
    """Compare the times of a new version with those of the old version.

    A function is slower if its time increased significantly and relevantly. The change is significant if the
    one-sided p-value is at most `alpha` after Bonferroni's correction. It is relevant if the ratio is at
    least 1 + `smallest`. Faster functions are found by the same rules.

    The version is slower if one of its functions is slower, unless the whole program is faster.

    Parameters
    ----------
    old, new : DataFrame of float, shape (n_runs, n_measures)
        Times [s], one row per run. Columns are pairs of function and measure ("elapsed time" or "processor
        time").
    alpha : float, default 0.002
        Probability of a false alarm in either direction.
    smallest : float, default 0.04
        Smallest relevant change, as a fraction of the time.
    paired : bool, default True
        True if row k of `old` was recorded together with row k of `new`.
    n_looks : int, default 1
        Number of times that the growing data are tested.

    Returns
    -------
    Speed

    Raises
    ------
    InputError
        If no function was timed in both versions, or if no change can be significant with so few runs.
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


def _select_times(old: pd.DataFrame, new: pd.DataFrame, paired: bool) -> _Times:
    """Select the times that both versions have, keyed by function and measure."""
    times = {}
    for column in old:
        if column in new:
            old_times, new_times = _select_finite(old[column], new[column], paired)
            if len(old_times) and len(new_times):
                times[column] = old_times, new_times
    if not times:
        raise InputError("no function was timed in both versions, so that nothing can be compared")
    return times


def _select_testable(times: _Times, n_tests: int, alpha: float, paired: bool) -> _Times:
    """Select the times with enough runs for a significant change."""
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


def _test_all(times: _Times, n_tests: int, alpha: float, smallest: float, paired: bool) -> pd.DataFrame:
    """Test each function and measure, and return the rows of ``Speed.tests``."""
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


def _estimate_runs_needed(tests: pd.DataFrame, n_runs: int, alpha: float, smallest: float) -> int | None:
    """Estimate the number of runs for clear results of all tests, or None if it is too large.

    Intervals are assumed to narrow with the square root of the number of runs.
    """
    # A ratio below the threshold is decided if its interval excludes the threshold, another ratio if it excludes 1.
    estimate = np.log(tests["ratio"]).abs()
    threshold = np.log1p(smallest)
    half_width = np.log(tests["high"] / tests["low"].where(tests["low"] > 0)) / 2
    to_significance = stats.norm.isf(alpha) / stats.norm.isf(0.025) * half_width / estimate
    narrowing = (half_width / (threshold - estimate)).where(estimate < threshold, to_significance)
    multiple = float((narrowing**2).max(skipna=False))
    return max(n_runs + 1, math.ceil(multiple * n_runs)) if multiple < _MOST_TIMES else None


def explain_by_code(verdict: str, same: bool | None, instructions: float | None) -> tuple[str, str | None]:
    """Correct a verdict on times by a comparison of the code.

    Parameters
    ----------
    verdict : str
        Verdict of :func:`compare_times`.
    same : bool or None
        True if the executed code differs only in its addresses. None if unknown.
    instructions : float or None
        Instructions of the new version divided by instructions of the old version. None if unknown.

    Returns
    -------
    verdict : str
        If the code is the same, ``moved`` for a changed time and ``no change`` otherwise. If it is not, the
        given verdict.
    cause : {"layout", "layout or memory", "work"} or None
        Cause of the changed time:

        - ``layout``: the code is the same
        - ``work``: instructions changed by 0.5 % or more in the direction of the time
        - ``layout or memory``: instructions did not change in this way
        - None: the time did not change, or instructions are unknown
    """
    if verdict not in (SLOWER, FASTER):
        return NO_CHANGE if same else verdict, None
    if same:
        return MOVED, LAYOUT
    if instructions is None:
        return verdict, None
    more_work = math.log(instructions) if verdict == SLOWER else -math.log(instructions)
    return verdict, WORK if more_work >= math.log1p(_SAME_WORK) else _MEMORY


def list_limits(
    verdict: str,
    *,
    paired: bool = True,
    code_known: bool = True,
    libc: bool = False,
    repeats: bool = True,
    times_agree: bool = True,
) -> list[str]:
    """List the reasons that make a verdict less certain, as keywords.

    Parameters
    ----------
    verdict : str
        Verdict on the new version.
    paired : bool, default True
        False adds ``not in pairs``.
    code_known : bool, default True
        True if the machine code of both versions was compared. False adds ``code unknown``.
    libc : bool, default False
        True if the verdict depends on functions of the C library that are chosen by processor. True adds
        ``libc``.
    repeats : bool, default True
        True if all runs have the same number of instructions. False adds ``varying work``.
    times_agree : bool, default True
        False if elapsed and processor time disagree.

    Returns
    -------
    list of str
        An inconclusive verdict adds ``times disagree`` or ``runs``. The verdict ``moved`` adds ``layout``.
        Empty if there is no such reason.
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


def judge_layouts(first_layout: Speed, all_layouts: Speed) -> str:
    """Judge a version by its times in several memory layouts.

    Parameters
    ----------
    first_layout : Speed
        Comparison in the first layout.
    all_layouts : Speed
        Comparison over several layouts.

    Returns
    -------
    str
        ``moved`` if times changed only in the first layout. Otherwise the verdict over all layouts.
    """
    if first_layout.verdict in (SLOWER, FASTER) and all_layouts.verdict == NO_CHANGE:
        return MOVED
    return all_layouts.verdict


def measure_layout_range(old: pd.DataFrame, new: pd.DataFrame) -> tuple[float, float]:
    """Compute the range of processor times over memory layouts.

    Parameters
    ----------
    old, new : DataFrame
        Times [s], one row per layout. Columns are pairs of function and measure, including ("whole program",
        "processor time").

    Returns
    -------
    smallest, largest : float
        Smallest and largest time of either version, divided by the median of the version.
    """
    relative = [times[WHOLE, PROCESSOR] / times[WHOLE, PROCESSOR].median() for times in (old, new)]
    return float(min(map(np.min, relative))), float(max(map(np.max, relative)))


def _select_finite(old: pd.Series, new: pd.Series, paired: bool) -> list[np.ndarray]:
    """Select the finite times of both versions. If runs are paired, select complete pairs.

    Times below the resolution of the clock are set to the resolution.
    """
    old_times, new_times = old.to_numpy(), new.to_numpy()
    if paired:
        n_pairs = min(len(old_times), len(new_times))
        old_times, new_times = old_times[:n_pairs], new_times[:n_pairs]
        is_complete = np.isfinite(old_times) & np.isfinite(new_times)
        old_times, new_times = old_times[is_complete], new_times[is_complete]
    return [np.maximum(times[np.isfinite(times)], _SHORTEST) for times in (old_times, new_times)]


def _test(ratio: Ratio, n_tests: int, alpha: float, smallest: float) -> dict:
    """Return the columns of ``Speed.tests`` on significance and relevance."""
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


def _judge_functions(tests: pd.DataFrame) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the verdict on each changed function, and the functions whose two times disagree.

    Elapsed time decides before processor time. If only the processor time changed significantly, the elapsed
    time must change relevantly in the same direction. Otherwise, the two times disagree.
    """
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


def _judge_version(verdicts: dict[str, str], disagreeing: tuple[str, ...]) -> str:
    """Return the verdict on a version from the verdicts on its functions."""
    if verdicts.get(WHOLE) == FASTER:
        return FASTER
    if SLOWER in verdicts.values():
        return SLOWER
    if disagreeing:
        return INCONCLUSIVE
    return FASTER if FASTER in verdicts.values() else NO_CHANGE
