"""Wide tables: a heading that names events, one column per event, one row per run or interval."""

import re
from collections.abc import Callable, Iterator, Sequence
from math import nan
from typing import NamedTuple

import numpy as np
import pandas as pd

from cmlib.io.formats import delimited, unsupported
from cmlib.io.formats.delimited import Heading, Rows
from cmlib.io.formats.readings import (
    FormatError,
    Program,
    Readings,
    ReadOptions,
    Run,
    make_counts,
    make_metrics,
)
from cmlib.io.formats.vocabulary import is_event, is_known_event

_MOST_NAMES = 100  # different cells in a column of program names
_MOST_PROGRAMS = 1_000
_LONGEST_PAUSE = 10  # intervals. A longer pause starts a new run.
_MOST_BACKWARD_STEPS = 0.2  # fraction of rows whose time can be smaller than the time of the row above
_FEWEST_RUNNING_TOTALS = 20  # rows. In shorter tables, counts that never decrease are not running totals.

_REMARK_NAME = re.compile(r"units?|dates?|days?|remarks?|comments?|notes?|status", re.IGNORECASE)
_RUN_NAME = re.compile(
    r"(?:run|rep(?:etition)?|trial|iteration)s?(?:[ _-]?(?:id|no|nr|number))?", re.IGNORECASE
)
# Number of the run in a table with times. An iteration can be an interval within a run.
_TIMED_RUN_NAME = re.compile(r"(?:run|rep(?:etition)?|trial)(?:[ _-]?(?:id|no|nr|number))?", re.IGNORECASE)
_SUM = re.compile(
    r"(?:grand )?total|sum(?:me)?|mean|average|avg|median|std|stdev|mittel(?:wert)?|gesamt", re.IGNORECASE
)
_METRIC_NAME = re.compile(r"ipc|cpi|[gm]hz", re.IGNORECASE)


class WideTable:
    """A heading that names events, and one row per run or, with a column of times, per interval."""

    name = "wide-table"
    recorded_by = "scripts and spreadsheets: a heading such as program,cycles,instructions; EMON's tables"
    sample = "tests/golden/formats/wide-table.csv"

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if the heading has a known event, and is not the heading of another format."""
        heading = delimited.find_heading(text)
        if heading is None or not any(map(is_known_event, heading.names)):
            return False
        is_other_format = any(table.has_columns(heading) for table in delimited.iter_table_formats())
        return not is_other_format and not unsupported.is_unsupported_table(heading.names)

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the table.

        Rules for the columns and rows:

        - A column named ``time…`` or ``timestamp`` has the ends of the intervals.
        - A column named ``elapsed…``, ``duration…`` or ``seconds`` has the lengths of the runs.
        - Columns of words have the names of the programs.
        - A smaller time or a pause of more than ten intervals starts a new run.
        - Duplicate runs are dropped.

        Raises
        ------
        FormatError
            If the table has no heading or no column of counts, a row has the wrong number of cells, a cell is not a
            count, or many times are smaller than the times before them.
        """
        heading = delimited.find_heading(text)
        if heading is None:
            raise FormatError(
                "line 1 is not a heading of a table. A heading has at least two names and a row below it."
            )
        unknown = [name for name in options.columns if name not in heading.names]
        if unknown:
            raise FormatError(
                f"line {heading.line} names no column {unknown[0]!r}. Its columns are {', '.join(heading.names)}."
            )
        rows = delimited.read_rows(text, heading)
        table = _Table(heading, rows, options)
        if not table.count_columns:
            raise FormatError(
                f"line {heading.line} names no known event, only {', '.join(heading.names)}. Select columns: "
                "--count NAME for counts, --level NAME for levels, for example power."
            )
        programs = table.read_programs()
        levels = frozenset(name for name, kind in options.columns.items() if kind == "level")
        return Readings(programs, begin_ns=table.begin_ns, levels=levels, notes=tuple(table.list_notes()))


class _Block(NamedTuple):
    """Rows of one run with intervals, or of all runs without times.

    Attributes
    ----------
    ends, runs : ndarray, shape (n_rows,)
        End of the interval [s], and number of the run.
    counts, metrics : ndarray, shape (n_rows, n_columns)
        Values of the columns.
    """

    ends: np.ndarray
    runs: np.ndarray
    counts: np.ndarray
    metrics: np.ndarray


class _Table:
    """Table with parsed columns."""

    def __init__(self, heading: Heading, rows: Rows, options: ReadOptions):
        self.heading, self.rows, self.options = heading, rows, options
        names = heading.names
        self.count_columns = [k for k, name in enumerate(names) if name in options.columns or is_event(name)]
        other_columns = [k for k in range(len(names)) if k not in set(self.count_columns)]
        self.time_column = next((k for k in other_columns if delimited.is_time(names[k])), None)
        self.time_name = "" if self.time_column is None else names[self.time_column]
        self.duration_column = next((k for k in other_columns if delimited.is_duration(names[k])), None)
        self.run_column = next((k for k in other_columns if _TIMED_RUN_NAME.fullmatch(names[k])), None)
        self.metric_columns = [k for k in other_columns if _METRIC_NAME.fullmatch(names[k])]
        self.name_columns = self._find_name_columns(other_columns)
        self._refuse_sums(other_columns)
        self.events = [names[k] for k in self.count_columns]
        self.is_level = np.array([options.columns.get(name) == "level" for name in self.events], dtype=bool)
        self.counts = self._parse_columns(self.count_columns)
        self.metrics = self._parse_columns(self.metric_columns)
        self.times = self._parse_with(delimited.parse_times, self.time_column)
        self.seconds = self._parse_with(delimited.parse_durations, self.duration_column)
        self.is_without_run = np.zeros(len(rows.lines), bool)
        if self.seconds is not None and self.times is None:
            self.is_without_run = np.isnan(self.seconds) & np.isnan(self.counts).all(axis=1)
        self.begin_ns = None
        if self.times is not None and (self.times >= delimited.EPOCH_S).all():
            self.begin_ns = round((self.times[0] - delimited.find_step(self.times)) * 1e9)
        self._n_copies = 0
        self._has_running_totals = False

    def _find_name_columns(self, other_columns: list[int]) -> list[int]:
        """Find the columns of words with program names: all columns that vary, or else the first column."""
        candidates = []
        for k in other_columns:
            name, cells = self.heading.names[k], self.rows.columns[k]
            if k in (self.time_column, self.duration_column) or _REMARK_NAME.fullmatch(name):
                continue
            is_identifier = len(set(cells)) > _MOST_NAMES and not delimited.is_program_name(name)
            if delimited.is_text_column(name, cells) and not is_identifier:
                candidates.append(k)
        varying = [k for k in candidates if len(set(self.rows.columns[k])) > 1]
        return varying or candidates[:1]

    def _refuse_sums(self, other_columns: list[int]) -> None:
        """Raise FormatError for a row of sums or means. For example, spreadsheets have such rows."""
        for k in other_columns:
            for cell in set(self.rows.columns[k]):
                if _SUM.fullmatch(cell):
                    line = self.rows.lines[self.rows.columns[k].index(cell)]
                    raise FormatError(
                        f"line {line} is called {cell!r}. If it contains sums or means of other rows, delete it. "
                        "Otherwise, rename it."
                    )

    def _parse_columns(self, numbers: list[int]) -> np.ndarray:
        """Parse columns of numbers to an array, shape (n_rows, n_columns)."""
        columns = [
            delimited.parse_counts(self.rows.columns[k], self.rows.lines, self.heading.names[k])
            for k in numbers
        ]
        return np.array(columns).reshape(len(numbers), len(self.rows.lines)).T

    def _parse_with(
        self, parse: Callable[[Sequence[str], Sequence[int], str], np.ndarray], k: int | None
    ) -> np.ndarray | None:
        """Parse the column of times or durations. None if the table has no such column."""
        if k is None:
            return None
        return parse(self.rows.columns[k], self.rows.lines, self.heading.names[k])

    def group_rows(self) -> Iterator[tuple[str, np.ndarray]]:
        """Iterate over the name and the row numbers of each program."""
        rows = np.flatnonzero(~self.is_without_run)
        if not len(rows):
            raise FormatError("no row of the table has a count.")
        if not self.name_columns:
            yield "", rows
            return
        cells = list(zip(*(self.rows.columns[k] for k in self.name_columns), strict=True))
        codes, names = pd.factorize(np.array([" ".join(cells[row]) for row in rows], dtype=object))
        if len(names) > _MOST_PROGRAMS:
            raise FormatError(
                f"the table names {len(names):,} programs, and at most {_MOST_PROGRAMS:,} are read. Split it."
            )
        order = rows[np.argsort(codes, kind="stable")]
        ends = np.cumsum(np.bincount(codes))
        for name, begin, end in zip(names, [0, *ends[:-1]], ends, strict=True):
            yield name, order[begin:end]

    def read_programs(self) -> tuple[Program, ...]:
        """Read all programs.

        The DataFrames of all programs are made at once and then split, which is faster for many small programs.
        """
        names, runs_by_program, blocks, ends = [], [], [], []
        for name, rows in self.group_rows():
            program_blocks = self._split_into_blocks(rows)
            names.append(name)
            runs_by_program.append(self._list_runs(rows) if self.times is None else ())
            blocks += program_blocks
            ends.append(sum(len(block.ends) for block in program_blocks))
        ends = np.cumsum(ends)
        joined = _Block(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))
        counts = self._make_counts(joined)
        metrics = self._make_metrics(joined)
        programs = []
        for name, runs, begin, end in zip(names, runs_by_program, [0, *ends[:-1]], ends, strict=True):
            program_counts = _cut(counts, begin, end, len(self.count_columns))
            program_metrics = _cut(metrics, begin, end, len(self.metric_columns))
            programs.append(Program(program_counts, name, runs, program_metrics))
        return tuple(programs)

    def _split_into_blocks(self, rows: np.ndarray) -> list[_Block]:
        """Split the rows of a program into blocks."""
        numbers = np.arange(1, len(rows) + 1)
        if self.times is None:
            if self.options.interval_ms is None:
                return [_Block(np.full(len(rows), nan), numbers, self.counts[rows], self.metrics[rows])]
            return [self._make_block(1, rows, numbers * self.options.interval_ms / 1000)]
        blocks, known_contents = [], set()
        for run_rows in self._split_at_pauses(rows, self.times[rows]):
            content = (self.times[run_rows].tobytes(), self.counts[run_rows].tobytes())
            if content in known_contents:
                self._n_copies += 1
                continue
            known_contents.add(content)
            blocks.append(self._make_block(len(blocks) + 1, run_rows, self._find_ends(self.times[run_rows])))
        return blocks

    def _split_at_pauses(self, rows: np.ndarray, times: np.ndarray) -> list[np.ndarray]:
        """Split the rows of a program into runs, at times that do not grow and at long pauses."""
        steps = np.diff(times)
        changes_run = np.zeros(len(steps), dtype=bool)
        if self.run_column is not None:
            cells = np.array(self.rows.columns[self.run_column], dtype=object)[rows]
            changes_run = cells[1:] != cells[:-1]
        is_backward = (steps <= 0) & ~changes_run
        n_backward = int(is_backward.sum())
        if n_backward > max(1, _MOST_BACKWARD_STEPS * len(steps)):
            k = int(np.flatnonzero(is_backward)[0]) + 1
            raise FormatError(
                f"line {self.rows.lines[rows[k]]}: column {self.time_name!r} does not grow in this and in "
                f"{n_backward - 1:,} other rows. So it cannot be the end of an interval. If it is the duration of a "
                "run, rename it to elapsed_s. If an interval has several rows, for example one per CPU, add them up."
            )
        begins = (steps <= 0) | (steps > _LONGEST_PAUSE * delimited.find_step(times)) | changes_run
        return np.split(rows, np.flatnonzero(begins) + 1)

    def _find_ends(self, times: np.ndarray) -> np.ndarray:
        """Return the ends of the intervals since the start of the run [s]."""
        if len(times) == 1 and self.begin_ns is None:
            return times
        step = delimited.find_step(times)
        begin = times[0] - step
        # Times count from the start of the run if the first one is about as long as an interval.
        ends = times if -step < begin <= 0.5 * step else times - begin
        has_unit = delimited.find_seconds_per_unit(self.time_name) > 0
        if self.options.interval_ms is None or has_unit or self.begin_ns is not None:
            return ends
        ratio = self.options.interval_ms / 1000 / step
        return ends if 0.99 <= ratio <= 1.01 else ends * ratio

    def _make_block(self, run: int, rows: np.ndarray, ends: np.ndarray) -> _Block:
        """Make the block of a run with intervals. A short pause becomes an interval without counts."""
        counts, metrics = self.counts[rows], self.metrics[rows]
        if _are_running_totals(counts[:, ~self.is_level]):
            self._has_running_totals = True
            counts = np.where(self.is_level, counts[1:], np.diff(counts, axis=0))
            metrics = metrics[1:]
            ends = ends[1:] - ends[0]
        step = delimited.find_step(ends)
        pauses = np.flatnonzero(np.diff(ends) > 1.5 * step) + 1
        counts = np.insert(counts, pauses, nan, axis=0)
        metrics = np.insert(metrics, pauses, nan, axis=0)
        ends = np.insert(ends, pauses, ends[pauses] - step)
        return _Block(ends, np.full(len(ends), run), counts, metrics)

    def _make_counts(self, block: _Block) -> pd.DataFrame:
        """Make the DataFrame of counts, sorted by row and then by column of the table."""
        ends, runs, counts, _ = block
        n_rows, n_events = counts.shape
        places = (
            [self.heading.places[k] for k in self.count_columns] if self.heading.places else [""] * n_events
        )
        return make_counts(
            {
                "time_s": np.repeat(ends, n_events),
                "run": np.repeat(runs, n_events),
                "place": _repeat_categories(places, n_rows),
                "event": _repeat_categories(self.events, n_rows),
                "value": counts.ravel(),
                "running": np.where(np.isnan(counts.ravel()), 0.0, nan),
            }
        )

    def _make_metrics(self, block: _Block) -> pd.DataFrame:
        ends, runs, _, metrics = block
        n_rows, n_metrics = metrics.shape
        return make_metrics(
            {
                "time_s": np.repeat(ends, n_metrics),
                "run": np.repeat(runs, n_metrics),
                "value": metrics.ravel(),
                "name": _repeat_categories([self.heading.names[k] for k in self.metric_columns], n_rows),
            }
        )

    def _list_runs(self, rows: np.ndarray) -> tuple[Run, ...]:
        if self.seconds is None:
            return ()
        return tuple(Run(seconds=float(seconds)) for seconds in self.seconds[rows])

    def list_notes(self) -> list[str]:
        """List sentences on ignored rows and assumptions. Call it after :meth:`read_programs`."""
        notes = list(self.rows.notes)
        n_without_run = int(self.is_without_run.sum())
        if n_without_run:
            notes.append(f"Rows without counts and without a duration were left out: {n_without_run:,}.")
        if self._n_copies:
            notes.append(f"{self._n_copies} runs are copies of other runs and were left out.")
        if self._has_running_totals:
            notes.append(
                "Counts that never decrease are running totals: they were replaced by their differences."
            )
        if self.times is None and self.seconds is None and self.options.interval_ms is None:
            notes.append(
                "No column contains times, so each row is a run. Give --interval-ms if it is an interval."
            )
        used = {
            *self.count_columns,
            *self.metric_columns,
            *self.name_columns,
            self.time_column,
            self.duration_column,
        }
        ignored = [
            name or "(no name)"
            for k, name in enumerate(self.heading.names)
            if k not in used and not _RUN_NAME.fullmatch(name)
        ]
        if ignored:
            ignored_names = ", ".join(dict.fromkeys(ignored))
            notes.append(
                f"Columns that name no event were ignored: {ignored_names}. --count or --level keeps one."
            )
        cells = set().union(*(self.rows.columns[k] for k in self.count_columns))
        missing = sorted(cell for cell in cells if cell.lower() in delimited.MISSING_CELLS)
        if missing:
            notes.append(f"Cells with {' or '.join(missing)} were taken for not counted.")
        return notes


def _are_running_totals(counts: np.ndarray) -> bool:
    """Return True if no count (one row per interval) falls, and at least two rise, over enough rows."""
    if len(counts) < _FEWEST_RUNNING_TOTALS:
        return False
    rises = np.diff(counts, axis=0)
    return bool((rises >= 0).all() and (rises > 0).any(axis=0).sum() > 1)


def _cut(frame: pd.DataFrame, begin: int, end: int, n_columns: int) -> pd.DataFrame:
    """Cut the rows of some rows of the table from a frame that has `n_columns` rows for each."""
    return frame.iloc[begin * n_columns : end * n_columns].reset_index(drop=True)


def _repeat_categories(names: list[str], n_times: int) -> pd.Categorical:
    """Repeat a list of names, as a category without a string per row."""
    codes, categories = pd.factorize(np.array(names, dtype=object))
    return pd.Categorical.from_codes(np.tile(codes, n_times), categories=categories)
