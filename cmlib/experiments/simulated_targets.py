"""Which simulated event is explained where no IPC is known, and what that has to do with speed."""

from cmlib.io import store
from cmlib.io.events import simulated_events
from cmlib.io.recording import INSTRUCTIONS
from cmlib.rank.leaks import is_simulated_leak


def charged_shares(url, run_ids):
    """Shares of KCachegrind's cycle estimate that simulated events are charged with."""
    weights = simulated_events()["weight"]
    totals = [store.load(url, run_id).counts.sum() for run_id in run_ids]
    cycles = [(total * weights.reindex(total.index)).fillna(0) for total in totals]
    return sum(one / one.sum() for one in cycles) / len(cycles)


def say_charged(event, shares, possible):
    """What a simulated event has to do with the speed of a program."""
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
    """What is explained of a simulated program, what is left out of the model, and what else could be
    explained."""
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
