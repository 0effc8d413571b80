from .bounded_account import Bounds as Bounds, bounds as bounds
from .category_tables import (
    LOSSES as LOSSES,
    FormulaError as FormulaError,
    evaluate as evaluate,
    names_in as names_in,
    read_table as read_table,
    tables as tables,
)
from .costs import known_costs as known_costs, read_costs as read_costs
from .event_totals import totals as totals
from .phase_cuts import phases as phases, series_phases as series_phases
from .run_levels import interval_lengths as interval_lengths, levels as levels
from .slot_account import Account as Account, account as account
from .step_rates import merge_steps as merge_steps
from .summary import (
    build_summary as build_summary,
    describe_misses as describe_misses,
    summarize as summarize,
)
from .table_choice import choose_table as choose_table, fitting_tables as fitting_tables
from .verdict import find_bottleneck as find_bottleneck
