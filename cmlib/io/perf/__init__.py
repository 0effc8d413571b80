"""What `perf stat` and other tools write, and the series in it."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["parse_stat", "series"]
