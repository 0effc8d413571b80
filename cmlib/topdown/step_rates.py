"""Average the rates of events over several runs of a program.

Each run is cut into steps with equal numbers of instructions. :func:`merge_steps` takes the counts of the steps. It
returns the mean rates per cycle and the mean IPC (instructions per cycle) of each step.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cmlib.errors import InputError
from cmlib.spelling import PINNED


def merge_steps(steps: Sequence[pd.DataFrame], *, adjust: bool = True) -> tuple[pd.DataFrame, pd.Series]:
    """Average the rates of events over several runs of a program, step by step.

    Parameters
    ----------
    steps : sequence of DataFrame, shape (n_steps, n_events)
        Counts of each run, from :func:`cmlib.merge.step_runs`. They contain ``instructions`` and ``cycles``.
    adjust : bool, default True
        If True, the rates of each run are corrected to the mean IPC of all runs. The correction uses the slope of the
        rate over the IPC.

    Returns
    -------
    rates : DataFrame, shape (n_steps, n_events)
        Events per cycle. Each value is the mean over the runs that counted the event.
    ipc : Series, shape (n_steps,)
        Mean instructions per cycle. Index: step.

    Raises
    ------
    ValueError
        If the runs have different numbers of steps.
    """
    if not steps or len({len(step) for step in steps}) != 1:
        raise InputError(
            f"runs with {[*map(len, steps)]} steps cannot be merged. Cut all runs into the same number of steps."
        )
    index = steps[0].index
    ipcs = np.array([step["instructions"] / step["cycles"] for step in steps])
    mean_ipc = ipcs.mean(axis=0)
    rates_by_event = {}
    for step, ipc in zip(steps, ipcs, strict=True):
        for event in step.columns.difference(PINNED, sort=False):
            rate = (step[event] / step["cycles"]).to_numpy()
            if adjust:
                rate = _correct_rate(rate, ipc, mean_ipc)
            rates_by_event.setdefault(event, []).append(rate)
    mean_rates = {event: np.mean(rates, axis=0) for event, rates in rates_by_event.items()}
    return pd.DataFrame(mean_rates, index=index), pd.Series(mean_ipc, index=index, name="ipc")


def _correct_rate(rate, ipc, reference):
    """Correct the rates of a run from its own IPC to the reference IPC.

    The correction is a linear regression of the rate on the IPC. Negative results become 0.
    """
    spread = ipc - ipc.mean()
    if not spread.any():
        return rate
    slope = (spread @ (rate - rate.mean())) / (spread @ spread)
    return np.maximum(rate + slope * (reference - ipc), 0.0)
