from .bounded_account import LOSSES, Bounds, bounds
from .category_tables import FormulaError, evaluate, names_in, read_table, tables
from .costs import known_costs, read_costs
from .run_levels import interval_lengths, levels, phases, series_phases, totals
from .slot_account import Account, account
from .step_rates import merge_steps
from .summary import build_summary, describe_misses, summarize
from .table_choice import choose_table, fitting_tables
from .verdict import find_bottleneck
