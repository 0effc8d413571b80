"""Counts a CPU, core, die, socket or node (``-A``, ``--per-…``), added up."""

import re

from cmlib.perf.formats import for_people
from cmlib.perf.formats.lines import TIME
from cmlib.perf.parsing import parse_rows

NAME = "perf stat -A or --per-…"
TELLS_SHARES = True

# With -A a CPU; with --per-… a place, and the number of CPUs in it.
_PLACE = re.compile(
    rf"^( *(?:{TIME}([,;\t|!]))?)(?:CPU[0-9]+([,;\t|!])|[SN][0-9]+(?:-[A-Z]+[0-9]+)*([,;\t|!])[0-9]+\4)",
    re.MULTILINE,
)
# The same in the table for people.
_PLACE_FOR_PEOPLE = re.compile(
    rf"^( *(?:{TIME} +)?)(?:CPU[0-9]+|[SN][0-9]+(?:-[A-Z]+[0-9]+)* +[0-9]+)(?= +[0-9<])", re.MULTILINE
)
_KEY = re.compile(
    r'"(?:cpu|core|cluster|cache|die|socket|node)" *: *"[^"\n]*" *, *(?:"aggregate-number" *: *[0-9]+ *, *)?'
)
_DATA = re.compile(r"^ *[^ #\n][^\n]*", re.MULTILINE)


def recognises(text):
    """Whether the first line that is no comment names a place before its count."""
    first = _DATA.search(text)
    if not first:
        return False
    in_json = first[0].lstrip().startswith("{") and _KEY.search(first[0])
    return bool(in_json or _PLACE.match(first[0]) or _PLACE_FOR_PEOPLE.match(first[0]))


def read(text, interval_ms=None):
    """Read such counts, and add them up over all places.

    Parameters
    ----------
    text : str
    interval_ms : int, optional
        Not needed here: each line has its time.

    Returns
    -------
    DataFrame
        As from :func:`cmlib.perf.parse_stat`: `value` is the sum over all places that can count the event, and
        `running` the mean of their shares; NaN and 0 where one of them did not count it in that interval, because
        the sum of the others is no total.

    Raises
    ------
    ParseError
        As for :func:`cmlib.perf.parse_stat`.
    """
    first = _DATA.search(text)
    if _PLACE_FOR_PEOPLE.match(first[0]):
        rows = for_people.read(_PLACE_FOR_PEOPLE.sub(r"\1", text))
    else:
        rows = parse_rows(_KEY.sub("", _PLACE.sub(r"\1", text)))
    columns = list(rows)
    rows["missing"] = rows["supported"] & rows["value"].isna()
    rows["running"] = rows["running"].where(rows["supported"])
    by = rows.groupby(["time_s", "event"], sort=False, dropna=False)
    added = by.agg(
        value=("value", lambda values: values.sum(min_count=1)),
        supported=("supported", "any"),
        running=("running", "mean"),
        unit=("unit", "first"),
        missing=("missing", "any"),
    ).reset_index()
    added["value"] = added["value"].mask(added["missing"])
    added["running"] = added["running"].fillna(0.0).mask(added["missing"], 0.0)
    return added[columns]


def remarks(text):
    """That counts are added up."""
    return ["Counts of all CPUs, cores, sockets or nodes are added up."]
