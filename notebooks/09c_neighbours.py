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
# **Question.** Do IPC and the ranking of events change when perf runs on the measured core, and when the program gets longer?
#
# *Reads* the recordings of `cmlib fetch nfv-haswell`, in the cache or in the folder `CMLIB_PUBLIC`. *Writes* IPC, errors and rankings of each recording, and how far they agree beside two halves of one recording.
#
# Packet processing by FastClick in chains of one, three and five network functions, with perf on the measured core (*collocated*) or on another (*independent*): 31 events on four counters (`theleos88/ml-for-highspeed-networks`, no licence stated). The paper asks what a neighbour changes in the ranking (CounterMiner, Fig. 16). The notebook is about these recordings alone; what a second program changes in the ranking of your own is asked in [notebook 09](09_colocation.ipynb).

# %% tags=["parameters"]
program: str = "all"  # any other than all leaves this notebook out
n_seeds: int = 3  # models behind an importance
settings: dict = {}  # profile, results_folder

# %%
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from cmlib import rank
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
runs = {(row.chain, row.place): counts_of(row.file)
        for row in files_like("nfv-haswell", form).itertuples()}
there = {key: [counts for counts, _ in own] for key, own in sorted(runs.items()) if own}
recordings = {key: pooled(own) for key, own in there.items()}
if not recordings:
    raise NothingRecordedError(how_to_get("nfv-haswell"))
next(iter(recordings.values())).counts.head()

# %% [markdown]
# ## What explains IPC
#
# A row is a second; models explain $\log \mathrm{IPC}$ by events per instruction, and are tested on stretches that they never saw (CounterMiner, Eq. 14, mean over the rows), beside the mean of the other stretches:
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
results.table(described.reset_index(), "neighbours",
              "**Table.** IPC, errors on unseen stretches [%], first events.", decimals=3)

# %% [markdown]
# ## What changes a ranking
#
# Kendall's rank correlation of importances, with $n_c$ of the pairs of $n$ events in the same order in both rankings and $n_d$ in opposite ones,
#
# $$\tau = \frac{n_c - n_d}{n(n-1)/2},$$
#
# between recordings that differ in one thing, and between two halves of one recording. Nothing can be told of a change that is no larger than that between halves.


# %%
def alike(one, other):
    """Rank correlation of two rankings, on the events of both."""
    common = one.index.intersection(other.index)
    return kendalltau(one[common], other[common]).statistic


def halves(data):
    """Rank correlation between rankings by the first and by the second half."""
    middle = len(data.X) // 2
    parts = [slice(middle), slice(middle, None)]
    return alike(*(importances(data.X[part], data.y[part]) for part in parts))


ranked = {key: importances(data.X, data.y) for key, data in recordings.items()}
rows = [("nothing: halves of a recording", halves(data)) for data in recordings.values()]
for one, other in combinations(ranked, 2):
    if one[0] == other[0] or one[1] == other[1]:
        differs = "perf's core" if one[0] == other[0] else "the chain"
        rows.append((differs, alike(ranked[one], ranked[other])))
agreement = pd.DataFrame(rows, columns=["differs", "kendall"]).groupby("differs", sort=False)
agreement = agreement["kendall"].agg(["size", "mean", "min", "max"])
results.table(agreement.reset_index(), "neighbours-agreement",
              "**Table.** Rank correlation of importances by what differs.")

# %%
both = described["IPC"].unstack("perf's core")
gap = 100 * both.pct_change(axis=1).iloc[:, -1].abs().max()
results.number("neighbours: change of IPC by perf on the measured core, highest", gap, "%")
for differs, value in agreement["mean"].items():
    results.number(f"neighbours: rank correlation, what differs: {differs}", value)
results.numbers()

# %% [markdown]
# ## What this doesn't show
#
# The core polls, so that IPC hardly varies within a recording and little can be explained; that rankings of two halves agree only in part is owed to that. Programs that share caches with a neighbour are another matter (notebook 09).
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §V-E.

# %%
results.save()
