"""How far a ranking of events can be trusted."""

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from cmlib.errors import UnfitRecordingError
from cmlib.rank.boosting import regressor
from cmlib.rank.importance import influence


def draw_importances(
    X,
    y,
    *,
    seeds=range(20),
    resample=True,
    n_blocks=20,
    importance="friedman",
    model=None,
    boosting=None,
):
    """Importances of models that differ by seed and by the rows they were trained on."""
    X = X[sorted(X.columns)]
    blocks = np.array_split(np.arange(len(X)), min(n_blocks, len(X)))
    rankings = {}
    for seed in seeds:
        rng = np.random.default_rng(seed)
        rows = np.arange(len(X))
        if resample:
            rows = np.concatenate([blocks[block] for block in rng.integers(len(blocks), size=len(blocks))])
        fitted = regressor(model, boosting=boosting, seed=seed).fit(X.iloc[rows], y.iloc[rows])
        rankings[seed] = influence(fitted, method=importance, X=X.iloc[rows])
    return pd.DataFrame(rankings).T.rename_axis("seed")


def importance_spread(draws, *, coverage=0.9):
    """Mean importance of every event, its standard deviation, and where it ranks."""
    tails = [(1 - coverage) / 2, (1 + coverage) / 2]
    low, high = draws.quantile(tails).to_numpy()
    ranks = draws.rank(axis=1, ascending=False, method="min")
    rank_low, rank_high = ranks.quantile(tails, interpolation="nearest").to_numpy()
    frame = pd.DataFrame(
        {
            "mean": draws.mean(),
            "sd": draws.std(),
            "low": low,
            "high": high,
            "rank_low": rank_low.astype(int),
            "rank_high": rank_high.astype(int),
        }
    )
    return frame.sort_values("mean", ascending=False, kind="stable").rename_axis("event")


def rank_agreement(one, other, *, n_top=20, n_boot=200, seed=0):
    """How much two rankings agree on the events that either puts near the top."""
    common = one.columns.intersection(other.columns, sort=False)
    if len(common) < 3:
        raise UnfitRecordingError(
            f"{len(common)} event(s) are in both rankings; at least 3 are needed to compare them."
        )
    means = one[common].mean(), other[common].mean()
    leading = [mean.sort_values(ascending=False, kind="stable").index[:n_top] for mean in means]
    compared = leading[0].union(leading[1])
    both = one[compared].to_numpy(), other[compared].to_numpy()
    rng = np.random.default_rng(seed)
    drawn = [
        _agreement(*(draws[rng.integers(len(draws), size=len(draws))].mean(axis=0) for draws in both))
        for _ in range(n_boot)
    ]
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    value = _agreement(*(draws.mean(axis=0) for draws in both))
    return pd.DataFrame(
        {"value": value, "low": low, "high": high}, index=["kendall", "spearman", "top10_shared"]
    )


def _agreement(one, other):
    """Kendall's tau-b, Spearman's rho, and the share of the first ten in common; SciPy's take 100 times as long."""
    n_first = min(10, len(one))
    first = [set(np.argsort(-values, kind="stable")[:n_first]) for values in (one, other)]
    signs = [np.sign(np.subtract.outer(values, values)) for values in (one, other)]
    ranks = [rankdata(values) for values in (one, other)]
    shared = len(first[0] & first[1]) / n_first
    return _correlation(*signs), _correlation(*(rank - rank.mean() for rank in ranks)), shared


def _correlation(one, other):
    size = np.sqrt(np.sum(one**2) * np.sum(other**2))
    return np.sum(one * other) / size if size > 0 else np.nan
