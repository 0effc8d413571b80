"""How much smaller, and how well fitted: the paper's two figures of merit, and the distances."""

import numpy as np
import pandas as pd
from numba import njit

from cmlib.compress.lines import compress, reconstruct

SAMPLE_BYTES = 16  # x and y, as float64
LINE_BYTES = 24  # x_start, slope, intercept: §3.1


def fit_quality(lines, x, y):
    """What compression of one series gained and what it cost (Wu and Mencer, §4.2)."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    span = np.ptp(y)
    largest, rms = error_shares(y - reconstruct(lines, x).to_numpy(), span)
    return pd.Series(
        {
            "n_samples": len(x),
            "n_lines": len(lines),
            "reduction": len(x) / len(lines),
            "n_bytes": LINE_BYTES * len(lines),
            "mnesd": lines["sigma"].max() / span if span > 0 else 0.0,
            "largest": largest,
            "rms": rms,
        }
    )


def error_shares(off, span):
    """Largest and root mean square of some distances [counts], as shares of a span; 0 of a span of 0."""
    if not span > 0:
        return 0.0, 0.0
    return np.abs(off).max() / span, np.sqrt(np.mean(np.square(off))) / span


def swinging_door(x, y, deviation):
    """Keep the samples at which a door of twice the deviation swings shut (Bristol, 1990)."""
    return _swinging_door(np.asarray(x, dtype=float), np.asarray(y, dtype=float), float(deviation))


def bottom_up(x, y, n_lines):
    """Merge neighbouring pieces, the cheapest first, until `n_lines` are left; offline."""
    import ruptures

    signal = np.column_stack([_standard(y), _standard(x)])
    search = ruptures.BottomUp(custom_cost=_line_cost(), min_size=2, jump=1).fit(signal)
    return np.array(search.predict(n_bkps=n_lines - 1))


@njit(cache=True)
def line_residuals(x, y):
    """Distances of samples from their least-squares line."""
    dx, dy = x - x.mean(), y - y.mean()
    return dy - dx * ((dx * dy).sum() / (dx * dx).sum())


def zstd_samples(x, y, *, every=1, level=19):
    """Pack every so many-th raw sample with Zstandard; with `every` = 1 nothing is lost."""
    import zstandard

    vertices = np.unique(np.append(np.arange(0, len(x), every), len(x) - 1))
    counts = np.stack([np.asarray(x)[vertices], np.asarray(y)[vertices]]).astype(np.int64)
    steps = np.diff(counts, axis=1, prepend=0)
    return zstandard.ZstdCompressor(level=level).compress(steps.tobytes()), vertices


def _line_cost():
    """Ruptures' cost "linear" with one regressor, which by general least squares takes ten times as long."""
    import ruptures

    class LineCost(ruptures.base.BaseCost):
        model = "line"
        min_size = 2

        def fit(self, signal):
            self.signal = signal
            self.y, self.x = (np.ascontiguousarray(column) for column in signal.T)
            return self

        def error(self, start, end):
            return _line_error(self.x[start:end], self.y[start:end])

    return LineCost()


@njit(cache=True)
def _line_error(x, y):
    return 0.0 if x.size == 2 else (line_residuals(x, y) ** 2).sum()


def _standard(values):
    values = np.asarray(values, dtype=float)
    return (values - values.mean()) / (values.std() or 1.0)


@njit(cache=True)
def _swinging_door(x, y, deviation):
    vertices = np.empty(x.size, np.int64)
    vertices[0] = 0
    n, start = 1, 0
    flattest, steepest = -np.inf, np.inf
    for i in range(1, x.size):
        run, rise = x[i] - x[start], y[i] - y[start]
        if not flattest <= rise / run <= steepest:
            start = i - 1
            vertices[n] = start
            n += 1
            run, rise = x[i] - x[start], y[i] - y[start]
            flattest, steepest = -np.inf, np.inf
        flattest = max(flattest, (rise - deviation) / run)
        steepest = min(steepest, (rise + deviation) / run)
    if x.size > 1:
        vertices[n] = x.size - 1
        n += 1
    return vertices[:n]


def as_lines(x, y, **options):
    """By :func:`cmlib.compress.compress`."""
    lines = compress(x, y, **options)
    ends, slope, intercept = (lines[name].to_numpy() for name in ("x_end", "slope", "intercept"))
    at = np.searchsorted(ends, x)
    return LINE_BYTES * len(lines), y - (slope[at] * x + intercept[at])


def as_vertices(x, y, deviation):
    """By :func:`swinging_door`; read back along straight lines."""
    vertices = swinging_door(x, y, deviation)
    return SAMPLE_BYTES * len(vertices), y - np.interp(x, x[vertices], y[vertices])


def as_merged_pieces(x, y, n_lines):
    """By :func:`bottom_up`, each piece its least-squares line."""
    ends = bottom_up(x, y, int(n_lines))
    pieces = zip([0, *ends[:-1]], ends, strict=True)
    off = [line_residuals(x[a:b], y[a:b]) for a, b in pieces]
    return LINE_BYTES * len(ends), np.concatenate(off)


def as_packed_samples(x, y, every):
    """By :func:`zstd_samples`; read back along straight lines."""
    packed, vertices = zstd_samples(x, y, every=int(every))
    return len(packed), y - np.interp(x, x[vertices], y[vertices])


def at_equal_size(x, y, n_bytes):
    """Errors of lines with a bound and of the swinging door, each the finest that takes at most `n_bytes`."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    span = np.ptp(y)
    if n_bytes < 2 * LINE_BYTES or not span > 0:
        raise ValueError(f"nothing to compare in {n_bytes} bytes (at least 48) when y moves by {span:g}")
    ways = {
        "bounded": lambda off: as_lines(x, y, bound=off),
        "swinging door": lambda off: as_vertices(x, y, off),
    }
    rows = {
        method: _finest(way, np.geomspace(span, 1e-9 * span, 1000), n_bytes) for method, way in ways.items()
    }
    rows = {method: (size, *error_shares(off, span)) for method, (size, off) in rows.items()}
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["n_bytes", "largest", "rms"])
    return frame.rename_axis("method")


def _finest(way, coarse_to_fine, n_bytes):
    """Size and distances at the last setting that is small enough; sizes grow along the settings."""
    best, low, high = (np.nan, np.array([np.nan])), 0, len(coarse_to_fine)
    while low < high:
        middle = (low + high) // 2
        size, off = way(coarse_to_fine[middle])
        if size <= n_bytes:
            best, low = (size, off), middle + 1
        else:
            high = middle
    return best


_SIZES = np.geomspace(0.1, 0.004, 6)


def error_curves(x, y):
    """Errors of one series by each method at common sizes, read off the method's own curve."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    span = np.ptp(y)
    if not span > 0:
        return pd.DataFrame(columns=["method", "size", "largest", "rms"])
    distances = span * np.geomspace(0.3, 1e-5, 24)
    tolerances = np.geomspace(30, 1, 10)
    n_lines = {max(1, round(share * SAMPLE_BYTES * len(x) / LINE_BYTES)) for share in _SIZES}
    every = np.unique(np.geomspace(1, len(x) / 3, 16).astype(int))[::-1]
    methods = {
        "printed, 1 to 30 sigma": [as_lines(x, y, n_sigma=n) for n in tolerances],
        "drift test, 1 to 30 sigma": [as_lines(x, y, n_sigma=n, drift=20.0) for n in tolerances],
        "bounded": [as_lines(x, y, bound=distance) for distance in distances],
        "swinging door": [as_vertices(x, y, distance) for distance in distances],
        "bottom-up (offline)": [as_merged_pieces(x, y, n) for n in sorted(n_lines)],
        "zstd of every n-th sample": [as_packed_samples(x, y, n) for n in every],
    }
    curves = [_at_sizes(points, span, len(x)).assign(method=name) for name, points in methods.items()]
    return pd.concat(curves)


def _at_sizes(points, span, n_samples):
    """Errors at the common sizes, between the points by their logarithms."""
    rows = [(size / (SAMPLE_BYTES * n_samples), *error_shares(off, span)) for size, off in points]
    table = pd.DataFrame(rows, columns=["size", "largest", "rms"])
    table = table.groupby("size").min().clip(lower=1e-9)
    reached = (table.index.min() <= _SIZES) & (table.index.max() >= _SIZES)
    logs = {error: np.interp(np.log(_SIZES), np.log(table.index), np.log(table[error])) for error in table}
    return pd.DataFrame({"size": _SIZES} | {error: np.exp(values) for error, values in logs.items()})[reached]
