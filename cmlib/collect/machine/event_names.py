"""The names of events that can be used on this machine."""

from dataclasses import dataclass

import pandas as pd

from cmlib.collect.machine.counter_census import supported
from cmlib.collect.machine.host import perf_list, raw_config, tracepoint_id
from cmlib.errors import CmlibError
from cmlib.io import events
from cmlib.io.events.naming import DEFAULT_SOFTWARE, GENERAL, HARDWARE, SOFTWARE


def known_events(about):
    """The events of a processor: perf's own list first, then the package's table; a table written here before both."""
    table = events.table_of(about)
    by_code = about.get("vendor") in ("GenuineIntel", "AuthenticAMD")  # elsewhere the PMU is not called cpu
    try:
        listed = events.from_perf_list(perf_list())
    except events.EventError:
        return table if by_code else table.iloc[:0]
    if table.empty:
        return listed
    if not events.is_written(events.table_for(about)):
        listed["core"] = table["core"].reindex(listed.index, fill_value=0)
        order = listed["core"].where(listed["core"] > 0).rank()
        listed["core"] = order.fillna(0).astype(int)
        rest = table[~table.index.isin(listed.index)].assign(core=0)
        return pd.concat([listed, rest]) if by_code else listed
    return pd.concat([table, listed[~listed.index.isin(table.index)].assign(abbr="")])


def all_events(known):
    """All events of a processor, each once: perf names many twice, and some that other cores cause."""
    return known.index[known["named"] == known["named"].min()].to_list()


def software_events():
    """Software events and tracepoints: all of them on any machine, but for tracepoints, which need privileges."""
    return [event for event in DEFAULT_SOFTWARE if ":" not in event or tracepoint_id(event) is not None]


def default_events(known, modifier="u"):
    """The events to count of a processor when none are named."""
    general = {name: events.encode(name, known, modifier) for name in GENERAL}
    chosen = events.core_events(known) or supported(general)
    if not chosen:
        raise CmlibError(
            "this processor counts none of the general events: name those to count, as in --events NAME,NAME. "
            "`perf list --details` shows what perf knows of it; --events all finds out which of these count."
        )
    return chosen


_KINDS = {0: HARDWARE, 1: SOFTWARE}  # perf_event_open's types


@dataclass(frozen=True)
class Countable:
    """An event that can be counted in regions and in whole programs."""

    name: str
    config: str
    encoding: str

    @property
    def hardware(self):
        """Whether it takes a counter of the processor."""
        return _numbers(self.config)[0] not in (1, 2)


INSTRUCTIONS = Countable("instructions", "0:1", "instructions:u")


def countable(text, table=None):
    """Read a list of events."""
    wanted = [_one(item.strip(), table) for item in text.split(",") if item.strip()]
    names = [event.name for event in wanted]
    if not wanted or len(set(names)) < len(names):
        raise CmlibError(f"events {text!r}: give at least one, and each once")
    return wanted


def _one(item, table):
    name, equals, config = item.partition("=")
    if equals:
        return Countable(name, config, _encoding_of_code(name, config, item))
    config = _config(name, table)
    return Countable(name, config, events.encode(name, pd.DataFrame() if table is None else table))


def _config(name, table):
    for kind, names in _KINDS.items():
        if name in names:
            return f"{kind}:{names.index(name)}"
    if ":" in name:
        if (number := tracepoint_id(name)) is not None:
            return f"2:{number}"
        raise CmlibError(
            f"event {name!r}: this kernel has no such tracepoint, or hides it from this user (root may look): "
            "`perf list tracepoint` tells what there is"
        )
    if table is None or name not in table.index:
        raise CmlibError(
            f"event {name!r} is neither a software event ({', '.join(SOFTWARE)}), nor a generic one "
            f"({', '.join(HARDWARE)}), nor in the event table of this processor. Any event can be given as NAME=CODE, "
            "such as near_cache=0x443."
        )
    if not table.at[name, "whole"]:
        raise CmlibError(
            f"event {name!r} takes more than a code and a umask (`perf list --details` tells what): give the whole "
            "number as NAME=CODE"
        )
    return hex(raw_config(int(table.at[name, "code"]), int(table.at[name, "umask"])))


def _encoding_of_code(name, config, item):
    try:
        kind, number = _numbers(config)
    except ValueError as error:
        raise CmlibError(
            f"event {item!r}: write NAME=CODE or NAME=TYPE:CODE, as in near_cache=0x443"
        ) from error
    generic = _KINDS.get(kind, ())
    if number < len(generic):
        return events.encode(generic[number], pd.DataFrame())
    if kind != 4:
        raise CmlibError(
            f"event {item!r}: of perf's types 0 (generic), 1 (software) and 4 (raw) are known here"
        )
    return events.encode(f"r{number:x}/name={name}/", pd.DataFrame())


def _numbers(config):
    """perf_event_open's type and number; ValueError where they are none."""
    kind, number = ([4, *(int(part, 0) for part in config.split(":"))])[-2:]
    if number < 0:
        raise ValueError(config)
    return kind, number
