"""Find the cache levels and main memory in load latencies measured over working-set sizes.

:func:`plateaus` takes a DataFrame with one row per size (size [bytes], ns), and returns one with one row per level (L1,
L2, L3 and M for main memory): ns, smallest and largest size. CmlibError if there are fewer than twelve sizes, or
latencies don't rise from level to level.
"""

import itertools

import numpy as np
import pandas as pd

from cmlib.errors import CmlibError

__all__ = ["plateaus"]

LEVELS = ("L1", "L2", "L3", "M")
_FEWEST = 3  # sizes in a level
_WITHIN = 1.5  # ratio to the level's median latency within which a working set is well inside the level
AGAIN = "Sweep again on a quiet machine; caches that are shared or cut off by a hypervisor show no level."


def plateaus(latencies: pd.DataFrame) -> pd.DataFrame:
    """Cut latencies by working-set size into four levels, with least absolute deviations of their logarithms.

    Parameters
    ----------
    latencies : DataFrame
        One row per working set: size [bytes] and ns (latency of a load [ns]).

    Returns
    -------
    DataFrame, shape (4, 3)
        Index: level (L1, L2, L3, M for main memory). Columns: ``ns``, median latency; ``smallest`` and ``largest``
        working set [bytes] with a latency within a factor of 1.5 of the median.

    Raises
    ------
    CmlibError
        If there are fewer than three sizes per level, or latencies don't rise from level to level.
    """
    import ruptures  # here, as its import takes 0.4 s

    frame = latencies.sort_values("size", ignore_index=True)
    if len(frame) < _FEWEST * len(LEVELS):
        raise CmlibError(f"{len(frame)} sizes are too few to find {len(LEVELS)} levels; sweep a wider range.")
    ns = frame["ns"].to_numpy()
    rows = []
    ends = ruptures.Dynp("l1", min_size=_FEWEST, jump=1).fit_predict(np.log(ns), n_bkps=len(LEVELS) - 1)
    for first, end in itertools.pairwise([0, *ends]):
        median = float(np.median(ns[first:end]))
        inside = np.flatnonzero(np.abs(np.log(ns[first:end] / median)) <= np.log(_WITHIN)) + first
        rows.append((int(frame["size"][inside[0]]), int(frame["size"][inside[-1]]), median))
    measured = pd.DataFrame(rows, index=pd.Index(LEVELS, name="level"), columns=["smallest", "largest", "ns"])
    if not measured["ns"].is_monotonic_increasing:
        raise CmlibError(
            f"latencies don't rise from level to level, something else ran beside the sweep:\n{measured}\n{AGAIN}"
        )
    return measured
