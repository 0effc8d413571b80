from .boosting import (
    STACKED as STACKED,
    Boosting as Boosting,
    predict_held_out as predict_held_out,
    regressor as regressor,
)
from .importance import influence as influence
from .refinement import (
    NEAR as NEAR,
    Refinement as Refinement,
    blocks as blocks,
    hold_out_one_event as hold_out_one_event,
    predict_by_one_event as predict_by_one_event,
    refine as refine,
    relative_error as relative_error,
)
from .stability import (
    draw_importances as draw_importances,
    importance_spread as importance_spread,
    leading_agreement as leading_agreement,
    rank_agreement as rank_agreement,
)
from .variation import find_start_and_exit as find_start_and_exit, relative_deviation as relative_deviation
