"""Connect to the store, a table for each recorded run in an SQLite file or a schema of PostgreSQL; and its URLs.

:func:`reading` opens it read-only, :func:`replacing` an empty one that takes its place in one piece. URLs are str, as
SQLAlchemy writes them, or None for the SQLite file among the results; :func:`parse` makes one of SQLAlchemy's class.
Errors of the database are raised as StoreError.
"""

import contextlib
import functools
import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pandas as pd
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from cmlib import places
from cmlib.io.archive import atomic_output, errors_as
from cmlib.io.archive.files import opened
from cmlib.io.store.errors import StoreError
from cmlib.passwords import hide

# Version of the tables below; a store of another version is refused.
SCHEMA = 11

_NAMESPACE = "cmlib"
# The application_id in the header of an SQLite file, "cmlb", and its bytes there: by it a file is known as a store.
_MARK, _MARK_AT = 0x636D6C62, slice(68, 72)
# PostgreSQL's advisory locks: one rebuild at a time; no reader while the new store takes the old one's place.
_BUILDING, _SWAPPING = 0x636D6C6962, 0x636D6C6963

# Names of tables. `runs` has a row per run; its `events` is a JSON array: event k has the columns count_k and running_k
# in the run's own table; in a run of mode "lines", slope_k and intercept_k, and event 0, which times the samples, is x.
# `refused` lists recordings that could not be stored: name, sizes and times of their files, and reason.
RUNS, REFUSED, VERSION = "runs", "refused", "store_version"


@functools.cache
def hash_readers():
    """Return a hash (str) of the code in cmlib.io and of the names of events, on which the counts in a store depend."""
    code = sorted(Path(__file__).parents[1].rglob("*.py"))
    digest = hashlib.sha256()
    for file in [*code, places.shipped("events") / "names.yaml"]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def reading(url: str | sa.URL | None) -> Iterator[sa.Connection]:
    """Connect to a store in a read-only transaction, during a ``with`` block.

    Parameters
    ----------
    url : str or SQLAlchemy's URL or None
        None for the SQLite file among the results.

    Yields
    ------
    SQLAlchemy's Connection

    Raises
    ------
    StoreError
        If there is no store, or one of another version.
    """
    parsed = parse(url)
    address = parsed
    if parsed.get_backend_name() == "sqlite":
        _check_regular(parsed.database)
        if not Path(parsed.database).is_file():  # SQLite would make it
            raise StoreError(f"there is no store at {parsed.database}; make it: {_how_to_rebuild(parsed)}")
        file = quote(str(Path(parsed.database).absolute()))
        address = parsed.set(database=f"file:{file}").update_query_dict({"mode": "ro", "uri": "true"})
    with _connection(parsed, at=address) as connection:
        if parsed.get_backend_name() == "postgresql":
            connection.execute(sa.text(f"SET LOCAL search_path TO {_NAMESPACE}"))
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock_shared(_SWAPPING)))
        version = None
        if sa.inspect(connection).has_table(VERSION):
            version = connection.execute(sa.text(f"SELECT version FROM {VERSION}")).scalar()
        if version != SCHEMA:
            holds = "holds no store" if version is None else f"is a store of version {version}"
            raise StoreError(
                f"{url_shown(parsed)} {holds}, and this cmlib reads version {SCHEMA}; make it anew: "
                f"{_how_to_rebuild(parsed)}"
            )
        yield connection


@contextlib.contextmanager
def replacing(url: str | sa.URL | None) -> Iterator[sa.Connection]:
    """Connect to an empty store, during a ``with`` block.

    If the block ends without an error, the store replaces the one at `url`.

    Parameters
    ----------
    url : str or SQLAlchemy's URL or None
        None for the SQLite file among the results.

    Yields
    ------
    SQLAlchemy's Connection

    Raises
    ------
    StoreError
        If the store can't be written, also for an OSError in the block, or if something else is at `url`.
    """
    parsed = parse(url)
    replace = _replacing_file if parsed.get_backend_name() == "sqlite" else _replacing_namespace
    with replace(parsed) as connection:
        about = {"version": [SCHEMA], "readers": [hash_readers()]}
        pd.DataFrame(about).to_sql(VERSION, connection, index=False)
        yield connection


@contextlib.contextmanager
def _replacing_file(url):
    """Do what :func:`replacing` does for a file of SQLite; `url` is parsed."""
    target = Path(url.database)
    try:
        _check_is_ours(url)
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_output(target) as draft, _connection(url, at=url.set(database=str(draft))) as connection:
            connection.exec_driver_sql(f"PRAGMA application_id = {_MARK}")
            yield connection
    except OSError as error:
        raise StoreError(
            f"the store can't be written to {target}: {error.strerror}. Give another place with --url, or another "
            "folder of results in the environment variable CMLIB_RESULTS."
        ) from error


def _check_is_ours(url):
    """Raise StoreError if the file is there and no store, as replacing it would destroy it."""
    file = Path(url.database)
    _check_regular(file)
    if not file.exists():
        return
    with errors_as(StoreError, file), opened(file, most=sys.maxsize) as store:
        content = store.read(_MARK_AT.stop)
    if content and content[_MARK_AT] != _MARK.to_bytes(4, "big"):
        raise StoreError(
            f"{file} exists, and is not a store of cmlib; delete it, or name another file; then "
            f"{_how_to_rebuild(url)}"
        )


def _check_regular(file):
    """Raise StoreError if a FIFO, a folder or a device is in the place of an SQLite file (path) or of a file beside it.

    SQLite opens its journal and its log before it reads; it would wait for the other end of a FIFO without end.
    """
    for suffix in ("", "-journal", "-wal", "-shm"):
        path = Path(f"{file}{suffix}")
        if path.exists() and not path.is_file():
            raise StoreError(
                f"{path} can't be read: it is not a regular file, but a folder, a FIFO or a device. Remove it, or "
                "name another file as the store."
            )


@contextlib.contextmanager
def _replacing_namespace(url):
    """Do what :func:`replacing` does for a schema of PostgreSQL; `url` is parsed."""
    draft = f"{_NAMESPACE}_new"
    with _connection(url) as connection:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_BUILDING)))
        schemas = sa.inspect(connection)
        if schemas.has_schema(_NAMESPACE) and not schemas.has_table(VERSION, schema=_NAMESPACE):
            raise StoreError(
                f"{url_shown(url)} has a schema {_NAMESPACE!r} that is not a store of cmlib; rename it, or use another "
                "database."
            )
        connection.execute(sa.text(f"DROP SCHEMA IF EXISTS {draft} CASCADE"))
        connection.execute(sa.schema.CreateSchema(draft))
        connection.execute(sa.text(f"SET LOCAL search_path TO {draft}"))
        yield connection
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_SWAPPING)))
        connection.execute(sa.text(f"DROP SCHEMA IF EXISTS {_NAMESPACE} CASCADE"))
        connection.execute(sa.text(f"ALTER SCHEMA {draft} RENAME TO {_NAMESPACE}"))


@contextlib.contextmanager
def _connection(url, *, at=None):
    """Connect in one transaction, during a ``with`` block: to `at` if given, else to `url`.

    Errors of the database become StoreErrors that name `url`.
    """
    try:
        engine = sa.create_engine(at or url, poolclass=sa.NullPool)
        with engine.begin() as connection:
            yield connection
    except ModuleNotFoundError as error:
        raise StoreError(f"{url_shown(url)} needs {error.name}: pip install 'cmlib[postgres]'.") from error
    except (SQLAlchemyError, pd.errors.DatabaseError) as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        raise StoreError(
            f"{url_shown(url)}: {reason}. Check that the database is the right one, runs, and gives you access. "
            f"A store is made by {_how_to_rebuild(url)}"
        ) from error


def _how_to_rebuild(url):
    """Return the command that makes the store at `url` (of SQLAlchemy's class) anew."""
    default = url.render_as_string() == default_url()
    return "cmlib store rebuild" + ("" if default else f" --url {url_shown(url)}")


def default_url() -> str:
    """Return the URL of the SQLite file among the results."""
    return sa.URL.create("sqlite", database=str(places.results_dir() / "store.sqlite")).render_as_string()


def without_password(url: str) -> tuple[str, str]:
    """Split a database's URL into one without password, and the password.

    Parameters
    ----------
    url : str

    Returns
    -------
    url, password : str
        The password is "" if there is none.

    Raises
    ------
    StoreError
        If it is not the URL of a database that can hold a store.
    """
    parsed = parse(url)
    password = parsed.password or parsed.query.get("password") or ""
    bare = parsed.difference_update_query(["password"])._replace(password=None)
    return (bare.render_as_string(), password) if password else (url, "")


def with_password(url: str | sa.URL) -> str | sa.URL:
    """Add the password in the environment variable PGPASSWORD to a URL of PostgreSQL that has none.

    Parameters
    ----------
    url : str or SQLAlchemy's URL

    Returns
    -------
    str or SQLAlchemy's URL
        The same object if nothing is added.

    Raises
    ------
    StoreError
        If it is not the URL of a database that can hold a store.
    """
    parsed, password = parse(url), os.environ.get("PGPASSWORD")
    if parsed.get_backend_name() != "postgresql" or parsed.password or not password:
        return url
    return parsed.set(password=password)


def parse(url: str | sa.URL | None) -> sa.URL:
    """Parse the URL of a database that can hold a store.

    Parameters
    ----------
    url : str or SQLAlchemy's URL or None
        None for the SQLite file among the results.

    Returns
    -------
    SQLAlchemy's URL

    Raises
    ------
    StoreError
        If it is not a URL of a SQLite file or a PostgreSQL database, or has an @ in its host.
    """
    try:
        parsed = sa.make_url(url or default_url())
    except (SQLAlchemyError, ValueError):
        raise StoreError(
            f"{hide(str(url or places.results_dir()))!r} is not the URL of a database. Use sqlite:///FILE or "
            "postgresql+psycopg://USER@HOST/NAME."
        ) from None
    backend = parsed.get_backend_name()
    if backend not in {"sqlite", "postgresql"}:
        raise StoreError(f"{url_shown(parsed)}: a store is a database of sqlite or postgresql.")
    if backend == "sqlite" and parsed.database in {None, "", ":memory:"}:
        raise StoreError(
            f"{url_shown(parsed)}: a store in memory is lost at once; name a file, sqlite:///FILE."
        )
    if "@" in (parsed.host or ""):
        raise StoreError(f"{url_shown(parsed)}: in a user's name or a password, an @ is written %40.")
    return parsed.set(drivername="postgresql+psycopg") if parsed.drivername == "postgresql" else parsed


def url_shown(url: sa.URL) -> str:
    """Write a URL for messages, without its password."""
    return hide(url.render_as_string(hide_password=True))
