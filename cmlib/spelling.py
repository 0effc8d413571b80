"""Find one name for all spellings of an event by perf, vendors and other tools.

:func:`spelling` takes and returns the name of an event (str). Two names mean the same event if their spellings are
equal. Any name is accepted.
"""

import re
from functools import cache

import yaml

from cmlib.places import shipped

# Events that every run counts all the time, as IPC needs both.
PINNED = ("instructions", "cycles")
_PMU = re.compile(r"(?:cpu(?:_[a-z]+)?|armv[0-9]\w*|apple_\w+_pmu)/([^/]*)/?")
_MODIFIER = re.compile(r"(?<=[/:])[ukhIGHpPSDWeb]+(?=/?$)")
_NAME = re.compile(r"(?:^|,)name=([^,]+)")
# cmlib's name of an event, to the list of its other names.
NAMES = yaml.safe_load((shipped("events") / "names.yaml").read_text(encoding="utf-8"))["names"]


def letters(name):
    """Return a name's letters and digits in lower case, and any ``*``, which stands in patterns."""
    return re.sub(r"[^a-z0-9*]", "", name.lower())


_FIRST = {letters(other): letters(name) for name, others in NAMES.items() for other in others}


@cache
def spelling(event):
    """Return one name for all spellings of an event, which differ in case, modifiers, PMU of the cores and punctuation.

    Parameters
    ----------
    event : str
        Such as ``TOPDOWN.SLOTS``, ``cpu_core/slots/`` or ``slots:u``.

    Returns
    -------
    str
        Lower-case letters and digits, such as ``slots``. What was counted in the kernel only (``slots:k``), or with
        more terms than its name (``slotscmask1``), is another event, unless a term ``name=…`` names it.

    Examples
    --------
    >>> spelling("cpu_core/TOPDOWN.SLOTS/u") == spelling("slots")
    True
    """
    plain, is_kernel = _take_apart(event)
    return _FIRST.get(plain, plain) + (":k" if is_kernel else "")


def preference(event):
    """Return the rank (int) of a name among all names of its event; 0 is cmlib's own name, which is preferred."""
    plain, _ = _take_apart(event)
    first = _FIRST.get(plain, plain)
    return [first, *(other for other, name in _FIRST.items() if name == first)].index(plain)


def _take_apart(event):
    """Return the letters and digits of an event's name, and True if it was counted in the kernel only."""
    modifier = _MODIFIER.search(event)
    name = event[: modifier.start()].rstrip(":") if modifier else event
    if inside := _PMU.fullmatch(name):
        named = _NAME.search(inside[1])
        name = named[1] if named else inside[1]
    is_kernel = modifier is not None and "k" in modifier[0] and "u" not in modifier[0]
    return letters(name), is_kernel


def scope(event):
    """Return where an event (name as in a file) was counted: its PMU, and its modes such as ``u`` (two str).

    Both are "" where the name does not say.
    """
    modifier = _MODIFIER.search(event)
    modes = sorted({*modifier[0]} & {*"ukhGH"}) if modifier else ()
    return event.partition("/")[0] * ("/" in event), "".join(modes)
