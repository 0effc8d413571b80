"""Read lines of `perf stat` with one count per line, for the readers of CSV and JSON.

:func:`read_lines` matches the lines with regular expressions of pyarrow (RE2). Their time is linear in the length of
the text, and they create no Python objects per field.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from cmlib.io.formats.perf_runs import (
    Part,
    Table,
    leave_out_unnamed_kinds,
    make_programs,
    quote_line,
    select_rows,
)
from cmlib.io.formats.readings import FormatError, Readings, Run, categorical

STARTED = "# started on "
NOT_COUNTED = "<not counted>"
NOT_SUPPORTED = "<not supported>"

_CHUNK = 1 << 21  # characters that are read at a time, so that little memory is needed
_TEXT_FIELDS = ("place", "event", "unit", "cgroup", "metric_name")
_DICTIONARY = pa.dictionary(pa.int32(), pa.string())
_SCHEMA = pa.schema(
    {
        "line": pa.int64(),
        "time_s": pa.float64(),
        "place": _DICTIONARY,
        "event": _DICTIONARY,
        "value": pa.float64(),
        "supported": pa.bool_(),
        "running": pa.float64(),
        "unit": _DICTIONARY,
        "on_counter_s": pa.float64(),
        "cgroup": _DICTIONARY,
        "metric": pa.float64(),
        "metric_name": _DICTIONARY,
    }
)


class LinePattern(NamedTuple):
    """Pattern of lines with a count.

    Attributes
    ----------
    regex : str
        Pattern for RE2 with named groups: count, event, unit, on_counter_ns and share. Groups that not all lines have
        are time, place or cpu, n_cpus, cgroup, metric, metric_name, and varies (the variation over several runs).
    separator : str
        Separator of the fields. If given, matching lines are split at it, which is three times as fast as extracting
        the groups. Each field must be one named group then, and no field may contain the separator.
    """

    regex: str
    separator: str = ""


@dataclass
class OtherLines:
    """Content of the lines without a count.

    Attributes
    ----------
    starts : dict of int to str
        Start of each run as perf wrote it, keyed by line number.
    metrics : list of dict
        Keys: line, time_s, place, event, value, name and running. An event of None means the event of the row above.
    n_passed : int
        Number of ignored lines, which another program wrote.
    notes : list of str
        Sentences on ignored lines.
    """

    starts: dict[int, str] = field(default_factory=dict)
    metrics: list[dict[str, object]] = field(default_factory=list)
    n_passed: int = 0
    notes: list[str] = field(default_factory=list)

    def read_comment(self, number: int, line: str) -> bool:
        """Return True for a comment or a blank line. The start of a run in a comment is saved."""
        if line.startswith(STARTED):
            self.starts[number] = line.removeprefix(STARTED)
        return _is_comment(line)

    def refuse_row(self, number: int, line: str, is_cut_off: bool, expected: str) -> None:
        """Raise FormatError for a damaged row. An incomplete last line is ignored instead.

        Parameters
        ----------
        number : int
            Number of the line, from 1.
        line : str
        is_cut_off : bool
            True for the last line of a text.
        expected : str
            Expected content of the line. For example, ``a line of `perf stat -j```.

        Raises
        ------
        FormatError
            If the row is not the last line.
        """
        if not is_cut_off:
            raise_damaged(number, line, expected)
        self.notes.append(f"The last line is cut off and was left out: {quote_line(line)}.")


def _is_comment(line: str) -> bool:
    """Return True for a comment or a blank line."""
    return line.startswith("#") or not line or line.isspace()


def line_around(text: str, position: int) -> tuple[int, int]:
    """Return the start and the end of the line that contains a position of a text."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    return start, end if end >= 0 else len(text)


def normalize_line_ends(text: str) -> str:
    """Return the text with LF line ends."""
    # Searching for one character first is 15 times as fast in a text without CR.
    return text.replace("\r\n", "\n") if "\r" in text else text


def read_lines(
    text: str,
    patterns: Sequence[LinePattern],
    read_other: Callable[[int, str, bool], None],
    other_lines: OtherLines,
) -> Readings:
    """Read all lines of a text.

    Parameters
    ----------
    text : str
        Text with LF line ends.
    patterns : sequence of LinePattern
        Patterns of lines with counts, tried in this order.
    read_other : callable
        Called for each line that no pattern matches. Its arguments are the number of the line, the line, and whether
        it can be incomplete, because it is the last line.
    other_lines : OtherLines
        Results of `read_other`.

    Returns
    -------
    Readings

    Raises
    ------
    FormatError
        If `read_other` refuses a line, or times go back.
    """
    counts, varies = _read_columns(text, patterns, read_other)
    metrics = _make_metrics(counts, other_lines.metrics)
    notes = list(other_lines.notes)
    values, names = counts.pop("metric"), counts.pop("metric_name")
    if np.isnan(values).all() and any(names.categories):
        notes.append("Metrics were left out: perf cuts their decimals off in this locale.")
    counts, metrics, parts, run_notes = _split_runs(text, counts, metrics, other_lines.starts, varies)
    counts, kind_notes = leave_out_unnamed_kinds(counts)
    programs, program_notes = make_programs(parts, counts, metrics)
    if other_lines.n_passed == 1:
        notes.append("1 line that is not perf's was left out.")
    elif other_lines.n_passed:
        notes.append(f"{other_lines.n_passed:,} lines that are not perf's were left out.")
    return Readings(programs, notes=(*notes, *run_notes, *kind_notes, *program_notes))


def _read_columns(
    text: str, patterns: Sequence[LinePattern], read_other: Callable[[int, str, bool], None]
) -> tuple[Table, bool]:
    """Return the columns of all lines with counts, and whether counts are means of several runs."""
    tables, varies = [], False
    start, number, is_sorted = 0, 1, True
    while start < len(text):
        end = text.find("\n", start + _CHUNK)
        end = len(text) if end < 0 else end
        lines = pc.split_pattern(pa.array([text[start:end]]), "\n").flatten()
        numbers = np.arange(number, number + len(lines))
        number += len(lines)
        n_tables = len(tables)
        for pattern in patterns:
            # Compiling a pattern is slow, and the first pattern usually matches all lines with counts.
            if len(tables) > n_tables and all(map(_is_comment, lines.to_pylist())):
                break
            fields, is_match = _extract_fields(lines, pattern)
            if not is_match.any():
                continue
            varies = varies or "varies" in fields
            tables.append(_convert_fields(fields, numbers[is_match]))
            lines, numbers = lines.filter(pa.array(~is_match)), numbers[~is_match]
        is_sorted = is_sorted and len(tables) <= n_tables + 1
        for line_number, line in zip(numbers.tolist(), lines.to_pylist(), strict=True):
            is_cut_off = end == len(text) and line_number == number - 1
            read_other(line_number, line, is_cut_off)
        start = end + 1
    table = pa.concat_tables(tables or [_SCHEMA.empty_table()]).unify_dictionaries()
    del tables
    if not is_sorted:
        table = table.sort_by("line")
    arrays = dict(zip(_SCHEMA.names, table.columns, strict=True))
    del table
    columns = {}
    for name in _SCHEMA.names:  # convert and free one column at a time, to save memory
        columns[name] = _to_array(arrays.pop(name).combine_chunks())
    return columns, varies


def _to_array(column: pa.Array) -> np.ndarray | pd.Categorical:
    """Convert a column of pyarrow to NumPy, or to categories if it contains texts."""
    if pa.types.is_dictionary(column.type):
        return categorical(column.indices.to_numpy(), column.dictionary.to_pylist())
    return column.to_numpy(zero_copy_only=False)


def _extract_fields(lines: pa.Array, pattern: LinePattern) -> tuple[dict[str, pa.Array], np.ndarray]:
    """Return the fields of the matching lines, keyed by group name, and whether each line matches."""
    if pattern.separator:  # fast path: split the lines instead of extracting the groups
        names = list(re.compile(pattern.regex).groupindex)
        matches = pc.match_substring_regex(lines, re.sub(r"\?P<\w+>", "?:", pattern.regex))
        cells = pc.split_pattern(lines.filter(matches), pattern.separator)
        fields = {name: pc.list_element(cells, number) for number, name in enumerate(names)}
        fields[names[0]] = pc.ascii_ltrim(fields[names[0]], " ")  # lines can begin with blanks
        return fields, matches.to_numpy(zero_copy_only=False)
    groups = pc.extract_regex(lines, pattern.regex)
    matches = groups.is_valid()
    if groups.null_count > 0:
        groups = groups.filter(matches)
    fields = {field.name: groups.field(field.name) for field in groups.type}
    return fields, matches.to_numpy(zero_copy_only=False)


def _convert_fields(written: dict[str, pa.Array], numbers: np.ndarray) -> pa.Table:
    """Convert text fields to a table with the columns of `_SCHEMA`."""
    count, share = written["count"], _to_numbers(written["share"])
    on_counter_s = _to_numbers(written["on_counter_ns"])
    on_counter_s = pc.divide(on_counter_s, 1e9)
    counted = pc.invert(pc.starts_with(count, "<"))
    value = _to_numbers(pc.if_else(counted, count, "nan"))
    supported = pc.not_equal(count, NOT_SUPPORTED)
    if "n_cpus" in written:  # a place without a CPU on which the event can be counted
        absent = pc.and_(pc.equal(written["n_cpus"], "0"), pc.invert(counted))
        supported = pc.and_(supported, pc.invert(absent))
        value = pc.if_else(absent, nan, value)
    if "cpu" in written:
        written["place"] = pc.binary_join_element_wise("CPU", written["cpu"], "")
    columns = {
        "line": pa.array(numbers),
        "time_s": _to_numbers(written["time"]) if "time" in written else nan,
        "value": value,
        "supported": supported,
        "running": pc.divide(share, 100.0),
        "on_counter_s": on_counter_s,
        "metric": _to_numbers(written["metric"]) if "metric" in written else nan,
    }
    if "metric_name" in written:
        written["metric_name"] = _clean_names(written["metric_name"])
    for name in _TEXT_FIELDS:
        column = pc.fill_null(written[name], "") if name in written else pa.repeat("", len(numbers))
        columns[name] = column.dictionary_encode()
    arrays = []
    for column in _SCHEMA:
        array = columns[column.name]
        if isinstance(array, float):
            array = pa.repeat(array, len(numbers))
        arrays.append(array.cast(column.type))
    return pa.table(arrays, _SCHEMA)


def _clean_names(column: pa.Array) -> pa.Array:
    """Return names of metrics with single spaces. ``(null)``, which perf writes without a name, becomes ""."""
    encoded = column.dictionary_encode()
    names = pc.utf8_trim_whitespace(pc.replace_substring_regex(encoded.dictionary, r"\s+", " "))
    return pc.if_else(pc.equal(names, "(null)"), "", names).take(encoded.indices)


def _to_numbers(column: pa.Array) -> pa.Array:
    """Convert texts with decimal points or decimal commas to numbers. Empty texts become NaN."""
    is_empty = pc.equal(column, "")
    if pc.all(is_empty).as_py():  # fast path for the metrics, which are empty in most recordings
        return pa.repeat(nan, len(column))
    if pc.any(is_empty).as_py():
        column = pc.if_else(is_empty, "nan", column)
    if pc.any(pc.match_substring(column, ",")).as_py():
        column = pc.replace_substring(column, ",", ".")
    return pc.fill_null(pc.cast(column, pa.float64()), nan)


def _make_metrics(counts: Table, on_own_lines: list[dict[str, object]]) -> Table:
    """Join the metrics in lines with counts and in lines without counts, sorted by line number."""
    names = counts["metric_name"]
    has_text = np.array([name != "" for name in names.categories], dtype=bool)
    is_metric = has_text[names.codes] & ~np.isnan(counts["metric"])
    columns = {name: name for name in ("line", "time_s", "place", "event", "running", "cgroup")}
    columns |= {"value": "metric", "name": "metric_name"}
    metrics_with_counts = {name: counts[column][is_metric] for name, column in columns.items()}
    if not on_own_lines:
        return metrics_with_counts
    metrics_alone = pd.DataFrame(on_own_lines)
    row_above = np.searchsorted(counts["line"], metrics_alone["line"].to_numpy()) - 1
    rows = pd.DataFrame({name: counts[name] for name in ("event", "cgroup", "running")})
    rows_above = rows.reindex(row_above).reset_index(drop=True)  # missing values if no row is above
    metrics_alone["event"] = metrics_alone["event"].fillna(rows_above["event"].astype(object)).fillna("")
    metrics_alone["running"] = metrics_alone["running"].fillna(rows_above["running"])
    metrics_alone["cgroup"] = rows_above["cgroup"].astype(object).fillna("")
    texts = ("place", "event", "name", "cgroup")
    joined = metrics_alone
    if is_metric.any():
        metrics_in_rows = pd.DataFrame(metrics_with_counts).astype(dict.fromkeys(texts, object))
        joined = pd.concat([metrics_in_rows, metrics_alone], ignore_index=True)
    joined = joined.sort_values("line", kind="stable", ignore_index=True)
    joined = joined.astype(dict.fromkeys(texts, "category"))
    return {
        name: joined[name].array if name in texts else joined[name].to_numpy() for name in metrics_with_counts
    }


def _split_runs(
    text: str, counts: Table, metrics: Table, starts: dict[int, str], varies: bool
) -> tuple[Table, Table, list[Part], list[str]]:
    """Split the rows of a text into runs of perf and cgroups.

    A run begins at a heading of perf, at a smaller time, or at the repetition of a list of events without times.
    Totals in a run with intervals are dropped.
    """
    run = _number_runs(counts, starts)
    timed = ~np.isnan(counts["time_s"])
    notes = []
    if not timed.all():
        has_times = np.zeros(run[-1] + 1, bool)
        has_times[run[timed]] = True
        is_summary = ~timed & has_times[run]
        if is_summary.any():
            notes.append("Totals that perf printed after the intervals were left out.")
            counts, run = select_rows(counts, ~is_summary), run[~is_summary]
        run = run + _number_repeats(counts, run, has_times)
    lines = counts["line"]
    first_rows = np.flatnonzero(np.append(True, run[1:] != run[:-1])) if len(run) else run[:0]
    run_of_metric = _find_runs(metrics["line"], lines[first_rows])
    is_kept = ~np.isnan(metrics["time_s"])
    if len(run):
        have_times = ~np.isnan(counts["time_s"][first_rows])
        is_kept = is_kept | ~have_times[run_of_metric]
    elif not is_kept.any():
        is_kept = ~is_kept
    metrics = {**metrics, "run": run_of_metric}
    if not is_kept.all():
        metrics = select_rows(metrics, is_kept)
    run = np.repeat(np.arange(len(first_rows), dtype=np.int32), np.diff(first_rows, append=len(run)))
    counts = {**counts, "run": run}
    return (*_number_parts(text, counts, metrics, lines[first_rows], starts, varies), notes)


def _number_runs(counts: Table, starts: dict[int, str]) -> np.ndarray:
    """Return the number of the run of each row, from 0. A heading or a smaller time starts a run."""
    lines, times = counts["line"], counts["time_s"]
    begins = np.zeros(len(lines) + 1, bool)
    begins[np.searchsorted(lines, list(starts))] = True
    timed = np.flatnonzero(np.isfinite(times)).astype(np.int32)
    known = times if len(timed) == len(times) else times[timed]
    back = timed[1:][known[1:] < known[:-1]]
    for row in back[~begins[back]]:
        run_begin = np.flatnonzero(begins[: row + 1])
        first = timed[np.searchsorted(timed, run_begin[-1] if len(run_begin) else 0)]
        if times[row] > 2 * times[first]:
            raise FormatError(
                f"line {lines[row]}: the time goes back to {times[row]} s. Is the file damaged?"
            )
        begins[row] = True
    begins[0] = False
    return np.cumsum(begins[:-1], dtype=np.int32)


def _number_repeats(counts: Table, run: np.ndarray, has_times: np.ndarray) -> np.ndarray:
    """Return the number of repetitions of event lists without times before each row.

    It is added to the number of the run.
    """
    added = np.zeros(len(run), np.int64)
    names = ["place", "cgroup", "event"]
    rows = pd.DataFrame({name: counts[name] for name in names}, copy=False)
    keys = rows.groupby(names, sort=False, observed=True).ngroup().to_numpy()
    n_before = 0
    bounds = np.searchsorted(run, np.arange(len(has_times) + 1))
    for number, (begin, end) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
        added[begin:end] = n_before
        if begin < end and not has_times[number]:
            length = _find_period(keys[begin:end])
            added[begin:end] += np.arange(end - begin) // length
            n_before += (end - begin) // length - 1
    return added


def _find_period(keys: np.ndarray) -> int:
    """Return the period of the keys: the length of the shortest list that is repeated completely."""
    for length in np.flatnonzero(keys == keys[0])[1:].tolist():
        if len(keys) % length == 0 and (keys.reshape(-1, length) == keys[:length]).all():
            return length
    return len(keys)


def _find_runs(lines: np.ndarray, first_lines: np.ndarray) -> np.ndarray:
    """Return the number of the run that contains each line."""
    return np.maximum(np.searchsorted(first_lines, lines, side="right") - 1, 0)


def _number_parts(
    text: str,
    counts: Table,
    metrics: Table,
    first_lines: np.ndarray,
    starts: dict[int, str],
    varies: bool,
) -> tuple[Table, Table, list[Part]]:
    """Assign a number to each pair of run and cgroup, and make a Part for it."""
    cgroups = list(dict.fromkeys(_list_used(counts["cgroup"]) + _list_used(metrics["cgroup"]))) or [""]
    n_runs = max(len(first_lines), 1)
    offsets = _find_spans(text, first_lines) if n_runs > 1 else [(0, len(text))]
    started = _find_starts(first_lines, starts) if len(first_lines) else [next(iter(starts.values()), "")]
    repeats = 0 if varies and np.isnan(counts["time_s"]).any() else 1
    parts = []
    for cgroup in cgroups:
        for run in range(n_runs):
            parts.append(Part(cgroup, Run(started=started[run]), repeats, offsets[run]))
    counts = _assign_parts(counts, cgroups, n_runs)
    metrics = _assign_parts(metrics, cgroups, n_runs)
    if len(parts) == 1 and len(counts["part"]) + len(metrics["part"]) > 0:
        return counts, metrics, parts
    used = np.union1d(counts["part"], metrics["part"]).astype(int)
    if len(used) < len(parts):
        new_number = np.zeros(len(parts), np.int64)
        new_number[used] = np.arange(len(used))
        parts = [parts[number] for number in used]
        counts["part"], metrics["part"] = new_number[counts["part"]], new_number[metrics["part"]]
    return counts, metrics, parts


def _list_used(column: pd.Categorical) -> list[str]:
    """List the texts of a categorical column in order of appearance."""
    return [column.categories[code] for code in dict.fromkeys(column.codes.tolist())]


def _assign_parts(columns: Table, cgroups: list[str], n_runs: int) -> Table:
    """Add the column ``part``, the number of the pair of run and cgroup, and sort the rows by it."""
    part = columns["run"]
    if len(cgroups) == 1:
        return {**columns, "part": part}
    number_of_cgroup = {cgroup: number for number, cgroup in enumerate(cgroups)}
    cgroup = columns["cgroup"]
    numbers = np.array([number_of_cgroup.get(name, 0) for name in cgroup.categories], np.int64)
    part = part + n_runs * numbers[cgroup.codes]
    return select_rows({**columns, "part": part}, np.argsort(part, kind="stable"))


def _find_spans(text: str, first_lines: np.ndarray) -> list[tuple[int, int]]:
    """Return the start and the end of each run in the text [characters]."""
    line_starts = np.fromiter((match.end() for match in re.finditer("\n", text)), np.int64)
    line_starts = np.concatenate([[0], line_starts])
    begins = line_starts[first_lines - 1]
    begins[0] = 0
    ends = [*begins[1:].tolist(), len(text)]
    return list(zip(begins.tolist(), ends, strict=True))


def _find_starts(first_lines: np.ndarray, starts: dict[int, str]) -> list[str]:
    """Return the start of each run: the last heading between the run before and this run. "" if not found."""
    headings, before = np.array([0, *sorted(starts)]), np.array([0, *first_lines[:-1].tolist()])
    last = headings[np.searchsorted(headings, first_lines) - 1]
    return [
        starts.get(line, "") if line > first_before else ""
        for line, first_before in zip(last.tolist(), before.tolist(), strict=True)
    ]


def raise_damaged(number: int, line: str, expected: str) -> None:
    """Raise FormatError for a damaged line of perf."""
    raise FormatError(
        f"line {number} is not {expected}: {quote_line(line)}. Write perf's output to a separate file: -o FILE."
    )
