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
# # CloudSuite's misses: what its programs miss, and which pairs of events interact
#
# **Question.** Do servers of CloudSuite miss in the instruction cache more than its analytics programs, and does one pair of events dominate their IPC?
#
# *Reads* the recordings of notebook 09a. *Writes* misses per instruction, the traffic of last-level misses, and the pair that interacts most in each recording.

# %% tags=["parameters"]
program: str = "all"  # programs of CloudSuite to study, separated by commas, or all
n_seeds: int = 4  # models behind an importance
n_events: int = 6  # most important events that are paired
seed: int = 0  # of the models
settings: dict = {}  # profile, results_folder

# %%
import pandas as pd

from cmlib import plot, rank
from cmlib.experiments.published import QUICK, cloudsuite
from cmlib.interact import rank_pairs
from cmlib.rank.boosting import regressor
from cmlib.report import paper
from cmlib.report.notebook import begin

# %%
limits = {"n_seeds": (2, 100), "n_events": (3, 12), "seed": (0, 1_000_000)}
notebook = begin(
    "09e_cloudsuite_misses", settings, program=program, n_seeds=n_seeds,
    n_events=n_events, seed=seed,
)
results = notebook.results
programs = cloudsuite(program)
next(iter(programs.values())).counts.head()

# %% [markdown]
# ## Misses per instruction
#
# Misses per 1,000 instructions, over all runs of a recording, and last-level misses times 64 bytes by the time. That is a lower bound of the traffic, without prefetches and write-backs; on the E5-2650 the event counts hardly anything, and intervals of 10 s (E5-2640) were averaged by those who recorded them, so only the other two tell the traffic.


# %%
def misses(data):
    """IPC, misses per 1,000 instructions, and traffic of last-level misses [GB/s]."""
    total = data.counts.sum()
    per = 1000 * total / total["instructions"]
    last = total.reindex(["LLC-load-misses", "LLC-store-misses"]).sum()
    row = {"IPC": total["instructions"] / total["cycles"]}
    row |= {"instruction cache": per["L1-icache-load-misses"]}
    row |= {"data cache": per["L1-dcache-load-misses"], "branches": per["branch-misses"]}
    row |= {"last level": 1000 * last / total["instructions"]}
    return row | {"traffic": 64 * last / total["seconds"] / 1e9}


table = pd.DataFrame({key: misses(data) for key, data in programs.items()}).T
table = table.rename_axis(["program", "processor"])
axis = "misses per 1,000 instructions"
figure, _ = plot.bars_by_program(table.reset_index(), value="instruction cache", hue="processor",
                                 ylabel=axis)
display(results.figure(figure, "instruction-cache", "**Figure.** Misses of the first-level "
                       "instruction cache, mean of all runs."))
results.table(table.reset_index(), "misses",
              "**Table.** IPC, misses per 1,000 instructions, traffic [GB/s].")

# %%
results.number("CloudSuite: instruction-cache misses per 1,000 instructions, median",
               table["instruction cache"].median(),
               note=f"branch misses: {table['branches'].median():.1f}")
timed = table[table.index.get_level_values("processor").isin(["Xeon-X5650", "AMD-Opteron-6234"])]
if len(timed):
    results.number("CloudSuite: highest traffic of last-level misses", timed["traffic"].max(),
                   "GB/s", note="X5650 and Opteron 6234; two sockets of the first have 64 GB/s")

# %% [markdown]
# Ferdman et al. (ASPLOS 2012), the suite's authors, say of it on the X5650 that scale-out programs miss in the instruction cache far more than desktop programs, and use little of the memory's bandwidth. They print both as figures, of which no value is repeated here, and no desktop program is among these recordings: what can be seen is that servers miss far more than analytics, and that the traffic is a small part of what the memory can do.
#
# ## Which pairs interact?
#
# The most important events of each recording are paired as in notebook 04, by two measures: what a plane over both events leaves of the model's predictions $\hat y$, all other events at their means (residual variance; Elith, Leathwick and Hastie), and what it leaves of the observed $y$ (CounterMiner's Eq. 12 as printed):
#
# $$v = \sum_i \big(\hat y(x_i) - a - b^\top x_i\big)^2 \qquad v = \sum_i \big(y_i - a - b^\top x_i\big)^2$$
#
# With six events there are fifteen pairs; if all were alike each would have 6.7 %. The second puts first what explains least, and has nearly equal shares.


# %%
def leading(data):
    """The pair that interacts most, and the share of pairs with an event of branches [%]."""
    draws = rank.draw_importances(data.X, data.y, seeds=range(n_seeds), boosting=QUICK)
    first = list(draws.mean().nlargest(n_events).index)
    model = regressor(boosting=QUICK, seed=seed).fit(data.X[sorted(first)], data.y)
    pairs = rank_pairs(data.X, data.y, first, fitted=model)
    either = pairs[["event_a", "event_b"]].isin(["branches", "branch-misses"]).any(axis=1)
    row = {"pair": pairs["pair"].iloc[0], "importance": pairs["importance"].iloc[0]}
    printed = rank_pairs(data.X, data.y, first, fitted=model, method="printed")
    row |= {"by Eq. 12": printed["importance"].iloc[0], "if all were alike": 100 / len(pairs)}
    row |= {"with branches": pairs["importance"][either].sum()}
    return row | {"as many pairs": 100 * either.mean()}


found = pd.DataFrame({key: leading(data) for key, data in programs.items()}).T.infer_objects()
found = found.rename_axis(["program", "processor"]).reset_index()
results.table(found, "pairs", "**Table.** The pair that interacts most by the residual "
                              "variance, its share, and that of the first by Eq. 12 [%]; the share "
                              "of pairs with an event of branches, and what as many pairs would "
                              "have if all were alike [%].", decimals=1)

# %%
printed = paper("counterminer")["interactions"]["dominant_percent"]
for name, value in printed.items():
    own = found[found["program"].str.replace("_", "") == name]
    if len(own):
        results.number(f"CloudSuite: interaction of the first pair by Eq. 12, {name}",
                       own["by Eq. 12"].mean(), "%", paper=value,
                       note=f"{n_events} events, mean of the processors; paper: ten of 229")
        results.number(f"CloudSuite: the same by the residual variance, {name}",
                       own["importance"].mean(), "%", note="of the model's predictions")
beyond = (found["with branches"] - found["as many pairs"]).mean()
results.number("CloudSuite: interaction with branches beyond their share of pairs", beyond,
               "percentage points", note="paper: 83 % of the first pairs hold branches")
share, alike = found["importance"], found["if all were alike"].mean()
display(results.finding(
    f"By the residual variance the first pair of events has {share.min():.0f} to "
    f"{share.max():.0f} % of all interaction in CloudSuite's recordings, by Eq. 12 "
    f"{found['by Eq. 12'].min():.0f} to {found['by Eq. 12'].max():.0f} %; each would have "
    f"{alike:.1f} % if all were alike."))
results.numbers()

# %% [markdown]
# ## What this doesn't show
#
# The paper's pairs are the ten strongest of each program among ten of 229 events, many of which count branches; here six of twenty are paired, two of which do. The residual variance takes any nonlinear effect of one event for an interaction (notebook 04).
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, Figures 11 and 12. Ferdman et al., *Clearing the Clouds*, ASPLOS 2012. Recordings: M. Canuto, power-modelling.

# %%
results.save()
