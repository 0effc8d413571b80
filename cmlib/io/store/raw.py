"""Find and read the recordings on disk, which are the input of the database.

There are two kinds of recordings. A run has counts per interval. A recording of lines has piecewise-linear segments
that replace samples, from ``cmlib record --samples --compress``. :func:`find_recordings` lists both kinds,
:func:`read_run` reads a run, and :func:`read_line_table` reads a recording of lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cmlib import places
from cmlib.errors import InputError
from cmlib.io.archive import read_content, read_object, reading_errors_as, runs
from cmlib.io.callgrind import read_series
from cmlib.io.meaning.stored import StoredRun, read_stored
from cmlib.io.samples.files import LINES as LINES_SUFFIX
from cmlib.io.samples.files import read_lines
from cmlib.io.store.errors import StoreError
from cmlib.spelling import PINNED

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_run"]

MODE = "lines"  # mode of recordings of lines in the store
# Kinds of recordings: runs and lines. The value is the name of the folder that contains them.
RUN, LINES = "recordings", "samples"
# Name of a recording of lines. Groups: set and number. For example, `hardware-lines` and `00`.
_LINES_NAME = re.compile(r"(.+-lines)-([0-9]+)")
_ADVICE = (
    "Such files are written by `cmlib record NAME --samples --compress`. Move other files to another folder."
)


@dataclass(frozen=True)
class RawRecording:
    """A recording on disk.

    Attributes
    ----------
    kind : {"recordings", "samples"}
        ``recordings`` for a run (counts per interval), ``samples`` for lines.
    file : Path
        Metadata file.
    meta : dict
        Metadata. Empty if the file cannot be read.
    problem : str
        Reason if the file cannot be read. Otherwise empty.
    """

    kind: str
    file: Path
    meta: dict
    problem: str = ""

    @property
    def name(self) -> str:
        """Folder and name. For example, ``recordings/gcc/ocoe-p0-00``."""
        return as_utf8(f"{self.kind}/{self.file.parent.name}/{self.file.stem}")

    def sizes_and_times(self) -> str:
        """Return the sizes and modification times of the files as text.

        The store keeps this text for each recording that could not be stored. If the text changes, the recording is
        read again, because the user may have repaired it.
        """
        suffix = LINES_SUFFIX if self.kind == LINES else runs.content_suffix(self.meta)
        files = [file for file in (self.file, self.file.with_suffix(suffix)) if file.exists()]
        return " ".join(f"{file.stat().st_size}:{file.stat().st_mtime_ns}" for file in files)


def find_recordings(
    recordings_dir: str | Path | None = None, samples_dir: str | Path | None = None
) -> list[RawRecording]:
    """Find all recordings on disk.

    The files of lines contain no pass and no part, so both are numbered from 0. Recordings of lines with the same
    program, set and events get the same part and increasing passes.

    Parameters
    ----------
    recordings_dir : path, optional
        Folder of the runs. Default: `data/recordings`.
    samples_dir : path, optional
        Folder of the recordings of lines. Default: the folder ``samples`` next to the folder of the runs.

    Returns
    -------
    list of RawRecording
        Unreadable runs, runs sorted by program, set, pass and part, and recordings of lines sorted by program, set and
        number. Unreadable recordings have a `problem`.
    """
    folder = Path(recordings_dir or places.recordings_dir())
    all_runs = [
        _read_recording(RUN, file, runs.read_run_metadata) for file in sorted(folder.glob("*/*.json"))
    ]
    unreadable_runs = [run for run in all_runs if run.problem]
    readable_runs = [run for run in all_runs if not run.problem]
    readable_runs.sort(key=lambda run: [run.meta[key] for key in ("program", "set", "pass", "part")])
    lines = _find_lines(Path(samples_dir or folder.absolute().parent / "samples"))
    return [*unreadable_runs, *readable_runs, *lines]


def _find_lines(folder: Path) -> list[RawRecording]:
    """Find the recordings of lines, and number the parts and passes of each program and set."""
    files = []
    for file in folder.glob("*/*-lines-*.json"):
        match = _LINES_NAME.fullmatch(file.stem)
        if match:
            # The number is compared as an integer, because 100 as text would come before 99.
            files.append((file.parent.name, match[1], int(match[2]), file))
    recordings = []
    # How many recordings with the same events were found so far. Keys: program and set, then list of events.
    n_passes_by_set: dict[tuple[str, str], dict[tuple[str, ...], int]] = {}
    for program, set_name, _, file in sorted(files):
        recording = _read_recording(LINES, file, _read_lines_metadata)
        if not recording.problem:
            n_passes = n_passes_by_set.setdefault((program, set_name), {})
            events = tuple(recording.meta["events"])
            pass_number = n_passes.get(events, 0)
            n_passes[events] = pass_number + 1
            part = list(n_passes).index(events)  # parts are numbered in the order in which they were found
            added = {"pass": pass_number, "part": part, "program": program, "set": set_name, "run": file.stem}
            recording = replace(recording, meta=recording.meta | added)
        recordings.append(recording)
    return recordings


def recorded_programs() -> list[str]:
    """Return the names of all programs with a recording on disk."""
    recordings = places.recordings_dir()
    folders = (recordings, recordings.absolute().parent / "samples")
    return sorted({file.parent.name for folder in folders for file in folder.glob("*/*.json")})


def as_utf8(text: object) -> str:
    r"""Convert an object to text that databases can store.

    Databases store only valid UTF-8, but the name of a file can contain other bytes. Python represents such a byte by a
    surrogate. It becomes text: the byte 0xff becomes ``\udcff``.

    Parameters
    ----------
    text : object

    Returns
    -------
    str
    """
    return str(text).encode(errors="backslashreplace").decode()


def read_run(file: Path, meta: Mapping) -> StoredRun:
    """Read the counts of a run.

    Parameters
    ----------
    file : pathlib.Path
        Metadata file.
    meta : mapping
        Metadata in this file.

    Returns
    -------
    StoredRun
        Named tuple with the fields:

        - ``counts`` : DataFrame with one row per interval and one column per event. NaN if not counted. The index
          ``time_s`` is the end of the interval [s]. For simulated runs, it is the number of executed instructions
          [billion].
        - ``running`` : DataFrame with the running share of each event: the fraction of the interval in which the event
          was counted. NaN if unknown.
        - ``cpus`` : average number of CPUs used. None if unknown.

    Raises
    ------
    StoreError
        If the file cannot be read or was changed. Also if a count is negative or infinite, or the run has no events or
        more than 480.
    """
    suffix = runs.content_suffix(meta)
    content_file = file.with_suffix(suffix)
    with reading_errors_as(StoreError, f"{content_file} cannot be stored"):
        content = read_content(file, meta["sha256"], suffix=suffix)
        if runs.source_of(meta) == runs.VALGRIND:
            run = StoredRun(*read_series(content.decode(errors="replace")), None)
        else:
            run = read_stored(content, meta)
    values = run.counts.to_numpy(float)
    if (values < 0).any() or np.isinf(values).any():
        raise StoreError(f"{content_file} cannot be stored: it has negative or infinite counts.")
    n_events = values.shape[1]
    if not 0 < n_events <= runs.MOST_EVENTS:
        raise StoreError(
            f"{content_file} contains {n_events} events. A run has 1 to {runs.MOST_EVENTS} events. Count the events in "
            "several runs."
        )
    return run


def read_line_table(file: Path, meta: Mapping) -> pd.DataFrame:
    """Read a recording of lines (piecewise-linear segments).

    A line gives the cumulative count of an event as a linear function of the cumulative count of the first event.

    Parameters
    ----------
    file : Path
        Metadata file.
    meta : mapping
        Metadata in this file.

    Returns
    -------
    DataFrame of float
        One row per line. Columns:

        - ``x_start``, ``x_end`` : range of the cumulative count of the first event.
        - ``slope:EVENT``, ``intercept:EVENT`` : coefficients for each other event.

    Raises
    ------
    StoreError
        If the file cannot be read or was changed. Also if it has another number of lines than its metadata say, or a
        value that is not a finite number.
    """
    coefficients = [
        f"{coefficient}:{event}"
        for event in list(meta["events"])[1:]
        for coefficient in ("slope", "intercept")
    ]
    content_file = file.with_suffix(LINES_SUFFIX)
    hint = f"Restore the original {content_file.name}, or move {content_file.name} and {file.name} to another folder."
    with reading_errors_as(StoreError, f"{content_file} cannot be stored", hint=hint):
        lines = read_lines(file.with_suffix(""))[0][["x_start", "x_end", *coefficients]].astype(float)
        if len(lines) != meta["n_lines"]:
            raise InputError(f"the number of lines is {len(lines)} instead of {meta['n_lines']}")
        if not np.isfinite(lines).all(axis=None):
            raise InputError("a value is missing or not a finite number")
    return lines


def _read_recording(kind: str, file: Path, read: Callable[[Path], dict]) -> RawRecording:
    """Read the metadata file of a recording.

    If the file cannot be read, the result has a `problem`.
    """
    try:
        with reading_errors_as(
            StoreError, f"{file} is not a valid metadata file", hint=f"Move it out of the folder {kind}."
        ):
            return RawRecording(kind, file, read(file))
    except StoreError as error:
        return RawRecording(kind, file, {}, as_utf8(error))


def _read_lines_metadata(file: Path) -> dict:
    """Read the metadata of a recording of lines.

    Entries that the metadata of runs contain are added: mode, pinned, groups and interval_ms.
    """
    meta = read_object(file, "the metadata of lines", _ADVICE, "stored", "lines")
    events = list(meta["events"])
    pinned = [event for event in PINNED if event in events]
    # All events of a sample are read at the same time, so they are one group.
    group = [event for event in events if event not in pinned]
    # No times are stored for lines. The store makes one interval per line, and all intervals have the same length.
    interval_ms = 1000 * meta["duration_s"] / meta["n_lines"]
    return meta | {"mode": MODE, "pinned": pinned, "groups": [group], "interval_ms": interval_ms}
