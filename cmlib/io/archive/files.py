"""Read files with a limit of their size, and compress or decompress their content.

:func:`read_file` reads a file, and :func:`decompress` expands its content. Both raise ArchiveError with the path of the
file and the reason.
"""

from __future__ import annotations

import bz2
import contextlib
import csv
import errno
import gzip
import hashlib
import io
import lzma
import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cmlib.errors import InputError
from cmlib.io.archive.errors import ArchiveError
from cmlib.terminal import say_left_out

if TYPE_CHECKING:
    import pandas as pd

# Decompressed content may have 100 times the compressed size (perf's text has about 10 times), at least 64 MiB and at
# most 512 MiB.
_RATIO = 100
_ALWAYS = 64 << 20
_AT_MOST = 512 << 20


def readable(read: Callable, files: Iterable[str | Path]) -> dict:
    """Read several files and skip the unreadable ones.

    A message on standard error names each skipped file and the reason.

    Parameters
    ----------
    read : callable
        Function that reads a file. Its argument is the path.
    files : iterable of path
        Files to read.

    Returns
    -------
    dict
        Result of `read`, keyed by path, in input order. Empty if no file can be read.
    """
    content_by_file = {}
    reasons = []
    for file in files:
        try:
            str(file).encode()  # fails if the path is not UTF-8: tables cannot store such a path
            content_by_file[file] = read(file)
        except Exception as error:  # whatever the error, the other files are read
            names_file = str(file) in str(error)
            reasons.append(error if names_file else f"{file}: {error or type(error).__name__}")
    say_left_out(reasons)
    return content_by_file


def read_file(file: str | Path, *, most: int = _AT_MOST) -> bytes:
    """Read a regular file.

    Parameters
    ----------
    file : path
        Path of the file.
    most : int, default 512 MiB
        Largest allowed size [bytes].

    Returns
    -------
    bytes
        Content of the file.

    Raises
    ------
    ArchiveError
        If the file cannot be read or is larger than `most`. Also if it is a folder, a FIFO or a device.
    """
    with opened(file, most=most) as content:
        return content.read()


@contextlib.contextmanager
def opened(file: str | Path, *, most: int = 2 << 30) -> Iterator[io.BufferedReader]:
    """Open a regular file for reading during a ``with`` block.

    Parameters
    ----------
    file : path
    most : int, default 2 GiB
        Largest allowed size [bytes].

    Yields
    ------
    binary file

    Raises
    ------
    ArchiveError
        If the file cannot be opened or is larger than `most`. Also if it is a folder, a FIFO or a device.
    """
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ENODEV):
            raise _make_irregular_file_error(file) from error
        raise ArchiveError(f"{file} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise ArchiveError(f"{str(file)!r} cannot be read: {error}.") from error
    if not _is_on_disk(descriptor):
        os.close(descriptor)
        raise _make_irregular_file_error(file)
    with open(descriptor, "rb") as content:
        size = os.fstat(descriptor).st_size
        if size > most:
            raise ArchiveError(f"{file} is refused: it has {size:,} bytes, and {most:,} are the most.")
        yield content


def _make_irregular_file_error(file: str | Path) -> ArchiveError:
    """Return the error for a file that is not a regular file."""
    return ArchiveError(
        f"{file} cannot be read: it is not a regular file, but a folder, a FIFO, a device or a kernel file."
    )


def _is_on_disk(descriptor: int) -> bool:
    """Return True if an open file is a regular file and its size is known.

    Files in /proc have the size 0 and can be endless.
    """
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return False
    if status.st_size > 0:
        return True
    try:
        is_empty = not os.pread(descriptor, 1, 0)
    except OSError:
        return False
    return is_empty


def parse_csv(content: bytes, *, most_columns: int, **options: Any) -> pd.DataFrame:
    """Parse a CSV file with a limited number of columns.

    Parameters
    ----------
    content : bytes
        Content of the file.
    most_columns : int
        Largest allowed number of columns in the header.
    **options
        Options of :func:`pandas.read_csv`.

    Returns
    -------
    DataFrame

    Raises
    ------
    InputError
        If the header has too many columns or cannot be read.
    ValueError
        If pandas cannot parse the content.
    """
    import pandas as pd

    rows = csv.reader(io.TextIOWrapper(io.BytesIO(content), errors="replace", newline=""))
    try:
        header = next((row for row in rows if len(row) > 1 or "".join(row).strip()), [])
    except csv.Error as error:
        raise InputError(f"its heading cannot be read: {error}") from error
    if len(header) > most_columns:
        raise InputError(f"its heading names {len(header):,} columns, and {most_columns:,} are the most")
    return pd.read_csv(io.BytesIO(content), low_memory=False, **options)


def pack(content: bytes) -> bytes:
    """Compress bytes with gzip.

    No time is stored, so equal input gives equal output.

    Parameters
    ----------
    content : bytes

    Returns
    -------
    bytes
    """
    return gzip.compress(content, 6, mtime=0)


def _open_zstandard(content: io.BytesIO) -> Any:
    """Open bytes that Zstandard compressed."""
    import pyarrow as pa

    return pa.CompressedInputStream(content, "zstd")


# Keyed by the first bytes of the compressed content.
_OPENERS: dict[bytes, Callable[[io.BytesIO], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\0": lzma.open,
    b"BZh": bz2.open,
    b"\x28\xb5\x2f\xfd": _open_zstandard,
}


def decompress(content: bytes, file: str | Path) -> bytes:
    """Decompress the content of a file if it is compressed.

    The compression is detected from the first bytes: gzip, xz, bzip2 or Zstandard. Other content is returned unchanged.

    Parameters
    ----------
    content : bytes
        Content of the file.
    file : path
        Path for error messages.

    Returns
    -------
    bytes
        Decompressed content.

    Raises
    ------
    ArchiveError
        If the content is damaged or too large after decompression.
    """
    is_compressed = content.startswith(tuple(_OPENERS))
    return unpack(content, file) if is_compressed else content


def unpack(packed: bytes, file: str | Path) -> bytes:
    """Decompress content that gzip, xz, bzip2 or Zstandard compressed.

    Parameters
    ----------
    packed : bytes
    file : path
        Path for error messages.

    Returns
    -------
    bytes

    Raises
    ------
    ArchiveError
        If the content is damaged or not compressed. Also if the result is too large: 100 times the compressed size are
        allowed, but at least 64 MiB and at most 512 MiB.
    """
    most = min(max(_ALWAYS, _RATIO * len(packed)), _AT_MOST)
    opener = next((opener for magic, opener in _OPENERS.items() if packed.startswith(magic)), gzip.open)
    try:
        with opener(io.BytesIO(packed)) as decompressed:
            content = decompressed.read(most + 1)
    except EOFError as error:
        raise ArchiveError(f"{file} is cut off: its compressed content has no end.") from error
    # A damaged xz header can ask for any amount of memory.
    except (OSError, zlib.error, lzma.LZMAError, MemoryError) as error:
        reason = str(error) or "it asks for too much memory"
        raise ArchiveError(f"{file} cannot be unpacked: {reason}.") from error
    if len(content) > most:
        raise ArchiveError(
            f"{file} is refused: its {len(packed):,} bytes unpack to more than {most:,}. Output of perf is smaller."
        )
    return content


def digest(content: bytes | str | Path) -> str:
    """Return the SHA-256 of bytes or of a file.

    Parameters
    ----------
    content : bytes or path

    Returns
    -------
    str
        Hexadecimal digits.

    Raises
    ------
    ArchiveError
        If the file cannot be read.
    """
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    with opened(Path(content)) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
