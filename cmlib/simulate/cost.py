"""What a simulation will cost, from a run without it."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from cmlib.record import RecordError
from cmlib.simulate.valgrind import count_blocks

# Measured of bzip2, gzip and C loops: Callgrind takes 8 to 13 times as long as Valgrind without a tool, and sees
# 1.0 to 2.5 times the basic blocks that Valgrind's scheduler tells.
_TIMES_AS_LONG = 10
_BLOCKS_TOLD = 1.6
_LONGEST_S = 60
_FEWEST_BLOCKS = 100_000


@dataclass(frozen=True)
class Cost:
    """What a simulated run takes.

    Attributes
    ----------
    seconds : float
        Elapsed time of one run, within about a factor of two.
    blocks : int
        Basic blocks, within about a factor of two.
    """

    seconds: float
    blocks: int

    def every(self, intervals):
        """Basic blocks of an interval, for about so many intervals; at least Valgrind's own time slice."""
        return max(_FEWEST_BLOCKS, round(self.blocks / intervals))


def estimate_cost(command, *, limit_s=_LONGEST_S):
    """Run a command under Valgrind without a tool, about five times slower than native, to tell what comes.

    Parameters
    ----------
    command : sequence of str
    limit_s : float, default 60
        Seconds after which the run is ended.

    Returns
    -------
    Cost

    Raises
    ------
    RecordError
        As of :func:`cmlib.simulate.valgrind.simulate`, or if the run is not over by then.
    """
    with tempfile.TemporaryDirectory(prefix="cmlib-") as folder:
        blocks, seconds = count_blocks(command, Path(folder), limit_s=limit_s)
    if blocks is None:
        raise RecordError(
            f"the program runs for more than {limit_s:g} s under Valgrind without a simulation, so that one would take "
            f"more than {_TIMES_AS_LONG * limit_s / 60:.0f} minutes. Give it less work; or, to simulate it all the "
            "same, tell the length of an interval: --every-blocks 100000000 is about ten seconds of simulation."
        )
    return Cost(_TIMES_AS_LONG * seconds, round(_BLOCKS_TOLD * blocks))
