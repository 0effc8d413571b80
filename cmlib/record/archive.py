"""Recordings on disk: what exists, what may be added to it, and how it is added without ever being half there."""

import gzip
import hashlib
import json
import os
import re
import shutil
from pathlib import Path

from cmlib.errors import CmlibError

SCHEMA = 1
_PLAN = ("mode", "pinned", "groups", "modifier", "interval_ms", "encodings")


class RecordError(CmlibError):
    """A recording could not be made, or must not be."""


def check_names(program, set_name):
    """Raise RecordError unless both can be parts of a file's name, and a run's name be taken apart again."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", program):
        raise RecordError(
            f"a program is named by letters, digits and ._- (it becomes a folder), got {program!r}."
        )
    if not re.fullmatch(r"[A-Za-z0-9_]+", set_name):
        raise RecordError(f"a set is named by letters, digits and _, got {set_name!r}.")


def run_name(set_name, pass_number, part):
    """Name of a run: ``ocoe-p0-03`` is part 3 of the first pass over set ``ocoe``."""
    return f"{set_name}-p{pass_number}-{part:02d}"


def existing_runs(folder):
    """Read the metadata of a program's runs.

    Parameters
    ----------
    folder : path
        The program's folder among the recordings.

    Returns
    -------
    dict of str to dict
        Metadata by name of the run, sorted by name. A run without metadata does not exist.

    Raises
    ------
    RecordError
        If a file is not JSON.
    """
    return {file.stem: _read_json(file) for file in sorted(Path(folder).glob("*.json"))}


def read_raw(folder, run):
    """perf's output of one run, as perf wrote it [bytes]."""
    return gzip.decompress((Path(folder) / f"{run}.csv.gz").read_bytes())


def check_comparable(existing, intended):
    """Refuse to put together what can't be compared.

    All runs of a program share its command and machine, all runs of a set and
    part what they count; the load on the machine may differ.

    Parameters
    ----------
    existing : iterable of dict
        Metadata of the runs that are there.
    intended : dict
        Metadata of a run to be added, as far as it is known beforehand.

    Raises
    ------
    RecordError
        Naming the first difference, with both values.
    """
    for meta in existing:
        pairs = {"command": (meta["command"], intended["command"])}
        for key in intended["machine"].keys() - {"load_1min"}:
            pairs[key] = (meta["machine"].get(key), intended["machine"][key])
        if meta["set"] == intended["set"]:
            pairs["counters"] = (meta["counters"], intended["counters"])
            if meta["part"] == intended["part"]:
                pairs |= {key: (meta[key], intended[key]) for key in _PLAN}
        for key, (there, here) in pairs.items():
            if there != here:
                raise RecordError(
                    f"{intended['program']}/{meta['run']} was recorded with another {key}: {_shown(there)} there, "
                    f"{_shown(here)} now. Such runs can't be compared: record under another name or --set, or move "
                    f"the old ones away."
                )


def add_run(folder, meta, raw, *, compressed=None):
    """Add one run: the raw output first, then the metadata that makes it exist.

    Parameters
    ----------
    folder : path
        The program's folder.
    meta : dict
        Metadata without ``schema`` and ``sha256``, which are added.
    raw : bytes
        perf's output as perf wrote it.
    compressed : bytes, optional
        The same, gzipped, where it came so.

    Returns
    -------
    pathlib.Path
        The metadata file.

    Raises
    ------
    RecordError
        If the run exists.
    """
    folder = Path(folder)
    target = folder / f"{meta['run']}.json"
    if target.exists():
        raise RecordError(f"{meta['program']}/{meta['run']} exists, and recordings are never overwritten.")
    compressed = compressed or gzip.compress(raw, mtime=0)
    digest = hashlib.sha256(compressed).hexdigest()
    _write(folder / f"{meta['run']}.csv.gz", compressed)
    text = json.dumps({"schema": SCHEMA, **meta, "sha256": digest}, indent=1, ensure_ascii=False)
    _write(target, (text + "\n").encode())
    return target


def clear_unfinished(folder):
    """Remove what a recording that was cut off left behind."""
    for left in Path(folder).glob("*.partial"):
        shutil.rmtree(left) if left.is_dir() else left.unlink()


def _read_json(file):
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RecordError(f"{file} is not JSON ({error}): restore it, or move that run away.") from error


def _write(target, content):
    """Write so that after a crash at any moment the file is there in full or not at all."""
    draft = target.with_name(f"{target.name}.partial")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _shown(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:117]}…"
