"""Join what `perf stat` wrote to runs and programs; shared by the readers of its formats.

A part is what one `perf stat` wrote about one program: a table, or the lines below a heading. All parts of a text are
in one table of counts and one of metrics, each with a column ``part``, because a file can hold thousands of them. These
tables are dicts of arrays: most files are small, and to make a DataFrame of each takes longer than to read it.
"""

import re
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

LARGEST_RATIO = 1.25  # of counts or times of two runs of the same work
MOST_PROGRAMS = 1000

# What perf names instead of a command if it attaches to something that runs already; `sleep` only keeps time.
_NO_COMMAND = re.compile(r"(?:process|thread) id\b|system wide|CPU\(s\)|(?:\S*/)?sleep\b", re.IGNORECASE)
# cycles, cycles:u, cpu_core/cycles/u, cpu_atom/cpu-cycles:k/
_WORK = re.compile(
    r"(?:[^/:]{1,80}/)?(?:(?P<cycles>cycles|cpu-cycles)|instructions)(?:[:/][A-Za-z:/]{0,16})?"
)
_PMU = re.compile(r"(?P<pmu>[^/:]{1,80})/(?P<event>[^/]{1,400})/[A-Za-z]{0,16}")


# Columns of equal length by their name: ndarray, or pd.Categorical for texts.
Columns = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """What one `perf stat` wrote about one program.

    Attributes
    ----------
    name : str
        Command or cgroup; "" if unknown.
    run : Run
    repeats : int
        As in `Program`.
    span : tuple of int
        Start and end of its text in the file [characters].
    """

    name: str
    run: Run
    repeats: int
    span: tuple[int, int]


def make_programs(
    parts: list[Part], counts: Columns, metrics: Columns
) -> tuple[tuple[Program, ...], tuple[str, ...]]:
    """Join parts of one name and one list of events to programs with runs.

    Where instructions, cycles or times of two such parts differ by more than `LARGEST_RATIO`, each part is a program
    of its own. Several programs of one name are numbered: ``NAME#1``, ``NAME#2``.

    Parameters
    ----------
    parts : list of Part
    counts, metrics : Columns
        As in `Program`, with a further column ``part``: the position of a row's part in `parts`, in ascending order.
        Other columns are ignored.

    Returns
    -------
    programs : tuple of Program
    notes : tuple of str

    Raises
    ------
    FormatError
        If there are more than `MOST_PROGRAMS` programs.
    """
    groups, notes = _group_parts(parts, counts, metrics)
    if len(groups) > MOST_PROGRAMS:
        raise FormatError(
            f"the file holds {len(groups):,} programs; {MOST_PROGRAMS:,} are read at most. Split it."
        )
    names = _number_names([parts[numbers[0]].name for numbers in groups])
    programs = []
    for numbers, name in zip(groups, names, strict=True):
        some = [parts[number] for number in numbers]
        programs.append(
            Program(
                make_counts(_select_parts(counts, COUNT_COLUMNS, numbers, len(parts))),
                name=name,
                runs=tuple(part.run for part in some),
                metrics=make_metrics(_select_parts(metrics, METRIC_COLUMNS, numbers, len(parts))),
                repeats=some[0].repeats,
                span=(some[0].span[0], some[-1].span[1]),
            )
        )
    return tuple(programs), notes


def select_rows(columns: Columns, rows: np.ndarray) -> Columns:
    """Return some rows, given by their numbers or by a bool for each."""
    return {name: values[rows] for name, values in columns.items()}


def leave_out_unnamed_kinds(counts: Columns) -> tuple[Columns, tuple[str, ...]]:
    """Leave out events that perf prints once per kind of core without naming the kind.

    On hybrid processors, ``perf stat -ddd`` prints ``L1-dcache-loads`` twice beside ``cpu_core/cycles/`` and
    ``cpu_atom/cycles/``. Which kind each count belongs to is unknown.

    Parameters
    ----------
    counts : Columns
        With the columns of `Program.counts`, and perhaps ``part``.

    Returns
    -------
    counts : Columns
    notes : tuple of str
    """
    events = counts["event"].categories
    pmus: dict[str, set[str]] = {}
    for event in events:
        if match := _PMU.fullmatch(event):
            pmus.setdefault(match["event"], set()).add(match["pmu"])
    if all(len(of_event) < 2 for of_event in pmus.values()):
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


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which Python makes of bytes that are no UTF-8, by replacement characters."""
    return text if text.isascii() else re.sub("[\ud800-\udfff]", "\ufffd", text)


def _group_parts(
    parts: list[Part], counts: Columns, metrics: Columns
) -> tuple[list[list[int]], tuple[str, ...]]:
    """Return lists of the positions of parts that are runs of one program, and notes."""
    if len(parts) == 1:
        return [[0]], ()
    by_list: dict[tuple[str, object], list[int]] = {}
    for number, events in enumerate(_list_events(len(parts), counts, metrics)):
        by_list.setdefault((parts[number].name, events), []).append(number)
    work = _measure_work(parts, counts)
    groups, notes = [], []
    for (name, _), numbers in by_list.items():
        if _NO_COMMAND.match(name) or _largest_ratio(work[numbers]) <= LARGEST_RATIO:
            groups.append(numbers)
            continue
        groups += [[number] for number in numbers]
        notes.append(
            f"{len(numbers)} runs of {name or 'an unnamed program'} differ by more than {LARGEST_RATIO} times in "
            "instructions, cycles or time; each is a program of its own."
        )
    return sorted(groups), tuple(notes)


def _list_events(n_parts: int, counts: Columns, metrics: Columns) -> list[tuple[bool, bytes, bytes]]:
    """Return what the parts list, for comparisons: whether by interval, and the places and names in their order."""
    listed = []
    columns = []
    for table, name in ((counts, "event"), (metrics, "name")):
        codes = table["place"].codes.astype(np.int64) * len(table[name].categories) + table[name].codes
        starts = np.searchsorted(table["part"], np.arange(n_parts + 1))
        columns.append((codes, table["time_s"], starts))
    for number in range(n_parts):
        is_timed = False
        lists = []
        for codes, times, starts in columns:
            rows = slice(starts[number], starts[number + 1])
            part_is_timed = bool(np.isfinite(times[rows]).any())
            lists.append((np.unique(codes[rows]) if part_is_timed else codes[rows]).tobytes())
            is_timed = is_timed or part_is_timed
        events, metric_names = lists
        if events:  # metrics beside counts do not tell lists of events apart
            metric_names = b""
        listed.append((is_timed, events, metric_names))
    return listed


def _measure_work(parts: list[Part], counts: Columns) -> np.ndarray:
    """Return instructions, cycles and seconds of each part; NaN where unknown, shape (n_parts, 3)."""
    work = np.full((len(parts), 3), np.nan)
    work[:, 2] = [part.run.seconds for part in parts]
    events = counts["event"].categories
    matches = {event: match for event in events if (match := _WORK.fullmatch(event))}
    of_kind = [
        [event for event, match in matches.items() if not match["cycles"]],
        [event for event, match in matches.items() if match["cycles"]],
    ]
    for column, some in enumerate(of_kind):
        is_counted = counts["event"].isin(some) & ~np.isnan(counts["value"])
        sums = pd.Series(counts["value"][is_counted]).groupby(counts["part"][is_counted]).sum()
        work[sums.index.to_numpy(int), column] = sums
    return work


def _largest_ratio(work: np.ndarray) -> float:
    """Return the largest ratio of two values of a column; 1 if no two values above 0 are known."""
    ratios = [1.0]
    for column in work.T:
        known = column[column > 0]
        if len(known) > 1:
            ratios.append(known.max() / known.min())
    return max(ratios)


def _number_names(names: list[str]) -> list[str]:
    """Return the names, with ``#1``, ``#2`` behind those that occur several times."""
    numbered, seen = [], {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        numbered.append(f"{name}#{seen[name]}" if names.count(name) > 1 else name)
    return numbered


def _select_parts(
    table: Columns, names: Sequence[str], numbers: list[int], n_parts: int
) -> dict[str, object]:
    """Return some columns of the rows of some parts, with ``run`` numbered from 1 in the order of the parts."""
    columns = {name: table[name] for name in names if name in table}
    columns["run"] = 1
    if n_parts > 1:
        run_of_part = np.zeros(n_parts, np.int64)
        run_of_part[numbers] = np.arange(1, len(numbers) + 1)
        columns["run"] = run_of_part[table["part"]]
    if len(numbers) < n_parts:
        columns = select_rows(columns, columns["run"] > 0)
    for name, values in columns.items():
        if isinstance(values, pd.Categorical):
            columns[name] = remove_unused(values)
    return columns
