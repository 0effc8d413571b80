"""Straight lines instead of samples (Wu and Mencer, "Online Linear Regression of Sampling Data")."""

from cmlib.compress.accuracy import fit_quality
from cmlib.compress.bounded import BoundedRegression
from cmlib.compress.intervals import intervals
from cmlib.compress.lines import compress, of_event, reconstruct
from cmlib.compress.online import OnlineRegression
from cmlib.compress.peers import at_equal_size, bottom_up, swinging_door, zstd_samples
from cmlib.compress.stream import Line
from cmlib.compress.survey import survey

__all__ = [
    "BoundedRegression",
    "Line",
    "OnlineRegression",
    "at_equal_size",
    "bottom_up",
    "compress",
    "fit_quality",
    "intervals",
    "of_event",
    "reconstruct",
    "survey",
    "swinging_door",
    "zstd_samples",
]
