"""Where the cycles go: the pipeline's slots by what became of them, and whether they add up to all."""

from cmlib.topdown.account import Account, account, choose_table, fitting_tables, merge_steps
from cmlib.topdown.answers import summarize
from cmlib.topdown.bounds import LOSSES, Bounds, bounds
from cmlib.topdown.costs import Costs, known_costs, read_costs
from cmlib.topdown.levels import levels, phases, totals
from cmlib.topdown.tables import (
    Category,
    FormulaError,
    TopdownTable,
    evaluate,
    names_in,
    read_table,
    tables,
)
from cmlib.topdown.verdict import Bottleneck, find_bottleneck
