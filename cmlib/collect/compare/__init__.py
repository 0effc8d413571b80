"""Two versions of a program are run against each other; regions of a program are counted.

Names are loaded when they are asked for: a program that only counts its regions loads nothing else.
"""

from cmlib.lazy import loader

_HOMES = {
    "compare_programs": "comparison",
    "compare_simulated": "comparison",
    "include_dir": "instrument",
    "read_times": "versions",
    "region": "instrument",
}
__all__ = list(_HOMES)
__getattr__ = loader(__name__, _HOMES)
