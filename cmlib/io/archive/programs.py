"""List the runs recorded of a program, and add a run, in one piece, if it can be compared with them."""

import math
import re
from pathlib import Path

from cmlib.errors import CmlibError
from cmlib.io.archive import errors_as, pack, read_file, readable, unpack, write_recording
from cmlib.io.archive.runs import (
    SCHEMA,
    VALGRIND,
    check_run,
    content_suffix,
    events_of,
    read_run_metadata,
    run_name,
    shortened,
    source_of,
)

_PLAN = ("mode", "pinned", "groups", "modifier", "interval_ms", "encodings")


class RecordError(CmlibError):
    """A recording could not be made, or must not be."""


def check_names(program, set_name):
    """Raise RecordError unless both can be parts of a file's name, and a run's name be taken apart again."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{,99}", program):
        raise RecordError(
            f"a program is named by letters, digits and ._-, 100 at most (it becomes a folder), got {program[:120]!r}."
        )
    if not re.fullmatch(r"[A-Za-z0-9_]{1,100}", set_name):
        raise RecordError(f"a set is named by letters, digits and _, 100 at most, got {set_name[:120]!r}.")


def existing_runs(folder):
    """Read the metadata of all runs of a program, to which others are to be added."""
    with errors_as(RecordError, folder):
        return {file.stem: read_run_metadata(file) for file in sorted(Path(folder).glob("*.json"))}


def readable_runs(folder):
    """Read the metadata of a program's runs; one that can't be read is left out by name.

    Parameters
    ----------
    folder : path
        Of the program's recordings.

    Returns
    -------
    dict of str to dict
        Metadata by the run's name, such as ``ocoe-p0-00``.
    """
    metas = readable(read_run_metadata, sorted(Path(folder).glob("*.json")))
    return {file.stem: meta for file, meta in metas.items()}


def read_raw(folder, run):
    """Output of one run, as perf or Callgrind wrote it [bytes]."""
    description = Path(folder) / f"{run}.json"
    with errors_as(RecordError, folder):
        file = description.with_suffix(content_suffix(read_run_metadata(description)))
        return unpack(read_file(file), file)


def check_comparable(existing, intended):
    """Refuse to put together what can't be compared."""
    for meta in existing:
        pairs = {
            "source of counts": (source_of(meta), source_of(intended)),
            "command": (meta["command"], intended["command"]),
        }
        for key in intended["machine"].keys() - {"load_1min", "metric_group"}:
            pairs[key] = (meta["machine"].get(key), intended["machine"][key])
        if meta["set"] == intended["set"]:
            pairs["counters"] = (meta["counters"], intended["counters"])
            if source_of(meta) == VALGRIND:
                there, here = meta["simulator"], intended["simulator"]
                pairs |= {f"simulator ({key})": (there.get(key), here[key]) for key in here}
            if meta["part"] == intended["part"]:
                pairs |= {key: (meta[key], intended[key]) for key in _PLAN}
        for key, (there, here) in pairs.items():
            if there != here and not (key == "interval_ms" and math.isclose(there, here, rel_tol=0.01)):
                raise RecordError(
                    f"{intended['program']}/{meta['run']} was recorded with another {key}: {shortened(there)} there, "
                    f"{shortened(here)} now. Such runs can't be compared: record under another name or --set, or move "
                    f"the old ones away."
                )


def next_place(program, set_name, names, existing):
    """Where a run belongs."""
    of_set = [meta for meta in existing.values() if meta["set"] == set_name]
    alike = [meta for meta in of_set if events_of(meta) == names]
    part = alike[0]["part"] if alike else 1 + max((meta["part"] for meta in of_set), default=-1)
    number = 1 + max((meta["pass"] for meta in alike), default=-1)
    place = {"program": program, "set": set_name, "pass": number, "part": part}
    return place | {"run": run_name(set_name, number, part)}, alike


def add_run(folder, meta, raw):
    """Add one run: the raw output first, then the metadata that makes it exist."""
    target = Path(folder) / f"{meta['run']}.json"
    with errors_as(RecordError, folder):
        if target.exists():
            raise RecordError(
                f"{meta['program']}/{meta['run']} exists, and recordings are never overwritten."
            )
        check_run(meta, target)
        write_recording(target, pack(raw), meta, schema=SCHEMA, suffix=content_suffix(meta))
    return target
