"""Reading files that may come from elsewhere: only if they are files, and no larger than they may be."""

import contextlib
import gzip
import hashlib
import io
import os
import stat
import zlib
from pathlib import Path

from cmlib.archive.errors import ArchiveError

# perf's output packs to a tenth; what unpacks to a hundred times its size is not perf's.
_RATIO, _ALWAYS = 100, 64 << 20
_PIECE = 1 << 18


def read_file(file, *, most=2 << 30):
    """Read a file.

    Parameters
    ----------
    file : path
    most : int, default 2 GiB
        Of bytes; a file with more is refused.

    Returns
    -------
    bytes

    Raises
    ------
    ArchiveError
        If it is not there, can't be read, is too large, or no file but a folder, a FIFO or a device, which is not
        opened.
    """
    with opened(file) as content:
        size = os.fstat(content.fileno()).st_size
        if size > most:
            raise ArchiveError(f"{file} is refused: it has {size:,} bytes, and {most:,} are the most.")
        return content.read()


@contextlib.contextmanager
def opened(file):
    """Open a file to read from; errors as of :func:`read_file`.

    Yields
    ------
    binary file
    """
    try:
        _check_regular(file, os.stat(file).st_mode)
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise ArchiveError(f"{file} can't be read: {error.strerror}.") from error
    with open(descriptor, "rb") as content:
        _check_regular(file, os.fstat(descriptor).st_mode)
        yield content


def pack(content):
    """Compress bytes with gzip: the same bytes always to the same ones."""
    return gzip.compress(content, mtime=0)


def unpack(packed, file):
    """Undo gzip.

    Parameters
    ----------
    packed : bytes
    file : path
        Where it is from, for messages.

    Returns
    -------
    bytes

    Raises
    ------
    ArchiveError
        If it is damaged or cut off, or unpacks to more than 64 MiB and a hundred times its size.
    """
    return b"".join(unpacked(io.BytesIO(packed), len(packed), file))


def unpacked(content, size, file):
    """Undo gzip piece by piece.

    Parameters
    ----------
    content : binary file
    size : int
        Of `content` [bytes].
    file : path
        Where it is from, for messages.

    Yields
    ------
    bytes

    Raises
    ------
    ArchiveError
        As of :func:`unpack`.
    """
    most, n = max(_ALWAYS, _RATIO * size), 0
    try:
        with gzip.GzipFile(fileobj=content) as unpacking:
            while piece := unpacking.read(_PIECE):
                n += len(piece)
                if n > most:
                    raise ArchiveError(
                        f"{file} is refused: its {size:,} bytes unpack to more than {most:,}, and what perf writes "
                        "does not."
                    )
                yield piece
    except EOFError as error:
        raise ArchiveError(f"{file} is cut off: its compressed content has no end.") from error
    except (OSError, zlib.error) as error:
        raise ArchiveError(f"{file} can't be unpacked: {error}.") from error


def digest(content):
    """SHA-256 of bytes, or of the file at a path, in hexadecimal digits."""
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    with opened(Path(content)) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_regular(file, mode):
    if not stat.S_ISREG(mode):
        kind = next(name for name, is_it in _KINDS.items() if is_it(mode))
        raise ArchiveError(f"{file} can't be read: it is {kind}, not a file.")


_KINDS = {
    "a folder": stat.S_ISDIR,
    "a FIFO": stat.S_ISFIFO,
    "a socket": stat.S_ISSOCK,
    "a device": lambda mode: True,
}
