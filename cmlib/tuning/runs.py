"""Rank the parameters of a program by its time, directly and through events (CounterMiner, §V-D)."""

from dataclasses import dataclass

import pandas as pd

from cmlib.rank.boosting import Boosting, regressor
from cmlib.rank.importance import influence

# A run is a row, and there are tens of them: with five to a leaf, half of them drawn, ten runs would never be split.
FEW_ROWS = Boosting(leaves=4, rows_per_leaf=2, row_share=0.8)


@dataclass(frozen=True)
class Runs:
    """Runs of one program under different settings.

    Attributes
    ----------
    parameters : DataFrame, shape (n_runs, n_parameters)
        Settings, as numbers.
    rates : DataFrame, shape (n_runs, n_events)
        Events of each run, per unit of work or of processor time: totals would say how long it took.
    seconds : Series, shape (n_runs,)
        Execution time [s].
    examples : DataFrame, shape (n_examples, n_events)
        Rates of the events, to ask which of them matter; its index names the run of each row.
    performance : Series, shape (n_examples,)
        What they matter for: IPC of an interval, or the time of a run.
    """

    parameters: pd.DataFrame
    rates: pd.DataFrame
    seconds: pd.Series
    examples: pd.DataFrame
    performance: pd.Series

    def __len__(self):
        return len(self.seconds)

    @property
    def mixed(self):
        """Events and parameters side by side: the vector of the GBRT study's Eq. 9."""
        return pd.concat([self.rates, self.parameters], axis=1)

    def take(self, rows):
        """Some of the runs, by position."""
        names = self.seconds.index[rows]
        by_run = self.parameters.loc[names], self.rates.loc[names], self.seconds.loc[names]
        return Runs(*by_run, self.examples.loc[names], self.performance.loc[names])


def rank_directly(runs, *, seed=0):
    """Rank the parameters by a model of the time (the paper's method B, CounterMiner, §V-D).

    Parameters
    ----------
    runs : Runs
        Runs of one program under different settings.
    seed : int, default 0
        Of the model.

    Returns
    -------
    Series of float
        Importance by parameter [%], descending.
    """
    return influence(regressor(boosting=FEW_ROWS, seed=seed).fit(runs.parameters, runs.seconds))


def important_events(runs, *, seed=0):
    """Rank the events by a model of the performance.

    Parameters
    ----------
    runs : Runs
        Runs of one program under different settings.
    seed : int, default 0
        Of the model.

    Returns
    -------
    Series of float
        Importance by event [%], descending.
    """
    return influence(regressor(boosting=FEW_ROWS, seed=seed).fit(runs.examples, runs.performance))
