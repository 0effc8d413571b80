"""Samples: read perf's sample streams, and the files in which samples or lines are kept; names are loaded on
demand."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
