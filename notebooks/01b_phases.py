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
# # Phases: where the mean of a program's IPC changes
#
# **Question.** Into which phases does a run fall, how much do they explain, and do other runs of the program fall into as many?
#
# *Reads* the store, the database of all recorded runs. *Writes* the phases of one run of each program, and how near it is to one more.
#
# IPC is instructions per cycle, by interval of a run. The first page, notebook 01a and `cmlib summarize` cut runs by the rule below. It comes from none of the papers.

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas, or all
n_shuffled: int = 20  # random orders of a run's values, in which there are no phases
seed: int = 0  # of the random orders
settings: dict = {}  # database, profile, results_folder

# %%
import numpy as np
import pandas as pd
from IPython.display import Markdown

from cmlib import plot, topdown
from cmlib.errors import UnfitRecordingError
from cmlib.experiments import data
from cmlib.fingerprint.segments import segment_starts
from cmlib.io import store
from cmlib.plot.style import GREY
from cmlib.report.notebook import begin

# %%
limits = {"n_shuffled": (1, 1000), "seed": (0, 1_000_000)}
notebook = begin("01b_phases", settings, program=program, n_shuffled=n_shuffled, seed=seed)
results, url = notebook.results, notebook.database
programs = data.programs(url, program)
data.refuse_simulated(url, programs, "phases of a simulated program are in notebook 01a.")
display(Markdown(data.describe_data(url, programs)))

# %% [markdown]
# ## The data
#
# $x_t = \mathrm{instructions}_t / \mathrm{cycles}_t$ of every whole interval $t$; runs in which no event took turns on the counters where a program has any, else all. Run 1 is the first by name.

# %%
def ipc_of_runs(name):
    """IPC over time of each run, of those in which no event took turns where there are any."""
    listed = data.interval_runs(url, [name])
    listed = listed[listed["events"].map(data.knows_ipc) & (listed["axis"] == "time")]
    chosen = listed[listed["mode"] == "ocoe"] if "ocoe" in set(listed["mode"]) else listed
    runs = [store.load(url, run_id).whole()[0] for run_id in chosen["run_id"]]
    series = [(run["instructions"] / run["cycles"]).dropna() for run in runs]
    return [x for x in series if 20 <= len(x) <= 240 and x.std() > 0]


ipc = {name: ipc_of_runs(name) for name in programs}
ipc = {name: series for name, series in ipc.items() if series}
if not ipc:
    raise UnfitRecordingError(f"this takes 20 to 240 intervals of one run with instructions and "
                              f"cycles, and there are none of {', '.join(programs)}.")

# %% [markdown]
# ## The rule
#
# A series $x$ of $n$ values is cut into $m$ phases $P_1, \dots, P_m$, each described by one level, its mean (within a phase the values may swing widely), none shorter than 4 % of the series. With $\bar x$ the mean of all values and $\bar x_k$ that of phase $k$, those phases are taken whose
#
# $$\mathrm{cost} = \sum_{k=1}^{m} \sum_{t \in P_k} (x_t - \bar{x}_k)^2 + m \, \max\Big(0.1 \sum_{t=1}^{n} (x_t - \bar{x})^2,\; 3 \, \sigma^2 \ln n\Big)$$
#
# is least: what the phases leave of the squares, and a price for each phase, so that a further one must explain a tenth of the variance, and more than the best cut of noise would. $\sigma^2$ is the variance within phases times $(1 + r) / (1 - r)$, $r$ being the correlation of neighbours there (plus its bias, about $m / n$): independent values of this variance have means that vary as much. As $\sigma^2$ takes phases and phases take $\sigma^2$, both are computed in turn, until $\sigma^2$ grows no more. (No method of the papers; `segment_starts` finds the phases of least cost exactly, by dynamic programming. Of more than 240 values, means of neighbours are cut, by the library alone.)

# %%
def phases_by_hand(x):
    """Where phases begin, and the price of one."""
    n, X = len(x), (x - x.mean()).to_numpy()
    sigma2 = (np.diff(X) ** 2).mean() / 2  # at first, as if neighbours were independent
    while True:
        price = max(0.1 * (X**2).sum(), 3 * sigma2 * np.log(n))
        starts = segment_starts(X[:, None], penalty=price, shortest=round(0.04 * n))
        P = [X_k - X_k.mean() for X_k in np.split(X, starts[1:])]
        variance = sum((x_k**2).sum() for x_k in P) / (n - len(P))
        r = sum((x_k[1:] * x_k[:-1]).sum() for x_k in P) / (n - len(P)) / max(variance, 1e-30)
        r = np.clip(r + len(P) / n, 0, 0.99)
        before, sigma2 = sigma2, variance * (1 + r) / (1 - r)
        if len(P) == 1 or sigma2 <= before:
            return x.index[starts], price

# %% [markdown]
# How near a run is to one more phase: the price is lowered until there is one. And what the rule finds where there is nothing to find: the same values in random order.

# %%
def next_phase(x, starts, price):
    """Where the next phase would begin, farthest from those there are, and at which price."""
    X, cheaper = (x - x.mean()).to_numpy()[:, None], list(starts)
    while len(cheaper) <= len(starts) and price > 1e-6 * (X**2).sum():  # else there is no more
        price *= 0.98
        cheaper = x.index[segment_starts(X, penalty=price, shortest=round(0.04 * len(X)))]
    return max(cheaper, key=lambda start: abs(starts - start).min()), price


# %%
rng, rows, phases = np.random.default_rng(seed), {}, {}
for name, series in ipc.items():
    x = series[0]
    starts, price = phases_by_hand(x)
    phases[name] = topdown.series_phases(x)
    np.testing.assert_array_equal(starts, phases[name]["start"])  # the library finds the same
    level = phases[name]["level"].iloc[starts.searchsorted(x.index, side="right") - 1].to_numpy()
    squares, (start, enough) = ((x - x.mean()) ** 2).sum(), next_phase(x, starts, price)
    numbers = [len(topdown.series_phases(other)) for other in series]
    shuffled = [len(phases_by_hand(pd.Series(rng.permutation(x), x.index))[0])
                for _ in range(n_shuffled)]
    rows[name] = [len(starts), 100 * (1 - ((x - level) ** 2).sum() / squares),
                  100 * price / squares, 100 * enough / squares, start, len(numbers),
                  sum(number > len(starts) for number in numbers), sum(n > 1 for n in shuffled)]
columns = ["phases", "explain [%]", "price [%]", "next at [%]", "next from [s]", "runs",
           "runs with more", "shuffled"]
table = pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("program")
nearest = (table["next at [%]"] / table["price [%]"]).idxmax()

# %%
figure, axes = plot.series_by_program(
    {name: {"IPC of run 1": series[0]} for name, series in ipc.items()}, ylabel="IPC")
for ax, name in zip(axes, ipc, strict=True):
    for at in phases[name].itertuples():
        ax.hlines(at.level, at.start, at.end, color="#222222", lw=2)
    ax.axvline(table.at[name, "next from [s]"], color=GREY, lw=1, ls=":")
display(results.figure(figure, "phases", "**Figure.** IPC of run 1; black: the mean of each phase; "
                       "dotted: where one more would begin if its price were lower. *See:* nearest "
                       f"to one more is {nearest}, at {table.at[nearest, 'next from [s]']:.1f} s."))

# %%
results.table(table.iloc[:, :7].reset_index(), "phases", "**Table.** Phases of run 1, what they "
              "explain of the sum of squares; the price of one; the price at which there would be "
              "more, and where that would begin; runs, and those with more phases than run 1.",
              decimals=1)

# %%
for name, row in table.iterrows():
    results.number(f"phases explain of IPC's squares, {name}", row["explain [%]"], "%")
told = ", ".join(f"{name} {row.iloc[0]:.0f} ({row['explain [%]']:.0f} %)"
                 for name, row in table.iterrows())
row = table.loc[nearest]
several = f"; {row['runs with more']:.0f} of its {row['runs']:.0f} runs have more phases"
display(results.finding(
    f"Run 1 has so many phases, which explain so much of the sum of squares of its IPC: {told}. "
    f"Nearest to one more is {nearest}, from {row['next from [s]']:.1f} s on: it would explain "
    f"{row['next at [%]']:.1f} % of the squares, and its price is {row['price [%]']:.1f} %"
    f"{several}. Of {n_shuffled * len(table)} random orders of the values, without phases, "
    f"{table['shuffled'].sum():.0f} are cut."))

# %% [markdown]
# ## What this doesn't show
#
# Why IPC changes: what was counted beside it may tell (notebooks 01a and 05). The tenth and the 4 % are chosen, not found: with a lower price runs have more phases (*next at*). In random order neighbours are independent, which in a run they are not; for these the price has $(1 + r) / (1 - r)$.
#
# ## On your own program
#
# `cmlib record NAME -- COMMAND`, then `cmlib run live 01b_phases -p program=NAME` (*live*: the profile for recordings of your own). `program` is the parameter to change first.
#
# **References.** Killick, Fearnhead and Eckley, *Optimal detection of changepoints with a linear computational cost*, JASA 2012 (penalized cost).

# %%
results.save()
