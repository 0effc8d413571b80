from .errors import (
    ArchiveError as ArchiveError,
    errors_as as errors_as,
    in_recording as in_recording,
    reading_errors_as as reading_errors_as,
)
from .files import (
    decompress as decompress,
    digest as digest,
    pack as pack,
    parse_csv as parse_csv,
    read_file as read_file,
    readable as readable,
    unpack as unpack,
)
from .metadata import (
    as_text as as_text,
    now as now,
    read_object as read_object,
)
from .recordings import (
    read_content as read_content,
    write_recording as write_recording,
)
from .replacing import (
    atomic_output as atomic_output,
    atomic_replace as atomic_replace,
    locked as locked,
    program_folder as program_folder,
    working_folder as working_folder,
    write_whole as write_whole,
)
