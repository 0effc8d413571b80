"""How far simulated counts are from a processor's: programs of which there are both."""

from pathlib import Path

import numpy as np
import pandas as pd

from cmlib import perf, places
from cmlib.archive.runs import events_of
from cmlib.record import existing_runs
from cmlib.record.archive import read_raw
from cmlib.workloads.micro import simulated as recorded

_FILLS = "ls_dmnd_fills_from_sys"
# What is compared: whether its simulated count is exact, the processor's events that add up to it (those after a minus
# are taken away), and the simulated ones. AMD's events count micro-operations where Callgrind counts instructions.
_QUANTITIES = {
    "loads": ("exact", ("ls_dispatch.ld_dispatch", "ls_dispatch.ld_st_dispatch"), ("sim.loads",)),
    "stores": ("exact", ("ls_dispatch.store_dispatch", "ls_dispatch.ld_st_dispatch"), ("sim.stores",)),
    "conditional branches": (
        "exact", ("ex_ret_brn", "-ex_ret_uncond_brnch_instr"), ("sim.conditional_branches",),
    ),
    "mispredicted branches": (
        "modelled", ("ex_ret_brn_misp",), ("sim.conditional_mispredictions", "sim.indirect_mispredictions"),
    ),
    "first-level data misses": (
        "modelled", (f"{_FILLS}.all",), ("sim.l1d_load_misses", "sim.l1d_store_misses"),
    ),
    "of these, not in the second level": (
        "modelled", (f"{_FILLS}.local_ccx", f"{_FILLS}.dram_io_all"),
        ("sim.l2_load_misses", "sim.l2_store_misses"),
    ),
    "of these, from memory": (
        "modelled", (f"{_FILLS}.dram_io_all",),
        ("sim.ll_load_misses", "sim.ll_store_misses"),
    ),
    "first-level instruction misses": (
        "modelled", ("l2_cache_req_stat.ic_access_in_l2",), ("sim.l1i_misses",),
    ),
}  # fmt: skip
# More of an event than this in an interval, as a multiple of its instructions, is a fault of the counter.
_IMPOSSIBLE = 10.0


def beside_hardware(folder=None):
    """Counts of programs that were recorded on a processor beside simulated ones.

    Parameters
    ----------
    folder : path-like, optional
        Of all recordings; `data/recordings` by default.

    Returns
    -------
    DataFrame
        A row a program and quantity: ``program``, ``quantity``, ``simulated as`` (exact or modelled), ``counted`` and
        ``simulated`` [per 1,000 instructions], and ``ratio`` (simulated / counted). Empty where no program has both.
    """
    folder = Path(folder or places.recordings_dir())
    rows = []
    for one in recorded.read_simulated_series(folder / recorded.FOLDER, "own"):
        program = one.about["label"]
        counted = _counted(folder / program)
        total = one.counts.sum()
        for quantity, (kind, parts, simulated) in _QUANTITIES.items():
            rates = [_signed(part, counted) for part in parts]
            if all(map(np.isfinite, rates)):
                of_both = {
                    "counted": sum(rates),
                    "simulated": 1000 * total[list(simulated)].sum() / total["sim.instructions"],
                }
                rows.append({"program": program, "quantity": quantity, "simulated as": kind} | of_both)
    table = pd.DataFrame(rows, columns=["program", "quantity", "simulated as", "counted", "simulated"])
    return table.assign(ratio=table["simulated"] / table["counted"])


def _counted(folder):
    """Counts per 1,000 instructions of the events that are compared: the mean of the runs that counted them."""
    wanted = {part.removeprefix("-") for _, parts, _ in _QUANTITIES.values() for part in parts}
    rates = {}
    for run, meta in existing_runs(folder).items():
        events = wanted.intersection(events_of(meta))
        if not events or "instructions" not in events_of(meta):
            continue
        counts, _ = perf.series(perf.parse_stat(read_raw(folder, run).decode()))
        for event in events.intersection(counts):
            believed = counts[event] <= _IMPOSSIBLE * counts["instructions"]
            used = counts[believed]
            rates.setdefault(event, []).append(1000 * used[event].sum() / used["instructions"].sum())
    return {event: float(np.mean(values)) for event, values in rates.items()}


def _signed(part, rates):
    sign = -1 if part.startswith("-") else 1
    return sign * rates.get(part.removeprefix("-"), np.nan)
