"""Count hardware events in a region of a Python program, by `cmlib_region.h` compiled as a library.

:func:`region` is a context manager around the code to count. Each time it appends a row to the CSV file that the
environment variable CMLIB_REGIONS names (without it nothing happens): function, location, thread, threads, work,
seconds, running share, instructions, and a column for each event of CMLIB_EVENTS. :func:`include_dir` returns the
folder of the header for C programs. No error is raised: if nothing can be counted, the program runs without counting,
and one line on standard error says so.
"""

import contextlib
import ctypes
import functools
import os
import sys
import warnings
from pathlib import Path


def include_dir() -> Path:
    """Return the folder of `cmlib_region.h`, for ``cc -I``.

    Returns
    -------
    pathlib.Path
        In the package.
    """
    return Path(__file__).parent / "include"


@contextlib.contextmanager
def region(name, *, threads=1, work=1):
    """Count events inside a ``with`` block: one row (sample) each time it is executed.

    It reads the same environment variables as `cmlib_region.h`: ``CMLIB_REGIONS`` is the CSV file to append to (without
    it nothing happens), and ``CMLIB_EVENTS`` are the events, ``NAME=CONFIG,…`` (CONFIG as in the processor's manual,
    such as 0x443). A row has function, location, thread, threads, work, seconds, running share, instructions and the
    events. Without a C compiler, PMU or permission, the block runs without counting, and one line on standard error
    says so.

    Parameters
    ----------
    name : str
        Name of the region, such as the function's.
    threads : int >= 1, default 1
        Number of threads, for the row: its counts are their sum. This thread is counted, and the threads that it
        starts after its first region.
    work : int >= 1, default 1
        Work of the block in units of your own (items, requests). Counts are divided by it if instructions can't be
        counted.

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
def _library():
    """Compile and load the library; None, with a warning, if that fails."""
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
