"""Top-down analysis: shares of the pipeline's slots by category, exact or bounded, from counts of hardware events."""

from cmlib.topdown.answers import describe_misses, summarize
from cmlib.topdown.bounded_account import LOSSES, Bounds, bounds
from cmlib.topdown.category_tables import FormulaError, evaluate, names_in, read_table, tables
from cmlib.topdown.costs import known_costs, read_costs
from cmlib.topdown.run_levels import interval_lengths, levels, phases, totals
from cmlib.topdown.slot_account import Account, account
from cmlib.topdown.step_rates import merge_steps
from cmlib.topdown.table_choice import choose_table, fitting_tables
from cmlib.topdown.verdict import find_bottleneck

__all__ = [
    "Bounds",
    "account",
    "bounds",
    "levels",
    "read_table",
    "summarize",
    "tables",
    "totals",
]
