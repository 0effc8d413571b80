"""Two versions of a program are run against each other; regions of a program are counted.

Names are loaded when they are asked for: a program that only counts its regions loads nothing else.
"""

from cmlib.lazy import loader

_HOMES = {
    "compare_programs": "verdict",
    "compare_simulated": "verdict",
    "include_dir": "regions",
    "read_times": "versions",
    "region": "regions",
}
__all__ = list(_HOMES)
__getattr__ = loader(__name__, _HOMES)
