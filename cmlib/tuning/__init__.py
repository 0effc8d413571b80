"""Which parameters of a program matter for its run time, and whether the important events cause it."""

from cmlib.tuning.causality import CAUSES, CORRELATES, NOT_SHOWN, Experiment, find_causes, moves
from cmlib.tuning.runs import FEW_ROWS, Runs, important_events, rank_directly
