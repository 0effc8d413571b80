"""Get one run of a program with a tree's key events: record it, or load a recorded run.

The tree is a decision tree that tells bottlenecks apart, trained on micro-benchmarks; key events are the few that
it uses. Both functions return a :class:`cmlib.experiments.micro.recordings.Series` (one recorded run: its counts and
running shares by interval, not pandas' Series). A CmlibError if this machine is not the one of the training, a
RecordError if the run fails, a NothingRecordedError if there is none.
"""

import json

from cmlib import places
from cmlib.collect import machine
from cmlib.collect.record import RecordError, record
from cmlib.collect.schedule import Plan
from cmlib.errors import CmlibError, NothingRecordedError
from cmlib.experiments.micro.recordings import FOLDER, KEY, read_series
from cmlib.io.archive import working_folder
from cmlib.io.archive.programs import existing_runs
from cmlib.shell import command_code

_WITHOUT_COUNTERS = (
    "Without counters: `cmlib diagnose --simulate -- COMMAND`; `cmlib doctor` tells why there are none, and "
    "`cmlib diagnose --recorded NAME` shows a run that was recorded."
)


def record_once(command, trained, counters, *, keep=None):
    """Run a command once under perf and count a tree's key events, in the groups that the training runs had.

    `command` is a list of str. `trained` is the metadata (dict) of a training run, which has the events, their
    groups and encodings; `counters` is a dict of this machine's numbers of counters, offered and good, as of
    :func:`check_counters`. With `keep` (str) the run is stored among the recordings as "own-KEEP"; else it is
    deleted.

    Returns a :class:`cmlib.experiments.micro.recordings.Series`: program (name), number (of the pass, 0), about
    (dict of label, size, kind), and counts and running (DataFrames, a row per interval, a column per event, index its
    end [s]; a count is NaN where nothing was counted, a share is 0 to 1).

    A CmlibError if the processor is another one than in training or has fewer good counters; a RecordError if the
    name is taken, the program or perf fails, or the run can't be read.
    """
    here = machine.describe()["microarchitecture"]
    if here != (trained_on := trained["machine"]["microarchitecture"]):
        raise CmlibError(
            f"the tree was trained on {trained_on}, and this is {here}: events and their rates differ. Train one here: "
            "run `cmlib record-micro` with CMLIB_DATA naming a folder of its own."
        )
    if counters["good"] < trained["counters"]["good"]:
        raise CmlibError(
            f"{counters['good']} counters are good here, and the key events are in groups for "
            f"{trained['counters']['good']}: something else uses the counters, see `cmlib doctor`."
        )
    places.results_dir().mkdir(parents=True, exist_ok=True)
    with working_folder(places.results_dir() / "diagnose") as scratch:
        folder = places.recordings_dir() / FOLDER if keep is not None else scratch / "recordings"
        folder.mkdir(parents=True, exist_ok=True)
        about, name = {"label": keep, "size": None, "kind": "own"}, f"own-{keep}"
        if existing_runs(folder / name):
            raise RecordError(
                f"{name!r} has been recorded: show it again with "
                f"{command_code('cmlib', 'diagnose', '--recorded', keep)}, or keep the new run under another name."
            )
        groups, pinned = tuple(map(tuple, trained["groups"])), tuple(trained["pinned"])
        settings = {key: trained[key] for key in ("set", "mode", "interval_ms", "modifier")}
        plan = Plan(part=0, pinned=pinned, groups=groups, **settings)
        where = {"folder": folder, "note": json.dumps(about)}
        record(name, command, [plan], encodings=trained["encodings"], counters=counters, **where)
        if not (series := read_series(folder, trained["set"], "own", only=name)):
            raise RecordError(f"{name!r} was recorded, and can't be read.")
        return series[0]


def load_recorded(name):
    """First recorded run of a program with the key events: a :class:`cmlib.experiments.micro.recordings.Series`.

    That is an object with program, number, about (dict), and counts and running (DataFrames, a row per interval).
    `name` is the program's name in the recordings ("own-gcc") or the part after the first hyphen ("gcc"). A
    NothingRecordedError, with the command to run, if there is none.
    """
    place = places.recordings_dir() / FOLDER
    known = sorted(path.name for path in place.glob("*/"))
    for run in (run for run in known if name in (run, run.partition("-")[2])):
        for series in read_series(place, KEY, run.partition("-")[0], only=run):
            return series
    raise NothingRecordedError(
        f"nothing recorded yet of the key events of {name!r}: run "
        f"{command_code('cmlib', 'diagnose', '--keep', name, '--', 'COMMAND')}. Recorded: {', '.join(known) or 'none'}."
    )


def check_counters():
    """Count this machine's hardware counters: a dict of offered (int) and good (int; of these, that count right).

    A CmlibError if no hardware event can be counted; CountersBusy if another process uses the counters.
    """
    with machine.counters_lock("cmlib diagnose"):
        return machine.census().checked(_WITHOUT_COUNTERS).counters
