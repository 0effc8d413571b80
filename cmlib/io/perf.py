"""Read counts from the output of `perf stat` and other tools.

:func:`parse_stat` reads a text in any known format (:mod:`cmlib.io.formats`) as a table of counts. :func:`series`
converts the table to one time series per event. :func:`read_runs` reads a text with several runs.
"""

import re
from collections.abc import Mapping
from typing import Literal

import pandas as pd

from cmlib.io.formats.readings import FormatError, Program, Readings, ReadOptions, make_counts
from cmlib.io.formats.registry import read_counts
from cmlib.io.meaning.event_names import normalize_events
from cmlib.io.meaning.readings import check_values, sum_places, without_wrapped
from cmlib.io.meaning.selection import Selection, select
from cmlib.io.meaning.series import series
from cmlib.io.meaning.sleep import fill_slept
from cmlib.io.meaning.stored import derive_series

__all__ = ["FormatError", "begin_ns", "parse_stat", "read_runs", "series"]

_STAT_COLUMNS = ["time_s", "event", "value", "supported", "running", "unit"]
_CONTENT_LINE = re.compile(r"^(?!#)[^\S\n]*+\S", re.MULTILINE)  # a line that is neither blank nor a comment


def parse_stat(
    text: str,
    *,
    interval_ms: float | None = None,
    columns: Mapping[str, Literal["count", "level"]] | None = None,
) -> pd.DataFrame:
    """Read the counts of one program.

    Counts of CPUs, cores, sockets or nodes are added up. Counts are 0 in intervals in which the program slept. Counts
    just below 2^64 are impossible and become NaN. Totals after intervals (``--summary``) are dropped.

    Parameters
    ----------
    text : str
        Output of ``perf stat``, or of another tool in a known format.
    interval_ms : float, optional
        Length of an interval [ms], for tables without a column of times.
    columns : mapping of str to {"count", "level"}, optional
        Columns of a table to read in addition to known events.

    Returns
    -------
    DataFrame
        One row per counter and interval, in the order of the file. Empty if the text has only comments.

        time_s : float
            End of the interval since the start [s]. NaN for totals.
        event : str
            Name of the event in the file, with modifiers.
        value : float
            Count, or amount in `unit`. NaN for ``<not counted>`` and ``<not supported>``.
        supported : bool
            False for ``<not supported>``.
        running : float
            Running share: the fraction of time in which the event was counted. NaN if unknown.
        unit : str
            Unit of the value. For example, ``msec``. "" for counts.

    Raises
    ------
    FormatError
        If the text has no known format, several formats, several programs or several runs with intervals, or if a line
        is damaged. Intervals and totals of different events are two programs.

    Examples
    --------
    >>> from pathlib import Path
    >>> text = Path("tests/golden/perf-6.1-zen5/mlpx.csv").read_text()
    >>> counts = parse_stat(text)
    >>> counts.loc[2, ["event", "value", "running"]].tolist()
    ['ic_tag_hit_miss.instruction_cache_miss', np.float64(83411798.0), np.float64(0.28)]
    """
    if not _has_content(text):
        counts = make_counts({"event": [], "value": []})
    else:
        _, readings = read_counts(text, options=ReadOptions(columns=columns or {}, interval_ms=interval_ms))
        counts = _only_program(readings).counts
    if counts["time_s"].notna().any() and counts["run"].nunique() > 1:
        raise FormatError("the text has several runs with intervals. Read them with read_runs.")
    counts = fill_slept(normalize_events(counts))
    check_values(counts)
    counts, _ = without_wrapped(counts)
    counts, _ = sum_places(counts)
    counts = counts[_STAT_COLUMNS].reset_index(drop=True)
    return counts.assign(event=_to_strings(counts["event"]), unit=_to_strings(counts["unit"]))


def read_runs(text: str) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """Read the time series of each run of one program. Duplicate runs are dropped.

    Parameters
    ----------
    text : str
        Output of ``perf stat -I``, or of another tool in a known format.

    Returns
    -------
    list of (DataFrame, DataFrame)
        Counts and running shares of each run, as in :func:`series`.

    Raises
    ------
    FormatError
        If the text has no known format, several formats or several programs, or if a line is damaged.
    """
    _, readings = read_counts(text)
    program = _only_program(readings)
    runs = []
    tables_read = set()
    for run_number in program.counts["run"].unique():
        run = select(readings, Selection(runs=(int(run_number),)))
        # Published files contain duplicate runs. They differ only in the number of the run.
        table = run.counts.drop(columns="run").to_csv(index=False)
        if table in tables_read:
            continue
        tables_read.add(table)
        derived = derive_series(run)
        runs.append((derived.counts, derived.running))
    return runs


def begin_ns(text: str) -> int | None:
    """Return the start of a recording.

    Parameters
    ----------
    text : str
        Output of a tool in a known format.

    Returns
    -------
    int or None
        Time since 1970 [ns]. None if the text has no absolute times.
    """
    _, readings = read_counts(text)
    return readings.begin_ns


def _to_strings(column: pd.Series) -> pd.api.extensions.ExtensionArray:
    """Convert a column of categories to strings, in a tenth of the time of ``astype(str)``."""
    categories = column.array.categories.astype(str).array
    return categories.take(column.array.codes, allow_fill=True)


def _has_content(text: str) -> bool:
    """Return whether a text has a line that is neither blank nor a comment."""
    return _CONTENT_LINE.search(text) is not None


def _only_program(readings: Readings) -> Program:
    """Return the only program. FormatError if the text has several programs."""
    if len(readings.programs) != 1:
        raise FormatError(
            f"the text has {len(readings.programs)} programs. Only one program can be read. Split the text."
        )
    return readings.programs[0]
