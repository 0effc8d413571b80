"""Convert the output of ``perf list`` to an event table."""

import json
import re
from collections.abc import Iterator

import pandas as pd

from cmlib.io.archive import reading_errors_as
from cmlib.io.events.tables import TABLE_COLUMNS, EventError

# The plain text of `perf list --details` has a heading for each unit, and below it entries such as
#   ic_fetch_stall.any
#        [The instruction cache pipeline was stalled]
#         cpu/event=0x87,umask=0x4/
_HEADING = re.compile(r"^(\S.*):$", re.MULTILINE)
_ENTRY = re.compile(
    r"^ {2}(?P<event>\S+) *\n {7}\[(?P<description>(?:(?!\n {2}\S).)*?)\]\n {8}(?P<encoding>\w+/\S*)",
    re.MULTILINE | re.DOTALL,
)
# Settings that are stored in the table or do not change the counts of an event.
_SIMPLE_TERMS = {"event", "umask", "name", "period"}
# Settings of an event of the cores, such as cpu/event=0x87,umask=0x4/.
_CORE_ENCODING = re.compile(r"(?:cpu|cpu_core|armv\d\w*)/(?P<terms>[^/]*\bevent=[^/]*)/")


def parse_perf_list(text: str) -> pd.DataFrame:
    """Convert the output of ``perf list`` to an event table of the cores.

    Parameters
    ----------
    text : str
        Output of ``perf list --json`` or ``perf list --details``.

    Returns
    -------
    DataFrame
        One row per event. Columns: as in :func:`cmlib.io.events.table`.

    Raises
    ------
    EventError
        If the text has no event of the cores, or its JSON is malformed.
    """
    is_json = text.lstrip().startswith("[")
    entries = _parse_json(text) if is_json else _parse_plain_text(text)
    rows = {}
    for event, encoding, unit, description in entries:
        match = _CORE_ENCODING.match(encoding)
        if match is None or event in rows:
            continue
        terms = dict(term.partition("=")[::2] for term in match["terms"].split(","))
        rows[event] = {
            "code": int(terms.get("event", "0"), 0),
            "umask": int(terms.get("umask", "0"), 0),
            "bits": 0,
            "counters": 1,
            "unit": unit,
            "abbr": "",
            "core": 0,
            "description": description,
            "named": True,
            "whole": terms.keys() <= _SIMPLE_TERMS,
            "extra": "",
        }
    if not rows:
        raise EventError(
            f"perf lists no named event of the cores ({len(text.splitlines())} lines read).\n"
            "A newer perf may know this processor; or add a table as data/events/README.md says."
        )
    index = pd.Index(list(rows), name="event")
    return pd.DataFrame(list(rows.values()), index, TABLE_COLUMNS[1:])


def _parse_json(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Parse the JSON of ``perf list``.

    Yields event, encoding, unit and description. Deprecated events are skipped.
    """
    problem = "the JSON of perf list breaks off or is malformed"
    with reading_errors_as(EventError, problem, hint="Run perf list again."):
        entries = json.loads(text)
    for entry in entries:
        if "Topic" in entry and "Deprecated" not in entry:
            yield (
                entry.get("EventName", ""),
                entry.get("Encoding", ""),
                entry["Topic"],
                entry.get("BriefDescription", ""),
            )


def _parse_plain_text(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Parse the plain text of ``perf list``.

    Yields event, encoding, unit and description.
    """
    headings = [(match.start(), match[1]) for match in _HEADING.finditer(text)]
    for match in _ENTRY.finditer(text):
        unit = next((name for start, name in reversed(headings) if start < match.start()), "")
        yield match["event"], match["encoding"], unit, " ".join(match["description"].split())
