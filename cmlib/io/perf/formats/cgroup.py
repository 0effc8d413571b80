"""Counts of one cgroup (``-G``), with its name behind each event's."""

import re

from cmlib.io.perf.formats import separated
from cmlib.io.perf.formats.lines import TIME, UNCOUNTED, first_line
from cmlib.io.perf.grammar import ParseError, shown

NAME = "perf stat -G"

_HEADING = re.compile(r" *(?:#.*)?$")
# Perhaps time; count, unit and event; the cgroup, which is no number as the run time behind it is; run time and share.
_ROW = re.compile(
    rf"^( *(?:{TIME}[,;\t|])?(?:[0-9]+(?:[.,][0-9]+)?|{UNCOUNTED})([,;\t|])"
    r"[^\n,;\t|0-9<]*\2(?:[^\n,;\t|/]++|/[^\n/]*/)++)"
    r"\2(?![0-9.,]+%?\2)([^\n,;\t|]+)(?=\2[0-9]+\2[0-9]{1,3}[.,][0-9]{2}(?:\2|$))",
    re.MULTILINE,
)


def recognises(text):
    """Whether the first line that is no comment has a cgroup behind its event."""
    return _ROW.match(first_line(text, _HEADING)) is not None


def read(text, interval_ms=None):
    """Read such counts, of one cgroup."""
    first = _ROW.search(text)[3]
    other = next((row for row in _ROW.finditer(text) if row[3] != first), None)
    if other:
        raise ParseError(
            f"{shown(text, other.start())} counts cgroup {other[3]}, and the first line cgroup {first}. Keep "
            "the lines of one, or record one: `perf stat -I 100 -x, -o FILE -a -e EVENTS -G CGROUP`."
        )
    return separated.read(_ROW.sub(r"\1", text))


def remarks(text, columns=None):
    """Which cgroup is counted."""
    return [f"Counts are those of cgroup {_ROW.search(text)[3]}."]
