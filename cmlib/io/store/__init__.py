"""The store: a database (SQLite or PostgreSQL) with a table for each run, made anew from the recordings.

:func:`rebuild` makes it, :func:`runs` lists its runs, :func:`load` reads one. StoreError if there is no store, or it
can't be made.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["load", "machines", "runs"]
