"""Target leakage: columns that contain what is explained, such as instructions and cycles under other names."""

from fnmatch import fnmatch

import numpy as np
import pandas as pd

from cmlib.errors import UnfitRecordingError

_INSTRUCTIONS = (
    "instructions",
    "inst_retired*",
    "ex_ret_instr",
    "ex_ret_ops",
    "uops_retired.all*",
    "uops_retired.*slots",
)
_CYCLES = (
    "cycles",
    "*cpu-cycles",
    "ref-cycles",
    "bus-cycles",
    "cpu_cycles",
    "cpu_clk_unhalted*",
    "ls_not_halted_cyc",
    "ls_not_halted_p0_cyc*",
    "task-clock",
    "cpu-clock",
    "duration_time",
    "user_time",
)
# Simulated events that count some of the occurrences of another: the misses of each level are those of the level before
# that this one misses too.
_PARTS = {
    "sim.instructions": ("sim.l1i_misses", "sim.*_instruction_misses"),
    "sim.loads": ("sim.*_load_misses",),
    "sim.stores": ("sim.*_store_misses",),
    "sim.conditional_branches": ("sim.conditional_mispredictions",),
    "sim.indirect_branches": ("sim.indirect_mispredictions",),
}


def find_leaks(runs, *, tolerance=0.005, n_blocks=20):
    """How much of IPC each event gives away, and which ones must not enter a model."""
    left = pd.DataFrame(
        [row for run in runs for row in _shares_left(run, n_blocks)], columns=["event", "reference", "left"]
    )
    median = left.groupby(["event", "reference"], sort=False)["left"].median().unstack()
    frame = pd.DataFrame(
        {
            "reference": median.fillna(np.inf).idxmin(axis=1),
            "left": median.min(axis=1),
            "named": [is_named_leak(event) for event in median.index],
        },
        index=median.index,
    )
    frame["leak"] = frame["named"] | (frame["left"] < tolerance)
    return frame.sort_values("left", kind="stable")


def is_named_leak(event):
    """Whether the name of an event says that it counts instructions, cycles or their equal."""
    return any(fnmatch(event.lower(), pattern) for pattern in (*_INSTRUCTIONS, *_CYCLES))


def is_simulated_leak(event, target):
    """Whether a simulated event counts some of what a target counts, or the same misses at another level."""
    return any(
        _matches(event, parts) and (target == whole or _matches(target, parts))
        for whole, parts in _PARTS.items()
    )


def require_ipc(run, label):
    """Raise a ValueError unless a run counts both instructions and cycles."""
    missing = [event for event in ("instructions", "cycles") if event not in run]
    if missing:
        raise UnfitRecordingError(
            f"{label} has no column {' and no column '.join(missing)}; without both there is no IPC. "
            f"Its columns: {', '.join(map(str, run.columns[:8]))}. Record with both pinned."
        )


def _matches(event, patterns):
    return any(fnmatch(event, pattern) for pattern in patterns)


def _shares_left(run, n_blocks):
    require_ipc(run, "run")
    block = np.arange(len(run)) * n_blocks // max(len(run), 1)
    totals = run.groupby(block).sum(min_count=1)
    logs = np.log(totals.where(totals > 0))
    spread = (logs["instructions"] - logs["cycles"]).var()
    for event in run.columns.drop(["instructions", "cycles"]):
        for reference in ("instructions", "cycles"):
            difference = logs[event] - logs[reference]
            comparable = spread > 0 and difference.notna().all()
            yield event, reference, difference.var() / spread if comparable else np.nan
