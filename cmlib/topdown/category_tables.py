"""Read tables of top-down categories (a file for each microarchitecture), and evaluate their formulas of events.

:func:`read_table` takes a microarchitecture's name, and returns a :class:`TopdownTable`. :func:`evaluate` takes a
formula (text) and the values of its events, and returns a number or an array. A category is a kind of use or loss
of the pipeline's slots (places for one operation that the processor can begin in a cycle). The categories of level
1 divide all slots; their parts are level 2, and so on. `data/topdown/README.md` describes the format of the files;
a new table is a file there. Raises a ValueError for an unknown table, and a FormulaError for a malformed formula.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from cmlib import places, processors
from cmlib.errors import CmlibError, InputError
from cmlib.spelling import spelling

REST = "rest"


@dataclass(frozen=True)
class Category:
    """One category of slots, such as those lost by the back end.

    Attributes
    ----------
    name : str
        Such as ``"back end"``.
    parent : str
        Name of the category that it is a part of; empty on level 1.
    formulas : tuple of str
        Alternative formulas of the number of its slots; the first whose events were all counted is used. ``parent``
        stands for the slots of the parent, ``slots`` for all. Empty if the category is the rest of its parent.
    about : str
        What these slots are, in one sentence.
    advice : str
        What a programmer can try if there are many; may be empty.
    """

    name: str
    parent: str
    formulas: tuple[str, ...]
    about: str
    advice: str = ""


@dataclass(frozen=True)
class TopdownTable:
    """The categories of one microarchitecture.

    Attributes
    ----------
    name : str
        Name of the microarchitecture's event table.
    source : str
        Where the formulas are from.
    slots : tuple of str
        Alternative formulas of the number of all slots; the first whose events were all counted is used.
    closes : bool
        True if the categories of level 1 are counted each by itself, so that their sum is a test; False if one of
        them is defined as the rest.
    categories : tuple of Category
        Parents before their parts.
    widths : tuple of float
        Slots per cycle of the processors that the table may be of; empty if the formulas have them, or if not known.
    """

    name: str
    source: str
    slots: tuple[str, ...]
    closes: bool
    categories: tuple[Category, ...]
    widths: tuple[float, ...] = ()

    def parts(self, parent=""):
        """List each :class:`Category` that is a part of the category `parent` (name); by default those of level 1."""
        return [category for category in self.categories if category.parent == parent]

    @property
    def of_slots(self):
        """True if level 1 has retired, front end and back end; other tables account for stalled cycles alone."""
        return {"retired", "front end", "back end"} <= {part.name for part in self.parts()}

    @property
    def parents(self):
        """Parent of each category below level 1: a dict of str."""
        return {category.name: category.parent for category in self.categories if category.parent}

    def takes(self, events):
        """Select the `events` that a formula of the table names, in any spelling; cycles and slots among them."""
        names = set(map(spelling, [*self.events(), "topdown.slots", "cycles"]))
        return [event for event in events if spelling(event) in names]

    def events(self):
        """List the names of all events in the formulas, each once."""
        formulas = [*self.slots, *(text for category in self.categories for text in category.formulas)]
        names = dict.fromkeys(name for text in formulas for name in names_in(text))
        return [name for name in names if name not in ("parent", "slots")]


def tables() -> list[str]:
    """List the names of the top-down tables: microarchitectures, and tables that hold for several.

    Returns
    -------
    list of str
        Sorted names, such as "amd_zen5", which :func:`read_table` takes.
    """
    written = {file.stem for file in places.shipped("topdown").glob("*.yaml")}
    return sorted(written | {name for name in processors.known() if processors.read(name)["categories"]})


@cache
def read_table(name: str) -> TopdownTable:
    """Read the top-down table of a microarchitecture.

    Parameters
    ----------
    name : str
        One of :func:`tables`.

    Returns
    -------
    TopdownTable
        Its categories, and the formulas of their slots.

    Raises
    ------
    ValueError
        If there is no table of that name.
    FormulaError
        If a category in the file has an unknown key.
    """
    if name not in tables():
        raise InputError(f"there is no table {name!r} under data/topdown; there are {', '.join(tables())}.")
    path = places.shipped("topdown") / f"{name}.yaml"
    if not path.is_file():
        return _read_processor_table(name)
    read = places.read_yaml(path)
    categories = tuple(_list_categories(read["categories"], "", name))
    widths = tuple(read.get("widths", ()))
    slots, closes = _as_tuple(read["slots"]), read.get("closes", False)
    return TopdownTable(name, read["source"], slots, closes, categories, widths)


def _read_processor_table(name):
    """Make the table from a file under data/processors, which tools/make_processor_tables.py writes."""
    contents = processors.read(name)
    categories = tuple(
        Category(row["name"], row["parent"], tuple(row["formulas"]), row["about"], row["advice"])
        for row in contents["categories"]
    )
    return TopdownTable(name, contents["source"], _as_tuple(contents["slots"]), False, categories)


def _list_categories(described, parent, table):
    """Yield each Category of a table's YAML, and after it its parts."""
    for name, about in described.items():
        if unknown := set(about) - {"formula", "about", "advice", "parts"}:
            raise FormulaError(f"data/topdown/{table}.yaml: {name}: {', '.join(sorted(unknown))} is unknown.")
        formula = about["formula"]
        formulas = () if formula == REST else _as_tuple(formula)
        yield Category(name, parent, formulas, about["about"], about.get("advice", ""))
        yield from _list_categories(about.get("parts", {}), name, table)


def _as_tuple(formula):
    """Return a formula, or a list of formulas, as a tuple."""
    return tuple(formula) if isinstance(formula, list) else (formula,)


# An event's name in a formula: words with dots, colons, equals signs and dashes between them, as in `topdown.slots`,
# `cycles:u`, `branch-misses`.
_NAME = re.compile(r"[A-Za-z_][\w]*(?:[.:=][\w]+|-(?=[A-Za-z])[\w]+)*")
# Functions by their names in formulas, with their numbers of arguments; operators by their nodes in syntax trees.
_FUNCTIONS = {"min": (np.minimum, 2), "max": (np.maximum, 2), "where": (np.where, 3)}
_OPERATORS: dict[type, Callable] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Gt: operator.gt,
    ast.Lt: operator.lt,
    ast.GtE: operator.ge,
    ast.LtE: operator.le,
}


class FormulaError(CmlibError):
    """Raised where a formula or a table of formulas is malformed."""


def names_in(formula):
    """List the events that a formula takes.

    Parameters
    ----------
    formula : str
        Of a top-down table, such as ``slots - ex_ret_ops``.

    Returns
    -------
    list of str
        Each once, in the order of the formula.
    """
    return list(dict.fromkeys(name for name in _NAME.findall(formula) if name not in _FUNCTIONS))


def evaluate(formula, values):
    """Compute a formula of a top-down table.

    Parameters
    ----------
    formula : str
        Of events, numbers, ``+ - * /``, brackets, ``min``, ``max`` and ``where``; nothing else is run.
    values : mapping of str to float or ndarray
        Value of each name in the formula.

    Returns
    -------
    float or ndarray
        Its value; infinite or NaN where it divides by 0.

    Raises
    ------
    FormulaError
        If it is no such formula.
    KeyError
        If a name in it has no value.
    """
    names = names_in(formula)
    variables = {name: f"x{number}" for number, name in enumerate(names)}
    numbered = _NAME.sub(lambda match: variables.get(match[0], match[0]), formula)
    try:
        tree = ast.parse(numbered, mode="eval").body
    except SyntaxError as error:
        raise FormulaError(f"{formula!r} is not a formula: {error.msg}") from None
    with np.errstate(divide="ignore", invalid="ignore"):
        return _compute_node(tree, {variables[name]: values[name] for name in names}, formula)


def _compute_node(node, values, formula):
    """Compute a node of the formula's syntax tree from the `values` of its names; `formula` is for messages."""
    match node:
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.Constant(value=int() | float() as number):
            return number
        case (
            ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right])
        ) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](
                _compute_node(left, values, formula), _compute_node(right, values, formula)
            )
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_compute_node(operand, values, formula)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            function, n_arguments = _FUNCTIONS[name]
            if len(arguments) == n_arguments:
                return function(*(_compute_node(argument, values, formula) for argument in arguments))
    raise FormulaError(
        f"{formula!r} is not a formula: it takes events, numbers, + - * / and brackets, min(a, b), max(a, b) and "
        "where(a > b, if so, if not)."
    )
