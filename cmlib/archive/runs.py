"""The metadata of a run that was recorded in intervals."""

import itertools
from pathlib import Path

from cmlib.archive.errors import ArchiveError
from cmlib.archive.metadata import (
    MAY_BE_UNKNOWN,
    first_problem,
    is_count,
    is_measure,
    is_text,
    is_texts,
    read_object,
)

SCHEMA = 1
# A row of PostgreSQL fits into one page of 8 kB, which is 1019 numbers at most.
MOST_EVENTS = 480

# What counted: the processor's counters, read by perf, or a simulation.
PERF, VALGRIND = "perf", "valgrind"

_MODES = ("ocoe", "mlpx")
_CONTENT = {PERF: ".csv.gz", VALGRIND: ".callgrind.gz"}
# Of what earlier versions did not write.
_IF_ABSENT = {
    "note": "",
    "running_shares": True,
    "names": {},
    "columns": {},
    "start_s": 0.0,
    "condition": "",
    "source": PERF,
    "simulator": None,
    "attached": None,
}
_HOW = (
    "Such files are written by `cmlib record` and `cmlib import`; move anything else out of the recordings."
)


def run_name(set_name, pass_number, part):
    """Name of a run: ``ocoe-p0-03`` is part 3 of the first pass over set ``ocoe``."""
    return f"{set_name}-p{pass_number}-{part:02d}"


def read_run(file):
    """Read the metadata of a run.

    Parameters
    ----------
    file : path
        In the folder of its program.

    Returns
    -------
    dict

    Raises
    ------
    ArchiveError
        Naming the file and what is wrong with it.
    """
    file = Path(file)
    meta = read_object(file, "the metadata of a run", _HOW)
    checks = [
        ("schema", lambda schema: schema == SCHEMA, f"{SCHEMA}, which this cmlib reads"),
        ("sha256", is_text, "text"),
    ]
    if problem := first_problem(meta, checks) or _problem(meta, file):
        raise ArchiveError(f"{file} is not the metadata of a run: {problem}. {_HOW}")
    return meta


def check_run(meta, file):
    """Raise ArchiveError unless :func:`read_run` will read this once it is written to `file`."""
    if problem := _problem(meta, Path(file)):
        raise ArchiveError(f"{file} can't be written: {problem}.")


def events_of(meta):
    """Names of the events that a run counted: the pinned ones, and those of its groups."""
    return [*meta["pinned"], *itertools.chain.from_iterable(meta["groups"])]


def source_of(meta):
    """What counted a run: ``perf``, or ``valgrind`` where it is simulated."""
    return meta.get("source", PERF)


def content_suffix(meta):
    """How the name of a run's content file ends, which tells perf's output from Callgrind's."""
    return _CONTENT[source_of(meta)]


def _problem(meta, file):
    """What is wrong with a run's metadata; None if nothing is."""
    checks = [
        *((key, is_text, "text") for key in ("program", "set", "mode", "run", "command")),
        *((key, is_count, "a whole number") for key in ("pass", "part")),
        *((key, is_measure, "a number, at least 0") for key in ("interval_ms", "duration_s")),
        *MAY_BE_UNKNOWN,
        ("mode", lambda mode: mode in _MODES, " or ".join(_MODES)),
        ("pinned", is_texts, "a list of names"),
        ("groups", _are_groups, "a list of lists of names"),
        ("encodings", _are_encodings, "names with what perf was told"),
        ("start_s", is_measure, "a number, at least 0"),
        ("condition", is_text, "text"),
        ("columns", _are_columns, "names with count or level"),
        ("names", _are_encodings, "names in the file with names in the run"),
        ("modifier", lambda modifier: modifier is None or is_text(modifier), "text or null"),
        ("counters", _are_counters, "two numbers or null: offered and good"),
        ("note", is_text, "text"),
        ("running_shares", lambda known: type(known) is bool, "true or false"),
        ("source", lambda source: source in _CONTENT, " or ".join(_CONTENT)),
        ("simulator", lambda simulator: simulator is None or isinstance(simulator, dict), "an object"),
        ("attached", lambda attached: attached is None or isinstance(attached, dict), "an object"),
        ("machine", lambda machine: isinstance(machine, dict), "an object"),
        ("program", lambda program: program == file.parent.name, f"the folder's name, {file.parent.name!r}"),
        ("run", lambda run: run == file.stem, f"the file's name, {file.stem!r}"),
    ]
    problem = first_problem(_IF_ABSENT | meta, checks)
    if problem:
        return problem
    if meta["run"] != (name := run_name(meta["set"], meta["pass"], meta["part"])):
        return f"run is {meta['run']!r} instead of {name!r}"
    n = len(events_of(meta))
    return None if n <= MOST_EVENTS else f"it has {n} events, and a run has {MOST_EVENTS} at most"


def _are_groups(value):
    return isinstance(value, list) and all(map(is_texts, value))


def _are_encodings(value):
    return isinstance(value, dict) and all(map(is_text, [*value, *value.values()]))


def _are_columns(value):
    return _are_encodings(value) and set(value.values()) <= {"count", "level"}


def _are_counters(value):
    return isinstance(value, dict) and all(
        key in value and (value[key] is None or is_count(value[key])) for key in ("offered", "good")
    )
