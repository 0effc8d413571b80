"""Read, unpack, lock and replace files; errors say which file, why, and what to do.

Functions take paths; files are read with a limit of size, and written so that they are whole or as before.
ArchiveError for what can't be read or is no regular file; OSError for what can't be written.
"""

from __future__ import annotations

import bz2
import contextlib
import csv
import errno
import fcntl
import gzip
import hashlib
import io
import lzma
import os
import secrets
import shutil
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cmlib.errors import CmlibError, InputError
from cmlib.terminal import say_left_out

if TYPE_CHECKING:
    import pandas as pd


class ArchiveError(CmlibError, ValueError):
    """Raised for a file that can't be read or written, or is not what it should be."""


@contextlib.contextmanager
def errors_as(kind: type[Exception], folder: str | Path, *, hint: str = "") -> Iterator[None]:
    """Turn errors of files into errors of one class, during a ``with`` block.

    Parameters
    ----------
    kind : class of exception
        Raised in place of ArchiveError and OSError.
    folder : path
        Named in the message if an OSError names no file.
    hint : str, default ""
        What to do, for the end of the message.

    Raises
    ------
    kind
    """
    try:
        yield
    except ArchiveError as error:
        raise kind(str(error)) from error
    except OSError as error:
        path = error.filename or folder
        reason = error.strerror or error
        raise kind(f"could not write to {path}: {reason}. {hint}".strip()) from error


@contextlib.contextmanager
def reading_errors_as(
    kind: type[Exception],
    what: str,
    *,
    hint: str = "",
    errors: type[Exception] | tuple[type[Exception], ...] = Exception,
) -> Iterator[None]:
    """Turn whatever the reader of a file raises into an error of one class, during a ``with`` block.

    The message is `what`, the reason, and `hint`. The message of an ArchiveError, or of an error of `kind`, stays as it
    is, because it names the file already; that of an InputError names none.

    Parameters
    ----------
    kind : class of exception
    what : str
        What can't be read, and where.
    hint : str, default ""
        What to do.
    errors : class of exception or tuple of these, default Exception
        Errors that are turned.

    Raises
    ------
    kind
    """
    others = errors if isinstance(errors, tuple) else (errors,)
    caught: tuple[type[Exception], ...] = (kind, ArchiveError, *others)
    try:
        yield
    except caught as error:
        names_file = isinstance(error, (kind, ArchiveError)) and not isinstance(error, InputError)
        if names_file:
            raise kind(str(error)) from error
        raise kind(f"{what}: {str(error) or type(error).__name__}. {hint}".removesuffix(". ")) from error


def in_recording(file: str | Path, read: Callable, *content: object, **settings: object) -> Any:
    """Parse the content of a recording; an error of the parser becomes one that names the file.

    Parameters
    ----------
    file : path
        The recording's file, for the message.
    read : callable
        Parser.
    *content, **settings
        Arguments of `read`.

    Returns
    -------
    object
        What `read` returns.

    Raises
    ------
    ArchiveError
        If `read` raises anything.
    """
    with reading_errors_as(ArchiveError, f"{file}: its content can't be read"):
        return read(*content, **settings)


def readable(read: Callable, files: Iterable[str | Path]) -> dict:
    """Read those of some files that can be read, and warn of the others.

    Parameters
    ----------
    read : callable
        Called with a path; reads the file.
    files : iterable of path
        Files to read.

    Returns
    -------
    dict
        What `read` returned, by path, in their order; empty if none can be read. Standard error names the files that
        were left out, and tells why.
    """
    contents, left_out = {}, []
    for file in files:
        try:
            str(file).encode()  # no table holds a name that is no UTF-8
            contents[file] = read(file)
        except Exception as error:  # whatever a stranger's file makes of its reader stops no other
            left_out.append(error if str(file) in str(error) else f"{file}: {error or type(error).__name__}")
    say_left_out(left_out)
    return contents


# What may be unpacked: 100 times the packed size (perf's text has some 10 times), 64 MiB always, 512 MiB at most.
_RATIO, _ALWAYS, _AT_MOST = 100, 64 << 20, 512 << 20


def read_file(file: str | Path, *, most: int = _AT_MOST) -> bytes:
    """Read a file, if it is one and not too large.

    Parameters
    ----------
    file : path
        A regular file.
    most : int, default 512 MiB
        Largest size [bytes].

    Returns
    -------
    bytes
        Its content.

    Raises
    ------
    ArchiveError
        If it is not there or can't be read, is larger, or is a folder, a FIFO or a device.
    """
    with opened(file, most=most) as content:
        return content.read()


def parse_csv(content: bytes, *, most_columns: int, **options: Any) -> pd.DataFrame:
    """Parse a CSV file after checking its heading.

    Parameters
    ----------
    content : bytes
    most_columns : int
        Most columns that the heading may have.
    **options
        Options of :func:`pandas.read_csv`.

    Returns
    -------
    DataFrame

    Raises
    ------
    InputError
        If the heading has more columns or can't be read.
    ValueError
        If pandas can't read the content.
    """
    import pandas as pd

    rows = csv.reader(io.TextIOWrapper(io.BytesIO(content), errors="replace", newline=""))
    try:
        heading = next((row for row in rows if len(row) > 1 or "".join(row).strip()), [])
    except csv.Error as error:
        raise InputError(f"its heading can't be read: {error}") from error
    if len(heading) > most_columns:
        raise InputError(f"its heading names {len(heading):,} columns, and {most_columns:,} are the most")
    return pd.read_csv(io.BytesIO(content), low_memory=False, **options)


NO_FILE = "it is no file, but a folder, a FIFO, a device or of the kernel's"


@contextlib.contextmanager
def opened(file: str | Path, *, most: int = 2 << 30) -> Iterator[io.BufferedReader]:
    """Open a regular file to read bytes, during a ``with`` block.

    Parameters
    ----------
    file : path
    most : int, default 2 GiB
        Largest size [bytes].

    Yields
    ------
    binary file

    Raises
    ------
    ArchiveError
        If the file does not exist, is larger, or is a folder, a FIFO, a device, or a kernel file without a size.
    """
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        no_file = error.errno in (errno.ENXIO, errno.ENODEV)
        raise ArchiveError(f"{file} can't be read: {NO_FILE if no_file else error.strerror}.") from error
    except ValueError as error:
        raise ArchiveError(f"{str(file)!r} can't be read: {error}.") from error
    if not _is_on_disk(descriptor):
        os.close(descriptor)
        raise ArchiveError(f"{file} can't be read: {NO_FILE}.")
    with open(descriptor, "rb") as content:
        if (size := os.fstat(descriptor).st_size) > most:
            raise ArchiveError(f"{file} is refused: it has {size:,} bytes, and {most:,} are the most.")
        yield content


def open_lock_file(file: str | Path) -> int:
    """Open a file to lock it; make it if it is missing.

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
        If it can't be opened, or is a link.
    ArchiveError
        If it is not a regular file. Opening a FIFO or a device could block.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(file, flags, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ArchiveError(f"{file} is no lock: {NO_FILE}. Remove it.")
    return descriptor


def _is_on_disk(descriptor):
    """Return whether an open file (its descriptor) is a regular file with as many bytes as its size.

    Files of /proc say 0, and may not end.
    """
    status = os.fstat(descriptor)
    with contextlib.suppress(OSError):
        return stat.S_ISREG(status.st_mode) and (status.st_size > 0 or not os.pread(descriptor, 1, 0))
    return False


def pack(content: bytes) -> bytes:
    """Compress bytes with gzip; equal bytes give equal output, because no time is stored."""
    return gzip.compress(content, 6, mtime=0)


def decompress(content: bytes, file: str | Path) -> bytes:
    """Unpack a file's content, where it is gzip's, xz's, bzip2's or Zstandard's.

    Parameters
    ----------
    content : bytes
        Content of a file, compressed or not.
    file : path
        The file's path, for error messages.

    Returns
    -------
    bytes
        Unpacked, or as they are.

    Raises
    ------
    ArchiveError
        If it is damaged, or if its unpacked content is far larger than that of any recording.
    """
    return unpack(content, file) if content.startswith(tuple(_OPENERS)) else content


def unpack(packed: bytes, file: str | Path) -> bytes:
    """Unpack the content of a file that gzip, xz, bzip2 or Zstandard compressed.

    Parameters
    ----------
    packed : bytes
    file : path
        For messages.

    Returns
    -------
    bytes

    Raises
    ------
    ArchiveError
        If it is in none of these formats, is damaged, or unpacks to more than 512 MiB, or to more than 64 MiB and 100
        times its own size.
    """
    most = min(max(_ALWAYS, _RATIO * len(packed)), _AT_MOST)
    opener = next((opener for magic, opener in _OPENERS.items() if packed.startswith(magic)), gzip.open)
    try:
        with opener(io.BytesIO(packed)) as unpacking:
            content = unpacking.read(most + 1)
    except EOFError as error:
        raise ArchiveError(f"{file} is cut off: its compressed content has no end.") from error
    # xz asks for the memory that a file names.
    except (OSError, zlib.error, lzma.LZMAError, MemoryError) as error:
        reason = str(error) or "it asks for too much memory"
        raise ArchiveError(f"{file} can't be unpacked: {reason}.") from error
    if len(content) > most:
        raise ArchiveError(
            f"{file} is refused: its {len(packed):,} bytes unpack to more than {most:,}, and what perf writes does not."
        )
    return content


def digest(content: bytes | str | Path) -> str:
    """Compute a SHA-256.

    Parameters
    ----------
    content : bytes or path
        Bytes, or the path of a file.

    Returns
    -------
    str
        Hexadecimal digits.

    Raises
    ------
    ArchiveError
        If the file can't be read.
    """
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    with opened(Path(content)) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _zstandard(content):
    """Return a binary file that decompresses another one."""
    import pyarrow as pa

    return pa.CompressedInputStream(content, "zstd")


_OPENERS: dict[bytes, Callable[[io.BytesIO], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\0": lzma.open,
    b"BZh": bz2.open,
    b"\x28\xb5\x2f\xfd": _zstandard,
}


@contextlib.contextmanager
def atomic_output(target: str | Path) -> Iterator[Path]:
    """Give a path to write to, during a ``with`` block, which replaces `target` if the block ends without an error.

    After an error, everything that was written is removed.

    Parameters
    ----------
    target : path
        File or folder.

    Yields
    ------
    Path
        In a new folder beside `target`.

    Raises
    ------
    OSError
        If the folder of `target` can't be written.
    """
    target = Path(target)
    with working_folder(target) as folder:
        yield folder / target.name
        atomic_replace(folder / target.name, target)


def write_whole(target: str | Path, content: str | bytes) -> None:
    """Write a file completely, or leave it unchanged after an error.

    Parameters
    ----------
    target : path
    content : str or bytes

    Raises
    ------
    OSError
        If it can't be written.
    ArchiveError
        If it is a device, a FIFO or a socket.
    """
    content = content.encode() if isinstance(content, str) else content
    with atomic_output(target) as draft:
        draft.write_bytes(content)


@contextlib.contextmanager
def program_folder(folder: str | Path) -> Iterator[Path]:
    """Keep the folder of a program's recordings ready, during a ``with`` block; make it if it is missing.

    Working folders that killed processes left in it are removed. After an error, the folder is removed if it is empty.

    Parameters
    ----------
    folder : path

    Yields
    ------
    Path

    Raises
    ------
    ArchiveError
        If it is a symbolic link.
    """
    folder = Path(folder)
    if folder.is_symlink():
        raise ArchiveError(
            f"{folder} is a link to {os.readlink(folder)}, and recordings are not written through links: move that "
            "folder to its place, or set CMLIB_DATA to the folder that holds it all."
        )
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with locked(folder):
            _remove_abandoned(folder.glob("*.partial"))
        yield folder
    except BaseException:
        with contextlib.suppress(OSError):  # it is not empty
            folder.rmdir()
        raise


@contextlib.contextmanager
def working_folder(target: str | Path) -> Iterator[Path]:
    """Make a temporary folder for a ``with`` block, beside the file or folder that its content will replace.

    The folder is removed at the end. Folders that killed processes left for the same target are removed first.

    Parameters
    ----------
    target : path

    Yields
    ------
    Path
    """
    target = Path(target)
    with contextlib.ExitStack() as stack:
        with locked(target.parent):
            _remove_abandoned(target.parent.glob(f"{escape(target.name)}.*.partial"))
            folder = target.parent / f"{target.name}.{secrets.token_hex(4)}.partial"
            stack.callback(_remove, folder)  # before there is one: Ctrl-C may come between the two
            folder.mkdir(0o700)
            stack.enter_context(locked(folder))
        yield folder


def _remove(folder):
    """Remove a folder, also if Ctrl-C comes while it is being removed."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except KeyboardInterrupt:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def atomic_replace(draft: str | Path, target: str | Path) -> None:
    """Rename a file or folder to a path that it replaces, once its content is on the disk.

    Parameters
    ----------
    draft, target : path

    Raises
    ------
    ArchiveError
        If `target` is a device, a FIFO or a socket.
    """
    draft, target = Path(draft), Path(target)
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise ArchiveError(f"{target} is a device, a FIFO or a socket, which no file replaces: name a file.")
    for part in [*draft.rglob("*"), draft]:
        _sync(part)
    os.replace(draft, target)
    _sync(target.parent)


@contextlib.contextmanager
def locked(folder: str | Path, flags: int = 0) -> Iterator[bool]:
    """Hold the lock of a folder, during a ``with`` block, among the processes that use this function.

    Parameters
    ----------
    folder : path
    flags : int, default 0
        Added to those of flock: LOCK_NB does not wait for the lock.

    Yields
    ------
    bool
        False if the folder could not be locked: its file system has no locks, or, with LOCK_NB, another process holds
        the lock.

    Raises
    ------
    OSError
        If there is no such folder.
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


def _remove_abandoned(folders):
    """Remove those of some folders (paths) whose lock nobody holds."""
    for left in folders:
        if left.is_symlink():
            continue
        # What is no folder, or has gone meanwhile, is passed over.
        with contextlib.suppress(OSError), locked(left, fcntl.LOCK_NB) as abandoned:
            if abandoned:
                shutil.rmtree(left, ignore_errors=True)


def _sync(path):
    """Wait until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
