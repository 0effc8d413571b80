"""Average events per cycle over runs of one program, step by step of its progress.

A step is an equal share of a run's instructions. :func:`merge_steps` takes a DataFrame of counts for each run, a
row per step, a column per event, and returns a DataFrame of rates per cycle, and IPC (instructions per cycle,
Series). Raises a ValueError if runs have different numbers of steps.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cmlib.errors import InputError
from cmlib.spelling import PINNED


def merge_steps(steps: Sequence[pd.DataFrame], *, adjust: bool = True) -> tuple[pd.DataFrame, pd.Series]:
    """Merge the steps of several runs of one program into rates per cycle.

    Parameters
    ----------
    steps : sequence of DataFrame, shape (n_steps, n_events)
        Counts of each run, as :func:`cmlib.merge.step_runs` cuts it, ``instructions`` and ``cycles`` among them.
    adjust : bool, default True
        True to correct each run's rates to the runs' mean IPC in that step, by the rate's slope over IPC.

    Returns
    -------
    rates : DataFrame, shape (n_steps, events of all runs)
        Events per cycle, means over the runs that counted them.
    ipc : Series, shape (n_steps,)
        Mean instructions per cycle.

    Raises
    ------
    ValueError
        If the runs have different numbers of steps.
    """
    if not steps or len({len(step) for step in steps}) != 1:
        raise InputError(f"runs of {[*map(len, steps)]} steps can't be merged; cut all into the same number.")
    index = steps[0].index
    ipcs = np.array([step["instructions"] / step["cycles"] for step in steps])
    reference, rates = ipcs.mean(axis=0), {}
    for step, ipc in zip(steps, ipcs, strict=True):
        for event in step.columns.difference(PINNED, sort=False):
            rate = (step[event] / step["cycles"]).to_numpy()
            rates.setdefault(event, []).append(_correct_rate(rate, ipc, reference) if adjust else rate)
    merged = {event: np.mean(several, axis=0) for event, several in rates.items()}
    return pd.DataFrame(merged, index=index), pd.Series(reference, index=index, name="ipc")


def _correct_rate(rate, ipc, reference):
    """Correct a run's rate by step to the reference IPC, along its linear regression on the run's IPC; at least 0."""
    spread = ipc - ipc.mean()
    if not spread.any():
        return rate
    slope = (spread @ (rate - rate.mean())) / (spread @ spread)
    return np.maximum(rate + slope * (reference - ipc), 0.0)
