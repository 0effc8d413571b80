"""Estimate what a cache miss costs in cycles, from a program's intervals and from measured changes of misses.

:func:`rates` computes cycles and misses per instruction by interval, :func:`slope` the cycles that come with one more
miss. :func:`predict_change` predicts the change of cycles per instruction for a change of misses, and
:func:`savings_without_misses` estimates the cycles that would be saved without the misses of each cache.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
