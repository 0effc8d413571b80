from .levels import compare_levels as compare_levels
from .runs import (
    FEW_ROWS as FEW_ROWS,
    Runs as Runs,
    important_events as important_events,
    rank_directly as rank_directly,
    rank_through_events as rank_through_events,
)
