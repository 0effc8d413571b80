"""The raw recordings: what is there, and whether it is what was recorded."""

import gzip
import hashlib
import zlib
from pathlib import Path

from cmlib import perf, places
from cmlib.store.checking import MAY_BE_UNKNOWN, first_problem, is_count, is_measure, is_text, read_object
from cmlib.store.database import MOST_EVENTS, StoreError

_RECORDING_SCHEMA = 1
_MODES = ("ocoe", "mlpx")
_TEXTS = ("program", "set", "mode", "run", "command", "sha256")
_WHOLE_NUMBERS = ("pass", "part")
_MEASURES = ("interval_ms", "duration_s")
_HOW = (
    "Such files are written by `cmlib record` and `cmlib import`; move anything else out of the recordings."
)


def find_recordings(recordings_dir=None):
    """Read the metadata of all recordings.

    Parameters
    ----------
    recordings_dir : path, optional
        Holds a folder a program; `data/recordings` by default.

    Returns
    -------
    dict of pathlib.Path to dict
        Metadata by its file, sorted by program, set, pass and part. A run
        exists if and only if its metadata does.

    Raises
    ------
    StoreError
        Naming the file, if one is not a run's metadata.
    """
    folder = Path(recordings_dir or places.recordings_dir())
    found = {file: _read_metadata(file) for file in folder.glob("*/*.json")}
    return dict(sorted(found.items(), key=lambda item: _place(item[1])))


def read_counts(file, meta):
    """Read one recording.

    Parameters
    ----------
    file : pathlib.Path
        The metadata file; perf's output lies beside it.
    meta : dict

    Returns
    -------
    counts, running : DataFrame
        As from :func:`cmlib.perf.series`.

    Raises
    ------
    StoreError
        Naming the file, if perf's output is missing, is not what was recorded, or has no series in it.
    """
    raw = file.with_suffix(".csv.gz")
    try:
        compressed = raw.read_bytes()
    except OSError as error:
        raise StoreError(
            f"{raw} can't be read: {error.strerror}. Put it back, or delete {file.name}, and the run is gone."
        ) from error
    if hashlib.sha256(compressed).hexdigest() != meta["sha256"]:
        raise StoreError(
            f"{raw} is not what was recorded: its SHA-256 differs from the one in {file.name}. "
            "Recordings are never edited: put the original back, or delete both files and record the run again."
        )
    try:
        counts, running = perf.series(perf.parse_stat(gzip.decompress(compressed).decode(errors="replace")))
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise StoreError(f"{raw} can't be stored: {error}") from error
    if not 0 < counts.shape[1] <= MOST_EVENTS:
        raise StoreError(
            f"{raw} holds {counts.shape[1]} events; a run has 1 to {MOST_EVENTS}. Spread them over several runs."
        )
    return counts, running


def _read_metadata(file):
    meta = read_object(file, "the metadata of a run", _HOW)
    problem = _problem(meta, file)
    if problem:
        raise StoreError(f"{file} is not the metadata of a run: {problem}. {_HOW}")
    return meta


def _problem(meta, file):
    if meta.get("schema") != _RECORDING_SCHEMA:
        return f"schema is {meta.get('schema')!r}, and this cmlib reads {_RECORDING_SCHEMA}"
    checks = [
        *((key, is_text, "text") for key in _TEXTS),
        *((key, is_count, "a whole number") for key in _WHOLE_NUMBERS),
        *((key, is_measure, "a number, at least 0") for key in _MEASURES),
        *MAY_BE_UNKNOWN,
        ("mode", lambda mode: mode in _MODES, " or ".join(_MODES)),
        ("program", lambda program: program == file.parent.name, f"the folder's name, {file.parent.name!r}"),
        ("run", lambda run: run == file.stem, f"the file's name, {file.stem!r}"),
    ]
    return first_problem(meta, checks)


def _place(meta):
    return meta["program"], meta["set"], meta["pass"], meta["part"], meta["run"]
