"""Read the top-down tables, and evaluate their formulas.

A slot is an opportunity to begin one operation in a cycle. A category is one use or loss of slots, for example "back
end". A top-down table has formulas that compute the number of slots in each category from events. Level 1 has the
categories that divide all slots. Level 2 has the parts of these categories, and so on.

:func:`read_table` takes the name of a processor and returns a :class:`TopdownTable`. :func:`evaluate` computes a
formula. `data/topdown/README.md` describes the files. To add a table, add a file there.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from cmlib import places, processors
from cmlib.errors import CmlibError, InputError
from cmlib.spelling import spelling

_REST = "rest"  # formula of a category that is the remainder of its parent
LOSSES = ("front end", "back end", "bad speculation")  # categories of level 1 in which slots are lost
OTHER_THREAD = "sibling thread"  # category of the slots that the other thread of the core takes


@dataclass(frozen=True)
class Category:
    """One use or loss of slots.

    Attributes
    ----------
    name : str
        For example ``"back end"``.
    parent : str
        Name of the category that contains this one. Empty on level 1.
    formulas : tuple of str
        Formulas for the number of slots. They are alternatives: a formula can be used if all of its events were
        counted, and the first of these formulas is used. The name ``slots`` stands for all slots, and ``parent`` for
        the slots of the parent. If the tuple is empty, the category has the slots of the parent that are in no other
        part.
    about : str
        One sentence that describes these slots.
    advice : str
        What a programmer can try against a large loss. Empty if no advice is known.
    """

    name: str
    parent: str
    formulas: tuple[str, ...]
    about: str
    advice: str = ""


@dataclass(frozen=True)
class TopdownTable:
    """The top-down table of one processor.

    Attributes
    ----------
    name : str
        Name of the processor.
    source : str
        Where the formulas are from.
    slots : tuple of str
        Formulas for the number of all slots. They are alternatives, as in :class:`Category`.
    has_testable_sum : bool
        True if each category of level 1 is computed from its own events. The shares then add up to 1 only if the counts
        are right, so the sum tests the counts. False if a category is computed from the others, because the sum is then
        always 1.
    categories : tuple of Category
        All categories, parents before their parts.
    widths : tuple of float
        Slots per cycle of the processors with this table. Empty if they are not known. Also empty if the formulas
        contain the number of slots per cycle.
    """

    name: str
    source: str
    slots: tuple[str, ...]
    has_testable_sum: bool
    categories: tuple[Category, ...]
    widths: tuple[float, ...] = ()

    def parts(self, parent: str = "") -> list[Category]:
        """List the parts of a category.

        Parameters
        ----------
        parent : str, default ""
            Name of the category. Default: all slots, so that the parts are level 1.

        Returns
        -------
        list of Category
        """
        return [category for category in self.categories if category.parent == parent]

    @property
    def divides_all_slots(self) -> bool:
        """True if level 1 contains ``retired``, ``front end`` and ``back end``.

        False for the table of perf's generic stall events, because these events count cycles and not slots.
        """
        return {"retired", "front end", "back end"} <= {part.name for part in self.parts()}

    def select_events(self, events: Iterable[str]) -> list[str]:
        """Select the events that are needed to compute the table.

        Cycles and ``topdown.slots`` are selected, too, because the number of slots is computed from them.

        Parameters
        ----------
        events : iterable of str
            Names in any spelling.

        Returns
        -------
        list of str
            Names in input order.
        """
        names = set(map(spelling, [*self.events(), "topdown.slots", "cycles"]))
        return [event for event in events if spelling(event) in names]

    def events(self) -> list[str]:
        """List the events in all formulas of the table.

        Returns
        -------
        list of str
            Each name once.
        """
        formulas = [*self.slots, *(text for category in self.categories for text in category.formulas)]
        names = dict.fromkeys(name for text in formulas for name in names_in(text))
        return [name for name in names if name not in ("parent", "slots")]


def tables() -> list[str]:
    """List the names of all top-down tables.

    Returns
    -------
    list of str
        Sorted names. Most are names of processors, for example "amd_zen5".
    """
    tables_in_yaml = {file.stem for file in places.shipped("topdown").glob("*.yaml")}
    tables_of_processors = {name for name in processors.known() if processors.read(name)["categories"]}
    return sorted(tables_in_yaml | tables_of_processors)


@cache
def read_table(name: str) -> TopdownTable:
    """Read a top-down table.

    Parameters
    ----------
    name : str
        One of :func:`tables`.

    Returns
    -------
    TopdownTable

    Raises
    ------
    ValueError
        If no table has this name, or if a category in the file has an unknown key.
    """
    if name not in tables():
        raise InputError(
            f"there is no top-down table {name!r} in data/topdown or data/processors. "
            f"The tables are {', '.join(tables())}."
        )
    path = places.shipped("topdown") / f"{name}.yaml"
    return _read_yaml_table(path) if path.is_file() else _read_processor_table(name)


def _read_yaml_table(path: Path) -> TopdownTable:
    """Read a handwritten table from data/topdown."""
    contents = places.read_yaml(path)
    return TopdownTable(
        name=path.stem,
        source=contents["source"],
        slots=_as_tuple(contents["slots"]),
        has_testable_sum=contents.get("has_testable_sum", False),
        categories=tuple(_list_categories(contents["categories"], "", path.name)),
        widths=tuple(contents.get("widths", ())),
    )


def _read_processor_table(name: str) -> TopdownTable:
    """Read a table from data/processors. The program tools/make_processor_tables.py made these files."""
    contents = processors.read(name)
    categories = tuple(
        Category(row["name"], row["parent"], tuple(row["formulas"]), row["about"], row["advice"])
        for row in contents["categories"]
    )
    return TopdownTable(
        name=name,
        source=contents["source"],
        slots=_as_tuple(contents["slots"]),
        has_testable_sum=False,  # in many tables of vendors, a category is computed from the others
        categories=categories,
    )


def _list_categories(entry_by_name: Mapping[str, Any], parent: str, file_name: str) -> Iterator[Category]:
    """Yield the Category of each entry in a YAML table, followed by its parts."""
    for name, entry in entry_by_name.items():
        unknown_keys = set(entry) - {"formula", "about", "advice", "parts"}
        if unknown_keys:
            raise InputError(
                f"data/topdown/{file_name}: category {name!r} has the unknown keys {sorted(unknown_keys)}. "
                "A category has the keys formula, about, advice and parts."
            )
        formulas = () if entry["formula"] == _REST else _as_tuple(entry["formula"])
        yield Category(name, parent, formulas, entry["about"], entry.get("advice", ""))
        yield from _list_categories(entry.get("parts", {}), name, file_name)


def _as_tuple(formula: str | list[str]) -> tuple[str, ...]:
    """Return a formula, or a list of formulas, as a tuple."""
    return tuple(formula) if isinstance(formula, list) else (formula,)


# Name of an event in a formula, for example `topdown.slots`, `cycles:u` or `branch-misses`. It consists of words that
# are joined by a dot, a colon, an equals sign or a dash. A dash is a part of the name only if a letter follows it, so
# `cycles-1` is a subtraction. A name does not begin after a digit or a dot, so the `e9` in `1e9` is not a name.
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:[.:=]\w+|-(?=[A-Za-z])\w+)*")
# Functions by name, with the number of their arguments.
_FUNCTIONS: dict[str, tuple[Callable, int]] = {
    "min": (np.minimum, 2),
    "max": (np.maximum, 2),
    "where": (np.where, 3),
}
# Operators by their node in Python's syntax tree.
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
    """Raised if a formula is not valid, or if a name in it has no value."""


def names_in(formula: str) -> list[str]:
    """List the names in a formula.

    Parameters
    ----------
    formula : str
        A formula of a top-down table. For example, ``slots - ex_ret_ops``.

    Returns
    -------
    list of str
        Names of events, ``slots`` and ``parent``. Each name once, in the order of the formula.
    """
    return list(dict.fromkeys(name for name in _NAME.findall(formula) if name not in _FUNCTIONS))


def evaluate(formula: str, values: Mapping[str, Any]) -> Any:
    """Compute a formula of a top-down table.

    Parameters
    ----------
    formula : str
        It can contain names of events, numbers, ``+ - * /``, comparisons, brackets, ``min``, ``max`` and ``where``.
        Write blanks around a minus, because ``a-b`` is the name of one event, for example ``branch-misses``.
    values : mapping of str to float or ndarray
        Value of each name in the formula.

    Returns
    -------
    float or ndarray
        Value of the formula. Infinite or NaN if the formula divides by 0.

    Raises
    ------
    FormulaError
        If the formula is not valid, or if a name in it has no value.
    """
    names = names_in(formula)
    for name in names:
        if name not in values:
            raise FormulaError(_describe_missing_value(formula, name))
    # Python cannot parse names such as `topdown.slots`, so each name is replaced by a variable: x0, x1, …
    variables = {name: f"x{number}" for number, name in enumerate(names)}
    with_variables = _NAME.sub(lambda match: variables.get(match[0], match[0]), formula)
    try:
        tree = ast.parse(with_variables, mode="eval").body
    except SyntaxError as error:
        raise FormulaError(f"{formula!r} is not a formula: {error.msg}") from None
    value_by_variable = {variables[name]: values[name] for name in names}
    with np.errstate(divide="ignore", invalid="ignore"):
        return _compute_node(tree, value_by_variable, formula)


def _describe_missing_value(formula: str, name: str) -> str:
    """Return the message that a name in a formula has no value."""
    message = f"formula {formula!r}: there is no value for {name!r}."
    if "-" in name:
        message += " If its dash is a minus, write a blank on each side of it."
    return message


def _compute_node(node: ast.AST, values: Mapping[str, Any], formula: str) -> Any:
    """Compute a node of a formula's syntax tree.

    `values` has the value of each variable. `formula` is the complete formula, for messages.
    """
    match node:
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.BinOp(left=left, op=symbol, right=right) if type(symbol) in _OPERATORS:
            compute = _OPERATORS[type(symbol)]
            return compute(_compute_node(left, values, formula), _compute_node(right, values, formula))
        case ast.Compare(left=left, ops=[symbol], comparators=[right]) if type(symbol) in _OPERATORS:
            compare = _OPERATORS[type(symbol)]
            return compare(_compute_node(left, values, formula), _compute_node(right, values, formula))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_compute_node(operand, values, formula)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            function, n_arguments = _FUNCTIONS[name]
            if len(arguments) == n_arguments:
                return function(*(_compute_node(argument, values, formula) for argument in arguments))
    raise FormulaError(
        f"{formula!r} is not a formula. A formula consists of events, numbers, + - * /, brackets, min(a, b), "
        "max(a, b) and where(a > b, value if true, value if false)."
    )
