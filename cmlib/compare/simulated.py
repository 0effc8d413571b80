"""Compare two versions of a program by counts that Valgrind's Callgrind simulates.

:func:`compare_simulated` takes two commands and returns the result as a dict: the verdict, the counts of each
event, and the functions that changed. Exact counts are instructions, loads, stores and branches. Modeled
counts are cache misses and branch mispredictions of a simple model. Simulated counts hardly vary between
runs, so two runs are enough.
"""

import contextlib
import time
from collections.abc import Callable, Sequence
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
_START_S = 3  # time to start Valgrind and to read its output [s]
_SLOWDOWN = 60, 200  # smallest and largest slowdown of a program under Valgrind (docs/simulated-counts.md)
# If a script executes a smaller fraction of the instructions, the interpreter's start-up is included.
_LEAST_IN_SCRIPT = 0.01
# If the C library executes a larger fraction of the instructions, the verdict depends on its choice of functions.
_MOST_IN_LIBC = 0.1
_LIBC = r"/(?:libc|ld-musl|libmusl)[^/]*$"


@dataclass(frozen=True)
class SimulatedVersion:
    """Simulated counts of one version.

    Attributes
    ----------
    name : str
        Command of the version.
    runs : DataFrame
        Counts, one row per run, one column per event.
    functions : DataFrame
        Mean counts, one row per function, one column per event, and the column ``file``.
    libc_share : float
        Fraction of the instructions that is executed in the C library.
    startup_share : float
        Fraction of the instructions that is executed in the start-up of an interpreter. The counts do not
        include it.
    interpreter : str
        Interpreter that has most of the estimated cycles. Empty if there is none.
    names_script : bool
        True if the counts name the functions of a Python script.
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
    old: str,
    new: str,
    *,
    n_runs: int = 2,
    smallest: float = 0.005,
    smallest_modelled: float = 0.02,
    caches: dict[str, str] | None = None,
    sources: Sequence[str | Path] | None = None,
    timeout: float | None = None,
    notify: Callable[[str], None] = say,
    progress: Callable[[], None] = lambda: None,
) -> dict:
    """Compare two versions of a program by simulated counts.

    The start-up of an interpreter is left out, because it would hide changes of a short script.

    Parameters
    ----------
    old, new : str
        Commands to run.
    n_runs : int, default 2
        Number of simulated runs of each command.
    smallest : float, default 0.005
        Smallest relevant change of exact counts, as a fraction.
    smallest_modelled : float, default 0.02
        Smallest relevant change of modeled counts, as a fraction.
    caches : dict, optional
        Caches to simulate, keyed by Valgrind's names. For example, ``{"LL": "8388608,16,64"}``. Default: the
        caches of this machine.
    sources : sequence of two paths, optional
        Source trees of both versions, to find the changed functions.
    timeout : float, optional
        Time limit of each run [s].
    notify : callable, optional
        Function that is called with each progress message (str).
    progress : callable, optional
        Function that is called without arguments after each run.

    Returns
    -------
    dict
        Output of ``cmlib compare --simulate --json``. ``docs/compare-method.md`` describes all keys. The main
        ones are:

        - ``verdict``: for example, "slower" or "same"
        - ``anomaly``: True if the new version is slower
        - ``old``, ``new``: name and number of runs
        - ``counts``: list of dicts, one per event
        - ``cycle_estimate_ratio``: estimated cycles, new divided by old
        - ``counters``: functions that changed
        - ``limited_by``: reasons that limit the verdict

    Raises
    ------
    CmlibError
        If a command is a recording, fails or takes too long, or if Valgrind is not installed.
    InputError
        If a command is not valid shell syntax, or a tree of `sources` contains no source file.
    """
    changed = changed_functions(*sources) if sources else []
    options = cache_options(caches or {})
    for name in (old, new):
        if is_recording(name):
            raise CmlibError(f"{name} is a recording. --simulate compares two commands.")
    commands = [VersionCommand(command, timeout=timeout) for command in (old, new)]
    for command in commands:
        put_back(command, notify)
    n_empty = _announce(commands, n_runs, notify)
    texts = _simulate_all(commands, n_runs, n_empty, options, notify, progress)
    startups = [_simulate_startup(command, options) for command in commands]
    old_version, new_version = map(_make_version, commands, texts, startups)
    return _judge(old_version, new_version, changed, smallest, smallest_modelled)


def _judge(
    old: SimulatedVersion,
    new: SimulatedVersion,
    changed: list[dict],
    smallest: float,
    smallest_modelled: float,
) -> dict:
    """Judge the new version, and return the result of :func:`compare_simulated`.

    `changed` are the functions with changed source.
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


def _describe_rules(
    n_tests: int, smallest: float, smallest_modelled: float, smallest_estimated: float
) -> dict:
    """Return the entry ``rules`` of the result."""
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


def _describe_causes(tests: pd.DataFrame, old: SimulatedVersion, new: SimulatedVersion) -> dict:
    """Return the entry ``counters`` of the result, with the functions that changed."""
    changes = tests[tests["verdict"] != NO_CHANGE]
    causes = blame_changes(changes, old.functions, new.functions, len(new.runs))
    return {
        "counted_per": "run",
        "differ": bool(len(changes)),
        "p_value": None,
        "functions": [],
        "causes": to_rows(causes),
    }


def _announce(commands: list[VersionCommand], n_runs: int, notify: Callable[[str], None]) -> int:
    """Run each command once, and announce how long the simulations will take.

    Return the number of simulations of an empty script.
    """
    seconds = sum(
        run_timed(command.argv(0), environment={}, timeout=command.timeout)[1] for command in commands
    )
    n_empty = sum(replace_script(command.argv(0), "") is not None for command in commands)
    n_simulations = 2 * n_runs + n_empty
    least, most = (n_simulations * (_START_S + times * seconds / 2) for times in _SLOWDOWN)
    empty_scripts = f", {n_empty} of an empty script" if n_empty else ""
    notify(
        f"{n_simulations} simulations{empty_scripts}. Each takes {_SLOWDOWN[0]} to {_SLOWDOWN[1]} times as long as the "
        f"program, plus {_START_S} s. Total: {_round_time(least)} to {_round_time(most)}."
    )
    return n_empty


def _simulate_all(
    commands: list[VersionCommand],
    n_runs: int,
    n_empty: int,
    options: list[str],
    notify: Callable[[str], None],
    progress: Callable[[], None],
) -> tuple[list[str], list[str]]:
    """Simulate `n_runs` runs of both commands, and return Callgrind's outputs for each command."""
    old, new = commands
    old_texts = []
    new_texts = []
    n_further = 2 * n_runs + n_empty - 1
    for run in range(n_runs):
        started = time.monotonic()
        old_texts.append(_simulate_run(old, old.argv(run), options))
        progress()
        if run == 0:
            seconds = time.monotonic() - started
            notify(
                f"The first simulation took {_round_time(seconds)}; the other {n_further} take about "
                f"{_round_time(n_further * seconds)}."
            )
        new_texts.append(_simulate_run(new, new.argv(run), options))
        progress()
    return old_texts, new_texts


def _round_time(seconds: float) -> str:
    """Write a time in seconds or minutes."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _simulate_run(version: VersionCommand, argv: list[str], options: list[str]) -> str:
    """Simulate one run, and return Callgrind's output."""
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


def _simulate_startup(version: VersionCommand, options: list[str]) -> pd.DataFrame | None:
    """Simulate an interpreter with an empty script, and return its counts by function.

    Return None if the command starts no interpreter or the simulation fails.
    """
    with scratch_folder() as folder, contextlib.suppress(CmlibError):
        empty = folder / "empty"
        empty.touch()
        argv = replace_script(version.argv(0), str(empty))
        if argv:
            return _sum_by_function(_simulate_run(version, argv, options))
    return None


def _sum_by_function(text: str) -> pd.DataFrame:
    """Sum the counts in Callgrind's output by function, file and object."""
    return read_functions(text, strings_once=True).groupby(["function", "file", "object"]).sum()


def _make_version(
    version: VersionCommand, texts: list[str], startup: pd.DataFrame | None
) -> SimulatedVersion:
    """Make a SimulatedVersion from Callgrind's outputs and the counts of the start-up."""
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


def _subtract_startup(tables: list[pd.DataFrame], startup: pd.DataFrame) -> tuple[list[pd.DataFrame], float]:
    """Subtract the start-up from the counts of each run.

    Return the counts, and the fraction of instructions in the start-up. If the script executes hardly any
    instructions, the counts are unchanged and the fraction is 0.
    """
    script_tables = [(table - startup.reindex(table.index, fill_value=0)).clip(lower=0) for table in tables]
    script_share = min(
        script["Ir"].sum() / table["Ir"].sum() for script, table in zip(script_tables, tables, strict=True)
    )
    if script_share <= _LEAST_IN_SCRIPT:
        return tables, 0.0
    return script_tables, float(1 - script_share)
