"""Choose the target of a model, the rate that it explains: IPC, or an event per second or per another event.

IPC is instructions per cycle. A simulated program has neither cycles nor seconds; its target is an event per 1,000
instructions. :func:`choose_target` takes the parameters `program` and `target` of a notebook (text), and returns the
list of programs and a :class:`Target`. Programs are in the store, a database identified by its URL (`url`); `runs` is a
DataFrame with one row per run, as :func:`cmlib.io.store.runs` returns it. NothingRecordedError if a program is not
recorded, UnfitRecordingError if it can't be studied.
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
_HAPPENS_IN = 0.9  # smallest share of the intervals in which a target must have happened


@dataclass(frozen=True)
class Target:
    """Target of a model: the count of an event, divided by the count of another event or by the time.

    Attributes
    ----------
    event : str
        Name of the event.
    per : str
        Name of the other event; "" for the time in seconds.
    """

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
        """Return True if an event contains the target, so that a model must not use it (target leakage).

        Parameters
        ----------
        event : str
            Name of the event.

        Returns
        -------
        bool
        """
        if event in self.events:
            return True
        if self.event.startswith(_ENERGY) and event.startswith(_ENERGY):
            return True
        if self == IPC and is_named_leak(event):
            return True
        return is_simulated_leak(event, self.event)

    def counted_in(self, runs: pd.DataFrame) -> np.ndarray:
        """Find the runs that counted the target's events.

        Parameters
        ----------
        runs : DataFrame
            One row per run, with a column events (names).

        Returns
        -------
        ndarray of bool, shape (n_runs,)
        """
        return np.array([self.events <= set(events) for events in runs["events"]], dtype=bool)


IPC = Target("instructions", "cycles")


def choose_target(url: str, program: str = "all", target: str = "") -> tuple[list[str], Target]:
    """Choose the programs to study, and the target that is explained.

    Parameters
    ----------
    url : str
        URL of the store.
    program : str, default "all"
        Names of programs separated by commas, or ``"all"``: all programs that have 20 intervals of the target, or all
        programs if none has.
    target : str, optional
        Name of the target, as :attr:`Target.name` writes it. Default: IPC, or if no run counted it, an event that all
        runs counted.

    Returns
    -------
    names : list of str
        Names of the programs.
    target : Target
        The target that is explained.

    Raises
    ------
    NothingRecordedError
        If no program, or not a named one, is recorded.
    UnfitRecordingError
        If a program can't be studied; the message says what to do.
    """
    names = programs(url, program)
    runs = interval_runs(url, names)
    long_runs = runs[runs["n_intervals"] >= FEWEST_INTERVALS]
    simulated = _are_simulated(runs)
    chosen = _parse_target(target, simulated) if target else _choose_default(url, long_runs)
    if chosen and chosen.event == chosen.per:
        others = template("cmlib.experiments", "targets.j2").module.others(possible_targets(url, runs))
        raise UnfitRecordingError(f"{chosen.name} is the same all the time. {others}")
    suitable = set(long_runs["program"][chosen.counted_in(long_runs)]) if chosen else set()
    if program == "all" and suitable:
        return [name for name in names if name in suitable], chosen
    for name in names:
        if name not in suitable:
            raise UnfitRecordingError(_explain_unsuitable(url, name, chosen, runs[runs["program"] == name]))
    return names, chosen


def possible_targets(url, runs):
    """List the events that a model could explain, the most suitable first.

    In each run, such an event varies and happens in at least 90 % of the intervals. Clocks, such as ``task-clock``, are
    left out. Measured events are in the order of the time for which they were counted, after instructions. Simulated
    events are in the order of their share of the estimated cycles.

    Parameters
    ----------
    url : str
        URL of the store.
    runs : DataFrame
        Runs of the store, one row per run, as :func:`cmlib.io.store.runs` returns them.

    Returns
    -------
    list of str
        Empty if there is no such event.
    """
    shares = []
    for run_id in runs["run_id"]:
        counts, running = store.load(url, run_id).whole()
        happens = (counts > 0).sum() >= _HAPPENS_IN * counts.notna().sum()
        shares.append(running.mean().fillna(0.0)[happens & (counts.nunique() > 1)])
    candidates = shares[0].index if shares else []
    common = [event for event in candidates if all(event in run_shares for run_shares in shares)]
    common = [event for event in common if event not in (*CLOCKS, INSTRUCTIONS)]
    if _are_simulated(runs):
        charged = charged_shares(url, runs["run_id"])[common]
        return list(charged.sort_values(ascending=False, kind="stable").index)
    smallest_share = {event: round(min(run_shares[event] for run_shares in shares), 2) for event in common}
    return sorted(common, key=lambda event: (event != IPC.event, -smallest_share[event]))


def charged_shares(url, run_ids):
    """Compute the share of the estimated cycles that each simulated event costs.

    The estimate is KCachegrind's: a fixed number of cycles for each instruction, miss and misprediction.

    Parameters
    ----------
    url : str
        URL of the store.
    run_ids : iterable of str
        Names of simulated runs in it.

    Returns
    -------
    Series
        Share (0-1) by event, mean over the runs.
    """
    weights = simulated_events()["weight"]
    totals = [store.load(url, run_id).counts.sum() for run_id in run_ids]
    cycles = [(total * weights.reindex(total.index)).fillna(0) for total in totals]
    return sum(charged / charged.sum() for charged in cycles) / len(cycles)


def _are_simulated(runs):
    """Return True if some of the runs (DataFrame) are simulated."""
    return VALGRIND in set(runs["source"])


def _parse_target(text, simulated):
    """Parse the name of a Target, such as ``branches per second``; `simulated` is True for simulated programs."""
    if text.strip().upper() == "IPC":
        return IPC
    event, _, per = (part.strip() for part in text.strip().partition(_PER))
    if simulated and per in ("", THOUSAND_INSTRUCTIONS):
        per = INSTRUCTIONS
    elif not simulated and per == SECOND:
        per = ""
    return Target(event, per)


def _choose_default(url, runs):
    """Return the default Target: IPC if some run counted it, else the first possible event; None if there is none."""
    if IPC.counted_in(runs).any():
        return IPC
    events = possible_targets(url, runs)
    if not events:
        return None
    return Target(events[0], INSTRUCTIONS if is_simulated(events[0]) else "")


def _explain_unsuitable(url, name, target, runs):
    """Return the message why a target of one program can't be explained, and what to do."""
    kind = "simulated" if _are_simulated(runs) else "intervals"
    if (runs["axis"] == RUNS).all():
        kind = "totals"
    possible = possible_targets(url, runs[runs["n_intervals"] >= FEWEST_INTERVALS])
    facts = kind, runs["n_intervals"].max(), FEWEST_INTERVALS, possible
    sentences = template("cmlib.experiments", "targets.j2").module
    return sentences.unable(name, target, *facts, how_to_record(name))
