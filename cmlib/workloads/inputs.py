"""Inputs that are generated once and kept, and folders that are there only while a program runs."""

import fcntl
import hashlib
import json
import tempfile
from contextlib import contextmanager
from pathlib import Path

from cmlib import places
from cmlib.archive import draft_of


def kept(name, make, **about):
    """Path of an input, which is generated if it isn't there.

    It is made beside its place and renamed when it is whole, so that one that was cut off is never used;
    whoever asks for one that is being made waits.

    Parameters
    ----------
    name : str
        Readable part of its name.
    make : callable
        ``make(path)`` writes the file or folder `path`, the same one whenever it is called.
    **about
        All that it follows from: sizes, seeds, the text of its generator. Anything else makes another input.

    Returns
    -------
    pathlib.Path
        Under `results/inputs`; not to be changed.
    """
    text = json.dumps(about, sort_keys=True, default=str)
    target = folder() / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"
    if target.exists():
        return target
    with open(target.with_name(f".{target.name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            with draft_of(target) as draft:
                make(draft)
    return target


@contextmanager
def scratch(name):
    """A folder for what a program writes, empty at first and removed at the end.

    Parameters
    ----------
    name : str

    Yields
    ------
    pathlib.Path
    """
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder(), ignore_cleanup_errors=True) as path:
        yield Path(path)


def folder():
    """Where inputs are; made if it isn't there."""
    path = places.results_dir() / "inputs"
    path.mkdir(parents=True, exist_ok=True)
    return path
