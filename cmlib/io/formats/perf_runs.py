"""Group the output of several `perf stat` commands into programs with runs, for the readers of perf's formats.

A part is the output of one `perf stat` for one program. :func:`make_programs` groups the parts of a file. One table has
the counts of all parts, and a second table the metrics. Their column ``part`` has the number of the part. The tables
are dicts of arrays, because making DataFrames takes longer than reading a small file.
"""

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from cmlib.io.formats.readings import (
    COUNT_COLUMNS,
    METRIC_COLUMNS,
    FormatError,
    Program,
    Run,
    make_counts,
    make_metrics,
    remove_unused,
)

# Parts are runs of the same work if their instructions, cycles and times differ by at most this factor.
_LARGEST_RATIO = 1.25
_MOST_PROGRAMS = 1000

# perf prints these instead of a command if it attaches to a running process. `sleep` is only a timer for perf.
_NO_COMMAND = re.compile(r"(?:process|thread) id\b|system wide|CPU\(s\)|(?:\S*/)?sleep\b", re.IGNORECASE)
# cycles, cycles:u, cpu_core/cycles/u, cpu_atom/cpu-cycles:k/
_WORK = re.compile(
    r"(?:[^/:]{1,80}/)?(?:(?P<cycles>cycles|cpu-cycles)|instructions)(?:[:/][A-Za-z:/]{0,16})?"
)
# cpu_core/cycles/, cpu_atom/cycles/u
_EVENT_WITH_PMU = re.compile(r"(?P<pmu>[^/:]{1,80})/(?P<event>[^/]{1,400})/[A-Za-z]{0,16}")

# Whether a part has times, and its lists of events and of metrics.
_ContentKey = tuple[bool, bytes, bytes]
# A table: its columns by name, of equal length. Each is an ndarray, or a pd.Categorical for text.
Table = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """Output of one `perf stat` for one program.

    Attributes
    ----------
    name : str
        Command or cgroup. "" if unknown.
    run : Run
    repeats : int
        Number of runs that were averaged (``perf stat -r``).
    span : tuple of int
        Start and end of the text of the part in the file [characters].
    """

    name: str
    run: Run
    repeats: int
    span: tuple[int, int]


def make_programs(
    parts: list[Part], counts: Table, metrics: Table
) -> tuple[tuple[Program, ...], tuple[str, ...]]:
    """Group parts into programs.

    Parts with the same name and the same list of events are runs of one program. If their instructions, cycles or
    times differ by more than a factor of `_LARGEST_RATIO`, each part becomes a separate program. Programs with the same
    name are numbered: ``NAME#1``, ``NAME#2``.

    Parameters
    ----------
    parts : list of Part
    counts, metrics : Table
        Columns of `Program.counts` and `Program.metrics`, and ``part``, the index of the row's part in `parts`. Rows
        are sorted by ``part``. Other columns are ignored.

    Returns
    -------
    programs : tuple of Program
    notes : tuple of str

    Raises
    ------
    FormatError
        If there are more than `_MOST_PROGRAMS` programs.
    """
    groups, notes = _group_parts(parts, counts, metrics)
    if len(groups) > _MOST_PROGRAMS:
        raise FormatError(
            f"the file contains {len(groups):,} programs, and at most {_MOST_PROGRAMS:,} are read. Split it."
        )
    names = _number_names([parts[part_numbers[0]].name for part_numbers in groups])
    programs = []
    for part_numbers, name in zip(groups, names, strict=True):
        program_parts = [parts[number] for number in part_numbers]
        programs.append(
            Program(
                make_counts(_select_parts(counts, COUNT_COLUMNS, part_numbers, len(parts))),
                name=name,
                runs=tuple(part.run for part in program_parts),
                metrics=make_metrics(_select_parts(metrics, METRIC_COLUMNS, part_numbers, len(parts))),
                repeats=program_parts[0].repeats,
                span=(program_parts[0].span[0], program_parts[-1].span[1]),
            )
        )
    return tuple(programs), notes


def select_rows(table: Table, rows: np.ndarray) -> Table:
    """Select rows of a table by their numbers, or by a bool for each row."""
    return {name: values[rows] for name, values in table.items()}


def leave_out_unnamed_kinds(counts: Table) -> tuple[Table, tuple[str, ...]]:
    """Drop repeated counts that do not name their kind of core.

    A hybrid processor has two kinds of core. ``perf stat -ddd`` counts each event on both kinds. It prints
    ``L1-dcache-loads`` twice, and does not print the kinds of core.

    Parameters
    ----------
    counts : Table
        Columns of `Program.counts`, and optionally ``part``.

    Returns
    -------
    counts : Table
    notes : tuple of str
    """
    events = counts["event"].categories
    pmus_by_event: dict[str, set[str]] = {}
    for event in events:
        if match := _EVENT_WITH_PMU.fullmatch(event):
            pmus_by_event.setdefault(match["event"], set()).add(match["pmu"])
    if all(len(pmus) < 2 for pmus in pmus_by_event.values()):
        return counts, ()
    names_no_kind = ~counts["event"].isin([event for event in events if "/" in event])
    keys = {key: counts[key] for key in ("part", "run", "time_s", "place", "event") if key in counts}
    unnamed = pd.DataFrame(keys)[names_no_kind]
    repeated = unnamed[unnamed.duplicated(keep=False)]
    if repeated.empty:
        return counts, ()
    names = ", ".join(repeated["event"].unique())
    note = f"Counts that do not name their kind of core were left out: {names}."
    is_kept = np.ones(len(counts["event"]), bool)
    is_kept[repeated.index] = False
    return select_rows(counts, is_kept), (note,)


def quote_line(line: str) -> str:
    """Return the beginning of a line in quotation marks, for messages."""
    return repr(line if len(line) <= 120 else f"{line[:117]}…")


def _group_parts(parts: list[Part], counts: Table, metrics: Table) -> tuple[list[list[int]], tuple[str, ...]]:
    """Group the parts that are runs of one program. Return the indices of the parts of each group, and notes."""
    if len(parts) == 1:
        return [[0]], ()
    numbers_by_key: dict[tuple[str, _ContentKey], list[int]] = {}
    for number, content_key in enumerate(_make_content_keys(len(parts), counts, metrics)):
        numbers_by_key.setdefault((parts[number].name, content_key), []).append(number)
    work = _measure_work(parts, counts)
    groups = []
    notes = []
    for (name, _), numbers in numbers_by_key.items():
        if _NO_COMMAND.match(name) or _largest_ratio(work[numbers]) <= _LARGEST_RATIO:
            groups.append(numbers)
            continue
        groups += [[number] for number in numbers]
        notes.append(
            f"Instructions, cycles or times of {len(numbers)} runs of {name or 'an unnamed program'} differ by more "
            f"than a factor of {_LARGEST_RATIO}. Each run is read as a separate program."
        )
    return sorted(groups), tuple(notes)


def _make_content_keys(n_parts: int, counts: Table, metrics: Table) -> list[_ContentKey]:
    """Make a key for each part. Parts with equal keys have the same events and places.

    The order of the events matters in parts with totals. It does not matter in parts with intervals, because intervals
    can lack events. Metrics are compared only in parts without counts.
    """
    are_timed = _have_times(counts, n_parts), _have_times(metrics, n_parts)
    event_keys = _make_list_keys(counts, "event", are_timed[0])
    metric_keys = _make_list_keys(metrics, "name", are_timed[1])
    keys = []
    for number in range(n_parts):
        is_timed = are_timed[0][number] or are_timed[1][number]
        has_counts = bool(event_keys[number])
        keys.append((is_timed, event_keys[number], b"" if has_counts else metric_keys[number]))
    return keys


def _slice_parts(table: Table, n_parts: int) -> list[slice]:
    """Return the slice of the rows of each part. Rows are sorted by part."""
    starts = np.searchsorted(table["part"], np.arange(n_parts + 1))
    return [slice(start, end) for start, end in itertools.pairwise(starts.tolist())]


def _have_times(table: Table, n_parts: int) -> list[bool]:
    """Return whether any row of each part has a time."""
    return [bool(np.isfinite(table["time_s"][rows]).any()) for rows in _slice_parts(table, n_parts)]


def _make_list_keys(table: Table, name_column: str, are_timed: list[bool]) -> list[bytes]:
    """Return the pairs of place and name in each part, as bytes.

    In parts with times, the pairs are sorted and without duplicates.
    """
    n_names = len(table[name_column].categories)
    pair_codes = table["place"].codes.astype(np.int64) * n_names + table[name_column].codes
    keys = []
    for rows, is_timed in zip(_slice_parts(table, len(are_timed)), are_timed, strict=True):
        part_codes = pair_codes[rows]
        keys.append((np.unique(part_codes) if is_timed else part_codes).tobytes())
    return keys


def _measure_work(parts: list[Part], counts: Table) -> np.ndarray:
    """Return the instructions, cycles and seconds of each part, shape (n_parts, 3). Unknown values are NaN."""
    work = np.full((len(parts), 3), np.nan)
    work[:, 2] = [part.run.seconds for part in parts]
    events = counts["event"].categories
    instruction_events = []
    cycle_events = []
    for event in events:
        if match := _WORK.fullmatch(event):
            (cycle_events if match["cycles"] else instruction_events).append(event)
    for column, column_events in enumerate([instruction_events, cycle_events]):
        is_counted = counts["event"].isin(column_events) & ~np.isnan(counts["value"])
        sums = pd.Series(counts["value"][is_counted]).groupby(counts["part"][is_counted]).sum()
        work[sums.index.to_numpy(int), column] = sums
    return work


def _largest_ratio(work: np.ndarray) -> float:
    """Return the largest ratio of two values in a column. 1 if all columns have fewer than two positive values."""
    ratios = [1.0]
    for column in work.T:
        known = column[column > 0]
        if len(known) > 1:
            ratios.append(known.max() / known.min())
    return max(ratios)


def _number_names(names: list[str]) -> list[str]:
    """Append ``#1``, ``#2`` and so on to names that occur several times."""
    n_equal = Counter(names)
    last_number: Counter[str] = Counter()
    numbered_names = []
    for name in names:
        last_number[name] += 1
        numbered_names.append(f"{name}#{last_number[name]}" if n_equal[name] > 1 else name)
    return numbered_names


def _select_parts(
    table: Table, column_names: Sequence[str], part_numbers: list[int], n_parts: int
) -> dict[str, object]:
    """Select columns and the rows of some parts. The added column ``run`` numbers the parts from 1."""
    columns = {name: table[name] for name in column_names if name in table}
    columns["run"] = 1
    if n_parts > 1:
        run_of_part = np.zeros(n_parts, np.int64)
        run_of_part[part_numbers] = np.arange(1, len(part_numbers) + 1)
        columns["run"] = run_of_part[table["part"]]
    if len(part_numbers) < n_parts:
        columns = select_rows(columns, columns["run"] > 0)
    for name, values in columns.items():
        if isinstance(values, pd.Categorical):
            columns[name] = remove_unused(values)
    return columns
