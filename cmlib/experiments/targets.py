"""What is explained: IPC, or where that is not known or by choice, an event per second or per another event.

A simulated program has neither cycles nor seconds: an event per 1,000 instructions is explained.
"""

from dataclasses import dataclass

import numpy as np

from cmlib.errors import UnfitRecordingError
from cmlib.experiments.data import FEWEST_INTERVALS, how_to_record, interval_runs, programs
from cmlib.io import store
from cmlib.io.archive.runs import RUNS, VALGRIND
from cmlib.io.events import is_simulated, simulated_events
from cmlib.io.recording import INSTRUCTIONS
from cmlib.rank.leaks import is_named_leak, is_simulated_leak

_PER = " per "
SECOND, THOUSAND_INSTRUCTIONS = "second", "1,000 instructions"
_ENERGY = "power/energy-"  # of the package, of its cores, …: parts of one another
CLOCKS = ("task-clock", "cpu-clock", "duration_time", "user_time", "system_time")
_HAPPENS_IN = 0.9  # share of the intervals in which an event must have happened to be explained
_ALWAYS = 0.999  # running share from which on an event counts as counted all the time
_NAMED = 8
# What to do about a run of few intervals, that was measured or simulated.
_LONGER = {
    False: "record longer, or at shorter intervals (`perf stat -I 100`)",
    True: "give the program more to do, as Callgrind's intervals can't be much shorter",
}


@dataclass(frozen=True)
class Target:
    """What a model explains."""

    event: str
    per: str = ""

    @property
    def name(self):
        """Such as ``IPC``, ``branches per second``, or ``sim.loads per 1,000 instructions``."""
        base = THOUSAND_INSTRUCTIONS if self.per == INSTRUCTIONS else self.per or SECOND
        return "IPC" if self == IPC else f"{self.event}{_PER}{base}"

    @property
    def label(self):
        """The name in two lines, for the axis of a figure."""
        return self.name.replace(_PER, f"\n{_PER.strip()} ", 1)

    @property
    def factor(self):
        """What counts by :attr:`per` are multiplied by."""
        return 1000 if self.per == INSTRUCTIONS else 1

    @property
    def events(self):
        """The events that a run must have counted."""
        return {self.event, self.per} - {""}

    def leaks_target(self, event):
        """Whether an event holds the target, so that a model of it would have nothing to learn."""
        both_energy = self.event.startswith(_ENERGY) and event.startswith(_ENERGY)
        named = self == IPC and is_named_leak(event)
        return event in self.events or both_energy or named or is_simulated_leak(event, self.event)

    def counted_in(self, runs):
        """Which of some runs, as :func:`cmlib.io.store.runs` lists them, counted what it takes: ndarray of bool."""
        return np.array([self.events <= set(events) for events in runs["events"]], dtype=bool)


IPC = Target("instructions", "cycles")


def choose_target(url, program="all", target=""):
    """Which programs can be studied, and what of them is explained."""
    names = programs(url, program)
    runs = interval_runs(url, names)
    long = runs[runs["n_intervals"] >= FEWEST_INTERVALS]
    chosen = _read(target, simulated=_simulated(runs)) if target else _usual(url, long)
    if chosen and chosen.event == chosen.per:
        raise UnfitRecordingError(
            f"{chosen.name} is the same all the time. Explain another event by `-p target=…`: "
            f"{_listed(possible_targets(url, runs))}."
        )
    short = [name for name in names if name not in set(long["program"])]
    able = set(long["program"][chosen.counted_in(long)]) if chosen else set()
    if program == "all" and able:
        return [name for name in names if name in able], chosen
    for name in names:
        if name in short:
            own = runs[runs["program"] == name]
            most = int(own["n_intervals"].max())
            if (own["axis"] == RUNS).all():
                raise UnfitRecordingError(
                    f"of {name} there are totals of {most} run{'s' * (most != 1)}, and what varies over runs is told "
                    f"from {FEWEST_INTERVALS} on: import more runs at once. Notebook 01 shows what was counted."
                )
            raise UnfitRecordingError(
                f"program {name!r} has {most} interval{'s' * (most != 1)} in its longest run, and a model takes "
                f"{FEWEST_INTERVALS}: {_LONGER[_simulated(runs)]}. Notebook 01 shows what was counted."
            )
        if name not in able:
            raise UnfitRecordingError(_unable(url, name, chosen, long[long["program"] == name]))
    return names, chosen


def possible_targets(url, runs):
    """Events of some runs that could be explained: those that nearly every interval has."""
    simulated = _simulated(runs)
    common = set.intersection(*map(set, runs["events"])) if len(runs) else set()
    shares = {}
    for run_id in runs["run_id"]:
        run = store.load(url, run_id)
        counts, running = run.whole()
        for event in counts:
            seen = counts[event].dropna()
            happens = len(seen) and (seen > 0).mean() >= _HAPPENS_IN and seen.nunique() > 1
            if event in common and event not in (*CLOCKS, INSTRUCTIONS):
                shares.setdefault(event, []).append(np.nan_to_num(running[event].mean()) if happens else None)
    least = {event: min(values) for event, values in shares.items() if None not in values}
    if simulated:
        shares = charged_shares(url, runs["run_id"])[list(least)]
        return list(shares.sort_values(ascending=False, kind="stable").index)
    rounded = {event: 1.0 if share >= _ALWAYS else round(share, 2) for event, share in least.items()}
    return sorted(rounded, key=lambda event: (event != IPC.event, -rounded[event]))


def describe_target(url, programs, target):
    """Why something else than IPC is explained, and what could be instead."""
    if target == IPC:
        return ""
    runs = interval_runs(url, programs)
    if _simulated(runs):
        return _describe_simulated(target, set.union(*map(set, runs["events"])), possible_targets(url, runs))
    others = [event for event in possible_targets(url, runs) if event not in target.events]
    others = (["IPC"] if IPC.counted_in(runs).all() else []) + [f"'{event}'" for event in others]
    reason = (
        "" if "IPC" in others else " No run counted both instructions and cycles, so that there is no IPC."
    )
    choice = f" Others by `-p target=…`: {_listed(others)}." if others else ""
    return f"What is explained is **{target.name}**.{reason}{choice}"


def describe_choice(url, program, target):
    """What a simulated program's target has to do with its speed: a clause; empty where counts were measured."""
    runs = interval_runs(url, [program])
    if not _simulated(runs):
        return ""
    return _describe_charge(target.event, charged_shares(url, runs["run_id"]), possible_targets(url, runs))


def _simulated(runs):
    return VALGRIND in set(runs["source"])


def _read(text, *, simulated):
    if text.strip().upper() == "IPC":
        return IPC
    event, _, per = (part.strip() for part in text.strip().partition(_PER))
    if simulated:
        return Target(event, INSTRUCTIONS if per in ("", THOUSAND_INSTRUCTIONS) else per)
    return Target(event, "" if per == SECOND else per)


def _usual(url, runs):
    """IPC if some run knows it, else an event of all of them; None without any."""
    if IPC.counted_in(runs).any():
        return IPC
    events = possible_targets(url, runs)
    return Target(events[0], INSTRUCTIONS if is_simulated(events[0]) else "") if events else None


def _unable(url, name, target, runs):
    there = [f"'{event}'" for event in possible_targets(url, runs)]
    if target is None or not there:
        return (
            f"program {name!r} has no event that happened in nearly every interval, so that there is nothing whose "
            f"rate could be explained. An event that does: instructions, by {how_to_record(name, [])}."
        )
    known = ", ".join(sorted(target.events))
    return (
        f"program {name!r} has no run that counts {known} in {FEWEST_INTERVALS} intervals or more, which {target.name} "
        f"takes. Explain another event by `-p target=…`: {_listed(there)}."
    )


def _listed(names):
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def charged_shares(url, run_ids):
    """Shares of KCachegrind's cycle estimate that simulated events are charged with."""
    weights = simulated_events()["weight"]
    totals = [store.load(url, run_id).counts.sum() for run_id in run_ids]
    cycles = [(total * weights.reindex(total.index)).fillna(0) for total in totals]
    return sum(one / one.sum() for one in cycles) / len(cycles)


def _describe_charge(event, shares, possible):
    """What a simulated event has to do with the speed of a program."""
    of_all = f"of KCachegrind's cycle estimate, {100 * shares.get(event, 0):.0f} %"
    if not shares.get(event, 0):
        return "a count that KCachegrind's cycle estimate leaves out"
    if event == shares.drop(INSTRUCTIONS).idxmax():
        return f"the modelled event with the largest share, beside instructions, {of_all}"
    if event == possible[0]:
        return (
            f"of the modelled events that happen nearly all the time the one with the largest share {of_all}"
        )
    return f"a modelled event with a share {of_all}"


def _describe_simulated(target, counted, possible):
    """What is explained of a simulated program, what is left out of the model, and what else could be
    explained."""
    alike = [event for event in sorted(counted) if is_simulated_leak(event, target.event)]
    alike = [event for event in alike if event not in target.events]
    left_out = f" Left out, as they count some of the same: {_code(alike)}." if alike else ""
    others = [event for event in possible if event not in target.events]
    choice = f" Others by `-p target=…`: {_code(others)}." if others else ""
    return (
        f"What is explained is **{target.name}**: no cycles are simulated, so that there is no IPC.{left_out} The "
        "model takes one run of each program; another one executes the same instructions, and would test "
        f"nothing.{choice}"
    )


def _code(names):
    return ", ".join(f"`{name}`" for name in names)
