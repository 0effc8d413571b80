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
# # Phases: do lines end where a program does something else?
#
# **Question.** Does a line end where one layer of a neural network ends and the next begins?
#
# *Reads* the streams of `cmlib fetch dnn-layers`, in the cache or in the folder `CMLIB_PUBLIC`: nine inferences of AlexNet whose samples say which layer ran. *Writes* how many edges of layers have a line's end beside them, beside ends at equal steps.
#
# Wu and Mencer expect lines to show "the variation characteristic" of a program (§5); whether their ends are its phases the paper does not test. Here the phases are known.

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
from cmlib.compress import compress, line_ends, reconstruct
from cmlib.errors import NothingRecordedError
from cmlib.experiments.requested import resolve_names
from cmlib.io import streams
from cmlib.report.notebook import begin

# %%
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
found = found[found["case"].isin(names)]
runs = {f"{run.case} {run.run}": pd.read_csv(run.path) for run in found.itertuples()}
first = next(iter(runs.values()))
first[first["label"] > 0].head()

# %% [markdown]
# ## The streams
#
# A row is a sample of four counters with the layer that ran: 600 convolution, 200 batch normalization, 300 activation, 900 pooling, 700 dropout, 400 flatten, 500 dense, 0 between two layers, when nothing is counted. The interval is not told, so the timer is the number of the sample. Counts are added up, as the method takes them.


# %%
def cumulated(samples):
    """Number of the sample, and the event's count so far."""
    y = samples[event].cumsum()
    return pd.Series(np.arange(1, len(y) + 1), name="sample"), y


def edges(samples):
    """Samples at which the label changes."""
    label = samples["label"].to_numpy()
    return np.flatnonzero(label[1:] != label[:-1]) + 1


panels = {}
for name in list(runs)[1:3] or list(runs)[:1]:
    x, y = cumulated(runs[name])
    samples, lines = pd.Series(y.to_numpy(), x), compress(x, y, drift=drift)
    panels[name] = samples, line_ends(lines), samples - reconstruct(lines, x)
figure, _ = plot.fits(panels, xlabel="sample", ylabel=f"{event}, cumulated")
results.figure(
    figure,
    "layers",
    f"**Figure.** Cumulated {event} of one inference, and its lines with the drift test. Steps "
    "are layers; flat stretches lie between them.",
)

# %% [markdown]
# ## Ends of lines at edges of layers
#
# *Found* is the share of the edges $A$ with a line's end at most `near` samples away; *right* the share of the ends $B$ that lie so near to an edge:
#
# $$\mathrm{found} = \frac{|\{a \in A : \min_{b \in B} |a - b| \le \mathtt{near}\}|}{|A|}, \qquad \mathrm{right} = \frac{|\{b \in B : \min_{a \in A} |a - b| \le \mathtt{near}\}|}{|B|}$$
#
# The baseline has as many ends, at equal steps. A bound of 0.1 % of the count is the third way to draw lines.


# %%
def agreement(ends, truth):
    """Share of edges found, and of ends that are right [%]."""
    apart = np.abs(np.subtract.outer(truth, ends))
    return 100 * (apart.min(axis=1) <= near).mean(), 100 * (apart.min(axis=0) <= near).mean()


def judge(samples):
    """Edges found by every way, and by as many ends at equal steps."""
    x, y = cumulated(samples)
    ways = {"printed": {}, "drift": {"drift": drift}, "bounded": {"bound": 1e-3 * y.iloc[-1]}}
    rows = []
    for way, how in ways.items():
        ends = compress(x, y, **how)["x_end"].to_numpy()[:-1]
        even = np.linspace(1, len(x), len(ends) + 2)[1:-1]
        scores = agreement(ends, edges(samples)), agreement(even, edges(samples))
        rows.append((way, len(ends), *scores[0], *scores[1]))
    columns = ["method", "ends", "found", "right", "found, equal steps", "right, equal steps"]
    return pd.DataFrame(rows, columns=columns)


# %%
judged = pd.concat({name: judge(samples) for name, samples in runs.items()}, names=["run"])
means = judged.groupby("method", sort=False).mean(numeric_only=True)
n_edges = int(np.mean([len(edges(samples)) for samples in runs.values()]))
results.table(
    means.reset_index(),
    "edges",
    f"**Table.** Mean of {len(runs)} inferences of {n_edges} edges each: edges found and ends that "
    f"are right, within {near} samples [%].",
    decimals=1,
)

# %%
for way, row in means.iterrows():
    note = f"{row['ends']:.0f} ends, {row['right']:.0f} % of them at an edge; as many at equal "
    note += f"steps: {row['found, equal steps']:.0f} and {row['right, equal steps']:.0f} %"
    results.number(f"edges of layers with a line's end, {way}", row["found"], "%", note=note)
printed = means.loc["printed"]
display(results.finding(
    f"The printed lines end at {printed['found']:.0f} % of the edges between a network's layers, "
    f"and {printed['right']:.0f} % of their ends lie at one; as many ends at equal steps find "
    f"{printed['found, equal steps']:.0f} %."
))
results.numbers()

# %% [markdown]
# ## What this doesn't show
#
# The edges are easy: between two layers nothing runs, and the authors of the labels set them by those zeros, not by a clock. Phases that follow each other without a pause are harder, and nobody has labelled them. The event that these files call `cache_misses` is PAPI_L1_TCM, and `cache_references` PAPI_L3_TCA.
#
# **References.** Wu and Mencer, *Online Linear Regression of Sampling Data from Performance Event Counters*. The streams: bhargavarch/DNN_RevEngg_PMC_Dataset (AIMLSystems 2021).

# %%
results.save()
