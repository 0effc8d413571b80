"""Read the parameters of notebooks from notebooks and YAML files, and check their values.

:func:`declared_parameters` reads the parameters of a notebook from its cell tagged ``parameters``. A line of
the cell is ``name: type = value  # comment``. :func:`read_parameters` reads values from a YAML file, and
:func:`check_parameters` checks them. A setting is a parameter that many notebooks share. ``parameters.yaml``
lists the settings.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import itertools
import json
import re
import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cmlib.errors import InputError
from cmlib.io.archive import read_file
from cmlib.passwords import hide
from cmlib.places import yaml_beside

SETTINGS = "settings"
_QUESTION = "**Question.**"
_LIMITS = re.compile(r"^limits = ", re.M)
# Values in messages are shortened. A list in YAML can contain itself.
_REPR = reprlib.Repr()
_REPR.maxlevel, _REPR.maxstring, _REPR.maxother, _REPR.maxlong = 3, 10_000, 10_000, 10_000
_KINDS = {int: "whole number", float: "number"}


def read_cells(notebook: str | Path) -> list[dict]:
    """Read the cells of a notebook.

    Parameters
    ----------
    notebook : path
        The .ipynb file.

    Returns
    -------
    list of dict
        Cells of the file, with the additional key ``text`` (source as one str).

    Raises
    ------
    InputError
        If the file does not exist or is not a notebook.
    """
    notebook = Path(notebook)
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    except FileNotFoundError:
        raise InputError(f"there is no notebook {notebook.name} under {notebook.parent}.") from None
    except (ValueError, LookupError, TypeError) as error:
        raise InputError(f"{notebook} is not a complete notebook ({error}). Restore it.") from error
    return [cell | {"text": "".join(cell["source"])} for cell in cells]


def read_heading(notebook: str | Path) -> tuple[str, str]:
    """Read the title and the question of a notebook.

    Parameters
    ----------
    notebook : path
        The .ipynb file.

    Returns
    -------
    title : str
        First heading. Without a heading, the file name.
    question : str
        Text after ``**Question.**``. Empty if the notebook does not contain this mark.

    Raises
    ------
    InputError
        If the file is not a notebook.
    """
    cells = read_cells(notebook)
    text = "\n\n".join(cell["text"] for cell in cells if cell["cell_type"] == "markdown")
    headings = (line.removeprefix("# ") for line in text.splitlines() if line.startswith("# "))
    after = text.partition(_QUESTION)[2]
    question = itertools.takewhile(str.strip, after.strip().splitlines())
    return next(headings, Path(notebook).stem), " ".join(" ".join(question).split())


def declared_parameters(notebook: str | Path) -> dict[str, Parameter]:
    """Read the parameters of a notebook.

    Parameters
    ----------
    notebook : path
        The .ipynb file.

    Returns
    -------
    dict of str to Parameter
        Parameters in the cell tagged ``parameters``, keyed by name. Shared settings that the cell names are
        included.

    Raises
    ------
    InputError
        If the file is not a notebook, the cell is missing, or its lines cannot be read.
    """
    name = Path(notebook).name
    cells = read_cells(notebook)
    tagged = [cell["text"] for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
    if len(tagged) != 1:
        raise InputError(f"{name}: {len(tagged)} cells are tagged 'parameters'. Exactly one is needed.")
    limits = _read_limits(name, cells)
    try:
        declared = _read_declarations(tagged[0], limits)
    except (SyntaxError, ValueError, AttributeError) as error:
        raise InputError(f"{name}: its parameters are not lines `name: type = value`: {error}") from error
    # The comment of the parameter `settings` names the shared settings of the notebook.
    setting_names = re.findall(r"\w+", declared.pop(SETTINGS).comment) if SETTINGS in declared else ()
    return declared | {name: setting for name, setting in SHARED.items() if name in setting_names}


def _read_declarations(text: str, limits: dict) -> dict[str, Parameter]:
    """Parse the lines of a parameters cell."""
    lines = text.splitlines()
    declared = {}
    statements: list[Any] = ast.parse(text).body
    for statement in statements:
        line = lines[statement.end_lineno - 1]
        comment = line.encode()[statement.end_col_offset :].decode()  # ast counts columns in bytes
        comment = comment.strip().lstrip("#").strip()
        name = statement.target.id
        value = ast.literal_eval(statement.value)
        declared[name] = Parameter(name, value, comment, limits.get(name))
    return declared


def _read_limits(name: str, cells: list[dict]) -> dict:
    """Read the dict ``limits`` of a notebook, keyed by parameter. Empty if it is missing."""
    for cell in cells:
        if cell["cell_type"] == "code" and (line := _LIMITS.search(cell["text"])):
            try:
                return ast.literal_eval(ast.parse(cell["text"][line.start() :]).body[0].value)
            except (SyntaxError, ValueError) as error:
                raise InputError(f"{name}: its limits are not a dictionary of constants: {error}") from error
    return {}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a notebook.

    Attributes
    ----------
    name : str
        Name of the parameter.
    default : object
        Default value.
    comment : str
        Description.
    limits : tuple, list, str or None
        Smallest and largest number, list of the possible texts, or dotted name of such a list.
    shared : bool
        True for a setting that many notebooks share.
    """

    name: str
    default: object
    comment: str
    limits: Any = None
    shared: bool = False

    def check(self, value: object, source: str) -> None:
        """Check the type and limits of a value.

        Parameters
        ----------
        value : object
            An int is valid for a float parameter.
        source : str
            File or option with the value. The error message begins with it.

        Raises
        ------
        InputError
            If the value has another type than the default, or is outside the limits.
        """
        self._check_type(value, source)
        if not self.limits:
            return
        assignment = f"{source}: {self.name} = {_quote_value(value)}"
        if isinstance(self.default, str):
            choices = _list_choices(self.limits)
            if value not in choices:
                raise InputError(
                    f"{assignment} is none of {', '.join(choices)}{_suggest_nearest(value, choices)}"
                )
        elif not self.limits[0] <= value <= self.limits[1]:
            raise InputError(f"{assignment} is outside {list(self.limits)} ({self.comment}).")

    def _check_type(self, value: object, source: str) -> None:
        """Raise InputError if a value has another type than the default."""
        kind = type(self.default)
        if type(value) is kind or (kind is float and type(value) is int):
            return
        hint = "; write it in quotes" if kind is str else ""
        kind_name = _KINDS.get(kind, kind.__name__)
        raise InputError(
            f"{source}: {self.name} takes a {kind_name}, got {_quote_value(value)}{hint} ({self.comment})."
        )


# Settings that several notebooks share, keyed by name
SHARED = {name: Parameter(name, **about, shared=True) for name, about in yaml_beside(__file__).items()}


def check_parameters(notebook: str | Path, values: dict, source: str) -> None:
    """Check the names, types and limits of values for a notebook.

    Parameters
    ----------
    notebook : path
        The .ipynb file.
    values : dict
        Values keyed by parameter name.
    source : str
        File or option with the values. Error messages begin with it.

    Raises
    ------
    InputError
        If a parameter is unknown, or a value has another type than its default or is outside its limits.
    """
    declared = declared_parameters(notebook)
    for name, value in values.items():
        if name not in declared:
            raise InputError(describe_unknown(name, declared, f"{source}: {Path(notebook).name}"))
        declared[name].check(value, source)


def group_settings(notebook: str | Path, values: dict) -> dict:
    """Move shared settings to the dict ``settings``, as Papermill passes them.

    Parameters
    ----------
    notebook : path
        The .ipynb file.
    values : dict
        Values keyed by parameter name.

    Returns
    -------
    dict
        Values keyed by parameter name, and the dict ``settings`` if there are shared settings.

    Raises
    ------
    InputError
        If the notebook cannot be read.
    """
    shared = {name for name, parameter in declared_parameters(notebook).items() if parameter.shared}
    settings = {name: value for name, value in values.items() if name in shared}
    parameters = {name: value for name, value in values.items() if name not in shared}
    return parameters | {SETTINGS: settings} if settings else parameters


def describe_unknown(name: object, declared: Iterable[str], source: str) -> str:
    """Write the error message for an unknown parameter, with the most similar known name.

    Parameters
    ----------
    name : object
        The unknown name.
    declared : iterable of str
        Names of the known parameters.
    source : str
        File or option with the parameter. The message begins with it.

    Returns
    -------
    str
    """
    suggestion = _suggest_nearest(name, declared)
    if suggestion == ".":
        suggestion = f"; it takes {', '.join(declared)}."
    return f"{source} has no parameter {_quote_value(name)}{suggestion}"


def read_parameters(file: str | Path) -> dict:
    """Read the parameter values of a notebook from a YAML file.

    Values of the mapping ``settings`` are included.

    Parameters
    ----------
    file : path
        YAML file with lines ``name: value``.

    Returns
    -------
    dict
        Values keyed by parameter name. Empty if the file is empty.

    Raises
    ------
    InputError
        If the file is not a mapping, or a name has two values.
    OSError
        If the file cannot be read.
    """
    parameters = parse_parameters(read_file(file), str(file))
    settings = parameters.pop(SETTINGS, {})
    if not isinstance(settings, dict):
        raise InputError(f"{file}: settings takes a mapping, got {_quote_value(settings)}.")
    _check_conflicts(parameters, settings, file)
    return parameters | settings


def _check_conflicts(parameters: dict, settings: dict, file: str | Path) -> None:
    """Raise InputError if a name has different values inside and outside of ``settings``."""
    for name, value in settings.items():
        if name in parameters and parameters[name] != value:
            raise InputError(
                f"{file}: {name} has two values, {_quote_value(parameters[name])} and, under settings, "
                f"{_quote_value(value)}. Delete one of them."
            )


def parse_parameters(content: bytes, source: str) -> dict:
    """Parse the content of a YAML file with parameter values.

    Parameters
    ----------
    content : bytes
        Content of the file.
    source : str
        Name of the file. Error messages begin with it.

    Returns
    -------
    dict
        Values keyed by parameter name. Empty if the content is empty.

    Raises
    ------
    InputError
        If the content is not a mapping, or a name occurs twice.
    """
    node, parameters = _load(content, source)
    parameters = {} if parameters is None else parameters
    if not isinstance(parameters, dict):
        raise InputError(f"{source} contains {type(parameters).__name__} instead of lines `name: value`.")
    names = [key.value for key, _ in node.value] if parameters else []
    for name in parameters:
        if not isinstance(name, str):
            raise InputError(f"{source}: {_quote_value(name)} is not a parameter name.")
        if names.count(name) > 1:  # the YAML reader uses the last one
            raise InputError(f"{source}: {name} is given twice; delete one.")
    return parameters


def parse_value(text: str) -> object:
    """Parse a value in YAML.

    Parameters
    ----------
    text : str
        For example, ``8``, ``true``, ``[a, b]`` or ``gcc``.

    Returns
    -------
    object
        An int, float, bool, str, list, dict, date or None.

    Raises
    ------
    InputError
        If the text is not valid YAML. The message contains no passwords.
    """
    try:
        return _load(text, f"the value {_quote_value(text)}")[1]
    except ValueError:
        if hide(text) == text:
            raise
        raise InputError(f"the value {_quote_value(text)} is not valid YAML: put it in quotes") from None


def _quote_value(value: object) -> str:
    """Write a value for a message, without passwords and in at most 120 characters."""
    text = "a mapping" if isinstance(value, dict) else hide(_REPR.repr(value))
    return text if len(text) <= 120 else f"{text[:117]}…"


def _load(content: bytes | str, source: str) -> tuple[Any, Any]:
    """Parse YAML, and return the tree of nodes and the value. Both are None for empty content."""
    try:
        loader = yaml.SafeLoader(content)
        node = loader.get_single_node()
        return node, None if node is None else loader.construct_document(node)
    except (yaml.YAMLError, ValueError, LookupError, RecursionError, AttributeError) as error:
        reason = " ".join(str(error).split())[:300]
        raise InputError(f"{source} is not valid YAML: {reason}") from None


def _list_choices(limits: Any) -> Sequence[str]:
    """Return the choices of a text parameter.

    `limits` is a list or the dotted name of a list. For example, ``"cmlib.clean.METHODS"``.
    """
    if isinstance(limits, str):
        module, _, name = limits.rpartition(".")
        return list(getattr(importlib.import_module(module), name))
    return limits


def _suggest_nearest(name: object, names: Iterable[str]) -> str:
    """Return ``; did you mean 'NAME'?`` with the most similar name, or a full stop if none is similar."""
    near = difflib.get_close_matches(str(name), names, n=1)
    return f"; did you mean {near[0]!r}?" if near else "."
