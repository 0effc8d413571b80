"""What kind of thing an event counts: a stall, a miss, or a part of the instruction mix."""

import re
from functools import cache

import pandas as pd
import yaml

from cmlib.places import events_dir


def kinds(events, table):
    """Tell what events count by `data/events/kinds.yaml`.

    Parameters
    ----------
    events : iterable of str
    table : DataFrame
        Event table (:func:`cmlib.events.table`); of an event that it lacks, the name alone tells.

    Returns
    -------
    DataFrame
        Index: event. Columns: ``kind`` (such as ``"data supply"``), ``class`` ("stall", "miss", "mix", "other",
        or "target": cycles per instruction in other words) and ``topic`` (such as ``"page walks and DTLB misses"``).
    """
    descriptions = table["description"].to_dict()
    matched = {event: _first(f"{event}: {descriptions.get(event, '')}") for event in events}
    frame = pd.DataFrame.from_dict(matched, orient="index", columns=["kind", "class", "topic"])
    return frame.rename_axis("event")


def _first(text):
    return next((kind, klass, topic) for kind, klass, topic, pattern in _rules() if pattern.search(text))


@cache
def _rules():
    read = yaml.safe_load((events_dir() / "kinds.yaml").read_text(encoding="utf-8"))
    return [
        (kind, about["class"], topic, re.compile(pattern, re.IGNORECASE))
        for kind, about in read.items()
        for topic, pattern in about["topics"].items()
    ]
