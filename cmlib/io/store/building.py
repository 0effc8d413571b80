"""Make the store, a database, from all recordings: runs by interval, and piecewise-linear segments ("lines").

:func:`rebuild` makes it anew, :func:`refresh` only if it does not hold the recordings on disk. Recordings that can't
be read are left out; StoreError if none can, NothingRecordedError if there is none.
"""

import json
import re
from pathlib import Path

import pandas as pd
import sqlalchemy as sa

from cmlib import places
from cmlib.errors import NothingRecordedError
from cmlib.intervals import lengths_by_ends
from cmlib.io.store.database import REFUSED, RUNS, default_url, replacing, with_password
from cmlib.io.store.errors import StoreError
from cmlib.io.store.raw import SERIES, as_utf8, find_sources, read_run, read_table
from cmlib.io.store.reading import id_of, is_current, runs
from cmlib.terminal import progress_bar

_LONGEST_NAME = 48
# What a row of the table `runs` repeats of a run's metadata, and the value if these lack it. A set is a plan of events,
# a pass a repetition of it, a part one of the runs that make up a pass; `axis` says what an interval is (of time, or a
# whole run), `condition` what an import appended to the program's name.
_OF_META = dict.fromkeys(["program", "set", "mode", "pass", "part", "run", "command", "date"])
_OF_META |= {"interval_ms": 0.0, "duration_s": 0.0, "exit_code": None, "source": "perf", "axis": "time"}
_OF_META |= {"condition": "", "running_shares": True, "imported": False}


def rebuild(recordings_dir=None, url=None, *, samples_dir=None, progress=False):
    """Make the store anew: all of it, or, if that fails, nothing.

    A recording that is incomplete, was changed or can't be read is left out; :func:`cmlib.io.store.refused` lists it.

    Parameters
    ----------
    recordings_dir : path, optional
        Holds one folder per program; `data/recordings` by default.
    url : str, optional
        SQLAlchemy URL of an SQLite file or a PostgreSQL database (in which the
        store is the schema ``cmlib``); an SQLite file among the results by default.
    samples_dir : path, optional
        Where recordings of lines (piecewise-linear segments) are; by default `samples` beside the recordings.
    progress : bool, default False
        Show a bar.

    Returns
    -------
    DataFrame
        A row per run: run_id, program, set, mode, pass, part and the other columns of :func:`cmlib.io.store.runs`.

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
        stored, refused = [], []
        shown = None if progress else True
        for number, source in enumerate(progress_bar(sources, desc="store", unit="run", disable=shown)):
            try:
                stored.append(_add(connection, number, source))
            except StoreError as error:
                refused.append((source.name, source.state(), as_utf8(error)))
        if not stored:
            raise StoreError(refused[0][-1])
        table = pd.DataFrame(stored).astype({"exit_code": "Int64", "cpus": float})
        table.to_sql(RUNS, connection, index=False)
        names = ["name", "state", "reason"]
        pd.DataFrame(refused, columns=names, dtype="str").to_sql(REFUSED, connection, index=False)
    return runs(url)


def refresh(recordings_dir: str | Path | None = None, url: str | sa.URL | None = None) -> str | sa.URL:
    """Rebuild the store if it does not hold exactly the recordings on disk.

    Parameters
    ----------
    recordings_dir : path, optional
        Default: `data/recordings`.
    url : str or SQLAlchemy's URL, optional
        Default: the SQLite file among the results.

    Returns
    -------
    str or SQLAlchemy's URL
        URL of the store; SQLAlchemy's if the password in PGPASSWORD was added to that of a PostgreSQL database.

    Raises
    ------
    NothingRecordedError
        If nothing is recorded.
    StoreError
        If the store can't be made.
    """
    url = with_password(url or default_url())
    if not is_current(recordings_dir, url):
        rebuild(recordings_dir, url)
    return url


def _add(connection, number, source):
    """Store one recording's table, and return its row (dict) of the table `runs`; StoreError if it can't be read.

    `number` makes the table's name unique, `source` is a RawRecording.
    """
    if source.problem:
        raise StoreError(source.problem)
    meta = source.meta
    if source.kind == SERIES:
        counts, running, cpus = read_run(source.file, meta)
        events = list(counts)
        frame = pd.concat([counts, running], axis=1)
        names = [f"{quantity}_{k:03d}" for quantity in ("count", "running") for k in range(len(events))]
        frame = frame.set_axis(names, axis=1).reset_index()
        frame.insert(1, "interval_s", lengths_by_ends(counts.index))
    else:
        events, cpus = list(meta["events"]), None
        names = [f"{quantity}_{k:03d}" for k in range(1, len(events)) for quantity in ("slope", "intercept")]
        frame = read_table(source.file, meta).set_axis(["x_start", "x_end", *names], axis=1)
    # The table's name holds the run's, in characters that SQL needs no quotes for, short enough for PostgreSQL.
    readable = re.sub(r"[^a-z0-9]+", "_", id_of(meta).lower())[:_LONGEST_NAME]
    table = f"{'series' if source.kind == SERIES else 'lines'}_{number:05d}_{readable}"
    frame.to_sql(table, connection, index=False)
    row = {"run_id": id_of(meta)} | {key: meta.get(key, usual) for key, usual in _OF_META.items()}
    sizes = {"n_intervals": len(frame), "n_events": len(events), "events": json.dumps(events), "cpus": cpus}
    return row | sizes | {"series_table": table, "meta": json.dumps(meta)}
