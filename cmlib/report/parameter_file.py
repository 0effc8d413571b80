"""Parameters as people write them: a YAML file for a notebook, or a value on the command line."""

import reprlib
from pathlib import Path

import yaml

from cmlib.passwords import hide

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
    """Read the parameters of one notebook.

    Parameters
    ----------
    file : path
        YAML, names and values; UTF-8, or UTF-16 that says so. An empty file gives none.

    Returns
    -------
    dict of str to value

    Raises
    ------
    ValueError
        If it is no such file, naming it, and where a name stands twice.
    OSError
        If it can't be read.
    """
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
    """One value, as it would stand behind `name:` in a file.

    Raises
    ------
    ValueError
        If it is no YAML.
    """
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
