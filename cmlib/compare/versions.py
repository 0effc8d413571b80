"""Run and count the two versions that are compared, or read them from recordings.

A region is a stretch of a program's code, usually a function, that the program counts itself with `cmlib_region.h`.
Each passage through a region is one sample. A program without regions is counted as a whole. A run executes the
command one or more times: each execution counts other events, because not all fit on the counters together.

:func:`generate_pairs` takes two commands or files, and yields a :class:`VersionPair`: runs (DataFrames of counts) and
times [s] of both. CmlibError if a command fails, or they can't be compared.
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
from cmlib.compare.ratios import compute_smallest_p_value
from cmlib.compare.times import ELAPSED, PROCESSOR, WHOLE
from cmlib.compare.usual_events import list_usual_events
from cmlib.errors import CmlibError, InputError
from cmlib.io import perf, regions
from cmlib.io.archive import in_recording
from cmlib.scratch import scratch_folder
from cmlib.terminal import say

SIDES = ("old", "new")  # of a comparison; also the names of the files in the folder of --keep
MEASURES = (ELAPSED, PROCESSOR)
_MEASURE_IN_HEADING = {"elapsed_s": ELAPSED, "processor_s": PROCESSOR}  # measures by their names in headings
_ATTEMPTS = 3  # executions in which events were not counted all the time are repeated
_LONGEST_S = 1e9  # of a run
_MOST_TIMES_READ = 4_000_000  # from a recording: number of executions times number of functions
_MOST_EVENTS_TOGETHER = 16  # that cmlib_region.h counts in one execution


@dataclass(frozen=True)
class VersionRecording:
    """Recorded runs of one version.

    Attributes
    ----------
    name : str
        Its command, or the file from which it was read.
    about : dict
        Metadata: program, form ("old" or "new"), machine, session, per, events and more.
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

    @property
    def has_regions(self):
        """True if the program counted regions; False if it was counted as a whole."""
        return any((run["function"] != WHOLE).any() for run in self.runs)


@dataclass(frozen=True)
class VersionPair:
    """Two versions to be judged.

    Attributes
    ----------
    old, new : VersionRecording
    paired : bool
        True if runs of both alternated, so that run k of one belongs to run k of the other.
    n_looks : int
        Maximum number of looks. A look is a verdict on the runs so far. Significance is corrected for this number.
    """

    old: VersionRecording
    new: VersionRecording
    paired: bool
    n_looks: int


def generate_pairs(
    old, new, *, events=None, n_runs=40, alpha=0.002, timeout=None, seed=0, notify=say, progress=lambda: None
):
    """Run two versions, and yield the runs so far as a VersionPair each time that a verdict is due.

    Close the generator when the verdict is clear. Two recordings give one VersionPair.

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
    notify : callable
        Called with each message on the progress (str).
    progress : callable
        Called without arguments after each run.

    Yields
    ------
    VersionPair

    Raises
    ------
    CmlibError
        If a command fails, or the two can't be compared.
    """
    name_by_side = {"old": old, "new": new}
    recordings = {side: _read(name) for side, name in name_by_side.items() if is_recording(name)}
    if len(recordings) == 2:
        if events:
            raise CmlibError("--events is for commands: recordings have the events they were made with")
        yield _pair_recordings(**recordings)
        return
    commands = {
        side: probe_command(name, timeout=timeout)
        for side, name in name_by_side.items()
        if side not in recordings
    }
    if recordings:
        (recording,) = recordings.values()
        (command,) = commands.values()
        _check_regions([(recording.name, recording.has_regions), (command.command, bool(command.functions))])
        countables = _choose_events(events, recording, describe())
        _check_n_runs(n_runs, command, recording, alpha)
        looks = [n_runs]
    else:
        _check_regions([(command.command, bool(command.functions)) for command in commands.values()])
        countables = _choose_events(events, None, describe())
        looks = _plan_looks(n_runs, commands.values(), alpha)
    yield from _record_pairs(commands, recordings, countables, looks, random.Random(seed), notify, progress)


def _pair_recordings(old, new):
    """Make a VersionPair of two VersionRecordings; its runs are in pairs if both were recorded in one session."""
    session = old.about.get("session")
    is_paired = session is not None and session == new.about.get("session")
    return VersionPair(old, new, paired=is_paired, n_looks=1)


def _check_regions(names_and_regions):
    """Raise CmlibError if only one version has regions; each has a pair of its name (str) and True if it has any."""
    with_regions = [name for name, has_regions in names_and_regions if has_regions]
    if with_regions and len(with_regions) < len(names_and_regions):
        raise CmlibError(f"only `{with_regions[0]}` has regions: build both versions with them, or neither")


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
    existing = [path.name for side in SIDES for path in sorted(Path(folder).glob(f"{side}.*"))]
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
    for side in SIDES:
        recording = getattr(pair, side)
        if not is_recording(recording.name):
            regions.save_recording(Path(folder) / f"{side}.json", [recording.text], recording.about)


def _read(name):
    """Read the VersionRecording in a file."""
    if not Path(name).is_file():
        raise CmlibError(f"there is no recording {name}")
    about, text = regions.read_recording(name)
    return VersionRecording(name, {"per": "instructions"} | about, text)


def _plan_looks(n_runs, commands, alpha):
    """List the numbers of pairs of runs after which a verdict is computed: a quarter, a half and all of `n_runs`.

    Smaller numbers are raised to the smallest with which a change can be significant, so that there may be fewer looks.

    The smallest p-value of the signed-rank test of n pairs is 2^-n: all new runs are slower. Bonferroni's correction
    multiplies it by the number of tests. A change can be significant if n_tests * 2^-n <= alpha, and therefore
    n >= log2(n_tests / alpha). Three looks test three times as often.
    """
    n_tests = max(map(_count_tests, commands))
    fewest_for_one_look = math.ceil(math.log2(n_tests / alpha))
    if n_runs < fewest_for_one_look:
        raise CmlibError(
            f"{n_runs} runs of each command are too few: at least {fewest_for_one_look} are needed for a change to be "
            f"significant at {alpha:g}. Give more --runs, or a larger --alpha."
        )
    fewest_for_three_looks = math.ceil(math.log2(3 * n_tests / alpha))
    looks = {min(n_runs, max(fewest_for_three_looks, n_runs // divisor)) for divisor in (4, 2, 1)}
    return sorted(looks)


def _check_n_runs(n_runs, command, recording, alpha):
    """Raise CmlibError if `n_runs` of a command are too few to differ significantly from a recording."""
    n_recorded = len(recording.times)
    smallest_p_value = compute_smallest_p_value(n_recorded, n_runs, paired=False)
    if _count_tests(command) * smallest_p_value > alpha:
        raise CmlibError(
            f"{n_runs} runs of `{command.command}` against {n_recorded} in {recording.name} are too few for a change "
            f"to be significant at {alpha:g}. Give more --runs, or a larger --alpha."
        )


def _count_tests(command):
    """Count the tests of one look: one per measure, for each function of a VersionCommand and for the whole program."""
    return len(MEASURES) * (1 + len(command.functions))


def _record_pairs(commands, recordings, events, looks, rng, notify, progress):
    """Yield a VersionPair after each number of runs in `looks`.

    Parameters
    ----------
    commands : dict of str to VersionCommand
        Versions to run, by side.
    recordings : dict of str to VersionRecording
        The other version, by side; empty if both are run.
    events : list of Countable
    looks : list of int
    rng : random.Random
        Draws the order of the two commands in each run.
    notify, progress : callable
        As in :func:`generate_pairs`.
    """
    common = {"machine": describe(), "session": secrets.token_hex(8)}
    texts = dict.fromkeys(commands, "")
    if len(looks) > 1:
        notify(f"{looks[0]} to {looks[-1]} pairs of runs, until the result is clear.")
    else:
        notify(f"{looks[0]} runs of each command.")
    with _lock_counters(events) as n_good_counters:
        common["per"], event_groups = group_events(events, n_good_counters)
        common["events"] = [{event.name: event.config for event in group} for group in event_groups]
        n_recorded = 0
        for look in looks:
            for run in range(n_recorded, look):
                for side in rng.sample(sorted(commands), len(commands)):
                    texts[side] += _count_run(commands[side], run, event_groups, common["per"])
                    progress()
            n_recorded = look
            recorded = {
                side: _make_recording(command, side, common, texts[side])
                for side, command in commands.items()
            }
            yield VersionPair(**recorded | recordings, paired=not recordings, n_looks=len(looks))


def _make_recording(command, side, common, text):
    """Make the VersionRecording of a VersionCommand from its text; `common` is the metadata of both sides (dict)."""
    about = {"program": command.command, "form": side, "regions": bool(command.functions)}
    return VersionRecording(command.command, about | common, text)


@contextlib.contextmanager
def _lock_counters(events):
    """Lock the processor's counters during a ``with`` block, and yield how many of them count correctly.

    If no event needs a counter of the processor, or there is none, lock nothing and yield 0.
    """
    if not core_pmus() or not any(event.hardware for event in events):
        yield 0
        return
    with counters_lock("comparing two versions"):
        yield census().good


def _choose_events(event_list, recording, about):
    """Choose the Countables: the user's list, those in the other version's recording, or the default events."""
    if event_list:
        return countable(event_list, known_events(about))
    if recording:
        code_by_event = {event: code for group in recording.about["events"] for event, code in group.items()}
        # Codes of tracepoints (with a colon in the name) depend on the kernel: these are found by their names.
        items = (event if ":" in event else f"{event}={code}" for event, code in code_by_event.items())
        return countable(",".join(items))
    return list_usual_events(about)


@dataclass(frozen=True)
class VersionCommand:
    """A version that is run: its command.

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


def probe_command(command, *, timeout=None):
    """Run a command once without counting, to find the regions that it passes.

    Parameters
    ----------
    command : str
    timeout : float, optional
        Time limit [s].

    Returns
    -------
    VersionCommand
        The command with the names of its regions.

    Raises
    ------
    CmlibError
        If the command can't be split into words, has no program, or fails.
    TooLongError
        If the time limit is exceeded.
    """
    try:
        argv = VersionCommand(command).argv(0)
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
        return VersionCommand(command, tuple(functions), timeout)


def group_events(events, n_good_counters):
    """Group events into those that are counted together, because not all fit on the counters at once.

    Parameters
    ----------
    events : list of cmlib.collect.machine.event_names.Countable
        Events with their codes.
    n_good_counters : int
        Number of counters that count correctly.

    Returns
    -------
    per : {"instructions", "work"}
        Unit by which counts are divided; "work" if there is no hardware event.
    event_groups : list of list of Countable
        Each group is counted in an execution of its own.

    Raises
    ------
    CmlibError
        If there are fewer than two good counters for hardware events, or instructions are the only event.
    """
    hardware = [event for event in events if event.hardware]
    if hardware and n_good_counters < 2:
        names = ", ".join(event.name for event in hardware)
        raise CmlibError(
            f"{names} can't be counted: this machine has {n_good_counters} good counters, and two are needed, one for "
            "instructions and one for an event at a time (see `cmlib doctor`). Software events can be counted "
            "everywhere: --events task-clock,page-faults,context-switches,cpu-migrations"
        )
    software = [event for event in events if not event.hardware]
    if not hardware:
        return "work", _cut_list(software, _MOST_EVENTS_TOGETHER)
    other_hardware = [event for event in hardware if event != INSTRUCTIONS]
    if not other_hardware and not software:
        raise CmlibError(
            "Instructions alone can't be compared, since counts are divided by them. Give more --events."
        )
    n_per_execution = max(1, min(n_good_counters - 1, _MOST_EVENTS_TOGETHER - len(software)))
    first_group, *other_groups = _cut_list(other_hardware, n_per_execution) or [[]]
    event_groups = [[*first_group, *software], *other_groups]
    return "instructions", [[INSTRUCTIONS, *group] for group in event_groups]


def _cut_list(items, length):
    """Cut a list into lists of `length` items; the last one may be shorter."""
    return [items[i : i + length] for i in range(0, len(items), length)]


def _count_run(command, run, event_groups, per):
    """Execute a VersionCommand once for each group of events, and return the text of all samples."""
    texts = [
        _count_execution(command, run, execution, events, per)
        for execution, events in enumerate(event_groups)
    ]
    return "".join(texts)


def _count_execution(command, run, execution, events, per):
    """Execute a VersionCommand once, count Countables all the time, and return a heading and a row per sample (str)."""
    argv = command.argv(run)
    needed_columns = dict.fromkeys([per, *(event.name for event in events)])
    for _ in range(_ATTEMPTS):
        with scratch_folder() as folder:
            file = Path(folder) / "regions.csv"
            if command.functions:
                elapsed_s, processor_s = _count_regions(argv, events, file, command.timeout)
            else:
                elapsed_s, processor_s = _count_whole(argv, events, file, command.timeout)
            samples = regions.read_regions(file)
            text = file.read_text(encoding="utf-8")
        if samples.empty:
            raise CmlibError(f"`{shlex.join(argv)}` passed none of its regions: there is nothing to compare")
        uncounted = [column for column in needed_columns if samples[column].isna().any()]
        if not uncounted and samples["running"].min() > 0.999:
            return format_heading(run, execution, elapsed_s, processor_s) + text
    missing = ", ".join(uncounted) or "the events"
    raise CmlibError(
        f"`{shlex.join(argv)}`: {missing} were not counted all the time in {_ATTEMPTS} attempts. End other runs of "
        "perf; `cmlib doctor` shows which counters there are and who may use them."
    )


def _count_regions(argv, events, file, timeout):
    """Run a program that counts its regions into `file`; return its elapsed and processor time [s]."""
    event_list = ",".join(
        f"{event.name}={event.config}" for event in events if event.name != INSTRUCTIONS.name
    )
    environment = {"CMLIB_REGIONS": str(file), "CMLIB_EVENTS": event_list}
    times = run_timed(argv, environment=environment, timeout=timeout)
    if not file.exists():
        raise CmlibError(
            f"`{shlex.join(argv)}` passed no region in this run, but did in the first one: there is nothing to compare"
        )
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
    event_names = ["duration_time", "task-clock", *(event.encoding for event in events)]
    selection = [word for name in event_names for word in ("-e", name)]
    perf_stat = ["perf", "stat", "-x", ",", "-o", str(output), *selection, "--", *argv]
    run_timed(perf_stat, environment={"LC_ALL": "C"}, timeout=timeout)
    counts = perf.parse_stat(output.read_text(encoding="utf-8"))
    if len(counts) != len(event_names):
        raise CmlibError(
            f"perf stat was asked for {len(event_names)} events and wrote {len(counts)}, in a format that cmlib does "
            "not know."
        )
    # perf prints clocks in milliseconds; cmlib_region.h counts them in nanoseconds.
    values = counts["value"].where(counts["unit"] != "msec", counts["value"] * 1e6)
    elapsed_s, processor_s = values[:2] / 1e9
    row = {
        "function": WHOLE,
        "location": os.path.basename(argv[0]),
        "thread": 0,
        "threads": 1,
        "work": 1,
        "seconds": f"{elapsed_s:.9f}",
        "running": counts["running"].min(),
        "instructions": "",
    }
    # An event "instructions" fills the column above.
    row |= dict(zip((event.name for event in events), values[2:], strict=True))
    pd.DataFrame([row]).to_csv(file, index=False, lineterminator="\n")
    return elapsed_s, processor_s


def format_heading(run, execution, elapsed_s, processor_s):
    """Write the line above the samples of one execution in a recording.

    Parameters
    ----------
    run : int
        Number of the run.
    execution : int
        Number of the execution within the run.
    elapsed_s, processor_s : float
        Times of the whole program [s].

    Returns
    -------
    str
    """
    return f"# run={run:03d} part={execution} elapsed_s={elapsed_s:.9f} processor_s={processor_s:.9f}\n"


def read_times(text):
    """Read the times of runs from the output of regions.

    The time of a function is the sum over its samples in an execution. If the program reported its work, the sum is
    divided by the units of work. Work that was not reported is 1 in each sample. The time of the whole program is in
    the headings.

    Parameters
    ----------
    text : str
        CSV, with a heading ``# run=…`` for each execution, as in :class:`VersionRecording`.

    Returns
    -------
    DataFrame
        Times [s], one row per run; columns are pairs (function, measure), with the measures "elapsed time" and
        "processor time" and the function "whole program" among the others. A run with several executions has their
        mean. NaN where a function did not run.

    Raises
    ------
    ValueError
        If the text is damaged or too large.
    """
    headings, samples = zip(*regions.read_executions(text), strict=True)
    times = _sum_times(samples)
    whole_times = pd.DataFrame(map(_parse_heading, headings))
    for column in whole_times:
        if column in times:  # without regions, the whole program is a function with a sample, too
            times[column] = whole_times[column].fillna(times[column])
        else:
            times[column] = whole_times[column]
    run_by_execution = [heading.split()[0] for heading in headings]
    return times.groupby(run_by_execution, sort=False).mean().rename_axis("run")


def _sum_times(samples):
    """Sum the times [s] of each function in each execution, and divide them by the work that the program reported.

    `samples` are DataFrames, one per execution. Return a DataFrame with one row per execution; columns are pairs
    (function, measure); NaN where a function did not run.
    """
    rows = pd.concat(samples).reindex(columns=["function", "work", "seconds", "task-clock"])
    function_numbers, functions = pd.factorize(rows["function"])
    n_executions, n_functions = len(samples), len(functions)
    if n_executions * n_functions > _MOST_TIMES_READ:
        raise InputError(
            f"{n_executions:,} executions of {n_functions:,} functions have more than the {_MOST_TIMES_READ:,} times "
            "that are read"
        )
    execution_numbers = np.repeat(np.arange(n_executions), list(map(len, samples)))
    # Each pair of an execution and a function is a group of samples with a number of its own.
    group_numbers = execution_numbers * n_functions + function_numbers

    def sum_by_group(values):
        """Sum an array of values by group: shape (n_executions, n_functions); bincount adds up its weights."""
        sums = np.bincount(group_numbers, weights=values, minlength=n_executions * n_functions)
        return sums.reshape(n_executions, n_functions)

    n_samples = sum_by_group(np.ones(len(rows)))
    reported_work = sum_by_group(rows["work"])
    if ((n_samples > 0) & (reported_work == 0)).any():
        raise InputError("the work of a function adds up to 0")
    is_unreported = sum_by_group(rows["work"] == 1) == n_samples
    divisor = np.where(is_unreported, 1, reported_work)
    divisor = np.where(n_samples > 0, divisor, np.nan)
    elapsed_s = sum_by_group(rows["seconds"]) / divisor
    processor_s = sum_by_group(rows["task-clock"]) / 1e9 / divisor
    times = np.stack([elapsed_s, processor_s], axis=-1)  # shape (n_executions, n_functions, 2)
    columns = pd.MultiIndex.from_product([functions, MEASURES], names=["function", "measure"])
    return pd.DataFrame(times.reshape(n_executions, -1), columns=columns)


def _parse_heading(heading):
    """Parse the times [s] of the whole program by (function, measure) from a heading; empty if it contains none."""
    texts = dict(re.findall(r" (elapsed_s|processor_s)=(\S+)", heading))
    times = {(WHOLE, _MEASURE_IN_HEADING[key]): float(seconds) for key, seconds in texts.items()}
    if not all(0 <= seconds <= _LONGEST_S for seconds in times.values()):
        raise InputError(
            f"a run took {', '.join(texts.values())[:60]} s; only times from 0 to {_LONGEST_S:g} s are valid"
        )
    return times
