from .runs import (
    FEW_ROWS as FEW_ROWS,
    Runs as Runs,
    important_events as important_events,
    rank_directly as rank_directly,
)
