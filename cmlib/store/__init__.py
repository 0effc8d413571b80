"""The recordings as tables: made from the raw files by one call, in SQLite or PostgreSQL."""

from cmlib.store.building import rebuild
from cmlib.store.database import SCHEMA, StoreError, default_url
from cmlib.store.reading import Run, is_current, load, runs

__all__ = ["SCHEMA", "Run", "StoreError", "default_url", "is_current", "load", "rebuild", "runs"]
