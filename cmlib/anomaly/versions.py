"""Record two versions of a program in turns, region by region or as a whole, so that they can be compared."""

import os
import shlex
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from cmlib import perf
from cmlib.anomaly.countable import INSTRUCTIONS
from cmlib.anomaly.profiles import read_regions
from cmlib.errors import CmlibError

WHOLE = "whole program"
_ATTEMPTS = 3
_MOST_AT_ONCE = 16  # of a region's header


@dataclass(frozen=True)
class Version:
    """A command, and how it is counted.

    Attributes
    ----------
    command : str
        As a shell would take it, but run without one; ``{run}`` stands for the number of the run.
    instrumented : bool
        Whether it has regions; else it is counted as a whole.
    """

    command: str
    instrumented: bool

    def argv(self, run):
        """The command of one run as a list."""
        return [word.replace("{run}", str(run)) for word in shlex.split(self.command)]


def find_version(command):
    """Run a command once, uncounted but for its regions, to see whether it has any.

    Parameters
    ----------
    command : str

    Returns
    -------
    Version

    Raises
    ------
    CmlibError
        If there is no such program, or it fails.
    """
    argv = Version(command, False).argv(0)
    if not argv or shutil.which(argv[0]) is None:
        raise CmlibError(
            f"{command!r} is neither a recording (a .json file that is there) nor a command whose program exists. "
            "Put a command with its arguments in quotes."
        )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "regions.csv"
        _run(argv, {"CMLIB_REGIONS": str(file)})
        return Version(command, file.exists())


def plan_parts(events, good_counters):
    """Spread events over as many executions as the counters take.

    Parameters
    ----------
    events : sequence of Countable
    good_counters : int
        Of the processor; one of them holds the instructions.

    Returns
    -------
    per : {"instructions", "work"}
        What counts will be divided by: work where no event is the processor's.
    parts : list of list of Countable
        Events of each execution of a run, the instructions first.

    Raises
    ------
    CmlibError
        If there are no counters for the events.
    """
    hardware = [event for event in events if event.hardware]
    if hardware and good_counters < 2:
        raise CmlibError(
            f"{', '.join(event.name for event in hardware)}: {good_counters} good counters on this machine, and it "
            "takes two, for instructions and one event at a time (`cmlib doctor` tells what there is). What the kernel "
            "counts can be counted everywhere: --events task-clock,page-faults,context-switches,cpu-migrations"
        )
    software = [event for event in events if not event.hardware]
    if not hardware:
        return "work", _portions(software, _MOST_AT_ONCE)
    others = [event for event in hardware if event != INSTRUCTIONS]
    if not others and not software:
        raise CmlibError(
            "instructions alone can't be compared: counts are divided by them. Give more --events."
        )
    width = max(1, min(good_counters - 1, _MOST_AT_ONCE - len(software)))
    groups = _portions(others, width) or [[]]
    return "instructions", [
        [INSTRUCTIONS, *group, *(() if number else software)] for number, group in enumerate(groups)
    ]


def _portions(events, width):
    return [events[i : i + width] for i in range(0, len(events), width)]


def record_in_turns(versions, parts, per, *, n_runs, progress=lambda: None):
    """Record versions run by run, one after the other, so that what else happens on the machine hits all.

    Parameters
    ----------
    versions : sequence of Version
    parts : list of list of Countable
    per : str
        Of the events, what the others will be divided by.
    n_runs : int
        Of each version.
    progress : callable
        Called after each run.

    Returns
    -------
    list of list of str
        For each version what its regions wrote, for `save_recording` and `read_runs`.

    Raises
    ------
    CmlibError
        If a command fails, or events can't be counted.
    """
    pieces = [[] for _ in versions]
    for run in range(n_runs):
        order = range(len(versions)) if run % 2 == 0 else reversed(range(len(versions)))
        for number in order:
            version = versions[number]
            for part, events in enumerate(parts):
                text = _counted(version, version.argv(run), events, per)
                pieces[number].append(f"# run={run:03d} part={part}\n{text}")
            progress()
    return pieces


def _counted(version, argv, events, per):
    count = _count_regions if version.instrumented else _count_whole
    for _ in range(_ATTEMPTS):
        with tempfile.TemporaryDirectory() as folder:
            text = count(argv, events, Path(folder))
            samples = read_regions(Path(folder) / "regions.csv")
        names = dict.fromkeys([per, *(event.name for event in events)])
        uncounted = [name for name in names if samples[name].isna().any()]
        if samples.empty:
            raise CmlibError(f"`{shlex.join(argv)}` passed none of its regions: there is nothing to compare")
        if not uncounted and samples["running"].min() > 0.999:
            return text
    raise CmlibError(
        f"`{shlex.join(argv)}`: {', '.join(uncounted) or 'the events'} were not counted all the time in {_ATTEMPTS} "
        "attempts. `cmlib doctor` tells which counters there are and who may use them; let no other perf run."
    )


def _count_regions(argv, events, folder):
    file = folder / "regions.csv"
    counted = ",".join(f"{e.name}={e.config}" for e in events if e.name != INSTRUCTIONS.name)
    _run(argv, {"CMLIB_REGIONS": str(file), "CMLIB_EVENTS": counted})
    return file.read_text(encoding="utf-8")


def _count_whole(argv, events, folder):
    """The whole program as its only region, written as the header writes it."""
    output, file = folder / "perf.csv", folder / "regions.csv"
    selected = [argument for event in events for argument in ("-e", event.told)]
    began = time.monotonic()
    _run(["perf", "stat", "-x", ",", "-o", str(output), *selected, "--", *argv], {"LC_ALL": "C"})
    seconds = time.monotonic() - began
    counts = perf.parse_stat(output.read_text(encoding="utf-8"))
    if len(counts) != len(events):
        raise CmlibError(
            f"perf was asked for {len(events)} events and told of {len(counts)}: `perf stat` of another form"
        )
    in_ns = counts["value"].where(counts["unit"] != "msec", counts["value"] * 1e6)
    row = {
        "function": WHOLE,
        "location": os.path.basename(argv[0]),
        "thread": 0,
        "threads": 1,
        "work": 1,
        "seconds": f"{seconds:.9f}",
        "running": counts["running"].min(),
        "instructions": "",
        **dict(zip((event.name for event in events), in_ns, strict=True)),
    }
    pd.DataFrame([row]).to_csv(file, index=False, lineterminator="\n")
    return file.read_text(encoding="utf-8")


def _run(argv, environment):
    bare = {key: value for key, value in os.environ.items() if not key.startswith("CMLIB_")}
    try:
        done = subprocess.run(
            argv,
            env=bare | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
    except FileNotFoundError as error:
        raise CmlibError(f"{argv[0]} is not installed: on Debian, apt-get install linux-perf") from error
    if done.returncode:
        said = "\n".join(done.stderr.strip().splitlines()[-10:]) or "(nothing)"
        raise CmlibError(
            f"`{shlex.join(argv)}` failed with {done.returncode}; the end of its standard error:\n{said}"
        )
