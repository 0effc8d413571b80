"""Do one thing to many items, on the processors of this machine or of a cluster."""

import os

import joblib
import numpy as np

import cmlib

_CHUNKS_PER_WORKER = 4


def fan_out(function, items, *, jobs=-1, scheduler=""):
    """Apply `function` to every item, in worker processes, and keep the order.

    Each worker computes with one thread: with several processes at work, more
    threads a process only take processors from each other.

    Parameters
    ----------
    function : callable of one item
        Importable in a fresh process.
    items : iterable
    jobs : int, default -1
        Worker processes; -1 means one a processor, 1 none (all in this process).
        Not used with a `scheduler`, which has its own workers.
    scheduler : str, optional
        Address of a running Dask scheduler, such as ``tcp://127.0.0.1:8786``.

    Returns
    -------
    list
        Results in the order of `items`.

    Raises
    ------
    ValueError
        If the cluster does not answer, has no workers, or its workers lack
        this version of cmlib.
    Exception
        Whatever `function` raises, the first time it does.
    """
    items = list(items)
    if scheduler:
        return _on_cluster(function, items, scheduler)
    workers = min(len(items), jobs if jobs > 0 else os.cpu_count() or 1)
    if workers <= 1:
        return [function(item) for item in items]
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        return joblib.Parallel(n_jobs=workers)(joblib.delayed(function)(item) for item in items)


def _on_cluster(function, items, scheduler):
    try:
        from distributed import Client
    except ImportError:
        raise ValueError(f"scheduler {scheduler!r} needs Dask: pip install 'cmlib[cluster]'.") from None
    try:
        client = Client(scheduler, timeout=10, set_as_default=False)
    except OSError as error:
        raise ValueError(
            f"no Dask scheduler answers at {scheduler}: {error}. Start one: dask scheduler"
        ) from None
    with client:
        n_workers = _check_workers(client, scheduler)
        n_chunks = max(1, min(len(items), _CHUNKS_PER_WORKER * n_workers))
        chunks = [[items[i] for i in part] for part in np.array_split(np.arange(len(items)), n_chunks)]
        futures = client.map(_each, chunks, function=function, pure=False)
        try:
            return [result for chunk in client.gather(futures) for result in chunk]
        finally:
            client.cancel(futures)


def _check_workers(client, scheduler):
    """Joblib and Dask wait for ever on workers that lack the package, so ask them first."""
    versions = client.run(_version, on_error="ignore")  # a worker that just died is not asked again
    if not versions:
        raise ValueError(
            f"the Dask scheduler at {scheduler} has no workers. Start one: dask worker {scheduler}"
        )
    for worker, version in versions.items():
        if version != cmlib.__version__:
            found = "cannot import cmlib" if version is None else f"has cmlib {version}"
            raise ValueError(
                f"Dask worker {worker} {found}; this is cmlib {cmlib.__version__}. Install it there."
            )
    return len(versions)


def _version():
    try:
        import cmlib as installed
    except ImportError:
        return None
    return installed.__version__


def _each(chunk, *, function):
    return [function(item) for item in chunk]
