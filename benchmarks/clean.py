"""Compare the speed of CounterMiner's cleaning with pandas, SciPy and scikit-learn: python benchmarks/clean.py

Both clean every event of every recorded run of a program, one series at a time, with the running shares.
"""

import argparse
import gzip
import math

import numpy as np
import pandas as pd
from interleave import ratio
from scipy import stats
from sklearn.neighbors import KNeighborsRegressor

from cmlib import places
from cmlib.clean import clean_series
from cmlib.io import perf

TOLERANCE = 1e-9


def plain(values, running, k=5):
    """Clean a series by Eq. 6 and 7, the test of a Gaussian and the filling, in plain pandas."""
    series = pd.Series(values)
    missing = series.isna() | ((series == 0) & (running == 0))
    kept = series[~missing]
    n_std = 3 if is_gaussian(kept) else 5
    outlier = (series > kept.mean() + n_std * kept.std(ddof=0)) & (running < 1)
    n_intervals = math.ceil(math.sqrt(len(series)))
    interval = pd.Series(np.arange(len(series)) * n_intervals // len(series))
    if outlier.any():
        normal = kept[~outlier[~missing]]
        medians = normal.groupby(interval[normal.index]).median()
        series[outlier] = interval[outlier].map(medians).fillna(normal.median())
    if missing.any():
        known, wanted = np.flatnonzero(~missing), np.flatnonzero(missing)
        neighbours = KNeighborsRegressor(min(k, len(known)), algorithm="brute")
        neighbours.fit(known[:, None], series[known])
        # A hair earlier, so that of two neighbours at the same distance the earlier one is nearer.
        series[wanted] = neighbours.predict(wanted[:, None] - 1e-6)
    return series.to_numpy()


def is_gaussian(kept):
    if kept.nunique() == 1:
        return True
    n = len(kept)
    statistic = stats.anderson(kept, "norm", method="interpolate").statistic
    return statistic * (1 + 0.75 / n + 2.25 / n**2) < 0.752


def recorded_series(program):
    """Return all series of a program with at least three counts, and their running shares."""
    found = []
    for path in sorted((places.recordings_dir() / program).glob("*.csv.gz")):
        counts, running = perf.series(perf.parse_stat(gzip.decompress(path.read_bytes()).decode()))
        running = running.where(counts.notna(), 0.0)
        found += [
            (counts[event].to_numpy(), running[event].to_numpy())
            for event in counts
            if counts[event].count() > 2
        ]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", default="gcc,kmeans", help="recorded programs, separated by commas")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    for program in options.programs.split(","):
        series = recorded_series(program)
        worst = max(largest_difference(*one) for one in series)
        speed = ratio(
            lambda series=series: [clean_series(*one)[0] for one in series],
            lambda series=series: [plain(*one) for one in series],
            options.rounds,
        )
        same = "the same" if worst <= TOLERANCE else "NOT THE SAME"
        print(
            f"{program}, {len(series)} series: {speed}; largest relative difference {worst:.1e}: {same}",
            flush=True,
        )


def largest_difference(values, running):
    ours, theirs = clean_series(values, running)[0], plain(values, running)
    return float(
        np.max(np.abs(ours - theirs) / np.maximum(np.abs(theirs), 1e-300), where=ours != theirs, initial=0)
    )


if __name__ == "__main__":
    main()
