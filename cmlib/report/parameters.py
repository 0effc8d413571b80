"""Read the parameters of notebooks from their cells and from YAML files, and check them by type and limits.

Functions take the path of a notebook's .ipynb file. Its parameters are lines ``name: type = value  # comment`` of the
cell tagged ``parameters``. A setting is a parameter that many notebooks share, listed in ``parameters.yaml``.
ValueError for an unknown name, or a value of another type or outside its limits; the message names file and parameter.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import itertools
import json
import re
import reprlib
from dataclasses import dataclass
from pathlib import Path

import yaml

from cmlib.errors import InputError
from cmlib.io.archive import read_file
from cmlib.passwords import hide
from cmlib.places import yaml_beside

SETTINGS = "settings"
_QUESTION = "**Question.**"
_LIMITS = re.compile(r"^limits = ", re.M)
# Values in messages are cut short: by YAML's references a list can hold itself.
_REPR = reprlib.Repr()
_REPR.maxlevel, _REPR.maxstring, _REPR.maxother, _REPR.maxlong = 3, 10_000, 10_000, 10_000
_KINDS = {int: "whole number", float: "number"}


def read_cells(notebook):
    """Read the cells of a notebook.

    Parameters
    ----------
    notebook : path
        Its .ipynb file.

    Returns
    -------
    list of dict
        Cells as in the file, with their source as ``text`` (str), too.

    Raises
    ------
    ValueError
        If there is no such file, or it is not a notebook.
    """
    notebook = Path(notebook)
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    except FileNotFoundError:
        raise InputError(f"there is no notebook {notebook.name} under {notebook.parent}.") from None
    except (ValueError, LookupError, TypeError) as error:
        raise InputError(f"{notebook} is not a notebook, or is cut off ({error}): put it back.") from error
    return [cell | {"text": "".join(cell["source"])} for cell in cells]


def read_heading(notebook):
    """Read the title and the question of a notebook from its Markdown.

    Parameters
    ----------
    notebook : path
        Its .ipynb file.

    Returns
    -------
    title : str
        The first heading, or the file's name if there is none.
    question : str
        The text after ``**Question.**``; "" if there is none.

    Raises
    ------
    ValueError
        If the file is not a notebook.
    """
    cells = read_cells(notebook)
    text = "\n\n".join(cell["text"] for cell in cells if cell["cell_type"] == "markdown")
    headings = (line.removeprefix("# ") for line in text.splitlines() if line.startswith("# "))
    after = text.partition(_QUESTION)[2]
    question = itertools.takewhile(str.strip, after.strip().splitlines())
    return next(headings, Path(notebook).stem), " ".join(" ".join(question).split())


def declared_parameters(notebook: str | Path) -> dict[str, Parameter]:
    """Read which parameters a notebook takes: those of the cell tagged ``parameters``, and the settings named there.

    Parameters
    ----------
    notebook : path
        Its .ipynb file.

    Returns
    -------
    dict of str to Parameter
        By name. Limits are in the dict ``limits`` in another cell: for each parameter, (low, high) of a number, a list
        of choices of a text, or the dotted name of such a list.

    Raises
    ------
    ValueError
        If the file is not a notebook, not exactly one cell is tagged ``parameters``, or its lines or the limits
        can't be read.
    """
    name, cells = Path(notebook).name, read_cells(notebook)
    tagged = [cell["text"] for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
    if len(tagged) != 1:
        raise InputError(f"{name}: {len(tagged)} cells are tagged 'parameters'; it takes exactly one.")
    declared, limits = {}, _read_limits(name, cells)
    try:
        for statement in ast.parse(tagged[0]).body:
            line = tagged[0].splitlines()[statement.end_lineno - 1]
            comment = line.encode()[statement.end_col_offset :].decode()  # columns are counted in bytes
            comment = comment.strip().lstrip("#").strip()
            parameter, value = statement.target.id, ast.literal_eval(statement.value)
            declared[parameter] = Parameter(parameter, value, comment, limits.get(parameter))
    except (SyntaxError, ValueError, AttributeError) as error:
        raise InputError(f"{name}: its parameters are not lines `name: type = value`: {error}") from error
    words = re.findall(r"\w+", declared.pop(SETTINGS).comment) if SETTINGS in declared else ()
    return declared | {name: setting for name, setting in SHARED.items() if name in words}


def _read_limits(name, cells):
    """Read the dict ``limits`` of a notebook.

    By parameter, it has (low, high), a list of choices, or the dotted name of such a list in cmlib.
    """
    for cell in cells:
        if cell["cell_type"] == "code" and (line := _LIMITS.search(cell["text"])):
            try:
                return ast.literal_eval(ast.parse(cell["text"][line.start() :]).body[0].value)
            except (SyntaxError, ValueError) as error:
                raise InputError(f"{name}: its limits are not a dictionary of constants: {error}") from error
    return {}


@dataclass(frozen=True)
class Parameter:
    """One line of a notebook's parameters cell, such as ``n_steps: int = 200  # steps of progress``.

    Attributes
    ----------
    name : str
    default : object
        The value in that line.
    comment : str
        The text after ``#``.
    limits : tuple, list, str or None
        (low, high) of a number, both included; a list of choices of a text, or the dotted name of such a list.
    shared : bool
        True for a setting that many notebooks have.
    """

    name: str
    default: object
    comment: str
    limits: object = None
    shared: bool = False

    def check(self, value, where):
        """Check a value of the parameter.

        Parameters
        ----------
        value : object
            An int may be given for a float.
        where : str
            The file or the option that has the value; the error's message begins with it.

        Raises
        ------
        ValueError
            If the value is of another type than the default, or outside its limits.
        """
        kind = type(self.default)
        if type(value) is not kind and not (kind is float and type(value) is int):
            hint = "; write it in quotes" if kind is str else ""
            kind_name = _KINDS.get(kind, kind.__name__)
            raise InputError(
                f"{where}: {self.name} takes a {kind_name}, got {written(value)}{hint} ({self.comment})."
            )
        if not self.limits:
            return
        assignment = f"{where}: {self.name} = {written(value)}"
        if kind is str:
            choices = _list_choices(self.limits)
            if value not in choices:
                raise InputError(
                    f"{assignment} is none of {', '.join(choices)}{_suggest_nearest(value, choices)}"
                )
        elif not self.limits[0] <= value <= self.limits[1]:
            raise InputError(f"{assignment} is outside {list(self.limits)} ({self.comment}).")


# Settings that several notebooks take, named in the comment of a notebook's line ``settings: dict = {}``.
SHARED = {name: Parameter(name, **about, shared=True) for name, about in yaml_beside(__file__).items()}


def check_parameters(notebook: str | Path, values: dict, where: str) -> None:
    """Check values for a notebook's parameters by name, type and limits.

    Parameters
    ----------
    notebook : path
        Its .ipynb file.
    values : dict
        Value by name of parameter.
    where : str
        The file or option that the values are from: errors begin with it.

    Raises
    ------
    ValueError
        If a name is not a parameter of the notebook, a value has another type than its default (an int may stand for
        a float), or is outside its limits.
    """
    declared = declared_parameters(notebook)
    for name, value in values.items():
        if name not in declared:
            raise InputError(unknown_parameter(name, declared, f"{where}: {Path(notebook).name}"))
        declared[name].check(value, where)


def for_papermill(notebook, values):
    """Arrange the parameters of a notebook as Papermill puts them into its cells.

    Parameters
    ----------
    notebook : path
        Its .ipynb file.
    values : dict
        All values by name.

    Returns
    -------
    dict
        Values by name; settings that notebooks share are together in one dict, ``settings``.

    Raises
    ------
    ValueError
        If the notebook can't be read.
    """
    shared = {name for name, parameter in declared_parameters(notebook).items() if parameter.shared}
    settings = {name: value for name, value in values.items() if name in shared}
    parameters = {name: value for name, value in values.items() if name not in shared}
    return parameters | {SETTINGS: settings} if settings else parameters


def unknown_parameter(name, known, where):
    """Write the message for a parameter that no notebook declares, and suggest the nearest declared name.

    Parameters
    ----------
    name : str
        The unknown name.
    known : iterable of str
        Declared names.
    where : str
        Beginning of the message: the file or option that has the parameter.

    Returns
    -------
    str
    """
    suggestion = _suggest_nearest(name, known)
    if suggestion == ".":
        suggestion = f"; it takes {', '.join(known)}."
    return f"{where} has no parameter {written(name)}{suggestion}"


def read_parameters(file: str | Path) -> dict:
    """Read the parameters of one notebook from a YAML file, those under ``settings`` among them.

    Parameters
    ----------
    file : path
        With lines ``name: value``.

    Returns
    -------
    dict
        Value by name; empty if the file is empty.

    Raises
    ------
    ValueError
        If it is not a mapping of names, or has a name twice.
    OSError
        If it can't be read.
    """
    parameters = parse_parameters(read_file(file), str(file))
    settings = parameters.pop(SETTINGS, {})
    if not isinstance(settings, dict):
        raise InputError(f"{file}: settings takes a mapping, got {written(settings)}.")
    return parameters | settings


def parse_parameters(content, where):
    """Parse the parameters in a YAML file.

    Parameters
    ----------
    content : bytes
        Content of the file.
    where : str
        Name of the file, for the message.

    Returns
    -------
    dict
        Value by name; empty if there is none.

    Raises
    ------
    ValueError
        If it is not a mapping of names, or has a name twice.
    """
    node, parameters = _load(content, where)
    parameters = {} if parameters is None else parameters
    if not isinstance(parameters, dict):
        raise InputError(f"{where} holds {type(parameters).__name__} instead of lines `name: value`.")
    names = [key.value for key, _ in node.value] if parameters else []
    for name in parameters:
        if not isinstance(name, str):
            raise InputError(f"{where}: {written(name)} is not a parameter name.")
        if names.count(name) > 1:  # YAML's reader takes the last of them
            raise InputError(f"{where}: {name} is given twice; delete one.")
    return parameters


def parse_value(text: str) -> object:
    """Parse a value as YAML does after ``name:``.

    Parameters
    ----------
    text : str
        Such as ``8``, ``true``, ``[a, b]`` or ``gcc``.

    Returns
    -------
    object
        An int, float, bool, str, list, dict, date or None.

    Raises
    ------
    ValueError
        If it is not YAML; a password in it is left out of the message.
    """
    try:
        return _load(text, f"the value {written(text)}")[1]
    except ValueError:
        if hide(text) == text:
            raise
        raise InputError(
            f"the value {written(text)} is not YAML that can be read: put it in quotes"
        ) from None


def written(value):
    """Return a value as text (str) for messages: at most 120 characters, without passwords."""
    text = "a mapping" if isinstance(value, dict) else hide(_REPR.repr(value))
    return text if len(text) <= 120 else f"{text[:117]}…"


def _load(content, source):
    """Parse YAML text into (tree of nodes, value), both None if it is empty; ValueError if it can't be read."""
    try:
        loader = yaml.SafeLoader(content)
        node = loader.get_single_node()
        return node, None if node is None else loader.construct_document(node)
    except (yaml.YAMLError, ValueError, LookupError, RecursionError, AttributeError) as error:
        reason = " ".join(str(error).split())[:300]
        raise InputError(f"{source} is not YAML that can be read: {reason}") from None


def _list_choices(limits):
    """Return a list of choices; `limits` may be the dotted name of one, such as ``"cmlib.clean.METHODS"``."""
    if isinstance(limits, str):
        module, _, name = limits.rpartition(".")
        return list(getattr(importlib.import_module(module), name))
    return limits


def _suggest_nearest(name, known):
    """Return the end of a message: ``; did you mean 'NAME'?`` with the nearest known name, or a full stop."""
    near = difflib.get_close_matches(str(name), known, n=1)
    return f"; did you mean {near[0]!r}?" if near else "."
