"""Units of what was recorded: seconds where it was measured, instructions where it was simulated."""

from typing import NamedTuple

import pandas as pd

from cmlib import store
from cmlib.archive.runs import VALGRIND, source_of
from cmlib.events import simulated_events
from cmlib.simulate.series import INSTRUCTIONS_PER_SECOND

INSTRUCTIONS = "sim.instructions"
# Rates of simulated events are per so many instructions, which no clock has a part in.
PER = 1000
SECOND, THOUSAND_INSTRUCTIONS = "second", f"{PER:,} instructions"
_MILLIONS = "million_instructions"


class Units(NamedTuple):
    """What rates are per, and what stands below their axis."""

    rate: str
    axis: str


_MEASURED = Units(f"per {SECOND}", "time [s]")
_SIMULATED = Units(f"per {THOUSAND_INSTRUCTIONS}", "instructions executed [million]")


def units(url, programs):
    """Units of the rates of some programs, which are all measured or all simulated.

    Returns
    -------
    Units
    """
    sources = store.runs(url).query("program in @programs")["source"]
    return _SIMULATED if VALGRIND in set(sources) else _MEASURED


def event_rates(run, counts):
    """Rates of events over a run.

    Parameters
    ----------
    run : cmlib.store.Run
    counts : DataFrame
        Its counts, or some of their rows.

    Returns
    -------
    DataFrame
        Events per second, by time [s]; of a simulated run per 1,000 instructions, by progress [million instructions].
    """
    if source_of(run.meta) == VALGRIND:
        return by_instructions(PER * counts.div(counts[INSTRUCTIONS], axis=0))
    return counts.div(run.interval_s[counts.index], axis=0)


def by_instructions(frame):
    """What has the store's index of a simulated run, whose seconds are instructions, by millions of instructions."""
    index = pd.Index(frame.index * INSTRUCTIONS_PER_SECOND / 1e6, name=_MILLIONS)
    return frame.set_axis(index, axis=0)


def in_instructions(index):
    """Whether an index is progress in millions of instructions."""
    return index.name == _MILLIONS


def axis_of(index):
    """What stands below the axis of a series over time, or over progress in instructions."""
    return (_SIMULATED if in_instructions(index) else _MEASURED).axis


def simulated_kind(event):
    """Whether a simulated event is exact or modelled, in a word; empty for what a processor counts."""
    return simulated_events(levels=3)["kind"].get(event, "")
