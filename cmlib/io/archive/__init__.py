"""Recordings as files: how they are written in one piece, and what is checked when they are read.

Recordings of intervals, of samples and of regions are kept alike: a content file, and beside it a JSON
object with its SHA-256, which is written last and makes the recording exist.
"""

from cmlib.io.archive.files import (
    ArchiveError,
    digest,
    draft_of,
    errors_as,
    locked,
    make_folder,
    pack,
    plain,
    read_file,
    readable,
    remove_abandoned,
    settle,
    unpack,
    unpacked,
    working_folder,
    write_whole,
)
from cmlib.io.archive.runs import (
    as_text,
    now,
    read_content,
    read_object,
    write_recording,
)
