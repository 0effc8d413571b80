"""Compare simulated counts with counts of a processor.

:func:`compare_with_processor` compares programs that were both simulated and measured. It compares counts per 1,000
instructions.
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
_MOST_PER_INSTRUCTION = 10  # intervals with a larger count are ignored, because the counter failed
_FILLS = "ls_dmnd_fills_from_sys"


@dataclass(frozen=True)
class _Quantity:
    """A quantity that is both counted and simulated.

    Attributes
    ----------
    name : str
        Name of the quantity.
    exact : bool
        True if Callgrind counts executed operations. False if the count depends on its model of caches or branches.
    added, subtracted : tuple of str
        Events of the processor. The quantity is the sum of `added` minus the sum of `subtracted`.
    simulated : tuple of str
        Events of Callgrind. The quantity is their sum.
    """

    name: str
    exact: bool
    added: tuple
    simulated: tuple
    subtracted: tuple = ()


# The processor events exist on AMD Zen 4 and 5.
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
    """Compare simulated programs with measured runs of the same programs.

    Unreadable runs are skipped with a warning.

    Parameters
    ----------
    series : list of cmlib.experiments.micro.recordings.Series
        Simulated runs. The label of each is the name of the measured program.

    Returns
    -------
    DataFrame
        One row per program and quantity, with these columns. Empty if no program was measured.

        - ``program``, ``quantity``: names.
        - ``simulated as``: "exact" or "modeled".
        - ``counted``, ``simulated``: counts per 1,000 instructions.
        - ``ratio``: simulated count divided by the measured count.
    """
    rows = []
    for run in series:
        measured_rates = _read_measured_rates(places.recordings_dir() / run.about["label"])
        totals = run.counts.sum()
        simulated_rates = _PER_INSTRUCTIONS * totals / totals["sim.instructions"]
        for quantity in _QUANTITIES:
            if not {*quantity.added, *quantity.subtracted} <= set(measured_rates):
                continue
            measured = sum(measured_rates[event] for event in quantity.added)
            measured -= sum(measured_rates[event] for event in quantity.subtracted)
            simulated = sum(simulated_rates[f"sim.{event}"] for event in quantity.simulated)
            rows.append(
                {
                    "program": run.about["label"],
                    "quantity": quantity.name,
                    "simulated as": "exact" if quantity.exact else "modeled",
                    "counted": measured,
                    "simulated": simulated,
                    "ratio": simulated / measured if measured else np.nan,
                }
            )
    columns = ["program", "quantity", "simulated as", "counted", "simulated", "ratio"]
    return pd.DataFrame(rows, columns=columns)


def _read_measured_rates(folder):
    """Return the mean count of each event per 1,000 instructions.

    The mean is over all readable runs in the folder.
    """
    wanted_events = {event for quantity in _QUANTITIES for event in (*quantity.added, *quantity.subtracted)}
    metas = {}
    for run_name, meta in readable_runs(folder).items():
        events = {event for group in meta["groups"] for event in group}
        if events & wanted_events and "instructions" in meta["pinned"]:
            metas[folder / f"{run_name}.json"] = meta
    rates_by_event = {}
    counts_by_file = readable(lambda file: read_run(file, metas[file]).counts, metas)
    for file, counts in counts_by_file.items():
        note_read(provenance_of_run(metas[file]))
        for event in wanted_events & set(counts):
            possible = counts[counts[event] <= _MOST_PER_INSTRUCTION * counts["instructions"]]
            rate = possible[event].sum() / possible["instructions"].sum()
            rates_by_event.setdefault(event, []).append(rate)
    return {event: _PER_INSTRUCTIONS * float(np.mean(rates)) for event, rates in rates_by_event.items()}
