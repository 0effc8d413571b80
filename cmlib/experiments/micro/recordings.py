"""Read recordings of the micro-benchmarks, measured or simulated, and cut them into time slices.

There is one folder per program, such as "micro-array-N-L2-1": kind of program, name, form (P with a bottleneck, or N
without) and case. It has two sets of runs: "key" counted the key events (the few that classify best), and "all"
counted all events. A pass may have several runs (parts), because not all events fit into one. :func:`read_series` reads
the runs into a list of :class:`Series`; :func:`cut` turns them into X (rates, one row per slice) and its labels. Runs
that can't be read are left out with a warning; ValueError if a run has no slice.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd

from cmlib.collect.simulate import read_series as read_simulation
from cmlib.errors import CmlibError, InputError, NothingRecordedError
from cmlib.fingerprint.simulated_rates import (
    ESTIMATED_CYCLES,
    EXACT_RATES,
    MODELLED_RATES,
    simulated_counts,
)
from cmlib.fingerprint.slices import slice_rates
from cmlib.io import perf
from cmlib.io.archive import parse_csv, read_file, readable
from cmlib.io.archive.programs import read_raw, readable_runs
from cmlib.io.archive.runs import read_run_metadata
from cmlib.io.events import second_level_events, simulated_events

__all__ = ["cut"]

ALL, KEY = "all", "key"
FOLDER = "fingerprint"  # in the folder of recordings: hundreds of runs that no other notebook reads
COMMAND = "cmlib record-micro"
SWEEP = "micro-sweep.csv"
_MOST_COLUMNS = 100
SIMULATED_FOLDER = "fingerprint-simulated"
SIMULATE_COMMAND = "cmlib record-micro --simulate"


def stored_sweep(folder):
    """Read the latencies by size of the working set that are stored with the recordings.

    Parameters
    ----------
    folder : path
        Folder of the recordings.

    Returns
    -------
    DataFrame
        One row per size, with the columns size [bytes] and ns (latency of a load).

    Raises
    ------
    NothingRecordedError
        If there are no latencies.
    CmlibError
        If their file can't be read.
    """
    file = Path(folder) / SWEEP
    if not file.is_file():
        raise NothingRecordedError(f"no latency sweep is kept with the recordings: run `{COMMAND}`")
    try:
        return parse_csv(read_file(file), most_columns=_MOST_COLUMNS)
    except ValueError as error:
        raise CmlibError(f"{file} can't be read: {str(error)[:200]}. Run `{COMMAND}` again.") from error


def key_metadata(folder):
    """Read the metadata of the first readable run of the key events.

    Parameters
    ----------
    folder : path
        Folder of the recordings.

    Returns
    -------
    dict or None
        None if there is no such run.
    """
    runs_by_program = map(readable_runs, sorted(Path(folder).glob("micro-*/")))
    metas = chain.from_iterable(runs.values() for runs in runs_by_program)
    return next((meta for meta in metas if meta["set"] == KEY), None)


@dataclass(frozen=True)
class Series:
    """One recorded run of a program: its counts by interval, and its label.

    Attributes
    ----------
    program : str
        Name of its folder.
    number : int
        Number of its pass.
    about : dict
        ``label`` (its class), ``size`` (of the working set [bytes], or None) and more.
    counts : DataFrame
        Counts [events per interval], one row per interval, one column per event. The index is the end of the interval
        [s], or, of a simulated run, the number of the interval.
    running : DataFrame or None
        Shares of the interval in which an event was counted (0-1), in the shape of `counts`; None for a simulated run.
    events : tuple of str
        Columns that :meth:`rates` returns; all if it is empty.
    """

    program: str
    number: int
    about: dict
    counts: pd.DataFrame
    running: pd.DataFrame | None
    events: tuple = ()  # of the slices, where not all

    def rates(self, slice_s):
        """Compute the rates of events by slice.

        Parameters
        ----------
        slice_s : float
            Length of a slice [s], a multiple of the length of the intervals; for a simulated run, a number of
            intervals.

        Returns
        -------
        DataFrame
            Events per cycle, or per 1,000 estimated cycles for a simulated run: one row per slice (index: its end [s]),
            as :func:`cmlib.fingerprint.slices.slice_rates` returns it.

        Raises
        ------
        ValueError
            If no slice is left, or `slice_s` is not a multiple of the length of the intervals.
        """
        rates = self._slices(slice_s)
        return rates[list(self.events)] if self.events else rates

    def pace(self, slice_s):
        """Compute the speed of the program by slice, for figures.

        Parameters
        ----------
        slice_s : float
            Length of a slice, as for :meth:`rates`.

        Returns
        -------
        pandas.Series
            IPC (instructions per cycle), or estimated cycles per instruction for a simulated run; indexed like
            :meth:`rates`.
        """
        instructions = self._slices(slice_s)["instructions"]
        if self.running is not None:
            return instructions.rename("IPC")
        return (ESTIMATED_CYCLES / instructions).rename("estimated cycles\nper instruction")

    def _slices(self, slice_s):
        """Compute the rates of all events by slice; those of a simulated run with estimated cycles."""
        counts = self.counts
        if self.running is None:
            counts = simulated_counts(counts, simulated_events()["weight"])
        return slice_rates(counts, self.running, slice_s=slice_s)


def read_series(folder, set_name, kind="micro", *, only="*"):
    """Read the recorded runs of a kind of programs.

    A pass with a part that can't be read is left out with a warning.

    Parameters
    ----------
    folder : path
        Contains the programs' folders.
    set_name : {"key", "all"}
        Runs of the key events, or of all events.
    kind : {"micro", "unseen", "CPU", "parallel", "own"}, default "micro"
        Kind of programs.
    only : str, default "*"
        Name of one program's folder; "*" for all programs.

    Returns
    -------
    list of Series
        Sorted by program, pass and part.
    """
    passes = {}
    for file in sorted(Path(folder).glob(f"{kind.lower()}-*/{set_name}-p*.json")):
        if only in ("*", file.parent.name):
            passes.setdefault(file.with_name(file.stem.rpartition("-")[0]), []).append(file)
    series_by_pass = readable(lambda name: list(map(_read_run, passes[name])), passes)
    return list(chain.from_iterable(series_by_pass.values()))


def _read_run(file):
    """Read the Series of a run; `file` has its metadata."""
    meta = read_run_metadata(file)
    folder = file.parent
    counts, running = perf.series(perf.parse_stat(read_raw(folder, file.stem).decode()))
    return Series(folder.name, meta["pass"], _read_label(meta, file), counts, running)


def _read_label(meta, file):
    """Read label and size (dict) from the note in a run's metadata; CmlibError if it has none."""
    try:
        about = json.loads(meta["note"])
        has_size = about["size"] is None or math.isfinite(about["size"])
        if not has_size or not isinstance(about["label"], str | None):
            raise TypeError("it has no label, or its size is not a number")
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise CmlibError(f"{file}: its note does not tell label and size: {error}.") from error
    return about


def cut(series: Iterable[Series], *, slice_s: float = 0.4) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cut recorded runs into slices; runs that are parts of one pass are joined.

    Parameters
    ----------
    series : iterable of Series
        Recorded runs.
    slice_s : float, default 0.4
        Length of a slice [s].

    Returns
    -------
    X : DataFrame, shape (n_slices, n_events)
        Events per cycle, one column for each event that all runs counted; indexed by program, pass and slice.
    about : DataFrame, shape (n_slices, 3)
        ``label`` (class), ``size`` [bytes] and ``time_s`` (end of the slice), with the same index.

    Raises
    ------
    ValueError
        If a run has no slice.
    """
    parts, notes = {}, {}
    for run in series:
        try:
            rates = run.rates(slice_s)
        except ValueError as error:
            raise InputError(f"{run.program}, pass {run.number}: {error}") from error
        parts.setdefault((run.program, run.number), []).append(rates)
        notes[run.program] = run.about
    names = ["program", "pass", "slice"]
    joined = {key: _join_parts(frames) for key, frames in parts.items()}
    X = pd.concat(joined, join="inner", names=names)
    ends = [frames[0].index[: min(map(len, frames))] for frames in parts.values()]
    about = pd.DataFrame.from_dict(notes, orient="index")[["label", "size"]].astype({"size": float})
    about = about.loc[X.index.get_level_values("program")].set_axis(X.index)
    return X, about.assign(time_s=np.concatenate(ends))


def _join_parts(parts):
    """Join the rates of runs that counted different events of one steady program, slice by slice: one DataFrame.

    `parts` is a list of results of :func:`cmlib.fingerprint.slices.slice_rates`. The result has as many slices as the
    shortest run, numbered from 0 (index: slice). If several runs counted an event, it is taken from the first.
    """
    n = min(map(len, parts))
    number = pd.RangeIndex(n, name="slice")
    joined = pd.concat([part.iloc[:n].set_axis(number) for part in parts], axis=1)
    return joined.loc[:, ~joined.columns.duplicated()]


def read_simulated_series(folder, kind="micro"):
    """Read the first simulated run of each program of a kind.

    A run is left out with a warning if it can't be read, or was simulated without the second of three cache levels.

    Parameters
    ----------
    folder : path
        Contains the programs' folders.
    kind : {"micro", "unseen", "own"}, default "micro"
        Kind of programs.

    Returns
    -------
    list of Series
    """
    meta_by_file = {}
    for program_folder in sorted(Path(folder).glob(f"{kind}-*/")):
        runs = readable_runs(program_folder)
        if runs:
            run, meta = next(iter(runs.items()))
            meta_by_file[program_folder / f"{run}.json"] = meta
    return list(readable(lambda file: _read_simulated(file, meta_by_file[file]), meta_by_file).values())


def _read_simulated(file, meta):
    """Read the Series of a simulated run without its first interval; `meta` are the metadata in `file`."""
    folder, run = file.parent, file.stem
    counts, _ = read_simulation(read_raw(folder, run).decode(errors="replace"))
    missing = second_level_events().index.difference(counts.columns)
    if len(missing):
        raise CmlibError(
            f"{folder.name}/{run} lacks {', '.join(missing)}: its simulations did not execute the same. Move it away "
            f"and run `{SIMULATE_COMMAND}`."
        )
    counts.index = pd.Index(np.arange(1.0, len(counts) + 1), name="interval")
    inner = counts.iloc[1:]  # the last slice is left out when the run is cut
    rates = (*MODELLED_RATES, *EXACT_RATES)
    return Series(folder.name, 0, _read_label(meta, file), inner, None, rates)
