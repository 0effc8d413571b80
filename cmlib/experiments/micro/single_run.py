"""Get one run of a program with a tree's key events: record it, or load a recorded run.

The tree is a decision tree that distinguishes bottlenecks, trained on micro-benchmarks; key events are the few events
that it uses. Both functions return a :class:`cmlib.experiments.micro.recordings.Series`: one recorded run, its counts
and running shares by interval (not pandas' Series). CmlibError if this machine is not like that of the training,
RecordError if the run fails, NothingRecordedError if there is no recorded run.
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
    """Run a command once under perf and count a tree's key events, in the same groups as in the training runs.

    Parameters
    ----------
    command : list of str
    trained : dict
        Metadata of a training run, with the events, their groups and encodings.
    counters : dict
        This machine's numbers of counters, offered and good, from :func:`check_counters`.
    keep : str, optional
        Store the run among the recordings as "own-KEEP". Default: it is deleted.

    Returns
    -------
    cmlib.experiments.micro.recordings.Series
        Its `number` is 0, and its `about` has label, size and kind. A count is NaN where nothing was counted.

    Raises
    ------
    CmlibError
        If the processor is another than in training, or has fewer good counters.
    RecordError
        If the name is taken, the program or perf fails, or the run can't be read.
    """
    _check_machine(trained, counters)
    places.results_dir().mkdir(parents=True, exist_ok=True)
    with working_folder(places.results_dir() / "diagnose") as scratch:
        folder = places.recordings_dir() / FOLDER if keep is not None else scratch / "recordings"
        folder.mkdir(parents=True, exist_ok=True)
        about = {"label": keep, "size": None, "kind": "own"}
        name = f"own-{keep}"
        if existing_runs(folder / name):
            raise RecordError(
                f"{name!r} has been recorded: show it again with "
                f"{command_code('cmlib', 'diagnose', '--recorded', keep)}, or keep the new run under another name."
            )
        groups, pinned = tuple(map(tuple, trained["groups"])), tuple(trained["pinned"])
        settings = {key: trained[key] for key in ("set", "mode", "interval_ms", "modifier")}
        plan = Plan(part=0, pinned=pinned, groups=groups, **settings)
        record(
            name,
            command,
            [plan],
            encodings=trained["encodings"],
            counters=counters,
            folder=folder,
            note=json.dumps(about),
        )
        series = read_series(folder, trained["set"], "own", only=name)
        if not series:
            raise RecordError(f"{name!r} was recorded, and can't be read.")
        return series[0]


def _check_machine(trained, counters):
    """Raise CmlibError unless this machine has the processor and the counters of the training (metadata, dict)."""
    microarchitecture = machine.describe()["microarchitecture"]
    trained_on = trained["machine"]["microarchitecture"]
    if microarchitecture != trained_on:
        raise CmlibError(
            f"the tree was trained on {trained_on}, and this is {microarchitecture}: events and their rates "
            "differ. Train one here: run `cmlib record-micro` with CMLIB_DATA naming a folder of its own."
        )
    if counters["good"] < trained["counters"]["good"]:
        raise CmlibError(
            f"{counters['good']} counters are good here, and the key events are in groups for "
            f"{trained['counters']['good']}: something else uses the counters, see `cmlib doctor`."
        )


def load_recorded(name):
    """Load the first recorded run of a program with the key events.

    Parameters
    ----------
    name : str
        Name of the program in the recordings ("own-gcc"), or its part after the first hyphen ("gcc").

    Returns
    -------
    cmlib.experiments.micro.recordings.Series

    Raises
    ------
    NothingRecordedError
        If there is no such run; the message contains the command that records it.
    """
    folder = places.recordings_dir() / FOLDER
    recorded_names = sorted(path.name for path in folder.glob("*/"))
    for recorded in recorded_names:
        kind, _, short_name = recorded.partition("-")
        if name in (recorded, short_name):
            series = read_series(folder, KEY, kind, only=recorded)
            if series:
                return series[0]
    raise NothingRecordedError(
        f"nothing recorded yet of the key events of {name!r}: run "
        f"{command_code('cmlib', 'diagnose', '--keep', name, '--', 'COMMAND')}. Recorded: "
        f"{', '.join(recorded_names) or 'none'}."
    )


def check_counters():
    """Count this machine's hardware counters.

    Returns
    -------
    dict of str to int
        ``offered``, and ``good``: the number of these that count correctly.

    Raises
    ------
    CmlibError
        If no hardware event can be counted.
    CountersBusy
        If another process uses the counters.
    """
    with machine.counters_lock("cmlib diagnose"):
        return machine.census().checked(_WITHOUT_COUNTERS).counters
