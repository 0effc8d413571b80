"""Compress samples to lines (Wu and Mencer, "Online Linear Regression of Sampling Data").

A line is a piecewise-linear segment of cumulative counts y over a cumulative count x, for example of cycles.
`compress` fits lines to arrays and returns them as a DataFrame. `reconstruct` computes y from the lines.
`OnlineRegression` does the same for samples that arrive one after another.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
