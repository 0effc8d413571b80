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
# Wu and Mencer fit straight lines to an event's cumulative count ([notebook 07](07_compression.ipynb)) and expect them to keep "the variation characteristic" of a program (§5). Whether lines end where the program changes what it does, they do not test. Here it is known when that is. On your own streams in this form (a CSV an inference, with a column `label`): `cmlib run paper 07b -p folder=…`; first to change: `event`.

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
print(f"{len(runs)} inferences of {', '.join(names)}; the first: {len(samples)} samples")
samples[samples["label"] > 0].head()

# %% [markdown]
# A row is a sample of four hardware counters, and the layer that ran: 600 convolution, 200 batch normalization, 300 activation, 900 pooling, 700 dropout, 400 flatten, 500 dense, 0 between two layers, when little is counted. Others published them (AIMLSystems 2021). How long a sample takes is not said, so the timer is its number. Counts are added up, as the method takes them.
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
flat = (samples.loc[samples["label"] == 0, event].sum() / samples[event].sum())
results.figure(
    figure,
    "layers",
    f"**Figure.** Counted {event} so far in one inference ({next(iter(runs))}; others' hardware "
    f"events), n = {len(samples):,} samples; above where lines end as printed, below where a layer "
    "begins or ends. *See:* a line ends at nearly every edge, and many end inside of layers; "
    f"{100 * flat:.1f} % of all {event} are counted where no layer runs.",
)

# %% [markdown]
# ## How many edges have a line's end?
#
# *Found* is the share of the edges $A$ with a line's end at most `near` samples away (recall); *right* is the share of the ends $B$ that lie so near to an edge (precision):
#
# $$\mathrm{found} = \frac{|\{a \in A : \min_{b \in B} |a - b| \le \mathtt{near}\}|}{|A|}, \qquad \mathrm{right} = \frac{|\{b \in B : \min_{a \in A} |a - b| \le \mathtt{near}\}|}{|B|}$$
#
# Three kinds of lines: as printed; with a test that also ends a line from which samples drift away to one side; with a hard bound of 0.1 % of the count on a sample's distance. What they have to beat: as many ends at equal steps. Judged is the part from the first edge to the last; the stream goes on beyond, and ends there count for neither.

# %%
def score(B, A):
    """Share of the edges A that are found by the ends B, and of the ends that are right [%]."""
    found = np.mean([min(abs(a - b) for b in B) <= near for a in A])
    right = np.mean([min(abs(a - b) for a in A) <= near for b in B])
    return 100 * found, 100 * right


def judge(samples):
    """Edges found by each kind of lines, and by as many ends at equal steps."""
    (x, y), A = cumulated(samples), edges(samples)
    ways = {"printed": {}, "drift": {"drift": drift}, "bounded": {"bound": 1e-3 * y.iloc[-1]}}
    rows = []
    for way, options in ways.items():
        ends = compress(x, y, **options)["x_end"].to_numpy()[:-1]
        ends = ends[(ends >= A[0] - near) & (ends <= A[-1] + near)]
        even = np.linspace(A[0], A[-1], len(ends))
        scores = *score(ends, A), *score(even, A)
        rows.append((way, len(ends), *scores))
    columns = ["method", "ends", "found", "right", "found, equal steps", "right, equal steps"]
    return pd.DataFrame(rows, columns=columns)


# %%
judged = pd.concat({name: judge(samples) for name, samples in runs.items()}, names=["run"])
means = judged.groupby("method", sort=False).mean(numeric_only=True)
n_edges = int(np.mean([len(edges(samples)) for samples in runs.values()]))
about = f"mean of {len(runs)} inferences of {n_edges} edges each, within {near} samples"
results.table(means.reset_index(), "edges", f"**Table.** Ends of lines; edges found and ends that "
              f"are right [%], {about}; the same of as many ends at equal steps.", decimals=1)

# %%
@plot.styled
def draw_scores(means):
    """Edges found and ends right by each kind of lines, and by as many ends at equal steps."""
    figure, axes = plot.panels(["edges found", "ends that are right"], height=1.9, sharex=True)
    for ax, column in zip(axes, ("found", "right"), strict=True):
        ax.plot(means[column], means.index, "o", color=plot.palette(1)[0], label="ends of lines")
        ax.plot(means[f"{column}, equal steps"], means.index, "s", color="#80868b",
                label="ends at equal steps")
        ax.grid(True, axis="x")
        ax.set(xlabel=f"{column} [%]", xlim=(-3, 103), ylim=(2.5, -0.5))
    plot.legend_below(figure, axes[0], 2)
    return figure, axes


figure, _ = draw_scores(means)
line = means.loc["printed"]
results.figure(
    figure, "scores",
    f"**Figure.** Edges found and ends that are right by three kinds of lines, beside as many ends "
    f"at equal steps; {about}. *See:* lines as printed find {line['found']:.0f} % of the edges, "
    f"but {100 - line['right']:.0f} % of their ends lie at none.")

# %%
for way, row in means.iterrows():
    note = f"{row['ends']:.0f} ends, {row['right']:.0f} % of them at an edge; as many at equal "
    note += f"steps: {row['found, equal steps']:.0f} and {row['right, equal steps']:.0f} %"
    results.number(f"edges of layers with a line's end, {way}", row["found"], "%", note=note)
results.finding(
    f"Lines as printed end at {line['found']:.0f} % of the edges of a network's layers; as many "
    f"ends at equal steps at {line['found, equal steps']:.0f} %. But only {line['right']:.0f} % of "
    f"the ends lie at an edge (equal steps: {line['right, equal steps']:.0f} %), so that an end "
    "alone says little. Lines with a hard bound find "
    f"{means.loc['bounded', 'found']:.0f} %."
)

# %% [markdown]
# ## What this doesn't show
#
# The edges are easy: between two layers the count nearly stands still, and the authors of the labels set them by that, not by a clock. Phases that follow each other without a pause are harder, and nobody has labelled them. One network and one program; several ends beside one edge all count as right. The event that these files call `cache_misses` is PAPI_L1_TCM, and `cache_references` PAPI_L3_TCA.
#
# **References.** Wu and Mencer, *Online Linear Regression of Sampling Data from Performance Event Counters*. The streams: bhargavarch/DNN_RevEngg_PMC_Dataset (AIMLSystems 2021).

# %%
results.save()
