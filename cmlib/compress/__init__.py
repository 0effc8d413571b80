"""Piecewise-linear segments instead of samples (Wu and Mencer, "Online Linear Regression of Sampling Data")."""

from cmlib.lazy import loader

_HOMES = {
    "BoundedRegression": "bounded",
    "Line": "online",
    "OnlineRegression": "online",
    "compress": "lines",
    "fit_quality": "lines",
    "intervals": "lines",
    "line_ends": "lines",
    "reconstruct": "lines",
}
__all__ = list(_HOMES)
__getattr__ = loader(__name__, _HOMES)
