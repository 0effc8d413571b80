"""What is measured before it is recorded: the sizes, the events that count, and the key events among them."""

import json
from pathlib import Path

import pandas as pd

from cmlib import perf
from cmlib.errors import CmlibError
from cmlib.fingerprint.key_events import select_key_events
from cmlib.fingerprint.slices import join_parts, slice_rates
from cmlib.record import existing_runs
from cmlib.record.archive import read_raw
from cmlib.workloads.micro.latency import sweep

ALL, KEY = "all", "key"
_SWEEP = "micro-sweep.csv"


def recorded_sweep(folder, programs_folder, *, keep):
    """The latency sweep that recordings were made to, or a new one.

    Parameters
    ----------
    folder : path-like
        Of all recordings.
    programs_folder : path-like
        Where `build` put the programs.
    keep : bool
        Whether a new sweep is kept with the recordings, whose sizes it decides.

    Returns
    -------
    DataFrame
        As :func:`cmlib.workloads.micro.sweep` gives it.
    """
    file = Path(folder) / _SWEEP
    if file.is_file():
        return pd.read_csv(file)
    latencies = sweep(programs_folder)
    if keep:
        latencies.to_csv(file, index=False)
    return latencies


def counting_events(folder, microarchitecture):
    """Events that a sweep of any program has seen counting on such a machine.

    Parameters
    ----------
    folder : path-like
        Of all recordings.
    microarchitecture : str or None
        As :func:`cmlib.machine.describe` names it; None for any.

    Returns
    -------
    list of str
        In alphabetical order.

    Raises
    ------
    CmlibError
        If there is no recording of all events from such a machine.
    """
    seen = set()
    for place in sorted(Path(folder).glob("*/")):
        for meta in existing_runs(place).values():
            if meta["set"] == "sweep" and microarchitecture in (None, meta["machine"]["microarchitecture"]):
                seen.update(event for group in meta["groups"] for event in group)
    if not seen:
        raise CmlibError(
            f"no recording of all events on {microarchitecture} in {folder}, so it is unknown which events count here. "
            "Make one of any program first: cmlib record NAME --mode mlpx --events all -- COMMAND"
        )
    return sorted(seen)


def find_key_events(folder, trained, n):
    """Select the key events from the recordings of all events.

    Parameters
    ----------
    folder : path-like
        Of all recordings.
    trained : sequence of Case
        Whose set of all events has been recorded.
    n : int

    Returns
    -------
    list of str
        Without instructions, which are counted anyway.
    """
    X, y = read_slices(folder, trained, ALL)
    candidates = X.loc[:, X.nunique() > 1].drop(columns="instructions")
    return select_key_events(candidates, y, min(n, candidates.shape[1]))


def recorded_key_events(folder, trained):
    """Key events of a recording that was begun before; empty if there is none."""
    for case in trained:
        for meta in existing_runs(Path(folder) / case.name).values():
            if meta["set"] == KEY:
                return [event for group in meta["groups"] for event in group]
    return []


def read_slices(folder, wanted, set_name, *, slice_s=0.4):
    """Read the slices of recorded cases.

    Parameters
    ----------
    folder : path-like
        Of all recordings.
    wanted : sequence of Case
    set_name : {"all", "key"}
    slice_s : float, default 0.4

    Returns
    -------
    X : DataFrame of float, shape (n_slices, n_events)
        Index ``program`` (the case's name), ``pass``, ``slice``; events per cycle. The parts of a pass are joined slice by
        slice: the programs do the same all the time.
    y : Series of str
        Classes.
    """
    sliced, labels = {}, {}
    for case in wanted:
        place, parts = Path(folder) / case.name, {}
        for name, meta in existing_runs(place).items():
            if meta["set"] == set_name:
                series = perf.series(perf.parse_stat(read_raw(place, name).decode()))
                parts.setdefault(meta["pass"], []).append(
                    slice_rates(*series, slice_s=slice_s, on_missing="drop")
                )
                labels[case.name] = json.loads(meta["note"])["label"]
        sliced |= {(case.name, number): join_parts(frames) for number, frames in parts.items()}
    if not sliced:
        raise CmlibError(
            f"no recording of set {set_name!r} in {folder}: run python -m cmlib.workloads.micro --record"
        )
    X = pd.concat(sliced, join="inner", names=["program", "pass", "slice"])
    return X, X.index.get_level_values("program").to_series(X.index).map(labels)
