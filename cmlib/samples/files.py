"""Samples and lines on disk: what perf printed or a table of lines, and the metadata that makes it exist."""

import contextlib
import gzip
from pathlib import Path

import pandas as pd

from cmlib import places
from cmlib.archive import as_text, digest, errors_as, read_object, settle, working_folder
from cmlib.errors import CmlibError

SCHEMA = 1
LINES, SAMPLES = ".csv", ".txt.gz"
_HOW = "Such files are written by `cmlib record NAME --samples`; move anything else out of the samples."


class SampleError(CmlibError):
    """Samples could not be recorded, or not be read."""


def read_lines(out):
    """Read stored lines.

    Parameters
    ----------
    out : path
        As given to :func:`record_lines`, without a suffix.

    Returns
    -------
    lines : DataFrame
        As of :func:`cmlib.compress.compress` for several events.
    metadata : dict

    Raises
    ------
    SampleError
        If they don't exist, or are not what was written.
    """
    table = Path(f"{out}{LINES}")
    meta = read_metadata(table)
    if meta is None:
        raise SampleError(f"no lines at {out}: {out}.json does not exist.")
    return pd.read_csv(table), meta


def read_metadata(table):
    """Metadata of a stored file, None where there are none.

    Raises
    ------
    SampleError
        If the file is not the one that they describe.
    """
    table = Path(table)
    description = table.with_name(table.name.removesuffix(SAMPLES).removesuffix(LINES) + ".json")
    if not description.exists():
        return None
    with errors_as(SampleError, table):
        meta = read_object(description, "the metadata of samples", _HOW)
        if not table.exists():
            raise SampleError(f"{table} does not exist, and {description.name} describes it.")
        checksum = digest(table)
    if checksum != meta.get("sha256"):
        raise SampleError(
            f"{table} is not the file that was written: its checksum is not the one in {description}."
        )
    return meta


@contextlib.contextmanager
def draft(out, suffix):
    """Write a table so that it exists in full, with its metadata, or not at all.

    Parameters
    ----------
    out : path
        Without suffix. Its folder is made if need be.
    suffix : {LINES, SAMPLES}

    Yields
    ------
    file : text file, for SAMPLES binary
        For the table. Lines can be read from it, in a folder ``<out>.csv.….partial``, while they are written.
    metadata : dict
        Empty, to be filled before the end.
    folder : pathlib.Path
        For files that are needed meanwhile. What one that was killed left in its own is removed.

    Raises
    ------
    SampleError
        If there is something at `out` already, or it can't be written.
    """
    table, description = Path(f"{out}{suffix}"), Path(f"{out}.json")
    if description.exists():
        raise SampleError(
            f"{description} exists, and recordings are never overwritten: name another, or move it away."
        )
    metadata = {}
    with errors_as(SampleError, table.parent):
        table.parent.mkdir(parents=True, exist_ok=True)
    with errors_as(SampleError, table.parent), working_folder(table) as folder:
        partial = folder / table.name
        with _opened(partial, suffix) as file:
            yield file, metadata, folder
        text = as_text({"schema": SCHEMA, **metadata, "sha256": digest(partial)}, description)
        (folder / description.name).write_text(text, encoding="utf-8")
        settle(partial, table)
        settle(folder / description.name, description)


def _opened(partial, suffix):
    if suffix == SAMPLES:
        return gzip.open(partial, "wb")
    return open(partial, "w", encoding="utf-8", newline="")


def samples_dir():
    """Folder of the sample streams and lines that are kept: a sub-folder a program with its input."""
    return places.data_dir() / "samples"
