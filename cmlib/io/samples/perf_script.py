"""Read what ``perf script`` prints of samples as counts since the sample before: bytes in, an array out.

Nothing is refused: lines of another form are passed over.
"""

import re

import numpy as np
import pandas as pd

from cmlib.io.samples.perf_data import column_of, count_samples

FIELDS = "tid,time,period,event"
_LINE = re.compile(rb"^ *+(\S++) ++(\S++) ++(-?[0-9]{1,20}) ++(\S+?):? *+$", re.MULTILINE)
_TOO_LARGE = 1 << 63


def read_text(text, events):
    """Read samples from the output of ``perf script -F tid,time,period,event``.

    For each sample, perf prints one line per event, with the count since the previous sample. The line of the first
    event begins a sample. An event that did not happen has no line. All other lines are ignored.

    Parameters
    ----------
    text : bytes
    events : sequence of str
        Names as perf prints them, without modifiers; the first one times the sampling.

    Returns
    -------
    ndarray of int64, shape (n_samples, n_events)
        Counts since the sample before, 0 for an event that did not happen.
    """
    lines = pd.DataFrame(_LINE.findall(text), columns=["task", "time", "count", "name"])
    column = lines["name"].map({name: column_of(name, events) for name in lines["name"].unique()})
    lines = lines[column.notna()]
    # A count that fell is printed as a difference modulo 2^64: -1 stands for it.
    counts = (count if abs(count) < _TOO_LARGE else -1 for count in map(int, lines["count"]))
    ids = column.dropna().to_numpy(np.int64)
    shown = pd.Series(np.fromiter(counts, np.int64, len(lines))).groupby(ids).cumsum().to_numpy()
    time, task = (pd.factorize(lines[key])[0] for key in ("time", "task"))
    known, (last, still_open) = np.arange(len(events)), np.zeros((2, len(events)), np.int64)
    samples = np.empty((len(lines), len(events)), np.int64)
    sources = time, task, shown[:, None], ids[:, None], known, known, last
    n, *_ = count_samples(*sources, still_open, np.zeros(2, np.int64), samples)
    return np.vstack([samples[:n], still_open[None][: still_open[0]]])
