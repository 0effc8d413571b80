from .boosting import STACKED, Boosting, predict_held_out, regressor
from .importance import influence
from .refinement import (
    NEAR,
    Refinement,
    blocks,
    hold_out_one_event,
    predict_by_one_event,
    refine,
    relative_error,
)
from .stability import draw_importances, importance_spread, leading_agreement, rank_agreement
from .variation import find_start_and_exit, relative_deviation
