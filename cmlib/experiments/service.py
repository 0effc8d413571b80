"""Compare a service before and after a change, at equal load.

:func:`compare_services` compares two recordings in intervals. It selects intervals with similar throughput from
both, so that a different load does not look like a change of the program.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from cmlib import topdown
from cmlib.errors import CmlibError
from cmlib.experiments.ratio_tables import DIFFERS, INCONCLUSIVE, NO_CHANGE, NOT_COMPARABLE, compare_ratios
from cmlib.experiments.summary import summarize_runs
from cmlib.io.archive.runs import are_totals
from cmlib.topdown.run_levels import EXTENSIVE_LEVELS, interval_lengths, levels

SCHEMA = 1
_GROUP_WIDTH = 1.1  # ratio of the largest to the smallest load in a group of intervals
_FEWEST_INTERVALS = 8  # of equal load in each recording
_FEWEST_PARTS = 8  # of a recording, to estimate the variation


def compare_services(
    old: tuple[str, Sequence[dict], Sequence[tuple[pd.DataFrame, pd.DataFrame]]],
    new: tuple[str, Sequence[dict], Sequence[tuple[pd.DataFrame, pd.DataFrame]]],
    *,
    load: str = "instructions",
    smallest: float = 0.25,
) -> dict[str, Any]:
    """Compare two recordings of a service in intervals of equal load.

    Intervals are grouped by load. The largest load of a group is 10 % above the smallest. The same number of intervals
    of each group is selected from both recordings, evenly spread over time.

    Parameters
    ----------
    old, new : (str, sequence of dict, sequence of (DataFrame, DataFrame))
        Name, metadata of the runs, and runs. A run is a pair of counts and running shares (the fraction of the time
        in which an event was counted, 0-1). One row per interval (index: its end [s]), one column per event.
    load : str, default "instructions"
        Event that measures the load: its count per second is the throughput.
    smallest : float, default 0.25
        Smallest relevant change. For example, with 0.25 a ratio of 1.25 or more, or of 0.8 or less, is relevant. In
        this example, a change of a share of the slots is relevant above 25 percentage points.

    Returns
    -------
    dict
        Contains these keys:

        - ``schema``: version of the format.
        - ``load``, ``old``, ``new``: names of the event and of the recordings.
        - ``verdict``: "differs", "no change", "inconclusive" or "not comparable" (too few intervals of equal load).
        - ``phases``: groups of intervals, a list of dicts with the keys from and to (load per second), old and new
          (number of intervals), and comparable.
        - ``levels``: comparison of quantities such as instructions per cycle, from
          :func:`cmlib.experiments.ratio_tables.compare_ratios`.
        - ``rates``: comparison of events per 1,000 cycles, from the same function.
        - ``account``: comparison of shares of the slots. A slot is a chance to begin one operation in one cycle. It is
          a list of dicts with the keys name, old and new (bounds [%]), low and high (bounds of the difference [%]), and
          differs.

        The keys ``levels``, ``rates`` and ``account`` are empty if the verdict is "not comparable".

    Raises
    ------
    CmlibError
        If a recording only has total counts of complete runs, or a run did not count the load.
    """
    answer = {"schema": SCHEMA, "load": load, "old": old[0], "new": new[0]}
    answer["phases"], old_rows, new_rows = _match(_group_by_load(*old, load), _group_by_load(*new, load))
    if min(len(old_rows), len(new_rows)) < _FEWEST_INTERVALS:
        return answer | {"verdict": NOT_COMPARABLE, "levels": [], "account": [], "rates": []}
    matched = [_select(old[2], old_rows), _select(new[2], new_rows)]
    tables = {
        "levels": _compare_parts(matched, _compute_levels, smallest),
        "rates": _compare_parts(matched, _compute_rates, smallest),
        "account": _compare_accounts((old, new), matched, smallest),
    }
    return answer | {"verdict": _judge(tables, load)} | tables


def _judge(tables, load):
    """Return the verdict on all tables.

    The load itself is ignored, because it was made equal.
    """
    if any(row["differs"] for table in tables.values() for row in table):
        return DIFFERS
    compared = [row for row in tables["levels"] + tables["rates"] if row["name"] != f"{load} a second"]
    if any(row["verdict"] == INCONCLUSIVE for row in compared):
        return INCONCLUSIVE
    return NO_CHANGE


def _group_by_load(name, metas, runs, event):
    """Return the number of the load group of each interval, an array over all runs.

    The number is NaN if the load is 0 or was not counted. Group n contains loads [1/s] from 1.1**n to 1.1**(n + 1).
    """
    if are_totals(metas[0]):
        raise CmlibError(
            f"{name} has totals of complete runs, and the other recording has intervals. Record both with intervals "
            "(perf stat -I 1000), or both as totals of three or more runs (perf stat -r 5)."
        )
    if any(event not in counts for counts, _ in runs):
        raise CmlibError(f"{name} did not count {event} in all runs: give --load an event that both have")
    loads = np.concatenate([(counts[event] / interval_lengths(counts)).to_numpy(float) for counts, _ in runs])
    loads = np.where(loads > 0, loads, np.nan)
    return np.floor(np.log(loads) / np.log(_GROUP_WIDTH))


def _match(old_groups, new_groups):
    """Select intervals with equal load from two recordings.

    Parameters
    ----------
    old_groups, new_groups : ndarray of float
        Group of each interval, from :func:`_group_by_load`.

    Returns
    -------
    phases : list of dict
        Load and number of intervals of each group.
    old_rows, new_rows : ndarray of int
        Numbers of the selected intervals.
    """
    phases = []
    selected_old = []
    selected_new = []
    for group in sorted({*old_groups[np.isfinite(old_groups)], *new_groups[np.isfinite(new_groups)]}):
        old_rows = np.flatnonzero(old_groups == group)
        new_rows = np.flatnonzero(new_groups == group)
        n_matched = min(len(old_rows), len(new_rows))
        selected_old.extend(_spread_evenly(old_rows, n_matched))
        selected_new.extend(_spread_evenly(new_rows, n_matched))
        phases.append(
            {
                "from": _GROUP_WIDTH**group,
                "to": _GROUP_WIDTH ** (group + 1),
                "old": len(old_rows),
                "new": len(new_rows),
                "comparable": n_matched > 0,
            }
        )
    return phases, np.sort(np.array(selected_old, int)), np.sort(np.array(selected_new, int))


def _spread_evenly(rows, n):
    """Return `n` rows of an array, evenly spread."""
    return rows[np.linspace(0, len(rows) - 1, n).round().astype(int)]


def _select(runs, rows):
    """Select intervals of some runs.

    The intervals of all runs are numbered consecutively.
    """
    selected = []
    first = 0  # number of the first interval of the run
    for counts, running in runs:
        rows_of_run = rows[(rows >= first) & (rows < first + len(counts))] - first
        first += len(counts)
        if len(rows_of_run):
            selected.append(_cut(counts, running, rows_of_run))
    return selected


def _cut(counts, running, rows):
    """Select rows of counts and running shares, and close the gaps in time."""
    ends = interval_lengths(counts)[rows].cumsum()
    return counts.iloc[rows].set_axis(ends), running.iloc[rows].set_axis(ends)


def _compare_parts(recordings, measure, smallest):
    """Compare the quantities that `measure` computes of each part of two recordings."""
    old, new = (pd.DataFrame([measure(part) for part in _cut_into_parts(runs)]) for runs in recordings)
    return compare_ratios(old, new, smallest)


def _cut_into_parts(runs):
    """Yield the counts and running shares of consecutive parts of the runs.

    There are at least eight parts if the runs have enough intervals.
    """
    n_parts = math.ceil(_FEWEST_PARTS / len(runs))
    for counts, running in runs:
        for rows in np.array_split(np.arange(len(counts)), min(n_parts, len(counts))):
            yield _cut(counts, running, rows)


def _compute_levels(part):
    """Return the quantities of a part that do not grow with its length."""
    return {name: level for name, level in levels(part[0]).items() if name not in EXTENSIVE_LEVELS}


def _compute_rates(part):
    """Return the events per 1,000 cycles of a part, or {} without cycles."""
    return 1000 * topdown.totals([part])["rate"] if "cycles" in part[0] else {}


def _compare_accounts(recordings, matched, smallest):
    """Compare the bounds of each category of slots."""
    old_categories, new_categories = (
        _bound_categories(name, metas, runs)
        for (name, metas, _), runs in zip(recordings, matched, strict=True)
    )
    rows = []
    for name, old in old_categories.items():
        if name not in new_categories:
            continue
        new = new_categories[name]
        low = new["low"] - old["high"]
        high = new["high"] - old["low"]
        rows.append(
            {
                "name": name,
                "old": [old["low"], old["high"]],
                "new": [new["low"], new["high"]],
                "low": low,
                "high": high,
                "differs": max(low, -high) > 100 * smallest,
            }
        )
    return rows


def _bound_categories(name, metas, runs):
    """Return the bounds of each category of slots, or {} if no slots were counted."""
    account = summarize_runs(name, metas, runs)["account"]
    if not account:
        return {}
    return {row["name"]: row for row in account["categories"]}
