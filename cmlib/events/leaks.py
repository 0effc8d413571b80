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
    """How much of IPC each event gives away, and which ones must not enter a model.

    IPC is instructions over cycles: with either in sight, under whatever name,
    a model of IPC has nothing to learn. An event leaks if its name says that it
    counts one of the two, or if it is measured to: put in the place of
    instructions (or cycles), times a constant, it leaves less than `tolerance`
    of the variance of log IPC over the run's `n_blocks` parts.

    Parameters
    ----------
    runs : sequence of DataFrame
        Counts of one run each: a row an interval, a column an event, with
        ``instructions`` and ``cycles``.
    tolerance : float, default 0.005
        Share of the variance of log IPC [0–1].
    n_blocks : int, default 20
        Parts, of equal length in rows, that a run is added up to: multiplexing
        noise averages out within them.

    Returns
    -------
    DataFrame
        Index: event, the most telling first. Columns: ``reference``
        (instructions or cycles, whichever it follows better), ``left`` (share
        of the variance of log IPC that it leaves, median over the runs that
        counted it; NaN if it was zero in some part of each), ``named`` and ``leak``.

    Raises
    ------
    ValueError
        If a run lacks instructions or cycles.

    Notes
    -----
    On Zen 5 retired macro-operations (``ex_ret_ops``) are instructions in another
    unit: 0.85–0.91 an instruction, and within the noise of multiplexing their
    ratio stood still in gcc, bzip2 and kmeans (2–6 % left, nearly all of it noise).
    They are left out by name, and so are Intel's ``uops_retired`` and
    ``inst_retired``, although one of the papers ranks the latter among its
    important events. Dispatched operations (``de_src_op_disp.all``) are kept: they
    hold the wrong paths too and leave 2–46 %, by program. Branches (1–8 % left)
    are kept as well: they are one kind of instruction, whose share a program can
    change. What they tell by following instructions disappears in counts *per
    instruction* (``per="instructions"`` in :mod:`cmlib.fuse`).
    """
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
    """Whether a simulated event counts some of what a target counts, or the same misses at another level.

    What a target is a part of is none: loads tell how many misses there can be, and not how many there are.

    Parameters
    ----------
    event, target : str

    Returns
    -------
    bool

    Examples
    --------
    >>> is_simulated_leak("sim.ll_load_misses", "sim.l1d_load_misses")
    True
    >>> is_simulated_leak("sim.loads", "sim.l1d_load_misses")
    False
    """
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
