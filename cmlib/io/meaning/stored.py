"""Derive the time series of a recording.

:func:`derive_series` converts the selected rows of a file. :func:`read_stored` reads a stored run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from cmlib.intervals import zeros_without_turn
from cmlib.io.formats.readings import FormatError, Program, Readings, ReadOptions, Run, make_counts
from cmlib.io.formats.registry import formats, read_counts
from cmlib.io.meaning.facts import add_modes, measure_cpus
from cmlib.io.meaning.readings import Table, make_table
from cmlib.io.meaning.selection import select, selection_of
from cmlib.io.meaning.series import lay_out, without_copies
from cmlib.io.meaning.tool_metrics import SHARE_EVENTS, collect_metrics, find_category

_RECORDED_FORMAT = "perf-csv"  # format of the files that `cmlib record` writes


class Derived(NamedTuple):
    """Time series of a recording, with remarks on its rows.

    Attributes
    ----------
    table : Table
        Readings without duplicates.
    counts, running : DataFrame, shape (n_intervals, n_events)
        Counts and running shares. Index: end of each interval [s]. Columns: event names in the file.
    n_copies : int
        Number of dropped duplicate rows.
    hidden : list of str
        Events with zeros that mean "not counted".
    """

    table: Table
    counts: pd.DataFrame
    running: pd.DataFrame
    n_copies: int
    hidden: list[str]


def derive_series(program: Program, levels: frozenset[str] = frozenset()) -> Derived:
    """Derive the time series of selected rows.

    Parameters
    ----------
    program : Program
        One run with intervals, totals of runs, or metrics without counts.
    levels : frozenset of str
        Events that are levels. For example, a temperature.

    Raises
    ------
    FormatError
        If rows contradict each other, or if the program has no counts and no shares of slots.
    ValueError
        If a time is smaller than the time before it.
    """
    if program.counts.empty:
        program = replace(program, counts=_shares_as_counts(program.metrics))
    table = make_table(program, levels)
    rows, n_copies = without_copies(table.rows)
    counts, running = lay_out(rows)
    original_counts = counts
    counts, running = without_uncounted_zeros(counts, running)
    hidden = []
    if counts is not original_counts:
        hidden = counts.columns[(counts.isna() & original_counts.notna()).any()].tolist()
    counts, running = add_modes(counts, running)
    return Derived(table._replace(rows=rows), counts, running, n_copies, hidden)


def without_uncounted_zeros(counts: pd.DataFrame, running: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Replace zeros of uncounted events by NaN, and their running shares by 0.

    Only zeros with unknown running shares are replaced (see :func:`cmlib.intervals.zeros_without_turn`).
    """
    has_unknown_share = np.isnan(running.to_numpy(float))
    if not (has_unknown_share & (counts.to_numpy(float) == 0)).any():
        return counts, running
    hidden = zeros_without_turn(counts, running)
    return counts.mask(hidden), running.mask(hidden, 0.0)


def _shares_as_counts(metrics: pd.DataFrame) -> pd.DataFrame:
    """Convert shares of slots to rows of counts, for a file without counts.

    The result has one row per run and category. Its value is the percentage.
    """
    rows = []
    for run, run_metrics in metrics.groupby("run", sort=True):
        shares = collect_metrics(run_metrics)
        known = run_metrics[[find_category(name) is not None for name in run_metrics["name"]]]
        running = float(known["running"].mean()) if known["running"].notna().any() else np.nan
        for category, event in SHARE_EVENTS.items():
            if category in shares:
                rows.append((run, event, 100 * shares[category], running))
    if not rows:
        raise FormatError("there are no counts, and no shares of slots.")
    runs, events, values, shares = zip(*rows, strict=True)
    return make_counts({"run": runs, "event": events, "value": values, "running": shares, "unit": "%"})


def join_programs(programs: Sequence[Program]) -> Program:
    """Join the runs of several programs with the same events, and number the runs from 1."""
    if len(programs) == 1:
        return programs[0]
    counts, metrics, runs = [], [], []
    for program in programs:
        rows = program.counts if len(program.counts) else program.metrics
        numbers = list(dict.fromkeys(rows["run"]))
        renumbered = {number: len(runs) + k for k, number in enumerate(numbers, 1)}
        counts.append(program.counts.assign(run=program.counts["run"].map(renumbered).astype("int64")))
        run_metrics = program.metrics[program.metrics["run"].isin(numbers)]
        metrics.append(run_metrics.assign(run=run_metrics["run"].map(renumbered).astype("int64")))
        for number in numbers:
            runs.append(program.runs[number - 1] if number <= len(program.runs) else Run())
    return replace(programs[0], counts=_concatenate(counts), metrics=_concatenate(metrics), runs=tuple(runs))


def _concatenate(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate DataFrames. Categorical columns remain categorical."""
    dtypes = frames[0].dtypes
    texts = [name for name in frames[0] if isinstance(dtypes[name], pd.CategoricalDtype)]
    plain = [frame.astype(dict.fromkeys(texts, "object")) for frame in frames if len(frame)]
    if not plain:
        return frames[0]
    return pd.concat(plain, ignore_index=True).astype(dict.fromkeys(texts, "category"))


class StoredRun(NamedTuple):
    """Time series of a stored run.

    Attributes
    ----------
    counts, running : DataFrame, shape (n_intervals, n_events)
        Counts (NaN if not counted) and running shares (0 to 1). Index: time_s, the end of each interval [s]. Columns:
        names in the event tables.
    cpus : float or None
        Average number of used CPUs. None if unknown.
    """

    counts: pd.DataFrame
    running: pd.DataFrame
    cpus: float | None


def read_stored(content: bytes, meta: Mapping) -> StoredRun:
    """Read a stored run.

    Parameters
    ----------
    content : bytes
        Recorded or imported file. Several files are concatenated.
    meta : mapping
        Metadata of the run. ``format`` and ``selection`` are used, except for runs of earlier versions.

    Returns
    -------
    StoredRun

    Raises
    ------
    FormatError
        If the file is damaged, or was imported by an earlier version in a format that is no longer supported.
    """
    program, levels = select_stored(content, meta)
    derived = derive_series(program, levels)
    if derived.table.of_whole_runs and not meta.get("imported"):
        raise FormatError(
            "the counts have no times: they are totals of a complete run. Record with an interval."
        )
    counts, running = derived.counts, derived.running
    if meta.get("names"):
        counts, running = counts.rename(columns=meta["names"]), running.rename(columns=meta["names"])
    if find_start(meta):
        times = counts.index - find_start(meta)
        counts, running = counts.set_axis(times), running.set_axis(times)
    cpus = None if derived.table.of_whole_runs else measure_cpus(program.counts)
    return StoredRun(counts, running, cpus)


def find_start(meta: Mapping) -> float:
    """Return the start of a stored run in its file [s]."""
    return meta.get("selection", {}).get("start_s", 0.0)


def select_stored(content: bytes, meta: Mapping) -> tuple[Program, frozenset[str]]:
    """Read a stored file. Return the selected rows, and the names of the levels."""
    programs = []
    levels = frozenset()
    parts = meta.get("parts") or [{"bytes": len(content), "selection": meta.get("selection", {})}]
    start = 0
    for part in parts:
        text = as_text(content[start : start + part["bytes"]])
        start += part["bytes"]
        readings = _read_text(text, meta, part)
        programs.append(select(readings, selection_of(part["selection"])))
        levels |= readings.levels
    return join_programs(programs), levels


def as_text(content: bytes) -> str:
    """Decode a file. Bytes that are not UTF-8 become replacement characters."""
    return content.decode("utf-8", "replace")


def _read_text(text: str, meta: Mapping, part: Mapping) -> Readings:
    """Read the text of one file of a stored run."""
    interval_ms = meta.get("read_interval_ms")
    format_name = part.get("format", meta.get("format"))
    if not meta.get("imported"):
        format_name = _RECORDED_FORMAT
    if format_name is None:
        if meta.get("axis") != "runs":
            interval_ms = meta.get("interval_ms")
        _check_old(meta)
    columns = tuple((meta.get("columns") or {}).items())
    try:
        if format_name is not None and format_name not in formats():
            raise FormatError(f"its format {format_name!r} is not known to this version.")
        # Each program of a file is stored with the whole file, so the same text is read several times in a row.
        read = _read_once if part["selection"] else _read
        readings = read(text, format_name, columns, interval_ms)
    except FormatError as error:
        if format_name is None and meta.get("imported"):
            raise FormatError(_ask_to_import(meta)) from error
        raise
    if format_name is None and len(readings.programs) != 1:
        raise FormatError(_ask_to_import(meta))
    return readings


def _read(
    text: str,
    format_name: str | None,
    columns: tuple[tuple[str, Literal["count", "level"]], ...],
    interval_ms: float | None,
) -> Readings:
    """Read a text in a format."""
    _, readings = read_counts(text, format_name, ReadOptions(columns=dict(columns), interval_ms=interval_ms))
    return readings


_read_once = lru_cache(maxsize=1)(_read)


def _check_old(meta: Mapping) -> None:
    """Raise FormatError for a run of an earlier version that was cut out of a file by marks."""
    if meta.get("start_s"):
        raise FormatError(_ask_to_import(meta))


def _ask_to_import(meta: Mapping) -> str:
    """Return a message that asks to import a run of an earlier version again."""
    return (
        f"{meta.get('program', 'the run')}/{meta.get('run', '')} was imported by an earlier version, in a form that is "
        "no longer read. Move the run away, and import the original file again with `cmlib import NAME FILE`."
    )
