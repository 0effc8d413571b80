"""Cells of tables: what a column's name says of its counts, and numbers as people write them.

:func:`without_unit` takes a name and gives that of the event, :func:`number` the number in a cell; the patterns are of
the names of columns. Nothing is refused.
"""

import re

import numpy as np

from cmlib.io.events import is_event

NOTE = "note on the row"  # name of a column

# Columns that name what ran in a row.
_PROGRAM_NAMES = r"program(?:me?)?|kernel|bench(?:mark)?|method|name|command|app(?:lication)?|workload"
_RUN_NAMES = r"(?:run|rep(?:etition|lica(?:te)?)?|trial|iteration)s?(?:[ _-]?(?:id|no|nr|number))?"
PROGRAM = re.compile(_PROGRAM_NAMES, re.IGNORECASE)
RUN = re.compile(_RUN_NAMES, re.IGNORECASE)
TIME_COLUMN = re.compile(
    r"(?:(?:wall|elapsed|sample|unix|epoch|clock)[ _-]?)?(?:time(?:[ _-]?stamp)?|date(?:[ _-]?time)?|ts|elapsed|epoch"
    r"|seconds)(?:[ _-]?elapsed)?(?:[ _-]*[\[(]?(s|secs?|seconds|ms|msec|milliseconds|us|usec|µs|ns|nsec|nanoseconds)"
    r"[\])]?)?",
    re.IGNORECASE,
)
# Units of counts in a heading, as spreadsheets have them: cycles [Mio], instructions (1e9).
_UNIT = re.compile(
    r"(.*\w) *[\[(](?:in )?(?:x ?)?([kmgb]|mio|mrd|bn|1e[369]|10\^[369]|thousands?|[mb]illions?)\.?[\])]",
    re.IGNORECASE,
)
# Counts of an operation, as frameworks for benchmarks head them: ins/op, BranchInstructions/Op.
PER_OP = re.compile(r"(\w[\w:-]*) ?/ ?(?!(?:s(?:ec(?:ond)?)?s?|cyc(?:les?)?|ins\w*)$)[A-Za-z]+")
_OF_AN_OP = {"ins": "instructions", "instruction-retired": "instructions", "cyc": "cycles", "total-cycles": "cycles",
             "bra": "branches", "branch-mispredictions": "branch-misses"} | {
             unit: f"time [{unit}]" for unit in ("ns", "us", "ms")}  # fmt: skip
_SCALES = {"k": 1e3, "thousand": 1e3, "thousands": 1e3, "t": 1e12, "m": 1e6, "g": 1e9, "b": 1e9, "mrd": 1e9}
NOT_COUNTED = frozenset(["", "<not counted>", "<not supported>"])
NOTHING = NOT_COUNTED | {"-", "\u2013", "\u2014", "na", "n/a", "n.a.", "k.a.", "nan", "null", "none"}
_PMCSTAT = re.compile(r"(?:[0-9]{1,4}/)?[ps]/(?=\w)")  # FreeBSD's: what a counter is attached to
PER_SECOND = {"m": 1e3, "u": 1e6, "µ": 1e6, "n": 1e9}
_SCALED = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?([kKMGTB])")
_NUMBER = re.compile(r"[0-9]{1,300}(?:\.[0-9]{0,300})?(?:[eE][+-]?[0-9]{1,2})?|\.[0-9]{1,300}")


def without_unit(name):
    """A column's name without the unit of its counts, and how many one of it is (float): ``cycles [Mio]`` gives
    cycles, 1e6.
    """
    name = _PMCSTAT.sub("", name, count=1) if _PMCSTAT.match(name) else name
    if per_op := PER_OP.fullmatch(name):
        plain = re.sub("(?<=[a-z])(?=[A-Z])", "-", per_op[1]).lower()
        spelled = per_op[1] if is_event(per_op[1]) else plain
        name = _OF_AN_OP.get(plain, spelled if is_event(spelled) else name)
    match = _UNIT.fullmatch(name)
    if not match or not is_event(match[1]):
        return name.replace(" ", "-") if is_event(name) else name, 1.0
    unit = match[2].lower().replace("10^", "1e")
    return match[1].replace(" ", "-"), float(unit) if unit[0] == "1" else _SCALES.get(unit, _SCALES[unit[0]])


def number(cell):
    """A cell as a number (float): NaN where nothing was counted, None where it is no number."""
    if _NUMBER.fullmatch(cell):
        return float(cell)
    if scaled := _SCALED.fullmatch(cell):
        return float(scaled[1]) * _SCALES[scaled[2].lower()]
    return np.nan if cell.lower() in NOTHING else None
