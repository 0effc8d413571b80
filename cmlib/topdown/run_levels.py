"""Summarize a recording by totals of its events, speed, clock and rates a second, and cut it into phases by these."""

import numpy as np
import pandas as pd

from cmlib.clean.missing import MOST_PER_CYCLE
from cmlib.clean.uncounted import lengths_by_ends
from cmlib.fingerprint.segments import segment_starts
from cmlib.spelling import spelling

_UNTOLD = 0.1  # relative error of a count without intervals that had half of the time or less
_POINTS = 240
DIFFERS = 1.05
_FEWEST_A_SECOND = 10  # of switches, faults and the like, below which a phase's rate is told by chance
CUT_BY = ("GHz", "CPUs", "instructions a second", "instructions a cycle")
_KERNEL_LEADS = 20  # percent of the cycles
_GAIN, _SHORTEST = 0.1, 0.04
# Times the noise and the logarithm of their number: what the best cut of intervals gains that differ by chance alone.
_BY_CHANCE = 3.0


def totals(runs):
    """Total every event of some runs, per cycle, and how far multiplexing may have put it off.

    Parameters
    ----------
    runs : sequence of (DataFrame, DataFrame)
        Counts of a run, NaN where nothing was counted, and the share of each interval in which they were counted
        (0–1), NaN where that is not known. Columns: events, ``cycles`` among them. All of one program.

    Returns
    -------
    DataFrame
        Index: event. ``rate``: events per cycle, over the intervals in which they were counted, each weighted by how
        much of it was. ``error``: relative, twice the standard error of that sum as neighbouring intervals tell it,
        or of the runs' mean where several counted the event; 0 for what was always counted. ``dropped``: intervals
        left out, as no core can count so many.
    """
    parts = {}
    for counts, running in runs:
        cycles, share = counts["cycles"].to_numpy(float), running.to_numpy(float)
        cycles_error = _noise(cycles, share[:, counts.columns.get_loc("cycles")])
        for column, event in enumerate(counts):
            if event != "cycles":
                values = counts[event].to_numpy(float)
                parts.setdefault(event, []).append(_total(values, cycles, share[:, column], cycles_error))
    pooled = {event: _pooled(several) for event, several in parts.items()}
    return pd.DataFrame(pooled, index=["rate", "error", "dropped"]).T.dropna(subset="rate")


def levels(counts, *, timed=True):
    """Compute seconds, instructions, speed and clock of a run, and system calls, switches and faults a second.

    Parameters
    ----------
    counts : DataFrame
        Index: end of each interval [s].
    timed : bool, default True
        Whether the index is a time; if not, what is a second is left out.

    Returns
    -------
    dict of str to float
        ``seconds``; where they were counted ``instructions``, ``instructions a second``, ``instructions a cycle``,
        ``kernel cycles`` (percent) and instructions a cycle of kernel and user mode, where they were counted apart, and
        first where the kernel has a fifth of the cycles; ``GHz`` (cycles over task-clock) and ``CPUs`` (task-clock over
        seconds); and a second, ``system calls``, ``switches``, ``migrations``, ``faults`` and ``interrupts``.
    """
    return _levels(counts, interval_lengths(counts) if timed else np.full(len(counts), np.nan))


def phases(counts):
    """Phases of a run by its clock, speed and processors used together, and what differs between them.

    Parameters
    ----------
    counts : DataFrame
        As of :func:`levels`.

    Returns
    -------
    DataFrame
        A row a phase: ``start`` and ``end`` [s], and those levels that differ by more than a twentieth; no row where
        there is one phase.
    """
    lengths = interval_lengths(counts)
    bundle = np.arange(len(counts)) // max(1, -(-len(counts) // _POINTS))
    series = pd.DataFrame(
        [_levels(counts[bundle == number], lengths[bundle == number]) for number in range(bundle.max() + 1)]
    )
    X = series[[name for name in CUT_BY if name in series]].dropna(axis=1)
    X = X.loc[:, (X > 0).all()]
    X = np.log(X) - np.log(X).mean()
    if X.empty or not (X**2).to_numpy().any():
        return pd.DataFrame()
    starts = _phase_starts(X.to_numpy())
    if len(starts) == 1:
        return pd.DataFrame()
    first = np.searchsorted(bundle, starts)
    rows = []
    for start, end in zip(first, [*first[1:], len(counts)], strict=True):
        level = _levels(counts.iloc[start:end], lengths[start:end])
        rows.append({"start": counts.index[start] - lengths[start], "end": counts.index[end - 1], **level})
    frame = pd.DataFrame(rows)
    quantities = frame.drop(columns=["start", "end", "seconds", "instructions"], errors="ignore")
    often = [
        name for name in quantities if name not in _A_SECOND or quantities[name].max() >= _FEWEST_A_SECOND
    ]
    differing = [name for name in often if quantities[name].max() > DIFFERS * quantities[name].min()]
    return frame[["start", "end", *differing]] if differing else pd.DataFrame()


def _phase_starts(X):
    """First rows of phases, each cut worth more than chance gains in noise as correlated as it is within phases."""
    gain, noise = (
        _GAIN * (X**2).sum(),
        (np.diff(X, axis=0) ** 2).mean(axis=0).sum() / 2,
    )  # as neighbours tell it
    while True:
        penalty = max(gain, _BY_CHANCE * np.log(len(X)) * noise)
        starts = segment_starts(X, penalty=penalty, shortest=round(_SHORTEST * len(X)))
        correlated = _long_run_variance(X, starts)
        if len(starts) == 1 or correlated <= noise:
            return starts
        noise = correlated


def _long_run_variance(X, starts):
    """Variance about the phases' means times (1 + r) / (1 - r), r the correlation of neighbours (AR(1))."""
    parts = [part - part.mean(axis=0) for part in np.split(X, starts[1:])]
    freedom = len(X) - len(parts)
    variance = sum((part**2).sum(axis=0) for part in parts) / freedom
    products = sum((part[1:] * part[:-1]).sum(axis=0) for part in parts) / freedom
    taken = len(parts) / len(X)  # from the correlation, by the means
    r = np.clip(np.divide(products, variance, out=np.zeros(X.shape[1]), where=variance > 0) + taken, 0, 0.99)
    return float((variance * (1 + r) / (1 - r)).sum())


def _total(values, cycles, share, cycles_error):
    possible = ~(values > MOST_PER_CYCLE * cycles)
    seen = np.isfinite(values) & np.isfinite(cycles) & possible & ~(share == 0)
    weight = np.where(np.isnan(share), 1.0, share)[seen]
    above, below = (weight * values[seen]).sum(), (weight * cycles[seen]).sum()
    if not below:
        return np.nan, 0.0, 0.0, 0
    rate = above / below
    error = _noise(values[seen] - rate * cycles[seen], share[seen], whole=values[seen].sum())
    return above, below, float(np.hypot(error, cycles_error)), int((~possible).sum())


def _noise(values, share, whole=None):
    """Relative error, twice the standard one, of a sum of intervals that were counted for a share of their time."""
    missing = 1 - np.nanmean(share) if np.isfinite(share).any() else 1.0
    whole = np.nansum(values) if whole is None else whole
    if missing <= 0 or not whole:
        return 0.0
    steps = np.diff(values)
    steps = steps[np.isfinite(steps)]
    if len(steps) < 2:
        return _UNTOLD * min(1.0, float(np.sqrt(2 * missing))) if np.isfinite(share).any() else 0.0
    return float(2 * np.sqrt(missing * len(values) * np.mean(steps**2) / 2) / whole)


def _pooled(parts):
    parts = [part for part in parts if np.isfinite(part[0])]
    above, below = sum(part[0] for part in parts), sum(part[1] for part in parts)
    if not below:
        return {"rate": np.nan, "error": 0.0, "dropped": 0}
    rates = [part[0] / part[1] for part in parts]
    within = np.sqrt(sum((part[0] * part[2]) ** 2 for part in parts)) / above if above else 0.0
    between = (
        2 * np.std(rates, ddof=1) / np.sqrt(len(rates)) / np.mean(rates) if len(rates) > 1 and above else 0.0
    )
    return {"rate": above / below, "error": max(within, between), "dropped": sum(part[3] for part in parts)}


def interval_lengths(counts):
    """Return the length of every interval; the first one's is the median, where the clock did not begin with it.

    Parameters
    ----------
    counts : DataFrame, shape (n_intervals, n_events)
        Index: end of each interval [s].

    Returns
    -------
    ndarray of float, shape (n_intervals,)
        Lengths [s].
    """
    ends = counts.index.to_numpy(float)
    lengths = lengths_by_ends(ends)
    usual = np.median(lengths[1:]) if len(ends) > 1 else lengths[0]
    if len(ends) > 1 and not 0 < lengths[0] <= 1.5 * usual:
        lengths[0] = usual
    return lengths


_A_SECOND = {
    "system calls": ("raw_syscalls:sys_enter",),
    "switches": ("context-switches", "cs"),
    "migrations": ("cpu-migrations", "migrations"),
    "faults": ("page-faults", "faults"),
    "interrupts": ("HW_INTERRUPTS.RECEIVED", "hw_interrupts.received"),
}


def _levels(counts, lengths):
    """Levels over the intervals in which what they are made of was counted."""
    lengths = pd.Series(np.asarray(lengths, float), counts.index)

    def quotient(above, below):
        both = above.notna() & below.notna() if below is not None else []
        return above[both].sum() / below[both].sum() if np.any(both) and below[both].sum() else None

    counted = {name: counts[name] for name in counts if counts[name].notna().any()}
    instructions, cycles, clock = map(counted.get, ("instructions", "cycles", "task-clock"))  # clock: [ms]
    level = {"seconds": lengths.sum(min_count=1)}
    if instructions is not None:
        level["instructions"] = instructions.sum()
        level["instructions a second"] = quotient(instructions, lengths)
        level["instructions a cycle"] = quotient(instructions, cycles)
    apart = _by_mode(counted)
    if clock is not None:
        level["GHz"] = quotient(cycles / 1e6, clock) if cycles is not None else None
        level["CPUs"] = quotient(clock / 1e3, lengths)
    for name, events in _A_SECOND.items():
        event = next(filter(counted.__contains__, events), None)
        if event is not None:
            level[name] = quotient(counted[event], lengths)
    leads = apart.get("kernel cycles", 0.0) >= _KERNEL_LEADS
    level = apart | level if leads else level | apart
    return {name: float(value) for name, value in level.items() if pd.notna(value)}


def _by_mode(counted):
    """Share of the kernel in all cycles [%], and instructions a cycle of both, where these were counted apart."""
    kernel = {}
    for event, counts in counted.items():
        name, _, mode = spelling(event).partition(":")
        if mode and name in ("cycles", "instructions") and name in counted:
            kernel[name] = counts.sum(), counted[name][counts.notna()].sum()
    cycles, all_cycles = kernel.get("cycles", (0.0, 0.0))
    if not all_cycles:
        return {}
    shares = {"kernel cycles": 100 * cycles / all_cycles}
    if "instructions" in kernel and 0 < cycles < all_cycles:
        instructions, all_instructions = kernel["instructions"]
        shares["kernel instructions a cycle"] = instructions / cycles
        shares["user instructions a cycle"] = (all_instructions - instructions) / (all_cycles - cycles)
    return shares
