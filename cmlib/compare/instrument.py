"""Count hardware events in a region of a Python program, by `cmlib_region.h` compiled as a library.

:func:`region` is a context manager around the code to count. Each time it appends a row to the CSV file that the
environment variable CMLIB_REGIONS names (without it nothing happens): function, location, thread, threads, work,
seconds, running share, instructions, and a column for each event of CMLIB_EVENTS. :func:`include_dir` tells C
programs where the header is. Nothing is raised: what can't be counted runs without, and one line on standard error
says so.
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
    """Count what happens inside of a ``with`` block, a row (sample) each time it is executed.

    Reads the environment of `cmlib_region.h`, and counts as it does: ``CMLIB_REGIONS`` names the CSV to append to
    (without it nothing happens), ``CMLIB_EVENTS`` the events, ``NAME=CONFIG,…`` (CONFIG as in the processor's manual,
    such as 0x443). A row has function, location, thread, threads, work, seconds, running share, instructions and the
    events. Where there is no C compiler, PMU or permission, the block runs all the same, and one line on standard
    error says so.

    Parameters
    ----------
    name : str
        Name of the region, such as the function's.
    threads : int >= 1, default 1
        Noted in the row: how many threads its counts are a sum of. Counted are this thread, and those that it starts
        after its first region.
    work : int >= 1, default 1
        What the block does, in units of your own (items, requests): what counts are divided by where there
        are no instructions to divide them by.

    Yields
    ------
    None
    """
    library = _library() if os.environ.get("CMLIB_REGIONS") else None
    if library is None:
        yield
        return
    caller, identifier = sys._getframe(2), name.encode()
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
    """The compiled library; None, with a warning, if it can't be compiled or loaded."""
    from cmlib import places
    from cmlib.collect.toolchain import compile_to, find_compiler
    from cmlib.errors import CmlibError

    target, sources = places.results_dir() / "region.so", [include_dir() / "region.c"]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        compiler = find_compiler("CC", "cc", "regions of Python programs", "gcc and libc6-dev")
        options = ["-O2", "-shared", "-fPIC", "-pthread"]
        compile_to(target, compiler, options, sources, include_dir().glob("*.h"))
        return ctypes.CDLL(str(target))
    except (CmlibError, OSError) as error:
        warnings.warn(f"cmlib region: nothing is counted: {error}", RuntimeWarning, stacklevel=4)
        return None
