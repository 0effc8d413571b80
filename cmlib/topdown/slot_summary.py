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
_CLEARLY_NARROWER = (
    0.9  # a part is shown if its upper bound is below this fraction of its parent's upper bound
)
_EQUAL = 0.01  # difference between shares of the slots up to which they are taken as equal
_PARTS_COUNTED_IN_SLOTS = ("front-end latency", "front-end bandwidth", "memory", "core")
# The two parts that add up to a category.
_PAIRS = {"front end": {"front-end latency", "front-end bandwidth"}, "back end": {"memory", "core"}}
_DEFAULT_TABLE = "amd_zen5"  # its advice on level 1 is used for processors without a table
# On these processors, an event counts the slots that the other thread of the core takes.
_PROCESSORS_WITH_SIBLING_EVENT = ("amd_zen4", "amd_zen5")
_SIBLING_EVENT = "cpu/event=0x1a0,umask=0x60,name=de_no_dispatch_per_slot.smt_contention/"


@dataclass(frozen=True)
class Recording:
    """Description of a recording, without its counts.

    Attributes
    ----------
    processor : str or None
        Name of the processor. None if not known.
    modifier : str
        Modifier of the events, for example "u" for user mode.
    core : str
        PMU of the kind of core that was counted. Empty if the processor has only one kind.
    metric_group : str
        Metric group with which the recording machine's perf computes level 1. Empty if it has none.
    runtime : str
        Language runtime, for example "JVM". Empty if not known.
    command : str
        Command line of the program. Empty if not known.
    interval_ms : float
        Length of an interval [ms].
    whole_runs : bool
        True if each row has the totals of one run.
    ghz : float or None
        Clock [GHz]. None if not known.
    printed : dict of str to float
        Shares and IPC that the recording tool printed.
    misses : list of dict
        Estimated savings without cache misses, from :func:`cmlib.cost.savings_without_misses`.
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
    misses: list = field(default_factory=list)

    @property
    def costs(self):
        """Costs of the processor's events (:class:`cmlib.topdown.costs.Costs`)."""
        return read_costs(self.processor or UNKNOWN)


@dataclass(frozen=True)
class SlotSummary:
    """Use of a program's slots, and what limits the program.

    Attributes
    ----------
    totals : DataFrame
        Events per cycle, one row per event. Events that do not count what their names say are left out.
    bounded : cmlib.topdown.bounded_account.Bounds
        Bounds of each category.
    verdict : cmlib.topdown.verdict.Bottleneck
        What limits the program.
    texts : dict of str to str
        Advice by category.
    account : dict or None
        Bounds, limit and advice, as `docs/summary.md` describes them. None if the events do not bound the slots.
    separate : str
        A short perf command that decides between the possible losses. Empty if there is none.
    counts_slots : bool
        True if the shares are based on counted slots, on stalled cycles or on printed shares.
    """

    totals: pd.DataFrame
    bounded: Bounds
    verdict: Bottleneck
    texts: dict
    account: dict | None
    separate: str
    counts_slots: bool


def summarize_slots(runs, recording):
    """Summarize the use of a program's slots.

    Parameters
    ----------
    runs : list of (DataFrame, DataFrame)
        Counts and running shares of each run. Both have one row per interval and one column per event. A running share
        is the fraction of the interval in which the event was counted.
    recording : Recording
        Description of the recording.

    Returns
    -------
    SlotSummary
    """
    runs = [slots_as_cycles(counts, running) for counts, running in runs]
    costs = recording.costs
    all_totals = totals(runs)
    bounded = bounds(
        all_totals, costs, ghz=recording.ghz, printed=recording.printed, savings=recording.misses
    )
    usable_totals = all_totals.drop(index=list(bounded.doubtful))
    verdict = find_bottleneck(bounded, usable_totals, costs)
    texts = _read_texts(recording)
    metric_groups = _find_metric_groups(recording)
    has_slots = "instructions" in all_totals.index or bounded.gap or bounded.printed or bounded.disputed
    account = None
    if verdict.certainty != "open" or has_slots:
        sibling_command = _command_to_count_sibling(bounded, all_totals, recording)
        command = sibling_command or command_for_intervals(verdict, metric_groups, recording)
        account = _describe_account(bounded, verdict, texts, recording, command)
        if sibling_command:
            account["text"] += (
                " On this processor the other thread of the core takes slots too, and these were not counted: "
                "`de_no_dispatch_per_slot.smt_contention` counts them."
            )
    return SlotSummary(
        totals=usable_totals,
        bounded=bounded,
        verdict=verdict,
        texts=texts,
        account=account,
        separate=command_for_totals(verdict, metric_groups, recording),
        counts_slots=bool(bounded.printed or bounded.disputed or _counts_slots(bounded.shares)),
    )


def is_bounded(shares, name):
    """Return True if events bound a loss of slots.

    Without such events, the bounds of a loss are 0 and the share of all lost slots.

    Parameters
    ----------
    shares : DataFrame
        Bounds of all categories, from :class:`cmlib.topdown.Bounds`.
    name : str
        Name of the loss.

    Returns
    -------
    bool
    """
    low, high = shares.loc[name, ["low", "high"]]
    most_lost = 1 - shares.at["retired", "low"]
    return low > _POSSIBLY_ZERO or high < most_lost - _EQUAL


def percent(share):
    """Convert a share (0–1) to percent with two decimals."""
    return round(100 * float(share), 2)


def _counts_slots(shares):
    """Return True if an event counts slots, or cycles that the front end or the back end lost."""
    return any(shares.at[name, "events"] for name in (*LOSSES, *_PARTS_COUNTED_IN_SLOTS))


def _read_texts(recording):
    """Read the advice for the recorded processor and runtime, as a dict by category."""
    table = read_table(recording.costs.table or _DEFAULT_TABLE)
    processor = recording.processor or ("intel" if recording.core else "")
    return read_advice(table, advice_for(recording.runtime), processor)


def _find_metric_groups(recording):
    """Return perf's metric groups for level 1, as a dict by processor.

    If the recording machine's perf has such a group, only this group is returned.
    """
    if recording.metric_group:
        return {"": recording.metric_group}
    return read_costs("intel" if recording.core else recording.costs.name).metrics


def _describe_account(bounded, verdict, texts, recording, command):
    """Return the part ``account`` of the summary as a dict.

    `texts` has the advice by category. `command` is the perf command that decides what limits the program.
    """
    advice = [] if bounded.gap else advise_on_losses(bounded.shares, verdict, texts, recording.misses)
    answer = {
        "how": verdict.certainty,
        "limits": list(verdict.limits),
        "categories": [_describe_category(row) for row in _select_shown_rows(bounded.shares)],
        "adds_up_to": percent(1 + bounded.gap),
        "printed": bounded.printed,
        "printed_adds_up_to": percent(1 + bounded.printed_gap),
        "disputed": {name: percent(share) for name, share in bounded.disputed.items()},
        "stalls": {name: percent(share) for name, share in verdict.stalls.items()},
        "contradiction": percent(bounded.contradiction),
        "doubtful": list(bounded.doubtful),
        "decide": command,
        "advice": advice,
    }
    unbounded = [name for name in LOSSES if not is_bounded(bounded.shares, name)]
    # A single unbounded loss is bounded by the sum of all shares.
    text = describe_slots(answer, unbounded if len(unbounded) > 1 else [], recording.printed)
    return answer | {"text": text, "disputed_text": describe_disputed(answer)}


def _command_to_count_sibling(bounded, all_totals, recording):
    """Return the perf command that counts the slots of the core's other thread.

    Returns "" if the shares add up to all slots, if these slots were counted, or if the processor has no such event.
    """
    is_sum_too_low = bounded.gap < 0 or bounded.printed_gap < 0
    is_counted = any("smt_contention" in event for event in all_totals.index)
    has_event = recording.processor in _PROCESSORS_WITH_SIBLING_EVENT
    if not has_event or not is_sum_too_low or is_counted:
        return ""
    return command_line("perf", "stat", "-M", "PipelineL1", "-e", _SIBLING_EVENT, "--", "COMMAND")


def _select_shown_rows(shares):
    """Select the categories that are shown, parents before their parts.

    Level 1 is always shown. A part is shown if its bounds are clearly narrower than the bounds of its parent. The
    parents of shown parts are shown, too. The two parts of the front end are shown together, unless one has the same
    bounds as the front end. The same applies to the back end.
    """
    names = set()
    for row in shares.iloc[::-1].itertuples():  # parts before their parents
        parent_high = shares["high"].get(row.parent, 0.0)
        is_narrower = row.events and row.high < _CLEARLY_NARROWER * parent_high
        if not row.parent or is_narrower or row.low > _POSSIBLY_ZERO or row.Index in names:
            names |= {row.Index, row.parent}
    for category, parts in _PAIRS.items():
        for part in parts - names:
            differs = any(shares.loc[part, ["low", "high"]] != shares.loc[category, ["low", "high"]])
            if names & parts and differs:
                names.add(part)
    return _order_rows([row for row in shares.itertuples() if row.Index in names])


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
