# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What would fewer misses bring?
#
# **Question.** What does a last-level miss cost a program in cycles, by the intervals of one run? And if it is known how many misses a larger cache takes away, does that cost tell how many cycles it saves?
#
# *Reads* what larger caches and other prefetchers changed in 20 programs of SPEC CPU2006 and 9 of CPU2017 (`data/cost`, comes with cmlib), and, for the first two sections and the papers' importance, their intervals, the set `spec-llc` (CPU2017: `spec-llc-2017` of `CMLIB_PUBLIC`); all are others' published measurements on a Xeon Gold 5120. Neither the data nor the model are of the five papers. *Writes* predictions beside measurements, with intervals, and the same for what is simpler.
#
# A ranking says which events go with cycles. Here somebody changed the cause: the same programs ran with 2, 4, 8 and 11 times the cache, so that a prediction made with the small one can be wrong.

# %% [markdown] tags=["answer"]
# > **Answer** (29 programs of SPEC on a Xeon, recorded by others; default parameters). If one knows how many misses a cache eleven times as large takes away, a cost per miss, pooled from a program's intervals and from other programs, predicts the cycles saved with a median error of **1.7 %** of all cycles. Saying that nothing is saved errs by **10.1 %**, other programs' cost alone by **1.9 %**, and the program's own intervals alone by **3.2 %**. The 90 % intervals hold for **97 %** of the changes, so they are too wide. CounterMiner's importance of misses is no guide: its rank correlation with the cycles saved is **0.15**. The model was chosen with these programs in sight.

# %% tags=["parameters"]
program: str = "all"  # programs shown by their intervals, separated by commas, or all
seed: int = 0  # of the models behind the papers' importance
settings: dict = {}  # profile, results_folder

# %%
import io

import numpy as np
import pandas as pd

from cmlib import cost, places, plot, rank
from cmlib.cost.change import reason_unreliable
from cmlib.experiments.published import how_to_get
from cmlib.experiments.requested import resolve_names
from cmlib.io import public
from cmlib.io.absent import note_absent
from cmlib.report.notebook import begin

limits = {"seed": (0, 1_000_000)}
notebook = begin("cost_of_misses", settings, program=program, seed=seed)
results = notebook.results
X = cost.changes()[0]  # of larger caches
shown = resolve_names(program, X["program"].unique(), about="these programs",
                      todo="This notebook is about programs whose misses others have changed.")
programs = X.drop_duplicates("program").set_index("program")
SIZES = list(X["setting"].unique())
X.head()[["program", "setting", "cycles", "misses", "change", "slope", "stderr"]].round(5)

# %% [markdown]
# A row is a program and a size: `cycles`, `misses` (of loads) and `stores` (misses of stores) per instruction with 1.75 MiB of last-level cache on a Xeon Gold 5120; `change` and `stores_change`, how these change with the larger one (negative: fewer misses). The first three are means of the intervals, changes are differences of totals of other runs, so that a few more misses can vanish than the intervals have (401.bzip2.3). The columns of stores are not shown. `setting` is the larger cache; `slope` and `stderr` come from the intervals, below. Measured for each row, but not in the table, is $\Delta y$, the change of cycles per instruction (`effect` below); no model is fitted to that of the program it predicts.
#
# ## The intervals
#
# Every 100 M instructions the cycles of one run and the misses of another are known (`agusnt/Xeon-SP_Memory_Characterization_SPEC-CPU-2K6-2K17`, Navarro-Torres et al. 2019). They are brought together by equal shares of all instructions.

# %%
def read(program):
    """Intervals of the run with cycles and of the one with loads; none where they are not here."""
    folder = "spec-llc-2017" if program.split(".")[0] >= "500" else "spec-llc"
    paths = (f"{folder}/streams/{program}.data.{run}.txt" for run in (1, 2))
    tables = [pd.read_csv(io.BytesIO(content), sep=r"\s+")
              for content in map(public.read, paths) if content is not None]
    return [table.rename(columns=lambda name: name.lstrip("#")) for table in tables]


recorded = {name: pair for name in shown if len(pair := read(name)) == 2}
intervals = {name: cost.rates(*pair) for name, pair in recorded.items()}
if intervals:
    drawn = [name for name in ("483.xalancbmk.1", "436.cactusADM.1") if name in intervals]
    frames = {name: intervals[name].assign(misses=1e3 * intervals[name]["misses"])
              for name in drawn or list(intervals)[:2]}
    figure, axes = plot.points(frames, x="misses", y="cycles", ylabel="cycles per instruction",
                               xlabel="misses per 1,000 instructions")
    for ax, (name, at) in zip(axes, frames.items(), strict=True):
        ax.axline(at[["misses", "cycles"]].mean(), slope=programs.at[name, "slope"] / 1000,
                  color="#444444", lw=1, ls="--")
    slopes = " and ".join(f"{at['slope']:.0f} ± {at['stderr']:.0f} cycles a miss ({name})"
                          for name, at in programs.loc[list(frames)].iterrows())
    display(results.figure(figure, "intervals", "**Figure.** Intervals of 100 M instructions with "
                           f"1.75 MiB of cache; dashed: slopes (below). *See:* they are {slopes}."))
print("" if intervals else how_to_get("spec-llc"))

# %% [markdown]
# ## What a miss costs
#
# The model, the *pooled* slope, is this project's own. In words: neighbouring stretches of a run are compared; how much cycles rise where misses do is the program's slope $b$; it is drawn towards what a miss costs other programs, the more so the less sure it is.
#
# With $y_t$ cycles and $m_t$ misses per instruction in interval $t$, stretches of $2^j$ intervals are compared with the stretches beside them (Haar's wavelets). Neighbours are alike, so levels tell little that is not also in the phases; differences are nearly independent, and each time scale $j$ is confounded by phases in its own way. The slope is least squares over all differences, a scale weighed by the squared correlation $r_j^2$ of its differences; its standard error leaves out one of the $J$ scales at a time ($b_{(-j)}$, their mean $\bar b$):
#
# $$d_{jk}(x) = 2^{-(j+1)/2}\Big(\sum_{t\,\in\,\text{right}} x_t - \sum_{t\,\in\,\text{left}} x_t\Big),\qquad b = \frac{\sum_j r_j^2 \sum_k d_{jk}(m)\,d_{jk}(y)}{\sum_j r_j^2 \sum_k d_{jk}(m)^2},\qquad s^2 = \frac{J-1}{J}\sum_{j=1}^{J} \big(b_{(-j)} - \bar b\big)^2$$
#
# A program's cost $c$ of a miss of a load is one of a population. Misses of stores come with it, $\rho$ a miss of a load, each at a share $w$ of the cost; memory's latency $L$ and the program's own cycles $\bar y$ bound it, of which a quarter of a cycle an instruction is needed in any case (four retire in a cycle):
#
# $$\log c \sim N\!\left(\log[\kappa\,(1 + w\rho)],\ \tau^2\right),\qquad 0 < c \le \min\Big\{L\,(1 + w\rho),\ \frac{\bar y - 1/4}{\bar m}\Big\},\qquad b \mid c \sim t_4\!\left(c,\ s^2 + (\gamma b)^2\right)$$
#
# $$\widehat{\Delta y} = E[c \mid b]\,\Delta m\ \pm\ q\,\sqrt{(\mathrm{sd}[c \mid b]\,\Delta m)^2 + (0.04\,\bar y)^2}$$
#
# $\kappa, \tau, \gamma, w$ are learned from the largest change of each other program by a larger cache: the cost in the median program, how far programs' logarithms scatter, how far slopes are off beyond their standard errors, and the weight of stores. $L = 300$ cycles is set by us, about this processor's. $t_4$ is Student's distribution with four degrees of freedom.
#
# *How wide an interval is.* The four suites (integer and floating-point programs of each release, such as CINT2006) are left out in turn, and their changes are predicted by a model of the others. The score of a program is its largest error over all sizes, in units of the root beside $q$. In each suite, $q$ is the score below which a share $\lceil 0.9\,(n+1)\rceil / n$ of its $n$ programs lie; with so few programs that is the largest score. The largest $q$ of the four suites is taken, because a new suite may be as hard to predict as the hardest of these (cross-conformal prediction). The four percent in the root were chosen with all suites in sight.
#
# The columns, the bounds and $t_4$ were chosen beforehand, but kept after other choices had been tried on the same programs ([docs/cost.md](../../docs/cost.md) lists them), and the weights $r_j^2$ were chosen with both releases in sight. So the errors below are somewhat too small.

# %%
def differences(x):
    """Haar's, of stretches of 1, 2, 4, ... intervals: an array a time scale."""
    scales, x = [], x.to_numpy()
    while len(x) >= 12:  # at least 6 pairs of stretches
        left, right = x[:len(x) // 2 * 2].reshape(-1, 2).T
        scales.append((right - left) / 2**0.5)
        x = (left + right) / 2**0.5
    return scales


def regression(y, m):
    """Slope b of cycles y on misses m, a scale weighed by its r squared, and standard error s."""
    pairs = zip(differences(y), differences(m), strict=True)
    products, m2, y2 = np.array([(dm @ dy, dm @ dm, dy @ dy) for dy, dm in pairs]).T
    r2 = products**2 / (m2 * y2)
    products, squares = r2 * products, r2 * m2
    b_without = (products.sum() - products) / (squares.sum() - squares)
    return products.sum() / squares.sum(), np.sqrt((len(r2) - 1) * b_without.var())


by_hand = {name: regression(at["cycles"], at["misses"]) for name, at in intervals.items()}
for name, b_and_s in by_hand.items():
    np.testing.assert_allclose(b_and_s, programs.loc[name, ["slope", "stderr"]], rtol=2e-3)
print(f"{len(by_hand)} slopes and standard errors by hand are the library's.")

# %% [markdown]
# The posterior of a program's cost, by the formula on a grid of costs, and the library's, which is the same. The four constants make the measured changes of the programs that are learned from most likely (`PooledCost.fit`; each change is taken to be measured to one percent and a tenth of itself).

# %%
def posterior(row, kappa, tau, gamma, w, L):
    """Mean and standard deviation of a program's cost c of a miss, given its slope b."""
    c, rho = np.geomspace(1, 1e5, 200), row["stores"] / row["misses"]
    prior = np.exp(-(np.log(c / (kappa * (1 + w * rho))) / tau) ** 2 / 2)
    prior[c > min(L * (1 + w * rho), (row["cycles"] - 1 / 4) / row["misses"])] = 0
    far = (row["slope"] - c) / np.hypot(row["stderr"], gamma * max(row["slope"], 0))
    weight = prior * (1 + far**2 / 4) ** (-5 / 2)  # Student's t of four degrees of freedom
    mean = np.average(c, weights=weight)
    return mean, np.average((c - mean) ** 2, weights=weight) ** 0.5


# %%
model = cost.default_cost_model()
constants = model.center_, model.spread_, model.slope_error_, model.store_weight_, model.latency
costs = programs[["slope", "stderr"]].join(model.posterior(programs))
by_hand = [posterior(row, *constants) for _, row in programs.iterrows()]
np.testing.assert_allclose(by_hand, costs[["cost", "sd"]], rtol=1e-3)
names = "κ [cycles]", "τ", "γ", "w", "L, set by us [cycles]", "q"
learned = pd.DataFrame({"constant": names, "value": [*constants, model.half_width_]})
display(results.table(learned, "constants", "**Table.** Learned from all programs, but for L."))
display(results.table(costs.reset_index(), "costs", f"**Table.** First 8 of {len(costs)} programs: "
                      "cycles a miss of a load (and of stores with it), learned from all: own "
                      "slope, pooled cost, its standard deviation, the most it can be (*limit*). "
                      f"*See:* in the median {costs['cost'].median():.0f}.", decimals=0, rows=8))

# %%
PREFETCHERS = ["none", "DCUI", "DCUP", "L2A", "L2P"]
P, effect = cost.changes([*SIZES, *PREFETCHERS])
unasked, n = P.drop(columns="stores_change"), len(programs)

# %% [markdown]
# ## Predicted and measured
#
# Each suite is left out in turn: what its programs save is predicted by a model that learned from the other three suites, and from the change of their misses, which is given as measured. Misses of stores are taken to change as those of loads do, which is all one can say before the change.

# %%
@plot.styled
def against_measured(frames, label):
    """Predictions with intervals over what was measured."""
    figure, axes = plot.panels(list(frames), columns=2, height=2.7)
    for ax, (name, frame) in zip(axes, frames.items(), strict=True):
        ends = frame["predicted"] - frame["low"], frame["high"] - frame["predicted"]
        ax.errorbar(frame["measured"], frame["predicted"], yerr=ends, fmt="o", ms=3.5, lw=0.9,
                    ecolor="#9db7cc")
        ax.axline((0, 0), slope=1, color="#777777", lw=0.8, ls="--")
        dots = frame[["measured", "predicted"]]
        low, high = dots.min().min(), dots.max().max()
        ax.set(title=name, xlabel=f"measured: {label}", ylabel="predicted",
               ylim=(low - 0.25 * (high - low), high + 0.25 * (high - low)))
    return figure, axes


# %%
everything = cost.held_out(unasked, effect)
held_out = everything[P["setting"].isin(SIZES)].reset_index(drop=True)
at_largest = held_out["setting"] == SIZES[-1]
off = (held_out["predicted"] - held_out["measured"]).abs()[at_largest]
half = (held_out["high"] - held_out["low"])[at_largest].median() / 2
figure, _ = against_measured(
    {f"{size} in place of 1.75": held_out[held_out["setting"] == size] for size in SIZES},
    label="cycles saved [% of all]")
display(results.figure(figure, "sizes", "**Figure.** Cycles that a larger cache saves, each of 29 "
                       "programs predicted without its suite, given its change of misses; lines: "
                       "90 % intervals; dashed: as measured. Scales differ, long lines leave the "
                       f"panel. *See:* with {SIZES[-1]} half of the errors are below "
                       f"{off.median():.1f} points, but half of the lines are longer than "
                       f"±{half:.0f}."))

# %% [markdown]
# The *pooled* model is held against simpler ways. *Nothing*: no cycles are saved. *Own slope alone* is $b$, without other programs; *other programs alone* is the pooled model without $b$, so without intervals. *One latency* takes a miss to cost every program the same. *Importance* (Friedman's, by which CounterMiner ranks events, as in notebook 03) is how much of IPC misses of loads explain among four events: loads and stores that reach the last level, and the misses of each; *correlation* is that of cycles with misses. The last two are multiplied by the share of misses that the cache saves, and all three by the number that suits the other suites best (median of the ratios for the first, least absolute errors for the others), which their users would not know.

# %%
def judged(predicted, measured):
    """Errors in points, and rank correlation."""
    error = np.abs(predicted - measured)
    rho = np.nan if predicted.nunique() == 1 else predicted.corr(measured, method="spearman")
    return {"median": error.median(), "mean": error.mean(), "rank correlation": rho}


# %%
def scaled(values, weigh=True):
    """Values times what suits the other suites: least absolute errors, or median of ratios."""
    result = 0 * values
    for name in X["suite"].unique():
        rest = (X["suite"] != name) & (values != 0)
        table = pd.DataFrame({"ratio": held_out["measured"] / values, "weight": values.abs()})[rest]
        table = table.sort_values("ratio").assign(**({} if weigh else {"weight": 1}))
        middle = table["weight"].cumsum().searchsorted(table["weight"].sum() / 2)
        result[X["suite"] == name] = table["ratio"].iloc[middle] * values[X["suite"] == name]
    return result


# %%
def explained(first, second):
    """How much of IPC each of four events explains [%] (Friedman)."""
    events = cost.rates(first, second).rename(columns={"misses": "load misses",
                                                       "stores": "store misses"})
    ipc = 1 / events.pop("cycles")
    for kind, run in (("loads", second), ("stores", first)):
        accesses = f"PERF_COUNT_HW_CACHE_LL_ACCESS_{'R' if kind == 'loads' else 'W'}"
        events[kind] = cost.rates(first, run, misses=accesses)["misses"]
    step = -(-len(events) // 3000)  # rows that a model is fitted to: three thousand
    return rank.influence(rank.regressor(seed=seed).fit(events[::step], ipc[::step]))


# %%
latency = scaled(-100 * X["change"] / X["cycles"], weigh=False)
untold = cost.held_out(unasked.assign(slope=0.0, stderr=np.inf), effect)
ways = {"pooled": held_out["predicted"], "nothing": 0 * latency, "one latency for all": latency,
        "other programs alone": untold["predicted"][P["setting"].isin(SIZES)].set_axis(X.index),
        "own slope alone": -100 * X["slope"] * X["change"] / X["cycles"]}
if len(recorded) == len(programs):
    importance = pd.DataFrame({name: explained(*pair) for name, pair in recorded.items()}).T
    importance["r"] = {name: at["cycles"].corr(at["misses"]) for name, at in intervals.items()}
    saved = -X["change"] / X["misses"]
    for column, name in (("load misses", "importance × constant"),
                         ("r", "correlation × constant")):
        ways[name] = scaled(saved * X["program"].map(importance[column]))
    of_importance = judged(importance["load misses"], held_out[at_largest].set_index("program")
                           ["measured"])["rank correlation"]
rows = [{"size": size, "by": name, **judged(values[at], held_out["measured"][at])}
        for size in SIZES for at in [X["setting"] == size] for name, values in ways.items()]
errors = pd.DataFrame(rows)
at_size = errors.pivot(index="size", columns="by", values="median").loc[SIZES]
worse = [f"at {size} of {row.idxmin()}" for size, row in at_size.iterrows()
         if row.idxmin() != "pooled"]
display(results.table(errors, "errors", "**Table.** Errors [% of all cycles], and rank correlation "
                      "of predicted with measured: 29 programs, each suite by the others. *See:* "
                      "least is the median error of pooled, but "
                      f"{', '.join(worse) or 'nowhere another'}."))

# %% [markdown]
# ## Do the intervals hold?
#
# The table is `data/cost/coverage.csv`, made by `python tools/make_cost_tables.py`. Each suite is left out, then each release, whose suites are farther from the rest. *holds*: changes inside their interval; *bias*: mean of predicted minus measured; *score*: interval score, the width plus 20 times the distance of a measurement outside (less is better). *constant*: intervals of one width at each size, calibrated on the same other suites. *this processor* is what `predict_change` uses by default, *other processor* knows no costs of other programs, and *range over latencies* is what the first page prints; it is no 90 % interval.

# %%
stored = pd.read_csv(places.shipped("cost") / "coverage.csv")
columns = ["model", "left_out", "setting", "changes", "holds", "bias", "error", "half_width",
           "score", "constant_holds", "constant_score"]
larger = stored[~stored["setting"].isin([*PREFETCHERS, "prefetchers"])][columns]
display(results.table(larger, "coverage", "**Table.** Intervals for suites and releases left out "
                      "[% of all cycles; holds: % of the changes].", decimals=1, rows=12))
here = cost.coverage(everything[P["setting"].isin(SIZES)])
printed = stored[(stored["model"] == "this processor") & (stored["by"] == "suite")
                 & (stored["left_out"] == "each") & (stored["setting"] == "larger caches")]
np.testing.assert_allclose(here["holds"], printed["holds"].item(), atol=0.01)

# %%
largest = errors[errors["size"] == SIZES[-1]].set_index("by")
for name, row in largest.iterrows():
    results.number(f"11 times the cache: error by {name}, median", row["median"], "%",
                   note=f"mean {row['mean']:.1f} %")
results.number("90 % intervals that hold, all sizes", here["holds"], "%",
               note=f"interval score {here['score']:.1f}, of constant widths "
                    f"{here['constant_score']:.1f}; median half-width {here['half_width']:.1f} "
                    "points")

# %% [markdown]
# ## Where it doesn't know
#
# Where stores miss more than twice as often as loads, most of what a cache saves was not asked for. And a slope of less than two standard errors, or below zero, tells nothing: cycles don't go with misses, or not on all time scales. Such an answer is *not known*; its numbers are mostly what other programs would show, so not worse than those of *other programs alone*. (The cost of a miss of a load is above $L$ where its stores' misses come with it, in 470.lbm.1 hundreds.) A slope that is far above what a miss can cost, but surely above nothing, counts as known: then the bound decides (*limit* in the table of costs).

# %%
largest_cache = held_out[at_largest].drop(columns="setting")
asked = X[X["setting"] == SIZES[-1]].drop(columns="stores_change")  # as before the change
largest_cache["reason"] = [reason_unreliable(row) for _, row in asked.iterrows()]
unknown = largest_cache[largest_cache["reason"] != ""]
display(results.table(unknown, "unknown", "**Table.** Programs whose answer is not known, 11 times "
                      "the cache [% of all cycles]; cost by the other suites.", decimals=1))

# %% [markdown]
# ## Other causes: the prefetchers
#
# The processor has four prefetchers: two of the first level, by the instruction's stride (DCUI) and of the next line (DCUP), two of the second, of the adjacent line (L2A) and of streams (L2P). With prefetchers off, misses multiply; the cost of a miss was learned with all on. Here misses of stores are given, since they change otherwise than those of loads. What can't be foreseen: a prefetch that comes late hides a part of a miss, and without it the same miss costs more; and many misses in a row overlap, and each costs less.

# %%
other = cost.held_out(P, effect)
other = other[other["setting"].isin(PREFETCHERS)]
table = other.groupby("setting", sort=False).apply(cost.coverage, include_groups=False)
table = table[["bias", "error", "nothing"]].rename_axis("left on").reset_index()
display(results.table(table, "prefetcher-errors", "**Table.** Mean errors [% of the cycles with "
                      "all prefetchers on], and those of predicting that nothing changes."))

# %% [markdown]
# The size is far off for a few programs. The intervals hold for too few changes (`prefetchers` in `coverage.csv`), so `predict_change` returns none for more misses. Each setting is compared with all four on.
#
# ## Another machine
#
# 55 programs with 1 to 11 ways (the equal parts into which it is divided) of another machine's cache, totals only: the one behind `pbbcache/cachesim`, whose authors name no processor there. There the misses of prefetches count, too, and a miss costs less (last table): so the cost learned on the Xeon is too high there. What can be known of another processor before it was measured is the latency of its memory: `cost.default_cost_model(other_processor=True)` takes any cost from a cycle to that latency for as likely, on a logarithmic scale, and the program's own slope decides. Without intervals, as here, that is all there is. The share of cycles that stall for the last level, which that set has, times the share of misses saved is compared, too; it was not counted on the Xeon.

# %%
def totals(file):
    """What 2 to 11 ways change in a program with one, as `cost.changes` gives it."""
    table = pd.read_csv(file).rename(columns={"BENCH": "program", "stalls_l3_miss": "stalls"})
    table = table.assign(cycles=1 / table["ipc"], misses=table["llcmpki"] / 1000)
    rest = table[table["NR_WAYS"].isin([2, 4, 8, 11])].reset_index(drop=True)
    one = table[table["NR_WAYS"] == 1].set_index("program").loc[rest["program"]].reset_index()
    Z = one[["program", "cycles", "misses", "stalls"]].assign(
        stores=0.0, slope=0.0, stderr=np.inf, setting=rest["NR_WAYS"],
        change=rest["misses"] - one["misses"])
    return Z, rest["cycles"] - one["cycles"]


# %%
elsewhere, folder = "", places.external_data_dir()
second = folder and folder / "totals/cache-ways/metrics.csv.gz"
if not (second and second.is_file()):
    note_absent("totals/cache-ways")
else:
    Z, saved = totals(second)
    gained, at = -100 * saved / Z["cycles"], Z["setting"] == 11
    stalls = -100 * Z["stalls"] * Z["change"] / Z["misses"]
    models = {"programs of the Xeon": model,
              "another processor": cost.default_cost_model(other_processor=True)}
    ways = {name: -100 * by.predict(Z) / Z["cycles"] for name, by in models.items()}
    ways |= {"nothing": 0 * stalls, "stalls × misses saved": stalls}
    rows = [{"by": name, **judged(values[at], gained[at])} for name, values in ways.items()]
    display(results.table(pd.DataFrame(rows), "second",
                          f"**Table.** {at.sum()} programs, 11 ways against 1: errors [% of all "
                          "cycles]."))
    by = [f"{row['median']:.1f} ({row['mean']:.1f})" for row in rows]
    elsewhere = (
        f"On a second machine ({at.sum()} programs, without intervals) the model for a processor "
        f"that nobody measured errs by {by[1]} % of all cycles, median (mean), where saying that "
        f"nothing is saved errs by {by[2]}. The Xeon's costs err by {by[0]}, cycles stalled for "
        f"such misses, where they are counted, by {by[3]}: take those.")
    there = cost.PooledCost().fit(Z, saved)
    results.number("second machine: cycles a miss, median program", there.center_,
                   note=f"κ, without stores and bounds; the Xeon's programs: {model.center_:.0f}")

# %%
by = largest.apply(lambda row: f"{row['median']:.1f} ({row['mean']:.1f})", axis=1)
display(results.finding(
    f"A last-level miss costs {costs['cost'].median():.0f} cycles in the median of {n} programs "
    f"({costs['cost'].min():.0f} to {costs['cost'].max():,.0f}; SPEC on others' Xeon). If it is "
    "known how many misses 11 times the cache takes away, that cost, drawn from a program's "
    "intervals and from other programs (*pooled*), tells the cycles saved with an error of "
    f"{by['pooled']} % of all, median (mean); nothing saved: {by['nothing']}, other programs "
    f"alone: {by['other programs alone']}, its intervals alone: {by['own slope alone']}. The model "
    "was chosen with these programs in sight, so its error is a little too small."))
if elsewhere:
    display(results.finding(elsewhere))

# %%
off_unknown, off_known = off.groupby(largest_cache["reason"] == "").median()
display(results.finding(
    f"Of the 90 % intervals {here['holds']:.0f} % hold, over all sizes and with each suite left "
    f"out; their interval score is {here['score']:.1f}, of constant widths "
    f"{here['constant_score']:.1f}. The {len(unknown)} programs whose answer is *not known* err by "
    f"{off_unknown:.1f} with 11 times the cache, the {n - len(unknown)} others by "
    f"{off_known:.1f}."))
if len(recorded) == len(programs):
    display(results.finding(
        "CounterMiner's importance of misses is no guide by itself: its rank correlation with what "
        f"is saved is {of_importance:.2f}, of the pooled model's prediction "
        f"{largest.at['pooled', 'rank correlation']:.2f}."))
    results.number("importance of load misses: rank correlation with cycles saved", of_importance)

# %% [markdown]
# ## What this doesn't show
#
# The change of misses is given here, as measured; how many a larger cache would save must be known from elsewhere. The cost is one number a program: misses that stay in a large cache are others than those that go (astar, omnetpp), and overlap changes when neighbours go. Other programs on the machine, bandwidth that is used up, and pages are not in it. 29 programs on one processor are few, and the nine of CPU2017 were looked at when the weights of the scales were chosen; [the page on this notebook](../../docs/cost.md) says which choices were tried on them and dropped.
#
# ## On your own program
#
# Count it every 100 ms for some seconds (25 intervals at least, better hundreds): `perf stat -I 100 -x, -e instructions,cycles,LLC-load-misses,LLC-store-misses -o FILE -- PROGRAM` (other tools' files: [import](../../docs/import.md); where perf has no such event, `cmlib record NAME -- PROGRAM` takes the processor's own, and no import is needed). Then `cmlib import NAME FILE` and `cmlib run live -p program=NAME`; the page `index.html` that it writes shows a line such as *Without `LLC-load-misses` (LLC misses): 20 % (range over plausible latencies: 0–41) fewer cycles*, for all misses of that cache. For another number of misses: `cmlib.cost.predict_change` ([how](../../docs/cost.md)). `cmlib summarize FILE` prints the same line at once. The first thing to change is the interval (`-I`): longer, if its misses are few.
#
# This notebook is about published data: `cmlib run paper cost_of_misses`. Its parameter `program` chooses whose intervals are read and drawn (`-p program=429.mcf.1`); the errors are over all programs in any case.
#
# **References.** Navarro-Torres et al., *Memory hierarchy characterization of SPEC CPU2006 and SPEC CPU2017 on the Intel Xeon Skylake-SP*, PLOS ONE 2019. Friedman, *Greedy function approximation*, 2001. Vovk et al., *Algorithmic Learning in a Random World*, 2005. Percival and Walden, *Wavelet Methods for Time Series Analysis*, 2000.

# %%
display(results.numbers())
results.save()
