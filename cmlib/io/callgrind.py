"""Read what Valgrind's Callgrind writes: counts of each part of a run (an interval), in total and by function.

A run is simulated on first- and last-level caches; where a second simulation follows in the text, its last level is
the processor's second one. :func:`read_series` gives counts by interval, :func:`read_functions` those of each
function. CallgrindError for text that is cut off, was changed, or is not Callgrind's.
"""

import itertools
import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import numpy as np
import pandas as pd

from cmlib.errors import CmlibError
from cmlib.io.events import cycle_estimate, second_level_events, simulated_events
from cmlib.io.string_instructions import is_string_instruction

_PROCESS = re.compile(r"^version: ", re.MULTILINE)
_PART = re.compile(
    r"^(?:desc: Timerange: Basic block ([0-9]{1,18}) - ([0-9]{1,18})|totals: ([0-9 ]+))$", re.MULTILINE
)
_CACHE = re.compile(r"^desc: (I1|D1|LL) cache: (.+)$", re.MULTILINE)
_LAST = "LL"
_MOST_EVENTS = 64
_MOST_DIGITS = 18  # of a count, so that it fits into 64 bits
_MOST_FUNCTIONS, _MOST_ROWS = 100_000, 1_000_000  # functions of a program; functions times parts
_NAMED = re.compile(r"(c?)(fn|fl|fi|fe|ob)=(?:\(([0-9]+)\) ?)?(.*)")
_INTERPRETER = re.compile(r"(lib)?(python|perl|ruby|lua|php|node|mono|jvm|R\b|bash|dash|gawk|mawk)")
_THREAD = re.compile(r"^thread: ([0-9]{1,9})$", re.MULTILINE)
REPETITIONS = "repetitions"  # column of the repetitions of string instructions
_COST = frozenset("0123456789+-*")
# What a line such as ``fl=(1) main.c`` names: a function, a file or an object (binary).
_KIND = {"fn": "fn", "fl": "file", "fi": "file", "fe": "file", "ob": "ob"}


class CallgrindError(CmlibError, ValueError):
    """Raised for text that Callgrind did not write, or that is cut off."""


@dataclass(frozen=True)
class Parts:
    """Counts of one or several processes, part by part.

    Attributes
    ----------
    totals : DataFrame of int, shape (n_parts, n_events)
        Columns: Callgrind's short names, such as ``Ir``. Parts of a process in order, processes one after another.
    blocks : ndarray of int, shape (n_parts,)
        Basic blocks executed in each part.
    caches : dict of str to str
        Simulated geometry by I1, D1 and LL, such as ``32768 B, 64 B, 8-way associative``.
    version : str
        Of Callgrind, such as ``3.19.0``.
    """

    totals: pd.DataFrame
    blocks: np.ndarray
    caches: dict
    version: str


def read_parts(text: str) -> Parts:
    """Read the totals of each part of a run, which Callgrind writes at each ``--dump-every-bb`` and at the end.

    Parameters
    ----------
    text : str
        Output of Callgrind for one or several processes; of two simulations, the first is read.

    Returns
    -------
    Parts

    Raises
    ------
    CallgrindError
        If the text is cut off, or was not written by Callgrind.
    """
    return _parts(_simulations(text)[0])


def read_second_level(text: str) -> Parts | None:
    """Read the totals of each part in the second simulation of a run, in which L2 is the last cache.

    Parameters
    ----------
    text : str
        Output of Callgrind.

    Returns
    -------
    Parts or None
        None if there is no second simulation.

    Raises
    ------
    CallgrindError
        If the text is cut off, or was not written by Callgrind.
    """
    second = _simulations(text)[1:]
    return _parts(second[0]) if second else None


def count_threads(text: str) -> int:
    """Count the threads that a process of a run had at a time, at most.

    Valgrind numbers the threads of a process from 1, and writes the numbers only with ``--separate-threads=yes``; the
    result is 1 without them.

    Parameters
    ----------
    text : str
        Output of Callgrind.

    Returns
    -------
    int
    """
    return max(map(int, _THREAD.findall(text)), default=1)


def read_functions(text: str, *, strings_once: bool = False) -> pd.DataFrame:
    """Read what each function itself did in each part, without the functions that it called.

    Parameters
    ----------
    text : str
        Callgrind's output; of two simulations, the first is read.
    strings_once : bool, default False
        Count a repeated string instruction (``rep movsb``) as one instruction each time that it is executed, with
        one load or store for each of its operands, and without branches, as processors do. Callgrind counts an
        instruction, its loads and stores, and a branch for each repetition. This needs
        ``--dump-instr=yes --collect-jumps=yes``, and reads the program's files: not for texts of strangers.

    Returns
    -------
    DataFrame of int
        Index: ``part`` (from 0), ``function``, ``file`` (as the debug information names it, ``???`` without) and
        ``object`` (path of the binary); columns: Callgrind's short names, such as ``Ir``. The rows of a part add up
        to its totals. With `strings_once` they do not, and a further column ``repetitions`` has the number of
        repetitions of string instructions.

    Raises
    ------
    CallgrindError
        If the text is cut off, was changed, was not written by Callgrind, or has more than 100,000 functions.
    """
    names = list(read_parts(text).totals.columns)
    costs_by_place = {}
    loops = {}
    first = 0
    for process in _simulations(text)[0]:
        first = _read_process(process, first, len(names), costs_by_place, loops)
    if not 0 < len({place[1:] for place in costs_by_place}) <= _MOST_FUNCTIONS:
        raise CallgrindError(
            f"Callgrind's output has the costs of no function, or of more than {_MOST_FUNCTIONS:,}: the file was cut "
            "or changed."
        )
    if any(not 0 <= cost < 10**_MOST_DIGITS for costs in costs_by_place.values() for cost in costs):
        raise CallgrindError(
            "A function's costs in Callgrind's output are negative, or too large for a counter: the file was changed."
        )
    index = pd.MultiIndex.from_tuples(costs_by_place, names=["part", "function", "file", "object"])
    functions = pd.DataFrame(list(costs_by_place.values()), index, names)
    return _count_strings_once(functions, loops) if strings_once else functions


def _count_strings_once(functions, loops):
    """Return the counts of functions without the repetitions of string instructions.

    `functions` is the DataFrame of :func:`read_functions`, `loops` the instructions that jump to themselves, as
    :func:`_read_process` collects them. The result has the number of repetitions as its last column.
    """
    rows = {key: row for row, key in enumerate(functions.index)}
    counts = {name: functions[name].to_numpy(copy=True) for name in functions}
    counts[REPETITIONS] = np.zeros(len(functions), dtype=np.int64)
    known = {}
    for (key, address), (repetitions, costs) in loops.items():
        place = key[3], address
        if place not in known:
            known[place] = is_string_instruction(*place)
        if not known[place]:
            continue
        row = rows[key]
        cost = dict(zip(functions, costs, strict=True))
        executions = cost["Ir"] - repetitions
        counts["Ir"][row] -= repetitions
        for access in ("Dr", "Dw"):
            if access in cost:
                counts[access][row] -= cost[access] - cost[access] * executions // repetitions
        for branch in ("Bc", "Bcm"):
            if branch in cost:
                counts[branch][row] -= cost[branch]
        counts[REPETITIONS][row] += repetitions
    return pd.DataFrame(counts, functions.index)


def display_name(function: str, binary: str) -> str:
    """Name a function for people.

    Parameters
    ----------
    function : str
        Its name as Callgrind prints it: an address (``0x…``) for code without a symbol.
    binary : str
        Path of its binary; ``???`` if it is not known.

    Returns
    -------
    str
        The name; or ``code without symbols in BINARY``, or ``code made at run time``.
    """
    if function.startswith("0x") and binary == "???":
        return "code made at run time"
    if function.startswith("0x"):
        return f"code without symbols in {PurePosixPath(binary).name}"
    return function


def find_interpreter(functions: pd.DataFrame) -> str:
    """Name the interpreter that has most of the estimated cycles, such as ``python3.11``.

    Parameters
    ----------
    functions : DataFrame
        Simulated events (``sim.…``) by function; the index has a level ``object``.

    Returns
    -------
    str
        "" if no interpreter has half of the cycles.
    """
    cycles = cycle_estimate(functions)
    by_object = cycles.groupby(functions.index.get_level_values("object")).sum()
    name = PurePosixPath(by_object.idxmax()).name
    return name if _INTERPRETER.match(name) and by_object.max() >= cycles.sum() / 2 else ""


def names_python(functions: pd.DataFrame) -> bool:
    """Return whether functions have names of a Python program, as from Python 3.12 on.

    Parameters
    ----------
    functions : DataFrame
        The index has a level ``function``.

    Returns
    -------
    bool
    """
    return bool(functions.index.get_level_values("function").str.startswith("py::").any())


def _parts(processes):
    """Read the totals by part from the texts of some processes; raise CallgrindError if they are cut off or changed."""
    names = _header(processes[0], "events").split()
    if len(names) > _MOST_EVENTS or len(set(names)) < len(names):
        raise CallgrindError(f"Callgrind's output names {len(names)} events, or one twice.")
    rows, blocks = [], []
    for begin, end, totals in (match for process in processes for match in _PART.findall(process)):
        if totals:
            numbers = totals.split()
            if len(numbers) > len(names) or max(map(len, numbers), default=0) > _MOST_DIGITS:
                raise CallgrindError(
                    f"A part of Callgrind's output has {len(numbers)} totals of {len(names)} events, or one of more "
                    f"than {_MOST_DIGITS} digits: the file was cut or changed."
                )
            costs = list(map(int, numbers))
            rows.append(costs + [0] * (len(names) - len(costs)))  # zeros at a row's end are left out
        else:
            blocks.append(int(end) - int(begin))
    if not rows or len(rows) != len(blocks):
        raise CallgrindError(
            f"Callgrind's output is cut off: {len(blocks)} parts begin, {len(rows)} have totals. Did the program "
            "run under Callgrind at all?"
        )
    creator = re.search(r"^creator: callgrind-(\S+)", processes[0], re.MULTILINE)
    caches = dict(_CACHE.findall(processes[0]))
    return Parts(pd.DataFrame(rows, columns=names), np.array(blocks), caches, creator[1] if creator else "")


def _simulations(text):
    """Split a text into simulations, each a list of its processes' texts; they differ in the size of the last cache.

    CallgrindError if the text does not look like Callgrind's.
    """
    starts = [match.start() for match in _PROCESS.finditer(text)]
    if not starts:
        raise CallgrindError(f"{text[:60]!r} does not begin as output of Callgrind does, with `version: 1`.")
    grouped = {}
    for start, end in itertools.pairwise([*starts, len(text)]):
        process = text[start:end]
        grouped.setdefault(dict(_CACHE.findall(process)).get(_LAST), []).append(process)
    return list(grouped.values())


@dataclass
class _Instruction:
    """An instruction at an `address` of the function `key`: lists of its costs, and how often it jumped to itself."""

    key: tuple | None
    address: int
    costs: list = field(default_factory=list)
    repetitions: int = 0

    def add_to(self, loops, n_events):
        """Add repetitions and costs to `loops`, which maps key and address to both, if it jumped to itself."""
        if not self.repetitions:
            return
        repetitions, costs = loops.get((self.key, self.address), (0, [0] * n_events))
        for line_costs in self.costs:
            for k, cost in enumerate(line_costs):
                costs[k] += cost
        loops[self.key, self.address] = repetitions + self.repetitions, costs


def _read_process(text, part, n_events, by_place, loops):
    """Add the costs of one process to `by_place`, and its instructions that jump to themselves to `loops`.

    `by_place` maps (part, function, file, object) to a list of costs. `loops` maps such a key and an address to the
    number of jumps from the instruction there to itself, and a list of that instruction's costs. `part` is the
    number of the first part; returns that of the part behind the last.
    """
    positions = _header(text, "positions").split()
    n_positions, with_address = len(positions), positions[0] == "instr"
    known = {"fn": {}, "file": {}, "ob": {}}
    place = {"fn": "", "file": "", "ob": ""}
    costs, inclusive = None, False
    key, address, jump = None, 0, None
    instruction = _Instruction(None, 0)
    line = ""
    try:
        for line in text.splitlines():
            if line[:1] in _COST and line:
                if with_address:
                    address = _moved(address, line.split(maxsplit=1)[0])
                    if (instruction.key, instruction.address) != (key, address):
                        instruction.add_to(loops, n_events)
                        instruction = _Instruction(key, address)
                    if jump is not None and jump[1] == address:
                        instruction.repetitions += jump[0]
                    jump = None
                if not inclusive:
                    line_costs = list(map(int, line.split()[n_positions:]))
                    if with_address:
                        instruction.costs.append(line_costs)
                    for k, cost in enumerate(line_costs):
                        costs[k] += cost
                inclusive = False
            elif line.startswith("calls="):
                inclusive = True
            elif with_address and line.startswith(("jump=", "jcnd=")):
                count, target = line[5:].split()[:2]
                jump = int(count.partition("/")[0]), _moved(address, target)
            elif named := _NAMED.fullmatch(line):
                called, tag, number, name = named.groups()
                kind = _KIND[tag]
                name = known[kind].setdefault(number, name) if number else name
                if called or tag in ("fi", "fe"):
                    continue  # where a call goes, or code that was inlined: the function stays
                place[kind] = name
                if kind == "fn":
                    key = part, name, place["file"], place["ob"]
                    costs = by_place.setdefault(key, [0] * n_events)
                    if len(by_place) > _MOST_ROWS:
                        raise CallgrindError(
                            f"Callgrind's output names functions {_MOST_ROWS:,} times, which is the most that is read. "
                            "Simulate with more basic blocks per interval (--every-blocks), or a shorter run."
                        )
            elif line.startswith("totals:"):
                part += 1
        instruction.add_to(loops, n_events)
    except CallgrindError:
        raise
    except (ValueError, TypeError, IndexError) as error:  # a cost before any function, too many, or no number
        raise CallgrindError(
            f"Callgrind's output has a line of costs that can't be read: {line[:60]!r}."
        ) from error
    return part


def _moved(address, position):
    """Compute the next address: Callgrind writes it whole, as ``*`` if it is the same, or as a distance."""
    if position == "*":
        return address
    return address + int(position) if position[0] in "+-" else int(position, 0)


def _header(text, key):
    """Find the value of a line ``KEY: VALUE``; raise CallgrindError if there is none."""
    match = re.search(rf"^{key}: (.+)$", text, re.MULTILINE)
    if match is None:
        raise CallgrindError(f"Callgrind's output has no line `{key}:`.")
    return match[1]


# A simulation has no clock: in the index `time_s` of its counts, a second stands for so many instructions.
INSTRUCTIONS_PER_SECOND = 1e9
# Largest difference (share) in instructions of two simulations that count as the same.
REPEATS = 1e-4


def read_series(text: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the counts of a simulated run by interval.

    Parameters
    ----------
    text : str
        Output of Callgrind.

    Returns
    -------
    counts, running : DataFrame, shape (n_intervals, 13 or 16)
        Counts (float) under the names of :func:`cmlib.io.events.simulated_events`, such as ``sim.instructions``, and,
        where a second simulation follows, of :func:`cmlib.io.events.second_level_events`; running shares are 1. No
        clock runs in a simulation: the index ``time_s`` is the number of instructions executed until the interval's
        end [10⁹]. Parts in which no instruction was executed are left out.

    Raises
    ------
    CallgrindError
        If the text is cut off or not Callgrind's, an event was not simulated, or two simulations differ by more than
        0.01 % in instructions.
    """
    counts, second = as_events(read_parts(text).totals), read_second_level(text)
    if second is not None:
        counts = join_levels(counts, as_events(second.totals))
    counts = _by_progress(counts[counts["sim.instructions"] > 0])
    return counts, pd.DataFrame(1.0, counts.index, counts.columns)


def _by_progress(counts):
    """Index counts by the instructions executed until the end of each part [10⁹]."""
    ends = counts["sim.instructions"].cumsum().to_numpy() / INSTRUCTIONS_PER_SECOND
    return counts.set_axis(pd.Index(ends, name="time_s"), axis=0)


def join_levels(last: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Join the counts of two simulations to counts of three levels of caches.

    Parameters
    ----------
    last, second : DataFrame
        One row per interval; columns of :func:`cmlib.io.events.simulated_events`, such as ``sim.instructions``. The
        last cache is LL in `last` and L2 in `second`.

    Returns
    -------
    DataFrame
        `last` with the further columns ``sim.l2_instruction_misses``, ``sim.l2_load_misses`` and
        ``sim.l2_store_misses``, interpolated at equal shares of instructions.

    Raises
    ------
    CallgrindError
        If the two differ by more than 0.01 % in instructions.
    """
    share = difference(last, second)
    if share > REPEATS:
        raise CallgrindError(
            f"The two simulations did not execute the same: their instructions differ by {100 * share:.2g} %."
        )
    misses = second[_lowest()]
    if share:
        misses_so_far = misses.cumsum()
        interpolated = [
            np.interp(_progress(last), [0.0, *_progress(second)], [0.0, *misses_so_far[event]])
            for event in misses
        ]
        misses = pd.DataFrame(np.diff(interpolated, prepend=0.0).T, last.index)
    return pd.concat([last, misses.set_axis(second_level_events().index, axis=1)], axis=1)


def _progress(counts: pd.DataFrame) -> pd.Series:
    """Return the share of all instructions that was executed until the end of each interval."""
    instructions = counts["sim.instructions"].cumsum()
    return instructions / instructions.iloc[-1]


def difference(last: pd.DataFrame, second: pd.DataFrame) -> float:
    """Measure how far two simulations differ, as a share of instructions.

    Parameters
    ----------
    last, second : DataFrame
        Counts by simulated event; the last cache is LL in `last` and L2 in `second`.

    Returns
    -------
    float
        0.0 if everything is equal that does not depend on the last cache; above 0 otherwise.
    """
    columns = last.columns.difference(_lowest())
    if np.array_equal(last[columns], second[columns]):
        return 0.0
    first, other = (run["sim.instructions"].sum() for run in (last, second))
    return max(abs(first - other) / first, np.finfo(float).eps)


def as_events(costs: pd.DataFrame) -> pd.DataFrame:
    """Rename Callgrind's costs to simulated events, such as ``Dr`` to ``sim.loads``.

    Parameters
    ----------
    costs : DataFrame
        Columns: Callgrind's short names; others are left out.

    Returns
    -------
    DataFrame of float
        The same index.

    Raises
    ------
    CallgrindError
        If an event was not simulated.
    """
    names = simulated_events()["callgrind"]
    if lacking := [short for short in names if short not in costs]:
        raise CallgrindError(
            f"Callgrind did not simulate {', '.join(lacking)}: run it with --cache-sim=yes --branch-sim=yes."
        )
    return costs[list(names)].set_axis(list(names.index), axis=1).astype(np.float64)


def _lowest():
    """Return the names of the simulated events that depend on the last cache."""
    names = simulated_events()["callgrind"]
    return [names.index[names == short][0] for short in second_level_events()["callgrind"]]


def read_intervals(text: str, most: int = 300) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the counts of a simulated run by interval, in total and by function.

    Parameters
    ----------
    text : str
        Output of Callgrind.
    most : int, default 300
        Most intervals; each has equally many parts of the run, the last may have fewer.

    Returns
    -------
    counts : DataFrame of float, shape (n_intervals, n_events)
        Index: ``time_s``, progress [10⁹ instructions].
    functions : DataFrame of float
        The same columns; index: interval (from 0), function, file and object.

    Raises
    ------
    CallgrindError
        If the text is damaged.
    """
    totals = as_events(read_parts(text).totals)
    executed = (totals["sim.instructions"] > 0).to_numpy()
    if not executed.any():
        raise CallgrindError("no part executed an instruction: the file was cut or changed.")
    # A part in which nothing was executed belongs to the one before.
    interval = np.maximum(executed.cumsum() - 1, 0) // -(-executed.sum() // most)
    counts = _by_progress(totals.groupby(interval).sum())
    functions = as_events(read_functions(text))
    names = ["interval", "function", "file", "object"]
    if len(functions) and functions.index.get_level_values("part").max() >= len(interval):
        raise CallgrindError(
            "Functions in Callgrind's output belong to more parts than have totals: the file was cut or changed."
        )
    placed = functions.reset_index().assign(interval=lambda frame: interval[frame["part"]])
    return counts, placed.drop(columns="part").groupby(names).sum()
