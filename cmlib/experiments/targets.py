"""Choose the rate that a model explains, which is called the target.

:func:`choose_target` reads the parameters `program` and `target` of a notebook. It returns the programs to study
and a :class:`Target`. The target is usually IPC (instructions per cycle). Any other event per second, or per
another event, can be chosen. Simulated programs have neither cycles nor seconds, so that their targets are events
per 1,000 instructions.

The recordings are in a database, given by its URL (`url`).
"""

from __future__ import annotations

from collections.abc import Iterable
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

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CLOCKS"]

_PER = " per "
SECOND = "second"
_THOUSAND_INSTRUCTIONS = "1,000 instructions"
_ENERGY = "power/energy-"  # prefix of energy events, some of which contain others (package, cores, …)
CLOCKS = ("task-clock", "cpu-clock", "duration_time", "user_time", "system_time")
_LEAST_SHARE = 0.9  # smallest share of the intervals in which a target must happen
_MOST_NAMED = 8  # events in an error message


@dataclass(frozen=True)
class Target:
    """A rate that a model explains.

    It is the count of an event, divided by the count of another event or by the time.

    Attributes
    ----------
    event : str
        Name of the event.
    per : str
        Name of the event by which the count is divided. Empty for a rate per second.
    """

    event: str
    per: str = ""

    @property
    def name(self) -> str:
        """Name of the rate. For example, ``IPC`` or ``branches per second``."""
        base = _THOUSAND_INSTRUCTIONS if self.per == INSTRUCTIONS else self.per or SECOND
        return "IPC" if self == IPC else f"{self.event}{_PER}{base}"

    @property
    def label(self) -> str:
        """Name of the rate in two lines, for the axis of a figure."""
        return self.name.replace(_PER, f"\n{_PER.strip()} ", 1)

    @property
    def factor(self) -> int:
        """1000 for a rate per 1,000 instructions, otherwise 1."""
        return 1000 if self.per == INSTRUCTIONS else 1

    @property
    def events(self) -> set[str]:
        """Names of the events that a run must count."""
        return {self.event, self.per} - {""}

    def leaks_target(self, event: str) -> bool:
        """Return True if a model of the target must not use an event.

        Such an event contains a part of the target. For example, cycles contain a part of IPC.

        Parameters
        ----------
        event : str
            Name of the event.

        Returns
        -------
        bool
            True if the event must not be used.
        """
        if event in self.events:
            return True
        if self.event.startswith(_ENERGY) and event.startswith(_ENERGY):
            return True
        if self == IPC and is_named_leak(event):
            return True
        return is_simulated_leak(event, self.event)

    def counted_in(self, runs: pd.DataFrame) -> np.ndarray:
        """Return a mask of the runs that counted the target.

        Parameters
        ----------
        runs : DataFrame
            One row per run. The column ``events`` contains the names of the counted events.

        Returns
        -------
        ndarray of bool, shape (n_runs,)
            True for the runs that counted the target.
        """
        return np.array([self.events <= set(events) for events in runs["events"]], dtype=bool)


IPC = Target("instructions", "cycles")


def choose_target(url: str, program: str = "all", target: str = "") -> tuple[list[str], Target]:
    """Choose the programs to study and the rate to explain.

    Parameters
    ----------
    url : str
        URL of the database of recordings.
    program : str, default "all"
        Names of programs, separated by commas, or ``"all"``. The value ``"all"`` selects all programs that counted
        the target in at least 20 intervals.
    target : str, optional
        Name of the rate. For example, ``"branches per second"``. Default: IPC. If IPC was not counted, an event that
        all runs counted.

    Returns
    -------
    names : list of str
        Names of the programs.
    target : Target
        Rate to explain.

    Raises
    ------
    NothingRecordedError
        If no program is recorded, or a named program is not recorded.
    UnfitRecordingError
        If a program did not count the target in enough intervals. The message says what to do.
    """
    names = programs(url, program)
    runs = interval_runs(url, names)
    long_runs = runs[runs["n_intervals"] >= FEWEST_INTERVALS]
    if target:
        chosen = _parse_target(target, _are_simulated(runs))
    else:
        chosen = _choose_default(url, long_runs)
    if chosen and chosen.event == chosen.per:
        alternatives = _suggest_targets(possible_targets(url, runs))
        raise UnfitRecordingError(f"{chosen.name} is the same all the time. {alternatives}")
    suitable = set(long_runs["program"][chosen.counted_in(long_runs)]) if chosen else set()
    if program == "all" and suitable:
        return [name for name in names if name in suitable], chosen
    for name in names:
        if name not in suitable:
            raise UnfitRecordingError(_explain_unsuitable(url, name, chosen, runs[runs["program"] == name]))
    return names, chosen


def possible_targets(url: str, runs: pd.DataFrame) -> list[str]:
    """List the events that a model could explain, the best first.

    These events vary and happen in at least 90 % of the intervals of every run. Clocks such as ``task-clock`` are
    excluded.

    Parameters
    ----------
    url : str
        URL of the database of recordings.
    runs : DataFrame
        One row per run, from :func:`cmlib.io.store.runs`.

    Returns
    -------
    list of str
        Names of the events. Simulated events are sorted by cost. Measured events are sorted by the fraction of time
        in which they were counted. Empty if no event was found.
    """
    running_shares = []  # of each run: fraction of the time in which each varying event was counted
    for run_id in runs["run_id"]:
        counts, running = store.load(url, run_id).whole()
        is_frequent = (counts > 0).sum() >= _LEAST_SHARE * counts.notna().sum()
        running_shares.append(running.mean().fillna(0.0)[is_frequent & (counts.nunique() > 1)])
    candidates = running_shares[0].index if running_shares else []
    common = [
        event
        for event in candidates
        if event not in (*CLOCKS, INSTRUCTIONS) and all(event in shares for shares in running_shares)
    ]
    if _are_simulated(runs):
        costs = charged_shares(url, runs["run_id"])[common]
        return list(costs.sort_values(ascending=False, kind="stable").index)
    smallest_share = {event: round(min(shares[event] for shares in running_shares), 2) for event in common}
    return sorted(common, key=lambda event: (event != IPC.event, -smallest_share[event]))


def charged_shares(url: str, run_ids: Iterable[str]) -> pd.Series:
    """Estimate the share of the cycles that each simulated event costs.

    Every instruction, cache miss and branch misprediction costs a fixed number of cycles, as in KCachegrind.

    Parameters
    ----------
    url : str
        URL of the database of recordings.
    run_ids : iterable of str
        Names of the simulated runs.

    Returns
    -------
    Series
        Mean share over the runs (0-1), indexed by event name.
    """
    weights = simulated_events()["weight"]
    totals = [store.load(url, run_id).counts.sum() for run_id in run_ids]
    cycles = [(total * weights.reindex(total.index)).fillna(0) for total in totals]
    return sum(run_cycles / run_cycles.sum() for run_cycles in cycles) / len(cycles)


def _are_simulated(runs):
    """Return True if any run was simulated by Valgrind."""
    return VALGRIND in set(runs["source"])


def _parse_target(text, simulated):
    """Parse the name of a target, for example ``branches per second``."""
    if text.strip().upper() == "IPC":
        return IPC
    event, _, per = (part.strip() for part in text.strip().partition(_PER))
    if simulated and per in ("", _THOUSAND_INSTRUCTIONS):
        per = INSTRUCTIONS
    elif not simulated and per == SECOND:
        per = ""
    return Target(event, per)


def _choose_default(url, runs):
    """Return IPC if a run counted it, otherwise the first possible target.

    Returns None if no target is possible.
    """
    if IPC.counted_in(runs).any():
        return IPC
    events = possible_targets(url, runs)
    if not events:
        return None
    return Target(events[0], INSTRUCTIONS if is_simulated(events[0]) else "")


def _explain_unsuitable(url, name, target, runs):
    """Return the error message for a program that did not count the target in enough intervals."""
    if runs["n_intervals"].max() < FEWEST_INTERVALS:
        return _explain_short_runs(name, runs)
    possible = possible_targets(url, runs[runs["n_intervals"] >= FEWEST_INTERVALS])
    if target is None or not possible:
        return (
            f"program '{name}' has no event that happened in nearly every interval. A model therefore has no rate to "
            f"explain. Count instructions, for example by {how_to_record(name)}."
        )
    event_names = ", ".join(sorted(target.events))
    return (
        f"program '{name}' has no run that counts {event_names} in at least {FEWEST_INTERVALS} intervals, which "
        f"{target.name} needs. {_suggest_targets(possible)}"
    )


def _explain_short_runs(name, runs):
    """Return the error message for a program with too few intervals."""
    if (runs["axis"] == RUNS).all():
        unit = "totals"
        advice = "Import more runs at once."
    elif _are_simulated(runs):
        unit = "simulated intervals"
        advice = "Give the program more work, because the intervals of Callgrind cannot be much shorter."
    else:
        unit = "intervals"
        advice = "Record longer, or at shorter intervals (`perf stat -I 100`)."
    return (
        f"program '{name}' has at most {runs['n_intervals'].max()} {unit} in a recording, and a model needs "
        f"{FEWEST_INTERVALS}. {advice} Notebook 01 shows what was counted."
    )


def _suggest_targets(event_names):
    """Return a sentence with the events that can be explained."""
    shown = ", ".join(f"'{event}'" for event in event_names[:_MOST_NAMED])
    if len(event_names) > _MOST_NAMED:
        shown += f" and {len(event_names) - _MOST_NAMED} more"
    return f"Explain another event by `-p target=…`: {shown}."
