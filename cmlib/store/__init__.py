"""The recordings, in intervals and as lines, as tables: made from the files by one call, in SQLite or PostgreSQL."""

from cmlib.store.building import rebuild, refresh
from cmlib.store.database import SCHEMA
from cmlib.store.reading import Run, is_current, load, load_lines, machines, refused, runs
from cmlib.store.urls import StoreError, default_url, without_password

__all__ = [
    "SCHEMA",
    "Run",
    "StoreError",
    "default_url",
    "is_current",
    "load",
    "load_lines",
    "machines",
    "rebuild",
    "refresh",
    "refused",
    "runs",
    "without_password",
]
