"""Lock this host's counters, because two recordings at the same time would spoil each other's counts.

:func:`counters_lock` is a context manager for everything that counts hardware events. The lock is on a file that
all users share; its descriptor is yielded. Raises CountersBusy if another process holds the lock, unless the caller
waits for it, and another CmlibError if the file can't be opened.
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

_SHARED = "/run/lock", "/dev/shm", "/tmp"  # the first that all users may write to
_NAME = "cmlib-counters"


class CountersBusy(CmlibError):
    """Raised when another process holds the lock on the counters."""


@contextlib.contextmanager
def counters_lock(purpose, *, wait=False, held=None):
    """Hold the host's lock on the counters during a ``with`` block, among all users and folders of recordings.

    Yields the lock's file descriptor (int), which a child may inherit to keep the lock. Other processes show `purpose`
    (str) when they are refused. If another process holds the lock, this one waits with `wait`, or else raises
    CountersBusy. A caller that holds the lock passes its descriptor as `held`, which is yielded and not closed. Raises
    a CmlibError if the lock's file can't be opened.
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
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # whoever was just started and still has the descriptor, too
    finally:
        os.close(descriptor)


def lock_file():
    """Return the lock's file: in the folder CMLIB_LOCKS (environment), or in the first that all users may write to."""
    chosen = os.environ.get("CMLIB_LOCKS")
    folders = filter(os.path.isdir, _SHARED)
    shared = (folder for folder in folders if os.stat(folder).st_mode & stat.S_IWOTH)
    return Path(chosen or next(shared, tempfile.gettempdir()), _NAME)


def _open(file):
    """Open the lock's file, and make it if it is missing; return its descriptor.

    Raises a CmlibError if it is a link or not a regular file.
    """
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with contextlib.suppress(FileExistsError):
            made = os.open(file, flags | os.O_CREAT | os.O_EXCL, 0o666)
            os.fchmod(made, 0o666)  # for all users, whatever this one's mask
            os.close(made)
        # Opened without O_CREAT, with which Linux refuses another user's file in a folder that all may write to.
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
    """Replace the file's content by text."""
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, text.encode(errors="replace"), 0)
