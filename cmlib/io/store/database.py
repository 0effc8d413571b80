"""Open the database of the store for reading, or replace it.

:func:`reading` opens the store read-only. :func:`replacing` opens an empty store that replaces the existing one at the
end. The store is an SQLite file, or a schema (namespace) in a PostgreSQL database. Errors of the database are converted
to StoreError.
"""

import contextlib
import functools
import hashlib
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
from cmlib.io.store.urls import hide_password, how_to_rebuild, parse

# Version of the tables in a store. A store of another version must be rebuilt.
SCHEMA = 11
# Names of the tables. Each run has a further table of its own.
RUNS = "runs"  # one row per run
REFUSED = "refused"  # one row per recording that could not be stored
VERSION = "store_version"  # version of the tables, and hash of the code that made them

_NAMESPACE = "cmlib"
# Bytes 68 to 71 of an SQLite file contain its application_id. The application_id of a store is "cmlb".
_APPLICATION_ID = 0x636D6C62
_APPLICATION_ID_BYTES = slice(68, 72)
# Advisory locks of PostgreSQL. The first allows one rebuild at a time. The second excludes readers while the new store
# replaces the old one.
_BUILD_LOCK = 0x636D6C6962
_SWAP_LOCK = 0x636D6C6963


@functools.cache
def hash_readers() -> str:
    """Return a hash of the code that reads counts.

    If it has changed, the counts in a store may be outdated.

    Returns
    -------
    str
        Hash of the code in `cmlib.io` and of the names of events.
    """
    code = sorted(Path(__file__).parents[1].rglob("*.py"))
    digest = hashlib.sha256()
    for file in [*code, places.shipped("events") / "names.yaml"]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def reading(url: str | sa.URL | None) -> Iterator[sa.Connection]:
    """Open a store read-only during a ``with`` block.

    Parameters
    ----------
    url : str or SQLAlchemy URL or None
        None for the default store.

    Yields
    ------
    SQLAlchemy connection

    Raises
    ------
    StoreError
        If the store does not exist or has another version.
    """
    parsed = parse(url)
    address = parsed
    if parsed.get_backend_name() == "sqlite":
        address = _read_only_address(parsed)
    with _connect(parsed, address) as connection:
        if parsed.get_backend_name() == "postgresql":
            connection.execute(sa.text(f"SET LOCAL search_path TO {_NAMESPACE}"))
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock_shared(_SWAP_LOCK)))
        _check_version(connection, parsed)
        yield connection


def _read_only_address(url: sa.URL) -> sa.URL:
    """Return the URL that opens an SQLite file read-only."""
    _check_regular(url.database)
    if not Path(url.database).is_file():
        raise StoreError(f"there is no store at {url.database}; make it: {how_to_rebuild(url)}")
    file = quote(str(Path(url.database).absolute()))
    return url.set(database=f"file:{file}").update_query_dict({"mode": "ro", "uri": "true"})


def _check_version(connection: sa.Connection, url: sa.URL) -> None:
    """Check that a database contains a store of the current version."""
    version = None
    if sa.inspect(connection).has_table(VERSION):
        version = connection.execute(sa.text(f"SELECT version FROM {VERSION}")).scalar()
    if version != SCHEMA:
        problem = "contains no store" if version is None else f"is a store of version {version}"
        raise StoreError(
            f"{hide_password(url)} {problem}, and this cmlib reads version {SCHEMA}; rebuild it: "
            f"{how_to_rebuild(url)}"
        )


@contextlib.contextmanager
def replacing(url: str | sa.URL | None) -> Iterator[sa.Connection]:
    """Open an empty store that replaces the existing one.

    The existing store is replaced at the end of the ``with`` block. After an error in the block, it is unchanged.

    Parameters
    ----------
    url : str or SQLAlchemy URL or None
        None for the default store.

    Yields
    ------
    SQLAlchemy connection

    Raises
    ------
    StoreError
        If the store cannot be written, or `url` contains other data.
    """
    parsed = parse(url)
    is_sqlite = parsed.get_backend_name() == "sqlite"
    open_draft = _replacing_file if is_sqlite else _replacing_namespace
    with open_draft(parsed) as connection:
        version = pd.DataFrame({"version": [SCHEMA], "readers": [hash_readers()]})
        version.to_sql(VERSION, connection, index=False)
        yield connection


@contextlib.contextmanager
def _replacing_file(url: sa.URL) -> Iterator[sa.Connection]:
    """Open an empty SQLite file that replaces the existing one."""
    target = Path(url.database)
    try:
        _check_is_store(url)
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_output(target) as draft, _connect(url, url.set(database=str(draft))) as connection:
            connection.exec_driver_sql(f"PRAGMA application_id = {_APPLICATION_ID}")
            yield connection
    except OSError as error:
        raise StoreError(
            f"the store cannot be written to {target}: {error.strerror}. Give another place with --url, or another "
            "folder of results in the environment variable CMLIB_RESULTS."
        ) from error


def _check_is_store(url: sa.URL) -> None:
    """Check that an existing file is a store.

    This protects other databases of the user from being replaced.
    """
    file = Path(url.database)
    _check_regular(file)
    if not file.exists():
        return
    with errors_as(StoreError, file), opened(file, most=sys.maxsize) as store:
        header = store.read(_APPLICATION_ID_BYTES.stop)
    if header and header[_APPLICATION_ID_BYTES] != _APPLICATION_ID.to_bytes(4, "big"):
        raise StoreError(
            f"{file} exists, and is not a store of cmlib; delete it, or name another file; then "
            f"{how_to_rebuild(url)}"
        )


def _check_regular(file: str | Path) -> None:
    """Check that an SQLite file and its journals are regular files.

    SQLite would wait forever for the other end of a FIFO.
    """
    for suffix in ("", "-journal", "-wal", "-shm"):
        path = Path(f"{file}{suffix}")
        if path.exists() and not path.is_file():
            raise StoreError(
                f"{path} cannot be read: it is not a regular file, but a folder, a FIFO or a device. Remove it, or "
                "name another file as the store."
            )


@contextlib.contextmanager
def _replacing_namespace(url: sa.URL) -> Iterator[sa.Connection]:
    """Open an empty schema of PostgreSQL that replaces the existing one."""
    draft = f"{_NAMESPACE}_new"
    with _connect(url, url) as connection:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_BUILD_LOCK)))
        inspector = sa.inspect(connection)
        if inspector.has_schema(_NAMESPACE) and not inspector.has_table(VERSION, schema=_NAMESPACE):
            raise StoreError(
                f"{hide_password(url)} has a schema {_NAMESPACE!r} that is not a store of cmlib; rename it, or use "
                "another database."
            )
        connection.execute(sa.text(f"DROP SCHEMA IF EXISTS {draft} CASCADE"))
        connection.execute(sa.schema.CreateSchema(draft))
        connection.execute(sa.text(f"SET LOCAL search_path TO {draft}"))
        yield connection
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_SWAP_LOCK)))
        connection.execute(sa.text(f"DROP SCHEMA IF EXISTS {_NAMESPACE} CASCADE"))
        connection.execute(sa.text(f"ALTER SCHEMA {draft} RENAME TO {_NAMESPACE}"))


@contextlib.contextmanager
def _connect(url: sa.URL, address: sa.URL) -> Iterator[sa.Connection]:
    """Connect to a database in one transaction during a ``with`` block.

    Errors of the database become StoreErrors that name `url`. `address` is the URL of the connection. It differs from
    `url` for temporary and read-only files.
    """
    try:
        engine = sa.create_engine(address, poolclass=sa.NullPool)
        with engine.begin() as connection:
            yield connection
    except ModuleNotFoundError as error:
        raise StoreError(
            f"{hide_password(url)} needs {error.name}: pip install 'cmlib[postgres]'."
        ) from error
    except (SQLAlchemyError, pd.errors.DatabaseError) as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        raise StoreError(
            f"{hide_password(url)}: {reason}. Check that the database is the right one, runs, and gives you access. "
            f"A store is made by {how_to_rebuild(url)}"
        ) from error
