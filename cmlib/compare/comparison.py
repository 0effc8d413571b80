"""Compare two versions of a program by times and counts, and find out whether the new one is slower, and where.

:func:`compare_programs` takes two commands or recordings (text), and returns the result as a dict: verdict, times by
function with intervals, counters that differ, and more. The verdict is computed after a quarter, a half and all of the
runs (each is called a look), until it is clear. CmlibError if a command fails or the two can't be compared, ValueError
if there are too few times.
"""

import math
from contextlib import closing
from dataclasses import asdict, dataclass, replace

import pandas as pd

from cmlib.anomaly.detector import AutoPerf
from cmlib.compare.code import compare_code
from cmlib.compare.counters import VersionComparison, compare_versions, list_obstacles
from cmlib.compare.layouts import check_layouts, put_back, time_layouts
from cmlib.compare.report import make_report, to_rows
from cmlib.compare.source_changes import changed_functions, mark_named
from cmlib.compare.times import (
    LAYOUT,
    MOVED,
    NO_CHANGE,
    compare_times,
    explain_by_code,
    judge_layouts,
    list_limits,
    measure_layout_range,
)
from cmlib.compare.versions import VersionCommand, check_free, generate_pairs, is_recording, save_pair
from cmlib.errors import CmlibError
from cmlib.io.archive.runs import PERF
from cmlib.io.events import CYCLES, counters_with_role
from cmlib.locations import LOCATION_COLUMNS
from cmlib.terminal import say

COUNTERS = "counters differ"  # the verdict if counts differ, but not times
# Smallest relevant change of times recorded on two occasions: unchanged programs (data/regions) differed by up to 17 %.
DRIFT = 0.25
_UNBOUNDED = 1e12  # ratios of this size or more become None in the result: the old count was 0, or nearly


def compare_programs(
    old,
    new,
    *,
    events=None,
    n_runs=40,
    alpha=0.002,
    smallest=0.04,
    keep=None,
    sources=None,
    timeout=None,
    layouts=None,
    build=None,
    seed=0,
    notify=say,
    progress=lambda: None,
):
    """Record two versions, or read their recordings, and judge the new one by the old one.

    Parameters
    ----------
    old, new : str
        Commands, or JSON files that an earlier call wrote into its folder `keep`.
    events : str, optional
        Comma-separated names of the events to count when commands run. Default: a list for the processor.
    n_runs : int, default 40
        Maximum number of runs of each command; fewer are made if the verdict is clear.
    alpha : float, default 0.002
        Accepted probability of a false alarm.
    smallest : float, default 0.04
        Smallest relevant change, as a share of the time; at least 0.25 if runs of both versions did not alternate.
    keep : path, optional
        Folder for the recordings of commands. Default: they are not kept.
    sources : pair of paths, optional
        Source files of both, to name changed functions.
    timeout : float, optional
        Time limit of each run [s].
    layouts : int, optional
        Number of memory layouts of both programs that are timed, too.
    build : str, optional
        Shell command that links both programs again in each layout. Default: only the stack is moved.
    seed : int, default 0
        Seed of the random order within pairs, of layouts, and of the autoencoders.
    notify, progress : callable
        Called with a sentence (str) on the progress; called without arguments after each run.

    Returns
    -------
    dict
        The output of ``--json``, as docs/compare-method.md describes it: schema, verdict (such as "slower" or "no
        change"), anomaly (True if the new one is slower), old and new (name, number of runs), times (list of dicts, one
        for each function and measure, with ratio and its interval), counters (events that differ, and their functions),
        code (whether the executed code differs), layouts, rules, limited_by and more.

    Raises
    ------
    CmlibError
        If a command fails, the two can't be compared, or `keep` contains recordings already.
    ValueError
        If there are too few runs or layouts for any change of times to be significant, or a tree of `sources` contains
        no source.
    """
    changed = changed_functions(*sources) if sources else []
    if keep:
        check_free(keep)
    commands = [VersionCommand(name, timeout=timeout) for name in (old, new) if not is_recording(name)]
    _prepare_programs(commands, layouts, build, notify)
    looks = generate_pairs(
        old,
        new,
        events=events,
        n_runs=n_runs,
        timeout=timeout,
        alpha=alpha,
        seed=seed,
        notify=notify,
        progress=progress,
    )
    pair, speed = _record_until_settled(looks, alpha, smallest)
    _report_untested(speed, notify)
    if keep:
        save_pair(pair, keep)
    counters = _compare_counters(pair, alpha, seed)

    judgment = _Judgment(speed.verdict, times_agree=not speed.disagreeing)
    if len(commands) == 2 and (layouts or speed.verdict != NO_CHANGE):
        judgment = _judge_by_code(speed, commands, notify)
    if layouts and judgment.code["same"]:
        notify("What ran is the same: layouts are not timed.")
    elif layouts:
        layout_times = time_layouts(commands, layouts, build, seed, notify, progress)
        judgment = _judge_by_layouts(speed, judgment.code, layout_times, alpha, smallest)
    if judgment.verdict == NO_CHANGE and counters.anomalous:
        judgment = replace(judgment, verdict=COUNTERS)
    return make_report(
        pair.old,
        pair.new,
        judgment.verdict,
        source=PERF,
        settled=speed.settled,
        runs_needed=speed.runs_needed,
        p_value=speed.p_value,
        code=judgment.code,
        layouts=judgment.layouts,
        limited_by=judgment.list_limits(paired=pair.paired),
        rules=_describe_rules(pair, speed, alpha, smallest),
        times=to_rows(speed.tests, unbounded=_UNBOUNDED),
        counters=_describe_counters(counters, pair.old.about["per"]),
        changed_functions=mark_named(changed, _changed_names(speed, counters)),
    )


@dataclass(frozen=True)
class _Judgment:
    """The verdict on a pair of versions, and its reasons.

    Attributes
    ----------
    verdict : str
    times_agree : bool
        False if elapsed and processor time of a function disagree.
    code, layouts : dict or None
        These entries of the result; None if code or layouts were not compared.
    """

    verdict: str
    times_agree: bool
    code: dict | None = None
    layouts: dict | None = None

    def list_limits(self, *, paired):
        """List the keywords (str) for the limits of the verdict; `paired` is True if runs alternated."""
        code_known = self.code is None or self.code["same"] is not None
        return list_limits(self.verdict, paired=paired, code_known=code_known, times_agree=self.times_agree)


def _judge_by_code(speed, commands, notify):
    """Judge two commands by the Speed of their times, corrected by a comparison of their code."""
    comparison = compare_code(*commands, notify)
    verdict, cause = explain_by_code(speed.verdict, comparison.same, comparison.instructions)
    code = asdict(comparison) | {"cause": cause}
    return _Judgment(verdict, times_agree=not speed.disagreeing, code=code)


def _judge_by_layouts(speed, code, layout_times, alpha, smallest):
    """Judge two commands by their times in several layouts; `speed` is the comparison in the first layout.

    `code` is this entry of the result (dict).
    """
    over_layouts = compare_times(*layout_times, alpha=alpha, smallest=smallest)
    verdict = judge_layouts(speed, over_layouts)
    if verdict == MOVED:
        code = code | {"cause": LAYOUT}
    layouts = _describe_layouts(over_layouts, layout_times)
    return _Judgment(verdict, times_agree=not over_layouts.disagreeing, code=code, layouts=layouts)


def _prepare_programs(commands, layouts, build, notify):
    """Restore programs that a killed comparison left in another layout, and check that `layouts` can be made."""
    for command in commands:
        put_back(command, notify)
    if layouts:
        check_layouts(commands, build)


def _report_untested(speed, notify):
    """Call `notify` with the functions that were timed in too few runs, if there are any."""
    if speed.untested:
        functions = ", ".join(dict.fromkeys(function for function, _ in speed.untested))
        notify(f"{functions}: timed in too few runs for any change to be significant, and left out.")


def _record_until_settled(looks, alpha, smallest):
    """Record runs until the times are settled; return the last VersionPair, and the Speed of its times.

    `looks` is the generator of :func:`cmlib.compare.versions.generate_pairs`, which is closed at the end.
    """
    with closing(looks):
        for pair in looks:
            _refuse_incomparable(pair, alpha)
            speed = compare_times(
                pair.old.times,
                pair.new.times,
                alpha=alpha,
                smallest=_smallest_relevant(pair, smallest),
                paired=pair.paired,
                n_looks=pair.n_looks,
            )
            if speed.settled:
                break
    return pair, speed


def _refuse_incomparable(pair, alpha):
    """Raise CmlibError if the counters or machines of both versions can't be compared."""
    obstacles = list_obstacles(
        pair.old.runs,
        pair.new.runs,
        alpha=alpha,
        good_machine=pair.old.about["machine"],
        new_machine=pair.new.about["machine"],
    )
    if obstacles:
        raise CmlibError("; ".join(obstacles))


def _smallest_relevant(pair, smallest):
    """Return the smallest relevant change of times, which is larger if runs of both versions did not alternate."""
    return smallest if pair.paired else max(smallest, DRIFT)


def _changed_names(speed, counters):
    """Return the names of the functions with changed times or counters (set)."""
    by_time = speed.tests.loc[speed.tests["verdict"] != NO_CHANGE, "function"]
    by_counters = counters.functions.loc[counters.functions["anomalous"], "function"]
    return {*by_time, *by_counters}


def _describe_layouts(speed, layout_times):
    """Return the entry ``layouts`` of the result (dict); `speed` is the comparison of the times over layouts."""
    return {
        "n": len(layout_times[0]),
        "verdict": speed.verdict,
        "range": measure_layout_range(*layout_times),
        "times": to_rows(speed.tests, unbounded=_UNBOUNDED),
        "runs_needed": speed.runs_needed,
    }


def _describe_rules(pair, speed, alpha, smallest):
    """Return the entry ``rules`` of the result: a dict."""
    test = "Wilcoxon signed-rank" if pair.paired else "Mann-Whitney"
    return {
        "test": f"{test} test of the logarithms of times, one-sided",
        "alpha": alpha,
        "smallest_change": _smallest_relevant(pair, smallest),
        "correction": "Bonferroni",
        "tests": len(speed.tests),
        "looks": pair.n_looks,
        "untested": list(speed.untested),
        "paired": pair.paired,
    }


def _describe_counters(counters, counted_per):
    """Return the entry ``counters`` of the result: a dict."""
    return {
        "counted_per": counted_per,
        "differ": counters.anomalous,
        "p_value": None if math.isnan(counters.p_value) else counters.p_value,
        "functions": to_rows(counters.functions),
        "causes": to_rows(_without_clocks(counters.causes), unbounded=_UNBOUNDED),
    }


def _compare_counters(pair, alpha, seed):
    """Compare the counters of both versions of a VersionPair: a VersionComparison.

    Clocks (task-clock) are left out if counts are per unit of work: they are times, which were compared already.
    """
    old, new = pair.old.runs, pair.new.runs
    if pair.old.about["per"] == "work":
        clocks = counters_with_role(CYCLES, old[0])
        old = [run.drop(columns=clocks) for run in old]
        new = [run.drop(columns=clocks) for run in new]
    if not set(old[0]) - set(LOCATION_COLUMNS):
        functions = pd.DataFrame({"function": [], "anomalous": pd.Series(dtype=bool)})
        return VersionComparison(False, math.nan, functions, pd.DataFrame())
    return compare_versions(old, new, alpha=alpha, detector=AutoPerf(random_state=seed))


def _without_clocks(causes):
    """Leave out the causes that are clocks or cycles: a longer time does not explain itself."""
    if causes.empty:
        return causes
    return causes[~causes["counter"].isin(counters_with_role(CYCLES, causes["counter"]))]
