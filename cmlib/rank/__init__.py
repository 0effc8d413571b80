"""Rank events by their importance in a model of IPC (instructions per cycle).

`refine` takes X, a DataFrame of event rates, and y, a Series of IPC. Both have one row per interval or step of a run.
It returns a `Refinement`, whose importances [%] are the ranking. The other functions fit the model, compute
importances, and measure how stable a ranking is.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
