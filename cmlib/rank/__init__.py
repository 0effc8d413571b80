"""Rank events by how much they matter in a model of IPC: boosted trees, importances, and stability of a ranking.

IPC is instructions per cycle. `refine` takes X (DataFrame of rates of events, a row per interval or a step of the
run) and y (Series of IPC), and returns a Refinement, whose importances [%] are the ranking. Raises a ValueError if X
holds an event that contains IPC (target leakage), a gap, or fewer than 20 rows.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
