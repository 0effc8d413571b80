"""Do one thing to many items, on the processors of this machine or of a cluster."""

import contextlib
import contextvars
import itertools
import multiprocessing.resource_tracker
import operator
import os
import signal
import threading
import time
from collections import deque
from concurrent.futures import BrokenExecutor, CancelledError, Future
from dataclasses import dataclass

import joblib
from joblib.externals import loky

import cmlib
from cmlib.errors import CmlibError

EXECUTORS = ("processes", "dask")
# For the environment of processes that work side by side: more threads only take processors from each other.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

# Small items go to the workers in chunks of so much work [s], which makes handing them over cheap.
_CHUNK_S = 0.2
# Chunks under way for each worker: so far the others run ahead of a slow one, and so many results wait at most.
_AHEAD = 8
_TRIES = 3
_IDLE_S = 300
_NO_WORKERS_S = 60

_at_work = contextvars.ContextVar("at_work", default=False)


class WorkersLostError(CmlibError):
    """Workers died again and again over the same items, or none is left."""


@dataclass(frozen=True)
class Workers:
    """Who does the work."""

    jobs: int = -1
    executor: str = "processes"
    scheduler: str = ""

    def __post_init__(self):
        if self.jobs != -1 and self.jobs < 1:
            raise ValueError(f"jobs is {self.jobs}; it is a number of processes, or -1 for one a processor.")
        if self.executor not in EXECUTORS:
            raise ValueError(f"executor is {self.executor!r}; it can be {' or '.join(EXECUTORS)}.")
        if self.executor == "dask" and not self.scheduler:
            raise ValueError(
                "executor is 'dask', and no scheduler is named. Give the address of one that runs, such as "
                "scheduler='tcp://127.0.0.1:8786'; `dask scheduler` starts one and tells its address."
            )
        if self.scheduler and self.executor != "dask":
            raise ValueError(
                f"scheduler is {self.scheduler!r}, and executor {self.executor!r}; "
                "a scheduler is for executor 'dask': set both, or neither."
            )


def parallel_map(function, items, workers=None):
    """Apply `function` to every item, many at a time, and give the results in order."""
    workers = workers or Workers()
    if _at_work.get():
        return map(function, items)
    if workers.executor == "dask":
        return _on_cluster(function, items, workers.scheduler)
    wanted = workers.jobs if workers.jobs > 0 else joblib.cpu_count()
    n = min(wanted, operator.length_hint(items, wanted))
    return _in_processes(function, items, n) if n > 1 else map(function, items)


def _in_processes(function, items, n):
    def pool():
        return loky.get_reusable_executor(
            n, timeout=_IDLE_S, env=ONE_THREAD, initializer=end_with, initargs=(os.getpid(),)
        )

    def submit(chunk):
        try:
            with _no_interrupts_inherited():
                return pool().submit(_each, function, chunk)
        except BrokenExecutor as error:
            return _failed(error)

    waiting = deque()
    try:
        yield from _in_order(submit, Future.result, items, n, waiting)
    finally:
        if waiting:
            _kill_processes()


def _on_cluster(function, items, scheduler):
    with _client(scheduler) as client:
        n = _check_workers(client, scheduler)
        # Its futures are Python's own: Dask's print a traceback if Ctrl-C comes just when they begin to wait.
        executor = client.get_executor(pure=False)

        def submit(chunk):
            return executor.submit(_each, function, chunk)

        # Closing the client makes the scheduler forget, and so cancel, what nobody waits for any more.
        yield from _in_order(submit, lambda future: _wait(future, client, scheduler), items, n, deque())


def _in_order(submit, result, items, n_workers, waiting):
    """Results in the order of items; `waiting` holds the chunks under way, the oldest first."""
    items, size, broken = iter(items), 1, 0
    while True:
        while len(waiting) < _AHEAD * n_workers and (chunk := list(itertools.islice(items, size))):
            waiting.append((chunk, submit(chunk)))
        if not waiting:
            return
        chunk, future = waiting[0]
        try:
            seconds, results = result(future)
        except BrokenExecutor as error:
            broken += 1
            if broken == _TRIES:
                raise WorkersLostError(
                    f"worker processes died {_TRIES} times over the same {len(chunk)} item(s), the first of "
                    f"them {chunk[0]!r:.200}. Short of memory? Take fewer processes: jobs=1. ({error})"
                ) from None
            for place, (chunk, future) in enumerate(waiting):
                if not _done(future):
                    waiting[place] = chunk, submit(chunk)
            continue
        waiting.popleft()
        broken = 0
        fitting = int(_CHUNK_S * len(chunk) / max(seconds, 1e-9))
        fair = operator.length_hint(items, fitting) // (2 * n_workers)
        size = max(1, min(fitting, 4 * len(chunk), fair))
        yield from results


def _each(function, chunk):
    """In the worker: results of a chunk, and the seconds they took."""
    began = time.perf_counter()
    at_work = _at_work.set(True)
    try:
        results = [function(item) for item in chunk]
    finally:
        _at_work.reset(at_work)
    return time.perf_counter() - began, results


def _kill_processes():
    """End all workers; loky takes them for lost, and the next pool is a new one."""
    children = [child for child in multiprocessing.active_children() if child.name.startswith("LokyProcess")]
    for child in children:
        os.kill(child.pid, signal.SIGKILL)
    for child in children:
        child.join()


def _done(future):
    return future.done() and not future.cancelled() and future.exception() is None


def _failed(error):
    future = Future()
    future.set_exception(error)
    return future


@contextlib.contextmanager
def _no_interrupts_inherited():
    """Processes started here never see Ctrl-C, which a terminal sends to all: their parent ends them."""
    # loky starts both trackers with the first worker, which in many versions lets Ctrl-C through again (gh-127586).
    multiprocessing.resource_tracker.ensure_running()
    loky.backend.resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with(parent):
    """Let a worker process end when its parent does, even if that was killed."""

    def watch():
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _client(scheduler):
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("executor 'dask' needs Dask: pip install 'cmlib[cluster]'.") from None
    try:
        return Client(scheduler, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"no Dask scheduler answers at {scheduler}: {error}. Start one: dask scheduler"
        ) from None


def _check_workers(client, scheduler):
    """Dask waits for ever on workers that lack the package, so ask them first; how many they are."""
    # A built-in function, so that a worker without the package can tell that it has none.
    answers = client.run(eval, "__import__('cmlib').__version__", on_error="return")
    answers = {worker: answer for worker, answer in answers.items() if not isinstance(answer, OSError)}
    if not answers:
        raise ValueError(
            f"the Dask scheduler at {scheduler} has no workers. Start one: dask worker {scheduler}"
        )
    for worker, answer in answers.items():
        if answer != cmlib.__version__:
            lacks = isinstance(answer, Exception)
            answered = f"cannot import cmlib ({answer})" if lacks else f"has cmlib {answer}"
            raise ValueError(
                f"Dask worker {worker} {answered}; this is cmlib {cmlib.__version__}. Install it there."
            )
    return len(answers)


def _wait(future, client, scheduler):
    alone = 0
    while True:
        try:
            return future.result(timeout=_NO_WORKERS_S / 4)
        except TimeoutError:
            alone = 0 if client.scheduler_info()["workers"] else alone + 1
            if alone == 4:
                raise WorkersLostError(
                    f"the Dask scheduler at {scheduler} has had no workers for {_NO_WORKERS_S} s. "
                    f"Start one: dask worker {scheduler}"
                ) from None
        except CancelledError as error:
            raise WorkersLostError(f"the Dask scheduler at {scheduler} is gone: {error}") from None
