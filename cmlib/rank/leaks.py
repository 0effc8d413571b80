"""Target leakage: columns that contain what is explained, such as instructions and cycles under other names."""

from fnmatch import fnmatch

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
