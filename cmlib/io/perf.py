"""Read output of `perf stat` as a table of readings or as series by event.

:func:`parse_stat` and :func:`series` read text of any known format (:mod:`cmlib.io.formats`) that holds one program.
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

_COLUMNS = ["time_s", "event", "value", "supported", "running", "unit"]
_LINE = re.compile(r"^(?!#)[^\S\n]*+\S", re.MULTILINE)  # that is neither blank nor a comment


def parse_stat(
    text: str,
    *,
    interval_ms: float | None = None,
    columns: Mapping[str, Literal["count", "level"]] | None = None,
) -> pd.DataFrame:
    """Read the counts of one program, in any known format.

    Counts of CPUs, cores, sockets or nodes are added up. Counts are 0 in intervals in which the program slept;
    counts just below 2^64 are unknown.

    Parameters
    ----------
    text : str
        Output of ``perf stat``, or of another tool in a known format. Only comments and blank lines hold no counts.
    interval_ms : float, optional
        Length of an interval [ms]: of tables without a column of times.
    columns : mapping of str to {"count", "level"}, optional
        Columns of a table that are kept although they name no event.

    Returns
    -------
    DataFrame
        One row per counter and interval, in the file's order.

        time_s : float
            End of the interval since the start [s]; NaN for totals.
        event : str
            As in the file, with modifiers.
        value : float
            Count, or amount of `unit`; NaN for ``<not counted>`` and ``<not supported>``.
        supported : bool
            False for ``<not supported>``.
        running : float
            Share of the time in which the event was counted, 0 to 1; NaN if the file does not say.
        unit : str
            Such as ``msec``; empty for plain counts.

    Raises
    ------
    FormatError
        If no format or several recognize the text, or a line is damaged; also on several programs or runs by interval
        in one text.

    Examples
    --------
    >>> from pathlib import Path
    >>> text = Path("tests/golden/perf-6.1-zen5/mlpx.csv").read_text()
    >>> counts = parse_stat(text)
    >>> counts.loc[2, ["event", "value", "running"]].tolist()
    ['ic_tag_hit_miss.instruction_cache_miss', np.float64(83411798.0), np.float64(0.28)]
    """
    if not _has_lines(text):
        counts = make_counts({"event": [], "value": []})
    else:
        _, readings = read_counts(text, options=ReadOptions(columns=columns or {}, interval_ms=interval_ms))
        counts = _only_program(readings).counts
    timed = counts["time_s"].notna()
    if timed.any():
        counts = counts[timed]
        if counts["run"].nunique() > 1:
            raise FormatError("several runs by interval are in the text. Read them with read_runs.")
    counts = fill_slept(normalize_events(counts))
    check_values(counts)
    counts, _ = without_wrapped(counts)
    counts, _ = sum_places(counts)
    texts = {"event": str, "unit": str}
    return counts[_COLUMNS].astype(texts).reset_index(drop=True)


def read_runs(text: str) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """Read all runs by interval of the only program in a text, without runs that come twice.

    Parameters
    ----------
    text : str
        As :func:`parse_stat` takes it.

    Returns
    -------
    list of (DataFrame, DataFrame)
        Of each run counts and running shares, as of :func:`series`.

    Raises
    ------
    FormatError
        As :func:`parse_stat`.
    """
    _, readings = read_counts(text)
    program = _only_program(readings)
    runs = []
    seen = set()
    for number in program.counts["run"].unique():
        rows = select(readings, Selection(runs=(int(number),)))
        content = rows.counts.drop(columns="run").to_csv()
        if content not in seen:
            seen.add(content)
            derived = derive_series(rows)
            runs.append((derived.counts, derived.running))
    return runs


def begin_ns(text: str) -> int | None:
    """Return when a recording began, where the file has absolute times.

    Parameters
    ----------
    text : str
        As :func:`parse_stat` takes it.

    Returns
    -------
    int or None
        Time since 1970 [ns]; None if the file has no absolute times.
    """
    _, readings = read_counts(text)
    return readings.begin_ns


def _has_lines(text: str) -> bool:
    """Return whether a text has a line that is no comment."""
    return _LINE.search(text) is not None


def _only_program(readings: Readings) -> Program:
    """Return the only program; FormatError if there are several."""
    if len(readings.programs) != 1:
        raise FormatError(f"the text holds {len(readings.programs)} programs; one can be read here.")
    return readings.programs[0]
