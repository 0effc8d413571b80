"""Clean counts of multiplexed runs by interpolation, by CounterMiner's method, or by shrinkage to neighbours."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
