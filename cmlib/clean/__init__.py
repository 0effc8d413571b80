"""Cleaning of multiplexed series: what perf prints, straight lines, CounterMiner's way, and a Kalman smoother."""

from cmlib.lazy import loader

_HOMES = {
    "DISTINCT_METHODS": "methods",
    "FEWEST_SAMPLES": "series",
    "METHODS": "methods",
    "REGISTERED": "methods",
    "Replay": "rotation",
    "SERIES_METHODS": "methods",
    "clean_kalman": "kalman",
    "clean_run": "series",
    "clean_series": "series",
    "distribution_kinds": "distribution",
    "estimate_counts": "kalman",
    "fill_missing": "missing",
    "interpolate": "missing",
    "missing_samples": "missing",
    "reconcile_sums": "kalman",
    "redistribute_delayed_counts": "kalman",
    "replace_outliers": "outliers",
    "replay": "rotation",
    "whole_intervals": "series",
    "zeros_without_turn": "missing",
}
__all__ = list(_HOMES)
__getattr__ = loader(__name__, _HOMES)
