from .accounts import (
    bounds_by_step as bounds_by_step,
    cleaned_steps as cleaned_steps,
    counted_shares as counted_shares,
    frame_of_advice as frame_of_advice,
    frame_of_bounds as frame_of_bounds,
    have_steps as have_steps,
    topdown_tables as topdown_tables,
)
from .data import (
    cleaned_runs as cleaned_runs,
    describe_source as describe_source,
    interval_runs as interval_runs,
    load_both_modes as load_both_modes,
    of_suites as of_suites,
    paper_figures as paper_figures,
    programs as programs,
    suites as suites,
)
from .event_matrix import Matrix as Matrix
from .event_ranking import refine as refine
from .event_tables import event_table as event_table
from .matrices import (
    core_runs as core_runs,
    matrix as matrix,
    recorded_matrix as recorded_matrix,
    recorded_runs as recorded_runs,
    varying as varying,
)
from .summary import (
    summarize_programs as summarize_programs,
    summarize_recordings as summarize_recordings,
)
from .targets import IPC as IPC, Target as Target, choose_target as choose_target
