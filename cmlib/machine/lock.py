"""One at a time: the counters of a host are shared, and a second user spoils what the first one counts."""

import contextlib
import fcntl
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from cmlib.errors import CmlibError


class CountersBusy(CmlibError):
    """Somebody else is counting."""


@contextlib.contextmanager
def counters_lock(folder, purpose, *, wait=False):
    """Hold the counters of this host.

    Parameters
    ----------
    folder : path
        Folder of the recordings; made if it is not there.
    purpose : str
        What is done with the counters, shown to whoever else wants them.
    wait : bool, default False
        Wait until they are free, instead of failing.

    Yields
    ------
    int
        File descriptor of the lock. Whoever inherits it keeps the lock until
        it ends, even if this process is killed.

    Raises
    ------
    CountersBusy
        If somebody else holds them; says who, for what and since when.
    CmlibError
        If `folder` can't be written to.
    """
    folder = Path(folder)
    descriptor = _open(folder)
    try:
        _acquire(descriptor, folder, wait)
        since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        _write(descriptor, f"{purpose}, process {os.getpid()}, since {since}")
        yield descriptor
        _write(descriptor, "")
    finally:
        os.close(descriptor)


def _open(folder):
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise CmlibError(f"could not write to {error.filename}: {error.strerror}.") from error


def _acquire(descriptor, folder, wait):
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 1000, 0).decode() or "another process"
        if not wait:
            raise CountersBusy(
                f"the counters are in use: {holder} ({folder / '.lock'}). Two at a time spoil each other's counts: "
                "wait until it has ended, or let this one wait with --wait."
            ) from None
        print(f"waiting for {holder}", file=sys.stderr)
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _write(descriptor, text):
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, text.encode(), 0)
