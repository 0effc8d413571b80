"""Get the output of Callgrind, the Valgrind tool that simulates caches and branches.

:func:`read_simulated_run` reads the output from a recording. :func:`simulate_once` simulates a command without
recording it. Both return a :class:`SimulatedRun`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from cmlib import places
from cmlib.collect.simulate.valgrind import PREFETCHING, cache_options, simulate
from cmlib.errors import NothingRecordedError, UnfitRecordingError
from cmlib.io.archive.programs import read_raw, readable_runs
from cmlib.io.archive.runs import VALGRIND, source_of
from cmlib.scratch import scratch_folder
from cmlib.shell import command_code

INTERVAL_BLOCKS = 500_000  # length of a simulated interval [basic blocks], about 3 million instructions


class SimulatedRun(NamedTuple):
    """Output of Callgrind for one run.

    Attributes
    ----------
    text : str
        Callgrind's output.
    prefetched : bool
        True if the simulation had a prefetcher for sequential data.
    n_sequential_lines : int or None
        Number of lines of the last-level cache that were read sequentially. None if it is unknown.
    """

    text: str
    prefetched: bool
    n_sequential_lines: int | None


def refuse_simulated_program(program: str) -> None:
    """Raise an error if a program was simulated.

    Parameters
    ----------
    program : str
        Name of the program.

    Raises
    ------
    UnfitRecordingError
        If the program has a simulated run. The message refers to notebook 00.
    """
    if find_simulated_run(program):
        raise UnfitRecordingError(f"{program} is simulated: its phases are in notebook 00.")


def find_simulated_run(name: str) -> tuple[str, dict[str, Any]] | None:
    """Find the first simulated run of a program.

    Parameters
    ----------
    name : str
        Name of the program.

    Returns
    -------
    (str, dict) or None
        Name of the run and its metadata. None if the program has no simulated run.
    """
    for run, meta in readable_runs(places.recordings_dir() / name).items():
        if source_of(meta) == VALGRIND:
            return run, meta
    return None


def read_simulated_run(name: str) -> SimulatedRun:
    """Read the first simulated run of a program.

    Parameters
    ----------
    name : str
        Name of the program.

    Returns
    -------
    SimulatedRun

    Raises
    ------
    NothingRecordedError
        If the program has no simulated run.
    """
    first = find_simulated_run(name)
    if first is None:
        raise NothingRecordedError(
            f"no simulated run of {name!r} is recorded: run "
            f"{command_code('cmlib', 'record', name, '--simulate', '--', 'COMMAND')}."
        )
    run, meta = first
    text = read_raw(places.recordings_dir() / name, run).decode(errors="replace")
    simulator = meta["simulator"]
    return SimulatedRun(text, PREFETCHING in simulator["options"], simulator.get("in_order"))


def simulate_once(
    command: list[str],
    *,
    caches: dict[str, str] | None = None,
    interval_blocks: int = INTERVAL_BLOCKS,
    progress: Callable[[int], Any] = lambda done: None,
) -> SimulatedRun:
    """Simulate a command with Callgrind.

    The simulation has a prefetcher for sequential data.

    Parameters
    ----------
    command : list of str
        Program and arguments.
    caches : dict of str to str, optional
        Size [bytes], associativity and line length [bytes] of the caches I1, D1 and LL. For example,
        ``{"D1": "32768,8,64"}``. Default: the caches of this machine.
    interval_blocks : int, default 500,000
        Length of an interval [basic blocks].
    progress : callable, optional
        Function that is called with the number of finished basic blocks.

    Returns
    -------
    SimulatedRun

    Raises
    ------
    RecordError
        If Valgrind is not installed, or the command fails.
    CmlibError
        If Valgrind cannot simulate a cache.
    """
    with scratch_folder() as folder:
        outcome = simulate(
            command,
            Path(folder),
            python=True,
            every_blocks=interval_blocks,
            options=cache_options(caches or {}, prefetch=True),
            progress=progress,
        )
    text = outcome.raw.decode(errors="replace")
    return SimulatedRun(text, prefetched=True, n_sequential_lines=outcome.in_order)
