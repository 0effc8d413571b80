from .files import (
    ArchiveError,
    atomic_output,
    atomic_replace,
    decompress,
    digest,
    errors_as,
    locked,
    make_folder,
    pack,
    read_file,
    readable,
    remove_abandoned,
    unpack,
    unpacked,
    working_folder,
    write_whole,
)
from .runs import as_text, now, read_content, read_object, write_recording
