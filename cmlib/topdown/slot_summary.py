"""Summarize the use of a program's slots.

A slot is an opportunity to begin one operation in a cycle. It retires an operation, or it is lost to the front end, the
back end or bad speculation. :func:`summarize_slots` takes the counts of some runs. It returns a :class:`SlotSummary`
with the bounds of each use, the limit of the program, and advice.
"""

from dataclasses import dataclass, field

import pandas as pd

from cmlib.shell import command_line
from cmlib.topdown.bounded_account import Bounds, bounds
from cmlib.topdown.category_tables import LOSSES, read_table
from cmlib.topdown.costs import UNKNOWN, read_costs
from cmlib.topdown.deciding_command import command_for_intervals, command_for_totals
from cmlib.topdown.event_totals import totals
from cmlib.topdown.loss_advice import advise_on_losses, read_advice
from cmlib.topdown.runtimes import advice_for
from cmlib.topdown.sentences import describe_disputed, describe_slots
from cmlib.topdown.table_choice import slots_as_cycles
from cmlib.topdown.verdict import Bottleneck, find_bottleneck

_POSSIBLY_ZERO = 0.005  # a category with a lower bound up to this share of the slots may be empty
_CLEARLY_LOWER = 0.9  # a part is shown if its upper bound is below this fraction of its parent's upper bound
_EQUAL = 0.01  # difference between shares of the slots up to which they are taken as equal
_PARTS_COUNTED_IN_SLOTS = ("front-end latency", "front-end bandwidth", "memory", "core")
# The two parts that add up to a category.
_PAIRS = {"front end": {"front-end latency", "front-end bandwidth"}, "back end": {"memory", "core"}}
_DEFAULT_TABLE = "amd_zen5"  # if a processor has no top-down table, the advice of this table is given
# On these processors, an event counts the slots that the other thread of the core takes.
_PROCESSORS_WITH_OTHER_THREAD_EVENT = ("amd_zen4", "amd_zen5")
_OTHER_THREAD_EVENT = "cpu/event=0x1a0,umask=0x60,name=de_no_dispatch_per_slot.smt_contention/"


@dataclass(frozen=True)
class RecordingInfo:
    """Description of a recording, without its counts.

    Attributes
    ----------
    processor : str or None
        Name of the processor. None if not known.
    modifier : str
        Modifier of the events, for example "u" for user mode.
    core : str
        Name of the PMU that counted, for example "cpu_atom". Empty if the processor has only one kind of core.
    metric_group : str
        Name of a metric group in the perf of the recording machine, for example "TopdownL1". Perf computes the shares
        of level 1 from the events of this group. Empty if perf has no such group.
    runtime : str
        Language runtime of the program, for example "JVM". Empty if not known.
    command : str
        Command line of the program. Empty if not known.
    interval_ms : float
        Length of an interval [ms].
    whole_runs : bool
        True if each row has the totals of one run.
    ghz : float or None
        Clock [GHz]. None if not known.
    printed : dict of str to float
        Shares of slots (0–1) and IPC that the recording tool printed.
    savings : list of dict
        Cycles that the program would save if a cache had no misses, from
        :func:`cmlib.cost.savings_without_misses`.
    """

    processor: str | None = None
    modifier: str = ""
    core: str = ""
    metric_group: str = ""
    runtime: str = ""
    command: str = ""
    interval_ms: float = 1000.0
    whole_runs: bool = False
    ghz: float | None = None
    printed: dict = field(default_factory=dict)
    savings: list = field(default_factory=list)

    @property
    def costs(self):
        """Costs of the processor's events (:class:`cmlib.topdown.costs.Costs`)."""
        return read_costs(self.processor or UNKNOWN)


@dataclass(frozen=True)
class SlotSummary:
    """Use of a program's slots, and the loss that limits the program.

    Attributes
    ----------
    totals : DataFrame
        Events per cycle, one row per event. Events are left out if they do not count what their names say.
    category_bounds : cmlib.topdown.bounded_account.Bounds
        Lower and upper bound of each category.
    verdict : cmlib.topdown.verdict.Bottleneck
        The loss that limits the program, and how certain this is.
    advice_by_category : dict of str to str
        What to try against each loss.
    account : dict or None
        The key ``account`` of the summary, which `docs/summary.md` describes. None if nothing is known about the slots.
    short_command : str
        A perf command that records totals and shows which loss is the largest. Empty if no such command is known.
    has_slot_events : bool
        True if an event counts slots or stalled cycles, or if the recording tool printed shares of the slots.
    """

    totals: pd.DataFrame
    category_bounds: Bounds
    verdict: Bottleneck
    advice_by_category: dict
    account: dict | None
    short_command: str
    has_slot_events: bool


def summarize_slots(runs, recording):
    """Summarize the use of a program's slots.

    Parameters
    ----------
    runs : list of (DataFrame, DataFrame)
        Counts and running shares of each run. Both have one row per interval and one column per event. A running share
        is the fraction of the interval in which the event was counted.
    recording : RecordingInfo
        Description of the recording.

    Returns
    -------
    SlotSummary
    """
    runs = [slots_as_cycles(counts, running) for counts, running in runs]
    costs = recording.costs
    all_totals = totals(runs)
    category_bounds = bounds(
        all_totals, costs, ghz=recording.ghz, printed=recording.printed, savings=recording.savings
    )
    usable_totals = all_totals.drop(index=list(category_bounds.doubtful))
    verdict = find_bottleneck(category_bounds, usable_totals, costs)
    advice_by_category = _read_advice(recording)
    metric_groups = _find_metric_groups(recording)
    has_printed_shares = bool(category_bounds.printed or category_bounds.disputed)
    knows_something = "instructions" in all_totals.index or category_bounds.gap or has_printed_shares
    account = None
    if verdict.certainty != "open" or knows_something:
        other_thread_command = _command_to_count_other_thread(category_bounds, all_totals, recording)
        command = other_thread_command or command_for_intervals(verdict, metric_groups, recording)
        account = _describe_account(category_bounds, verdict, advice_by_category, recording, command)
        if other_thread_command:
            account["text"] += (
                " On this processor the other thread of the core takes slots too, and these were not counted: "
                "`de_no_dispatch_per_slot.smt_contention` counts them."
            )
    return SlotSummary(
        totals=usable_totals,
        category_bounds=category_bounds,
        verdict=verdict,
        advice_by_category=advice_by_category,
        account=account,
        short_command=command_for_totals(verdict, metric_groups, recording),
        has_slot_events=has_printed_shares or _is_bounded_by_slot_events(category_bounds.shares),
    )


def is_bounded(shares, name):
    """Return True if something is known about the size of a loss.

    A loss is between 0 and the share of all lost slots, even if no event bounds it.

    Parameters
    ----------
    shares : DataFrame
        Lower and upper bound of each category, from :class:`cmlib.topdown.Bounds`.
    name : str
        Name of the loss, for example "front end".

    Returns
    -------
    bool
        True if the lower bound is above 0, or if the upper bound is below the share of all lost slots.
    """
    low, high = shares.loc[name, ["low", "high"]]
    most_lost = 1 - shares.at["retired", "low"]
    return low > _POSSIBLY_ZERO or high < most_lost - _EQUAL


def percent(share):
    """Convert a share (0–1) to percent with two decimals."""
    return round(100 * float(share), 2)


def _is_bounded_by_slot_events(shares):
    """Return True if an event directly bounds a loss or a part that is counted in slots or stalled cycles."""
    return any(shares.at[name, "events"] for name in (*LOSSES, *_PARTS_COUNTED_IN_SLOTS))


def _read_advice(recording):
    """Return the advice on each category for the recorded processor and language runtime."""
    table = read_table(recording.costs.table or _DEFAULT_TABLE)
    processor = recording.processor or ("intel" if recording.core else "")
    return read_advice(table, advice_for(recording.runtime), processor)


def _find_metric_groups(recording):
    """Return the metric groups from which perf computes the shares of level 1.

    The keys are processors, and the values are names of groups. An unknown processor has several entries. If the perf
    of the recording machine has such a group, the only key is "".
    """
    if recording.metric_group:
        return {"": recording.metric_group}
    return read_costs("intel" if recording.core else recording.costs.name).metrics


def _describe_account(category_bounds, verdict, advice_by_category, recording, command):
    """Return the key ``account`` of the summary as a dict.

    `command` is the perf command that shows which loss is the largest.
    """
    shares = category_bounds.shares
    advice = []
    if not category_bounds.gap:
        advice = advise_on_losses(shares, verdict, advice_by_category, recording.savings)
    answer = {
        "how": verdict.certainty,
        "limits": list(verdict.limits),
        "categories": [_describe_category(row) for row in _select_shown_rows(shares)],
        "adds_up_to": percent(1 + category_bounds.gap),
        "printed": category_bounds.printed,
        "printed_adds_up_to": percent(1 + category_bounds.printed_gap),
        "disputed": {name: percent(share) for name, share in category_bounds.disputed.items()},
        "stalls": {name: percent(share) for name, share in verdict.stalls.items()},
        "contradiction": percent(category_bounds.contradiction),
        "doubtful": list(category_bounds.doubtful),
        "decide": command,
        "advice": advice,
    }
    unbounded = [name for name in LOSSES if not is_bounded(shares, name)]
    # One unbounded loss is the share of all lost slots minus the two other losses, so its bounds are given.
    if len(unbounded) == 1:
        unbounded = []
    text = describe_slots(answer, unbounded, recording.printed)
    return answer | {"text": text, "disputed_text": describe_disputed(answer)}


def _command_to_count_other_thread(category_bounds, all_totals, recording):
    """Return the perf command that counts the slots of the core's other thread, or "".

    It is returned if the shares of level 1 add up to less than 1, and if these slots could be counted but were not.
    """
    is_sum_too_low = category_bounds.gap < 0 or category_bounds.printed_gap < 0
    is_counted = any("smt_contention" in event for event in all_totals.index)
    has_event = recording.processor in _PROCESSORS_WITH_OTHER_THREAD_EVENT
    if not has_event or not is_sum_too_low or is_counted:
        return ""
    return command_line("perf", "stat", "-M", "PipelineL1", "-e", _OTHER_THREAD_EVENT, "--", "COMMAND")


def _select_shown_rows(shares):
    """Select the categories that are shown, parents before their parts.

    A category is shown if one of these conditions is true:

    - It is on level 1.
    - Its lower bound is above 0.5 % of the slots.
    - An event bounds it, and its upper bound is below 90 % of its parent's upper bound.
    - One of its parts is shown.
    - It is one of two parts that add up to a category, the other part is shown, and the bounds differ from the bounds
      of that category.
    """
    shown = set()
    for row in shares.iloc[::-1].itertuples():  # parts come before their parents
        parent_high = shares["high"].get(row.parent, 0.0)
        is_clearly_lower = row.events and row.high < _CLEARLY_LOWER * parent_high
        if not row.parent or is_clearly_lower or row.low > _POSSIBLY_ZERO or row.Index in shown:
            shown |= {row.Index, row.parent}
    for category, parts in _PAIRS.items():
        for part in parts - shown:
            differs = any(shares.loc[part, ["low", "high"]] != shares.loc[category, ["low", "high"]])
            if shown & parts and differs:
                shown.add(part)
    return _order_rows([row for row in shares.itertuples() if row.Index in shown])


def _order_rows(rows, parent=""):
    """Yield the parts of a category, each followed by its own parts."""
    for row in rows:
        if row.parent == parent:
            yield row
            yield from _order_rows(rows, row.Index)


def _describe_category(row):
    """Return a category's bounds [%] as a JSON-serializable dict."""
    return {
        "name": row.Index,
        "parent": row.parent,
        "low": percent(row.low),
        "high": percent(row.high),
        "events": list(row.events),
    }
