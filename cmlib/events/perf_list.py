"""An event table made of what `perf list` writes, on processors that perf knows."""

import itertools
import json
import re
import string

import pandas as pd

from cmlib.events.tables import COLUMNS, EventError

_HEADING = re.compile(r"^(\S.*):$", re.MULTILINE)
_ENTRY = re.compile(
    r"^ {2}(?P<event>\S+) *\n {7}\[(?P<description>(?:(?!\n {2}\S).)*?)\]\n {8}(?P<encoding>\w+/\S*)",
    re.MULTILINE | re.DOTALL,
)
_WHOLE = {"event", "umask", "name", "period"}
_CORE_PMU = re.compile(r"(?:cpu|cpu_core|armv\d\w*)/(?P<terms>[^/]*\bevent=[^/]*)/")


def from_perf_list(text):
    """Make an event table of perf's own list, on a processor that perf knows.

    Parameters
    ----------
    text : str
        What ``perf list --json`` (perf 6.2 and later) or ``perf list --details`` wrote.

    Returns
    -------
    DataFrame
        Columns as of :func:`read_table`, with ``named`` True, ``counters``
        1, and ``bits`` and ``core`` 0 throughout: perf does not list what would
        tell more; ``whole`` where perf tells a code and a umask only. Events of the cores only: nothing else
        can be counted for one process. Short names are made up from the events' names and are the same
        each time.

    Raises
    ------
    EventError
        If the list holds no event of the cores.
    """
    listed = _from_json(text) if text.lstrip().startswith("[") else _from_plain_text(text)
    rows = {}
    for event, encoding, unit, description in listed:
        if match := _CORE_PMU.match(encoding):
            terms = dict(term.partition("=")[::2] for term in match["terms"].split(","))
            code, umask = (int(terms.get(key, "0"), 0) for key in ("event", "umask"))
            whole = terms.keys() <= _WHOLE
            rows.setdefault(event, (code, umask, 0, 1, unit, "", 0, description, True, whole))
    if not rows:
        raise EventError(
            f"perf lists no named event of the cores ({len(text.splitlines())} lines read).\n"
            "A newer perf may know this processor; or add a table as data/events/README.md says."
        )
    columns = [*COLUMNS[1:], "named", "whole"]
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("event")
    return frame.assign(abbr=_short_names(frame.index))


def _from_json(text):
    try:
        entries = json.loads(text)
    except json.JSONDecodeError as error:
        raise EventError(
            f"the JSON of perf list breaks off or is malformed: {error}. Write it to a file anew."
        ) from None
    for entry in entries:
        if "Topic" in entry and "Deprecated" not in entry:
            yield (
                entry["EventName"],
                entry.get("Encoding", ""),
                entry["Topic"],
                entry.get("BriefDescription", ""),
            )


def _from_plain_text(text):
    headings = [(match.start(), match[1]) for match in _HEADING.finditer(text)]
    for match in _ENTRY.finditer(text):
        unit = next((name for start, name in reversed(headings) if start < match.start()), "")
        yield match["event"], match["encoding"], unit, " ".join(match["description"].split())


def _short_names(events):
    taken = {}
    for event in events:
        words = re.findall(r"[A-Z0-9]+", event.upper())
        letters = "".join(words)
        candidates = itertools.chain(
            ["".join(word[0] for word in words[:3])],
            (letters[0] + "".join(pair) for pair in itertools.combinations(letters[1:], 2)),
            map("".join, itertools.product(string.ascii_uppercase + string.digits, repeat=3)),
        )
        taken[next(name for name in candidates if len(name) == 3 and name not in taken)] = event
    return list(taken)
