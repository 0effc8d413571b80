"""Run and count the two versions that are compared, or read them from recordings.

A region is a stretch of a program's code, usually a function, that the program counts itself with `cmlib_region.h`.
Each execution ("passage") of a region is one sample. A program without regions is counted as a whole.
:func:`open_pair` takes two commands or files, and yields a :class:`VersionPair`: runs (DataFrames of counts) and times
[s] of both. CmlibError if a command fails, or they can't be compared.
"""

import contextlib
import functools
import math
import os
import random
import re
import secrets
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from cmlib.collect.machine import census, counters_lock, describe, known_events
from cmlib.collect.machine.event_names import INSTRUCTIONS, countable
from cmlib.collect.machine.host import core_pmus
from cmlib.collect.record.execute import check_perf, run_timed
from cmlib.compare.times import ELAPSED, PROCESSOR, WHOLE
from cmlib.compare.usual_events import list_usual_events
from cmlib.errors import CmlibError, InputError
from cmlib.io import perf, regions
from cmlib.io.archive import in_recording
from cmlib.scratch import scratch_folder
from cmlib.terminal import say

FORMS = ("old", "new")
_ATTEMPTS = 3
_LONGEST_S = 1e9  # of a run
_MOST_TIMES = 4_000_000  # of a recording: number of executions times number of functions
_MOST_AT_ONCE = 16  # events that cmlib_region.h counts in a run, at most
MEASURES = (ELAPSED, PROCESSOR)
_MEASURE_IN_HEADING = {"elapsed_s": ELAPSED, "processor_s": PROCESSOR}  # measures by their names in headings


@dataclass(frozen=True)
class VersionRecording:
    """Recorded runs of one version.

    Attributes
    ----------
    name : str
        Its command, or the file from which it was read.
    about : dict
        Metadata: program, form, machine, session, per, events and more.
    text : str
        Output of the regions: CSV, with a heading for each execution.
    """

    name: str
    about: dict
    text: str

    @functools.cached_property
    def runs(self):
        """Counts of each run, divided by instructions or by work: a list of DataFrames, one row per sample.

        A sample is one passage through a region. Columns are function, location and the counters. CmlibError if the
        text is damaged.
        """
        runs = in_recording(self.name, regions.read_runs, self.text, per=self.about["per"])
        return list(runs.values())

    @functools.cached_property
    def times(self):
        """Times [s]: a DataFrame with one row per run; columns are pairs (function, measure).

        Measures are "elapsed time" and "processor time"; NaN where a function did not run. CmlibError if the text is
        damaged.
        """
        return in_recording(self.name, read_times, self.text)


@dataclass(frozen=True)
class VersionPair:
    """Two versions to be judged.

    Attributes
    ----------
    old, new : VersionRecording
    paired : bool
        True if runs of both alternated, so that run k of one belongs to run k of the other.
    n_looks : int
        Maximum number of verdicts on the growing data (looks), for which significance is corrected.
    """

    old: VersionRecording
    new: VersionRecording
    paired: bool
    n_looks: int


def open_pair(
    old, new, *, events=None, n_runs=40, alpha=0.002, timeout=None, seed=0, notify=say, progress=lambda: None
):
    """Yield a VersionPair to be judged each time that enough runs are recorded; close it when the verdict is settled.

    Parameters
    ----------
    old, new : str
        Commands, which are run in random order, or files that `--keep` wrote.
    events : str, optional
        Comma-separated names of events. Default: a list for the processor.
    n_runs : int, default 40
        Maximum number of runs of each command.
    alpha : float, default 0.002
        Accepted probability of a false alarm; the smallest number of runs depends on it.
    timeout : float, optional
        Time limit of each run [s].
    seed : int, default 0
        Seed of the order of runs.
    notify, progress : callable
        Called with a sentence (str) on the progress; called without arguments after each run.

    Yields
    ------
    VersionPair

    Raises
    ------
    CmlibError
        If a command fails, or the two can't be compared.
    """
    names = {"old": old, "new": new}
    recordings = {form: _read(name) for form, name in names.items() if is_recording(name)}
    if len(recordings) == 2:
        if events:
            raise CmlibError("--events is for commands: recordings have the events they were made with")
        yield _pair_recordings(**recordings)
        return
    commands = {form: name for form, name in names.items() if form not in recordings}
    versions = {form: find_version(command, timeout=timeout) for form, command in commands.items()}
    _check_regions(versions.values())
    countables = _choose_events(events, next(iter(recordings.values()), None), describe())
    looks = [n_runs] if recordings else _plan_looks(n_runs, versions, alpha)
    yield from _record_pairs(versions, recordings, countables, looks, random.Random(seed), notify, progress)


def _pair_recordings(old, new):
    """Make a VersionPair of two VersionRecordings; its runs are in pairs if both were recorded in one session."""
    session = old.about.get("session")
    is_paired = session is not None and session == new.about.get("session")
    return VersionPair(old, new, paired=is_paired, n_looks=1)


def _check_regions(versions):
    """Raise CmlibError if one of the Versions has regions and the other has none."""
    with_regions = [version for version in versions if version.functions]
    if with_regions and len(with_regions) < len(versions):
        command = with_regions[0].command
        raise CmlibError(f"only `{command}` has regions: build both versions with them, or neither")


def is_recording(name):
    """Decide whether a name is a recording or a command.

    Parameters
    ----------
    name : str
        The name of a .json file, or a command, which may end in one.

    Returns
    -------
    bool
        True for a recording.
    """
    return name.endswith(".json") and (Path(name).is_file() or not re.search(r"\s", name))


def check_free(folder):
    """Check that :func:`save_pair` replaces no recordings.

    Parameters
    ----------
    folder : path

    Raises
    ------
    CmlibError
        If the folder contains recordings.
    """
    existing = [path.name for form in FORMS for path in sorted(Path(folder).glob(f"{form}.*"))]
    if existing:
        raise CmlibError(
            f"{folder} holds {', '.join(existing)} already, and recordings are not replaced. Give --keep another "
            "folder, or move these files away."
        )


def save_pair(pair, folder):
    """Write the recordings of a pair's commands.

    Parameters
    ----------
    pair : VersionPair
        A version that was read from a recording is not written.
    folder : path
        Folder for ``old.json``, ``new.json`` and their samples.
    """
    for form in FORMS:
        recording = getattr(pair, form)
        if not is_recording(recording.name):
            regions.save_recording(Path(folder) / f"{form}.json", [recording.text], recording.about)


def _read(name):
    """Read the VersionRecording in a file."""
    if not Path(name).is_file():
        raise CmlibError(f"there is no recording {name}")
    about, text = regions.read_recording(name)
    return VersionRecording(name, {"per": "instructions"} | about, text)


def _plan_looks(n_runs, versions, alpha):
    """List the numbers of pairs of runs (ints) after which a verdict is computed: a quarter, a half and all.

    None is too small for a significant change.
    """
    n_tests = 2 * (1 + max(len(version.functions) for version in versions.values()))
    fewest = math.ceil(math.log2(n_tests / alpha))
    if n_runs < fewest:
        raise CmlibError(
            f"{n_runs} runs of each command are too few: at least {fewest} are needed for a change to be significant "
            f"at {alpha:g}. Give more --runs, or a larger --alpha."
        )
    fewest_for_first_look = math.ceil(math.log2(3 * n_tests / alpha))
    return sorted({min(n_runs, max(fewest_for_first_look, n_runs // part)) for part in (4, 2, 1)})


def _record_pairs(versions, recordings, events, looks, rng, notify, progress):
    """Yield a VersionPair at each number of runs in `looks`.

    `versions` are the Versions to run by form (dict), `recordings` the VersionRecording of the other form, if any.
    """
    common = {"machine": describe(), "session": secrets.token_hex(8)}
    texts = dict.fromkeys(versions, "")
    if len(looks) > 1:
        notify(f"{looks[0]} to {looks[-1]} pairs of runs, until the result is clear.")
    else:
        notify(f"{looks[0]} runs of each command.")
    with _lock_counters(events) as good_counters:
        common["per"], parts = plan_parts(events, good_counters)
        common["events"] = [{event.name: event.config for event in part} for part in parts]
        n_done = 0
        for look in looks:
            for run in range(n_done, look):
                for form in rng.sample(sorted(versions), len(versions)):
                    texts[form] += _count_run(versions[form], run, parts, common["per"])
                    progress()
            n_done = look
            recorded = {
                form: _make_recording(version, form, common, texts[form])
                for form, version in versions.items()
            }
            yield VersionPair(**recorded | recordings, paired=not recordings, n_looks=len(looks))


def _make_recording(version, form, common, text):
    """Make the VersionRecording of a Version from its text; `common` is the metadata of both versions (dict)."""
    about = {"program": version.command, "form": form, "regions": bool(version.functions)}
    return VersionRecording(version.command, about | common, text)


@contextlib.contextmanager
def _lock_counters(events):
    """Hold the lock of the counters, and yield the number of good ones; 0, without a lock, if no event needs one."""
    if not core_pmus() or not any(event.hardware for event in events):
        yield 0
        return
    with counters_lock("comparing two versions"):
        yield census().good


def _choose_events(event_list, recorded, about):
    """Choose the Countables to count: those that a user lists, those of the other recording, or the usual ones."""
    if event_list:
        return countable(event_list, known_events(about))
    if recorded:
        pairs = {event: config for part in recorded.about["events"] for event, config in part.items()}
        # tracepoints by name: their numbers depend on the kernel
        names = (event if ":" in event else f"{event}={config}" for event, config in pairs.items())
        return countable(",".join(names))
    return list_usual_events(about)


@dataclass(frozen=True)
class Version:
    """A command to run.

    Attributes
    ----------
    command : str
        The command; ``{run}`` in it is replaced by the number of the run.
    functions : tuple of str
        Names of its regions; empty if it has none.
    timeout : float or None
        Time limit of a run [s].
    """

    command: str
    functions: tuple[str, ...] = ()
    timeout: float | None = None

    def argv(self, run):
        """Return the words of the command.

        Parameters
        ----------
        run : int
            Number of the run, which replaces ``{run}``.

        Returns
        -------
        list of str

        Raises
        ------
        ValueError
            If the command can't be split into words as a shell does.
        """
        return [word.replace("{run}", str(run)) for word in shlex.split(self.command)]


def find_version(command, *, timeout=None):
    """Run a command once without counting, and find the regions that it passes.

    Parameters
    ----------
    command : str
    timeout : float, optional
        Time limit [s].

    Returns
    -------
    Version
        The command with the names of its regions.

    Raises
    ------
    CmlibError
        If the command can't be split into words, has no program, or fails.
    TooLongError
        If the time limit is exceeded.
    """
    try:
        argv = Version(command).argv(0)
    except ValueError as error:
        raise CmlibError(f"{command!r} can't be split into words as a shell does: {error}") from error
    if not argv or shutil.which(argv[0]) is None:
        raise CmlibError(
            f"{command!r} is neither a recording (an existing .json file) nor a command with an existing program. Put "
            "a command with its arguments in quotes."
        )
    with scratch_folder() as folder:
        file = Path(folder) / "regions.csv"
        run_timed(argv, environment={"CMLIB_REGIONS": str(file)}, timeout=timeout)
        functions = regions.read_regions(file)["function"].unique() if file.exists() else ()
        return Version(command, tuple(functions), timeout)


def plan_parts(events, good_counters):
    """Distribute events over executions, because not all fit on the counters together.

    Parameters
    ----------
    events : list of cmlib.collect.machine.event_names.Countable
        Events with their codes.
    good_counters : int
        Number of counters that count correctly.

    Returns
    -------
    per : {"instructions", "work"}
        Unit by which counts are divided; "work" if there is no hardware event.
    parts : list of list of Countable
        Events to be counted together, in one execution each.

    Raises
    ------
    CmlibError
        If there are fewer than two good counters for hardware events, or instructions are the only event.
    """
    hardware = [event for event in events if event.hardware]
    if hardware and good_counters < 2:
        names = ", ".join(event.name for event in hardware)
        raise CmlibError(
            f"{names} can't be counted: this machine has {good_counters} good counters, and two are needed, one for "
            "instructions and one for an event at a time (see `cmlib doctor`). Software events can be counted "
            "everywhere: --events task-clock,page-faults,context-switches,cpu-migrations"
        )
    software = [event for event in events if not event.hardware]
    if not hardware:
        return "work", _cut_list(software, _MOST_AT_ONCE)
    other_hardware = [event for event in hardware if event != INSTRUCTIONS]
    if not other_hardware and not software:
        raise CmlibError(
            "Instructions alone can't be compared, since counts are divided by them. Give more --events."
        )
    n_per_execution = max(1, min(good_counters - 1, _MOST_AT_ONCE - len(software)))
    first, *groups = _cut_list(other_hardware, n_per_execution) or [[]]
    return "instructions", [[INSTRUCTIONS, *group] for group in ([*first, *software], *groups)]


def _cut_list(items, length):
    """Cut a list into lists of `length` items; the last one may be shorter."""
    return [items[i : i + length] for i in range(0, len(items), length)]


def _count_run(version, run, parts, per):
    """Execute a Version once for each part (list of Countables), and return the text of its samples."""
    return "".join(_count_part(version, run, part, events, per) for part, events in enumerate(parts))


def _count_part(version, run, part, events, per):
    """Execute a Version once, count Countables all the time, and return the text: a heading, and a row per sample."""
    argv = version.argv(run)
    count = _count_regions if version.functions else _count_whole
    names = dict.fromkeys([per, *(event.name for event in events)])
    for _ in range(_ATTEMPTS):
        with scratch_folder() as folder:
            file = Path(folder) / "regions.csv"
            times = count(argv, events, file, version.timeout)
            samples, text = regions.read_regions(file), file.read_text(encoding="utf-8")
        uncounted = [name for name in names if samples[name].isna().any()]
        if samples.empty:
            raise CmlibError(f"`{shlex.join(argv)}` passed none of its regions: there is nothing to compare")
        if not uncounted and samples["running"].min() > 0.999:
            return format_heading(run, part, *times) + text
    missing = ", ".join(uncounted) or "the events"
    raise CmlibError(
        f"`{shlex.join(argv)}`: {missing} were not counted all the time in {_ATTEMPTS} attempts. End other runs of "
        "perf; `cmlib doctor` shows which counters there are and who may use them."
    )


def _count_regions(argv, events, file, timeout):
    """Run a program that counts its regions into `file`; return its elapsed and processor time [s]."""
    event_list = ",".join(f"{e.name}={e.config}" for e in events if e.name != INSTRUCTIONS.name)
    environment = {"CMLIB_REGIONS": str(file), "CMLIB_EVENTS": event_list}
    times = run_timed(argv, environment=environment, timeout=timeout)
    if not file.exists():
        raise CmlibError(f"`{shlex.join(argv)}` passed regions when it was tried, and now none")
    return times


def time_whole(argv, timeout=None):
    """Time a command by one run under ``perf stat``.

    Parameters
    ----------
    argv : list of str
        The command.
    timeout : float, optional
        Time limit [s].

    Returns
    -------
    elapsed_s, processor_s : float
        Elapsed and processor time [s].

    Raises
    ------
    RecordError
        If perf is missing.
    TooLongError
        If the time limit is exceeded.
    CmlibError
        If the command fails.
    """
    with scratch_folder() as folder:
        return _count_whole(argv, [], Path(folder) / "regions.csv", timeout)


def _count_whole(argv, events, file, timeout):
    """Run a program under perf, and write its counts to `file` as if it were one region.

    Return its elapsed and processor time [s].
    """
    check_perf()
    output = file.with_name("perf.csv")
    names = ["duration_time", "task-clock", *(event.encoding for event in events)]
    selected = [argument for event in names for argument in ("-e", event)]
    perf_stat = ["perf", "stat", "-x", ",", "-o", str(output), *selected, "--", *argv]
    run_timed(perf_stat, environment={"LC_ALL": "C"}, timeout=timeout)
    counts = perf.parse_stat(output.read_text(encoding="utf-8"))
    if len(counts) != len(names):
        raise CmlibError(
            f"perf stat was asked for {len(names)} events and wrote {len(counts)}, in a form that cmlib does not know."
        )
    in_ns = counts["value"].where(counts["unit"] != "msec", counts["value"] * 1e6)
    elapsed_s, processor_s = in_ns[:2] / 1e9
    row = {
        "function": WHOLE,
        "location": os.path.basename(argv[0]),
        "thread": 0,
        "threads": 1,
        "work": 1,
        "seconds": f"{elapsed_s:.9f}",
        "running": counts["running"].min(),
        "instructions": "",
        **dict(zip((event.name for event in events), in_ns[2:], strict=True)),
    }
    pd.DataFrame([row]).to_csv(file, index=False, lineterminator="\n")
    return elapsed_s, processor_s


def format_heading(run, part, elapsed_s, processor_s):
    """Write the line above the samples of one execution in a recording.

    Parameters
    ----------
    run : int
        Number of the run.
    part : int
        Number of the execution in the run; each counts other events.
    elapsed_s, processor_s : float
        Times of the whole program [s].

    Returns
    -------
    str
    """
    return f"# run={run:03d} part={part} elapsed_s={elapsed_s:.9f} processor_s={processor_s:.9f}\n"


def read_times(text):
    """Read the times of runs from the output of regions.

    The times of a function are added up in each execution, and divided by the units of work that the program reported,
    if any. The times of the whole program are in the headings.

    Parameters
    ----------
    text : str
        CSV, with a heading ``# run=…`` for each execution, as in :class:`VersionRecording`.

    Returns
    -------
    DataFrame
        Times [s], one row per run; columns are pairs (function, measure), with the measures "elapsed time" and
        "processor time" and the function "whole program" among the others. A run with several executions has their
        mean; NaN where a function did not run.

    Raises
    ------
    ValueError
        If the text is damaged or too large.
    """
    headings, samples = zip(*regions.read_executions(text), strict=True)
    function_times = _sum_times(samples)
    whole_times = pd.DataFrame(map(_parse_heading, headings))
    times = whole_times.combine_first(function_times)
    times = times[list(dict.fromkeys([*function_times, *whole_times]))]
    times.columns = pd.MultiIndex.from_tuples(times.columns, names=["function", "measure"])
    run_by_execution = [heading.split()[0] for heading in headings]
    return times.groupby(run_by_execution, sort=False).mean().rename_axis("run")


def _sum_times(samples):
    """Sum the times [s] of each function in each execution, and divide them by its work.

    `samples` are DataFrames, one per execution. Return a DataFrame with one row per execution; columns are pairs
    (function, measure); NaN where a function did not run.
    """
    rows = pd.concat(samples).reindex(columns=["function", "work", "seconds", "task-clock"])
    function_numbers, functions = pd.factorize(rows["function"])
    shape = len(samples), len(functions)
    if math.prod(shape) > _MOST_TIMES:
        raise InputError(
            f"{shape[0]:,} executions of {shape[1]:,} functions have more than the {_MOST_TIMES:,} times that are read"
        )
    execution_numbers = np.repeat(np.arange(len(samples)), list(map(len, samples)))
    cells = execution_numbers * len(functions) + function_numbers

    def sum_by_cell(values=None):
        return np.bincount(cells, values, math.prod(shape)).reshape(shape)

    n_samples = sum_by_cell()
    reports_no_work = sum_by_cell(rows["work"] == 1) == n_samples
    work = np.where(reports_no_work, 1, sum_by_cell(rows["work"]))
    if (work == 0).any():
        raise InputError("the work of a function adds up to 0")
    work = np.where(n_samples > 0, work, np.nan)
    elapsed_s = sum_by_cell(rows["seconds"]) / work
    processor_s = sum_by_cell(rows["task-clock"]) / 1e9 / work
    columns = pd.MultiIndex.from_product([functions, MEASURES]).to_flat_index()
    return pd.DataFrame(
        np.stack([elapsed_s, processor_s], axis=-1).reshape(len(samples), -1), columns=columns
    )


def _parse_heading(heading):
    """Parse the times [s] of a whole run by (function, measure) from a heading; empty if it contains none."""
    texts = dict(re.findall(r" (elapsed_s|processor_s)=(\S+)", heading))
    times = {(WHOLE, _MEASURE_IN_HEADING[key]): float(seconds) for key, seconds in texts.items()}
    if not all(0 <= seconds <= _LONGEST_S for seconds in times.values()):
        raise InputError(f"a run took {', '.join(texts.values())[:60]} s, which no clock tells")
    return times
