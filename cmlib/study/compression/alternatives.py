"""Lines beside other ways to make samples smaller."""

import numpy as np
import pandas as pd

from cmlib.compress import at_size_of_lines, compress, error_curves
from cmlib.fanout import fan_out


def at_equal_size(streams, event="", workers=None):
    """The peers in the bytes of the printed method's lines: :func:`cmlib.compress.at_equal_size` of each
    case.

    Parameters
    ----------
    streams : dict of str to Stream
    event : str, optional
        By default the first one counted along.
    workers : cmlib.fanout.Workers, optional

    Returns
    -------
    DataFrame
        Columns case, method, n_bytes, largest, rms; without cases in which the event never happens.
    """
    pairs = {name: stream.series(event) for name, stream in streams.items()}
    pairs = {name: (x, y) for name, (x, y) in pairs.items() if np.ptp(y) > 0}
    tables = fan_out(_at_size_of_printed, pairs.values(), workers)
    return pd.concat(dict(zip(pairs, tables, strict=True)), names=["case"]).reset_index()


def size_against_error(streams, event="", workers=None):
    """Curves of size against error, the median over the cases.

    Parameters
    ----------
    streams : dict of str to Stream
    event : str, optional
    workers : cmlib.fanout.Workers, optional

    Returns
    -------
    DataFrame
        method, size [share of the samples' 16 bytes], largest and rms (shares of the event's count);
        only sizes that a method reaches on most cases.
    """
    pairs = [stream.series(event) for stream in streams.values()]
    curves = pd.concat(list(fan_out(_curves, pairs, workers)))
    points = curves.groupby(["method", "size"], sort=False)[["largest", "rms"]]
    reached = points.size() > len(pairs) / 2
    return points.median()[reached].reset_index().sort_values("size", kind="stable")


def smaller_errors(table, *, case, ours="bounded", peer="swinging door"):
    """On which share of the cases our error is smaller than a peer's at equal size.

    Parameters
    ----------
    table : DataFrame
        Columns method, largest, rms, and those of `case`.
    case : list of str
        Columns that tell cases apart.

    Returns
    -------
    Series
        By largest and by rms [%], and the number of cases compared. Equal errors count as half.
    """
    better = {}
    for error in ("largest", "rms"):
        both = table.set_index([*case, "method"])[error].unstack("method")[[ours, peer]].dropna()
        better[error] = 100 * ((both[ours] < both[peer]) + 0.5 * (both[ours] == both[peer])).mean()
    return pd.Series(better | {"cases": len(both)})


def _at_size_of_printed(pair):
    return at_size_of_lines(compress(*pair), *pair)


def _curves(pair):
    return error_curves(*pair)
