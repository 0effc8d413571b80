from .accounts import (
    bounds_by_step,
    cleaned_steps,
    counted_shares,
    frame_of_advice,
    frame_of_bounds,
    have_steps,
    topdown_tables,
)
from .data import (
    cleaned_runs,
    describe_source,
    interval_runs,
    load_both_modes,
    of_suites,
    paper_figures,
    programs,
    suites,
)
from .event_tables import event_table
from .first_page import describe_ranking
from .matrices import Matrix, core_runs, matrix, recorded_matrix, recorded_runs, refine, varying
from .summary import summarize_recordings
from .targets import IPC, Target, choose_target
