"""Check the names of programs in a notebook's parameter against those that are recorded.

:func:`resolve_names` takes "all" or names separated by commas, and returns the list of names. ValueError if the text
contains no name, NothingRecordedError for an unknown name.
"""

import difflib
from collections.abc import Iterable

from cmlib.errors import InputError, NothingRecordedError
from cmlib.shell import command_line

__all__ = ["resolve_names", "split_names"]

_MOST_SHOWN = 5


def resolve_names(wanted: str, known: Iterable[str], *, about: str, todo: str) -> list[str]:
    """Split a parameter into names, and check that they are known.

    Parameters
    ----------
    wanted : str
        Names separated by commas, or ``"all"``.
    known : iterable of str
        Known names.
    about : str
        What the known names are, for the message: a noun phrase, such as ``"the programs recorded"``.
    todo : str
        What to do about an unknown name: sentences that end the message, with NAME in place of the name.

    Returns
    -------
    list of str
        All known names if `wanted` is ``"all"``.

    Raises
    ------
    ValueError
        If `wanted` contains no name.
    NothingRecordedError
        If a name is not known; the message lists the nearest known ones.
    """
    known = list(known)
    if wanted == "all":
        return known
    names = split_names(wanted)
    if not names:
        raise InputError(f"program = {wanted!r} names no program; write all, or names separated by commas.")
    for name in names:
        if name not in known:
            todo = todo.replace("NAME", command_line(name) or "NAME")
            raise NothingRecordedError(f"{name!r} is not among {about} ({_nearest(name, known)}). {todo}")
    return names


def split_names(text: str) -> list[str]:
    """Split a text at its commas into names.

    Parameters
    ----------
    text : str
        Such as ``"gcc, bzip2"``.

    Returns
    -------
    list of str
        The names without surrounding spaces; empty if there are none.
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def _nearest(name, known):
    """Return a text for messages: all known names, or, if there are many, similar ones or the first."""
    if len(known) <= _MOST_SHOWN:
        return ", ".join(known) or "none"
    near = difflib.get_close_matches(name, known)
    return f"did you mean {' or '.join(near)}?" if near else f"{', '.join(known[:_MOST_SHOWN])}, …"
