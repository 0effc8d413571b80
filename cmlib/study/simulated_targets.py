"""Which simulated event is explained where no IPC is known, and what that has to do with speed."""

from cmlib import store
from cmlib.events import simulated_events
from cmlib.events.leaks import is_simulated_leak
from cmlib.study.units import INSTRUCTIONS


def charged_shares(url, run_ids):
    """Shares of KCachegrind's cycle estimate that simulated events are charged with.

    Parameters
    ----------
    url : str
    run_ids : iterable of str

    Returns
    -------
    Series
        Event to share (0–1), mean of the runs; 0 for those that the estimate leaves out.
    """
    weights = simulated_events()["weight"]
    totals = [store.load(url, run_id).counts.sum() for run_id in run_ids]
    cycles = [(total * weights.reindex(total.index)).fillna(0) for total in totals]
    return sum(one / one.sum() for one in cycles) / len(cycles)


def say_charged(event, shares, possible):
    """What a simulated event has to do with the speed of a program.

    Parameters
    ----------
    event : str
    shares : Series
        From :func:`charged_shares`.
    possible : list of str
        Events that could be explained, by falling share.

    Returns
    -------
    str
        A clause.
    """
    of_all = f"of KCachegrind's cycle estimate, {100 * shares.get(event, 0):.0f} %"
    if not shares.get(event, 0):
        return "a count that KCachegrind's cycle estimate leaves out"
    if event == shares.drop(INSTRUCTIONS).idxmax():
        return f"the modelled event with the largest share, beside instructions, {of_all}"
    if event == possible[0]:
        return (
            f"of the modelled events that happen nearly all the time the one with the largest share {of_all}"
        )
    return f"a modelled event with a share {of_all}"


def say_simulated_target(target, counted, possible):
    """What is explained of a simulated program, what is left out of the model, and what else could be explained.

    Parameters
    ----------
    target : Target
    counted, possible : iterable of str
        All events, and those that could be explained.

    Returns
    -------
    str
        Sentences.
    """
    alike = [event for event in sorted(counted) if is_simulated_leak(event, target.event)]
    alike = [event for event in alike if event not in target.events]
    left_out = f" Left out, as they count some of the same: {_code(alike)}." if alike else ""
    others = [event for event in possible if event not in target.events]
    choice = f" Others by `-p target=…`: {_code(others)}." if others else ""
    return (
        f"What is explained is **{target.name}**: no cycles are simulated, so that there is no IPC.{left_out} The "
        "model takes one run of each program; another one executes the same instructions, and would test "
        f"nothing.{choice}"
    )


def _code(names):
    return ", ".join(f"`{name}`" for name in names)
