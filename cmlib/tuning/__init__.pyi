from .runs import FEW_ROWS, Runs, important_events, rank_directly
