"""Top-down analysis: shares of the pipeline's slots by category, exact or bounded, from counts of hardware events.

A slot is a place for one operation that the processor can begin in a cycle. Level 1 divides all slots into four
categories: retired (used), or lost to the front end, the back end or bad speculation.

`summarize` takes the counts of a program's runs (DataFrames), and returns a dict that says what limits the program.
`totals` returns the rates of events behind it, `bounds` the bounds of each category. `account` returns exact shares
where all events of a table were counted; it raises a ValueError if the slots were not counted. What is not known is
None or has wide bounds.
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
