"""Answers from hardware performance counters: record, clean and rank events, and explain where cycles go.

`cmlib.load_example` loads a recording that comes with the package, `cmlib.read` reads a file of counts, `cmlib.record`
counts a program's events, `cmlib.summarize` says what limits a program, and `cmlib.compare_programs` compares two
of its versions. Everything else is in sub-packages, which CONTRIBUTING.md describes. Errors that users can correct are
raised as :class:`cmlib.errors.CmlibError`.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cmlib.io.recording import Recording
    from cmlib.report.program import ProgramCards
    from cmlib.report.recordings import Comparison, Recordings

__all__ = ["compare_programs", "load_example", "read", "record", "summarize"]
__version__ = "0.3.0"


def load_example(program: str = "gcc") -> Recording:
    """Load a real recording: twelve events that took turns on three counters, as perf printed them.

    Parameters
    ----------
    program : {"bzip2", "gcc", "kmeans", "wordcount"}, default "gcc"

    Returns
    -------
    cmlib.io.recording.Recording
        `counts` [events per 100 ms] and `running` shares (0 to 1), both frames of shape (n_intervals, n_events),
        and `meta`, such as the command and the machine (AMD Zen 5, in a virtual machine).

    Raises
    ------
    ValueError
        If there is no such example.

    Examples
    --------
    >>> run = load_example("gcc")
    >>> run.counts.shape
    (183, 14)
    >>> f"{run.running['ls_stlf'].mean():.2f}"
    '0.24'
    """
    from cmlib.errors import InputError
    from cmlib.io.archive.runs import read_run_metadata
    from cmlib.io.recording import make_recording
    from cmlib.io.store.raw import read_run
    from cmlib.places import shipped

    known = sorted(file.parent.name for file in shipped("recordings").glob("*/mlpx12-p0-00.json"))
    if program not in known:
        raise InputError(f"there is no example {program!r}; there are {', '.join(known)}.")
    file = shipped("recordings") / program / "mlpx12-p0-00.json"
    meta = read_run_metadata(file)
    run = read_run(file, meta)
    return make_recording(meta, run.counts, run.running)


def summarize(recording: str | Path, *, processor: str | None = None) -> ProgramCards:
    """Summarize what limits a program, from a file of counts or from its recordings; nothing is stored.

    Parameters
    ----------
    recording : str or path
        A file, as ``cmlib import`` takes it, or the name of a recorded program.
    processor : str, optional
        Name of the processor where the recording does not contain it, such as ``"amd_zen4"``.

    Returns
    -------
    cmlib.report.program.ProgramCards
        Shown as a card per program in a notebook; `summaries` are the dicts that ``cmlib summarize --json`` prints.

    Raises
    ------
    ValueError
        If `recording` is neither a file nor a recorded program, or the processor is unknown.
    cmlib.errors.CmlibError
        If the file can't be read.

    Examples
    --------
    >>> from cmlib.places import shipped
    >>> cards = summarize(shipped("recordings") / "gcc/mlpx12-p0-00.csv.gz")
    >>> cards.summaries[0]["name"]
    'mlpx12-p0-00.csv.gz'
    """
    return _load("cmlib.report.program").summarize_source(recording, processor=processor)


def read(file: str | Path, *, format: str | None = None, processor: str | None = None) -> Recordings:
    """Read a file of counts that perf or another tool wrote; nothing is stored.

    Parameters
    ----------
    file : str or path
        Any file that ``cmlib import`` reads.
    format : str, optional
        Name of the file's format. Default: the only one that recognizes it.
    processor : str, optional
        Name of the processor if the file does not contain it, such as ``"amd_zen4"``.

    Returns
    -------
    cmlib.report.recordings.Recordings
        A sequence of :class:`cmlib.io.recording.Recording`; notebooks show it as a table. Each recording holds either
        one run by interval, or the totals of whole runs of one program.

    Raises
    ------
    cmlib.errors.CmlibError
        If the file can't be read, or the processor is unknown.

    Examples
    --------
    >>> from cmlib.places import shipped
    >>> recordings = read(shipped("recordings") / "gcc/mlpx12-p0-00.csv.gz")
    >>> recordings[0].counts.shape
    (183, 14)
    """
    return _load("cmlib.report.recordings").read_source(file, format=format, processor=processor)


def record(
    name: str,
    command: Sequence[str],
    *,
    mode: str | None = None,
    events: str | None = None,
    pinned: Sequence[str] | None = None,
    passes: int | None = None,
    interval_ms: int = 100,
    wait: bool = False,
) -> Recordings:
    """Record a program: run a command under perf as many times as events and passes require.

    Parameters
    ----------
    name : str
        Name of the program. It must not have runs of another command or machine.
    command : sequence of str
        The command and its arguments.
    mode : {"ocoe", "mlpx"}, optional
        ``ocoe`` (one counter, one event) counts each event all the time; in ``mlpx`` (multiplexed), events take turns.
        Default: both, in separate runs.
    events : str, optional
        Comma-separated names of events, "core" or "all". Default: a list for the processor.
    pinned : sequence of str, optional
        Events that are counted all the time in every run. Default: instructions and cycles. If the machine counts no
        hardware events, give ``["task-clock"]``.
    passes : int, optional
        Number of times that each event is counted.
    interval_ms : int, default 100
        Length of an interval [ms].
    wait : bool, default False
        If another recording uses the counters, wait until it ends instead of raising an error.

    Returns
    -------
    cmlib.report.recordings.Recordings
        All runs of the recorded sets, including earlier ones; notebooks show them as a table.

    Raises
    ------
    cmlib.errors.CmlibError
        If `command` is a string, the command fails, perf can't count the events, or the counters are in use.
    """
    settings: dict[str, object] = {
        "mode": mode,
        "events": events,
        "passes": passes,
        "interval_ms": interval_ms,
    }
    if pinned is not None:
        settings["pinned"] = tuple(pinned)
    return _load("cmlib.report.recordings").record_command(name, command, wait=wait, **settings)


def compare_programs(
    old: str | Path,
    new: str | Path,
    *,
    events: str | None = None,
    n_runs: int = 40,
    alpha: float = 0.002,
    smallest: float = 0.04,
    timeout: float | None = None,
) -> Comparison:
    """Compare two versions of a program by times and counts, and judge whether the new one is slower.

    Parameters
    ----------
    old, new : str or path
        Commands, split into words as a shell does, or files that ``cmlib compare --keep`` wrote.
    events : str, optional
        Comma-separated names of the events to count. Default: a list for the processor.
    n_runs : int, default 40
        Maximum number of runs of each command; fewer are made if the verdict is clear.
    alpha : float, default 0.002
        Accepted probability of a false alarm.
    smallest : float, default 0.04
        Smallest relevant change, as a share of the time.
    timeout : float, optional
        Time limit of each run [s].

    Returns
    -------
    cmlib.report.recordings.Comparison
        Notebooks show what ``cmlib compare --markdown`` prints; `result` is the dict that ``--json`` prints.

    Raises
    ------
    cmlib.errors.CmlibError
        If a command fails, the two can't be compared, or there are too few runs for any change to be significant.
    """
    return _load("cmlib.report.recordings").compare_commands(
        old, new, events=events, n_runs=n_runs, alpha=alpha, smallest=smallest, timeout=timeout
    )


def _load(name):
    """Import a module that shows results by its name.

    The cache hashes every module that an import statement names, but no cached result depends on these modules.
    """
    return importlib.import_module(name)
