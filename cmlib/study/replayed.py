"""Ways of cleaning judged by exact truth: multiplexing replayed on runs that counted every event all the time."""

import numpy as np
import pandas as pd

from cmlib import clean, store
from cmlib.archive.runs import VALGRIND
from cmlib.study.data import FEWEST_INTERVALS

# Groups and slots: rotations slower than an interval, one a whole interval, and several.
ROTATIONS = ((2, 1), (3, 1), (6, 1), (2, 6), (3, 6), (6, 6), (6, 12))

# Simulated slots are short enough for a rotation to be replayed in an interval of several.
_FEWEST_SLOTS = 100
_HAPPENS_IN = 0.5
_NINE_TENTHS = 1.645


def simulated_run(url):
    """Name of the first simulated run in the store that has at least 100 intervals; None without one.

    Parameters
    ----------
    url : str

    Returns
    -------
    str or None
        Such as ``simulated-bzip2/sim-p0-00``.
    """
    runs = store.runs(url)
    long = runs[(runs["source"] == VALGRIND) & (runs["n_intervals"] >= _FEWEST_SLOTS)]
    return long["run_id"].iloc[0] if len(long) else None


def replayed_errors(url, run_id, methods, *, group_counts=(2, 3, 4, 6), slots=5):
    """Errors of ways of cleaning where groups of events take turns, and every count is known.

    The intervals of the run are the slots of a rotation (:func:`cmlib.clean.replay`): in each, one group is seen
    and the others are hidden. Instructions are counted all the time, as on hardware.

    Parameters
    ----------
    url, run_id : str
    methods : sequence of str
        Of :data:`cmlib.clean.METHODS`.
    group_counts : sequence of int
        Numbers of groups, among which the events are dealt out.
    slots : int, default 5
        Of an interval.

    Returns
    -------
    DataFrame
        A row an event, number of groups and method: ``event``, ``groups``, ``method`` and ``error`` [%], the sum of
        distances from the true counts of the intervals, as a share of the true sum; a gap that a method leaves
        is 0. Events that happened in less than half of the slots are left out.
    """
    run = store.load(url, run_id)
    pinned = run.meta["pinned"]
    happens = (run.counts > 0).mean() >= _HAPPENS_IN
    events = [event for event in run.counts if happens[event] and event not in pinned]
    rows = []
    for n in group_counts:
        groups = [group for group in (events[k::n] for k in range(n)) if group]
        seen = clean.replay(run.counts[[*pinned, *events]], groups, slots=slots)
        for method in methods:
            cleaned, _ = clean.clean_run(seen.counts, seen.running, method=method, run=f"run {run_id!r}")
            errors = 100 * (cleaned.fillna(0.0) - seen.truth).abs().sum() / seen.truth.sum()
            rows += [
                {"event": event, "groups": n, "method": method, "error": errors[event]} for event in events
            ]
    return pd.DataFrame(rows)


def replay_counts(
    counted,
    methods=("scaling", "counterminer", "joint"),
    *,
    rotations=ROTATIONS,
    phases=10,
    pinned=("cycles",),
):
    """Errors of ways of cleaning on a matrix of exact counts, of which rotations of groups hide a part.

    Parameters
    ----------
    counted : DataFrame of float, shape (n_slots, n_events)
        Counts of slots of equal length, each of which was on a counter all the time; index: end of the slot [s].
    methods : sequence of str
        Of :data:`cmlib.clean.METHODS`. Of "scaling", an interval in which an event had no turn is taken from the
        straight line between its neighbours, as perf prints nothing there.
    rotations : sequence of (int, int)
        Numbers of groups, among which the events are dealt out, and of slots that make an interval: 1 is a rotation
        slower than an interval, a multiple of the number of groups are whole rotations.
    phases : int, default 10
        Repetitions, each of which begins with another group.
    pinned : sequence of str, default ("cycles",)
        Events that stay on their counters, as far as they are there; all others take turns.

    Returns
    -------
    DataFrame
        A row an event, rotation, phase and method: ``event``, ``groups``, ``slots``, ``phase``, ``method``; ``error``
        and ``p95``, mean and 95th percentile of the distance from the true count, as a share of the mean true count
        [%]; ``share``, the running share [%]; and ``covered``, how many of the counts that were not seen whole lie
        in the 90 % intervals of the estimate [%], known for "joint" alone. Events that never happened are left out.

    Raises
    ------
    ValueError
        If a method is not known, or `counted` has fewer than 20 intervals of one of the rotations.
    """
    pinned = [event for event in pinned if event in counted]
    turning = [event for event in counted if event not in pinned and counted[event].any()]
    rows = []
    for n, slots in rotations:
        if len(counted) // slots < FEWEST_INTERVALS:
            raise ValueError(
                f"{len(counted)} slots make {len(counted) // slots} intervals of {slots}; "
                f"{FEWEST_INTERVALS} are the fewest that can be judged"
            )
        groups = [turning[number::n] for number in range(n)]
        for phase in range(phases):
            hidden = clean.replay(counted[[*pinned, *turning]], groups, slots=slots, phase=phase)
            for method in methods:
                judged = _judged(hidden, method)[turning].T.rename_axis("event").reset_index()
                rows.append(judged.assign(groups=n, slots=slots, phase=phase, method=method))
    columns = ["event", "groups", "slots", "phase", "method", "error", "p95", "share", "covered"]
    return pd.concat(rows, ignore_index=True)[columns]


def _judged(hidden, method):
    """Of one replay and method, a column an event: error, 95th percentile, share and what intervals cover [%]."""
    covered = np.nan
    if method == "joint":
        cleaned, errors = clean.joint_estimates(hidden.counts, hidden.running)
        inside = (cleaned - hidden.truth).abs() <= _NINE_TENTHS * errors
        unseen = hidden.running < 1
        covered = 100 * (inside & unseen).sum() / unseen.sum()
    else:
        cleaned = clean.clean_run(hidden.counts, hidden.running, method=method)[0]
    off = (cleaned.interpolate(limit_direction="both") - hidden.truth).abs()
    mean = hidden.truth.mean()
    return pd.DataFrame(
        {
            "error": 100 * off.mean() / mean,
            "p95": 100 * off.quantile(0.95) / mean,
            "share": 100 * hidden.running.mean(),
            "covered": covered,
        }
    ).T
