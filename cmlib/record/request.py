"""What a user asks to have recorded, and what of it this machine can count."""

import re
import sys
from dataclasses import dataclass, replace

from tqdm import tqdm

from cmlib import events, machine
from cmlib.record.archive import RecordError
from cmlib.schedule import PINNED, needs_counter

_NO_COUNTERS = {"offered": 0, "good": 0}


@dataclass(frozen=True)
class Request:
    """What to record of a program.

    Attributes
    ----------
    mode : {"ocoe", "mlpx", "ungrouped"}, optional
        Without and with multiplexing (both if not given); or all events in one
        list without groups, multiplexed as the kernel does it.
    events : str, optional
        ``"core"``, ``"all"`` (those that count under this program, found by a
        probe), or names separated by commas. With neither mode nor events
        given, all that the notebooks read is recorded: core events both
        ways, and a multiplexed sweep over all events that count; or, where no
        hardware event can be counted, software events and tracepoints.
    passes : int, optional
        3, and 2 of the sweep, if not given.
    interval_ms : int, default 100
    per_run : int, default 12
        Events of one multiplexed run.
    modifier : str, default "u"
    pinned : tuple of str, default ("instructions", "cycles")
    counters : int, optional
        Good counters to plan for; counted if not given.
    set_name : str, optional
        Instead of the usual one; for a single set only.
    """

    mode: str | None = None
    events: str | None = None
    passes: int | None = None
    interval_ms: int = 100
    per_run: int = 12
    modifier: str = "u"
    pinned: tuple[str, ...] = PINNED
    counters: int | None = None
    set_name: str | None = None


def encodings(chosen, table, modifier):
    """How perf is told each event asked for.

    Parameters
    ----------
    chosen : str
        As `Request.events`.
    table : DataFrame
        From :func:`cmlib.machine.known_events`.
    modifier : str

    Returns
    -------
    dict of str to str
        By the name that the event has in perf's output.

    Raises
    ------
    RecordError
        If there is no list of this processor's events.
    """
    if chosen == "all":
        names = machine.all_events(table)
    elif chosen == "core":
        names = machine.default_events(table, modifier)
    else:
        names = _split(chosen)
    if not names:
        raise RecordError(
            "neither cmlib nor perf has a list of this processor's events: name those to count, as in "
            "--events branches,branch-misses. `cmlib doctor` tells what it knows of this machine."
        )
    return {events.base_name(name): events.encode(name, table, modifier) for name in names}


def _split(names):
    """Names between commas, but for those within ``cpu/…/``."""
    return [name.strip() for name in re.findall(r"(?:[^,/]|/[^/]*/)+", names)]


def countable(request, existing):
    """What of a request this machine can count, and the counters for it: as told, as earlier runs had them, or counted.

    Parameters
    ----------
    request : Request
    existing : dict of str to dict
        Metadata of the program's runs.

    Returns
    -------
    request : Request
        Of software events, where no hardware event can be counted and none is asked for.
    counters : dict
        ``offered`` and ``good``.

    Raises
    ------
    RecordError
        If hardware events are asked for and none can be counted.
    """
    if not any(map(needs_counter, [*request.pinned, *_split(request.events or "core")])):
        return request, _NO_COUNTERS
    remembered = next((meta["counters"] for meta in existing.values() if meta["counters"]["good"]), None)
    if remembered and request.counters in (None, remembered["good"]):
        return request, remembered
    if request.counters is not None:
        return request, {"offered": None, "good": request.counters}
    census = machine.census()
    if census.offered:
        return request, {"offered": census.offered, "good": census.good}
    names = machine.software_events()
    if request.mode is None and request.events is None and request.pinned == PINNED:
        tqdm.write(f"{_nothing(census)}; recorded instead: {', '.join(names)}.", file=sys.stderr)
        return _software(request, names), _NO_COUNTERS
    raise RecordError(
        f"{_nothing(census)}. Software events can be recorded: --pinned task-clock --events {','.join(names)}."
    )


def _software(request, names):
    named = {"mode": "ocoe", "events": ",".join(names), "pinned": ("task-clock",)}
    return replace(request, set_name=request.set_name or "software", **named)


def _nothing(census):
    return f"no hardware event can be counted here, and `cmlib doctor` tells why: {census.complaint}"
