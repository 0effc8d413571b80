# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Other compression: do other methods lose less at the same size?
#
# **Question.** Do Wu and Mencer's lines stray less from the samples than what other methods of compression keep in as many bytes?
#
# *Reads* the streams of `cmlib fetch spec-llc`, in the cache or in the folder `CMLIB_PUBLIC`: last-level misses of SPEC CPU2006 on a Xeon Gold 5120, a sample each 100 million instructions. Without them it takes the sample streams of kernel events that come with cmlib. *Writes* size against error of six methods, and distances at equal size.
#
# [Notebook 07](07_compression.ipynb) has the paper's method with its formulas, how much smaller it makes each case, and how well its lines fit.

# %% tags=["parameters"]
suite: str = "spec-llc"  # streams to compress
folder: str = ""  # with other streams of the suite's form; empty: CMLIB_PUBLIC and the cache
cases: str = "all"  # cases to study, separated by commas, or all
program: str = "all"  # or programs that were sampled here, separated by commas, not the suite
event: str = ""  # event to compress; empty: last-level misses, mispredicted branches, or the first
alpha: float = 0.01  # tolerance for a line's third sample, share of the count
n_sigma: float = 3.0  # tolerance for the later ones, standard deviations
drift: float = 20.0  # threshold of the drift test, standard deviations added up
bound: float = 0.01  # hard bound on a sample's distance, share of the event's count
curve_cases: int = 6  # shortest cases, behind the curves of size against error
settings: dict = {}  # profile, results_folder

# %%
from bisect import bisect_right

import numpy as np
import pandas as pd
import ruptures
import seaborn as sns
import zstandard
from numba import njit

from cmlib import plot
from cmlib.compress import compress, fit_quality, reconstruct
from cmlib.experiments.sample_streams import load_streams
from cmlib.report.notebook import begin

# %%
limits = {
    "suite": ["spec-llc", "spec2000", "samples"], "alpha": (0, 1), "n_sigma": (0, 100), "drift":
    (0.5, 1000), "bound": (0.000001, 0.5), "curve_cases": (1, 100),
}
notebook = begin(
    "07c_other_compression", settings, suite=suite, folder=folder, cases=cases,
    program=program, event=event, alpha=alpha, n_sigma=n_sigma, drift=drift, bound=bound,
    curve_cases=curve_cases,
)
results = notebook.results
totals, source = load_streams(suite, event, cases, folder=folder, program=program)
one = next(iter(totals.values()))
timer, event = one.columns[:2]
totals = {name: counts for name, counts in sorted(totals.items()) if np.ptp(counts[event]) > 0}
about = f"{len(totals)} cases, `{event}` by `{timer}`; {source}."
one.head()

# %% [markdown]
# ## How far lines stray
#
# Counts are cumulative. A line of the printed method ends before a sample whose residual $r_{n+1} = y_{n+1} - k_n x_{n+1} - b_n$ is beyond three standard deviations, $|r_{n+1}| > 3\hat\sigma$ (§3.4). The paper names a weakness: samples that move slowly to one side widen a line's standard deviation until any sample fits.
#
# The drift test (Page 1954, not in the paper) also ends a line when residuals on one side have added up,
#
# $$g_{n+1} = \max\big(0,\ g_n \pm r_{n+1} / \hat\sigma - \tfrac{1}{2}\big) > drift.$$
#
# With a hard bound, a line ends only where no straight line stays within it, $\max_i |y_i - k x_i - b| \le bound$ (O'Rourke 1981). A line is three numbers of eight bytes.

# %%
def fit(counts):
    """Bytes and largest distance of one case by each kind of lines."""
    x, y = counts[timer], counts[event]
    paper_way = {"alpha": alpha, "n_sigma": n_sigma}
    ways = {"printed": paper_way, "drift": paper_way | {"drift": drift}}
    ways["bounded"] = {"bound": bound * max(np.ptp(y), 1)}
    qualities = {way: fit_quality(compress(x, y, **how), x, y) for way, how in ways.items()}
    return pd.DataFrame(qualities).T[["n_bytes", "largest"]]


fits = pd.concat({name: fit(counts) for name, counts in totals.items()}, names=["case", "method"])
largest = fits["largest"].unstack()
figure, _ = plot.by_case(
    largest[["printed", "drift", "bounded"]],
    ylabel="largest distance\n[share of the count]",
    levels={"bound": bound},
)
results.figure(
    figure,
    "drift",
    "**Figure.** Largest distance of any sample from its line: as printed, with the drift test, "
    f"with the bound. {about}",
)

# %% [markdown]
# ## Size against error
#
# Methods must be compared at equal size: lower and further left is better. Swinging door is used in process control; bottom-up segmentation uses the whole stream, which no online method can; every n-th sample, packed by zstd, is the simplest baseline. On the paper's suite the printed method is the worst of all: it spends its lines on the noise of nearly straight stretches, and lets a line that has become wide go on.


# %%
@njit
def swinging_door(x, y, deviation):
    """Samples at which a door of twice the deviation swings shut (Bristol, 1990)."""
    kept, flattest, steepest = [0], -np.inf, np.inf
    for i in range(1, x.size):
        start = kept[-1]
        if not flattest <= (y[i] - y[start]) / (x[i] - x[start]) <= steepest:
            start, flattest, steepest = i - 1, -np.inf, np.inf
            kept.append(start)
        run, rise = x[i] - x[start], y[i] - y[start]
        flattest = max(flattest, (rise - deviation) / run)
        steepest = min(steepest, (rise + deviation) / run)
    return np.array(kept + [x.size - 1])


def from_line(x, y):
    """Distances of samples from their least-squares line."""
    dx, dy = x - x.mean(), y - y.mean()
    return dy - dx * (dx @ dy) / (dx @ dx)


# %%
def as_lines(x, y, **how):
    """Bytes of the lines, three numbers each, and distances from them."""
    lines = compress(x, y, **how)
    return 24 * len(lines), y - reconstruct(lines, x).to_numpy()


def as_samples(x, y, kept):
    """Bytes of the samples kept, two numbers each, and distances from straight lines between."""
    return 16 * len(kept), y - np.interp(x, x[kept], y[kept])


def as_pieces(x, y, ends):
    """Bytes of pieces that end at some samples, and distances from their least-squares lines."""
    pieces = zip([0, *ends[:-1]], ends, strict=True)
    return 24 * len(ends), np.concatenate([from_line(x[a:b], y[a:b]) for a, b in pieces])


def as_packed(x, y, every):
    """Bytes of every so many-th sample packed by zstd, and distances from lines between."""
    kept = np.unique(np.append(np.arange(0, len(x), every), len(x) - 1))
    steps = np.diff(np.stack([x[kept], y[kept]]).astype(np.int64), axis=1, prepend=0)
    return len(zstandard.compress(steps.tobytes(), 19)), as_samples(x, y, kept)[1]


# %%
def every_way(x, y):
    """Size and distances of one case by each method, from few bytes to many."""
    sigmas, bounds = np.geomspace(30, 1, 10), np.ptp(y) * np.geomspace(0.3, 1e-5, 24)
    signal = np.stack([(of - of.mean()) / of.std() for of in (y, x)] + [np.ones(len(x))], axis=1)
    merged = ruptures.BottomUp(model="linear", min_size=2, jump=1).fit(signal)
    breaks = {max(0, round(size * 16 * len(x) / 24) - 1) for size in SIZES}
    every = np.unique(np.geomspace(1, len(x) / 3, 16).astype(int))
    doors = (swinging_door(x, y, bound) for bound in bounds)
    drifting = [as_lines(x, y, n_sigma=n, drift=drift) for n in sigmas]
    return {"printed, 1 to 30 sigma": [as_lines(x, y, n_sigma=n) for n in sigmas],
            "drift test, 1 to 30 sigma": drifting,
            "bounded": [as_lines(x, y, bound=bound) for bound in bounds],
            "swinging door": [as_samples(x, y, kept) for kept in doors],
            "bottom-up (offline)": [as_pieces(x, y, merged.predict(n_bkps=n)) for n in breaks],
            "zstd of every n-th sample": [as_packed(x, y, n) for n in every]}


# %%
def at_sizes(points, x, y):
    """Errors of a method at the common sizes, between its points by their logarithms."""
    rows = [(size / (16 * len(x)), np.abs(off).max(), np.sqrt(np.mean(off**2)))
            for size, off in points]
    table = pd.DataFrame(rows, columns=["size", "largest", "rms"]).groupby("size").min()
    table = (table / np.ptp(y)).clip(lower=1e-9)
    reached = SIZES[(table.index.min() <= SIZES) & (table.index.max() >= SIZES)]
    return pd.DataFrame({"size": reached} | {
        error: np.exp(np.interp(np.log(reached), np.log(table.index), np.log(table[error])))
        for error in table
    })


@plot.styled
def draw(points):
    """Error against size, a curve a method, a panel a measure of error."""
    figure, axes = plot.panels(list(errors), height=3.3)
    for ax, (column, label) in zip(axes, errors.items(), strict=True):
        sns.lineplot(points, x="size", y=column, hue="method", style="method", markers=True,
                     dashes=False, ax=ax, legend=ax is axes[0])
        ax.set(xlabel="size [share of the samples]", ylabel=label, xscale="log", yscale="log")
    axes[0].legend(loc="lower left", fontsize=7)
    return figure, axes


# %%
SIZES = np.geomspace(0.1, 0.004, 6)
picked = sorted(totals, key=lambda name: len(totals[name]))[:curve_cases]
curves = []
for name in picked:
    x, y = totals[name][[timer, event]].to_numpy(float).T
    for method, found in every_way(x, y).items():
        curves.append(at_sizes(found, x, y).assign(method=method))
curves = pd.concat(curves)
points = curves.groupby(["method", "size"], sort=False)[["largest", "rms"]]
points = points.median()[points.size() > len(picked) / 2].reset_index()
errors = {name: f"{name} distance [share of the count]" for name in ("largest", "rms")}
figure, _ = draw(points)
results.figure(
    figure,
    "peers",
    f"**Figure.** Size against error, median of the {len(picked)} shortest cases: lines as "
    f"printed, with the drift test and with the bound, and other methods. {source.capitalize()}.",
)

# %% [markdown]
# ## At the size of the printed lines
#
# Of lines with a bound and of swinging door, the finest setting is taken that needs no more bytes than the printed method's lines.

# %%
def nearest(way, x, y, n_bytes):
    """Largest distance at the finest of a thousand settings that takes no more bytes."""
    settings = np.geomspace(np.ptp(y), 1e-9 * np.ptp(y), 1000)
    n_small = bisect_right(settings, n_bytes, key=lambda off: way(x, y, off)[0])
    return np.abs(way(x, y, settings[n_small - 1])[1]).max() / np.ptp(y) if n_small else np.nan


ways = {"bounded": lambda x, y, off: as_lines(x, y, bound=off),
        "swinging door": lambda x, y, off: as_samples(x, y, swinging_door(x, y, off))}
n_bytes = fits["n_bytes"].xs("printed", level="method").astype(int).clip(lower=48)
series = {name: counts[[timer, event]].to_numpy(float).T for name, counts in totals.items()}
gap = {method: {name: nearest(way, *own, n_bytes[name]) for name, own in series.items()}
       for method, way in ways.items()}
gap = pd.DataFrame(gap).rename_axis("case")
better = gap["bounded"] < gap["swinging door"]
results.table(
    gap.reset_index(),
    "equal-size",
    "**Table.** Largest distance where no method takes more bytes than the printed one's lines "
    "[share of the count].",
    rows=12,
    decimals=5,
)

# %% [markdown]
# ## What was found

# %%
rivals = ["printed, 1 to 30 sigma", "zstd of every n-th sample"]
both = points.pivot(index="size", columns="method", values="largest").reindex(columns=rivals)
further = (both[rivals[0]] / both[rivals[1]]).median()
name = "largest distance of the printed lines by that of every n-th sample, at equal size"
beside = ""
if further == further:  # both reach a common size
    beside = (
        f"At equal size lines as printed stray {further:.2g} times as far as every n-th sample, "
        f"packed by zstd ({source}). "
    )
    results.number(name, further, note=f"median of the sizes; {len(picked)} shortest cases")
name = "cases in which lines with a bound stay nearer than swinging door at equal size"
results.number(name, 100 * better.mean(), "%", note=f"largest distance; {len(better)} cases")
results.numbers()

# %%
results.finding(
    f"{beside}Lines with a hard bound stay nearer than swinging door in {better.sum()} of "
    f"{len(better)} cases."
)

# %% [markdown]
# ## What this doesn't show
#
# A sample each 100 million instructions is the mean of fifty or more of the paper's, which has one each million cycles: which method does best there is seen only on kernel events (`-p suite=samples`). The curves are of the shortest cases, as bottom-up segmentation takes long. Time and memory are not compared: notebook 07a has what finding lines live costs.
#
# **References.** Wu and Mencer, *Online Linear Regression of Sampling Data from Performance Event Counters*. Navarro-Torres et al., *Memory hierarchy characterization of SPEC CPU2006 and SPEC CPU2017 on the Intel Xeon Skylake-SP*, PLOS ONE 2019 (the streams). Bristol, *Swinging door trending*, 1990. Keogh et al., *An online algorithm for segmenting time series*, 2001 (bottom-up). O'Rourke, *An on-line algorithm for fitting straight lines between data ranges*, 1981. Page, *Continuous inspection schemes*, 1954.

# %%
results.save()
