"""Events by name with the numbers that perf_event_open takes; perf's own spelling is that of `events.encode`."""

from dataclasses import dataclass

import pandas as pd

from cmlib import events
from cmlib.errors import CmlibError
from cmlib.events.generic import HARDWARE, SOFTWARE
from cmlib.machine.host import raw_config, tracepoint_id


@dataclass(frozen=True)
class Countable:
    """An event that can be counted in regions and in whole programs.

    Attributes
    ----------
    name : str
    config : str
        As ``CMLIB_EVENTS`` has it: perf_event_open's type and number, or the number alone of a raw event.
    encoding : str
        As perf's ``-e`` takes it (:func:`cmlib.events.encode`).
    """

    name: str
    config: str
    encoding: str

    @property
    def hardware(self):
        """Whether it takes a counter of the processor."""
        return _numbers(self.config)[0] not in (1, 2)


INSTRUCTIONS = Countable("instructions", "0:1", "instructions:u")


def countable(text, table=None):
    """Read a list of events.

    Parameters
    ----------
    text : str
        With commas between: names of software events, tracepoints such as sched:sched_wakeup, generic names
        such as branch-misses, names of the event table, or NAME=CONFIG with a raw code.
    table : DataFrame, optional
        Event table of this processor.

    Returns
    -------
    list of Countable

    Raises
    ------
    CmlibError
        If one is of no such form, or comes twice.
    """
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
    if name in SOFTWARE:
        return f"1:{SOFTWARE.index(name)}"
    if name in HARDWARE:
        return f"0:{HARDWARE.index(name)}"
    if ":" in name:
        return f"2:{_tracepoint(name)}"
    if table is not None and name in table.index:
        return hex(_raw(name, table))
    raise CmlibError(
        f"event {name!r} is neither a software event ({', '.join(SOFTWARE)}), nor a generic one "
        f"({', '.join(HARDWARE)}), nor in the event table of this processor. Any event can be given as NAME=CODE, "
        "such as near_cache=0x443."
    )


def _raw(name, table):
    if not table.at[name, "whole"]:
        raise CmlibError(
            f"event {name!r} takes more than a code and a umask (`perf list --details` tells what): give the whole "
            "number as NAME=CODE"
        )
    return raw_config(int(table.at[name, "code"]), int(table.at[name, "umask"]))


def _tracepoint(name):
    number = tracepoint_id(name)
    if number is None:
        raise CmlibError(
            f"event {name!r}: this kernel has no such tracepoint, or hides it from this user (root may look): "
            "`perf list tracepoint` tells what there is"
        )
    return number


def _encoding_of_code(name, config, item):
    try:
        kind, number = _numbers(config)
    except ValueError as error:
        raise CmlibError(
            f"event {item!r}: write NAME=CODE or NAME=TYPE:CODE, as in near_cache=0x443"
        ) from error
    generic = {0: HARDWARE, 1: SOFTWARE}.get(kind, ())
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
