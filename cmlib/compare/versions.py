"""Run and count the two versions of a comparison, or read their recordings.

:func:`generate_pairs` takes two commands or files and yields a :class:`VersionPair` for each look at the
data. It contains the counts and times [s] of all runs so far.

A region is a part of a program that counts its own events with `cmlib_region.h`. Each passage through a
region is one sample. A program without regions is counted as a whole by perf. A run consists of one or more
executions of the command, because not all events can be counted at once.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import random
import re
import secrets
import shlex
import shutil
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from cmlib.collect.machine import census, counters_lock, describe, known_events
from cmlib.collect.machine.event_names import INSTRUCTIONS, Countable, countable
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

SIDES = ("old", "new")  # versions of a comparison, and names of the files in the folder of --keep
MEASURES = (ELAPSED, PROCESSOR)
_MEASURE_IN_HEADING = {"elapsed_s": ELAPSED, "processor_s": PROCESSOR}  # measures keyed by name in headings
_ATTEMPTS = 3  # number of attempts to count events all the time
_LONGEST_S = 1e9  # longest run [s]
_MOST_TIMES_READ = 4_000_000  # largest product of the numbers of executions and functions in a recording
_MOST_EVENTS_TOGETHER = 16  # largest number of events that cmlib_region.h counts in one execution


@dataclass(frozen=True)
class VersionRecording:
    """Recorded runs of one version.

    Attributes
    ----------
    name : str
        Command, or file of the recording.
    about : dict
        Metadata. For example, the machine and the events.
    text : str
        Samples as CSV, with a heading line before each execution.
    """

    name: str
    about: dict
    text: str

    @functools.cached_property
    def runs(self) -> list[pd.DataFrame]:
        """Normalized counts of each run, one row per sample.

        Counts are divided by instructions or by units of work. Columns are function, location and the
        counters. CmlibError is raised if the text is damaged.
        """
        runs = in_recording(self.name, regions.read_runs, self.text, per=self.about["per"])
        return list(runs.values())

    @functools.cached_property
    def times(self) -> pd.DataFrame:
        """Times [s], one row per run, as returned by :func:`read_times`.

        CmlibError is raised if the text is damaged.
        """
        return in_recording(self.name, read_times, self.text)

    @property
    def has_regions(self) -> bool:
        """True if the program counted regions."""
        return any((run["function"] != WHOLE).any() for run in self.runs)


@dataclass(frozen=True)
class VersionPair:
    """Recorded runs of the old and the new version.

    Attributes
    ----------
    old, new : VersionRecording
        Runs of each version.
    paired : bool
        True if both versions were run in turns. Run k of one version then belongs to run k of the other.
    n_looks : int
        Maximum number of looks. A look is a verdict on the runs so far.
    """

    old: VersionRecording
    new: VersionRecording
    paired: bool
    n_looks: int


def generate_pairs(
    old: str,
    new: str,
    *,
    events: str | None = None,
    n_runs: int = 40,
    alpha: float = 0.002,
    timeout: float | None = None,
    seed: int = 0,
    notify: Callable[[str], None] = say,
    progress: Callable[[], None] = lambda: None,
) -> Generator[VersionPair, None, None]:
    """Run two versions, and yield the runs so far whenever a verdict is due.

    Commands are run in random order. Close the generator when the verdict is clear. Two recordings yield one
    pair.

    Parameters
    ----------
    old, new : str
        Commands, or files that ``cmlib compare --keep`` wrote.
    events : str, optional
        Comma-separated names of the events to count. Default: a list for the processor.
    n_runs : int, default 40
        Maximum number of runs of each command.
    alpha : float, default 0.002
        Probability of a false alarm. The smallest number of runs depends on it.
    timeout : float, optional
        Time limit of each run [s].
    seed : int, default 0
        Seed of the order of runs.
    notify : callable, optional
        Function that is called with each progress message (str).
    progress : callable, optional
        Function that is called without arguments after each run.

    Yields
    ------
    VersionPair

    Raises
    ------
    CmlibError
        If a command fails or the versions cannot be compared.
    """
    name_by_side = {"old": old, "new": new}
    recordings = {side: _read(name) for side, name in name_by_side.items() if is_recording(name)}
    if len(recordings) == 2:
        if events:
            raise CmlibError("--events is only for commands. The events of recordings cannot be changed.")
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


def _pair_recordings(old: VersionRecording, new: VersionRecording) -> VersionPair:
    """Make a VersionPair of two recordings. Runs are paired if one session recorded both."""
    session = old.about.get("session")
    is_paired = session is not None and session == new.about.get("session")
    return VersionPair(old, new, paired=is_paired, n_looks=1)


def _check_regions(names_and_regions: list[tuple[str, bool]]) -> None:
    """Raise CmlibError if only one version has regions.

    The argument contains the name of each version, and True if the version has regions.
    """
    with_regions = [name for name, has_regions in names_and_regions if has_regions]
    if with_regions and len(with_regions) < len(names_and_regions):
        raise CmlibError(f"only `{with_regions[0]}` has regions: build both versions with them, or neither")


def is_recording(name: str) -> bool:
    """Return True if a name is a recording, and False if it is a command.

    Parameters
    ----------
    name : str
        Path of a .json file, or a command. A command may end in the name of a .json file.

    Returns
    -------
    bool
    """
    return name.endswith(".json") and (Path(name).is_file() or not re.search(r"\s", name))


def check_free(folder: str | Path) -> None:
    """Check that a folder contains no recordings of a comparison.

    Parameters
    ----------
    folder : path
        Folder to which the recordings will be written.

    Raises
    ------
    CmlibError
        If the folder contains recordings.
    """
    existing = [path.name for side in SIDES for path in sorted(Path(folder).glob(f"{side}.*"))]
    if existing:
        raise CmlibError(
            f"{folder} already contains {', '.join(existing)}. Recordings are not replaced. Give --keep another "
            "folder, or move these files."
        )


def save_pair(pair: VersionPair, folder: str | Path) -> None:
    """Write the recordings of both versions to ``old.json`` and ``new.json``.

    A version that was read from a recording is not written.

    Parameters
    ----------
    pair : VersionPair
        Recordings to write.
    folder : path
        Folder for the files.
    """
    for side in SIDES:
        recording = getattr(pair, side)
        if not is_recording(recording.name):
            regions.save_recording(Path(folder) / f"{side}.json", [recording.text], recording.about)


def _read(name: str) -> VersionRecording:
    """Read a recording from a file."""
    if not Path(name).is_file():
        raise CmlibError(f"the recording {name} does not exist")
    about, text = regions.read_recording(name)
    return VersionRecording(name, {"per": "instructions"} | about, text)


def _plan_looks(n_runs: int, commands: Collection[VersionCommand], alpha: float) -> list[int]:
    """Return the numbers of pairs of runs after which a verdict is computed.

    These are a quarter, a half and all of `n_runs`. A number is increased if no change could be significant
    with it.
    """
    # The smallest p-value of the signed-rank test of n pairs is 2^-n: all new runs are slower. Bonferroni's correction
    # multiplies it by the number of tests. A change can be significant if n_tests * 2^-n <= alpha, and therefore
    # n >= log2(n_tests / alpha). Three looks test three times as often.
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


def _check_n_runs(n_runs: int, command: VersionCommand, recording: VersionRecording, alpha: float) -> None:
    """Raise CmlibError if no change could be significant with `n_runs` runs of a command."""
    n_recorded = len(recording.times)
    smallest_p_value = compute_smallest_p_value(n_recorded, n_runs, paired=False)
    if _count_tests(command) * smallest_p_value > alpha:
        raise CmlibError(
            f"{n_runs} runs of `{command.command}` against {n_recorded} in {recording.name} are too few for a change "
            f"to be significant at {alpha:g}. Give more --runs, or a larger --alpha."
        )


def _count_tests(command: VersionCommand) -> int:
    """Return the number of tests of one look.

    There is one test per measure, for each function and for the whole program.
    """
    return len(MEASURES) * (1 + len(command.functions))


def _record_pairs(
    commands: dict[str, VersionCommand],
    recordings: dict[str, VersionRecording],
    events: list[Countable],
    looks: list[int],
    rng: random.Random,
    notify: Callable[[str], None],
    progress: Callable[[], None],
) -> Iterator[VersionPair]:
    """Run the commands, and yield a VersionPair after each number of runs in `looks`.

    `commands` and `recordings` are keyed by "old" and "new". `recordings` is empty if both versions are run.
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


def _make_recording(command: VersionCommand, side: str, common: dict, text: str) -> VersionRecording:
    """Make the recording of a command from its samples (text) and the metadata of both versions."""
    about = {"program": command.command, "form": side, "regions": bool(command.functions)}
    return VersionRecording(command.command, about | common, text)


@contextlib.contextmanager
def _lock_counters(events: list[Countable]) -> Iterator[int]:
    """Lock the processor's counters in a ``with`` block, and yield the number of correct counters.

    If no event needs a counter of the processor, nothing is locked and 0 is yielded.
    """
    if not core_pmus() or not any(event.hardware for event in events):
        yield 0
        return
    with counters_lock("comparing two versions"):
        yield census().good


def _choose_events(
    event_list: str | None, recording: VersionRecording | None, about: dict
) -> list[Countable]:
    """Choose the events to count.

    These are the events of the user, of the other version's recording, or the default events.
    """
    if event_list:
        return countable(event_list, known_events(about))
    if recording:
        code_by_event = {event: code for group in recording.about["events"] for event, code in group.items()}
        # The code of a tracepoint (with a colon in its name) depends on the kernel, so only its name is used.
        items = (event if ":" in event else f"{event}={code}" for event, code in code_by_event.items())
        return countable(",".join(items))
    return list_usual_events(about)


@dataclass(frozen=True)
class VersionCommand:
    """Command of one version.

    Attributes
    ----------
    command : str
        Command. ``{run}`` is replaced by the number of the run.
    functions : tuple of str
        Names of the regions in the program. Empty if it has none.
    timeout : float or None
        Time limit of a run [s].
    """

    command: str
    functions: tuple[str, ...] = ()
    timeout: float | None = None

    def argv(self, run: int) -> list[str]:
        """Split the command into words.

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
            If the command is not valid shell syntax. For example, a quotation mark is missing.
        """
        return [word.replace("{run}", str(run)) for word in shlex.split(self.command)]


def probe_command(command: str, *, timeout: float | None = None) -> VersionCommand:
    """Run a command once without counting, to find its regions.

    Parameters
    ----------
    command : str
        Command to run.
    timeout : float, optional
        Time limit [s].

    Returns
    -------
    VersionCommand
        Command with the names of its regions.

    Raises
    ------
    CmlibError
        If the command is not valid or fails.
    TooLongError
        If the time limit is exceeded.
    """
    try:
        argv = VersionCommand(command).argv(0)
    except ValueError as error:
        raise CmlibError(f"{command!r} is not valid shell syntax: {error}") from error
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


def group_events(events: list[Countable], n_good_counters: int) -> tuple[str, list[list[Countable]]]:
    """Group events so that each group fits on the counters.

    Each group of events is counted in a separate execution. Instructions are counted in each group if there
    are hardware events.

    Parameters
    ----------
    events : list of Countable
        Events with their codes.
    n_good_counters : int
        Number of counters that count correctly.

    Returns
    -------
    per : {"instructions", "work"}
        Unit by which counts are divided. The unit is "work" if there are no hardware events.
    event_groups : list of list of Countable
        Groups of events.

    Raises
    ------
    CmlibError
        If hardware events are given and there are fewer than two good counters, or if instructions are the
        only event.
    """
    hardware = [event for event in events if event.hardware]
    if hardware and n_good_counters < 2:
        names = ", ".join(event.name for event in hardware)
        raise CmlibError(
            f"{names} cannot be counted. Two counters are needed, one of them for instructions, and this machine has "
            f"{n_good_counters} (see `cmlib doctor`). Software events can be counted on all machines: "
            "--events task-clock,page-faults,context-switches,cpu-migrations"
        )
    software = [event for event in events if not event.hardware]
    if not hardware:
        return "work", _cut_list(software, _MOST_EVENTS_TOGETHER)
    other_hardware = [event for event in hardware if event != INSTRUCTIONS]
    if not other_hardware and not software:
        raise CmlibError(
            "Instructions alone cannot be compared, because counts are divided by them. Give more --events."
        )
    n_per_execution = max(1, min(n_good_counters - 1, _MOST_EVENTS_TOGETHER - len(software)))
    first_group, *other_groups = _cut_list(other_hardware, n_per_execution) or [[]]
    event_groups = [[*first_group, *software], *other_groups]
    return "instructions", [[INSTRUCTIONS, *group] for group in event_groups]


def _cut_list(items: list, length: int) -> list[list]:
    """Cut a list into lists of `length` items. The last one may be shorter."""
    return [items[i : i + length] for i in range(0, len(items), length)]


def _count_run(command: VersionCommand, run: int, event_groups: list[list[Countable]], per: str) -> str:
    """Execute a command once per group of events, and return all samples as text."""
    texts = [
        _count_execution(command, run, execution, events, per)
        for execution, events in enumerate(event_groups)
    ]
    return "".join(texts)


def _count_execution(
    command: VersionCommand, run: int, execution: int, events: list[Countable], per: str
) -> str:
    """Execute a command once, and return a heading and its samples as CSV.

    The execution is repeated if an event was not counted all the time.
    """
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
            raise CmlibError(
                f"`{shlex.join(argv)}` passed none of its regions, so that nothing can be compared"
            )
        uncounted = [column for column in needed_columns if samples[column].isna().any()]
        if not uncounted and samples["running"].min() > 0.999:
            return format_heading(run, execution, elapsed_s, processor_s) + text
    missing = ", ".join(uncounted) or "the events"
    raise CmlibError(
        f"`{shlex.join(argv)}`: {missing} were not counted all the time in {_ATTEMPTS} attempts. End other runs of "
        "perf; `cmlib doctor` shows which counters there are and who may use them."
    )


def _count_regions(
    argv: list[str], events: list[Countable], file: Path, timeout: float | None
) -> tuple[float, float]:
    """Run a program that writes the counts of its regions to `file`.

    Return its elapsed and processor time [s].
    """
    event_list = ",".join(
        f"{event.name}={event.config}" for event in events if event.name != INSTRUCTIONS.name
    )
    environment = {"CMLIB_REGIONS": str(file), "CMLIB_EVENTS": event_list}
    times = run_timed(argv, environment=environment, timeout=timeout)
    if not file.exists():
        raise CmlibError(f"`{shlex.join(argv)}` passed regions in the first run, but none in this run")
    return times


def time_whole(argv: list[str], timeout: float | None = None) -> tuple[float, float]:
    """Run a command once, and measure its time with ``perf stat``.

    Parameters
    ----------
    argv : list of str
        Words of the command.
    timeout : float, optional
        Time limit [s].

    Returns
    -------
    elapsed_s, processor_s : float
        Elapsed and processor time [s].

    Raises
    ------
    RecordError
        If perf is not installed.
    TooLongError
        If the time limit is exceeded.
    CmlibError
        If the command fails.
    """
    with scratch_folder() as folder:
        return _count_whole(argv, [], Path(folder) / "regions.csv", timeout)


def _count_whole(
    argv: list[str], events: list[Countable], file: Path, timeout: float | None
) -> tuple[float, float]:
    """Run a program under perf, and write its counts to `file` like the sample of a region.

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
            f"perf stat counted {len(event_names)} events, but {len(counts)} lines of its output could be read."
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
    # An event "instructions" replaces the empty column.
    row |= dict(zip((event.name for event in events), values[2:], strict=True))
    pd.DataFrame([row]).to_csv(file, index=False, lineterminator="\n")
    return elapsed_s, processor_s


def format_heading(run: int, execution: int, elapsed_s: float, processor_s: float) -> str:
    """Write the heading line of one execution.

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


def read_times(text: str) -> pd.DataFrame:
    """Read the times of runs from the samples of a recording.

    The time of a function is the sum over its samples in an execution. The sum is divided by the units of work,
    if the program reported them. The time of the whole program is in the heading of the execution.

    Parameters
    ----------
    text : str
        Samples as CSV, with a heading line ``# run=…`` before each execution.

    Returns
    -------
    DataFrame
        Times [s], one row per run. Columns are pairs of function and measure ("elapsed time" or "processor
        time"). The function "whole program" is always included. If a run has several executions, times are
        their mean. NaN if a function did not run.

    Raises
    ------
    InputError
        If the text is damaged or too large.
    """
    headings, samples = zip(*regions.read_executions(text), strict=True)
    times = _sum_times(samples)
    whole_times = pd.DataFrame(map(_parse_heading, headings))
    for column in whole_times:
        if column in times:  # a program without regions has samples of the whole program
            times[column] = whole_times[column].fillna(times[column])
        else:
            times[column] = whole_times[column]
    run_by_execution = [heading.split()[0] for heading in headings]
    return times.groupby(run_by_execution, sort=False).mean().rename_axis("run")


def _sum_times(samples: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Sum the times [s] of each function in each execution, and divide them by the reported work.

    Return one row per execution. Columns are pairs of function and measure. NaN if a function did not run.
    """
    rows = pd.concat(samples).reindex(columns=["function", "work", "seconds", "task-clock"])
    function_numbers, functions = pd.factorize(rows["function"])
    n_executions, n_functions = len(samples), len(functions)
    if n_executions * n_functions > _MOST_TIMES_READ:
        raise InputError(
            f"{n_executions:,} executions of {n_functions:,} functions have too many times: at most "
            f"{_MOST_TIMES_READ:,} can be read"
        )
    execution_numbers = np.repeat(np.arange(n_executions), list(map(len, samples)))
    # Samples of one function in one execution are a group.
    group_numbers = execution_numbers * n_functions + function_numbers

    def sum_by_group(values: ArrayLike) -> np.ndarray:
        """Sum values by execution and function, shape (n_executions, n_functions)."""
        # bincount adds up its weights.
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


def _parse_heading(heading: str) -> dict[tuple[str, str], float]:
    """Parse the times [s] of the whole program, keyed by function and measure. Empty without times."""
    texts = dict(re.findall(r" (elapsed_s|processor_s)=(\S+)", heading))
    times = {(WHOLE, _MEASURE_IN_HEADING[key]): float(seconds) for key, seconds in texts.items()}
    if not all(0 <= seconds <= _LONGEST_S for seconds in times.values()):
        raise InputError(
            f"a run took {', '.join(texts.values())[:60]} s; only times from 0 to {_LONGEST_S:g} s are valid"
        )
    return times
