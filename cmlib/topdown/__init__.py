"""Find out what limits a program, by top-down analysis of its event counts.

A slot is an opportunity to begin one operation in a cycle. Top-down analysis divides all slots into four categories. A
slot retires an operation, or it is lost to the front end, to the back end or to bad speculation.

:func:`summarize` takes the counts of a program's runs and returns a dict that names the limit. It uses these functions:

- :func:`totals` computes the events per cycle.
- :func:`bounds` computes a lower and an upper bound of each category from any events.
- :func:`account` computes the exact share of each category. It needs all events of a top-down table.
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
