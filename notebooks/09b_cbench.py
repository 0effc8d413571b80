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
# **Question.** Does a model of two runs that counted different events explain programs that it never saw better than a model of either? And which events go with the IPC (instructions per cycle) that a program loses when the clock is twice as fast?
#
# *Reads* recordings that others made and that come with cmlib. *Writes* errors on unseen programs, and how far IPC and events change from run to run and with the clock.
#
# The GBRT paper puts runs with different events together. Here that is needed: on a Cortex-A15 one list of events was counted in one run (*list 1*) and another in another run (*list 2*), cycles in both, twice, at three clock rates, for thirty programs of cBench one after another (`kranik/ARMPM_BUILDMODEL`, BSD-3-Clause). Each list is of cycles and six events, as many as the core has counters, so that none took turns.

# %% tags=["parameters"]
program: str = "all"  # the thirty programs are taken together; any other name is refused
n_seeds: int = 4  # models behind an error
seed: int = 0  # of the models
settings: dict = {}  # profile, results_folder

# %%
import io

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown
from scipy.stats import spearmanr

from cmlib import merge, plot
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
NEVER = ["sw_incr", "CID_WRITE_RETIRED"]  # events that happened in no interval, or hardly any
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
in_lists = "; ".join(f"list {number}: {', '.join(counts(number, 1, 1000))}" for number in LISTS)
display(Markdown(
    f"**Data.** {len(marks(1, 1000))} programs of cBench on one Arm Cortex-A15, at "
    f"{len(CLOCKS)} clock rates: {len(RUNS)} runs of each of {len(LISTS)} lists of events; others' "
    f"hardware events, not the paper's. Without what never happens, {in_lists}. The first "
    "intervals of list 2, five of its columns:"))
shown.iloc[:5, :5].astype(int)

# %% [markdown]
# ## Side by side
#
# The first list has no instructions, so its rows have no IPC of their own and can't be stacked below those of the second, as the paper does. Both count cycles: each program is cut into ten steps of equal cycles, and the steps are put side by side. Rates of both are per instruction of the second; so *list 1* alone means its events alone, with IPC from the other run. When programs began and ended is known of the first run of each list; in the second, these times are stretched by the ratio of the runs' lengths.


# %%
def programs(events_list, run, mhz):
    """Counts of each program in one run, of the intervals that lie wholly in it."""
    whole, table = counts(events_list, run, mhz), marks(events_list, mhz)
    if run > 1:
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
X = matrices[1000, 1][0]
print("The first steps of one run at 1,000 MHz, events per 1,000 instructions, "
      f"five of {X.shape[1]} events:")
(1000 * X[["l1i_cache_refill", "l1d_cache_refill", "l1d_tlb_refill", "BRANCH_MISPRED",
           "BRANCH_PRED"]]).head().round(2)

# %% [markdown]
# ## Errors on programs that a model never saw
#
# Five folds of six programs; models (boosted trees) explain $\log \mathrm{IPC}$, errors are relative (CounterMiner, Eq. 14), in the mean over the steps:
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
# How sure are the differences? Each is the mean over all programs, clock rates, runs and seeds; its interval has the middle 90 % of such means over programs drawn anew from the thirty.

# %%
each = by_program.groupby(level="program").mean()
rivals = [("both", name) for name in each if name != "both"] + [("list 2", "best constant")]
gain = pd.DataFrame({f"{one} − {other}": each[one] - each[other] for one, other in rivals})
rng = np.random.default_rng(seed)
drawn = [gain.iloc[rng.integers(len(gain), size=len(gain))].mean() for _ in range(2000)]
low, high = pd.DataFrame(drawn).quantile(0.05), pd.DataFrame(drawn).quantile(0.95)
gains = pd.DataFrame({"difference": gain.mean(), "low": low, "high": high})


@plot.styled
def draw_gains(gains):
    """A row a difference of errors: its mean and interval."""
    figure, ax = plt.subplots(figsize=(8, 0.7 + 0.32 * len(gains)))
    ax.hlines(gains.index, gains["low"], gains["high"], color=plot.palette(1)[0], lw=2)
    ax.plot(gains["difference"], gains.index, "o", color=plot.palette(1)[0])
    ax.axvline(0, color="#222222", lw=1)
    ax.set(xlabel="difference of the errors [points]; left of 0: the first is nearer",
           ylim=(len(gains) - 0.5, -0.5))
    return figure, ax


# %%
sure = gains.index[gains["high"] < 0]
display(results.figure(draw_gains(gains)[0], "cbench-gains", (
    "**Figure.** Error on unseen programs by the first prediction less that by the second (line: "
    f"90 % interval over {len(gain)} programs); both: events of both lists. *See:* intervals that "
    f"lie wholly left of 0: {' and '.join(sure) or 'none'}.")))
results.table(gains.rename_axis("errors").reset_index(), "cbench-gain", "**Table.** The figure's "
              "numbers [points].")

# %%
rival = means[["list 1", "list 2"]].idxmin()
best, constant = gains.loc[f"both − {rival}"], gains.loc["both − best constant"]
told = "Yes" if best["high"] < 0 else "No, worse" if best["low"] > 0 else "It can't be told"
results.finding(
    f"{told}: models of two runs merged err by {means['both']:.0f} % on unseen programs of cBench "
    f"(others' hardware), those of the events of {rival} alone by {means[rival]:.0f} %; the "
    f"difference is {best.iloc[0]:.1f} points (90 % interval {best['low']:.1f} to "
    f"{best['high']:.1f}, {len(gain)} programs). The best constant, which looks at no event, errs "
    f"by {means['best constant']:.0f} %; that the merged runs are "
    f"{'nearer' if constant.iloc[0] < 0 else 'further off'} is "
    f"{'sure' if constant['low'] * constant['high'] > 0 else 'not sure'} "
    f"({constant['low']:.1f} to {constant['high']:.1f} points).")

# %% [markdown]
# ## A clock twice as fast
#
# The clock rate is an intervention: the core gets faster, memory does not, so that a miss costs more cycles and IPC falls. What a program does should stay. The second run of everything tells how much IPC and a rate $x$ change by themselves: in the table, the median over programs of $100\,|x' / x - 1|$, and (*signed*) of $100\,(x' / x - 1)$. How far an event goes with the change of IPC is told by Spearman's $\rho$, the correlation between the programs' ranks by the event's rate at 1 GHz and their ranks by the change; as IPC falls, $\rho < 0$ means that programs with more of the event lose more.


# %%
def of_programs(key):
    """Mean rates and IPC of each program."""
    X, ipc = matrices[key]
    return X.assign(ipc=ipc).groupby(level="program").mean()


slow, fast, same = of_programs((1000, 1)), of_programs((2000, 1)), of_programs((1000, 2))
changes = pd.DataFrame(
    {
        "run to run": 100 * (same / slow - 1).abs().median(),
        "1 to 2 GHz": 100 * (fast / slow - 1).abs().median(),
        "signed": 100 * (fast / slow - 1).median(),
    }
).rename_axis("event")
about = ("**Table.** Median change of a program's events per instruction and of IPC [%]: without "
         "sign, from one run to the other at 1 GHz and from 1 to 2 GHz; *signed*: from 1 to 2 GHz.")
display(results.table(changes.reset_index(), "cbench-changes", about))
note = f"from 1 to 2 GHz: {changes.at['ipc', 'signed']:.1f} %"
value = changes.at["ipc", "run to run"]
results.number("cBench: change of IPC from run to run, median", value, "%", note=note)

# %%
lost = pd.DataFrame({"refills": 1000 * slow["l1d_tlb_refill"]})
lost["change"] = 100 * (fast["ipc"] / slow["ipc"] - 1)
named = [*lost["change"].nsmallest(3).index, lost["refills"].idxmax()]


@plot.styled
def draw(lost):
    """A point a program, some with their names."""
    refills = "refills of the data TLB per 1,000 instructions at 1 GHz"
    figure, (ax,) = plot.points({"": lost}, x="refills", y="change", size=16, xlabel=refills,
                                ylabel="change of IPC, 1 to 2 GHz [%]")
    ax.set_xscale("log")
    for name, point in lost.loc[named].iterrows():
        ax.annotate(name, point, (4, 3), textcoords="offset points", fontsize=8)
    return figure, ax


# %%
refills = {"l1d_tlb_refill": "data TLB refills", "l1d_cache_refill": "data cache refills",
           "l1i_cache_refill": "instruction cache refills",
           "BRANCH_MISPRED": "mispredicted branches"}
worst = lost["change"].idxmin()
rho = {event: spearmanr(slow[event], lost["change"]).statistic for event in refills}
figure, _ = draw(lost)
about = (
    f"**Figure.** Change of the IPC of each of {len(lost)} programs when the clock goes from 1 to "
    "2 GHz (below 0: IPC falls), against its refills of the data TLB. *See:* the more refills, the "
    f"more IPC is lost (Spearman's ρ of refills and change {rho['l1d_tlb_refill']:.2f}), but "
    f"{worst} loses most, {-lost['change'].min():.0f} %, with {lost.loc[worst, 'refills']:.2g} "
    f"refills per 1,000 instructions; the median is {lost['change'].median():+.1f} %."
)
results.figure(figure, "cbench-clock", about)

# %%
note = ", ".join(f"{name} {rho[event]:.2f}" for event, name in refills.items()
                 if event != "l1d_cache_refill")
name = "cBench: Spearman's rho of data-cache refills with the change of IPC at 2 GHz"
results.number(name, rho["l1d_cache_refill"], note=note)
with_refills = ", ".join(f"{name} {rho[event]:.2f}" for event, name in refills.items())
falls = -changes.at["ipc", "signed"]
display(results.finding(
    f"From 1 to 2 GHz IPC {'falls' if falls > 0 else 'rises'} by {abs(falls):.1f} % in the median "
    f"of cBench's programs ({-lost['change'].min():.0f} % at most, {worst}). It falls more where "
    "there are more refills of caches and TLB per instruction (Spearman's ρ of events with "
    f"the change of IPC, which is negative: {with_refills})."))
results.numbers()

# %% [markdown]
# ## What this doesn't show
#
# Whether merging or the mere number of events counts: both lists together have more events than either. Thirty programs are few to learn programs from, and some are two halves of one (bzip2d and bzip2e), unseen by name only. Counts themselves change from run to run, data-cache refills about as much as with the clock, and events go with each other, so that a correlation names no cause.
#
# ## On your own program
#
# This page is about these recordings alone; `cmlib run paper 09b -p n_seeds=10` makes it surer, and `n_seeds` is the first parameter to change. For your own program: `cmlib record NAME -- COMMAND`, then `cmlib run live 03a -p program=NAME` ([notebook 03a](03a_merging_runs.ipynb)) puts its runs together.
#
# **References.** Lv, Sun, Yu, *Mining CPU performance data based on gradient boosting regression tree*, 2018 (in Chinese). Lv et al., *CounterMiner*, MICRO 2018 (Eq. 14). Recordings: K. Nikov, ARMPM_BUILDMODEL.

# %%
results.save()
