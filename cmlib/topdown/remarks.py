"""Write the remarks below a summary, which say why the counts may be unreliable.

For example, some events were counted for a small part of the time, or their counts are impossible.
:func:`describe_doubts` returns one sentence per reason.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from cmlib.topdown.category_tables import tables
from cmlib.topdown.costs import known_costs, read_costs
from cmlib.topdown.event_totals import totals
from cmlib.topdown.table_choice import choose_table

if TYPE_CHECKING:
    import pandas as pd

_HARDLY_COUNTED = 0.05  # running share below which the total of an event is unreliable
_MOST_NAMED = 3  # longer lists of events are shortened
_SHORT_S = 0.01  # in a shorter run, the start of the process takes a large part of the time
# Kinds of perf's generic stall events. They count different cycles on different processors.
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
    """Describe why the counts of a recording may be unreliable.

    Parameters
    ----------
    runs : sequence of (DataFrame, DataFrame)
        Counts and running shares of each run, without impossible counts. A running share is the fraction of the time in
        which the event was counted.
    hidden : collection of str
        Events that were recorded as 0 although they were not counted.
    uncounted : collection of str
        Events that were recorded as not counted.
    core : str
        Name of the PMU that counted, for example "cpu_atom". Empty if the processor has only one kind of core.
    is_user : bool
        True if only user mode was counted.
    processor : str or None
        Name of the processor. None if not known.
    levels : dict of str to float
        Figures of the program, for example ``seconds``.
    account : dict or None
        The key ``account`` of the summary.
    impossible : dict of str to str
        Reasons why counts are impossible, keyed by event name.

    Returns
    -------
    list of str
        One sentence per reason, the most important first. Empty if no reason was found.
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
    sentences.append(_describe_hardly_counted(runs, account))
    if not is_exact:
        sentences.append(_describe_stalls(runs, processor))
    sentences.append(_describe_other_table(runs, processor))
    return [sentence for sentence in sentences if sentence]


def _describe_short_run(levels):
    """Warn of a short run, in which the start of the process takes a large part of the time."""
    seconds = levels.get("seconds", _SHORT_S)
    if not levels.get("faults") or seconds >= _SHORT_S:
        return ""
    return f"It ran for {1000 * seconds:.2g} ms: much of that may be the start of a process."


def _describe_impossible(impossible):
    """Give the reasons why counts are impossible, each once."""
    if not impossible:
        return ""
    reasons = "; ".join(dict.fromkeys(impossible.values()))
    return f"These counts are impossible or contradict each other, so they are not used: {reasons}."


def _describe_core(core):
    """Explain that perf scales the counts of one kind of core to the whole time."""
    if not core:
        return ""
    return (
        f"These are the counts of one kind of core, {core}. If the program also ran on other kinds, perf scales the "
        "counts to its whole time: ratios hold, but totals and rates per second do not."
    )


def _describe_user_mode(is_user):
    """Explain what is missing if only user mode was counted."""
    if not is_user:
        return ""
    return "Only user mode was counted: the kernel's work is not included, and the clock [GHz] is not known."


def _describe_hardly_counted(runs, account):
    """Name the events that were counted for a small part of the time, and say if the account does not use them."""
    hardly_counted = set()
    for _, running in runs:
        mean_shares = running.mean(skipna=False)
        hardly_counted.update(mean_shares.index[mean_shares < _HARDLY_COUNTED])
    if not hardly_counted:
        return ""
    names = _enumerate_some(sorted(hardly_counted))
    sentence = f"Counted for less than {100 * _HARDLY_COUNTED:.0f} % of the time: {names}"
    categories = account["categories"] if account else []
    used_events = {event for category in categories for event in category["events"]}
    # An account that is based on printed shares has no events.
    if used_events and not hardly_counted & used_events:
        sentence += "; not used for these shares"
    return f"{sentence}."


def _describe_stalls(runs, processor):
    """Give the stalled cycles [% of the cycles] that perf's generic events count."""
    rates = totals(runs)["rate"]
    costs = read_costs()
    stalls = {event: 100 * rate for event, rate in rates.items() if costs.kind(event) in _GENERIC_STALLS}
    if not stalls:
        return ""
    counted_stalls = ", ".join(f"{event} {percent:.3g} %" for event, percent in stalls.items())
    sentence = f"Stalled cycles: {counted_stalls} of the cycles"
    if not processor:
        sentence += (
            "; they bound nothing, because the processor is not known and each one counts different cycles as "
            "stalled; name it with --processor"
        )
    return f"{sentence}."


def _describe_other_table(runs, processor):
    """Warn if the counted events fit the top-down table of a processor other than the given one."""
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
    """Join up to three names. Of more names, give the first and the number of the others."""
    if len(names) > _MOST_NAMED:
        return f"{names[0]} and {len(names) - 1} more"
    return ", ".join(names)
