"""What is recorded: a command as it is given, or a program that must be got ready for every run."""

import contextlib
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from tqdm import tqdm

from cmlib.collect import machine
from cmlib.collect.record.execute import check_perf, resolve
from cmlib.collect.schedule import PINNED, needs_counter
from cmlib.io import events
from cmlib.io.archive.programs import RecordError
from cmlib.io.archive.runs import is_text


@dataclass(frozen=True)
class Counted:
    """What to put under ``perf stat``, ready to run."""

    command: list[str]
    pids: tuple[int, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Program:
    """A program to record."""

    command: str
    prepare: Callable[[], AbstractContextManager[Counted]]


def as_program(command):
    """What is to be recorded, checked as far as it can be before anything is made ready."""
    if isinstance(command, Program):
        check_perf()
        return command
    resolve(command)
    return Program(noted(command), lambda: contextlib.nullcontext(Counted(list(command))))


def noted(command):
    """A command line as text, as it is noted with its runs; a RecordError if it can't be."""
    if not all(map(is_text, command)):
        raise RecordError(
            f"the command {shlex.join(command)!r} holds bytes that are not UTF-8, and could not be "
            "noted with its runs: "
            "rename what it names, or put it into a script."
        )
    return shlex.join(command)


_NO_COUNTERS = {"offered": 0, "good": 0}


@dataclass(frozen=True)
class Request:
    """What to record of a program."""

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
    """How perf is told each event asked for."""
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
    """What of a request this machine can count, and the counters for it."""
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
