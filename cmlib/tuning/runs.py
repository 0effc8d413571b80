"""Rank a program's parameters by their importance for its run time, directly or through events (CounterMiner, §V-D).

:func:`rank_directly`, :func:`important_events` and :func:`rank_through_events` take :class:`Runs` (DataFrames of
parameters and of rates of events, a row per run, and run times [s]), and return importances [%], a Series by
parameter or event, or a DataFrame by pair. Inputs are not checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cmlib.interact.pairs import rank_pairs
from cmlib.rank.boosting import Boosting, regressor
from cmlib.rank.importance import influence

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# For tens of runs, a row each. With the default, five rows per leaf of half the rows, ten runs would never be split.
FEW_ROWS = Boosting(leaves=4, rows_per_leaf=2, row_share=0.8)
_N_POINTS = 20  # rows on which Friedman's H is computed


@dataclass(frozen=True)
class Runs:
    """Runs of one program under different settings.

    Attributes
    ----------
    parameters : DataFrame, shape (n_runs, n_parameters)
        Values of the parameters in each run, as numbers.
    rates : DataFrame, shape (n_runs, n_events)
        Events of each run per cycle or per processor time; not totals, as these grow with the run time.
    seconds : Series, shape (n_runs,)
        Execution time [s].
    examples : DataFrame, shape (n_examples, n_events)
        Rates of the events (per cycle or time, as `rates`) in intervals or runs, the features of the model by which
        events are ranked; its index names the run of each row.
    performance : Series, shape (n_examples,)
        Target of that model: IPC of each interval, or time of each run.
    """

    parameters: pd.DataFrame
    rates: pd.DataFrame
    seconds: pd.Series
    examples: pd.DataFrame
    performance: pd.Series

    def __len__(self):
        return len(self.seconds)

    @property
    def mixed(self) -> pd.DataFrame:
        """Rates and parameters in one DataFrame, a row per run: the vector of the GBRT paper's Eq. 9."""
        return pd.concat([self.rates, self.parameters], axis=1)

    def take(self, rows: ArrayLike) -> Runs:
        """Select some of the runs, as another :class:`Runs`; `rows` are their positions (list or array of int)."""
        names = self.seconds.index[rows]
        return Runs(**{name: table.loc[names] for name, table in vars(self).items()})

    def resample(self, seed: int | list[int]) -> Runs:
        """Draw the same number of runs with replacement (bootstrap), as another :class:`Runs`; `seed` is the draw's."""
        return self.take(np.random.default_rng(seed).integers(len(self), size=len(self)))


def rank_directly(runs: Runs, *, seed: int = 0) -> pd.Series:
    """Rank the parameters by their importance in a model of run time (the paper's method B, CounterMiner, §V-D).

    Parameters
    ----------
    runs : Runs
        Runs of one program under different settings.
    seed : int, default 0
        Seed of the model.

    Returns
    -------
    Series of float
        Importance by parameter [%], descending.
    """
    return influence(regressor(boosting=FEW_ROWS, seed=seed).fit(runs.parameters, runs.seconds))


def important_events(runs: Runs, *, seed: int = 0) -> pd.Series:
    """Rank the events by their importance in a model of `runs.performance`.

    Parameters
    ----------
    runs : Runs
        Runs of one program under different settings.
    seed : int, default 0
        Seed of the model.

    Returns
    -------
    Series of float
        Importance by event [%], descending.
    """
    return influence(regressor(boosting=FEW_ROWS, seed=seed).fit(runs.examples, runs.performance))


def rank_through_events(
    runs: Runs, *, n_events: int = 10, measure: str = "h_statistic", seed: int = 0
) -> pd.DataFrame:
    """Rank pairs of an important event and a parameter by their interaction (the paper's method A, CounterMiner, §V-D).

    The events are ranked by :func:`important_events`. A second model predicts the run time from the first of them and
    all parameters (GBRT paper, Eq. 9), and its pairs are ranked by :func:`cmlib.interact.rank_pairs`.

    Parameters
    ----------
    runs : Runs
        Runs of one program under different settings.
    n_events : int, default 10
        Number of important events.
    measure : {"h_statistic", "residual_variance"}, default "h_statistic"
        Measure of the interaction: Friedman's H, on 20 runs drawn at random, or CounterMiner's Eq. 12 with the
        model's predictions.
    seed : int, default 0
        Seed of the models and of the runs drawn.

    Returns
    -------
    DataFrame
        A row per pair, the strongest first, with the columns event, parameter and importance [%].
    """
    events = important_events(runs, seed=seed).index[:n_events]
    X = pd.concat([runs.rates[events], runs.parameters], axis=1)
    pairs = rank_pairs(
        X,
        runs.seconds,
        events,
        partners=runs.parameters.columns,
        method=measure,
        boosting=FEW_ROWS,
        n_points=_N_POINTS,
        seed=seed,
    )
    pairs = pairs.rename(columns={"event_a": "event", "event_b": "parameter"})
    return pairs[["event", "parameter", "importance"]]
