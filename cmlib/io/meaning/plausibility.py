"""Check that the size of a file, its counts, its times and its event names are plausible."""

import io
import re
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd

from cmlib.intervals import lengths_by_ends
from cmlib.io.archive.programs import RecordError
from cmlib.io.archive.runs import LARGEST_COUNT, MOST_EVENTS

# Most counts in a file: 480 events in 4,000 intervals, or 12 in 160,000.
MOST_COUNTS = 2_000_000
# Names of events in the output of perf. For example, `cycles:u`, `task-clock [software]` or `cpu/event=0x3c/u`. The
# text between the slashes can contain any characters.
_NAME = re.compile(r"[^\s'\"`$;&|]+(?: \[\w+\])?|[\w-]+/[^/]*/\w*")
# Limits of the length of an interval [s]: a tenth of perf's shortest interval, and a third of a year.
_SHORTEST_S, _LONGEST_S = 1e-4, 1e7
_LONGEST_NAME = 1000
_LONGEST_LINE = 1 << 20
_MOST_LINES_PER_COUNT = 2  # some tools write further lines, for example headings and metrics


def check_size(file: Path, raw: bytes) -> None:
    """Check the number and the length of the lines of a file.

    RecordError if the file has too many lines, or a line of more than 1 MiB that is not JSON.
    """
    n_lines = raw.count(b"\n")
    if n_lines > _MOST_LINES_PER_COUNT * MOST_COUNTS:
        raise RecordError(
            f"{file} has {n_lines:,} lines, and {_MOST_LINES_PER_COUNT * MOST_COUNTS:,} are the most. "
            "Record fewer events or longer intervals, or split it."
        )
    longest = max((len(line) for line in io.BytesIO(raw)), default=0)
    if longest > _LONGEST_LINE and not raw.lstrip().startswith((b"{", b"[")):
        raise RecordError(
            f"{file} has a line of {longest:,} bytes, and {_LONGEST_LINE:,} are the most. "
            "Is it a table of counts, one line per interval, run or event?"
        )


def check_number_of_counts(file: Path, n_counts: int) -> None:
    """Raise RecordError if a file has more than 2,000,000 counts."""
    if n_counts > MOST_COUNTS:
        raise RecordError(
            f"{file} has {n_counts:,} counts, and {MOST_COUNTS:,} are the most. "
            "Record fewer events or longer intervals, or split it."
        )


def check_plausible(
    file: Path, rows: pd.DataFrame, *, whole_runs: bool = False, chosen: Collection[str] = ()
) -> None:
    """Check that the counts, the times and the event names of a file are plausible.

    Parameters
    ----------
    file : path
    rows : DataFrame
        One row per count, with the columns of :attr:`cmlib.io.formats.readings.Program.counts`.
    whole_runs : bool, default False
        True if each row is the total of a run. Runs can have any length.
    chosen : collection of str
        Columns that the user selected. They can have any name.

    Raises
    ------
    RecordError
        If a count, a time or an event name is not plausible.
    """
    names = rows["event"].unique()
    if len(names) > MOST_EVENTS:
        raise RecordError(f"{file} counts {len(names)} events, and a run has {MOST_EVENTS} at most.")
    longest = max(names, key=len)
    if len(longest) > _LONGEST_NAME:
        raise RecordError(
            f"{file} counts an event with a name of {len(longest):,} characters, and {_LONGEST_NAME:,} are the most: "
            f"{longest[:60]!r}…"
        )
    for name in names:
        _check_name(file, name, chosen)
    is_possible = rows["value"].isna() | rows["value"].between(0, LARGEST_COUNT)
    if not is_possible.all():
        row = rows[~is_possible].iloc[0]
        raise RecordError(
            f"{file} counts {row['value']:.3g} {row['event']} at once, which is too large for a counter."
        )
    times = rows["time_s"].drop_duplicates().to_numpy()
    lengths = lengths_by_ends(times)
    is_too_short = np.median(lengths) < _SHORTEST_S and not whole_runs
    if times[0] <= 0 or is_too_short or lengths.max() > _LONGEST_S:
        raise RecordError(
            f"{file} has intervals of {lengths.min():.3g} to {lengths.max():.3g} s. Times are expected to be the ends "
            "of intervals since the recording began, in seconds."
        )


def _check_name(file: Path, name: str, chosen: Collection[str]) -> None:
    """Raise RecordError for a name with characters that perf does not use."""
    has_strange_letters = not name.isprintable() or any(letter in name for letter in "<>\ufffd")
    is_other = name not in chosen and _NAME.fullmatch(name) is None
    if has_strange_letters or is_other:
        raise RecordError(
            f"{file} counts an event named {name!r}, with letters that perf does not use in names. "
            "Rename the event in a copy of the file, or choose the column with --count or --level."
        )
