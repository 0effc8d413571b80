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
from cmlib.io.store.raw import RUN, RawRecording, as_utf8, find_recordings, read_line_table, read_run
from cmlib.io.store.reading import id_of, is_current, runs
from cmlib.io.store.urls import default_url, with_password
from cmlib.terminal import progress_bar

_LONGEST_NAME = 48
# Metadata that become columns of the table `runs`. The value is the default for runs without this entry.
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
        If no recordings were found.
    StoreError
        If no recording can be read, or the store cannot be written.
    """
    recordings = find_recordings(recordings_dir, samples_dir)
    if not recordings:
        raise NothingRecordedError(
            f"nothing recorded yet under {recordings_dir or places.recordings_dir()}: run `cmlib "
            "record NAME -- COMMAND`, "
            "or set CMLIB_DATA to the folder `data` of cmlib's sources, whose recordings the paper profile reads."
        )
    with replacing(url) as connection:
        run_rows = []
        refused_rows = []
        disable = None if progress else True
        for number, recording in enumerate(
            progress_bar(recordings, desc="store", unit="run", disable=disable)
        ):
            try:
                run_rows.append(_add_recording(connection, number, recording))
            except StoreError as error:
                refused_rows.append((recording.name, recording.sizes_and_times(), as_utf8(error)))
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
        If no recordings were found.
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


def _add_recording(connection: sa.Connection, number: int, recording: RawRecording) -> dict[str, Any]:
    """Write the table of a recording.

    Returns the row of the recording in the table `runs`. `number` makes the name of the table unique.
    """
    if recording.problem:
        raise StoreError(recording.problem)
    meta = recording.meta
    run_id = id_of(meta)
    is_run = recording.kind == RUN
    table = _make_run_table(recording) if is_run else _make_line_table(recording)
    # PostgreSQL limits the length of names, and SQL needs quotes around other characters.
    readable_name = re.sub(r"[^a-z0-9]+", "_", run_id.lower())[:_LONGEST_NAME]
    table_name = f"{'series' if is_run else 'lines'}_{number:05d}_{readable_name}"
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


def _make_run_table(recording: RawRecording) -> _RunTable:
    """Make the table of a run, with one row per interval.

    Columns of the table: time_s, interval_s, count_000, count_001 and so on, running_000, running_001 and so on.
    """
    counts, running, cpus = read_run(recording.file, recording.meta)
    n_events = counts.shape[1]
    columns = [f"{quantity}_{k:03d}" for quantity in ("count", "running") for k in range(n_events)]
    frame = pd.concat([counts, running], axis=1).set_axis(columns, axis=1).reset_index()
    frame.insert(1, "interval_s", lengths_by_ends(counts.index))
    return _RunTable(frame, list(counts), cpus)


def _make_line_table(recording: RawRecording) -> _RunTable:
    """Make the table of a recording of lines (piecewise-linear segments), with one row per line.

    Columns of the table: x_start, x_end, slope_001, intercept_001, slope_002, intercept_002 and so on. Number 0 is not
    used: the first event is the x-axis of the lines.
    """
    events = list(recording.meta["events"])
    coefficients = [
        f"{coefficient}_{k:03d}" for k in range(1, len(events)) for coefficient in ("slope", "intercept")
    ]
    frame = read_line_table(recording.file, recording.meta).set_axis(
        ["x_start", "x_end", *coefficients], axis=1
    )
    return _RunTable(frame, events, None)
