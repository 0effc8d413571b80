"""The bytes of a public recording: from the package, from the folder CMLIB_PUBLIC, or fetched before."""

import lzma
from pathlib import Path

from cmlib import places
from cmlib.archive import digest, errors_as, read_file, unpack
from cmlib.public.registry import PublicError, files, shipped_file

_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"


def read(name):
    """The original bytes of a file.

    Parameters
    ----------
    name : str
        As in the column ``file`` of :func:`cmlib.public.files`.

    Returns
    -------
    bytes or None
        None where it is neither in the package, nor in the folder that the environment variable ``CMLIB_PUBLIC``
        names, nor in the user's cache.

    Raises
    ------
    PublicError
        If the name is not known, or the file is there and is not what it was (SHA-256 of the original bytes).
    """
    found = files().query("file == @name")
    if found.empty:
        raise PublicError(f"{name} is no public recording that is known here.")
    for place in _places(name):
        if place.is_file():
            return checked(_unpacked(place), found["sha256"].iloc[0], place)
    return None


def cache_dir():
    """Folder of what was fetched: of this user, shared by all checkouts."""
    import pooch

    return Path(pooch.os_cache("cmlib")) / "public"


def checked(content, sha256, place):
    """Bytes whose SHA-256 is as it should be.

    Raises
    ------
    PublicError
        If it is not.
    """
    if digest(content) != sha256:
        raise PublicError(
            f"{place} is not the file that was published: its SHA-256 is {digest(content)[:12]}…, and that of the "
            f"original {sha256[:12]}…. Remove it, and fetch it again."
        )
    return content


def _places(name):
    yield shipped_file(name)
    for folder in filter(None, (places.elsewhere_dir(), cache_dir())):
        yield folder / name
        yield folder / f"{name}.gz"


def _unpacked(place):
    with errors_as(PublicError, place):
        content = read_file(place)
        if content.startswith(_GZIP):
            return unpack(content, place)
    return lzma.decompress(content) if content.startswith(_XZ) else content
