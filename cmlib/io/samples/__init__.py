"""Samples: read perf's sample streams, and the files in which samples or lines are kept.

A sample is the counts of a group of events since the sample before, taken whenever the first event has counted a
period. "Lines" are piecewise-linear segments that are stored in place of samples. Names are loaded on demand.
SampleError for files that can't be read or were changed.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["find_streams"]
