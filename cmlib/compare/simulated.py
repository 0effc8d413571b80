"""Compare two versions of a program by simulated counts, and find out whether the new one executes more, and where.

:func:`compare_simulated` runs both commands (text) under Valgrind's Callgrind, and returns the result as a dict:
verdict, counts by event, functions that changed, and more. Exact counts are of executed operations (instructions,
loads, stores, branches). Modeled counts are the misses and mispredictions of Callgrind's model of caches and of a
branch predictor. CmlibError if a command fails or is a recording, or Valgrind is missing.
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
from cmlib.compare.interpreters import replace_script
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
from cmlib.compare.versions import VersionCommand, is_recording
from cmlib.errors import CmlibError
from cmlib.io.archive.runs import VALGRIND
from cmlib.io.callgrind import (
    LARGEST_DIFFERENCE,
    REPETITIONS,
    as_events,
    count_threads,
    display_name,
    find_interpreter,
    has_python_names,
)
from cmlib.io.events import simulated_events
from cmlib.scratch import scratch_folder
from cmlib.terminal import say

_INSTRUCTIONS = "sim.instructions"
_START_S = 3  # to start Valgrind and to read its output [s]
_SLOWDOWN = 60, 200  # multiples of a program's own time, from and to (docs/simulated-counts.md)
_LEAST_IN_SCRIPT = (
    0.01  # share of instructions: if a script executes less, the interpreter's start-up is not left out
)
_MOST_IN_LIBC = 0.1  # a verdict depends on libc's routines if they have a larger share of the instructions
_LIBC = r"/(?:libc|ld-musl|libmusl)[^/]*$"


@dataclass(frozen=True)
class SimulatedVersion:
    """Simulated counts of one version.

    Attributes
    ----------
    name : str
        Its command.
    runs : DataFrame
        Counts, one row per run, one column per event.
    functions : DataFrame
        Mean counts over the runs, one row per function, one column per event, and the column ``file``.
    libc_share : float
        Share (0-1) of the instructions in the C library.
    startup_share : float
        Share (0-1) of the instructions in an interpreter's start-up, which is left out of the counts.
    interpreter : str
        The interpreter that has most of the estimated cycles; "" if none has.
    names_script : bool
        True if the functions of a Python script are listed by their names.
    repetitions : float
        Mean number of repetitions of string instructions in a run.
    n_threads : int
        Largest number of threads.
    about : dict
        Valgrind's version, caches and environment.
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
    """Simulate two versions, and judge the new one by its instructions and its modeled misses.

    The start-up of an interpreter is left out, because it would dilute any change of the script.

    Parameters
    ----------
    old, new : str
        Commands.
    n_runs : int, default 2
        Number of simulated runs of each.
    smallest, smallest_modelled : float, default 0.005 and 0.02
        Smallest relevant change of exact and of modeled counts, as a share.
    caches : dict, optional
        Caches to simulate, from Valgrind's names (I1, D1, LL) to text ``SIZE,WAYS,LINE``. Default: this machine's.
    sources : pair of paths, optional
        Source files of both, to name changed functions.
    timeout : float, optional
        Time limit of each run [s].
    notify, progress : callable
        Called with a sentence (str) on the progress; called without arguments after each run.

    Returns
    -------
    dict
        The output of ``--simulate --json``, as docs/compare-method.md describes it: schema, verdict (str), anomaly
        (True if the new one is slower), old and new (name, number of runs), counts (list of dicts, one for each event),
        cycle_estimate_ratio, counters (with causes: functions that changed), rules, limited_by and more.

    Raises
    ------
    CmlibError
        If a command is a recording, fails, or takes too long, or Valgrind is missing.
    ValueError
        If a command can't be split into words as a shell does, or a tree of `sources` contains no source.
    """
    changed = changed_functions(*sources) if sources else []
    options = cache_options(caches or {})
    for name in (old, new):
        if is_recording(name):
            raise CmlibError(f"{name} is a recording; --simulate compares two commands, which it runs.")
    commands = [VersionCommand(command, timeout=timeout) for command in (old, new)]
    for command in commands:
        put_back(command, notify)
    n_empty = _announce(commands, n_runs, notify)
    texts = _simulate_all(commands, n_runs, n_empty, options, notify, progress)
    startups = [_simulate_startup(command, options) for command in commands]
    old_version, new_version = map(_make_version, commands, texts, startups)
    return _judge(old_version, new_version, changed, smallest, smallest_modelled)


def _judge(old, new, changed, smallest, smallest_modelled):
    """Judge the new of two SimulatedVersions by the old one, and return the result of :func:`compare_simulated`.

    `changed` are the functions with changed source (list of dicts).
    """
    table = simulated_events()
    tests = compare_counts(old.runs, new.runs, table, smallest, smallest_modelled)
    verdict, cycle_ratio, by_misses, threshold = compare_estimates(
        tests, old.runs, new.runs, table["weight"], smallest_modelled
    )
    verdict, withheld = withhold_verdict(
        verdict,
        (old.repetitions, new.repetitions),
        old.runs[_INSTRUCTIONS].mean(),
        max(old.n_threads, new.n_threads),
        instructions=tests.iloc[0]["verdict"],
        smallest=smallest,
    )
    counters = _describe_causes(tests, old, new)
    causing_functions = {cause["function"] for cause in counters["causes"]}
    depends_on_libc = max(old.libc_share, new.libc_share) > _MOST_IN_LIBC
    largest_spread = max(spread(version.runs)[_INSTRUCTIONS] for version in (old, new))
    repeats = bool(largest_spread <= LARGEST_DIFFERENCE)
    return make_report(
        old,
        new,
        verdict,
        source=VALGRIND,
        simulator=new.about,
        settled=repeats,
        libc_share={"old": old.libc_share, "new": new.libc_share},
        startup_share={"old": old.startup_share, "new": new.startup_share},
        depends_on_libc=depends_on_libc,
        interpreter={"old": old.interpreter, "new": new.interpreter},
        names_script=old.names_script or new.names_script,
        threads={"old": old.n_threads, "new": new.n_threads},
        string_repetitions={"old": old.repetitions, "new": new.repetitions},
        limited_by=[*list_limits(verdict, libc=depends_on_libc, repeats=repeats), *withheld],
        p_value=None,
        rules=_describe_rules(len(tests), smallest, smallest_modelled, threshold),
        times=[],
        counts=to_rows(tests),
        cycle_estimate_ratio=cycle_ratio,
        cycles_by_misses=by_misses,
        counters=counters,
        changed_functions=mark_named(changed, causing_functions),
    )


def _describe_rules(n_tests, smallest, smallest_modelled, smallest_estimated):
    """Return the entry ``rules`` of the result: a dict."""
    return {
        "test": "ranges of the runs' counts, which repeat",
        "alpha": None,
        "smallest_change": smallest,
        "smallest_modelled_change": smallest_modelled,
        "smallest_estimated_change": smallest_estimated,
        "correction": None,
        "tests": n_tests,
        "looks": 1,
        "untested": [],
        "paired": True,
    }


def _describe_causes(tests, old, new):
    """Return the entry ``counters`` of the result (dict): the functions that account for changed counts."""
    changes = tests[tests["verdict"] != NO_CHANGE]
    causes = blame_changes(changes, old.functions, new.functions, len(new.runs))
    return {
        "counted_per": "run",
        "differ": bool(len(changes)),
        "p_value": None,
        "functions": [],
        "causes": to_rows(causes),
    }


def _announce(commands, n_runs, notify):
    """Run each command once, and announce how long the simulations will take.

    Return the number of simulations of an empty script.
    """
    seconds = sum(
        run_timed(command.argv(0), environment={}, timeout=command.timeout)[1] for command in commands
    )
    n_empty = sum(replace_script(command.argv(0), "") is not None for command in commands)
    n_simulations = 2 * n_runs + n_empty
    least, most = (n_simulations * (_START_S + times * seconds / 2) for times in _SLOWDOWN)
    of_empty = f", {n_empty} of an empty script" if n_empty else ""
    notify(
        f"{n_simulations} simulations{of_empty}, each {_SLOWDOWN[0]} to {_SLOWDOWN[1]} times as long as the program by "
        f"itself, and {_START_S} s to start and to read the counts: {_round_time(least)} to {_round_time(most)} in all."
    )
    return n_empty


def _simulate_all(commands, n_runs, n_empty, options, notify, progress):
    """Simulate each command `n_runs` times, and return a list of Callgrind's outputs (str) for each command."""
    texts = [[], []]
    n_others = 2 * n_runs + n_empty - 1
    for run in range(n_runs):
        for command, outputs in zip(commands, texts, strict=True):
            started = time.monotonic()
            outputs.append(_simulate_run(command, command.argv(run), options))
            progress()
            if outputs is texts[0] and run == 0:
                seconds = time.monotonic() - started
                others = f"the other {n_others} take about {_round_time(n_others * seconds)}"
                notify(f"The first simulation took {_round_time(seconds)}; {others}.")
    return texts


def _round_time(seconds):
    """Return a time for people, in seconds or minutes (str)."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _simulate_run(version, argv, options):
    """Simulate one run, and return Callgrind's output (str)."""
    with scratch_folder() as folder:
        outcome = simulate(
            argv,
            Path(folder),
            options=[*options, *EACH_INSTRUCTION, *EACH_THREAD],
            python=True,
            env=FIXED_LIBC,
            limit_s=version.timeout,
        )
        return outcome.raw.decode(errors="replace")


def _simulate_startup(version, options):
    """Simulate the start-up of an interpreter without its script, and return its counts by function, file and object.

    Return None if the command starts no interpreter, or the simulation fails.
    """
    with scratch_folder() as folder, contextlib.suppress(CmlibError):
        empty = folder / "empty"
        empty.touch()
        argv = replace_script(version.argv(0), str(empty))
        if argv:
            return _sum_by_function(_simulate_run(version, argv, options))
    return None


def _sum_by_function(text):
    """Sum the counts in Callgrind's output by function, file and object: a DataFrame."""
    return read_functions(text, strings_once=True).groupby(["function", "file", "object"]).sum()


def _make_version(version, texts, startup):
    """Make a SimulatedVersion from the outputs of its runs and the counts of its start-up (or None)."""
    parts = read_parts(texts[0])
    about = {"version": parts.version, "caches": parts.caches, "environment": FIXED_LIBC}
    tables = list(map(_sum_by_function, texts))
    startup_share = 0.0
    if startup is not None:
        tables, startup_share = _subtract_startup(tables, startup)
    runs = pd.DataFrame([as_events(table).sum() for table in tables])
    rows = pd.concat([table.reset_index() for table in tables], ignore_index=True)
    rows["function"] = list(map(display_name, rows["function"], rows["object"]))
    by_function = rows.groupby("function")
    counts = as_events(by_function[list(simulated_events()["callgrind"])].sum()) / len(tables)
    files = rows.loc[by_function["Ir"].idxmax()].set_index("function")["file"]
    libc_share = rows.loc[rows["object"].str.contains(_LIBC), "Ir"].sum() / rows["Ir"].sum()
    return SimulatedVersion(
        name=version.command,
        runs=runs,
        functions=counts.assign(file=files),
        libc_share=float(libc_share),
        startup_share=startup_share,
        interpreter=find_interpreter(as_events(tables[0])),
        names_script=has_python_names(tables[0]),
        repetitions=float(sum(table[REPETITIONS].sum() for table in tables) / len(tables)),
        n_threads=max(map(count_threads, texts)),
        about=about,
    )


def _subtract_startup(tables, startup):
    """Subtract the counts of the start-up from those of each run; return the tables, and the start-up's share (0-1).

    The tables are returned unchanged, with a share of 0, if the script executes hardly any instructions.
    """
    script_tables = [(table - startup.reindex(table.index, fill_value=0)).clip(lower=0) for table in tables]
    script_share = min(
        script["Ir"].sum() / table["Ir"].sum() for script, table in zip(script_tables, tables, strict=True)
    )
    if script_share <= _LEAST_IN_SCRIPT:
        return tables, 0.0
    return script_tables, float(1 - script_share)
