"""The raw recordings: what is there, and whether it is what was recorded."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cmlib import places
from cmlib.io import perf
from cmlib.io.archive import ArchiveError, read_content, read_object
from cmlib.io.archive.runs import (
    MOST_EVENTS,
    VALGRIND,
    content_suffix,
    first_problem,
    read_run,
    source_of,
)
from cmlib.io.callgrind import read_series
from cmlib.io.samples.files import SampleError, read_lines
from cmlib.io.store.database import StoreError


def scan_recordings(recordings_dir=None):
    """Read the metadata of all recordings, as far as they are right."""
    folder = Path(recordings_dir or places.recordings_dir())
    scanned = {}
    for file in sorted(folder.glob("*/*.json")):
        try:
            scanned[file] = read_run(file)
        except ArchiveError as error:
            scanned[file] = str(error)
    return dict(sorted(scanned.items(), key=lambda item: _place(item[1])))


def find_recordings(recordings_dir=None):
    """Read the metadata of all recordings."""
    scanned = scan_recordings(recordings_dir)
    for problem in scanned.values():
        if isinstance(problem, str):
            raise StoreError(problem)
    return scanned


def read_counts(file, meta):
    """Read one recording."""
    suffix = content_suffix(meta)
    raw = file.with_suffix(suffix)
    try:
        text = read_content(file, meta["sha256"], suffix=suffix).decode(errors="replace")
        simulated = source_of(meta) == VALGRIND
        counts, running = read_series(text) if simulated else perf.read_run(text, meta)
    except ArchiveError as error:
        raise StoreError(str(error)) from error
    except ValueError as error:
        raise StoreError(f"{raw} can't be stored: {error}") from error
    if not 0 < counts.shape[1] <= MOST_EVENTS:
        raise StoreError(
            f"{raw} holds {counts.shape[1]} events; a run has 1 to {MOST_EVENTS}. Spread them over several runs."
        )
    return counts, running


def _place(meta):
    return (
        () if isinstance(meta, str) else tuple(meta[key] for key in ("program", "set", "pass", "part", "run"))
    )


MODE = "lines"

_NAME = re.compile(r"(.+-lines)-([0-9]+)")
_ALWAYS_COUNTED = ("instructions", "cycles")
_HOW = "Such files are written by `cmlib record NAME --samples --compress`; move anything else out of the samples."


def scan_lines(samples_dir=None, recordings_dir=None):
    """Read the metadata of all recordings of lines, as far as they are right."""
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
    """Read one recording's lines."""
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
    problem = first_problem(meta, "stored") or first_problem(meta, "lines")
    if problem:
        raise ArchiveError(f"{file} is not the metadata of lines: {problem}. {_HOW}")
    return meta


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


SERIES, LINES = "recordings", "samples"
_LINES_CONTENT = ".csv"


@dataclass(frozen=True)
class Source:
    """A recording.

    Attributes
    ----------
    kind : {SERIES, LINES}
    file : pathlib.Path
        Of its metadata.
    meta : dict or None
        Of the run; None if there is a problem.
    problem : str
        Why it can't be stored, as far as its metadata tell; empty if they are right.
    """

    kind: str
    file: Path
    meta: dict | None
    problem: str

    @property
    def name(self):
        """Such as ``recordings/gcc/ocoe-p0-00``."""
        return f"{self.kind}/{self.file.parent.name}/{self.file.stem}"

    def state(self):
        """Sizes and times of its files, by which one that was put right is noticed."""
        suffix = _LINES_CONTENT if self.kind == LINES else content_suffix(self.meta or {})
        return " ".join(map(_state, (self.file, self.file.with_suffix(suffix))))


def find_sources(recordings_dir=None, samples_dir=None):
    """Find all recordings."""
    scanned = {SERIES: scan_recordings(recordings_dir), LINES: scan_lines(samples_dir, recordings_dir)}
    return [
        Source(
            kind, file, found if isinstance(found, dict) else None, "" if isinstance(found, dict) else found
        )
        for kind, files in scanned.items()
        for file, found in files.items()
    ]


def recorded_programs():
    """Names of the programs of which anything is recorded, whether it can be stored or not."""
    recordings = places.recordings_dir()
    folders = (recordings, recordings.absolute().parent / "samples")
    return sorted({file.parent.name for folder in folders for file in folder.glob("*/*.json")})


def _state(file):
    try:
        about = file.stat()
    except OSError:
        return "-"
    return f"{about.st_size}:{about.st_mtime_ns}"
