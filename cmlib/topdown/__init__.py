"""Where the cycles go: the pipeline's slots by what became of them, and whether they add up to all."""

from cmlib.topdown.account import Account, account
from cmlib.topdown.closure import closure, doubtful_category
from cmlib.topdown.formulas import FormulaError, evaluate, names_in
from cmlib.topdown.merging import merge_steps
from cmlib.topdown.tables import Category, TopdownTable, choose_table, read_table, tables

__all__ = [
    "Account",
    "Category",
    "FormulaError",
    "TopdownTable",
    "account",
    "choose_table",
    "closure",
    "doubtful_category",
    "evaluate",
    "merge_steps",
    "names_in",
    "read_table",
    "tables",
]
