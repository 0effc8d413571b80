"""The store: a database (SQLite or PostgreSQL) with a table for each recorded run, made anew from the recordings'
files.

:func:`rebuild` makes it, :func:`runs` lists its runs, :func:`load` reads one. StoreError if there is no store, or it
can't be made.
"""

from cmlib.io.store.building import rebuild, refresh
from cmlib.io.store.database import SCHEMA, StoreError, default_url, without_password
from cmlib.io.store.reading import is_current, load, machines, refused, runs

__all__ = ["load", "runs"]
