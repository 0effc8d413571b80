"""Estimate the cycles that a cache miss costs, from a program's intervals and from measured changes of misses.

`rates` gives cycles and misses per instruction by interval, `slope` the cycles that come with one miss more,
`predict_change` the change of cycles per instruction if misses change; `savings_without_misses` gives the cycles
that would be saved without the misses of each cache. A ValueError if a column of counts is missing, or nothing was
counted.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
