"""Classify events by the kind of occurrence that they count."""

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

import pandas as pd

from cmlib.places import read_yaml, shipped


class _Rule(NamedTuple):
    """Pattern of a topic in kinds.yaml, with its kind and class."""

    kind: str
    class_: str
    topic: str
    pattern: re.Pattern[str]


def kinds(events: Iterable[str], table: pd.DataFrame) -> pd.DataFrame:
    """Classify events by what they count.

    The patterns in `data/events/kinds.yaml` are compared with the names and the descriptions of the events. The first
    matching pattern is used.

    Parameters
    ----------
    events : iterable of str
        Names of events.
    table : DataFrame
        Event table of the processor, from :func:`cmlib.io.events.table`. It contains the descriptions.

    Returns
    -------
    DataFrame of str
        One row per event. Columns:

        - ``kind`` : for example, ``bad speculation``.
        - ``class`` : ``stall``, ``miss``, ``mix`` (instruction mix), ``target`` (equivalent to cycles per instruction)
          or ``other``.
        - ``topic`` : subdivision of the kind. For example, ``mispredicted branches``.
    """
    descriptions = table["description"].to_dict()
    rows = {}
    for event in events:
        text = f"{event}: {descriptions.get(event, '')}"
        rule = next(rule for rule in _read_rules() if rule.pattern.search(text))
        rows[event] = [rule.kind, rule.class_, rule.topic]
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["kind", "class", "topic"])
    return frame.rename_axis("event")


@cache
def _read_rules() -> list[_Rule]:
    """Read the rules in kinds.yaml, in the order in which they are applied."""
    return [
        _Rule(kind, entries["class"], topic, re.compile(pattern, re.IGNORECASE))
        for kind, entries in read_yaml(shipped("events") / "kinds.yaml").items()
        for topic, pattern in entries["topics"].items()
    ]
