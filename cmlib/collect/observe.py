"""One run of a program: with the key events of a tree that has been trained, or simulated; or one that was recorded."""

import json
import tempfile
from pathlib import Path

from cmlib import places
from cmlib.collect import machine
from cmlib.collect.record import RecordError, record
from cmlib.collect.schedule import Plan
from cmlib.collect.simulate.valgrind import cache_options, simulate
from cmlib.collect.workloads.micro.selection import FOLDER, KEY, Series, read_series
from cmlib.errors import CmlibError, NothingRecordedError
from cmlib.io import perf
from cmlib.io.archive.programs import existing_runs, read_raw

# Some 3 million instructions, 0.05 s of simulation.
EVERY_BLOCKS = 500_000
_WITHOUT_COUNTERS = (
    "Without counters: `cmlib diagnose --simulate -- COMMAND`; `cmlib doctor` tells why there are none, and "
    "`cmlib diagnose --recorded NAME` shows a run that was recorded."
)


def observe(command, trained, *, keep=None, wait=False):
    """Run a command once and count the key events of the training recordings, the way these were counted."""
    about, name = {"label": keep, "size": None, "kind": "own"}, f"own-{keep}"
    plan = Plan(
        trained["set"],
        trained["mode"],
        0,
        tuple(trained["pinned"]),
        tuple(map(tuple, trained["groups"])),
        trained["interval_ms"],
        trained["modifier"],
    )
    places.results_dir().mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix=".diagnose-", dir=places.results_dir()) as scratch,
        machine.counters_lock("cmlib diagnose", wait=wait) as lock,
    ):
        census = machine.census().checked(_WITHOUT_COUNTERS)
        if census.good < trained["counters"]["good"]:
            raise CmlibError(
                f"{census.good} counters are good here, and the key events are in groups for "
                f"{trained['counters']['good']}: something else uses the counters, see `cmlib doctor`."
            )
        _check_machine(trained["machine"]["microarchitecture"])
        folder = places.recordings_dir() / FOLDER if keep is not None else Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        done = existing_runs(folder / name)
        if done:
            raise RecordError(
                f"{name!r} has been recorded: show it again with `cmlib diagnose --recorded {name.partition('-')[2]}`, "
                f"or keep the new run under another name."
            )
        record(
            name,
            command,
            [plan],
            encodings=trained["encodings"],
            counters=census.counters,
            folder=folder,
            lock=lock,
            note=json.dumps(about),
        )
        (run,) = existing_runs(folder / name)
        return Series(name, 0, about, *perf.series(perf.parse_stat(read_raw(folder / name, run).decode())))


def observed(name):
    """The first recorded run of a program with the key events, by its name or what follows the first hyphen of it."""
    place = places.recordings_dir() / FOLDER
    known = sorted(path.name for path in place.glob("*/"))
    for run in (run for run in known if name in (run, run.partition("-")[2])):
        for one in read_series(place, KEY, run.partition("-")[0], only=run):
            return one
    raise NothingRecordedError(
        f"nothing recorded yet of the key events of {name!r}: run `cmlib diagnose --keep {name} -- COMMAND`. "
        f"Recorded: {', '.join(known) or 'none'}."
    )


def simulate_once(command, *, caches=None, every_blocks=None, progress=lambda done: None):
    """Simulate one run of a command, with streams prefetched; what Callgrind wrote, and lines that were in order."""
    with tempfile.TemporaryDirectory(prefix="cmlib-") as folder:
        options = cache_options(caches or {}, prefetch=True)
        how = {"every_blocks": every_blocks or EVERY_BLOCKS, "options": options, "progress": progress}
        outcome = simulate(command, Path(folder), python=True, **how)
        return outcome.raw.decode(errors="replace"), True, outcome.in_order


def _check_machine(trained_on):
    here = machine.describe()["microarchitecture"]
    if here != trained_on:
        raise CmlibError(
            f"the tree was trained on {trained_on}, and this is {here}: events and their rates differ. Train one here: "
            "run `cmlib record-micro` with CMLIB_DATA naming a folder of its own."
        )


def check_counters(*, wait=False):
    """Raise CmlibError where no hardware event can be counted, before anything long begins."""
    with machine.counters_lock("cmlib diagnose", wait=wait):
        machine.census().checked(_WITHOUT_COUNTERS)
