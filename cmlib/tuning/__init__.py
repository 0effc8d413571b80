"""Which parameters of a program matter for its run time, and whether the important events cause it."""

from cmlib.tuning.causality import Experiment, judge_events, moves
from cmlib.tuning.runs import (
    FEW_ROWS,
    Runs,
    couple,
    found_first,
    important_events,
    learning_curve,
    rank_by_effect,
    rank_by_pairs,
    rank_directly,
    variation,
)

__all__ = [
    "FEW_ROWS",
    "Experiment",
    "Runs",
    "couple",
    "found_first",
    "important_events",
    "judge_events",
    "learning_curve",
    "moves",
    "rank_by_effect",
    "rank_by_pairs",
    "rank_directly",
    "variation",
]
