"""Piecewise-linear segments instead of samples (Wu and Mencer, "Online Linear Regression of Sampling Data")."""

from cmlib.compress.bounded import BoundedRegression
from cmlib.compress.evaluation import (
    at_equal_size,
    bottom_up,
    error_curves,
    fit_quality,
    swinging_door,
    zstd_samples,
)
from cmlib.compress.lines import compress, intervals, line_ends, of_event, reconstruct
from cmlib.compress.online import Line, OnlineRegression
