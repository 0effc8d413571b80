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
# # Tuning: which of Spark's parameters change a program's time
#
# **Question.** Which of Spark's parameters does a program's time depend on?
#
# *Reads* runs of Spark programs under different settings. *Writes* the effect of each single parameter, the importance of every parameter, and interacting pairs of events and parameters.
#
# *Method B* is direct: boosted regression trees predict the execution time from the parameters, one row a run. *Method A* begins with the events: which events matter for the performance, and which parameters interact with those (CounterMiner, §V-D). The papers say that both name the same parameter (GBRT study, §4.3). Here both are compared with a reference that neither was trained on: runs in which a single parameter was changed. [Notebook studies/number_of_runs](studies/number_of_runs.ipynb) asks how many runs each method needs, [notebook studies/causes](studies/causes.ipynb) whether the important events are causes.

# %% [markdown] tags=["answer"]
# > **Answer** (pagerank and sort on Spark, one machine, recorded for this project; default parameters). The time of pagerank depends most on default.parallelism (**126 %** from the fastest to the slowest level) and that of sort on executor.cores (**23 %**), of the three parameters that were changed alone. A model of the time by all parameters names the same parameter in **2** of 2 programs. Going by way of events, as the papers do, names it in **1** program by Friedman's H and in **0** by the residual variance.

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas, or all that are recorded
n_events: int = 10  # important events that are paired with the parameters
n_seeds: int = 20  # models behind the spread of an importance
seed: int = 0  # of models and draws
settings: dict = {}  # jobs, executor, scheduler, interactive, profile, results_folder

# %%
import numpy as np
import pandas as pd
import seaborn as sns
from scipy import stats

from cmlib import explore, plot, tuning
from cmlib.experiments.tuning.recordings import load_tuned
from cmlib.experiments.tuning.settings import TABLE_IV
from cmlib.interact import rank_pairs
from cmlib.parallel import parallel_map
from cmlib.plot.style import bars_across, blank
from cmlib.rank import influence, regressor, stability
from cmlib.report import paper
from cmlib.report.notebook import begin

# %%
limits = {"n_events": (2, 30), "n_seeds": (2, 100), "seed": (0, 1_000_000)}
notebook = begin(
    "08_tuning", settings, program=program, n_events=n_events, n_seeds=n_seeds,
    seed=seed,
)
results, workers = notebook.results, notebook.workers
counterminer = paper("counterminer")["tuning"]
tuned = load_tuned(wanted=program)
one = next(iter(tuned.values()))
kind = {"cycles": "hardware events"}.get(one.per, "software events and tracepoints")
sizes = ", ".join(f"{len(each.runs)} runs of {name}" for name, each in tuned.items())
source = f"{sizes}; {kind}; {one.machine['model_name']}, {one.machine['processors']} processors."
print(f"Recorded for cmlib, not the paper's: {source} {one.runs.rates.shape[1]} events.")
one.runs.rates.iloc[:5, :3].assign(seconds=one.runs.seconds).round(3)

# %% [markdown]
# A row is a run with its first three events: how often an event happened per millisecond of processor time (per cycle where cycles were counted), and the execution time.
#
# ## The runs
#
# Each program runs on a standalone cluster of Spark on one machine, with settings drawn at random: every parameter of Table IV independently, uniformly in the logarithm between two extremes with which the program still runs. The ranges determine the result: a parameter with a narrow range is unimportant by construction. Some parameters act only with a codec, a serializer or executors that are not Spark's defaults; those were set in all runs, except where the drawn value of another parameter replaces them: what needs `executor.cores=1` acts only in runs that drew 1.

# %%
of_setting = {
    abbr: {"parameter": each.name, "low": each.low, "default": each.default, "high": each.high}
    | {"needs": ", ".join(f"{name}={value}" for name, value in each.needs.items())}
    for abbr, each in TABLE_IV.items()
}
about = ("**Table IV.** Spark's parameters, with the range that each was drawn from, and what it "
         "needs to act; default is Spark's (where one parameter was changed alone, exc was 1).")
results.table(pd.DataFrame(of_setting).T.rename_axis("abbr"), "table4", about)

# %% [markdown]
# Execution times, in the order of the runs. A trend would mean that the machine changed, not the settings; separate levels mean that one parameter determines most of the time.

# %%
seconds = {name: one.runs.seconds for name, one in tuned.items()}
times = pd.concat(seconds, names=["program"]).reset_index()
figure, _ = plot.run_times(times, ylabel="execution time [s]")
drift = {name: stats.spearmanr(range(len(of)), of) for name, of in seconds.items()}
drift = "; ".join(f"{name} {of.statistic:.2f} (p = {of.pvalue:.2f})" for name, of in drift.items())
results.figure(figure, "times", f"**Figure.** Execution time of every run. {source} *See:* rank "
               f"correlation of the time with the order of the runs: {drift}.")


# %% [markdown]
# ## The effect of a single parameter
#
# The simplest experiment: one parameter at a time at both ends of its range, all others at the defaults of Table IV, except that executors have one processor each, without which nothing goes over the network. So *default* of exc (`executor.cores`) is 1 here, the same setting as low, and their circles show the run-to-run noise. Runs of all levels alternate; a program's panels share its default runs.
#
# The paper tunes two parameters of sort this way (its Figure 14): *bbs*, tied to the most important event, changes the time by 111.3 %, and *nwt*, tied to a lesser one, by 29.4 %. Here *nwt* was changed, without an effect that these runs could show. ***bbs* was not changed alone**, so the paper's largest number has no counterpart on this page: those runs were never made.

# %%
def full_name(parameter):
    """Spark's name of a parameter that Table IV abbreviates."""
    return TABLE_IV[parameter].name.removeprefix("spark.")


@plot.styled
def times_by_level(groups):
    """Each run's time by the level of one parameter, with the level's mean."""
    figure, axes = plot.panels([*groups.groups] or [""], columns=3, height=2.5)
    for ax, (names, own) in zip(axes, groups, strict=False):
        place = own["level"].map(["low", "default", "high"].index)
        means = own["seconds"].groupby(place).mean()
        ax.plot(place, own["seconds"], "o", ms=4, mfc="none")
        ax.plot(means.index, means, "_", ms=30, mew=2, color="#222222")
        ax.set_xticks(range(3), ["low", "default", "high"])
        ax.set(title=f"{names[0]}: {full_name(names[1])}", ylabel="execution time [s]")
        ax.set(ylim=(0, 1.1 * own["seconds"].max()), xlim=(-0.5, 2.5))
    return figure, axes


# %%
def spread(groups):
    """How much longer the slowest group takes than the fastest, by their means [%]."""
    means = [group.mean() for group in groups]
    return 100 * (max(means) / min(means) - 1)


def variation(groups, draws=2000):
    """That of a parameter's levels, and how often permuted runs vary as much."""
    rng, groups = np.random.default_rng(seed), [np.asarray(group) for group in groups]
    cuts, everything = np.cumsum([len(group) for group in groups])[:-1], np.concatenate(groups)
    drawn = [spread(np.split(rng.permutation(everything), cuts)) for _ in range(draws)]
    p = (1 + np.sum(np.array(drawn) >= spread(groups) * (1 - 1e-12))) / (1 + draws)
    return {"variation": spread(groups), "p": p}


# %%
tried = pd.concat([each.levels.assign(program=name) for name, each in tuned.items()])
rows = []
for (name, parameter), own in tried.groupby(["program", "parameter"], sort=False):
    times = own.groupby("level")["seconds"].apply(list)
    rows.append({"program": name, "parameter": parameter, **variation(times)})
varied = pd.DataFrame(rows, columns=["program", "parameter", "variation", "p"])
at_default = tried["level"] == "default"  # runs that all parameters share
shared = tried[at_default].groupby(["program", "parameter"]).size().groupby("program").max()
alone = ", ".join(f"{len(own)} of {name} and {shared.get(name, 0)} with none"
                  for name, own in tried[~at_default].groupby("program", sort=False))
figure, _ = times_by_level(tried.groupby(["program", "parameter"], sort=False))
results.figure(
    figure,
    "fig14",
    "**CounterMiner, Fig. 14.** Execution time by the level of one parameter, a circle a run; the "
    f"bar is their mean. Ends and defaults are in Table IV, but exc's default, which is 1 here. "
    f"Runs with one parameter changed: {alone or 'none'}. *See:* "
    + ("; ".join(f"{row.program} by {full_name(row.parameter)} {row.variation:.0f} %"
                 for row in varied.sort_values("variation").tail(2)[::-1].itertuples())
       or "no parameter was changed alone") + ".",
)

# %%
tied = counterminer["sort"]
results.table(
    varied,
    "variation",
    "**Table.** How much longer the slowest level takes than the fastest [%]; p: how often runs "
    "permuted between the levels vary as much (each parameter by itself; notebook "
    "studies/number_of_runs multiplies "
    "by how many were tried, from other permutations). "
    f"The paper, for sort: bbs {tied['variation_percent']} %, "
    f"nwt {tied['loosely_tied_variation_percent']} %.",
    decimals=4,
)

# %% [markdown]
# The parameter that changes a program's time most in this table is what the methods below should name first. This reference covers only the parameters that were changed alone; the others have no such runs.

# %%
n_tried = varied.groupby("program")["p"].transform("size")
changing = varied[varied["p"] * n_tried <= 0.05].sort_values("variation", kind="stable")
truth = changing.groupby("program", sort=False)["parameter"].last().to_dict()
print("Changes the time most: " + ("; ".join(
    f"{name}, {full_name(parameter)}" for name, parameter in truth.items()) or "none is known to"))

# %% [markdown]
# ## Parameters directly (method B)
#
# Boosted regression trees predict the time from the thirteen parameters. The importance of a parameter is the share of the squared error that splits on it remove, over all trees (Friedman 2001). The lines hold 90 % of the models of resampled runs: parameters whose lines overlap are in no certain order.

# %%
model = regressor(boosting=tuning.FEW_ROWS, seed=seed).fit(one.runs.parameters, one.runs.seconds)
first = influence(model)
print(f"{next(iter(tuned))}, one model of all its runs: {full_name(first.index[0])} has "
      f"{first.iloc[0]:.0f} % of the importance; the figure has the mean of {n_seeds} models")
direct = {}
for name, one in tuned.items():
    drawn = stability.draw_importances(
        one.runs.parameters, one.runs.seconds, seeds=range(n_seeds), boosting=tuning.FEW_ROWS
    )
    direct[name] = stability.importance_spread(drawn).rename_axis("parameter").reset_index()
    direct[name]["label"] = direct[name]["parameter"].map(full_name)
ends = {"value": "mean", "low": "low", "high": "high", "label": "label"}
figure, _ = plot.ranking(direct, **ends, xlabel="importance for the time [%]", columns=2)
results.figure(
    figure,
    "parameters",
    "**Figure.** Importance of each parameter in a model of the execution time by the parameters, "
    f"mean of {n_seeds} models of resampled runs; lines: 90 % of these. *See:* first come "
    + ", ".join(f"{rows['label'].iloc[0]} ({name}) with {rows['mean'].iloc[0]:.0f} %"
                for name, rows in direct.items()) + ".",
)

# %% [markdown]
# ## Events first (method A)
#
# Events are rates, so that a long run does not have higher values of all. A first model, of the time by the events (of IPC, where cycles were counted), ranks them by importance. A second model of the time has both as inputs, the `n_events` most important events $e$ and all parameters $p$ (GBRT study, Eq. 9); in it, pairs of an event and a parameter are ranked:
#
# $$\vec v = (e_1, e_2, \dots, e_n, p_1, p_2, \dots, p_m) \tag{9}$$
#
# CounterMiner ranks a pair by its *residual variance*: a linear function of the pair's two values is fitted to the **observed** performance of $n$ examples, and its squared errors are added up (its Eq. 12, in its letters: $p_i$ is what the function predicts for an example, $\bar p$ what was observed; neither is a parameter, and $v$ is a number, not the vector of Eq. 9)
#
# $$v = \sum_{i=1}^n (p_i - \bar p)^2, \tag{12}$$
#
# which puts first the pairs that explain least (notebook 04). Here the linear function is fitted to the **model's predictions** $\hat t$ at the pair's values $x_i$, all other inputs at their means, over the $n$ runs (Elith, Leathwick and Hastie 2008):
#
# $$v = \sum_{i=1}^{n} \big(\hat t(x_i) - a - b^\top x_i\big)^2$$
#
# This residual variance takes any nonlinear effect of a single input for an interaction: where one event is in all of its first pairs with nearly equal shares, it ranks that event's nonlinearity, and the order of the parameters is arbitrary. Friedman's H measures only the joint effect: with $F_{ep}$ the model's mean prediction by the pair, and $F_e$, $F_p$ those by each alone, all with mean 0, $H^2 = \sum_i (F_{ep} - F_e - F_p)^2 / \sum_i F_{ep}^2$; a pair's importance is its share of the numerators of all pairs. The figure has this share, the table both.

# %%
def couple(runs, measure):
    """Pairs of an important event and a parameter, by how strongly they act on the time."""
    important = tuning.important_events(runs, seed=seed).index[:n_events]
    X = pd.concat([runs.rates[important], runs.parameters], axis=1)
    how = {"method": measure, "boosting": tuning.FEW_ROWS, "n_points": 20, "seed": seed}
    return rank_pairs(X, runs.seconds, important, partners=runs.parameters.columns, **how)


runs, pairs = [one.runs for one in tuned.values()], {}
for measure in ("residual_variance", "h_statistic"):
    ranked = parallel_map(lambda own, by=measure: couple(own, by), runs, workers)
    pairs[measure] = dict(zip(tuned, ranked, strict=True))
by_plane, by_h = pairs.values()


# %%
def short(name):
    """An event's name; of a tracepoint without its family."""
    return name.rpartition(":")[2].removeprefix("sys_enter_")


def importances(ranked):
    """Importance of each pair [%]: a row an event, a column a parameter."""
    table = ranked.pivot(index="event_b", columns="event_a", values="importance")
    rows, columns = (table.max(axis=axis).sort_values(ascending=False).index for axis in (1, 0))
    return table.loc[rows, columns].rename(index=full_name, columns=short)


@plot.styled
def pair_maps(maps):
    """A heat map of pairs a program."""
    figure, axes = plot.panels(list(maps), columns=1, height=4.2)
    for ax, (name, table) in zip(axes, maps.items(), strict=True):
        written = table.map(lambda percent: f"{percent:.0f}" if percent >= 1 else "")
        sns.heatmap(table, ax=ax, cmap="Blues", annot=written, fmt="", linewidths=0.5,
                    cbar_kws={"label": "importance of the pair [%]"})
        ax.set(title=name, xlabel="event", ylabel="")
        ax.tick_params(axis="x", rotation=45)
    return figure, axes


# %%
maps = {}
for name, ranked in by_h.items():
    right = full_name(truth[name]) if name in truth else ""
    title = f"{name}: pairs that interact most; → changes the time most when changed alone"
    maps[title] = importances(ranked).rename(index={right: f"→ {right}"})
figure, _ = pair_maps(maps)
strongest = {name: ranked.iloc[0] for name, ranked in by_h.items()}
flat = {name: ranked["importance"].head(10) for name, ranked in by_plane.items()}
results.figure(
    figure,
    "fig13",
    "**CounterMiner, Fig. 13.** Method A: interaction of an important event and a parameter in a "
    "model of the time, by Friedman's H (numbers from 1 %; not an effect on the time, which is in "
    f"Fig. 14); arrow: the parameter that method A should name. {source} *See:* it names that of "
    "the strongest pair, "
    + "; ".join(f"{short(pair['event_a'])} with {full_name(pair['event_b'])} "
                f"({pair['importance']:.0f} %) in {name}" for name, pair in strongest.items())
    + ". By the residual variance the first ten lie between "
    + "; ".join(f"{one.min():.1f} and {one.max():.1f} % ({name})" for name, one in flat.items())
    + ", which ranks nothing.",
)

# %%
both = {}
for name in tuned:
    by_pair = by_h[name].assign(place=range(1, len(by_h[name]) + 1)).set_index("pair")
    renamed = by_pair[["importance", "place"]].rename(columns={"importance": "importance by H"})
    joined = by_plane[name].join(renamed, on="pair")
    both[name] = joined[["event_a", "event_b", "importance", "importance by H", "place"]]
names = ["program", "event", "parameter", "residual variance [%]", "H [%]", "place by H"]
pairs = pd.concat(both, names=["program"]).reset_index("program").set_axis(names, axis=1)
later = pairs.groupby("program").cumcount().ge(10)
results.table(
    pairs.assign(later=later).sort_values("later", kind="stable").drop(columns="later"),
    "pairs",
    "**Table.** Importance of each pair [%] by the residual variance of the model and by "
    "Friedman's H, and its place by H; the ten strongest of each program first.",
    rows=10 * len(tuned),
)


# %% [markdown]
# ## The numbers

# %%
fig14 = {
    ("sort", tied["tied"]): tied["variation_percent"],
    ("sort", tied["loosely_tied"]): tied["loosely_tied_variation_percent"],
}
for row in varied.to_dict("records"):
    name = f"variation of the time of {row['program']} by {full_name(row['parameter'])}"
    value = fig14.get((row["program"], row["parameter"]))
    note = f"slowest level against fastest; p = {row['p']:.4f}"
    results.number(name, row["variation"], "%", paper=value, note=note)
results.numbers()


# %%
VERDICTS = {True: "the same parameter", False: "not that one"}


def summarize(name):
    """What was found of one program, in plain words."""
    first = direct[name].iloc[0]
    text = f"Method B names {first['label']}: {first['mean']:.0f} % of the importance in a model "
    text += f"of the time ({first['low']:.0f} to {first['high']:.0f} in 90 % of {n_seeds} models "
    text += "of resampled runs). "
    if name not in truth:
        return f"{text}None that was changed alone is known to change it."
    text += f"Of the parameters changed alone, {full_name(truth[name])} changes it most "
    text += f"(by {effects[name]:.0f} %). Method A, by way of events, names by its strongest pair "
    ways = {"the residual variance": by_plane, "Friedman's H": by_h}
    named = {way: ranked[name]["event_b"].iloc[0] for way, ranked in ways.items()}
    return text + " and ".join(f"{full_name(own)} by {way} ({VERDICTS[own == truth[name]]})"
                               for way, own in named.items()) + "."


# %%
tops = varied.set_index(["program", "parameter"])["variation"]
effects = {name: tops[name, parameter] for name, parameter in truth.items()}
if len(tuned) > 1 and truth:
    most = ", ".join(f"{full_name(truth[name])} in {name} (by {effects[name]:.0f} %)"
                     for name in tuned if name in truth)
    same = {way: sum(ranked[name][column].iloc[0] == truth[name] for name in truth)
            for way, ranked, column in (("H", by_h, "event_b"), ("plane", by_plane, "event_b"),
                                        ("B", direct, "parameter"))}
    for way, label in {"B": "by a model of the time", "H": "by events, Friedman's H",
                       "plane": "by events, residual variance"}.items():
        results.number(f"programs whose strongest parameter is named, {label}", same[way],
                       "programs", note=f"of {len(truth)}")
    display(results.finding(
        f"On {most}: of the {n_tried.max()} of {len(TABLE_IV)} parameters that were changed alone "
        f"these change the time most. A model of the time by all (method B) names the same in "
        f"{same['B']} of {len(truth)} programs. By way of events (method A) it is named in "
        f"{same['H']} of {len(truth)} by Friedman's H and in {same['plane']} by residual variance; "
        "the papers say that both methods name the same (Spark on one machine, our recordings)."))
for name in tuned:
    display(results.finding(summarize(name), program=name))

# %% [markdown]
# ## Explore
#
# In JupyterLab: does the same parameter come first with fewer runs? Here the importance is of one model; the figure of method B has the mean of many.

# %%
@plot.styled
def draw_parameter(ranked, seconds, values, title, chosen):
    """Left, the importance of every parameter, one of them in another colour; right, its runs."""
    figure, ((left, right),) = blank(3.4, columns=2)
    colours = dict(zip([False, True], plot.palette(2), strict=True))
    bars_across(left, ranked, ranked.index, [colours[name == chosen] for name in ranked.index])
    left.set(title=title, xlabel="importance for the time [%]")
    right.plot(values, seconds, "o", ms=4, mfc="none", color=colours[True])
    right.set(title=chosen, xlabel=chosen, ylabel="execution time [s]", ylim=(0, None))
    right.set_xscale("log", base=2)
    return figure, (left, right)


# %%
def draw_first_runs(program, n_runs, parameter):
    """What the first runs say of the parameters, and each run's time by one of them."""
    first, setting = tuned[program].runs.take(range(n_runs)), TABLE_IV[parameter]
    ranked = tuning.rank_directly(first)
    by_name = ranked.rename(lambda abbr: TABLE_IV[abbr].name)
    figure, _ = draw_parameter(by_name, first.seconds, first.parameters[parameter],
                               f"{program}, {len(first)} runs", setting.name)
    rho = first.parameters[parameter].corr(first.seconds, method="spearman")
    return figure, (f"<p>{setting.name}: {ranked[parameter]:.1f} % of the importance; rank "
                    f"correlation with the time {rho:.2f}; default {setting.default}.</p>")


first, most = next(iter(tuned)), min(len(one.runs) for one in tuned.values())
leads = tuning.rank_directly(tuned[first].runs).index[0]
names = [(TABLE_IV[abbr].name, abbr) for abbr in tuned[first].runs.parameters]
panel = explore.Panel(draw_first_runs, {
    "program": explore.dropdown("program", list(tuned)),
    "n_runs": explore.slider("runs", min(20, most), most, value=most),
    "parameter": explore.dropdown("parameter", names, leads),
})
caption = (f"**Figure.** What the widgets show at first, {first}: left, the importance in one "
           f"model; right, the time of each run by {full_name(leads)}, which comes first. {source}")
panel if notebook.interactive else results.figure(panel.figure(), "explore", caption)

# %% [markdown]
# ## What this doesn't show
#
# The reference covers the few parameters that were changed alone; whether one of the others changes the time more is not known. Models of few runs can name another parameter: notebook studies/number_of_runs draws fewer of them. The cluster is one machine of two processors, and programs last seconds; start-up is part of every run.
#
# Importance is of a model, not a cause; whether the events are causes is tested in notebook studies/causes.
#
# ## On your own program
#
# `cmlib record-tuning --program kmeans` records another Spark program that cmlib has (wordcount, pagerank, aggregation, join, scan, bayes, kmeans, graphanalytics, inmemoryanalytics): 60 runs with random settings, then each parameter changed alone; then `cmlib run paper 08_tuning -p program=kmeans`. There is no command for a jar of your own. In a checkout of cmlib it becomes such a program by a `case` in `workloads/cmlib_workloads/spark/src/HiBench.scala` and an entry of that name under `HiBench` in `data/programs/programs.yaml` (`docs/add-a-program.md`). To change first: `n_events`, how many events method A pairs with the parameters.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §V-D. Lv, Sun, Yu, on gradient boosting and processor events, 2018, §4.3. Friedman and Popescu, *Predictive learning via rule ensembles*, 2008. Elith, Leathwick and Hastie, *A working guide to boosted regression trees*, 2008. Friedman, *Greedy function approximation: a gradient boosting machine*, 2001.

# %%
results.save()
