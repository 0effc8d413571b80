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
# A line such as ``fl=(1) main.c``, with the number and the name of a file.
_NAME_LINE = re.compile(r"(c?)(fn|fl|fi|fe|ob)=(?:\(([0-9]+)\) ?)?(.*)")
# Kind of the name in a line such as ``fl=(1) main.c``.
_KIND_BY_TAG = {"fn": "function", "fl": "file", "fi": "file", "fe": "file", "ob": "object"}
_COST_LINE_STARTS = frozenset("0123456789+-*")

_FunctionKey = tuple[int, str, str, str]  # part (from 0), function, file and object
_InstructionKey = tuple[_FunctionKey, int]  # function and address
_Costs = list[int]  # one count per event


@dataclass
class _LoopInstruction:
    """An instruction that jumped to itself: number of these jumps, and all its costs."""

    n_jumps: int
    costs: _Costs


@dataclass
class _CollectedCosts:
    """Costs of all functions, and of the instructions that jumped to themselves."""

    n_events: int
    functions: dict[_FunctionKey, _Costs] = field(default_factory=dict)
    loop_instructions: dict[_InstructionKey, _LoopInstruction] = field(default_factory=dict)


def read_functions(text: str, *, strings_once: bool = False) -> pd.DataFrame:
    """Read the counts of each function in each part of a run.

    The counts of a function do not include the functions that it calls. A second simulation in the text is ignored.

    Parameters
    ----------
    text : str
        Output of Callgrind.
    strings_once : bool, default False
        If True, an execution of a repeated string instruction (for example, ``rep movsb``) counts as one instruction,
        as on a processor. By default, each repetition counts, as in Callgrind's output. The text must have been made
        with ``--dump-instr=yes --collect-jumps=yes``. The binaries that it names are opened, so it must be trusted.

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
        If the text is damaged, was not written by Callgrind, or has more than 100,000 functions or a million pairs of
        part and function.
    """
    events = list(read_parts(text).totals.columns)
    collected = _CollectedCosts(len(events))
    n_parts = 0
    for process in split_simulations(text)[0]:
        reader = _ProcessReader(process, n_parts, collected)
        n_parts = reader.read()
    _check_costs(collected.functions)
    index = pd.MultiIndex.from_tuples(collected.functions, names=["part", "function", "file", "object"])
    functions = pd.DataFrame(list(collected.functions.values()), index, events)
    if strings_once:
        return _remove_repetitions(functions, collected.loop_instructions)
    return functions


def _check_costs(costs_by_function: dict[_FunctionKey, _Costs]) -> None:
    """Raise CallgrindError if the number of functions or a count is out of range."""
    n_functions = len({(function, file, binary) for _, function, file, binary in costs_by_function})
    if n_functions == 0:
        raise CallgrindError("Callgrind's output has no costs of functions: the file was cut or changed.")
    if n_functions > _MOST_FUNCTIONS:
        raise CallgrindError(
            f"Callgrind's output has the costs of more than {_MOST_FUNCTIONS:,} functions: the file was changed."
        )
    for costs in costs_by_function.values():
        if not all(0 <= cost < 10**MOST_DIGITS for cost in costs):
            raise CallgrindError(
                "A function's costs in Callgrind's output are negative, or too large for a counter: the file was "
                "changed."
            )


def _remove_repetitions(
    functions: pd.DataFrame, loop_instructions: dict[_InstructionKey, _LoopInstruction]
) -> pd.DataFrame:
    """Count each execution of a string instruction once.

    The number of repetitions is added as a column.
    """
    row_by_function = {function: row for row, function in enumerate(functions.index)}
    counts = {event: functions[event].to_numpy(copy=True) for event in functions}
    repetitions = np.zeros(len(functions), dtype=np.int64)
    for (function, _), instruction in _select_string_instructions(loop_instructions).items():
        row = row_by_function[function]
        cost_by_event = dict(zip(functions, instruction.costs, strict=True))
        for event, surplus in _compute_surplus(cost_by_event, instruction.n_jumps).items():
            counts[event][row] -= surplus
        repetitions[row] += instruction.n_jumps
    return pd.DataFrame(counts | {REPETITIONS: repetitions}, functions.index)


def _compute_surplus(cost_by_event: dict[str, int], n_repetitions: int) -> dict[str, int]:
    """Return the surplus in Callgrind's counts of a string instruction.

    Callgrind simulates the instruction as a loop. Each repetition has one instruction, one branch, and its loads and
    stores. Each execution has one further instruction. A processor counts only one instruction per execution, and
    the loads and stores of one repetition.
    """
    n_executions = cost_by_event["Ir"] - n_repetitions
    surplus = {"Ir": n_repetitions}
    for access in ("Dr", "Dw"):
        if access in cost_by_event:
            cost = cost_by_event[access]
            surplus[access] = cost - cost * n_executions // n_repetitions
    for branch in ("Bc", "Bcm"):
        if branch in cost_by_event:
            surplus[branch] = cost_by_event[branch]
    return surplus


def _select_string_instructions(
    loop_instructions: dict[_InstructionKey, _LoopInstruction],
) -> dict[_InstructionKey, _LoopInstruction]:
    """Select the repeated string instructions.

    They are recognized in the binaries.
    """
    is_string_by_location: dict[tuple[str, int], bool] = {}
    selected = {}
    for key, instruction in loop_instructions.items():
        (_, _, _, binary), address = key
        location = binary, address
        if location not in is_string_by_location:
            is_string_by_location[location] = is_string_instruction(binary, address)
        if is_string_by_location[location]:
            selected[key] = instruction
    return selected


class _Instruction:
    """The instruction in the lines that are currently read.

    Attributes
    ----------
    function : tuple or None
        Part, function, file and object. None before the first function.
    address : int
        Address of the instruction.
    line_costs : list of list of int
        Costs in each line.
    n_jumps : int
        Number of jumps of the instruction to itself.
    """

    def __init__(self, function: _FunctionKey | None, address: int):
        self.function = function
        self.address = address
        self.line_costs: list[_Costs] = []
        self.n_jumps = 0

    def add_to(self, collected: _CollectedCosts) -> None:
        """Add the instruction to `collected` if it jumped to itself."""
        if not self.n_jumps or self.function is None:
            return
        loop_instruction = collected.loop_instructions.setdefault(
            (self.function, self.address), _LoopInstruction(0, [0] * collected.n_events)
        )
        loop_instruction.n_jumps += self.n_jumps
        for costs in self.line_costs:
            for event_number, cost in enumerate(costs):
                loop_instruction.costs[event_number] += cost


class _ProcessReader:
    """Read the costs of functions from the text of one process, line by line.

    The lines of a text and their meaning::

        fl=(1) main.c          file of the following lines. Later lines repeat only the number: fl=(1)
        fn=(2) main            function of the following lines
        0x401136 16 400 2      costs: address (only with --dump-instr=yes), source line, and one count per event
        jump=7 0x401136 16     seven jumps to the address 0x401136 in source line 16
        0x401136 16            address of the jumping instruction. Here, it jumped to itself
        cfn=(3) compute        called function
        calls=1 0x401200 50    number of calls
        0x40113a 17 90000 12   costs of the called function. They are ignored, because they occur again at its name

    Parameters
    ----------
    text : str
        Output of Callgrind for one process.
    first_part : int
        Number of the first part in the text.
    collected : _CollectedCosts
        The costs in the text are added to this object.
    """

    def __init__(self, text: str, first_part: int, collected: _CollectedCosts):
        positions = read_header(text, "positions").split()
        self._text = text
        self._n_positions = len(positions)
        self._has_addresses = positions[0] == "instr"
        self._collected = collected
        self._name_by_number: dict[str, dict[str, str]] = {"function": {}, "file": {}, "object": {}}
        # The following attributes change from line to line.
        self._part = first_part
        self._current_name = {"function": "", "file": "", "object": ""}
        self._function: _FunctionKey | None = None
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
        # ValueError: a cost is not a number. TypeError: a cost precedes all functions. IndexError: too many costs.
        except (ValueError, TypeError, IndexError) as error:
            raise CallgrindError(
                f"Callgrind's output has a line of costs that cannot be read: {line[:60]!r}."
            ) from error
        self._instruction.add_to(self._collected)
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
        """Read a line of costs, or of an address after a jump."""
        if self._has_addresses:
            self._address = _next_address(self._address, line.split(maxsplit=1)[0])
            self._select_instruction()
            self._count_self_jumps()
        # The costs of a call belong to the called function.
        if not self._is_cost_of_call:
            self._add_costs(line)
        self._is_cost_of_call = False

    def _read_jump(self, line: str) -> None:
        """Read the number of jumps and their target.

        The next line has the address of the jumping instruction.
        """
        count, target = line[5:].split()[:2]
        # A line `jcnd=` has the count JUMPS/EXECUTIONS.
        n_jumps = int(count.partition("/")[0])
        self._jump = n_jumps, _next_address(self._address, target)

    def _select_instruction(self) -> None:
        """Start a new instruction if the function or the address has changed."""
        instruction = self._instruction
        if (instruction.function, instruction.address) != (self._function, self._address):
            instruction.add_to(self._collected)
            self._instruction = _Instruction(self._function, self._address)

    def _count_self_jumps(self) -> None:
        """Count the jumps in the previous line if the instruction jumped to itself."""
        if self._jump is not None:
            n_jumps, target = self._jump
            if target == self._address:
                self._instruction.n_jumps += n_jumps
        self._jump = None

    def _add_costs(self, line: str) -> None:
        """Add the costs in a line to the current function and instruction."""
        line_costs = [int(number) for number in line.split()[self._n_positions :]]
        if self._has_addresses:
            self._instruction.line_costs.append(line_costs)
        for event_number, cost in enumerate(line_costs):
            # `_function_costs` is None before the first function. read() converts the TypeError.
            self._function_costs[event_number] += cost  # type: ignore[index]

    def _read_name(self, call_prefix: str, tag: str, number: str | None, name: str) -> None:
        """Read the name of a function, file or binary.

        The following lines of costs belong to it.
        """
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
        """Add the costs in the following lines to this function."""
        functions = self._collected.functions
        self._function = self._part, name, self._current_name["file"], self._current_name["object"]
        self._function_costs = functions.setdefault(self._function, [0] * self._collected.n_events)
        if len(functions) > _MOST_ROWS:
            raise CallgrindError(
                f"Callgrind's output has more than {_MOST_ROWS:,} pairs of a part and a function. "
                "Simulate with more basic blocks per interval (--every-blocks), or a shorter run."
            )


def _next_address(address: int, position: str) -> int:
    """Parse an absolute or relative address.

    ``*`` repeats the previous address, and ``+16`` adds 16 to it.
    """
    if position == "*":
        return address
    if position[0] in "+-":
        return address + int(position)
    return int(position, 0)
