"""Make temporary folders, and remove those that a killed process left behind.

:func:`scratch_folder` is a context manager that makes one; :func:`lasting_folder` makes one that is removed when
this process ends. They are made where ``tempfile`` makes folders (TMPDIR). The process that made a folder holds its
lock; a folder whose lock is free was left behind. Raises an OSError if none can be made.
"""

import contextlib
import fcntl
import functools
import os
import re
import secrets
import shutil
import tempfile
from pathlib import Path

_NAME = re.compile(r"cmlib-[0-9a-f]{8}")


@contextlib.contextmanager
def scratch_folder():
    """Make an empty folder (Path) for temporary files for a ``with`` block; remove it at the end."""
    parent = Path(tempfile.gettempdir())
    _remove_abandoned(parent)
    with contextlib.ExitStack() as stack:
        folder, descriptor = None, None
        while descriptor is None:
            folder = parent / f"cmlib-{secrets.token_hex(4)}"
            # Before there is one: Ctrl-C may come between the two.
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            folder.mkdir(0o700)
            descriptor = _lock(folder)
        stack.callback(os.close, descriptor)
        yield folder


@functools.cache
def lasting_folder():
    """Return an empty folder (Path) for temporary files of this process; it is removed when the process ends.

    Each call returns the same folder.
    """
    import atexit

    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(scratch_folder())


def _lock(folder, flags=0):
    """Lock a folder; return an open descriptor (int) that holds the lock.

    Returns None if the folder is gone, or another process has the lock. `flags` are added to those of flock.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | flags)
    except OSError:  # another has it, or the file system has no locks: then nobody removes what is left
        if flags:
            os.close(descriptor)
            return None
    if not folder.is_dir():
        os.close(descriptor)
        return None
    return descriptor


@functools.cache
def _remove_abandoned(parent):
    """Remove this user's scratch folders in the folder `parent` that nobody has locked; once a process."""
    left = []
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name) and entry.stat(follow_symlinks=False).st_uid == os.getuid():
                left.append(Path(entry.path))
    for folder in left:
        descriptor = _lock(folder, fcntl.LOCK_NB)
        if descriptor is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(descriptor)
