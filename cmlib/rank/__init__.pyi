from .boosting import STACKED, Boosting, predict_held_out, regressor
from .importance import influence
from .refinement import Refinement, blocks, refine, relative_error
from .stability import draw_importances, importance_spread, rank_agreement
