"""Read counts by interval, in whatever form they come, and lay them out as series."""

import contextlib
import itertools
import re
import shlex
from collections import Counter

import numpy as np
import pandas as pd

from cmlib.clean.uncounted import zeros_without_turn
from cmlib.io.events import base_name, copy_name
from cmlib.io.perf.formats import cgroup, few_columns, find_format, human_readable, per_place, separated, wide
from cmlib.io.perf.formats.lines import (
    MOST_PROGRAMS,
    TIME,
    Totals,
    as_intervals,
    as_unicode,
    by_program,
    check_density,
    first_line,
    joined,
)
from cmlib.io.perf.grammar import ParseError, run_starts, shown
from cmlib.io.perf.modes import add_modes
from cmlib.io.perf.printed import shares_alone


def parse_stat(text, *, interval_ms=None, columns=None):
    """Read counts by interval, in any form that `perf stat` writes and some others.

    Fields may be separated (``-x``) by comma, semicolon, tab or any other one
    character but a space, or come as JSON (``-j``); which it is, and whether
    the locale writes decimal commas, is found out. So are perf's table for people,
    files of three or four columns without running shares, counts a CPU, core,
    socket or node, which are added up, and wide tables of a column an event
    (:mod:`cmlib.io.perf.formats`). Comments, blank lines,
    totals printed after the intervals, and rows that hold only metrics or name
    no event are left out, and so is a last line that was cut off. Counts are as
    perf prints them: scaled up by the share of time the event was counted. With
    ``-r``, ``perf stat -I`` runs the program several times, and writes the intervals of one run.

    Parameters
    ----------
    text : str
        Output of ``perf stat -I`` (rows come with a time), or of ``perf stat``
        without it (the time is NaN); or a table.
    interval_ms : int, optional
        Length of an interval [ms]: of tables without a column of times, or where its unit is not told.
    columns : mapping of str to {"count", "level"}, optional
        Columns of a wide table that are kept though they name no event, such as power. A level comes times the
        length of its interval.

    Returns
    -------
    DataFrame
        A row a counter and interval, in perf's order.

        time_s : float
            End of the interval since the start [s].
        event : str
            As perf writes it, with modifiers.
        value : float
            Count, or amount of `unit`; NaN for ``<not counted>`` and ``<not supported>``.
        supported : bool
            False for ``<not supported>``.
        running : float
            Share of the time enabled in which the event was counted, 0 to 1, as
            perf prints it: perf 6.x cuts it down to whole percents. Where an event
            is not counted, 0 means that it got no counter; 1 that nothing of the
            program ran, or that its count comes with the next interval's. NaN where it was
            counted and the file tells no shares.
        unit : str
            Such as ``msec``; empty for plain counts.

    Raises
    ------
    ParseError
        On any other line, naming its number and content; also on counts a
        thread or cgroup, which don't belong to one program, on several runs in
        one file, and if no line counts an event.

    Examples
    --------
    >>> from pathlib import Path
    >>> text = Path("tests/golden/perf-6.1-zen5/mlpx.csv").read_text()
    >>> counts = parse_stat(text)
    >>> counts.loc[2, ["event", "value", "running"]].tolist()
    ['ic_tag_hit_miss.instruction_cache_miss', np.float64(83411798.0), np.float64(0.28)]
    """
    text = as_unicode(text).replace("\r\n", "\n")
    starts = run_starts(text)
    if len(starts) > 1:
        raise ParseError(
            f"{shown(text, starts[1])} begins another run, as `perf stat --append` writes it. Split the file there, "
            "and read each part by itself, as `cmlib import` does."
        )
    form = find_format(text)
    if columns and form is not wide:
        raise ParseError(f"line 1: columns can be chosen of a wide table only, and this is {form.NAME}.")
    frame = wide.read(text, interval_ms, columns) if columns else form.read(text, interval_ms)
    if len(bad := frame[(frame["value"] < 0) | (frame["value"] == np.inf)]):
        raise ParseError(
            f"line 1: {bad['value'].iloc[0]} {bad['event'].iloc[0]} were counted, which is no count."
        )
    return frame


def read_run(text, meta):
    """Read a run as its metadata say: with their interval, and their names for events."""
    if meta.get("axis") == "runs":
        counts, running = series(
            as_intervals(joined(_totals_or_shares(as_unicode(text), meta.get("columns"))))
        )
    else:
        counts, running = series(
            parse_stat(text, interval_ms=meta["interval_ms"], columns=meta.get("columns"))
        )
    if meta.get("zeros_uncounted"):
        counts, running = without_uncounted_zeros(counts, running)
    counts, running = add_modes(counts, running)
    names, time = meta.get("names", {}), counts.index - meta.get("start_s", 0.0)
    return tuple(frame.rename(columns=names).set_axis(time) for frame in (counts, running))


def _totals_or_shares(text, columns):
    with contextlib.suppress(ParseError):
        if found := totals(text, columns):
            return found
    return shares_alone(text)


def without_uncounted_zeros(counts, running):
    """Take zeros of events that had no turn for not counted, where shares are not told."""
    if not (counts == 0).any(axis=None):  # which takes a tenth of the time to find out
        return counts, running
    hidden = zeros_without_turn(counts, running)
    return counts.mask(hidden), running.mask(hidden, 0.0)


def split_runs(text):
    """Cut a text where another run begins, as ``perf stat --append`` or a wide table put them together."""
    form = find_format(text.replace("\r\n", "\n"))
    starts = form.run_starts(text) if form is wide else run_starts(text)
    if len(starts) > MOST_PROGRAMS:
        raise ParseError(
            f"{shown(text, starts[MOST_PROGRAMS])} begins another run, after {MOST_PROGRAMS:,} of them. Split the file."
        )
    heading = text[: starts[0]]
    return [heading + text[start:end] for start, end in itertools.pairwise([*starts, len(text)])]


def by_kind_of_core(text):
    """Take the counts of each kind of core apart, where a file of `perf stat` has several: by its PMU's name."""
    return {"": text} if find_format(text) is wide else per_place.by_kind_of_core(text)


def at_place(text, place):
    """Leave out the counts of all CPUs, cores, sockets, nodes or kinds of core but one."""
    form, kinds = find_format(text), by_kind_of_core(text)
    if place in kinds:
        return kinds[place]
    if form is not per_place:
        raise ParseError(
            f"line 1: a place is chosen of counts a CPU, core, socket or node, and this is {form.NAME}."
        )
    return per_place.only(text, place)


def remarks(text, *, columns=None):
    """Sentences on what was left out, added up or taken for granted in reading a text."""
    text = as_unicode(text).replace("\r\n", "\n")
    return find_format(text).remarks(text, columns)


def counts_a_line(text):
    """How many counts a line holds at most, of a text's beginning."""
    form = find_format(text.replace("\r\n", "\n"))
    return form.n_columns(text) if form is wide else 1


# Share of the intervals that may have fewer readings of an event than it has.
_FEW = 0.1


def series(frame):
    """Lay out what :func:`parse_stat` read as one series an event.

    Parameters
    ----------
    frame : DataFrame
        Columns time_s, event, value and running, of interval output of one run.

    Returns
    -------
    counts : DataFrame, shape (n_intervals, n_events)
        Counts as perf prints them, NaN where not counted. The index `time_s`
        is the interval's end [s]; columns are the events' names without
        modifiers, in order of appearance. Where several events differ only in
        their modifiers, they keep them. An event counted k times in nearly every interval has
        the further columns ``event#2`` … ``event#k``.
    running : DataFrame, shape (n_intervals, n_events)
        Share of the time each was counted, 0 to 1; NaN where that is not known, 0 where an interval has no row of it.

    Raises
    ------
    ValueError
        If rows have no time, or time goes back; as of :func:`without_copies`; if the series were far larger than
        the frame, as where each event was counted in an interval of its own.

    Examples
    --------
    >>> from pathlib import Path
    >>> from cmlib.io.perf import parse_stat
    >>> text = Path("tests/golden/perf-6.1-zen5/mlpx.csv").read_text()
    >>> counts, running = series(parse_stat(text))
    >>> counts.shape
    (3, 14)
    >>> running["ls_stlf"].tolist()
    [0.23, 0.24, 0.27]
    """
    frame, _ = without_copies(frame)
    interval, codes, events, copy = _numbered(frame)
    column, names = _number_copies(codes, copy, _column_names(events))
    starts = np.flatnonzero(np.diff(interval, prepend=-1))
    check_density(len(starts), len(names), len(frame))
    index = pd.Index(frame["time_s"].to_numpy(float)[starts], name="time_s")
    counts = np.full((len(starts), len(names)), np.nan)
    running = np.zeros_like(counts)
    counts[interval, column] = frame["value"]
    running[interval, column] = frame["running"]
    return pd.DataFrame(counts, index, names), pd.DataFrame(running, index, names)


def without_copies(frame):
    """Leave out rows that come again in their interval, as where intervals were written twice.

    An event's rows are its readings, numbered in each interval, where nearly every interval has as many.

    Returns
    -------
    frame : DataFrame
    n_copies : int
        Rows left out: equal to another of the same event and interval.

    Raises
    ------
    ParseError
        If an interval has further rows of an event, with other counts.
    """
    interval, codes, events, copy = _numbered(frame)
    if not copy.any():
        return frame, 0
    rows = frame[["value", "running"]].assign(interval=interval, code=codes)
    is_equal = rows.duplicated().to_numpy()
    is_further = _is_further(rows, copy)
    if (is_further & ~is_equal).any():
        row = frame.iloc[np.argmax(is_further & ~is_equal)]
        raise ParseError(
            f"line 1: the interval that ends at {row['time_s']:.9g} s counts {row['event']} again, as "
            f"{row['value']:.15g}, and most intervals count it less often: were two recordings mixed up? "
            "Import each by itself."
        )
    return frame[~is_further].reset_index(drop=True), int(is_further.sum())


def _is_further(rows, copy):
    """Whether a row is one more than its event has in nearly all intervals, or all rows come twice."""
    if rows.duplicated(keep=False).all():
        equal = rows.groupby(list(rows), dropna=False, sort=False)
        sizes = equal["code"].transform("size").to_numpy()
        if (n_times := np.gcd.reduce(sizes)) > 1:
            return equal.cumcount().to_numpy() >= sizes // n_times
    n_rows = rows.groupby(["code", "interval"]).size()
    last = rows["interval"].iloc[-1]  # may be cut off
    before = n_rows[n_rows.index.get_level_values("interval") < last]
    all_of_them, before = (
        n.groupby(level="code").quantile(_FEW, interpolation="lower") for n in (n_rows, before)
    )
    usual = all_of_them.combine(before, max, fill_value=1)
    return copy >= usual.to_numpy()[rows["code"]]


def _numbered(frame):
    """Interval and event of each row, the events, and how many rows of the event are before it in the interval."""
    time = frame["time_s"].to_numpy(float)
    _check_times(time)
    interval = np.cumsum(np.diff(time, prepend=time[:1]) > 0)
    codes, events = pd.factorize(frame["event"])
    key = interval * len(events) + codes
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    copy = np.empty_like(key)
    copy[order] = np.arange(len(key)) - np.repeat(first, np.diff(first, append=len(key)))
    return interval, codes, events, copy


def _check_times(time):
    if np.isnan(time).any():
        raise ValueError(
            "the counts have no times: they are totals of whole runs. Record with an interval, `perf stat -I 100`."
        )
    back = np.flatnonzero(np.diff(time) < 0)
    if len(back):
        row = back[0] + 1
        raise ValueError(
            f"row {row}: time goes back from {time[row - 1]} s to {time[row]} s, so this is more than one run. "
            "Split the file where `# started on` stands, and read each part by itself."
        )


def _column_names(events):
    """Names without modifiers, where that does not make two into one."""
    bases = list(map(base_name, events))
    alike = Counter(bases)
    return [event if alike[base] > 1 else base for event, base in zip(events, bases, strict=True)]


def _number_copies(codes, copy, names):
    """Column of each row, and all columns' names."""
    n_copies = copy.max(initial=0) + 1
    kinds, first_row, column = np.unique(codes * n_copies + copy, return_index=True, return_inverse=True)
    appearance = np.argsort(first_row)
    place = np.empty_like(appearance)
    place[appearance] = np.arange(len(kinds))
    labels = [copy_name(names[kind // n_copies], kind % n_copies + 1) for kind in kinds[appearance]]
    return place[column], labels


# Above each table for people: whose counts they are, and of how many runs they are the means.
_TABLE = re.compile(r"^ *Performance counter stats for (.*?)(?: \(([0-9]+) runs\))?:[ \t]*$", re.MULTILINE)
_ROWS = re.compile(r"\s*\n((?:[^\n]*\S[^\n]*\n?)+)")
_ELAPSED = re.compile(r"^ *([0-9]+)[.,]([0-9]+)(?: \+- [0-9.,]+)? seconds time elapsed", re.MULTILINE)
_TIMED = re.compile(rf"^ *{TIME}(?! (?:\+-|\(|seconds))", re.MULTILINE)
_COUNTS = re.compile(r' *(?:[0-9]|<not |CPU[0-9]|[SN][0-9]|\{.*"counter-value")')
# Behind an event, by how much it varied between the runs of -r.
_VARIES = re.compile(r'[0-9]%[^\s\w]|"variance" *:')
# Programs that start another, whose options and numbers are not those of what is measured.
_STARTERS = frozenset(
    ["taskset", "numactl", "nice", "chrt", "env", "sudo", "time", "stdbuf", "setarch", "timeout"]
)
_OF_STARTER = re.compile(r"-.*|[0-9a-fx,:-]+|\w+=.*")


def totals(text, columns=None, *, rows_are_runs=True):
    """Read whole runs, put together by program and events; none if a text holds intervals."""
    text = text.replace("\r\n", "\n")
    if _TABLE.search(text) and not _TIMED.search(text):
        return by_program(_tables(text))
    form = find_format(text)
    if form is wide:
        return by_program(wide.totals(text, columns)) if rows_are_runs else []
    if hasattr(form, "totals"):
        return by_program(form.totals(text))
    first = first_line(text, re.compile(r"\s*(?:#.*)?$"))
    if (
        form in (separated, cgroup, per_place, human_readable, few_columns)
        and _COUNTS.match(first)
        and not _TIMED.match(first)
        and '"interval"' not in first
    ):
        return by_program(_listed(text, form))
    return []


def program_names(commands):
    """A name for each of several commands: of the program, and with its arguments where a program comes twice."""
    names = {command: _words(command) for command in dict.fromkeys(commands)}
    firsts = Counter(words[0] for words in names.values())
    named = {
        command: "-".join(words if firsts[words[0]] > 1 else words[:1])[:60].strip("_.-")
        for command, words in names.items()
    }
    alike = Counter(named.values())
    return {
        command: f"{name}-{number}" if alike[name] > 1 else name
        for number, (command, name) in enumerate(named.items(), 1)
    }


def _words(command):
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    started = 0
    for word in words:
        after_starter = started > 0
        if word.rpartition("/")[2] not in _STARTERS and not (after_starter and _OF_STARTER.fullmatch(word)):
            break
        started += 1
    plain = (re.sub(r"[^A-Za-z0-9_.]+", "_", word.rpartition("/")[2]) for word in words[started:])
    return [word.removesuffix(".exe").strip("_.") or "x" for word in plain] or ["unnamed"]


def _tables(text):
    """Each table for people, with what stands between it and the next."""
    found = list(_TABLE.finditer(text))
    starts = [0]
    for before, table in itertools.pairwise(found):
        started = text.rfind("\n# started on ", before.end(), table.start())
        starts.append(started + 1 if started >= 0 else table.start())
    for table, start, end in zip(found, starts, [*starts[1:], len(text)], strict=True):
        rows = _ROWS.match(text, table.end(), end)
        if not rows or "seconds time elapsed" in rows[1]:
            continue
        form = per_place if per_place.recognises(rows[1]) else human_readable
        try:
            frame = form.read(as_unicode(rows[1]))
        except ParseError:  # told with the number of the line in the whole text
            form.read("\n" * text.count("\n", 0, rows.start(1)) + as_unicode(rows[1]))
            raise
        elapsed = _ELAPSED.search(text, rows.end(), end)
        seconds = float(f"{elapsed[1]}.{elapsed[2]}") if elapsed else np.nan
        notes = form.remarks(rows[1]) + [f"Counts are means of {table[2]} runs."] * bool(table[2])
        command = table[1][1:-1] if table[1].startswith("'") else table[1]
        yield Totals(text[start:end], frame.assign(time_s=1), command, (seconds,), remarks=tuple(notes))


def _listed(text, form):
    """Runs of fields between separators or JSON: where perf says that it started, or the list of events begins anew."""
    for start, end in itertools.pairwise([*run_starts(text), len(text)]):
        frame = form.read(as_unicode(text[start:end]))
        events, n = frame["event"].tolist(), len(frame)
        if not n:
            continue
        lengths = (k for k in range(1, n) if n % k == 0 and events == events[:k] * (n // k))
        length = n if form is per_place else next(lengths, n)
        frame["time_s"] = np.arange(n) // length + 1
        notes = form.remarks(text[start:end])
        notes += ["Counts are means of several runs."] * bool(_VARIES.search(text, start, end))
        yield Totals(text[start:end], frame, seconds=(np.nan,) * (n // length), remarks=tuple(notes))
