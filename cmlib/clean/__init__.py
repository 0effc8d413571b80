"""Cleaning of multiplexed series: what perf prints, straight lines, CounterMiner's way, and a Kalman smoother."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "distribution": ["distribution_kinds"],
        "kalman": ["clean_kalman", "estimate_counts", "reconcile_sums", "redistribute_delayed_counts"],
        "methods": ["DISTINCT_METHODS", "METHODS", "REGISTERED", "SERIES_METHODS"],
        "missing": ["fill_missing", "interpolate", "missing_samples", "zeros_without_turn"],
        "outliers": ["replace_outliers"],
        "rotation": ["Replay", "replay"],
        "series": ["FEWEST_SAMPLES", "clean_run", "clean_series", "whole_intervals"],
    },
)
