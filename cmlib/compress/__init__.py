"""Piecewise-linear segments instead of samples (Wu and Mencer, "Online Linear Regression of Sampling Data")."""

from cmlib.compress.bounded import BoundedRegression
from cmlib.compress.evaluation.accuracy import SAMPLE_BYTES, fit_quality
from cmlib.compress.evaluation.curves import error_curves
from cmlib.compress.evaluation.equal_size import at_equal_size, at_size_of_lines
from cmlib.compress.evaluation.peers import bottom_up, swinging_door, zstd_samples
from cmlib.compress.evaluation.survey import survey
from cmlib.compress.intervals import intervals
from cmlib.compress.lines import compress, line_ends, of_event, reconstruct
from cmlib.compress.online import OnlineRegression
from cmlib.compress.stream import Line

__all__ = [
    "BoundedRegression",
    "Line",
    "OnlineRegression",
    "SAMPLE_BYTES",
    "at_equal_size",
    "at_size_of_lines",
    "bottom_up",
    "compress",
    "error_curves",
    "fit_quality",
    "intervals",
    "line_ends",
    "of_event",
    "reconstruct",
    "survey",
    "swinging_door",
    "zstd_samples",
]
