"""Check the names of programs in a notebook's parameter against those that are recorded.

:func:`resolve_names` takes a text, "all" or names separated by commas, and gives the list of names. A ValueError if
it holds no name, a NothingRecordedError for an unknown one.
"""

import difflib
from collections.abc import Iterable

from cmlib.errors import InputError, NothingRecordedError
from cmlib.shell import command_line

__all__ = ["resolve_names", "split_names"]

_MOST_SHOWN = 5


def resolve_names(wanted: str, known: Iterable[str], *, about: str, todo: str) -> list[str]:
    """List of the names (str) in `wanted` (str): "all", which stands for all of `known`, or names separated by commas.

    A ValueError if there are no names. A NothingRecordedError for one that is not among `known` (names): its message
    says that it is not among `about` (a noun phrase, such as "the programs recorded"), names the nearest ones, and ends
    with `todo`, sentences on what to do, in which NAME is replaced by the name.
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

    Returns
    -------
    list of str
        The names without surrounding spaces; empty if there are none.
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def _nearest(name, known):
    """Text for messages: all known names, or, if there are many, similar ones or the first."""
    if len(known) <= _MOST_SHOWN:
        return ", ".join(known) or "none"
    near = difflib.get_close_matches(name, known)
    return f"did you mean {' or '.join(near)}?" if near else f"{', '.join(known[:_MOST_SHOWN])}, …"
