"""Describe what makes a recording hard to trust: events that were hardly counted, running shares not known, and so on.

:func:`describe_doubts` returns sentences, one for each doubt; they are the remarks below a summary.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from cmlib.topdown.category_tables import tables
from cmlib.topdown.costs import known_costs, read_costs
from cmlib.topdown.run_levels import totals
from cmlib.topdown.table_choice import choose_table

if TYPE_CHECKING:
    import pandas as pd

_THIN = 0.05  # running share below which a remark says that the event's total is not to be trusted
_MOST_NAMED = 3  # longer lists of events are cut short
_SHORT_S = 0.01  # time below which the start of the process is a large part of a run
# Kinds of perf's generic stall events, which count different things on different processors.
_GENERIC_STALLS = ("front-end stall", "back-end stall")


def describe_doubts(
    runs: Sequence[tuple[pd.DataFrame, pd.DataFrame]],
    *,
    hidden: Collection[str],
    uncounted: Collection[str],
    core: str,
    is_user: bool,
    processor: str | None,
    levels: Mapping[str, float],
    account: dict | None,
    impossible: Mapping[str, str],
) -> list[str]:
    """Describe what makes a recording hard to trust.

    Parameters
    ----------
    runs : sequence of (DataFrame, DataFrame)
        Counts and running shares of each run, without impossible counts.
    hidden, uncounted : collection of str
        Events with zeros that had no turn on a counter; events that were not counted at all.
    core : str
        PMU of the one kind of core that was counted; "" if there is only one kind.
    is_user : bool
        True if only user mode was counted.
    processor : str or None
        Name of the processor; None if not known.
    levels : dict of str to float
        Levels of the program, as they are shown.
    account : dict or None
        The part ``account`` of the summary.
    impossible : dict of str to str
        Why an event can't be true, by event.

    Returns
    -------
    list of str
        Sentences, the most important first.
    """
    is_exact = account is not None and account["how"] == "counted"
    sentences = [
        _describe_short_run(levels),
        _describe_impossible(impossible),
        _describe_core(core),
        _describe_user_mode(is_user),
    ]
    if core and not processor and account and not is_exact:
        sentences.append(f"The costs of events on {core} are not known: the bounds are the widest.")
    if hidden:
        names = _enumerate_some(sorted(hidden))
        sentences.append(
            f"These had no turn on a counter (zeros up to the end of the list), and are left out: {names}."
        )
    if uncounted:
        sentences.append(f"Not counted at all, or not supported: {_enumerate_some(sorted(uncounted))}.")
    if any(running.isna().any(axis=None) for _, running in runs):
        sentences.append("The recording contains no running shares.")
    sentences.append(_describe_thin(runs, account))
    if not is_exact:
        sentences.append(_describe_stalls(runs, processor))
    sentences.append(_describe_other_table(runs, processor))
    return [sentence for sentence in sentences if sentence]


def _describe_short_run(levels):
    """Warn of a run that is so short that starting the process is a large part of it."""
    seconds = levels.get("seconds", _SHORT_S)
    if not levels.get("faults") or seconds >= _SHORT_S:
        return ""
    return f"It ran for {1000 * seconds:.2g} ms: much of that may be the start of a process."


def _describe_impossible(impossible):
    """Name the counts that can't be true, each reason once."""
    if not impossible:
        return ""
    reasons = "; ".join(dict.fromkeys(impossible.values()))
    return f"These can't be true, or not together, and nothing is concluded from them: {reasons}."


def _describe_core(core):
    """Explain that counts of one kind of core are scaled to the whole time."""
    if not core:
        return ""
    return (
        f"These are the counts of one kind of core, {core}. If the program also ran on other kinds, perf scales the "
        "counts to its whole time: ratios hold, but totals and rates per second do not."
    )


def _describe_user_mode(is_user):
    """Explain what is missing where only user mode was counted."""
    if not is_user:
        return ""
    return "Only user mode was counted: the kernel's work is not included, and the clock [GHz] is not known."


def _describe_thin(runs, account):
    """Name the events that were counted for a small part of the time, and whether the account uses them."""
    thin = set()
    for _, running in runs:
        share = running.mean(skipna=False)
        thin.update(share.index[share < _THIN])
    if not thin:
        return ""
    sentence = f"Counted for less than {100 * _THIN:.0f} % of the time: {_enumerate_some(sorted(thin))}"
    categories = account["categories"] if account else []
    used = {event for category in categories for event in category["events"]}
    if used and not thin & used:  # printed shares name no events
        sentence += "; not used for these shares"
    return f"{sentence}."


def _describe_stalls(runs, processor):
    """Give the stalled cycles that perf's generic events count [% of the cycles]."""
    rates = totals(runs)["rate"]
    costs = read_costs()
    stalls = {event: 100 * rate for event, rate in rates.items() if costs.kind(event) in _GENERIC_STALLS}
    if not stalls:
        return ""
    listed = ", ".join(f"{event} {percent:.3g} %" for event, percent in stalls.items())
    sentence = f"Stalled cycles: {listed} of the cycles"
    if not processor:
        sentence += (
            "; they bound nothing, because the processor is not known and each one counts different cycles as "
            "stalled; name it with --processor"
        )
    return f"{sentence}."


def _describe_other_table(runs, processor):
    """Warn if the counts fit the table of another processor than the given one."""
    if processor not in tables():
        return ""
    rates = totals(runs)["rate"]
    table = choose_table(rates.index, processor, rates)
    if table is None or table.name == processor or table.name not in known_costs():
        return ""
    return (
        f"The processor is given as {processor}, but the counted events fit the account of {table.name}: check "
        "--processor."
    )


def _enumerate_some(names):
    """Return names as text; of more than three the first one, and how many more there are."""
    if len(names) > _MOST_NAMED:
        return f"{names[0]} and {len(names) - 1} more"
    return ", ".join(names)
