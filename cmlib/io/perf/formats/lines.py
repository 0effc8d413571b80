"""What forms that are read line by line have in common, and counts of whole runs, as forms give them."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from cmlib.io.perf.grammar import ParseError, shown

_HEAD = 10_000  # characters among which the first line that is no heading is looked for
COLUMNS = ["time_s", "event", "value", "supported", "running", "unit"]

NO_SHARES = (
    "The file tells no running shares: for how much of the time an event was counted, and how much was extrapolated, "
    "is not known."
)
TIME = r"[0-9]{1,12}[.,][0-9]{9}"
UNCOUNTED = "<not counted>|<not supported>"


def first_line(text, heading):
    """The first line that `heading`, a pattern, does not match; empty if there is none near the beginning."""
    return next((line for line in text[:_HEAD].split("\n") if not heading.match(line)), "")


def match_lines(text, row, heading, expected):
    """Match every line that is no heading; yields its start and the match of `row`."""
    start = 0
    for line in text.split("\n"):
        if not heading.match(line):
            if found := row.match(line):
                yield start, found
            elif start + len(line) < len(text):
                raise ParseError(f"{shown(text, start)} {expected}")
        start += len(line) + 1


def whole_count(text, start, cell):
    """A count as counters hold it, in the line that begins at `start`; a ParseError for any other text."""
    if not re.fullmatch("[0-9]{1,20}", cell):
        raise ParseError(
            f"{shown(text, start)} has {cell[:40]!r} for a count, which is no whole number from 0 to 10^20."
        )
    return int(cell)


def as_unicode(text):
    """Replace lone surrogates, which Python makes of bytes that are no text."""
    return text if text.isascii() else re.sub("[\ud800-\udfff]", "\ufffd", text)


def as_frame(rows):
    """The columns of :func:`cmlib.io.perf.parse_stat`, of time, event, count or "<not …>", share and unit."""
    counted = [
        (
            float(str(time).replace(",", ".")) if time else np.nan,
            as_unicode(event),
            np.nan if isinstance(count, str) else count,
            count != "<not supported>",
            0.0 if isinstance(count, str) else share,
            unit,
        )
        for time, event, count, share, unit in rows
    ]
    return pd.DataFrame(counted, columns=COLUMNS)


def check_density(n_intervals, n_events, n_counts):
    """Raise ParseError before a table is made that is far larger than what was counted."""
    if n_intervals * n_events > max(_ALWAYS, _MOST_CELLS_A_COUNT * n_counts):
        raise ParseError(
            f"line 1: {n_intervals:,} intervals of {n_events:,} events would have {n_intervals * n_events:,} counts, "
            f"and the file has {n_counts:,}: each event is there in few intervals only. Is it output of one recording?"
        )


_DURATION = "duration_time"
# Cells that are always laid out as a table; beyond these, so many for each count.
_ALWAYS, _MOST_CELLS_A_COUNT = 500_000, 4
# Runs in a file, each a recording of its own; and runs of whole programs, each a table or a list of its own.
MOST_PROGRAMS, _MOST_RUNS = 1000, 5000


@dataclass(frozen=True)
class Totals:
    """Counts of whole runs of one program.

    Attributes
    ----------
    text : str
        What they were read from.
    frame : DataFrame
        As from :func:`cmlib.io.perf.parse_stat`; ``time_s`` is the number of the run, from 1.
    command : str
        Empty where it is not told.
    seconds : tuple of float
        How long each run took; NaN where it is not told.
    heading : str
        What goes before `text`, once for all runs.
    remarks : tuple of str
    """

    text: str
    frame: pd.DataFrame
    command: str = ""
    seconds: tuple = (np.nan,)
    heading: str = ""
    remarks: tuple = ()


def by_program(found):
    """Runs put together by command and events."""
    groups = {}
    for number, one in enumerate(found, 1):
        groups.setdefault((one.command, one.heading, tuple(one.frame["event"].unique())), []).append(one)
        if number > _MOST_RUNS or len(groups) > MOST_PROGRAMS:
            raise ParseError(
                f"line 1: more than {MOST_PROGRAMS:,} programs or {_MOST_RUNS:,} runs come in one file. Split it."
            )
    return [joined(several) for several in groups.values()]


def joined(several):
    """Runs that counted the same, as those of one program, numbered through."""
    if not several:
        raise ParseError("line 1: there are no totals of a run here.")
    before = np.cumsum([0, *(len(one.seconds) for one in several)])[:-1]
    frames = [
        one.frame.assign(time_s=one.frame["time_s"] + n) for one, n in zip(several, before, strict=True)
    ]
    return replace(
        several[0],
        text="".join(one.text if one.text.endswith("\n") else f"{one.text}\n" for one in several),
        frame=pd.concat(frames, ignore_index=True),
        seconds=tuple(second for one in several for second in one.seconds),
        remarks=tuple(dict.fromkeys(remark for one in several for remark in one.remarks)),
    )


def as_intervals(runs):
    """Rows of all runs, one after the other.

    A run ends where the runs before it and itself have taken their seconds, where these are known, which is perf's
    event ``duration_time`` then, or are told by it; else a run takes a second.
    """
    frame, seconds = runs.frame, np.array(runs.seconds)
    counted = frame[frame["event"] == _DURATION].drop_duplicates("time_s")
    if np.isnan(seconds).all() and len(counted) == len(seconds):
        seconds = counted["value"].to_numpy(float) / 1e9
    if not np.isfinite(seconds).all() or not (seconds > 0).all():
        return frame
    if counted.empty:
        share = np.nan if frame["running"].isna().any() else 1.0
        number = np.arange(1, len(seconds) + 1)
        durations = as_frame(
            (n, _DURATION, 1e9 * s, share, "ns") for n, s in zip(number, seconds, strict=True)
        )
        frame = pd.concat([frame, durations], ignore_index=True)
        frame = frame.sort_values("time_s", kind="stable", ignore_index=True)
    return frame.assign(time_s=np.cumsum(seconds)[frame["time_s"].to_numpy(int) - 1])
