"""Estimate how many cycles a cache miss costs.

:func:`savings_without_misses` estimates how many cycles a program would save if a cache had no misses.
:func:`predict_change` predicts how the cycles change if the number of misses changes. Both use the model
:class:`PooledCost`. The model combines the counts of the program with measurements of other programs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
