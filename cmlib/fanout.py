"""Do one thing to many items, on the processors of this machine or of a cluster."""

import os

import joblib


def fan_out(function, items, *, jobs=-1):
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

    Returns
    -------
    list
        Results in the order of `items`.

    Raises
    ------
    Exception
        Whatever `function` raises, the first time it does.
    """
    items = list(items)
    workers = min(len(items), jobs if jobs > 0 else os.cpu_count() or 1)
    if workers <= 1:
        return [function(item) for item in items]
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        return joblib.Parallel(n_jobs=workers)(joblib.delayed(function)(item) for item in items)
