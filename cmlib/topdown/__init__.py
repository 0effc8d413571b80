"""Top-down analysis: shares of the pipeline's slots by category, exact or bounded, from counts of hardware events.

A slot is a place for one operation that the processor can begin in a cycle. Level 1 divides all slots into retired
(used), and lost to front end, back end and bad speculation. `summarize` takes counts of a program's runs
(DataFrames), and gives a dict that says what limits it; `totals` and `bounds` give the rates and the bounds behind
it; `account` gives exact shares where all events of a table were counted. What is not known is None or has wide
bounds; `account` raises a ValueError if the slots were not counted.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [
    "Bounds",
    "account",
    "bounds",
    "choose_table",
    "levels",
    "merge_steps",
    "read_costs",
    "read_table",
    "series_phases",
    "summarize",
    "tables",
    "totals",
]
