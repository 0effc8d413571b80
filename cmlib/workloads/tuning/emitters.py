"""Programs that make one event of the kernel alone, at a rate of one's choosing, beside what is counted."""

import os
import shutil
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from cmlib.errors import CmlibError
from cmlib.workloads.inputs import kept, scratch
from cmlib.workloads.recipe import run_tool
from cmlib.workloads.server import Server

_SOURCE = Path(__file__).parent / "src" / "emit.c"
_CALL = "raw_syscalls:sys_enter"
_ONE_CALL = ("futex", "read", "write", "openat", "close", "lseek", "mmap", "munmap", "madvise", "mprotect")

# What each event brings along by its nature. Not among them, for want of a way to make them alone: context-switches
# (there is always a wake-up as well), kmem:mm_page_free (something must have been allocated), and the page cache's
# filemap:mm_filemap_add_to_page_cache and writeback:writeback_dirty_folio (one brings the other, and pages).
EMITTERS = {
    _CALL: (),
    **{f"syscalls:sys_enter_{call}": (_CALL,) for call in (*_ONE_CALL, "epoll_wait", "sendfile64")},
    "page-faults": (),
    "kmem:mm_page_alloc": ("kmem:mm_page_free",),
    "net:net_dev_queue": ("irq:softirq_entry", _CALL),
    "irq:softirq_entry": (_CALL,),
    "sock:inet_sock_set_state": (_CALL,),
    "sched:sched_wakeup": ("context-switches", _CALL),
    "sched:sched_process_fork": ("kmem:mm_page_alloc", "context-switches", _CALL),
    "cpu-migrations": (_CALL,),
}
# Events a second: threads that are sent elsewhere, or woken, are so once in each of 25 bursts; 2 and 32 of them.
HIGHEST = {"cpu-migrations": 45.0, "sched:sched_wakeup": 750.0}


@contextmanager
def beside(prepared, rates):
    """A program with the emitter beside it, counted with it.

    Parameters
    ----------
    prepared : context manager of Counted
        With processes to count, such as a program on a cluster.
    rates : mapping of str to float or str
        Events a second, by event; also one of 0 a second has its place, so that runs differ in the rates
        alone.

    Yields
    ------
    cmlib.record.Counted

    Raises
    ------
    CmlibError
        If there is no emitter for an event, no C compiler, or the emitter does not start or dies.
    """
    check_emitters(rates)
    command = [build_emitter(), *(f"{event}={rate}" for event, rate in rates.items())]
    with scratch("emit") as folder:
        log = folder / "emit.log"

        def is_ready():
            return "ready" in log.read_text(errors="replace")

        with prepared as counted, Server("the emitter", command, log, ready=is_ready) as emitter:
            yield replace(counted, pids=(*counted.pids, *emitter.pids))


def build_emitter():
    """Compile the emitter, once; its path.

    Raises
    ------
    CmlibError
        If there is no C compiler, or it fails.
    """
    compiler = os.environ.get("CC") or "cc"

    def compile_to(path):
        if shutil.which(compiler) is None:
            raise CmlibError(
                f"no C compiler ({compiler}) to build the emitter of events with: install one (Debian: gcc and "
                "libc6-dev), or name one in CC. Recordings that are there can be analysed without."
            )
        run_tool([compiler, "-std=gnu11", "-O2", "-Wall", "-pthread", _SOURCE, "-o", path])

    return kept("emit", compile_to, source=_SOURCE.read_text(encoding="utf-8"))


def check_emitters(events):
    """Raise CmlibError if one of these can't be emitted.

    Parameters
    ----------
    events : iterable of str
    """
    unknown = [event for event in events if event not in EMITTERS]
    if unknown:
        raise CmlibError(
            f"there is no emitter for {', '.join(unknown)}; there is one for each of {', '.join(EMITTERS)}"
        )
