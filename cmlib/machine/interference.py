"""Who else took the processors' time while something was counted: other programs, and the hypervisor."""

import os
import time
from pathlib import Path

_BUSY = (0, 1, 2, 5, 6, 7)  # of /proc/stat's columns: user, nice, system, irq, softirq, steal


def processor_times(root="/"):
    """Read the clocks that :func:`taken_by_others` compares.

    Parameters
    ----------
    root : path, default "/"
        Folder that holds `proc`.

    Returns
    -------
    tuple of float
        Seconds passed; processor seconds taken by anybody; those taken by this process and its ended
        children.
    """
    first = (Path(root) / "proc/stat").read_text(encoding="utf-8").split("\n")[0].split()[1:]
    busy = sum(int(first[column]) for column in _BUSY) / os.sysconf("SC_CLK_TCK")
    return time.monotonic(), busy, sum(os.times()[:4])


def taken_by_others(before, after):
    """Share of the processors' time that others took, the hypervisor among them.

    Parameters
    ----------
    before, after : tuple of float
        From `processor_times`.

    Returns
    -------
    float
        0-1; of all processors. Clocks tick in hundredths of a second.
    """
    passed, busy, own = (late - early for early, late in zip(before, after, strict=True))
    return min(1.0, max(0.0, busy - own) / (passed * (os.cpu_count() or 1)))
