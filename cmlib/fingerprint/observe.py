"""Record one run of a program with the key events of a tree that has been trained."""

import tempfile
from pathlib import Path

from cmlib import machine, perf, places
from cmlib.errors import CmlibError
from cmlib.record import RecordError, record
from cmlib.record.archive import existing_runs, read_raw
from cmlib.schedule import Plan


def observe(command, trained, *, keep_in=None, name="own", note="", wait=False):
    """Run a command once and count the key events of the training recordings, the way these were counted.

    Parameters
    ----------
    command : sequence of str
    trained : dict
        Metadata of a run of the training recordings that counted the key events.
    keep_in : path-like, optional
        Folder of recordings that the run is kept in; by default it is not kept.
    name : str, default "own"
        Of the recording.
    note : str
        Kept with the run.
    wait : bool, default False
        Wait for another recording to end.

    Returns
    -------
    counts, running : DataFrame
        As from :func:`cmlib.perf.series`.

    Raises
    ------
    CmlibError
        If this is another kind of processor than the one trained on, or no hardware event can be counted; and
        as :func:`cmlib.record.record`.
    """
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
        counters = _counters(trained["counters"])
        _check_machine(trained["machine"]["microarchitecture"])
        folder = Path(keep_in or scratch)
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
            counters=counters,
            folder=folder,
            lock=lock,
            note=note,
        )
        (run,) = existing_runs(folder / name)
        return perf.series(perf.parse_stat(read_raw(folder / name, run).decode()))


def _check_machine(trained_on):
    here = machine.describe()["microarchitecture"]
    if here != trained_on:
        raise CmlibError(
            f"the tree was trained on {trained_on}, and this is {here}: events and their rates differ. Train one here: "
            "run `cmlib record-micro` with CMLIB_DATA naming a folder of its own."
        )


def _counters(trained):
    census = machine.census()
    if not census.offered:
        raise CmlibError(
            f"no hardware event can be counted here: {census.complaint}. `cmlib doctor` tells why; a run that was "
            "recorded can be shown: `cmlib diagnose --recorded NAME`."
        )
    if census.good < trained["good"]:
        raise CmlibError(
            f"{census.good} counters are good here, and the key events are in groups for {trained['good']}: something "
            "else uses the counters, see `cmlib doctor`."
        )
    return {"offered": census.offered, "good": census.good}
