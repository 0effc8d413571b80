"""Fingerprints of hardware bottlenecks: key events, time slices and the decision tree (Yoo et al. 2012)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
