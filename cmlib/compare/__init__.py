"""Compare two versions of a program by running both, and count regions of a program.

`compare_programs` takes two commands and returns the verdict as a dict (slower, faster or no change, and in which
functions); `compare_simulated` does so by simulated counts; `region` counts a block of a Python program. Names are
loaded when they are first used, so that a program that only counts its regions loads nothing else. CmlibError if a
command fails or the two can't be compared.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["include_dir"]
