"""Estimate the cycles that a cache miss costs, from a program's intervals and from measured changes of misses."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
