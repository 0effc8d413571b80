"""Recordings that others have published: found in the package, in a folder, in the cache, or fetched."""

from cmlib.io.public.registry import PublicError, files, read, sets

__all__ = ["PublicError", "files", "read", "sets"]
