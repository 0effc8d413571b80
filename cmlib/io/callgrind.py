"""Read the output of Valgrind's Callgrind: counts of each part of a run, in total and by function.

A part is the time between two dumps of Callgrind. Callgrind simulates two levels of caches: the first and the last. A
text may hold two simulations of the same run. The last level of the first simulation is the processor's last-level
cache, and that of the second simulation is the processor's second-level cache.

:func:`read_series` returns counts by interval, :func:`read_functions` counts by function. CallgrindError is raised for
text that is cut off, was changed, or is not Callgrind's.
"""

import itertools
import math
import re
from dataclasses import dataclass
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
_MOST_FUNCTIONS = 100_000
_MOST_ROWS = 1_000_000  # pairs of a part and a function
_NAMED = re.compile(r"(c?)(fn|fl|fi|fe|ob)=(?:\(([0-9]+)\) ?)?(.*)")
_INTERPRETER = re.compile(r"(lib)?(python|perl|ruby|lua|php|node|mono|jvm|R\b|bash|dash|gawk|mawk)")
_THREAD = re.compile(r"^thread: ([0-9]{1,9})$", re.MULTILINE)
REPETITIONS = "repetitions"  # column of the repetitions of string instructions
_COST_LINE_STARTS = frozenset("0123456789+-*")
# A line such as ``fl=(1) main.c`` names a function, a file or an object (binary).
_KIND_BY_TAG = {"fn": "function", "fl": "file", "fi": "file", "fe": "file", "ob": "object"}


# Part (from 0), function, file and object.
_FunctionKey = tuple[int, str, str, str]
_CostsByFunction = dict[_FunctionKey, list[int]]
# Of each instruction that jumps to itself, by function and address: number of the jumps, and costs.
_SelfJumps = dict[tuple[_FunctionKey, int], tuple[int, list[int]]]


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
        Output of Callgrind for one or several processes. Of two simulations, the first is read.

    Returns
    -------
    Parts

    Raises
    ------
    CallgrindError
        If the text is cut off, or was not written by Callgrind.
    """
    return _read_totals(_split_simulations(text)[0])


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
    simulations = _split_simulations(text)
    return _read_totals(simulations[1]) if len(simulations) > 1 else None


def count_threads(text: str) -> int:
    """Return the largest number of threads that a process of a run had at the same time.

    Valgrind numbers the threads of a process from 1. It writes the numbers only with ``--separate-threads=yes``.
    Without them, the result is 1.

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
    """Read the counts of each function in each part, without the functions that it called.

    Parameters
    ----------
    text : str
        Callgrind's output. Of two simulations, the first is read.
    strings_once : bool, default False
        Count repeated string instructions (``rep movsb``) as processors do: one instruction per execution, one load or
        store per operand, and no branch. Callgrind counts an instruction, its loads and stores, and a branch for each
        repetition. This option needs a text of ``--dump-instr=yes --collect-jumps=yes``. It opens the binaries that
        the text names, so use it only on texts that you trust.

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
    costs_by_function: _CostsByFunction = {}
    self_jumps: _SelfJumps = {}
    n_parts = 0
    for process in _split_simulations(text)[0]:
        reader = _ProcessReader(process, n_parts, len(names), costs_by_function, self_jumps)
        n_parts = reader.read()
    n_functions = len({(function, file, binary) for _, function, file, binary in costs_by_function})
    if not 0 < n_functions <= _MOST_FUNCTIONS:
        raise CallgrindError(
            f"Callgrind's output has the costs of no function, or of more than {_MOST_FUNCTIONS:,}: the file was cut "
            "or changed."
        )
    if any(not 0 <= cost < 10**_MOST_DIGITS for costs in costs_by_function.values() for cost in costs):
        raise CallgrindError(
            "A function's costs in Callgrind's output are negative, or too large for a counter: the file was changed."
        )
    index = pd.MultiIndex.from_tuples(costs_by_function, names=["part", "function", "file", "object"])
    functions = pd.DataFrame(list(costs_by_function.values()), index, names)
    return _count_strings_once(functions, self_jumps) if strings_once else functions


def _count_strings_once(functions: pd.DataFrame, self_jumps: _SelfJumps) -> pd.DataFrame:
    """Remove the repetitions of string instructions from the counts of :func:`read_functions`.

    Callgrind executes ``rep movsb`` as a loop that jumps to itself: r repetitions in n executions cost r + n
    instructions, and each repetition has the loads, stores and the branch of one pass of the loop. Of these counts,
    n instructions remain, n / r of the loads and stores, and no branch. The result has the number of repetitions as
    its last column.
    """
    row_by_key = {key: row for row, key in enumerate(functions.index)}
    counts = {name: functions[name].to_numpy(copy=True) for name in functions}
    counts[REPETITIONS] = np.zeros(len(functions), dtype=np.int64)
    is_string_by_location = {}
    for (key, address), (repetitions, costs) in self_jumps.items():
        _, _, _, binary = key
        location = binary, address
        if location not in is_string_by_location:
            is_string_by_location[location] = is_string_instruction(binary, address)
        if not is_string_by_location[location]:
            continue
        row = row_by_key[key]
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
    """Return the name of the interpreter with at least half of the estimated cycles, such as ``python3.11``.

    Parameters
    ----------
    functions : DataFrame
        Simulated events (``sim.…``) by function; the index has a level ``object``.

    Returns
    -------
    str
        File name of the interpreter's binary; "" if no interpreter has half of the cycles.
    """
    cycles = cycle_estimate(functions)
    by_object = cycles.groupby(functions.index.get_level_values("object")).sum()
    name = PurePosixPath(by_object.idxmax()).name
    return name if _INTERPRETER.match(name) and by_object.max() >= cycles.sum() / 2 else ""


def has_python_names(functions: pd.DataFrame) -> bool:
    """Return whether functions of a Python program appear by name.

    From version 3.12 on, Python can give its functions names for profilers, such as ``py::main:app.py``.

    Parameters
    ----------
    functions : DataFrame
        The index has a level ``function``.

    Returns
    -------
    bool
    """
    return bool(functions.index.get_level_values("function").str.startswith("py::").any())


def _read_totals(processes: list[str]) -> Parts:
    """Read the totals by part from the texts of some processes; raise CallgrindError if they are cut off or changed."""
    names = _header(processes[0], "events").split()
    if len(names) > _MOST_EVENTS or len(set(names)) < len(names):
        raise CallgrindError(f"Callgrind's output names {len(names)} events, or one twice.")
    rows = []
    blocks = []
    matches = [match for process in processes for match in _PART.findall(process)]
    for first_block, last_block, totals in matches:
        if totals:
            numbers = totals.split()
            if len(numbers) > len(names) or max(map(len, numbers), default=0) > _MOST_DIGITS:
                raise CallgrindError(
                    f"A part of Callgrind's output has {len(numbers)} totals for {len(names)} events, or a total with "
                    f"more than {_MOST_DIGITS} digits: the file was cut or changed."
                )
            costs = [int(number) for number in numbers]
            rows.append(costs + [0] * (len(names) - len(costs)))  # zeros at a row's end are left out
        else:
            blocks.append(int(last_block) - int(first_block))
    if not rows or len(rows) != len(blocks):
        raise CallgrindError(
            f"Callgrind's output is cut off: {len(blocks)} parts begin, {len(rows)} have totals. Did the program "
            "run under Callgrind at all?"
        )
    creator = re.search(r"^creator: callgrind-(\S+)", processes[0], re.MULTILINE)
    caches = dict(_CACHE.findall(processes[0]))
    return Parts(pd.DataFrame(rows, columns=names), np.array(blocks), caches, creator[1] if creator else "")


def _split_simulations(text: str) -> list[list[str]]:
    """Split a text into simulations, each a list with the text of each process.

    Processes with the same size of the last cache belong to one simulation. CallgrindError if the text does not look
    like Callgrind's.
    """
    starts = [match.start() for match in _PROCESS.finditer(text)]
    if not starts:
        raise CallgrindError(f"{text[:60]!r} does not begin as output of Callgrind does, with `version: 1`.")
    processes_by_last_cache: dict[str | None, list[str]] = {}
    for start, end in itertools.pairwise([*starts, len(text)]):
        process = text[start:end]
        last_cache = dict(_CACHE.findall(process)).get(_LAST)
        processes_by_last_cache.setdefault(last_cache, []).append(process)
    return list(processes_by_last_cache.values())


class _Instruction:
    """The instruction at an address of a function, while lines about it are read.

    Attributes
    ----------
    key : tuple or None
        Part, function, file and object.
    address : int
    costs : list of list of int
        Costs of each line about the instruction.
    repetitions : int
        How often the instruction jumped to itself.
    """

    def __init__(self, key: _FunctionKey | None, address: int):
        self.key = key
        self.address = address
        self.costs: list[list[int]] = []
        self.repetitions = 0

    def add_to(self, self_jumps: _SelfJumps, n_events: int) -> None:
        """Add repetitions and costs to `self_jumps` if the instruction jumped to itself."""
        if not self.repetitions or self.key is None:
            return
        repetitions, costs = self_jumps.get((self.key, self.address), (0, [0] * n_events))
        for line_costs in self.costs:
            for event_number, cost in enumerate(line_costs):
                costs[event_number] += cost
        self_jumps[self.key, self.address] = repetitions + self.repetitions, costs


class _ProcessReader:
    """Read the costs of functions from the text of one process, line by line.

    The lines of a text, with their meaning::

        fl=(1) main.c          the file of the lines below; a name is written once, later only its number: fl=(1)
        fn=(2) main            the function of the lines below
        0x401136 16 400 2      costs: the address (only with --dump-instr=yes), the source line, and a count per event
        jump=7 0x401136 16     seven jumps to the address 0x401136 in source line 16,
        0x401136 16            from this address: here, the instruction jumped to itself
        cfn=(3) compute        a call: the function called,
        calls=1 0x401200 50    the number of calls,
        0x40113a 17 90000 12   and the costs of the call, which belong to the function called

    Costs are added to `costs_by_function`; costs of instructions that jump to themselves also to `self_jumps`.

    Parameters
    ----------
    text : str
    first_part : int
        Number of the text's first part.
    n_events : int
    costs_by_function : dict
        List of costs by part, function, file and object.
    self_jumps : dict
        Number of jumps to itself, and list of costs, by such a key and the address of the instruction.
    """

    def __init__(
        self,
        text: str,
        first_part: int,
        n_events: int,
        costs_by_function: _CostsByFunction,
        self_jumps: _SelfJumps,
    ):
        positions = _header(text, "positions").split()
        self._text = text
        self._n_positions = len(positions)
        self._has_addresses = positions[0] == "instr"
        self._n_events = n_events
        self._costs_by_function = costs_by_function
        self._self_jumps = self_jumps
        self._name_by_number: dict[str, dict[str, str]] = {"function": {}, "file": {}, "object": {}}
        # State: where the reader is, and what it expects.
        self._part = first_part
        self._current_name = {"function": "", "file": "", "object": ""}
        self._key: _FunctionKey | None = None
        self._function_costs: list[int] | None = None
        self._address = 0
        self._instruction = _Instruction(None, 0)
        self._jump: tuple[int, int] | None = None  # number of jumps, and their target
        self._is_cost_of_call = False

    def read(self) -> int:
        """Read the text; return the number that the next part gets."""
        line = ""
        try:
            for line in self._text.splitlines():
                self._read_line(line)
        except CallgrindError:
            raise
        # A line has a cost before any function, too many costs, or a cost that is not a number.
        except (ValueError, TypeError, IndexError) as error:
            raise CallgrindError(
                f"Callgrind's output has a line of costs that can't be read: {line[:60]!r}."
            ) from error
        self._instruction.add_to(self._self_jumps, self._n_events)
        return self._part

    def _read_line(self, line: str) -> None:
        if line and line[0] in _COST_LINE_STARTS:
            if self._has_addresses:
                self._move_to_instruction(line)
            if not self._is_cost_of_call:
                self._add_costs(line)
            self._is_cost_of_call = False
        elif line.startswith("calls="):
            self._is_cost_of_call = True
        elif self._has_addresses and line.startswith(("jump=", "jcnd=")):
            count, target = line[5:].split()[:2]  # the count of `jcnd` is JUMPS/EXECUTIONS
            self._jump = int(count.partition("/")[0]), _next_address(self._address, target)
        elif match := _NAMED.fullmatch(line):
            self._read_name(*match.groups())
        elif line.startswith("totals:"):
            self._part += 1

    def _move_to_instruction(self, line: str) -> None:
        """Read the address in a line of costs, and count the jumps from it that lead to the same address."""
        self._address = _next_address(self._address, line.split(maxsplit=1)[0])
        if (self._instruction.key, self._instruction.address) != (self._key, self._address):
            self._instruction.add_to(self._self_jumps, self._n_events)
            self._instruction = _Instruction(self._key, self._address)
        if self._jump is not None:
            n_jumps, target = self._jump
            if target == self._address:
                self._instruction.repetitions += n_jumps
        self._jump = None

    def _add_costs(self, line: str) -> None:
        """Add the costs in a line to the current function and instruction."""
        line_costs = [int(number) for number in line.split()[self._n_positions :]]
        if self._has_addresses:
            self._instruction.costs.append(line_costs)
        for event_number, cost in enumerate(line_costs):
            self._function_costs[event_number] += cost  # type: ignore[index]  # None: TypeError, which read() explains

    def _read_name(self, call_prefix: str, tag: str, number: str | None, name: str) -> None:
        """Read a name; that of a function begins the lines of its costs."""
        kind = _KIND_BY_TAG[tag]
        if number:
            name = self._name_by_number[kind].setdefault(number, name)
        # The current function stays the same for the name of a called function and for the file of inlined code.
        if call_prefix or tag in ("fi", "fe"):
            return
        self._current_name[kind] = name
        if kind != "function":
            return
        self._key = self._part, name, self._current_name["file"], self._current_name["object"]
        self._function_costs = self._costs_by_function.setdefault(self._key, [0] * self._n_events)
        if len(self._costs_by_function) > _MOST_ROWS:
            raise CallgrindError(
                f"Callgrind's output names functions {_MOST_ROWS:,} times, which is the most that is read. "
                "Simulate with more basic blocks per interval (--every-blocks), or a shorter run."
            )


def _next_address(address: int, position: str) -> int:
    """Return the address that Callgrind writes whole, as ``*`` if it is the same as `address`, or as a distance."""
    if position == "*":
        return address
    if position[0] in "+-":
        return address + int(position)
    return int(position, 0)


def _header(text, key):
    """Find the value of a line ``KEY: VALUE``; raise CallgrindError if there is none."""
    match = re.search(rf"^{key}: (.+)$", text, re.MULTILINE)
    if match is None:
        raise CallgrindError(f"Callgrind's output has no line `{key}:`.")
    return match[1]


# A simulation has no clock. Its index `time_s` takes 10⁹ instructions for a second.
INSTRUCTIONS_PER_SECOND = 1e9
# Two simulations are taken for the same run if their instructions differ by this share at most.
LARGEST_DIFFERENCE = 1e-4


def read_series(text: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the counts of a simulated run by interval.

    Parameters
    ----------
    text : str
        Output of Callgrind.

    Returns
    -------
    counts, running : DataFrame, shape (n_intervals, 13 or 16)
        Counts (float) of the events in :func:`cmlib.io.events.simulated_events`, such as ``sim.instructions``. If the
        text has a second simulation, also those in :func:`cmlib.io.events.second_level_events`. Running shares are 1.
        A simulation has no clock: the index ``time_s`` is the number of instructions executed until the interval's end
        [10⁹]. Parts in which no instruction was executed are left out.

    Raises
    ------
    CallgrindError
        If the text is cut off or not Callgrind's, an event was not simulated, or two simulations differ by more than
        0.01 % in instructions.
    """
    counts = as_events(read_parts(text).totals)
    second = read_second_level(text)
    if second is not None:
        counts = join_levels(counts, as_events(second.totals))
    counts = _index_by_progress(counts[counts["sim.instructions"] > 0])
    return counts, pd.DataFrame(1.0, counts.index, counts.columns)


def _index_by_progress(counts):
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
    if share > LARGEST_DIFFERENCE:
        raise CallgrindError(
            f"The two simulations did not execute the same: their instructions differ by {100 * share:.2g} %."
        )
    misses = second[_find_last_level_events()]
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
    """Measure how much two simulations of one program differ.

    Counts that depend on the last cache are not compared, because the two simulations have different last caches.

    Parameters
    ----------
    last, second : DataFrame
        Counts by simulated event; the last cache is LL in `last` and L2 in `second`.

    Returns
    -------
    float
        0.0 if all compared counts are equal. Otherwise the relative difference of their instructions, or a very small
        number if the instructions are equal and another count is not.
    """
    columns = last.columns.difference(_find_last_level_events())
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


def _find_last_level_events() -> list[str]:
    """Return the names of the simulated events that depend on the last-level cache: its misses."""
    names = simulated_events()["callgrind"]
    return [names.index[names == short][0] for short in second_level_events()["callgrind"]]


def read_intervals(text: str, most: int = 300) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the counts of a simulated run by interval, in total and by function.

    Parameters
    ----------
    text : str
        Output of Callgrind.
    most : int, default 300
        Largest number of intervals. Each interval joins the same number of parts; the last may have fewer.

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
    has_instructions = (totals["sim.instructions"] > 0).to_numpy()
    if not has_instructions.any():
        raise CallgrindError("no part executed an instruction: the file was cut or changed.")
    # Number the parts with instructions from 0. A part without instructions takes the number of the part before it.
    number = np.maximum(has_instructions.cumsum() - 1, 0)
    parts_per_interval = math.ceil(has_instructions.sum() / most)
    interval = number // parts_per_interval
    counts = _index_by_progress(totals.groupby(interval).sum())
    functions = as_events(read_functions(text))
    names = ["interval", "function", "file", "object"]
    if len(functions) and functions.index.get_level_values("part").max() >= len(interval):
        raise CallgrindError(
            "Functions in Callgrind's output belong to more parts than have totals: the file was cut or changed."
        )
    functions = functions.reset_index()
    functions["interval"] = interval[functions["part"]]
    return counts, functions.drop(columns="part").groupby(names).sum()
