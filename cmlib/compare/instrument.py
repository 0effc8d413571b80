"""Count hardware events in a region of a Python program.

:func:`region` is a context manager around the code to count. Each execution of the block appends one row to a
CSV file. The environment variable ``CMLIB_REGIONS`` is the path of this file. Events are counted by
`cmlib_region.h`, which C programs can include. :func:`include_dir` returns the folder of this header. The
program runs without counting, with a warning, if nothing can be counted.
"""

import contextlib
import ctypes
import functools
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path


def include_dir() -> Path:
    """Return the folder of `cmlib_region.h`, for ``cc -I``.

    Returns
    -------
    pathlib.Path
        Folder in this package.
    """
    return Path(__file__).parent / "include"


@contextlib.contextmanager
def region(name: str, *, threads: int = 1, work: int = 1) -> Iterator[None]:
    """Count events inside a ``with`` block.

    Two environment variables select the output and the events. ``CMLIB_REGIONS`` is the CSV file to which a
    row is appended. If the variable is not set, nothing is counted. ``CMLIB_EVENTS`` is a list of events
    ``NAME=CONFIG,…``. CONFIG is the event code in the processor's manual. For example, 0x443.

    Columns of the file are function, location, thread, threads, work, seconds, running share, instructions
    and the events. The running share is the fraction of time in which the events were counted. If counting is
    not possible on this machine, the block runs without counting, with a warning.

    Parameters
    ----------
    name : str
        Name of the region. For example, the name of the function.
    threads : int >= 1, default 1
        Number of threads of the region. The counts of these threads are added: the current thread, and all
        threads that it started after its first region.
    work : int >= 1, default 1
        Amount of work in the block, in any unit. For example, the number of items. Counts are divided by
        instructions, or by `work` if instructions cannot be counted.

    Yields
    ------
    None
    """
    library = _library() if os.environ.get("CMLIB_REGIONS") else None
    if library is None:
        yield
        return
    caller = sys._getframe(2)
    identifier = name.encode()
    file = caller.f_code.co_filename.encode()
    library.cmlib_region_begin(identifier, file, caller.f_lineno)
    try:
        yield
    finally:
        library.cmlib_region_threads(threads)
        library.cmlib_region_work(ctypes.c_uint64(work))
        library.cmlib_region_end(identifier)


@functools.cache
def _library() -> ctypes.CDLL | None:
    """Compile and load the library. If this fails, warn and return None."""
    from cmlib import places
    from cmlib.collect.toolchain import compile_to, find_compiler
    from cmlib.errors import CmlibError

    target = places.results_dir() / "region.so"
    sources = [include_dir() / "region.c"]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        compiler = find_compiler("CC", "cc", "regions of Python programs", "gcc and libc6-dev")
        options = ["-O2", "-shared", "-fPIC", "-pthread"]
        compile_to(target, compiler, options, sources, include_dir().glob("*.h"))
        return ctypes.CDLL(str(target))
    except (CmlibError, OSError) as error:
        warnings.warn(f"cmlib region: nothing is counted: {error}", RuntimeWarning, stacklevel=4)
        return None
