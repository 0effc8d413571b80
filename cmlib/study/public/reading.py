"""Published recordings as counts: read from the package, a folder or the cache, without the store."""

import functools
import re

import numpy as np
import pandas as pd

from cmlib import events, machine, perf, public


def counts_of(name, *, interval_ms=None):
    """Counts of the runs in a published file.

    Parameters
    ----------
    name : str
        As in :func:`cmlib.public.files`.
    interval_ms : int, optional
        Of tables without times.

    Returns
    -------
    list of tuple (DataFrame, DataFrame)
        Counts and running shares of each run, a row an interval [s], a column an event; copies of a run once. Events
        have the names under which they are imported. Empty where the file is not there.
    """
    content = public.read(name)
    if content is None:
        return []
    runs = []
    for part in dict.fromkeys(perf.split_runs(content.decode("latin-1"))):
        counts, running = perf.series(perf.parse_stat(part, interval_ms=interval_ms))
        names = _names(tuple(counts))
        runs.append((counts.rename(columns=names), running.rename(columns=names)))
    return runs


def files_like(set_name, pattern):
    """Files of a set whose names have a form, and what the form's groups caught.

    Parameters
    ----------
    set_name : str
    pattern : str
        Regular expression of the name without its folder, with named groups.

    Returns
    -------
    DataFrame
        Columns: ``file``, and one a group.
    """
    listed = public.files(set_name)["file"]
    found = {name: re.fullmatch(pattern, name.rpartition("/")[2]) for name in listed}
    return pd.DataFrame([{"file": name, **match.groupdict()} for name, match in found.items() if match])


def lengths(counts):
    """How long each interval of a run took: Series [s]; the first counts from zero, or as the others if it can't."""
    ends = counts.index.to_numpy()
    steps = np.diff(ends, prepend=0.0)
    if len(steps) > 1 and not 0 < steps[0] <= 2 * np.median(steps[1:]):
        steps[0] = np.median(steps[1:])
    return pd.Series(steps, counts.index)


def how_to_get(set_name):
    """A sentence on how to get a set that is not here."""
    return (
        f"Not shown: the recordings `{set_name}` are not here. `cmlib fetch {set_name}` has them, or CMLIB_PUBLIC "
        "names a folder with them; then run this notebook again."
    )


@functools.cache
def _names(written):
    return events.translate(written, dict.fromkeys(machine.describe()))
