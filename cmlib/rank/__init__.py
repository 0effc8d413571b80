"""Rank events by what they tell about IPC: boosted models, their importances, and how stable a ranking is."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
