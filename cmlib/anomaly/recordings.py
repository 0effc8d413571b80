"""Recordings of many runs: all that regions wrote in one compressed file, and beside it what it is a recording of."""

import datetime
import gzip
import hashlib
import json
import os
from pathlib import Path

from cmlib.anomaly.profiles import read_runs
from cmlib.errors import CmlibError

SCHEMA = 1
_NEEDED = ("schema", "program", "events", "machine", "sha256")


def load_recording(file):
    """Read a recording of many runs, as ``python -m cmlib.workloads.kernels --record`` and `cmlib compare`
    make it.

    Parameters
    ----------
    file : path-like
        The ``.json`` of the recording; ``.csv.gz`` lies beside it.

    Returns
    -------
    about : dict
        What the JSON says: program, form, sharing, events, machine and so on.
    runs : dict of str to DataFrame
        As from `read_runs`.

    Raises
    ------
    ValueError
        If the samples aren't those that were recorded.
    CmlibError
        If `file` is no recording.
    """
    file = Path(file)
    about = read_about(file)
    packed = file.with_suffix(".csv.gz").read_bytes()
    if hashlib.sha256(packed).hexdigest() != about["sha256"]:
        raise ValueError(
            f"{file.with_suffix('.csv.gz')}: changed since it was recorded; delete both files and record again"
        )
    return about, read_runs(gzip.decompress(packed).decode(), per=about.get("per", "instructions"))


def read_about(file):
    """Read what a recording is of, without its samples.

    Parameters
    ----------
    file : path-like
        The ``.json``.

    Returns
    -------
    dict

    Raises
    ------
    CmlibError
        If `file` is no recording.
    """
    try:
        about = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CmlibError(f"{file} can't be read as the JSON of a recording: {error}") from error
    missing = [key for key in _NEEDED if not isinstance(about, dict) or key not in about]
    if missing:
        raise CmlibError(
            f"{file} is no recording of regions: it lacks {', '.join(missing)}. Recordings are made by "
            "`cmlib compare --keep FOLDER` and `python -m cmlib.workloads.kernels --record`."
        )
    return about


def save_recording(target, pieces, about):
    """Write a recording: first the samples, then the JSON, so that a recording exists if its JSON does.

    Parameters
    ----------
    target : path-like
        The ``.json``.
    pieces : list of str
        What the regions wrote in each execution, unchanged, under a line ``# run=NAME part=NUMBER …``.
    about : dict
        Of plain values; schema, date and checksum are added.

    Returns
    -------
    Path
        `target`.
    """
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    packed = gzip.compress("".join(pieces).encode(), mtime=0)
    whole = {
        "schema": SCHEMA,
        **about,
        "date": datetime.datetime.now().isoformat(timespec="seconds"),
        "sha256": hashlib.sha256(packed).hexdigest(),
    }
    write_whole(target.with_suffix(".csv.gz"), packed)
    write_whole(target, json.dumps(whole, indent=1).encode())
    return target


def write_whole(path, content):
    """Write all of a file or none of it.

    Parameters
    ----------
    path : Path
    content : bytes
    """
    partial = path.with_suffix(path.suffix + ".partial")
    partial.write_bytes(content)
    os.replace(partial, path)
