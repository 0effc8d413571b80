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
# # cBench on an Arm core: do runs with different events explain more together?
#
# **Question.** Does a model of two runs that counted different events explain programs that it never saw better than a model of either?
#
# *Reads* recordings that others made and that come with cmlib. *Writes* errors on unseen programs, and how far rankings and IPC change from run to run and with the clock.
#
# The GBRT paper puts runs with different events together. Here that is needed: on a Cortex-A15 one list of events was counted in one run (*list 1*) and another in another run (*list 2*), cycles in both, twice, at three clock rates, for thirty programs of cBench one after another (`kranik/ARMPM_BUILDMODEL`, BSD-3-Clause). Every event was on a counter all the time.

# %% tags=["parameters"]
program: str = "all"  # the thirty programs are taken together; any other name is refused
n_seeds: int = 4  # models behind an error or an importance
seed: int = 0  # of the models
settings: dict = {}  # profile, results_folder

# %%
import io
from itertools import combinations

import numpy as np
import pandas as pd
from IPython.display import Markdown
from scipy.stats import kendalltau, spearmanr

from cmlib import merge, plot, rank
from cmlib.experiments.published import QUICK, counts_of
from cmlib.experiments.requested import resolve_names
from cmlib.io import perf, public
from cmlib.rank.boosting import regressor
from cmlib.report.notebook import begin

# %%
limits = {"n_seeds": (2, 100), "seed": (0, 1_000_000)}
notebook = begin("09b_cbench", settings, program=program, n_seeds=n_seeds, seed=seed)
results = notebook.results
todo = "cBench's programs are taken together: program=all."
resolve_names(program, [], about="programs of this notebook", todo=todo)
CLOCKS, RUNS, LISTS, STEPS, FOLDS = (1000, 1500, 2000), (1, 2), (1, 2), 10, 5
NEVER = ["sw_incr", "CID_WRITE_RETIRED"]  # happened in no interval, or hardly any
FILE = "intervals/a15-cbench/cBench-big-list{}-Run-{}-{}000-{}.data"


# %%
def counts(events_list, run, mhz):
    """Counts an interval of 0.5 s, of one list of events."""
    (whole, _), *_ = counts_of(FILE.format(events_list, run, mhz, "events-raw"))
    return whole.drop(columns=NEVER, errors="ignore")


def marks(events_list, mhz):
    """When each program began and ended in the first run [s]."""
    name = FILE.format(events_list, 1, mhz, "{}")
    begin_ns = perf.begin_ns(public.read(name.format("events-raw")).decode("latin-1"))
    file = io.BytesIO(public.read(name.format("benchmarks")))
    names = ["program", "start", "end"]
    table = pd.read_csv(file, sep="\t", comment="#", names=names, index_col="program")
    return (table - begin_ns) / 1e9


shown = counts(2, 1, 1000)
display(Markdown(
    f"**Data.** {len(marks(1, 1000))} programs of cBench on one Arm Cortex-A15, at "
    f"{len(CLOCKS)} clock rates: {len(RUNS)} runs of each of {len(LISTS)} lists of events; others' "
    f"hardware events, not the paper's. The first intervals of list 2, five of "
    f"{len(shown.columns)} events:"))
shown.iloc[:5, :5].astype(int)

# %% [markdown]
# ## Side by side
#
# The first list has no instructions, so its rows have no IPC of their own and can't be stacked below those of the second, as the paper does. Both count cycles: each program is cut into ten steps of equal cycles, and the steps are put side by side. Rates of both are per instruction of the second; so *list 1* alone means its events alone, with IPC from the other run.


# %%
def programs(events_list, run, mhz):
    """Counts of each program in one run, of the intervals that lie wholly in it."""
    whole, table = counts(events_list, run, mhz), marks(events_list, mhz)
    if run > 1:  # programs were marked in the first run only
        table *= whole.index[-1] / counts(events_list, 1, mhz).index[-1]
    ends = whole.index.to_numpy()
    starts = np.concatenate([[0.0], ends[:-1]])
    rows = table.itertuples()
    return {row.Index: whole[(starts >= row.start) & (ends <= row.end)] for row in rows}


def merged(mhz, run):
    """Rates per instruction of both lists, and IPC, by program and step."""
    parts, rows = [programs(number, run, mhz) for number in LISTS], {}
    for name in parts[0]:
        both = [part[name].rename(columns={"instructions": "retired"}) for part in parts]
        both = [own.assign(instructions=own["cycles"]) for own in both]  # progress is by cycles
        rows[name] = merge.align_runs(both, STEPS)[0]
    X = pd.concat(rows, names=["program"])
    ipc = X.pop("retired").rename("ipc")
    return X.div(ipc, axis=0), ipc


# %%
matrices = {(mhz, run): merged(mhz, run) for mhz in CLOCKS for run in RUNS}
matrices[1000, 1][0].iloc[:5, :5].round(4)

# %% [markdown]
# ## Errors on programs that a model never saw
#
# Five folds of six programs; models explain $\log \mathrm{IPC}$, errors are relative (CounterMiner, Eq. 14), in the mean over the steps:
#
# $$err = \frac{|IPC_{meas} - IPC_{pred}|}{IPC_{meas}} \times 100\,\% \tag{14}$$
#
# Two predictions look at no event: the mean of the other programs, and the *best constant*, which errs least on them (the median weighted by 1 / IPC, as on [09a](09a_cloudsuite.ipynb)). Errors are means over both runs and over models with several random seeds.


# %%
def held_out(ipc, predict):
    """Relative error of each unseen program [%], by what is learned from the other folds."""
    fold = ipc.index.get_level_values("program").factorize()[0] % FOLDS
    predicted = ipc.copy()
    for held in range(FOLDS):
        predicted[fold == held] = predict(fold != held)
    return 100 * ((ipc - predicted).abs() / ipc).groupby(level="program").mean()


def by_model(X, ipc, seed):
    """Error of each unseen program by models of events [%]."""
    X = X[sorted(X)]

    def predict(rest):
        model = regressor(boosting=QUICK, seed=seed).fit(X[rest], np.log(ipc[rest]))
        return np.exp(model.predict(X[~rest]))

    return held_out(ipc, predict)


def best_constant(ipc):
    """The constant with the least relative error: the median weighted by 1 / IPC."""
    ordered = np.sort(ipc.to_numpy())
    weight = (1 / ordered).cumsum()
    return ordered[np.searchsorted(weight, weight[-1] / 2)]


# %%
first = [event for event in matrices[1000, 1][0] if event in counts(1, 1, 1000)]
rows = {}
for (mhz, run), (X, ipc) in matrices.items():
    parts = {"list 1": X[first], "list 2": X.drop(columns=first), "both": X}
    for start in range(seed, seed + n_seeds):
        judged = {name: by_model(part, ipc, start) for name, part in parts.items()}
        judged["mean of IPC"] = held_out(ipc, lambda rest, ipc=ipc: ipc[rest].mean())
        judged["best constant"] = held_out(ipc, lambda rest, ipc=ipc: best_constant(ipc[rest]))
        rows[mhz, run, start] = pd.DataFrame(judged)
by_program = pd.concat(rows, names=["clock", "run", "seed"])
unseen = by_program.groupby(level="clock").mean()

# %%
display(results.table(
    unseen.reset_index(),
    "cbench-errors",
    f"**Table.** Error on unseen programs [%], mean of {len(RUNS)} runs and {n_seeds} models each, "
    "by clock rate [MHz]: events of one list, of the other, of both; the mean and the best "
    "constant of the other programs.",
    decimals=1,
))
means = unseen.mean()
note = ", ".join(f"{name} {means[name]:.0f} %" for name in unseen.columns if name != "both")
results.number("cBench: error on unseen programs, both lists", means["both"], "%", note=note)

# %% [markdown]
# How sure is the difference? Both lists' error less another one's, in the mean of all clock rates, runs and seeds, with the middle 90 % of such means over programs drawn anew from the thirty.

# %%
each = by_program.groupby(level="program").mean()
gain = pd.DataFrame({name: each["both"] - each[name] for name in each if name != "both"})
rng = np.random.default_rng(seed)
drawn = [gain.iloc[rng.integers(len(gain), size=len(gain))].mean() for _ in range(2000)]
low, high = pd.DataFrame(drawn).quantile(0.05), pd.DataFrame(drawn).quantile(0.95)
gains = pd.DataFrame({"both less it": gain.mean(), "low": low, "high": high})
results.table(gains.rename_axis("against").reset_index(), "cbench-gain", "**Table.** Error of both "
              "lists less that of another prediction [points]; below 0: both are nearer.",
              decimals=1)

# %%
rival = means[["list 1", "list 2"]].idxmin()
best, constant = gains.loc[rival], gains.loc["best constant"]
told = "Yes" if best["high"] < 0 else "No, worse" if best["low"] > 0 else "It can't be told"
against = ("nearer" if constant["high"] < 0 else
           "further" if constant["low"] > 0 else "not clearly apart")
results.finding(
    f"{told}: on cBench, two runs merged explain unseen programs with an error of "
    f"{means['both']:.0f} %, the events of {rival} alone with {means[rival]:.0f} %; the difference "
    f"is {best.iloc[0]:.1f} points ({best['low']:.1f} to {best['high']:.1f}, 90 % over "
    f"{len(gain)} programs). The best constant, which looks at no event, errs by "
    f"{means['best constant']:.0f} %, the mean by {means['mean of IPC']:.0f} %: the merged runs "
    f"are {against} from the best constant ({constant['low']:.1f} to {constant['high']:.1f})."
    if against == "not clearly apart" else
    f"{told}: on cBench, two runs merged explain unseen programs with an error of "
    f"{means['both']:.0f} %, the events of {rival} alone with {means[rival]:.0f} %; the difference "
    f"is {best.iloc[0]:.1f} points ({best['low']:.1f} to {best['high']:.1f}, 90 % over "
    f"{len(gain)} programs). The merged runs are {against} than the best constant, which looks at "
    f"no event and errs by {means['best constant']:.0f} % (the mean: "
    f"{means['mean of IPC']:.0f} %).")

# %% [markdown]
# ## What changes when nothing has changed, and with the clock
#
# The second run of everything tells how much a ranking and a rate change by themselves. Rankings are compared by Kendall's $\tau = (n_c - n_d) / \binom{n}{2}$, with $n_c$ pairs of events in the same order and $n_d$ in opposite ones, rates and IPC $x$ by the median over programs of $100\,|x' / x - 1|$. The clock rate is an intervention: the core gets faster, memory does not; what a miss costs in cycles changes. What a program does should stay: how far rates per instruction change all the same stands in the second table.


# %%
def importances(X, ipc):
    """Importance of each event over all programs, by models of resampled programs."""
    blocks = {"n_blocks": X.index.get_level_values("program").nunique(), "boosting": QUICK}
    draws = rank.draw_importances(X, np.log(ipc), seeds=range(n_seeds), **blocks)
    return rank.importance_spread(draws)["mean"]


def of_programs(key):
    """Mean rates and IPC of each program."""
    X, ipc = matrices[key]
    return X.assign(ipc=ipc).groupby(level="program").mean()


ranked = {key: importances(*matrix) for key, matrix in matrices.items()}
rows = []
for one, other in combinations(matrices, 2):
    if one[0] == other[0] or one[1] == other[1]:
        what = "another run" if one[0] == other[0] else "another clock rate"
        tau = kendalltau(ranked[one], ranked[other][ranked[one].index]).statistic
        change = of_programs(other)["ipc"] / of_programs(one)["ipc"] - 1
        rows.append((what, *one, *other, tau, 100 * change.abs().median()))

# %%
columns = ["what", "clock", "run", "other clock", "other run", "kendall", "IPC"]
agree = pd.DataFrame(rows, columns=columns)
about = "**Table.** Rank correlation of importances, and median change of a program's IPC [%]."
display(results.table(agree, "cbench-agreement", about))
by_what = agree.groupby("what")[["kendall", "IPC"]].agg(["mean", "min", "max"])
again, clock = by_what.loc["another run"], by_what.loc["another clock rate"]
results.number(
    "cBench: rank correlation of importances, another run",
    again["kendall", "mean"],
    note=f"another clock rate: {clock['kendall', 'mean']:.2f}",
)

# %%
slow, fast, same = of_programs((1000, 1)), of_programs((2000, 1)), of_programs((1000, 2))
changes = pd.DataFrame(
    {
        "run to run": 100 * (same / slow - 1).abs().median(),
        "1 to 2 GHz": 100 * (fast / slow - 1).abs().median(),
        "signed": 100 * (fast / slow - 1).median(),
    }
).rename_axis("event")
about = "**Table.** Median change of a program's events per instruction and of IPC [%]."
display(results.table(changes.reset_index(), "cbench-changes", about))
note = f"from 1 to 2 GHz: {changes.at['ipc', 'signed']:.1f} %"
value = changes.at["ipc", "run to run"]
results.number("cBench: change of IPC from run to run, median", value, "%", note=note)

# %%
lost = pd.DataFrame({"misses": 1000 * slow["l1d_tlb_refill"]})
lost["change"] = 100 * (fast["ipc"] / slow["ipc"] - 1)
named = [*lost["change"].nsmallest(3).index, lost["misses"].idxmax()]


@plot.styled
def draw(lost):
    """A point a program, some with their names."""
    refills = "refills of the data TLB per 1,000 instructions at 1 GHz"
    figure, (ax,) = plot.points({"": lost}, x="misses", y="change", size=16, xlabel=refills,
                                ylabel="change of IPC [%]")
    ax.set_xscale("log")
    for name, point in lost.loc[named].iterrows():
        ax.annotate(name, point, (4, 3), textcoords="offset points", fontsize=8)
    return figure, ax


# %%
refills = {"l1d_tlb_refill": "data TLB", "l1d_cache_refill": "data cache",
           "l1i_cache_refill": "instruction cache", "BRANCH_MISPRED": "mispredicted branches"}
rho = {event: spearmanr(slow[event], lost["change"]).statistic for event in refills}
figure, _ = draw(lost)
about = (
    f"**Figure.** What each of {len(lost)} programs loses in IPC when the clock goes from 1 to 2 "
    "GHz, against its refills of the data TLB. *See:* the more refills, the more is lost (rank "
    f"correlation with the change {rho['l1d_tlb_refill']:.2f}), but {lost['change'].idxmin()} "
    f"loses most, {-lost['change'].min():.0f} %, with "
    f"{lost.loc[lost['change'].idxmin(), 'misses']:.2g} refills per 1,000 "
    f"instructions; the median is {-lost['change'].median():.1f} %."
)
results.figure(figure, "cbench-clock", about)

# %%
note = ", ".join(f"{name} {rho[event]:.2f}" for event, name in refills.items()
                 if event != "l1d_cache_refill")
name = "cBench: rank correlation of data-cache refills with the change of IPC at 2 GHz"
results.number(name, rho["l1d_cache_refill"], note=note)
worst = lost["change"].idxmin()
display(results.finding(
    "A clock twice as fast changes IPC of cBench's programs by "
    f"{changes.at['ipc', '1 to 2 GHz']:.1f} % in the median ({-lost['change'].min():.0f} % at "
    f"most, {worst}). Rank correlations of the change with events: "
    + ", ".join(f"{name} {rho[event]:.2f}" for event, name in refills.items())
    + f". Importances agree across clock rates ({clock['kendall', 'mean']:.2f}) about as across "
    f"runs ({again['kendall', 'mean']:.2f}); as most programs change little, this can't show "
    "whether importance follows what slows a program."))
results.numbers()

# %% [markdown]
# ## What this doesn't show
#
# Thirty programs are few to learn programs from. Counts themselves change from run to run, data-cache refills about as much as with the clock (second table), so that a correlation with them names no cause. The clock moves IPC little beside what differs between programs, so that a ranking that explains programs need not change with it, whether or not it tells what slows them. Programs that lose most with few refills wait for something that was not counted.
#
# ## On your own program
#
# This page is about these recordings alone; `cmlib run paper 09b -p n_seeds=10` makes it surer, and `n_seeds` is the first parameter to change. For your own program: `cmlib record NAME -- COMMAND`, then `cmlib run live 03a -p program=NAME` ([notebook 03a](03a_merging_runs.ipynb)) puts its runs together.
#
# **References.** Lv, Sun, Yu, *Mining CPU performance data based on gradient boosting regression tree*, 2018 (in Chinese). Lv et al., *CounterMiner*, MICRO 2018 (Eq. 14). Recordings: K. Nikov, ARMPM_BUILDMODEL.

# %%
results.save()
