"""Compress samples to piecewise-linear segments (Wu and Mencer, "Online Linear Regression of Sampling Data")."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
