"""Run and count the two versions that are compared, or read them from recordings.

A region is a stretch of a program's code, usually a function, that it counts by itself with `cmlib_region.h`; each
time that it is executed ("passed") gives a sample. A program without regions is counted as a whole.
:func:`open_pair` takes two commands or files, and yields a :class:`VersionPair`: runs (DataFrames of counts) and
times [s] of both. A CmlibError if a command fails, or they can't be compared.
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
_LONGEST_S, _MOST_TIMES = 1e9, 4_000_000  # of a run; executions times functions of a recording
_MOST_AT_ONCE = 16  # events that cmlib_region.h counts in a run
MEASURES = (ELAPSED, PROCESSOR)
_NOTED = {"elapsed_s": ELAPSED, "processor_s": PROCESSOR}  # measures by their names in headings


@dataclass(frozen=True)
class VersionRecording:
    """Recorded runs of one version.

    `name` is its command, or the file that it was read from; `about` is metadata (dict: program, form, machine,
    session, per, events and more); `text` what regions wrote (CSV, with a heading for each execution).
    """

    name: str
    about: dict
    text: str

    @functools.cached_property
    def runs(self):
        """Counts of each run, divided by instructions or by work: a list of DataFrames, a row per sample.

        A sample is one passage through a region. Columns are function, location and the counters. A CmlibError if
        the text is damaged.
        """
        runs = in_recording(self.name, regions.read_runs, self.text, per=self.about["per"])
        return list(runs.values())

    @functools.cached_property
    def times(self):
        """Times [s]: a DataFrame, a row per run; columns are pairs (function, measure).

        Measures are "elapsed time" and "processor time"; NaN where a function did not run. A CmlibError if the text
        is damaged.
        """
        return in_recording(self.name, read_times, self.text)


@dataclass(frozen=True)
class VersionPair:
    """Two versions to be judged, `old` and `new` (VersionRecordings).

    `paired`: runs of both alternated, so that run k of one belongs to run k of the other. `n_looks`: how often a
    verdict is asked for at most (a look each), by which significance is corrected.
    """

    old: VersionRecording
    new: VersionRecording
    paired: bool
    n_looks: int


def open_pair(
    old, new, *, events=None, n_runs=40, alpha=0.002, timeout=None, seed=0, notify=say, progress=lambda: None
):
    """Yield a VersionPair to be judged each time that enough runs are recorded; stop it when the verdict is settled.

    `old` and `new` are commands, which are run in random order, or files that `--keep` wrote. `events` are names
    with commas between (None: a list for the processor); at most `n_runs` are made of each; `alpha` is the
    false-alarm probability, by which the fewest runs are found; `timeout` is the limit of a run [s]; `seed` is that
    of the order. `notify` is called with sentences (str), `progress` after each run. A generator, which may yield
    once; CmlibError if a command fails or they can't be compared.
    """
    names = dict(zip(FORMS, (old, new), strict=True))
    recordings = {form: _read(name) for form, name in names.items() if is_recording(name)}
    if len(recordings) == 2:
        if events:
            raise CmlibError("--events is for commands: recordings have the events they were made with")
        first, second = (recording.about.get("session") for recording in recordings.values())
        yield VersionPair(**recordings, paired=first is not None and first == second, n_looks=1)
        return
    commands = {form: name for form, name in names.items() if form not in recordings}
    versions = {form: find_version(command, timeout=timeout) for form, command in commands.items()}
    if len({bool(version.functions) for version in versions.values()}) > 1:
        have = next(version.command for version in versions.values() if version.functions)
        raise CmlibError(f"only `{have}` has regions: build both versions with them, or neither")
    counted = _wanted(events, next(iter(recordings.values()), None), describe())
    looks = _looks(n_runs, versions, alpha) if not recordings else [n_runs]
    yield from _recorded(versions, recordings, counted, looks, random.Random(seed), notify, progress)


def is_recording(name):
    """True if `name` (str) is a recording (a .json file), False if it is a command, which may end in one."""
    return name.endswith(".json") and (Path(name).is_file() or not re.search(r"\s", name))


def check_free(folder):
    """Raise CmlibError if `folder` holds recordings that :func:`save_pair` would replace."""
    existing = [path.name for form in FORMS for path in sorted(Path(folder).glob(f"{form}.*"))]
    if existing:
        raise CmlibError(
            f"{folder} holds {', '.join(existing)} already, and recordings are not replaced. Give --keep another "
            "folder, or move these files away."
        )


def save_pair(pair, folder):
    """Write the recordings of a VersionPair's commands into `folder` (path).

    `pair` is the VersionPair (recordings of both). Files are ``old.json``, ``new.json`` and their samples. A
    version that was itself read from a recording is not written.
    """
    for form in FORMS:
        recording = getattr(pair, form)
        if not is_recording(recording.name):
            regions.save_recording(Path(folder) / f"{form}.json", [recording.text], recording.about)


def _read(name):
    """The VersionRecording in a file."""
    if not Path(name).is_file():
        raise CmlibError(f"there is no recording {name}")
    about, text = regions.read_recording(name)
    return VersionRecording(name, {"per": "instructions"} | about, text)


def _looks(n_runs, versions, alpha):
    """Numbers of pairs of runs (ints) at which a verdict is asked for: a quarter, a half and all, but none too
    few."""
    n_tests = 2 * (1 + max(len(version.functions) for version in versions.values()))
    fewest = math.ceil(math.log2(n_tests / alpha))
    if n_runs < fewest:
        raise CmlibError(
            f"{n_runs} runs of each command are too few: at least {fewest} are needed for a change to be significant "
            f"at {alpha:g}. Give more --runs, or a larger --alpha."
        )
    first = math.ceil(math.log2(3 * n_tests / alpha))
    return sorted({min(n_runs, max(first, n_runs // part)) for part in (4, 2, 1)})


def _recorded(versions, recordings, events, looks, rng, notify, progress):
    """Yield a VersionPair at each number of runs in `looks`."""
    common = {"machine": describe(), "session": secrets.token_hex(8)}
    texts = dict.fromkeys(versions, "")
    least, most = looks[0], looks[-1]
    pairs = f"{least} to {most} pairs of runs, until the result is clear."
    notify(pairs if least < most else f"{most} runs of each command.")
    with _counters(events) as good_counters:
        common["per"], parts = plan_parts(events, good_counters)
        common["events"] = [{event.name: event.config for event in part} for part in parts]
        for done, look in zip([0, *looks], looks, strict=False):
            for run in range(done, look):
                for form in rng.sample(sorted(versions), len(versions)):
                    for part, counted in enumerate(parts):
                        texts[form] += _count_part(versions[form], run, part, counted, common["per"])
                    progress()
            made = {}
            for form, version in versions.items():
                about = {"program": version.command, "form": form, "regions": bool(version.functions)}
                made[form] = VersionRecording(version.command, about | common, texts[form])
            yield VersionPair(**made | recordings, paired=not recordings, n_looks=len(looks))


@contextlib.contextmanager
def _counters(events):
    """Yield how many good counters there are, and hold their lock; 0, without a lock, if no event needs one."""
    if not core_pmus() or not any(event.hardware for event in events):
        yield 0
        return
    with counters_lock("comparing two versions"):
        yield census().good


def _wanted(event_list, recorded, about):
    """The Countables to count: those that a user lists, those of the recording compared with, or the usual ones."""
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
    """A command to run: `command` (str), in which ``{run}`` stands for the number of the run.

    `functions` are the names of its regions, empty if it has none; `timeout` is the limit of a run [s], None for none.
    """

    command: str
    functions: tuple[str, ...] = ()
    timeout: float | None = None

    def argv(self, run):
        """The command of run number `run`, as a list of str; ``{run}`` in it is replaced by the number.

        A ValueError if it can't be split into words as a shell does.
        """
        return [word.replace("{run}", str(run)) for word in shlex.split(self.command)]


def find_version(command, *, timeout=None):
    """Run a command (str) once without counting; a Version with the names of the regions that it passed.

    CmlibError if it can't be split into words, has no program, or fails; TooLongError after `timeout` [s].
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
    """Distribute events over executions, as not all fit on the counters together.

    `events` are Countables (events with their codes; :mod:`cmlib.collect.machine.event_names`), `good_counters` the
    number of counters that count right. Returns what counts are divided by ("instructions", or "work" if there is
    no hardware event), and a list of lists of Countables, each counted in an execution of its own. CmlibError if
    there are not two good counters for hardware events, or nothing but instructions to count.
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
        return "work", _portions(software, _MOST_AT_ONCE)
    others = [event for event in hardware if event != INSTRUCTIONS]
    if not others and not software:
        raise CmlibError(
            "Instructions alone can't be compared, since counts are divided by them. Give more --events."
        )
    width = max(1, min(good_counters - 1, _MOST_AT_ONCE - len(software)))
    first, *groups = _portions(others, width) or [[]]
    return "instructions", [[INSTRUCTIONS, *group] for group in ([*first, *software], *groups)]


def _portions(events, width):
    """The list cut into lists of `width` items, the last one shorter."""
    return [events[i : i + width] for i in range(0, len(events), width)]


def _count_part(version, run, part, events, per):
    """Text of one execution in which these Countables were counted all the time: its heading, and a row per region."""
    argv, count = version.argv(run), _count_regions if version.functions else _count_whole
    for _ in range(_ATTEMPTS):
        with scratch_folder() as folder:
            file = Path(folder) / "regions.csv"
            times = count(argv, events, file, version.timeout)
            samples, text = regions.read_regions(file), file.read_text(encoding="utf-8")
        names = dict.fromkeys([per, *(event.name for event in events)])
        uncounted = [name for name in names if samples[name].isna().any()]
        if samples.empty:
            raise CmlibError(f"`{shlex.join(argv)}` passed none of its regions: there is nothing to compare")
        if not uncounted and samples["running"].min() > 0.999:
            return format_heading(run, part, *times) + text
    lacking = ", ".join(uncounted) or "the events"
    raise CmlibError(
        f"`{shlex.join(argv)}`: {lacking} were not counted all the time in {_ATTEMPTS} attempts. End other runs of "
        "perf; `cmlib doctor` shows which counters there are and who may use them."
    )


def _count_regions(argv, events, file, timeout):
    """Run a program that counts its regions into `file`; its elapsed and processor time [s]."""
    counted = ",".join(f"{e.name}={e.config}" for e in events if e.name != INSTRUCTIONS.name)
    environment = {"CMLIB_REGIONS": str(file), "CMLIB_EVENTS": counted}
    times = run_timed(argv, environment=environment, timeout=timeout)
    if not file.exists():
        raise CmlibError(f"`{shlex.join(argv)}` passed regions when it was tried, and now none")
    return times


def time_whole(argv, timeout=None):
    """Run a command (`argv`, list of str) once under ``perf stat``: a tuple of its elapsed and its processor time [s].

    `timeout` [s] is None for no limit. A RecordError if perf is missing, TooLongError after `timeout`, CmlibError
    if the command fails.
    """
    with scratch_folder() as folder:
        return _count_whole(argv, [], Path(folder) / "regions.csv", timeout)


def _count_whole(argv, events, file, timeout):
    """Run a program under perf, write it to `file` as if it were one region; its elapsed and processor time [s]."""
    check_perf()
    output = file.with_name("perf.csv")
    names = ["duration_time", "task-clock", *(event.encoding for event in events)]
    selected = [argument for event in names for argument in ("-e", event)]
    watched = ["perf", "stat", "-x", ",", "-o", str(output), *selected, "--", *argv]
    run_timed(watched, environment={"LC_ALL": "C"}, timeout=timeout)
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
    """The line (str) that stands above the regions of one execution in a recording.

    `run` and `part` (which of the run's executions, each with other events) are numbers; `elapsed_s` and
    `processor_s` are the times of the whole program [s].
    """
    return f"# run={run:03d} part={part} elapsed_s={elapsed_s:.9f} processor_s={processor_s:.9f}\n"


def read_times(text):
    """Times [s] of runs, from what regions wrote (`text`, as of :class:`VersionRecording`): a DataFrame, a row per run.

    The text (str) is CSV, with a heading ``# run=…`` for each execution. Columns are pairs (function, measure), the
    measures "elapsed time" and "processor time"; the function "whole program" has the times that headings tell. The
    others' times are added up in an execution and divided by the units of work that the program reported, if it did.
    The mean where a run had several executions; NaN where a function did not run. ValueError if the text is damaged
    or too large.
    """
    headings, samples = zip(*regions.read_executions(text), strict=True)
    rows = pd.concat(samples).reindex(columns=["function", "work", "seconds", "task-clock"])
    function, functions = pd.factorize(rows["function"])
    shape = len(samples), len(functions)
    if math.prod(shape) > _MOST_TIMES:
        raise InputError(
            f"{shape[0]:,} executions of {shape[1]:,} functions have more than the {_MOST_TIMES:,} times that are read"
        )
    place = np.repeat(np.arange(len(samples)), list(map(len, samples))) * len(functions) + function

    def added(values=None):
        return np.bincount(place, values, math.prod(shape)).reshape(shape)

    n_samples, work = added(), added(rows["work"])
    work = np.where(added(rows["work"] == 1) == n_samples, 1, work)
    if (work == 0).any():
        raise InputError("the work of a function adds up to 0")
    work = np.where(n_samples > 0, work, np.nan)
    times = np.stack([added(rows["seconds"]) / work, added(rows["task-clock"]) / 1e9 / work], axis=-1)
    columns = pd.MultiIndex.from_product([functions, MEASURES]).to_flat_index()
    of_functions = pd.DataFrame(times.reshape(len(samples), -1), columns=columns)
    of_runs = pd.DataFrame(map(_noted_times, headings))
    frame = of_runs.combine_first(of_functions)[list(dict.fromkeys([*columns, *of_runs]))]
    frame.columns = pd.MultiIndex.from_tuples(frame.columns, names=["function", "measure"])
    return frame.groupby([heading.split()[0] for heading in headings], sort=False).mean().rename_axis("run")


def _noted_times(heading):
    """Times [s] of a whole run by (function, measure), from its heading; empty where it tells none."""
    noted = dict(re.findall(r" (elapsed_s|processor_s)=(\S+)", heading))
    times = {(WHOLE, _NOTED[key]): float(seconds) for key, seconds in noted.items()}
    if not all(0 <= seconds <= _LONGEST_S for seconds in times.values()):
        raise InputError(f"a run took {', '.join(noted.values())[:60]} s, which no clock tells")
    return times
