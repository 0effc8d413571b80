"""All ways to compress, on all events of a run, side by side."""

import pandas as pd

from cmlib.compress.evaluation.accuracy import fit_quality
from cmlib.compress.evaluation.equal_size import at_size_of_lines
from cmlib.compress.lines import compress


def survey(counts, x, *, drift=20.0):
    """Compress every event of a run by itself, as printed, with the drift test, and by the peers at equal
    size.

    Parameters
    ----------
    counts : DataFrame, shape (n_samples, n_events)
        Counts since the sample before, such as the counts of a run's intervals.
        A sample with a missing count of the event or of `x` is left out; its
        counts are lost to both.
    x : str
        The column that times the sampling, such as ``cycles``.
    drift : float > 0, default 20
        Threshold of the drift test.

    Returns
    -------
    DataFrame, index (event, method)
        Methods printed and drift with the figures of :func:`fit_quality`, and
        those of :func:`at_equal_size`, which may take the bytes that printed
        takes. Events that never happen are not in it.

    Raises
    ------
    ValueError
        If no event but `x` ever happens.
    """
    frames = {}
    for event in counts.columns.drop(x):
        totals = counts[[x, event]].dropna().cumsum()
        totals = totals[totals[x].diff() != 0]
        if len(totals) > 1 and totals[event].iloc[-1] > totals[event].iloc[0]:
            frames[event] = _methods(totals[x], totals[event], drift)
    if not frames:
        raise ValueError(f"no event but {x!r} ever happens in this run")
    return pd.concat(frames, names=["event", "method"])


def _methods(x, y, drift):
    lines = {"printed": compress(x, y), "drift": compress(x, y, drift=drift)}
    ours = pd.DataFrame({name: fit_quality(of, x, y) for name, of in lines.items()}).T
    return pd.concat([ours, at_size_of_lines(lines["printed"], x, y)])
