"""Estimate what a miss costs in cycles, by a program's own intervals and by changes whose effect was measured."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
