"""Read the recordings of micro-benchmarks, and cut them into time slices.

:func:`read_series` reads measured runs and :func:`read_simulated_series` reads simulated runs. Each run is a
:class:`Series`. :func:`cut` computes the event rates of each slice, which are the samples for decision trees.

The runs of a program are in one folder. Its name contains the kind of program, the name, the form and the case. For
example, "micro-array-N-L2-1". The form is P (with a bottleneck) or N (without it). There are two sets of runs:
"key" counts the key events (the few that classify best), and "all" counts all events. Several runs, called parts,
count all events together. Parts with the same number form a pass.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

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
SWEEP = "micro-sweep.csv"  # measured load latencies
_MOST_COLUMNS = 100  # of this file
SIMULATED_FOLDER = "fingerprint-simulated"
SIMULATE_COMMAND = "cmlib record-micro --simulate"


def stored_sweep(folder: str | Path) -> pd.DataFrame:
    """Read the load latencies that are stored with the recordings.

    The latencies were measured with several sizes of the accessed data (the working set).

    Parameters
    ----------
    folder : path
        Folder of the recordings. The latencies are in its file "micro-sweep.csv".

    Returns
    -------
    DataFrame
        One row per working set. Columns: ``size`` [bytes] and ``ns``, the latency of a load [ns].

    Raises
    ------
    NothingRecordedError
        If the folder does not contain this file.
    CmlibError
        If the file is damaged.
    """
    file = Path(folder) / SWEEP
    if not file.is_file():
        raise NothingRecordedError(f"no latencies are stored with the recordings: run `{COMMAND}`")
    try:
        return parse_csv(read_file(file), most_columns=_MOST_COLUMNS)
    except ValueError as error:
        raise CmlibError(f"{file} cannot be read: {str(error)[:200]}. Run `{COMMAND}` again.") from error


def key_metadata(folder: str | Path) -> dict[str, Any] | None:
    """Return the metadata of the first run that counted the key events.

    Key events are the few events that the decision tree uses.

    Parameters
    ----------
    folder : path
        Folder of the recordings.

    Returns
    -------
    dict or None
        None if no readable run was found.
    """
    runs_by_program = map(readable_runs, sorted(Path(folder).glob("micro-*/")))
    metas = chain.from_iterable(runs.values() for runs in runs_by_program)
    return next((meta for meta in metas if meta["set"] == KEY), None)


@dataclass(frozen=True)
class Series:
    """Counts and label of one run. This is not a pandas Series.

    Attributes
    ----------
    program : str
        Name of the folder. For example, "micro-array-N-L2-1".
    number : int
        Number of the pass: how often the run was repeated before.
    about : dict
        Contains ``label`` (the class of the run) and ``size`` (size of the data [bytes], or None).
    counts : DataFrame, shape (n_intervals, n_events)
        Counts. The index is the end of the interval [s]. For a simulated run, it numbers the intervals from 1.
    running : DataFrame or None
        Fraction of each interval in which an event was counted (0-1). None for a simulated run.
    events : tuple of str
        Names of the rates that :meth:`rates` returns. If empty, all are returned.
    """

    program: str
    number: int
    about: dict
    counts: pd.DataFrame
    running: pd.DataFrame | None
    events: tuple = ()

    def rates(self, slice_s: float) -> pd.DataFrame:
        """Compute the event rates of each slice.

        Parameters
        ----------
        slice_s : float
            Length of a slice [s], a multiple of the interval length. For a simulated run, it is a number of intervals.

        Returns
        -------
        DataFrame, shape (n_slices, n_events)
            Events per cycle, or per 1,000 estimated cycles of a simulated run. The index is the end of the slice.

        Raises
        ------
        ValueError
            If the run is shorter than a slice.
            If `slice_s` is not a multiple of the interval length.
        """
        rates = self._compute_slices(slice_s)
        return rates[list(self.events)] if self.events else rates

    def pace(self, slice_s: float) -> pd.Series:
        """Compute the speed of the program in each slice.

        Parameters
        ----------
        slice_s : float
            Length of a slice, as in :meth:`rates`.

        Returns
        -------
        pandas.Series, shape (n_slices,)
            Instructions per cycle. For a simulated run, estimated cycles per instruction.
        """
        instructions = self._compute_slices(slice_s)["instructions"]
        if self.running is not None:
            return instructions.rename("IPC")
        return (ESTIMATED_CYCLES / instructions).rename("estimated cycles\nper instruction")

    def _compute_slices(self, slice_s: float) -> pd.DataFrame:
        """Compute the rates of all events in each slice."""
        counts = self.counts
        if self.running is None:
            # Adds the estimated cycles, by which simulated counts are divided.
            counts = simulated_counts(counts, simulated_events()["weight"])
        return slice_rates(counts, self.running, slice_s=slice_s)


def read_series(folder: str | Path, set_name: str, kind: str = "micro", *, only: str = "*") -> list[Series]:
    """Read the measured runs of some programs.

    All runs of a pass are skipped with a warning if one of them is unreadable.

    Parameters
    ----------
    folder : path
        Folder of the recordings.
    set_name : {"key", "all"}
        Read the runs that counted the key events (the few events that a decision tree uses), or all events.
    kind : {"micro", "unseen", "CPU", "parallel", "own"}, default "micro"
        Kind of programs.
    only : str, default "*"
        Name of one program's folder. Default: all programs.

    Returns
    -------
    list of Series
        Runs sorted by program, pass and part.
    """
    files_by_pass = {}
    for file in sorted(Path(folder).glob(f"{kind.lower()}-*/{set_name}-p*.json")):
        if only in ("*", file.parent.name):
            pass_name = file.with_name(file.stem.rpartition("-")[0])
            files_by_pass.setdefault(pass_name, []).append(file)
    runs_by_pass = readable(lambda name: list(map(_read_run, files_by_pass[name])), files_by_pass)
    return list(chain.from_iterable(runs_by_pass.values()))


def _read_run(file: Path) -> Series:
    """Read the run with the metadata in `file`."""
    meta = read_run_metadata(file)
    folder = file.parent
    counts, running = perf.series(perf.parse_stat(read_raw(folder, file.stem).decode()))
    return Series(folder.name, meta["pass"], _read_label(meta, file), counts, running)


def _read_label(meta: dict[str, Any], file: Path) -> dict[str, Any]:
    """Read the label and the size in the metadata of a run."""
    try:
        about = json.loads(meta["note"])
        has_size = about["size"] is None or math.isfinite(about["size"])
        if not has_size or not isinstance(about["label"], str | None):
            raise TypeError("it has no label, or its size is not a number")
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise CmlibError(f"{file}: the note contains no valid label and size: {error}.") from error
    return about


def cut(series: Iterable[Series], *, slice_s: float = 0.4) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cut runs into slices and compute their event rates.

    Runs of the same program and pass counted different events. Their slices are joined.

    Parameters
    ----------
    series : iterable of Series
        Runs.
    slice_s : float, default 0.4
        Length of a slice [s].

    Returns
    -------
    X : DataFrame, shape (n_slices, n_events)
        Events per cycle, for the events that all programs counted. The index is program, pass and slice.
    about : DataFrame, shape (n_slices, 3)
        Columns: ``label`` (class), ``size`` [bytes] and ``time_s`` (end of the slice). The index is that of X.

    Raises
    ------
    ValueError
        If a run is shorter than a slice.
    """
    rates_by_pass = {}
    about_by_program = {}
    for run in series:
        try:
            rates = run.rates(slice_s)
        except ValueError as error:
            raise InputError(f"{run.program}, pass {run.number}: {error}") from error
        rates_by_pass.setdefault((run.program, run.number), []).append(rates)
        about_by_program[run.program] = run.about
    joined = {program_and_pass: _join_parts(parts) for program_and_pass, parts in rates_by_pass.items()}
    X = pd.concat(joined, join="inner", names=["program", "pass", "slice"])
    ends = [parts[0].index[: min(map(len, parts))] for parts in rates_by_pass.values()]
    about = pd.DataFrame.from_dict(about_by_program, orient="index")[["label", "size"]]
    about = about.astype({"size": float})
    about = about.loc[X.index.get_level_values("program")].set_axis(X.index)
    return X, about.assign(time_s=np.concatenate(ends))


def _join_parts(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Join the rates of runs that counted different events.

    The result has as many slices as the shortest run. If several runs counted an event, the first is used.
    """
    n_slices = min(map(len, parts))
    slice_index = pd.RangeIndex(n_slices, name="slice")
    joined = pd.concat([part.iloc[:n_slices].set_axis(slice_index) for part in parts], axis=1)
    return joined.loc[:, ~joined.columns.duplicated()]


def read_simulated_series(folder: str | Path, kind: str = "micro") -> list[Series]:
    """Read the first simulated run of each program.

    Unreadable runs are skipped with a warning. A run must have been simulated with three cache levels.

    Parameters
    ----------
    folder : path
        Folder of the recordings.
    kind : {"micro", "unseen", "own"}, default "micro"
        Kind of programs.

    Returns
    -------
    list of Series
        Runs sorted by program.
    """
    meta_by_file = {}
    for program_folder in sorted(Path(folder).glob(f"{kind}-*/")):
        runs = readable_runs(program_folder)
        if runs:
            run_name, meta = next(iter(runs.items()))
            meta_by_file[program_folder / f"{run_name}.json"] = meta
    runs_by_file = readable(lambda file: _read_simulated(file, meta_by_file[file]), meta_by_file)
    return list(runs_by_file.values())


def _read_simulated(file: Path, meta: dict[str, Any]) -> Series:
    """Read a simulated run without its first interval."""
    folder = file.parent
    run_name = file.stem
    counts, _ = read_simulation(read_raw(folder, run_name).decode(errors="replace"))
    missing = second_level_events().index.difference(counts.columns)
    if len(missing):
        raise CmlibError(
            f"{folder.name}/{run_name} does not contain {', '.join(missing)}, because its simulations executed "
            f"different instructions. Move it away and run `{SIMULATE_COMMAND}`."
        )
    counts.index = pd.Index(np.arange(1.0, len(counts) + 1), name="interval")
    after_start = counts.iloc[1:]
    rates = (*MODELLED_RATES, *EXACT_RATES)
    return Series(folder.name, 0, _read_label(meta, file), after_start, None, rates)
