"""Select the rows of one recording from a file.

The complete file is stored for each recording. The metadata contain a :class:`Selection`. :func:`select` applies it to
the content of the file.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd

from cmlib.io.formats.readings import FormatError, Program, Readings
from cmlib.io.meaning.event_names import belongs_to_cores, find_core_pmu, map_events, normalize_events
from cmlib.io.meaning.sleep import fill_slept

_MOST_KINDS = 8


@dataclass(frozen=True)
class Selection:
    """Choice of rows of a file.

    Attributes
    ----------
    program : int
        Index of the program in the file, from 0.
    runs : tuple of int
        Numbers of the runs, from 1. Empty for all runs.
    kind : str
        Kind of core. For example, ``cpu_atom``. "" for all kinds.
    place : str
        CPU, core, socket, node or thread. "" for all places.
    start_s, end_s : float or None
        Start of the first interval and end of the last interval, since the start of the recording [s]. None for no
        limit.
    """

    program: int = 0
    runs: tuple[int, ...] = ()
    kind: str = ""
    place: str = ""
    start_s: float | None = None
    end_s: float | None = None

    def as_metadata(self) -> dict:
        """Return the attributes that differ from their defaults, as a JSON-serializable dict."""
        defaults = asdict(Selection())
        entries = {name: value for name, value in asdict(self).items() if value != defaults[name]}
        if "runs" in entries:
            entries["runs"] = list(self.runs)
        return entries


def selection_of(metadata: Mapping) -> Selection:
    """Return the Selection in the metadata of a stored run."""
    entries = dict(metadata)
    if "runs" in entries:
        entries["runs"] = tuple(entries["runs"])
    return Selection(**entries)


def select(readings: Readings, selection: Selection) -> Program:
    """Return the selected rows of a file.

    Parameters
    ----------
    readings : Readings
    selection : Selection

    Returns
    -------
    Program
        Selected rows. Event names are normalized (:func:`normalize_events`). Counts are 0 in intervals in which the
        program slept (:func:`fill_slept`). The columns ``time_s`` and ``run`` have the values in the file.

    Raises
    ------
    FormatError
        If the file has no such program, place or kind of core.
    """
    if not 0 <= selection.program < len(readings.programs):
        raise FormatError(
            f"the file has {len(readings.programs)} programs; program {selection.program + 1} does not exist."
        )
    program = readings.programs[selection.program]
    counts = fill_slept(normalize_events(program.counts))
    metrics = program.metrics
    if selection.runs:
        counts = counts[counts["run"].isin(selection.runs)]
        metrics = metrics[metrics["run"].isin(selection.runs)]
    if selection.place:
        counts = _select_place(counts, selection.place)
        metrics = metrics[metrics["place"] == selection.place]
    if selection.kind:
        counts = _select_kind(counts, selection.kind)
        metrics = _select_metrics_of_kind(metrics, selection.kind)
    if selection.start_s is not None or selection.end_s is not None:
        start_s = 0.0 if selection.start_s is None else selection.start_s
        end_s = np.inf if selection.end_s is None else selection.end_s
        counts = _select_times(counts, start_s, end_s)
        metrics = _select_times(metrics, start_s, end_s)
    return replace(program, counts=counts, metrics=metrics)


def find_kinds(counts: pd.DataFrame) -> tuple[str, ...]:
    """List the kinds of core with counts.

    The kind on which the program ran most comes first. The kinds are compared by their largest running share.

    Parameters
    ----------
    counts : DataFrame
        Columns of `Program.counts`.

    Returns
    -------
    tuple of str
        Kinds of core. For example, ``cpu_core``. Empty if the event names contain fewer than two kinds.

    Raises
    ------
    FormatError
        If more than eight kinds were counted.
    """
    events = counts["event"].cat.remove_unused_categories()
    kinds_in_names = {find_core_pmu(event) for event in events.cat.categories} - {""}
    if len(kinds_in_names) < 2:
        return ()
    kinds = map_events(events, find_core_pmu)
    is_counted = counts["value"].notna().to_numpy() & (kinds != "")
    running = counts["running"].fillna(1.0).to_numpy()
    shares = {kind: running[is_counted & (kinds == kind)].max() for kind in dict.fromkeys(kinds[is_counted])}
    if len(shares) > _MOST_KINDS:
        raise FormatError(f"{len(shares)} kinds of core were counted; at most {_MOST_KINDS} are supported.")
    return tuple(sorted(shares, key=lambda kind: -shares[kind]))


def find_events_of_unknown_kind(counts: pd.DataFrame) -> list[str]:
    """List the core events whose names do not contain a kind of core.

    For example, ``cycles`` in a file that also has ``cpu_core/cycles/``.
    """
    counted = counts.loc[counts["value"].notna(), "event"].cat.remove_unused_categories()
    return [event for event in counted.cat.categories if not find_core_pmu(event) and belongs_to_cores(event)]


def _select_place(counts: pd.DataFrame, place: str) -> pd.DataFrame:
    """Return the rows of a place and of its counters (``Core 3/PMC0`` belongs to ``Core 3``)."""
    is_chosen = map_events(counts["place"], lambda name: name == place or name.startswith(f"{place}/"))
    chosen = counts[is_chosen.astype(bool)]
    if chosen.empty:
        known = ", ".join([name for name in counts["place"].unique() if name][:100]) or "none"
        raise FormatError(f"nothing was counted at place {place!r}. Places in the file: {known}.")
    return chosen


def _select_kind(counts: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return the rows of a kind of core and the rows that belong to all kinds."""
    is_of_kind = map_events(counts["event"], find_core_pmu) == kind
    if not is_of_kind.any():
        raise FormatError(f"nothing was counted for the kind of core {kind!r}.")
    return counts[is_of_kind | map_events(counts["event"], _is_of_all_kinds)]


def _is_of_all_kinds(event: str) -> bool:
    """Return True for an event that is not counted by cores."""
    return not find_core_pmu(event) and not belongs_to_cores(event)


def _select_metrics_of_kind(metrics: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return the metrics whose name or event contains a kind of core."""
    texts = metrics["name"].astype(str) + " " + metrics["event"].astype(str)
    contains_kind = texts.str.contains(kind, regex=False)
    return metrics[contains_kind.to_numpy(bool)]


def _select_times(rows: pd.DataFrame, start_s: float, end_s: float) -> pd.DataFrame:
    """Return the rows of complete intervals between two times [s]."""
    times = rows["time_s"].to_numpy(float)
    ends, interval = np.unique(times, return_inverse=True)
    # An interval begins at the end of the interval before. Without rows (many files have no metrics), there are no
    # intervals.
    begins = np.concatenate([[0.0], ends[:-1]])[interval] if len(ends) else times
    # An interval that ends at 0 has no length, and is not selected.
    return rows[(begins >= start_s) & (times <= end_s) & (times > begins)]
