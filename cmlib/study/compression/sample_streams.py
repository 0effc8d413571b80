"""The sample streams of notebook 07, case by case."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from cmlib.compress import compress, line_ends
from cmlib.samples import find_streams, read_samples
from cmlib.study.requested import chosen, listed


@dataclass(frozen=True)
class Stream:
    """One case: a program with its input, sampled once.

    Attributes
    ----------
    name : str
    kind : {"hardware", "software"}
    path : pathlib.Path
    timer : str
        The event that timed the sampling.
    totals : DataFrame, shape (n_samples, n_events)
        Cumulated counts; the timer is the first column.
    """

    name: str
    kind: str
    path: Path
    timer: str
    totals: pd.DataFrame

    def series(self, event=""):
        """Counts of the timer and of an event; without a name, the first one counted along."""
        return self.totals[self.timer], self.totals[event or self.totals.columns[1]]


def load(folder="", kind="auto", wanted="all", *, program="all"):
    """Read the sample streams.

    Parameters
    ----------
    folder : path, optional
        `data/samples` by default.
    kind : {"auto", "hardware", "software"}
        See :func:`cmlib.samples.find_streams`.
    wanted : str, default "all"
        Names of cases with commas between, or ``all`` of the programs.
    program : str, default "all"
        Names of programs with commas between, or ``all``, where cases are not named: ``gcc`` has the cases
        ``gcc-1``, ``gcc-2`` and so on.

    Returns
    -------
    dict of str to Stream

    Raises
    ------
    NothingRecordedError
        If there is none, or none of a program that is named.
    ValueError
        If a case that is named is not there.
    """
    streams = find_streams(folder or None, kind).drop_duplicates("name").set_index("name", drop=False)
    names = _cases_of(program, streams.index) if wanted == "all" else listed(wanted)
    for name in names:
        if name not in streams.index:
            raise ValueError(f"there is no sample stream {name!r}; there are {', '.join(streams.index)}.")
    return {
        row.name: Stream(row.name, row.kind, row.path, row.events[0], read_samples(row.path))
        for row in streams.loc[names].itertuples(index=False)
    }


def say_source(stream):
    """In a few words, what was counted.

    Parameters
    ----------
    stream : Stream

    Returns
    -------
    str
    """
    if stream.kind == "hardware":
        return "hardware events"
    return "software events and tracepoints, not hardware events"


def drawn(stream, event="", **options):
    """A case's samples and lines, to be drawn.

    Parameters
    ----------
    stream : Stream
    event : str, optional
        By default the first one counted along.
    **options
        Of :func:`cmlib.compress.compress`.

    Returns
    -------
    samples : Series
        The event's count by that of the timer.
    lines : DataFrame, shape (n_lines, 4)
        Of :func:`cmlib.compress.line_ends`.
    """
    x, y = stream.series(event)
    return pd.Series(y.to_numpy(), x.to_numpy()), line_ends(compress(x, y, **options))


def constancy(streams, event=""):
    """How evenly an event happens: 0 at a constant rate, up to 1 where all of it happens at once.

    The largest distance of the count from the straight line between the run's ends, as a share of the count.
    """
    deviations = {}
    for name, stream in streams.items():
        x, y = stream.series(event)
        even = np.interp(x, [x.iloc[0], x.iloc[-1]], [y.iloc[0], y.iloc[-1]])
        deviations[name] = np.abs(y - even).max() / np.ptp(y) if np.ptp(y) > 0 else np.nan
    return pd.Series(deviations, name="constancy").dropna().sort_values()


def _cases_of(wanted, cases):
    programs = cases.str.replace(r"-\d+$", "", regex=True)
    todo = "Its samples: `cmlib record NAME --samples -- COMMAND`"
    own = chosen(wanted, programs.unique(), about="the programs that were sampled", todo=todo)
    return list(cases[programs.isin(own)])
