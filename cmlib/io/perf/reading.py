"""Read counts by interval in any known form, as a table of readings or as series by event.

Functions take a file's text (str); :func:`parse_stat` gives the table, :func:`read_run` the series of a stored run.
ParseError, which names the line, for text of no known form; ValueError for series without times.
"""

import contextlib
import itertools
import re

import numpy as np
import pandas as pd

from cmlib.intervals import lengths_by_ends, zeros_without_turn
from cmlib.io.perf.blocks import TABLE
from cmlib.io.perf.core_kinds import by_kind_of_core
from cmlib.io.perf.formats import find_format
from cmlib.io.perf.formats.lines import TIMED_ROW, as_number, as_unicode
from cmlib.io.perf.grammar import STARTED, TIME, ParseError, run_starts, where
from cmlib.io.perf.layout import series
from cmlib.io.perf.modes import add_modes
from cmlib.io.perf.printed import shares_alone
from cmlib.io.perf.whole_runs import MOST_PROGRAMS, as_intervals, joined, totals

# What was counted all the time, between separators or as JSON: end of the interval, time on a counter [ns].
_PINNED = r"(?:cpu-)?(?:cycles|instructions)(?::\w*+)?"
_ON = re.compile(
    rf"^ *+({TIME})([^\w. ])[0-9]++\2\2{_PINNED}\2([0-9]++)(?:\2)100[.,]00(?![0-9])"
    rf'|^ *+\{{"interval" *: *([0-9.]+), *"counter-value"[^{{\n]*"event" *: *"{_PINNED}", *'
    '"event-runtime" *: *([0-9]+), *"pcnt-running" *: *100[.,]',
    re.MULTILINE,
)


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
        length of its interval [s].

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
        thread or cgroup, which don't belong to one program, on counts below 0 or
        infinite, on several runs in one file, and if no line counts an event.

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
            f"{where(text, starts[1])} begins another run, as `perf stat --append` writes it. Split the file there, "
            "and read each part by itself, as `cmlib import` does."
        )
    frame = find_format(text).read(interval_ms, columns).to_pandas()
    if len(bad := frame[(frame["value"] < 0) | (frame["value"] == np.inf)]):
        value, event = bad[["value", "event"]].iloc[0]
        raise ParseError(f"line 1: {value} {event} were counted, which is no count.")
    return frame


def read_run(text, meta):
    """Read a stored run by its metadata: two DataFrames, counts (NaN where not counted) and running shares (0 to 1).

    Both have a row an interval, whose end since the start of the run is the index time_s [s], and a column an event.
    `text` is the run's file as it was recorded or imported; `meta` (dict) says the interval (interval_ms), the names
    for events (names), and whether rows are whole runs (axis). ParseError if the text can't be read.
    """
    columns = meta.get("columns")
    if meta.get("axis") == "runs":
        runs = []
        with contextlib.suppress(ParseError):
            runs = totals(as_unicode(text), columns)
        frame = as_intervals(joined(runs or shares_alone(as_unicode(text))))
    else:
        frame = parse_stat(text, interval_ms=meta["interval_ms"], columns=columns)
    counts, running = series(frame)
    if meta.get("zeros_uncounted"):
        counts, running = without_uncounted_zeros(counts, running)
    counts, running = add_modes(counts, running)
    names, time = meta.get("names", {}), counts.index - meta.get("start_s", 0.0)
    return tuple(frame.rename(columns=names).set_axis(time) for frame in (counts, running))


def without_uncounted_zeros(counts, running):
    """Two DataFrames, `counts` and `running`, in which zeros of events that had no turn on a counter are NaN, their
    shares 0.

    Both have a row an interval, a column an event; only zeros whose share is not known (NaN) are changed, as
    :func:`cmlib.intervals.zeros_without_turn` finds them.
    """
    if not (counts == 0).any(axis=None):  # a check that is ten times as fast
        return counts, running
    hidden = zeros_without_turn(counts, running)
    return counts.mask(hidden), running.mask(hidden, 0.0)


def apart(text):
    """A text's tables of whole runs, and its intervals if these come after the first of them: one or two texts (list of
    str). Those before a table may be what it is the sum of, and stay.
    """
    blocks = re.split(rf"^(?={STARTED}| *Performance counter stats for )", text, flags=re.MULTILINE)
    first = next((k for k, block in enumerate(blocks) if TIMED_ROW.search(block)), 0)
    if not any(map(TABLE.match, blocks[:first])):
        return [text] if text else []
    return ["".join(blocks[:first]), "".join(blocks[first:])]


def split_runs(text):
    """List of a text (str) for each run in a text, each with the heading, as ``perf stat --append`` or wide tables have
    several.

    ParseError if there are more than 1,000.
    """
    starts = find_format(text).run_starts()
    if len(starts) > MOST_PROGRAMS:
        raise ParseError(
            f"{where(text, starts[MOST_PROGRAMS])} begins another run, after {MOST_PROGRAMS:,} of them. Split the file."
        )
    heading = text[: starts[0]]
    return [heading + text[start:end] for start, end in itertools.pairwise([*starts, len(text)])]


def at_place(text, place):
    """Text (str) with the counts of one CPU, core, socket, node or kind of core (`place`, such as ``CPU3``) alone.

    ParseError if the text does not count by place, or has none of that name.
    """
    kinds = by_kind_of_core(text)
    return kinds[place] if place in kinds else find_format(text).at_place(place)


def remarks(text, *, columns=None):
    """List of sentences (str) on what was left out, added up or assumed in reading a text.

    `columns` (dict of name to "count" or "level", optional) are those of a wide table that are kept though they name
    no event.
    """
    return find_format(as_unicode(text).replace("\r\n", "\n")).remarks(columns)


def counts_a_line(text):
    """Most counts (int) that a line has, by the beginning of a text: the columns of a wide table, else 1."""
    return find_format(text).counts_a_line


def cpus_utilized(text):
    """CPUs that a run used on average (float), by how long its cycles or instructions were on a counter in each
    interval.

    perf counts a program only while it runs. None where the text (str) has no intervals with one of these counted all
    the time.
    """
    lines = sorted((float(line[3] or line[5]), as_number(line[1] or line[4])) for line in _ON.finditer(text))
    if not lines:
        return None
    on = pd.Series({end: 1e-9 * ns for ns, end in lines}).sort_index()
    lengths = lengths_by_ends(on.index)
    near = lengths <= 2 * np.median(lengths)  # nothing lies between it and the one before
    return float(on[near].sum() / lengths[near].sum())
