"""Store and list the recorded runs of programs.

:func:`add_run` writes a run into the folder of its program, and :func:`readable_runs` lists the runs in a folder.
A run is one execution of the program. It belongs to a set, which is a named plan of events. A set can have more events
than one run can count. Then each run counts one part of the events, and a pass is one run of each part. The names of a
run's files contain set, pass and part. For example, ``ocoe-p0-03.json`` and ``ocoe-p0-03.csv.gz``.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from cmlib.errors import CmlibError
from cmlib.io.archive import errors_as, pack, read_file, readable, runs, unpack, write_recording
from cmlib.io.archive.metadata import shortened

__all__ = ["readable_runs"]

# Entries of metadata that are equal in all runs of a part.
_PLAN = ("mode", "pinned", "groups", "modifier", "interval_ms", "encodings")
# Entries of a machine's description that may differ between comparable runs.
_VARIABLE_MACHINE_ENTRIES = {"load_1min", "metric_group"}


class RecordError(CmlibError):
    """Raised for a recording that cannot be made, read or imported."""


def check_names(program: str, set_name: str) -> None:
    """Check the names of a program and a set.

    Parameters
    ----------
    program : str
        1 to 100 letters, digits, ``_``, ``.`` and ``-``. The first character is a letter or a digit.
    set_name : str
        1 to 100 letters, digits and ``_``.

    Raises
    ------
    RecordError
        If a name is not valid.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{,99}", program):
        raise RecordError(
            f"a program is named by letters, digits and ._-, 100 at most, because it becomes a folder; "
            f"got {program[:120]!r}."
        )
    if not re.fullmatch(r"[A-Za-z0-9_]{1,100}", set_name):
        raise RecordError(f"a set is named by letters, digits and _, 100 at most; got {set_name[:120]!r}.")


def existing_runs(folder: str | Path) -> dict[str, dict]:
    """Read the metadata of all runs of a program.

    Parameters
    ----------
    folder : path
        Folder of the program's recordings.

    Returns
    -------
    dict of str to dict
        Metadata keyed by the name of the run. For example, ``ocoe-p0-00``.

    Raises
    ------
    RecordError
        If a metadata file cannot be read.
    """
    with errors_as(RecordError, folder):
        return {file.stem: runs.read_run_metadata(file) for file in sorted(Path(folder).glob("*.json"))}


def readable_runs(folder: str | Path) -> dict[str, dict]:
    """Read the metadata of a program's runs and skip the unreadable ones.

    A message on standard error names each skipped file and the reason.

    Parameters
    ----------
    folder : path
        Folder of the program's recordings.

    Returns
    -------
    dict of str to dict
        Metadata keyed by the name of the run. For example, ``ocoe-p0-00``. Empty if no file can be read.
    """
    metas = readable(runs.read_run_metadata, sorted(Path(folder).glob("*.json")))
    return {file.stem: meta for file, meta in metas.items()}


def read_raw(folder: str | Path, run: str) -> bytes:
    """Read the output of perf or Callgrind for one run.

    Parameters
    ----------
    folder : path
        Folder of the program's recordings.
    run : str
        Name of the run. For example, ``ocoe-p0-00``.

    Returns
    -------
    bytes

    Raises
    ------
    RecordError
        If the run cannot be read.
    """
    metadata_file = Path(folder) / f"{run}.json"
    with errors_as(RecordError, folder):
        meta = runs.read_run_metadata(metadata_file)
        file = metadata_file.with_suffix(runs.content_suffix(meta))
        return unpack(read_file(file), file)


def check_comparable(existing: Iterable[Mapping], intended: Mapping) -> None:
    """Check that a new run can be compared with the existing runs of its program.

    Parameters
    ----------
    existing : iterable of mapping
        Metadata of the existing runs.
    intended : mapping
        Metadata of the new run.

    Raises
    ------
    RecordError
        If the new run has another command, machine or plan of events.
    """
    for meta in existing:
        for name, (old, new) in _pair_entries(meta, intended).items():
            if old == new or (name == "interval_ms" and math.isclose(old, new, rel_tol=0.01)):
                continue
            raise RecordError(
                f"{intended['program']}/{meta['run']} was recorded with another {name}: {shortened(old)} there, "
                f"{shortened(new)} now. Such runs cannot be compared: record under another name or --set, or move "
                "the old ones away."
            )


def _pair_entries(old: Mapping, new: Mapping) -> dict[str, tuple]:
    """Pair the entries that must be equal in comparable runs.

    The result is keyed by the name of the entry.
    """
    pairs = {
        "source of counts": (runs.source_of(old), runs.source_of(new)),
        "command": (old["command"], new["command"]),
    }
    for key in new["machine"].keys() - _VARIABLE_MACHINE_ENTRIES:
        pairs[key] = (old["machine"].get(key), new["machine"][key])
    if old["set"] != new["set"]:
        return pairs
    pairs["counters"] = (old["counters"], new["counters"])
    if runs.source_of(old) == runs.VALGRIND:
        for key, value in new["simulator"].items():
            pairs[f"simulator ({key})"] = (old["simulator"].get(key), value)
    if old["part"] == new["part"]:
        for key in _PLAN:
            pairs[key] = (old[key], new[key])
    return pairs


def next_place(
    program: str, set_name: str, events: Sequence[str], existing: Mapping[str, dict]
) -> tuple[dict, list[dict]]:
    """Choose the pass, part and name of a new run.

    If runs of the set with the same events exist, the new run is their next pass. Otherwise it is the next part.

    Parameters
    ----------
    program, set_name : str
    events : sequence of str
        Names of the run's events, in order.
    existing : mapping of str to dict
        Metadata of the program's runs, as :func:`existing_runs` returns them.

    Returns
    -------
    entries : dict
        Metadata of the new run: program, set, pass, part and run (its name).
    same_events_metas : list of dict
        Metadata of the existing runs with the same events.
    """
    set_metas = [meta for meta in existing.values() if meta["set"] == set_name]
    same_events_metas = [meta for meta in set_metas if runs.events_of(meta) == events]
    if same_events_metas:
        part = same_events_metas[0]["part"]
    else:
        part = 1 + max((meta["part"] for meta in set_metas), default=-1)
    pass_number = 1 + max((meta["pass"] for meta in same_events_metas), default=-1)
    entries = {
        "program": program,
        "set": set_name,
        "pass": pass_number,
        "part": part,
        "run": runs.run_name(set_name, pass_number, part),
    }
    return entries, same_events_metas


def add_run(folder: str | Path, meta: dict, raw: bytes) -> Path:
    """Write a new run into the folder of its program.

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
        Metadata file.

    Raises
    ------
    RecordError
        If the run exists already, its metadata are not valid, or its files cannot be written.
    """
    metadata_file = Path(folder) / f"{meta['run']}.json"
    with errors_as(RecordError, folder):
        if metadata_file.exists():
            raise RecordError(f"{meta['program']}/{meta['run']} exists; recordings are never overwritten.")
        runs.check_run(meta, metadata_file)
        suffix = runs.content_suffix(meta)
        write_recording(metadata_file, pack(raw), meta, schema=runs.SCHEMA, suffix=suffix)
    return metadata_file


def share_content(first: Path, duplicate: Path) -> None:
    """Replace the content file of a run by a hard link to that of another run.

    Both runs must have the same content. Nothing is changed if the file system does not support hard links.

    Parameters
    ----------
    first : Path
        Metadata file of the run that keeps its content.
    duplicate : Path
        Metadata file of the other run.
    """
    suffix = runs.content_suffix(runs.read_run_metadata(first))
    link = duplicate.with_suffix(f"{suffix}.link")
    try:
        link.hardlink_to(first.with_suffix(suffix))
    except OSError:
        return
    link.replace(duplicate.with_suffix(suffix))


def remove_run(metadata_file: Path) -> None:
    """Remove the files of a run.

    Parameters
    ----------
    metadata_file : Path
    """
    content_file = metadata_file.with_suffix(runs.content_suffix(runs.read_run_metadata(metadata_file)))
    # The metadata go first: content without metadata is not a run.
    metadata_file.unlink()
    content_file.unlink()
