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
# # Recording lines: what finding lines while a program runs costs, and what later analyses lose
#
# **Question.** What does it cost to keep lines instead of samples while a program runs, and is a ranking of events by lines still the same?
#
# *Reads* the sample streams under `data/samples`, recorded live at some two thousand samples a second, and the store. *Writes* overheads beside the paper's, and the agreement of rankings.
#
# The streams are of hardware events where there are any, otherwise of software events and tracepoints: of other events than the paper's, but at its rate of samples. What lines make of the paper's own event is notebook 07.

# %% tags=["parameters"]
streams: str = "auto"  # of hardware events if there are any, else software
cases: str = "all"  # cases to study, separated by commas, or all
program: str = "all"  # programs, sampled and recorded in intervals, separated by commas, or all
drift: float = 20.0  # threshold of the drift test, standard deviations added up
n_seeds: int = 10  # models behind a ranking
settings: dict = {}  # jobs, executor, scheduler, database, profile, results_folder

# %%
import time
from functools import partial

import numpy as np
import pandas as pd

from cmlib import experiments, plot
from cmlib.compress import OnlineRegression, compress, fit_quality, intervals
from cmlib.experiments.sample_streams import SOURCES, load_samples
from cmlib.io.samples import find_lines
from cmlib.parallel import Workers, parallel_map
from cmlib.plot.style import legend_right
from cmlib.rank import stability
from cmlib.report import paper
from cmlib.report.notebook import begin

# %%
limits = {"streams": ["auto", "hardware", "software"], "drift": (0.5, 1000), "n_seeds": (2, 100)}
notebook = begin(
    "07a_recording_lines", settings, streams=streams, cases=cases, program=program,
    drift=drift, n_seeds=n_seeds,
)
results, workers, url = notebook.results, notebook.workers, notebook.database
printed = paper("online_linear_regression")
totals = load_samples(cases, program=program, kind=streams)
programs = experiments.programs(url, program, modes=["ocoe", "mlpx"])
one = next(iter(totals.values()))
timer, event = one.columns[:2]
source = SOURCES[one.attrs["kind"]]
one.head()

# %% [markdown]
# ## The streams
#
# A case is a program with an input. Samples are cumulative counts by the timer; lines are found as printed and with the drift test (notebook 07 has the method).


# %%
def fit(counts):
    """Reduction and errors of a case, as printed and with the drift test."""
    x, y = counts[timer], counts[event]
    ways = {"printed": {}, "drift": {"drift": drift}}
    lines = {way: compress(x, y, **how) for way, how in ways.items()}
    found = pd.DataFrame({way: fit_quality(own, x, y) for way, own in lines.items()}).T
    return found.astype({"n_samples": int, "n_lines": int})


happened = {name: own for name, own in totals.items() if np.ptp(own[event]) > 0}
fits = pd.concat({name: fit(own) for name, own in happened.items()}, names=["case", "method"])
results.table(
    fits[["n_samples", "n_lines", "reduction", "mnesd", "largest"]].reset_index(),
    "fits",
    f"**Table.** Every case, `{event}` by `{timer}`: MNESD and largest distance as shares of the "
    f"count. {source.capitalize()}.",
    rows=12,
    decimals=4,
)

# %% [markdown]
# ## Overhead
#
# The paper divides the time spent in the regression by the time of the whole run (§4.2, without a number). Here two quantities are measured, both in processor time, which depends little on other programs. With $t$ seconds for $n$ samples, at the paper's rate $f$ of samples a second,
#
# $$\mathrm{overhead} = \frac{t_{regression}}{t_{run}} \times 100\,\%, \qquad \text{here}\quad \mathrm{overhead} = f\,\frac{t}{n} \times 100\,\%.$$
#
# - *Regression, replayed*: the recorded samples are put through the regression afterwards, in one call. Caches are warm and there is no cost per interrupt, so this is a lower bound, not the paper's measurement.
# - *Recording process*: measured while the program ran, everything that cmlib did to read perf's binary stream of two events, run the regression with the drift test and store the lines, without perf's own work. Where the program ran for less than a second, starting takes most of it.


# %%
def regression_seconds(counts):
    """Processor time of the regression over all samples of a case: the least of four times."""
    x, y = counts[timer].to_numpy(float), counts[event].to_numpy(float)
    spent = []
    for _ in range(4):
        began = time.thread_time()
        OnlineRegression().extend(x, y)
        spent.append(time.thread_time() - began)
    return min(spent)


rate = printed["samples_per_second"]
live = find_lines(None, one.attrs["kind"]).drop_duplicates("name").set_index("name")
seconds = pd.Series({name: regression_seconds(own) / len(own) for name, own in totals.items()})
overhead = pd.DataFrame({"regression, replayed": 100 * rate * seconds}).rename_axis("case")
overhead["recording process"] = 100 * rate * live["own_s"] / live["n_samples"]

# %%
levels = {"paper, below": printed["overhead_percent_below"], "our aim, below": 0.5}
axis = "share of the program's\nprocessor time [%]"
figure, _ = plot.by_case(overhead, ylabel=axis, levels=levels)
results.figure(
    figure,
    "fig10",
    f"**Figure 10.** Overhead at {rate:,} samples a second, as a share of the program's processor "
    f"time: the regression replayed, and the whole recording process as it ran. "
    f"{source.capitalize()}.",
)

# %% [markdown]
# ## Do lines change a ranking?
#
# The recordings in intervals that the other notebooks read are turned into lines, each event by itself, and read back at equal steps of the cycles. Events are ranked for IPC on both, and the ranks $R_e$, $R'_e$ of the $m$ leading events compared by Spearman's correlation
#
# $$\rho = \frac{\sum_e (R_e - \bar R)(R'_e - \bar R')}{\sqrt{\sum_e (R_e - \bar R)^2 \sum_e (R'_e - \bar R')^2}}.$$
#
# The baseline is the agreement of the ranking with itself by other models: where both intervals overlap, lines change it no more than another random seed does.


# %%
def through_lines(counts):
    """Counts an interval, turned into lines and read back; and how many numbers these are."""
    sums = counts.fillna(0.0).cumsum()
    sums = sums[sums["cycles"].diff() != 0]
    lines = {e: compress(sums["cycles"], sums[[e]], drift=drift) for e in counts if e != "cycles"}
    read = {e: intervals(of_event, "cycles", n=len(sums)) for e, of_event in lines.items()}
    cycles = next(iter(read.values()))["cycles"]
    columns = {"cycles": cycles} | {e: frame[e] for e, frame in read.items()}
    return pd.DataFrame(columns)[list(counts)], 3 * sum(map(len, lines.values()))


# %%
def draw(data, seeds):
    """Importances by models of resampled runs."""
    return stability.draw_importances(data.X, data.ipc, seeds=seeds)


def change(name):
    """Rank correlation of a program's events by lines, and by other models, with the recordings."""
    clean = partial(experiments.cleaned_runs, method="interpolate", workers=Workers(1))
    runs = clean(url, name, ["ocoe", "sweep"])
    read, stored = zip(*map(through_lines, runs["counts"]), strict=True)
    data, lined = experiments.matrix(runs), experiments.matrix(runs.assign(counts=list(read)))
    seeds, others = range(n_seeds), range(n_seeds, 2 * n_seeds)
    drawn = {"lines": draw(lined, others), "other models": draw(data, others)}
    first = draw(data, seeds)
    alike = {what: stability.rank_agreement(first, of) for what, of in drawn.items()}
    table = pd.concat(alike, names=["compared", "measure"]).reset_index()
    return table.assign(program=name), sum(run.size for run in runs["counts"]) / sum(stored)


# %%
@plot.styled
def draw_agreement(frame):
    """A rank correlation with its interval, grouped by program, a colour what is compared."""
    groups = list(frame["compared"].unique())
    figure, (ax,) = plot.panels([""], columns=1, height=2.8)
    for number, (group, colour) in enumerate(zip(groups, plot.palette(len(groups)), strict=True)):
        own = frame[frame["compared"] == group].set_index("program").loc[programs]
        places = np.arange(len(programs)) + 0.24 * (number - (len(groups) - 1) / 2)
        ax.vlines(places, own["low"], own["high"], color=colour, lw=1.6)
        ax.plot(places, own["value"], "o", color=colour, label=group)
    ax.set_xticks(range(len(programs)), programs)
    ax.axhline(0, color="#888888", lw=0.8)
    ax.set(xlim=(-0.6, len(programs) - 0.4), ylim=(None, 1.02))
    ax.set_ylabel("rank correlation (Spearman)")
    legend_right(ax)
    return figure, ax


# %%
agreements, saved = zip(*parallel_map(change, programs, workers), strict=True)
spearman = pd.concat(agreements).query("measure == 'spearman'")
figure, _ = draw_agreement(spearman)
numbers = ", ".join(f"{name} {ratio:.1f}" for name, ratio in zip(programs, saved, strict=True))
results.figure(
    figure,
    "ranking",
    "**Figure.** Ranking of the leading events on recordings against the same kept as lines, and "
    f"by other models; 90 % intervals over {n_seeds} models. Numbers recorded for each of a line: "
    f"{numbers}. Hardware events.",
)

# %% [markdown]
# ## The numbers

# %%
for part, shares in overhead.dropna(axis=1, how="all").items():
    note = f"median {shares.median():.2g} %; processor time, {rate:,} samples a second"
    limit = printed["overhead_percent_below"]
    results.number(f"overhead of the {part}, greatest", shares.max(), "%", paper=limit, note=note)
middle = fits["reduction"].xs("printed", level="method").median()
results.number("reduction at the paper's rate of samples, median", middle, "x", note=source)
mean = spearman.groupby("compared")["value"].mean()
name = "rank correlation of events, lines against recordings, mean"
results.number(name, mean["lines"], note=f"other models alone: {mean['other models']:.2f}")
results.numbers()

# %% [markdown]
# ## What this doesn't show
#
# The committed sample streams are of software events and tracepoints along processor time, because the machine that recorded them had no hardware counters; `cmlib record-samples` on a machine with counters records the same cases with hardware events. Programs run for seconds, and only one process is sampled, without its children. The slowdown in elapsed time was not measured, because the machine was shared. At intervals of 100 ms there are few samples, so lines save little of the recordings that are ranked.
#
# **References.** Wu and Mencer, *Online Linear Regression of Sampling Data from Performance Event Counters*.

# %%
results.save()
