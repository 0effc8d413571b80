"""Convert the rows of a program to a table of readings.

:func:`make_table` drops impossible values and adds up the counts of CPUs or cores. The result has one row per count,
with the columns time_s [s], event, value, supported, running (0 to 1) and unit.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from cmlib.intervals import lengths_by_ends
from cmlib.io.events.naming import base_name
from cmlib.io.formats.readings import FormatError, Program, remove_unused
from cmlib.io.meaning.event_names import is_latency, map_events
from cmlib.io.meaning.series import number_equal

DURATION = "duration_time"
_WRAPPED = 2.0**64
# Counts that are closer to 2^64 than this are negative differences. The limit is larger if a count has few digits,
# because the tool rounded it.
_NEAR, _NEAR_IN_SIX_DIGITS = 1e12, 1e14
_COLUMNS = ["time_s", "event", "value", "supported", "running", "unit"]


class Table(NamedTuple):
    """Readings of one recording.

    Attributes
    ----------
    rows : DataFrame
        One row per count. Runs without intervals follow one another in `time_s`.
    of_whole_runs : bool
        True if the rows are totals of runs instead of intervals.
    are_lengths_known : bool
        True if the lengths of the intervals or runs are known. If not, each run has a length of 1 s.
    notes : tuple of str
        Sentences on dropped and added counts.
    """

    rows: pd.DataFrame
    of_whole_runs: bool
    are_lengths_known: bool
    notes: tuple[str, ...] = ()


def make_table(program: Program, levels: frozenset[str] = frozenset()) -> Table:
    """Make the table of readings of a program.

    Parameters
    ----------
    program : Program
        The intervals of one run, or the totals of several runs.
    levels : frozenset of str
        Events that are levels. For example, the size of the used memory. Their values are multiplied by the length of
        the interval, because rates are divided by it later.

    Returns
    -------
    Table

    Raises
    ------
    FormatError
        If a count is negative or infinite.
    """
    notes = []
    counts = program.counts
    timed = counts["time_s"].notna().to_numpy()
    if timed.any() and not timed.all():
        counts = counts[timed]
    counts, latencies = _without_latencies(counts)
    if latencies:
        notes.append(f"Retirement latencies are not counts, and are left out: {', '.join(latencies)}.")
    check_values(counts)
    counts, n_wrapped = without_wrapped(counts)
    if n_wrapped:
        notes.append(
            "Counts just below 2^64 are left out, because they are negative differences of two readings: "
            f"{n_wrapped} counts."
        )
    of_whole_runs = not timed.any()
    lengths = np.array([])
    if of_whole_runs:
        numbers, lengths = _measure_runs(program, counts)
        counts = counts.assign(time_s=numbers.astype(float))
    counts, places = sum_places(counts)
    if len(places) == 1:
        notes.append(f"All counts are from {places[0]}.")
    elif places:
        notes.append(f"Counts of {len(places)} places, {places[0]} to {places[-1]}, are added up.")
    # For small files, this takes half of the time of counts[_COLUMNS].
    rows = pd.DataFrame({name: counts[name].array for name in _COLUMNS}, copy=False)
    are_lengths_known = not of_whole_runs or (len(lengths) > 0 and bool(np.all(lengths > 0)))
    if of_whole_runs:
        rows = rows.sort_values("time_s", kind="stable", ignore_index=True)
    if of_whole_runs and are_lengths_known:
        rows = _with_lengths(rows, lengths)
    if levels:
        rows = _multiply_levels(rows, levels)
    return Table(rows, of_whole_runs, are_lengths_known, tuple(notes))


def without_wrapped(counts: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Replace counts just below 2^64 by NaN. Return the counts, and how many were replaced.

    Such a count is a negative difference of two readings of a counter, as an unsigned number of 64 bits.
    """
    value = counts["value"].to_numpy(float)
    near = np.flatnonzero(np.abs(value - _WRAPPED) < _NEAR_IN_SIX_DIGITS)
    wrapped = [row for row in near if abs(value[row] - _WRAPPED) < _tolerance(value[row])]
    if not wrapped:
        return counts, 0
    value, running = value.copy(), counts["running"].to_numpy(float).copy()
    value[wrapped] = np.nan
    running[wrapped] = np.nan
    return counts.assign(value=value, running=running), len(wrapped)


def _tolerance(value: float) -> float:
    """Return the tolerance for the comparison with 2^64. It is larger for values with few digits."""
    has_few_digits = float(f"{value:.6e}") == value
    return _NEAR_IN_SIX_DIGITS if has_few_digits else _NEAR


def sum_places(counts: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Add up the counts of all places, for example of all CPUs.

    Parameters
    ----------
    counts : DataFrame
        Columns of `Program.counts`, with known times.

    Returns
    -------
    counts : DataFrame
        One row per interval and event. A sum is NaN if the event was not counted at one of the places. Places that do
        not support the event are ignored. Running shares are means.
    places : list of str
        Names of the places. Empty if the rows have no places.
    """
    places = remove_unused(counts["place"].array)
    if list(places.categories) in ([], [""]):
        return counts, []
    # The names of counters are removed. For example, `Core 3/PMC0` becomes `Core 3`.
    place_names = list(dict.fromkeys(place.partition("/")[0] for place in places.unique() if place))
    if len(places.categories) == 1:
        return counts, place_names
    time, _ = pd.factorize(counts["time_s"], use_na_sentinel=False)
    event = counts["event"].cat.codes.to_numpy().astype(np.int64)
    n_events = len(counts["event"].cat.categories)
    group = time * n_events + event
    copy = number_equal(group * len(places.categories) + places.codes)
    value = counts["value"].to_numpy(float)
    supported = counts["supported"].to_numpy(bool)
    frame = pd.DataFrame(
        {
            "time_s": counts["time_s"].to_numpy(float),
            "event": counts["event"].array,
            "unit": counts["unit"].array,
            "supported": supported,
            "value": value,
            "running": counts["running"].where(supported).to_numpy(float),
            "missing": supported & np.isnan(value),
        }
    )
    grouped = frame.groupby([group, copy], sort=False)
    added = grouped.agg(
        {
            "time_s": "first",
            "event": "first",
            "unit": "first",
            "supported": "any",
            "running": "mean",
            "missing": "any",
        }
    )
    added["value"] = grouped["value"].sum(min_count=1).mask(added["missing"])
    added["running"] = added["running"].mask(added["missing"] | ~added["supported"], 0.0)
    return added.drop(columns="missing").reset_index(drop=True), place_names


def _without_latencies(counts: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Drop the rows of latencies (``event:R``). Return the other rows, and the names of the latencies."""
    latencies = [event for event in counts["event"].cat.categories if is_latency(event)]
    if not latencies:
        return counts, []
    other_counts = counts[~counts["event"].isin(latencies)]
    return other_counts.assign(event=other_counts["event"].cat.remove_unused_categories()), latencies


def check_values(counts: pd.DataFrame) -> None:
    """Raise FormatError for a negative or infinite count."""
    value = counts["value"].to_numpy(float)
    bad = np.flatnonzero((value < 0) | np.isinf(value))
    if len(bad):
        row = counts.iloc[bad[0]]
        raise FormatError(f"the value {row['value']} of {row['event']} is not a count.")


def _measure_runs(program: Program, counts: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Renumber the runs, and find their lengths.

    Returns the new number of the run of each row (from 1, without gaps), and the length of each run [s]. The length is
    NaN if unknown.
    """
    codes, runs = pd.factorize(counts["run"])
    lengths = np.full(len(runs), np.nan)
    for number, run in enumerate(runs):
        if run <= len(program.runs):
            lengths[number] = program.runs[run - 1].seconds
    if np.isnan(lengths).all():
        is_duration = (map_events(counts["event"], base_name) == DURATION) & counts[
            "value"
        ].notna().to_numpy()
        durations_s = counts["value"].to_numpy()[is_duration] / 1e9
        length_by_code = dict(zip(codes[is_duration], durations_s, strict=True))
        if len(length_by_code) == len(runs):
            lengths = np.array([length_by_code[code] for code in range(len(runs))])
    return codes + 1, lengths


def _with_lengths(rows: pd.DataFrame, lengths: np.ndarray) -> pd.DataFrame:
    """Arrange runs one after another in time, and add their lengths as the event ``duration_time`` [ns]."""
    number = rows["time_s"].to_numpy(int)
    if DURATION not in set(map(base_name, rows["event"].unique())):
        share = np.nan if rows["running"].isna().any() else 1.0
        added = pd.DataFrame(
            {
                "time_s": np.arange(1.0, len(lengths) + 1),
                "event": DURATION,
                "value": 1e9 * lengths,
                "supported": True,
                "running": share,
                "unit": "ns",
            }
        )
        texts = rows.assign(event=rows["event"].astype(str), unit=rows["unit"].astype(str))
        rows = pd.concat([texts, added], ignore_index=True)
        rows = rows.sort_values("time_s", kind="stable", ignore_index=True)
        number = rows["time_s"].to_numpy(int)
    return rows.assign(time_s=np.cumsum(lengths)[number - 1])


def _multiply_levels(rows: pd.DataFrame, levels: frozenset[str]) -> pd.DataFrame:
    """Multiply the values of levels by the length of their interval [s]."""
    times = rows["time_s"].to_numpy(float)
    ends, interval = np.unique(times, return_inverse=True)
    lengths = lengths_by_ends(ends)[interval]
    is_level = rows["event"].isin(levels).to_numpy()
    return rows.assign(value=np.where(is_level, rows["value"] * lengths, rows["value"]))
