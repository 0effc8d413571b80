"""Whether a metadata file is one, and holds what a database can keep."""

import json

from cmlib.store.database import StoreError

_MOST = 2**31


def read_object(file, what, hint):
    """Read a JSON object.

    Parameters
    ----------
    file : pathlib.Path
    what : str
        What the file should be, for the message.
    hint : str
        What to do if it is not.

    Returns
    -------
    dict

    Raises
    ------
    StoreError
        Naming the file, if it is not JSON, or no object.
    """
    try:
        found = json.loads(file.read_bytes(), parse_constant=_refuse_constant)
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"{file} is not JSON: {error}. {hint}") from error
    if not isinstance(found, dict):
        raise StoreError(
            f"{file} is not {what}: it holds {type(found).__name__} instead of an object. {hint}"
        )
    return found


def first_problem(meta, checks):
    """What is wrong with metadata; None if nothing is.

    Parameters
    ----------
    meta : dict
    checks : iterable of (str, callable, str)
        A key, what its value must fulfil, and what is expected, in words. A key may come several times.
    """
    for key, is_right, expected in checks:
        if key not in meta:
            return f"it has no {key!r}"
        if not is_right(meta[key]):
            return f"{key} is {meta[key]!r} instead of {expected}"
    return None


def is_text(value):
    """Whether it is text that any database keeps: without NUL and lone surrogates."""
    return isinstance(value, str) and not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value)


def is_int(value):
    """Whether it is a whole number that any database keeps."""
    return type(value) is int and abs(value) < _MOST


def is_count(value):
    """Whether it is a whole number, at least 0."""
    return is_int(value) and value >= 0


def is_measure(value):
    """Whether it is a finite number, at least 0."""
    return type(value) in {int, float} and 0 <= value < float("inf")


# Checks of what is unknown of a run that was recorded elsewhere.
MAY_BE_UNKNOWN = (
    ("date", lambda date: date is None or is_text(date), "text or null"),
    ("exit_code", lambda code: code is None or is_int(code), "a whole number or null"),
)


def _refuse_constant(name):
    raise ValueError(f"{name} is no number")
