"""Where sample streams and lines of programs are kept, and recording them there."""

from pathlib import Path

from cmlib import events, machine
from cmlib.archive import errors_as, make_folder
from cmlib.record.archive import check_names
from cmlib.record.program import as_program
from cmlib.samples.files import SampleError, samples_dir
from cmlib.samples.sampling import record_lines, record_samples
from cmlib.schedule import needs_counter

HARDWARE_GROUP = ("cycles", "cache-misses", "instructions")


def record_stream(
    name,
    command,
    group=HARDWARE_GROUP,
    *,
    period=1_000_000,
    compress=None,
    modifier="u",
    folder=None,
    wait=False,
    progress=None,
):
    """Sample a program once, and keep perf's sample stream, or only its lines, under its name.

    Parameters
    ----------
    name : str
        Folder under `folder`. A stream of kernel events alone becomes
        ``software-00``, any other ``hardware-00``, the next one ``-01``; lines
        become ``software-lines-00``.
    command : sequence of str, or cmlib.record.Program
        Sampled is the process itself: perf (6.1) does not follow a sampled
        group into the processes and threads that it starts.
    group : sequence of str
        Events, the one that times the sampling first.
    period : int > 0, default 1,000,000
        Counts of the first event from sample to sample.
    compress : dict, optional
        Options of :func:`cmlib.compress.compress`; given, even if empty, lines
        are stored while the program runs, and no samples.
    modifier : str, default "u"
        perf's, for hardware events.
    folder : path, optional
        `data/samples` by default.
    wait : bool, default False
        Wait for another recording to end, instead of failing.
    progress : callable, optional
        Called with the numbers of samples and of lines so far.

    Returns
    -------
    out : pathlib.Path
        What was stored, without suffix.
    metadata : dict
        Of :func:`record_lines`.

    Raises
    ------
    SampleError
        As of :func:`record_lines`; if no hardware event can be counted here, it says so.
    CountersBusy
        If another recording is being made.
    """
    check_names(name, "samples")
    table = machine.known_events(machine.describe())
    encodings = {events.base_name(event): events.encode(event, table, modifier) for event in group}
    program = as_program(command)
    target = Path(folder or samples_dir()) / name
    with (
        machine.counters_lock(f"cmlib record {name} --samples", wait=wait),
        program.prepare() as counted,
    ):
        if counted.pids:
            raise SampleError(
                f"{name} is a server, and a sampled group of counters follows one process only."
            )
        settings = [f"{key}={value}" for key, value in counted.environment.items()]
        command = ["env", *settings, *counted.command] if settings else counted.command
        kind = "hardware" if any(map(_takes_counter, encodings)) else "software"
        with errors_as(SampleError, target):
            make_folder(target)
        out = _next(target, kind if compress is None else f"{kind}-lines")
        options = {"label": program.command, "progress": progress}
        try:
            if compress is None:
                return out, record_samples(command, encodings, period, out, **options)
            return out, record_lines(command, encodings, period, out, **options, **compress)
        except SampleError as error:
            raise SampleError(_explained(error, encodings)) from error


def _next(target, stem):
    taken = {file.name for file in target.glob(f"{stem}-*.json")}
    number = next(n for n in range(len(taken) + 1) if f"{stem}-{n:02d}.json" not in taken)
    return target / f"{stem}-{number:02d}"


def _takes_counter(event):
    """Tracepoints, such as sched:sched_switch, take none either."""
    return ":" not in event and needs_counter(event)


def _explained(error, encodings):
    """The error, or, where the reason is that the machine has no counters, that."""
    if any(map(_takes_counter, encodings)) and not (census := machine.census()).offered:
        return (
            f"no hardware event can be sampled here: {census.complaint}. `cmlib doctor` tells why and what to do; "
            "software events can be sampled: --events task-clock,page-faults,context-switches "
            "--period 1000000 (ns)."
        )
    return str(error)
