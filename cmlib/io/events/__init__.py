"""Events of a processor: their codes, short names and sums, and how perf is told to count them."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["kinds", "recognise", "table", "umask_sums"]
