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
# **Question.** Do a program's IPC and the ranking of its events change when perf runs on a core that is measured, and how much beside a change of the program itself? (CounterMiner, Fig. 16, asks what a neighbour changes; here the only neighbour is perf.)
#
# *Reads* the recordings of `cmlib fetch nfv-haswell`, in the cache or in the folder `CMLIB_PUBLIC` (`theleos88/ml-for-highspeed-networks`, no licence stated; not the paper's data). *Writes* IPC, errors and rankings of each recording, and how far they agree beside two halves of one recording.
#
# The program is FastClick, which processes network packets in a *chain* of one, three or five functions, a core a function and one more for the generator of packets. perf runs on a measured core (*collocated*) or on another (*independent*).

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
        f"{len(data.counts.columns)} events that took turns on four counters. The first rows:"
    )
)
data.counts[["instructions", "cycles", "branches", "cache-misses"]].assign(IPC=data.ipc).head()

# %% [markdown]
# ## IPC, and what explains it
#
# Models (boosted trees) explain the logarithm of IPC by events per instruction. Each recording is cut into twelve stretches; every fourth makes a fold, which is predicted by a model of the other three, beside their mean IPC, which looks at no event. Errors are relative (CounterMiner, Eq. 14), in the mean over the rows:
#
# $$err = \frac{|IPC_{meas} - IPC_{pred}|}{IPC_{meas}} \times 100\,\% \tag{14}$$


# %%
def importances(X, y):
    """Importance of each event, mean of models of resampled stretches."""
    return rank.draw_importances(X, y, seeds=range(n_seeds), boosting=QUICK).mean()


def drift(data):
    """By how much the mean IPC of the second half differs from that of the first [%]."""
    middle = len(data.ipc) // 2
    return 100 * (data.ipc.iloc[middle:].mean() / data.ipc.iloc[:middle].mean() - 1)


def describe(data):
    """IPC of a recording, and how well and by which events it is explained."""
    X, predicted, mean = data.X[sorted(data.X)], data.ipc.copy(), data.ipc.copy()
    for held in np.unique(data.fold):
        rest = data.fold != held
        model = regressor(boosting=QUICK).fit(X[rest], data.y[rest])
        predicted[~rest] = np.exp(model.predict(X[~rest]))
        mean[~rest] = data.ipc[rest].mean()
    row = {"IPC": data.ipc.mean(), "sd": data.ipc.std(), "halves differ by [%]": drift(data)}
    row |= {"error, model [%]": rank.relative_error(data.ipc, predicted)}
    row |= {"error, mean [%]": rank.relative_error(data.ipc, mean)}
    first = importances(data.X, data.y).nlargest(3).index
    return row | {"first events": ", ".join(first)}


# %%
described = pd.DataFrame({key: describe(data) for key, data in recordings.items()}).T
described = described.infer_objects().rename_axis(["chain", "perf's core"])
ipc = described["IPC"].unstack("perf's core")
by_core = 100 * (ipc["collocated"] / ipc["independent"] - 1)
by_chain = 100 * (ipc.max() / ipc.min() - 1).max()
halves_differ = described["halves differ by [%]"].abs()
errors = described[["error, model [%]", "error, mean [%]"]].mean()
results.table(
    described.reset_index(),
    "neighbours",
    "**Table.** Mean IPC of each recording, its standard deviation over seconds, by how much the "
    "second half differs from the first, relative error on unseen stretches, and the three most "
    "important events. *See:* with perf on a measured core IPC changes by "
    + ", ".join(f"{value:+.3f} % (chain of {chain})" for chain, value in by_core.items())
    + f"; between halves of one recording by up to {halves_differ.max():.2g} %. Models err by "
    f"{errors.iloc[0]:.2f} % in the mean of recordings, the mean by {errors.iloc[1]:.2f} %.",
    decimals=3,
)

# %% [markdown]
# ## Does the ranking change?
#
# An event's importance is the share of the model's error that it takes away (notebook 03). Two rankings of $n$ events by importance are compared by Kendall's rank correlation, with $n_c$ pairs of events in the same order in both and $n_d$ in opposite ones (1: the same order, 0: as random orders):
#
# $$\tau = \frac{n_c - n_d}{n(n-1)/2}.$$
#
# Each recording is cut into two halves, and a ranking is made of each. $\tau$ between halves of one recording says what time alone changes; between halves of two recordings that differ in one thing, what that changes beyond.


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

# %% [markdown]
# Would that happen anyway? If recordings did not differ, the four halves of a chain's two recordings could be paired in any way. So they are paired in all ways, in every chain (when the chain differs: the six halves of each of perf's cores), and *p* is the share of these pairings in which paired halves agree at least as much as those of one recording do.


# %%
def pairings(halves):
    """All ways to put an even number of things into pairs."""
    if not halves:
        return [[]]
    first, *rest = halves
    return [[(first, other), *more] for other in rest
            for more in pairings([half for half in rest if half != other])]


def p_value(group):
    """How often other pairings of the halves of each group agree as much as the recordings."""
    mean_tau = []
    for keys in group:
        tau = {(a, b): rank_correlation(rankings[a[0]][a[1]], rankings[b[0]][b[1]])
               for a, b in combinations([(key, half) for key in keys for half in (0, 1)], 2)}
        mean_tau.append([sum(tau[pair] for pair in own)
                         for own in pairings(sorted({a for pair in tau for a in pair}))])
    drawn = [sum(own) for own in product(*mean_tau)]  # the first pairing is that of the recordings
    return np.mean(np.array(drawn) >= drawn[0] - 1e-12)


places = {"perf's core": "chain", "the chain": "core"}
groups = pd.DataFrame(list(rankings), columns=["chain", "core"]).assign(key=list(rankings))
by_cause["p"] = pd.Series({cause: p_value(groups.groupby(same)["key"].agg(list))
                           for cause, same in places.items()}).reindex(by_cause.index)


# %%
@plot.styled
def draw(agreement):
    """A row what differs, a dot a pair of rankings, a bar their mean."""
    figure, ax = plt.subplots(figsize=(8, 1.8))
    for row, (_, tau) in enumerate(reversed(list(agreement.groupby("differs", sort=False)["tau"]))):
        ax.plot(tau, [row] * len(tau), "o", alpha=0.6, color=plot.palette(1)[0])
        ax.plot([tau.mean()], [row], "|", markersize=22, color="black")
    named = {"nothing": "nothing but time"}
    ax.set_yticks(range(agreement["differs"].nunique()),
                  agreement["differs"].replace(named).unique()[::-1])
    ax.set(xlabel="rank correlation (Kendall) of importances", ylabel="differs", xlim=(-1, 1))
    return figure, ax


# %%
lowest = by_cause["min"].iloc[0]
others = agreement[agreement["differs"] != "nothing"]
display(results.figure(
    draw(agreement)[0],
    "agreement",
    "**Figure.** Rank correlation of the importances of two halves, by what differs between them: "
    f"a dot a pair of halves ({len(agreement)}, each half in several), bar: mean. *See:* means "
    f"are, from above, {', '.join(f'{tau:.2f}' for tau in by_cause['mean'])}; "
    f"{(others['tau'] < lowest).sum()} of the {len(others)} dots of the lower rows lie left of all "
    "of the first row.",
))
results.table(
    by_cause.reset_index(),
    "neighbours-agreement",
    "**Table.** Rank correlation of importances by what differs: pairs of halves, their mean and "
    "range, and p.",
    decimals=3,
)

# %%
core, chain = (by_cause.loc[cause] for cause in places)
within = by_core.abs().max() <= halves_differ.max()
changes = ("yes, it differs more between recordings than between the halves of one"
           if core["p"] < 0.05 else "not shown, as it differs between the halves of one recording")
display(results.finding(
    f"IPC: {'no' if within else 'yes'}, with perf on a measured core it differs by "
    f"{by_core.abs().max():.2g} % at most (others' recordings of FastClick), between halves of one "
    f"recording by up to {halves_differ.max():.2g} %, between lengths of the chain by up to "
    f"{by_chain:.0f} %. The ranking: {changes}; Kendall's τ is {by_cause['mean'].iloc[0]:.2f} "
    f"between halves, {core['mean']:.2f} where perf's core differs (p = {core['p']:.2f}), "
    f"{chain['mean']:.2f} where the chain does (p = {chain['p']:.2f}). With one recording a "
    "setting it can't be told whether perf does this, or whatever else changes from one recording "
    "to the next."))

# %%
results.number("neighbours: change of IPC by perf on the measured core, highest",
               by_core.abs().max(), "%")
for differs, value in by_cause["mean"].items():
    results.number(f"neighbours: rank correlation, what differs: {differs}", value)
results.numbers()

# %% [markdown]
# ## What this doesn't show
#
# The cores poll for packets all the time: IPC hardly varies within a recording, and what is ranked are events that go with small changes. Events took turns on four counters; their counts are as perf scaled them, and nothing was cleaned. Programs that share caches with a neighbour are another matter ([notebook 09](09_colocation.ipynb)).
#
# ## On your own program
#
# This page is only about these recordings: `cmlib fetch nfv-haswell`, then `cmlib run paper 09c -p n_seeds=10`; `n_seeds` is the parameter to change first, for steadier rankings. Rankings of your own program: `cmlib record NAME -- COMMAND`, then `cmlib run live 03 -p program=NAME` ([notebook 03](03_ranking.ipynb)).
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §V-E.

# %%
results.save()
