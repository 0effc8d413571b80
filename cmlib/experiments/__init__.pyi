from .accounts import cleaned_steps, topdown_tables
from .data import (
    cleaned_runs,
    describe_source,
    interval_runs,
    of_suites,
    paper_figures,
    programs,
    suites,
)
from .event_tables import event_table
from .first_page import describe_ranking
from .matrices import Matrix, core_runs, matrix, recorded_matrix, recorded_runs, refine, varying
from .targets import IPC, Target, choose_target
