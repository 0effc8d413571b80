"""Measure how much a program's run time changes with each parameter when the others keep their values.

:func:`compare_levels` takes run times at two or more values (levels) of each parameter, and returns a DataFrame,
one row per parameter. Raises an InputError if no pass has runs at two levels of a parameter.
"""

import numpy as np
import pandas as pd

from cmlib.errors import InputError

_N_PERMUTATIONS = 10_000


def compare_levels(levels: pd.DataFrame, *, seed: int = 0) -> pd.DataFrame:
    """Measure how much longer a program takes at the slowest level of each parameter than at the fastest.

    The variation of a parameter is 100·(t_slowest / t_fastest - 1), where t is the mean time of the runs at a level
    (CounterMiner, §V-D and Fig. 14; the paper does not define the variation that it prints). Noise alone makes it
    larger than 0, so it is compared with 10,000 variations for which the times of each pass were permuted among its
    runs.

    Parameters
    ----------
    levels : DataFrame
        One row per run, with the columns ``parameter``, ``level``, ``pass`` (number of the repetition; all passes make
        the same runs) and ``seconds``. A run that several parameters share, such as one with all defaults, has a row
        for each. Incomplete passes are left out.
    seed : int, default 0
        Seed of the permutations.

    Returns
    -------
    DataFrame
        One row per parameter, in the order of `levels`, with the columns ``parameter``, ``runs`` (number of runs
        compared), ``variation`` [%], ``by_chance`` (median of the permutations [%]) and ``p``: the share of
        permutations with at least the measured variation, multiplied by the number of parameters (Bonferroni), at
        most 1.

    Raises
    ------
    InputError
        If no pass has runs at two levels of a parameter.

    Examples
    --------
    >>> times = {"64k": [10.0, 10.0, 10.0], "16m": [20.0, 20.0, 20.0]}
    >>> runs = [("bbs", level, i, t) for level, seconds in times.items() for i, t in enumerate(seconds)]
    >>> levels = pd.DataFrame(runs, columns=["parameter", "level", "pass", "seconds"])
    >>> compare_levels(levels).round(2)
      parameter  runs  variation  by_chance     p
    0       bbs     6      100.0       25.0  0.25
    """
    rows = []
    for parameter, runs in levels.groupby("parameter", sort=False):
        times, is_at_level = _complete_passes(parameter, runs)
        rng = np.random.default_rng(seed)
        repeated = np.broadcast_to(times, (_N_PERMUTATIONS, *times.shape))
        by_chance = _variation(rng.permuted(repeated, axis=-1), is_at_level)
        variation = _variation(times, is_at_level)
        n_as_large = np.sum(by_chance >= variation * (1 - 1e-9))
        rows.append(
            {
                "parameter": parameter,
                "runs": times.size,
                "variation": variation,
                "by_chance": np.median(by_chance),
                "p": (1 + n_as_large) / (1 + _N_PERMUTATIONS),
            }
        )
    compared = pd.DataFrame(rows, columns=["parameter", "runs", "variation", "by_chance", "p"])
    compared["p"] = (len(compared) * compared["p"]).clip(upper=1)
    return compared


def _complete_passes(parameter, runs):
    """Select the passes with a run at every level.

    Returns their times (n_passes, n_runs), and whether a run is at a level (n_runs, n_levels).
    """
    passes = [rows.sort_values("level", kind="stable") for _, rows in runs.groupby("pass")]
    levels = max(passes, key=len)["level"].tolist()
    times = np.array([rows["seconds"].to_numpy(float) for rows in passes if rows["level"].tolist() == levels])
    if len(set(levels)) < 2:
        raise InputError(
            f"parameter {parameter!r} has no pass with runs at two levels; it has {len(runs)} runs at "
            f"{', '.join(map(str, runs['level'].unique()))}. Record each level in every pass."
        )
    return times, pd.get_dummies(levels).to_numpy(float)


def _variation(times, is_at_level):
    """Return by how much the largest mean of a level exceeds the smallest [%]; `times`: (..., n_passes, n_runs)."""
    means = times.mean(axis=-2) @ is_at_level / is_at_level.sum(axis=0)
    return 100 * (means.max(axis=-1) / means.min(axis=-1) - 1)
