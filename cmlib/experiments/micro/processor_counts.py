"""Compare simulated counts of programs with counts of a processor, event by event, per 1,000 instructions.

:func:`compare_with_processor` takes simulated runs (of :mod:`cmlib.experiments.micro.recordings`), reads the recordings
of the same programs, and returns a DataFrame. Runs that can't be read are left out with a warning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cmlib import places
from cmlib.io.archive import readable
from cmlib.io.archive.programs import readable_runs
from cmlib.io.provenance import note_read, provenance_of_run
from cmlib.io.store.raw import read_run

if TYPE_CHECKING:
    from cmlib.experiments.micro.recordings import Series

__all__ = ["compare_with_processor"]

_PER_INSTRUCTIONS = 1000
_MOST_PER_INSTRUCTION = 10  # larger counts of an interval are errors of the counter
_FILLS = "ls_dmnd_fills_from_sys"


@dataclass(frozen=True)
class _Quantity:
    """A quantity that is both counted and simulated.

    Attributes
    ----------
    name : str
    exact : bool
        True if Callgrind counts executed operations, False if its counts depend on its model of caches or branches.
    added, subtracted : tuple of str
        Events of the processor; the quantity is the sum of the former minus the sum of the latter.
    simulated : tuple of str
        Events of Callgrind; the quantity is their sum.
    """

    name: str
    exact: bool
    added: tuple
    simulated: tuple
    subtracted: tuple = ()


# Events of AMD Zen 4 and 5.
_QUANTITIES = (
    _Quantity("loads", True, ("ls_dispatch.ld_dispatch", "ls_dispatch.ld_st_dispatch"), ("loads",)),
    _Quantity("stores", True, ("ls_dispatch.store_dispatch", "ls_dispatch.ld_st_dispatch"), ("stores",)),
    _Quantity(
        "conditional branches",
        True,
        ("ex_ret_brn",),
        ("conditional_branches",),
        subtracted=("ex_ret_uncond_brnch_instr",),
    ),
    _Quantity(
        "mispredicted branches",
        False,
        ("ex_ret_brn_misp",),
        ("conditional_mispredictions", "indirect_mispredictions"),
    ),
    _Quantity("first-level data misses", False, (f"{_FILLS}.all",), ("l1d_load_misses", "l1d_store_misses")),
    _Quantity(
        "second-level data misses",
        False,
        (f"{_FILLS}.local_ccx", f"{_FILLS}.dram_io_all"),
        ("l2_load_misses", "l2_store_misses"),
    ),
    _Quantity(
        "last-level data misses", False, (f"{_FILLS}.dram_io_all",), ("ll_load_misses", "ll_store_misses")
    ),
    _Quantity(
        "first-level instruction misses", False, ("l2_cache_req_stat.ic_access_in_l2",), ("l1i_misses",)
    ),
)


def compare_with_processor(series: list[Series]) -> pd.DataFrame:
    """Compare the counts of simulated programs with those of a processor.

    Parameters
    ----------
    series : list of cmlib.experiments.micro.recordings.Series
        Simulated runs, labeled with the names of the recordings of the same programs.

    Returns
    -------
    DataFrame
        One row per program and quantity that both have: program, quantity, simulated as (exact or modeled), counted
        and simulated (per 1,000 instructions), ratio (simulated / counted). Empty if no such program is recorded.
    """
    rows = []
    for run in series:
        counted_rates = _counted_rates(places.recordings_dir() / run.about["label"])
        totals = run.counts.sum()
        simulated = _PER_INSTRUCTIONS * totals / totals["sim.instructions"]
        for quantity in _QUANTITIES:
            if not {*quantity.added, *quantity.subtracted} <= set(counted_rates):
                continue
            rate = sum(counted_rates[event] for event in quantity.added)
            rate -= sum(counted_rates[event] for event in quantity.subtracted)
            modeled = sum(simulated[f"sim.{event}"] for event in quantity.simulated)
            rows.append(
                {
                    "program": run.about["label"],
                    "quantity": quantity.name,
                    "simulated as": "exact" if quantity.exact else "modeled",
                    "counted": rate,
                    "simulated": modeled,
                    "ratio": modeled / rate if rate else np.nan,
                }
            )
    columns = ["program", "quantity", "simulated as", "counted", "simulated", "ratio"]
    return pd.DataFrame(rows, columns=columns)


def _counted_rates(folder):
    """Compute events per 1,000 instructions, a mean over the recorded runs that counted the event: dict by event."""
    wanted_events = {event for quantity in _QUANTITIES for event in (*quantity.added, *quantity.subtracted)}
    metas = {}
    for run, meta in readable_runs(folder).items():
        events = {event for group in meta["groups"] for event in group}
        if events & wanted_events and "instructions" in meta["pinned"]:
            metas[folder / f"{run}.json"] = meta
    rates = {}
    counts_by_file = readable(lambda file: read_run(file, metas[file]).counts, metas)
    for file, counts in counts_by_file.items():
        note_read(provenance_of_run(metas[file]))
        for event in wanted_events & set(counts):
            possible = counts[counts[event] <= _MOST_PER_INSTRUCTION * counts["instructions"]]
            rate = possible[event].sum() / possible["instructions"].sum()
            rates.setdefault(event, []).append(rate)
    return {event: _PER_INSTRUCTIONS * float(np.mean(values)) for event, values in rates.items()}
