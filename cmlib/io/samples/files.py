"""List, read and write files of samples.

The samples of one run are a sample stream. It is stored as compressed text in the format of perf. Lines are
piecewise-linear segments that replace samples. They are stored as CSV. Both have a JSON file with metadata.
:func:`find_streams` lists the sample streams, :func:`read_lines` reads lines, and :func:`open_draft` writes either.
"""

import contextlib
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from cmlib import places
from cmlib.errors import CmlibError, InputError, NothingRecordedError
from cmlib.io.archive import digest, errors_as, parse_csv, read_file, read_object, readable
from cmlib.io.archive.recordings import recording_draft

__all__ = ["SampleError", "find_streams", "open_draft", "read_lines", "read_metadata", "samples_dir"]

SCHEMA = 1
LINES, SAMPLES = ".csv", ".txt.gz"  # suffixes of the content files
# Kinds of the first event of the samples. The names of files begin with the kind.
KINDS = ("hardware", "software")
# Lines have three columns per event (slope, intercept, sigma), and at most 480 events.
_MOST_COLUMNS = 1 << 11
_WRITERS = "`cmlib record NAME --samples` and `cmlib record-samples`"
_ADVICE = f"Such files are written by {_WRITERS}; move anything else out of the folder of samples."


class SampleError(CmlibError):
    """Raised for samples that cannot be recorded or read."""


def read_lines(out: str | Path) -> tuple[pd.DataFrame, dict]:
    """Read the line segments that replace the samples of a run, and their metadata.

    Parameters
    ----------
    out : path
        Path of the files, without suffix.

    Returns
    -------
    lines : DataFrame
        One row per line. Columns:

        - ``x_start``, ``x_end`` : range of the cumulative count of the first event.
        - ``slope:EVENT``, ``intercept:EVENT`` : coefficients for each other event.
        - ``sigma:EVENT`` : standard deviation of the samples from the line.
        - ``n`` : number of samples.
    meta : dict
        Metadata.

    Raises
    ------
    SampleError
        If the files do not exist, cannot be read, or were changed.
    """
    file = Path(f"{out}{LINES}")
    meta = read_metadata(file)
    if meta is None:
        raise SampleError(f"no lines at {out}: {out}.json does not exist.")
    return parse_csv(read_file(file), most_columns=_MOST_COLUMNS), meta


def read_metadata(file: str | Path) -> dict | None:
    """Read the metadata of a file of samples or lines.

    Parameters
    ----------
    file : str or path
        File of samples or lines.

    Returns
    -------
    dict or None
        None if the file has no metadata.

    Raises
    ------
    SampleError
        If the metadata or the file cannot be read, or the file was changed.
    """
    file = Path(file)
    metadata_file = file.with_name(file.name.removesuffix(SAMPLES).removesuffix(LINES) + ".json")
    if not metadata_file.exists():
        return None
    with errors_as(SampleError, file):
        meta = read_object(metadata_file, "the metadata of samples", _ADVICE, "samples")
        checksum = digest(file)
    if checksum != meta.get("sha256"):
        raise SampleError(
            f"{file} is not the file that was written: its SHA-256 differs from the one in {metadata_file}."
        )
    return meta


@contextlib.contextmanager
def open_draft(out: str | Path, suffix: str) -> Iterator[tuple[Any, dict, Path]]:
    """Write a file of samples or lines during a ``with`` block.

    The file and its metadata get their final names after the block. After an error in the block, nothing is written.

    Parameters
    ----------
    out : path
        Final path, without suffix.
    suffix : {".csv", ".txt.gz"}
        ``.csv`` for lines, ``.txt.gz`` for samples.

    Yields
    ------
    file : file object
        Text file for lines. Binary file for samples, which is compressed by gzip.
    metadata : dict
        Empty. Entries that the block adds are written as metadata.
    folder : Path
        Temporary folder of the file.

    Raises
    ------
    SampleError
        If the recording exists already or cannot be written.
    """
    metadata_file = Path(f"{out}.json")
    if metadata_file.exists():
        raise SampleError(f"{metadata_file} exists, and is never overwritten: name another, or move it away.")
    with errors_as(SampleError, metadata_file.parent):
        metadata_file.parent.mkdir(parents=True, exist_ok=True)
        with recording_draft(metadata_file, schema=SCHEMA, suffix=suffix) as (path, metadata):
            if suffix == SAMPLES:
                with gzip.open(path, "wb") as packed_file:
                    yield packed_file, metadata, path.parent
            else:
                with path.open("w", encoding="utf-8", newline="") as text_file:
                    yield text_file, metadata, path.parent


def samples_dir() -> Path:
    """Return the folder of the stored samples and lines.

    Returns
    -------
    pathlib.Path
        Contains one folder per program and input. For example, ``gcc-2``.
    """
    return places.data_dir() / "samples"


def find_streams(folder: str | Path | None = None, kind: str = "auto") -> pd.DataFrame:
    """List the stored sample streams.

    Unreadable files are skipped with a message on standard error.

    Parameters
    ----------
    folder : str or path, optional
        Folder with one folder per program. Default: :func:`samples_dir`.
    kind : {"auto", "hardware", "software"}, default "auto"
        Kind of the first event of the samples. ``auto`` selects hardware events if any stream has them, otherwise
        software events.

    Returns
    -------
    DataFrame
        One row per stream. Columns:

        - ``name`` : name of the program.
        - ``kind``, ``path`` : kind of the first event, and file.
        - ``period`` : counts of the first event per sample.
        - ``n_samples``, ``n_lost`` : number of samples, and number of samples that perf lost.
        - ``events`` : tuple of names. Empty if the stream has no metadata.
        - ``command``, ``date`` : command and date of the recording.

        Values are None if the stream has no metadata.

    Raises
    ------
    InputError
        If the kind is unknown.
    NothingRecordedError
        If no stream of this kind exists.
    """
    if kind not in ("auto", *KINDS):
        raise InputError(f"kind is 'auto', {KINDS[0]!r} or {KINDS[1]!r}; got {kind!r}.")
    folder = Path(folder or samples_dir())
    frame = pd.DataFrame(
        readable(_describe_stream, sorted(folder.glob(f"*/*{SAMPLES}"))).values(),
        columns=["name", "kind", "path", "period", "n_samples", "n_lost", "events", "command", "date"],
    )
    chosen_kind = kind
    if kind == "auto":
        chosen_kind = "hardware" if (frame["kind"] == "hardware").any() else "software"
    streams = frame[frame["kind"] == chosen_kind].reset_index(drop=True)
    if streams.empty:
        description = "sample stream" if kind == "auto" else f"sample stream of {kind} events"
        raise NothingRecordedError(
            f"no {description} is recorded yet. Run `cmlib record-samples` for the programs of notebook 07, or "
            "`cmlib record NAME --samples -- COMMAND` for another program."
        )
    return streams


def _describe_stream(path: Path) -> dict[str, Any]:
    """Return the row of a file of samples in the table of :func:`find_streams`."""
    meta = read_metadata(path) or {}
    return {
        "name": path.parent.name,
        "kind": path.name.partition("-")[0],
        "path": path,
        "events": tuple(meta.get("events", ())),
        **{key: meta.get(key) for key in ("period", "n_samples", "n_lost", "command", "date")},
    }
