"""Find the parameters of a program that matter for its run time, and whether the important events cause it."""

from cmlib.tuning.causality import CAUSES, CORRELATES, NOT_SHOWN, Experiment, find_causes
from cmlib.tuning.runs import FEW_ROWS, Runs, important_events, rank_directly

__all__ = [
    "CAUSES",
    "CORRELATES",
    "NOT_SHOWN",
    "FEW_ROWS",
    "Experiment",
    "Runs",
    "find_causes",
    "important_events",
    "rank_directly",
]
