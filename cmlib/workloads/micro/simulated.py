"""The micro-benchmarks under simulation: what is run, and a program's runs put together to three levels of caches."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from cmlib.errors import CmlibError
from cmlib.fingerprint.simulated_rates import (
    EXACT_RATES,
    MODELLED_RATES,
    simulated_rates,
)
from cmlib.record import existing_runs
from cmlib.record.archive import read_raw
from cmlib.simulate import read_series, record_simulated
from cmlib.workloads.micro.case_runs import on_path
from cmlib.workloads.micro.programs import Case, cases
from cmlib.workloads.micro.selection import Series

FOLDER = "fingerprint-simulated"
COMMAND = "cmlib record-micro --simulate"
# Callgrind simulates two levels: a second run, whose last level is as large as the second, tells the middle one.
# Streams are prefetched in both, never too late: what misses all the same is in no order.
LAST, SECOND = "sim_pf", "sim_l2_pf"
_LARGEST = {LAST: "LL", SECOND: "L2"}
# Small caches make for small working sets, and so for short simulations.
CACHES = {"I1": "32K,8,64", "D1": "32K,8,64", "L2": "256K,8,64", "LL": "2M,16,64"}
# Odd numbers of pages: halves of a power of two would share a few sets of the cache, which is another pathology.
_PAGES = {"L2": (25, 47), "L3": (193, 385), "M": (4097, 6145)}
WORKING_SETS = {level: [4096 * n for n in pages] for level, pages in _PAGES.items()}
_LOWEST, _MIDDLE = "sim.ll_", "sim.l2_"
_EVENTFUL = ("sim.fills_from_memory", "sim.fills_from_l3", "sim.fills_from_l2", "sim.mispredictions")
_COUNTED = "execute"  # the function that every program calls once it is prepared
_RANDOM, _SEEDS = "branch", (1, 2, 3)
_INTERVALS, _EVERY_BLOCKS = 30, 200_000
_FORMS = ("P", "N")
# Basic blocks of an operation, of both forms.
_BLOCKS = {
    "array": (1, 1),
    "linked_list": (1, 1),
    "pointer": (1, 1),
    "branch": (2, 2),
    "reservation": (1, 1),
    "reservation_float": (1, 1),
    "floating_point": (11, 2),
    "hash_join": (2, 2),
    "binary_search": (18, 18),
    "sparse_matrix": (10, 10),
    "matrix_columns": (1, 1),
    "count_keys": (1, 1),
    "tree_walk": (2, 2),
    "graph_search": (7, 7),
    "interpreter": (3, 3),
    "filter": (2, 2),
    "logistic": (8, 5),
    "decimal": (36, 6),
    "varint": (5, 5),
    "median_filter": (10, 3),
}
# A netlist is read line by line, and then elements are swapped.
_NETLIST, _BYTES_A_LINE, _SWAPS, _NETLIST_BLOCKS = "netlist", 128, 1_000_000, 10_000_000


@dataclass(frozen=True)
class SimulatedSeries(Series):
    """A run as it was simulated twice: no cycles, and intervals of equal basic blocks.

    Attributes
    ----------
    events : tuple of str
        Of :meth:`rates`.
    """

    events: tuple = (*MODELLED_RATES, *EXACT_RATES)

    def rates(self, slice_s):
        """Slices of so many intervals, by :func:`cmlib.fingerprint.simulated_rates.simulated_rates`."""
        return simulated_rates(self.counts, int(slice_s))[list(self.events)].iloc[:-1]

    def pace(self, rates):
        """What is drawn below the classes: misses of the first-level data cache, and mispredictions."""
        return rates[list(_EVENTFUL)].sum(axis=1).rename("misses and mispredictions\nper 1,000 instructions")


@dataclass(frozen=True)
class SimulatedCase:
    """What is simulated of a case: a number of operations, with random numbers of one seed.

    Attributes
    ----------
    case : Case
    operations : int
    every_blocks : int
        Basic blocks of an interval: there are about 30.
    seed : int
    """

    case: Case
    operations: int
    every_blocks: int
    seed: int = 1

    @property
    def name(self):
        """Of the recording: the case's, with the seed where it is not 1."""
        return self.case.name + (f"-{self.seed}" if self.seed > 1 else "")


def simulated_cases():
    """All cases to simulate; of the program whose branches are random, with several seeds in the place of sizes.

    Returns
    -------
    list of SimulatedCase
    """
    listed = [case for trained in (True, False) for case in cases(WORKING_SETS, trained=trained)]
    return [
        SimulatedCase(case, *_length(case), seed)
        for case in listed
        for seed in (_SEEDS if case.program.name == _RANDOM else (1,))
    ]


def record_simulated_cases(programs_folder, folder):
    """Simulate every case twice; only the function that executes is counted, not what prepares its data.

    Parameters
    ----------
    programs_folder : path-like
        Where `build` put the programs.
    folder : path-like
        Of these recordings, in that of all recordings.

    Yields
    ------
    str
        Name of a case that is complete.

    Raises
    ------
    RecordError
        As of :func:`cmlib.simulate.record_simulated`.
    """
    with on_path(programs_folder):
        for one in simulated_cases():
            how = {
                "every_blocks": one.every_blocks,
                "function": _COUNTED,
                "note": one.case.note,
                "folder": folder,
            }
            record_levels(one.name, one.case.argv(operations=one.operations, seed=one.seed), CACHES, **how)
            yield one.name


def record_levels(name, command, caches, *, folder, every_blocks, note, function=None):
    """Simulate a program twice: with a last level as large as the third one, and as the second.

    Runs that exist are kept.

    Parameters
    ----------
    name : str
        Of the recording, ``own-`` and a program's name for one that notebook 05 is to show.
    command : sequence of str
    caches : dict of str to str
        ``I1``, ``D1``, ``L2`` and ``LL`` to size, ways and length of a line, as :data:`CACHES`.
    folder : path-like
        Of these recordings.
    every_blocks : int
        Basic blocks of an interval.
    note : str
        JSON: ``label``, ``size`` and ``kind`` of :class:`cmlib.workloads.micro.selection.Series`.
    function : str, optional
        Count only what this function and those that it calls execute.

    Raises
    ------
    RecordError
        As of :func:`cmlib.simulate.record_simulated`.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    first = {level: caches[level] for level in ("I1", "D1")}
    for set_name, level in _LARGEST.items():
        record_simulated(
            name, command, passes=1, every_blocks=every_blocks, caches=first | {"LL": caches[level]},
            set_name=set_name, function=function, prefetch=True, folder=folder, note=note, say=lambda told: None,
        )  # fmt: skip


def read_simulated_series(folder, kind="micro"):
    """Read the simulated runs of a kind of programs, with three levels of caches.

    Parameters
    ----------
    folder : path-like
        Of these recordings.
    kind : {"micro", "unseen"}

    Returns
    -------
    list of Series
        By program. Index of the counts: number of the interval, from 1; the first one, which is cut off, is left out.
        Columns as of :func:`join_levels`.

    Raises
    ------
    CmlibError
        If the runs of a program did not execute the same, or one is lacking.
    """
    runs = {place: existing_runs(place) for place in sorted(Path(folder).glob(f"{kind}-*/"))}
    return [_joined(place, of_place) for place, of_place in runs.items() if of_place]


def join_levels(last, second):
    """Counts of one program with three levels of caches.

    Parameters
    ----------
    last, second : DataFrame, shape (n_intervals, 13)
        From :func:`cmlib.simulate.read_series`, of runs whose last level is as large as the third one, and the second.

    Returns
    -------
    DataFrame, shape (n_intervals, 16)
        The columns of `last`, and ``sim.l2_instruction_misses``, ``sim.l2_load_misses`` and ``sim.l2_store_misses``.

    Raises
    ------
    ValueError
        If anything but misses of the last level differs: the runs did not execute the same.
    """
    lowest = [event for event in last if event.startswith(_LOWEST)]
    same = last.columns.difference(lowest)
    if not np.array_equal(last[same], second[same]):
        raise ValueError(
            f"two simulated runs, of {len(last)} and {len(second)} intervals, did not execute the same: their "
            "instructions, accesses, branches or first-level misses differ."
        )
    names = {event: event.replace(_LOWEST, _MIDDLE) for event in lowest}
    return pd.concat([last, second[lowest].rename(columns=names)], axis=1)


def _joined(place, runs):
    series = {
        meta["set"]: read_series(read_raw(place, run).decode(errors="replace"))[0]
        for run, meta in runs.items()
    }
    lacking = _LARGEST.keys() - series.keys()
    if lacking:
        raise CmlibError(f"{place.name}: a run of set {min(lacking)} is lacking; run `{COMMAND}`.")
    try:
        counts = join_levels(series[LAST], series[SECOND])
    except ValueError as error:
        raise CmlibError(f"{place.name}: {error} Move it away and run `{COMMAND}`.") from error
    counts.index = pd.Index(np.arange(1.0, len(counts) + 1), name="interval")
    about = json.loads(next(iter(runs.values()))["note"])
    inner = counts.iloc[1:]  # the last slice is left out when the run is cut
    return SimulatedSeries(place.name, 0, about, inner, inner.notna().astype(float))


def _length(case):
    if case.program.name == _NETLIST:
        return case.size // _BYTES_A_LINE + _SWAPS, _NETLIST_BLOCKS
    blocks = _BLOCKS[case.program.name][_FORMS.index(case.form)]
    return round(_INTERVALS * _EVERY_BLOCKS / blocks), _EVERY_BLOCKS
