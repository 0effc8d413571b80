"""Making the store from the raw recordings."""

import json
import re

import numpy as np
from tqdm import tqdm

from cmlib import places
from cmlib.errors import NothingRecordedError
from cmlib.store.database import RUNS, replacing, series_table
from cmlib.store.raw import find_recordings, read_counts
from cmlib.store.reading import runs

_LONGEST_NAME = 48


def rebuild(recordings_dir=None, url=None, *, progress=False):
    """Make the store anew: all of it, or, if anything is wrong, nothing.

    Parameters
    ----------
    recordings_dir : path, optional
        Holds a folder a program; `data/recordings` by default.
    url : str, optional
        SQLAlchemy URL of an SQLite file or a PostgreSQL database (in which the
        store is the schema ``cmlib``); an SQLite file among the results by default.
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
    if not recordings:
        raise NothingRecordedError(
            f"nothing recorded yet under {recordings_dir or places.recordings_dir()}: run `cmlib record NAME -- COMMAND`, "
            "or set CMLIB_DATA to the folder `data` of cmlib's sources, whose recordings the paper profile reads."
        )
    with replacing(url) as connection:
        numbered = enumerate(tqdm(recordings.items(), desc="store", unit="run", disable=not progress))
        for number, (file, meta) in numbered:
            _add_run(connection, number, meta, *read_counts(file, meta))
    return runs(url)


def _add_run(connection, number, meta, counts, running):
    run_id = f"{meta['program']}/{meta['run']}"
    table = series_table(_table_name(number, run_id), counts.shape[1])
    table.create(connection)
    connection.execute(table.insert(), _rows(table, counts, running))
    connection.execute(
        RUNS.insert(),
        {
            "run_id": run_id,
            **{key: meta[key] for key in meta.keys() & RUNS.columns.keys()},
            "n_intervals": len(counts),
            "n_events": counts.shape[1],
            "events": json.dumps(list(counts.columns)),
            "series_table": table.name,
            "meta": json.dumps(meta),
        },
    )


def _table_name(number, run_id):
    """A name that tells the run, in characters that need no quotes, short enough for PostgreSQL."""
    told = re.sub(r"[^a-z0-9]+", "_", run_id.lower())[:_LONGEST_NAME]
    return f"series_{number:05d}_{told}"


def _rows(table, counts, running):
    time = counts.index.to_numpy()
    values = np.column_stack([time, np.diff(time, prepend=0.0), counts, running])
    cells = np.where(np.isnan(values), None, values)
    return [dict(zip(table.columns.keys(), row, strict=True)) for row in cells.tolist()]
