"""Top-down analysis: shares of the pipeline's slots by category, exact or bounded, from counts of hardware events.

A slot is a place for one operation that the processor can begin in a cycle. Level 1 divides all slots into retired
(used), and lost to front end, back end and bad speculation. `summarize` takes counts of a program's runs
(DataFrames), and gives a dict that says what limits it; `totals` and `bounds` give the rates and the bounds behind
it; `account` gives exact shares where all events of a table were counted. What is not known is None or has wide
bounds; `account` raises a ValueError if the slots were not counted.
"""

from cmlib.topdown.answers import describe_misses, summarize
from cmlib.topdown.bounded_account import LOSSES, Bounds, bounds
from cmlib.topdown.category_tables import FormulaError, evaluate, names_in, read_table, tables
from cmlib.topdown.costs import known_costs, read_costs
from cmlib.topdown.run_levels import interval_lengths, levels, phases, series_phases, totals
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
