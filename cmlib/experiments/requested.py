"""Check the names in a parameter of a notebook.

:func:`resolve_names` splits a text such as ``"gcc, bzip2"`` into names, and refuses names that are not recorded.
"""

import difflib
from collections.abc import Iterable

from cmlib.errors import InputError, NothingRecordedError
from cmlib.shell import command_line

__all__ = ["resolve_names", "split_names"]

_MOST_SHOWN = 5  # known names in an error message


def resolve_names(wanted: str, known: Iterable[str], *, about: str, todo: str) -> list[str]:
    """Split a text into names and check that each is known.

    Parameters
    ----------
    wanted : str
        Names separated by commas, or ``"all"``.
    known : iterable of str
        Known names.
    about : str
        Noun phrase for error messages that describes the known names. For example, ``"the programs recorded"``.
    todo : str
        Advice at the end of the error message. The word NAME is replaced by the unknown name.

    Returns
    -------
    list of str
        The names. If `wanted` is ``"all"``, all known names.

    Raises
    ------
    ValueError
        If `wanted` contains no name.
    NothingRecordedError
        If a name is unknown. The message lists similar names.
    """
    known = list(known)
    if wanted == "all":
        return known
    names = split_names(wanted)
    if not names:
        raise InputError(f"program = {wanted!r} contains no name. Write all, or names separated by commas.")
    for name in names:
        if name not in known:
            advice = todo.replace("NAME", command_line(name) or "NAME")
            raise NothingRecordedError(f"{name!r} is not among {about} ({_suggest(name, known)}). {advice}")
    return names


def split_names(text: str) -> list[str]:
    """Split a text into names at commas.

    Parameters
    ----------
    text : str
        For example, ``"gcc, bzip2"``.

    Returns
    -------
    list of str
        Names without surrounding spaces. Empty names are removed.
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def _suggest(name, known):
    """Return the known names, or the similar ones if there are many."""
    if len(known) <= _MOST_SHOWN:
        return ", ".join(known) or "none"
    similar = difflib.get_close_matches(name, known)
    if similar:
        return f"did you mean {' or '.join(similar)}?"
    return f"{', '.join(known[:_MOST_SHOWN])}, …"
