"""Cleaning of multiplexed series: what perf prints, straight lines, CounterMiner's way, and a Kalman smoother."""

from cmlib.clean.distribution import distribution_kinds
from cmlib.clean.kalman import clean_kalman, estimate_counts, reconcile_sums, redistribute_delayed_counts
from cmlib.clean.methods import DISTINCT_METHODS, METHODS, REGISTERED, SERIES_METHODS
from cmlib.clean.missing import fill_missing, interpolate, missing_samples, zeros_without_turn
from cmlib.clean.outliers import replace_outliers
from cmlib.clean.replay import Replay, replay
from cmlib.clean.series import FEWEST_SAMPLES, clean_run, clean_series, whole_intervals
