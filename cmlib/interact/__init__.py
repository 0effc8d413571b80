"""Which pairs of events act on IPC together, by what a model depends on."""

from cmlib.interact.dependence import Surface, pair_surface, partial_dependence, partial_dependences
from cmlib.interact.pairs import rank_pairs
