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
# # Neighbours: does it matter on which core perf runs?
#
# **Question.** Do a program's IPC and the ranking of its events change when perf runs on the same core (CounterMiner, Fig. 16, asks what a neighbour changes), and when the program gets longer?
#
# *Reads* the recordings of `cmlib fetch nfv-haswell`, in the cache or in the folder `CMLIB_PUBLIC` (`theleos88/ml-for-highspeed-networks`, no licence stated; not the paper's data). *Writes* IPC, errors and rankings of each recording, and how far they agree beside two halves of one recording.
#
# The program is packet processing by FastClick in chains of one, three and five network functions, a core a function and one more for the generator; perf runs on a measured core (*collocated*) or on another (*independent*). The only neighbour is perf.
#
# **On your own program.** The notebook is about these recordings alone; what a second program changes in your own is asked in [notebook 09](09_colocation.ipynb). First to change: `n_seeds`, for steadier rankings.

# %% tags=["parameters"]
program: str = "all"  # any other than all leaves this notebook out
n_seeds: int = 3  # models behind an importance
settings: dict = {}  # profile, results_folder

# %%
from itertools import combinations, product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown
from scipy.stats import kendalltau

from cmlib import plot, rank
from cmlib.errors import NothingRecordedError
from cmlib.experiments.published import QUICK, counts_of, files_like, how_to_get, pooled
from cmlib.experiments.requested import resolve_names
from cmlib.rank.boosting import regressor
from cmlib.report.notebook import begin

# %%
limits = {"n_seeds": (2, 100)}
notebook = begin("09c_neighbours", settings, program=program, n_seeds=n_seeds)
results = notebook.results
todo = "The chains are taken together: program=all."
resolve_names(program, [], about="programs of this notebook", todo=todo)
form = r"(?P<chain>\d)-vnf-(?P<place>\w+)-core-freq-1-all-fastclick\.txt"
runs = {
    (row.chain, row.place): counts_of(row.file)
    for row in files_like("nfv-haswell", form).itertuples()
}
there = {key: [counts for counts, _ in own] for key, own in sorted(runs.items()) if own}
recordings = {key: pooled(own) for key, own in there.items()}
if not recordings:
    raise NothingRecordedError(how_to_get("nfv-haswell"))
next(iter(recordings.values())).counts.iloc[:5, :6]

# %%
data = next(iter(recordings.values()))
BUS_CLOCK = 1e8  # cycles a second of a core, on this Haswell
cores = {key: data.counts["bus-cycles"].median() / BUS_CLOCK for key, data in recordings.items()}
n_rows = sum(len(data.X) for data in recordings.values())
display(
    Markdown(
        f"**Data.** {len(recordings)} recordings of {n_rows} rows in all, on Intel Haswell: a "
        f"row is a second of all cores that a chain takes ({min(cores.values()):.0f} to "
        f"{max(cores.values()):.0f}, by their bus cycles), a column one of "
        f"{len(data.counts.columns)} events that took turns on four counters."
    )
)

# %% [markdown]
# ## What explains IPC
#
# A row is a second; models explain the logarithm of IPC by events per instruction, and are tested on stretches that they never saw (CounterMiner, Eq. 14, mean over the rows), beside the mean of the other stretches:
#
# $$err = \frac{|IPC_{meas} - IPC_{pred}|}{IPC_{meas}} \times 100\,\% \tag{14}$$


# %%
def importances(X, y):
    """Importance of each event, mean of models of resampled stretches."""
    return rank.draw_importances(X, y, seeds=range(n_seeds), boosting=QUICK).mean()


def describe(data):
    """IPC of a recording, and how well and by which events it is explained."""
    X, predicted, mean = data.X[sorted(data.X)], data.ipc.copy(), data.ipc.copy()
    for held in np.unique(data.fold):
        rest = data.fold != held
        model = regressor(boosting=QUICK).fit(X[rest], data.y[rest])
        predicted[~rest] = np.exp(model.predict(X[~rest]))
        mean[~rest] = data.ipc[rest].mean()
    row = {"IPC": data.ipc.mean(), "sd": data.ipc.std()}
    row |= {"error": rank.relative_error(data.ipc, predicted)}
    row |= {"mean": rank.relative_error(data.ipc, mean)}
    first = importances(data.X, data.y).nlargest(3).index
    return row | {"first events": ", ".join(first)}


described = pd.DataFrame({key: describe(data) for key, data in recordings.items()}).T
described = described.infer_objects().rename_axis(["chain", "perf's core"])

# %% [markdown]
# ## What changes a ranking
#
# Kendall's rank correlation of importances, with $n_c$ of the pairs of $n$ events in the same order in both rankings and $n_d$ in opposite ones,
#
# $$\tau = \frac{n_c - n_d}{n(n-1)/2}.$$
#
# Each recording is cut into halves, and a ranking is made of each half: $\tau$ between halves of one recording says what nothing but time changes; between halves of two recordings that differ in one thing, what that changes beyond.


# %%
def rank_correlation(ranking, other):
    """Kendall's tau of two rankings, on the events of both."""
    common = ranking.index.intersection(other.index)
    return kendalltau(ranking[common], other[common]).statistic


def halves(data):
    """The ranking by the first and by the second half."""
    middle = len(data.X) // 2
    return [
        importances(data.X[part], data.y[part]) for part in (slice(middle), slice(middle, None))
    ]


rankings = {key: halves(data) for key, data in recordings.items()}
rows = [("nothing", rank_correlation(*pair)) for pair in rankings.values()]
for (chain, core), (other_chain, other_core) in combinations(rankings, 2):
    if (chain == other_chain) != (core == other_core):
        differs = "perf's core" if chain == other_chain else "the chain"
        pairs = product(rankings[chain, core], rankings[other_chain, other_core])
        rows += [(differs, rank_correlation(*pair)) for pair in pairs]
agreement = pd.DataFrame(rows, columns=["differs", "tau"])
by_cause = agreement.groupby("differs", sort=False)["tau"].agg(["size", "mean", "min", "max"])

# %%
ipc = described["IPC"].unstack("perf's core")
gap = 100 * ipc.pct_change(axis=1).iloc[:, -1].abs()
chains = 100 * (ipc.max() / ipc.min() - 1).max()
gain = (described["mean"] - described["error"]).mean()
fewer = [row for row in by_cause.index[1:] if by_cause.loc[row, "mean"] < by_cause["min"].iloc[0]]
display(
    results.finding(
        f"IPC changes by at most {gap.max():.2g} % with perf on the measured core and {chains:.2g} "
        f"% with the length of the chain (others' hardware); that the ranking changes "
        f"{'shows' if fewer else 'does not show'} beside halves of one recording. With perf there "
        f"it is {gap.min():.2g} % at least, and most in the chain of {gap.idxmax()}."
    )
)
display(
    results.finding(
        f"Rankings of recordings that differ agree less than halves of one do"
        f"{'' if fewer else ', but within the range of these'}: their mean rank correlation is "
        + ", ".join(
            f"{row['mean']:.2f} where {cause} differs" for cause, row in by_cause.iterrows()
        )
        + f" (halves of one recording: {by_cause['min'].iloc[0]:.2f} to "
        f"{by_cause['max'].iloc[0]:.2f}). "
        f"They say little here: models err by {gain:.2f} points less than the mean of IPC does."
    )
)


# %%
@plot.styled
def draw(agreement):
    """A row what differs, a dot a pair of rankings, a bar their mean."""
    figure, ax = plt.subplots(figsize=(8, 1.8))
    for row, (_, tau) in enumerate(reversed(list(agreement.groupby("differs", sort=False)["tau"]))):
        ax.plot(tau, [row] * len(tau), "o", alpha=0.6, color=plot.palette(1)[0])
        ax.plot([tau.mean()], [row], "|", markersize=22, color="black")
    ax.set_yticks(range(agreement["differs"].nunique()), agreement["differs"].unique()[::-1])
    ax.set(xlabel="rank correlation of importances", ylabel="differs", xlim=(-1, 1))
    return figure, ax


results.figure(
    draw(agreement)[0],
    "agreement",
    (
        "**Figure.** Rank correlation of two halves' importances, by what differs between "
        f"them: a dot a pair of rankings ({len(agreement)} in all), bar: mean; 1: the same order. "
        f"*See:* the means, from above: {', '.join(f'{tau:.2f}' for tau in by_cause['mean'])}."
    ),
)

# %%
results.table(
    described.reset_index(),
    "neighbours",
    "**Table.** IPC with its standard deviation over seconds, error of the models and of "
    "the mean on unseen stretches [%], first events.",
    decimals=2,
)
# %%
results.table(
    by_cause.reset_index(),
    "neighbours-agreement",
    "**Table.** Rank correlation of importances by what differs: pairs of rankings, their "
    "mean and range.",
)

# %%
results.number("neighbours: change of IPC by perf on the measured core, highest", gap.max(), "%")
for differs, value in by_cause["mean"].items():
    results.number(f"neighbours: rank correlation, what differs: {differs}", value)
results.numbers()

# %% [markdown]
# ## What this doesn't show
#
# The cores poll, so that IPC hardly varies within a recording and little can be explained: that rankings of two halves of one recording agree only in part shows it. Programs that share caches with a neighbour are another matter (notebook 09).
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §V-E.

# %%
results.save()
