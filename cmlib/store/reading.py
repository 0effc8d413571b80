"""What is in the store."""

import difflib
import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
import sqlalchemy as sa

from cmlib.store.database import RUNS, StoreError, reading, series_table
from cmlib.store.raw import find_recordings


@dataclass(frozen=True)
class Run:
    """One run of a program.

    Attributes
    ----------
    meta : dict
        What was recorded, how and where, as in the recording's metadata file.
    counts : DataFrame, shape (n_intervals, n_events)
        Events per interval as perf prints them, NaN where not counted. The
        index `time_s` is the interval's end [s]; columns are events.
    running : DataFrame, shape (n_intervals, n_events)
        Share of the time each event was counted, 0 to 1.
    interval_s : Series, shape (n_intervals,)
        Lengths of the intervals [s]; the last one is shorter.
    """

    meta: dict
    counts: pd.DataFrame
    running: pd.DataFrame
    interval_s: pd.Series


def runs(url=None, *, program=None, set=None, mode=None):
    """List the runs in the store.

    Parameters
    ----------
    url : str, optional
        Of the store; the SQLite file among the results by default.
    program, set, mode : str, optional
        Only runs with these.

    Returns
    -------
    DataFrame
        A row a run, by program, set, pass and part: run_id (such as
        ``gcc/ocoe-p0-00``), program, set, mode, pass, part, run, command, date,
        interval_ms, duration_s, exit_code, n_intervals, n_events, events (a tuple of names),
        series_table. Date and exit code may be missing in runs imported from elsewhere.

    Raises
    ------
    StoreError
        If there is no store, or of another version; says how to make it.
    """
    wanted = {"program": program, "set": set, "mode": mode}
    conditions = [RUNS.c[key] == value for key, value in wanted.items() if value is not None]
    columns = [column for column in RUNS.columns if column.name != "meta"]
    with reading(url) as connection:
        found = connection.execute(sa.select(*columns).where(*conditions)).mappings().all()
    frame = pd.DataFrame(found, columns=[column.name for column in columns])
    frame = frame.sort_values(["program", "set", "pass", "part"], ignore_index=True)
    frame["events"] = [tuple(json.loads(events)) for events in frame["events"]]
    return frame.astype({"exit_code": "Int64"})


def load(url, run_id):
    """Load one run.

    Parameters
    ----------
    url : str or None
        Of the store; None for the SQLite file among the results.
    run_id : str
        Such as ``gcc/ocoe-p0-00``.

    Returns
    -------
    Run

    Raises
    ------
    StoreError
        If there is no store, or no such run in it; names the nearest.
    """
    with reading(url) as connection:
        row = connection.execute(sa.select(RUNS).where(RUNS.c.run_id == run_id)).mappings().first()
        if row is None:
            raise StoreError(_unknown(run_id, connection.execute(sa.select(RUNS.c.run_id)).scalars().all()))
        table = series_table(row["series_table"], row["n_events"])
        cells = connection.execute(sa.select(table).order_by(table.c.time_s)).all()
    events, n = json.loads(row["events"]), row["n_events"]
    values = np.array(cells, dtype=float)
    index = pd.Index(values[:, 0], name="time_s")
    return Run(
        meta=json.loads(row["meta"]),
        counts=pd.DataFrame(values[:, 2 : 2 + n], index, events),
        running=pd.DataFrame(values[:, 2 + n :], index, events),
        interval_s=pd.Series(values[:, 1], index, name="interval_s"),
    )


def is_current(recordings_dir=None, url=None):
    """Whether the store holds exactly the recordings that there are.

    Parameters
    ----------
    recordings_dir : path, optional
        `data/recordings` by default.
    url : str, optional
        Of the store; the SQLite file among the results by default.

    Returns
    -------
    bool
        False also if there is no store, or of another version.

    Raises
    ------
    StoreError
        If a recording's metadata can't be read.
    """
    recorded = {f"{meta['program']}/{meta['run']}": meta for meta in find_recordings(recordings_dir).values()}
    try:
        with reading(url) as connection:
            stored = connection.execute(sa.select(RUNS.c.run_id, RUNS.c.meta)).all()
    except StoreError:
        return False
    return recorded == {run_id: json.loads(meta) for run_id, meta in stored}


def _unknown(run_id, known):
    near = difflib.get_close_matches(run_id, known, n=3)
    hint = (
        f"Did you mean {', '.join(near)}?"
        if near
        else "See `cmlib.store.runs()`, or `cmlib store rebuild` after recording."
    )
    return f"there is no run {run_id!r} among the {len(known)} in the store. {hint}"
