"""Rank pairs of events by the strength of their interaction in a model of IPC."""

from cmlib.interact.pairs import rank_pairs

__all__ = ["rank_pairs"]
