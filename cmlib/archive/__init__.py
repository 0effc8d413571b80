"""Recordings as files: how they are written in one piece, and what is checked when they are read.

Recordings of intervals, of samples and of regions are kept alike: a content file, and beside it a JSON
object with its SHA-256, which is written last and makes the recording exist.
"""

from cmlib.archive.drafts import (
    draft_of,
    locked,
    make_folder,
    remove_abandoned,
    settle,
    working_folder,
    write_whole,
)
from cmlib.archive.errors import ArchiveError, errors_as
from cmlib.archive.files import digest, pack, read_file, unpack, unpacked
from cmlib.archive.metadata import as_text, now, parse_object, read_object
from cmlib.archive.recordings import read_content, read_packed, write_recording

__all__ = [
    "ArchiveError",
    "as_text",
    "digest",
    "draft_of",
    "errors_as",
    "locked",
    "make_folder",
    "now",
    "pack",
    "parse_object",
    "read_content",
    "read_file",
    "read_object",
    "read_packed",
    "remove_abandoned",
    "settle",
    "unpack",
    "unpacked",
    "working_folder",
    "write_recording",
    "write_whole",
]
