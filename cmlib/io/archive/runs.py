"""Whether a metadata file is one, and holds what a database can keep."""

import itertools
import json
from datetime import UTC, datetime
from pathlib import Path

from cmlib.io.archive.files import ArchiveError, digest, read_file, settle, unpack, working_folder

# What `describe` says of a machine, all unknown.
MACHINE_FACTS = (
    "vendor",
    "model_name",
    "family",
    "model",
    "microarchitecture",
    "processors",
    "virtual",
    "kernel",
    "perf",
    "mux_interval_ms",
    "load_1min",
)
_MOST = 2**31
_LARGEST = 64 << 20  # bytes
# Of a time, in seconds or milliseconds: 30 years at least, and sums of such stay finite.
_LONGEST = 1e12


def read_object(file, what, hint):
    """Read a JSON object."""
    return parse_object(read_file(file, most=_LARGEST), file, what, hint)


def parse_object(text, file, what, hint):
    """Read a JSON object from its text; the rest is as in :func:`read_object`."""
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"{file} is not JSON: {error}. {hint}") from error
    if not isinstance(content, dict):
        raise ArchiveError(
            f"{file} is not {what}: it holds {type(content).__name__} instead of an object. {hint}"
        )
    return content


def as_text(meta, file):
    """Write metadata as text that :func:`read_object` reads."""
    try:
        text = json.dumps(meta, indent=1, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ArchiveError(f"{file} can't be written, its content is not JSON: {error}.") from error
    return f"{text}\n"


def now():
    """The time, in UTC, as metadata tell it: ``2026-11-21T03:00:46``."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")


def first_problem(meta, checks):
    """What is wrong with metadata; None if nothing is."""
    for key, is_right, expected in checks:
        if key not in meta:
            return f"it has no {key!r}"
        if not is_right(meta[key]):
            return f"{key} is {_shown(meta[key])} instead of {expected}"
    return None


def is_text(value):
    """Whether it is text that any database keeps: without NUL and lone surrogates."""
    return isinstance(value, str) and not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value)


def is_texts(value):
    """Whether it is a list of texts."""
    return isinstance(value, list) and all(map(is_text, value))


def is_int(value):
    """Whether it is a whole number that any database keeps."""
    return type(value) is int and abs(value) < _MOST


def is_count(value):
    """Whether it is a whole number, at least 0."""
    return is_int(value) and value >= 0


def is_measure(value):
    """Whether it is a number, 0 to 10¹²."""
    return type(value) in {int, float} and 0 <= value <= _LONGEST


# Checks of what is unknown of a run that was recorded elsewhere.
MAY_BE_UNKNOWN = (
    ("date", lambda date: date is None or is_text(date), "text or null"),
    ("exit_code", lambda code: code is None or is_int(code), "a whole number or null"),
)


def _shown(value):
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}…"


def _refuse_constant(name):
    raise ValueError(f"{name} is no number")


def write_recording(description, packed, meta, *, schema, suffix=".csv.gz"):
    """Write a recording: first its content, then the metadata that make it exist."""
    description = Path(description)
    text = as_text({"schema": schema, **meta, "sha256": digest(packed)}, description)
    with working_folder(description) as folder:
        drafts = {folder / "content": description.with_suffix(suffix), folder / "metadata": description}
        for draft, content in zip(drafts, (packed, text.encode()), strict=True):
            draft.write_bytes(content)
        # Between the two files, there must not be metadata of another content.
        description.unlink(missing_ok=True)
        for draft, target in drafts.items():
            settle(draft, target)


def read_packed(description, sha256, *, suffix=".csv.gz"):
    """Read a recording's content file, as it is."""
    file = Path(description).with_suffix(suffix)
    packed = read_file(file)
    if digest(packed) != sha256:
        raise ArchiveError(
            f"{file} is not what was recorded: its SHA-256 differs from the one in {Path(description).name}. "
            "Recordings are never edited: put the original back, or delete both files and record the run again."
        )
    return packed


def read_content(description, sha256, *, suffix=".csv.gz"):
    """Read a recording's content, unpacked."""
    packed = read_packed(description, sha256, suffix=suffix)
    return unpack(packed, Path(description).with_suffix(suffix))


SCHEMA = 1
# A row of PostgreSQL fits into one page of 8 kB, which is 1019 numbers at most.
MOST_EVENTS = 480

# What counted: the processor's counters, read by perf, or a simulation.
PERF, VALGRIND = "perf", "valgrind"

# Where running shares are not known, it is not known either whether events took turns.
UNKNOWN = "unknown"
_MODES = ("ocoe", "mlpx", UNKNOWN)
# What an interval is: a stretch of time, or a whole run.
TIME, RUNS = "time", "runs"
_AXES = (TIME, RUNS)
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
    "axis": TIME,
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
    """Read the metadata of a run."""
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


def knows_shares(meta):
    """Whether a run's file tells for which share of each interval an event was counted."""
    return meta.get("running_shares", _IF_ABSENT["running_shares"])


def are_totals(meta):
    """Whether a recording's intervals are whole runs."""
    return meta.get("axis", TIME) == RUNS


def content_suffix(meta):
    """How the name of a run's content file ends, which tells perf's output from Callgrind's."""
    return _CONTENT[source_of(meta)]


def _problem(meta, file):
    """What is wrong with a run's metadata; None if nothing is."""
    checks = [
        *((key, is_text, "text") for key in ("program", "set", "mode", "run", "command")),
        *((key, is_count, "a whole number") for key in ("pass", "part")),
        *((key, is_measure, "a number, 0 to 10^12") for key in ("interval_ms", "duration_s")),
        *MAY_BE_UNKNOWN,
        ("mode", lambda mode: mode in _MODES, " or ".join(_MODES)),
        ("pinned", is_texts, "a list of names"),
        ("groups", _are_groups, "a list of lists of names"),
        ("encodings", _are_encodings, "names with what perf was told"),
        ("start_s", is_measure, "a number, 0 to 10^12"),
        ("condition", is_text, "text"),
        ("columns", _are_columns, "names with count or level"),
        ("names", _are_encodings, "names in the file with names in the run"),
        ("modifier", lambda modifier: modifier is None or is_text(modifier), "text or null"),
        ("counters", _are_counters, "two numbers or null: offered and good"),
        ("note", is_text, "text"),
        ("running_shares", lambda known: type(known) is bool, "true or false"),
        ("axis", lambda axis: axis in _AXES, " or ".join(_AXES)),
        ("source", lambda source: is_text(source) and source in _CONTENT, " or ".join(_CONTENT)),
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
