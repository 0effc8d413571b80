"""Read the counts of each function from the output of Callgrind.

:func:`read_functions` is the main function. :class:`_ProcessReader` parses the lines of one process.
"""

import re
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from cmlib.io.callgrind.totals import (
    MOST_DIGITS,
    CallgrindError,
    read_header,
    read_parts,
    split_simulations,
)
from cmlib.io.string_instructions import is_string_instruction

REPETITIONS = "repetitions"  # column with the repetitions of string instructions
_MOST_FUNCTIONS = 100_000
_MOST_ROWS = 1_000_000  # pairs of a part and a function
_NAME_LINE = re.compile(r"(c?)(fn|fl|fi|fe|ob)=(?:\(([0-9]+)\) ?)?(.*)")
# A line such as ``fl=(1) main.c`` names a function, a file or an object (binary).
_KIND_BY_TAG = {"fn": "function", "fl": "file", "fi": "file", "fe": "file", "ob": "object"}
_COST_LINE_STARTS = frozenset("0123456789+-*")

_FunctionKey = tuple[int, str, str, str]  # part (from 0), function, file and object
_InstructionKey = tuple[_FunctionKey, int]  # function and address
_Costs = list[int]  # one count per event


@dataclass
class _SelfJumps:
    """Jumps of one instruction to itself, and the costs of the instruction."""

    n_jumps: int
    costs: _Costs


@dataclass
class _FunctionCosts:
    """Costs that were read from the text, in total and for instructions that jump to themselves."""

    n_events: int
    costs_by_function: dict[_FunctionKey, _Costs] = field(default_factory=dict)
    self_jumps: dict[_InstructionKey, _SelfJumps] = field(default_factory=dict)


def read_functions(text: str, *, strings_once: bool = False) -> pd.DataFrame:
    """Read the counts of each function in each part of a run.

    The counts of a function do not include the functions that it calls. Only the first simulation in the text is read.

    Parameters
    ----------
    text : str
        Output of Callgrind.
    strings_once : bool, default False
        Count a repeated string instruction, for example ``rep movsb``, once per execution. Processors count it so, but
        Callgrind counts each repetition. This option opens the binaries that are named in the text. Use it only for
        trusted texts that were made with ``--dump-instr=yes --collect-jumps=yes``.

    Returns
    -------
    DataFrame of int
        Columns: Callgrind's short names. For example, ``Ir`` counts instructions. With `strings_once`, there is a
        column ``repetitions`` in addition. Index levels:

        - ``part`` : number of the part, from 0.
        - ``function`` : name of the function.
        - ``file`` : source file, or ``???`` if the binary has no debug information.
        - ``object`` : path of the binary.

    Raises
    ------
    CallgrindError
        If the text is damaged, was not written by Callgrind, or has more than 100,000 functions.
    """
    events = list(read_parts(text).totals.columns)
    found = _FunctionCosts(len(events))
    n_parts = 0
    for process in split_simulations(text)[0]:
        reader = _ProcessReader(process, n_parts, found)
        n_parts = reader.read()
    _check_costs(found.costs_by_function)
    index = pd.MultiIndex.from_tuples(found.costs_by_function, names=["part", "function", "file", "object"])
    functions = pd.DataFrame(list(found.costs_by_function.values()), index, events)
    if strings_once:
        return _count_strings_once(functions, found.self_jumps)
    return functions


def _check_costs(costs_by_function: dict[_FunctionKey, _Costs]) -> None:
    """Raise CallgrindError if the number of functions or a count is out of range."""
    n_functions = len({(function, file, binary) for _, function, file, binary in costs_by_function})
    if not 0 < n_functions <= _MOST_FUNCTIONS:
        raise CallgrindError(
            f"Callgrind's output has the costs of no function, or of more than {_MOST_FUNCTIONS:,}: the file was cut "
            "or changed."
        )
    for costs in costs_by_function.values():
        if not all(0 <= cost < 10**MOST_DIGITS for cost in costs):
            raise CallgrindError(
                "A function's costs in Callgrind's output are negative, or too large for a counter: the file was "
                "changed."
            )


def _count_strings_once(
    functions: pd.DataFrame, self_jumps: dict[_InstructionKey, _SelfJumps]
) -> pd.DataFrame:
    """Remove the repetitions of string instructions from the counts of functions.

    Callgrind executes ``rep movsb`` as a loop that jumps to itself. For n executions with r repetitions, it counts:

    - r + n instructions, of which n remain.
    - Loads and stores of each repetition, of which the fraction n / r remains.
    - One branch per repetition, of which none remains.
    """
    row_by_key = {key: row for row, key in enumerate(functions.index)}
    counts = {name: functions[name].to_numpy(copy=True) for name in functions}
    counts[REPETITIONS] = np.zeros(len(functions), dtype=np.int64)
    for key, jumps in _select_string_instructions(self_jumps).items():
        function_key, _ = key
        row = row_by_key[function_key]
        cost = dict(zip(functions, jumps.costs, strict=True))
        n_executions = cost["Ir"] - jumps.n_jumps
        counts["Ir"][row] -= jumps.n_jumps
        for access in ("Dr", "Dw"):
            if access in cost:
                remaining = cost[access] * n_executions // jumps.n_jumps
                counts[access][row] -= cost[access] - remaining
        for branch in ("Bc", "Bcm"):
            if branch in cost:
                counts[branch][row] -= cost[branch]
        counts[REPETITIONS][row] += jumps.n_jumps
    return pd.DataFrame(counts, functions.index)


def _select_string_instructions(
    self_jumps: dict[_InstructionKey, _SelfJumps],
) -> dict[_InstructionKey, _SelfJumps]:
    """Select the instructions that are repeated string instructions in their binary."""
    is_string_by_location: dict[tuple[str, int], bool] = {}
    selected = {}
    for key, jumps in self_jumps.items():
        (_, _, _, binary), address = key
        location = binary, address
        if location not in is_string_by_location:
            is_string_by_location[location] = is_string_instruction(binary, address)
        if is_string_by_location[location]:
            selected[key] = jumps
    return selected


class _Instruction:
    """Costs and self-jumps of one instruction, collected while its lines are read.

    Attributes
    ----------
    key : tuple or None
        Part, function, file and object. None before the first instruction.
    address : int
    costs : list of list of int
        Costs in each line of the instruction.
    n_jumps : int
        Number of jumps of the instruction to itself.
    """

    def __init__(self, key: _FunctionKey | None, address: int):
        self.key = key
        self.address = address
        self.costs: list[_Costs] = []
        self.n_jumps = 0

    def add_to(self, found: _FunctionCosts) -> None:
        """Add the instruction to the found self-jumps if it jumped to itself."""
        if not self.n_jumps or self.key is None:
            return
        key = self.key, self.address
        jumps = found.self_jumps.setdefault(key, _SelfJumps(0, [0] * found.n_events))
        jumps.n_jumps += self.n_jumps
        for line_costs in self.costs:
            for event_number, cost in enumerate(line_costs):
                jumps.costs[event_number] += cost


class _ProcessReader:
    """Read the costs of functions from the text of one process, line by line.

    The lines of a text and their meaning::

        fl=(1) main.c          file of the following lines. Later lines repeat only the number: fl=(1)
        fn=(2) main            function of the following lines
        0x401136 16 400 2      costs: address (only with --dump-instr=yes), source line, and one count per event
        jump=7 0x401136 16     seven jumps to the address 0x401136 in source line 16
        0x401136 16            address of the jumps. It equals the target, so the instruction jumped to itself
        cfn=(3) compute        called function
        calls=1 0x401200 50    number of calls
        0x40113a 17 90000 12   costs of the call. They are ignored, because they belong to the called function

    Parameters
    ----------
    text : str
        Output of Callgrind for one process.
    first_part : int
        Number of the first part in the text.
    found : _FunctionCosts
        Costs are added to it.
    """

    def __init__(self, text: str, first_part: int, found: _FunctionCosts):
        positions = read_header(text, "positions").split()
        self._text = text
        self._n_positions = len(positions)
        self._has_addresses = positions[0] == "instr"
        self._found = found
        self._name_by_number: dict[str, dict[str, str]] = {"function": {}, "file": {}, "object": {}}
        # State after the lines that were read so far.
        self._part = first_part
        self._current_name = {"function": "", "file": "", "object": ""}
        self._key: _FunctionKey | None = None
        self._function_costs: _Costs | None = None
        self._address = 0
        self._instruction = _Instruction(None, 0)
        self._jump: tuple[int, int] | None = None  # number of jumps, and target address
        self._is_cost_of_call = False

    def read(self) -> int:
        """Read all lines of the text.

        Returns
        -------
        int
            Number of the next part.

        Raises
        ------
        CallgrindError
            If a line cannot be read.
        """
        line = ""
        try:
            for line in self._text.splitlines():
                self._read_line(line)
        except CallgrindError:
            raise
        # The line has a cost before any function, too many costs, or a cost that is not a number.
        except (ValueError, TypeError, IndexError) as error:
            raise CallgrindError(
                f"Callgrind's output has a line of costs that can't be read: {line[:60]!r}."
            ) from error
        self._instruction.add_to(self._found)
        return self._part

    def _read_line(self, line: str) -> None:
        if line and line[0] in _COST_LINE_STARTS:
            self._read_costs(line)
        elif line.startswith("calls="):
            self._is_cost_of_call = True
        elif self._has_addresses and line.startswith(("jump=", "jcnd=")):
            self._read_jump(line)
        elif match := _NAME_LINE.fullmatch(line):
            self._read_name(*match.groups())
        elif line.startswith("totals:"):
            self._part += 1

    def _read_costs(self, line: str) -> None:
        """Read a line of costs, and ignore the costs of a call."""
        if self._has_addresses:
            self._move_to_instruction(line)
        if not self._is_cost_of_call:
            self._add_costs(line)
        self._is_cost_of_call = False

    def _read_jump(self, line: str) -> None:
        """Read the number of jumps and their target."""
        count, target = line[5:].split()[:2]
        # A line `jcnd=` has the count JUMPS/EXECUTIONS.
        n_jumps = int(count.partition("/")[0])
        self._jump = n_jumps, _next_address(self._address, target)

    def _move_to_instruction(self, line: str) -> None:
        """Read the address in a line of costs, and count a jump from this address to itself."""
        self._address = _next_address(self._address, line.split(maxsplit=1)[0])
        if (self._instruction.key, self._instruction.address) != (self._key, self._address):
            self._instruction.add_to(self._found)
            self._instruction = _Instruction(self._key, self._address)
        if self._jump is not None:
            n_jumps, target = self._jump
            if target == self._address:
                self._instruction.n_jumps += n_jumps
        self._jump = None

    def _add_costs(self, line: str) -> None:
        """Add the costs in a line to the current function and instruction."""
        line_costs = [int(number) for number in line.split()[self._n_positions :]]
        if self._has_addresses:
            self._instruction.costs.append(line_costs)
        for event_number, cost in enumerate(line_costs):
            # None before the first function: read() reports the TypeError.
            self._function_costs[event_number] += cost  # type: ignore[index]

    def _read_name(self, call_prefix: str, tag: str, number: str | None, name: str) -> None:
        """Read the name of a function, file or binary, and make it the current one."""
        kind = _KIND_BY_TAG[tag]
        if number:
            name = self._name_by_number[kind].setdefault(number, name)
        # Called functions and files of inlined code do not change the current function.
        if call_prefix or tag in ("fi", "fe"):
            return
        self._current_name[kind] = name
        if kind == "function":
            self._start_function(name)

    def _start_function(self, name: str) -> None:
        """Make a function the current one, so that the costs in the following lines are added to it."""
        costs_by_function = self._found.costs_by_function
        self._key = self._part, name, self._current_name["file"], self._current_name["object"]
        self._function_costs = costs_by_function.setdefault(self._key, [0] * self._found.n_events)
        if len(costs_by_function) > _MOST_ROWS:
            raise CallgrindError(
                f"Callgrind's output names functions {_MOST_ROWS:,} times, which is the most that is read. "
                "Simulate with more basic blocks per interval (--every-blocks), or a shorter run."
            )


def _next_address(address: int, position: str) -> int:
    """Parse an address, which can be relative to the previous one.

    ``*`` repeats the previous address, and ``+16`` adds 16 to it.
    """
    if position == "*":
        return address
    if position[0] in "+-":
        return address + int(position)
    return int(position, 0)
