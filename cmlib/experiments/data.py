"""Select recorded programs and load their counts.

:func:`programs` selects the programs that a notebook can study. :func:`interval_runs` lists their runs.
:func:`cleaned_runs` loads the runs of one program and cleans their counts. All functions read a database of
recordings, given by its URL (`url`).

A run is one execution of a program. A set is a named list of events to count. If the events of a set do not fit
into one run, several runs share them. These runs form a pass, and a set can be repeated in several passes. Each run
has a mode:

- ``ocoe`` (one counter, one event): every event was counted all the time.
- ``mlpx`` (multiplexing): the events took turns on the counters.
- ``lines``: the counts were compressed to straight lines. The lists of programs and runs do not contain such runs.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from cmlib import clean
from cmlib.clean.series import FEWEST_SAMPLES
from cmlib.collect.schedule import PINNED
from cmlib.errors import NothingRecordedError, UnfitRecordingError
from cmlib.experiments.cache import cached
from cmlib.experiments.event_tables import known_sums
from cmlib.experiments.requested import resolve_names, split_names
from cmlib.io import programs as program_tables
from cmlib.io import store
from cmlib.io.archive.runs import RUNS, TIME, UNKNOWN, VALGRIND
from cmlib.io.provenance import note_read
from cmlib.parallel import parallel_map
from cmlib.shell import FILES, as_code, command_code

if TYPE_CHECKING:
    import pandas as pd

    from cmlib.io.recording import Recording
    from cmlib.parallel import Workers

__all__ = ["FEWEST_INTERVALS", "describe_data", "knows_ipc", "refuse_simulated", "timed_runs"]

_MODE_TEXTS = {"ocoe": "without multiplexing", "mlpx": "with multiplexing"}
FEWEST_INTERVALS = 20  # shorter runs cannot be studied
_MOST_COMMANDS = 6  # in the description of the data; only names are listed for more programs
_NEEDS_INTERVALS = "Count in intervals: `perf stat -I 100 -x, -o FILE -- COMMAND`"


def programs(url: str, wanted: str = "all", *, modes: Sequence[str] = ()) -> list[str]:
    """Select the recorded programs that can be studied.

    Parameters
    ----------
    url : str
        URL of the database of recordings.
    wanted : str, default "all"
        Names of programs, separated by commas, or ``"all"``. The value ``"all"`` selects every measured program with
        suitable runs. It selects imported programs only if no other program has suitable runs.
    modes : sequence of {"ocoe", "mlpx"}, optional
        Modes in which each program must have a run of at least 20 intervals with instructions and cycles. Default:
        the runs are not checked.

    Returns
    -------
    list of str
        Names of the programs.

    Raises
    ------
    NothingRecordedError
        If no program is recorded, or a named program is not recorded.
    UnfitRecordingError
        If a named program cannot be studied. The message says why. For example, its runs have fewer than 20 intervals.
    ValueError
        If `wanted` contains no name.
    """
    runs = _drop_compressed(store.runs(url))
    problems = {name: _find_problem(group, modes) for name, group in runs.groupby("program")}
    if wanted == "all":
        return _select_usable(runs, problems, modes)
    todo = _suggest_recording(url, wanted, recorded=problems)
    names = resolve_names(wanted, problems, about="the programs recorded", todo=todo)
    for name in names:
        if problems[name]:
            raise UnfitRecordingError(
                f"{name!r} has {problems[name]}. What is missing: {how_to_record(name)}"
            )
    _refuse_mixed_sources(names, runs)
    return names


def _select_usable(runs, problems, modes):
    """Return the measured programs without a problem.

    Imported programs are returned only if no other program is usable.
    """
    simulated = _select_programs(runs, runs["source"] == VALGRIND)
    usable = [name for name, problem in problems.items() if not problem and name not in simulated]
    if not usable:
        kinds = " and ".join(_MODE_TEXTS[mode] for mode in modes) or "in intervals"
        raise NothingRecordedError(f"no program is recorded {kinds}. Record one: {how_to_record('NAME')}")
    imported = _select_programs(runs, runs["imported"])
    recorded_here = [name for name in usable if name not in imported]
    return recorded_here or usable


def _select_programs(runs, mask):
    """Return the program names (set) of the rows that a mask selects."""
    return set(runs.loc[mask.astype(bool), "program"])


def _suggest_recording(url, wanted, recorded):
    """Return advice for the first name in `wanted` that is not recorded.

    The advice is the command that records the program. If files of the program were rejected, the reasons follow. The
    text is "" if all programs are recorded.
    """
    unknown_names = [name for name in split_names(wanted) if name not in recorded]
    if not unknown_names:
        return ""
    name = unknown_names[0]
    advice = f"Record it: {how_to_record(name)}"
    rejected_files = store.refused(url)
    is_of_program = rejected_files["name"].str.split("/").str[1] == name
    reasons = rejected_files["reason"][is_of_program]
    return "\nLeft out: ".join([advice, *reasons])


def _refuse_mixed_sources(names, runs):
    """Raise an error if both simulated and measured programs are selected."""
    simulated = sorted(_select_programs(runs, runs["source"] == VALGRIND) & set(names))
    if simulated and len(simulated) < len(names):
        raise UnfitRecordingError(
            f"{', '.join(simulated)}: simulated. The other programs were measured. Simulated and measured programs "
            "cannot be compared. Study them separately."
        )


def _find_problem(runs, modes):
    """Return why the runs of one program cannot be studied, or "" if they can."""
    if runs["source"].nunique() > 1:
        return "measured and simulated runs in one folder, which cannot be joined"
    if not modes:
        return ""
    if VALGRIND in set(runs["source"]):
        return "only simulated runs, which count no cycles. IPC is therefore unknown"
    if (runs["axis"] == RUNS).all():
        return f"only totals of complete runs. {_NEEDS_INTERVALS}"
    with_ipc = runs[runs["events"].map(knows_ipc)]
    if with_ipc.empty:
        return "no run that counts both instructions and cycles"
    return _find_problem_of_modes(with_ipc, modes)


def _find_problem_of_modes(runs, modes):
    """Return why a program has no suitable run in one of the modes, or "" if it has."""
    recorded_modes = set(runs["mode"])
    if recorded_modes == {UNKNOWN}:
        return "no running shares. It is therefore unknown whether counts are extrapolated"
    absent = [_MODE_TEXTS[mode] for mode in modes if mode not in recorded_modes]
    if absent:
        return f"no run {' and none '.join(absent)} that counts instructions and cycles"
    short_runs = runs[runs["mode"].isin(modes) & (runs["n_intervals"] < FEWEST_INTERVALS)]
    if len(short_runs):
        run = short_runs.iloc[0]
        return (
            f"only {run['n_intervals']} intervals in run {run['run']}. At least {FEWEST_INTERVALS} are needed"
        )
    return ""


def knows_ipc(events: Collection[str]) -> bool:
    """Return True if both instructions and cycles were counted.

    Parameters
    ----------
    events : collection of str
        Names of the counted events.

    Returns
    -------
    bool
        True if IPC (instructions per cycle) can be computed.
    """
    return set(PINNED) <= set(events)


def how_to_record(name: str) -> str:
    """Return the commands that record a program.

    Parameters
    ----------
    name : str
        Name of the program.

    Returns
    -------
    str
        Text in Markdown. The command is ``cmlib record --program`` for a program that comes with cmlib. For other
        programs, the text names the commands that record and import a program.
    """
    if name in program_tables.suites():
        return command_code("cmlib", "record", "--program", name)
    record = command_code("cmlib", "record", name, "--", "COMMAND")
    import_files = command_code("cmlib", "import", name, FILES)
    return f"{record}, or {import_files}"


def interval_runs(url: str, programs: Iterable[str]) -> pd.DataFrame:
    """List the runs of some programs.

    Parameters
    ----------
    url : str
        URL of the database of recordings.
    programs : iterable of str
        Names of the programs.

    Returns
    -------
    DataFrame
        One row per run, with the columns of :func:`cmlib.io.store.runs`. Examples are run_id, program, n_intervals,
        events (tuple of names), source (``"perf"`` or ``"valgrind"``) and axis. The axis is ``"time"`` if the rows
        of a run are intervals, and ``"runs"`` if each row is a complete run. Empty if no run was found.
    """
    return _drop_compressed(store.runs(url)).query("program in @programs").reset_index(drop=True)


def load_both_modes(url: str, program: str) -> tuple[list[Recording], list[Recording]]:
    """Load the runs of a program, separately for each mode of counting.

    Only runs that counted both instructions and cycles are loaded.

    Parameters
    ----------
    url : str
        URL of the database of recordings.
    program : str
        Name of the program.

    Returns
    -------
    ocoe_runs : list of cmlib.io.recording.Recording
        Runs without multiplexing. Empty if none was found.
    mlpx_runs : list of cmlib.io.recording.Recording
        Runs with multiplexing: the events took turns on the counters. Empty if none was found.
    """
    runs = _drop_compressed(store.runs(url, program=program))
    runs = runs[runs["events"].map(knows_ipc)]
    ocoe_runs, mlpx_runs = (
        [store.load(url, run_id) for run_id in runs.loc[runs["mode"] == mode, "run_id"]]
        for mode in _MODE_TEXTS
    )
    return ocoe_runs, mlpx_runs


def timed_runs(url: str, programs: Iterable[str]) -> pd.DataFrame:
    """List the runs that were counted in intervals of time.

    Parameters
    ----------
    url : str
        URL of the database of recordings.
    programs : iterable of str
        Names of the programs.

    Returns
    -------
    DataFrame
        One row per run, with the columns of :func:`interval_runs`. Empty if the programs have no runs.

    Raises
    ------
    UnfitRecordingError
        If the programs only have total counts of complete runs.
    """
    runs = interval_runs(url, programs)
    timed = runs[runs["axis"] == TIME].reset_index(drop=True)
    if timed.empty and len(runs):
        raise UnfitRecordingError(f"{', '.join(programs)}: only totals of complete runs. {_NEEDS_INTERVALS}.")
    return timed


def is_simulated(url: str, programs: Iterable[str]) -> bool:
    """Return True if programs were simulated by Valgrind.

    Parameters
    ----------
    url : str
        URL of the database of recordings.
    programs : iterable of str
        Names of the programs. All must be simulated, or all measured.

    Returns
    -------
    bool
        False if the programs were measured.
    """
    return VALGRIND in set(interval_runs(url, programs)["source"])


def describe_source(url: str, programs: Iterable[str]) -> str:
    """Return a sentence for captions if the counts are simulated.

    Parameters
    ----------
    url : str
        URL of the database of recordings.
    programs : iterable of str
        Names of the programs. All must be simulated, or all measured.

    Returns
    -------
    str
        Text in Markdown with the version of the simulator. Empty if the programs were measured.
    """
    if not is_simulated(url, programs):
        return ""
    meta = store.load(url, interval_runs(url, programs)["run_id"].iloc[0]).meta
    return f"**Simulated** by Valgrind's Callgrind {_escape_markdown(meta['simulator']['version'])}, not measured."


def describe_data(url: str, programs: Iterable[str]) -> str:
    """Describe the recordings that a notebook uses.

    The text contains the numbers of runs and programs, the commands and the machines. If the CounterMiner paper studied
    the same programs, the text says that these are not the data of the paper.

    Parameters
    ----------
    url : str
        URL of the database of recordings.
    programs : iterable of str
        Names of the programs. At least one must be recorded.

    Returns
    -------
    str
        A paragraph in Markdown.
    """
    runs = interval_runs(url, programs)
    first_ids = runs.groupby("program")["run_id"].first()
    first_runs = {name: store.load(url, run_id) for name, run_id in first_ids.items()}
    if len(first_runs) <= _MOST_COMMANDS:
        program_texts = [_describe_command(name, run) for name, run in first_runs.items()]
    else:
        program_texts = list(first_runs)
    numbers = f"{_count_noun(len(runs), 'run')} of {_count_noun(len(first_runs), 'program')}"
    source = describe_source(url, programs) or _describe_measurement(programs, first_runs)
    return f"**Data.** {numbers}: {', '.join(program_texts)}; {source}"


def _count_noun(number, noun):
    """Return a number with its noun. For example, "2 runs"."""
    return f"{number} {noun}s" if number > 1 else f"{number} {noun}"


def _describe_command(name, run):
    """Return the command of a run, after the name of the program if they differ."""
    command = " ".join((run.meta.get("command") or "command not known").split())
    if command.startswith(name):
        return as_code(command)
    return f"{name} ({as_code(command)})"


def _describe_measurement(programs, first_runs):
    """Return sentences on the machines, and on whether the paper used the same programs."""
    machines = dict.fromkeys(_describe_machine(run) for run in first_runs.values())
    text = f"counted by `perf stat` on {' and '.join(machines)}."
    paper_programs = of_suites(programs, ["HiBench", "CloudSuite 3.0"])
    if paper_programs:
        names = ", ".join(paper_programs)
        return f"{text} Not the paper's data: {names} are among CounterMiner's programs, run anew."
    if program_tables.suites().keys() & first_runs.keys():
        return f"{text} Not the paper's data."
    return text


def _describe_machine(run):
    """Return a text on the processor and the virtual machine of a run."""
    machine = run.machine
    processor = machine.get("model_name") or "a processor that is not known"
    microarchitecture = (machine.get("microarchitecture") or "").replace("amd_zen", "Zen ").replace("_", " ")
    if microarchitecture:
        processor += f" ({microarchitecture})"
    if machine.get("virtual"):
        processor += f", in a virtual machine ({machine['virtual']})"
    description = _escape_markdown(processor)
    if run.meta.get("modifier") == "u":
        description += ", user mode only"
    return description


def _escape_markdown(text):
    """Escape a text for Markdown, and join its lines."""
    return re.sub(r"[\\`*_$&<>\[\]]", lambda match: f"&#{ord(match[0])};", " ".join(text.split()))


def refuse_simulated(url: str, programs: Iterable[str], reason: str) -> None:
    """Raise an error if programs were simulated.

    Parameters
    ----------
    url : str
        URL of the database of recordings.
    programs : iterable of str
        Names of the programs.
    reason : str
        End of the error message. For example, "a repeated simulation gives the same counts."

    Raises
    ------
    UnfitRecordingError
        If the programs were simulated.
    """
    if is_simulated(url, programs):
        raise UnfitRecordingError(f"simulated programs cannot be used here ({', '.join(programs)}): {reason}")


def cleaned_runs(
    url: str,
    program: str,
    sets: Collection[str],
    *,
    method: str = "shrinkage",
    workers: Workers | None = None,
) -> pd.DataFrame:
    """Load the runs of a program and clean their counts.

    Simulated counts are exact and stay unchanged. If an event has fewer than three samples in a run, all its counts
    in this run become NaN.

    Parameters
    ----------
    url : str
        URL of the database of recordings.
    program : str
        Name of the program.
    sets : collection of str
        Names of the sets to load. A set is a named list of events to count. For example, ``{"ocoe"}``.
    method : str, default "shrinkage"
        Cleaning method, a key of :data:`cmlib.clean.METHODS`. It is replaced by "interpolate" in two cases: if each
        row is a complete run, and if the recording does not contain the fraction of time in which each event was
        counted.
    workers : cmlib.parallel.Workers, optional
        Processes that clean the runs. Default: one per processor.

    Returns
    -------
    DataFrame
        One row per run, with these columns:

        - ``set``: name of the set.
        - ``pass``: number of the repetition of the set (int).
        - ``counts``: DataFrame with one row per interval and one column per event. Its index is usually the end of
          the interval [s].
        - ``seconds``: Series with the length of each interval [s].

    Raises
    ------
    NothingRecordedError
        If no run of these sets is recorded.
    """
    runs = store.runs(url, program=program).query("set in @sets")
    if runs.empty:
        todo = how_to_record(program)
        set_names = " or ".join(sets)
        raise NothingRecordedError(
            f"program {program!r} has no recording of {set_names}; notebook 01 lists what it has. Record it: "
            f"{todo}."
        )
    for provenance in store.provenances(
        url, runs["run_id"]
    ):  # worker processes read the runs, and cannot note it
        note_read(provenance)
    job = functools.partial(_clean_run, url, method=method)
    counts, seconds = zip(*parallel_map(job, runs["run_id"], workers), strict=True)
    return runs[["set", "pass"]].assign(counts=list(counts), seconds=list(seconds))


def _drop_compressed(runs):
    """Return the rows of runs that are not compressed to straight lines."""
    return runs[runs["mode"] != "lines"]


def _clean_run(url, run_id, *, method):
    """Return the cleaned counts of a run and its interval lengths [s]."""
    run = store.load(url, run_id)
    counts, running = run.whole()
    if run.simulated:
        return counts, run.interval_s[counts.index]
    if not run.knows_shares or run.holds_totals:  # cleaning needs the running shares
        method = "interpolate"
        running = None
    seldom_counted = counts.columns[counts.notna().sum() < FEWEST_SAMPLES]
    counts = counts.assign(**dict.fromkeys(seldom_counted, float("nan")))
    sums = known_sums(run)

    def compute():
        cleaned, _ = clean.clean_run(counts, running, method=method, sums=sums, run=f"run {run_id!r}")
        return {"counts": cleaned}

    cleaned = cached(("cleaned run", method, sums, counts, running), compute)["counts"]
    return cleaned, run.interval_s[counts.index]


def suites(programs: Iterable[str]) -> dict[str, str]:
    """Return the benchmark suite of each program.

    Parameters
    ----------
    programs : iterable of str
        Names of the programs.

    Returns
    -------
    dict of str to str
        Suite of each program. For example, ``{"kmeans": "HiBench"}``. The suite of an unknown program is ``"own"``.
    """
    suite_by_program = program_tables.suites()
    return {name: suite_by_program.get(name, "own") for name in programs}


def of_suites(programs: Iterable[str], wanted: Collection[str]) -> list[str]:
    """Select the programs of some benchmark suites.

    Parameters
    ----------
    programs : iterable of str
        Names of the programs.
    wanted : collection of str
        Names of suites. For example, ``["HiBench"]``.

    Returns
    -------
    list of str
        Names of the selected programs, in input order.
    """
    return [name for name, suite in suites(programs).items() if suite in wanted]


def paper_figures(programs: Iterable[str], numbers: dict[str, str]) -> str:
    """Return the label of a figure that repeats a figure of CounterMiner.

    Parameters
    ----------
    programs : iterable of str
        Names of the programs in the figure.
    numbers : dict of str to str
        For each suite, the number of the figure in the paper.

    Returns
    -------
    str
        For example, ``"CounterMiner, Fig. 6"``. ``"Figure"`` if no program belongs to these suites.
    """
    figures = [number for suite, number in numbers.items() if of_suites(programs, [suite])]
    return f"CounterMiner, Fig. {' and '.join(figures)}" if figures else "Figure"
