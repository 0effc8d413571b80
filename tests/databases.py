"""Databases that a store can be kept in: SQLite, and PostgreSQL where a server is told in CMLIB_TEST_POSTGRES."""

import contextlib
import os
import uuid

import pytest
import sqlalchemy as sa

POSTGRES = os.environ.get("CMLIB_TEST_POSTGRES")
KINDS = ["sqlite", pytest.param("postgres", marks=pytest.mark.needs("postgres"))]


@contextlib.contextmanager
def server(kind, folder):
    """A function that gives the URL of a new, empty database."""
    if kind == "sqlite":
        yield lambda: f"sqlite:///{folder / uuid.uuid4().hex}.sqlite"
        return
    made = []

    def create():
        made.append(f"cmlib_{uuid.uuid4().hex}")
        in_postgres(f"CREATE DATABASE {made[-1]}")
        return sa.make_url(POSTGRES).set(database=made[-1]).render_as_string(hide_password=False)

    yield create
    for name in made:
        in_postgres(f"DROP DATABASE {name} WITH (FORCE)")


def in_postgres(statement, url=POSTGRES):
    """Carry out one statement outside of any transaction."""
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        return connection.execute(sa.text(statement))
