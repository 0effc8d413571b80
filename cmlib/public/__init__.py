"""Recordings that others have published: found in the package, in a folder, in the cache, or fetched."""

from cmlib.public.content import read
from cmlib.public.registry import PublicError, files, sets

__all__ = ["PublicError", "files", "read", "sets"]
