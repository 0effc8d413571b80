"""Time slices: a recorded series cut into pieces of equal length, counts per cycle."""

import numpy as np
import pandas as pd

_LENGTH_TOLERANCE = 0.1


def slice_rates(counts, running=None, *, slice_s=0.4, cycles="cycles", on_missing="raise"):
    """Cut one run into slices and divide its counts by the slices' cycles.

    Intervals before the first in which cycles were counted are left out (counting was switched on after
    the program's initialization), as are slices in which the program did not run at all, and the last slice,
    which is usually shorter (Yoo et al. 2012, §3.1).

    Parameters
    ----------
    counts : DataFrame of float, shape (n_intervals, n_events)
        Index ``time_s``, the end of each interval [s]; counts scaled up by 1/running as perf prints
        them, NaN where not counted.
    running : DataFrame of float, same shape, optional
        Share of the interval each event was on a counter [0 to 1]. Default: 1.
    slice_s : float, default 0.4
        Length of a slice [s], a multiple of the recorded interval.
    cycles : str, default "cycles"
        The column to divide by.
    on_missing : {"raise", "drop"}, default "raise"
        What becomes of slices in which an event was not counted: an error, or they are left out, and so are
        events that were not counted in any slice.

    Returns
    -------
    DataFrame of float, shape (n_slices, n_events - 1)
        Index ``time_s``, the end of each slice [s]; events per cycle, without the column of cycles.

    Raises
    ------
    ValueError
        If `slice_s` is no multiple of the interval, cycles are missing, the run is shorter than two
        slices, or a slice does not hold every event.

    Notes
    -----
    An event on its counter for a share of each interval is divided by the same shares of the cycles:
    Σ count·running / Σ cycles·running. With equal shares that is Σ count / Σ cycles.
    """
    if on_missing not in ("raise", "drop"):
        raise ValueError(f"slice_rates: on_missing is {on_missing!r}; give 'raise' or 'drop'.")
    if cycles not in counts:
        raise ValueError(
            f"slice_rates: no column {cycles!r} among {counts.shape[1]} events; pin it when recording."
        )
    length = _intervals_a_slice(counts.index.to_numpy(np.float64), slice_s)
    running = pd.DataFrame(1.0, counts.index, counts.columns) if running is None else running
    counted = counts[cycles].notna().to_numpy()
    first = int(np.argmax(counted)) if counted.any() else len(counts)
    rates = _rates(counts.iloc[first:], running.iloc[first:], length, cycles)
    if rates.empty:
        raise ValueError(
            f"slice_rates: {len(counts)} intervals, of which the first {first} were not counted, hold no slice of "
            f"{length} intervals beside the last one. Run the program longer, or take shorter slices."
        )
    missing = rates.isna()
    if missing.any(axis=None) and on_missing == "raise":
        raise ValueError(
            _missing_message(missing, counts.iloc[first:], running.iloc[first:], slice_s, length, cycles)
        )
    return rates.dropna(axis=1, how="all").dropna()


def slice_runs(runs, **options):
    """Cut several runs into slices.

    Parameters
    ----------
    runs : mapping of str to (counts, running)
        By the run's name, both frames as in `slice_rates`.
    **options
        Of `slice_rates`.

    Returns
    -------
    DataFrame of float
        Index ``run``, ``time_s``; the events that all runs have.

    Raises
    ------
    ValueError
        As `slice_rates`, with the run's name.
    """
    sliced = {}
    for name, (counts, running) in runs.items():
        try:
            sliced[name] = slice_rates(counts, running, **options)
        except ValueError as error:
            raise ValueError(f"run {name!r}: {error}") from error
    return pd.concat(sliced, join="inner", names=["run", "time_s"])


def join_parts(parts):
    """Put the events of runs of the same steady program side by side, slice by slice.

    Parameters
    ----------
    parts : sequence of DataFrame
        From `slice_rates`.

    Returns
    -------
    DataFrame
        Index ``slice``, from 0 to the fewest slices of a part; of an event that several parts have, the
        first.
    """
    n = min(map(len, parts))
    number = pd.RangeIndex(n, name="slice")
    joined = pd.concat([part.iloc[:n].set_axis(number) for part in parts], axis=1)
    return joined.loc[:, ~joined.columns.duplicated()]


def _intervals_a_slice(times, slice_s):
    if len(times) < 2:
        raise ValueError(f"slice_rates: {len(times)} intervals; slicing needs at least 2.")
    interval = float(np.median(np.diff(times)))
    length = round(slice_s / interval)
    if length < 1 or abs(length * interval - slice_s) > _LENGTH_TOLERANCE * interval * length:
        raise ValueError(
            f"slice_rates: slices of {slice_s:g} s from intervals of {interval:.3g} s; take a "
            "multiple of the interval, "
            f"such as {max(length, 1) * interval:.3g}, or record shorter intervals."
        )
    return length


def _rates(counts, running, length, cycles):
    """Events per cycle of all slices but the last, without those in which no cycle was counted."""
    n_slices = -(-len(counts) // length) - 1
    used = slice(0, max(n_slices, 0) * length)
    present = counts.iloc[used].notna()
    shares = running.iloc[used].where(present, 0.0)
    weighted = (counts.iloc[used] * shares).fillna(0.0)
    exposed = shares.mul(counts[cycles].iloc[used].fillna(0.0), axis=0)
    number = np.arange(used.stop) // length
    rates = weighted.groupby(number).sum() / exposed.groupby(number).sum().replace(0.0, np.nan)
    rates.index = pd.Index(counts.index[length - 1 : used.stop : length], name=counts.index.name)
    return rates[rates[cycles].notna()].drop(columns=cycles)


def _missing_message(missing, counts, running, slice_s, length, cycles):
    events = missing.columns[missing.any()]
    for longer in range(length + 1, len(counts) // 2 + 1):
        rates = _rates(counts, running, longer, cycles)
        if len(rates) and rates.notna().all(axis=None):
            advice = f"slices of {slice_s / length * longer:.2g} s would do"
            break
    else:
        advice = "no length would do: count fewer groups at once"
    return (
        f"slice_rates: {int(missing.any(axis=1).sum())} of {len(missing)} slices of {slice_s:g} s lack {len(events)} "
        f"events, the first is {events[0]!r}: not every multiplexing group had its turn; {advice}, or "
        "drop these slices "
        "with on_missing='drop'."
    )
