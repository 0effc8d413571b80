"""Compare two recordings of a service, before and after a change, over intervals in which both had equal loads.

:func:`compare_services` takes the counts and metadata of both, and gives a dict: the verdict ("differs", "no
change", "inconclusive", "not comparable"), and ratios (new to old) of levels and rates with confidence intervals that
hold together at 95 %, those of levels and those of rates. Levels are quantities such as instructions per cycle or
clock; the account is the shares of the pipeline's slots by category (front end, back end, bad speculation, retired). A
CmlibError if a recording has no intervals, or did not count the load.
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

    Intervals are grouped by their load (throughput), 10 % wide; of each group, as many intervals are used of one
    recording as of the other, evenly spread over time (coarsened exact matching).

    Parameters
    ----------
    old, new : (str, sequence of dict, sequence of (DataFrame, DataFrame))
        Name, metadata and runs. A run is its counts and running shares (0 to 1): a row per interval [index: its end,
        s], a column per event.
    load : str, default "instructions"
        Event whose count per second is the load.
    smallest : float, default 0.25
        Smallest relevant change: of a level or rate a ratio of 1 + smallest or its reciprocal; of the account (the
        slots' shares by category) a share of the slots, by which the intervals of both are apart.

    Returns
    -------
    dict
        What ``cmlib compare --recordings --json`` prints: schema, load, old and new (names); verdict, which is
        ``differs``, ``no change`` (if the intervals of all levels and rates exclude a relevant change),
        ``inconclusive``, or, with fewer than eight intervals of equal load, ``not comparable``; and lists
        of dicts: phases (from, to: the load a second; old, new: numbers of intervals; comparable); levels and rates
        (name; old, new: geometric means over parts of the matched intervals, rates per 1,000 cycles; ratio: new/old,
        low, high: its confidence interval; verdict: "differs" if the ratio is relevant and 1 is outside,
        "no change" if the interval holds no relevant ratio, else "inconclusive"; differs); account (name; old,
        new: [low, high] [% of the slots]; low, high of the difference; differs). The last three are empty if the
        verdict is ``not comparable``, rates if cycles were not counted.

    Raises
    ------
    CmlibError
        If a recording has totals of whole runs instead of intervals, or a run of it did not count the load.
    """
    loads = [_loads(*recording, load) for recording in (old, new)]
    bins = [[np.floor(np.log(run) / np.log(_STEP)) for run in runs] for runs in loads]
    phases, matched_rows = _match(*map(np.concatenate, bins))
    answer = {"schema": SCHEMA, "load": load, "old": old[0], "new": new[0], "phases": phases}
    if min(map(len, matched_rows)) < _FEWEST:
        return answer | {"verdict": NOT_COMPARABLE, "levels": [], "account": [], "rates": []}
    matched = [_select(runs, rows) for (_, _, runs), rows in zip((old, new), matched_rows, strict=True)]
    measures = {"levels": _levels, "rates": _rates}
    tables = {name: _compare_parts(matched, measured, smallest) for name, measured in measures.items()}
    tables["account"] = _account((old, new), matched, smallest)
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


def _loads(name, metas, runs, event):
    """Load of each interval [events a second], by run; NaN where none was counted."""
    if are_totals(metas[0]):
        raise CmlibError(
            f"{name} has totals of whole runs, and the other recording has intervals. Record both with intervals "
            "(perf stat -I 1000), or both as totals of three or more runs (perf stat -r 5)."
        )
    if any(event not in counts for counts, _ in runs):
        raise CmlibError(f"{name} did not count {event} in all runs: give --load an event that both have")
    loads = [(counts[event] / interval_lengths(counts)).to_numpy(float) for counts, _ in runs]
    return [np.where(load > 0, load, np.nan) for load in loads]


def _match(old, new):
    """Groups by load (list of dicts), and for each recording the numbers of the intervals of equal loads.

    `old` and `new` are the numbers of the intervals' groups.
    """
    phases, matched_rows = [], ([], [])
    for step in sorted({*old[np.isfinite(old)], *new[np.isfinite(new)]}):
        rows = [np.flatnonzero(bins == step) for bins in (old, new)]
        n = min(map(len, rows))
        for taken, of_phase in zip(matched_rows, rows, strict=True):
            taken.extend(of_phase[np.linspace(0, len(of_phase) - 1, n).round().astype(int)] if n else ())
        numbers = {"old": len(rows[0]), "new": len(rows[1])}
        ends = {"from": _STEP**step, "to": _STEP ** (step + 1)}
        phases.append({**ends, **numbers, "comparable": n > 0})
    return phases, [np.sort(np.array(rows, int)) for rows in matched_rows]


def _select(runs, rows):
    """The runs with some intervals alone; `rows` number the intervals of all runs together."""
    selected, first = [], 0
    for counts, running in runs:
        selected_rows = rows[(rows >= first) & (rows < first + len(counts))] - first
        first += len(counts)
        if len(selected_rows):
            selected.append(_cut(counts, running, selected_rows))
    return selected


def _cut(counts, running, rows):
    """(counts, running) of some intervals of a run, as if they had come one after another."""
    ends = interval_lengths(counts)[rows].cumsum()
    return counts.iloc[rows].set_axis(ends), running.iloc[rows].set_axis(ends)


def _compare_parts(recordings, measure, smallest):
    """Compare the quantities that `measure` returns of each part of both recordings; a list of dicts."""
    old, new = (pd.DataFrame(list(map(measure, _parts(runs)))) for runs in recordings)
    return compare_ratios(old, new, smallest)


def _parts(runs):
    """Yield (counts, running) of consecutive parts of the runs, at least eight in all if there are enough intervals."""
    pieces = -(-_FEWEST // len(runs))
    for counts, running in runs:
        for rows in np.array_split(np.arange(len(counts)), min(pieces, len(counts))):
            yield _cut(counts, running, rows)


def _levels(part):
    """Dict of the levels of a part that don't grow with its length."""
    return {name: level for name, level in levels(part[0]).items() if name not in EXTENSIVE}


def _rates(part):
    """Events per thousand cycles."""
    return 1000 * topdown.totals([part])["rate"] if "cycles" in part[0] else {}


def _account(recordings, matched, smallest):
    """List of a dict for each category of slots: bounds of both recordings and of the difference [%]."""
    shares = []
    for (name, metas, _), runs in zip(recordings, matched, strict=True):
        account = summarize_runs(name, metas, runs)["account"]
        shares.append({row["name"]: row for row in account["categories"]} if account else {})
    rows = []
    for name, old in shares[0].items():
        if new := shares[1].get(name):
            low, high = new["low"] - old["high"], new["high"] - old["low"]
            ends = {form: [row["low"], row["high"]] for form, row in (("old", old), ("new", new))}
            differs = max(low, -high) > 100 * smallest
            rows.append({"name": name, **ends, "low": low, "high": high, "differs": differs})
    return rows
