"""Compare two versions of a program by simulated counts: does the new one execute more, and in which functions?

:func:`compare_simulated` runs both commands (text) under Valgrind's Callgrind, and gives the result as a dict:
verdict, counts by event, functions that changed, and more. Exact counts are of what was executed (instructions,
loads, stores, branches); modelled ones are misses and mispredictions of Callgrind's model of caches and of a branch
predictor. A CmlibError if a command fails or is a recording, or Valgrind is missing.
"""

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from cmlib.collect.record.execute import run_timed
from cmlib.collect.simulate import read_functions, read_parts
from cmlib.collect.simulate.valgrind import (
    EACH_INSTRUCTION,
    EACH_THREAD,
    FIXED_LIBC,
    cache_options,
    simulate,
)
from cmlib.compare.interpreters import remove_script
from cmlib.compare.layouts import put_back
from cmlib.compare.report import make_report, to_rows
from cmlib.compare.simulated_counts import (
    blame_changes,
    compare_counts,
    compare_estimates,
    spread,
    withhold_verdict,
)
from cmlib.compare.source_changes import changed_functions, mark_named
from cmlib.compare.times import NO_CHANGE, list_limits
from cmlib.compare.versions import Version, is_recording
from cmlib.errors import CmlibError
from cmlib.io.archive.runs import VALGRIND
from cmlib.io.callgrind import (
    REPEATS,
    REPETITIONS,
    as_events,
    count_threads,
    display_name,
    find_interpreter,
    names_python,
)
from cmlib.io.events import simulated_events
from cmlib.scratch import scratch_folder
from cmlib.terminal import say

_INSTRUCTIONS = "sim.instructions"
_START_S = 3  # to start Valgrind and to read what it wrote [s]
_SLOWDOWN = 60, 200  # times a program's own time, from and to (docs/simulated-counts.md)
_HARDLY = 0.01  # share of instructions: if a script executes less, the interpreter's start-up is not left out
_MOST_IN_LIBC = 0.1  # share of the instructions in libc's routines above which a verdict depends on them
_LIBC = r"/(?:libc|ld-musl|libmusl)[^/]*$"


@dataclass(frozen=True)
class SimulatedVersion:
    """Simulated counts of one version.

    `name` is its command. `runs` has a row per run, a column per event; `functions` their mean by function (index), and
    file. `libc_share` and `startup_share` are shares (0-1) of instructions that the C library executes, and that an
    interpreter's start-up, left out of the counts, did. `interpreter` names the
    interpreter that has most of the estimated cycles ("" if none has), and `names_script` is True if functions of a
    Python script have their names. `repetitions` is the mean number of repetitions of string
    instructions in a run, `n_threads` the largest number of threads. `about` is a dict of Valgrind's version, caches
    and environment.
    """

    name: str
    runs: pd.DataFrame
    functions: pd.DataFrame
    libc_share: float
    startup_share: float
    interpreter: str
    names_script: bool
    repetitions: float
    n_threads: int
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
    """Simulate two versions, and judge the new one by its instructions and its modelled misses.

    What an interpreter executes without its script is left out: it would dilute any change.

    Parameters
    ----------
    old, new : str
        Commands.
    n_runs : int
        Simulated runs of each; the result tells how far their counts differ.
    smallest, smallest_modelled : float
        Smallest relevant change of exact and of modelled counts, as a share.
    caches : dict, optional
        Caches to simulate, from Valgrind's names (I1, D1, LL) to text ``SIZE,WAYS,LINE``; by default this
        machine's.
    sources : pair of paths, optional
        Source files of both, to name what was changed.
    timeout : float, optional
        Longest run [s].
    notify, progress : callable
        Called with a sentence (str) on what happens; called without arguments after each run.

    Returns
    -------
    dict
        What ``--simulate --json`` prints, as docs/compare-method.md has it: schema, verdict (str), anomaly (True if the
        new one is slower), old and new (name, number of runs), counts (a list of dicts, one for each event),
        cycle_estimate_ratio, counters (with causes: functions that changed), rules, limited_by and more.

    Raises
    ------
    CmlibError
        If a command is a recording, fails, or takes too long, or Valgrind is missing.
    ValueError
        If a command can't be split into words as a shell does, or a tree of `sources` has no source.
    """
    changed = changed_functions(*sources) if sources else []
    options = cache_options(caches or {})
    for name in (old, new):
        if is_recording(name):
            raise CmlibError(f"{name} is a recording; --simulate compares two commands, which it runs.")
    commands = [Version(command, timeout=timeout) for command in (old, new)]
    for command in commands:
        put_back(command, notify)
    n_empty = _announce(commands, n_runs, notify)
    texts = _simulate_all(commands, n_runs, n_empty, options, notify, progress)
    startups = [_simulate_startup(command, options) for command in commands]
    old, new = map(_make_version, commands, texts, startups)

    table = simulated_events()
    tests = compare_counts(old.runs, new.runs, table, smallest, smallest_modelled)
    estimates = compare_estimates(tests, old.runs, new.runs, table["weight"], smallest_modelled)
    verdict, ratio, by_misses, threshold = estimates
    verdict, withheld = withhold_verdict(
        verdict,
        (old.repetitions, new.repetitions),
        old.runs[_INSTRUCTIONS].mean(),
        max(old.n_threads, new.n_threads),
        instructions=tests.iloc[0]["verdict"],
        smallest=smallest,
    )
    changes = tests[tests["verdict"] != NO_CHANGE]
    causes = to_rows(blame_changes(changes, old.functions, new.functions, n_runs))
    by_libc = max(old.libc_share, new.libc_share) > _MOST_IN_LIBC
    differing = max(spread(version.runs)[_INSTRUCTIONS] for version in (old, new))
    repeats = bool(differing <= REPEATS)
    return make_report(
        old,
        new,
        verdict,
        source=VALGRIND,
        simulator=new.about,
        settled=repeats,
        libc_share={"old": old.libc_share, "new": new.libc_share},
        startup_share={"old": old.startup_share, "new": new.startup_share},
        depends_on_libc=by_libc,
        interpreter={"old": old.interpreter, "new": new.interpreter},
        names_script=old.names_script or new.names_script,
        threads={"old": old.n_threads, "new": new.n_threads},
        string_repetitions={"old": old.repetitions, "new": new.repetitions},
        limited_by=[*list_limits(verdict, libc=by_libc, repeats=repeats), *withheld],
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
        counts=to_rows(tests),
        cycle_estimate_ratio=ratio,
        cycles_by_misses=by_misses,
        counters={
            "counted_per": "run",
            "differ": bool(len(changes)),
            "p_value": None,
            "functions": [],
            "causes": causes,
        },
        changed_functions=mark_named(changed, {cause["function"] for cause in causes}),
    )


def _announce(commands, n_runs, notify):
    """Run each command once, tell how long the simulations will take, and return how many are of an empty script."""
    seconds = sum(
        run_timed(command.argv(0), environment={}, timeout=command.timeout)[1] for command in commands
    )
    n_empty = sum(remove_script(command.argv(0), "") is not None for command in commands)
    n_simulations = 2 * n_runs + n_empty
    least, most = (n_simulations * (_START_S + times * seconds / 2) for times in _SLOWDOWN)
    of_empty = f", {n_empty} of an empty script" if n_empty else ""
    notify(
        f"{n_simulations} simulations{of_empty}, each {_SLOWDOWN[0]} to {_SLOWDOWN[1]} times as long as the program by "
        f"itself, and {_START_S} s to start and to read the counts: {_round_time(least)} to {_round_time(most)} in all."
    )
    return n_empty


def _simulate_all(commands, n_runs, n_empty, options, notify, progress):
    """Simulate each command `n_runs` times; for each command, a list of what Callgrind wrote (str)."""
    texts = [[], []]
    n_others = 2 * n_runs + n_empty - 1
    for run in range(n_runs):
        for command, written in zip(commands, texts, strict=True):
            started = time.monotonic()
            written.append(_simulate_run(command, command.argv(run), options))
            progress()
            if written is texts[0] and run == 0:
                seconds = time.monotonic() - started
                others = f"the other {n_others} take about {_round_time(n_others * seconds)}"
                notify(f"The first simulation took {_round_time(seconds)}; {others}.")
    return texts


def _round_time(seconds):
    """Return a time for people, in seconds or minutes (str)."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _simulate_run(version, argv, options):
    """What Callgrind writes of one run (str)."""
    with scratch_folder() as folder:
        options, limit_s = [*options, *EACH_INSTRUCTION, *EACH_THREAD], version.timeout
        outcome = simulate(argv, Path(folder), options=options, python=True, env=FIXED_LIBC, limit_s=limit_s)
        return outcome.raw.decode(errors="replace")


def _simulate_startup(version, options):
    """What an interpreter executes without its script, by function; None if the command starts none, or it fails."""
    with scratch_folder() as folder, contextlib.suppress(CmlibError):
        empty = folder / "empty"
        empty.touch()
        argv = remove_script(version.argv(0), str(empty))
        return argv and _sum_by_place(_simulate_run(version, argv, options))


def _sum_by_place(text):
    """Callgrind's counts by function, file and object, from its text; DataFrame."""
    return read_functions(text, strings_once=True).groupby(["function", "file", "object"]).sum()


def _make_version(version, texts, startup):
    """A SimulatedVersion from the texts of its runs and the counts of its start-up (or None)."""
    parts = read_parts(texts[0])
    about = {"version": parts.version, "caches": parts.caches, "environment": FIXED_LIBC}
    tables, share = list(map(_sum_by_place, texts)), 0.0
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
    return SimulatedVersion(
        name=version.command,
        runs=runs,
        functions=counts.assign(file=files),
        libc_share=float(of_libc),
        startup_share=share,
        interpreter=find_interpreter(as_events(tables[0])),
        names_script=names_python(tables[0]),
        repetitions=float(sum(table[REPETITIONS].sum() for table in tables) / len(tables)),
        n_threads=max(map(count_threads, texts)),
        about=about,
    )
