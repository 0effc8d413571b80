"""Piecewise-linear segments instead of samples (Wu and Mencer, "Online Linear Regression of Sampling Data")."""

from cmlib.compress.bounded import BoundedRegression
from cmlib.compress.lines import compress, fit_quality, intervals, line_ends, reconstruct
from cmlib.compress.online import Line, OnlineRegression
