"""Formulas over event names, as the tables of top-down categories write them."""

import ast
import operator
import re

import numpy as np

from cmlib.errors import CmlibError

# An event's name holds dots, colons, dashes within words and equals signs: `topdown.slots`, `cycles:u`.
_NAME = re.compile(r"[A-Za-z_][\w]*(?:[.:=][\w]+|-(?=[A-Za-z])[\w]+)*")
_CALLS = {"min": np.minimum, "max": np.maximum}
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


class FormulaError(CmlibError):
    """A formula can't be read."""


def names_in(formula):
    """The events that a formula takes, each once, in its order."""
    return list(dict.fromkeys(name for name in _NAME.findall(formula) if name not in _CALLS))


def evaluate(formula, values):
    """Compute a formula."""
    names = names_in(formula)
    numbered = _NAME.sub(
        lambda match: match[0] if match[0] in _CALLS else f"x{names.index(match[0])}", formula
    )
    try:
        tree = ast.parse(numbered, mode="eval").body
    except SyntaxError as error:
        raise FormulaError(f"{formula!r} is not a formula: {error.msg}") from None
    with np.errstate(divide="ignore", invalid="ignore"):
        return _value(tree, {f"x{number}": values[name] for number, name in enumerate(names)}, formula)


def _value(node, values, formula):
    match node:
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, values, formula), _value(right, values, formula))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, values, formula)
        case ast.Call(func=ast.Name(id=name), args=[first, second], keywords=[]) if name in _CALLS:
            return _CALLS[name](_value(first, values, formula), _value(second, values, formula))
    raise FormulaError(
        f"{formula!r} is not a formula: it takes events, numbers, + - * / and brackets, min(a, b) and max(a, b)."
    )
