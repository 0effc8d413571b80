"""What was measured of the micro-benchmarks: sizes, slices, and the key events selected from them."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from cmlib import perf
from cmlib.errors import NothingRecordedError
from cmlib.fingerprint.key_events import select_key_events
from cmlib.fingerprint.slices import join_parts, slice_rates
from cmlib.record import existing_runs
from cmlib.record.archive import read_raw
from cmlib.workloads.micro.latency import sweep

ALL, KEY = "all", "key"
FOLDER = "fingerprint"  # among the recordings: hundreds of runs that no other notebook is asked about
COMMAND = "cmlib record-micro"
_SWEEP = "micro-sweep.csv"


def recorded_sweep(folder, programs_folder, *, keep):
    """The latency sweep that recordings were made to, or a new one.

    Parameters
    ----------
    folder : path-like
        Of the fingerprint recordings.
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


def kept_sweep(folder):
    """The latency sweep kept with the recordings.

    Raises
    ------
    NothingRecordedError
        If there is none.
    """
    file = Path(folder) / _SWEEP
    if not file.is_file():
        raise NothingRecordedError(f"no latency sweep is kept with the recordings: run `{COMMAND}`")
    return pd.read_csv(file)


def find_key_events(folder, n):
    """Select the key events from the recordings of all events.

    Parameters
    ----------
    folder : path-like
        Of the fingerprint recordings.
    n : int

    Returns
    -------
    list of str
        Without instructions, which are counted anyway.
    """
    X, about = read_slices(folder, ALL)
    candidates = X.loc[:, X.nunique() > 1].drop(columns="instructions")
    return select_key_events(candidates, about["label"], min(n, candidates.shape[1]))


def recorded_key_events(folder):
    """Key events of a recording that was begun before; empty if there is none."""
    meta = key_metadata(folder)
    return [event for group in meta["groups"] for event in group] if meta else []


def key_metadata(folder):
    """Metadata of some run of the key events; None if there is none."""
    for place in sorted(Path(folder).glob("micro-*/")):
        for meta in existing_runs(place).values():
            if meta["set"] == KEY:
                return meta
    return None


@dataclass(frozen=True)
class Series:
    """What was recorded of one run.

    Attributes
    ----------
    program : str
        Name of the recording.
    number : int
        Of the pass.
    about : dict
        ``label``, ``size`` [bytes or None] and ``kind`` ("micro", "unseen", "CPU", "parallel").
    counts, running : DataFrame
        As from :func:`cmlib.perf.series`.
    """

    program: str
    number: int
    about: dict
    counts: pd.DataFrame
    running: pd.DataFrame

    def rates(self, slice_s):
        """Slices of the run, by :func:`cmlib.fingerprint.slices.slice_rates`; those that lack an event are left out."""
        return slice_rates(self.counts, self.running, slice_s=slice_s, on_missing="drop")

    def pace(self, rates):
        """What is drawn below the classes of :meth:`rates`: instructions per cycle."""
        return rates["instructions"].rename("IPC")


def read_series(folder, set_name, kind="micro", *, only="*"):
    """Read the recorded runs of a kind of programs.

    Parameters
    ----------
    folder : path-like
        Of the fingerprint recordings.
    set_name : {"all", "key"}
    kind : {"micro", "unseen", "CPU", "parallel", "own"}
    only : str, default "*"
        Name of a recording; all if not given.

    Returns
    -------
    list of Series
        By program, pass and part.
    """
    recorded = []
    for place in sorted(Path(folder).glob(f"{kind.lower()}-*/")):
        if only not in ("*", place.name):
            continue
        for name, meta in existing_runs(place).items():
            if meta["set"] == set_name:
                series = perf.series(perf.parse_stat(read_raw(place, name).decode()))
                recorded.append(Series(place.name, meta["pass"], json.loads(meta["note"]), *series))
    return recorded


def cut(series, *, slice_s=0.4):
    """Cut recorded runs into slices.

    Parameters
    ----------
    series : list of Series
        From `read_series`.
    slice_s : float, default 0.4

    Returns
    -------
    X : DataFrame of float, shape (n_slices, n_events)
        Index ``program``, ``pass`` and ``slice``, events per cycle. The parts of a pass are joined slice by
        slice: the programs do the same all the time.
    about : DataFrame
        Index of X; columns ``label``, ``size`` [bytes, NaN for none] and ``time_s``, the end of the slice
        [s].

    Raises
    ------
    ValueError
        As :func:`cmlib.fingerprint.slices.slice_rates`, naming the run.
    """
    parts, notes = {}, {}
    for one in series:
        try:
            rates = one.rates(slice_s)
        except ValueError as error:
            raise ValueError(f"{one.program}, pass {one.number}: {error}") from error
        parts.setdefault((one.program, one.number), []).append(rates)
        notes[one.program] = one.about
    names = ["program", "pass", "slice"]
    X = pd.concat({key: join_parts(frames) for key, frames in parts.items()}, join="inner", names=names)
    ends = [frames[0].index[: min(map(len, frames))] for frames in parts.values()]
    programs = X.index.get_level_values("program")
    about = pd.DataFrame(
        {
            "label": programs.map({name: note["label"] for name, note in notes.items()}),
            "size": programs.map({name: note["size"] for name, note in notes.items()}).astype(float),
            "time_s": np.concatenate(ends),
        },
        index=X.index,
    )
    return X, about


def read_slices(folder, set_name, kind="micro", *, slice_s=0.4):
    """Read the slices of a kind of programs: `read_series`, then `cut`.

    Raises
    ------
    NothingRecordedError
        If there is no recording of these.
    """
    series = read_series(folder, set_name, kind)
    if not series:
        raise NothingRecordedError(f"nothing recorded yet of the {kind} programs: run `{COMMAND}`")
    return cut(series, slice_s=slice_s)
