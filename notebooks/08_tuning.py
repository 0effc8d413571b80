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
# # Tuning: which of Spark's parameters matter, by models of settings and of events
#
# **Question.** Which of Spark's parameters does a program's time depend on, and how many runs does it take to know?
#
# *Reads* runs of Spark programs under different settings. *Writes* the effect of each single parameter, the importance of every parameter, interacting pairs of events and parameters, errors against the number of runs, and which events are causes of the execution time.
#
# Method B is direct: a model of the execution time by the parameters, one row a run. Method A begins with the events: which events matter for the performance, and which parameters interact with those (CounterMiner, §V-D). The papers say that both name the same parameter (GBRT study, §4.3), and that A needs a quarter of the runs. Here both are compared with a reference that neither was trained on: runs in which a single parameter was changed.

# %% tags=["parameters"]
program = "all"  # programs to study, separated by commas, or all that are recorded
n_sizes = 4  # numbers of runs that models are trained on, from 10 to three quarters of all [1, 20]
draws = 10  # times that runs are drawn for each number [2, 1000]
n_events = 10  # important events that are paired with the parameters [2, 30]
n_seeds = 20  # models behind the spread of an importance [2, 100]
share = 90.0  # a parameter is found when this share of the draws names it [%] [50, 100]
seed = 0  # of models and draws [0, 1000000]
settings = {}  # jobs, executor, scheduler, interactive, profile, results_folder

# %%
import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

from cmlib import explore, plot, tuning
from cmlib.collect.workloads.spark import TABLE_IV
from cmlib.collect.workloads.tuning import EMITTERS
from cmlib.experiments.tuned_runs import load_tuned
from cmlib.interact import rank_pairs
from cmlib.io import events
from cmlib.parallel import parallel_map
from cmlib.rank import influence, regressor, relative_error, stability
from cmlib.report import paper
from cmlib.report.notebook import begin

# %%
notebook = begin("08_tuning", globals())
results, workers = notebook.results, notebook.workers
counterminer, gbrt = paper("counterminer")["tuning"], paper("gbrt")["tuning"]
tuned = load_tuned(wanted=program)
one = next(iter(tuned.values()))
table = events.table_of(one.machine)
kind = {"cycles": "hardware events"}.get(one.per, "software events and tracepoints")
sizes = ", ".join(f"{len(each.runs)} runs of {name}" for name, each in tuned.items())
source = f"{sizes}; {kind}; {one.machine['model_name']}, {one.machine['processors']} processors."
one.runs.rates.head()

# %% [markdown]
# ## The runs
#
# Each program runs on a standalone cluster of Spark on one machine, with settings drawn at random: every parameter of Table IV independently, uniformly in the logarithm between two extremes with which the program still runs. The ranges determine the result: a parameter with a narrow range is unimportant by construction. Some parameters act only with a codec, a serializer or executors that are not Spark's defaults; those were set in all runs.

# %%
of_setting = {
    abbr: {"parameter": each.name, "low": each.low, "default": each.default, "high": each.high}
    | {"needs": ", ".join(f"{name}={value}" for name, value in each.needs.items())}
    for abbr, each in TABLE_IV.items()
}
about = "**Table IV.** Spark's parameters, with the range that each was drawn from."
results.table(pd.DataFrame(of_setting).T.rename_axis("abbr"), "table4", about)

# %% [markdown]
# Execution times, in the order of the runs. A trend would mean that the machine changed, not the settings; separate levels, such as sort's two, mean that one parameter determines most of the time.

# %%
seconds = {name: one.runs.seconds for name, one in tuned.items()}
times = pd.concat(seconds, names=["program"]).reset_index()
figure, _ = plot.run_times(times, ylabel="execution time [s]")
results.figure(figure, "times", f"**Figure.** Execution time of every run. {source}")


# %% [markdown]
# ## The effect of a single parameter
#
# The simplest experiment: one parameter at a time at both ends of its range, all others at the defaults of Table IV, except that executors have one processor each, without which nothing goes over the network. Runs of all levels alternate. Where two levels are the same setting (*exc* low and default), their circles show the run-to-run noise.
#
# The paper tunes two parameters of sort this way (its Figure 14): *bbs*, tied to the most important event, changes the time by 111.3 %, and *nwt*, tied to a lesser one, by 29.4 %. Here *nwt* was changed, without an effect that these runs could show. ***bbs* was not changed alone**, so the paper's largest number has no counterpart on this page; `cmlib record-tuning --program sort` records it, on the machine that made the other runs.

# %%
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
        ax.set(title=": ".join(names), ylabel="execution time [s]")
        ax.set(ylim=(0, None), xlim=(-0.5, 2.5))
    return figure, axes


# %%
def spread(groups):
    """How much longer the slowest group takes than the fastest, by their means [%]."""
    means = [group.mean() for group in groups]
    return 100 * (max(means) / min(means) - 1)


def variation(groups, draws=2000):
    """That of a parameter's levels, its interval by resampled runs, and p by exchanged ones."""
    rng, groups = np.random.default_rng(seed), [np.asarray(group) for group in groups]
    means = [group.mean() for group in groups]
    ends = groups[np.argmax(means)], groups[np.argmin(means)]
    slow, fast = np.array([[rng.choice(group, len(group)).mean() for group in ends]
                           for _ in range(draws)]).T
    low, high = 100 * (np.quantile(slow / fast, [0.025, 0.975]) - 1)
    cuts, everything = np.cumsum([len(group) for group in groups])[:-1], np.concatenate(groups)
    drawn = [spread(np.split(rng.permutation(everything), cuts)) for _ in range(draws)]
    p = (1 + np.sum(np.array(drawn) >= spread(groups) * (1 - 1e-12))) / (1 + draws)
    return {"variation": spread(groups), "low": low, "high": high, "p": p}


# %%
tried = pd.concat([each.levels.assign(program=name) for name, each in tuned.items()])
rows = []
for (name, parameter), own in tried.groupby(["program", "parameter"], sort=False):
    times = own.groupby("level")["seconds"].apply(list)
    rows.append({"program": name, "parameter": parameter, **variation(times)})
varied = pd.DataFrame(rows, columns=["program", "parameter", "variation", "low", "high", "p"])
figure, _ = times_by_level(tried.groupby(["program", "parameter"], sort=False))
results.figure(
    figure,
    "fig14",
    "**Figure 14.** Execution time by the level of one parameter, a circle a run; the bar is their "
    "mean. Ends and defaults are in Table IV.",
)

# %%
tied = counterminer["sort"]
results.table(
    varied,
    "variation",
    "**Table.** How much longer the slowest level takes than the fastest [%], with its 95 % "
    "interval; p: how often runs exchanged between the levels at random vary as much. "
    f"The paper, for sort: bbs {tied['variation_percent']} %, "
    f"nwt {tied['loosely_tied_variation_percent']} %.",
    decimals=3,
)

# %% [markdown]
# The parameter that changes a program's time most in this table is what the methods below should name first. This reference covers only the parameters that were changed alone; the others have no such runs.

# %%
n_tried = varied.groupby("program")["p"].transform("size")
changing = varied[varied["p"] * n_tried <= 0.05].sort_values("variation", kind="stable")
truth = changing.groupby("program", sort=False)["parameter"].last().to_dict()
", ".join(f"{name}: {parameter}" for name, parameter in truth.items()) or "nothing is known to"

# %% [markdown]
# ## Parameters directly (method B)
#
# A boosted model of the time by the thirteen parameters, and the contribution of each. The lines are intervals over resampled runs: parameters whose lines overlap are in no certain order.

# %%
def full_name(parameter):
    """Spark's name of a parameter that Table IV abbreviates."""
    return TABLE_IV[parameter].name.removeprefix("spark.")


model = regressor(boosting=tuning.FEW_ROWS, seed=seed).fit(one.runs.parameters, one.runs.seconds)
first = influence(model)
print(f"{next(iter(tuned))}, one model of all its runs: {full_name(first.index[0])} has "
      f"{first.iloc[0]:.0f} % of the importance")
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
    "**Figure.** Importance of each parameter in a model of the execution time by the parameters. "
    "Lines: 90 % of models of resampled runs.",
)

# %% [markdown]
# ## Events first (method A)
#
# Events are rates, so that a long run does not have higher values of all. A model of the performance by the events ranks them. The most important events $e$ and all parameters $p$ are the inputs of a mixed model of the time (GBRT study, Eq. 9), whose pairs of an event and a parameter are ranked:
#
# $$\vec v = (e_1, e_2, \dots, e_n, p_1, p_2, \dots, p_m) \tag{9}$$
#
# CounterMiner ranks pairs by what a plane leaves of the **observed** performance (its Eq. 12, predicted $p_i$, observed $\bar p$)
#
# $$v = \sum_{i=1}^n (p_i - \bar p)^2, \tag{12}$$
#
# which puts first the pairs that explain least (notebook 04). Here the plane is fitted to the **model's predictions** $\hat t$ at the pair's values $x_i$, all other inputs at their means (Elith, Leathwick and Hastie):
#
# $$v = \sum_{i=1}^{n} \big(\hat t(x_i) - a - b^\top x_i\big)^2$$
#
# This residual variance takes any nonlinear effect of a single input for an interaction; Friedman's H measures only the joint effect. Both are shown. Where one event is in all pairs of the upper panels with nearly equal bars, the residual variance ranks that event's nonlinearity, and the order of the parameters has no meaning.

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
def short(names):
    """Events' abbreviations, or tracepoints without their family."""
    found = events.abbreviate(names, table)
    return [name.rpartition(":")[2].removeprefix("sys_enter_") for name in found]


leading = {}
for measure, rankings in {"residual variance": by_plane, "Friedman's H": by_h}.items():
    for name, ranked in rankings.items():
        first = ranked.head(10)
        labels = zip(short(first["event_a"]), map(full_name, first["event_b"]), strict=True)
        leading[f"{name}, {measure}"] = first.assign(label=[" - ".join(pair) for pair in labels])
axis = "importance of the pair [%]"
figure, _ = plot.ranking(leading, value="importance", label="label", xlabel=axis, columns=2)
results.figure(
    figure,
    "fig13",
    "**Figure 13.** The strongest pairs of an important event and a parameter: above by the "
    f"residual variance of the model, below by Friedman's H. {source}",
)

# %%
both = {}
for name in tuned:
    by_pair = by_h[name].assign(place=range(1, len(by_h[name]) + 1)).set_index("pair")
    renamed = by_pair[["importance", "place"]].rename(columns={"importance": "importance by H"})
    joined = by_plane[name].join(renamed, on="pair")
    both[name] = joined[["event_a", "event_b", "importance", "importance by H", "place"]]
names = ["program", "event", "parameter", "residual variance [%]", "H [%]", "place by H"]
results.table(
    pd.concat(both, names=["program"]).reset_index("program").set_axis(names, axis=1),
    "pairs",
    "**Table.** Importance of each pair [%] by the residual variance of the model and by "
    "Friedman's H, and its place by H.",
    rows=20,
)


# %% [markdown]
# ## How many runs are needed?
#
# For prediction: a model trained on few runs is tested on others (CounterMiner, Eq. 14, of the time $t$ in place of IPC), beside the mean of the training runs:
#
# $$err = \frac{|t_{meas} - t_{pred}|}{t_{meas}} \times 100\,\% \tag{14}$$
#
# The ranking of a model that is no better than the mean is meaningless.
#
#

# %%
def sizes_of(runs):
    """Numbers of runs to train on: from ten up to those that a test on a quarter leaves."""
    most = len(runs) - max(1, round(0.25 * len(runs)))
    return sorted({int(size) for size in np.geomspace(min(10, most), most, n_sizes).round()})


@plot.styled
def by_runs(frame, value, by, ylabel):
    """A quantity against the number of runs, a line each of `by`, a panel a program."""
    figure, axes = plot.panels(list(frame["program"].unique()), height=3.0, sharey=True)
    for ax, (program, own) in zip(axes, frame.groupby("program", sort=False), strict=True):
        lines = zip(own.groupby(by, sort=False), plot.palette(4), "os^D", strict=False)
        for (line, rows), colour, mark in lines:
            ax.plot("runs", value, data=rows, marker=mark, ms=4.5, lw=1.3, color=colour, label=line)
            if "low" in rows:
                ax.fill_between("runs", "low", "high", data=rows, color=colour, alpha=0.12, lw=0)
        ax.set(title=program, xlabel="runs", ylim=(0, None))
    axes[0].set_ylabel(ylabel)
    plot.legend_below(figure, axes[0], 4)
    return figure, axes


# %%
def learn(X, y, sizes, draw):
    """Errors by the number of runs trained on, on a quarter of the runs drawn at random."""
    order = np.random.default_rng([seed, draw]).permutation(X.index.unique())
    n_test, rows = max(1, round(0.25 * len(order))), []
    test, rest = order[:n_test], order[n_test:]
    for size in sizes:
        train = rest[:size]
        model = regressor(boosting=tuning.FEW_ROWS, seed=draw).fit(X.loc[train], y.loc[train])
        predictions = model.predict(X.loc[test]), y.loc[train].mean()
        rows.append((size, *(relative_error(y.loc[test], of) for of in predictions)))
    return rows


def curve(job):
    """Errors against the number of runs, of one model of one program."""
    name, model = job
    runs = tuned[name].runs
    X = {"parameters": runs.parameters, "events": runs.examples}.get(model, runs.mixed)
    y = runs.performance if model == "events" else runs.seconds
    drawn = sum((learn(X, y, sizes_of(runs), draw) for draw in range(draws)), [])
    drawn = pd.DataFrame(drawn, columns=["runs", "error", "mean_baseline"]).groupby("runs")
    band = drawn["error"].quantile([0.05, 0.95]).unstack().set_axis(["low", "high"], axis=1)
    return drawn.mean().join(band).reset_index().assign(program=name, model=model)



# %%
models = ("parameters", "events", "events and parameters")
jobs = [(name, model) for name in tuned for model in models]
learned = pd.concat(list(parallel_map(curve, jobs, workers)), ignore_index=True)
guessed = learned[learned["model"] == "parameters"].assign(model="mean baseline")
guessed = guessed.drop(columns=["error", "low", "high"]).rename(columns={"mean_baseline": "error"})
figure, _ = by_runs(pd.concat([learned, guessed]), "error", "model", "error of the time [%]")
caption = ("**Figure.** Error on runs left out against the number of runs trained on, mean of "
           f"{draws} draws; nine of ten within the band. {source}")
display(results.figure(figure, "learning", caption))

last = learned.groupby(["program", "model"], sort=False).last().reset_index()
last = last[["program", "model", "runs", "error", "mean_baseline"]]
of_paper = {row["model"]: row["error_percent"] for row in gbrt.values()}
results.table(
    last,
    "table2",
    "**Table 2.** Error of each model of the time trained on as many runs as a test leaves [%]. "
    f"The GBRT study, for pagerank: {of_paper['parameters']} % by 6,000 runs' parameters. Its "
    f"other two models are of hardware events: {of_paper['events']} % of IPC by events, "
    f"{of_paper['events and parameters']} % of the time by both.",
)

# %% [markdown]
# For naming a parameter: the paper's Figure 15 only illustrates why method A should need fewer runs; here it is measured. Each method ranks the parameters from a number of randomly drawn runs, and the figure shows how often the first is the parameter that changes the time most when it is changed alone (above). *By pairs* is the paper's method A, with the residual variance of the model in place of its Eq. 12; the same by Friedman's H is shown beside it. *By effect* is ours: an event's importance is divided among the parameters that move it.
#
# Pairs can miss the most important parameter: an event that depends on a parameter replaces it in a mixed model, and little is left for their interaction.
#
#

# %%
def by_pairs(runs, measure):
    """Each parameter by the strongest pair it is in: method A."""
    return couple(runs, measure).groupby("event_b")["importance"].max()


def by_effect(runs):
    """Each parameter by what it does to the important events."""
    X, scores = runs.parameters, pd.Series(0.0, runs.parameters.columns)
    weights = tuning.important_events(runs, seed=seed).iloc[:n_events]
    for event in weights.index[runs.rates[weights.index].std() > 0]:
        y, shares = runs.rates[event], 0.0
        predicted = pd.Series(0.0, y.index)
        for train, test in KFold(3, shuffle=True, random_state=seed).split(X):
            model = regressor(boosting=tuning.FEW_ROWS, seed=seed).fit(X.iloc[train], y.iloc[train])
            predicted.iloc[test] = model.predict(X.iloc[test])
            shares += model.feature_importances_ / (model.feature_importances_.sum() or 1.0) / 3
        scores += weights[event] * max(0.0, 1 - (y - predicted).var() / y.var()) * shares
    return scores


# %%
WAYS = {
    "parameters directly": tuning.rank_directly,
    "events first, by pairs (residual variance)": lambda runs: by_pairs(runs, "residual_variance"),
    "events first, by pairs (Friedman's H)": lambda runs: by_pairs(runs, "h_statistic"),
    "events first, by effect": by_effect,
}


def found(job):
    """How often a way of asking names the parameter that matters most, from so many runs."""
    name, way, size = job
    runs, hits = tuned[name].runs, []
    for draw in range(draws):
        rows = np.random.default_rng([seed, draw]).permutation(len(runs))[:size]
        scores = WAYS[way](runs.take(rows)).sort_index()
        hits.append(scores.max() > 0 and scores.idxmax() == truth[name])
    return {"runs": size, "found": 100 * np.mean(hits), "program": name, "way": way}


jobs = [(name, way, n) for name in truth for way in WAYS for n in sizes_of(tuned[name].runs)]
by_size = pd.DataFrame(parallel_map(found, jobs, workers),
                       columns=["runs", "found", "program", "way"])

# %%
late = by_size.sort_values("runs", ascending=False)
missed = late["found"].lt(share).groupby([late["program"], late["way"]]).cumsum()
needed = late[missed == 0].groupby(["program", "way"])["runs"].min().unstack()
needed = needed.reindex(columns=list(WAYS))
if truth:
    figure, _ = by_runs(by_size, "found", "way", "draws that name it [%]")
    named = ", ".join(f"{name} {parameter}" for name, parameter in truth.items())
    caption = (
        "**Figure 15, measured.** How often a ranking from so many runs begins with the parameter "
        f"that really changes the time most ({named}); {draws} draws a point, so that one draw is "
        f"{100 / draws:.0f} %."
    )
    display(results.figure(figure, "fig15", caption))


# %% [markdown]
# ## Cause or correlation?
#
# A randomized factor has no causes among the events. Where it moves one important event and no other, the runs are an experiment on that event: if the time changes as the model predicts, the event (or something uncounted that changes with it) is a cause; if the time stays the same, the event is only correlated with it.
#
# Spark's parameters, drawn for the runs above, are one such experiment, but most of them move many events at once. In the other experiment a small program beside the executors emits one kind of event, at random rates up to those of the slowest runs, at one setting of Spark (in brackets), and is counted with them. A cross far from an interval that contains 0 means that the model attributes time to the event, but emitting the event does not change the time.
#
#

# %%
def emitting(at, runs):
    """Runs beside which events were emitted, as an experiment on each of these events."""
    called = {event: f"{short([event])[0]} emitted ({at})" for event in runs.parameters}
    parameters = runs.parameters.rename(columns=called)
    own = (runs.rates, runs.seconds, runs.examples, runs.performance)
    aims = {called[event]: (event, *EMITTERS[event]) for event in called}
    return tuning.Experiment(tuning.Runs(parameters, *own), aims)


def judge(each):
    """Judge the important events of a program by all that was drawn at random."""
    important = list(tuning.important_events(each.runs, seed=seed).index[:n_events])
    emitted = [emitting(at, runs) for at, runs in each.emitted.items()]
    experiments = [tuning.Experiment(each.runs), *emitted]
    return tuning.judge_events(each.runs, important, experiments, seed=seed)


# %%
judged = {name: judge(each) for name, each in tuned.items()}
judged = pd.concat(judged, names=["program"]).reset_index()
shown = judged.assign(event=short(judged["event"])).dropna(subset="expected")
axis = "change of the performance [%]"
figure, _ = plot.verdicts(shown, programs=list(tuned), xlabel=axis)
results.figure(
    figure,
    "causes",
    "**Figure.** What the performance (time of a run, or IPC where cycles are counted) does when "
    "one event is moved alone, from none or a factor's lowest third to its highest: as the model "
    "by events says, and as observed, with its 95 % interval.",
)

# %%
emitted = ", ".join(
    f"{len(runs)} of {name} ({at})"
    for name, one in tuned.items()
    for at, runs in one.emitted.items()
)
telling = ["program", "event", "verdict", "expected", "observed", "low", "high", "p", "factor"]
results.table(
    judged[telling + ["with", "moved_by", "before", "after", "beyond"]],
    "causes",
    "**Table.** The important events: change of the performance expected and observed [%]; what "
    "moves each alone (*factor*; *with*: what that brings along); its mean rate before and after, "
    f"runs beyond what the model has seen [%]. Runs with emitted events: {emitted or 'none'}.",
    rows=30,
)

# %% [markdown]
# ## The numbers

# %%
for row in last.to_dict("records"):
    name = f"error of the model by {row['model']}, {row['program']}"
    comparable = row["program"] == "pagerank" and row["model"] == "parameters"
    value = of_paper["parameters"] if comparable else None
    note = f"{row['runs']} runs; mean baseline: {row['mean_baseline']:.1f} %"
    results.number(name, row["error"], "%", paper=value, note=note)

fig14 = {
    ("sort", tied["tied"]): tied["variation_percent"],
    ("sort", tied["loosely_tied"]): tied["loosely_tied_variation_percent"],
}
for row in varied.to_dict("records"):
    name = f"variation of the time of {row['program']} by {row['parameter']}"
    value = fig14.get((row["program"], row["parameter"]))
    note = f"95 %: {row['low']:.0f} to {row['high']:.0f}; p = {row['p']:.3f}"
    results.number(name, row["variation"], "%", paper=value, note=note)
results.numbers()



# %%
def summarize(name):
    """What was found of one program, in plain words."""
    first, own = direct[name].iloc[0], judged[judged["program"] == name]
    text = f"In a model of the time of {name} by the parameters {first['label']} matters most: "
    text += f"{first['mean']:.0f} % of the importance ({first['low']:.0f} to {first['high']:.0f}). "
    if name in truth:
        runs = needed.loc[name].map(lambda n: "more than were made" if pd.isna(n) else f"{n:.0f}")
        text += f"Turned alone, {full_name(truth[name])} changes it most; runs it takes to name "
        text += "it: "
        text += "; ".join(f"{way} {count}" for way, count in runs.items()) + ". "
    verdicts = own["verdict"].value_counts()
    counted = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.items())
    return f"{text}Of its {len(own)} important events: {counted}."


for name in tuned:
    display(results.finding(summarize(name), program=name))

# %% [markdown]
# ## Explore
#
# In JupyterLab: does the same parameter come first with fewer runs?

# %%
def draw_first_runs(program, n_runs, parameter):
    """What the first runs say of the parameters, and each run's time by one of them."""
    first, setting = tuned[program].runs.take(range(n_runs)), TABLE_IV[parameter]
    ranked = tuning.rank_directly(first)
    figure, _ = plot.setting(
        [TABLE_IV[each].name for each in ranked.index], list(ranked), chosen=setting.name,
        x=first.parameters[parameter], y=first.seconds, xlabel=setting.name,
        ylabel="execution time [s]", title=f"{program}, {len(first)} runs")
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
caption = f"**Figure.** What the widgets show at first: {first}. {source}"
panel if notebook.interactive else results.figure(panel.figure(), "explore", caption)

# %% [markdown]
# ## What this doesn't show
#
# The paper's method A needs few runs because each interval of a run is an example for its model of IPC: 60 runs give thousands. Where cycles and instructions were not counted there is no IPC, and the model is of the execution time, with one example a run; then that advantage is absent here.
#
# The reference of Figure 15 is the strongest of the few parameters that were changed alone. Whether one of the others changes the time more is not known. The cluster is one machine of two processors, and programs last seconds; start-up is part of every run.
#
# Importance is of a model, not a cause. No causal statement is made on an event that no factor moves alone, or that the factor can't move far enough for the model to predict a change. An emitted event is a call that does as little as possible, in a process beside the program's: if it does not change the time, the call itself costs nothing; what the program does with such calls may.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §V-D. Lv, Sun, Yu, on gradient boosting and processor events, 2018, §4.3. Friedman and Popescu, *Predictive learning via rule ensembles*, 2008.

# %%
results.save()
