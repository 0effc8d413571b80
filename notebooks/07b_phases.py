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
# # Phases: do lines end where a neural network goes from one layer to the next?
#
# **Question.** Does a line end where one layer of a neural network ends and the next begins?
#
# *Reads* the streams of `cmlib fetch dnn-layers`, in the cache or in the folder `CMLIB_PUBLIC`: inferences of neural networks whose samples say which layer ran. *Writes* how many edges of layers have a line's end beside them, and how many are found by rules without lines.
#
# Wu and Mencer fit straight lines to an event's cumulative count ([notebook 07](07_compression.ipynb)) and expect them to keep "the variation characteristic" of a program (§5). Whether lines end where the program changes what it does, they do not test. Here it is known when that is. On a program of your own: write a file `auto_RUN_NAME_list1_data.csv` a run, with the columns of the table below, a row a sample, counts of that sample, and in `label` the number of the phase that runs (0: none), which your program has to write along. Then `cmlib run paper 07b -p folder=FOLDER`; first to change: `event`.

# %% tags=["parameters"]
folder: str = ""  # with other streams of this form; empty: CMLIB_PUBLIC and the cache
program: str = "all"  # networks to study, separated by commas, or all
event: str = "instructions"  # event to compress
near: int = 3  # samples beside an edge that count as at it
drift: float = 20.0  # threshold of the drift test, standard deviations added up
settings: dict = {}  # profile, results_folder

# %%
import numpy as np
import pandas as pd
from IPython.display import Markdown

from cmlib import plot
from cmlib.compress import compress
from cmlib.errors import NothingRecordedError
from cmlib.experiments.requested import resolve_names
from cmlib.io import streams
from cmlib.report.notebook import begin

limits = {
    "event": ["instructions", "branches", "cache_misses", "cache_references"], "near": (0, 100),
    "drift": (0.5, 1000),
}
notebook = begin(
    "07b_phases", settings, folder=folder, program=program, event=event, near=near,
    drift=drift,
)
results = notebook.results

# %%
found = streams.find_runs("dnn-layers", folder)
if found.empty:
    todo = "`cmlib fetch dnn-layers` has them, or CMLIB_PUBLIC names a folder with them"
    raise NothingRecordedError(f"the streams dnn-layers are not here: {todo}.")
todo = "Notebook 07b is about streams whose phases are labelled."
names = resolve_names(program, found["case"].unique(), about="the networks", todo=todo)

# %%
found = found[found["case"].isin(names)]
runs = {f"{run.case} {run.run}": pd.read_csv(run.path) for run in found.itertuples()}
samples = next(iter(runs.values()))
display(Markdown(
    f"**Data.** Others' recordings (`bhargavarch/DNN_RevEngg_PMC_Dataset` on GitHub, AIMLSystems "
    f"2021): {len(runs)} inferences of {', '.join(names)}, {len(samples):,} samples the first, of "
    "four hardware events counted by PAPI on one machine. Neither its processor nor how much time "
    "a sample takes is named where they are published. None is the paper's."))
samples[samples["label"] > 0].head()

# %% [markdown]
# A row is a sample of four hardware counters, and the layer that ran: 600 convolution, 200 batch normalization, 300 activation, 900 pooling, 700 dropout, 400 flatten, 500 dense, 0 between two layers, when nothing is counted. What is called `cache_misses` are misses of the first level (PAPI_L1_TCM), and `cache_references` accesses of the third (PAPI_L3_TCA); so there are more of the former. How long a sample takes is not said, so the timer is its number. Counts are added up, as the method takes them.
#
# ## Edges and ends
#
# A line is fitted to the counts so far and ends before a sample that is further from it than three standard deviations of its residuals, $|y_{n+1} - k_n x_{n+1} - b_n| > 3\hat\sigma$ (Wu and Mencer, §3.4; computed step by step in notebook 07). An edge is a sample at which the label changes: a layer begins or ends.

# %%
def cumulated(samples):
    """Number of the sample, and the event's count so far."""
    y = samples[event].cumsum()
    return pd.Series(np.arange(1, len(y) + 1), name="sample"), y


def edges(samples):
    """Samples at which the label changes."""
    label = samples["label"].to_numpy()
    return np.flatnonzero(label[1:] != label[:-1]) + 1


# %%
def mark(ax, marks, height, low, high, **look):
    """Short strokes at a height, where marks lie in the range."""
    inside = [at for at in marks if low <= at <= high]
    ax.plot(inside, [height] * len(inside), "|", ms=11, **look)
    ax.set(xlim=(low, high), xlabel="sample", ylabel=f"{event} so far [million]")


@plot.styled
def draw_edges(samples, ranges):
    """Counts so far, edges of layers below and ends of lines above, a panel a range."""
    x, y = cumulated(samples)
    figure, axes = plot.panels(list(ranges), height=3.1)
    for ax, (title, (low, high)) in zip(axes, ranges.items(), strict=True):
        ax.set_title(title)
        ax.plot(x[low:high], y[low:high] / 1e6, color="#555555", lw=1.2)
        bottom, top = y[low] / 1e6, y[high - 1] / 1e6
        off, ends = 0.12 * (top - bottom), compress(x, y)["x_end"].iloc[:-1]
        mark(ax, ends, top + off, low, high, color=plot.palette(2)[0], label="a line ends")
        mark(ax, edges(samples), bottom - off, low, high, color=plot.palette(2)[1],
             label="a layer begins or ends")
    plot.legend_below(figure, axes[0], 2)
    return figure, axes


# %%
at = edges(samples)
middle = int(at[len(at) // 2])
ranges = {"from the first layer to the last": (int(at[0]) - 50, int(at[-1]) + 50),
          "500 samples of it": (max(1, middle - 250), middle + 250)}
figure, _ = draw_edges(samples, ranges)
flat = samples.loc[samples["label"] == 0, event].sum() / samples[event].sum()
ends = compress(*cumulated(samples))["x_end"].to_numpy()[:-1]
ended = np.abs(ends[:, None] - at).min(axis=0) <= near
ends = ends[(ends >= at[0] - near) & (ends <= at[-1] + near)]
results.figure(
    figure,
    "layers",
    f"**Figure.** Counted {event} so far in one inference ({next(iter(runs))}), samples "
    f"{at[0]:,} to {at[-1]:,} of {len(samples):,}, in which layers run; above where lines end by "
    "the paper's rule, below where a layer begins or ends. *See:* a line ends within "
    f"{near} samples of {ended.sum()} of {len(at)} edges, but there are {len(ends)} ends. "
    f"{100 * flat:.1f} % of all {event} are counted where no layer runs.",
)

# %% [markdown]
# ## How many edges have a line's end?
#
# An edge of $A$ and an end of $B$ at most `near` samples apart make a pair, each in one pair at most; $m$ is the largest number of pairs. *Found* is the share of the edges with an end of their own (recall), *right* that of the ends with an edge of their own (precision):
#
# $$\mathrm{found} = \frac{m}{|A|}, \qquad \mathrm{right} = \frac{m}{|B|}$$
#
# Three kinds of lines: *as printed*, by the paper's rule above; with a test that also ends a line from which samples drift away to one side (*drift*); with a hard bound of 0.1 % of the count on a sample's distance (*bounded*; notebook 07 has 1 %). What they have to beat: as many ends at *equal steps*; as many at the *largest jumps*, where the count of a sample differs most from that of the one before; and the simplest rule that needs no line, an end wherever a sample's count *becomes zero or ceases to be*. Judged is the part from the first edge to the last.

# %%
def score(B, A, near):
    """Share of the edges A that are found by the ends B, and of the ends that are right [%]."""
    m = at = 0  # pairs so far; the first end that is free
    for a in A:
        while at < len(B) and B[at] < a - near:
            at += 1
        if at < len(B) and B[at] <= a + near:
            m, at = m + 1, at + 1
    return 100 * m / len(A), 100 * m / max(1, len(B))


# %%
BOUND = 1e-3  # share of the count
COLUMNS = [f"{what}{where}" for where in ("", ", equal steps", ", largest jumps")
           for what in ("found", "right")]


def inside(marks, A):
    """Those of the samples that lie between the first edge and the last."""
    return marks[(marks >= A[0] - near) & (marks <= A[-1] + near)]


def compare_ends(ends, A, largest):
    """Scores of ends, of as many at equal steps and at the largest jumps; ends away from edges."""
    even = np.linspace(A[0], A[-1], len(ends))
    places = ends, even, np.sort(largest[:len(ends)])
    away = np.abs(ends[:, None] - A).min(axis=1) > near
    return [*(value for of in places for value in score(of, A, near)),
            100 * away.mean() if len(ends) else np.nan]


# %%
def judge(samples):
    """Edges found by each kind of lines, by as many ends at equal steps and at jumps, by zeros."""
    (x, y), A = cumulated(samples), edges(samples)
    jumps = samples[event].diff().abs().to_numpy()[A[0] - near:A[-1] + near + 1]
    largest = np.argsort(-jumps, kind="stable") + A[0] - near
    ways = {"printed": {}, "drift": {"drift": drift}, "bounded": {"bound": BOUND * y.iloc[-1]}}
    rows = []
    for way, options in ways.items():
        ends = inside(compress(x, y, **options)["x_end"].to_numpy()[:-1], A)
        rows.append((way, len(ends), *compare_ends(ends, A, largest)))
    zeros = inside(np.flatnonzero(np.diff(samples[event].to_numpy() > 0)) + 1, A)
    rows.append(("zero", len(zeros), *score(zeros, A, near), *[np.nan] * 5))
    return pd.DataFrame(rows, columns=["method", "ends", *COLUMNS, "away"])


# %%
judged = pd.concat({name: judge(samples) for name, samples in runs.items()}, names=["run"])
means = judged.groupby("method", sort=False).mean(numeric_only=True)
n_edges = int(np.mean([len(edges(samples)) for samples in runs.values()]))
about = f"mean of {len(runs)} inferences of {n_edges} edges each, within {near} samples"
names_of = {"printed": "as printed", "drift": "drift test", "bounded": "hard bound",
            "zero": "no lines: count\nbecomes zero or ceases to be"}
results.table(means.drop(columns="away").reset_index(), "edges", "**Table.** Ends of lines (zero: "
              f"of the rule without lines); edges found and ends that are right [%], {about}; the "
              "same of as many ends at equal steps and at the largest jumps.", decimals=1)

# %%
@plot.styled
def draw_scores(means):
    """Edges found and ends right by each kind of lines, and by other rules."""
    means = means.rename(names_of)
    titles = {"found": "edges with an end of their own", "right": "ends with an edge of their own"}
    figure, axes = plot.panels(list(titles), height=2.3, sharex=True, sharey=True)
    for ax, column in zip(axes, titles, strict=True):
        ax.plot(means[column], means.index, "o", color=plot.palette(1)[0], label="this rule")
        ax.plot(means[f"{column}, equal steps"], means.index, "s", color="#80868b",
                label="as many at equal steps")
        ax.plot(means[f"{column}, largest jumps"], means.index, "^", color="#80868b", mfc="none",
                label="as many at the largest jumps")
        ax.grid(True, axis="x")
        ax.set(xlabel=f"{titles[column]} [%]", xlim=(-3, 103), ylim=(3.5, -0.5))
    plot.legend_below(figure, axes[0], 3)
    return figure, axes


# %%
figure, _ = draw_scores(means)
line, zero = means.loc["printed"], means.loc["zero"]
results.figure(
    figure, "scores",
    f"**Figure.** Edges found (left) and ends that are right (right) by three kinds of lines and "
    f"by rules without lines; {about}. *See:* lines as printed find {line['found']:.0f} % of the "
    f"edges, zero counts {zero['found']:.0f} %; of their ends {line['right']:.0f} % are right, of "
    f"those at zero counts {zero['right']:.0f} %.")

# %%
for way, row in means.drop("zero").iterrows():
    note = f"{row['ends']:.0f} ends, {row['right']:.0f} % of them at an edge; as many at equal "
    note += f"steps: {row['found, equal steps']:.0f} and {row['right, equal steps']:.0f} %, at "
    note += f"the largest jumps: {row['found, largest jumps']:.0f} % found"
    results.number(f"edges of layers with a line's end, {way}", row["found"], "%", note=note)

# %%
bounded, drifting = means.loc["bounded"], means.loc["drift"]
spread = judged[judged["method"] == "printed"]["found"]
display(results.finding(
    f"{'Yes' if line['found'] > 50 else 'No'}: {line['found']:.0f} % of the edges of layers have "
    f"a line's end within {near} samples ({spread.min():.0f} to {spread.max():.0f} % in "
    f"{len(runs)} inferences of {', '.join(names)}; as many ends at the largest jumps "
    f"{line['found, largest jumps']:.0f} %, at equal steps {line['found, equal steps']:.0f} %). "
    f"But a line's end is no sign of an edge: {line['away']:.0f} % of the ends are farther from "
    f"every edge. And no line is needed: an end wherever the count becomes zero or ceases to be "
    f"finds {zero['found']:.0f} % of the edges, and {zero['right']:.0f} % of these ends have an "
    f"edge of their own (of lines' ends {line['right']:.0f} %)."))
results.finding(
    f"With the drift test lines find {drifting['found']:.0f} % of the edges, by "
    f"{drifting['ends']:.0f} ends in place of {line['ends']:.0f}. Lines with a hard bound of "
    f"{100 * BOUND:g} % of the count end elsewhere: {bounded['ends']:.0f} ends find "
    f"{bounded['found']:.0f} % (as many at equal steps: {bounded['found, equal steps']:.0f} %).")

# %% [markdown]
# ## What this doesn't show
#
# Whether lines find phases that follow each other without a pause: here nothing is counted between two layers, which makes edges easy. It is one network in one program on one machine, which is not named, and one event. A hard bound is one of many: a narrower one has more ends.
#
# **References.** Wu and Mencer, *Online Linear Regression of Sampling Data from Performance Event Counters*. The streams: bhargavarch/DNN_RevEngg_PMC_Dataset (AIMLSystems 2021).

# %%
results.save()
