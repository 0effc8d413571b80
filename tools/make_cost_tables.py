"""Make the models of `cmlib.cost` and measure them: `python tools/make_cost_tables.py`.

Reads `data/cost/programs.csv` and `changes.csv`, and writes beside them

- `models.csv`: the constants of both models of :func:`cmlib.cost.default_cost_model`;
- `coverage.csv`: how good predictions for suites that took no part are, and how many intervals hold.

It takes about a minute. `tests/test_cost.py` makes both files again and compares them.
"""

import pandas as pd

from cmlib import cost, places
from cmlib.cost.calibration import LARGER_CACHE, PREFETCHERS
from cmlib.cost.savings import range_over_latencies

MODELS = {"this processor": False, "other processor": True}
CONSTANTS = ["center_", "spread_", "slope_error_", "store_weight_", "half_width_"]
RANGE = "range over latencies"
_MOST_MISSES = 0.6  # share of the misses that a change takes away, for the range of savings without any miss


def make_models(X, y):
    """Learn both models from all programs: DataFrame, one row per model."""
    rows = []
    for name, other_processor in MODELS.items():
        model = cost.learn(X, y, other_processor=other_processor)
        rows.append({"model": name} | {constant: getattr(model, constant) for constant in CONSTANTS})
    return pd.DataFrame(rows)


def make_coverage(X, y):
    """Measure both models, and the range over latencies, on suites and releases left out: DataFrame."""
    rows = []
    for by in ("suite", "release"):
        for name, other_processor in MODELS.items():
            predictions = cost.held_out(X, y, by=by, other_processor=other_processor)
            rows += _rows_of(name, by, predictions)
        predictions = _ranges(X, y, by)
        rows += [_row(RANGE, by, suite, "most misses gone", of) for suite, of in predictions.groupby(by)]
    return pd.DataFrame(rows)


def _rows_of(model, by, predictions):
    """Rows of one model: each suite (or release) by larger caches and by prefetchers, then all by setting."""
    larger = predictions["setting"].isin(LARGER_CACHE)
    rows = []
    for suite, of_suite in predictions.groupby(by):
        rows.append(_row(model, by, suite, "larger caches", of_suite[larger[of_suite.index]]))
        rows.append(_row(model, by, suite, "prefetchers", of_suite[~larger[of_suite.index]]))
    rows += [
        _row(model, by, "each", setting, predictions[predictions["setting"] == setting])
        for setting in (*LARGER_CACHE, *PREFETCHERS)
    ]
    rows.append(_row(model, by, "each", "larger caches", predictions[larger]))
    return rows


def _row(model, by, left_out, setting, predictions):
    return {"model": model, "by": by, "left_out": left_out, "setting": setting} | cost.coverage(
        predictions
    ).to_dict()


def _ranges(X, y, by):
    """Predict the changes that take away most misses by ranges over latencies, as :func:`cmlib.cost.held_out` does."""
    predictions = cost.held_out(X, y, by=by, other_processor=True)
    most = X["setting"].isin(LARGER_CACHE) & (-X["change"] >= _MOST_MISSES * X["misses"])
    for _, rows in X[most].groupby(by):
        rest = X.index[X[by] != rows[by].iloc[0]]
        model = cost.learn(X.loc[rest], y[rest], other_processor=True)
        found = range_over_latencies(model, rows, model.latency)
        columns = ["predicted", "low", "high"]
        predictions.loc[rows.index, columns] = found[["percent", "low", "high"]].to_numpy()
    return predictions[most]


def main():
    """Write both files."""
    X, y = cost.changes((*LARGER_CACHE, *PREFETCHERS))
    X = X.drop(columns="stores_change")
    for name, table in {"models": make_models(X, y), "coverage": make_coverage(X, y)}.items():
        table.to_csv(places.shipped("cost") / f"{name}.csv", index=False, float_format="%.6g")


if __name__ == "__main__":
    main()
