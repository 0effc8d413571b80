"""Names that a notebook is asked to study, held against those that it is about."""

import difflib

from cmlib.errors import NothingRecordedError

_MOST_SHOWN = 5


def chosen(wanted, known, *, about, todo):
    """The names asked for.

    A report about one program is made of all notebooks, and some of them are about programs of their own: where
    a name is none of theirs they are left out, which is what the error is for.

    Parameters
    ----------
    wanted : str
        Names separated by commas, or ``all``.
    known : iterable of str
        What can be asked for.
    about : str
        What these are, in words: "the programs of …".
    todo : str
        What to do for one that is not among them, which NAME stands for.

    Returns
    -------
    list of str

    Raises
    ------
    NothingRecordedError
        If a name is not among the known ones.
    ValueError
        If `wanted` holds no name.
    """
    known = list(known)
    if wanted == "all":
        return known
    names = listed(wanted)
    if not names:
        raise ValueError(f"program = {wanted!r} names no program; write all, or names separated by commas.")
    for name in names:
        if name not in known:
            raise NothingRecordedError(
                f"{name!r} is not among {about} ({_shown(name, known)}). {todo.replace('NAME', name)}"
            )
    return names


def listed(text):
    """Names that are separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def _shown(name, known):
    """What there is: all of it, or, of many, those of a similar name, or the first."""
    if len(known) <= _MOST_SHOWN:
        return ", ".join(known) or "none"
    near = difflib.get_close_matches(name, known)
    return f"did you mean {' or '.join(near)}?" if near else f"{', '.join(known[:_MOST_SHOWN])}, …"
