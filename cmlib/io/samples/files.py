"""Files of samples (perf's text, packed) or of lines (a CSV), each with metadata in JSON beside it.

"Lines" are the piecewise-linear segments that are stored in place of samples. :func:`find_streams` lists files of
samples, :func:`read_lines` reads one of lines, and :func:`draft` writes either. SampleError for a file that was
changed, can't be read, or would be overwritten; NothingRecordedError if there is none to list.
"""

import contextlib
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from cmlib import places
from cmlib.errors import CmlibError, NothingRecordedError
from cmlib.io.archive import digest, errors_as, parse_csv, read_file, read_object, readable
from cmlib.io.archive.runs import recording_draft

__all__ = ["read_metadata", "samples_dir"]

SCHEMA = 1
LINES, SAMPLES = ".csv", ".txt.gz"  # suffixes of the content files
_MOST_COLUMNS = 1 << 11  # slope, intercept and error of each of 480 events
_HOW = "Such files are written by `cmlib record NAME --samples`; move anything else out of the samples."


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

    Raises
    ------
    SampleError
        If there are none, or the file was changed.
    """
    table = Path(f"{out}{LINES}")
    meta = read_metadata(table)
    if meta is None:
        raise SampleError(f"no lines at {out}: {out}.json does not exist.")
    return parse_csv(read_file(table), most_columns=_MOST_COLUMNS), meta


def read_metadata(table: str | Path) -> dict | None:
    """Read the metadata beside a file of samples or lines.

    Parameters
    ----------
    table : str or path
        The file.

    Returns
    -------
    dict or None
        None if there are no metadata.

    Raises
    ------
    SampleError
        If the metadata can't be read, the file is not there, or its SHA-256 is another one.
    """
    table = Path(table)
    description = table.with_name(table.name.removesuffix(SAMPLES).removesuffix(LINES) + ".json")
    if not description.exists():
        return None
    with errors_as(SampleError, table):
        meta = read_object(description, "the metadata of samples", _HOW, "samples")
        checksum = digest(table)
    if checksum != meta.get("sha256"):
        raise SampleError(f"{table} is not the file that was written: its checksum is not {description}'s.")
    return meta


@contextlib.contextmanager
def draft(out: str | Path, suffix: str) -> Iterator[tuple[Any, dict, Path]]:
    """Give a file to write to, a dict for its metadata and a working folder, during a ``with`` block.

    The block writes to a temporary file. When it ends without an error, this file gets its final name, so that no
    half-written recording is ever found.

    Parameters
    ----------
    out : path
        Final name, without suffix.
    suffix : str
        Constant of this module: `LINES` for a text file, or `SAMPLES` for a file of bytes, which are compressed
        by gzip when they are written.

    Yields
    ------
    file : file object
    metadata : dict
    folder : Path

    Raises
    ------
    SampleError
        If it exists already or can't be written.
    """
    description = Path(f"{out}.json")
    if description.exists():
        raise SampleError(f"{description} exists, and is never overwritten: name another, or move it away.")
    with errors_as(SampleError, description.parent):
        description.parent.mkdir(parents=True, exist_ok=True)
        with recording_draft(description, schema=SCHEMA, suffix=suffix) as (table, metadata):
            packed = suffix == SAMPLES
            with gzip.open(table, "wb") if packed else open(table, "w", encoding="utf-8", newline="") as file:
                yield file, metadata, table.parent


def samples_dir() -> Path:
    """Return the folder of the kept samples and lines.

    Returns
    -------
    pathlib.Path
        It has a folder for each program with its input.
    """
    return places.data_dir() / "samples"


KINDS = ("hardware", "software")  # of the event that times the sampling, as file names begin


def find_streams(folder: str | Path | None = None, kind: str = "auto") -> pd.DataFrame:
    """List the kept files of samples.

    Parameters
    ----------
    folder : str or path, optional
        Default: :func:`samples_dir`.
    kind : str, default "auto"
        One of KINDS, the kinds of the event that times the sampling; "auto" for hardware if there are any such files,
        else software.

    Returns
    -------
    DataFrame
        One row per file. Columns: ``name`` (of the program), ``kind``, ``path``, ``period`` (counts per sample),
        ``n_samples``, ``n_lost`` (samples that perf lost), ``events`` (tuple of names), ``command`` and ``date`` (str).
        Where metadata are missing, these are None and there are no events. Files that can't be read are left out with a
        warning.

    Raises
    ------
    NothingRecordedError
        If there are none.
    """
    folder = Path(folder or samples_dir())
    frame = pd.DataFrame(
        readable(_row, sorted(folder.glob(f"*/*{SAMPLES}"))).values(),
        columns=["name", "kind", "path", "period", "n_samples", "n_lost", "events", "command", "date"],
    )
    wanted = next((k for k in KINDS if (frame["kind"] == k).any()), None) if kind == "auto" else kind
    streams = frame[frame["kind"] == wanted].reset_index(drop=True)
    if streams.empty:
        what = "" if kind == "auto" else f"{kind} "
        raise NothingRecordedError(f"no {what}sample stream is recorded yet: run `cmlib record-samples`")
    return streams


def _row(path):
    """Describe one file as a row of :func:`find_streams`."""
    meta = read_metadata(path) or {}
    return {
        "name": path.parent.name,
        "kind": path.name.partition("-")[0],
        "path": path,
        "events": tuple(meta.get("events", ())),
        **{key: meta.get(key) for key in ("period", "n_samples", "n_lost", "command", "date")},
    }
