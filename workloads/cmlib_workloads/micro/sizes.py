"""Choose working sets that lie well inside each level of the memory.

:func:`working_sets` takes the levels that a latency sweep showed (DataFrame), and gives a dict from level to sizes
[bytes]. A CmlibError if no size fits a level without fitting the one before.
"""

import numpy as np

from cmlib.errors import CmlibError
from cmlib.experiments.micro.cache_levels import HOW_TO_REPEAT

_MEMORY = 64 << 20
_PAGE = 4096


def working_sets(levels, n=3):
    """Choose `n` working-set sizes [bytes] well inside each level: a dict of lists by "L2", "L3" and "M" (main memory).

    `levels` is a DataFrame of :func:`cmlib.experiments.micro.cache_levels.plateaus` (index: level, column largest
    [bytes]). A CmlibError if no size fits a level without fitting the one before.
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
                f"no working set fits {level} without fitting the level before:\n{levels}\n{HOW_TO_REPEAT}"
            )
    return {
        level: [int(size) // _PAGE * _PAGE for size in np.geomspace(low, high, n)]
        for level, (low, high) in bounds.items()
    }
