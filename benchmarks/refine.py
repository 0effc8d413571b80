"""Refinement against the one that pandas and scikit-learn make. By hand: python benchmarks/refine.py

Both refine the same matrices of real recordings with the same settings, on a random fifth and on all rows; ours refines
three times more, on blocks of neighbours, which takes part in its time.
The stacked matrices are of the papers' size (3277 × 229), the last one is the smallest that is ever refined.
"""

import argparse
import gzip

import numpy as np
import pandas as pd
from interleave import ratio
from sklearn.ensemble import GradientBoostingRegressor

from cmlib import merge, places, rank
from cmlib.io import perf
from cmlib.rank.boosting import Boosting

# The stated tolerance of "the same result": errors of the best model, and how much of the first ten both share.
ERROR_POINTS = 0.5
SHARED_OF_TEN = 5


def plain(X, y, step, settings):
    """Return the errors on a random fifth per number of events, and the best ranking, with plain scikit-learn."""
    order = np.random.default_rng(0).permutation(len(X))
    n_test = round(len(X) / 5)
    tested = plain_path(X.iloc[order[n_test:]], y.iloc[order[n_test:]], step, settings)
    errors = [
        (100 * (y - model.predict(X[events])).abs() / y).iloc[order[:n_test]].mean()
        for model, events, _ in tested
    ]
    kept = plain_path(X, y, step, settings)
    return errors, kept[int(np.argmin(errors))][2]


def plain_path(X, y, step, settings):
    events, path = list(X.columns), []
    while True:
        model = GradientBoostingRegressor(
            n_estimators=settings.trees,
            learning_rate=settings.learning_rate,
            max_leaf_nodes=settings.leaves,
            max_depth=None,
            min_samples_leaf=settings.rows_per_leaf,
            subsample=settings.row_share,
            random_state=0,
        ).fit(X[events], y)
        ranking = pd.Series(model.feature_importances_, index=events).sort_values(ascending=False)
        path.append((model, events, ranking))
        if len(events) <= step:
            return path
        events = list(ranking.index[:-step])


def compare(name, X, y, step, settings, rounds):
    """Print how much faster, and how far the results agree."""
    found = {}
    options = {"step": step, "boosting": settings, "n_folds": 2}
    speed = ratio(
        lambda: found.update(ours=rank.refine(X, y, **options)),
        lambda: found.update(plain=plain(X, y, step, settings)),
        rounds,
    )
    refined, (errors, ranking) = found["ours"], found["plain"]
    error, other = refined.as_printed["error"], min(errors)
    chosen = refined.rankings[int(refined.history["error"].argmin())]
    shared = len(set(chosen.index[:10]) & set(ranking.index[:10]))
    same = abs(error - other) <= ERROR_POINTS and shared >= SHARED_OF_TEN
    print(
        f"{name} ({len(X)} × {X.shape[1]}, {len(errors)} steps): {speed}\n    lowest error {error:.2f} and "
        f"{other:.2f} %, {shared} of the first ten shared: {'the same' if same else 'NOT THE SAME'}",
        flush=True,
    )


def first_pass(program):
    """Return the counts of all runs of the first pass. Gaps and impossible values are filled from their neighbors."""
    runs = []
    for path in sorted((places.recordings_dir() / program).glob("*-p0-*.csv.gz")):
        counts, _ = perf.series(perf.parse_stat(gzip.decompress(path.read_bytes()).decode()))
        runs.append(counts.mask(counts > 1e12).interpolate(limit_direction="both"))
    return runs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", default="gcc,bzip2", help="recorded programs, separated by commas")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--smallest", action="store_true", help="few events and trees: only that it runs")
    options = parser.parse_args()
    if options.smallest:
        X, y = merge.align_runs(first_pass("gcc"), 60)
        compare("gcc, 30 events", X.iloc[:, :30], y, 10, Boosting(trees=20), 1)
        return
    runs = {program: first_pass(program) for program in options.programs.split(",")}
    aligned = [merge.align_runs(group, 200) for group in runs.values()]
    for program, group in runs.items():
        X, y = merge.stack_runs(group)
        compare(f"{program}, stacked", X, y, 30, Boosting(leaves=31), options.rounds)
    X, y = (pd.concat(parts) for parts in zip(*aligned, strict=True))
    compare("all of them, aligned", X, y, 10, Boosting(), options.rounds)
    compare(f"{next(iter(runs))}, aligned", *aligned[0], 10, Boosting(), options.rounds)


if __name__ == "__main__":
    main()
