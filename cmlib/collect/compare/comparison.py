"""Compare two versions of a program, by times and counts or by simulated counts: is the new one slower, and where?"""

import tempfile
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from cmlib.anomaly import speed
from cmlib.anomaly.changes import changed_functions, mark_named
from cmlib.anomaly.compare import check_comparable, compare_versions
from cmlib.anomaly.counts import blame_changes, compare_counts, compare_estimates, depends_on_libc, spread
from cmlib.anomaly.detector import AutoPerf
from cmlib.collect.compare.code import compare_code
from cmlib.collect.compare.interpreters import without_script
from cmlib.collect.compare.layouts import check_layouts, time_layouts
from cmlib.collect.compare.versions import Version, check_free, is_recording, open_pair, save_pair
from cmlib.collect.record.execute import run_timed
from cmlib.collect.simulate import read_functions, read_parts
from cmlib.collect.simulate.valgrind import EACH_INSTRUCTION, FIXED_LIBC, cache_options, simulate
from cmlib.errors import CmlibError
from cmlib.io.archive.runs import PERF, VALGRIND
from cmlib.io.callgrind import REPEATS, as_events, display_name
from cmlib.io.events import simulated_events
from cmlib.terminal import say

SCHEMA = 2
COUNTERS, REFUSED = "counters differ", "refused"
INSTRUCTIONS = "sim.instructions"
# Good forms of 13 programs that were recorded twice (data/regions) differed by up to 17 % in their time.
DRIFT = 0.25
_UNBOUNDED = 1e12
_HARDLY = 0.01  # of the instructions: a script that does less is compared with the interpreter's start
_SLOWDOWN = 60, 200  # docs/simulated-counts.md
_LIBC = r"/(?:libc|ld-musl|libmusl)[^/]*$"


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
        Commands, or files that `keep` wrote before.
    events : str, optional
        Of commands, with commas between; by default those of the processor.
    n_runs : int
        Of each command, at most.
    alpha, smallest : float
        As of :func:`cmlib.anomaly.speed.compare_times`; what was not recorded in pairs has to differ by 25 % at least.
    keep : path, optional
        Folder for the recordings of commands.
    sources : pair of paths, optional
        Source files of both, to name what was changed.
    timeout : float, optional
        Of a run [s].
    layouts : int, optional
        How many layouts of both are timed as well, by the programs that the shell command `build` links.
    seed : int
        Of the order within pairs, and the autoencoders.
    notify, progress : callable
        Told sentences; called once a run.

    Returns
    -------
    dict
        What ``--json`` prints, as docs/compare.md has it.

    Raises
    ------
    CmlibError
        If a command fails, or the two can't be compared.
    """
    changed = changed_functions(*sources) if sources else []
    if keep:
        check_free(keep)
    commands = [Version(name, timeout=timeout) for name in (old, new) if not is_recording(name)]
    if layouts:
        check_layouts(commands, build)
    settings = {"events": events, "n_runs": n_runs, "timeout": timeout, "alpha": alpha, "seed": seed}
    with closing(open_pair(old, new, notify=notify, progress=progress, **settings)) as looks:
        for pair in looks:
            machines = {"good_machine": pair.old.about["machine"], "new_machine": pair.new.about["machine"]}
            obstacles = check_comparable(pair.old.runs, pair.new.runs, alpha=alpha, **machines)
            if obstacles:
                raise CmlibError("; ".join(obstacles))
            relevant = smallest if pair.paired else max(smallest, DRIFT)
            rules = {"alpha": alpha, "smallest": relevant, "paired": pair.paired, "n_looks": pair.n_looks}
            timed = speed.compare_times(pair.old.times, pair.new.times, **rules)
            if timed.settled:
                break
    if timed.untested:
        seldom = ", ".join(dict.fromkeys(function for function, _ in timed.untested))
        notify(f"{seldom}: timed in too few runs for any change to be significant, and left out.")
    if keep:
        save_pair(pair, keep)
    detector = AutoPerf(random_state=seed)
    counters = compare_versions(pair.old.runs, pair.new.runs, alpha=alpha, detector=detector)
    verdict, code = timed.verdict, None
    if len(commands) == 2 and (layouts or verdict != speed.NO_CHANGE):
        code = compare_code(*commands, notify)
        verdict, cause = speed.explain_by_code(verdict, code.same, code.instructions)
        code = asdict(code) | {"cause": cause}
    over_layouts = None
    if layouts and code["same"]:
        notify("What ran is the same: layouts are not timed.")
    elif layouts:
        times = time_layouts(commands, layouts, build, seed, notify, progress)
        over = speed.compare_times(*times, alpha=alpha, smallest=smallest)
        verdict = speed.verdict_over_layouts(timed, over)
        if verdict == speed.MOVED:
            code["cause"] = speed.LAYOUT
        over_layouts = {
            "n": layouts,
            "verdict": over.verdict,
            "range": speed.layout_range(*times),
            "times": _rows(over.tests, unbounded=_UNBOUNDED),
            "runs_needed": over.runs_needed,
        }
    if verdict == speed.NO_CHANGE and counters.anomalous:
        verdict = COUNTERS
    functions = counters.functions
    named = set(timed.tests.loc[timed.tests["verdict"] != speed.NO_CHANGE, "function"])
    named |= set(functions.loc[functions["anomalous"], "function"])
    code_known = code is None or code["same"] is not None
    test = "Wilcoxon signed-rank" if pair.paired else "Mann-Whitney"
    return _report(
        pair.old,
        pair.new,
        verdict,
        source=PERF,
        settled=timed.settled,
        runs_needed=timed.runs_needed,
        p_value=timed.p_value,
        code=code,
        layouts=over_layouts,
        limited_by=speed.limits(verdict, paired=pair.paired, code_known=code_known),
        rules={
            "test": f"{test} test of the logarithms of times, one-sided",
            "alpha": alpha,
            "smallest_change": relevant,
            "correction": "Bonferroni",
            "tests": len(timed.tests),
            "looks": pair.n_looks,
            "untested": list(timed.untested),
            "paired": pair.paired,
        },
        times=_rows(timed.tests, unbounded=_UNBOUNDED),
        counters={
            "counted_per": pair.old.about["per"],
            "differ": counters.anomalous,
            "p_value": counters.p_value,
            "functions": _rows(functions),
            "causes": _rows(counters.counters, unbounded=_UNBOUNDED),
        },
        changed_functions=mark_named(changed, named),
    )


@dataclass(frozen=True)
class SimulatedVersion:
    """One version: its counts, a row a run, and the mean of these by function."""

    name: str
    runs: pd.DataFrame
    functions: pd.DataFrame
    libc_share: float
    startup_share: float
    about: dict


def compare_simulated(
    old,
    new,
    *,
    n_runs=2,
    smallest=0.005,
    smallest_modelled=0.02,
    caches=None,
    sources=None,
    timeout=None,
    notify=say,
    progress=lambda: None,
):
    """Simulate two versions, and judge the new one by its instructions, and by what modelled misses add.

    What an interpreter executes without its script is left out: it would dilute any change.

    Parameters
    ----------
    old, new : str
        Commands.
    n_runs : int
        Of each; how far their counts differ is told.
    smallest, smallest_modelled : float
        Smallest relevant change of exact and of modelled counts, as a share.
    caches : dict, optional
        Caches to simulate, by Valgrind's names; by default this machine's.
    sources, timeout, notify, progress
        As of :func:`compare_programs`.

    Returns
    -------
    dict
        What ``--simulate --json`` prints, as docs/compare.md has it.

    Raises
    ------
    CmlibError
        If a command fails, or is none.
    """
    changed = changed_functions(*sources) if sources else []
    options = cache_options(caches or {})
    for name in (old, new):
        if is_recording(name):
            raise CmlibError(f"{name} is a recording; --simulate compares two commands, which it runs.")
    commands = [Version(command, timeout=timeout) for command in (old, new)]
    seconds = sum(run_timed(command.argv(0), environment={}, timeout=timeout)[1] for command in commands)
    least, most = (n_runs * times * seconds / 60 for times in _SLOWDOWN)
    notify(
        f"{2 * n_runs} simulations, each some {_SLOWDOWN[0]} to {_SLOWDOWN[1]} times as long as the program by itself: "
        f"{least:.2g} to {most:.2g} min."
    )
    texts = [[], []]
    for run in range(n_runs):
        for command, written in zip(commands, texts, strict=True):
            written.append(_simulated(command, command.argv(run), options))
            progress()
    startups = [_startup(command, options) for command in commands]
    old, new = map(_version, commands, texts, startups)
    table = simulated_events()
    tests = compare_counts(old.runs, new.runs, table, smallest, smallest_modelled)
    estimates = compare_estimates(tests, old.runs, new.runs, table["weight"], smallest_modelled)
    verdict, ratio, by_misses, threshold = estimates
    changes = tests[tests["verdict"] != speed.NO_CHANGE]
    causes = _rows(blame_changes(changes, old.functions, new.functions, n_runs))
    by_libc = depends_on_libc(old.libc_share, new.libc_share)
    differing = max(spread(version.runs)[INSTRUCTIONS] for version in (old, new))
    return _report(
        old,
        new,
        verdict,
        source=VALGRIND,
        simulator=new.about,
        settled=bool(differing <= REPEATS),
        libc_share={"old": old.libc_share, "new": new.libc_share},
        startup_share={"old": old.startup_share, "new": new.startup_share},
        depends_on_libc=by_libc,
        limited_by=speed.limits(verdict, libc=by_libc, repeats=bool(differing <= REPEATS)),
        p_value=None,
        rules={
            "test": "ranges of the runs' counts, which repeat",
            "alpha": None,
            "smallest_change": smallest,
            "smallest_modelled_change": smallest_modelled,
            "smallest_estimated_change": threshold,
            "correction": None,
            "tests": len(tests),
            "looks": 1,
            "untested": [],
            "paired": True,
        },
        times=[],
        counts=_rows(tests),
        cycle_estimate_ratio=ratio,
        cycles_by_misses=by_misses,
        counters={
            "counted_per": "run",
            "differ": bool((tests["verdict"] != speed.NO_CHANGE).any()),
            "p_value": None,
            "functions": [],
            "causes": causes,
        },
        changed_functions=mark_named(changed, {cause["function"] for cause in causes}),
    )


def refusal(reason):
    """What is reported when nothing could be compared."""
    return {"schema": SCHEMA, "verdict": REFUSED, "anomaly": None, "refused": [reason]}


def _report(old, new, verdict, **results):
    """What is reported of both ways, to become JSON."""
    names = {form: {"name": of.name, "runs": len(of.runs)} for form, of in (("old", old), ("new", new))}
    common = {"schema": SCHEMA, "verdict": verdict, "anomaly": verdict == speed.SLOWER, "refused": []}
    return common | names | results


def _rows(frame, *, unbounded=np.inf):
    """Rows for JSON, which has no infinity: what used to be 0 has no multiple."""
    rows = frame.to_dict("records")
    return [{key: _finite(value, unbounded) for key, value in row.items()} for row in rows]


def _finite(value, unbounded):
    return None if isinstance(value, float) and not abs(value) < unbounded else value


def _simulated(version, argv, options):
    with tempfile.TemporaryDirectory(prefix="cmlib-") as folder:
        settings = {"env": FIXED_LIBC, "limit_s": version.timeout}
        options = [*options, *EACH_INSTRUCTION]
        outcome = simulate(argv, Path(folder), options=options, **settings)
        return outcome.raw.decode(errors="replace")


def _startup(version, options):
    """What an interpreter executes without its script, by function; None if the version is run by none."""
    with tempfile.NamedTemporaryFile(prefix="cmlib-") as empty:
        argv = without_script(version.argv(0), empty.name)
        return argv and _by_place(_simulated(version, argv, options))


def _by_place(text):
    return read_functions(text, strings_once=True).groupby(["function", "file", "object"]).sum()


def _version(version, texts, startup):
    parts = read_parts(texts[0])
    about = {"version": parts.version, "caches": parts.caches, "environment": FIXED_LIBC}
    tables, share = list(map(_by_place, texts)), 0.0
    if startup is not None:
        alone = [(table - startup.reindex(table.index, fill_value=0)).clip(lower=0) for table in tables]
        left = min(a["Ir"].sum() / table["Ir"].sum() for a, table in zip(alone, tables, strict=True))
        tables, share = (alone, float(1 - left)) if left > _HARDLY else (tables, 0.0)
    runs = pd.DataFrame([as_events(table).sum() for table in tables])
    rows = pd.concat([table.reset_index() for table in tables], ignore_index=True)
    rows["function"] = list(map(display_name, rows["function"], rows["object"]))
    by_function = rows.groupby("function")
    counts = as_events(by_function[list(simulated_events()["callgrind"])].sum()) / len(tables)
    files = rows.loc[by_function["Ir"].idxmax()].set_index("function")["file"]
    of_libc = rows.loc[rows["object"].str.contains(_LIBC), "Ir"].sum() / rows["Ir"].sum()
    return SimulatedVersion(version.command, runs, counts.assign(file=files), float(of_libc), share, about)
