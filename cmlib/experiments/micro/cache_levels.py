"""Find the cache levels of a machine in measured load latencies.

:func:`plateaus` groups working-set sizes with similar latencies into four levels: the caches L1, L2 and L3, and
main memory (M).
"""

import itertools

import numpy as np
import pandas as pd

from cmlib.errors import CmlibError

__all__ = ["plateaus"]

LEVELS = ("L1", "L2", "L3", "M")
_FEWEST_SIZES = 3  # of a level
_LARGEST_RATIO = 1.5  # of a latency to the median of its level (or the inverse), inside of the level
HOW_TO_REPEAT = (
    "Repeat the sweep on a quiet machine. A cache that is shared, or hidden by a hypervisor, cannot be found."
)


def plateaus(latencies: pd.DataFrame) -> pd.DataFrame:
    """Find the working-set sizes and the latency of each cache level.

    The latencies are sorted by size and cut into four parts. The cuts minimize the sum of absolute deviations of the
    logarithms from the median of each part.

    Parameters
    ----------
    latencies : DataFrame
        One row per working set. Columns: ``size`` [bytes] and ``ns``, the latency of a load [ns].

    Returns
    -------
    DataFrame, shape (4, 3)
        One row per level (index: L1, L2, L3 or M for main memory), with these columns:

        - ``smallest``, ``largest``: range of sizes with a latency close to the median [bytes].
        - ``ns``: median latency of a load [ns].

    Raises
    ------
    CmlibError
        If there are fewer than twelve sizes.
        If the latency does not rise from level to level.
    """
    import ruptures  # here, because the import takes 0.4 s

    frame = latencies.sort_values("size", ignore_index=True)
    if len(frame) < _FEWEST_SIZES * len(LEVELS):
        raise CmlibError(f"{len(frame)} sizes are too few to find {len(LEVELS)} levels; sweep a wider range.")
    ns = frame["ns"].to_numpy()
    segmentation = ruptures.Dynp("l1", min_size=_FEWEST_SIZES, jump=1)
    ends = segmentation.fit_predict(np.log(ns), n_bkps=len(LEVELS) - 1)
    rows = []
    for first, end in itertools.pairwise([0, *ends]):
        median = float(np.median(ns[first:end]))
        distance = np.abs(np.log(ns[first:end] / median))
        inside = np.flatnonzero(distance <= np.log(_LARGEST_RATIO)) + first
        smallest = int(frame["size"][inside[0]])
        largest = int(frame["size"][inside[-1]])
        rows.append((smallest, largest, median))
    levels = pd.DataFrame(rows, index=pd.Index(LEVELS, name="level"), columns=["smallest", "largest", "ns"])
    if not levels["ns"].is_monotonic_increasing:
        raise CmlibError(
            "the latency does not rise from level to level. Something else ran during the sweep.\n"
            f"{levels}\n{HOW_TO_REPEAT}"
        )
    return levels
