"""Is what perf wrote the run that was planned?"""

import numpy as np

from cmlib import perf
from cmlib.record.archive import RecordError
from cmlib.schedule import PROBE

_MOST_UNSEEN = 0.02


def judge(frame, plan):
    """Decide whether what perf wrote is the run that was planned.

    Parameters
    ----------
    frame : DataFrame
        From :func:`cmlib.perf.parse_stat`.
    plan : Plan

    Returns
    -------
    str
        Why the run must be repeated; empty if it is good. In an unmultiplexed
        run that is any running share below 1, and rows that were not counted
        in intervals which together hold more than 2 % of the first pinned event:
        those are not intervals in which nothing ran.

    Raises
    ------
    RecordError
        If there is not one whole interval, if rows are missing, or if an event
        is not supported, which only a probe may find out: repeating would not help.
    """
    duration = frame["time_s"].max() if len(frame) else 0.0
    if duration < plan.interval_ms / 1000:
        raise RecordError(
            f"the program ended after {1000 * duration:.0f} ms, before the first interval of {plan.interval_ms} ms "
            "was over: give it more work, or take shorter intervals with --interval-ms."
        )
    refused = sorted(set(frame.loc[~frame["supported"], "event"]))
    if refused and plan.set != PROBE:
        raise RecordError(f"this machine can't count {', '.join(refused)}; see `cmlib doctor`.")
    counts, running = perf.series(frame)
    wanted = [*plan.pinned, *plan.events]
    if len(frame) != len(counts) * len(wanted) or not counts.columns.isin(wanted).all():
        raise RecordError(
            f"perf wrote {len(frame)} rows for {len(counts)} intervals of {len(wanted)} events: is the disk full?"
        )
    if plan.mode != "ocoe":
        return ""
    return _left_the_counters(counts[wanted], running[wanted])


def _left_the_counters(counts, running):
    counted = counts.notna()
    lowest = running.where(counted).min()
    if lowest.min() < 1:
        return f"{lowest.idxmin()} was on its counter only {100 * lowest.min():.0f} % of an interval"
    reference = counts.iloc[:, 0].fillna(0.0).to_numpy()
    unseen = reference[~counted.all(axis=1).to_numpy()].sum() / max(reference.sum(), np.finfo(float).tiny)
    if unseen > _MOST_UNSEEN:
        return f"some events were not counted in intervals with {100 * unseen:.0f} % of {counts.columns[0]}"
    return ""
