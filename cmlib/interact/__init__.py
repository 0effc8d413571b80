"""Rank pairs of events by how strongly they act on IPC together, by what a model depends on."""

from cmlib.interact.pairs import rank_pairs

__all__ = ["rank_pairs"]
