"""Public recordings by others: list them with their licences, download and check their files, import their programs.

A set is what one author published; data/public lists sets and files. :func:`fetch` downloads a set into this user's
cache, :func:`read` gives the bytes of one file, or None where it is not here. PublicError for an unknown set or file,
one that can't be downloaded, or that is not the original.
"""

import functools
import urllib.parse
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pooch
import requests

from cmlib import places
from cmlib.errors import CmlibError, InputError
from cmlib.io.absent import note_absent
from cmlib.io.archive import atomic_replace, decompress, digest, errors_as, read_file, working_folder
from cmlib.io.imports import import_files
from cmlib.io.provenance import OTHERS_HARDWARE, Provenance, note_read
from cmlib.shell import command_code
from cmlib.terminal import progress_bar

__all__ = ["cache_dir", "fetch", "provenance_of_file", "read", "sets"]


class PublicError(CmlibError):
    """Raised when a public recording can't be had, or is not what was published."""


def sets() -> pd.DataFrame:
    """List the public sets.

    Returns
    -------
    DataFrame
        One row per set, indexed by its name. Columns: ``licence``, ``credit`` and ``description`` (str), ``files`` and
        ``bytes`` (number and size of its files), ``shipped`` (number of files that come with cmlib).
    """
    known_sets = places.read_yaml(places.shipped("public") / "sets.yaml")
    all_files = files()
    shipped = all_files["file"].map(lambda name: shipped_file(name).is_file())
    sets_of_files = all_files.assign(shipped=shipped).groupby("set")
    table = pd.DataFrame(known_sets).T.rename_axis("set")
    return table.assign(
        files=sets_of_files.size(), bytes=sets_of_files["bytes"].sum(), shipped=sets_of_files["shipped"].sum()
    )


def files(name: str | None = None) -> pd.DataFrame:
    """List the files of a set, or of all sets, as data/public/files.csv has them.

    Parameters
    ----------
    name : str, optional
        Name of the set.

    Returns
    -------
    DataFrame
        One row per file. ``set`` and ``file`` are names in cmlib. ``bytes`` and ``sha256`` are those of the original
        file ("" if not known), which was published in ``repository`` at ``commit`` and ``path``. ``program``,
        ``condition``, ``marks`` and ``interval_ms`` are options of its import ("" for files that are not imported).

    Raises
    ------
    PublicError
        If there is no such set.
    """
    listed = _all_files()
    if name is None:
        return listed
    if name not in set(listed["set"]):
        known = ", ".join(sorted(set(listed["set"])))
        raise PublicError(
            f"there are no public recordings called {name!r}; there are {known} (`cmlib fetch --list`)."
        )
    return listed[listed["set"] == name].reset_index(drop=True)


def shipped_file(name: str) -> Path:
    """Return the path that a public file would have in the package, which holds only some of them."""
    return places.shipped("public") / f"{name}.xz"


@functools.cache
def _all_files():
    """Read data/public/files.csv."""
    file = places.shipped("public") / "files.csv"
    return pd.read_csv(file, dtype={"interval_ms": str}, keep_default_na=False)


def read(name: str) -> bytes | None:
    """Read a file of a public set: from the package, from ``$CMLIB_PUBLIC`` or from the cache.

    Parameters
    ----------
    name : str
        Name of the file in the list of public files, :func:`files`.

    Returns
    -------
    bytes or None
        Its content, unpacked; None where it has not been fetched.

    Raises
    ------
    PublicError
        If no set has such a file, or if size or SHA-256 are not the original's.
    """
    original = _original(name)
    if original is None:
        return None
    # The code that reads the counts knows the programs, and notes them.
    note_read(Provenance(OTHERS_HARDWARE, public_set=_row(name)["set"]))
    return original[1]


def provenance_of_file(name: str) -> Provenance:
    """Return the provenance of the counts in a file of a public set.

    It names no events: they are known only after the file has been read.

    Parameters
    ----------
    name : str
        Name of the file, as :func:`files` lists it.

    Returns
    -------
    Provenance
        Its kind is ``others' hardware``; it names the set and, if known, the program.
    """
    row = _row(name)
    programs = (row["program"],) if row["program"] else ()
    return Provenance(OTHERS_HARDWARE, programs, public_set=row["set"])


def _row(name):
    """Return the row (Series) of a file in data/public/files.csv; PublicError if no set has it."""
    listed = files().query("file == @name")
    if listed.empty:
        raise PublicError(f"no public set has a file {name}.")
    return listed.iloc[0]


def _original(name):
    """Return the path of a file of a public set, and its content, unpacked; None where it has not been fetched."""
    known = _row(name)
    folders = filter(None, (places.external_data_dir(), cache_dir()))
    copies = [folder / f"{name}{suffix}" for folder in folders for suffix in ("", ".gz", ".xz")]
    place = next((place for place in (shipped_file(name), *copies) if place.exists()), None)
    if place is None:
        note_absent(known["set"])
        return None
    with errors_as(PublicError, place):
        content = decompress(read_file(place), place)
    if len(content) != known["bytes"] or known["sha256"] not in ("", digest(content)):
        raise PublicError(
            f"{place} is not the file that was published: its size ({len(content):,} bytes) or its SHA-256 "
            f"({digest(content)[:12]}…) differs. Remove it, and fetch it again."
        )
    return place, content


def cache_dir() -> Path:
    """Return the folder of this user's downloaded files, which all checkouts share.

    Returns
    -------
    pathlib.Path
        It need not exist.
    """
    return Path(pooch.os_cache("cmlib")) / "public"


SITE = "https://raw.githubusercontent.com"


def fetch(name: str) -> list[str]:
    """Download the files of a public set into the cache, and check their SHA-256.

    Parameters
    ----------
    name : str
        Name of the set.

    Returns
    -------
    list of str
        The files that were downloaded now; files that were present before are not listed.

    Raises
    ------
    PublicError
        If there is no such set, or a file can't be downloaded or is not the original.
    """
    lacking = [row for row in files(name).itertuples() if read(row.file) is None]
    pooch.get_logger().setLevel("WARNING")
    for row in progress_bar(lacking, desc=f"fetching {name}", unit="file", disable=None if lacking else True):
        _fetch(row)
    return [row.file for row in lacking]


def _fetch(row):
    """Download one file (a row of files.csv) into the cache; raise PublicError if that fails."""
    address = "/".join([SITE, row.repository, row.commit, urllib.parse.quote(row.path)])
    target = cache_dir() / row.file
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        known = f"sha256:{row.sha256}" if row.sha256 else None
        with working_folder(target) as folder:
            file = Path(pooch.retrieve(address, known, fname=target.name, path=folder))
            if (n_bytes := file.stat().st_size) != row.bytes:
                raise InputError(f"it has {n_bytes:,} bytes, and the original {row.bytes:,}.")
            atomic_replace(file, target)
    except requests.HTTPError as error:
        raise PublicError(f"{address} is not there: {error}.") from error
    except requests.RequestException as error:
        raise PublicError(
            f"{address} can't be reached: {_reason(error)}. Fetch it on a machine with a network, and set "
            f"CMLIB_PUBLIC to the folder that holds it as {row.file}."
        ) from error
    except ValueError as error:
        raise PublicError(f"{address} is not the file that was published: {error}") from error


def _reason(error):
    """Find the innermost reason of an error of `requests`; the outer errors repeat the address."""
    while getattr(error, "reason", None) or (error.args and isinstance(error.args[0], Exception)):
        error = getattr(error, "reason", None) or error.args[0]
    return str(error).partition(": ")[2] or str(error)


ALL = "all"  # as a program: every program of a set


def programs(name: str) -> list[str]:
    """List the programs in a set, as :func:`import_programs` takes them.

    Parameters
    ----------
    name : str
        Name of the set.

    Returns
    -------
    list of str

    Raises
    ------
    PublicError
        If there is no such set.
    """
    return list(dict.fromkeys(_program_name(row) for row in files(name).itertuples() if row.program))


def import_programs(name: str, wanted: Sequence[str], *, folder: str | Path | None = None) -> list[str]:
    """Import programs of a set into the recordings; skip programs that were imported before.

    Parameters
    ----------
    name : str
        Name of the set.
    wanted : sequence of str
        Names from :func:`programs`, or ``all``.
    folder : path, optional
        Folder of all recordings. Default: `data/recordings`.

    Returns
    -------
    list of str
        Names of the new programs.

    Raises
    ------
    PublicError
        If there is no such program, or its file was not fetched.
    RecordError
        If it can't be imported.
    """
    known = programs(name)
    if unknown := [program for program in wanted if program not in (*known, ALL)]:
        raise PublicError(f"{name} has no program {unknown[0]!r}; it has {', '.join(known)}.")
    recordings = Path(folder or places.recordings_dir())
    rows = [row for row in files(name).itertuples() if row.program]
    wanted_rows = [row for row in rows if ALL in wanted or _program_name(row) in wanted]
    imported = {_program_name(row) for row in wanted_rows if _is_imported(recordings, row)}
    added = [_import(row, recordings) for row in wanted_rows if _program_name(row) not in imported]
    return list(dict.fromkeys(program for programs in added for program in programs))


def _program_name(row):
    """Name the program that a row of files.csv is imported as: ``PROGRAM-CONDITION``."""
    return "-".join(filter(None, [row.program, row.condition]))


def _is_imported(recordings, row):
    """Return whether the recordings hold the program, or programs, of a row of files.csv."""
    pattern = f"{row.program}-*-{row.condition}" if row.marks else _program_name(row)
    return any(recordings.glob(f"{pattern}/*.json"))


def _import(row, recordings):
    """Import a row of files.csv, and return the names of the programs that were made of it."""
    made = import_files(
        row.program,
        [_checked_path(row.file)],
        marks=_checked_path(row.marks) if row.marks else None,
        condition=row.condition,
        interval_ms=int(row.interval_ms) if row.interval_ms else None,
        note=f"{row.repository}, {row.path}",
        folder=recordings,
    )
    return [file.parent.name for file in made]


def _checked_path(name):
    """Return the path of a public file after checking its content; raise PublicError if it was not fetched."""
    if original := _original(name):
        return original[0]
    raise PublicError(f"{name} is not there: {command_code('cmlib', 'fetch', name.split('/')[1])}.")
