"""Get one run of a program, so that a decision tree can diagnose it.

:func:`record_once` records the run, and :func:`load_recorded` loads a stored one. Both count the key events: the
few events that the tree uses. Trees are trained on micro-benchmarks.
"""

from __future__ import annotations

import json
from typing import Any

from cmlib import places
from cmlib.collect import machine
from cmlib.collect.record import RecordError, record
from cmlib.collect.schedule import Plan
from cmlib.errors import CmlibError, NothingRecordedError
from cmlib.experiments.micro.recordings import FOLDER, KEY, Series, read_series
from cmlib.io.archive import working_folder
from cmlib.io.archive.programs import existing_runs
from cmlib.shell import command_code

_WITHOUT_COUNTERS = (
    "Without counters: `cmlib diagnose --simulate -- COMMAND`; `cmlib doctor` says why there are no counters, and "
    "`cmlib diagnose --recorded NAME` shows a run that was recorded."
)


def record_once(
    command: list[str], training_meta: dict[str, Any], counters: dict[str, int], *, keep: str | None = None
) -> Series:
    """Run a command and count the events that a decision tree needs.

    The events take turns on the counters in the same groups as in the training runs. The rates of both can therefore be
    compared.

    Parameters
    ----------
    command : list of str
        Program and arguments.
    training_meta : dict
        Metadata of a training run.
    counters : dict of str to int
        Hardware counters of this machine, from :func:`check_counters`.
    keep : str, optional
        Store the run under the name "own-KEEP". Default: the run is deleted.

    Returns
    -------
    cmlib.experiments.micro.recordings.Series
        Counts of the run.

    Raises
    ------
    CmlibError
        If the machine has another processor or fewer counters than in training.
    RecordError
        If the name exists, the command fails, or perf fails.
    """
    _check_machine(training_meta, counters)
    places.results_dir().mkdir(parents=True, exist_ok=True)
    with working_folder(places.results_dir() / "diagnose") as scratch:
        folder = places.recordings_dir() / FOLDER if keep is not None else scratch / "recordings"
        folder.mkdir(parents=True, exist_ok=True)
        name = f"own-{keep}" if keep is not None else "own-run"
        if existing_runs(folder / name):
            raise RecordError(
                f"{name!r} has been recorded: show it again with "
                f"{command_code('cmlib', 'diagnose', '--recorded', keep)}, or keep the new run under another name."
            )
        groups = tuple(map(tuple, training_meta["groups"]))
        settings = {key: training_meta[key] for key in ("set", "mode", "interval_ms", "modifier")}
        plan = Plan(part=0, pinned=tuple(training_meta["pinned"]), groups=groups, **settings)
        record(
            name,
            command,
            [plan],
            encodings=training_meta["encodings"],
            counters=counters,
            folder=folder,
            note=json.dumps({"label": keep, "size": None, "kind": "own"}),
        )
        recorded = read_series(folder, training_meta["set"], "own", only=name)
        if not recorded:
            raise RecordError(f"{name!r} was recorded, but cannot be read.")
        return recorded[0]


def _check_machine(training_meta: dict[str, Any], counters: dict[str, int]) -> None:
    """Raise an error if the processor differs from that of the training, or has fewer usable counters."""
    microarchitecture = machine.describe()["microarchitecture"]
    trained_on = training_meta["machine"]["microarchitecture"]
    if microarchitecture != trained_on:
        raise CmlibError(
            f"the tree was trained on {trained_on}, and this machine is {microarchitecture}. Events and their rates "
            "differ. Train a tree here: set CMLIB_DATA to a new folder and run `cmlib record-micro`."
        )
    if counters["good"] < training_meta["counters"]["good"]:
        raise CmlibError(
            f"only {counters['good']} counters are good here, and the groups of key events need "
            f"{training_meta['counters']['good']}. Another program may use counters, see `cmlib doctor`."
        )


def load_recorded(name: str) -> Series:
    """Load a stored run of a program.

    The first run that counted the key events is loaded. Key events are the few events that a decision tree needs.

    Parameters
    ----------
    name : str
        Name of the recording, with or without its kind. For example, ``"own-gcc"`` or ``"gcc"``.

    Returns
    -------
    cmlib.experiments.micro.recordings.Series
        Counts of the run.

    Raises
    ------
    NothingRecordedError
        If no run was found. The message contains the command that records the program.
    """
    folder = places.recordings_dir() / FOLDER
    recorded_names = sorted(path.name for path in folder.glob("*/"))
    for recorded_name in recorded_names:
        kind, _, short_name = recorded_name.partition("-")
        if name in (recorded_name, short_name):
            runs = read_series(folder, KEY, kind, only=recorded_name)
            if runs:
                return runs[0]
    raise NothingRecordedError(
        f"no run of {name!r} that counted the key events is recorded yet: run "
        f"{command_code('cmlib', 'diagnose', '--keep', name, '--', 'COMMAND')}. Recorded: "
        f"{', '.join(recorded_names) or 'none'}."
    )


def check_counters() -> dict[str, int]:
    """Count the hardware counters of this machine.

    Returns
    -------
    dict of str to int
        Contains two numbers. ``offered`` is the number of hardware counters. ``good`` is the number of hardware
        counters that count correctly.

    Raises
    ------
    CmlibError
        If no hardware event can be counted.
    CountersBusy
        If another process uses the counters.
    """
    with machine.counters_lock("cmlib diagnose"):
        return machine.census().checked(_WITHOUT_COUNTERS).counters
