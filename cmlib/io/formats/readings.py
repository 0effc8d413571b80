"""What every reader of a file of counts returns.

A reader knows no events, processors or kinds of core: it returns what the file says, with the file's own names. What
these names mean is decided afterwards, from the rows, in one place (`cmlib.io.meaning`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import nan
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from cmlib.errors import CmlibError

_COUNTS = {  # type of each column of counts, and its default
    "time_s": ("float64", nan),
    "run": ("int64", 1),
    "place": ("category", ""),
    "event": ("category", None),
    "value": ("float64", None),
    "supported": ("bool", True),
    "running": ("float64", nan),
    "unit": ("category", ""),
    "on_counter_s": ("float64", nan),
}
_METRICS = {
    "time_s": ("float64", nan),
    "run": ("int64", 1),
    "place": ("category", ""),
    "event": ("category", ""),
    "value": ("float64", None),
    "name": ("category", None),
    "running": ("float64", nan),
}

COUNT_COLUMNS = tuple(_COUNTS)
METRIC_COLUMNS = tuple(_METRICS)


class FormatError(CmlibError, ValueError):
    """The text has no known format, several of them, or a damaged line."""


class Run(NamedTuple):
    """One run of a program.

    Attributes
    ----------
    seconds : float
        Elapsed time [s]; NaN if the file does not say.
    user_s, system_s : float
        Processor time in user mode and in the kernel [s]; NaN if the file does not say.
    started : str
        Date and time of its start as the file writes it; "" if it does not.
    """

    seconds: float = nan
    user_s: float = nan
    system_s: float = nan
    started: str = ""


@dataclass(frozen=True)
class Program:
    """Counts of one program.

    Attributes
    ----------
    counts : DataFrame
        One row per reading, in the file's order.

        time_s : float
            End of the interval since the start of the run [s]; NaN for the total of a run.
        run : int
            Number of the run, from 1.
        place : category of str
            "" for the whole program, or where it was counted: ``CPU3``, ``S0-D0-C1``, a thread, ``Core 3/PMC0``.
        event : category of str
            As written, with modifiers and PMU.
        value : float
            Count, or amount of `unit`; NaN if it was not counted or not supported.
        supported : bool
            False if the tool says that the machine lacks the event.
        running : float
            Share of the time in which the event was on a counter, 0 to 1; NaN if unknown.
        unit : category of str
            "" for plain counts, or such as ``msec``.
        on_counter_s : float
            Time that the event was on a counter [s]; NaN if unknown.
    name : str
        Command, cgroup, region, or the cells of text columns; "" if the file gives none.
    runs : tuple of Run
        One entry per run, in order; empty if the file says nothing about runs.
    metrics : DataFrame
        Values that the recording tool computed from counts, such as IPC or shares of slots: one row per value, in the
        file's order. They may be all there is: `counts` is empty then.

        time_s, run, place : as in `counts`
        event : category of str
            Event beside which the tool printed the metric; "" if it stands alone.
        value : float
            As printed; NaN if the tool printed none.
        name : category of str
            As the tool writes it, with its unit, such as ``insn per cycle`` or ``% tma_backend_bound``.
        running : float
            Share of the time in which its events were counted, 0 to 1; NaN if unknown.
    repeats : int
        Number of runs of which each count is the mean, as with ``perf stat -r``; 1 if it is of one run, 0 if unknown.
    per : {"run", "operation"}
        What counts and times refer to.
    span : tuple of int
        Start and end of its text in the file [characters].
    """

    counts: pd.DataFrame
    name: str = ""
    runs: tuple[Run, ...] = ()
    metrics: pd.DataFrame = field(default_factory=lambda: make_metrics({"value": [], "name": []}))
    repeats: int = 1
    per: Literal["run", "operation"] = "run"
    span: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Readings:
    """Everything that one file contains.

    Attributes
    ----------
    programs : tuple of Program
    processor : str
        Name of the processor as the format's own field gives it; "" if there is none.
    begin_ns : int or None
        Start of the first interval in ns since 1970, if the file's times are absolute.
    levels : frozenset of str
        Names in `event` that are levels, such as a temperature or power, and no counts.
    notes : tuple of str
        Sentences on what was left out, converted or assumed.
    """

    programs: tuple[Program, ...]
    processor: str = ""
    begin_ns: int | None = None
    levels: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReadOptions:
    """What the user says about a file.

    Attributes
    ----------
    columns : mapping of str to {"count", "level"}
        Columns of a table that are kept although they name no known event (``--count`` and ``--level``).
    interval_ms : float or None
        Length of an interval [ms] where the file has no times, or where their unit is unknown.
    """

    columns: Mapping[str, Literal["count", "level"]] = field(default_factory=dict)
    interval_ms: float | None = None


def make_counts(columns: Mapping[str, Any]) -> pd.DataFrame:
    """Make a frame of counts with the columns and types of `Program.counts`.

    Parameters
    ----------
    columns : mapping of str to array-like or scalar
        At least ``event`` and ``value``. The others default to: ``time_s`` NaN, ``run`` 1, ``place`` "",
        ``supported`` True, ``running`` NaN, ``unit`` "", ``on_counter_s`` NaN.

    Returns
    -------
    DataFrame

    Raises
    ------
    KeyError
        If a column is unknown, or ``event`` or ``value`` is missing.
    """
    return _make_frame(columns, _COUNTS)


def make_metrics(columns: Mapping[str, Any]) -> pd.DataFrame:
    """Make a frame of metrics with the columns and types of `Program.metrics`.

    Parameters
    ----------
    columns : mapping of str to array-like or scalar
        At least ``value`` and ``name``. The others default to: ``time_s`` NaN, ``run`` 1, ``place`` "", ``event``
        "", ``running`` NaN.

    Returns
    -------
    DataFrame

    Raises
    ------
    KeyError
        If a column is unknown, or ``value`` or ``name`` is missing.
    """
    return _make_frame(columns, _METRICS)


def _make_frame(columns: Mapping[str, Any], types: Mapping[str, tuple[str, object]]) -> pd.DataFrame:
    """Make a frame with the columns of `types`; those without a default must be given."""
    unknown = columns.keys() - types.keys()
    if unknown:
        raise KeyError(f"unknown columns: {', '.join(sorted(unknown))}")
    defaults = {name: default for name, (_, default) in types.items() if default is not None}
    filled = {**defaults, **columns}
    n_rows = len(columns["value"])
    arrays = {name: _make_array(filled[name], dtype, n_rows) for name, (dtype, _) in types.items()}
    return pd.DataFrame(arrays, index=range(n_rows), copy=False)


def _make_array(values: Any, dtype: str, n_rows: int) -> np.ndarray | pd.Categorical:
    """Convert a column, or one value for all rows, to an array of a type.

    For small files, this takes a tenth of the time of DataFrame.astype.
    """
    is_category = dtype == "category"
    if isinstance(values, pd.Categorical):
        return values
    if np.ndim(values) > 0:
        return pd.Categorical(values) if is_category else np.asarray(values, dtype)
    if is_category:
        return categorical(np.zeros(n_rows, np.int8), [values] if n_rows else [])
    return np.full(n_rows, values, dtype)


def categorical(codes: np.ndarray, texts: Sequence[str]) -> pd.Categorical:
    """Make a categorical array of texts from their numbers; files of one recording share the list of texts."""
    return pd.Categorical.from_codes(codes, dtype=_make_category_dtype(tuple(texts)))


def remove_unused(values: pd.Categorical) -> pd.Categorical:
    """Remove categories without a value. If there are none, return the same object, which is faster than pandas."""
    n_values = np.bincount(values.codes[values.codes >= 0], minlength=len(values.categories))
    return values if n_values.all() else values.remove_unused_categories()


@lru_cache(maxsize=64)
def _make_category_dtype(texts: tuple[str, ...]) -> pd.CategoricalDtype:
    """Make a categorical type; the index of its texts, which pandas builds, takes most of the time of a small file."""
    return pd.CategoricalDtype(pd.Index(texts, dtype="str"))
