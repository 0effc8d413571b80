"""Which parameters a program's time depends on, asked directly and through events (CounterMiner, §V-D)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

from cmlib.interact import rank_pairs
from cmlib.rank import relative_error
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


def learning_curve(X, y, sizes, *, draws=20, test_share=0.25, seed=0):
    """Error of a boosted model against the number of runs it was trained on.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_columns)
        Its index names the run of each row; rows of one run stay together.
    y : Series, shape (n_rows,)
    sizes : sequence of int
        Runs to train on.
    draws : int, default 20
        Times that the runs are divided at random, into those tested on and the rest,
        of which the first `size` are trained on: the same at all sizes.
    test_share : float, default 0.25
        Runs tested on.
    seed : int, default 0

    Returns
    -------
    DataFrame
        A row a size: ``runs``; ``error``, mean of the draws (CounterMiner, Eq. 14) [%], and ``low`` and
        ``high``, between which nine of ten draws lie; ``mean_baseline``, of the mean of the same training runs.

    Raises
    ------
    ValueError
        If more runs are to be trained on than the test leaves.
    """
    runs = X.index.unique()
    n_test = max(1, round(test_share * len(runs)))
    if max(sizes) > len(runs) - n_test:
        raise ValueError(
            f"{max(sizes)} runs to train on, and {len(runs) - n_test} of {len(runs)} are left beside the test."
        )
    rows = []
    for draw in range(draws):
        order = np.random.default_rng([seed, draw]).permutation(runs)
        test, rest = order[:n_test], order[n_test:]
        for size in sizes:
            train = rest[:size]
            predicted = (
                regressor(boosting=FEW_ROWS, seed=draw).fit(X.loc[train], y.loc[train]).predict(X.loc[test])
            )
            measured, mean = y.loc[test], y.loc[train].mean()
            rows.append((size, relative_error(measured, predicted), relative_error(measured, mean)))
    drawn = pd.DataFrame(rows, columns=["runs", "error", "mean_baseline"]).groupby("runs")
    errors = drawn["error"].agg(
        error="mean", low=lambda of: of.quantile(0.05), high=lambda of: of.quantile(0.95)
    )
    return errors.assign(mean_baseline=drawn["mean_baseline"].mean()).reset_index()


def rank_directly(runs, *, seed=0):
    """Importance of each parameter in a model of the time by the parameters (the paper's method B).

    Parameters
    ----------
    runs : Runs
    seed : int, default 0

    Returns
    -------
    Series of float
        Percent by parameter, descending.
    """
    return influence(regressor(boosting=FEW_ROWS, seed=seed).fit(runs.parameters, runs.seconds))


def couple(runs, *, n_events=10, method="residual_variance", n_points=20, seed=0):
    """Pairs of an important event and a parameter, by how strongly they act on the time together.

    A model of the performance by the events ranks them; the first `n_events` stand beside all parameters in a
    mixed model (GBRT study, Eq. 9), whose pairs are ranked (as in CounterMiner's Fig. 13).

    Parameters
    ----------
    runs : Runs
    n_events : int, default 10
    method, n_points
        As for :func:`cmlib.interact.rank_pairs`.
    seed : int, default 0

    Returns
    -------
    DataFrame
        As from :func:`cmlib.interact.rank_pairs`: ``event_a`` is the event, ``event_b`` the parameter.
    """
    important = important_events(runs, seed=seed).index[:n_events]
    X = pd.concat([runs.rates[important], runs.parameters], axis=1)
    return rank_pairs(
        X,
        runs.seconds,
        important,
        partners=runs.parameters.columns,
        method=method,
        boosting=FEW_ROWS,
        n_points=n_points,
        seed=seed,
    )


def important_events(runs, *, seed=0):
    """Importance of each event in a model of the performance by the events."""
    return influence(regressor(boosting=FEW_ROWS, seed=seed).fit(runs.examples, runs.performance))


def rank_by_pairs(runs, *, n_events=10, method="residual_variance", seed=0):
    """Each parameter by the strongest pair it is in: the paper's method A, by another measure of pairs than its Eq. 12.

    Parameters
    ----------
    runs : Runs
    n_events : int, default 10
    method : "residual_variance" or "h_statistic", default "residual_variance"
        As for :func:`cmlib.interact.rank_pairs`: what a plane leaves of the model's predictions, or Friedman's H.
    seed : int, default 0

    Returns
    -------
    Series of float
        Importance of that pair [%] by parameter, descending.
    """
    pairs = couple(runs, n_events=n_events, method=method, seed=seed)
    return _descending(pairs.groupby("event_b")["importance"].max())


def rank_by_effect(runs, *, n_events=10, seed=0):
    """Each parameter by what it does to the important events: ours, beside the paper's pairs."""
    important = important_events(runs, seed=seed).iloc[:n_events]
    score = np.zeros(runs.parameters.shape[1])
    folds = list(KFold(3, shuffle=True, random_state=seed).split(runs.parameters))
    for event, weight in important.items():
        y = runs.rates[event]
        if not y.std() > 0:
            continue
        predicted, shares = np.zeros(len(y)), np.zeros(len(score))
        for train, test in folds:
            model = regressor(boosting=FEW_ROWS, seed=seed).fit(runs.parameters.iloc[train], y.iloc[train])
            predicted[test] = model.predict(runs.parameters.iloc[test])
            gains = model.feature_importances_
            shares += gains / (gains.sum() or 1.0) / len(folds)
        explained = max(0.0, 1 - (y - predicted).var() / y.var())
        score += weight * explained * shares
    return _descending(pd.Series(score, index=runs.parameters.columns))


def found_first(runs, rank, first, sizes, *, draws=20, seed=0):
    """How often a ranking from a few runs begins with a given parameter."""
    orders = [np.random.default_rng([seed, draw]).permutation(len(runs)) for draw in range(draws)]
    named = {size: [_first(rank(runs.take(order[:size]))) for order in orders] for size in sizes}
    shares = [100 * np.mean([name == first for name in names]) for names in named.values()]
    return pd.DataFrame({"runs": list(named), "found": shares})


def variation(seconds, *, draws=2000, seed=0):
    """How much the time varies with a parameter: its slowest level against its fastest."""
    rng = np.random.default_rng(seed)
    groups = [np.asarray(values, dtype=float) for values in seconds.values()]
    ends = np.cumsum([len(group) for group in groups])[:-1]
    seen, everything = _spread(groups), np.concatenate(groups)
    slowest, fastest = (groups[pick([group.mean() for group in groups])] for pick in (np.argmax, np.argmin))
    ratios = [_again(rng, slowest) / _again(rng, fastest) for _ in range(draws)]
    low, high = 100 * (np.quantile(ratios, [0.025, 0.975]) - 1)
    exchanged = [_spread(np.split(rng.permutation(everything), ends)) for _ in range(draws)]
    p = (1 + np.sum(np.array(exchanged) >= seen * (1 - 1e-12))) / (1 + draws)
    return pd.Series({"variation": seen, "low": low, "high": high, "p": p})


def _first(importances):
    """The name at the top; none if nothing is important."""
    return importances.index[0] if importances.iloc[0] > 0 else None


def _again(rng, group):
    return rng.choice(group, len(group)).mean()


def _spread(groups):
    means = [group.mean() for group in groups]
    return 100 * (max(means) / min(means) - 1)


def _descending(scores):
    return scores.sort_index().sort_values(ascending=False, kind="stable").rename("importance")
