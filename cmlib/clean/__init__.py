"""Cleaning of multiplexed series: what perf prints, straight lines, CounterMiner's way, and a Kalman smoother."""

from cmlib.clean.distribution import coverage, distribution_kinds
from cmlib.clean.interpolation import interpolate
from cmlib.clean.kalman import clean_kalman, estimate_counts
from cmlib.clean.late import spread_late_readings
from cmlib.clean.methods import DISTINCT_METHODS, METHODS, REGISTERED, SERIES_METHODS
from cmlib.clean.missing import fill_missing, missing_samples, zeros_without_turn
from cmlib.clean.outliers import replace_outliers
from cmlib.clean.replay import Replay, replay
from cmlib.clean.run import clean_run
from cmlib.clean.series import FEWEST_SAMPLES, clean_series
from cmlib.clean.sums import hold_sums
from cmlib.clean.whole import whole_intervals

__all__ = [
    "DISTINCT_METHODS",
    "FEWEST_SAMPLES",
    "METHODS",
    "REGISTERED",
    "Replay",
    "SERIES_METHODS",
    "clean_kalman",
    "clean_run",
    "clean_series",
    "coverage",
    "distribution_kinds",
    "estimate_counts",
    "fill_missing",
    "hold_sums",
    "interpolate",
    "missing_samples",
    "replay",
    "replace_outliers",
    "spread_late_readings",
    "whole_intervals",
    "zeros_without_turn",
]
