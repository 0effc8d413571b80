"""Reading counts by interval, in whatever form they come."""

import itertools
from dataclasses import dataclass

from cmlib.io.perf.formats import find_format, per_place, wide
from cmlib.io.perf.formats.lines import as_intervals
from cmlib.io.perf.grammar import ParseError, run_starts, shown
from cmlib.io.perf.pivot import series
from cmlib.io.perf.totals import totals


@dataclass(frozen=True)
class About:
    """What there is to say of a file's form.

    Attributes
    ----------
    form : str
        Its name in words.
    running_shares : bool
        Whether it says for which share of each interval an event was counted.
    remarks : tuple of str
        Sentences on what was left out, added up or taken for granted in reading it.
    """

    form: str
    running_shares: bool
    remarks: tuple


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
            counted and the file tells no shares (:func:`cmlib.io.perf.about`).
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
    text = _unicode(text).replace("\r\n", "\n")
    _check_is_one_run(text)
    form = find_format(text)
    if not columns:
        return form.read(text, interval_ms)
    if form is not wide:
        raise ParseError(f"line 1: columns can be chosen of a wide table only, and this is {form.NAME}.")
    return wide.read(text, interval_ms, columns)


def read_run(text, meta):
    """Read a run as its metadata say: with their interval, and their names for events."""
    if meta.get("axis") == "runs":
        counts, running = series(as_intervals(totals(_unicode(text), meta.get("columns"))))
    else:
        counts, running = series(
            parse_stat(text, interval_ms=meta["interval_ms"], columns=meta.get("columns"))
        )
    names, time = meta.get("names", {}), counts.index - meta.get("start_s", 0.0)
    return tuple(frame.rename(columns=names).set_axis(time) for frame in (counts, running))


def split_runs(text):
    """Cut a text where another run begins, as ``perf stat --append`` or a wide table put them together."""
    form = find_format(text.replace("\r\n", "\n"))
    if hasattr(form, "runs"):
        return form.runs(text)
    return [text[start:end] for start, end in itertools.pairwise([*run_starts(text), len(text)])]


def at_place(text, place):
    """Leave out the counts of all CPUs, cores, sockets or nodes but one."""
    form = find_format(text)
    if form is not per_place:
        raise ParseError(
            f"line 1: a place is chosen of counts a CPU, core, socket or node, and this is {form.NAME}."
        )
    return per_place.only(text, place)


def about(text, *, columns=None):
    """Tell a text's form, and what was taken for granted in reading it."""
    text = _unicode(text).replace("\r\n", "\n")
    form = find_format(text)
    remarks = wide.remarks(text, columns) if form is wide else form.remarks(text)
    return About(form.NAME, form.TELLS_SHARES, tuple(remarks))


def counts_a_line(text):
    """How many counts a line holds at most, of a text's beginning."""
    form = find_format(text.replace("\r\n", "\n"))
    return form.n_columns(text) if form is wide else 1


def _check_is_one_run(text):
    starts = run_starts(text)
    if len(starts) > 1:
        raise ParseError(
            f"{shown(text, starts[1])} begins another run, as `perf stat --append` writes it. Split "
            "the file there, and "
            "read each part by itself, as `cmlib import` does."
        )


def _unicode(text):
    """Replace lone surrogates, which Python makes of bytes that are no text."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
