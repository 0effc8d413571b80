"""Execute notebooks, some at a time, each as soon as there is room for it."""

import contextlib
import logging
import os
import pickle
import queue
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed

from cmlib.errors import CmlibError
from cmlib.parallel import ONE_THREAD, end_with
from cmlib.report.errors import NotebookError
from cmlib.report.manifests import remove_drafts

# Until it serves, which takes seconds, it ends without a traceback.
_WORKER = """
from signal import SIG_DFL, SIG_UNBLOCK, SIGINT, pthread_sigmask, signal
signal(SIGINT, SIG_DFL)
pthread_sigmask(SIG_UNBLOCK, {SIGINT})
from cmlib.report.side_by_side import serve
serve()
"""
_TO_END_S = 15


def execute_all(groups, folder, n):
    """Execute notebooks, `n` at a time, and tell of each when it ends."""
    jobs = [job for group in groups for job in group]
    n = min(n, len(jobs))
    if n > 1:
        return _by_workers(groups, folder, n)
    return ((job, _error(job.notebook, job.given, folder)) for job in jobs)


def serve():
    """What a worker does: execute the notebooks that it is sent, one after the other."""
    end_with(os.getppid())
    # What kernels print must not come between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # An interrupted notebook leaves a task whose error nobody asks for.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        while True:
            error = _error(*pickle.load(sys.stdin.buffer))
            pickle.dump(error, answers)
            answers.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _by_workers(groups, folder, n):
    workers = [_start() for _ in range(n)]
    idle, ended = queue.SimpleQueue(), set()
    for place in enumerate(workers, start=1):
        idle.put(place)

    def send(job):
        position, worker = idle.get()
        error = _ask(worker, job.notebook, job.given, folder, position)
        ended.add(job.name)
        idle.put((position, worker))
        return error

    threads = ThreadPoolExecutor(n)
    try:
        for group in groups:
            futures = {threads.submit(send, job): job for job in group}
            for future in as_completed(futures):
                yield futures[future], future.result()
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        unfinished = {job.name for group in groups for job in group} - ended
        for worker in workers:
            _end(worker, interrupt=bool(unfinished))
        for name in unfinished:
            remove_drafts(folder, name)


def _start():
    """A worker, in a session of its own: Ctrl-C in a terminal is for this process, which passes it on."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return subprocess.Popen(
            [sys.executable, "-c", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | ONE_THREAD,
            start_new_session=True,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ask(worker, notebook, *rest):
    try:
        pickle.dump((notebook, *rest), worker.stdin)
        worker.stdin.flush()
        return pickle.load(worker.stdout)
    except (EOFError, OSError, pickle.UnpicklingError):
        raise NotebookError(
            f"{notebook.name}: the process that executed it died, as it does when memory runs out; "
            "jobs=1 executes one notebook at a time."
        ) from None


def _end(worker, *, interrupt):
    if interrupt:
        worker.send_signal(signal.SIGINT)
    with contextlib.suppress(OSError):
        worker.stdin.close()
    try:
        worker.wait(_TO_END_S)
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.wait()
    worker.stdout.close()


def _error(*what):
    # Here, because it takes seconds: who has others execute needn't load what executes.
    with _without("rfc3987_syntax"):
        from cmlib.report.execute import execute

    try:
        execute(*what)
    except CmlibError as error:
        return error
    return None


@contextlib.contextmanager
def _without(name):
    """Let no import in the block find a module."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None
    try:
        yield
    finally:
        del sys.modules[name]
