"""Parse the URLs of databases, and handle their passwords.

A store is an SQLite file or a PostgreSQL database. :func:`parse` converts its URL to a SQLAlchemy URL.
"""

import os

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from cmlib import places
from cmlib.io.store.errors import StoreError
from cmlib.passwords import hide
from cmlib.shell import command_line


def default_url() -> str:
    """Return the URL of the default store.

    It is an SQLite file in the folder of the results.
    """
    return sa.URL.create("sqlite", database=str(places.results_dir() / "store.sqlite")).render_as_string()


def parse(url: str | sa.URL | None) -> sa.URL:
    """Parse the URL of a store.

    Parameters
    ----------
    url : str or SQLAlchemy URL or None
        None for the default store. For example, ``sqlite:///counts.sqlite``.

    Returns
    -------
    SQLAlchemy URL

    Raises
    ------
    StoreError
        If `url` is not the URL of an SQLite file or a PostgreSQL database, or its host contains ``@``.
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
        raise StoreError(f"{hide_password(parsed)}: a store is a database of sqlite or postgresql.")
    if backend == "sqlite" and parsed.database in {None, "", ":memory:"}:
        raise StoreError(
            f"{hide_password(parsed)}: a store in memory is lost at once; name a file, sqlite:///FILE."
        )
    if "@" in (parsed.host or ""):
        raise StoreError(f"{hide_password(parsed)}: in a user's name or a password, an @ is written %40.")
    if parsed.drivername == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    return parsed


def hide_password(url: sa.URL) -> str:
    """Convert a URL to text without its password.

    Parameters
    ----------
    url : SQLAlchemy URL

    Returns
    -------
    str
    """
    return hide(url.render_as_string(hide_password=True))


def without_password(url: str) -> tuple[str, str]:
    """Remove the password from a URL.

    Parameters
    ----------
    url : str
        URL of a store.

    Returns
    -------
    url : str
        URL without password.
    password : str
        Empty if the URL has no password.

    Raises
    ------
    StoreError
        If `url` is not the URL of an SQLite file or a PostgreSQL database.
    """
    parsed = parse(url)
    password = parsed.password or parsed.query.get("password") or ""
    if not password:
        return url, ""
    bare_url = parsed.difference_update_query(["password"])._replace(password=None)
    return bare_url.render_as_string(), password


def with_password(url: str | sa.URL) -> str | sa.URL:
    """Add the password in the environment variable PGPASSWORD to a URL.

    Only URLs of PostgreSQL without a password are changed.

    Parameters
    ----------
    url : str or SQLAlchemy URL
        URL of a store.

    Returns
    -------
    str or SQLAlchemy URL
        `url` if it is unchanged.

    Raises
    ------
    StoreError
        If `url` is not the URL of an SQLite file or a PostgreSQL database.
    """
    parsed = parse(url)
    password = os.environ.get("PGPASSWORD")
    needs_password = parsed.get_backend_name() == "postgresql" and not parsed.password
    if needs_password and password:
        return parsed.set(password=password)
    return url


def how_to_rebuild(url: sa.URL) -> str:
    """Return the command that rebuilds a store.

    Parameters
    ----------
    url : SQLAlchemy URL

    Returns
    -------
    str
    """
    if url.render_as_string() == default_url():
        return "cmlib store rebuild"
    return command_line("cmlib", "store", "rebuild", "--url", hide_password(url))
