"""Read the store: list its runs (:func:`runs`), and load one run (:func:`load`).

StoreError if there is no store of this version, or no such run.
"""

import difflib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import sqlalchemy as sa

from cmlib import segments
from cmlib.io.events import second_readings
from cmlib.io.provenance import note_read, provenance_of_run
from cmlib.io.recording import Recording, make_recording
from cmlib.io.store.database import REFUSED, RUNS, VERSION, hash_readers, reading
from cmlib.io.store.errors import StoreError
from cmlib.io.store.raw import MODE as LINES
from cmlib.io.store.raw import find_sources


def runs(
    url: str | None = None, *, program: str | None = None, set: str | None = None, mode: str | None = None
) -> pd.DataFrame:
    """List the runs in the store.

    Parameters
    ----------
    url : str, optional
        SQLAlchemy URL of the store; the SQLite file among the results by default.
    program, set, mode : str, optional
        List only runs of this program, set or mode.

    Returns
    -------
    DataFrame
        A row per run, by program, set, pass and part. Columns: run_id (such as ``gcc/ocoe-p0-00``), program; set (a
        named plan of events); mode (``ocoe``: one counter, one event, each counted all the time; ``mlpx``:
        multiplexed, events took turns; ``unknown``; ``lines``: piecewise-linear segments of samples); pass
        (repetition of the plan) and part (which of the events), numbers from 0; run (its name), command, date,
        interval_ms, duration_s, exit_code, source (``perf``, or ``valgrind`` where counts are simulated), axis
        (``time``, or ``runs`` where an interval is a whole run), condition (empty, or what the program's name ends
        with), running_shares, imported, n_intervals, n_events, events (a tuple of names), series_table. Date and exit
        code may be missing in runs imported from elsewhere; running_shares is False where the file told none.

    Raises
    ------
    StoreError
        If there is no store, or of another version; says how to make it.
    """
    with reading(url) as connection:
        frame = pd.read_sql(sa.text(f"SELECT * FROM {RUNS}"), connection).drop(columns=["meta", "cpus"])
    for key, value in {"program": program, "set": set, "mode": mode}.items():
        frame = frame if value is None else frame[frame[key] == value]
    frame = frame.sort_values(["program", "set", "pass", "part"], ignore_index=True)
    counted = map(json.loads, frame["events"])
    frame["events"] = [tuple(e for e in events if e not in second_readings(events)) for events in counted]
    frame["n_events"] = frame["events"].map(len)
    return frame.astype({"exit_code": "Int64", "running_shares": bool, "imported": bool})


def refused(url: str | None = None) -> pd.DataFrame:
    """List the recordings that could not be stored.

    Parameters
    ----------
    url : str, optional
        SQLAlchemy URL of the store. Default: the SQLite file among the results.

    Returns
    -------
    DataFrame of str
        Columns: name and reason.

    Raises
    ------
    StoreError
        If there is no store.
    """
    with reading(url) as connection:
        return pd.read_sql(sa.text(f"SELECT name, reason FROM {REFUSED} ORDER BY name"), connection)


def machines(url: str | None = None) -> dict[str, dict]:
    """Return the machine on which each run was recorded.

    Parameters
    ----------
    url : str, optional
        SQLAlchemy URL of the store. Default: the SQLite file among the results.

    Returns
    -------
    dict of str to dict
        Description of the machine by run; {} if it is unknown.

    Raises
    ------
    StoreError
        If there is no store.
    """
    with reading(url) as connection:
        return {name: meta.get("machine") or {} for name, meta in sorted(_metas(connection).items())}


def provenances(url, run_ids):
    """Return the provenance of some runs.

    Parameters
    ----------
    url : str or None
        URL of the store; None for the SQLite file among the results.
    run_ids : sequence of str
        Names of runs in it.

    Returns
    -------
    list of cmlib.io.provenance.Provenance
        One for each run.
    """
    with reading(url) as connection:
        metas = _metas(connection)
    return [provenance_of_run(metas[run_id]) for run_id in run_ids]


def _metas(connection):
    """Read the metadata of all stored runs, by run_id."""
    stored = connection.execute(sa.text(f"SELECT run_id, meta FROM {RUNS}"))
    return {name: json.loads(meta) for name, meta in stored}


def load(url: str | None, run_id: str) -> Recording:
    """Load one run.

    Parameters
    ----------
    url : str or None
        SQLAlchemy URL of the store; None for the SQLite file among the results.
    run_id : str
        The run's name in the store, such as ``gcc/ocoe-p0-00``.

    Returns
    -------
    Recording
        The run. Where piecewise-linear segments are stored, it has counts between equal steps of
        the event that timed the sampling (the first column), made by :func:`cmlib.segments.intervals`: as many
        as there are segments. No clock is stored with these: `time_s` gives each step an equal part of the run's
        duration, and running shares are 1.

    Raises
    ------
    StoreError
        If there is no store, or no such run in it; names the nearest.
    """
    row, cells = _fetch(url, run_id)
    events, meta = json.loads(row["events"]), json.loads(row["meta"])
    meta |= {"cpus": row["cpus"]} if row["cpus"] else {}
    note_read(provenance_of_run(meta))
    if row["mode"] == LINES:
        return _from_lines(meta, cells.astype(float), events)
    n = row["n_events"]
    values = cells.to_numpy(float)
    index = pd.Index(values[:, 0], name="time_s")
    counts = pd.DataFrame(values[:, 2 : 2 + n], index, events)
    running = pd.DataFrame(values[:, 2 + n :], index, events)
    return make_recording(meta, counts, running, values[:, 1])


def is_current(
    recordings_dir: str | Path | None = None,
    url: str | sa.URL | None = None,
    *,
    samples_dir: str | Path | None = None,
) -> bool:
    """Return whether the store holds exactly the recordings on disk, as the present code reads them.

    Parameters
    ----------
    recordings_dir : path, optional
        Default: `data/recordings`.
    url : str or SQLAlchemy's URL, optional
        Default: the SQLite file among the results.
    samples_dir : path, optional
        Default: ``samples`` beside the recordings.

    Returns
    -------
    bool
        False if there is no store.
    """
    try:
        with reading(url) as connection:
            stored = _metas(connection)
            left_out = dict(connection.execute(sa.text(f"SELECT name, state FROM {REFUSED}")).all())
            readers = connection.execute(sa.text(f"SELECT readers FROM {VERSION}")).scalar()
    except StoreError:
        return False
    if readers != hash_readers():
        return False
    recorded, refused = {}, {}
    for source in find_sources(recordings_dir, samples_dir):
        if source.problem or source.name in left_out:
            refused[source.name] = source.state()
        else:
            recorded[id_of(source.meta)] = source.meta
    return refused == left_out and recorded == stored


def id_of(meta: Mapping) -> str:
    """Name a run in the store, such as ``gcc/ocoe-p0-00``, by its metadata."""
    return f"{meta['program']}/{meta['run']}"


def _fetch(url, run_id):
    """Read a run's row of the table `runs`, and its own table; raise StoreError if there is no such run."""
    with reading(url) as connection:
        query = sa.text(f"SELECT * FROM {RUNS} WHERE run_id = :run_id")
        row = connection.execute(query, {"run_id": run_id}).mappings().first()
        if row is None:
            known = list(_metas(connection))
            similar = difflib.get_close_matches(run_id, known, n=3)
            hint = f"Did you mean {', '.join(similar)}?" if similar else "See `cmlib.io.store.runs()`."
            raise StoreError(f"there is no run {run_id!r} among the {len(known)} in the store. {hint}")
        return row, pd.read_sql(sa.text(f"SELECT * FROM {row['series_table']} ORDER BY 1, 2"), connection)


def _from_lines(meta, lines, events):
    """Make a Recording of a run's table of lines (piecewise-linear segments), with as many intervals as lines."""
    fitted = [f"{parameter}:{event}" for event in events[1:] for parameter in ("slope", "intercept")]
    lines = lines.set_axis(["x_start", "x_end", *fitted], axis=1)
    n, duration = len(lines), meta["duration_s"]
    index = pd.Index(duration * np.arange(1, n + 1) / n, name="time_s")
    counts = segments.intervals(lines, events[0], n=n).set_axis(index)
    running = pd.DataFrame(1.0, index, counts.columns)
    return Recording(meta, counts, running, pd.Series(duration / n, index, name="interval_s"))
