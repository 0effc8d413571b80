"""Refuse files of which the size, the lines, or the counts, times and names of events can't be true.

Functions take a file's path, for the message, and what it holds; they raise a RecordError.
"""

import io
import re

import numpy as np

from cmlib.errors import message
from cmlib.intervals import lengths_by_ends
from cmlib.io import perf
from cmlib.io.archive.programs import RecordError
from cmlib.io.archive.runs import LARGEST_COUNT, MOST_EVENTS

_HEAD = 1 << 18  # characters that tell how many counts a line has
# Most counts in a run: 480 events in 4,000 intervals, or 12 in 160,000.
_MOST_COUNTS = 2_000_000
# Events as perf writes them, with anything between the slashes of a PMU's, and kinds as in `task-clock [software]`.
_NAME = re.compile(r"[^\s'\"`$;&|]+(?: \[\w+\])?|[\w-]+/[^/]*/\w*")
# Limits: a tenth of perf's shortest interval, and a third of a year.
_SHORTEST_S, _LONGEST_S = 1e-4, 1e7
_LONGEST_NAME, _LONGEST_LINE = 1000, 1 << 20


def check_size(file, raw):
    """Raise RecordError if the file (`raw`, bytes) may hold more than 2,000,000 counts, judged by its number of
    lines.
    """
    n_counts = raw.count(b"\n") * perf.counts_a_line(raw[:_HEAD].decode("latin-1"))
    if n_counts > _MOST_COUNTS:
        raise RecordError(message(__file__, "many_counts", file, n_counts, _MOST_COUNTS))


def check_lines(file, raw):
    """Raise RecordError for a line longer than 1 MiB in a file (`raw`, bytes), unless it is JSON, which may be a
    single line.
    """
    longest = max(map(len, io.BytesIO(raw)), default=0)
    if longest > _LONGEST_LINE and not raw.lstrip().startswith((b"{", b"[")):
        raise RecordError(message(__file__, "long_line", file, longest, _LONGEST_LINE))


def check_plausible(file, frame, *, whole_runs=False, chosen=()):
    """Raise RecordError, which names `file`, for counts, times or names of events that can't be true.

    `frame` (DataFrame) has the columns time_s [s], event and value, a row a reading; runs (`whole_runs`) may be as
    short as they like; `chosen` (collection of str) are names that a user asked for, which may be of any form.
    """
    names = frame["event"].unique()
    if len(names) > MOST_EVENTS:
        raise RecordError(f"{file} counts {len(names)} events, and a run has {MOST_EVENTS} at most.")
    if len(longest := max(names, key=len)) > _LONGEST_NAME:
        raise RecordError(message(__file__, "long_name", file, len(longest), _LONGEST_NAME, longest[:60]))
    strange = [name for name in names if not name.isprintable() or any(c in name for c in "<>\ufffd")]
    if odd := strange or [name for name in names if name not in chosen and not _NAME.fullmatch(name)]:
        raise RecordError(message(__file__, "strange_name", file, odd[0]))
    if len(bad := frame[~(frame["value"].isna() | frame["value"].between(0, LARGEST_COUNT))]):
        row = bad.iloc[0]
        raise RecordError(f"{file} counts {row['value']:.3g} {row['event']} at once, which no counter holds.")
    times = frame["time_s"].drop_duplicates().to_numpy()
    steps = lengths_by_ends(times)
    if times[0] <= 0 or (np.median(steps) < _SHORTEST_S and not whole_runs) or steps.max() > _LONGEST_S:
        raise RecordError(message(__file__, "strange_times", file, steps.min(), steps.max()))
