"""The raw recordings: what is there, and whether it is what was recorded."""

from pathlib import Path

from cmlib import perf, places
from cmlib.archive import ArchiveError, read_content
from cmlib.archive.runs import MOST_EVENTS, VALGRIND, content_suffix, read_run, source_of
from cmlib.simulate.series import read_series
from cmlib.store.urls import StoreError


def scan_recordings(recordings_dir=None):
    """Read the metadata of all recordings, as far as they are right.

    Parameters
    ----------
    recordings_dir : path, optional
        Holds a folder a program; `data/recordings` by default.

    Returns
    -------
    dict of pathlib.Path to dict or str
        By the metadata file: what is in it, sorted by program, set, pass and part; and, first, what is wrong with it.
    """
    folder = Path(recordings_dir or places.recordings_dir())
    scanned = {}
    for file in sorted(folder.glob("*/*.json")):
        try:
            scanned[file] = read_run(file)
        except ArchiveError as error:
            scanned[file] = str(error)
    return dict(sorted(scanned.items(), key=lambda item: _place(item[1])))


def find_recordings(recordings_dir=None):
    """Read the metadata of all recordings.

    Parameters
    ----------
    recordings_dir : path, optional
        Holds a folder a program; `data/recordings` by default.

    Returns
    -------
    dict of pathlib.Path to dict
        Metadata by its file, sorted by program, set, pass and part. A run
        exists if and only if its metadata does.

    Raises
    ------
    StoreError
        Naming the file, if one is not a run's metadata.
    """
    scanned = scan_recordings(recordings_dir)
    for problem in scanned.values():
        if isinstance(problem, str):
            raise StoreError(problem)
    return scanned


def read_counts(file, meta):
    """Read one recording.

    Parameters
    ----------
    file : pathlib.Path
        The metadata file; perf's or Callgrind's output lies beside it.
    meta : dict

    Returns
    -------
    counts, running : DataFrame
        As from :func:`cmlib.perf.series`, or :func:`cmlib.simulate.read_series`.

    Raises
    ------
    StoreError
        Naming the file, if the output is missing, is not what was recorded, or has no series in it.
    """
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
