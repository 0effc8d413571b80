"""Series that were kept as lines: cleaned, ranked, and beside samples of another run."""

from dataclasses import replace

import numpy as np
import pandas as pd

from cmlib import store
from cmlib.clean import accuracy
from cmlib.compress import compress, intervals
from cmlib.fanout import Workers
from cmlib.rank import stability
from cmlib.study.data import cleaned_runs, load_all, whole_intervals
from cmlib.study.matrices import matrix

_SETS = ["ocoe", "sweep"]


def through_lines(counts, timer="cycles", *, drift=20.0, edges=None):
    """Counts an interval, turned into lines and read back.

    Parameters
    ----------
    counts : DataFrame
        Counts an interval, NaN where nothing was counted, which is taken as 0.
    timer : str
        Column that the lines run along.
    drift : float
        Of :func:`cmlib.compress.compress`.
    edges : {None, "kept"}
        Read back in as many intervals of equal counts of the timer, for which the lines are all
        that has to be kept; or at the ends of the intervals as they were.

    Returns
    -------
    counts : DataFrame
    n_numbers : int
        Numbers that the lines take: x_start, slope and intercept each.
    """
    totals = counts.fillna(0.0).cumsum()
    totals = totals[totals[timer].diff() != 0]
    where = {"n": len(totals)} if edges is None else {"edges": totals[timer].to_numpy()}
    columns, n_numbers = {}, 0
    for event in counts.columns.drop(timer):
        lines = compress(totals[timer], totals[[event]], drift=drift)
        read = intervals(lines, timer, **where)
        columns |= {timer: read[timer], event: read[event]}
        n_numbers += 3 * len(lines)
    frame = pd.DataFrame(columns)[list(counts.columns)]
    return (frame if edges is None else frame.set_index(totals.index)), n_numbers


def ranking_change(url, program, *, drift=20.0, n_seeds=10):
    """Rank a program's events on its recordings, and on the same kept as lines.

    Parameters
    ----------
    url : str
    program : str
    drift : float
    n_seeds : int >= 2
        Models behind each ranking.

    Returns
    -------
    agreement : DataFrame
        Of :func:`cmlib.rank.stability.rank_agreement`: program, compared (``lines``: recordings
        against lines; ``other models``: recordings against themselves by models of other
        seeds), measure, value, low, high.
    reduction : float
        Numbers recorded for each number that the lines take.
    """
    recorded = cleaned_runs(url, program, _SETS, method="interpolate", workers=Workers(1))
    read, n_numbers = zip(*(through_lines(run, drift=drift) for run in recorded["counts"]), strict=True)
    data, lined = matrix(recorded), matrix(recorded.assign(counts=list(read)))
    seeds, others = range(n_seeds), range(n_seeds, 2 * n_seeds)
    first = stability.draw_importances(data.X, data.ipc, seeds=seeds)
    tables = {
        "lines": stability.draw_importances(lined.X, lined.ipc, seeds=others),
        "other models": stability.draw_importances(data.X, data.ipc, seeds=others),
    }
    agreement = pd.concat(
        {name: stability.rank_agreement(first, draws) for name, draws in tables.items()},
        names=["compared", "measure"],
    )
    reduction = sum(run.size for run in recorded["counts"]) / sum(n_numbers)
    return agreement.reset_index().assign(program=program), reduction


def cleaning_change(url, program, *, drift=20.0):
    """Clean a program's multiplexed runs as recorded and as kept as lines, against its unmultiplexed ones.

    Returns
    -------
    DataFrame
        Of :func:`cmlib.clean.accuracy.compare_methods`, with program and kept (``as recorded``, ``as lines``).
    """
    ocoe, multiplexed = (load_all(url, program, mode=mode) for mode in ("ocoe", "mlpx"))
    known = {event for run in ocoe for event in run.counts} - set(ocoe[0].meta["pinned"])
    multiplexed = [run for run in multiplexed if known & set(run.counts)]
    kept = {"as recorded": multiplexed, "as lines": [_lined(run, drift) for run in multiplexed]}
    methods = ("scaling", "counterminer")
    tables = {name: accuracy.compare_methods(ocoe, runs, methods) for name, runs in kept.items()}
    return pd.concat(tables, names=["kept"]).reset_index("kept").assign(program=program)


def stored_beside_samples(url, streams, event=""):
    """Series that the store reads back from lines, beside samples of the same cases.

    Lines were kept while the program ran and samples were not, so these are two runs of each program.

    Parameters
    ----------
    url : str
        Of the store.
    streams : dict of str to Stream
    event : str, optional
        By default the first one counted along.

    Returns
    -------
    dict of str to DataFrame
        By case, for cases with such lines in the store. Index ``progress``: middle of the
        step, share of the timer's counts [0 to 1]; columns ``lines from the store`` and
        ``samples of another run``: counts of the event in each of as many equal steps of
        the run's own timer. A run that takes more of the timer for the same work
        counts the same in a step.
    """
    listed = store.runs(url, mode="lines")
    aligned = {}
    for name, stream in streams.items():
        x, y = stream.series(event)
        kept = listed[(listed["program"] == name) & (listed["set"] == f"{stream.kind}-lines")]
        kept = kept[[{stream.timer, y.name} <= set(events) for events in kept["events"]]]
        if kept.empty:
            continue
        counts = store.load(url, kept["run_id"].iloc[0]).counts
        edges = np.linspace(0.0, 1.0, len(counts) + 1)
        sampled = np.diff(np.interp(edges * x.iloc[-1], np.append(0.0, x), np.append(0.0, y)))
        columns = {"samples of another run": sampled, "lines from the store": counts[y.name].to_numpy()}
        aligned[name] = pd.DataFrame(columns, pd.Index((edges[:-1] + edges[1:]) / 2, name="progress"))
    return aligned


def _lined(run, drift) -> store.Run:
    counts, running = whole_intervals(run)
    read, _ = through_lines(counts, drift=drift, edges="kept")
    return replace(run, counts=read, running=running.loc[read.index], interval_s=run.interval_s[read.index])
