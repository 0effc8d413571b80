"""List, download and import recordings that others published.

:func:`fetch` downloads a public set of recordings into the user's cache, and :func:`read` reads one of its files. A set
is what one author published. The folder ``data/public`` lists the sets and their files.
"""

import functools
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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

SITE = "https://raw.githubusercontent.com"
ALL = "all"  # in place of the name of a program: all programs of a set


class PublicError(CmlibError):
    """Raised for a public recording that is not available, or was changed."""


def sets() -> pd.DataFrame:
    """List the public sets of recordings.

    Returns
    -------
    DataFrame
        One row per set. Index: name of the set. Columns:

        - ``licence``, ``credit``, ``description`` : texts on the set.
        - ``files``, ``bytes`` : number and total size of its files.
        - ``shipped`` : number of its files that are part of cmlib.
    """
    known_sets = places.read_yaml(places.shipped("public") / "sets.yaml")
    all_files = files()
    is_shipped = all_files["file"].map(lambda name: shipped_file(name).is_file())
    files_by_set = all_files.assign(shipped=is_shipped).groupby("set")
    table = pd.DataFrame(known_sets).T.rename_axis("set")
    return table.assign(
        files=files_by_set.size(), bytes=files_by_set["bytes"].sum(), shipped=files_by_set["shipped"].sum()
    )


def files(name: str | None = None) -> pd.DataFrame:
    """List the files of a public set.

    Parameters
    ----------
    name : str, optional
        Name of the set. Default: all sets.

    Returns
    -------
    DataFrame
        One row per file. Columns:

        - ``set``, ``file`` : names of the set and of the file in cmlib.
        - ``bytes``, ``sha256`` : size and SHA-256 of the published file. The SHA-256 is empty if unknown.
        - ``repository``, ``commit``, ``path`` : where the file was published.
        - ``program``, ``condition``, ``marks``, ``interval_ms`` : options for its import. Empty if the file is not
          imported.

    Raises
    ------
    PublicError
        If the set does not exist.
    """
    all_files = _read_file_list()
    if name is None:
        return all_files
    known_names = set(all_files["set"])
    if name not in known_names:
        raise PublicError(
            f"there are no public recordings called {name!r}; there are {', '.join(sorted(known_names))} "
            "(`cmlib fetch --list`)."
        )
    return all_files[all_files["set"] == name].reset_index(drop=True)


def shipped_file(name: str) -> Path:
    """Return the path of a public file in the package.

    Parameters
    ----------
    name : str
        Name of the file.

    Returns
    -------
    Path
        Does not exist for files that must be downloaded.
    """
    return places.shipped("public") / f"{name}.xz"


@functools.cache
def _read_file_list() -> pd.DataFrame:
    """Read data/public/files.csv."""
    file = places.shipped("public") / "files.csv"
    return pd.read_csv(file, dtype={"interval_ms": str}, keep_default_na=False)


def read(name: str) -> bytes | None:
    """Read a file of a public set.

    The file is searched in the package, in the folder ``$CMLIB_PUBLIC``, and in the cache.

    Parameters
    ----------
    name : str
        Name of the file, as listed by :func:`files`.

    Returns
    -------
    bytes or None
        Decompressed content. None if the file was not downloaded.

    Raises
    ------
    PublicError
        If no set has the file, or its content is not what was published.
    """
    path_and_content = _find_file(name)
    if path_and_content is None:
        return None
    # Programs and events are unknown here. The code that reads the counts notes them.
    note_read(Provenance(OTHERS_HARDWARE, public_set=_find_row(name)["set"]))
    _, content = path_and_content
    return content


def provenance_of_file(name: str) -> Provenance:
    """Return the provenance of the counts in a public file.

    Parameters
    ----------
    name : str
        Name of the file, as listed by :func:`files`.

    Returns
    -------
    Provenance
        Contains the set, and the program if known. Contains no events.
    """
    row = _find_row(name)
    programs = (row["program"],) if row["program"] else ()
    return Provenance(OTHERS_HARDWARE, programs, public_set=row["set"])


def _find_row(name: str) -> pd.Series:
    """Return the row of a file in data/public/files.csv."""
    rows = files().query("file == @name")
    if rows.empty:
        raise PublicError(f"no public set has a file {name}.")
    return rows.iloc[0]


def _find_file(name: str) -> tuple[Path, bytes] | None:
    """Find a public file.

    Returns its path and its decompressed content. None if it was not downloaded.
    """
    row = _find_row(name)
    folders = [folder for folder in (places.external_data_dir(), cache_dir()) if folder]
    downloads = [folder / f"{name}{suffix}" for folder in folders for suffix in ("", ".gz", ".xz")]
    path = next((path for path in (shipped_file(name), *downloads) if path.exists()), None)
    if path is None:
        note_absent(row["set"])
        return None
    with errors_as(PublicError, path):
        content = decompress(read_file(path), path)
    if len(content) != row["bytes"] or row["sha256"] not in ("", digest(content)):
        raise PublicError(
            f"{path} is not the file that was published: its size ({len(content):,} bytes) or its SHA-256 "
            f"({digest(content)[:12]}…) differs. Remove it, and fetch it again."
        )
    return path, content


def _require_path(name: str) -> Path:
    """Return the path of a public file.

    PublicError is raised if it was not downloaded, or its content is wrong.
    """
    path_and_content = _find_file(name)
    if path_and_content is None:
        raise PublicError(f"{name} is not there: {command_code('cmlib', 'fetch', name.split('/')[1])}.")
    path, _ = path_and_content
    return path


def cache_dir() -> Path:
    """Return the folder of the user's downloaded files.

    All installations of cmlib share it.

    Returns
    -------
    pathlib.Path
        Does not exist before the first download.
    """
    return Path(pooch.os_cache("cmlib")) / "public"


def fetch(name: str) -> list[str]:
    """Download the missing files of a public set into the cache.

    Parameters
    ----------
    name : str
        Name of the set.

    Returns
    -------
    list of str
        Names of the downloaded files. Empty if no file was missing.

    Raises
    ------
    PublicError
        If the set does not exist, a file cannot be downloaded, or its size or SHA-256 is wrong.
    """
    missing_rows = [row for row in files(name).itertuples() if read(row.file) is None]
    pooch.get_logger().setLevel("WARNING")
    disable = None if missing_rows else True
    for row in progress_bar(missing_rows, desc=f"fetching {name}", unit="file", disable=disable):
        _download(row)
    return [row.file for row in missing_rows]


def _download(row: Any) -> None:
    """Download a file, and check its size and SHA-256.

    `row` is its row in files.csv.
    """
    address = "/".join([SITE, row.repository, row.commit, urllib.parse.quote(row.path)])
    target = cache_dir() / row.file
    target.parent.mkdir(parents=True, exist_ok=True)
    known_hash = f"sha256:{row.sha256}" if row.sha256 else None
    try:
        with working_folder(target) as folder:
            file = Path(pooch.retrieve(address, known_hash, fname=target.name, path=folder))
            n_bytes = file.stat().st_size
            if n_bytes != row.bytes:
                raise InputError(f"it has {n_bytes:,} bytes; the original has {row.bytes:,}.")
            atomic_replace(file, target)
    except requests.HTTPError as error:
        raise PublicError(f"{address} is not there: {error}.") from error
    except requests.RequestException as error:
        raise PublicError(
            f"{address} cannot be reached: {_find_reason(error)}. Fetch it on a machine with a network, and set "
            f"CMLIB_PUBLIC to the folder that contains it as {row.file}."
        ) from error
    except ValueError as error:
        raise PublicError(f"{address} is not the file that was published: {error}") from error


def _find_reason(error: Any) -> str:
    """Return the message of the innermost error.

    The outer errors repeat the address.
    """
    while getattr(error, "reason", None) or (error.args and isinstance(error.args[0], Exception)):
        error = getattr(error, "reason", None) or error.args[0]
    return str(error).partition(": ")[2] or str(error)


def programs(name: str) -> list[str]:
    """List the programs in a public set.

    Parameters
    ----------
    name : str
        Name of the set.

    Returns
    -------
    list of str
        Names for :func:`import_programs`.

    Raises
    ------
    PublicError
        If the set does not exist.
    """
    return list(dict.fromkeys(_name_program(row) for row in files(name).itertuples() if row.program))


def import_programs(name: str, wanted: Sequence[str], *, folder: str | Path | None = None) -> list[str]:
    """Import programs of a public set into the recordings.

    Programs that are already imported are skipped.

    Parameters
    ----------
    name : str
        Name of the set.
    wanted : sequence of str
        Names of programs, as listed by :func:`programs`, or ``all``.
    folder : path, optional
        Folder of all recordings. Default: `data/recordings`.

    Returns
    -------
    list of str
        Names of the imported programs.

    Raises
    ------
    PublicError
        If a program does not exist, or its file was not downloaded.
    RecordError
        If a file cannot be imported.
    """
    known_programs = programs(name)
    for program in wanted:
        if program not in (*known_programs, ALL):
            raise PublicError(f"{name} has no program {program!r}; it has {', '.join(known_programs)}.")
    recordings = Path(folder or places.recordings_dir())
    rows = [row for row in files(name).itertuples() if row.program]
    wanted_rows = [row for row in rows if ALL in wanted or _name_program(row) in wanted]
    # A program can have several rows. It is skipped if any of them is imported.
    existing_programs = {_name_program(row) for row in wanted_rows if _is_imported(recordings, row)}
    imported = []
    for row in wanted_rows:
        if _name_program(row) not in existing_programs:
            imported += _import_row(row, recordings)
    return list(dict.fromkeys(imported))


def _name_program(row: Any) -> str:
    """Return the name of the imported program, ``PROGRAM-CONDITION``."""
    return "-".join(filter(None, [row.program, row.condition]))


def _is_imported(recordings: Path, row: Any) -> bool:
    """Return True if the recordings contain a program of a row of files.csv."""
    pattern = f"{row.program}-*-{row.condition}" if row.marks else _name_program(row)
    return any(recordings.glob(f"{pattern}/*.json"))


def _import_row(row: Any, recordings: Path) -> list[str]:
    """Import the file in a row of files.csv.

    Returns the names of the imported programs.
    """
    metadata_files = import_files(
        row.program,
        [_require_path(row.file)],
        marks=_require_path(row.marks) if row.marks else None,
        condition=row.condition,
        interval_ms=int(row.interval_ms) if row.interval_ms else None,
        note=f"{row.repository}, {row.path}",
        folder=recordings,
    )
    return [file.parent.name for file in metadata_files]
