"""Apply a function to many items, on the processors of this machine or of a Dask cluster.

:func:`parallel_map` takes a function and items, and returns an iterator over the results. :class:`Workers` chooses
the processes that compute. Raises a WorkersLostError if a worker process dies, and a ValueError if no scheduler
answers.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import multiprocessing.resource_tracker
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass

import joblib
from joblib.externals import loky

import cmlib
from cmlib.errors import CmlibError, InputError

__all__ = ["Workers", "parallel_map"]

# Environment of worker processes: with one thread each they do not compete for processors.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

_PATIENCE_S = 10  # to wait for a scheduler's answer
# Whether this is a worker, in which parallel_map computes one item after another.
_at_work = contextvars.ContextVar("at_work", default=False)


class WorkersLostError(CmlibError):
    """Raised when a worker process died while it had work, as when memory runs out."""


@dataclass(frozen=True)
class Workers:
    """Which processes compute in parallel.

    Parameters
    ----------
    jobs : int, default -1
        Processes at a time; -1: one per processor.
    executor : {"processes", "dask"}, default "processes"
        Processes of this machine, or workers of a Dask cluster.
    scheduler : str, optional
        Address of the cluster's scheduler, such as ``tcp://127.0.0.1:8786``.

    Raises
    ------
    ValueError
        If the executor is unknown, or a scheduler is given without Dask, or Dask without one.
    """

    jobs: int = -1
    executor: str = "processes"
    scheduler: str = ""

    def __post_init__(self):
        if self.executor not in ("processes", "dask") or (self.executor == "dask") != bool(self.scheduler):
            raise InputError(
                f"executor is {self.executor!r}, and scheduler {self.scheduler!r}: executor is 'processes', or "
                "'dask' with the address of a scheduler, such as tcp://127.0.0.1:8786; `dask scheduler` starts one."
            )


def parallel_map(function: Callable, items: Iterable, workers: Workers | None = None) -> Iterator:
    """Apply `function` to every item, many at a time, and return the results in order.

    Parameters
    ----------
    function : callable
        Called with one item; it and its results must be picklable. Within it, parallel_map runs serially.
    items : iterable
        Arguments of the calls.
    workers : Workers, optional
        Default: one process per processor.

    Returns
    -------
    iterator
        Results, in the order of the items.

    Raises
    ------
    WorkersLostError
        If a worker process dies, as when memory runs out.
    ValueError
        If no Dask scheduler answers, or its workers lack this version of cmlib.
    """
    workers, items = workers or Workers(), list(items)
    if _at_work.get():
        return map(function, items)
    if workers.executor == "dask":
        return _on_cluster(function, items, workers.scheduler)
    n = min(workers.jobs if workers.jobs > 0 else joblib.cpu_count(), len(items))
    return _in_processes(function, items, n) if n > 1 else map(function, items)


def _in_processes(function, items, n):
    """Yield results in order, from `n` processes of this machine."""
    of_worker = {"env": ONE_THREAD, "initializer": end_with, "initargs": (os.getpid(),)}
    pool = loky.get_reusable_executor(n, timeout=300, **of_worker)
    try:
        with no_interrupts_inherited():
            results = pool.map(functools.partial(_at_once, function), items)
        yield from results
    except BrokenExecutor as error:
        raise WorkersLostError(
            f"a worker process died, as it does when memory runs out; take fewer: jobs=1. ({error})"
        ) from None
    except BaseException:
        _kill_processes()
        pool.shutdown()
        raise


def _kill_processes():
    """Kill all worker processes."""
    for child in multiprocessing.active_children():
        if child.name.startswith("LokyProcess"):
            os.kill(child.pid, signal.SIGKILL)


def _on_cluster(function, items, scheduler):
    """Yield results in order, from the workers of a Dask cluster."""
    # Closing the client makes the scheduler cancel what is not computed yet.
    with _connect(scheduler) as client:
        _check_workers(client, scheduler)
        # By an executor, as Dask's own futures print a traceback if Ctrl-C comes just when they begin to wait.
        yield from client.get_executor(pure=False).map(functools.partial(_at_once, function), items)


def _at_once(function, item):
    """Call the function in a worker, where :func:`parallel_map` computes one item after another."""
    at_work = _at_work.set(True)
    try:
        return function(item)
    finally:
        _at_work.reset(at_work)


@contextlib.contextmanager
def no_interrupts_inherited():
    """Make processes that are started in the ``with`` block ignore Ctrl-C (SIGINT), as their parent ends them."""
    # loky starts both trackers with the first worker, which in many versions lets Ctrl-C through again (gh-127586).
    multiprocessing.resource_tracker.ensure_running()
    loky.backend.resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with(parent):
    """Start a thread that ends this process when its parent (process number) has ended, even if killed."""

    def watch():
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _connect(scheduler):
    """Connect a Dask client; raise a ValueError if Dask is not installed, or no scheduler answers."""
    try:
        from distributed import Client
    except ImportError:
        raise InputError("executor 'dask' needs Dask: pip install 'cmlib[cluster]'.") from None
    try:
        return Client(scheduler, timeout=_PATIENCE_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {scheduler}: {error}. Run `dask scheduler`") from None


def _check_workers(client, scheduler):
    """Raise a ValueError if the cluster has no workers, or one without this version of cmlib.

    Dask would wait for ever.
    """
    # A built-in function: a worker without cmlib can still run it.
    answers = client.run(eval, "__import__('cmlib').__version__", on_error="return")
    if not answers:
        raise InputError(f"the Dask scheduler at {scheduler} has no workers. Run `dask worker {scheduler}`.")
    for worker, answer in answers.items():
        if answer != cmlib.__version__ and not isinstance(answer, OSError):
            lacks = isinstance(answer, Exception)
            answered = f"cannot import cmlib ({answer})" if lacks else f"has cmlib {answer}"
            raise InputError(
                f"Dask worker {worker} {answered}; this is cmlib {cmlib.__version__}. Install it there."
            )
