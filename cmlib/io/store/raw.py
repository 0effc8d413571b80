"""Find the recordings on disk that the store is made of, runs by interval and lines, and read and check each.

"Lines" are the piecewise-linear segments that `cmlib record --samples --compress` stores in place of samples.
:func:`find_sources` gives a list of :class:`RawRecording`; :func:`read_run` and :func:`read_table` read one.
StoreError, when one is read, for content that was changed or is no run's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
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

MODE = "lines"  # of such runs in the store
SERIES, LINES = "recordings", "samples"  # kinds of recording, by the folders that hold them
_NAME = re.compile(r"(.+-lines)-([0-9]+)")  # of a recording of lines: its set, and its number
_HOW = "Such files are written by `cmlib record NAME --samples --compress`; move anything else out of the samples."


@dataclass(frozen=True)
class RawRecording:
    """A recording on disk.

    Attributes
    ----------
    kind : str
        SERIES (counts by interval) or LINES.
    file : Path
        Its metadata file.
    meta : dict
        The metadata in it; {} if they can't be read.
    problem : str
        Why they can't be read; "" if they can.
    """

    kind: str
    file: Path
    meta: dict
    problem: str = ""

    @property
    def name(self) -> str:
        """Its folder and name, such as ``recordings/gcc/ocoe-p0-00``."""
        return as_utf8(f"{self.kind}/{self.file.parent.name}/{self.file.stem}")

    def state(self) -> str:
        """Describe the sizes and times of its files; a recording that was refused is tried again when this changes."""
        suffix = CONTENT_OF_LINES if self.kind == LINES else runs.content_suffix(self.meta)
        files = [file for file in (self.file, self.file.with_suffix(suffix)) if file.exists()]
        return " ".join(f"{file.stat().st_size}:{file.stat().st_mtime_ns}" for file in files)


def find_sources(
    recordings_dir: str | Path | None = None, samples_dir: str | Path | None = None
) -> list[RawRecording]:
    """Find the recordings on disk: runs by interval first (those that can't be read before the others), then lines.

    Recordings of lines get a place in their set, as runs have: `part` is the number of their list of events, `pass`
    counts those with the same events.

    Parameters
    ----------
    recordings_dir : path, optional
        Default: `data/recordings`.
    samples_dir : path, optional
        Default: ``samples`` beside it.

    Returns
    -------
    list of RawRecording
        Sorted by program, set and number. A recording that can't be read has a `problem`; nothing is raised.
    """
    folder = Path(recordings_dir or places.recordings_dir())
    series = [_source(SERIES, file, runs.read_run_metadata) for file in sorted(folder.glob("*/*.json"))]
    keys = ("program", "set", "pass", "part")
    series.sort(key=lambda source: [source.meta.get(key) for key in keys if source.meta])
    samples = Path(samples_dir or folder.absolute().parent / "samples")
    named = {file: _NAME.fullmatch(file.stem) for file in samples.glob("*/*-lines-*.json")}
    order = sorted((file.parent.name, name[1], int(name[2]), file) for file, name in named.items() if name)
    lines, earlier = [], {}
    for program, set_name, _, file in order:
        source = _source(LINES, file, _read_lines)
        if not source.problem:
            events = tuple(source.meta["events"])
            passes = earlier.setdefault((program, set_name), {})
            passes[events] = passes.get(events, -1) + 1
            place = {"pass": passes[events], "part": list(passes).index(events)}
            source.meta.update(place, program=program, set=set_name, run=file.stem)
        lines.append(source)
    return series + lines


def recorded_programs() -> list[str]:
    """List the programs with a recording on disk, whether it can be stored or not."""
    recordings = places.recordings_dir()
    folders = (recordings, recordings.absolute().parent / "samples")
    return sorted({file.parent.name for folder in folders for file in folder.glob("*/*.json")})


def as_utf8(text: object) -> str:
    r"""Write bytes of a file's name that are not UTF-8 as ``\xNN``, so that a table can hold the name."""
    return str(text).encode(errors="backslashreplace").decode()


def read_run(file: Path, meta: Mapping) -> StoredRun:
    """Read one raw recording.

    Parameters
    ----------
    file : pathlib.Path
        Its metadata file.
    meta : mapping
        The metadata in it.

    Returns
    -------
    StoredRun
        ``counts`` per interval, NaN where not counted: a DataFrame, shape (n_intervals, n_events); the index
        ``time_s`` is the interval's end [s], or, of a simulated run, the instructions executed until then [10⁹].
        ``running``: shares of the time that each event was counted (0 to 1), NaN where they are not known. ``cpus``:
        number of CPUs used on average, None if it is not known.

    Raises
    ------
    StoreError
        If the file is not what was recorded, or can't be read; if a count is below zero or infinite, or there are
        more than 480 events.
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
    """Read the lines (piecewise-linear segments) of one recording.

    Parameters
    ----------
    file : Path
        Its metadata file.
    meta : mapping
        The metadata in it.

    Returns
    -------
    DataFrame of float
        One row per line. Columns: x_start and x_end [counts of the first event], and slope:EVENT and intercept:EVENT of
        each other event.

    Raises
    ------
    StoreError
        If the file was changed or can't be read.
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


def _source(kind, file, read):
    """Read a metadata file by `read`; a RawRecording has a problem if that raises."""
    try:
        with reading_errors_as(StoreError, f"{file} is no metadata", hint=f"Move it out of the {kind}."):
            return RawRecording(kind, file, read(file))
    except StoreError as error:
        return RawRecording(kind, file, {}, as_utf8(error))


def _read_lines(file):
    """Read the metadata of a recording of lines, and complete them to those of runs.

    ArchiveError if they can't be read, or are of something else.
    """
    meta = read_object(file, "the metadata of lines", _HOW, "stored", "lines")
    events = list(meta["events"])
    pinned = [event for event in PINNED if event in events]
    groups = [[event for event in events if event not in pinned]]
    interval_ms = 1000 * meta["duration_s"] / meta["n_lines"]
    return meta | {"mode": MODE, "pinned": pinned, "groups": groups, "interval_ms": interval_ms}
