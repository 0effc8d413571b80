"""Read the total counts of each part of a run from the output of Callgrind.

:func:`read_parts` is the main function. A part is the time between two dumps of Callgrind. Callgrind simulates only two
levels of caches: the first level, and the last level (LL). To count the misses of three levels, a run is simulated
twice. LL has the size of the processor's last-level cache in the first simulation, and the size of its second-level
cache in the second simulation. A text contains the output of both, and of all processes of the run.
"""

import itertools
import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cmlib.errors import CmlibError

_PROCESS_START = re.compile(r"^version: ", re.MULTILINE)
_PART = re.compile(
    r"^(?:desc: Timerange: Basic block ([0-9]{1,18}) - ([0-9]{1,18})|totals: ([0-9 ]+))$", re.MULTILINE
)
_CACHE = re.compile(r"^desc: (I1|D1|LL) cache: (.+)$", re.MULTILINE)
_CREATOR = re.compile(r"^creator: callgrind-(\S+)", re.MULTILINE)
_THREAD = re.compile(r"^thread: ([0-9]{1,9})$", re.MULTILINE)
_MOST_EVENTS = 64
MOST_DIGITS = 18  # of a count, so that it fits into 64 bits


class CallgrindError(CmlibError, ValueError):
    """Raised for text that is damaged or was not written by Callgrind."""


@dataclass(frozen=True)
class Parts:
    """Total counts of each part of a run.

    Attributes
    ----------
    totals : DataFrame of int, shape (n_parts, n_events)
        Columns: Callgrind's short names. For example, ``Ir`` counts instructions. The rows are sorted by process, then
        by time.
    blocks : ndarray of int, shape (n_parts,)
        Number of basic blocks executed in each part.
    caches : dict of str to str
        Description of each simulated cache. The keys are I1, D1 and LL. For example,
        ``32768 B, 64 B, 8-way associative``.
    version : str
        Version of Callgrind. For example, ``3.19.0``.
    """

    totals: pd.DataFrame
    blocks: np.ndarray
    caches: dict
    version: str


def read_parts(text: str) -> Parts:
    """Read the total counts of each part of a run.

    A second simulation in the text is ignored.

    Parameters
    ----------
    text : str
        Output of Callgrind.

    Returns
    -------
    Parts

    Raises
    ------
    CallgrindError
        If the text is cut off or was not written by Callgrind.
    """
    first_simulation = split_simulations(text)[0]
    return _read_totals(first_simulation)


def read_second_level(text: str) -> Parts | None:
    """Read the total counts of each part from the second simulation of a run.

    Parameters
    ----------
    text : str
        Output of Callgrind.

    Returns
    -------
    Parts or None
        None if the text has only one simulation.

    Raises
    ------
    CallgrindError
        If the text is cut off or was not written by Callgrind.
    """
    simulations = split_simulations(text)
    if len(simulations) == 1:
        return None
    return _read_totals(simulations[1])


def count_threads(text: str) -> int:
    """Return the largest number of threads that ran at the same time.

    Callgrind writes the numbers of threads only with ``--separate-threads=yes``.

    Parameters
    ----------
    text : str
        Output of Callgrind.

    Returns
    -------
    int
        1 if the text has no thread numbers.
    """
    # Valgrind numbers threads from 1, and reuses the numbers of finished threads.
    return max(map(int, _THREAD.findall(text)), default=1)


def split_simulations(text: str) -> list[list[str]]:
    """Split a text into simulations, and each simulation into processes.

    Simulations differ in the size of the last-level cache.

    Parameters
    ----------
    text : str
        Output of Callgrind.

    Returns
    -------
    list of list of str
        Text of each process of each simulation.

    Raises
    ------
    CallgrindError
        If the text was not written by Callgrind.
    """
    starts = [match.start() for match in _PROCESS_START.finditer(text)]
    if not starts:
        raise CallgrindError(
            f"the text was not written by Callgrind: it has no line `version: 1`, and begins with {text[:60]!r}."
        )
    processes_by_last_cache: dict[str | None, list[str]] = {}
    for start, end in itertools.pairwise([*starts, len(text)]):
        process = text[start:end]
        last_cache = _read_caches(process).get("LL")
        processes_by_last_cache.setdefault(last_cache, []).append(process)
    return list(processes_by_last_cache.values())


def read_header(text: str, key: str) -> str:
    """Return the value of the first line ``KEY: VALUE``.

    Parameters
    ----------
    text : str
        Output of Callgrind for one process.
    key : str
        For example, ``events``.

    Returns
    -------
    str

    Raises
    ------
    CallgrindError
        If the text has no such line.
    """
    match = re.search(rf"^{key}: (.+)$", text, re.MULTILINE)
    if match is None:
        raise CallgrindError(f"Callgrind's output has no line `{key}:`.")
    return match[1]


def _read_totals(processes: list[str]) -> Parts:
    """Read the total counts of all processes of a simulation."""
    first_process = processes[0]
    events = read_header(first_process, "events").split()
    if len(events) > _MOST_EVENTS:
        raise CallgrindError(
            f"Callgrind's output has {len(events)} events; at most {_MOST_EVENTS} are supported."
        )
    if len(set(events)) < len(events):
        raise CallgrindError("Callgrind's output names an event twice: the file was changed.")
    rows = []
    blocks = []
    for process in processes:
        for first_block, last_block, totals in _PART.findall(process):
            if totals:
                rows.append(_parse_totals(totals, len(events)))
            else:
                blocks.append(int(last_block) - int(first_block))
    if not rows or len(rows) != len(blocks):
        raise CallgrindError(
            f"Callgrind's output is cut off: {len(blocks)} parts begin, {len(rows)} have totals. Did the program "
            "run under Callgrind at all?"
        )
    creator = _CREATOR.search(first_process)
    version = creator[1] if creator else ""
    return Parts(pd.DataFrame(rows, columns=events), np.array(blocks), _read_caches(first_process), version)


def _parse_totals(totals: str, n_events: int) -> list[int]:
    """Parse the numbers in a line ``totals:``.

    Missing numbers at the end are zeros.
    """
    numbers = totals.split()
    if max(map(len, numbers), default=0) > MOST_DIGITS:
        raise CallgrindError(
            f"A part of Callgrind's output has a total with more than {MOST_DIGITS} digits: the file was changed."
        )
    if len(numbers) > n_events:
        raise CallgrindError(
            f"A part of Callgrind's output has {len(numbers)} totals for {n_events} events: the file was changed."
        )
    # Callgrind omits zeros at the end of a line.
    n_missing = n_events - len(numbers)
    return [int(number) for number in numbers] + [0] * n_missing


def _read_caches(process: str) -> dict[str, str]:
    """Read the descriptions of the simulated caches."""
    return dict(_CACHE.findall(process))
