from .files import (
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
from .runs import as_text, now, read_content, read_object, write_recording
