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
# # Other compression: how near to the samples lines stay, and what other methods keep in as many bytes
#
# **Question.** In as many bytes, do Wu and Mencer's lines stay nearer to the samples than what other methods keep?
#
# *Reads* the streams of `cmlib fetch spec-llc`, in the cache or in the folder `CMLIB_PUBLIC`: last-level misses of programs of SPEC CPU2006 on a Xeon Gold 5120, which others recorded, a sample each 100 million instructions. Without them it takes the streams of kernel events that come with cmlib. *Writes* size against error of each method, and distances at equal size.
#
# The paper compares its lines with no other method. [Notebook 07](07_compression.ipynb) has its method step by step, and how much smaller it makes each case.

# %% tags=["parameters"]
suite: str = "spec-llc"  # streams to compress
folder: str = ""  # with other streams of the suite's form; empty: CMLIB_PUBLIC and the cache
cases: str = "all"  # cases to study, separated by commas, or all
program: str = "all"  # or programs that were sampled here, separated by commas, not the suite
event: str = ""  # event to compress; empty: last-level misses, mispredicted branches, or the first
alpha: float = 0.01  # tolerance for a line's third sample, share of the count
n_sigma: float = 3.0  # tolerance for the later ones, standard deviations
drift: float = 20.0  # threshold of the drift test, standard deviations added up
curve_cases: int = 6  # shortest cases, behind the curves of size against error
settings: dict = {}  # profile, results_folder

# %%
from bisect import bisect_right

import numpy as np
import pandas as pd
import ruptures
import zstandard
from IPython.display import Markdown
from numba import njit

from cmlib import plot
from cmlib.compress import compress, reconstruct
from cmlib.experiments.sample_streams import load_streams
from cmlib.report.notebook import begin

limits = {
    "suite": ["spec-llc", "spec2000", "samples"], "alpha": (0, 1), "n_sigma": (0, 100),
    "drift": (0.5, 1000), "curve_cases": (1, 100),
}
notebook = begin(
    "07c_other_compression", settings, suite=suite, folder=folder, cases=cases,
    program=program, event=event, alpha=alpha, n_sigma=n_sigma, drift=drift,
    curve_cases=curve_cases,
)
results = notebook.results

# %%
totals, source = load_streams(suite, event, cases, folder=folder, program=program)
one = next(iter(totals.values()))
timer, event = one.columns[:2]
totals = {name: counts for name, counts in sorted(totals.items()) if np.ptp(counts[event]) > 0}
about = f"{len(totals)} cases, `{event}` by `{timer}`; {source}."
whose = ("others' recordings on an Intel Xeon Gold 5120; not the paper's, though of its suite"
         if source.endswith("spec-llc") else "not the paper's")
display(Markdown(f"**Data.** {about[:-1]}, {min(map(len, totals.values())):,} to "
                 f"{max(map(len, totals.values())):,} samples each; {whose}."))
one.head()

# %% [markdown]
# A row is a sample: counts so far. A *case* is a program with one of its inputs.
#
# ## The methods
#
# Whatever is kept is read back as a count at each sample, and its distance from the real one is the error. A line is three numbers of eight bytes, a sample two.
#
# - *As printed*: a line ends before a sample more than three standard deviations of its residuals away, $|y_{n+1} - k_n x_{n+1} - b_n| > 3\hat\sigma$ (Wu and Mencer, §3.4). Samples that move slowly to one side widen $\hat\sigma$ until any sample fits; the paper names this weakness.
# - *Drift test* (Page 1954): such a line also ends when its residuals $r$ on one side have added up, $g_{n+1} = \max(0,\ g_n \pm r_{n+1} / \hat\sigma - \tfrac{1}{2}) > drift$.
# - *Bounded* (O'Rourke 1981): a line ends only where no straight line stays within a hard bound, $\max_i |y_i - k x_i - b| \le bound$.
# - *Swinging door* (Bristol 1990), of process control: keeps samples so that straight lines between them stay within a bound.
# - *Bottom-up* (Keogh 2001): merges neighbouring pieces, which takes the whole stream; the others go through it once.
# - *Every n-th sample*: the simplest baseline, kept as plainly as the others (two numbers a sample), and *packed* by zstd, a general compressor, as none of the others is.

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
def as_lines(x, y, **options):
    """Bytes of the lines, three numbers each, and distances from them."""
    lines = compress(x, y, **options)
    return 24 * len(lines), y - reconstruct(lines, x).to_numpy()


def as_samples(x, y, kept):
    """Bytes of the samples kept, two numbers each, and distances from straight lines between."""
    return 16 * len(kept), y - np.interp(x, x[kept], y[kept])


def as_pieces(x, y, ends):
    """Bytes of pieces that end at some samples, and distances from their least-squares lines."""
    pieces = zip([0, *ends[:-1]], ends, strict=True)
    return 24 * len(ends), np.concatenate([from_line(x[a:b], y[a:b]) for a, b in pieces])


# %%
def every_nth(x, every):
    """Positions of every so many-th sample and of the last."""
    return np.unique(np.append(np.arange(0, len(x), every), len(x) - 1))


def as_packed(x, y, kept):
    """Bytes of the samples kept, packed by zstd, and distances from straight lines between."""
    steps = np.diff(np.stack([x[kept], y[kept]]).astype(np.int64), axis=1, prepend=0)
    return len(zstandard.compress(steps.tobytes(), 19)), as_samples(x, y, kept)[1]


# %% [markdown]
# ## Every case, at the size of its printed lines
#
# Of lines with a bound and of swinging door, the finest setting is taken that needs no more bytes than the lines as printed.

# %%
def nearest(way, x, y, n_bytes):
    """Bytes and distances at the finest of a thousand settings that takes no more bytes."""
    settings = np.geomspace(np.ptp(y), 1e-9 * np.ptp(y), 1000)
    n_small = bisect_right(settings, n_bytes, key=lambda off: way(x, y, off)[0])
    return way(x, y, settings[n_small - 1]) if n_small else (np.nan, np.full(len(y), np.nan))


ways = {"bounded": lambda x, y, off: as_lines(x, y, bound=off),
        "swinging door": lambda x, y, off: as_samples(x, y, swinging_door(x, y, off))}
largest, rms, filled = {}, {}, {}
for name, counts in totals.items():
    x, y = counts[[timer, event]].to_numpy(float).T
    n_bytes, off = as_lines(x, y, alpha=alpha, n_sigma=n_sigma)
    found = {way: nearest(of, x, y, max(48, n_bytes)) for way, of in ways.items()}
    distances = {"as printed": off} | {way: off for way, (_, off) in found.items()}
    filled[name] = found["bounded"][0] / n_bytes
    largest[name] = {way: np.abs(off).max() / np.ptp(y) for way, off in distances.items()}
    rms[name] = {way: np.sqrt(np.mean(off**2)) / np.ptp(y) for way, off in distances.items()}
gap, rms = (pd.DataFrame(of).T.rename_axis("case") for of in (largest, rms))
better = gap["bounded"] < gap["swinging door"]

# %%
figure, _ = plot.by_case(gap, ylabel="largest distance\n[share of the count]")
times = (gap["as printed"] / gap["bounded"]).median()
nearer = int((gap["as printed"] < gap["bounded"]).sum())
results.figure(
    figure,
    "equal-size",
    "**Figure.** Largest distance of any sample from what is kept, where no method takes more "
    "bytes than the lines as printed (those with a bound "
    f"{100 * np.nanmedian(list(filled.values())):.1f} % of them in the median). {about} *See:* as "
    f"printed, lines stray {times:.0f} times as far as lines with a bound (median); they stay "
    f"nearer in {nearer} of {len(gap)} cases.")

# %%
both = gap.join(rms.add_suffix(", rms")) * 100
times_rms = (rms["as printed"] / rms["bounded"]).median()
results.table(
    both.reset_index(), "equal-size",
    f"**Table.** First {min(5, len(both))} of {len(both)} cases: largest distance, and root "
    "mean square distance of all samples (rms) [% of the count]. *See:* by the rms, lines as "
    f"printed stray {times_rms:.0f} times as far as lines with a bound (median).",
    rows=5, decimals=5)

# %% [markdown]
# ## Size against error
#
# Each method with coarser and finer settings (lines as printed and with the drift test at 1 to 30 standard deviations in place of `n_sigma`), read at six common sizes: lower and further left is better.

# %%
def every_way(x, y):
    """Size and distances of one case by each method, from few bytes to many."""
    sigmas, bounds = np.geomspace(30, 1, 10), np.ptp(y) * np.geomspace(0.3, 1e-5, 24)
    signal = np.stack([(of - of.mean()) / of.std() for of in (y, x)] + [np.ones(len(x))], axis=1)
    merged = ruptures.BottomUp(model="linear", min_size=2, jump=1).fit(signal)
    breaks = {max(0, round(size * 16 * len(x) / 24) - 1) for size in SIZES}
    kept = [every_nth(x, n) for n in np.unique(np.geomspace(1, len(x) / 3, 16).astype(int))]
    doors = (swinging_door(x, y, bound) for bound in bounds)
    return {"as printed": [as_lines(x, y, n_sigma=n) for n in sigmas],
            "drift test": [as_lines(x, y, n_sigma=n, drift=drift) for n in sigmas],
            "bounded": [as_lines(x, y, bound=bound) for bound in bounds],
            "swinging door": [as_samples(x, y, kept) for kept in doors],
            "bottom-up (offline)": [as_pieces(x, y, merged.predict(n_bkps=n)) for n in breaks],
            "every n-th sample": [as_samples(x, y, of) for of in kept],
            "every n-th sample, packed": [as_packed(x, y, of) for of in kept]}


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


# %%
@plot.styled
def draw(points):
    """Error against size, a curve a method, a panel a measure of error."""
    figure, axes = plot.panels(list(errors), height=3.5, sharey=True)
    look = dict(zip(METHODS, zip(plot.palette(7), "os^Dv*P", strict=True), strict=True))
    for ax, (column, label) in zip(axes, errors.items(), strict=True):
        for method, rows in points.groupby("method", sort=False):
            colour, mark = look[method]
            ax.plot(rows["size"], rows[column], color=colour, marker=mark, ms=5, label=method)
        ax.set(title=label, xlabel="bytes [share of the samples']", xscale="log", yscale="log")
    axes[0].set_ylabel("[share of the count]")
    plot.legend_below(figure, axes[0], 3)
    return figure, axes


# %%
SIZES = np.geomspace(0.1, 0.004, 6)
METHODS = ["as printed", "drift test", "bounded", "swinging door", "bottom-up (offline)",
           "every n-th sample", "every n-th sample, packed"]
picked = sorted(totals, key=lambda name: len(totals[name]))[:curve_cases]
curves = []
for name in picked:
    x, y = totals[name][[timer, event]].to_numpy(float).T
    for method, found in every_way(x, y).items():
        curves.append(at_sizes(found, x, y).assign(method=method))
curves = pd.concat(curves)
points = curves.groupby(["method", "size"], sort=False)[["largest", "rms"]]
points = points.median()[points.size() > len(picked) / 2].reset_index()
errors = {"largest": "largest distance", "rms": "root mean square distance"}
at_size = points.pivot(index="size", columns="method", values="largest").reindex(columns=METHODS)
of_printed, of_packed = (at_size.rdiv(at_size["as printed"], axis=0)[way].dropna()
                         for way in METHODS[-2:])  # how many times as far lines are as printed
further = of_packed.median()
of_drift, sizes = (at_size["drift test"] / at_size[METHODS[-2]]).median(), at_size.count()
nearest_by_rms = points.loc[points.groupby("size")["rms"].idxmin(), "method"].value_counts()
farthest = at_size.idxmax(axis=1).value_counts()

# %%
figure, _ = draw(points)
results.figure(
    figure,
    "peers",
    f"**Figure.** Error against size, median of the {len(picked)} shortest cases; a method is "
    f"drawn at the sizes that it reaches in most cases (the drift test at {sizes['drift test']} of "
    f"{len(SIZES)}). {source.capitalize()}. *See:* left, {farthest.index[0]} strays farthest at "
    f"{farthest.iloc[0]} of {len(at_size)} sizes; right, {nearest_by_rms.index[0]} is nearest at "
    f"{nearest_by_rms.iloc[0]}.",
)

# %%
name = "largest distance of the printed lines by that of every n-th sample, at equal size"
beside = ""
if further == further:  # both reach a common size
    beside = (f" From every n-th sample, with straight lines between, the largest distance is "
              f"{of_printed.min():.2g} to {of_printed.max():.2g} times smaller, depending on the "
              f"size, and {of_packed.min():.2g} to {of_packed.max():.2g} times if zstd packs these "
              f"samples ({len(picked)} shortest cases).")
    if sizes["drift test"]:
        beside += (f" That of lines with the drift test is {of_drift:.2g} times that of every n-th "
                   f"sample, at the {sizes['drift test']} of {len(SIZES)} sizes that they reach.")
    results.number(name, further, note=f"packed by zstd; median of the sizes; {len(picked)} "
                                       "shortest cases")
name = "cases in which lines with a bound stay nearer than swinging door at equal size"
results.number(name, 100 * better.mean(), "%", note=f"largest distance; {len(better)} cases")
results.finding(
    f"No: in as many bytes, lines as printed stray {times:.0f} times as far from the samples as "
    f"lines with a hard bound by the largest distance, which a bound is made to hold, and "
    f"{times_rms:.0f} times by the root mean square (medians of {len(gap)} cases, {source}, "
    f"{whose})."
    f"{beside}"
    if times > 1 else
    "Yes: at equal size, lines as printed stay nearer to the samples than lines with a hard bound "
    f"do ({1 / times:.2g} times in the median of {len(gap)} cases). {source.capitalize()}.")

# %% [markdown]
# ## What this doesn't show
#
# A sample of `spec-llc` stands for 100 million instructions, the paper's for a million cycles: which method does best at that rate is seen only on kernel events (`-p suite=samples`). Lines packed by zstd as well would be smaller. The curves are of the shortest cases, as bottom-up segmentation is slow. Time and memory are not compared: notebook 07a has what finding lines live costs.
#
# ## On your own program
#
# `cmlib record NAME --samples -- COMMAND` samples it; then `cmlib run paper 07c -p program=NAME`. To change first: `n_sigma`, the tolerance of a line in the first figure; a larger one makes fewer and coarser lines.
#
# **References.** Wu and Mencer, *Online Linear Regression of Sampling Data from Performance Event Counters*. Navarro-Torres et al., *Memory hierarchy characterization of SPEC CPU2006 and SPEC CPU2017 on the Intel Xeon Skylake-SP*, PLOS ONE 2019 (the streams). Bristol, *Swinging door trending*, 1990. Keogh et al., *An online algorithm for segmenting time series*, 2001 (bottom-up). O'Rourke, *An on-line algorithm for fitting straight lines between data ranges*, 1981. Page, *Continuous inspection schemes*, 1954.

# %%
results.save()
