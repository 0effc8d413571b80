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
n_random: int = 20  # random series of each kind without phases, a program
seed: int = 0  # of the random series
settings: dict = {}  # database, profile, results_folder

# %%
import numpy as np
import pandas as pd
from IPython.display import Markdown
from matplotlib.lines import Line2D

from cmlib import plot, topdown
from cmlib.errors import UnfitRecordingError
from cmlib.experiments import data
from cmlib.fingerprint.segments import segment_starts
from cmlib.io import store
from cmlib.plot.style import GREY
from cmlib.report.notebook import begin

# %%
limits = {"n_random": (1, 1000), "seed": (0, 1_000_000)}
notebook = begin("01b_phases", settings, program=program, n_random=n_random, seed=seed)
results, url = notebook.results, notebook.database
programs = data.programs(url, program)
data.refuse_simulated(url, programs, "phases of a simulated program are in notebook 01a.")
display(Markdown(data.describe_data(url, programs)))

# %% [markdown]
# ## The data
#
# $x_t = \mathrm{instructions}_t / \mathrm{cycles}_t$ of every whole interval $t$; runs in which no event took turns on the counters where a program has any, else all; of these, runs of 20 to 240 such intervals. Run 1 is the first by name.

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
# is least: what the phases leave of the squares, and a price for each phase, so that a further one must explain a tenth of the variance, and more than the best cut of noise would. $\sigma^2$ is the variance within phases times $(1 + r) / (1 - r)$, $r$ being the correlation of neighbours there (plus its bias, about $m / n$): where neighbours are alike, means of phases vary more at random, as if single values had this larger variance and were independent. As $\sigma^2$ takes phases and phases take $\sigma^2$, both are computed in turn, until $\sigma^2$ grows no more or there is one phase. (No method of the papers; `segment_starts` finds the phases of least cost by dynamic programming. Of a series of more than 240 values the library cuts means of neighbours.)

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
# How near a run is to one more phase: the price is lowered, by 2 % at a time, until there is one. And what the rule finds where there is nothing to find, in two kinds of random series. The first, the same values in *random order*, is easy: neighbours are independent, which in a run they are not. In the second they are as alike as in the run: *AR(1) noise*, each value $r_1$ times the one before plus a normal random number, $r_1$ being the correlation of neighbours in the whole run:
#
# $$z_t = r_1 z_{t-1} + \varepsilon_t, \qquad r_1 = \frac{\sum_t (x_t - \bar x)(x_{t-1} - \bar x)}{\sum_t (x_t - \bar x)^2}.$$
#
# As the run's phases themselves make neighbours alike, this noise is harder than what lies within phases. Where it is cut as the run is, phases must explain more of the run than of the noise.

# %%
def next_phase(x, starts, price):
    """Where the next phase would begin, farthest from those there are, and at which price."""
    X, cheaper = (x - x.mean()).to_numpy()[:, None], list(starts)
    while len(cheaper) <= len(starts) and price > 1e-6 * (X**2).sum():  # else there is no more
        price *= 0.98
        cheaper = x.index[segment_starts(X, penalty=price, shortest=round(0.04 * len(X)))]
    return max(cheaper, key=lambda start: abs(starts - start).min()), price


# %%
def ar1_noise(x, rng):
    """Noise without phases in which neighbours correlate as in x."""
    X = (x - x.mean()).to_numpy()
    r_1, z = (X[1:] * X[:-1]).sum() / (X**2).sum(), rng.normal(size=len(x))
    z[0] /= np.sqrt(1 - r_1**2)
    for t in range(1, len(x)):
        z[t] += r_1 * z[t - 1]
    return z


def explained(x, starts):
    """Share of the sum of squares of x that the means of its phases explain [%]."""
    P = np.split(x.to_numpy(), x.index.searchsorted(starts[1:]))
    left = sum(((x_k - x_k.mean()) ** 2).sum() for x_k in P)
    return 100 * (1 - left / ((x - x.mean()) ** 2).sum())


def explained_at_random(x, draw):
    """What phases explain of each random series; 0 where it isn't cut."""
    series = [pd.Series(draw(x), x.index) for _ in range(n_random)]
    return np.array([explained(z, phases_by_hand(z)[0]) for z in series])


# %%
rng, rows, phases = np.random.default_rng(seed), {}, {}
for name, series in ipc.items():
    x = series[0]
    starts, price = phases_by_hand(x)
    phases[name] = topdown.series_phases(x)
    np.testing.assert_array_equal(starts, phases[name]["start"])  # the library finds the same
    squares, (start, enough) = ((x - x.mean()) ** 2).sum(), next_phase(x, starts, price)
    differ = [np.sign(len(topdown.series_phases(other)) - len(starts)) for other in series[1:]]
    orders = explained_at_random(x, rng.permutation)
    noise = explained_at_random(x, lambda x: ar1_noise(x, rng))
    rows[name] = [len(starts), explained(x, starts), 100 * price / squares, 100 * enough / squares,
                  start, *(differ.count(sign) for sign in (0, 1, -1)),
                  (orders > 0).sum(), (noise > 0).sum(), noise.max()]
columns = ["phases", "explain [%]", "price [%]", "next at [%]", "next from [s]", "others: as many",
           "more", "fewer", "random orders cut", "AR(1) cut", "AR(1) explained, most [%]"]
table = pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("program")
nearest = (table["next at [%]"] / table["price [%]"]).idxmax()
n_used = " or ".join(map(str, sorted({len(series) for series in ipc.values()})))

# %%
figure, axes = plot.series_by_program(
    {name: {"IPC of run 1": series[0]} for name, series in ipc.items()}, ylabel="IPC")
for ax, name in zip(axes, ipc, strict=True):
    for at in phases[name].itertuples():
        ax.hlines(at.level, at.start, at.end, color="#222222", lw=2)
    ax.plot(table.at[name, "next from [s]"], 0, "^", color=GREY, ms=8, clip_on=False)
handles = [Line2D([], [], color="#222222", lw=2),
           Line2D([], [], color=GREY, marker="^", ls="", ms=8)]
figure.legend(handles, ["phase: its mean", "no phase: one more would begin at a lower price"],
              loc="outside upper center", ncols=2)
display(results.figure(figure, "phases", "**Figure.** IPC of run 1; black: the mean of each phase, "
                       "which ends where the line does; triangle: where one more would begin if "
                       f"its price were lower. *See:* nearest to one more is {nearest}, at "
                       f"{table.at[nearest, 'next from [s]']:.1f} s."))

# %%
results.table(table.T.rename_axis("a program").reset_index(), "phases",
              "**Table.** Phases of run 1, what they explain of the sum of squares; the price of "
              "one [% of the squares]; the price at which there would be more, and where that "
              "would begin; how many of the program's other runs have as many phases as run 1, "
              f"more and fewer; how many of {n_random} series of each random kind are cut, and the "
              "most that phases explain of AR(1) noise.", decimals=1)

# %%
for name, row in table.iterrows():
    results.number(f"phases explain of IPC's squares, {name}", row["explain [%]"], "%")
told = ", ".join(f"{name} {row['phases']:.0f} ({row['explain [%]']:.0f} %)"
                 for name, row in table.iterrows())
others, row = table[["others: as many", "more", "fewer"]].sum(axis=1), table.loc[nearest]
equal = [name for name in table.index if others[name] and table.at[name, "others: as many"]
         == others[name]]
unlike = [f"of the {others[name]} of {name}, {of['others: as many']:.0f} have as many, "
          f"{of['more']:.0f} more, {of['fewer']:.0f} fewer" for name, of in table.iterrows()
          if others[name] and name not in equal]
repeated = "; ".join([f"All other runs of {', '.join(equal)} have as many"] * bool(equal) + unlike)

# %%
def describe_cuts(kind):
    """How many random series of a kind are cut, by program."""
    cut = table.loc[table[kind] > 0, kind]
    return f"{cut.sum():.0f} of {n_random * len(table)} are cut" + "".join(
        f", {name} {n:.0f} of {n_random}" for name, n in cut.items())


more = table.index[table["explain [%]"] > table["AR(1) explained, most [%]"]]
closest = (table["explain [%]"] - table["AR(1) explained, most [%]"]).idxmin()
margin = (f" (least ahead: {closest}, {table.at[closest, 'explain [%]']:.0f} against "
          f"{table.at[closest, 'AR(1) explained, most [%]']:.0f} %)") * bool(len(more))
display(results.finding(
    f"Phases of run 1 (of {n_used} that are used of a program), and what they explain of the sum "
    f"of squares of its IPC: {told}. "
    + (repeated[:1].upper() + repeated[1:] + ". ") * bool(repeated)
    + f"Nearest to one more is run 1 of {nearest}, from {row['next from [s]']:.1f} s on: that "
    f"would take a price of {row['next at [%]']:.1f} % of the squares instead of "
    f"{row['price [%]']:.1f} %. Where there are no phases: of random orders of the values "
    f"{describe_cuts('random orders cut')}, of AR(1) noise {describe_cuts('AR(1) cut')}; phases "
    f"explain more of run 1 than of any such noise in {', '.join(more) or 'no program'}"
    f"{margin}."))

# %% [markdown]
# ## What this doesn't show
#
# Why IPC changes: what was counted beside it may tell (notebooks 01a and 05). Whether other runs have their phases in the same places: only their number is compared. The tenth and the 4 % are chosen, not found: with a lower price runs have more phases (*next at*). That a cut is more than noise is told by two kinds of random series only; noise that wanders for longer than AR(1) noise would be cut more often.
#
# ## On your own program
#
# `cmlib record NAME -- COMMAND`, then `cmlib run live 01b_phases -p program=NAME` (*live*: the profile for recordings of your own). `program` is the parameter to change first. A run of fewer than 20 or more than 240 intervals is left out; longer intervals (`--interval-ms` of `cmlib record`) make fewer of them.
#
# **References.** Killick, Fearnhead and Eckley, *Optimal detection of changepoints with a linear computational cost*, JASA 2012 (penalized cost).

# %%
results.save()
