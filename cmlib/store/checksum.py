"""Whether an SQLite file is as it was written: its CRC-32 is kept in its header, as the `user_version`."""

import functools
import os
import zlib

_AT = slice(60, 64)  # of user_version in the header, which SQLite leaves to applications
_PIECE = 1 << 20


def seal(file):
    """Write the file's checksum into it; from now on it must not change.

    Parameters
    ----------
    file : pathlib.Path
        An SQLite file that is not open.
    """
    checksum = _checksum(file).to_bytes(4, "big")
    with file.open("r+b") as opened:
        opened.seek(_AT.start)
        opened.write(checksum)


def is_sealed(file):
    """Whether a file is as it was when it was sealed; read once as long as it is not replaced.

    Parameters
    ----------
    file : pathlib.Path

    Returns
    -------
    bool
    """
    about = os.stat(file)
    return _is_sealed(file, about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns)


@functools.lru_cache(maxsize=16)
def _is_sealed(file, *identity):
    with file.open("rb") as opened:
        head = opened.read(_AT.stop)
    return head[_AT] == _checksum(file).to_bytes(4, "big")


def _checksum(file):
    checksum = 0
    with file.open("rb") as opened:
        first = bytearray(opened.read(_PIECE))
        first[_AT] = bytes(4)
        checksum = zlib.crc32(first)
        while piece := opened.read(_PIECE):
            checksum = zlib.crc32(piece, checksum)
    return checksum
