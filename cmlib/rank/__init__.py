"""Rank events by what they tell about IPC: boosted models, their importances, and how stable a ranking is."""

from cmlib.rank.boosting import STACKED, Boosting, predict_held_out, regressor
from cmlib.rank.clusters import ClusterRegression, cluster_events, held_out
from cmlib.rank.importance import influence
from cmlib.rank.refinement import Refinement, blocks, drop_least, refine, relative_error
from cmlib.rank.stability import draw_importances, importance_spread, rank_agreement

__all__ = [
    "STACKED",
    "Boosting",
    "ClusterRegression",
    "Refinement",
    "blocks",
    "cluster_events",
    "draw_importances",
    "drop_least",
    "held_out",
    "importance_spread",
    "influence",
    "predict_held_out",
    "rank_agreement",
    "refine",
    "regressor",
    "relative_error",
]
