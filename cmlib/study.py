"""From recordings to what a notebook studies: one program's runs, cleaned, and its matrix."""

import functools
from pathlib import Path

from cmlib import clean, places, store
from cmlib.fanout import fan_out


def open_database(url="", recordings=None):
    """The store over the recordings, made anew where they have changed.

    Parameters
    ----------
    url : str, optional
        SQLAlchemy URL; empty means an SQLite file among the results.
    recordings : path, optional
        Folder of the raw recordings; `data/recordings` by default.

    Returns
    -------
    str
        URL to hand to :mod:`cmlib.store`.

    Raises
    ------
    ValueError
        If nothing is recorded yet, saying what to run.
    """
    recordings = Path(recordings or places.recordings_dir())
    url = url or store.default_url()
    if not store.is_current(recordings, url):
        store.rebuild(recordings, url)
    return url


def programs(url, wanted="all"):
    """Names of the recorded programs, in order of the alphabet.

    Parameters
    ----------
    url : str
    wanted : str, default "all"
        Names separated by commas, or ``all``.

    Returns
    -------
    list of str

    Raises
    ------
    ValueError
        If one is not recorded; the message lists those that are.
    """
    recorded = sorted(store.runs(url)["program"].unique())
    if wanted == "all":
        return recorded
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    for name in names:
        if name not in recorded:
            raise ValueError(
                f"program {name!r} is not recorded; recorded: {', '.join(recorded) or 'none'}. "
                f"Record it: cmlib record {name} -- COMMAND"
            )
    return names


def cleaned_runs(url, program, set_name, *, method="joint", jobs=-1):
    """All runs of one set of a program, cleaned.

    Parameters
    ----------
    url : str
    program, set_name : str
        Such as ``"gcc"`` and ``"sweep"``.
    method : str, default "joint"
        A method of :func:`cmlib.clean.clean_run`, or ``"scaling"`` for what perf prints.
    jobs : int, default -1
        Worker processes.

    Returns
    -------
    DataFrame
        Columns ``pass``, ``part`` and ``counts``: the cleaned counts, a row an
        interval [s], a column an event; the short last interval is left out.
    """
    runs = store.runs(url, program=program, set=set_name)
    if runs.empty:
        raise ValueError(f"program {program!r} has no recording of set {set_name!r}; see notebook 01 for what it has.")
    job = functools.partial(_cleaned, url, method=method)
    return runs[["pass", "part"]].assign(counts=fan_out(job, runs["run_id"], jobs=jobs))


def _cleaned(url, run_id, *, method):
    counts, running = whole_intervals(store.load(url, run_id))
    return clean.clean_run(counts, running, method=method, sums=_sums())[0]


def whole_intervals(run):
    """A run's counts and running shares without its last interval, where that was cut short."""
    whole = run.interval_s > run.interval_s.median() / 2
    return run.counts[whole], run.running[whole]
