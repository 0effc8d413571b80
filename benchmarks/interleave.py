"""Time two functions with the same result in turns, so that other load affects both equally."""

import statistics
import time
from typing import NamedTuple


class Ratio(NamedTuple):
    """Ratio of the times (median, least and most over the rounds), and median processor times [s]."""

    median: float
    least: float
    most: float
    fast_s: float
    plain_s: float

    def __str__(self):
        return (
            f"{self.median:.1f} times as fast ({self.least:.1f} to {self.most:.1f}): "
            f"{self.fast_s * 1e3:.3g} ms against {self.plain_s * 1e3:.3g} ms"
        )


def ratio(fast, plain, rounds=7):
    """Run both once to warm up, then fast, plain, fast, plain …, and compare neighbours.

    Parameters
    ----------
    fast, plain : callables without arguments
    rounds : int, default 7

    Returns
    -------
    Ratio
        From processor time of this thread.
    """
    seconds = [(_seconds(fast), _seconds(plain)) for _ in range(rounds + 1)][1:]
    ratios = [plain_s / fast_s for fast_s, plain_s in seconds]
    fast_s, plain_s = (statistics.median(times) for times in zip(*seconds, strict=True))
    return Ratio(statistics.median(ratios), min(ratios), max(ratios), fast_s, plain_s)


def _seconds(run):
    began = time.thread_time()
    run()
    return time.thread_time() - began
