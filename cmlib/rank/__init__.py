"""Which events tell a program's IPC: boosted models, their importances, and how stable a ranking is."""

from cmlib.rank.boosting import STACKED, Boosting, predict_held_out, regressor
from cmlib.rank.importance import influence
from cmlib.rank.refinement import Refinement, blocks, drop_least, error_of_mean, refine, relative_error
from cmlib.rank.stability import draw_importances, importance_spread, rank_agreement
