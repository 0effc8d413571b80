"""Compare two versions of a program by run times and event counts.

:func:`compare_programs` takes two commands or two recordings and returns the result as a dict: the verdict,
the times of each function, and the counters that differ. Commands are run in turns. The verdict is computed
after a quarter, a half and all of the runs, until it is clear. A look is one of these verdicts.
"""

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

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
    Speed,
    compare_times,
    explain_by_code,
    judge_layouts,
    list_limits,
    measure_layout_range,
)
from cmlib.compare.versions import (
    VersionCommand,
    VersionPair,
    check_free,
    generate_pairs,
    is_recording,
    save_pair,
)
from cmlib.errors import CmlibError
from cmlib.io.archive.runs import PERF
from cmlib.io.events import CYCLES, counters_with_role
from cmlib.locations import LOCATION_COLUMNS
from cmlib.terminal import say

COUNTERS = "counters differ"  # the verdict if only counts differ
# Smallest relevant change between separate recordings. Unchanged programs (data/regions) differed by up to 17 %.
DRIFT = 0.25
_UNBOUNDED = 1e12  # larger ratios become None in the result, because the old count was almost 0


def compare_programs(
    old: str,
    new: str,
    *,
    events: str | None = None,
    n_runs: int = 40,
    alpha: float = 0.002,
    smallest: float = 0.04,
    keep: str | Path | None = None,
    sources: Sequence[str | Path] | None = None,
    timeout: float | None = None,
    layouts: int | None = None,
    build: str | None = None,
    seed: int = 0,
    notify: Callable[[str], None] = say,
    progress: Callable[[], None] = lambda: None,
) -> dict:
    """Compare two versions of a program by run times and event counts.

    Parameters
    ----------
    old, new : str
        Commands to run, or JSON files that an earlier call wrote to its folder `keep`.
    events : str, optional
        Comma-separated names of the events to count. Default: a list for the processor.
    n_runs : int, default 40
        Maximum number of runs of each command. The comparison ends earlier if the verdict is clear.
    alpha : float, default 0.002
        Probability of a false alarm.
    smallest : float, default 0.04
        Smallest relevant change, as a fraction of the time. A value below 0.25 is increased to 0.25 if the runs
        of both versions did not alternate.
    keep : path, optional
        Folder for the recordings of the commands. Default: recordings are not kept.
    sources : sequence of two paths, optional
        Source trees of both versions, to find the changed functions.
    timeout : float, optional
        Time limit of each run [s].
    layouts : int, optional
        Number of memory layouts in which to time both programs. Default: only the current layout.
    build : str, optional
        Shell command that links both programs again for each layout. Default: only the stack is moved.
    seed : int, default 0
        Seed of the random numbers.
    notify : callable, optional
        Function that is called with each progress message (str).
    progress : callable, optional
        Function that is called without arguments after each run.

    Returns
    -------
    dict
        Output of ``cmlib compare --json``. ``docs/compare-method.md`` describes all keys. The main ones are:

        - ``verdict``: for example, "slower" or "no change"
        - ``anomaly``: True if the new version is slower
        - ``old``, ``new``: name and number of runs
        - ``times``: list of dicts, one per function and measure, with the ratio and its interval
        - ``counters``: events that differ, and their functions
        - ``code``: whether the executed code differs
        - ``limited_by``: reasons that limit the verdict

    Raises
    ------
    CmlibError
        If a command fails, the versions cannot be compared, or `keep` already contains recordings.
    InputError
        If a change cannot be significant with so few runs or layouts, or if a tree of `sources` contains no
        source file.
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
    if layouts and judgment.code:
        if judgment.code["same"]:
            notify("The executed code is the same. Layouts are not timed.")
        else:
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
    """Verdict on a pair of versions, with its reasons.

    Attributes
    ----------
    verdict : str
        For example, "slower".
    times_agree : bool
        False if elapsed and processor time of a function disagree.
    code, layouts : dict or None
        Entries ``code`` and ``layouts`` of the result. None if they were not compared.
    """

    verdict: str
    times_agree: bool
    code: dict | None = None
    layouts: dict | None = None

    def list_limits(self, *, paired: bool) -> list[str]:
        """List the reasons that make the verdict less certain, as keywords.

        `paired` is True if the runs of both versions alternated.
        """
        code_known = self.code is None or self.code["same"] is not None
        return list_limits(self.verdict, paired=paired, code_known=code_known, times_agree=self.times_agree)


def _judge_by_code(speed: Speed, commands: list[VersionCommand], notify: Callable[[str], None]) -> _Judgment:
    """Judge two commands by their times, corrected by a comparison of their code."""
    old, new = commands
    comparison = compare_code(old, new, notify)
    verdict, cause = explain_by_code(speed.verdict, comparison.same, comparison.instructions)
    code = asdict(comparison) | {"cause": cause}
    return _Judgment(verdict, times_agree=not speed.disagreeing, code=code)


def _judge_by_layouts(
    speed: Speed, code: dict, layout_times: tuple[pd.DataFrame, pd.DataFrame], alpha: float, smallest: float
) -> _Judgment:
    """Judge two commands by their times in several memory layouts.

    `speed` is the comparison in the first layout, and `code` the comparison of the code.
    """
    over_layouts = compare_times(*layout_times, alpha=alpha, smallest=smallest)
    verdict = judge_layouts(speed, over_layouts)
    if verdict == MOVED:
        code = code | {"cause": LAYOUT}
    layouts = _describe_layouts(over_layouts, layout_times)
    return _Judgment(verdict, times_agree=not over_layouts.disagreeing, code=code, layouts=layouts)


def _prepare_programs(
    commands: list[VersionCommand], layouts: int | None, build: str | None, notify: Callable[[str], None]
) -> None:
    """Prepare the programs for timing several layouts.

    A program is restored if an earlier, killed comparison left it in another layout.
    """
    for command in commands:
        put_back(command, notify)
    if layouts:
        check_layouts(commands, build)


def _report_untested(speed: Speed, notify: Callable[[str], None]) -> None:
    """Notify the user of functions that were timed in too few runs."""
    if speed.untested:
        functions = ", ".join(dict.fromkeys(function for function, _ in speed.untested))
        notify(f"Left out, because timed in too few runs for a significant change: {functions}.")


def _record_until_settled(
    looks: Generator[VersionPair, None, None], alpha: float, smallest: float
) -> tuple[VersionPair, Speed]:
    """Record runs until the verdict on the times is clear, and return the runs and the verdict.

    `looks` is the result of :func:`cmlib.compare.versions.generate_pairs`. It is closed at the end.
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


def _refuse_incomparable(pair: VersionPair, alpha: float) -> None:
    """Raise CmlibError if the counters or machines of both versions cannot be compared."""
    obstacles = list_obstacles(
        pair.old.runs,
        pair.new.runs,
        alpha=alpha,
        good_machine=pair.old.about["machine"],
        new_machine=pair.new.about["machine"],
    )
    if obstacles:
        raise CmlibError("; ".join(obstacles))


def _smallest_relevant(pair: VersionPair, smallest: float) -> float:
    """Return the smallest relevant change of times, which is larger if the runs did not alternate."""
    return smallest if pair.paired else max(smallest, DRIFT)


def _changed_names(speed: Speed, counters: VersionComparison) -> set[str]:
    """Return the names of the functions with changed times or counters."""
    by_time = speed.tests.loc[speed.tests["verdict"] != NO_CHANGE, "function"]
    by_counters = counters.functions.loc[counters.functions["anomalous"], "function"]
    return {*by_time, *by_counters}


def _describe_layouts(speed: Speed, layout_times: tuple[pd.DataFrame, pd.DataFrame]) -> dict:
    """Return the entry ``layouts`` of the result. `speed` compares the times over all layouts."""
    return {
        "n": len(layout_times[0]),
        "verdict": speed.verdict,
        "range": measure_layout_range(*layout_times),
        "times": to_rows(speed.tests, unbounded=_UNBOUNDED),
        "runs_needed": speed.runs_needed,
    }


def _describe_rules(pair: VersionPair, speed: Speed, alpha: float, smallest: float) -> dict:
    """Return the entry ``rules`` of the result."""
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


def _describe_counters(counters: VersionComparison, counted_per: str) -> dict:
    """Return the entry ``counters`` of the result."""
    return {
        "counted_per": counted_per,
        "differ": counters.anomalous,
        "p_value": None if math.isnan(counters.p_value) else counters.p_value,
        "functions": to_rows(counters.functions),
        "causes": to_rows(_without_clocks(counters.causes), unbounded=_UNBOUNDED),
    }


def _compare_counters(pair: VersionPair, alpha: float, seed: int) -> VersionComparison:
    """Compare the counters of both versions.

    Clocks are left out if counts are per unit of work, because times are compared separately.
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


def _without_clocks(causes: pd.DataFrame) -> pd.DataFrame:
    """Remove clocks and cycles from the causes. A longer time is not a cause of itself."""
    if causes.empty:
        return causes
    return causes[~causes["counter"].isin(counters_with_role(CYCLES, causes["counter"]))]
