"""Estimate what a cache miss costs in cycles.

:func:`savings_without_misses` estimates the cycles that a program would save without the misses of each cache.
:func:`predict_change` predicts the change of cycles for a change of misses. :class:`PooledCost` is the model of both.
It combines the program's own intervals with costs that were measured for other programs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
