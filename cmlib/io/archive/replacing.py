"""Write files and folders so that they are either complete or unchanged.

:func:`write_whole` writes a file. :func:`atomic_output` does the same for content that is written in several steps,
and for folders. Content is first written to a temporary folder next to the target, and then renamed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from glob import escape
from pathlib import Path

from cmlib.io.archive.errors import ArchiveError


def write_whole(target: str | Path, content: str | bytes) -> None:
    """Write a file.

    After an error, the previous content is unchanged.

    Parameters
    ----------
    target : path
    content : str or bytes

    Raises
    ------
    OSError
        If the file cannot be written.
    ArchiveError
        If `target` is a device, a FIFO or a socket.
    """
    content = content.encode() if isinstance(content, str) else content
    with atomic_output(target) as draft:
        draft.write_bytes(content)


@contextlib.contextmanager
def atomic_output(target: str | Path) -> Iterator[Path]:
    """Provide a temporary path for the new content of a file or folder.

    After an error in the block, the target is unchanged.

    Parameters
    ----------
    target : path
        File or folder to replace. It need not exist.

    Yields
    ------
    Path
        Path to write to.

    Raises
    ------
    OSError
        If the target cannot be written.
    """
    target = Path(target)
    with working_folder(target) as folder:
        yield folder / target.name
        atomic_replace(folder / target.name, target)


@contextlib.contextmanager
def working_folder(target: str | Path) -> Iterator[Path]:
    """Create a temporary folder next to a file or folder for a ``with`` block.

    The folder is removed after the block. Temporary folders of killed processes for the same target are removed too.

    Parameters
    ----------
    target : path
        File or folder that will be written.

    Yields
    ------
    Path
        The temporary folder.
    """
    target = Path(target)
    with contextlib.ExitStack() as stack:
        with locked(target.parent):
            _remove_abandoned(target.parent.glob(f"{escape(target.name)}.*.partial"))
            folder = target.parent / f"{target.name}.{secrets.token_hex(4)}.partial"
            # Registered before the folder exists, because Ctrl-C could come between the two lines.
            stack.callback(_remove, folder)
            folder.mkdir(0o700)
            stack.enter_context(locked(folder))
        yield folder


@contextlib.contextmanager
def program_folder(folder: str | Path) -> Iterator[Path]:
    """Create the folder for the recordings of a program, and keep it unless it stays empty.

    At the beginning of the ``with`` block, temporary folders that killed processes left in the folder are removed.
    After an error in the block, the folder is removed if it is empty.

    Parameters
    ----------
    folder : path

    Yields
    ------
    Path
        The folder.

    Raises
    ------
    ArchiveError
        If `folder` is a symbolic link.
    """
    folder = Path(folder)
    if folder.is_symlink():
        raise ArchiveError(
            f"{folder} is a link to {os.readlink(folder)}. Recordings are not written through links. Move the linked "
            "folder here, or set CMLIB_DATA to the folder that contains all data."
        )
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with locked(folder):
            _remove_abandoned(folder.glob("*.partial"))
        yield folder
    except BaseException:
        with contextlib.suppress(OSError):  # the folder is not empty
            folder.rmdir()
        raise


def atomic_replace(draft: str | Path, target: str | Path) -> None:
    """Rename a file or folder to its final path and replace what exists there.

    The content is flushed to the disk first.

    Parameters
    ----------
    draft : path
        File or folder to rename.
    target : path
        Final path.

    Raises
    ------
    ArchiveError
        If `target` is a device, a FIFO or a socket.
    """
    draft, target = Path(draft), Path(target)
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise ArchiveError(
            f"{target} is a device, a FIFO or a socket, and cannot be replaced by a file. Name a file."
        )
    for path in [*draft.rglob("*"), draft]:
        _sync(path)
    os.replace(draft, target)
    _sync(target.parent)


@contextlib.contextmanager
def locked(folder: str | Path, flags: int = 0) -> Iterator[bool]:
    """Lock a folder during a ``with`` block.

    The lock excludes only processes that use this function.

    Parameters
    ----------
    folder : path
    flags : int, default 0
        Further flags of flock. For example, ``fcntl.LOCK_NB`` returns at once if another process has the lock.

    Yields
    ------
    bool
        True if the folder was locked. False if the file system has no locks, or another process has the lock.

    Raises
    ------
    OSError
        If the folder does not exist.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | flags)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def open_lock_file(file: str | Path) -> int:
    """Open a lock file, and create it if it does not exist.

    Parameters
    ----------
    file : path

    Returns
    -------
    int
        File descriptor.

    Raises
    ------
    OSError
        If the file cannot be opened or is a symbolic link.
    ArchiveError
        If it is a FIFO or a device.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(file, flags, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ArchiveError(
            f"{file} cannot be used as a lock: it is not a regular file, but a FIFO or a device. Remove it."
        )
    return descriptor


def _remove(folder: Path) -> None:
    """Remove a folder, even if Ctrl-C is pressed meanwhile."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except KeyboardInterrupt:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _remove_abandoned(folders: Iterable[Path]) -> None:
    """Remove the temporary folders that no process has locked."""
    for folder in folders:
        if folder.is_symlink():
            continue
        # An OSError means that the path is not a folder, or that another process removed it.
        with contextlib.suppress(OSError), locked(folder, fcntl.LOCK_NB) as is_abandoned:
            if is_abandoned:
                shutil.rmtree(folder, ignore_errors=True)


def _sync(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
