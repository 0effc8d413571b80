"""Compare two versions of a program, and count events in regions of a program.

:func:`compare_programs` runs two commands several times and compares their times and counts.
:func:`compare_simulated` compares simulated counts. Both return a dict with the verdict (for example, slower
or no change) and the functions that changed. :func:`region` counts events in a block of a Python program.
Names are imported on first use, so that `region` adds little to the start of a program.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["include_dir"]
