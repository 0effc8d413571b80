"""Which public recordings there are: sets, their licences, and the files of each."""

import functools

import pandas as pd
import yaml

from cmlib import places
from cmlib.errors import CmlibError


class PublicError(CmlibError):
    """A public recording that can't be had, or is not what it was."""


def sets():
    """The sets of public recordings that are known.

    Returns
    -------
    DataFrame
        Index: set. Columns: ``licence``, ``credit``, ``description``; ``files``, how many; ``bytes``, of all files
        uncompressed; and ``shipped``, how many of the files come with the package.
    """
    said = yaml.safe_load((places.public_dir() / "sets.yaml").read_text(encoding="utf-8"))
    listed = files()
    shipped = listed["file"].map(lambda name: shipped_file(name).is_file())
    by_set = listed.assign(shipped=shipped).groupby("set")
    table = pd.DataFrame(said).T.rename_axis("set")
    return table.assign(files=by_set.size(), bytes=by_set["bytes"].sum(), shipped=by_set["shipped"].sum())


def files(name=None):
    """The files of a set, or of all.

    Parameters
    ----------
    name : str, optional
        Of a set.

    Returns
    -------
    DataFrame
        A row a file: ``set``, ``file`` (where it is in a folder of public recordings), ``bytes``, ``sha256``
        (of the original); ``repository``, ``commit`` and ``path``, where it is from; and how it is imported:
        ``program`` (empty if it is no recording), ``condition``, ``marks`` (another file) and ``interval_ms``.

    Raises
    ------
    PublicError
        If there is no set of that name; says which there are.
    """
    listed = _all_files()
    if name is None:
        return listed
    if name not in set(listed["set"]):
        raise PublicError(
            f"there are no public recordings called {name!r}; there are {', '.join(sorted(set(listed['set'])))} "
            "(`cmlib fetch --list`)."
        )
    return listed[listed["set"] == name].reset_index(drop=True)


def shipped_file(name):
    """Where a file is in the package, if it comes with it."""
    return places.public_dir() / f"{name}.xz"


@functools.cache
def _all_files():
    return pd.read_csv(places.public_dir() / "files.csv", dtype={"interval_ms": str}, keep_default_na=False)
