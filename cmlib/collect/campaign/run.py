"""What a part of the campaign is."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from cmlib.collect import machine
from cmlib.collect.machine import processor_times, taken_by_others
from cmlib.collect.machine.host import counting_processes
from cmlib.errors import CmlibError
from cmlib.io.archive import read_object


@dataclass(frozen=True)
class Planned:
    """One line of the list that is shown before anything is recorded."""

    name: str
    runs: int
    missing: int
    minutes: float


@dataclass(frozen=True)
class Setting:
    """Where a campaign writes, and what it counts with."""

    data: Path
    counters: dict

    @property
    def recordings(self):
        return self.data / "recordings"


@dataclass(frozen=True)
class Part:
    """Recordings of one kind."""

    name: str
    notebook: str
    about: str
    plan: Callable[[Setting], list[Planned]]
    record: Callable[[Setting], Iterator[tuple[str, Exception | None]]]


def rejections(data):
    """List the runs of a data folder that were repeated, and why."""
    reasons_by_name = {}
    for file in sorted(Path(data).glob("re*/**/*.json")):
        about = read_object(file, "a description", "Restore it, or move it away.")
        name = f"{file.parent.name}/{file.stem}"
        if reasons := about.get("rejected"):
            reasons_by_name[name] = "; ".join(reasons)
        elif repeated := about.get("rejected_executions"):
            reasons_by_name[name] = f"{repeated} executions were disturbed, or not counted all the time"
    return reasons_by_name


_WATCHED_S, _ATTEMPTS, _PAUSE_S = 2.0, 5, 10.0


class BusyMachine(CmlibError):
    """Others use the processors, or the counters."""


def check_quiet(most=0.05, *, root="/"):
    """Raise unless the machine is quiet: nobody else counts, and hardly anybody computes."""
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE_S)
        before = processor_times(root)
        time.sleep(_WATCHED_S)
        taken = taken_by_others(before, processor_times(root))
        counting = counting_processes(root)
        if taken <= most and not counting:
            return
    if counting:
        raise BusyMachine(
            f"others count already, {', '.join(counting)}, and two at a time spoil each other's counts: "
            "end it, then repeat the command."
        )
    raise BusyMachine(
        f"other programs take {100 * taken:.0f} % of the processors' time, and {100 * most:.0f} % is the most allowed: "
        "end them, or allow more with --busy."
    )


_USUAL = {"offered": 6, "good": 5}


def listed_setting(data):
    """A setting to list recordings in."""
    try:
        return recording_setting(data)
    except CmlibError:
        return Setting(Path(data), _USUAL)


def recording_setting(data):
    """A setting to record in."""
    with machine.counters_lock("cmlib record-all"):
        return Setting(Path(data), machine.good_counters())


@dataclass
class Outcome:
    """What a campaign has made."""

    made: list = field(default_factory=list)
    failed: dict = field(default_factory=dict)
    left: list = field(default_factory=list)


def run_parts(parts, setting, *, budget=None, busy=0.05, progress=lambda text: None):
    """Record what is missing, part after part."""
    outcome, ends = Outcome(), None if budget is None else time.monotonic() + 60 * budget
    for part in parts:
        if _spent(ends):
            outcome.left.append(part.name)
            continue
        progress(f"{part.name}: {part.about}")
        try:
            check_quiet(busy)
            with closing(part.record(setting)) as recordings:
                _take(recordings, part, outcome, ends, progress)
        except (BusyMachine, CmlibError, ValueError) as error:
            outcome.failed[part.name] = str(error)
            progress(f"{part.name}: {error}")
    return outcome


def _take(recordings, part, outcome, ends, progress):
    for name, error in recordings:
        if error is None:
            outcome.made.append((part.name, name))
            progress(f"{part.name}: {name}")
        else:
            outcome.failed[f"{part.name}, {name}"] = str(error)
            progress(f"{part.name}: {name} failed: {error}")
        if _spent(ends):
            outcome.left.append(part.name)
            return


def _spent(ends):
    return ends is not None and time.monotonic() >= ends
