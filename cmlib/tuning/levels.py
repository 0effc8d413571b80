"""Measure how much a program's run time changes with each parameter that was changed alone.

:func:`compare_levels` takes run times at two or more values (levels) of each parameter, and gives a DataFrame, a row
a parameter. An InputError if no pass has a run at every level of a parameter.
"""

import numpy as np
import pandas as pd

from cmlib.errors import InputError

_N_PERMUTATIONS = 10_000


def compare_levels(levels: pd.DataFrame, *, seed: int = 0) -> pd.DataFrame:
    """Measure how much longer a program takes at the slowest level of each parameter than at the fastest.

    A parameter's variation is 100·(t_slowest / t_fastest - 1), where t is the mean time of the runs at a level
    (CounterMiner, §V-D and Fig. 14; the paper does not define the variation that it prints). It is never 0, so it is
    compared with variations by chance: the times of each pass are permuted among the levels 10,000 times.

    Parameters
    ----------
    levels : DataFrame
        A row a run, with the columns ``parameter``, ``level``, ``pass`` (number of the repetition; a pass makes each
        run once) and ``seconds``. A run that several parameters share, such as one with all defaults, has a row for
        each. Passes that lack a level are left out; runs of one pass and level are averaged.
    seed : int, default 0
        Seed of the permutations.

    Returns
    -------
    DataFrame
        A row a parameter, in the order in which they appear in `levels`, with the columns ``parameter``, ``runs``,
        ``variation`` [%], ``by_chance`` (median of the permutations [%]) and ``p``: the share of permutations that
        have at least the measured variation, multiplied by the number of parameters (Bonferroni), at most 1.

    Raises
    ------
    InputError
        If no pass has a run at every level of a parameter, or there is a single level.

    Examples
    --------
    >>> times = {"64k": [10.0, 10.0, 10.0], "16m": [20.0, 20.0, 20.0]}
    >>> runs = [("bbs", level, number, t) for level, own in times.items() for number, t in enumerate(own)]
    >>> levels = pd.DataFrame(runs, columns=["parameter", "level", "pass", "seconds"])
    >>> compare_levels(levels).round(2)
      parameter  runs  variation  by_chance     p
    0       bbs     6      100.0       25.0  0.25
    """
    rows = []
    for parameter, runs in levels.groupby("parameter", sort=False):
        times = runs.pivot_table(index="pass", columns="level", values="seconds").dropna()
        if times.empty or times.shape[1] < 2:
            raise InputError(
                f"parameter {parameter!r} has no pass with runs at two levels; it has {len(runs)} runs at "
                f"{', '.join(map(str, runs['level'].unique()))}. Record each level once in every pass."
            )
        rng = np.random.default_rng(seed)
        repeated = np.broadcast_to(times.to_numpy(), (_N_PERMUTATIONS, *times.shape))
        by_chance = _variation(rng.permuted(repeated, axis=-1))
        variation = _variation(times.to_numpy())
        n_as_large = np.sum(by_chance >= variation * (1 - 1e-9))
        rows.append(
            {
                "parameter": parameter,
                "runs": len(runs),
                "variation": variation,
                "by_chance": np.median(by_chance),
                "p": (1 + n_as_large) / (1 + _N_PERMUTATIONS),
            }
        )
    columns = ["parameter", "runs", "variation", "by_chance", "p"]
    compared = pd.DataFrame(rows, columns=columns)
    compared["p"] = (len(compared) * compared["p"]).clip(upper=1)
    return compared


def _variation(times):
    """By how much the largest mean of the levels exceeds the smallest [%]; shape (..., n_passes, n_levels)."""
    means = times.mean(axis=-2)
    return 100 * (means.max(axis=-1) / means.min(axis=-1) - 1)
