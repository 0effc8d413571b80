"""What the caches really hold: the latency of a load by working-set size, and the plateaus in it."""

from pathlib import Path

import numpy as np
import pandas as pd

from cmlib.errors import CmlibError
from cmlib.workloads.micro.build import output

LEVELS = ("L1", "L2", "L3", "M")
_FEWEST = 3
_WITHIN = 1.5
_MEMORY = 64 << 20
_PAGE = 4096
_BY_HAND = (
    "Where caches are as they are said to be, or one is missing, give the sizes: "
    "--sizes 'L2=64,128;L3=1024;M=131072'."
)


def sweep(folder, *, smallest=8 << 10, largest=128 << 20, loads=400_000, repeats=3):
    """Measure the latency of a load that waits for the one before it, by working-set size.

    Parameters
    ----------
    folder : path-like
        Where `build` put the programs.
    smallest, largest : int
        Working sets [bytes]; four sizes an octave.
    loads : int, default 400000
        Loads of one walk; the fastest of five counts.
    repeats : int, default 3
        Sweeps; of each size the median counts, as neighbours come and go in a shared cache.

    Returns
    -------
    DataFrame
        Columns ``size`` [bytes] and ``ns`` [ns a load].

    Raises
    ------
    CmlibError
        If the program fails.
    """
    command = [str(Path(folder) / "sweep"), *map(str, (smallest, largest, loads))]
    rows = [line.split() for _ in range(repeats) for line in output(command).splitlines()]
    frame = pd.DataFrame({"size": [int(size) for size, _ in rows], "ns": [float(ns) for _, ns in rows]})
    return frame.groupby("size", as_index=False)["ns"].median()


def plateaus(latencies, levels=LEVELS):
    """Find the levels of the memory in a sweep.

    The sweep is cut into as many pieces as there are levels, where the absolute deviations of log(ns) from
    the pieces' medians add up to least; a level is then where its piece stays within a factor of 1.5 of its
    median.

    Parameters
    ----------
    latencies : DataFrame
        From `sweep`.
    levels : sequence of str

    Returns
    -------
    DataFrame
        Index ``level``; columns ``smallest`` and ``largest`` [bytes], and ``ns``, the median.

    Raises
    ------
    CmlibError
        If latencies don't rise from level to level, or there are too few.
    """
    frame = latencies.sort_values("size", ignore_index=True)
    if len(frame) < _FEWEST * len(levels):
        raise CmlibError(f"{len(frame)} sizes are too few to find {len(levels)} levels; sweep a wider range.")
    ns = frame["ns"].to_numpy()
    rows = []
    for first, end in _pieces(np.log(ns), len(levels)):
        median = float(np.median(ns[first:end]))
        inside = np.flatnonzero(np.abs(np.log(ns[first:end] / median)) <= np.log(_WITHIN)) + first
        rows.append((int(frame["size"][inside[0]]), int(frame["size"][inside[-1]]), median))
    measured = pd.DataFrame(rows, index=pd.Index(levels, name="level"), columns=["smallest", "largest", "ns"])
    if not measured["ns"].is_monotonic_increasing:
        raise CmlibError(
            f"latencies don't rise from level to level, something else ran beside the sweep:\n{measured}\n{_BY_HAND}"
        )
    return measured


def working_sets(levels, n=3):
    """Choose working-set sizes well inside each level.

    Parameters
    ----------
    levels : DataFrame
        From `plateaus`.
    n : int, default 3
        Sizes a level.

    Returns
    -------
    dict of str to list of int
        For L2 and L3 from 1.5 times what the level before holds to three quarters of what this one does; for
        M from eight times what L3 holds, at least 64 MiB, to twice that [bytes, whole pages].
    """
    largest = levels["largest"]
    bounds = {
        "L2": (1.5 * largest["L1"], 0.75 * largest["L2"]),
        "L3": (1.5 * largest["L2"], 0.75 * largest["L3"]),
        "M": (max(8 * largest["L3"], _MEMORY), 2 * max(8 * largest["L3"], _MEMORY)),
    }
    for level, (low, high) in bounds.items():
        if low > high:
            raise CmlibError(
                f"no working set fits {level} without fitting the level before:\n{levels}\n{_BY_HAND}"
            )
    return {
        level: [int(size) // _PAGE * _PAGE for size in np.geomspace(low, high, n)]
        for level, (low, high) in bounds.items()
    }


def _pieces(values, n_pieces):
    """Cut values into pieces of least absolute deviation: a list of (first, end)."""
    n = len(values)
    cost = np.full((n + 1, n + 1), np.inf)
    for first in range(n):
        for end in range(first + _FEWEST, n + 1):
            piece = values[first:end]
            cost[first, end] = np.abs(piece - np.median(piece)).sum()
    best, cuts = cost[0], []
    for _ in range(n_pieces - 1):
        totals = best[:, None] + cost
        cuts.append(totals.argmin(axis=0))
        best = totals.min(axis=0)
    ends = [n]
    for cut in reversed(cuts):
        ends.append(int(cut[ends[-1]]))
    ends = [*reversed(ends)]
    return list(zip([0, *ends[:-1]], ends, strict=True))
