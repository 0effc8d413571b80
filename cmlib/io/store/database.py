"""The databases that hold a store, an SQLite file or a schema of PostgreSQL, and the tables in it."""

import contextlib
import os
import sqlite3
from pathlib import Path
from urllib.parse import quote

import pandas as pd
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from cmlib import places
from cmlib.errors import CmlibError
from cmlib.io.archive import draft_of
from cmlib.passwords import hide

# Changes with the tables below; a store of another one is refused.
SCHEMA = 8

_NAMESPACE = "cmlib"
# In the header of an SQLite file (its application_id), where it can be read even if the rest is lost.
_MARK, _MARK_AT = 0x636D6C62, slice(68, 72)
# PostgreSQL's advisory locks: one rebuild at a time; no reader while the new store takes the old one's place.
_BUILDING, _SWAPPING = 0x636D6C6962, 0x636D6C6963

_METADATA = sa.MetaData()

VERSION = sa.Table("store_version", _METADATA, sa.Column("version", sa.Integer, nullable=False))

# First level: a row a run. `events` is a JSON array: event k has the columns count_k and running_k
# of the second level, the run's own series table; in a run of mode "lines", slope_k and intercept_k of its
# own table of lines, and event 0, which timed the sampling, is x.
RUNS = sa.Table(
    "runs",
    _METADATA,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("program", sa.Text, nullable=False),
    sa.Column("set", sa.Text, nullable=False),
    sa.Column("mode", sa.Text, nullable=False),
    sa.Column("pass", sa.Integer, nullable=False),
    sa.Column("part", sa.Integer, nullable=False),
    sa.Column("run", sa.Text, nullable=False),
    sa.Column("command", sa.Text, nullable=False),
    sa.Column("date", sa.Text),
    sa.Column("interval_ms", sa.Double, nullable=False),
    sa.Column("duration_s", sa.Double, nullable=False),
    sa.Column("exit_code", sa.Integer),
    sa.Column("source", sa.Text, nullable=False, default="perf"),
    sa.Column("axis", sa.Text, nullable=False, default="time"),
    sa.Column("condition", sa.Text, nullable=False, default=""),
    sa.Column("running_shares", sa.Boolean, nullable=False, default=True),
    sa.Column("imported", sa.Boolean, nullable=False, default=False),
    sa.Column("n_intervals", sa.Integer, nullable=False),
    sa.Column("n_events", sa.Integer, nullable=False),
    sa.Column("events", sa.Text, nullable=False),
    sa.Column("series_table", sa.Text, nullable=False, unique=True),
    sa.Column("meta", sa.Text, nullable=False),
)

# Recordings that could not be stored: which, the sizes and times of their files, and why.
REFUSED = sa.Table(
    "refused",
    _METADATA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
)


@contextlib.contextmanager
def reading(url):
    """Open a store to read from."""
    url = parse(url)
    if url.get_backend_name() == "sqlite":
        _check_is_there(url)
    with _connection(url, _reading_engine(url)) as connection:
        if url.get_backend_name() == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock_shared(_SWAPPING)))
        version = None
        if sa.inspect(connection).has_table(VERSION.name, schema=_namespace(url)):
            version = connection.execute(sa.select(VERSION.c.version)).scalar()
        if version != SCHEMA:
            holds = "holds no store" if version is None else f"is a store of version {version}"
            raise StoreError(
                f"{shown(url)} {holds}, and this cmlib reads version {SCHEMA}; make it anew: {_how_to_rebuild(url)}"
            )
        yield connection


@contextlib.contextmanager
def replacing(url):
    """Open an empty store that takes the place of `url`'s when the block ends well, and else leaves no trace."""
    url = parse(url)
    replace = _replacing_file if url.get_backend_name() == "sqlite" else _replacing_namespace
    with replace(url) as connection:
        _METADATA.create_all(connection)
        connection.execute(VERSION.insert().values(version=SCHEMA))
        yield connection


@contextlib.contextmanager
def _replacing_file(url):
    target = Path(url.database)
    _check_is_ours(url)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with draft_of(target) as draft:
            engine = sa.create_engine(url.set(database=str(draft)), poolclass=sa.NullPool)
            with _connection(url, engine) as connection:
                connection.exec_driver_sql(f"PRAGMA application_id = {_MARK}")
                yield connection
    except OSError as error:
        raise StoreError(
            f"the store can't be written to {target}: {error.strerror}. Give another place with --url, "
            "or another folder of results in the environment variable CMLIB_RESULTS."
        ) from error


def _check_is_there(url):
    """Raise StoreError unless an SQLite file is there, which SQLite would make, and not empty."""
    file = Path(url.database)
    if not file.is_file():
        raise StoreError(f"there is no store at {file}; make it: {_how_to_rebuild(url)}")


def _check_is_ours(url):
    """Raise StoreError if the file holds something else, which replacing it would destroy."""
    file = Path(url.database)
    if file.exists() and not _is_marked_or_empty(file) and not _holds_store(url):
        raise StoreError(
            f"{url.database} is there, and is not a store of cmlib, or not much is left of one; delete it, or name "
            f"another file; then {_how_to_rebuild(url)}"
        )


def _holds_store(url):
    try:
        with _connection(url, _reading_engine(url)) as connection:
            return sa.inspect(connection).has_table(VERSION.name)
    except StoreError:
        return False


def _is_marked_or_empty(file):
    try:
        with file.open("rb") as opened:
            head = opened.read(_MARK_AT.stop)
    except OSError:
        return False
    return not head or head[_MARK_AT] == _MARK.to_bytes(4, "big")


@contextlib.contextmanager
def _replacing_namespace(url):
    draft = f"{_NAMESPACE}_new"
    with _connection(url, _engine(url, draft)) as connection:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_BUILDING)))
        there = sa.inspect(connection)
        if there.has_schema(_NAMESPACE) and not there.has_table(VERSION.name, schema=_NAMESPACE):
            raise StoreError(
                f"{shown(url)} has a schema {_NAMESPACE!r} that is not a store of cmlib; rename it, "
                "or use another database."
            )
        connection.execute(sa.text(f"DROP SCHEMA IF EXISTS {draft} CASCADE"))
        connection.execute(sa.schema.CreateSchema(draft))
        # pandas asks for tables by the search path, in which a user's own schema comes first.
        connection.execute(sa.text(f"SET LOCAL search_path TO {draft}"))
        yield connection
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_SWAPPING)))
        connection.execute(sa.text(f"DROP SCHEMA IF EXISTS {_NAMESPACE} CASCADE"))
        connection.execute(sa.text(f"ALTER SCHEMA {draft} RENAME TO {_NAMESPACE}"))


@contextlib.contextmanager
def _connection(url, engine):
    """One transaction; what the database says against it becomes a StoreError."""
    try:
        with engine.begin() as connection:
            yield connection
    except (SQLAlchemyError, pd.errors.DatabaseError) as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        raise StoreError(
            f"{shown(url)}: {reason}. Is it the right database, running, and yours to use? A store is "
            f"made by {_how_to_rebuild(url)}"
        ) from error
    finally:
        engine.dispose()


def _reading_engine(url):
    if url.get_backend_name() != "sqlite":
        return _engine(url, _NAMESPACE)
    address = f"file:{quote(str(Path(url.database).absolute()))}?mode=ro"
    return sa.create_engine(
        "sqlite://", creator=lambda: sqlite3.connect(address, uri=True), poolclass=sa.NullPool
    )


def _engine(url, namespace):
    try:
        engine = sa.create_engine(url, poolclass=sa.NullPool)
    except ModuleNotFoundError as error:
        raise StoreError(f"{shown(url)} needs {error.name}: pip install 'cmlib[postgres]'.") from error
    return engine.execution_options(schema_translate_map={None: namespace})


def _namespace(url):
    return None if url.get_backend_name() == "sqlite" else _NAMESPACE


def _how_to_rebuild(url):
    default = url.render_as_string() == default_url()
    return "cmlib store rebuild" + ("" if default else f" --url {shown(url)}")


class StoreError(CmlibError, ValueError):
    """A recording that can't be stored, or a store that can't be made or read."""


def default_url():
    """URL of the SQLite file among the results."""
    return sa.URL.create("sqlite", database=str(places.results_dir() / "store.sqlite")).render_as_string()


def without_password(url):
    """A database's URL without its password, and the password, or "" if there is none."""
    parsed = parse(url)
    password = parsed.password or parsed.query.get("password") or ""
    if not password:
        return url, ""
    bare = sa.URL.create(
        parsed.drivername,
        parsed.username,
        host=parsed.host,
        port=parsed.port,
        database=parsed.database,
        query={name: value for name, value in parsed.query.items() if name != "password"},
    )
    return bare.render_as_string(), password


def with_password(url):
    """A database's URL with the password in the environment variable PGPASSWORD, if it needs one."""
    parsed, password = parse(url), os.environ.get("PGPASSWORD")
    if parsed.get_backend_name() != "postgresql" or parsed.password or not password:
        return url
    return parsed.set(password=password)


def parse(url):
    """The URL of a database that a store can be kept in, or StoreError."""
    try:
        parsed = sa.make_url(url or default_url())
    except (SQLAlchemyError, ValueError):
        raise StoreError(
            f"{hide(str(url))!r} is not the URL of a database; "
            "such are sqlite:///FILE, postgresql+psycopg://USER@HOST/NAME."
        ) from None
    backend = parsed.get_backend_name()
    if backend not in {"sqlite", "postgresql"}:
        raise StoreError(
            f"{shown(parsed)}: a store is kept in sqlite or postgresql, which replace it in one piece."
        )
    if backend == "sqlite" and parsed.database in {None, "", ":memory:"}:
        raise StoreError(
            f"{shown(parsed)}: a store in memory is gone when it is made; name a file, sqlite:///FILE."
        )
    if "@" in (parsed.host or ""):
        raise StoreError(f"{shown(parsed)}: in a user's name or a password, an @ is written %40.")
    return parsed.set(drivername="postgresql+psycopg") if parsed.drivername == "postgresql" else parsed


def shown(url):
    """A parsed URL as it may be shown."""
    return hide(url.render_as_string(hide_password=True))
