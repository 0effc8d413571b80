"""Read, check and write the metadata of recorded runs: JSON objects that describe how each was counted.

Metadata (dict) name the program, its command, and the run, with its set (plan of events), pass (repetition) and part
(share of the events); mode (ocoe: each event counted all the time, one counter, one event; mlpx: multiplexed, events
take turns; unknown), pinned events (counted all the time), groups (lists of events that are counted at the same time)
and the machine. `metadata.yaml` describes each entry. ArchiveError for metadata that lack an entry or have a wrong
one, and for content whose SHA-256 is another.
"""

import contextlib
import functools
import itertools
import json
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from cmlib.errors import InputError
from cmlib.io.archive.files import ArchiveError, atomic_replace, digest, read_file, unpack, working_folder
from cmlib.places import read_yaml

_LARGEST = 64 << 20  # bytes of a JSON file


def read_object(file: str | Path, what: str, hint: str, *kinds: str) -> dict:
    """Read the JSON object in a file, and check it.

    Parameters
    ----------
    file : path
    what : str
        Noun phrase for messages: what the file should be.
    hint : str
        Sentence for messages: what to do.
    *kinds : str
        Names of schemas in ``metadata.yaml``. The object must be valid under all of them.

    Returns
    -------
    dict

    Raises
    ------
    ArchiveError
        If the file can't be read, holds something else, or a number that is not finite.
    """
    text = read_file(file, most=_LARGEST)
    try:
        content = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"{file} is not JSON: {error}. {hint}") from error
    if not isinstance(content, dict):
        raise ArchiveError(f"{file} is not {what}: it holds a {type(content).__name__}, no object. {hint}")
    for problem in filter(None, (first_problem(content, kind) for kind in kinds)):
        raise ArchiveError(f"{file} is not {what}: {problem}. {hint}")
    return content


def as_text(meta: Mapping, file: str | Path) -> str:
    """Convert an object to the text of a JSON file that :func:`read_object` can read.

    Parameters
    ----------
    meta : mapping
    file : path
        For the message.

    Returns
    -------
    str

    Raises
    ------
    ArchiveError
        If it can't be written as JSON.
    """
    try:
        text = json.dumps(meta, indent=1, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ArchiveError(f"{file} can't be written, its content is not JSON: {error}.") from error
    return f"{text}\n"


def now() -> str:
    """Return the current time in UTC in the format of the metadata, such as ``2026-11-21T03:00:46``."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")


@functools.cache
def _schemas():
    """Return the schemas of metadata: a dict of kind, as in metadata.yaml, to its JSON schema."""
    read = read_yaml(Path(__file__).with_name("metadata.yaml"))
    del read["kinds"]
    return read


@functools.cache
def _checker(kind):
    """Compile the function that checks metadata against the schema of their `kind` (str)."""
    import fastjsonschema

    return fastjsonschema.compile(_schemas()[kind])


def unknown_machine() -> dict:
    """Return the description of an unknown machine, in which every entry is None."""
    return dict.fromkeys(_schemas()["run"]["properties"]["machine"]["properties"])


def first_problem(meta: Mapping, kind: str) -> str | None:
    """Describe the first thing that is wrong with metadata.

    Parameters
    ----------
    meta : mapping
    kind : str
        Name of a schema in metadata.yaml, such as ``run``.

    Returns
    -------
    str or None
        None if nothing is wrong.
    """
    import fastjsonschema

    schema = _schemas()[kind]
    try:
        _checker(kind)(meta)
    except fastjsonschema.JsonSchemaValueException as error:
        if not error.path[1:]:
            return f"it has no {next(key for key in schema['required'] if key not in meta)!r}"
        key = error.path[1]
        described = schema["properties"][key].get("description", error.message)
        return f"{key} is {shortened(meta[key])} instead of {described}"
    return None


def is_text(value: object) -> bool:
    """Return whether a value is a str that any database can hold: without NUL and lone surrogates."""
    return isinstance(value, str) and not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value)


def shortened(value: object) -> str:
    """Return the repr of a value for messages, cut to 120 characters."""
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}…"


def _refuse_constant(name):
    """Raise ValueError for a number such as NaN in JSON."""
    raise InputError(f"{name} is no number")


def _finite(text: str) -> float:
    """Parse a number; ValueError if it is infinite."""
    return number if math.isfinite(number := float(text)) else _refuse_constant(text)


@contextlib.contextmanager
def recording_draft(
    description: str | Path, *, schema: int, suffix: str = ".csv.gz"
) -> Iterator[tuple[Path, dict]]:
    """Give a path for a recording's content and a dict for its metadata, during a ``with`` block.

    Both are put in place at its end, with the version of the schema and the content's SHA-256 in the metadata. After an
    error, neither remains.

    Parameters
    ----------
    description : path
        Metadata file.
    schema : int
        Version of the metadata.
    suffix : str, default ".csv.gz"
        Suffix of the content's file. Without the suffixes, both files have the same name.

    Yields
    ------
    content : Path
    metadata : dict

    Raises
    ------
    ArchiveError
        If the metadata can't be written as JSON.
    """
    description, meta = Path(description), {}
    with working_folder(description) as folder:
        content, metadata = folder / description.with_suffix(suffix).name, folder / description.name
        yield content, meta
        text = as_text({"schema": schema, **meta, "sha256": digest(content)}, description)
        metadata.write_text(text, encoding="utf-8")
        # If this ends between the two renames, there is content without metadata, and never metadata of other content.
        description.unlink(missing_ok=True)
        atomic_replace(content, description.with_suffix(suffix))
        atomic_replace(metadata, description)


def write_recording(
    description: str | Path, packed: bytes, meta: Mapping, *, schema: int, suffix: str = ".csv.gz"
) -> None:
    """Write a recording: its content, then its metadata, with the content's SHA-256; replace an existing one.

    Parameters
    ----------
    description : path
        Metadata file.
    packed : bytes
        Content.
    meta : mapping
    schema : int
        Version of the metadata.
    suffix : str, default ".csv.gz"
        Suffix of the content's file.

    Raises
    ------
    ArchiveError
        If the metadata can't be written as JSON.
    OSError
        If nothing can be written.
    """
    with recording_draft(description, schema=schema, suffix=suffix) as (content, metadata):
        content.write_bytes(packed)
        metadata |= meta


def read_content(description: str | Path, sha256: str, *, suffix: str = ".csv.gz") -> bytes:
    """Read and unpack a recording's content.

    Parameters
    ----------
    description : path
        Metadata file, beside the content.
    sha256 : str
        SHA-256 of the packed content, in hexadecimal digits.
    suffix : str, default ".csv.gz"
        Suffix of the content's file.

    Returns
    -------
    bytes

    Raises
    ------
    ArchiveError
        If the content can't be read, or has another SHA-256.
    """
    file = Path(description).with_suffix(suffix)
    packed = read_file(file)
    if digest(packed) != sha256:
        raise ArchiveError(
            f"{file} is not what was recorded: its SHA-256 differs from the one in {Path(description).name}. "
            "Recordings are never edited: put the original back, or delete both files and record the run again."
        )
    return unpack(packed, file)


SCHEMA = 1
# A row of PostgreSQL fits into one page of 8 kB, which is 1019 numbers at most.
MOST_EVENTS = 480
LARGEST_COUNT = 2.0**80  # that is believed: 64 bits of a thousand processors, scaled up

# What counted: the processor's counters, read by perf, or a simulation.
PERF, VALGRIND = "perf", "valgrind"

# Mode of imported runs without running shares: whether events took turns on the counters is not known.
UNKNOWN = "unknown"
# Axis of a recording: an interval is a stretch of time, or a whole run.
TIME, RUNS = "time", "runs"
_CONTENT = {PERF: ".csv.gz", VALGRIND: ".callgrind.gz"}
_HOW = "Such files are written by `cmlib record` and `cmlib import`; move any other out of the recordings."


def run_name(set_name: str, pass_number: int, part: int) -> str:
    """Name a run: ``ocoe-p0-03`` is part 3 of the first pass (0) over the set ``ocoe``.

    Parameters
    ----------
    set_name : str
    pass_number : int
        Repetition of the set, from 0.
    part : int
        Number of the group of events that this run counted, from 0. A set can have more events than one run counts.

    Returns
    -------
    str
    """
    return f"{set_name}-p{pass_number}-{part:02d}"


def read_run_metadata(file: str | Path) -> dict:
    """Read the metadata of a run from a JSON file, and check them.

    Parameters
    ----------
    file : path

    Returns
    -------
    dict

    Raises
    ------
    ArchiveError
        If they are not the metadata of a run; the message has the reason.
    """
    file = Path(file)
    meta = read_object(file, "the metadata of a run", _HOW, "stored")
    if problem := _problem(meta, file):
        raise ArchiveError(f"{file} is not the metadata of a run: {problem}. {_HOW}")
    return meta


def check_run(meta: Mapping, file: str | Path) -> None:
    """Check that metadata are those of a run, and that the file is named after it.

    Parameters
    ----------
    meta : mapping
    file : path

    Raises
    ------
    ArchiveError
        If they are not.
    """
    if problem := _problem(meta, Path(file)):
        raise ArchiveError(f"{file} can't be written: {problem}.")


def events_of(meta: Mapping) -> list[str]:
    """List the events that a run counted, from its metadata: the pinned ones, then those of its groups."""
    return [*meta["pinned"], *itertools.chain.from_iterable(meta["groups"])]


def source_of(meta: Mapping) -> str:
    """Return the source of a run's counts from its metadata: ``perf``, or ``valgrind`` if it is simulated."""
    return meta.get("source", PERF)


def knows_shares(meta: Mapping) -> bool:
    """Return whether the running shares of a run are known, from its metadata."""
    return meta.get("running_shares", True)


def are_totals(meta: Mapping) -> bool:
    """Return whether each interval of a recording is a whole run, from its metadata."""
    return meta.get("axis", TIME) == RUNS


def content_suffix(meta: Mapping) -> str:
    """Return the suffix of a run's content file: ``.csv.gz`` for perf's output, ``.callgrind.gz`` for Callgrind's."""
    return _CONTENT[source_of(meta)]


def _problem(meta, file):
    """Describe what is wrong with a run's metadata, as text; None if nothing is."""
    if problem := first_problem(meta, "run"):
        return problem
    for key in ("pass", "part"):  # a JSON schema accepts 1.0, a database does not
        if isinstance(meta[key], float):
            return f"{key} is {meta[key]} instead of a whole number"
    for key, name, noun in (("program", file.parent.name, "folder"), ("run", file.stem, "file")):
        if meta[key] != name:
            return f"{key} is {shortened(meta[key])} instead of the {noun}'s name, {name!r}"
    if meta["run"] != (name := run_name(meta["set"], meta["pass"], meta["part"])):
        return f"run is {meta['run']!r} instead of {name!r}"
    if source_of(meta) == VALGRIND and not meta.get("simulator"):
        return "it is simulated, and its simulator is missing"
    n = len(events_of(meta))
    return None if n <= MOST_EVENTS else f"it has {n} events, and a run has {MOST_EVENTS} at most"
