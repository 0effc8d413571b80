"""Whether a machine is quiet enough to record on."""

import time
from pathlib import Path

from cmlib.errors import CmlibError
from cmlib.machine import processor_times, taken_by_others

_WATCHED_S = 2.0


class BusyMachine(CmlibError):
    """Others use the processors, or the counters."""


def check_quiet(most=0.05, *, attempts=5, pause=10.0, root="/"):
    """Raise unless the machine is quiet: nobody else counts, and hardly anybody computes.

    Parameters
    ----------
    most : float, default 0.05
        Share of the processors' time that others may take (0–1).
    attempts : int, default 5
        Looks before giving up.
    pause : float, default 10
        Between two of them [s].
    root : path, default "/"
        Folder that holds `proc`.

    Raises
    ------
    BusyMachine
        Saying who counts, or how much of the processors others took.
    """
    for attempt in range(attempts):
        if attempt:
            time.sleep(pause)
        before = processor_times(root)
        time.sleep(_WATCHED_S)
        taken = taken_by_others(before, processor_times(root))
        counting = _counting(root)
        if taken <= most and not counting:
            return
    if counting:
        raise BusyMachine(
            f"perf is running already (process {', '.join(counting)}), and two at a time spoil each other's counts: "
            "end it, then repeat the command."
        )
    raise BusyMachine(
        f"other programs take {100 * taken:.0f} % of the processors' time, and {100 * most:.0f} % is the most allowed: "
        "end them, or allow more with --busy."
    )


def _counting(root):
    """Processes that are perf."""
    processes = []
    for file in (Path(root) / "proc").glob("[0-9]*/comm"):
        try:
            if file.read_text(encoding="utf-8").strip() == "perf":
                processes.append(file.parent.name)
        except OSError:  # it has ended meanwhile
            continue
    return sorted(processes, key=int)
