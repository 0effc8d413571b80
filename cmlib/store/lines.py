"""The recordings that were kept as lines: what is there, and whether it is what was recorded."""

import re
from pathlib import Path

import numpy as np

from cmlib import places
from cmlib.archive import ArchiveError, read_object
from cmlib.archive.metadata import MAY_BE_UNKNOWN, first_problem, is_count, is_measure, is_text
from cmlib.archive.runs import MOST_EVENTS
from cmlib.samples.files import SCHEMA, SampleError, read_lines
from cmlib.store.urls import StoreError

MODE = "lines"

_NAME = re.compile(r"(.+-lines)-([0-9]+)")
_ALWAYS_COUNTED = ("instructions", "cycles")
_HOW = "Such files are written by `cmlib record NAME --samples --compress`; move anything else out of the samples."


def scan_lines(samples_dir=None, recordings_dir=None):
    """Read the metadata of all recordings of lines, as far as they are right.

    Parameters
    ----------
    samples_dir : path, optional
        Holds a folder a program, with files such as ``hardware-lines-00.json``;
        by default `samples` beside the recordings.
    recordings_dir : path, optional
        `data/recordings` by default.

    Returns
    -------
    dict of pathlib.Path to dict or str
        By its file, what is wrong with it, or what was written with the lines, completed to the metadata
        of a run: program (the folder), set (such as ``hardware-lines``), mode
        ``lines``, run, pinned, groups, pass and part: recordings of the same
        events are passes over them, those of other events parts of one pass;
        and interval_ms, of as many intervals as lines.
    """
    folder = samples_dir or Path(recordings_dir or places.recordings_dir()).absolute().parent / "samples"
    named = ((file, _NAME.fullmatch(file.stem)) for file in Path(folder).glob("*/*-lines-*.json"))
    numbered = sorted(
        (file.parent.name, name[1], int(name[2]), file) for file, name in named if name is not None
    )
    scanned, earlier = {}, {}
    for program, set_name, _, file in numbered:
        try:
            meta = _read_metadata(file)
        except ArchiveError as error:
            scanned[file] = str(error)
            continue
        passes = earlier.setdefault((program, set_name), {})
        of_these = passes.setdefault(tuple(meta["events"]), [])
        place = {"pass": len(of_these), "part": list(passes).index(tuple(meta["events"]))}
        of_these.append(file)
        scanned[file] = meta | {"program": program, "set": set_name, "run": file.stem} | place | _plan(meta)
    return scanned


def read_table(file, meta):
    """Read one recording's lines.

    Parameters
    ----------
    file : pathlib.Path
        The metadata file; the lines lie beside it.
    meta : dict

    Returns
    -------
    DataFrame
        Columns x_start, x_end, and slope and intercept of each event, in the order of the events.

    Raises
    ------
    StoreError
        Naming the file, if it is missing, is not what was recorded, or holds no lines of these events.
    """
    table = file.with_suffix(".csv")
    try:
        lines, _ = read_lines(file.with_suffix(""))
    except SampleError as error:
        raise StoreError(
            f"{error} Put the original back, or delete {file.name}, and the recording is gone."
        ) from error
    except (OSError, ValueError) as error:
        raise StoreError(f"{table} can't be stored: {error}") from error
    events = list(meta["events"])[1:]
    wanted = ["x_start", "x_end", *(f"{what}:{e}" for e in events for what in ("slope", "intercept"))]
    lacking = [column for column in wanted if column not in lines]
    if lacking or len(lines) != meta["n_lines"]:
        wrong = f"no column {lacking[0]!r}" if lacking else f"{len(lines)} lines instead of {meta['n_lines']}"
        raise StoreError(f"{table} can't be stored: it holds {wrong}. Move it and {file.name} away.")
    if not _is_in_order(lines[wanted]):
        raise StoreError(
            f"{table} can't be stored: its lines are not finite numbers, one line after the other. "
            f"Move it and {file.name} away."
        )
    return lines[wanted].astype(float)


def _read_metadata(file):
    meta = read_object(file, "the metadata of lines", _HOW)
    checks = [
        ("schema", lambda schema: schema == SCHEMA, f"{SCHEMA}, which this cmlib reads"),
        ("kind", lambda kind: kind == MODE, repr(MODE)),
        *((key, is_text, "text") for key in ("program", "command", "sha256")),
        ("events", _are_events, f"the names of 2 to {MOST_EVENTS} events"),
        ("n_lines", lambda n: is_count(n) and n > 0, "a whole number, at least 1"),
        ("duration_s", lambda seconds: is_measure(seconds) and seconds > 0, "a number above 0"),
        *MAY_BE_UNKNOWN,
    ]
    unknown = dict.fromkeys(key for key, _, _ in MAY_BE_UNKNOWN)
    problem = first_problem(unknown | meta | {"program": file.parent.name}, checks)
    if problem:
        raise ArchiveError(f"{file} is not the metadata of lines: {problem}. {_HOW}")
    return meta


def _are_events(events):
    """Names, or names with what perf is told, the one that times the sampling first."""
    return (
        isinstance(events, dict | list)
        and 2 <= len(events) <= MOST_EVENTS
        and all(map(is_text, events))
        and len(set(events)) == len(events)
    )


def _plan(meta):
    events = list(meta["events"])
    pinned = [event for event in _ALWAYS_COUNTED if event in events]
    return {
        "mode": MODE,
        "pinned": pinned,
        "groups": [[event for event in events if event not in pinned]],
        "interval_ms": 1000 * meta["duration_s"] / meta["n_lines"],
    }


def _is_in_order(lines):
    if any(kind.kind not in "iuf" for kind in lines.dtypes) or not np.isfinite(lines).all(axis=None):
        return False
    start, end = lines["x_start"].to_numpy(), lines["x_end"].to_numpy()
    return start[0] >= 0 and end[-1] > 0 and (start <= end).all() and (end[:-1] <= start[1:]).all()
