"""Record the fifteen programs, while the machine was at its usual pace, and what counting costs.

:func:`plan` lists the recordings to make, :func:`record` makes one. A run executes a program once for each part
(the events that fit on the counters together). Neighbours on one host slow each other down without taking
processors: they share caches, memory, and the two threads of a core. Nothing counts that from inside a virtual
machine; a program that does the same again tells it. A CmlibError if events are not counted all the time, or a form
computes something else.
"""

import math
import statistics
from dataclasses import dataclass
from pathlib import Path

from cmlib.collect.machine.event_names import INSTRUCTIONS
from cmlib.compare.versions import group_events
from cmlib.errors import CmlibError
from cmlib.experiments.kernels.programs import OVERHEAD_FILE, Kernel
from cmlib.io.archive import as_text, now, write_whole
from cmlib.io.regions import SCHEMA, read_about, read_regions, save_recording
from cmlib.scratch import scratch_folder
from cmlib_workloads.kernels import argv_of, execute
from cmlib_workloads.neighbours import processor_times, taken_by_others

_FIRST = 8
_REPEATS = 10
SECONDS = 1.5  # an execution, with those beside it that tell the machine's pace
SHARING = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
DILUTED = ("parallel_scalar_sum", "ticket_dispenser", "row_counters")
ATTEMPTS = 10
QUIET = 0.03  # share of the processors that others may take in an execution
STEADY = 0.1  # of its time, by which a program may take longer than usual just before and after


@dataclass(frozen=True)
class PlannedRecording:
    """One file to make: runs of one program in one form.

    `program` is a Kernel; `form` is "good", "bad", "again", "control-SHARE" or "diluted-SHARE"; `sharing` is the
    share (0-1) of updates that have the fault; `runs` are tuples of name, threads and scale; `parts` are tuples of
    (event, code), one a part; `per` is what counts are divided by ("instructions" or "work").
    """

    program: Kernel
    form: str
    sharing: float
    runs: tuple
    parts: tuple
    per: str = "instructions"

    def argv(self, binaries, threads, scale, form=None):
        """Command (list of str) of one run; that of the good form computes the same.

        `binaries` is the folder of the programs, `threads` and `scale` are the run's; `form` is another form than
        this one's.
        """
        good = (form or self.form).startswith(("good", "again", "control"))
        how = {"threads": threads, "scale": scale, "sharing": self.sharing}
        return argv_of(self.program, binaries, "good" if good else "bad", **how)


def plan(programs, events, *, good_counters=0, nodes=1, max_threads=4, diluted_runs=10, runs_again=20):
    """List the recordings (PlannedRecordings) to make of some programs.

    They are those of Table 2, of the dilution curve, and of the good forms once more, after all others. `programs`
    are Kernels (of AutoPerf's Table 2), `events` Countables (events with their codes), which are divided into parts
    for `good_counters`; programs that need more than `nodes` NUMA nodes are left out. Threads are 2 to
    `max_threads`; `diluted_runs` and `runs_again` are numbers of runs, none if 0. A CmlibError if the counters are
    too few.
    """
    per, groups = group_events(events, good_counters)
    parts = tuple(
        tuple((event.name, event.config) for event in group if event != INSTRUCTIONS) for group in groups
    )

    def recording(program, form, n_runs, sharing=1.0, shift=0):
        runs = tuple(
            (f"{form}-{i:03d}", 2 + (i + shift) % (max_threads - 1), 1 + 0.2 * ((i + shift) * 5 % 9))
            for i in range(n_runs)
        )
        return PlannedRecording(program, form, sharing, runs, parts, per)

    programs = [program for program in programs if program.nodes <= nodes]
    recordings = []
    for program in programs:
        training, good, bad = program.runs
        recordings += [recording(program, "good", training + good), recording(program, "bad", bad, shift=1)]
        if program.name in DILUTED and diluted_runs:
            for share in SHARING:
                recordings.append(recording(program, f"control-{share:g}", 2 * diluted_runs, share))
                recordings.append(recording(program, f"diluted-{share:g}", diluted_runs, share, shift=2))
    return recordings + [
        recording(program, "again", runs_again, shift=2) for program in programs if runs_again
    ]


def record(recording, binaries, folder, machine, *, paces=None):
    """Make one recording (a PlannedRecording), and return the path of its metadata; None if it is there already.

    `binaries` is the folder of the programs, `folder` that of the recordings, `machine` the description (dict) to
    note; `paces` is a dict of :class:`Pace` by program and threads, which is added to, to be given to the next
    call. A CmlibError if what is there counts other events, a form computes something else, or events are not
    counted all the time.
    """
    target = Path(folder) / recording.program.name / f"{recording.form}.json"
    if target.exists():
        _check_same_events(recording, target)
        return None
    pieces, rejected, paces = [], 0, {} if paces is None else paces
    for name, threads, scale in recording.runs:
        known = recording.program.name, threads
        if known not in paces:
            paces[known] = Pace(recording.program, binaries, threads)
        texts, repeated = _record_run(recording, binaries, name, threads, scale, paces[known])
        pieces, rejected = pieces + texts, rejected + repeated
    about = {
        "program": recording.program.name,
        "stands_for": recording.program.stands_for,
        "type": recording.program.type,
        "original": recording.program.original,
        "form": recording.form,
        "sharing": recording.sharing,
        "runs": [
            {"run": name, "threads": threads, "scale": scale} for name, threads, scale in recording.runs
        ],
        "events": [dict(part) for part in recording.parts],
        "per": recording.per,
        "rejected_executions": rejected,
        "machine": machine,
    }
    return save_recording(target, pieces, about)


def record_overhead(program, binaries, events, folder, machine, *, threads=2, scale=8, pairs=10):
    """Time a program with and without its regions counted, and write the ratios to a file beside its recordings.

    Returns the file's path; None if it is there already. `program` is a Kernel (of AutoPerf's Table 2), `binaries`
    the folder of the programs, `events` pairs of name and code, `folder` that of the recordings, `machine` a dict
    to note; `pairs` executions of each are made, with so many `threads` and work (`scale`).
    """
    target = Path(folder) / program.name / OVERHEAD_FILE
    if target.exists():
        return None
    target.parent.mkdir(parents=True, exist_ok=True)
    argv, ratios = argv_of(program, binaries, "good", threads=threads, scale=scale), []
    with scratch_folder() as scratch:
        for _ in range(pairs):
            _, plain = execute(argv)
            _, counted = execute(argv, regions=Path(scratch) / "regions.csv", events=events)
            ratios.append(counted / plain)
    about = {
        "schema": SCHEMA,
        "program": program.name,
        "events": dict(events),
        "ratios": ratios,
        "machine": machine,
        "date": now(),
    }
    write_whole(target, as_text(about, target))
    return target


class Pace:
    """Time of a program's good form, against what it usually takes: how much the machine is slowed down now.

    `program` is a Kernel, `binaries` the folder of the programs, `threads` their number. It is executed eight times
    at first.
    """

    def __init__(self, program, binaries, threads):
        self._argv = argv_of(program, binaries, "good", threads=threads, repeats=_REPEATS)
        self._seconds = [execute(self._argv)[1] for _ in range(_FIRST)]

    def behind(self):
        """Execute it once more: how much longer it took than usual, as a share (float).

        Usual is the lower quartile of its times so far.
        """
        self._seconds.append(execute(self._argv)[1])
        return self._seconds[-1] / statistics.quantiles(self._seconds, n=4)[0] - 1


def _check_same_events(recording, target):
    """Raise a CmlibError if a recording that is there counts other events."""
    if read_about(target)["events"] != [dict(part) for part in recording.parts]:
        raise CmlibError(f"{target} is there already and counts other events: delete it, or move it away.")


def _record_run(recording, binaries, name, threads, scale, pace):
    """Execute a run once for each part: (texts, executions that had to be repeated)."""
    argv = recording.argv(binaries, threads, scale)
    checksum, _ = execute(recording.argv(binaries, threads, scale, form="good"))
    texts, repeated = [], 0
    for number, events in enumerate(recording.parts):
        text, again = _quietest(argv, events, recording.per, checksum, pace)
        repeated += again
        texts.append(f"# run={name} part={number} threads={threads} scale={scale:g} {text}")
    return texts, repeated


def _quietest(argv, events, per, checksum, pace):
    """What the regions wrote in an execution that was counted all the time and not disturbed, or least so, with how
    much it was; and the number of repetitions."""
    made, before = [], pace.behind()
    for _ in range(ATTEMPTS):
        text, result, others = _counted(argv, events, per)
        if result != checksum:
            raise CmlibError(f"`{' '.join(argv)}` gave {result}, the good form {checksum}: they must agree")
        after = pace.behind()
        behind = max(before, after)
        disturbed = math.inf if text is None else max(others / QUIET, behind / STEADY)
        made.append((disturbed, f"others={others:.3f} behind={behind:.3f}\n{text}"))
        if disturbed <= 1:
            break
        before = after
    least, text = min(made)
    if least == math.inf:
        raise CmlibError(
            f"`{' '.join(argv)}`: {', '.join(name for name, _ in events)} were not counted all the time in "
            f"{ATTEMPTS} attempts, or not at all. `cmlib doctor` tells which counters are good; let no other perf "
            "run."
        )
    return text, len(made) - 1


def _counted(argv, events, per):
    """What the regions wrote, or None if they weren't counted all the time; the checksum; others' share of the time."""
    with scratch_folder() as folder:
        file = Path(folder) / "regions.csv"
        before = processor_times()
        checksum, _ = execute(argv, regions=file, events=events)
        others = taken_by_others(before, processor_times())
        samples = read_regions(file)
        complete = samples[[per, *(name for name, _ in events)]].notna().all(axis=None)
        whole = complete and math.isclose(samples["running"].min(), 1, abs_tol=1e-3)
        return (file.read_text() if whole else None), checksum, others
