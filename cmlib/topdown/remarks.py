"""Describe what makes a recording hard to trust: events that were hardly counted, shares not known, and so on.

:func:`describe_doubts` returns sentences.
"""

import numpy as np

from cmlib.templates import template
from cmlib.topdown.category_tables import tables
from cmlib.topdown.costs import known_costs, read_costs
from cmlib.topdown.run_levels import totals
from cmlib.topdown.table_choice import choose_table

_SENTENCES = template("cmlib.topdown", "sentences.j2").module  # macros that turn numbers into sentences
_THIN = 0.05  # running share below which a remark says that the event's total is not to be trusted
# Kinds of perf's generic stall events, which count different things on different processors.
_GENERIC_STALLS = ("front-end stall", "back-end stall")


def describe_doubts(runs, hidden, uncounted, core, is_user, processor, level, account, odd):
    """Sentences on what makes the recording hard to trust: events hardly counted, shares not known, and so on."""
    untold = any(np.isnan(running.to_numpy(float)).any() for _, running in runs)
    shares = [running.mean(skipna=False) for _, running in runs]
    exact = bool(account) and account["how"] == "counted"
    thin = sorted({event for share in shares for event in share.index[share < _THIN]})
    rows = account["categories"] if account else ()
    used = {event for row in rows for event in row["events"]} or thin  # those of printed shares name none
    unknown_costs = core and not processor and account and not exact
    rates = totals(runs)["rate"] if not exact else {}
    stalls = {name: 100 * rate for name, rate in rates.items() if read_costs().kind(name) in _GENERIC_STALLS}
    lacking = sorted(hidden), sorted(uncounted), untold, 100 * _THIN, thin, not {*thin} & {*used}
    others, why = _others_table(runs, processor), list(dict.fromkeys(odd.values()))
    text = _SENTENCES.remarks(core, is_user, unknown_costs, *lacking, stalls, processor, others, why, level)
    return text.split("\n")[:-1]


def _others_table(runs, processor):
    """Return the name of another processor than `processor` whose table fits the counts; "" if there is none."""
    if processor not in tables():
        return ""
    rates = totals(runs)["rate"]
    table = choose_table(rates.index, processor, rates)
    return table.name if table and table.name != processor and table.name in known_costs() else ""
