"""List, read and write files of samples or of lines, each with metadata in a JSON file beside it.

Samples of one run are a sample stream, which is stored as the text that perf prints, compressed by gzip. Lines are
piecewise-linear segments that are stored in place of samples, as CSV. :func:`find_streams` lists the sample streams,
:func:`read_lines` reads a file of lines, and :func:`open_draft` writes a file of either kind.
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
KINDS = ("hardware", "software")  # kinds of the event that times the sampling; names of files begin with them
# A file of lines has three columns for each event (slope, intercept, sigma), and 480 events at most.
_MOST_COLUMNS = 1 << 11
_WRITERS = "`cmlib record NAME --samples` and `cmlib record-samples`"
_ADVICE = f"Such files are written by {_WRITERS}; move anything else out of the folder of samples."


class SampleError(CmlibError):
    """Raised when samples can't be recorded or read."""


def read_lines(out: str | Path) -> tuple[pd.DataFrame, dict]:
    """Read stored lines and their metadata.

    Parameters
    ----------
    out : path
        Without suffix.

    Returns
    -------
    lines : DataFrame
        One row per line. Columns: x_start and x_end [counts of the first event]; slope:EVENT, intercept:EVENT and
        sigma:EVENT of each other event; n, the number of samples.
    meta : dict
        Metadata, as :func:`read_metadata` returns them.

    Raises
    ------
    SampleError
        If there are none, or the file was changed.
    """
    file = Path(f"{out}{LINES}")
    meta = read_metadata(file)
    if meta is None:
        raise SampleError(f"no lines at {out}: {out}.json does not exist.")
    return parse_csv(read_file(file), most_columns=_MOST_COLUMNS), meta


def read_metadata(file: str | Path) -> dict | None:
    """Read the metadata beside a file of samples or lines.

    Parameters
    ----------
    file : str or path
        The file of samples or lines.

    Returns
    -------
    dict or None
        None if the file has no metadata.

    Raises
    ------
    SampleError
        If the metadata can't be read, the file does not exist, or its SHA-256 differs from the one in the metadata.
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
    """Open a temporary file for samples or lines, with a dict for its metadata, for a ``with`` block.

    When the block ends without an error, the file and its metadata get their final names. A recording that breaks
    off leaves neither.

    Parameters
    ----------
    out : path
        Final name, without suffix.
    suffix : str
        A constant of this module: `LINES` for a text file, or `SAMPLES` for a file of bytes, which gzip compresses
        on writing.

    Yields
    ------
    file : file object
    metadata : dict
    folder : Path
        Temporary folder of the file.

    Raises
    ------
    SampleError
        If the recording exists already or can't be written.
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
        Contains one folder per program and input, such as ``gcc-2``.
    """
    return places.data_dir() / "samples"


def find_streams(folder: str | Path | None = None, kind: str = "auto") -> pd.DataFrame:
    """List the stored sample streams.

    Parameters
    ----------
    folder : str or path, optional
        Default: :func:`samples_dir`.
    kind : str, default "auto"
        Kind of the event that times the sampling: one of KINDS. "auto" takes hardware events if any stream has them,
        else software events.

    Returns
    -------
    DataFrame
        One row per stream. Columns: ``name`` (of the program), ``kind``, ``path``, ``period`` (counts per sample),
        ``n_samples``, ``n_lost`` (samples that perf lost), ``events`` (tuple of names), ``command`` and ``date`` (str).
        A stream without metadata has only a name, kind and path; ``events`` is empty and the other values are None.
        Files that can't be read are left out with a warning.

    Raises
    ------
    InputError
        If the kind is unknown.
    NothingRecordedError
        If there are no streams of this kind.
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
    """Describe one file of samples as a row of :func:`find_streams`."""
    meta = read_metadata(path) or {}
    return {
        "name": path.parent.name,
        "kind": path.name.partition("-")[0],
        "path": path,
        "events": tuple(meta.get("events", ())),
        **{key: meta.get(key) for key in ("period", "n_samples", "n_lost", "command", "date")},
    }
