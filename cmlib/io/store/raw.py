"""Find and read the recordings on disk that are stored in the database.

:func:`find_sources` lists the recordings. :func:`read_run` reads the counts of a run. :func:`read_table` reads a
recording of lines: piecewise-linear segments that replace samples, as `cmlib record --samples --compress` stores them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cmlib import places
from cmlib.errors import InputError
from cmlib.io.archive import read_content, read_object, reading_errors_as, runs
from cmlib.io.callgrind import read_series
from cmlib.io.meaning.stored import StoredRun, read_stored
from cmlib.io.samples.files import LINES as CONTENT_OF_LINES
from cmlib.io.samples.files import read_lines
from cmlib.io.store.errors import StoreError
from cmlib.spelling import PINNED

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_run"]

MODE = "lines"  # mode of recordings of lines in the store
# Kinds of recordings, named after their folders: counts per interval, and lines.
SERIES, LINES = "recordings", "samples"
# Name of a recording of lines: its set and its number.
_LINES_NAME = re.compile(r"(.+-lines)-([0-9]+)")
_ADVICE = "Such files are written by `cmlib record NAME --samples --compress`; move anything else out of the samples."


@dataclass(frozen=True)
class RawRecording:
    """A recording on disk.

    Attributes
    ----------
    kind : {"recordings", "samples"}
        ``recordings`` for counts per interval, ``samples`` for lines.
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

    def state(self) -> str:
        """Return the sizes and modification times of the files as text.

        A recording that could not be stored is read again if they change.
        """
        suffix = CONTENT_OF_LINES if self.kind == LINES else runs.content_suffix(self.meta)
        files = [file for file in (self.file, self.file.with_suffix(suffix)) if file.exists()]
        return " ".join(f"{file.stat().st_size}:{file.stat().st_mtime_ns}" for file in files)


def find_sources(
    recordings_dir: str | Path | None = None, samples_dir: str | Path | None = None
) -> list[RawRecording]:
    """Find all recordings on disk.

    Recordings of lines get a pass and a part. All recordings with the same events are one part, and each is a pass of
    it.

    Parameters
    ----------
    recordings_dir : path, optional
        Folder of the recordings with counts per interval. Default: `data/recordings`.
    samples_dir : path, optional
        Folder of the recordings of lines. Default: the folder ``samples`` next to the recordings.

    Returns
    -------
    list of RawRecording
        Recordings with counts per interval, then recordings of lines. They are sorted by program, set and number.
        Unreadable recordings are included, and have a `problem`.
    """
    folder = Path(recordings_dir or places.recordings_dir())
    series = [_read_source(SERIES, file, runs.read_run_metadata) for file in sorted(folder.glob("*/*.json"))]
    keys = ("program", "set", "pass", "part")
    # Sources without metadata come first.
    series.sort(key=lambda source: [source.meta.get(key) for key in keys if source.meta])
    return series + _find_lines(Path(samples_dir or folder.absolute().parent / "samples"))


def _find_lines(folder: Path) -> list[RawRecording]:
    """Find the recordings of lines, and number their parts and passes."""
    files = []
    for file in folder.glob("*/*-lines-*.json"):
        match = _LINES_NAME.fullmatch(file.stem)
        if match:
            files.append((file.parent.name, match[1], int(match[2]), file))
    lines = []
    # The number of passes of each list of events, keyed by program and set.
    n_passes_by_set: dict[tuple[str, str], dict[tuple[str, ...], int]] = {}
    for program, set_name, _, file in sorted(files):
        source = _read_source(LINES, file, _read_lines_metadata)
        if not source.problem:
            n_passes = n_passes_by_set.setdefault((program, set_name), {})
            events = tuple(source.meta["events"])
            pass_number = n_passes.get(events, 0)
            n_passes[events] = pass_number + 1
            part = list(n_passes).index(events)
            source.meta.update(
                {"pass": pass_number, "part": part}, program=program, set=set_name, run=file.stem
            )
        lines.append(source)
    return lines


def recorded_programs() -> list[str]:
    """Return the names of all programs with a recording on disk."""
    recordings = places.recordings_dir()
    folders = (recordings, recordings.absolute().parent / "samples")
    return sorted({file.parent.name for folder in folders for file in folder.glob("*/*.json")})


def as_utf8(text: object) -> str:
    r"""Convert an object to text that databases can store.

    Databases store only valid UTF-8. Other bytes, which the name of a file can contain, become ``\xNN``.

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
    raw = file.with_suffix(suffix)
    with reading_errors_as(StoreError, f"{raw} can't be stored"):
        content = read_content(file, meta["sha256"], suffix=suffix)
        if runs.source_of(meta) == runs.VALGRIND:
            run = StoredRun(*read_series(content.decode(errors="replace")), None)
        else:
            run = read_stored(content, meta)
    values = run.counts.to_numpy(float)
    if (values < 0).any() or np.isinf(values).any():
        raise StoreError(f"{raw} can't be stored: it has negative or infinite counts.")
    n_events = values.shape[1]
    if not 0 < n_events <= runs.MOST_EVENTS:
        raise StoreError(
            f"{raw} holds {n_events} events; a run has 1 to {runs.MOST_EVENTS}. Spread them over runs."
        )
    return run


def read_table(file: Path, meta: Mapping) -> pd.DataFrame:
    """Read the lines (piecewise-linear segments) of a recording.

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
        If the file cannot be read or was changed.
    """
    fitted = [
        f"{parameter}:{event}" for event in list(meta["events"])[1:] for parameter in ("slope", "intercept")
    ]
    table = file.with_suffix(CONTENT_OF_LINES)
    hint = f"Put the original back, or move it and {file.name} away."
    with reading_errors_as(StoreError, f"{table} can't be stored", hint=hint):
        lines = read_lines(file.with_suffix(""))[0][["x_start", "x_end", *fitted]].astype(float)
        if len(lines) != meta["n_lines"] or not np.isfinite(lines).all(axis=None):
            raise InputError(f"it has not {meta['n_lines']} lines of numbers")
    return lines


def _read_source(kind: str, file: Path, read: Callable[[Path], dict]) -> RawRecording:
    """Read a metadata file.

    If it cannot be read, the RawRecording has a problem.
    """
    try:
        with reading_errors_as(
            StoreError, f"{file} is not a valid metadata file", hint=f"Move it out of the {kind}."
        ):
            return RawRecording(kind, file, read(file))
    except StoreError as error:
        return RawRecording(kind, file, {}, as_utf8(error))


def _read_lines_metadata(file: Path) -> dict:
    """Read the metadata of a recording of lines.

    The entries that only runs have are added.
    """
    meta = read_object(file, "the metadata of lines", _ADVICE, "stored", "lines")
    events = list(meta["events"])
    pinned = [event for event in PINNED if event in events]
    group = [event for event in events if event not in pinned]
    interval_ms = 1000 * meta["duration_s"] / meta["n_lines"]
    return meta | {"mode": MODE, "pinned": pinned, "groups": [group], "interval_ms": interval_ms}
