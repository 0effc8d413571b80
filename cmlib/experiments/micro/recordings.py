"""Read recordings of the micro-benchmarks, measured or simulated, and cut them into time slices.

There is one folder per program, such as "micro-array-N-L2-1": kind of program, name, form (P with a bottleneck, or N
without) and case; two sets of runs, "key" and "all", counted the key events (the few that classify best) and all
events. A pass may be several runs (parts), as not all events fit into one. :func:`read_series` reads the runs into
a list of :class:`Series`; :func:`cut` makes X (rates, a row per slice) and its labels of them. What can't be read is
left out with a warning; a ValueError if a run has no slice.
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
FOLDER = "fingerprint"  # among the recordings: hundreds of runs that no other notebook is asked about
COMMAND = "cmlib record-micro"
SWEEP = "micro-sweep.csv"
_MOST_COLUMNS = 100
SIMULATED_FOLDER = "fingerprint-simulated"
SIMULATE_COMMAND = "cmlib record-micro --simulate"


def stored_sweep(folder):
    """Latencies by size of the working set that are stored with the recordings in `folder`: DataFrame of the CSV file.

    A NothingRecordedError if there is no such file, a CmlibError if it can't be read.
    """
    file = Path(folder) / SWEEP
    if not file.is_file():
        raise NothingRecordedError(f"no latency sweep is kept with the recordings: run `{COMMAND}`")
    try:
        return parse_csv(read_file(file), most_columns=_MOST_COLUMNS)
    except ValueError as error:
        raise CmlibError(f"{file} can't be read: {str(error)[:200]}. Run `{COMMAND}` again.") from error


def key_metadata(folder):
    """Metadata (dict) of the first readable run of the key events in `folder`; None if there is none."""
    runs = map(readable_runs, sorted(Path(folder).glob("micro-*/")))
    metas = chain.from_iterable(of_program.values() for of_program in runs)
    return next((meta for meta in metas if meta["set"] == KEY), None)


@dataclass(frozen=True)
class Series:
    """One recorded run of a program: its counts by interval, and what is known about it.

    `program` is the name of its folder, `number` that of its pass, `about` a dict of label (its class), size
    (working set [bytes], or None) and more; `counts` [events per interval] and `running` (shares of the interval in
    which an event was counted, 0-1) are DataFrames, a row per interval, a column per event, with the end of the
    interval [s] as index. A simulated run has numbers of intervals as its index, and None for `running`. `events`
    are the columns that :meth:`rates` returns; all if it is empty.
    """

    program: str
    number: int
    about: dict
    counts: pd.DataFrame
    running: pd.DataFrame | None
    events: tuple = ()  # of the slices, where not all

    def rates(self, slice_s):
        """Rates by slice of `slice_s` seconds: a DataFrame of events per cycle, a row per slice (index: its end [s]).

        It is that of :func:`cmlib.fingerprint.slices.slice_rates`. Of a simulated run a slice is `slice_s`
        intervals, and rates are per 1,000 estimated cycles. A ValueError if no slice is left, or the length is no
        multiple of the intervals'.
        """
        rates = self._slices(slice_s)
        return rates[list(self.events)] if self.events else rates

    def pace(self, slice_s):
        """Speed by slice of `slice_s` seconds, for figures: a pandas Series of IPC, index as of :meth:`rates`.

        Of a simulated run it is estimated cycles per instruction, and `slice_s` a number of intervals. IPC is
        instructions per cycle.
        """
        instructions = self._slices(slice_s)["instructions"]
        if self.running is not None:
            return instructions.rename("IPC")
        return (ESTIMATED_CYCLES / instructions).rename("estimated cycles\nper instruction")

    def _slices(self, slice_s):
        """Rates as of :func:`cmlib.fingerprint.slices.slice_rates`; of a simulated run with estimated cycles."""
        counts = self.counts
        if self.running is None:
            counts = simulated_counts(counts, simulated_events()["weight"])
        return slice_rates(counts, self.running, slice_s=slice_s)


def read_series(folder, set_name, kind="micro", *, only="*"):
    """List of the recorded runs (Series) of a kind of programs: "micro", "unseen", "CPU", "parallel" or "own".

    `folder` holds the programs' folders, `set_name` is "key" or "all"; `only` is the name of one program's folder, or
    "*". Sorted by program, pass and part; a pass with a part that can't be read is left out with a warning.
    """
    passes = {}
    for file in sorted(Path(folder).glob(f"{kind.lower()}-*/{set_name}-p*.json")):
        if only in ("*", file.parent.name):
            passes.setdefault(file.with_name(file.stem.rpartition("-")[0]), []).append(file)
    return list(chain.from_iterable(readable(lambda name: list(map(_read, passes[name])), passes).values()))


def _read(file):
    """Series of the run whose metadata are in a file."""
    meta, place = read_run_metadata(file), file.parent
    series = perf.series(perf.parse_stat(read_raw(place, file.stem).decode()))
    return Series(place.name, meta["pass"], _about(meta, file), *series)


def _about(meta, file):
    """Note of a run's metadata as a dict of label and size; a CmlibError if it has none."""
    try:
        about = json.loads(meta["note"])
        size = about["size"] is None or math.isfinite(about["size"])
        if not size or not isinstance(about["label"], str | None):
            raise TypeError("it has no label, or its size is no number")
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise CmlibError(f"{file}: its note does not tell label and size: {error}.") from error
    return about


def cut(series: Iterable[Series], *, slice_s: float = 0.4) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cut recorded runs into slices of `slice_s` seconds: two DataFrames, X and about, a row per slice.

    `series` is a list of Series. Both are indexed by program, pass and slice. X has events per cycle, a column for
    each event that all runs counted; runs that are parts of one pass are joined. about has label (class), size and
    time_s (end of the slice). A ValueError if a run has no slice.
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

    `parts` is a list of DataFrames as of :func:`cmlib.fingerprint.slices.slice_rates`. The result has as many slices
    as the shortest run,
    numbered from 0 (index: slice); an event in several runs is taken from the first.
    """
    n = min(map(len, parts))
    number = pd.RangeIndex(n, name="slice")
    joined = pd.concat([part.iloc[:n].set_axis(number) for part in parts], axis=1)
    return joined.loc[:, ~joined.columns.duplicated()]


def read_simulated_series(folder, kind="micro"):
    """Read the first simulated run of each program of a kind, with three cache levels: a list of Series.

    `folder` holds the programs' folders, `kind` is "micro", "unseen" or "own". A run that can't be read, or lacks
    the second cache level, is left out with a warning.
    """
    runs = {place: readable_runs(place) for place in sorted(Path(folder).glob(f"{kind}-*/"))}
    firsts = ((place, next(iter(of_place.items()))) for place, of_place in runs.items() if of_place)
    first = {place / f"{run}.json": meta for place, (run, meta) in firsts}
    return list(readable(lambda file: _read_simulated(file, first[file]), first).values())


def _read_simulated(file, meta):
    """Series of the simulated run whose metadata (`meta`) are in a file, without its first interval."""
    place, run = file.parent, file.stem
    counts, _ = read_simulation(read_raw(place, run).decode(errors="replace"))
    lacking = second_level_events().index.difference(counts.columns)
    if len(lacking):
        raise CmlibError(
            f"{place.name}/{run} lacks {', '.join(lacking)}: its simulations did not execute the same. Move it away "
            f"and run `{SIMULATE_COMMAND}`."
        )
    counts.index = pd.Index(np.arange(1.0, len(counts) + 1), name="interval")
    inner = counts.iloc[1:]  # the last slice is left out when the run is cut
    rates = (*MODELLED_RATES, *EXACT_RATES)
    return Series(place.name, 0, _about(meta, file), inner, None, rates)
