"""Results of long computations, kept in a file each, for the other notebooks that ask for the same."""

import contextlib
import fcntl
import functools
import hashlib
import importlib.metadata
import os
import shutil
from pathlib import Path

import pandas as pd

from cmlib import places
from cmlib.io.archive import atomic_output

FOLDER = "cache"  # among the results
_LIBRARIES = ("numpy", "pandas", "scipy", "scikit-learn", "lightgbm", "numba")


def cached(inputs, compute):
    """What `compute` gives for these inputs: read, if it was kept, else computed and kept."""
    try:
        folder = _folder()
    except OSError:
        return compute()
    place = folder / _digest(inputs)
    with _locked(folder, place.name):
        # Not there, or cut short by a power failure: then it is made anew.
        with contextlib.suppress(OSError, ValueError):
            return {file.stem: pd.read_parquet(file) for file in sorted(place.iterdir())}
        frames = compute()
        # A full disk costs the next notebook its time, and this one nothing.
        with contextlib.suppress(OSError), atomic_output(place) as draft:
            draft.mkdir()
            for name, frame in frames.items():
                frame.to_parquet(draft / f"{name}.parquet")
            shutil.rmtree(place, ignore_errors=True)
        return frames


def _folder():
    parent = places.results_dir() / FOLDER
    folder = parent / _source()
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        for other in parent.iterdir():
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)
    return folder


@functools.cache
def _source():
    digest = hashlib.sha256()
    for file in sorted(Path(places.__file__).parent.rglob("*.py")):
        digest.update(file.read_bytes())
    for name in _LIBRARIES:
        digest.update(importlib.metadata.version(name).encode())
    return digest.hexdigest()[:16]


def _digest(inputs):
    digest = hashlib.sha256()
    for item in inputs:
        if isinstance(item, pd.DataFrame | pd.Series):
            described = type(item).__name__, item.shape, list(getattr(item, "columns", ()))
            digest.update(repr(described).encode())
            digest.update(pd.util.hash_pandas_object(item).to_numpy().tobytes())
        else:
            digest.update(repr(item).encode())
        digest.update(b"\0")
    return digest.hexdigest()[:32]


@contextlib.contextmanager
def _locked(folder, name):
    """Hold one result: a byte of one file a result, so that no file a result is left behind."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
            held.callback(os.close, descriptor)
            fcntl.lockf(descriptor, fcntl.LOCK_EX, 1, int(name[:12], 16))
        yield
