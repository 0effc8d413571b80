"""The names a notebook can be given, read from its tagged cell before anything runs."""

import ast
import difflib
import json
import re
from dataclasses import dataclass
from pathlib import Path

_RANGE = re.compile(r"\[\s*(?P<low>[^\s,\]]+)\s*,\s*(?P<high>[^\s,\]]+)\s*\]")
_CHOICE = re.compile(r"\{(?P<choices>[^}]+)\}")


@dataclass(frozen=True)
class Parameter:
    """One line of a notebook's parameters cell: ``n_steps = 200  # steps of progress [20, 2000]``."""

    name: str
    default: object
    comment: str

    def check(self, value, where):
        """Raise ValueError if `value` is of another type than the default, or outside what the comment allows."""
        number = isinstance(self.default, (int, float)) and not isinstance(self.default, bool)
        if number and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise ValueError(f"{where}: {self.name} takes a number, got {value!r} ({self.comment}).")
        if not number and self.default is not None and not isinstance(value, type(self.default)):
            kind = type(self.default).__name__
            raise ValueError(f"{where}: {self.name} takes a {kind}, got {value!r} ({self.comment}).")
        if number and (limits := _RANGE.search(self.comment)):
            low, high = float(limits["low"]), float(limits["high"])
            if not low <= value <= high:
                raise ValueError(
                    f"{where}: {self.name} = {value!r} is outside [{low:g}, {high:g}] ({self.comment})."
                )
        if choice := _CHOICE.search(self.comment):
            allowed = [word.strip() for word in choice["choices"].split(",")]
            if str(value) not in allowed:
                raise ValueError(f"{where}: {self.name} = {value!r} is none of {', '.join(allowed)}.")


def declared_parameters(notebook):
    """Read a notebook's parameters from the cell tagged ``parameters``.

    The comment behind a value documents it and limits it: ``[low, high]`` is
    the range of a number, ``{one, other}`` the words allowed.

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
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    tagged = [c for c in cells if "parameters" in c["metadata"].get("tags", [])]
    if len(tagged) != 1:
        raise ValueError(
            f"{notebook.name}: {len(tagged)} cells are tagged 'parameters'; it takes exactly one."
        )
    source = "".join(tagged[0]["source"])
    lines = source.splitlines()
    found = {}
    for statement in ast.parse(source).body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            raise ValueError(f"{notebook.name}: parameters line {statement.lineno} is not `name = value`.")
        comment = lines[statement.end_lineno - 1][statement.end_col_offset :].strip().lstrip("#").strip()
        name = statement.targets[0].id
        found[name] = Parameter(name, ast.literal_eval(statement.value), comment)
    return found


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


def unknown_parameter(name, known, where):
    """The message for a parameter nobody declares, with the nearest name that is."""
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known)}."
    return f"{where} has no parameter {name!r}; {hint}"
