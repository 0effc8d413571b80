"""One program's cleaned runs as a matrix: steps of progress, or of time where there is one run or no progress."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from cmlib import fuse, store
from cmlib.errors import UnfitRecordingError
from cmlib.fanout import Workers
from cmlib.study.data import FEWEST_INTERVALS, cleaned_runs
from cmlib.study.targets import IPC, Target
from cmlib.study.units import INSTRUCTIONS, axis_of, by_instructions

_ALIGNED = ("ocoe", "sweep")
_MOST_ROWS = 1000


@dataclass(frozen=True)
class Matrix:
    """Events of one program against what they explain, and a second pass over the same events to test on.

    Attributes
    ----------
    X : DataFrame, shape (steps, events)
        Events per cycle, instruction or second, or simulated ones per 1,000 instructions. Index: ``progress``, or the
        end of an interval: ``time_s`` [s], or of a simulated run ``million_instructions``.
    ipc : Series, shape (steps,)
        IPC, or whatever else is explained.
    holdout : tuple (DataFrame, Series) or None
        The same of another pass; None where the events were recorded once.
    target : Target
        What `ipc` is.
    """

    X: pd.DataFrame
    ipc: pd.Series
    holdout: tuple | None
    target: Target = IPC

    @property
    def in_time(self):
        """Whether steps are intervals of time and not of progress."""
        return "progress" not in self.X.index.names


def recorded_matrix(url, program, target=IPC, *, method="joint", workers=None):
    """:func:`matrix` of the :func:`recorded_runs` of a program."""
    return matrix(recorded_runs(url, program, target, method=method, workers=workers), target=target)


def recorded_runs(url, program, target=IPC, *, method="joint", workers=None):
    """Clean whatever runs of a program count a target.

    Runs without multiplexing and the sweep through all events are taken where there are any, else all
    multiplexed runs.

    Parameters
    ----------
    url : str
    program : str
    target : Target, default IPC
    method : str, default "joint"
        Cleaning (:func:`cmlib.study.cleaned_runs`).
    workers : cmlib.fanout.Workers, optional
        By default one process.

    Returns
    -------
    DataFrame
        As of :func:`cmlib.study.cleaned_runs`.
    """
    runs = store.runs(url, program=program).query("mode != 'lines'")
    able = runs[target.counted_in(runs) & (runs["n_intervals"] >= FEWEST_INTERVALS)]
    sets = [name for name in able["set"].unique() if name in _ALIGNED] or list(able["set"].unique())
    cleaned = cleaned_runs(url, program, sets, method=method, workers=workers or Workers(1))
    counted = [target.events <= set(run.columns[run.notna().any()]) for run in cleaned["counts"]]
    return cleaned[counted]


def matrix(runs, *, target=IPC, per=None):
    """Put a program's cleaned runs into one matrix.

    Several runs of a pass are aligned by progress, which instructions tell. Where a pass is one run, or instructions
    and cycles are not what is explained, the steps are the intervals of one run: of the run with the most events.
    Beyond 1000, neighbouring intervals are added up. The first pass is the matrix; the second is held out, if it
    counted the same. Of three single runs or more that counted the same, all but the last are put one after the other,
    and the last is held out. Simulated runs execute the same: one of them is the matrix, and nothing is held out.

    Parameters
    ----------
    runs : DataFrame
        Result of :func:`cmlib.study.cleaned_runs`.
    target : Target, default IPC
    per : str, optional
        What counts are divided by, if not by what the target is divided by; see :func:`cmlib.fuse.align_runs`.

    Returns
    -------
    Matrix

    Raises
    ------
    UnfitRecordingError
        If runs can't be aligned, or no event is left that could explain the target.
    """
    sets_of = runs.groupby("pass")["set"].agg(set)
    complete = [number for number, sets in sets_of.items() if sets == sets_of.iloc[0]]
    chosen = runs[runs["pass"].isin(complete[:2])]
    if target != IPC or chosen["pass"].is_unique:
        return _in_time(runs[runs["pass"].isin(complete)], target, target.per if per is None else per)
    aligned = fuse.align_passes(list(chosen["counts"]), list(chosen["pass"]), per=per or target.per)
    X, ipc = aligned[complete[0]]
    return Matrix(X, ipc, aligned[complete[1]] if len(complete) > 1 else None)


def core_runs(url, programs, target=IPC, *, workers=None):
    """Runs of events that were counted all the time in two passes or more, of the programs that have such.

    Returns
    -------
    dict of str to DataFrame
        As of :func:`cmlib.study.cleaned_runs`.
    """
    runs = store.runs(url).query("set == 'ocoe'")
    passes = runs[target.counted_in(runs)].groupby("program")["pass"].nunique()
    clean = partial(cleaned_runs, url, sets=["ocoe"], method="interpolate", workers=workers)
    return {name: clean(name) for name in programs if passes.get(name, 0) > 1}


def targets_by_axis(matrices):
    """What is explained of each program, apart by what the steps are.

    Parameters
    ----------
    matrices : dict of str to Matrix

    Returns
    -------
    dict of str to dict
        Label of the axis to program to the name of the line to a Series.
    """
    found = {}
    for name, data in matrices.items():
        axis = axis_of(data.ipc.index) if data.in_time else "progress [share of instructions]"
        line = "intervals" if data.in_time else "mean of all runs"
        found.setdefault(axis, {})[name] = {line: data.ipc}
    return found


def _in_time(runs, target, per):
    counted = [tuple(run.columns[run.notna().any()]) for run in runs["counts"]]
    widest = max(counted, key=len)
    alike = runs[[events == widest for events in counted]]
    if INSTRUCTIONS in widest:
        alike = alike.head(1)
    known = max(1, len(alike) - 1)
    n = -(-sum(map(len, alike["counts"].iloc[:known])) // _MOST_ROWS)
    rows = [_rows(run.counts[list(widest)], run.seconds, target, per, n) for run in alike.itertuples()]
    (X, y), other = _one_after_another(rows[:known]), rows[known] if len(rows) > known else None
    happened = int((y > 0).sum())
    if happened < FEWEST_INTERVALS:
        raise UnfitRecordingError(
            f"what {target.name} takes happened in {happened} of {len(alike['counts'].iloc[0])} intervals, and a model "
            f"takes {FEWEST_INTERVALS}: explain another event by `-p target=EVENT`, or record longer intervals."
        )
    if X.empty:
        raise UnfitRecordingError(
            f"{target.name} has no other event beside it that could explain it: record others together with it."
        )
    return Matrix(X, y, other, target)


def _one_after_another(rows):
    """Matrices and targets of runs as those of one that lasted as long as all of them."""
    starts = np.cumsum([0.0, *(y.index[-1] if len(y) else 0.0 for _, y in rows[:-1])])
    later = [
        (X.set_axis(X.index + start), y.set_axis(y.index + start))
        for (X, y), start in zip(rows, starts, strict=True)
    ]
    return tuple(pd.concat(parts) for parts in zip(*later, strict=True))


def _rows(counts, seconds, target, per, n):
    """Rates of a run's events, a row `n` intervals in which there was something to divide by, and the target."""
    bundle = np.arange(len(counts)) // n
    ends = pd.Series(counts.index, name="time_s").groupby(bundle).max()
    counts = counts.groupby(bundle).sum().set_axis(pd.Index(ends, name="time_s"))
    seconds = seconds.groupby(bundle).sum().set_axis(counts.index)
    base, divisor = (counts[event] if event else seconds for event in (per, target.per))
    happened = (base > 0) & (divisor > 0) & ((target != IPC) | (counts[target.event] > 0))
    X = target.factor * counts[[event for event in counts if not target.gives_away(event)]].div(base, axis=0)
    X, y = X[happened], (target.factor * counts[target.event] / divisor)[happened]
    X, y = map(by_instructions, (X, y)) if INSTRUCTIONS in counts else (X, y)
    return X, y.rename("ipc" if target == IPC else target.name)
