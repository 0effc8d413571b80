"""Samples and lines on disk: what perf printed or a table of lines, and, written last, the metadata that makes it exist."""

import contextlib
import gzip
import hashlib
import json
import os
from pathlib import Path

import pandas as pd

from cmlib import places
from cmlib.errors import CmlibError

SCHEMA = 1
LINES, SAMPLES = ".csv", ".txt.gz"


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
    meta = json.loads(description.read_text(encoding="utf-8"))
    if not table.exists():
        raise SampleError(f"{table} does not exist, and {description.name} describes it.")
    if _digest(table) != meta["sha256"]:
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
        For the table. Lines can be read from the ``.partial`` file while they are written.
    metadata : dict
        Empty, to be filled before the end.

    Raises
    ------
    SampleError
        If there is something at `out` already.
    """
    table, description = Path(f"{out}{suffix}"), Path(f"{out}.json")
    if description.exists():
        raise SampleError(
            f"{description} exists, and recordings are never overwritten: name another, or move it away."
        )
    table.parent.mkdir(parents=True, exist_ok=True)
    partial, metadata = Path(f"{table}.partial"), {}
    try:
        with _opened(partial, suffix) as file:
            yield file, metadata
        text = json.dumps(
            {"schema": SCHEMA, **metadata, "sha256": _digest(partial)}, indent=1, ensure_ascii=False
        )
        _settle(partial, table)
        partial = Path(f"{description}.partial")
        partial.write_text(text + "\n", encoding="utf-8")
        _settle(partial, description)
    finally:
        partial.unlink(missing_ok=True)


def _opened(partial, suffix):
    if suffix == SAMPLES:
        return gzip.open(partial, "wb")
    return open(partial, "w", encoding="utf-8", newline="")


def _settle(partial, target):
    """Give a file its name when its content is safely on the disk."""
    descriptor = os.open(partial, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(partial, target)


def _digest(file):
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def samples_dir():
    """Folder of the sample streams and lines that are kept: a sub-folder a program with its input."""
    return places.data_dir() / "samples"
