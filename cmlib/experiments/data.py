"""Find the recordings of programs in the store, check whether they are sufficient, and clean their counts.

The store is a database made of the recordings, identified by its URL (`url`). A run is one execution of a program. A
set is a named plan of the events to count; one pass of a set is the runs that together count all its events once. A
run's mode is ``ocoe`` (one counter, one event: each event is counted all the time), ``mlpx`` (multiplexing: events
take turns on the counters) or ``lines`` (samples, stored as piecewise-linear segments). :func:`programs` lists the
names of programs, :func:`interval_runs` their runs, and :func:`cleaned_runs` returns the cleaned counts of one
program. NothingRecordedError if a program is not recorded, UnfitRecordingError if its recording is not sufficient.
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
from cmlib.templates import template

if TYPE_CHECKING:
    import pandas as pd

    from cmlib.io.recording import Recording
    from cmlib.parallel import Workers

__all__ = ["FEWEST_INTERVALS", "describe_data", "knows_ipc", "refuse_simulated", "timed_runs"]

_KINDS = {"ocoe": "without multiplexing", "mlpx": "with multiplexing"}
FEWEST_INTERVALS = 20
TAKES_INTERVALS = "this takes intervals of one run: `perf stat -I 100 -x, -o FILE -- COMMAND`"


def programs(url: str, wanted: str = "all", *, modes: Sequence[str] = ()) -> list[str]:
    """Select the recorded programs that a notebook can study.

    Parameters
    ----------
    url : str
        Store of recordings.
    wanted : str, default "all"
        Names separated by commas, or "all": every measured program that has runs in all `modes`. Programs that were
        recorded by other tools are included in "all" only if there are no others.
    modes : sequence of {"ocoe", "mlpx"}, optional
        Modes in which each program must have been recorded. Default: any runs by interval.

    Returns
    -------
    list of str
        Names of the programs.

    Raises
    ------
    NothingRecordedError
        If no program, or not a named one, is recorded; the message contains the command that records it.
    UnfitRecordingError
        If a named program has no runs in a mode, has a run of fewer than 20 intervals in a mode, or is simulated and
        `modes` is not empty; or if a program or the named programs have both simulated and measured runs.
    ValueError
        If `wanted` contains no name.
    """
    runs = _in_intervals(store.runs(url))
    problems = {name: find_problem(group, modes) for name, group in runs.groupby("program")}
    if wanted == "all":
        return _all_usable(runs, problems, modes)
    todo = _hint_for_unknown(url, wanted, problems)
    names = resolve_names(wanted, problems, about="the programs recorded", todo=todo)
    for name in names:
        if problems[name]:
            raise UnfitRecordingError(
                f"{name!r} has {problems[name]}. What is missing: {how_to_record(name)}"
            )
    _refuse_mixed_sources(names, runs)
    return names


def _all_usable(runs, problems, modes):
    """Return the measured programs without a problem; imported ones only if there are no others."""
    simulated = _select_programs(runs, runs["source"] == VALGRIND)
    usable = [name for name, problem in problems.items() if not problem and name not in simulated]
    if not usable:
        kinds = " and ".join(_KINDS[mode] for mode in modes) or "in intervals"
        raise NothingRecordedError(f"no program is recorded {kinds}. Record one: {how_to_record('NAME')}")
    imported = _select_programs(runs, runs["imported"])
    recorded_here = [name for name in usable if name not in imported]
    return recorded_here or usable


def _select_programs(runs, mask):
    """Return the names (set) of the programs of the runs (rows) that a mask selects."""
    return set(runs.loc[mask.astype(bool), "program"])


def _hint_for_unknown(url, wanted, recorded):
    """Describe how to record the first wanted name that is not recorded, and why its files were left out."""
    unknown = [name for name in split_names(wanted) if name not in recorded]
    if not unknown:
        return ""
    refused = store.refused(url)
    reasons = refused["reason"][refused["name"].str.split("/").str[1] == unknown[0]]
    return "\nLeft out: ".join([f"Record it: {how_to_record(unknown[0])}", *reasons])


def _refuse_mixed_sources(names, runs):
    """Raise an error if simulated and measured programs are selected together."""
    simulated = sorted(_select_programs(runs, runs["source"] == VALGRIND) & set(names))
    if simulated and len(simulated) < len(names):
        raise UnfitRecordingError(
            f"Simulated: {', '.join(simulated)}. The others were measured, and the two cannot be compared; study "
            "them separately."
        )


def find_problem(runs, modes):
    """Find why the runs of a program can't be used.

    Parameters
    ----------
    runs : DataFrame
        Runs of one program, from :func:`interval_runs`.
    modes : sequence of {"ocoe", "mlpx"}
        Modes in which the program must have been recorded.

    Returns
    -------
    str
        Part of a sentence, such as ``"no run without multiplexing …"``; "" if the runs can be used.
    """
    if runs["source"].nunique() > 1:
        return "measured and simulated runs in one folder, and the two are never joined"
    if modes and VALGRIND in set(runs["source"]):
        return "simulated runs only, which count no cycles, so that there is no IPC"
    if modes and (runs["axis"] == RUNS).all():
        return f"totals of whole runs, and {TAKES_INTERVALS}"
    usable = runs[runs["events"].map(knows_ipc)]
    if usable.empty and modes:
        return "no run that counts both instructions and cycles"
    if modes and set(usable["mode"]) == {UNKNOWN}:
        return "no running shares, so that it is not known which of its counts are extrapolated"
    absent = [_KINDS[mode] for mode in modes if mode not in set(usable["mode"])]
    if absent:
        return f"no run {' and none '.join(absent)} that counts instructions and cycles"
    short = usable[usable["mode"].isin(modes) & (usable["n_intervals"] < FEWEST_INTERVALS)]
    if len(short):
        run = short.iloc[0]
        return f"{run['n_intervals']} intervals in run {run['run']}, and {FEWEST_INTERVALS} are the fewest"
    return ""


def knows_ipc(events: Collection[str]) -> bool:
    """Return True if IPC can be computed from counts of some events.

    Parameters
    ----------
    events : collection of str
        Names of the counted events.

    Returns
    -------
    bool
        True if instructions and cycles are among them.
    """
    return set(PINNED) <= set(events)


def how_to_record(name):
    """Write the commands that record a program.

    Parameters
    ----------
    name : str
        Name of the program.

    Returns
    -------
    str
        Markdown. For a program that comes with cmlib, ``cmlib record --program``; for others, the commands that record
        or import any program.
    """
    if name in program_tables.suites():
        return command_code("cmlib", "record", "--program", name)
    record = command_code("cmlib", "record", name, "--", "COMMAND")
    import_files = command_code("cmlib", "import", name, FILES)
    return f"{record}, or {import_files}"


def interval_runs(url: str, programs: Iterable[str]) -> pd.DataFrame:
    """List the runs of some programs, without those compressed to lines.

    Parameters
    ----------
    url : str
        URL of the store.
    programs : iterable of str
        Names of programs in it.

    Returns
    -------
    DataFrame
        One row per run, with the columns of :func:`cmlib.io.store.runs`, among them run_id, program, set, mode, pass,
        source ("perf" or "valgrind"), axis ("time", or "runs" if each interval is a whole run), n_intervals and events
        (tuple of names). Empty if there are no runs.
    """
    return _in_intervals(store.runs(url)).query("program in @programs").reset_index(drop=True)


def load_both_modes(url: str, program: str) -> tuple[list[Recording], list[Recording]]:
    """Load the runs of a program without and with multiplexing.

    Parameters
    ----------
    url : str
        URL of the store.
    program : str
        Name of a program in it.

    Returns
    -------
    ocoe_runs : list of cmlib.io.recording.Recording
        Runs that counted their events all the time (one counter, one event).
    mlpx_runs : list of Recording
        Runs with events that took turns on the counters.

    Notes
    -----
    Runs that do not count both instructions and cycles are left out. A list is empty if there is no such run;
    :func:`programs` with ``modes=["ocoe", "mlpx"]`` names the programs that have both.
    """
    runs = _in_intervals(store.runs(url, program=program))
    runs = runs[runs["events"].map(knows_ipc)]
    ocoe_runs, mlpx_runs = (
        [store.load(url, run_id) for run_id in runs.loc[runs["mode"] == mode, "run_id"]] for mode in _KINDS
    )
    return ocoe_runs, mlpx_runs


def timed_runs(url: str, programs: Iterable[str]) -> pd.DataFrame:
    """List the runs of some programs that have intervals in time, without totals of whole runs.

    Parameters
    ----------
    url : str
        URL of the store.
    programs : iterable of str
        Names of programs in it.

    Returns
    -------
    DataFrame
        One row per run, with the columns of :func:`interval_runs`; empty if there are no runs.

    Raises
    ------
    UnfitRecordingError
        If the programs have only totals of whole runs.
    """
    runs = interval_runs(url, programs)
    timed = runs[runs["axis"] == TIME].reset_index(drop=True)
    if timed.empty and len(runs):
        raise UnfitRecordingError(f"{', '.join(programs)}: totals of whole runs, and {TAKES_INTERVALS}.")
    return timed


def is_simulated(url, programs):
    """Return True if programs are simulated.

    Parameters
    ----------
    url : str
        URL of the store.
    programs : iterable of str
        Names of programs in it, all of them simulated or all of them measured.

    Returns
    -------
    bool
    """
    return VALGRIND in set(interval_runs(url, programs)["source"])


def describe_source(url: str, programs: Iterable[str]) -> str:
    """Write a sentence for captions that says that counts are simulated.

    Parameters
    ----------
    url : str
        URL of the store.
    programs : iterable of str
        Names of programs in it, all of them simulated or all of them measured.

    Returns
    -------
    str
        Markdown, with the version of the simulator; "" if the programs were measured.
    """
    if not is_simulated(url, programs):
        return ""
    meta = store.load(url, interval_runs(url, programs)["run_id"].iloc[0]).meta
    return f"**Simulated** by Valgrind's Callgrind {as_words(meta['simulator']['version'])}, not measured."


def describe_data(url: str, programs: Iterable[str]) -> str:
    """Describe the runs of some programs: their commands and machines, and whether they are the paper's data.

    Parameters
    ----------
    url : str
        URL of the store.
    programs : iterable of str
        Names of programs in it, at least one of which has a run.

    Returns
    -------
    str
        A paragraph in Markdown.
    """
    runs = interval_runs(url, programs)
    first_ids = runs.groupby("program")["run_id"].first()
    first_runs = {name: store.load(url, run_id) for name, run_id in first_ids.items()}
    facts = {
        "n_runs": len(runs),
        "first": first_runs,
        "simulated": describe_source(url, programs),
        "machines": dict.fromkeys(map(_describe_machine, first_runs.values())),
        "theirs": of_suites(programs, ["HiBench", "CloudSuite 3.0"]),
        "ours": program_tables.suites().keys() & first_runs.keys(),
    }
    return template("cmlib.experiments", "data.j2", filters={"as_code": as_code}).render(facts)


def _describe_machine(run):
    """Describe the processor, virtual machine and privilege level of one run, as far as they are known."""
    machine = run.machine
    processor = machine.get("model_name") or "a processor that is not known"
    microarchitecture = (machine.get("microarchitecture") or "").replace("amd_zen", "Zen ").replace("_", " ")
    if microarchitecture:
        processor += f" ({microarchitecture})"
    if machine.get("virtual"):
        processor += f", in a virtual machine ({machine['virtual']})"
    description = as_words(processor)
    if run.meta.get("modifier") == "u":
        description += ", user mode only"
    return description


def as_words(text):
    """Escape a text from a file for Markdown, so that markup, formulas and HTML in it have no effect.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
        One line.
    """
    return re.sub(r"[\\`*_$&<>\[\]]", lambda match: f"&#{ord(match[0])};", " ".join(text.split()))


def refuse_simulated(url: str, programs: Iterable[str], why: str) -> None:
    """Raise an error if programs are simulated.

    Parameters
    ----------
    url : str
        URL of the store.
    programs : iterable of str
        Names of programs in it.
    why : str
        The reason, a sentence that ends the message.

    Raises
    ------
    UnfitRecordingError
        If the programs are simulated.
    """
    if is_simulated(url, programs):
        raise UnfitRecordingError(f"{', '.join(programs)} is simulated, not measured: {why}")


def cleaned_runs(
    url: str,
    program: str,
    sets: Collection[str],
    *,
    method: str = "shrinkage",
    workers: Workers | None = None,
) -> pd.DataFrame:
    """Clean the runs of some sets of a program.

    Simulated counts are returned unchanged. Measured counts of an event with fewer than three samples become NaN. If
    the running shares (the share of each interval in which an event was counted) are not known, and for totals of whole
    runs, gaps are interpolated and `method` is not used.

    Parameters
    ----------
    url : str
        URL of the store.
    program : str
        Name of a program in it.
    sets : collection of str
        Names of sets (plans of events), such as ``"ocoe"``.
    method : str, default "shrinkage"
        Method of cleaning, one of :data:`cmlib.clean.METHODS`.
    workers : cmlib.parallel.Workers, optional
        Where the runs are cleaned. Default: one process per processor.

    Returns
    -------
    DataFrame
        One row per run. Columns: ``set``; ``pass`` (int, number of the repetition of the set); ``counts`` (DataFrame,
        one row per interval, one column per event; index as in the recording, usually the end of the interval [s]);
        ``seconds`` (Series, length of each interval [s]).

    Raises
    ------
    NothingRecordedError
        If there is no run of these sets.
    """
    runs = store.runs(url, program=program).query("set in @sets")
    if runs.empty:
        todo = how_to_record(program)
        set_names = " or ".join(sets)
        raise NothingRecordedError(
            f"program {program!r} has no recording of {set_names}; notebook 01 lists what it has. Record it: "
            f"{todo}."
        )
    for provenance in store.provenances(url, runs["run_id"]):  # worker processes read the runs
        note_read(provenance)
    job = functools.partial(_clean_run, url, method=method)
    counts, seconds = zip(*parallel_map(job, runs["run_id"], workers), strict=True)
    return runs[["set", "pass"]].assign(counts=list(counts), seconds=list(seconds))


def _in_intervals(runs):
    """Return the rows of the frame `runs` with counts by interval, not compressed to lines."""
    return runs[runs["mode"] != "lines"]


def _clean_run(url, run_id, *, method):
    """Clean the counts of a run unless they are simulated; return them and the length of each interval [s]."""
    run = store.load(url, run_id)
    counts, running = run.whole()
    if run.simulated:
        return counts, run.interval_s[counts.index]
    if not run.knows_shares or run.holds_totals:  # without running shares, gaps can only be filled
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
    """Find the suite of each program.

    Parameters
    ----------
    programs : iterable of str
        Names.

    Returns
    -------
    dict of str to str
        Suite by program, such as ``"HiBench"``; ``"own"`` for programs of no known suite.
    """
    suite_by_program = program_tables.suites()
    return {name: suite_by_program.get(name, "own") for name in programs}


def of_suites(programs: Iterable[str], wanted: Collection[str]) -> list[str]:
    """Select the programs that belong to some suites.

    Parameters
    ----------
    programs : iterable of str
        Names.
    wanted : collection of str
        Names of suites, as :func:`suites` returns them.

    Returns
    -------
    list of str
        Names of the programs, in the order of `programs`.
    """
    return [name for name, suite in suites(programs).items() if suite in wanted]


def paper_figures(programs: Iterable[str], numbers: dict[str, str]) -> str:
    """Label a figure with the numbers of CounterMiner's figures that show the same suites.

    Parameters
    ----------
    programs : iterable of str
        Names of the programs in the figure.
    numbers : dict of str to str
        Number of the paper's figure by suite.

    Returns
    -------
    str
        Such as ``"CounterMiner, Fig. 6"``; ``"Figure"`` if no program belongs to these suites.
    """
    figures = [number for suite, number in numbers.items() if of_suites(programs, [suite])]
    return f"CounterMiner, Fig. {' and '.join(figures)}" if figures else "Figure"
