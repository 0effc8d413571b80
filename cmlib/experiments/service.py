"""Compare two recordings of a service, before and after a change, over intervals in which both had equal loads.

:func:`compare_services` takes the counts and metadata of both, and returns a dict with the verdict ("differs", "no
change", "inconclusive" or "not comparable"), and ratios (new to old) of levels and rates with confidence intervals. The
intervals of all levels together have a confidence of 95 %, and so do those of all rates. Levels are quantities such as
instructions per cycle or clock. The account is the shares of the pipeline's slots by category (front end, back end, bad
speculation, retired). CmlibError if a recording has no intervals, or did not count the load.
"""

import numpy as np
import pandas as pd

from cmlib import topdown
from cmlib.errors import CmlibError
from cmlib.experiments.ratio_tables import DIFFERS, INCONCLUSIVE, NO_CHANGE, NOT_COMPARABLE, compare_ratios
from cmlib.experiments.summary import summarize_runs
from cmlib.io.archive.runs import are_totals
from cmlib.topdown.run_levels import EXTENSIVE, interval_lengths, levels

SCHEMA = 1
_STEP = 1.1  # ratio of the largest to the smallest load in a phase
_FEWEST = 8  # intervals of the same load; parts of a recording by which variation is estimated


def compare_services(old, new, *, load="instructions", smallest=0.25):
    """Compare levels, shares of the slots and rates of two recordings, over intervals of equal load.

    Intervals are grouped by their load (throughput) into groups that are 10 % wide. From each group, the same number of
    intervals is used of both recordings, evenly spread over time (coarsened exact matching).

    Parameters
    ----------
    old, new : (str, sequence of dict, sequence of (DataFrame, DataFrame))
        Name, metadata and runs. A run is its counts and running shares (0 to 1): one row per interval [index: its end,
        s], one column per event.
    load : str, default "instructions"
        Event; its count per second is the load.
    smallest : float, default 0.25
        Smallest relevant change. Of a level or rate, it is a ratio of 1 + `smallest` or its reciprocal. Of the account,
        it is the distance between the bounds of both recordings, as a share of the slots.

    Returns
    -------
    dict
        The output of ``cmlib compare --recordings --json``:

        - ``schema``, ``load``, ``old`` and ``new`` (names).
        - ``verdict``: ``differs``; ``no change``, if the confidence intervals of all levels and rates exclude a
          relevant change; ``inconclusive``; or ``not comparable``, if there are fewer than eight intervals of equal
          load.
        - ``phases``: list of dicts with ``from`` and ``to`` (load per second), ``old`` and ``new`` (numbers of
          intervals) and ``comparable``.
        - ``levels`` and ``rates`` (events per 1,000 cycles): lists of dicts as
          :func:`cmlib.experiments.ratio_tables.compare_ratios` returns them; their means are over parts of the matched
          intervals. ``rates`` is empty if cycles were not counted.
        - ``account``: list of dicts with ``name``, ``old`` and ``new`` ([low, high] [% of the slots]), ``low`` and
          ``high`` (of the difference) and ``differs``.

        The last three are empty if the verdict is ``not comparable``.

    Raises
    ------
    CmlibError
        If a recording has totals of whole runs instead of intervals, or one of its runs did not count the load.
    """
    answer = {"schema": SCHEMA, "load": load, "old": old[0], "new": new[0]}
    groups = [_group_by_load(*recording, load) for recording in (old, new)]
    answer["phases"], (old_rows, new_rows) = _match(*groups)
    if min(len(old_rows), len(new_rows)) < _FEWEST:
        return answer | {"verdict": NOT_COMPARABLE, "levels": [], "account": [], "rates": []}
    matched = [_select(old[2], old_rows), _select(new[2], new_rows)]
    tables = {
        "levels": _compare_parts(matched, _compute_levels, smallest),
        "rates": _compare_parts(matched, _compute_rates, smallest),
        "account": _compare_accounts((old, new), matched, smallest),
    }
    return answer | {"verdict": _judge(tables, load)} | tables


def _judge(tables, load):
    """Return the verdict on all tables: "no change" only if every level and rate is known to have changed little.

    The number of the event `load` per second is left out, since the intervals were chosen to be equal in it.
    """
    if any(row["differs"] for table in tables.values() for row in table):
        return DIFFERS
    outcomes = [row for row in tables["levels"] + tables["rates"] if row["name"] != f"{load} a second"]
    undecided = any(row["verdict"] == INCONCLUSIVE for row in outcomes)
    return INCONCLUSIVE if undecided else NO_CHANGE


def _group_by_load(name, metas, runs, event):
    """Return the number of each interval's group (array), those of all runs together; NaN where no load was counted.

    A group has loads [events per second] between two powers of the ratio `_STEP`.
    """
    if are_totals(metas[0]):
        raise CmlibError(
            f"{name} has totals of whole runs, and the other recording has intervals. Record both with intervals "
            "(perf stat -I 1000), or both as totals of three or more runs (perf stat -r 5)."
        )
    if any(event not in counts for counts, _ in runs):
        raise CmlibError(f"{name} did not count {event} in all runs: give --load an event that both have")
    loads = np.concatenate([(counts[event] / interval_lengths(counts)).to_numpy(float) for counts, _ in runs])
    loads = np.where(loads > 0, loads, np.nan)
    return np.floor(np.log(loads) / np.log(_STEP))


def _match(old, new):
    """Match the intervals of two recordings by load.

    `old` and `new` are the numbers of the intervals' groups. Return the groups (list of dicts), and for each recording
    the numbers of its matched intervals.
    """
    phases = []
    matched_rows = ([], [])
    for group in sorted({*old[np.isfinite(old)], *new[np.isfinite(new)]}):
        old_rows = np.flatnonzero(old == group)
        new_rows = np.flatnonzero(new == group)
        n = min(len(old_rows), len(new_rows))
        matched_rows[0].extend(_spread_evenly(old_rows, n))
        matched_rows[1].extend(_spread_evenly(new_rows, n))
        phases.append(
            {
                "from": _STEP**group,
                "to": _STEP ** (group + 1),
                "old": len(old_rows),
                "new": len(new_rows),
                "comparable": n > 0,
            }
        )
    return phases, [np.sort(np.array(rows, int)) for rows in matched_rows]


def _spread_evenly(rows, n):
    """Return `n` of the rows (array), evenly spread over all of them."""
    return rows[np.linspace(0, len(rows) - 1, n).round().astype(int)]


def _select(runs, rows):
    """Return the runs with some of their intervals; `rows` are numbers of the intervals of all runs together."""
    selected, first = [], 0
    for counts, running in runs:
        selected_rows = rows[(rows >= first) & (rows < first + len(counts))] - first
        first += len(counts)
        if len(selected_rows):
            selected.append(_cut(counts, running, selected_rows))
    return selected


def _cut(counts, running, rows):
    """Return (counts, running) of some intervals of a run, with index values as if they were consecutive."""
    ends = interval_lengths(counts)[rows].cumsum()
    return counts.iloc[rows].set_axis(ends), running.iloc[rows].set_axis(ends)


def _compare_parts(recordings, measure, smallest):
    """Compare the quantities that `measure` computes of each part of both recordings; a list of dicts."""
    old, new = (pd.DataFrame(list(map(measure, _cut_into_parts(runs)))) for runs in recordings)
    return compare_ratios(old, new, smallest)


def _cut_into_parts(runs):
    """Yield (counts, running) of consecutive parts of the runs, at least eight in all if there are enough intervals."""
    pieces = -(-_FEWEST // len(runs))
    for counts, running in runs:
        for rows in np.array_split(np.arange(len(counts)), min(pieces, len(counts))):
            yield _cut(counts, running, rows)


def _compute_levels(part):
    """Compute the levels of a part that don't grow with its length: a dict."""
    return {name: level for name, level in levels(part[0]).items() if name not in EXTENSIVE}


def _compute_rates(part):
    """Compute the events per thousand cycles of a part; empty if cycles were not counted."""
    return 1000 * topdown.totals([part])["rate"] if "cycles" in part[0] else {}


def _compare_accounts(recordings, matched, smallest):
    """Return the bounds of both recordings and of their difference [%] for each category of slots: a list of dicts."""
    old_categories, new_categories = (
        _bound_categories(name, metas, runs)
        for (name, metas, _), runs in zip(recordings, matched, strict=True)
    )
    rows = []
    for name, old in old_categories.items():
        if name not in new_categories:
            continue
        new = new_categories[name]
        low, high = new["low"] - old["high"], new["high"] - old["low"]
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
    """Return the rows of a recording's account by category: a dict, empty without an account."""
    account = summarize_runs(name, metas, runs)["account"]
    return {row["name"]: row for row in account["categories"]} if account else {}
