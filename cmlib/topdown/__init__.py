"""Where the cycles go: the pipeline's slots by what became of them, and whether they add up to all."""

from cmlib.topdown.account import Account, account
from cmlib.topdown.answers import summarize
from cmlib.topdown.bounds import LOSSES, Bounds, bounds
from cmlib.topdown.closure import closure, doubtful_category, tested_events
from cmlib.topdown.costs import Costs, known_costs, known_programs, read_costs
from cmlib.topdown.formulas import FormulaError, evaluate, names_in
from cmlib.topdown.levels import levels, phases, totals
from cmlib.topdown.merging import merge_steps
from cmlib.topdown.tables import Category, TopdownTable, choose_table, read_table, tables
from cmlib.topdown.verdict import Verdict, judge

__all__ = [
    "LOSSES",
    "Account",
    "Bounds",
    "Category",
    "Costs",
    "FormulaError",
    "TopdownTable",
    "Verdict",
    "account",
    "bounds",
    "choose_table",
    "closure",
    "doubtful_category",
    "evaluate",
    "judge",
    "known_costs",
    "known_programs",
    "levels",
    "merge_steps",
    "names_in",
    "phases",
    "read_costs",
    "read_table",
    "summarize",
    "tables",
    "tested_events",
    "totals",
]
