"""All recordings of the fifteen programs in one go: what will be run, and running it."""

import datetime
import math
import statistics
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from cmlib.anomaly.profiles import read_regions
from cmlib.anomaly.recordings import read_about, save_recording
from cmlib.anomaly.versions import plan_parts
from cmlib.errors import CmlibError
from cmlib.machine import processor_times, taken_by_others
from cmlib.machine.countable import INSTRUCTIONS
from cmlib.workloads.kernels.pace import Pace
from cmlib.workloads.kernels.recipe import Kernel, execute

SHARING = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
DILUTED = ("parallel_scalar_sum", "ticket_dispenser", "row_counters")
ATTEMPTS = 10
QUIET = 0.03  # share of the processors that others may take in an execution
STEADY = 0.1  # of its time, by which a program may take longer than usual just before and after


@dataclass(frozen=True)
class Recording:
    """One file to make: runs of one program in one form.

    Attributes
    ----------
    program : Kernel
    form : str
        "good", "bad"; "again", the good form once more, later; or "diluted-SHARE", the bad form with only
        that share of updates at the contended place, and "control-SHARE", the good form with the same share
        (its own path through the code) to compare with.
    sharing : float
    runs : tuple of (str, int, float)
        Name, threads and scale of each run.
    parts : tuple of tuple of (str, str)
        Name and configuration of the events of each execution of a run.
    per : {"instructions", "work"}
        What the counts will be divided by.
    """

    program: Kernel
    form: str
    sharing: float
    runs: tuple
    parts: tuple
    per: str = "instructions"

    @property
    def executions(self):
        return len(self.runs) * len(self.parts)


def plan(programs, events, *, good_counters=0, nodes=1, max_threads=4, diluted_runs=10, runs_again=20):
    """List the recordings of Table 2, of the dilution curve, and of the good forms once more, after all
    others.

    Runs differ in threads (2 to `max_threads`) and in scale (1 to 2.6); each is executed as often as
    the events need counters (:func:`cmlib.anomaly.versions.plan_parts`).

    Parameters
    ----------
    programs : sequence of Kernel
    events : sequence of Countable
    good_counters : int, default 0
        What `cmlib doctor` found good, not what is offered; 0 is enough for software events and tracepoints.
    nodes : int, default 1
        NUMA nodes here; programs that need more are left out.
    max_threads : int, default 4
    diluted_runs : int, default 10
        Bad runs at each share of the dilution curve, beside twice as many good ones; 0 for none.
    runs_again : int, default 20
        Of each good form, to compare the version with itself.

    Returns
    -------
    list of Recording

    Raises
    ------
    CmlibError
        If the events can't be counted with so many counters.
    """
    per, groups = plan_parts(events, good_counters)
    parts = tuple(
        tuple((event.name, event.config) for event in group if event != INSTRUCTIONS) for group in groups
    )

    def recording(program, form, n_runs, sharing=1.0, shift=0):
        runs = tuple(
            (f"{form}-{i:03d}", 2 + (i + shift) % (max_threads - 1), 1 + 0.2 * ((i + shift) * 5 % 9))
            for i in range(n_runs)
        )
        return Recording(program, form, sharing, runs, parts, per)

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


def estimate_minutes(recordings, binaries):
    """Expected duration, from one uncounted execution of each program in each form.

    Parameters
    ----------
    recordings : sequence of Recording
    binaries : path-like
        From `build`.

    Returns
    -------
    list of float
        Minutes of each recording.
    """
    minutes = []
    for item in recordings:
        threads, scale = item.runs[0][1], statistics.mean(scale for _, _, scale in item.runs)
        start = datetime.datetime.now()
        execute(_argv(item, binaries, threads, scale))
        minutes.append((datetime.datetime.now() - start).total_seconds() * item.executions / 60)
    return minutes


def record(recording, binaries, folder, machine, *, paces=None, progress=lambda run: None):
    """Make one recording, unless it is there already.

    Written are ``<folder>/<program>/<form>.csv.gz`` (what the regions wrote, unchanged, one execution after
    the other under a line that names it) and then ``<form>.json``: a recording exists if this does.
    Executions that were not counted all the time, or not undisturbed, are repeated. Whoever calls holds the
    counters (`cmlib.machine.counters_lock`).

    Parameters
    ----------
    recording : Recording
    binaries, folder : path-like
    machine : dict
        Where it was recorded.
    paces : dict, optional
        Filled here; the same for all recordings, so that a machine that has become slower is noticed.
    progress : callable of str
        Told the name of each finished run.

    Returns
    -------
    Path or None
        The new JSON file.

    Raises
    ------
    CmlibError
        If nothing can be counted here, the forms disagree in their result, or what is there counted other
        events.
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
        progress(f"{recording.program.name}/{name}")
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


def _check_same_events(recording, target):
    there = {name for part in read_about(target)["events"] for name in part}
    wanted = {name for part in recording.parts for name, _ in part}
    if there != wanted:
        raise CmlibError(
            f"{target} is there already and counts other events: {', '.join(sorted(there ^ wanted)[:5])}, … are in "
            "one of both only. Record into another --folder, or delete that one first."
        )


def _argv(recording, binaries, threads, scale):
    form = "good" if recording.form.startswith(("good", "again", "control")) else "bad"
    return recording.program.argv(binaries, form, threads=threads, scale=scale, sharing=recording.sharing)


def _record_run(recording, binaries, name, threads, scale, pace):
    """Execute a run once for each part: (texts, executions that had to be repeated)."""
    argv = _argv(recording, binaries, threads, scale)
    good = replace(recording, form="good")
    checksum, _ = execute(_argv(good, binaries, threads, scale))
    texts, repeated = [], 0
    for number, events in enumerate(recording.parts):
        best, again = _quietest(argv, events, recording.per, checksum, pace)
        repeated += again
        texts.append(
            f"# run={name} part={number} threads={threads} scale={scale:g} others={best.others:.3f} "
            f"behind={best.behind:.3f}\n{best.text}"
        )
    return texts, repeated


def _quietest(argv, events, per, checksum, pace):
    """An execution that was counted all the time and not disturbed, or the one least so: (execution, repetitions)."""
    best, before = None, pace.behind()
    for attempt in range(ATTEMPTS):
        text, result, others = _counted(argv, events, per)
        if result != checksum:
            raise CmlibError(f"`{' '.join(argv)}` gave {result}, the good form {checksum}: they must agree")
        after = pace.behind()
        made = _Execution(text, others, max(before, after))
        before = after
        if text is not None and (best is None or made.disturbed < best.disturbed):
            best = made
        if best is not None and best.disturbed <= 1:
            return best, attempt
    if best is None:
        raise CmlibError(
            f"`{' '.join(argv)}`: {', '.join(name for name, _ in events)} were not counted all the time in "
            f"{ATTEMPTS} attempts, or not at all. `cmlib doctor` tells which counters are good; let no other perf "
            "run."
        )
    return best, ATTEMPTS - 1


@dataclass(frozen=True)
class _Execution:
    """What the regions wrote, and how disturbed it was: others' share, and how far the machine was behind its pace."""

    text: str | None
    others: float
    behind: float

    @property
    def disturbed(self):
        return max(self.others / QUIET, self.behind / STEADY)


def _counted(argv, events, per):
    """What the regions wrote, or None if they weren't counted all the time; the checksum; others' share of the time."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "regions.csv"
        before = processor_times()
        checksum, _ = execute(argv, regions=file, events=events)
        others = taken_by_others(before, processor_times())
        samples = read_regions(file)
        complete = samples[[per, *(name for name, _ in events)]].notna().all(axis=None)
        whole = complete and math.isclose(samples["running"].min(), 1, abs_tol=1e-3)
        return (file.read_text() if whole else None), checksum, others
