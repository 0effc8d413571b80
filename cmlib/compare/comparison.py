"""Compare two versions of a program by times and counts: is the new one slower, and in which functions?

:func:`compare_programs` takes two commands or recordings (text), and gives the result as a dict: verdict, times by
function with intervals, counters that differ, and more. The verdict is computed after a quarter, a half and all of the
runs (each is called a look), until it is clear. A CmlibError if a command fails or the two can't be compared, a
ValueError if times are too few.
"""

import math
from contextlib import closing
from dataclasses import asdict

import pandas as pd

from cmlib.anomaly.detector import AutoPerf
from cmlib.compare.code import compare_code
from cmlib.compare.counters import VersionComparison, check_comparable, compare_versions
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
from cmlib.compare.versions import Version, check_free, is_recording, open_pair, save_pair
from cmlib.errors import CmlibError
from cmlib.io.archive.runs import PERF
from cmlib.io.events import CYCLES, counters_with_role
from cmlib.locations import LOCATION_COLUMNS
from cmlib.terminal import say

COUNTERS = "counters differ"  # the verdict if times do not differ and counts do
# Smallest relevant change of times recorded on two occasions: unchanged programs (data/regions) differed by up to 17 %.
DRIFT = 0.25
_UNBOUNDED = 1e12  # ratios from here on are None in the result: the old count was 0, or nearly


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
        Names of the events to count under commands, with commas between; by default a list for the processor.
    n_runs : int
        Runs of each command, at most; fewer are made if the verdict is clear.
    alpha, smallest : float
        False-alarm probability, and smallest relevant change (share) of times; at least 0.25 where runs of both
        versions did not alternate.
    keep : path, optional
        Folder to write the recordings of commands to.
    sources : pair of paths, optional
        Source files of both, to name what was changed.
    timeout : float, optional
        Longest run [s].
    layouts : int, optional
        How many memory layouts of both programs are timed as well.
    build : str, optional
        Shell command that links both programs anew in each layout; without it only the stack is moved.
    seed : int
        Of the random order within pairs, of layouts, and of the autoencoders.
    notify, progress : callable
        Called with a sentence (str) on what happens; called without arguments after each run.

    Returns
    -------
    dict
        What ``--json`` prints, as docs/compare-method.md says: schema, verdict (such as "slower" or "no change"),
        anomaly (True if the new one is slower), old and new (name, number of runs), times (a list of dicts, one for
        each function and measure, with ratio and its interval), counters (which events differ, and in which
        functions), code (whether what ran differs), layouts, rules, limited_by and more.

    Raises
    ------
    CmlibError
        If a command fails, the two can't be compared, or `keep` holds recordings already.
    ValueError
        If runs or layouts are too few for any change of times to be significant, or a tree of `sources` has no source.
    """
    changed = changed_functions(*sources) if sources else []
    if keep:
        check_free(keep)
    commands = [Version(name, timeout=timeout) for name in (old, new) if not is_recording(name)]
    for command in commands:
        put_back(command, notify)
    if layouts:
        check_layouts(commands, build)
    settings = {"events": events, "n_runs": n_runs, "timeout": timeout, "alpha": alpha, "seed": seed}
    looks = open_pair(old, new, notify=notify, progress=progress, **settings)
    pair, timed = _record_until_settled(looks, alpha, smallest)
    if timed.untested:
        seldom = ", ".join(dict.fromkeys(function for function, _ in timed.untested))
        notify(f"{seldom}: timed in too few runs for any change to be significant, and left out.")
    if keep:
        save_pair(pair, keep)
    counters = _compare_counters(pair, alpha, seed)

    verdict = timed.verdict
    code = None
    if len(commands) == 2 and (layouts or verdict != NO_CHANGE):
        compared = compare_code(*commands, notify)
        verdict, cause = explain_by_code(verdict, compared.same, compared.instructions)
        code = asdict(compared) | {"cause": cause}

    over_layouts = None
    decisive = timed
    if layouts and code["same"]:
        notify("What ran is the same: layouts are not timed.")
    elif layouts:
        layout_times = time_layouts(commands, layouts, build, seed, notify, progress)
        decisive = compare_times(*layout_times, alpha=alpha, smallest=smallest)
        verdict = judge_layouts(timed, decisive)
        if verdict == MOVED:
            code["cause"] = LAYOUT
        over_layouts = _describe_layouts(decisive, layout_times, layouts)

    if verdict == NO_CHANGE and counters.anomalous:
        verdict = COUNTERS
    code_known = code is None or code["same"] is not None
    limited_by = list_limits(
        verdict, paired=pair.paired, code_known=code_known, times_agree=not decisive.disagreeing
    )
    return make_report(
        pair.old,
        pair.new,
        verdict,
        source=PERF,
        settled=timed.settled,
        runs_needed=timed.runs_needed,
        p_value=timed.p_value,
        code=code,
        layouts=over_layouts,
        limited_by=limited_by,
        rules=_describe_rules(pair, timed, alpha, smallest),
        times=to_rows(timed.tests, unbounded=_UNBOUNDED),
        counters=_describe_counters(counters, pair.old.about["per"]),
        changed_functions=mark_named(changed, _changed_names(timed, counters)),
    )


def _record_until_settled(looks, alpha, smallest):
    """Record runs until the times are settled; the last VersionPair, and the Speed of its times.

    `looks` is the generator of :func:`cmlib.compare.versions.open_pair`, which is closed at the end.
    """
    with closing(looks):
        for pair in looks:
            _refuse_incomparable(pair, alpha)
            timed = compare_times(
                pair.old.times,
                pair.new.times,
                alpha=alpha,
                smallest=_smallest_relevant(pair, smallest),
                paired=pair.paired,
                n_looks=pair.n_looks,
            )
            if timed.settled:
                break
    return pair, timed


def _refuse_incomparable(pair, alpha):
    """Raise CmlibError if the counters or machines of both versions can't be compared."""
    obstacles = check_comparable(
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


def _changed_names(timed, counters):
    """Return the names of the functions whose times or counters changed (set)."""
    by_time = timed.tests.loc[timed.tests["verdict"] != NO_CHANGE, "function"]
    by_counters = counters.functions.loc[counters.functions["anomalous"], "function"]
    return {*by_time, *by_counters}


def _describe_layouts(over, layout_times, n_layouts):
    """Return the entry ``layouts`` of the result: a dict."""
    return {
        "n": n_layouts,
        "verdict": over.verdict,
        "range": measure_layout_range(*layout_times),
        "times": to_rows(over.tests, unbounded=_UNBOUNDED),
        "runs_needed": over.runs_needed,
    }


def _describe_rules(pair, timed, alpha, smallest):
    """Return the entry ``rules`` of the result: a dict."""
    test = "Wilcoxon signed-rank" if pair.paired else "Mann-Whitney"
    return {
        "test": f"{test} test of the logarithms of times, one-sided",
        "alpha": alpha,
        "smallest_change": _smallest_relevant(pair, smallest),
        "correction": "Bonferroni",
        "tests": len(timed.tests),
        "looks": pair.n_looks,
        "untested": list(timed.untested),
        "paired": pair.paired,
    }


def _describe_counters(counters, counted_per):
    """Return the entry ``counters`` of the result: a dict."""
    return {
        "counted_per": counted_per,
        "differ": counters.anomalous,
        "p_value": None if math.isnan(counters.p_value) else counters.p_value,
        "functions": to_rows(counters.functions),
        "causes": to_rows(_without_clocks(counters.counters), unbounded=_UNBOUNDED),
    }


def _compare_counters(pair, alpha, seed):
    """Compare the counters of both versions of a VersionPair; a VersionComparison.

    Counts per unit of work include no clock (task-clock), since that is the time itself, which was compared already.
    """
    old, new = pair.old.runs, pair.new.runs
    if pair.old.about["per"] == "work":
        clocks = counters_with_role(CYCLES, old[0])
        old, new = ([run.drop(columns=clocks) for run in runs] for runs in (old, new))
    if not set(old[0]) - set(LOCATION_COLUMNS):
        functions = pd.DataFrame({"function": [], "anomalous": pd.Series(dtype=bool)})
        return VersionComparison(False, math.nan, functions, pd.DataFrame())
    return compare_versions(old, new, alpha=alpha, detector=AutoPerf(random_state=seed))


def _without_clocks(causes):
    """Leave out the causes that are clocks or cycles: a longer time does not explain itself."""
    if causes.empty:
        return causes
    return causes[~causes["counter"].isin(counters_with_role(CYCLES, causes["counter"]))]
