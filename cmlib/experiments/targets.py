"""Choose the target of a model, the rate that it explains: IPC, or an event per second or per another event.

IPC is instructions per cycle. Of a simulated program, which has neither cycles nor seconds, the target is an event
per 1,000 instructions. :func:`choose_target` takes the parameters `program` and `target` of a notebook (text) and
gives the list of programs and a :class:`Target`. Programs are in the store, a database named by its URL (`url`);
`runs` is a DataFrame, a row per run, as of :func:`cmlib.io.store.runs`. A NothingRecordedError if a program is not
recorded, an UnfitRecordingError if it can't be studied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cmlib.errors import UnfitRecordingError
from cmlib.experiments.data import FEWEST_INTERVALS, how_to_record, interval_runs, programs
from cmlib.io import store
from cmlib.io.archive.runs import RUNS, VALGRIND
from cmlib.io.events import is_simulated, simulated_events
from cmlib.io.recording import INSTRUCTIONS
from cmlib.rank.leaks import is_named_leak, is_simulated_leak
from cmlib.templates import template

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CLOCKS"]

_PER = " per "
SECOND, THOUSAND_INSTRUCTIONS = "second", "1,000 instructions"
_ENERGY = "power/energy-"  # events of energy: of package, cores and so on, which are parts of each other
CLOCKS = ("task-clock", "cpu-clock", "duration_time", "user_time", "system_time")
_HAPPENS_IN = 0.9  # share of the intervals in which an event must have happened to be explained


@dataclass(frozen=True)
class Target:
    """Target of a model: the count of `event` per `per`, another event, or per second if `per` is empty."""

    event: str
    per: str = ""

    @property
    def name(self) -> str:
        """Name (str), such as ``IPC``, ``branches per second``, or ``sim.loads per 1,000 instructions``."""
        base = THOUSAND_INSTRUCTIONS if self.per == INSTRUCTIONS else self.per or SECOND
        return "IPC" if self == IPC else f"{self.event}{_PER}{base}"

    @property
    def label(self) -> str:
        """The name (str) in two lines, for the axis of a figure."""
        return self.name.replace(_PER, f"\n{_PER.strip()} ", 1)

    @property
    def factor(self) -> int:
        """Factor (int) of the ratio of counts: 1000 for a target per 1,000 instructions, else 1."""
        return 1000 if self.per == INSTRUCTIONS else 1

    @property
    def events(self) -> set[str]:
        """Names (set of str) of the events that a run must have counted."""
        return {self.event, self.per} - {""}

    def leaks_target(self, event: str) -> bool:
        """True if an event (name) contains the target, so that a model must not use it (target leakage)."""
        both_energy = self.event.startswith(_ENERGY) and event.startswith(_ENERGY)
        named = self == IPC and is_named_leak(event)
        return event in self.events or both_energy or named or is_simulated_leak(event, self.event)

    def counted_in(self, runs: pd.DataFrame) -> np.ndarray:
        """Mask (ndarray of bool, one a run) of the runs that counted the target's events."""
        return np.array([self.events <= set(events) for events in runs["events"]], dtype=bool)


IPC = Target("instructions", "cycles")


def choose_target(url: str, program: str = "all", target: str = "") -> tuple[list[str], Target]:
    """Choose what to study in the store at `url`: a tuple of a list of programs (names), and the Target.

    `program` is "all" or names separated by commas; `target` is as :attr:`Target.name` writes it, or "" for IPC or
    else an event that all runs have. With "all", programs without 20 intervals of the target are left out if others
    have them. A NothingRecordedError if there is none or a named one is not recorded, an UnfitRecordingError, with
    what to do, if one can't be studied.
    """
    names = programs(url, program)
    runs = interval_runs(url, names)
    long = runs[runs["n_intervals"] >= FEWEST_INTERVALS]
    chosen = _read(target, simulated=_simulated(runs)) if target else _usual(url, long)
    if chosen and chosen.event == chosen.per:
        others = template("cmlib.experiments", "targets.j2").module.others(possible_targets(url, runs))
        raise UnfitRecordingError(f"{chosen.name} is the same all the time. {others}")
    able = set(long["program"][chosen.counted_in(long)]) if chosen else set()
    if program == "all" and able:
        return [name for name in names if name in able], chosen
    for name in names:
        if name not in able:
            raise UnfitRecordingError(_unable(url, name, chosen, runs[runs["program"] == name]))
    return names, chosen


def possible_targets(url, runs):
    """List the events that a model could explain: those that vary and happen in at least 90 % of all intervals.

    `runs` is a DataFrame, a row per run of the store at `url`; an event must do so in each of them. Instructions come
    first, then events counted most of the time; of simulated runs, those first that are charged most of the
    estimated cycles. Clocks are left out; empty if there is none.
    """
    shares = []
    for run_id in runs["run_id"]:
        counts, running = store.load(url, run_id).whole()
        happens = (counts > 0).sum() >= _HAPPENS_IN * counts.notna().sum()
        shares.append(running.mean().fillna(0.0)[happens & (counts.nunique() > 1)])
    first = shares[0].index if shares else []
    common = [event for event in first if all(event in of_run for of_run in shares)]
    common = [event for event in common if event not in (*CLOCKS, INSTRUCTIONS)]
    if _simulated(runs):
        charged = charged_shares(url, runs["run_id"])[common]
        return list(charged.sort_values(ascending=False, kind="stable").index)
    least = {event: round(min(of_run[event] for of_run in shares), 2) for event in common}
    return sorted(common, key=lambda event: (event != IPC.event, -least[event]))


def charged_shares(url, run_ids):
    """Share (0-1) of the estimated cycles that each simulated event is charged, mean over runs: Series by event.

    The estimate is KCachegrind's: a fixed number of cycles for each instruction, miss and misprediction. `run_ids`
    are names of simulated runs in the store at `url`.
    """
    weights = simulated_events()["weight"]
    totals = [store.load(url, run_id).counts.sum() for run_id in run_ids]
    cycles = [(total * weights.reindex(total.index)).fillna(0) for total in totals]
    return sum(charged / charged.sum() for charged in cycles) / len(cycles)


def _simulated(runs):
    """True if some of the runs (DataFrame) are simulated."""
    return VALGRIND in set(runs["source"])


def _read(text, *, simulated):
    """Target from its name."""
    if text.strip().upper() == "IPC":
        return IPC
    event, _, per = (part.strip() for part in text.strip().partition(_PER))
    bases = dict.fromkeys(["", THOUSAND_INSTRUCTIONS], INSTRUCTIONS) if simulated else {SECOND: ""}
    return Target(event, bases.get(per, per))


def _usual(url, runs):
    """Default Target: IPC if some run counted it, else the first possible event; None if there is none."""
    if IPC.counted_in(runs).any():
        return IPC
    events = possible_targets(url, runs)
    return Target(events[0], INSTRUCTIONS if is_simulated(events[0]) else "") if events else None


def _unable(url, name, target, runs):
    """Message: why a target of one program can't be explained, and what to do."""
    kind = "totals" if (runs["axis"] == RUNS).all() else "simulated" if _simulated(runs) else "intervals"
    possible = possible_targets(url, runs[runs["n_intervals"] >= FEWEST_INTERVALS])
    facts = kind, runs["n_intervals"].max(), FEWEST_INTERVALS, possible
    sentences = template("cmlib.experiments", "targets.j2").module
    return sentences.unable(name, target, *facts, how_to_record(name))
