"""Adjust estimates of events so that known sums between the events hold.

:func:`reconcile_sums` takes and returns a DataFrame of counts, a row per interval, a column per event. Such sums
follow from how a processor's events are coded: one event counts all loads, two others its parts. No input is
refused; a sum with an event that was not counted is left out.
"""

import numpy as np

# Intervals computed at once, to limit memory: each takes an array of (sums, events).
_AT_ONCE = 1024


def reconcile_sums(counts, variance, sums):
    """Move estimates until known sums hold: by weighted least squares, and not below 0.

    `counts` is a DataFrame, a row per interval, a column per event; `variance` a DataFrame as `counts` of the variances
    of their errors: certain counts move little, and those of variance 0 not at all. `sums` are pairs (whole, parts) of
    event names such that the count of `whole` is the sum of those of `parts`; those with an event that is no column are
    left out. Returns a DataFrame as `counts`.
    """
    present = [(whole, parts) for whole, parts in sums if {whole, *parts} <= set(counts.columns)]
    if not present:
        return counts.copy()
    signs = np.zeros((len(present), counts.shape[1]))
    for row, (whole, parts) in zip(signs, present, strict=True):
        row[counts.columns.get_loc(whole)] = 1
        row[[counts.columns.get_loc(part) for part in parts]] = -1
    members = signs.any(axis=0)
    held = counts.copy()
    estimates, variances = counts.loc[:, members].to_numpy(), variance.loc[:, members].to_numpy()
    pieces = range(_AT_ONCE, len(counts), _AT_ONCE)
    parts = zip(np.split(estimates, pieces), np.split(variances, pieces), strict=True)
    held.loc[:, members] = np.vstack([_project(*part, signs[:, members]) for part in parts])
    return held


def _project(estimates, variance, signs):
    """Move estimates (n_intervals, n_events) until ``signs @ estimates`` is 0; set those that fall below 0 to 0.

    `signs` has a row per sum: 1 for the whole, -1 for its parts.
    """
    variance = variance.copy()
    for _ in range(estimates.shape[1]):
        estimates = estimates - _compute_corrections(estimates, variance, signs)
        is_negative = estimates < 0
        if not is_negative.any():
            break
        estimates[is_negative] = variance[is_negative] = 0
    return estimates


def _compute_corrections(estimates, variance, signs):
    """Compute what to subtract from each estimate (n_intervals, n_events) so that the sums hold.

    The corrections solve a least-squares problem that is weighted by the variances.
    """
    spread = np.sqrt(np.einsum("se,te->ts", signs**2, variance))
    scaled = signs / np.where(spread > 0, spread, np.inf)[:, :, None]
    gaps = np.einsum("tse,te->ts", scaled, estimates)
    overlap = np.einsum("tse,te,tue->tsu", scaled, variance, scaled)
    shares = np.einsum("tsu,tu->ts", np.linalg.pinv(overlap, rcond=1e-9, hermitian=True), gaps)
    return variance * np.einsum("tse,ts->te", scaled, shares)
