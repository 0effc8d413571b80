"""Events by name, as the regions' header is told them and as perf is."""

from dataclasses import dataclass

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
        As ``CMLIB_EVENTS`` has it.
    told : str
        As perf's ``-e`` takes it.
    hardware : bool
        Whether it takes a counter of the processor.
    """

    name: str
    config: str
    told: str
    hardware: bool


INSTRUCTIONS = Countable("instructions", "0:1", "instructions:u", True)


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
        return _by_code(name, config, item)
    if name in SOFTWARE:
        return Countable(name, f"1:{SOFTWARE.index(name)}", name, False)
    if name in HARDWARE:
        return Countable(name, f"0:{HARDWARE.index(name)}", f"{name}:u", True)
    if ":" in name:
        return _tracepoint(name)
    if table is not None and name in table.index:
        return _of_table(name, table)
    raise CmlibError(
        f"event {name!r} is neither a software event ({', '.join(SOFTWARE)}), nor a generic one "
        f"({', '.join(HARDWARE)}), nor in the event table of this processor. Any event can be given as NAME=CODE, "
        "such as near_cache=0x443."
    )


def _of_table(name, table):
    if not table.at[name, "whole"]:
        raise CmlibError(
            f"event {name!r} takes more than a code and a umask (`perf list --details` tells what): give the whole "
            "number as NAME=CODE"
        )
    raw = raw_config(int(table.at[name, "code"]), int(table.at[name, "umask"]))
    return Countable(name, hex(raw), events.encode(name, table), True)


def _tracepoint(name):
    number = tracepoint_id(name)
    if number is None:
        raise CmlibError(
            f"event {name!r}: this kernel has no such tracepoint, or hides it from this user (root may look): "
            "`perf list tracepoint` tells what there is"
        )
    return Countable(name, f"2:{number}", name, False)


def _by_code(name, config, item):
    try:
        kind, number = ([4, *(int(part, 0) for part in config.split(":"))])[-2:]
    except ValueError as error:
        raise CmlibError(
            f"event {item!r}: write NAME=CODE or NAME=TYPE:CODE, as in near_cache=0x443"
        ) from error
    for type_, known in ((0, HARDWARE), (1, SOFTWARE)):
        if kind == type_ and number < len(known):
            encoding = known[number] + (":u" if type_ == 0 else "")
            return Countable(name, config, encoding, type_ == 0)
    if kind != 4:
        raise CmlibError(
            f"event {item!r}: of perf's types 0 (generic), 1 (software) and 4 (raw) are known here"
        )
    return Countable(name, config, f"r{number:x}/name={name}/u", True)
