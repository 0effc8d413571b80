"""Interpret the names of functions and binaries in the output of Callgrind."""

import re
from pathlib import PurePosixPath

import pandas as pd

from cmlib.io.events import cycle_estimate

# File names of interpreters and of their libraries, for example python3.11 and libpython3.11.so.
_INTERPRETER = re.compile(r"(lib)?(python|perl|ruby|lua|php|node|mono|jvm|R\b|bash|dash|gawk|mawk)")


def display_name(function: str, binary: str) -> str:
    """Return a readable name of a function.

    Parameters
    ----------
    function : str
        Name in Callgrind's output. It is an address (``0x…``) for code without a symbol.
    binary : str
        Path of the executable or library, or ``???`` if unknown.

    Returns
    -------
    str
        The unchanged name for code with a symbol. Otherwise ``code without symbols in BINARY``, or
        ``code made at run time`` if the binary is unknown.
    """
    if not function.startswith("0x"):
        return function
    if binary == "???":
        return "code made at run time"
    return f"code without symbols in {PurePosixPath(binary).name}"


def find_interpreter(functions: pd.DataFrame) -> str:
    """Return the name of the interpreter that used at least half of the cycles.

    Parameters
    ----------
    functions : DataFrame
        Counts of simulated events. The index has a level ``object`` with the paths of the binaries.

    Returns
    -------
    str
        File name of the interpreter or its library. For example, ``python3.11`` or ``libpython3.11.so``. Empty if no
        interpreter used half of the cycles.
    """
    cycles = cycle_estimate(functions)
    cycles_by_binary = cycles.groupby(functions.index.get_level_values("object")).sum()
    name = PurePosixPath(cycles_by_binary.idxmax()).name
    has_half_of_cycles = cycles_by_binary.max() >= cycles.sum() / 2
    if has_half_of_cycles and _INTERPRETER.match(name):
        return name
    return ""


def has_python_names(functions: pd.DataFrame) -> bool:
    """Return True if any function has the name of a Python function.

    Python 3.12 and later can give profilers the names of Python functions. For example, ``py::main:app.py``.

    Parameters
    ----------
    functions : DataFrame
        The index has a level ``function``.

    Returns
    -------
    bool
    """
    return bool(functions.index.get_level_values("function").str.startswith("py::").any())
