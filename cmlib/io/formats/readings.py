"""Classes for the content of a file of counts: readings, programs and runs.

Every reader in this package returns a :class:`Readings` object. Names of events are unchanged. The package
`cmlib.io.meaning` interprets them.
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
    """Raised if a text has no known format, has several formats, or has a damaged line."""


class Run(NamedTuple):
    """One run of a program.

    Attributes
    ----------
    seconds : float
        Elapsed time [s]. NaN if unknown.
    user_s, system_s : float
        Processor time in user mode and in the kernel [s]. NaN if unknown.
    started : str
        Date and time of the start, as written in the file. "" if unknown.
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
        One row per count, in the order of the file.

        time_s : float
            End of the interval since the start of the run [s]. NaN for the total of a run.
        run : int
            Number of the run, from 1.
        place : category of str
            CPU, core, socket or thread that was counted. For example, ``CPU3`` or ``S0-D0-C1``. "" for the program.
        event : category of str
            Name of the event, as written in the file.
        value : float
            Count, or amount in `unit`. NaN if the event was not counted.
        supported : bool
            False if the machine does not support the event.
        running : float
            Running share: the fraction of time in which the event was counted. NaN if unknown.
        unit : category of str
            Unit of the value. For example, ``msec``. "" for counts.
        on_counter_s : float
            Time in which the event was counted [s]. NaN if unknown.
    name : str
        Name of the program. For example, its command. "" if unknown.
    runs : tuple of Run
        One entry per run. Empty if the file does not describe runs.
    metrics : DataFrame
        Values that the recording tool computed from counts, one row per value. `counts` can be empty.

        time_s, run, place : as in `counts`
        event : category of str
            Event next to the metric. "" if the metric has no event.
        value : float
            Printed value. NaN if the tool printed no number.
        name : category of str
            Name of the metric with its unit. For example, ``insn per cycle`` or ``% tma_backend_bound``.
        running : float
            Running share of the metric's events. NaN if unknown.
    repeats : int
        Number of runs that were averaged (``perf stat -r``). 1 for a single run, 0 if unknown.
    per : {"run", "operation"}
        Unit of work of the counts and times: a run, or an operation of a benchmark.
    span : tuple of int
        Start and end of the program's text in the file [characters].
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
    """Content of a file of counts.

    Attributes
    ----------
    programs : tuple of Program
    processor : str
        Name of the processor in the file. "" if unknown.
    begin_ns : int or None
        Start of the first interval since 1970 [ns]. None if the file has no absolute times.
    levels : frozenset of str
        Names in the column ``event`` that are levels instead of counts. For example, a temperature.
    notes : tuple of str
        Sentences on ignored rows, conversions and assumptions.
    """

    programs: tuple[Program, ...]
    processor: str = ""
    begin_ns: int | None = None
    levels: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReadOptions:
    """Options of the user for reading a file.

    Attributes
    ----------
    columns : mapping of str to {"count", "level"}
        Columns to read in addition to known events (``--count`` and ``--level``).
    interval_ms : float or None
        Length of an interval [ms]. It is used if the file has no times, or times without a unit.
    """

    columns: Mapping[str, Literal["count", "level"]] = field(default_factory=dict)
    interval_ms: float | None = None


def make_counts(columns: Mapping[str, Any]) -> pd.DataFrame:
    """Make a frame of counts with the columns and types of `Program.counts`.

    Parameters
    ----------
    columns : mapping of str to array-like or scalar
        ``event`` and ``value`` are required. Defaults of the other columns: ``time_s`` NaN, ``run`` 1, ``place`` "",
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
        ``value`` and ``name`` are required. Defaults of the other columns: ``time_s`` NaN, ``run`` 1, ``place`` "",
        ``event`` "", ``running`` NaN.

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
    """Make a frame with the columns of `types`. Columns without a default are required."""
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
    """Make a categorical array from the codes of texts.

    The type is cached, because the files of a recording have the same texts.
    """
    return pd.Categorical.from_codes(codes, dtype=_make_category_dtype(tuple(texts)))


def remove_unused(values: pd.Categorical) -> pd.Categorical:
    """Remove unused categories. If all are used, return the same object, which is faster than pandas."""
    n_values = np.bincount(values.codes[values.codes >= 0], minlength=len(values.categories))
    return values if n_values.all() else values.remove_unused_categories()


@lru_cache(maxsize=64)
def _make_category_dtype(texts: tuple[str, ...]) -> pd.CategoricalDtype:
    """Make a categorical type. Making it takes most of the time of reading a small file."""
    return pd.CategoricalDtype(pd.Index(texts, dtype="str"))
