"""Read samples of counters, and store them as files.

perf takes a sample each time the count of the first event of a group has grown by the sampling period. The sample has
the counts of all events of the group since the previous sample. Lines are piecewise-linear segments that are stored in
place of samples.
:func:`find_streams` lists the stored samples. SampleError is raised for files that cannot be read or were changed.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["find_streams"]
