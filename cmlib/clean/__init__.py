"""Clean multiplexed series: what perf prints, straight lines, CounterMiner's way, and shrinkage towards neighbours."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
