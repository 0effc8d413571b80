"""More runs than fit into memory: cleaned into files, and merged from them, a run at a time in each worker."""

import functools
from pathlib import Path

import pandas as pd

from cmlib import clean, fuse, store
from cmlib.archive import draft_of
from cmlib.fanout import fan_out
from cmlib.study.data import whole_intervals
from cmlib.study.event_tables import known_sums


def clean_into(folder, url, run_ids, *, method="joint", workers=None):
    """Clean runs of the store, each into a Parquet file of its own as soon as it is done.

    Neither here nor in a worker is there ever more than the runs being cleaned. A
    worker that is lost, or a call that is interrupted, leaves whole files only.

    Parameters
    ----------
    folder : path
        Of the results; workers elsewhere must see it under the same name.
    url : str
        Of the store.
    run_ids : iterable of str
        As :func:`cmlib.store.runs` lists them.
    method : str, default "joint"
        A method of :func:`cmlib.clean.clean_run`.
    workers : cmlib.fanout.Workers, optional
        By default a process a processor.

    Yields
    ------
    pathlib.Path
        Of each run's file, in order, when it is there: `folder`/`run_id`.parquet,
        cleaned counts, a row an interval [s], a column an event.
    """
    folder = Path(folder).absolute()
    return fan_out(functools.partial(_clean_into, folder, url, method), run_ids, workers)


def merge_files(files, n_steps=200, *, per="cycles", workers=None):
    """Align cleaned runs by progress, as :func:`cmlib.fuse.align_runs` does, file by file.

    Parameters
    ----------
    files : iterable of path
        Cleaned runs of one program that did the same work; see :func:`clean_into`.
    n_steps : int, default 200
        Rows of the result.
    per : "cycles", "instructions" or None, default "cycles"
    workers : cmlib.fanout.Workers, optional

    Returns
    -------
    X : DataFrame of float, shape (n_steps, events)
        Index: ``progress`` [share of instructions].
    ipc : Series of float, shape (n_steps,)

    Raises
    ------
    ValueError
        If there are no files, or as in :func:`cmlib.fuse.align_runs`.
    """
    sums, times, ipcs, n_files = {}, {}, 0.0, 0
    for X, ipc in fan_out(functools.partial(_by_progress, n_steps=n_steps, per=per), files, workers):
        for event in X:
            sums[event] = sums.get(event, 0.0) + X[event]
            times[event] = times.get(event, 0) + 1
        ipcs, n_files = ipcs + ipc, n_files + 1
    if not n_files:
        raise ValueError("no files to merge.")
    return pd.DataFrame({event: total / times[event] for event, total in sums.items()}), ipcs / n_files


def _clean_into(folder, url, method, run_id):
    run = store.load(url, run_id)
    counts, running = whole_intervals(run)
    cleaned, _ = clean.clean_run(counts, running, method=method, sums=known_sums(run), run=f"run {run_id!r}")
    file = folder / f"{run_id}.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    with draft_of(file) as draft:
        cleaned.to_parquet(draft)
    return file


def _by_progress(file, *, n_steps, per):
    return fuse.align_runs([pd.read_parquet(file)], n_steps, per=per)
