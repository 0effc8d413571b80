"""Read the store, a database of all recordings.

:func:`runs` lists the runs in the store, and :func:`load` reads the counts of one run. StoreError is raised if the
store does not exist or has another version.
"""

import difflib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import sqlalchemy as sa

from cmlib import segments
from cmlib.io.events import second_readings
from cmlib.io.provenance import Provenance, note_read, provenance_of_run
from cmlib.io.recording import Recording, make_recording
from cmlib.io.store.database import REFUSED, RUNS, VERSION, hash_readers, reading
from cmlib.io.store.errors import StoreError
from cmlib.io.store.raw import MODE as LINES
from cmlib.io.store.raw import find_recordings


def runs(
    url: str | None = None, *, program: str | None = None, set: str | None = None, mode: str | None = None
) -> pd.DataFrame:
    """List the runs in the store.

    Parameters
    ----------
    url : str, optional
        SQLAlchemy URL of the store. Default: an SQLite file in the folder of the results.
    program, set, mode : str, optional
        List only the runs of this program, set or mode.

    Returns
    -------
    DataFrame
        One row per run, sorted by program, set, pass and part. Columns:

        - ``run_id`` : name in the store. For example, ``gcc/ocoe-p0-00``.
        - ``program``, ``run``, ``command``, ``date`` : names of the program and the run, command, and date. Imported
          runs may have no date.
        - ``set`` : name of a plan of events.
        - ``pass`` : number of the repetition of the plan, from 0.
        - ``part`` : number of the group of events that the run counted, from 0.
        - ``mode`` : ``ocoe`` (each event was counted all the time), ``mlpx`` (multiplexed: events took turns on the
          counters), ``unknown``, or ``lines`` (piecewise-linear segments of samples).
        - ``interval_ms``, ``duration_s`` : length of the intervals [ms], and duration of the run [s].
        - ``exit_code`` : exit code of the command. Imported runs may have none.
        - ``source`` : ``perf``, or ``valgrind`` if the counts are simulated.
        - ``axis`` : ``time``, or ``runs`` if each interval is a complete run.
        - ``condition`` : condition of an imported run. The name of the program ends with it. Usually empty.
        - ``running_shares`` : False if it is unknown for how much of the time events were counted.
        - ``imported`` : True if the run was imported.
        - ``n_intervals``, ``n_events`` : how many intervals and events the run has.
        - ``events`` : names of the events.
        - ``series_table`` : name of the table with the counts.

    Raises
    ------
    StoreError
        If the store does not exist or has another version.
    """
    with reading(url) as connection:
        frame = pd.read_sql(sa.text(f"SELECT * FROM {RUNS}"), connection).drop(columns=["meta", "cpus"])
    for column, value in {"program": program, "set": set, "mode": mode}.items():
        if value is not None:
            frame = frame[frame[column] == value]
    frame = frame.sort_values(["program", "set", "pass", "part"], ignore_index=True)
    frame["events"] = [_parse_events(text) for text in frame["events"]]
    frame["n_events"] = frame["events"].map(len)
    return frame.astype({"exit_code": "Int64", "running_shares": bool, "imported": bool})


def _parse_events(text: str) -> tuple[str, ...]:
    """Parse a JSON list of events.

    Repeated readings (for example, ``branches#2``) are omitted.
    """
    names = json.loads(text)
    repeated = second_readings(names)
    return tuple(name for name in names if name not in repeated)


def refused(url: str | None = None) -> pd.DataFrame:
    """List the recordings that could not be stored.

    Parameters
    ----------
    url : str, optional
        SQLAlchemy URL of the store. Default: an SQLite file in the folder of the results.

    Returns
    -------
    DataFrame of str
        One row per recording. Columns: name and reason.

    Raises
    ------
    StoreError
        If the store does not exist.
    """
    with reading(url) as connection:
        return pd.read_sql(sa.text(f"SELECT name, reason FROM {REFUSED} ORDER BY name"), connection)


def machines(url: str | None = None) -> dict[str, dict]:
    """Return the machine of each run.

    Parameters
    ----------
    url : str, optional
        SQLAlchemy URL of the store. Default: an SQLite file in the folder of the results.

    Returns
    -------
    dict of str to dict
        Description of each machine, keyed by the name of the run in the store. The description of an unknown machine is
        an empty dict.

    Raises
    ------
    StoreError
        If the store does not exist.
    """
    with reading(url) as connection:
        meta_by_run = _read_metadata(connection)
    return {run_id: meta.get("machine") or {} for run_id, meta in sorted(meta_by_run.items())}


def provenances(url: str | None, run_ids: Sequence[str]) -> list[Provenance]:
    """Return the provenance of runs.

    Parameters
    ----------
    url : str or None
        SQLAlchemy URL of the store. None for the default store.
    run_ids : sequence of str
        Names of runs in the store.

    Returns
    -------
    list of cmlib.io.provenance.Provenance
        One per run.
    """
    with reading(url) as connection:
        meta_by_run = _read_metadata(connection)
    return [provenance_of_run(meta_by_run[run_id]) for run_id in run_ids]


def _read_metadata(connection: sa.Connection) -> dict[str, dict]:
    """Read the metadata of all runs, keyed by run_id."""
    rows = connection.execute(sa.text(f"SELECT run_id, meta FROM {RUNS}"))
    return {run_id: json.loads(meta) for run_id, meta in rows}


def load(url: str | None, run_id: str) -> Recording:
    """Read one run from the store.

    A run that was stored as lines (piecewise-linear segments) is converted to counts per interval. It has as many
    intervals as lines, and each interval has the same count of the first event. No times are stored for lines, so the
    intervals get equal parts of the run's duration.

    Parameters
    ----------
    url : str or None
        SQLAlchemy URL of the store. None for the default store.
    run_id : str
        Name of the run in the store. For example, ``gcc/ocoe-p0-00``.

    Returns
    -------
    Recording
        Counts, running shares and metadata of the run.

    Raises
    ------
    StoreError
        If the store or the run does not exist. The message contains similar names of runs.
    """
    row, table = _read_run_tables(url, run_id)
    events = json.loads(row["events"])
    meta = json.loads(row["meta"])
    if row["cpus"]:
        meta["cpus"] = row["cpus"]
    note_read(provenance_of_run(meta))
    if row["mode"] == LINES:
        return _convert_lines(meta, table.astype(float), events)
    # Columns: time_s, interval_s, counts of each event, running shares of each event.
    values = table.to_numpy(float)
    index = pd.Index(values[:, 0], name="time_s")
    first_running = 2 + row["n_events"]
    counts = pd.DataFrame(values[:, 2:first_running], index, events)
    running = pd.DataFrame(values[:, first_running:], index, events)
    return make_recording(meta, counts, running, values[:, 1])


def is_current(
    recordings_dir: str | Path | None = None,
    url: str | sa.URL | None = None,
    *,
    samples_dir: str | Path | None = None,
) -> bool:
    """Return True if the store contains exactly the current recordings.

    Parameters
    ----------
    recordings_dir : path, optional
        Folder with one folder per program. Default: `data/recordings`.
    url : str or SQLAlchemy URL, optional
        Default: an SQLite file in the folder of the results.
    samples_dir : path, optional
        Folder of the recordings of lines. Default: the folder ``samples`` next to the recordings.

    Returns
    -------
    bool
        Also False if the store does not exist, or if the code that reads recordings has changed since.
    """
    try:
        with reading(url) as connection:
            stored_meta = _read_metadata(connection)
            stored_refusals = dict(connection.execute(sa.text(f"SELECT name, state FROM {REFUSED}")).all())
            readers = connection.execute(sa.text(f"SELECT readers FROM {VERSION}")).scalar()
    except StoreError:
        return False
    if readers != hash_readers():
        return False
    current_meta = {}
    current_refusals = {}
    for recording in find_recordings(recordings_dir, samples_dir):
        if recording.problem or recording.name in stored_refusals:
            current_refusals[recording.name] = recording.sizes_and_times()
        else:
            current_meta[id_of(recording.meta)] = recording.meta
    return current_refusals == stored_refusals and current_meta == stored_meta


def id_of(meta: Mapping) -> str:
    """Return the name of a run in the store. For example, ``gcc/ocoe-p0-00``."""
    return f"{meta['program']}/{meta['run']}"


def _read_run_tables(url: str | None, run_id: str) -> tuple[Mapping, pd.DataFrame]:
    """Read the row of a run in the table `runs`, and the table of the run."""
    with reading(url) as connection:
        query = sa.text(f"SELECT * FROM {RUNS} WHERE run_id = :run_id")
        row = connection.execute(query, {"run_id": run_id}).mappings().first()
        if row is None:
            known_ids = list(_read_metadata(connection))
            similar = difflib.get_close_matches(run_id, known_ids, n=3)
            hint = f"Did you mean {', '.join(similar)}?" if similar else "See `cmlib.io.store.runs()`."
            raise StoreError(f"there is no run {run_id!r} among the {len(known_ids)} in the store. {hint}")
        # A database does not keep the order of rows. The first two columns are times, or the ranges of the lines.
        return row, pd.read_sql(sa.text(f"SELECT * FROM {row['series_table']} ORDER BY 1, 2"), connection)


def _convert_lines(meta: dict, lines: pd.DataFrame, events: list[str]) -> Recording:
    """Convert a table of lines to a Recording with one interval per line."""
    coefficients = [
        f"{coefficient}:{event}" for event in events[1:] for coefficient in ("slope", "intercept")
    ]
    lines = lines.set_axis(["x_start", "x_end", *coefficients], axis=1)
    n_intervals = len(lines)
    duration_s = meta["duration_s"]
    index = pd.Index(duration_s * np.arange(1, n_intervals + 1) / n_intervals, name="time_s")
    counts = segments.intervals(lines, events[0], n=n_intervals).set_axis(index)
    running = pd.DataFrame(1.0, index, counts.columns)
    interval_s = pd.Series(duration_s / n_intervals, index, name="interval_s")
    return Recording(meta, counts, running, interval_s)
