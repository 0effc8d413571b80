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
_FEWEST_BLOCKS = 50_000


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
        """Basic blocks of an interval, for about so many intervals; at least half of Valgrind's own time slice."""
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
    Cost or None
        None if the run was ended: a simulation takes more than ten times `limit_s`.

    Raises
    ------
    RecordError
        As of :func:`cmlib.simulate.valgrind.simulate`.
    """
    with tempfile.TemporaryDirectory(prefix="cmlib-") as folder:
        blocks, seconds = count_blocks(command, Path(folder), limit_s=limit_s)
    return None if blocks is None else Cost(_TIMES_AS_LONG * seconds, round(_BLOCKS_TOLD * blocks))


def interval_and_cost(command, every_blocks=None, *, intervals=200, n_simulations=1, say=print):
    """Length of an interval, and what a simulation costs, which is told before it starts.

    Parameters
    ----------
    command : sequence of str
    every_blocks : int, optional
        Basic blocks of an interval, if they are known; the command is not run then.
    intervals : int, default 200
        About how many intervals a run has.
    n_simulations : int, default 1
        To be made.
    say : callable
        Takes the cost, as a sentence.

    Returns
    -------
    every_blocks : int
        Basic blocks of an interval.
    blocks : int or None
        Basic blocks of the whole run, within about a factor of two; None where it was not run.

    Raises
    ------
    RecordError
        If a run takes over a minute without a simulation, or as of :func:`estimate_cost`.
    """
    if every_blocks:
        say("A simulated run takes about 50 to 100 times as long as the program by itself.")
        return every_blocks, None
    cost = estimate_cost(command)
    told = say_cost(cost, n_simulations)
    if cost is None:
        raise RecordError(
            f"{told} Give it less work; or, to simulate it all the same, tell the length of an interval: "
            "--every-blocks 100000000 is about ten seconds of simulation."
        )
    say(told)
    return cost.every(intervals), cost.blocks


def say_cost(cost, n_runs, *, limit_s=_LONGEST_S):
    """What so many simulated runs will take, in a sentence."""
    if cost is None:
        return (
            f"A simulated run takes more than {_TIMES_AS_LONG * limit_s / 60:.0f} minutes, and {n_runs} are made: "
            f"under Valgrind without a simulation the program was not over after {limit_s:g} s."
        )
    each = f"{cost.seconds:.0f} s" if cost.seconds < 120 else f"{cost.seconds / 60:.0f} min"
    return (
        f"A simulated run takes about {each}, ten times what it took under Valgrind without a simulation; "
        f"{n_runs} are made."
    )
