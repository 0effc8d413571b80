"""Reading counts by interval, in whatever form they come."""

from cmlib.perf.formats import few_columns, find_format
from cmlib.perf.grammar import ParseError, run_starts, shown
from cmlib.perf.parsing import parse_rows


def parse_stat(text):
    """Read counts by interval, in any form that `perf stat` writes and some others.

    Fields may be separated (``-x``) by comma, semicolon, tab or any other one
    character but a space, or come as JSON (``-j``); which it is, and whether
    the locale writes decimal commas, is found out. So are perf's table for people,
    files of three or four columns without running shares, and counts a CPU, core,
    socket or node, which are added up (:mod:`cmlib.perf.formats`). Comments, blank lines,
    totals printed after the intervals, and rows that hold only metrics or name
    no event are left out, and so is a last line that was cut off. Counts are as
    perf prints them: scaled up by the share of time the event was counted. With
    ``-r``, ``perf stat -I`` runs the program several times, and writes the intervals of one run.

    Parameters
    ----------
    text : str
        Output of ``perf stat -I`` (rows come with a time), or of ``perf stat``
        without it (the time is NaN).

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
            program ran, or that its count comes with the next interval's. 1 where the
            file tells no shares (:func:`cmlib.perf.tells_shares`).
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
    return parse_rows(text) if form is None else form.read(text)


def tells_shares(text):
    """Whether a text says for which share of each interval an event was counted.

    Parameters
    ----------
    text : str
        What :func:`parse_stat` reads.

    Returns
    -------
    bool
    """
    return find_format(text) is not few_columns


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
