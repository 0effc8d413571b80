"""Read and check the metadata of recorded runs.

:func:`read_run_metadata` reads a metadata file. ``metadata.yaml`` describes each entry. The most important entries:

- program, command and machine.
- set: name of a plan of events.
- pass: number of the repetition of the plan.
- part: number of a group of events. A plan can have more events than one run can count.
- mode: ``ocoe`` (one counter, one event: each event was counted all the time), ``mlpx`` (multiplexed: events took turns
  on the counters), or ``unknown``.
- pinned: events that were counted all the time.
- groups: lists of events that were counted at the same time.
"""

import itertools
from collections.abc import Mapping
from pathlib import Path

from cmlib.io.archive.errors import ArchiveError
from cmlib.io.archive.metadata import find_problem, read_object, shortened

SCHEMA = 1
# A row of PostgreSQL fits into one page of 8 kB, which is 1019 numbers at most.
MOST_EVENTS = 480
LARGEST_COUNT = 2.0**80  # largest plausible count: 64 bits of a thousand processors, extrapolated

# Source of counts: hardware and software counters read by perf, or a simulation.
PERF, VALGRIND = "perf", "valgrind"

# Mode of imported runs without running shares.
UNKNOWN = "unknown"
# Axis of a recording: an interval is a period of time, or a complete run.
TIME, RUNS = "time", "runs"
_CONTENT_SUFFIXES = {PERF: ".csv.gz", VALGRIND: ".callgrind.gz"}
_ADVICE = "Such files are written by `cmlib record` and `cmlib import`; move any other out of the recordings."


def run_name(set_name: str, pass_number: int, part: int) -> str:
    """Return the name of a run.

    For example, ``ocoe-p0-03`` is part 3 of pass 0 of the set ``ocoe``.

    Parameters
    ----------
    set_name : str
        Name of a plan of events.
    pass_number : int
        Number of the repetition of the plan, from 0.
    part : int
        Number of the group of events that the run counted, from 0.

    Returns
    -------
    str
    """
    return f"{set_name}-p{pass_number}-{part:02d}"


def read_run_metadata(file: str | Path) -> dict:
    """Read and check the metadata of a run.

    Parameters
    ----------
    file : path
        JSON file.

    Returns
    -------
    dict

    Raises
    ------
    ArchiveError
        If the file does not contain valid metadata of a run.
    """
    file = Path(file)
    meta = read_object(file, "the metadata of a run", _ADVICE, "stored")
    problem = _find_run_problem(meta, file)
    if problem:
        raise ArchiveError(f"{file} is not the metadata of a run: {problem}. {_ADVICE}")
    return meta


def check_run(meta: Mapping, file: str | Path) -> None:
    """Check the metadata of a run before they are written.

    Parameters
    ----------
    meta : mapping
    file : path
        Path of the metadata file.

    Raises
    ------
    ArchiveError
        If the metadata are not valid, or the path does not contain the names of the program and the run.
    """
    problem = _find_run_problem(meta, Path(file))
    if problem:
        raise ArchiveError(f"{file} cannot be written: {problem}.")


def events_of(meta: Mapping) -> list[str]:
    """Return the names of the events that a run counted.

    Parameters
    ----------
    meta : mapping
        Metadata of the run.

    Returns
    -------
    list of str
        Pinned events (counted all the time) first.
    """
    return [*meta["pinned"], *itertools.chain.from_iterable(meta["groups"])]


def source_of(meta: Mapping) -> str:
    """Return the source of a run's counts.

    Parameters
    ----------
    meta : mapping
        Metadata of the run.

    Returns
    -------
    {"perf", "valgrind"}
        ``valgrind`` if the counts are simulated.
    """
    return meta.get("source", PERF)


def knows_shares(meta: Mapping) -> bool:
    """Return True if a run has running shares.

    A running share is the fraction of time in which an event was counted.

    Parameters
    ----------
    meta : mapping
        Metadata of the run.

    Returns
    -------
    bool
    """
    return meta.get("running_shares", True)


def are_totals(meta: Mapping) -> bool:
    """Return True if each interval of a recording is a complete run.

    Parameters
    ----------
    meta : mapping
        Metadata of the recording.

    Returns
    -------
    bool
    """
    return meta.get("axis", TIME) == RUNS


def content_suffix(meta: Mapping) -> str:
    """Return the suffix of a run's content file.

    Parameters
    ----------
    meta : mapping
        Metadata of the run.

    Returns
    -------
    {".csv.gz", ".callgrind.gz"}
        ``.callgrind.gz`` if the counts are simulated.
    """
    return _CONTENT_SUFFIXES[source_of(meta)]


def _find_run_problem(meta: Mapping, file: Path) -> str | None:
    """Describe the first problem in the metadata of a run.

    Returns None if the metadata are valid.
    """
    problem = find_problem(meta, "run")
    if problem:
        return problem
    for key in ("pass", "part"):
        # The JSON schema accepts 1.0, but a database does not.
        if isinstance(meta[key], float):
            return f"{key} is {meta[key]} instead of a whole number"
    if meta["program"] != file.parent.name:
        return f"program is {shortened(meta['program'])} instead of the folder's name, {file.parent.name!r}"
    if meta["run"] != file.stem:
        return f"run is {shortened(meta['run'])} instead of the file's name, {file.stem!r}"
    expected_name = run_name(meta["set"], meta["pass"], meta["part"])
    if meta["run"] != expected_name:
        return f"run is {meta['run']!r} instead of {expected_name!r}"
    if source_of(meta) == VALGRIND and not meta.get("simulator"):
        return "it is simulated, and its simulator is missing"
    n_events = len(events_of(meta))
    if n_events > MOST_EVENTS:
        return f"it has {n_events} events, and a run has {MOST_EVENTS} at most"
    return None
