"""Whether a metadata file is one, and holds what a database can keep."""

import json
from datetime import UTC, datetime

from cmlib.archive.errors import ArchiveError
from cmlib.archive.files import read_file

_MOST = 2**31
_LARGEST = 64 << 20  # bytes


def read_object(file, what, hint):
    """Read a JSON object.

    Parameters
    ----------
    file : path
    what : str
        What the file should be, for the message.
    hint : str
        What to do if it is not.

    Returns
    -------
    dict

    Raises
    ------
    ArchiveError
        Naming the file, if it can't be read, is not JSON, or no object.
    """
    return parse_object(read_file(file, most=_LARGEST), file, what, hint)


def parse_object(text, file, what, hint):
    """Read a JSON object from its text; the rest is as in :func:`read_object`."""
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"{file} is not JSON: {error}. {hint}") from error
    if not isinstance(content, dict):
        raise ArchiveError(
            f"{file} is not {what}: it holds {type(content).__name__} instead of an object. {hint}"
        )
    return content


def as_text(meta, file):
    """Write metadata as text that :func:`read_object` reads.

    Parameters
    ----------
    meta : dict
    file : path
        For the message.

    Returns
    -------
    str

    Raises
    ------
    ArchiveError
        If there is something in them that is not JSON, no finite number, or text that is not Unicode.
    """
    try:
        text = json.dumps(meta, indent=1, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ArchiveError(f"{file} can't be written, its content is not JSON: {error}.") from error
    return f"{text}\n"


def now():
    """The time, in UTC, as metadata tell it: ``2026-11-21T03:00:46``."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")


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
            return f"{key} is {_shown(meta[key])} instead of {expected}"
    return None


def is_text(value):
    """Whether it is text that any database keeps: without NUL and lone surrogates."""
    return isinstance(value, str) and not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value)


def is_texts(value):
    """Whether it is a list of texts."""
    return isinstance(value, list) and all(map(is_text, value))


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


def _shown(value):
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}…"


def _refuse_constant(name):
    raise ValueError(f"{name} is no number")
