"""Files that exist in full or not at all, and what is left of makers that were killed."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from glob import escape
from pathlib import Path

from cmlib.archive.errors import ArchiveError


@contextlib.contextmanager
def draft_of(target):
    """A place for a file or a folder that replaces `target` when the block ends well, and else leaves no trace.

    Parameters
    ----------
    target : path
        In a folder that is there. If it is a link, the link is replaced, and not what it points to.

    Yields
    ------
    pathlib.Path
        To be written; nothing is there yet.

    Raises
    ------
    OSError
        If nothing can be written there.
    """
    target = Path(target)
    with working_folder(target) as folder:
        yield folder / target.name
        settle(folder / target.name, target)


def write_whole(target, content):
    """Write all of a file, or none of it.

    Parameters
    ----------
    target : path
        As of :func:`draft_of`.
    content : bytes or str

    Raises
    ------
    OSError
        If it can't be written; what was there before is still there then.
    """
    content = content.encode() if isinstance(content, str) else content
    with draft_of(target) as draft:
        draft.write_bytes(content)


def make_folder(folder):
    """Make a folder for recordings, if it is not there.

    Parameters
    ----------
    folder : path

    Returns
    -------
    pathlib.Path

    Raises
    ------
    ArchiveError
        If it is a link, as it may be in a folder that was received: what it points to is not written to.
    OSError
        If it can't be made.
    """
    folder = Path(folder)
    if folder.is_symlink():
        raise ArchiveError(
            f"{folder} is a link to {os.readlink(folder)}, and recordings are not written through links: move that "
            "folder to its place, or set CMLIB_DATA to the folder that holds it all."
        )
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def working_folder(target):
    """A folder beside `target`, in which it is made; removed at the end.

    It is new and its name unknown beforehand, so nothing in it can be a link to somewhere else. It stays locked
    while its maker lives: what one that was killed has left can so be told from what others
    are making, and is removed.

    Parameters
    ----------
    target : path
        In a folder that is there.

    Yields
    ------
    pathlib.Path

    Raises
    ------
    OSError
        If nothing can be written there.
    """
    target = Path(target)
    with contextlib.ExitStack() as stack:
        with locked(target.parent):
            _remove_abandoned(target.parent.glob(f"{escape(target.name)}.*.partial"))
            folder = Path(tempfile.mkdtemp(".partial", f"{target.name}.", target.parent))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            stack.enter_context(locked(folder))
        yield folder


def remove_abandoned(folder):
    """Remove what killed makers have left in a folder, whatever they were making."""
    folder = Path(folder)
    with locked(folder):
        _remove_abandoned(folder.glob("*.partial"))


def settle(draft, target):
    """Give a file, or a folder of files, its name once its content is safely on the disk.

    Parameters
    ----------
    draft, target : path
        On one file system.
    """
    draft, target = Path(draft), Path(target)
    for part in [*draft.rglob("*"), draft]:
        _sync(part)
    os.replace(draft, target)
    _sync(target.parent)


@contextlib.contextmanager
def locked(folder, how=0):
    """Hold a folder's lock, among all that use this function.

    Parameters
    ----------
    folder : path
    how : int, optional
        ``fcntl.LOCK_NB`` not to wait.

    Yields
    ------
    bool
        Whether it could be had: not where another has it, nor on a file system without locks.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | how)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def _remove_abandoned(folders):
    for left in folders:
        if left.is_symlink():
            continue
        # What is no folder, or gone meanwhile, is not ours.
        with contextlib.suppress(OSError), locked(left, fcntl.LOCK_NB) as abandoned:
            if abandoned:
                shutil.rmtree(left, ignore_errors=True)


def _sync(path):
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
