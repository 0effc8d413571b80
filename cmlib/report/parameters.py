"""Parameters that notebooks have in common, each notebook's in its one line ``settings = {}``."""

import ast
import difflib
import importlib
import json
import re
import reprlib
from dataclasses import dataclass
from pathlib import Path

import yaml

from cmlib.passwords import hide

SETTINGS = "settings"
# As a parameters cell would have them: name, default, and what the comment behind it says.
SHARED = {
    "jobs": (-1, "worker processes; -1: one a processor [-1, 1024]"),
    "executor": ("processes", "where the workers are: this machine, or a cluster {processes, dask}"),
    "scheduler": ("", "address of a running Dask scheduler; needs executor dask"),
    "database": ("", "SQLAlchemy URL of the store; empty: an SQLite file among the results"),
    "interactive": (True, "widgets at the end; False: a figure in their place"),
    "profile": ("paper", "folder of the results under data/results"),
    "results_folder": ("", "where results go instead of data/results"),
}


def named_in(comment):
    """Those of the shared parameters that the comment behind ``settings = {}`` names, in their order here."""
    named = set(re.findall(r"\w+", comment))
    return [name for name in SHARED if name in named]


_QUESTION = re.compile(r"\*\*Question\.\*\*\s+(.+?)\s*(?:\n\s*\n|\Z)", re.S)


def read_heading(notebook):
    """Title and question of a notebook."""
    notebook = Path(notebook)
    if not notebook.is_file():
        raise ValueError(f"there is no notebook {notebook.name} under {notebook.parent}.")
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    headings = (line.removeprefix("# ") for line in text.splitlines() if line.startswith("# "))
    question = _QUESTION.search(text)
    return next(headings, notebook.stem), " ".join(question[1].split()) if question else ""


# What PyYAML lets through beside its own errors, of `!!int ""`, `!!bool x`, `2026-13-45`, `[[[[…`.
_MALFORMED = (
    yaml.YAMLError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


def read_parameters(file):
    """Read the parameters of one notebook."""
    return parse_parameters(Path(file).read_bytes(), str(file))


def parse_parameters(content, where):
    """Parameters out of a file's content [bytes]; see :func:`read_parameters`."""
    node, parameters = _load(content, where)
    parameters = {} if parameters is None else parameters
    if not isinstance(parameters, dict):
        raise ValueError(f"{where} holds {type(parameters).__name__} instead of lines `name: value`.")
    for name in parameters:
        if not isinstance(name, str):
            raise ValueError(f"{where}: {shown(name)} is not a parameter name.")
    _check_names_differ(node, where)
    return parameters


def parse_value(text):
    """One value, as it would stand behind `name:` in a file."""
    try:
        return _load(text, f"the value {text!r}")[1]
    except ValueError:
        if hide(text) == text:
            raise
        raise ValueError(f"the value {hide(text)!r} is not YAML that can be read: put it in quotes") from None


def shown(value):
    """A value as it is written, cut short: lists may hold themselves, and Python writes no more than 4300 digits."""
    try:
        text = reprlib.repr(hide(value) if isinstance(value, str) else value)
    except ValueError:
        return "something with thousands of digits"
    return text if len(text) <= 120 else f"{text[:117]}…"


def _load(content, where):
    """The tree of YAML that `content` is, and the value it stands for."""
    try:
        loader = yaml.SafeLoader(content)
        node = loader.get_single_node()
        return node, None if node is None else loader.construct_document(node)
    except _MALFORMED as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise ValueError(f"{where} is not YAML that can be read: {reason}") from None


def _check_names_differ(node, where):
    """YAML's reader takes the last of two, which nobody means."""
    first = {}
    for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
        line = key.start_mark.line + 1
        if key.value in first:
            raise ValueError(
                f"{where}: {key.value} is given twice, in lines {first[key.value]} and {line}; delete one."
            )
        first[key.value] = line


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
    """Read a notebook's parameters from the cell tagged ``parameters``."""
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
    """Hold the parameters given for a notebook against those it declares."""
    known = declared_parameters(notebook)
    for name, value in given.items():
        if name not in known:
            raise ValueError(unknown_parameter(name, known, f"{where}: {Path(notebook).name}"))
        known[name].check(value, where)


def for_papermill(notebook, given):
    """Parameters as Papermill puts them into a notebook."""
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
