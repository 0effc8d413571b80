"""The names a notebook can be given, read from its tagged cell before anything runs."""

import ast
import difflib
import importlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from cmlib.report.parameter_file import shown
from cmlib.report.settings import SETTINGS, SHARED, named_in

_RANGE = re.compile(r"\[\s*(?P<low>[^\s,\]]+)\s*,\s*(?P<high>[^\s,\]]+)\s*\]")
_CHOICE = re.compile(r"\{(?P<choices>[^}]+)\}")
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
# Of a number without a range: what every integer of 64 bits can be.
_MOST = 2**63 - 1
# Characters of a name that are compared with the known ones.
_LONGEST = 80


@dataclass(frozen=True)
class Parameter:
    """One line of a notebook's parameters cell: ``n_steps = 200  # steps of progress [20, 2000]``."""

    name: str
    default: object
    comment: str
    shared: bool = False

    def check(self, value, where):
        """Raise ValueError if `value` is of another type than the default, or outside what the comment allows."""
        if isinstance(self.default, (int, float)) and not isinstance(self.default, bool):
            self._check_number(value, where)
        elif self.default is not None and not isinstance(value, type(self.default)):
            kind = type(self.default).__name__
            hint = "; write it in quotes" if isinstance(self.default, str) else ""
            raise ValueError(
                f"{where}: {self.name} takes a {kind}, got {shown(value)}{hint} ({self.comment})."
            )
        if isinstance(value, str) and _UNWRITABLE.search(value):
            raise ValueError(
                f"{where}: {self.name} holds characters that no file can hold, {shown(value)} ({self.comment})."
            )
        if choice := _CHOICE.search(self.comment):
            allowed = _allowed(choice["choices"])
            if _text(value) not in allowed:
                raise ValueError(
                    f"{where}: {self.name} = {shown(value)} is none of {', '.join(allowed)}{_nearest(value, allowed)}"
                )

    def _check_number(self, value, where):
        kind = (int,) if isinstance(self.default, int) else (int, float)
        if isinstance(value, bool) or not isinstance(value, kind):
            expected = "whole number" if isinstance(self.default, int) else "number"
            raise ValueError(f"{where}: {self.name} takes a {expected}, got {shown(value)} ({self.comment}).")
        limits = _RANGE.search(self.comment)
        low, high = (float(limits["low"]), float(limits["high"])) if limits else (-_MOST, _MOST)
        if not low <= value <= high:
            raise ValueError(
                f"{where}: {self.name} = {shown(value)} is outside [{low:g}, {high:g}] ({self.comment})."
            )


def declared_parameters(notebook):
    """Read a notebook's parameters from the cell tagged ``parameters``.

    The comment behind a value documents it and limits it: ``[low, high]`` is
    the range of a number, ``{one, other}`` the words
    allowed, or the name in cmlib of what holds them. A line ``settings = {}``
    stands for those of the shared parameters (docs/settings.md) that its comment names.

    Parameters
    ----------
    notebook : path of an .ipynb file

    Returns
    -------
    dict of str to Parameter

    Raises
    ------
    ValueError
        If no cell carries the tag, or a line of it is not `name = literal`.
    """
    notebook = Path(notebook)
    source = _tagged_cell(notebook)
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"{notebook.name}: its parameters are no Python: {error}") from error
    lines = source.splitlines()
    declared = {}
    for statement in statements:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            raise ValueError(f"{notebook.name}: parameters line {statement.lineno} is not `name = value`.")
        # Columns are counted in bytes.
        behind = lines[statement.end_lineno - 1].encode()[statement.end_col_offset :].decode()
        name = statement.targets[0].id
        declared[name] = Parameter(
            name, ast.literal_eval(statement.value), behind.strip().lstrip("#").strip()
        )
    shared = named_in(declared.pop(SETTINGS).comment) if SETTINGS in declared else ()
    return declared | {name: Parameter(name, *SHARED[name], shared=True) for name in shared}


def check_parameters(notebook, given, where):
    """Hold the parameters given for a notebook against those it declares.

    Parameters
    ----------
    notebook : path of an .ipynb file
    given : dict of str to value
    where : str
        Where they come from, for the message: a file's name or ``-p``.

    Raises
    ------
    ValueError
        Naming the first one that the notebook does not know (with the nearest
        name it does), or whose value is of the wrong type or out of range.
    """
    known = declared_parameters(notebook)
    for name, value in given.items():
        if name not in known:
            raise ValueError(unknown_parameter(name, known, f"{where}: {Path(notebook).name}"))
        known[name].check(value, where)


def for_papermill(notebook, given):
    """Parameters as Papermill puts them into a notebook: those that it shares with others as its `settings`.

    Parameters
    ----------
    notebook : path of an .ipynb file
    given : dict of str to value
        By the names that :func:`declared_parameters` has.

    Returns
    -------
    dict of str to value
    """
    shared = {name for name, parameter in declared_parameters(notebook).items() if parameter.shared}
    settings = {name: value for name, value in given.items() if name in shared}
    own = {name: value for name, value in given.items() if name not in shared}
    return own | {SETTINGS: settings} if settings else own


def unknown_parameter(name, known, where):
    """The message for a parameter nobody declares, with the nearest name that is."""
    hint = _nearest(name, known)
    others = f"; it takes {', '.join(known)}." if hint == "." else hint
    return f"{where} has no parameter {shown(name)}{others}"


def _tagged_cell(notebook):
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        tagged = [c for c in cells if "parameters" in c["metadata"].get("tags", [])]
        sources = ["".join(cell["source"]) for cell in tagged]
    except FileNotFoundError:
        raise ValueError(f"there is no notebook {notebook.name} under {notebook.parent}.") from None
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"{notebook} is no notebook, or is cut off ({error}): put it back.") from error
    if len(sources) != 1:
        raise ValueError(
            f"{notebook.name}: {len(sources)} cells are tagged 'parameters'; it takes exactly one."
        )
    return sources[0]


def _allowed(choices):
    """The words between braces; ``{cmlib.clean.METHODS}`` stands for those that this name holds."""
    if choices.startswith("cmlib."):
        module, _, name = choices.rpartition(".")
        return list(getattr(importlib.import_module(module), name))
    return [word.strip() for word in choices.split(",")]


def _nearest(name, known):
    near = difflib.get_close_matches(_text(name)[:_LONGEST], known, n=1)
    return f"; did you mean {near[0]!r}?" if near else "."


def _text(value):
    return value if isinstance(value, str) else shown(value)
