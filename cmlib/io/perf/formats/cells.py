"""Cells of tables: what a column's name says of its counts, and numbers as people write them.

:func:`without_unit` takes a name and gives that of the event, :func:`is_called` tells a column by its name,
:func:`number` gives the number in a cell, :func:`of_an_operation` tells counts of an operation from those of a run.
Nothing is refused.
"""

import itertools
import re

import numpy as np

from cmlib.io.events import is_event
from cmlib.io.events.naming import SAME, normalize_name
from cmlib.places import yaml_beside

NOTE = "note on the row"  # name of a column
FEW, _FEWEST_OF_A_RUN = 1000, 1e5  # instructions or cycles
_PINNED = frozenset(map(str.lower, itertools.chain(SAME["instructions"], SAME["cycles"])))
_CLOCKS = frozenset(["task-clock", "cpu-clock", "duration-time"])

_TOLD = yaml_beside(__file__)
# What columns are called, a pattern a kind.
COLUMNS = {kind: re.compile("|".join(forms), re.IGNORECASE) for kind, forms in _TOLD["columns"].items()}
ALIASES = {name: event for event, names in _TOLD["aliases"].items() for name in names}
_METRICS = {level: re.compile(form, re.IGNORECASE) for level, form in _TOLD["metrics"].items()}
IPC, CPI = "instructions a cycle", "cycles an instruction"
_OF_AN_OP, _SCALES = _TOLD["operations"], _TOLD["scales"]
NOT_COUNTED = frozenset(_TOLD["not counted"])
NOTHING = NOT_COUNTED | {*_TOLD["nothing"]}
# Units of counts in a heading, as spreadsheets have them: cycles [Mio], instructions (1e9).
_UNIT = re.compile(
    r"(.*\w) *[\[(](?:in )?(?:x ?)?([kmgb]|mio|mrd|bn|10?e[369]|10\^[369]|thousands?|[mb]illions?)\.?[\])]",
    re.IGNORECASE,
)
# Counts of an operation, as frameworks for benchmarks head them: ins/op, BranchInstructions/Op.
PER_OP = re.compile(r"(\w[\w:-]*) ?/ ?(?!(?:s(?:ec(?:ond)?)?s?|cyc(?:les?)?|ins\w*)$)[A-Za-z]+")
_SLOTS = re.compile("bound|retiring", re.IGNORECASE)  # in headings of what other readers are for
_PMCSTAT = re.compile(r"(?:[0-9]{1,4}/)?[ps]/(?=\w)")  # FreeBSD's: what a counter is attached to
_PER_SECOND = {"m": 1e3, "u": 1e6, "µ": 1e6, "n": 1e9}
_LASTED = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?(ns|us|µs|ms|s)\b")
_SCALED = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?([kKMGTB])")
_NUMBER = re.compile(r"[0-9]{1,300}(?:\.[0-9]{0,300})?(?:[eE][+-]?[0-9]{1,2})?|\.[0-9]{1,300}")


def is_called(name, *kinds):
    """Whether a column's name (str) is one of some `kinds`, as of :data:`COLUMNS`."""
    return any(COLUMNS[kind].fullmatch(name) for kind in kinds)


def unit_of_time(name):
    """How many seconds (float) the unit of a column of times is, by its name; NaN if that tells none, or no time."""
    match = COLUMNS["length"].fullmatch(name) or COLUMNS["time"].fullmatch(name)
    unit = match[match.lastindex].lower() if match and match.lastindex else ""
    return 1 / _PER_SECOND.get("u" if unit[:3] == "mic" else unit[:1], 1.0) if unit else np.nan


def lasted(name, cell):
    """How long something took [s] (float), of a number with its unit, such as ``1.2ms``, or with that in the name
    above it; "" for other text.
    """
    took = _LASTED.match(cell)
    value, name = (float(took[1]), f"time {took[2]}") if took else (number(cell.replace(",", "")), name)
    return value * unit_of_time(name) if value and value * unit_of_time(name) > 0 else ""


def metric(name):
    """The level, or ``misses of`` something [%], that a column of this name tells (str); "" for others."""
    return next((level for level, form in _METRICS.items() if form.fullmatch(name)), "")


def n_told(names):
    """How many of some names are events; beside an IPC or CPI, also how many are levels and times."""
    n_events = sum(is_event(without_unit(name)[0]) or name.lower() in ALIASES for name in names)
    levels = {*map(metric, names)} - {""}
    if levels.isdisjoint((IPC, CPI)) or any(map(_SLOTS.search, names)):
        return n_events
    return n_events + len(levels) + any(unit_of_time(without_unit(name)[0]) > 0 for name in names)


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
    unit = match[2].lower().replace("10^", "1e").replace("10e", "1e")
    return match[1].replace(" ", "-"), float(unit) if unit[0] == "1" else _SCALES.get(unit, _SCALES[unit[0]])


def number(cell):
    """A cell as a number (float): NaN where nothing was counted, None where it is no number."""
    if _NUMBER.fullmatch(cell):
        return float(cell)
    if scaled := _SCALED.fullmatch(cell):
        return float(scaled[1]) * _SCALES[scaled[2].lower()]
    return np.nan if cell.lower() in NOTHING else None


def of_an_operation(names, counts):
    """Which events (a column of `counts` each) were counted of one operation: an array of bool, all False for a run.

    They are where instructions or cycles are below 1,000, or have decimals and are below 100,000.
    """
    is_few, is_below = (~(counts >= most).any(axis=0) for most in (FEW, _FEWEST_OF_A_RUN))
    is_small = (is_few & (counts > 0).any(axis=0)) | ((counts % 1 > 0).any(axis=0) & is_below)
    if not any(name.lower() in _PINNED for name in itertools.compress(names, is_small)):
        return np.zeros(len(names), dtype=bool)
    return is_small & [normalize_name(name) not in _CLOCKS for name in names]
