"""What there is to be stored: recordings whose metadata are right, and what is wrong with the others."""

from dataclasses import dataclass
from pathlib import Path

from cmlib.archive.runs import content_suffix
from cmlib.store.lines import scan_lines
from cmlib.store.raw import scan_recordings

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
    """Find all recordings.

    Parameters
    ----------
    recordings_dir : path, optional
        `data/recordings` by default.
    samples_dir : path, optional
        Where recordings of lines are; by default `samples` beside the recordings.

    Returns
    -------
    list of Source
        In the order in which they are stored.
    """
    scanned = {SERIES: scan_recordings(recordings_dir), LINES: scan_lines(samples_dir, recordings_dir)}
    return [
        Source(
            kind, file, found if isinstance(found, dict) else None, "" if isinstance(found, dict) else found
        )
        for kind, files in scanned.items()
        for file, found in files.items()
    ]


def _state(file):
    try:
        about = file.stat()
    except OSError:
        return "-"
    return f"{about.st_size}:{about.st_mtime_ns}"
