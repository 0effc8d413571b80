"""The recordings, in intervals and as lines, as tables: made from the files by one call, in SQLite or PostgreSQL."""

from cmlib.io.store.building import rebuild, refresh
from cmlib.io.store.database import SCHEMA, StoreError, default_url, without_password
from cmlib.io.store.reading import is_current, load, machines, refused, runs

__all__ = ["load", "runs"]
