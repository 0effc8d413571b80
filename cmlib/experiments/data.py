"""Find the recordings of programs in the store, check what they have, and clean their counts.

The store is a database made of the recordings, named by its URL (`url`). A run is one execution of a program; a set
is a named plan of the events to count, and one pass of it the runs that together count all its events once. A run's
mode is ``ocoe`` (one counter, one event: each event is counted all the time), ``mlpx`` (multiplexing: events take
turns on the counters) or ``lines`` (samples, stored as piecewise-linear segments). :func:`programs` lists names of
programs, :func:`interval_runs` their runs, and :func:`cleaned_runs` gives the cleaned counts of one program, a
DataFrame for each run. A NothingRecordedError if a program is not recorded, an UnfitRecordingError if its recording
is not enough.
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
        Names separated by commas, or "all": every program that has runs in all `modes` and was counted. Programs that
        other tools recorded are among "all" only if there are no others.
    modes : sequence of {"ocoe", "mlpx"}, optional
        Modes in which each program must have been recorded. Default: any runs by interval.

    Returns
    -------
    list of str

    Raises
    ------
    NothingRecordedError
        If no program, or not a named one, is recorded; the message has the command that records it.
    UnfitRecordingError
        If a named program lacks a mode, has a run of fewer than 20 intervals in one, or is simulated where a mode is
        asked for; or if simulated and measured runs are joined, in one folder or by the names.
    ValueError
        If `wanted` holds no name.
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
    """Names of the programs that were counted and have no problem; imported ones only if there are no others."""
    simulated = _select_programs(runs, runs["source"] == VALGRIND)
    usable = [name for name, problem in problems.items() if not problem and name not in simulated]
    if not usable:
        kinds = " and ".join(_KINDS[mode] for mode in modes) or "in intervals"
        raise NothingRecordedError(f"no program is recorded {kinds}. Record one: {how_to_record('NAME')}")
    imported = _select_programs(runs, runs["imported"])
    recorded_here = [name for name in usable if name not in imported]
    return recorded_here or usable


def _select_programs(runs, mask):
    """Names (set) of the programs of the runs (rows) that a mask selects."""
    return set(runs.loc[mask.astype(bool), "program"])


def _hint_for_unknown(url, wanted, recorded):
    """How to record the first of the wanted names that is not recorded, and why its files were left out."""
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
    """Return why a program's runs cannot be used in some modes, as part of a sentence, or "" if they can."""
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
    """True if instructions and cycles are among the events (names), so that IPC can be computed."""
    return set(PINNED) <= set(events)


def how_to_record(name):
    """Commands (str, Markdown code) that record the program `name`.

    ``cmlib record --program`` for a program of a known suite, which cmlib can start by itself; else commands to record
    or import any.
    """
    if name in program_tables.suites():
        return command_code("cmlib", "record", "--program", name)
    record, take = ("record", name, "--", "COMMAND"), ("import", name, FILES)
    return ", or ".join(command_code("cmlib", *words) for words in (record, take))


def interval_runs(url: str, programs: Iterable[str]) -> pd.DataFrame:
    """Runs of some programs, without those compressed to lines: a DataFrame, a row per run, empty if there are none.

    `programs` is a list of names in the store at `url`. Columns are those of :func:`cmlib.io.store.runs`, among
    them run_id, program, set, mode, pass, source ("perf" or "valgrind"), axis ("time", or "runs" where an interval
    is a whole run), n_intervals and events (a tuple of names).
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
        Runs whose events took turns on the counters.

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
    """Runs of some programs whose intervals are stretches of time: a DataFrame, a row per run.

    `programs` is a list of names in the store at `url`; columns are those of :func:`interval_runs`, such as run_id,
    program, set, pass, n_intervals and events. Left out are
    totals of whole runs (recordings in which an interval is a run). Raises an UnfitRecordingError if the programs
    have only such totals; the result is empty if they have no runs.
    """
    runs = interval_runs(url, programs)
    timed = runs[runs["axis"] == TIME].reset_index(drop=True)
    if timed.empty and len(runs):
        raise UnfitRecordingError(f"{', '.join(programs)}: totals of whole runs, and {TAKES_INTERVALS}.")
    return timed


def is_simulated(url, programs):
    """True if some programs (list of names in the store at `url`) are simulated; all are, or all are measured."""
    return VALGRIND in set(interval_runs(url, programs)["source"])


def describe_source(url: str, programs: Iterable[str]) -> str:
    """A sentence (Markdown) for captions that the counts of some programs are simulated, and by what; "" if measured.

    `programs` is a list of names in the store at `url`.
    """
    if not is_simulated(url, programs):
        return ""
    meta = store.load(url, interval_runs(url, programs)["run_id"].iloc[0]).meta
    return f"**Simulated** by Valgrind's Callgrind {as_words(meta['simulator']['version'])}, not measured."


def describe_data(url: str, programs: Iterable[str]) -> str:
    """Markdown paragraph (str) on the runs of some programs: commands, machines, and whether they are the paper's data.

    `programs` is a list of names in the store at `url`, at least one with a run.
    """
    runs = interval_runs(url, programs)
    first = runs.groupby("program")["run_id"].first()
    first = {name: store.load(url, run_id) for name, run_id in first.items()}
    facts = {
        "n_runs": len(runs),
        "first": first,
        "simulated": describe_source(url, programs),
        "machines": dict.fromkeys(map(_describe_machine, first.values())),
        "theirs": of_suites(programs, ["HiBench", "CloudSuite 3.0"]),
        "ours": program_tables.suites().keys() & first.keys(),
    }
    return template("cmlib.experiments", "data.j2", filters={"as_code": as_code}).render(facts)


def _describe_machine(run):
    """Processor, virtual machine and privilege level of one run, as far as they are known."""
    known = run.machine
    kind = (known.get("microarchitecture") or "").replace("amd_zen", "Zen ").replace("_", " ")
    processor = (known.get("model_name") or "a processor that is not known") + f" ({kind})" * bool(kind)
    virtual = f", in a virtual machine ({known['virtual']})" if known.get("virtual") else ""
    return as_words(processor + virtual) + ", user mode only" * (run.meta.get("modifier") == "u")


def as_words(text):
    """Foreign text (str) escaped for Markdown, in one line: no markup, formulas or HTML of it have an effect."""
    return re.sub(r"[\\`*_$&<>\[\]]", lambda match: f"&#{ord(match[0])};", " ".join(text.split()))


def refuse_simulated(url: str, programs: Iterable[str], why: str) -> None:
    """Raise an UnfitRecordingError if the programs are simulated.

    `why` is the reason, a sentence that ends the error's text; `programs` is a list of names in the store at `url`.
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
    """Cleaned runs of some sets of a program in the store at `url`: a DataFrame, a row per run.

    `sets` is a list of names of plans of events, such as "ocoe"; `method` is one of :data:`cmlib.clean.METHODS`;
    `workers` is a Workers (by default one process for each processor). Columns: set; pass (int, number of the
    repetition of the set); counts (a DataFrame, a row per interval, a column per event; index as in the recording,
    usually the end of the interval [s]); seconds (a Series, length of each interval [s]).

    Simulated counts are returned as they are. Of measured ones, an event with fewer than three samples is NaN
    everywhere; without running shares (share of each interval in which an event was counted), and for totals of
    whole runs, gaps are interpolated instead of `method`. A NothingRecordedError if there is no run of these sets.
    """
    runs = store.runs(url, program=program).query("set in @sets")
    if runs.empty:
        todo = how_to_record(program)
        wanted = " or ".join(sets)
        raise NothingRecordedError(
            f"program {program!r} has no recording of {wanted}; notebook 01 lists what it has. Record it: "
            f"{todo}."
        )
    for provenance in store.provenances(url, runs["run_id"]):  # worker processes read the runs
        note_read(provenance)
    job = functools.partial(_cleaned, url, method=method)
    counts, seconds = zip(*parallel_map(job, runs["run_id"], workers), strict=True)
    return runs[["set", "pass"]].assign(counts=list(counts), seconds=list(seconds))


def _in_intervals(runs):
    """Rows of the frame `runs` whose counts are by interval, not compressed to lines."""
    return runs[runs["mode"] != "lines"]


def _cleaned(url, run_id, *, method):
    """Cleaned counts of a run and the length of each interval [s]; simulated counts as they are."""
    run = store.load(url, run_id)
    counts, running = run.whole()
    if run.simulated:
        return counts, run.interval_s[counts.index]
    if not run.knows_shares or run.holds_totals:  # gaps are filled, and there is nothing to clean by
        method, running = "interpolate", None
    hardly = counts.columns[counts.notna().sum() < FEWEST_SAMPLES]
    counts = counts.assign(**dict.fromkeys(hardly, float("nan")))
    sums = known_sums(run)

    def compute():
        cleaned, _ = clean.clean_run(counts, running, method=method, sums=sums, run=f"run {run_id!r}")
        return {"counts": cleaned}

    cleaned = cached(("cleaned run", method, sums, counts, running), compute)["counts"]
    return cleaned, run.interval_s[counts.index]


def suites(programs: Iterable[str]) -> dict[str, str]:
    """Suites of programs: a dict from each of the `programs` (names) to its suite, such as "HiBench".

    It is "own" for programs of no known suite.
    """
    known = program_tables.suites()
    return {name: known.get(name, "own") for name in programs}


def of_suites(programs: Iterable[str], wanted: Collection[str]) -> list[str]:
    """List of those `programs` (names, str) that belong to one of the suites `wanted` (names, as of :func:`suites`)."""
    return [name for name, suite in suites(programs).items() if suite in wanted]


def paper_figures(programs: Iterable[str], numbers: dict[str, str]) -> str:
    """Label of CounterMiner's figures that show some of these programs, such as "CounterMiner, Fig. 6"; else "Figure".

    `numbers` is a dict from suite to the number of the paper's figure.
    """
    figures = [number for suite, number in numbers.items() if of_suites(programs, [suite])]
    return f"CounterMiner, Fig. {' and '.join(figures)}" if figures else "Figure"
