"""Making the store from the raw recordings and the recordings of lines."""

import json
import re

import numpy as np
from tqdm import tqdm

from cmlib import places
from cmlib.errors import NothingRecordedError
from cmlib.store.database import RUNS, lines_table, replacing, series_table
from cmlib.store.lines import find_lines, read_table
from cmlib.store.raw import find_recordings, read_counts
from cmlib.store.reading import id_of, is_current, runs
from cmlib.store.urls import default_url, with_password

_LONGEST_NAME = 48


def rebuild(recordings_dir=None, url=None, *, samples_dir=None, progress=False):
    """Make the store anew: all of it, or, if anything is wrong, nothing.

    Parameters
    ----------
    recordings_dir : path, optional
        Holds a folder a program; `data/recordings` by default.
    url : str, optional
        SQLAlchemy URL of an SQLite file or a PostgreSQL database (in which the
        store is the schema ``cmlib``); an SQLite file among the results by default.
    samples_dir : path, optional
        Where recordings of lines are; by default `samples` beside the recordings.
    progress : bool, default False
        Show a bar.

    Returns
    -------
    DataFrame
        As :func:`runs`.

    Raises
    ------
    NothingRecordedError
        If nothing is recorded.
    StoreError
        If a recording is incomplete, was changed or can't be read (naming the
        file); or if the store can't be written. A store that was there before is still there then.
    """
    recordings = find_recordings(recordings_dir)
    lines = find_lines(samples_dir, recordings_dir)
    if not recordings and not lines:
        raise NothingRecordedError(
            f"nothing recorded yet under {recordings_dir or places.recordings_dir()}: run `cmlib record NAME -- COMMAND`, "
            "or set CMLIB_DATA to the folder `data` of cmlib's sources, whose recordings the paper profile reads."
        )
    jobs = [(_add_series, *item) for item in recordings.items()]
    jobs += [(_add_lines, *item) for item in lines.items()]
    with replacing(url) as connection:
        numbered = enumerate(tqdm(jobs, desc="store", unit="run", disable=not progress))
        for number, (add, file, meta) in numbered:
            add(connection, number, file, meta)
    return runs(url)


def refresh(recordings_dir=None, url=None):
    """Make the store anew if it does not hold exactly the recordings that there are; see :func:`rebuild`.

    Parameters
    ----------
    recordings_dir : path, optional
        `data/recordings` by default; lines are taken from `samples` beside it.
    url : str, optional
        Of the store; the SQLite file among the results by default.

    Returns
    -------
    str or sqlalchemy.URL
        The store's URL; complete where the password is in the environment variable PGPASSWORD.
    """
    url = with_password(url or default_url())
    if not is_current(recordings_dir, url):
        rebuild(recordings_dir, url)
    return url


def _add_series(connection, number, file, meta):
    counts, running = read_counts(file, meta)
    table = series_table(_table_name("series", number, meta), counts.shape[1])
    rows = _series_rows(table, counts, running)
    _add_run(connection, meta, table, rows, list(counts.columns), len(counts))


def _add_lines(connection, number, file, meta):
    lines, events = read_table(file, meta), list(meta["events"])
    table = lines_table(_table_name("lines", number, meta), len(events))
    rows = [dict(zip(table.columns.keys(), row, strict=True)) for row in lines.to_numpy().tolist()]
    _add_run(connection, meta, table, rows, events, len(lines))


def _add_run(connection, meta, table, rows, events, n_intervals):
    table.create(connection)
    connection.execute(table.insert(), rows)
    connection.execute(
        RUNS.insert(),
        {
            **{key: meta[key] for key in meta.keys() & RUNS.columns.keys()},
            "run_id": id_of(meta),
            "n_intervals": n_intervals,
            "n_events": len(events),
            "events": json.dumps(events),
            "series_table": table.name,
            "meta": json.dumps(meta),
        },
    )


def _table_name(kind, number, meta):
    """A name that tells the run, in characters that need no quotes, short enough for PostgreSQL."""
    told = re.sub(r"[^a-z0-9]+", "_", id_of(meta).lower())[:_LONGEST_NAME]
    return f"{kind}_{number:05d}_{told}"


def _series_rows(table, counts, running):
    time = counts.index.to_numpy()
    values = np.column_stack([time, np.diff(time, prepend=0.0), counts, running])
    cells = np.where(np.isnan(values), None, values)
    return [dict(zip(table.columns.keys(), row, strict=True)) for row in cells.tolist()]
