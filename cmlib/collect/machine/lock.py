"""Lock the counters of this machine.

Two recordings at the same time would distort each other's counts. :func:`counters_lock` is a context manager for all
code that counts hardware events. The lock is on a file that all users share.
"""

import contextlib
import fcntl
import os
import stat
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from cmlib.errors import CmlibError
from cmlib.terminal import say

_SHARED = "/run/lock", "/dev/shm", "/tmp"  # the first folder that all users may write to is used
_NAME = "cmlib-counters"


class CountersBusy(CmlibError):
    """Raised when another process holds the lock on the counters."""


@contextlib.contextmanager
def counters_lock(purpose, *, wait=False, held=None):
    """Hold the lock on the counters during a ``with`` block.

    Parameters
    ----------
    purpose : str
        Description of this process, which other processes show in their error message.
    wait : bool, default False
        Whether to wait while another process holds the lock.
    held : int, optional
        File descriptor of the lock, if the caller holds it. It is yielded and not closed.

    Yields
    ------
    int
        File descriptor of the lock. A child that inherits it keeps the lock.

    Raises
    ------
    CountersBusy
        If another process holds the lock and `wait` is False.
    CmlibError
        If the lock file cannot be opened.
    """
    if held is not None:
        yield held
        return
    file = lock_file()
    descriptor = _open(file)
    try:
        _acquire(descriptor, file, wait)
        since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        _write(descriptor, f"{purpose}, process {os.getpid()}, since {since}")
        yield descriptor
        _write(descriptor, "")
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # also for a child that still has the descriptor
    finally:
        os.close(descriptor)


def lock_file():
    """Return the path of the lock file.

    It is in the folder that the environment variable CMLIB_LOCKS names, or in a folder that all users may write to.
    """
    chosen = os.environ.get("CMLIB_LOCKS")
    folders = filter(os.path.isdir, _SHARED)
    shared = (folder for folder in folders if os.stat(folder).st_mode & stat.S_IWOTH)
    return Path(chosen or next(shared, tempfile.gettempdir()), _NAME)


def _open(file):
    """Open the lock file, and create it if it is missing; return its descriptor.

    Raises a CmlibError if it is a link or not a regular file.
    """
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with contextlib.suppress(FileExistsError):
            made = os.open(file, flags | os.O_CREAT | os.O_EXCL, 0o666)
            os.fchmod(made, 0o666)  # for all users, regardless of the umask
            os.close(made)
        # With O_CREAT, Linux would refuse another user's file in a folder that all users may write to.
        descriptor = os.open(file, flags)
    except OSError as error:
        raise CmlibError(
            f"{file}, the lock of this host's counters, can't be opened: {error.strerror}. Remove it if it "
            "is not a plain file, or name another folder in the environment variable CMLIB_LOCKS."
        ) from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(descriptor)
        raise CmlibError(f"{file} is not the lock of this host's counters, but something else: remove it.")
    return descriptor


def _acquire(descriptor, file, wait):
    """Lock the descriptor; if it is locked, wait or raise CountersBusy."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 1000, 0).decode(errors="replace") or "another process"
        if not wait:
            raise CountersBusy(
                f"the counters are in use: {holder} ({file}). Two recordings at a time distort "
                "each other's counts: wait until it has ended, or let this one wait with --wait."
            ) from None
        say(f"waiting for {holder}", err=True)
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _write(descriptor, text):
    """Replace the content of the file."""
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, text.encode(errors="replace"), 0)
