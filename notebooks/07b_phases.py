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
# *Reads* the streams of `cmlib fetch dnn-layers`, in the cache or in the folder `CMLIB_PUBLIC`: inferences of neural networks whose samples say which layer ran. *Writes* how many edges of layers have a line's end beside them, and how many would if the ends stood anywhere.
#
# Wu and Mencer fit straight lines to an event's cumulative count ([notebook 07](07_compression.ipynb)) and expect them to keep "the variation characteristic" of a program (§5). Whether lines end where the program changes what it does, they do not test. Here it is known when that is. On your own streams in this form, a CSV a run with the same columns, of which `label` is a number for each phase that your program has to write along: `cmlib run paper 07b -p folder=FOLDER`; first to change: `event`.

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
# A row is a sample of four hardware counters, and the layer that ran: 600 convolution, 200 batch normalization, 300 activation, 900 pooling, 700 dropout, 400 flatten, 500 dense, 0 between two layers, when little is counted. What is called `cache_misses` are misses of the first level (PAPI_L1_TCM), and `cache_references` accesses of the third (PAPI_L3_TCA); so there are more of the former. How long a sample takes is not said, so the timer is its number. Counts are added up, as the method takes them.
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
ranges = {"all layers": (int(at[0]) - 50, int(at[-1]) + 50),
          "a piece of it": (max(1, middle - 250), middle + 250)}
figure, _ = draw_edges(samples, ranges)
flat = samples.loc[samples["label"] == 0, event].sum() / samples[event].sum()
ends = compress(*cumulated(samples))["x_end"].to_numpy()[:-1]
ended = np.abs(ends[:, None] - at).min(axis=0) <= near
ends = ends[(ends >= at[0]) & (ends <= at[-1])]
results.figure(
    figure,
    "layers",
    f"**Figure.** Counted {event} so far in one inference ({next(iter(runs))}), n = "
    f"{len(samples):,} samples; above where lines end as printed, below where a layer begins or "
    f"ends. *See:* a line ends within {near} samples of {ended.sum()} of {len(at)} edges; of the "
    f"lines {len(ends)} end between the first edge and the last. {100 * flat:.1f} % of all "
    f"{event} are counted where no layer runs.",
)

# %% [markdown]
# ## How many edges have a line's end?
#
# An edge of $A$ and an end of $B$ at most `near` samples apart make a pair, each in one pair at most; $m$ is the largest number of pairs. *Found* is the share of the edges with an end of their own (recall), *right* that of the ends with an edge of their own (precision):
#
# $$\mathrm{found} = \frac{m}{|A|}, \qquad \mathrm{right} = \frac{m}{|B|}$$
#
# Three kinds of lines: as printed; with a test that also ends a line from which samples drift away to one side (*drift*); with a hard bound of 0.1 % of the count on a sample's distance (*bounded*; notebook 07 has 1 %). What they have to beat: as many ends at equal steps; and, at the other extreme, as many ends at the *largest jumps*, where the count of a sample differs most from that of the one before. Judged is the part from the first edge to the last; the stream goes on beyond, and ends there count for neither.

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


def judge(samples):
    """Edges found by each kind of lines, and by as many ends at equal steps and at jumps."""
    (x, y), A = cumulated(samples), edges(samples)
    jumps = samples[event].diff().abs().to_numpy()[A[0] - near:A[-1] + near + 1]
    largest = np.argsort(-jumps, kind="stable") + A[0] - near
    ways = {"printed": {}, "drift": {"drift": drift}, "bounded": {"bound": BOUND * y.iloc[-1]}}
    rows = []
    for way, options in ways.items():
        ends = compress(x, y, **options)["x_end"].to_numpy()[:-1]
        ends = ends[(ends >= A[0] - near) & (ends <= A[-1] + near)]
        even = np.linspace(A[0], A[-1], len(ends))
        places = ends, even, np.sort(largest[:len(ends)])
        scores = [value for of in places for value in score(of, A, near)]
        rows.append((way, len(ends), *scores))
    return pd.DataFrame(rows, columns=["method", "ends", *COLUMNS])


# %%
judged = pd.concat({name: judge(samples) for name, samples in runs.items()}, names=["run"])
means = judged.groupby("method", sort=False).mean(numeric_only=True)
n_edges = int(np.mean([len(edges(samples)) for samples in runs.values()]))
about = f"mean of {len(runs)} inferences of {n_edges} edges each, within {near} samples"
results.table(means.reset_index(), "edges", f"**Table.** Ends of lines; edges found and ends that "
              f"are right [%], {about}; the same of as many ends at equal steps and at the largest "
              "jumps of the count.", decimals=1)

# %%
@plot.styled
def draw_scores(means):
    """Edges found and ends right by each kind of lines, and by as many ends by other rules."""
    figure, axes = plot.panels(["edges found", "ends that are right"], height=1.9, sharex=True)
    for ax, column in zip(axes, ("found", "right"), strict=True):
        ax.plot(means[column], means.index, "o", color=plot.palette(1)[0], label="ends of lines")
        ax.plot(means[f"{column}, equal steps"], means.index, "s", color="#80868b",
                label="as many at equal steps")
        ax.plot(means[f"{column}, largest jumps"], means.index, "^", color="#80868b", mfc="none",
                label="as many at the largest jumps")
        ax.grid(True, axis="x")
        ax.set(xlabel=f"{column} [%]", xlim=(-3, 103), ylim=(2.5, -0.5))
    plot.legend_below(figure, axes[0], 3)
    return figure, axes


figure, _ = draw_scores(means)
line = means.loc["printed"]
results.figure(
    figure, "scores",
    f"**Figure.** Edges found and ends that are right by three kinds of lines, beside as many ends "
    f"by two other rules; {about}. *See:* lines as printed find {line['found']:.0f} % of the "
    f"edges, but {100 - line['right']:.0f} % of their ends have no edge of their own.")

# %%
for way, row in means.iterrows():
    note = f"{row['ends']:.0f} ends, {row['right']:.0f} % of them at an edge; as many at equal "
    note += f"steps: {row['found, equal steps']:.0f} and {row['right, equal steps']:.0f} %, at "
    note += f"the largest jumps: {row['found, largest jumps']:.0f} % found"
    results.number(f"edges of layers with a line's end, {way}", row["found"], "%", note=note)

# %%
printed_ends = [compress(*cumulated(samples))["x_end"].to_numpy()[:-1] for samples in runs.values()]
within = {n: np.mean([score(ends, edges(samples), n)[0]
                      for ends, samples in zip(printed_ends, runs.values(), strict=True)])
          for n in sorted({1, near, 2 * near})}
bounded, drifting = means.loc["bounded"], means.loc["drift"]
display(results.finding(
    f"Lines end at {line['found']:.0f} % of the edges of layers ({len(runs)} inferences of "
    f"{', '.join(names)}; as many ends at the largest jumps: {line['found, largest jumps']:.0f} %, "
    f"at equal steps: {line['found, equal steps']:.0f} %), but {100 - line['right']:.0f} % of the "
    f"ends have no edge. Lines are as printed, an end is within {near} samples of an edge, "
    "so that an end alone says little. And the edges are easy: the authors of the labels set them "
    "where the count nearly stands still, the count that the lines are fitted to."))
results.finding(
    f"With the drift test {drifting['found']:.0f} % of the edges are found, by "
    f"{drifting['ends']:.0f} ends in place of {line['ends']:.0f}. Lines with a hard bound of "
    f"{100 * BOUND:g} % of the count have {bounded['ends']:.0f} ends and find "
    f"{bounded['found']:.0f} %; as many at equal steps find {bounded['found, equal steps']:.0f} "
    f"%, at the largest jumps {bounded['found, largest jumps']:.0f} %. Lines as printed by how "
    "near an end must be: "
    + ", ".join(f"{found:.0f} % within {n}" for n, found in within.items()) + " samples.")

# %% [markdown]
# ## What this doesn't show
#
# Whether lines find phases that follow each other without a pause, which is harder. It is one network in one program on one machine, which is not named, and one event. A hard bound is one of many: a narrower one has more ends.
#
# **References.** Wu and Mencer, *Online Linear Regression of Sampling Data from Performance Event Counters*. The streams: bhargavarch/DNN_RevEngg_PMC_Dataset (AIMLSystems 2021).

# %%
results.save()
