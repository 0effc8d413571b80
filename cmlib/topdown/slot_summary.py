"""Summarize the account of a program's slots: bounds by category, what limits it, and how certain that is.

:func:`summarize_slots` returns a :class:`SlotSummary`. A slot is a place for one operation that the processor can begin
in a cycle; it retires an operation or is lost to the front end, the back end or bad speculation.
"""

from dataclasses import dataclass, field

import pandas as pd

from cmlib import processors
from cmlib.shell import command_line
from cmlib.topdown.bounded_account import Bounds, bounds
from cmlib.topdown.category_tables import LOSSES, read_table
from cmlib.topdown.costs import UNKNOWN, read_costs
from cmlib.topdown.deciding_command import command_to_decide, command_to_separate
from cmlib.topdown.loss_advice import advise_on_losses, read_advice
from cmlib.topdown.run_levels import totals
from cmlib.topdown.runtimes import advice_for
from cmlib.topdown.sentences import describe_disputed, describe_slots
from cmlib.topdown.table_choice import slots_as_cycles
from cmlib.topdown.verdict import Bottleneck, find_bottleneck

_NOTHING = 0.005  # lower bound [share of the slots] up to which a category may be nothing
_NAMED = 0.9  # a part is shown if its upper bound is below this share of its category's
_SAME = 0.01  # share of the slots up to which an upper bound is that of all lost slots
_PARTS_IN_SLOTS = ("front-end latency", "front-end bandwidth", "memory", "core")  # counted in cycles or slots
# Categories whose two parts add up to them.
_PAIRS = {"front end": {"front-end latency", "front-end bandwidth"}, "back end": {"memory", "core"}}
_ANY_TABLE = "amd_zen5"  # table whose advice on level 1 is taken for processors without a table
_SMT_PROCESSORS = ("amd_zen4", "amd_zen5")  # count the slots that the other thread of a core takes
_SMT_EVENT = "cpu/event=0x1a0,umask=0x60,name=de_no_dispatch_per_slot.smt_contention/"


@dataclass(frozen=True)
class Recording:
    """What the summary knows of a recording beside its counts.

    Attributes
    ----------
    processor : str or None
        Name of the processor; None if not known.
    modifier, core, metric_group, runtime, command : str
        Modifier of the events, PMU of the one kind of core, perf's metric group of level 1, language runtime, command
        line; "" where there is none.
    interval_ms : float
        Length of an interval [ms].
    whole_runs : bool
        True if a row is a whole run.
    ghz : float or None
        Clock [GHz].
    printed : dict of str to float
        Shares and IPC that the recording tool printed.
    misses : list of dict
        What would be saved without misses, from :func:`cmlib.cost.savings_without_misses`.
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
        """Costs of the processor's events: a :class:`cmlib.topdown.costs.Costs`."""
        return read_costs(self.processor or UNKNOWN)


@dataclass(frozen=True)
class SlotSummary:
    """The account of the slots, with everything that the answers are made from.

    Attributes
    ----------
    totals : DataFrame
        Rates by event. Events that are known to count something else than their names say are left out.
    bounded : cmlib.topdown.bounded_account.Bounds
    verdict : cmlib.topdown.verdict.Bottleneck
    texts : dict of str to str
        Advice by category.
    account : dict or None
        The part ``account`` of the summary; None if the events say nothing of the slots.
    separate : str
        The short command that records the events that tell the possible losses apart; "" if there is none.
    counts_slots : bool
        True if an event counts slots or stalled cycles, or the tool printed shares of the slots.
    """

    totals: pd.DataFrame
    bounded: Bounds
    verdict: Bottleneck
    texts: dict
    account: dict | None
    separate: str
    counts_slots: bool


def summarize_slots(runs, recording):
    """Summarize the account of the slots of some runs.

    Parameters
    ----------
    runs : list of (DataFrame, DataFrame)
        Counts and running shares of each run.
    recording : Recording

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
    believed_totals = all_totals.drop(index=list(bounded.doubtful))
    verdict = find_bottleneck(bounded, believed_totals, costs)
    texts = _read_texts(recording, costs)
    informative = "instructions" in all_totals.index or bounded.gap or bounded.printed or bounded.disputed
    account = None
    if verdict.certainty != "open" or informative:
        account = _describe_account(bounded, verdict, all_totals, texts, recording, costs)
    return SlotSummary(
        totals=believed_totals,
        bounded=bounded,
        verdict=verdict,
        texts=texts,
        account=account,
        separate=command_to_separate(verdict, _choose_metrics(recording, costs), recording),
        counts_slots=bool(bounded.printed or bounded.disputed or _counts_slots(bounded.shares)),
    )


def is_bounded(shares, name):
    """Return whether counts limit a loss more than that it is part of all that did not retire.

    `shares` are those of :class:`cmlib.topdown.Bounds`, `name` is a category.
    """
    least, most = shares.loc[name, ["low", "high"]]
    return least > _NOTHING or most < 1 - shares.at["retired", "low"] - _SAME


def _counts_slots(shares):
    """Return whether an event counts slots, or cycles that the front end or the back end lost."""
    return any(shares.at[name, "events"] for name in (*LOSSES, *_PARTS_IN_SLOTS))


def _read_texts(recording, costs):
    table = read_table(costs.table or _ANY_TABLE)
    processor = recording.processor or ("intel" if recording.core else "")
    return read_advice(table, advice_for(recording.runtime), processor)


def _choose_metrics(recording, costs):
    """Return perf's metric groups that compute level 1, by processor.

    If the recording machine's perf has such a group, only that one is returned.
    """
    if recording.metric_group:
        return {"": recording.metric_group}
    return read_costs("intel" if recording.core else costs.name).metrics


def _describe_account(bounded, verdict, all_totals, texts, recording, costs):
    """Return the part ``account`` of the summary (dict)."""
    advice = advise_on_losses(bounded.shares, verdict, texts, recording.misses)
    pmu = recording.core or processors.core_pmu(costs.name)
    decide = command_to_decide(
        verdict,
        _choose_metrics(recording, costs),
        bool(recording.metric_group),
        recording.modifier,
        recording.interval_ms,
        pmu,
    )
    smt_command = _command_to_count_sibling(bounded, all_totals, recording)
    answer = {
        "how": verdict.certainty,
        "limits": list(verdict.limits),
        "categories": [_describe_category(row) for row in _select_rows(bounded.shares)],
        "adds_up_to": percent(1 + bounded.gap),
        "printed": bounded.printed,
        "printed_adds_up_to": percent(1 + bounded.printed_gap),
        "disputed": {name: percent(share) for name, share in bounded.disputed.items()},
        "stalls": {name: percent(share) for name, share in verdict.stalls.items()},
        "contradiction": percent(bounded.contradiction),
        "doubtful": list(bounded.doubtful),
        "decide": smt_command or decide,
        "advice": [] if bounded.gap else advice,
    }
    unbounded = [name for name in LOSSES if not is_bounded(bounded.shares, name)]
    text = describe_slots(answer, unbounded if len(unbounded) > 1 else [], recording.printed)
    if smt_command:
        text += (
            " On this processor the other thread of the core takes slots too, and these were not counted: "
            "`de_no_dispatch_per_slot.smt_contention` counts them."
        )
    return answer | {"text": text, "disputed_text": describe_disputed(answer)}


def _command_to_count_sibling(bounded, all_totals, recording):
    """Return the command that counts slots of the other thread of the core, where they may be what lacks; else ""."""
    is_lacking = bounded.gap < 0 or bounded.printed_gap < 0
    is_counted = any("smt_contention" in event for event in all_totals.index)
    if recording.processor not in _SMT_PROCESSORS or not is_lacking or is_counted:
        return ""
    return command_line("perf", "stat", "-M", "PipelineL1", "-e", _SMT_EVENT, "--", "COMMAND")


def _select_rows(shares):
    """Select the rows of `shares` that are shown, parents first.

    These are level 1, parts whose bounds are narrower than their parent's, and the parents of such parts.
    The other part of the front end, or of the back end, is shown with one of them, unless its bounds are those of the
    whole.
    """
    names = set()
    for row in shares.iloc[::-1].itertuples():
        informative = row.events and row.high < _NAMED * shares["high"].get(row.parent, 0.0)
        if not row.parent or informative or row.low > _NOTHING or row.Index in names:
            names |= {row.Index, row.parent}
    for whole, pair in _PAIRS.items():
        for part in pair - names:
            if names & pair and any(shares.loc[part, ["low", "high"]] != shares.loc[whole, ["low", "high"]]):
                names.add(part)
    return _order_rows([row for row in shares.itertuples() if row.Index in names])


def _order_rows(rows, parent=""):
    """Yield the rows below `parent`, each category before its parts."""
    for row in rows:
        if row.parent == parent:
            yield row
            yield from _order_rows(rows, row.Index)


def _describe_category(row):
    """Return a row of the bounds as a dict, with bounds in percent."""
    entry = {"name": row.Index, "parent": row.parent, "low": percent(row.low), "high": percent(row.high)}
    return entry | {"events": list(row.events)}


def percent(share):
    """Return a share as percent, rounded to two decimals."""
    return round(100 * float(share), 2)
