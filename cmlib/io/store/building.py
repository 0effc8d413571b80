"""Make the store, a database, from all recordings.

:func:`rebuild` always makes it. :func:`refresh` makes it only if the recordings have changed.
"""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import sqlalchemy as sa

from cmlib import places
from cmlib.errors import NothingRecordedError
from cmlib.intervals import lengths_by_ends
from cmlib.io.store.database import REFUSED, RUNS, replacing
from cmlib.io.store.errors import StoreError
from cmlib.io.store.raw import SERIES, RawRecording, as_utf8, find_sources, read_run, read_table
from cmlib.io.store.reading import id_of, is_current, runs
from cmlib.io.store.urls import default_url, with_password
from cmlib.terminal import progress_bar

_LONGEST_NAME = 48
# Metadata that become columns of the table `runs`, with the values for runs that lack them.
_COLUMN_DEFAULTS = {
    "program": None,
    "set": None,
    "mode": None,
    "pass": None,
    "part": None,
    "run": None,
    "command": None,
    "date": None,
    "interval_ms": 0.0,
    "duration_s": 0.0,
    "exit_code": None,
    "source": "perf",
    "axis": "time",
    "condition": "",
    "running_shares": True,
    "imported": False,
}


def rebuild(
    recordings_dir: str | Path | None = None,
    url: str | sa.URL | None = None,
    *,
    samples_dir: str | Path | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Make the store from all recordings.

    Recordings that cannot be read are skipped. :func:`cmlib.io.store.refused` lists them. After an error, an existing
    store is unchanged.

    Parameters
    ----------
    recordings_dir : path, optional
        Folder with one folder per program. Default: `data/recordings`.
    url : str or SQLAlchemy URL, optional
        URL of an SQLite file or a PostgreSQL database. Default: an SQLite file in the folder of the results.
    samples_dir : path, optional
        Folder of the recordings of lines (piecewise-linear segments). Default: the folder ``samples`` next to the
        recordings.
    progress : bool, default False
        Show a progress bar.

    Returns
    -------
    DataFrame
        One row per run. Columns: as in :func:`cmlib.io.store.runs`.

    Raises
    ------
    NothingRecordedError
        If there are no recordings.
    StoreError
        If no recording can be read, or the store cannot be written.
    """
    sources = find_sources(recordings_dir, samples_dir)
    if not sources:
        raise NothingRecordedError(
            f"nothing recorded yet under {recordings_dir or places.recordings_dir()}: run `cmlib "
            "record NAME -- COMMAND`, "
            "or set CMLIB_DATA to the folder `data` of cmlib's sources, whose recordings the paper profile reads."
        )
    with replacing(url) as connection:
        run_rows = []
        refused_rows = []
        disable = None if progress else True
        for number, source in enumerate(progress_bar(sources, desc="store", unit="run", disable=disable)):
            try:
                run_rows.append(_add_recording(connection, number, source))
            except StoreError as error:
                refused_rows.append((source.name, source.state(), as_utf8(error)))
        if not run_rows:
            _, _, first_reason = refused_rows[0]
            raise StoreError(first_reason)
        run_table = pd.DataFrame(run_rows).astype({"exit_code": "Int64", "cpus": float})
        run_table.to_sql(RUNS, connection, index=False)
        refused_table = pd.DataFrame(refused_rows, columns=["name", "state", "reason"], dtype="str")
        refused_table.to_sql(REFUSED, connection, index=False)
    return runs(url)


def refresh(recordings_dir: str | Path | None = None, url: str | sa.URL | None = None) -> str | sa.URL:
    """Rebuild the store if it does not contain exactly the current recordings.

    Parameters
    ----------
    recordings_dir : path, optional
        Folder with one folder per program. Default: `data/recordings`.
    url : str or SQLAlchemy URL, optional
        Default: an SQLite file in the folder of the results.

    Returns
    -------
    str or SQLAlchemy URL
        URL of the store. The password in PGPASSWORD is added to the URL of a PostgreSQL database.

    Raises
    ------
    NothingRecordedError
        If there are no recordings.
    StoreError
        If the store cannot be made.
    """
    url = with_password(url or default_url())
    if not is_current(recordings_dir, url):
        rebuild(recordings_dir, url)
    return url


class _RunTable(NamedTuple):
    """Counts of a recording as a table of the database."""

    frame: pd.DataFrame
    events: list[str]
    cpus: float | None  # average number of CPUs used


def _add_recording(connection: sa.Connection, number: int, source: RawRecording) -> dict[str, Any]:
    """Write the table of a recording.

    Returns the row of the recording in the table `runs`. `number` makes the name of the table unique.
    """
    if source.problem:
        raise StoreError(source.problem)
    meta = source.meta
    run_id = id_of(meta)
    is_series = source.kind == SERIES
    table = _read_series(source) if is_series else _read_lines(source)
    # PostgreSQL limits the length of names, and SQL needs quotes around other characters.
    readable_name = re.sub(r"[^a-z0-9]+", "_", run_id.lower())[:_LONGEST_NAME]
    table_name = f"{'series' if is_series else 'lines'}_{number:05d}_{readable_name}"
    table.frame.to_sql(table_name, connection, index=False)
    columns = {key: meta.get(key, default) for key, default in _COLUMN_DEFAULTS.items()}
    return {
        "run_id": run_id,
        **columns,
        "n_intervals": len(table.frame),
        "n_events": len(table.events),
        "events": json.dumps(table.events),
        "cpus": table.cpus,
        "series_table": table_name,
        "meta": json.dumps(meta),
    }


def _read_series(source: RawRecording) -> _RunTable:
    """Read the counts of a run per interval.

    Columns of the table: time_s, interval_s, and count_000, running_000 and so on for each event.
    """
    counts, running, cpus = read_run(source.file, source.meta)
    n_events = counts.shape[1]
    columns = [f"{quantity}_{k:03d}" for quantity in ("count", "running") for k in range(n_events)]
    frame = pd.concat([counts, running], axis=1).set_axis(columns, axis=1).reset_index()
    frame.insert(1, "interval_s", lengths_by_ends(counts.index))
    return _RunTable(frame, list(counts), cpus)


def _read_lines(source: RawRecording) -> _RunTable:
    """Read the lines (piecewise-linear segments) of a recording.

    Columns of the table: x_start, x_end, and slope_001, intercept_001 and so on for each event but the first.
    """
    events = list(source.meta["events"])
    fitted = [f"{parameter}_{k:03d}" for k in range(1, len(events)) for parameter in ("slope", "intercept")]
    frame = read_table(source.file, source.meta).set_axis(["x_start", "x_end", *fitted], axis=1)
    return _RunTable(frame, events, None)
