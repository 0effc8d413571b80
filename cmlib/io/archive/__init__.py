"""Read and write recordings as files.

A recording is a content file and a JSON file with its metadata. :func:`write_recording` writes both, and
:func:`read_content` reads and checks the content. Functions raise ArchiveError for files that are damaged, too large or
not regular files.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["decompress", "read_file", "readable"]
