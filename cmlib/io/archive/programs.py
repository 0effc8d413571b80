"""The recorded runs of a program, a folder each program: list them, and add a run if it can be compared with them.

A run (one execution of the program) belongs to a set, a named plan of events. Where the events are too many for one
run, each run counts a part of them, and a pass is the runs that count every part once. A run's file is named by set,
pass and part: ``ocoe-p0-03.json``, with its counts beside it. RecordError for names that can't be file names, runs
that can't be read, and runs that can't be compared.
"""

import math
import re
from pathlib import Path

from cmlib.errors import CmlibError
from cmlib.io.archive import errors_as, pack, read_file, readable, runs, unpack, write_recording

__all__ = ["readable_runs"]

# Entries of metadata in which all passes of a part are equal.
_PLAN = ("mode", "pinned", "groups", "modifier", "interval_ms", "encodings")


class RecordError(CmlibError):
    """Raised when a recording can't be made, read or imported, or must not be."""


def check_names(program, set_name):
    """Raise RecordError unless the names of a program and a set can stand in file names and in a run's name.

    `program` (str) is 1 to 100 letters, digits, ``_``, ``.`` and ``-``, and begins with a letter or digit; `set_name`
    (str) is 1 to 100 letters, digits and ``_``.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{,99}", program):
        raise RecordError(
            f"a program is named by letters, digits and ._-, 100 at most (it becomes a folder), got {program[:120]!r}."
        )
    if not re.fullmatch(r"[A-Za-z0-9_]{1,100}", set_name):
        raise RecordError(f"a set is named by letters, digits and _, 100 at most, got {set_name[:120]!r}.")


def existing_runs(folder):
    """Metadata (dict) of all runs in a program's folder (path): a dict by run name, such as ``ocoe-p0-00``.

    RecordError if one can't be read; empty if there is none.
    """
    with errors_as(RecordError, folder):
        return {file.stem: runs.read_run_metadata(file) for file in sorted(Path(folder).glob("*.json"))}


def readable_runs(folder: str | Path) -> dict[str, dict]:
    """Read the metadata of a program's runs; one that can't be read is left out with a warning that names its file.

    Parameters
    ----------
    folder : path
        Of the program's recordings.

    Returns
    -------
    dict of str to dict
        Metadata by the run's name, such as ``ocoe-p0-00``; empty if nothing can be read.
    """
    metas = readable(runs.read_run_metadata, sorted(Path(folder).glob("*.json")))
    return {file.stem: meta for file, meta in metas.items()}


def read_raw(folder, run):
    """Output of one run (bytes), as perf or Callgrind wrote it; RecordError if it can't be read.

    `folder` (path) is the program's, `run` (str) the run's name.
    """
    description = Path(folder) / f"{run}.json"
    with errors_as(RecordError, folder):
        file = description.with_suffix(runs.content_suffix(runs.read_run_metadata(description)))
        return unpack(read_file(file), file)


def check_comparable(existing, intended):
    """Raise RecordError if a run can't be compared with those of the program: another command, machine or plan.

    `existing` (iterable of dicts) are metadata of its runs, `intended` (dict) those of the run that is to be added.
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
                there, here = meta["simulator"], intended["simulator"]
                pairs |= {f"simulator ({key})": (there.get(key), here[key]) for key in here}
            if meta["part"] == intended["part"]:
                pairs |= {key: (meta[key], intended[key]) for key in _PLAN}
        for key, (there, here) in pairs.items():
            if there != here and not (key == "interval_ms" and math.isclose(there, here, rel_tol=0.01)):
                there, here = map(runs.shortened, (there, here))
                raise RecordError(
                    f"{intended['program']}/{meta['run']} was recorded with another {key}: {there} there, {here} now. "
                    "Such runs can't be compared: record under another name or --set, or move the old ones away."
                )


def next_place(program, set_name, names, existing):
    """The place of a new run among those of its program: a dict of metadata, and a list of the metadata of runs like
    it.

    `program` and `set_name` are names, `names` (list of str) the run's events in order, `existing` a dict of a run's
    name to its metadata. With events as other runs of the set have, it is a further pass of that part, and these runs
    are the list; else it is a further part, and the list is empty. The dict has program, set, pass, part and run (its
    name).
    """
    of_set = [meta for meta in existing.values() if meta["set"] == set_name]
    alike = [meta for meta in of_set if runs.events_of(meta) == names]
    part = alike[0]["part"] if alike else 1 + max((meta["part"] for meta in of_set), default=-1)
    number = 1 + max((meta["pass"] for meta in alike), default=-1)
    place = {"program": program, "set": set_name, "pass": number, "part": part}
    return place | {"run": runs.run_name(set_name, number, part)}, alike


def add_run(folder, meta, raw):
    """Write one run into a program's folder (path), and return the path of its metadata file.

    `raw` (bytes) is perf's or Callgrind's output, written first, as the metadata (`meta`, dict) make the run exist.
    RecordError if the run exists, its metadata are not valid, or nothing can be written.
    """
    target = Path(folder) / f"{meta['run']}.json"
    with errors_as(RecordError, folder):
        if target.exists():
            raise RecordError(f"{meta['program']}/{meta['run']} exists; recordings are never overwritten.")
        runs.check_run(meta, target)
        write_recording(target, pack(raw), meta, schema=runs.SCHEMA, suffix=runs.content_suffix(meta))
    return target


def share_content(first, other):
    """Keep the content of two runs of a program once: a hard link, where the file system has these.

    `first` and `other` (paths) are their metadata files; their contents are equal.
    """
    suffix = runs.content_suffix(runs.read_run_metadata(first))
    link = other.with_suffix(f"{suffix}.link")
    try:
        link.hardlink_to(first.with_suffix(suffix))
    except OSError:  # two copies are as good
        return
    link.replace(other.with_suffix(suffix))


def remove_run(description):
    """Remove a run, given the path of its metadata file: the metadata first, as they make the run exist."""
    content = description.with_suffix(runs.content_suffix(runs.read_run_metadata(description)))
    description.unlink()
    content.unlink()
