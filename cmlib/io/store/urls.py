"""URLs of the databases that a store is kept in; the password in one is shown nowhere."""

import os

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from cmlib import places
from cmlib.errors import CmlibError
from cmlib.passwords import hide


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
