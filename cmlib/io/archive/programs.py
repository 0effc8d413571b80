"""The recorded runs of a program, a folder each program: list them, and add a run if it can be compared with them.

A run (one execution of the program) belongs to a set, a named plan of events. Where the events are too many for one
run, each run counts a part of them, and a pass is the runs that count every part once. A run's file is named by set,
pass and part: ``ocoe-p0-03.json``, with its counts beside it. RecordError for names that can't be file names, runs
that can't be read, and runs that can't be compared.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from cmlib.errors import CmlibError
from cmlib.io.archive import errors_as, pack, read_file, readable, runs, unpack, write_recording

__all__ = ["readable_runs"]

# Entries of metadata in which all passes of a part are equal.
_PLAN = ("mode", "pinned", "groups", "modifier", "interval_ms", "encodings")


class RecordError(CmlibError):
    """Raised when a recording can't be made, read or imported, or must not be."""


def check_names(program: str, set_name: str) -> None:
    """Check that the names of a program and a set are valid in the names of files and runs.

    Parameters
    ----------
    program : str
        1 to 100 letters, digits, ``_``, ``.`` and ``-``; begins with a letter or a digit.
    set_name : str
        1 to 100 letters, digits and ``_``.

    Raises
    ------
    RecordError
        If one of them is not valid.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{,99}", program):
        raise RecordError(
            f"a program is named by letters, digits and ._-, 100 at most (it becomes a folder), got {program[:120]!r}."
        )
    if not re.fullmatch(r"[A-Za-z0-9_]{1,100}", set_name):
        raise RecordError(f"a set is named by letters, digits and _, 100 at most, got {set_name[:120]!r}.")


def existing_runs(folder: str | Path) -> dict[str, dict]:
    """Read the metadata of all runs of a program.

    Parameters
    ----------
    folder : path
        Folder of the program's recordings.

    Returns
    -------
    dict of str to dict
        Metadata by the run's name, such as ``ocoe-p0-00``.

    Raises
    ------
    RecordError
        If one can't be read.
    """
    with errors_as(RecordError, folder):
        return {file.stem: runs.read_run_metadata(file) for file in sorted(Path(folder).glob("*.json"))}


def readable_runs(folder: str | Path) -> dict[str, dict]:
    """Read the metadata of a program's runs; one that can't be read is left out with a warning that names its file.

    Parameters
    ----------
    folder : path
        Folder of the program's recordings.

    Returns
    -------
    dict of str to dict
        Metadata by the run's name, such as ``ocoe-p0-00``; empty if nothing can be read.
    """
    metas = readable(runs.read_run_metadata, sorted(Path(folder).glob("*.json")))
    return {file.stem: meta for file, meta in metas.items()}


def read_raw(folder: str | Path, run: str) -> bytes:
    """Read the output of one run, as perf or Callgrind wrote it.

    Parameters
    ----------
    folder : path
        Folder of the program's recordings.
    run : str
        The run's name.

    Returns
    -------
    bytes

    Raises
    ------
    RecordError
        If it can't be read.
    """
    description = Path(folder) / f"{run}.json"
    with errors_as(RecordError, folder):
        file = description.with_suffix(runs.content_suffix(runs.read_run_metadata(description)))
        return unpack(read_file(file), file)


def check_comparable(existing: Iterable[Mapping], intended: Mapping) -> None:
    """Check that a run can be compared with those of its program.

    Parameters
    ----------
    existing : iterable of mapping
        Metadata of the program's runs.
    intended : mapping
        Metadata of the run that is to be added.

    Raises
    ------
    RecordError
        If it has another command, machine or plan of events.
    """
    for meta in existing:
        pairs = {
            "source of counts": (runs.source_of(meta), runs.source_of(intended)),
            "command": (meta["command"], intended["command"]),
        }
        for key in intended["machine"].keys() - {"load_1min", "metric_group"}:
            pairs[key] = (meta["machine"].get(key), intended["machine"][key])
        if meta["set"] == intended["set"]:
            pairs["counters"] = (meta["counters"], intended["counters"])
            if runs.source_of(meta) == runs.VALGRIND:
                old, new = meta["simulator"], intended["simulator"]
                pairs |= {f"simulator ({key})": (old.get(key), new[key]) for key in new}
            if meta["part"] == intended["part"]:
                pairs |= {key: (meta[key], intended[key]) for key in _PLAN}
        for key, (old, new) in pairs.items():
            if old != new and not (key == "interval_ms" and math.isclose(old, new, rel_tol=0.01)):
                old, new = map(runs.shortened, (old, new))
                raise RecordError(
                    f"{intended['program']}/{meta['run']} was recorded with another {key}: {old} there, {new} now. "
                    "Such runs can't be compared: record under another name or --set, or move the old ones away."
                )


def next_place(
    program: str, set_name: str, names: Sequence[str], existing: Mapping[str, dict]
) -> tuple[dict, list[dict]]:
    """Find the place of a new run among those of its program.

    A run with the events of other runs of the set is a further pass of their part; any other is a further part.

    Parameters
    ----------
    program, set_name : str
    names : sequence of str
        The run's events, in order.
    existing : mapping of str to dict
        Metadata by the run's name, as :func:`existing_runs` returns them.

    Returns
    -------
    place : dict
        Entries of metadata: program, set, pass, part and run (its name).
    alike : list of dict
        Metadata of the runs with the same events.
    """
    set_metas = [meta for meta in existing.values() if meta["set"] == set_name]
    same_events_metas = [meta for meta in set_metas if runs.events_of(meta) == names]
    if same_events_metas:
        part = same_events_metas[0]["part"]
    else:
        part = 1 + max((meta["part"] for meta in set_metas), default=-1)
    number = 1 + max((meta["pass"] for meta in same_events_metas), default=-1)
    place = {"program": program, "set": set_name, "pass": number, "part": part}
    return place | {"run": runs.run_name(set_name, number, part)}, same_events_metas


def add_run(folder: str | Path, meta: dict, raw: bytes) -> Path:
    """Write one run into a program's folder: first its content, then its metadata.

    Whether a run exists depends on its metadata, so a run never exists without content.

    Parameters
    ----------
    folder : path
        Folder of the program's recordings.
    meta : dict
        Metadata of the run.
    raw : bytes
        Output of perf or Callgrind.

    Returns
    -------
    Path
        The metadata file.

    Raises
    ------
    RecordError
        If the run exists, its metadata are not valid, or nothing can be written.
    """
    target = Path(folder) / f"{meta['run']}.json"
    with errors_as(RecordError, folder):
        if target.exists():
            raise RecordError(f"{meta['program']}/{meta['run']} exists; recordings are never overwritten.")
        runs.check_run(meta, target)
        write_recording(target, pack(raw), meta, schema=runs.SCHEMA, suffix=runs.content_suffix(meta))
    return target


def share_content(first: Path, other: Path) -> None:
    """Store the equal content of two runs of a program once, if the file system supports hard links.

    Parameters
    ----------
    first, other : Path
        Metadata files of the runs.
    """
    suffix = runs.content_suffix(runs.read_run_metadata(first))
    link = other.with_suffix(f"{suffix}.link")
    try:
        link.hardlink_to(first.with_suffix(suffix))
    except OSError:  # two copies are as good
        return
    link.replace(other.with_suffix(suffix))


def remove_run(description: Path) -> None:
    """Remove a run, given its metadata file: the metadata first, because they make the run exist."""
    content = description.with_suffix(runs.content_suffix(runs.read_run_metadata(description)))
    description.unlink()
    content.unlink()
