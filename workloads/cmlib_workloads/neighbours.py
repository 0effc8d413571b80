"""Find how much of the processors' time other programs take, the hypervisor among them.

:func:`processor_times` reads clocks (three times [s]); :func:`taken_by_others` takes two such readings, and gives a
share of all processors' time, 0 to 1. Nothing is refused.
"""

import os
import time
from pathlib import Path

_BUSY = (0, 1, 2, 5, 6, 7)  # of /proc/stat's columns: user, nice, system, irq, softirq, steal


def processor_times(root="/"):
    """Read the clocks that :func:`taken_by_others` compares: a tuple of three times [s].

    They are the elapsed time, the time for which this machine's processors were busy (all together), and the
    processor time of this process and its children that ended. `root` (path) is the folder that holds proc.
    """
    first = (Path(root) / "proc/stat").read_text(encoding="utf-8").split("\n")[0].split()[1:]
    busy = sum(int(first[column]) for column in _BUSY) / os.sysconf("SC_CLK_TCK")
    return time.monotonic(), busy, sum(os.times()[:4])


def taken_by_others(before, after):
    """Share (float, 0-1) of all processors' time that others took between two readings, the hypervisor among them.

    `before` and `after` are of :func:`processor_times`.
    """
    passed, busy, own = (late - early for early, late in zip(before, after, strict=True))
    return min(1.0, max(0.0, busy - own) / (passed * (os.cpu_count() or 1)))
