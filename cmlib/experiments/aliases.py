"""Find aliases: events that measure the target of a model itself under another name.

The target is the rate that a model explains, usually IPC (instructions per cycle). For example, an event that counts
most retired instructions is an alias of IPC. An alias predicts the target, but it does not explain it.

:func:`find_aliases` finds the aliases of IPC. :func:`find_constant_ratios` finds the aliases of other targets.
"""

from __future__ import annotations

import pandas as pd

from cmlib.experiments.targets import IPC
from cmlib.io import events
from cmlib.rank.leaks import find_proportional

__all__ = ["find_aliases"]

# Reasons why an event is an alias.
KIND_OF_INSTRUCTION = "instructions of a kind"
OPS_OF_ALL_KINDS = "micro-ops fetched or dispatched"
ALL_IDLE_CYCLES = "cycles without retirement, all reasons"
CONSTANT_RATE = "constant rate per instruction"
_CYCLES_OF_A_KIND = "cycles of a kind"
_CONSTANT_RATIO = "constant ratio to the target"
# First key: the event by which counts are divided. Second key: the class of an event (data/events/kinds.yaml).
_REASON_BY_CLASS = {
    "cycles": {"mix": KIND_OF_INSTRUCTION, "target": ALL_IDLE_CYCLES},
    "instructions": {"stall": _CYCLES_OF_A_KIND, "target": ALL_IDLE_CYCLES},
}
_OPS_TOPIC = "dispatched and wrong-path ops"  # topic of events that count all micro-ops
_MOST_UNEXPLAINED = 0.1  # share of the standard deviation of an event with a constant ratio to the target


def find_aliases(
    X: pd.DataFrame, ipc: pd.Series, *, per: str = IPC.per, table: pd.DataFrame | None = None
) -> pd.Series:
    """Find the events that measure IPC itself under another name.

    Such an event is called an alias. It predicts IPC but does not explain it.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Rates of the events. The rows are in the order of time.
    ipc : Series of float > 0, shape (n_rows,)
        Instructions per cycle.
    per : str, default "cycles"
        Event by which the counts in X are divided.
    table : DataFrame, optional
        Table of the processor's events with a column ``description``. Default: events are classified without
        descriptions.

    Returns
    -------
    Series of str
        Reasons why events are aliases. The index is the name of the alias.

    Notes
    -----
    If counts are divided by cycles, these events are aliases:

    - instructions of one kind, for example retired branches or loads;
    - fetched or dispatched micro-ops;
    - all cycles without a retired instruction;
    - events with a constant rate per instruction (:func:`cmlib.rank.leaks.find_proportional`).

    Cycles that are lost for a single reason are not aliases, because a ranking looks for reasons. If counts are divided
    by instructions, all counts of cycles are aliases.
    """
    if table is None:
        table = pd.DataFrame({"description": []}, dtype=str)
    kinds = events.kinds(X.columns, table)
    reasons = kinds["class"].map(_REASON_BY_CLASS.get(per, {}))
    if per == IPC.per:
        reasons[kinds["topic"] == _OPS_TOPIC] = OPS_OF_ALL_KINDS
        is_proportional = kinds.index.isin(find_proportional(X, ipc))
        reasons[is_proportional & reasons.isna()] = CONSTANT_RATE
    return reasons.dropna().rename("rule")


def find_constant_ratios(X: pd.DataFrame, rate: pd.Series) -> pd.Series:
    """Find the events with a constant ratio to the target.

    For example, the ratio of minor faults to page faults is often constant.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Rates of the events.
    rate : Series of float, shape (n_rows,)
        Values of the target.

    Returns
    -------
    Series of str
        Reasons why events are aliases. The index is the name of the alias.
    """
    ratio = X.mean() / rate.mean()
    expected = pd.DataFrame({event: ratio[event] * rate for event in X})
    is_constant = (X - expected).std() < _MOST_UNEXPLAINED * X.std()
    return pd.Series(_CONSTANT_RATIO, index=X.columns[is_constant], dtype=str, name="rule")
