"""Recordings as files: written so that they exist in full or not at all, and checked when they are read.

Recordings of intervals, of samples and of regions are kept alike: a content file, and beside it a JSON object (the
metadata) with the content's SHA-256, which is written last and makes the recording exist. Files that are not whole,
too large or no regular files are refused by ArchiveError.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["decompress", "read_file", "readable"]
