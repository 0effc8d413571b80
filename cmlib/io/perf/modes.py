"""Add up events that were counted in user mode and in the kernel separately, as ``cycles:u`` and ``cycles:k``.

:func:`add_modes` takes counts and running shares by event, and adds a column a sum; nothing is refused.
"""

import re

_MODE = re.compile(r"(\w[^:/]*|[^:]+/[^:/]*)[:/]([IGHpPSDWeb]*)([uk])([IGHpPSDWeb]*/?)")


def add_modes(counts, running):
    """Add a column ``cycles`` with the sum of ``cycles:u`` and ``cycles:k``, and so for every event with both.

    Parameters
    ----------
    counts, running : DataFrame, shape (n_intervals, n_events)
        Counts and running shares (0 to 1) by event, as :func:`cmlib.io.perf.series` gives them.

    Returns
    -------
    counts, running : DataFrame
        With the sums' columns before their parts; NaN where a part is NaN. The share of a sum is the smaller one of
        its parts. The same objects if there is nothing to add up.
    """
    parts = {}
    for event in counts:
        if mode := _MODE.fullmatch(event):
            parts.setdefault(mode[1], {}).setdefault(mode[3], event)
    sums = {name: several for name, several in parts.items() if len(several) == 2 and name not in counts}
    if not sums:
        return counts, running
    counts, running = counts.copy(), running.copy()
    for name, several in sums.items():
        columns = list(several.values())
        place = min(map(counts.columns.get_loc, columns))
        counts.insert(place, name, counts[columns].sum(axis=1, skipna=False))
        running.insert(place, name, running[columns].min(axis=1, skipna=False))
    return counts, running
