"""Making the store from the raw recordings and the recordings of lines."""

import json
import re

import numpy as np
import pandas as pd
from tqdm import tqdm

from cmlib import places
from cmlib.errors import NothingRecordedError
from cmlib.io.store.database import REFUSED, RUNS, StoreError, default_url, replacing, with_password
from cmlib.io.store.raw import SERIES, find_sources, read_counts, read_table
from cmlib.io.store.reading import id_of, is_current, runs

_LONGEST_NAME = 48


def rebuild(recordings_dir=None, url=None, *, samples_dir=None, progress=False):
    """Make the store anew: all of it, or, if that fails, nothing.

    A recording that is incomplete, was changed or can't be read is left out; :func:`refused` lists it.

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
        If not one recording can be stored (naming the file), or if the store can't be
        written. A store that was there before is still there then.
    """
    sources = find_sources(recordings_dir, samples_dir)
    if not sources:
        raise NothingRecordedError(
            f"nothing recorded yet under {recordings_dir or places.recordings_dir()}: run `cmlib "
            "record NAME -- COMMAND`, "
            "or set CMLIB_DATA to the folder `data` of cmlib's sources, whose recordings the paper profile reads."
        )
    with replacing(url) as connection:
        refused = []
        for number, source in enumerate(tqdm(sources, desc="store", unit="run", disable=not progress)):
            if problem := source.problem or _add(connection, number, source):
                refused.append({"name": source.name, "state": source.state(), "reason": problem})
        if len(refused) == len(sources):
            raise StoreError(refused[0]["reason"])
        if refused:
            connection.execute(REFUSED.insert(), refused)
    return runs(url)


def refresh(recordings_dir=None, url=None):
    """Make the store anew if it does not hold exactly the recordings that there are; see :func:`rebuild`."""
    url = with_password(url or default_url())
    if not is_current(recordings_dir, url):
        rebuild(recordings_dir, url)
    return url


def _add(connection, number, source):
    """Store a recording, or say why it can't be."""
    read, add = (read_counts, _add_series) if source.kind == SERIES else (read_table, _add_lines)
    try:
        content = read(source.file, source.meta)
    except StoreError as error:
        return str(error)
    add(connection, number, source.meta, content)
    return ""


def _add_series(connection, number, meta, content):
    counts, running = content
    n = counts.shape[1]
    frame = pd.concat([counts, running], axis=1).set_axis(
        [f"{what}_{k:03d}" for what in ("count", "running") for k in range(n)], axis=1
    )
    frame.insert(0, "interval_s", np.diff(counts.index, prepend=0.0))
    _add_run(connection, _table_name("series", number, meta), meta, frame.reset_index(), list(counts.columns))


def _add_lines(connection, number, meta, lines):
    events = list(meta["events"])
    fitted = [f"{what}_{k:03d}" for k in range(1, len(events)) for what in ("slope", "intercept")]
    table = _table_name("lines", number, meta)
    _add_run(connection, table, meta, lines.set_axis(["x_start", "x_end", *fitted], axis=1), events)


def _add_run(connection, table, meta, frame, events):
    frame.to_sql(table, connection, index=False)
    connection.execute(
        RUNS.insert(),
        {
            **{key: meta[key] for key in meta.keys() & RUNS.columns.keys()},
            "run_id": id_of(meta),
            "n_intervals": len(frame),
            "n_events": len(events),
            "events": json.dumps(events),
            "series_table": table,
            "meta": json.dumps(meta),
        },
    )


def _table_name(kind, number, meta):
    """A name that tells the run, in characters that need no quotes, short enough for PostgreSQL."""
    readable = re.sub(r"[^a-z0-9]+", "_", id_of(meta).lower())[:_LONGEST_NAME]
    return f"{kind}_{number:05d}_{readable}"
