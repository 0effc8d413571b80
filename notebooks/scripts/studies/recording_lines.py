# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Recording lines: what it costs to find lines while a program runs, and what a ranking loses by them
#
# **Question.** Can lines replace samples while a program runs, for less than the paper's 1.7 % of its time and without changing how events rank?
#
# *Reads* the sample streams under `data/samples`, recorded live at some two thousand samples a second, and the recordings in intervals that other notebooks rank. *Writes* overheads beside the paper's bound, and the agreement of rankings.
#
# A line is a straight piece of an event's cumulative count, kept as three numbers in place of its samples; [notebook 07](../07_compression.ipynb) explains the method and applies it to the paper's own event and suite. The streams here are of programs that Debian ships, at the paper's rate of samples but of software events, unless some of hardware events were recorded. Events are ranked by their importance for IPC, as in CounterMiner. The ranked programs were recorded for cmlib with a processor's counters; they are not the papers' data.

# %% [markdown] tags=["answer"]
# > **Answer** (35 sample streams of software events, and bzip2, gcc, kmeans and wordcount by hardware events; default parameters). Finding lines is cheap: all of the recording takes at most **0.52 %** of a program's processor time (paper: below 1.7 %), and the regression is a small part of that. But lines change the ranking: the ranking from lines agrees with that from counts by a rank correlation of **0.48**, where the ranking from counts agrees with itself by **0.66**, and with one at equal steps without lines by **0.65**.

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
from IPython.display import Markdown

from cmlib import experiments, plot
from cmlib.compress import OnlineRegression, compress, fit_quality, intervals
from cmlib.experiments.data import describe_data
from cmlib.experiments.sample_streams import SOURCES, load_samples, provenance_of_samples
from cmlib.io.archive import readable
from cmlib.io.samples import find_streams
from cmlib.io.samples.files import read_metadata, samples_dir
from cmlib.parallel import Workers, parallel_map
from cmlib.plot.style import legend_right
from cmlib.rank import stability
from cmlib.report import paper
from cmlib.report.notebook import begin

# %%
limits = {"streams": ["auto", "hardware", "software"], "drift": (0.5, 1000), "n_seeds": (2, 100)}
notebook = begin(
    "recording_lines", settings, streams=streams, cases=cases, program=program,
    drift=drift, n_seeds=n_seeds,
)
results, workers, url = notebook.results, notebook.workers, notebook.database

# %%
printed = paper("online_linear_regression")
totals = load_samples(cases, program=program, kind=streams)
# As in the other notebooks: programs with runs in which each event has a counter (ocoe) and runs
# whose events take turns (mlpx). Ranked are two sets of runs: ocoe (core events), sweep (all).
programs = experiments.programs(url, program, modes=["ocoe", "mlpx"])
name, one = next(iter(totals.items()))
timer, event = one.columns[:2]
kind = one.attrs["kind"]
source = SOURCES[kind]
sampled = provenance_of_samples(totals)
paths = find_streams(None, kind).drop_duplicates("name").set_index("name")["path"]
about = [(read_metadata(paths[case]) or {}).get("machine", {}) for case in totals]
machines = "; ".join(dict.fromkeys(
    f"{of.get('model_name', 'not known')}, {of.get('processors', '?')} processors"
    + ", in a virtual machine" * bool(of.get("virtual")) for of in about))
display(Markdown(
    f"**Data, time and size.** One stream of each of {len(totals)} cases (a program with an "
    f"input), {len(one):,} samples the first ({name}); {source}; machine: {machines}."))
display(Markdown(describe_data(url, programs).replace("**Data.**", "**Data, ranking.**")
                 + " Ranked are the runs of core events, and those that together count all events "
                 "(some of them in turns); how many stands below the figure."))
one.head()

# %% [markdown]
# A row is a sample: cumulative counts by the timer (processor time [ns], where no cycles were counted).
#
# ## The method, one sample at a time
#
# A line is extended by a sample in constant time and memory, since its slope and intercept follow from its number of samples and four sums (Wu and Mencer, Eq. 5 and 6):
#
# $$k_{n+1} = \frac{(n+1)(S_{xy} + x_{n+1}y_{n+1}) - (S_x + x_{n+1})(S_y + y_{n+1})}{(n+1)(S_{x^2} + x_{n+1}^2) - (S_x + x_{n+1})^2} \tag{5}$$
# $$b_{n+1} = \frac{(S_y + y_{n+1})(S_{x^2} + x_{n+1}^2) - (S_x + x_{n+1})(S_{xy} + x_{n+1}y_{n+1})}{(n+1)(S_{x^2} + x_{n+1}^2) - (S_x + x_{n+1})^2} \tag{6}$$
#
# A line ends before a sample that is farther from it than $3\hat\sigma$, and the next line starts at its last sample. A line through two samples is exact, so $\hat\sigma$ is unknown for the third sample. For this sample, the limit is 1 % of the count $\hat y$ that the line predicts. A fifth sum, of $y^2$, gives $\hat\sigma$.

# %%
samples = one[[timer, event]].to_numpy(float)
starts, start, last, n = [], None, samples[0], 0
S_x = S_y = S_xy = S_x2 = S_y2 = 0.0
for x_new, y_new in samples:
    ends = False
    if n >= 2:
        k = (n * S_xy - S_x * S_y) / (n * S_x2 - S_x**2)
        b = (S_y * S_x2 - S_x * S_xy) / (n * S_x2 - S_x**2)
        y_hat = k * (x_new - start[0]) + b + start[1]
        squares = max(0.0, S_y2 - k * S_xy - b * S_y)  # of the line's residuals so far
        tolerance = 3 * np.sqrt(squares / (n - 2)) if n > 2 else 0.01 * abs(y_hat)
        ends = abs(y_new - y_hat) > tolerance
    if n == 0 or ends:
        start = last  # sums are taken about the line's first sample
        starts.append(start[0])
        n, S_x, S_y, S_xy, S_x2, S_y2 = int(ends), 0.0, 0.0, 0.0, 0.0, 0.0
    x, y = x_new - start[0], y_new - start[1]
    n, S_x, S_y = n + 1, S_x + x, S_y + y
    S_xy, S_x2, S_y2 = S_xy + x * y, S_x2 + x * x, S_y2 + y * y
    last = x_new, y_new

# %%
lines = compress(one[timer], one[event])  # the library's, which does the same
np.testing.assert_allclose(lines["x_start"], starts)
print(f"{name}: {len(one)} samples in {len(starts)} lines")

# %% [markdown]
# ## How much smaller, at this rate of samples
#
# Lines as printed, and with a test that also ends a line from which samples drift away slowly to one side (*drift*, notebook 07).


# %%
def fit(counts):
    """Reduction and errors of a case, as printed and with the drift test."""
    x, y = counts[timer], counts[event]
    ways = {"printed": {}, "drift": {"drift": drift}}
    lines = {way: compress(x, y, **options) for way, options in ways.items()}
    quality = pd.DataFrame({way: fit_quality(each, x, y) for way, each in lines.items()}).T
    return quality.astype({"n_samples": int, "n_lines": int})


# %%
happened = {name: counts for name, counts in totals.items() if np.ptp(counts[event]) > 0}
fits = pd.concat({name: fit(counts) for name, counts in happened.items()},
                 names=["case", "method"])
by_method = fits.groupby(level="method")[["reduction", "largest"]].median()
results.table(
    fits[["n_samples", "n_lines", "reduction", "mnesd", "largest"]].round(
        {"reduction": 1, "mnesd": 4, "largest": 4}).reset_index(),
    "fits",
    f"**Table.** First 10 of {len(fits)} rows, `{event}` by `{timer}`: samples, "
    "lines, samples per line (reduction), the paper's maximal normalized estimated standard "
    "deviation (*MNESD*: the largest standard deviation of the samples about any line) and the "
    "largest distance of a sample from its line [shares of the event's count]. "
    f"{source.capitalize()}. *See:* over {len(happened)} cases the median reduction is "
    f"{by_method['reduction']['printed']:.0f} as printed, {by_method['reduction']['drift']:.0f} "
    f"with the drift test; the median of the largest distance "
    f"{100 * by_method['largest']['printed']:.2g} and {100 * by_method['largest']['drift']:.2g} %.",
    rows=10, decimals=4,
)

# %% [markdown]
# ## Overhead
#
# The paper divides the time spent in the regression alone by the time of the whole run (§4.2) and prints one bound for all programs. Here two quantities are measured, both in processor time, which depends little on other programs. With $t$ seconds for $n$ samples, at the paper's rate $f$ of samples a second,
#
# $$\mathrm{overhead} = f\,\frac{t}{n} \times 100\,\%$$
#
# - *Regression, replayed* is less than the paper's quantity. The recorded samples of one event are put through the regression afterwards, in one call.
# - *Recording process* is more than the paper's quantity. It was measured while the program ran, and then scaled to $f$. It contains everything that cmlib did: starting, reading perf's binary stream of two events, running the regression with the drift test, and storing the lines. As in the paper, perf's own work is not included.


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


# %%
rate = printed["samples_per_second"]
files = sorted(samples_dir().glob(f"*/{one.attrs['kind']}-lines-*.csv"), reverse=True)
kept = readable(read_metadata, files)  # lines that were found while programs ran, the first last
live = pd.DataFrame({file.parent.name: meta for file, meta in kept.items() if meta},
                    ["own_s", "n_samples"], dtype=float).T
seconds = pd.Series({name: regression_seconds(own) / len(own) for name, own in totals.items()})
overhead = pd.DataFrame({"regression, replayed": 100 * rate * seconds}).rename_axis("case")
overhead["recording process"] = 100 * rate * live["own_s"] / live["n_samples"]

# %%
limit = printed["overhead_percent_below"]
figure, _ = plot.by_case(overhead, levels={"paper, below": limit},
                         ylabel="share of the program's\nprocessor time [%]")
below = int((overhead["recording process"] < limit).sum())
counted = int(overhead["recording process"].notna().sum())
results.figure(
    figure,
    "fig10",
    f"**Online regression, Fig. 10.** Overhead at {rate:,} samples a second [% of the program's "
    f"processor time], a mark a case, n = {len(overhead)}: the regression alone, replayed, and all "
    "of cmlib's recording as it ran; dashed: below this the paper has the regression in all "
    f"programs of SPEC CPU2006 on its Xeon. {source.capitalize()}. *See:* even all of the "
    f"recording is below that in {below} of {counted} cases; the regression alone takes "
    f"{overhead.iloc[:, 0].max():.2f} % at most.",
    data=sampled,
)

# %% [markdown]
# ## Do lines change a ranking?
#
# Events are ranked as in CounterMiner (notebook 03): boosted regression trees predict IPC from the events' rates, and an event's importance is the share of the squared error that splits on it remove (Friedman 2001). Here the mean importance in `n_seeds` models of resampled runs ranks the events, once on the recorded counts of each 100 ms and once on the same counts turned into lines, each event by itself, and read back at equal steps of the cycles. The ranks $R_e$ from counts and $L_e$ from lines are compared by Spearman's correlation over the events $e$ that are among the first 20 of either
#
# $$\rho = \frac{\sum_e (R_e - \bar R)(L_e - \bar L)}{\sqrt{\sum_e (R_e - \bar R)^2 \sum_e (L_e - \bar L)^2}}.$$
#
# Lines have to beat two baselines: the ranking's agreement *with itself*, by models of other resampled runs with other random seeds; and that with a ranking from counts at the same *equal steps* of the cycles, interpolated between samples, *without lines*. Where a ranking hardly agrees with itself, the comparison says little.


# %%
def sums_by_cycles(counts):
    """Counts so far, where cycles went on."""
    sums = counts.fillna(0.0).cumsum()
    return sums[sums["cycles"].diff() != 0]


def through_lines(counts):
    """Counts an interval, turned into lines and read back; and how many numbers these are."""
    sums = sums_by_cycles(counts)
    lines = {e: compress(sums["cycles"], sums[[e]], drift=drift) for e in counts if e != "cycles"}
    read = {e: intervals(of_event, "cycles", n=len(sums)) for e, of_event in lines.items()}
    columns = {"cycles": next(iter(read.values()))["cycles"]}
    columns |= {e: frame[e] for e, frame in read.items()}
    return pd.DataFrame(columns)[list(counts)], 3 * sum(map(len, lines.values()))


def at_equal_steps(counts):
    """The same without lines: counts so far, read between samples at equal steps of the cycles."""
    sums = sums_by_cycles(counts)
    x = np.append(0.0, sums["cycles"])
    steps = np.linspace(0.0, x[-1], len(sums) + 1)
    read = {e: np.diff(np.interp(steps, x, np.append(0.0, sums[e]))) for e in counts}
    return pd.DataFrame(read)


# %%
def agree(runs, **others):
    """Rank correlation of events of some runs with those of the same runs, counted otherwise."""
    data, seeds = experiments.matrix(runs), range(n_seeds, 2 * n_seeds)
    first = stability.draw_importances(data.X, data.ipc, seeds=range(n_seeds))
    alike = {}
    for what, counts in others.items():
        other = experiments.matrix(runs.assign(counts=list(counts)))
        same = data.X.columns.intersection(other.X.columns)
        drawn = stability.draw_importances(other.X[same], other.ipc, seeds=seeds)
        alike[what] = stability.rank_agreement(first, drawn)
    return pd.concat(alike, names=["compared", "measure"]).reset_index(), data.X.shape[1]


def change(name):
    """Agreement of a program's ranking with lines and with the baselines; sizes."""
    clean = partial(experiments.cleaned_runs, method="interpolate", workers=Workers(1))
    runs = clean(url, name, ["ocoe", "sweep"])  # sweep: all events, some in each run
    read, stored = zip(*map(through_lines, runs["counts"]), strict=True)
    table, n_events = agree(runs, itself=runs["counts"], lines=read,
                            steps=map(at_equal_steps, runs["counts"]))
    size = sum(run.size for run in runs["counts"]) / sum(stored)
    return table.assign(program=name), size, (len(runs), n_events)


# %%
@plot.styled
def draw_agreement(frame):
    """A rank correlation with its interval, a row a program, a colour what is compared."""
    groups = list(frame["compared"].unique())
    figure, (ax,) = plot.panels([""], columns=1, height=0.9 + 0.55 * len(programs))
    for number, (group, colour) in enumerate(zip(groups, plot.palette(len(groups)), strict=True)):
        rows = frame[frame["compared"] == group].set_index("program").loc[programs]
        heights = np.arange(len(programs)) + 0.24 * (number - (len(groups) - 1) / 2)
        ax.hlines(heights, rows["low"], rows["high"], color=colour, lw=1.6)
        ax.plot(rows["value"], heights, "os^"[number], color=colour, label=group)
    ax.set_yticks(range(len(programs)), programs)
    ax.grid(True, axis="x")
    ax.set(xlim=(None, 1.02), ylim=(len(programs) - 0.5, -0.5))
    ax.set_xlabel("agreement with the ranking from counts (Spearman's rank correlation)")
    legend_right(ax)
    return figure, ax


# %%
agreements, saved, ranked = zip(*parallel_map(change, programs, workers), strict=True)
WAYS = {"itself": "with itself", "steps": "equal steps, no lines", "lines": "with lines"}
spearman = pd.concat(agreements).query("measure == 'spearman'").replace({"compared": WAYS})
by_way = spearman.pivot(index="program", columns="compared", values=["low", "high", "value"])
lower = by_way["high", "with lines"] < by_way["low", "equal steps, no lines"]
value, mean = by_way["value"], by_way["value"].mean()
fewer = int((value["with lines"] < value["with itself"]).sum())
by_lines = int((value["with lines"] < value["equal steps, no lines"]).sum())
figure, _ = draw_agreement(spearman)
of_all = "; ".join(f"{name} {n} events of {n_runs} runs, size {ratio:.1f}"
                   for name, ratio, (n_runs, n) in zip(programs, saved, ranked, strict=True))
results.figure(
    figure,
    "ranking",
    "**Figure.** How far the ranking of events from recorded counts agrees with one from lines, "
    "with one from counts at equal steps without lines, and with itself. A mark is the agreement "
    f"of the mean importances of {n_seeds} models; the bar, the middle 90 % of resampled models, "
    "lies rather below it, as resampling repeats models, which agree less. Ranked, and the size "
    f"of the counts by that of the lines: {of_all}. *See:* with lines the agreement is below that "
    f"with itself in {fewer} of {len(lower)} programs, below that without lines in {by_lines}; "
    f"their intervals are apart for {', '.join(lower.index[lower]) or 'none'}.",
)

# %% [markdown]
# ## What the paper printed, and what was measured here
#
# The paper's bound is for the regression alone, inside its sampling tool, on programs of SPEC CPU2006.

# %%
for part, shares in overhead.dropna(axis=1, how="all").items():
    note = f"{source}; median {shares.median():.3f} %, {rate:,} samples a second"
    timed = part == "regression, replayed"  # the recording process was timed by the recording
    results.number(f"overhead of the {part}, greatest", shares.max(), "%", paper=limit, note=note,
                   timed=timed, data=sampled)
results.number("samples a line at the paper's rate of samples, median, drift test",
               by_method["reduction"]["drift"], "x", note=f"`{event}`; {source}")
for what in ("with itself", "equal steps, no lines"):
    results.number(f"rank correlation of events by intervals, {what}, mean", mean[what])
name = "rank correlation of events by lines with events by intervals, mean"
results.number(name, mean["with lines"], note=f"by other models alone {mean['with itself']:.2f}, "
               f"at equal steps without lines {mean['equal steps, no lines']:.2f}")

# %%
most, regression = overhead.iloc[:, -1].max(), overhead.iloc[:, 0].max()
apart = f", clearly for {', '.join(lower.index[lower])}" if lower.any() else ""
display(results.finding(
    f"For less time: {'yes' if most < limit else 'no'}; the regression took {regression:.2f} % of "
    f"a program's processor time at most, all of the recording {most:.2f} % ({len(overhead)} "
    f"cases, {source}, scaled to {rate:,} samples a second; the paper: below {limit} %). "
    f"Without changing the ranking: {'no' if fewer else 'yes'}; the ranking for IPC from lines "
    f"agrees with that from counts to {mean['with lines']:.2f} (Spearman, mean of {len(lower)} "
    f"programs, hardware events each 100 ms), which agrees with itself to "
    f"{mean['with itself']:.2f}. At the same steps without lines it is "
    f"{mean['equal steps, no lines']:.2f}: lines themselves lower it in {by_lines} of "
    f"{len(lower)}{apart}."))
display(results.finding(
    f"The two halves are of different recordings. At the paper's rate of samples (`{event}`, the "
    f"first of {len(one.columns) - 1} events) a line with the drift test stands for "
    f"{by_method['reduction']['drift']:.0f} samples, in the median, as printed for "
    f"{by_method['reduction']['printed']:.0f}; there nothing was ranked. Where events were "
    "ranked, counts take "
    f"{' to '.join(dict.fromkeys(f'{end:.1f}' for end in (min(saved), max(saved))))} times the "
    "space of lines (below 1: lines are larger)."))
results.numbers()

# %% [markdown]
# ## What this doesn't show
#
# The sample streams that come with cmlib are of software events and tracepoints along processor time, because the machine that recorded them had no hardware counters; `cmlib record-samples` on a machine with counters records the same cases with hardware events. Programs run for seconds, and only one process is sampled, without its children. The slowdown in elapsed time was not measured, because the machine was shared. The ranked recordings have one interval per 100 ms. With so few samples, lines save little, and a line smooths over what happens within it.
#
# ## On your own program
#
# `cmlib record-samples --case gcc-2` (without `--case`, all) samples the programs of this page; `cmlib record NAME --samples -- COMMAND` samples one of your own, and `cmlib record NAME -- COMMAND` records it in intervals, which the ranking needs. Then `cmlib run paper recording_lines -p program=NAME`. The first parameter to change is `drift`: a lower threshold makes more and closer lines.
#
# **References.** Wu and Mencer, *Online Linear Regression of Sampling Data from Performance Event Counters*. Lv et al., *CounterMiner*, MICRO 2018 (the ranking). Friedman, *Greedy function approximation: a gradient boosting machine*, 2001.

# %%
results.save()
