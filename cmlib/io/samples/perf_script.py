"""Convert the output of ``perf script`` to counts per sample."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from cmlib.io.samples.counting import column_of, count_samples

FIELDS = "tid,time,period,event"
_LINE = re.compile(rb"^ *+(\S++) ++(\S++) ++(-?[0-9]{1,20}) ++(\S+?):? *+$", re.MULTILINE)
_TOO_LARGE = 1 << 63


def read_text(text: bytes, events: Sequence[str]) -> np.ndarray:
    """Read samples from the output of ``perf script -F tid,time,period,event``.

    A sample begins with the line of the first event, and usually has one line per event. The count in a line is the
    count since the previous line of the same event. Other lines are ignored.

    Parameters
    ----------
    text : bytes
        Output of ``perf script``.
    events : sequence of str
        Names of the events in perf's output, without modifiers. perf takes a sample each time the first event has
        counted a period.

    Returns
    -------
    ndarray of int64, shape (n_samples, n_events)
        Counts since the previous sample. 0 if the sample has no line of an event.
    """
    lines = pd.DataFrame(_LINE.findall(text), columns=["task", "time", "count", "name"])
    column_by_name = {name: column_of(name, events) for name in lines["name"].unique()}
    column = lines["name"].map(column_by_name)
    lines = lines[column.notna()]
    # count_samples takes values of counters, so counts are summed up. Each event is one counter with its column as id.
    ids = column.dropna().to_numpy(np.int64)
    counts = np.fromiter(map(_parse_count, lines["count"]), np.int64, len(lines))
    values = pd.Series(counts).groupby(ids).cumsum().to_numpy()
    time, _ = pd.factorize(lines["time"])
    task, _ = pd.factorize(lines["task"])
    known_ids = np.arange(len(events))
    open_counts = np.zeros(len(events), np.int64)
    samples = np.empty((len(lines), len(events)), np.int64)
    n_samples, *_ = count_samples(
        time,
        task,
        values[:, None],
        ids[:, None],
        known_ids,
        known_ids,
        np.zeros(len(events), np.int64),
        open_counts,
        np.zeros(2, np.int64),
        samples,
    )
    n_open = 1 if open_counts[0] else 0
    return np.vstack([samples[:n_samples], open_counts[None][:n_open]])


def _parse_count(text: bytes) -> int:
    """Parse a count.

    perf prints a decrease modulo 2^64. It becomes -1.
    """
    count = int(text)
    return count if abs(count) < _TOO_LARGE else -1
