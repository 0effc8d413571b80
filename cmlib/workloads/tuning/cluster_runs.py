"""Recording runs of Spark programs under different settings, on one cluster that stays up."""

from functools import partial
from pathlib import Path

from cmlib import events, machine
from cmlib.errors import CmlibError
from cmlib.record import Program, record
from cmlib.schedule import Plan, plan_mlpx
from cmlib.workloads.inputs import scratch
from cmlib.workloads.programs import label, recipe
from cmlib.workloads.recipe import check_installed
from cmlib.workloads.spark import standalone
from cmlib.workloads.tuning.emitters import beside, build_emitter, check_emitters

FOLDER = "tuning"
_SET = "tuning"
_INTERVAL_MS = 1000  # the GBRT study's
# Software events and tracepoints, where the processor's counters can't be read: memory, files, network, threads.
KERNEL_EVENTS = (
    "page-faults",
    "context-switches",
    "cpu-migrations",
    "raw_syscalls:sys_enter",
    "syscalls:sys_enter_futex",
    "syscalls:sys_enter_read",
    "syscalls:sys_enter_write",
    "syscalls:sys_enter_openat",
    "syscalls:sys_enter_close",
    "syscalls:sys_enter_lseek",
    "syscalls:sys_enter_mmap",
    "syscalls:sys_enter_munmap",
    "syscalls:sys_enter_madvise",
    "syscalls:sys_enter_mprotect",
    "syscalls:sys_enter_epoll_wait",
    "syscalls:sys_enter_sendfile64",
    "sched:sched_wakeup",
    "sched:sched_process_fork",
    "kmem:mm_page_alloc",
    "kmem:mm_page_free",
    "filemap:mm_filemap_add_to_page_cache",
    "writeback:writeback_dirty_folio",
    "net:net_dev_queue",
    "sock:inet_sock_set_state",
    "irq:softirq_entry",
)


def record_runs(runs, folder, *, scale=1.0, passes=1, counters):
    """Make the recordings that are not there yet, each run once before any is made twice.

    The cluster's worker and its executors are counted, and what emits events beside them; the driver is
    outside.

    Parameters
    ----------
    runs : mapping of str to sequence of Run
        By program.
    folder : path-like
        Of the tuning recordings, in that of all recordings.
    scale : float, default 1.0
        Multiplies each program's work.
    passes : int, default 1
        Recordings of each run that exist afterwards.
    counters : dict
        ``offered`` and ``good``; with no counter offered, software events and tracepoints are recorded.

    Yields
    ------
    str
        Name of a run that is recorded so many times. The counters are held between two of them, and the
        cluster stays up, until the generator is closed.

    Raises
    ------
    CmlibError
        As :func:`cmlib.record.record`; before anything is run, if a program is not one on Spark or can't run
        here, or an event can't be emitted.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for program, listed in runs.items():
        emitted = {event for run in listed for event in run.emitted}
        check_emitters(emitted)
        _check(program)
        if emitted:
            build_emitter()
    plans, codes = _to_count(counters)
    with (
        machine.counters_lock("Spark under other settings") as lock,
        scratch("cluster") as place,
        standalone(place) as cluster,
    ):
        how = {"encodings": codes, "counters": counters, "folder": folder, "lock": lock}
        for number in range(1, passes + 1):
            for program, run in ((program, run) for program, listed in runs.items() for run in listed):
                measured = Program(
                    label(program, scale=scale, options=run.noted),
                    partial(_prepare, program, scale, run, cluster),
                )
                record(run.name, measured, plans, passes=number, **how)
                yield run.name


def _prepare(program, scale, run, cluster):
    prepared = recipe(program).prepare(scale, run.options, cluster=cluster)
    return beside(prepared, run.emitted) if run.emitted else prepared


def _check(program):
    chosen = recipe(program)
    if "spark." not in chosen.options or "master" not in chosen.options:
        raise CmlibError(f"program {program!r} does not run on a cluster of Spark: it has no settings to try")
    check_installed(chosen)


def _to_count(counters):
    """The plan, and how perf is told its events: the core events, or software events and tracepoints."""
    if not counters["offered"]:
        plan = Plan(_SET, "ocoe", 0, ("task-clock",), (KERNEL_EVENTS,), _INTERVAL_MS, modifier="")
        return [plan], {event: event for event in KERNEL_EVENTS}
    known = machine.known_events(machine.describe())
    core = machine.default_events(known)
    plans = plan_mlpx(
        core,
        counters["good"],
        counters_of=known["counters"].to_dict(),
        per_run=len(core),
        set_name=_SET,
        interval_ms=_INTERVAL_MS,
    )
    return plans, {name: events.encode(name, known) for name in core}
