"""Clean multiplexed series: what perf prints, straight lines, CounterMiner's way, and a Kalman smoother."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "accuracy": ["MEASURES", "noise_floor", "references"],
        "distance": ["dtw", "folded_error", "mlpx_error"],
        "distribution": ["distribution_kinds"],
        "kalman": ["clean_kalman", "estimate_counts"],
        "methods": ["DISTINCT_METHODS", "METHODS", "REGISTERED", "SERIES_METHODS"],
        "missing": ["fill_missing", "zeros_without_turn"],
        "outliers": ["replace_outliers"],
        "rotation": ["replay"],
        "series": ["FEWEST_SAMPLES", "clean_run", "clean_series", "whole_intervals"],
    },
)
