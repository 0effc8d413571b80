"""Rank pairs of events by the strength of their interaction in a model of IPC (instructions per cycle).

`rank_pairs` takes X (DataFrame of rates, a column per event), y (Series of IPC) and the events to pair, and returns a
DataFrame, a row per pair: pair, event_a, event_b, intensity and importance [%]. Raises a ValueError if an event is
no column of X, or there is nothing to pair.
"""

from cmlib.interact.pairs import rank_pairs

__all__ = ["rank_pairs"]
