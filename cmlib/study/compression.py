"""Sample streams as straight lines: sizes, fits, peers and costs, case by case."""

import gzip
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from cmlib import store
from cmlib.compress import (
    OnlineRegression,
    at_equal_size,
    bottom_up,
    compress,
    fit_quality,
    reconstruct,
    survey,
    swinging_door,
    zstd_samples,
)
from cmlib.fanout import fan_out
from cmlib.samples import compress_samples, find_lines, find_streams, read_samples
from cmlib.study.data import whole_intervals

_SAMPLE, _LINE = 16, 24  # bytes of x and y, and of x_start, slope and intercept, as doubles
_SIZES = np.geomspace(0.1, 0.004, 6)
_RATE = 2000  # samples a second: the paper's


@dataclass(frozen=True)
class Stream:
    """One case: a program with its input, sampled once.

    Attributes
    ----------
    name : str
    kind : {"hardware", "software"}
    path : pathlib.Path
    timer : str
        The event that timed the sampling.
    totals : DataFrame, shape (n_samples, n_events)
        Cumulated counts; the timer is the first column.
    """

    name: str
    kind: str
    path: Path
    timer: str
    totals: pd.DataFrame

    def series(self, event=""):
        """Counts of the timer and of an event; without a name, the first one counted along."""
        return self.totals[self.timer], self.totals[event or self.totals.columns[1]]


def load_streams(folder="", kind="auto", wanted="all"):
    """Read the sample streams.

    Parameters
    ----------
    folder : path, optional
        `data/samples` by default.
    kind : {"auto", "hardware", "software"}
        See :func:`cmlib.samples.find_streams`.
    wanted : str, default "all"
        Names of cases with commas between, or ``all``.

    Returns
    -------
    dict of str to Stream

    Raises
    ------
    NothingRecordedError
        If there is none.
    ValueError
        If one that is named is not there.
    """
    found = find_streams(folder or None, kind).drop_duplicates("name").set_index("name", drop=False)
    names = list(found.index) if wanted == "all" else [name.strip() for name in wanted.split(",")]
    for name in names:
        if name not in found.index:
            raise ValueError(f"there is no sample stream {name!r}; there are {', '.join(found.index)}.")
    return {
        row.name: Stream(row.name, row.kind, row.path, row.events[0], read_samples(row.path))
        for row in found.loc[names].itertuples(index=False)
    }


def fits(streams, event="", *, alpha=0.01, n_sigma=3.0, drift=20.0, bound=0.01):
    """Every case as printed, with the drift test, and with a hard bound.

    Parameters
    ----------
    streams : dict of str to Stream
    event : str, optional
        By default the first one counted along.
    alpha, n_sigma, drift
        Of :func:`cmlib.compress.compress`.
    bound : float
        Share of the event's whole count.

    Returns
    -------
    DataFrame
        A row a case and method (printed, drift, bounded): case, method, those of
        :func:`cmlib.compress.fit_quality`, and the sizes ``perf's text`` and
        ``samples`` [bytes]. Cases in which the event never happens are left out.
    """
    rows = []
    for name, stream in streams.items():
        x, y = stream.series(event)
        if not np.ptp(y) > 0:
            continue
        text = len(gzip.decompress(stream.path.read_bytes()))
        printed = {"alpha": alpha, "n_sigma": n_sigma}
        methods = {
            "printed": printed,
            "drift": printed | {"drift": drift},
            "bounded": {"bound": bound * np.ptp(y)},
        }
        for method, options in methods.items():
            quality = fit_quality(compress(x, y, **options), x, y)
            rows.append(
                {"case": name, "method": method, **quality, "perf's text": text, "samples": _SAMPLE * len(x)}
            )
    return pd.DataFrame(rows)


def fits_of_all_events(streams, **options):
    """:func:`fits` of every event, with a column ``event``."""
    events = list(dict.fromkeys(e for stream in streams.values() for e in stream.totals.columns[1:]))
    return pd.concat([fits(streams, event, **options).assign(event=event) for event in events])


def drawn(stream, event="", **options):
    """A case's samples and lines, to be drawn.

    Returns
    -------
    samples : Series
        The event's count by that of the timer.
    lines : DataFrame, shape (n_lines, 4)
        x_start, y_start, x_end, y_end.
    """
    x, y = stream.series(event)
    lines = compress(x, y, **options)
    ends = {f"y_{end}": lines["slope"] * lines[f"x_{end}"] + lines["intercept"] for end in ("start", "end")}
    return pd.Series(y.to_numpy(), x.to_numpy()), lines[["x_start", "x_end"]].assign(**ends)


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
    found = {}
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
        found[name] = pd.DataFrame(columns, pd.Index((edges[:-1] + edges[1:]) / 2, name="progress"))
    return found


def constancy(streams, event=""):
    """How evenly an event happens: 0 at a constant rate, up to 1 where all of it happens at once.

    The largest distance of the count from the straight line between the run's ends, as a share of the count.
    """
    found = {}
    for name, stream in streams.items():
        x, y = stream.series(event)
        even = np.interp(x, [x.iloc[0], x.iloc[-1]], [y.iloc[0], y.iloc[-1]])
        found[name] = np.abs(y - even).max() / np.ptp(y) if np.ptp(y) > 0 else np.nan
    return pd.Series(found, name="constancy").dropna().sort_values()


def peers_of_streams(streams, event="", workers=None):
    """The peers at the size of the printed method's lines: :func:`cmlib.compress.at_equal_size` of each case."""
    pairs = [stream.series(event) for stream in streams.values()]
    tables = list(fan_out(_at_size_of_lines, pairs, workers))
    found = {name: table for name, table in zip(streams, tables, strict=True) if table is not None}
    return pd.concat(found, names=["case"]).reset_index()


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


def interval_series(url, *, programs, n_runs=0, drift=20.0, workers=None):
    """Every event of every recorded run of the sets ocoe and sweep, each interval taken as a sample.

    Parameters
    ----------
    url : str
        Of the store.
    programs : list of str
    n_runs : int, default 0
        Only so many of the runs; 0 takes all.
    drift : float
    workers : cmlib.fanout.Workers, optional

    Returns
    -------
    DataFrame
        Result of :func:`cmlib.compress.survey`, with columns program and run.
    """
    ids = store.runs(url).query("program in @programs and set in ['ocoe', 'sweep']")["run_id"]
    ids = ids[: n_runs or None]
    tables = list(fan_out(partial(_survey, url, drift=drift), ids, workers))
    return pd.concat(dict(zip(ids, tables, strict=True)), names=["run"]).reset_index()


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
    found = {}
    for error in ("largest", "rms"):
        both = table.set_index([*case, "method"])[error].unstack("method")[[ours, peer]].dropna()
        found[error] = 100 * ((both[ours] < both[peer]) + 0.5 * (both[ours] == both[peer])).mean()
    return pd.Series(found | {"cases": len(both)})


def costs(streams, repeats=3):
    """Processor time of the compressor, as a share of the program's at 2,000 samples a second.

    Neither the number of samples nor other programs on the machine matter, only this process's own processor time.

    Returns
    -------
    DataFrame
        Index case; the shares [%] of the regression alone, which is what the paper counts; of the whole way from
        perf's text to lines of all events of the group on the disk; and, where lines were recorded while the
        program ran, of the recording process then.
    """
    with tempfile.TemporaryDirectory() as folder:
        rows = [_cost(stream, repeats, Path(folder)) for stream in streams.values()]
    live = (
        find_lines(folder_of(streams), next(iter(streams.values())).kind)
        .drop_duplicates("name")
        .set_index("name")
    )
    frame = pd.DataFrame(rows).set_index("case")
    return frame.assign(**{"live recording of lines": 100 * _RATE * live["own_s"] / live["n_samples"]})


def folder_of(streams):
    """The folder that the streams are kept in."""
    return next(iter(streams.values())).path.parent.parent


def _cost(stream, repeats, folder):
    x, y = (values.to_numpy(dtype=float) for values in stream.series())
    regression = _least(lambda n: OnlineRegression().extend(x, y), repeats)
    everything = _least(lambda n: compress_samples(stream.path, folder / f"{stream.name}-{n}"), repeats)
    share = 100 * _RATE / len(x)
    return {
        "case": stream.name,
        "regression": share * regression,
        "from perf's text to stored lines": share * everything,
    }


def _least(run, repeats):
    run(-1)
    spent = []
    for number in range(repeats):
        began = time.thread_time()
        run(number)
        spent.append(time.thread_time() - began)
    return min(spent)


def _at_size_of_lines(pair):
    x, y = pair
    if not np.ptp(y) > 0:
        return None
    return at_equal_size(x, y, max(48, _LINE * len(compress(x, y))))


def _survey(url, run_id, *, drift):
    counts, _ = whole_intervals(store.load(url, run_id))
    return survey(counts, "cycles", drift=drift)


def _curves(pair):
    """One case's errors by each method at common sizes, read off its own curve."""
    x, y = (values.to_numpy(dtype=float) for values in pair)
    span = np.ptp(y)
    if not span > 0:
        return pd.DataFrame(columns=["method", "size", "largest", "rms"])
    distances = span * np.geomspace(0.3, 1e-5, 24)
    lines = [max(1, round(share * _SAMPLE * len(x) / _LINE)) for share in _SIZES]
    every = np.unique(np.geomspace(1, len(x) / 3, 16).astype(int))[::-1]
    methods = {
        "printed, 1 to 30 sigma": [_lined(x, y, n_sigma=n) for n in np.geomspace(30, 1, 10)],
        "drift test, 1 to 30 sigma": [_lined(x, y, n_sigma=n, drift=20.0) for n in np.geomspace(30, 1, 10)],
        "bounded": [_lined(x, y, bound=distance) for distance in distances],
        "swinging door": [_swung(x, y, distance) for distance in distances],
        "bottom-up (offline)": [_merged(x, y, n) for n in sorted(set(lines))],
        "zstd of every n-th sample": [_packed(x, y, int(n)) for n in every],
    }
    return pd.concat(
        [_at_sizes(points, span, len(x)).assign(method=name) for name, points in methods.items()]
    )


def _at_sizes(points, span, n):
    table = pd.DataFrame(
        [
            (size / (_SAMPLE * n), np.abs(off).max() / span, np.sqrt(np.mean(off**2)) / span)
            for size, off in points
        ],
        columns=["size", "largest", "rms"],
    )
    table = table.groupby("size").min().clip(lower=1e-9)
    reached = (table.index.min() <= _SIZES) & (table.index.max() >= _SIZES)
    at = {
        error: np.exp(np.interp(np.log(_SIZES), np.log(table.index), np.log(table[error]))) for error in table
    }
    return pd.DataFrame({"size": _SIZES} | at)[reached]


def _lined(x, y, **options):
    lines = compress(x, y, **options)
    return _LINE * len(lines), y - reconstruct(lines, x).to_numpy()


def _swung(x, y, deviation):
    kept = swinging_door(x, y, deviation)
    return _SAMPLE * len(kept), y - np.interp(x, x[kept], y[kept])


def _merged(x, y, n_lines):
    ends = bottom_up(x, y, n_lines)
    pieces = zip([0, *ends[:-1]], ends, strict=True)
    off = [y[a:b] - np.polynomial.Polynomial.fit(x[a:b], y[a:b], 1)(x[a:b]) for a, b in pieces]
    return _LINE * len(ends), np.concatenate(off)


def _packed(x, y, every):
    packed, kept = zstd_samples(x, y, every=every)
    return len(packed), y - np.interp(x, x[kept], y[kept])
