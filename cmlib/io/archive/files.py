"""Read, unpack, lock and replace files; errors say which file, why, and what to do.

Functions take paths; files are read with a limit of size, and written so that they are whole or as before.
ArchiveError for what can't be read or is no regular file; OSError for what can't be written.
"""

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
from collections.abc import Callable, Iterable
from glob import escape
from pathlib import Path

from cmlib.errors import CmlibError, InputError
from cmlib.terminal import say_left_out


class ArchiveError(CmlibError, ValueError):
    """Raised for a file that can't be read or written, or is not what it should be."""


@contextlib.contextmanager
def errors_as(kind, folder, *, hint=""):
    """During a ``with`` block, turn errors of files (ArchiveError, OSError) into errors of class `kind`.

    `folder` (path) is named where an OSError names no file; `hint` (str, what to do) ends the text of those.
    """
    try:
        yield
    except ArchiveError as error:
        raise kind(str(error)) from error
    except OSError as error:
        where, reason = error.filename or folder, error.strerror or error
        raise kind(f"could not write to {where}: {reason}. {hint}".strip()) from error


@contextlib.contextmanager
def reading_errors_as(kind, what, *, hint="", errors=Exception):
    """During a ``with`` block, turn what a stranger's file makes of its reader into an error of class `kind`.

    `errors` (a class, or a tuple of them) are those that are turned; the text is `what` (str), the reason, and `hint`
    (str, what to do). Of errors that name the file, an ArchiveError or one of `kind`, the text stays; an InputError
    names none.
    """
    others = errors if isinstance(errors, tuple) else (errors,)
    try:
        yield
    except (kind, ArchiveError, *others) as error:
        names_file = isinstance(error, (kind, ArchiveError)) and not isinstance(error, InputError)
        if names_file:
            raise kind(str(error)) from error
        raise kind(f"{what}: {str(error) or type(error).__name__}. {hint}".removesuffix(". ")) from error


def in_recording(file, read, *content, **settings):
    """Return ``read(*content, **settings)``; whatever that raises becomes an ArchiveError that names `file` (path).

    `read` is a callable that parses the file's content.
    """
    with reading_errors_as(ArchiveError, f"{file}: its content can't be read"):
        return read(*content, **settings)


def readable(read: Callable, files: Iterable[str | Path]) -> dict:
    """Read some files, and leave out with a warning each for which the reader raises any error.

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


def parse_csv(content, *, most_columns, **options):
    """A CSV file's content (bytes) as a DataFrame; `options` are those of :func:`pandas.read_csv`.

    ValueError if the heading has more than `most_columns` columns, or the content can't be read.
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
def opened(file, *, most=2 << 30):
    """During a ``with`` block, a regular file opened to read bytes.

    `file` is its path, `most` the most bytes that it may have (2 GiB). ArchiveError if it is not there, is a folder,
    FIFO, device or a file of the kernel's that does not tell its size, or has more bytes.
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


def open_lock_file(file):
    """Open a file (path) to lock it, and return its descriptor (int); it is made if it is missing.

    OSError if it can't be opened or is a link; ArchiveError if it is a FIFO, a device or another thing that is no
    regular file, as these may make whoever opens them wait.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(file, flags, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ArchiveError(f"{file} is no lock: {NO_FILE}. Remove it.")
    return descriptor


def _is_on_disk(descriptor):
    """Whether an open file (its descriptor) is a regular one with as many bytes as its size says.

    Files of /proc say 0, and may not end.
    """
    status = os.fstat(descriptor)
    with contextlib.suppress(OSError):
        return stat.S_ISREG(status.st_mode) and (status.st_size > 0 or not os.pread(descriptor, 1, 0))
    return False


def pack(content):
    """Compress `content` (bytes) with gzip; equal bytes give equal output, as no time is noted."""
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
        If it is damaged, or unpacks to far more than what recordings do.
    """
    return unpack(content, file) if content.startswith(tuple(_OPENERS)) else content


def unpack(packed, file):
    """Bytes unpacked from gzip, xz, bzip2 or Zstandard.

    `packed` is bytes, `file` (path) is for messages. ArchiveError if `packed` is none of these, is damaged, or
    unpacks to too much: more than 512 MiB, or more than 64 MiB and 100 times its own size.
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


def digest(content):
    """SHA-256 (str of hexadecimal digits) of `content`: of bytes themselves, or of the file at a path.

    ArchiveError if the file can't be read.
    """
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    with opened(Path(content)) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _zstandard(content):
    """A binary file that reads what is compressed in another."""
    import pyarrow as pa

    return pa.CompressedInputStream(content, "zstd")


_OPENERS = {
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\0": lzma.open,
    b"BZh": bz2.open,
    b"\x28\xb5\x2f\xfd": _zstandard,
}


@contextlib.contextmanager
def atomic_output(target):
    """During a ``with`` block, a path to write a file or folder to, which replaces `target` if the block ends
    without an error.

    After an error nothing of it is left. OSError if the folder of `target` can't be written.
    """
    target = Path(target)
    with working_folder(target) as folder:
        yield folder / target.name
        atomic_replace(folder / target.name, target)


def write_whole(target, content):
    """Write a file (`content` is str or bytes), so that it has all of the content or is as before.

    `target` is its path. OSError if it can't be written, ArchiveError if it is a device, FIFO or socket.
    """
    content = content.encode() if isinstance(content, str) else content
    with atomic_output(target) as draft:
        draft.write_bytes(content)


@contextlib.contextmanager
def program_folder(folder):
    """During a ``with`` block, the folder (Path) of a program's recordings; it is made if it is missing.

    Working folders that killed processes have left in it are removed. After an error the folder is removed if nothing
    is in it. ArchiveError if it is a symbolic link.
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
def working_folder(target):
    """During a ``with`` block, a new folder (Path) beside the path `target`, to make what will replace `target` in.

    It is removed at the end. Folders that killed processes left for the same target are removed first.
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


def atomic_replace(draft, target):
    """Rename a file or folder (`draft`) to `target`, which is replaced, once its content is on the disk; both are
    paths.

    ArchiveError if `target` is a device, FIFO or socket.
    """
    draft, target = Path(draft), Path(target)
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise ArchiveError(f"{target} is a device, a FIFO or a socket, which no file replaces: name a file.")
    for part in [*draft.rglob("*"), draft]:
        _sync(part)
    os.replace(draft, target)
    _sync(target.parent)


@contextlib.contextmanager
def locked(folder, flags=0):
    """Hold the lock of a folder (path) during a ``with`` block, among processes that use this function; waits for
    it.

    `flags` are added to those of flock: with LOCK_NB it does not wait. Gives True, or False if the folder could not
    be locked (its file system has no locks; with LOCK_NB, also if another process holds it). OSError if there is no
    such folder.
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
