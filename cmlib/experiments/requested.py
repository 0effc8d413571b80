"""Check the names of programs that a notebook is asked to study."""

import difflib

from cmlib.errors import NothingRecordedError
from cmlib.shell import command_line

_MOST_SHOWN = 5


def resolve_names(wanted, known, *, about, todo):
    """The names asked for."""
    known = list(known)
    if wanted == "all":
        return known
    names = split_names(wanted)
    if not names:
        raise ValueError(f"program = {wanted!r} names no program; write all, or names separated by commas.")
    for name in names:
        if name not in known:
            todo = todo.replace("NAME", command_line(name) or "NAME")
            raise NothingRecordedError(f"{name!r} is not among {about} ({_nearest(name, known)}). {todo}")
    return names


def split_names(text):
    """Names that are separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def _nearest(name, known):
    """What there is: all of it, or, of many, those of a similar name, or the first."""
    if len(known) <= _MOST_SHOWN:
        return ", ".join(known) or "none"
    near = difflib.get_close_matches(name, known)
    return f"did you mean {' or '.join(near)}?" if near else f"{', '.join(known[:_MOST_SHOWN])}, …"
