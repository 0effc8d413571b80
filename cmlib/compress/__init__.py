"""Compress samples to piecewise-linear segments (Wu and Mencer, "Online Linear Regression of Sampling Data").

`compress` takes arrays x and y of cumulative counts, and returns a DataFrame, a row per segment (called a line):
x_start, x_end, slope, intercept, sigma, n; `reconstruct` reads y off them; `OnlineRegression` does the same one
sample at a time. Raises a ValueError if x does not increase, lengths differ, or a tolerance is negative.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
