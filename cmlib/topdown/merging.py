"""One table of rates from runs that counted different events, corrected for what the runs differ in."""

import numpy as np
import pandas as pd

PINNED = ("instructions", "cycles")


def merge_steps(steps, *, adjust=True):
    """Merge the steps of several runs of one program into rates per cycle.

    No two runs are alike: in one and the same step of progress one was a little
    faster than the other. Instructions and cycles were counted in every run, so
    what that changes in an event can be estimated from the run itself: the event's
    rate is regressed on the run's IPC over its steps, and moved along that line
    from the run's IPC to the mean IPC of all runs in the step (a regression
    estimator, as of survey sampling: Cochran, Sampling Techniques, §7.1). What is
    gained is judged by sums that must hold (:func:`cmlib.topdown.closure`).

    Parameters
    ----------
    steps : sequence of DataFrame, shape (n_steps, events)
        Counts of each run by equal steps of its own progress
        (:func:`cmlib.fuse.step_runs`), with ``instructions`` and ``cycles``.
    adjust : bool, default True
        False merges the rates as they were counted.

    Returns
    -------
    rates : DataFrame, shape (n_steps, events)
        Events per cycle, the mean of the runs that counted them; without instructions and cycles. Not for models of
        IPC: adjusted rates contain it.
    ipc : Series, shape (n_steps,)
        Mean of all runs.

    Raises
    ------
    ValueError
        If there is no run, or runs have different numbers of steps.
    """
    if not steps or len({len(step) for step in steps}) != 1:
        raise ValueError(
            f"runs of {[len(step) for step in steps]} steps can't be merged; cut all into the same number."
        )
    index = steps[0].index
    ipcs = np.array([step["instructions"] / step["cycles"] for step in steps])
    reference, rates = ipcs.mean(axis=0), {}
    for step, ipc in zip(steps, ipcs, strict=True):
        for event in step.columns.difference(PINNED, sort=False):
            rate = (step[event] / step["cycles"]).to_numpy()
            rates.setdefault(event, []).append(_moved(rate, ipc, reference) if adjust else rate)
    merged = {event: np.mean(several, axis=0) for event, several in rates.items()}
    return pd.DataFrame(merged, index=index), pd.Series(reference, index=index, name="ipc")


def _moved(rate, ipc, reference):
    """A run's rate as it would be at the reference IPC; never below zero."""
    spread = ipc - ipc.mean()
    if not spread.any():
        return rate
    slope = (spread @ (rate - rate.mean())) / (spread @ spread)
    return np.maximum(rate + slope * (reference - ipc), 0.0)
