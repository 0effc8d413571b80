"""Lock the counters of this host, as a second recording spoils what the first one counts."""

import contextlib
import fcntl
import os
import stat
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from cmlib.errors import CmlibError
from cmlib.terminal import say

_SHARED = "/run/lock", "/dev/shm", "/tmp"
_NAME = "cmlib-counters"


class CountersBusy(CmlibError):
    """Somebody else is counting."""


@contextlib.contextmanager
def counters_lock(purpose, *, wait=False):
    """Hold the counters of this host, whoever else wants them, wherever the recordings go."""
    file = lock_file()
    descriptor = _open(file)
    try:
        _acquire(descriptor, file, wait)
        since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        _write(descriptor, f"{purpose}, process {os.getpid()}, since {since}")
        yield descriptor
        _write(descriptor, "")
    finally:
        os.close(descriptor)


def lock_file():
    """Where the lock is: in a folder that all users share."""
    chosen = os.environ.get("CMLIB_LOCKS")
    there = filter(os.path.isdir, _SHARED)
    shared = (folder for folder in there if os.stat(folder).st_mode & stat.S_IWOTH)
    return Path(chosen or next(shared, tempfile.gettempdir()), _NAME)


def _open(file):
    """The lock's file, made if it is not there: never through a link, nor anything but a file."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with contextlib.suppress(FileExistsError):
            made = os.open(file, flags | os.O_CREAT | os.O_EXCL, 0o666)
            os.fchmod(made, 0o666)  # for all users, whatever this one's mask
            os.close(made)
        # Without O_CREAT, which Linux refuses for another user's file in a folder that all share.
        descriptor = os.open(file, flags)
    except OSError as error:
        raise CmlibError(
            f"{file}, the lock of this host's counters, can't be opened: {error.strerror}. Remove it if it is not a "
            "plain file, or name another folder in the environment variable CMLIB_LOCKS."
        ) from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(descriptor)
        raise CmlibError(f"{file} is not the lock of this host's counters, but something else: remove it.")
    return descriptor


def _acquire(descriptor, file, wait):
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 1000, 0).decode(errors="replace") or "another process"
        if not wait:
            raise CountersBusy(
                f"the counters are in use: {holder} ({file}). Two at a time spoil each other's counts: "
                "wait until it has ended, or let this one wait with --wait."
            ) from None
        say(f"waiting for {holder}", err=True)
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _write(descriptor, text):
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, text.encode(errors="replace"), 0)
