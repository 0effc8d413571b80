"""Rank events by how much they matter in a model of IPC: boosted trees, importances, and stability of a ranking."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
