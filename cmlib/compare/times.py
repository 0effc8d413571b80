"""Compare run times of two versions of a program by function, and say whether layout or work explains a change.

:func:`compare_times` takes the times of both, DataFrames with a row per run, and gives a :class:`Speed` with the
verdict. Layout is where code and data lie in memory; work is the number of instructions executed. A ValueError if
nothing was timed in both, or all in too few runs for any change to be significant.
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
_SAME_WORK = 0.005  # relative difference of instructions in runs of the same work, at most; usual is 1e-4
_MOST_TIMES = 100  # no number of runs is proposed if it is more than so many times that of the runs there are


@dataclass(frozen=True)
class Speed:
    """Result of a comparison of times.

    Attributes
    ----------
    verdict : {"slower", "faster", "no change", "inconclusive"}
        Of the version; "no change" if all confidence intervals exclude relevant changes.
    p_value : float
        Smallest of all tests, corrected for their number.
    runs_needed : int or None
        For an inconclusive verdict: runs of each version that would decide, if the estimates stay as they are; None if
        more than a hundred times as many would be needed, as where a ratio is near the threshold.
    tests : DataFrame
        A row for each function and measure, the smallest p-value first: function, measure, verdict, ratio, low, high
        (95 % confidence interval of pairs; without pairs, a range that leaves out drift), p_slower, p_faster
        (corrected, at most 1), significant (one of the two is at most alpha), relevant (the ratio is), old_s, new_s
        (medians [s]). Here, "no change" includes inconclusive.
    untested : tuple of (function, measure)
        Left out, as there were too few runs for any change to be significant.
    disagreeing : tuple of str
        Functions whose processor time changed, while their elapsed time did not change in that direction.
    """

    verdict: str
    p_value: float
    tests: pd.DataFrame
    runs_needed: int | None = None
    untested: tuple = ()
    disagreeing: tuple = ()

    @property
    def settled(self):
        """True unless the verdict is "inconclusive": more runs would then be needed."""
        return self.verdict != INCONCLUSIVE


def compare_times(old, new, *, alpha=0.002, smallest=0.04, paired=True, n_looks=1):
    """Compare the times of a new version with those of the old one.

    A function is slower if its time has changed significantly, the one-sided p-value is at most `alpha` after
    Bonferroni's correction for the number of tests (functions and measures) and of looks; and relevantly, the
    ratio is at least 1 + `smallest`. Faster likewise. Elapsed time decides before processor time. If only processor
    time changed, the ratio of elapsed time must be relevant in the same direction, even if not significant;
    otherwise, the times disagree. The version is slower if one of its functions is, unless the whole program is
    faster; else it is inconclusive if the times of a function disagree.

    Parameters
    ----------
    old, new : DataFrame of float, shape (n_runs, n_measures)
        Times [s], a row per run; columns: pairs of function and measure ("elapsed time", "processor time").
    alpha : float, default 0.002
        False-alarm probability that is accepted, for either direction.
    smallest : float, default 0.04
        Smallest relevant change, as a share of the time.
    paired : bool, default True
        Whether row k of one was recorded together with row k of the other.
    n_looks : int, default 1
        How often the growing data are tested in all.

    Returns
    -------
    Speed
        The verdict, its p-value, and a table of all tests.

    Raises
    ------
    ValueError
        If nothing was timed in both, or everything in too few runs for any change to be significant.
    """
    timed = {column: _times(old[column], new[column], paired) for column in old if column in new}
    timed = {column: times for column, times in timed.items() if all(map(len, times))}
    if not timed:
        raise InputError("no function was timed in both versions: there is nothing to compare")
    n_tests = len(timed) * n_looks
    least = {
        column: compute_smallest_p_value(*map(len, times), paired=paired) for column, times in timed.items()
    }
    testable = {column: times for column, times in timed.items() if n_tests * least[column] <= alpha}
    if not testable:
        old_times, new_times = max(timed.values(), key=lambda times: min(map(len, times)))
        raise InputError(
            f"{len(new_times)} runs of the new version against {len(old_times)} of the old one, at most: too few for "
            f"any change to be significant at {alpha:g} in {n_tests} tests. Record more runs."
        )
    untested = tuple(column for column in timed if column not in testable)
    compare = estimate_paired_ratio if paired else estimate_unpaired_ratio
    tests = pd.DataFrame(
        [
            {"function": function, "measure": measure}
            | _test(compare(*times), n_tests, alpha, smallest)
            | dict(zip(("old_s", "new_s"), map(np.median, times), strict=True))
            for (function, measure), times in testable.items()
        ]
    )
    p_values = tests[["p_slower", "p_faster"]].min(axis=1)
    verdict_by_function, disagreeing = _judge_functions(tests)
    verdict = _judge_version(verdict_by_function, disagreeing)
    irrelevant = (tests["high"] < 1 + smallest) & (tests["low"] > 1 / (1 + smallest))
    order = np.argsort(p_values, kind="stable")
    needed = None
    if verdict == NO_CHANGE and not irrelevant.all():
        verdict, n = INCONCLUSIVE, max(min(map(len, times)) for times in testable.values())
        needed = _runs_needed(tests[~irrelevant], n, alpha / n_tests, smallest)
    return Speed(
        verdict,
        float(p_values.min()),
        tests.iloc[order].reset_index(drop=True),
        needed,
        untested,
        disagreeing,
    )


def _runs_needed(tests, n, alpha, smallest):
    """Number of runs with which each test's interval would exclude the threshold, or 1; None if too many.

    Intervals are assumed to narrow with the root of the number of runs, `n` at present.
    """
    estimate, threshold = np.log(tests["ratio"]).abs(), np.log1p(smallest)
    half_width = np.log(tests["high"] / tests["low"].where(tests["low"] > 0)) / 2
    to_significance = stats.norm.isf(alpha) / stats.norm.isf(0.025) * half_width / estimate
    ratio = (half_width / (threshold - estimate)).where(estimate < threshold, to_significance)
    times = float((ratio**2).max(skipna=False))
    return max(n + 1, math.ceil(times * n)) if times < _MOST_TIMES else None


def explain_by_code(verdict, same, instructions):
    """Correct a verdict on times by what is known of the code, and name the cause of a change.

    Parameters
    ----------
    verdict : str
        That of a :class:`Speed`.
    same : bool or None
        True if all code that ran is the same but for its addresses; None if unknown.
    instructions : float or None
        Instructions of the new version as a multiple of the old one's.

    Returns
    -------
    verdict : str
        For the same code, ``moved`` if it was slower or faster and ``no change`` otherwise; else `verdict`.
    cause : {"layout", "layout or memory", "work"} or None
        None if `verdict` is neither slower nor faster. Else ``layout`` for the same code; for any other None if
        instructions are not known, ``work`` if they changed in the direction of the time, by 0.5 % or more, and
        ``layout or memory`` if they did not.
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
    """List the keywords (str) for what limits a verdict, for JSON output; empty if nothing does.

    ``runs`` if it is inconclusive, ``layout`` if it is "moved", ``not in pairs`` if runs were not `paired`, ``code
    unknown`` unless `code_known` (both versions' machine code could be compared), ``libc`` if it depends on
    routines that `libc` chooses by processor, ``varying work`` unless the count of instructions `repeats` from run
    to run; ``times disagree`` if it is inconclusive because elapsed and processor time do not agree.
    """
    disagreeing = verdict == INCONCLUSIVE and not times_agree
    holds = {
        "runs": verdict == INCONCLUSIVE and repeats and times_agree,
        "times disagree": disagreeing,
        "layout": verdict == MOVED,
        "not in pairs": not paired,
        "code unknown": not code_known,
        "libc": libc,
        "varying work": not repeats,
    }
    return [name for name, limiting in holds.items() if limiting]


def judge_layouts(here, layouts):
    """Verdict (str) over several layouts, which are orders of functions in the binary.

    `here` is the Speed of the one layout that was compared first, `layouts` that of several; ``moved`` if only the
    former showed a change, else the verdict of `layouts`.
    """
    changed_here = here.verdict in (SLOWER, FASTER)
    return MOVED if changed_here and layouts.verdict == NO_CHANGE else layouts.verdict


def measure_layout_range(old, new):
    """Least and most processor time of either version in any layout, as multiples of its median over layouts.

    `old` and `new` are DataFrames of times [s], a row per layout; columns are pairs of function and measure, of which
    ("whole program", "processor time") is used. Returns a tuple of two floats.
    """
    relative = [times[WHOLE, PROCESSOR] / times[WHOLE, PROCESSOR].median() for times in (old, new)]
    return float(min(map(np.min, relative))), float(max(map(np.max, relative)))


def _times(old, new, paired):
    """Arrays of both versions' finite times, of pairs if `paired`."""
    both = [old.to_numpy(), new.to_numpy()]
    if paired:
        n = min(map(len, both))
        usable = np.isfinite(both[0][:n]) & np.isfinite(both[1][:n])
        both = [times[:n][usable] for times in both]
    return [np.maximum(times[np.isfinite(times)], _SHORTEST) for times in both]


def _test(estimate, n_tests, alpha, smallest):
    """A row of ``Speed.tests`` as a dict, from a Ratio."""
    slower, faster = (min(1.0, p * n_tests) for p in (estimate.p_slower, estimate.p_faster))
    significant = min(slower, faster) <= alpha
    relevant = not 1 / (1 + smallest) < estimate.ratio < 1 + smallest
    changed = SLOWER if slower < faster else FASTER
    verdict = changed if significant and relevant else NO_CHANGE
    row = {"verdict": verdict} | vars(estimate) | {"p_slower": slower, "p_faster": faster}
    return row | {"significant": significant, "relevant": relevant}


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
