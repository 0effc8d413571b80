"""Where the cycles go: the pipeline's slots by what became of them, and whether they add up to all."""

from cmlib.topdown.account import Account, account, merge_steps
from cmlib.topdown.answers import summarize
from cmlib.topdown.bounds import LOSSES, Bounds, bounds
from cmlib.topdown.costs import Costs, known_costs, known_programs, read_costs
from cmlib.topdown.levels import levels, phases, totals
from cmlib.topdown.tables import (
    Category,
    FormulaError,
    TopdownTable,
    choose_table,
    evaluate,
    names_in,
    read_table,
    tables,
)
from cmlib.topdown.verdict import Verdict, judge
