"""Compare two versions of a program by running both, and count regions of a program.

Names are loaded when they are asked for: a program that only counts its regions loads nothing else.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["include_dir"]
