"""One run at a time in a folder of results: each removes what others left half done."""

import contextlib
import fcntl
import os
import platform
from datetime import UTC, datetime

from cmlib.report.errors import ResultsBusyError


@contextlib.contextmanager
def results_lock(folder):
    """Hold a profile's folder of results.

    The lock is the system's, and ends with the process that holds it, however that
    ends. Where the file system has no locks, nothing is held.

    Parameters
    ----------
    folder : pathlib.Path
        There, and writable.

    Raises
    ------
    ResultsBusyError
        If another process holds it, saying which and since when.
    """
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    try:
        _acquire(descriptor, folder)
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        _write(descriptor, f"process {os.getpid()} on {platform.node()}, since {now}")
        yield
        _write(descriptor, "")
    finally:
        os.close(descriptor)


def _acquire(descriptor, folder):
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 1000, 0).decode(errors="replace") or "a process that has just begun"
        raise ResultsBusyError(
            f"another `cmlib run` is writing to {folder}: {holder}. "
            "Wait until it has ended, or give this one another folder with -p results_folder=…"
        ) from None
    except OSError:
        pass


def _write(descriptor, text):
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, text.encode(), 0)
