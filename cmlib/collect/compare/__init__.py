"""Two versions of a program are run against each other; regions of a program are counted.

Names are loaded when they are asked for: a program that only counts its regions loads nothing else.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
