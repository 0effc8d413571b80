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
# **Question.** Which of Spark's parameters does a program's execution time depend on most, and do events help to find it?
#
# Spark has many parameters, and trying all of them takes long. CounterMiner (Lv et al., MICRO 2018, §V-D) and the *GBRT paper* of the same group (Lv, Sun and Yu, 2018, §4.3) describe two methods that find the important ones from runs with random settings:
#
# * **Method B** is direct. It fits a model of the execution time on the parameters, and ranks the parameters by their importance in the model.
# * **Method A** goes through events. It finds the events that matter for the performance, and ranks pairs of such an event and a parameter by their interaction. The parameter of the strongest pair should be tuned first.
#
# The papers recommend method A, because it needs fewer runs. This notebook asks whether the methods find the right parameter. The right one is known from other runs, in which a single parameter was changed. The study [number of runs](studies/number_of_runs.ipynb) asks how many runs each method needs.

# %% [markdown] tags=["answer"]
# > **Answer** (our own pagerank and sort on Spark, software events; the notebook's default parameters). Among the parameters that we changed one at a time, `default.parallelism` changes the time of pagerank most, by **126 %**, and `executor.cores` changes that of sort most, by **23 %**; events do not help to find them. (In another session on another machine, `executor.cores` changes the time of sort by **29 %**.) Method B, which uses only the parameters, names both, and so does a simple rank correlation of each parameter with the time. Method A, which uses events, names the right parameter in **1** of 2 programs if pairs are ranked by Friedman's H, and in **0** if they are ranked by the paper's residual variance. The paper's method A learns from hardware events in many intervals of a run; here it has software events and one row per run. In the paper, `broadcast.blockSize` changes the time of sort by 111 %. Here it is **6.6 %**, which is within chance: this sort broadcasts so little that the parameter has no effect.

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas
n_events: int = 10  # important events that are paired with the parameters
n_seeds: int = 20  # resampled sets of runs, for intervals and for the last table
seed: int = 0  # of models and of draws
settings: dict = {}  # jobs, executor, scheduler, interactive, profile, results_folder

# %%
from itertools import product

import numpy as np
import pandas as pd
from scipy import stats

from cmlib import experiments, explore, plot, tuning
from cmlib.errors import NothingRecordedError
from cmlib.experiments.tuning.recordings import describe_tuned, load_levels, load_tuned
from cmlib.experiments.tuning.settings import TABLE_IV
from cmlib.parallel import parallel_map
from cmlib.rank import influence, regressor, stability
from cmlib.report import paper
from cmlib.report.notebook import begin

# %%
limits = {"n_events": (2, 30), "n_seeds": (2, 100), "seed": (0, 1_000_000)}
notebook = begin("08_tuning", settings, program=program, n_events=n_events, n_seeds=n_seeds,
                 seed=seed)
results, workers = notebook.results, notebook.workers
paper_values = paper("counterminer")["tuning"]
BLUE, LIGHT_BLUE, GRAY = "#0173b2", "#9dc6e0", "#9aa0a6"
FULL_NAMES = {abbr: each.name.removeprefix("spark.") for abbr, each in TABLE_IV.items()}

# %% [markdown]
# ## Data
#
# A run is one execution of a Spark program on a standalone cluster on one machine. The programs have the names and tasks of HiBench's programs, but they are our own code on generated input. They stand in for the paper's programs, which ran on a cluster of four servers.
#
# There are two kinds of runs. In runs with *random settings*, every parameter is drawn independently; both methods learn from these. In other runs, a *single parameter is changed*; these show which parameter is right.
#
# For each run with random settings, the execution time and the rate of each event are known. Where cycles were counted, a rate is per cycle. Otherwise it is per millisecond of processor time (event `task-clock`, which is not counted among the events of the next table). Therefore, long runs do not have higher rates.

# %%
try:
    tuned = load_tuned(wanted=program)
    levels = load_levels(wanted=program)
except NothingRecordedError:
    if program == "all":
        raise
    experiments.programs(notebook.database, program)  # an unknown program is an error
    notebook.stop("Tuning needs runs of a Spark program under different settings, and this program "
                  "has none. `cmlib record-tuning --program kmeans` records such runs.")
programs = list(tuned)
results.table(describe_tuned(tuned), "data", "**Table.** The runs with random settings, and the "
              "machine that they ran on.")

# %% [markdown]
# The next table lists the parameters. Random values are drawn uniformly in the logarithm between *low* and *high*. These ranges determine the result: a parameter with a narrow range is unimportant by construction. Some parameters have an effect only together with another setting (column *needs*). Usually all runs have this setting. But `network.timeout` and `reducer.maxSizeInFlight` need `executor.cores` = 1, and `executor.cores` is itself a parameter with random values. So these two act only in some of the runs.
#
# The column *default* is Spark's default on this cluster. For `executor.cores`, it is the number of the machine's processors, here 2. (The runs in which a single parameter is changed set it to 1, because `network.timeout` needs 1.)

# %%
table4 = {}
for abbr, each in TABLE_IV.items():
    needs = [f"{key.removeprefix('spark.')}={value.rpartition('.')[2]}"
             for key, value in each.needs.items()]
    table4[abbr] = {"parameter": each.name, "low": each.low, "default": each.default,
                    "high": each.high, "needs": ", ".join(needs)}
table4 = pd.DataFrame(table4).T
results.table(table4.rename_axis("abbr"), "table4", "**CounterMiner, Table IV.** Spark's "
              "parameters, the range of their random values here, and Spark's default.")

# %% [markdown]
# The next table shows the first runs of the first program, with two parameters and two events. The parameters are abbreviated as in Table IV. The block size `bbs` is in KiB, so that 64 is the 64k of Table IV.

# %%
runs = tuned[programs[0]].runs
sizes = (runs.parameters["bbs"] / 1024).rename("bbs [KiB]")
first = pd.concat([runs.seconds, sizes, runs.parameters["dpl"], runs.rates.iloc[:, :2]], axis=1)
first.head().round(3)

# %%
times = pd.concat({name: own.runs.seconds for name, own in tuned.items()}, names=["program"])
figure, _ = plot.run_times(times.reset_index(), ylabel="execution time [s]")
results.figure(figure, "times", "**Figure.** Execution times of the runs with random settings, in "
               "the order in which they ran. A trend would mean that the machine changed. Separate "
               "levels mean that one parameter determines most of the time.")

# %%
trend = {}
for name, own in tuned.items():
    correlation = stats.spearmanr(range(len(own.runs)), own.runs.seconds)
    seconds = own.runs.seconds
    trend[name] = {"shortest [s]": seconds.min(), "median [s]": seconds.median(),
                   "longest [s]": seconds.max(), "rank correlation": correlation.statistic,
                   "p": correlation.pvalue}
results.table(pd.DataFrame(trend).T.rename_axis("program"), "trend", "**Table.** Execution times, "
              "their rank correlation with the order of the runs, and its p-value.")

# %% [markdown]
# ## One parameter at a time
#
# The values of a parameter that is changed alone are called its *levels*: *low*, *default* and *high* of Table IV. The *variation* of a parameter is how much longer the program takes at the slowest level than at the fastest. With $\bar t_\ell$ as the mean time of the runs at level $\ell$,
#
# $$\mathrm{variation} = \left(\frac{\max_\ell \bar t_\ell}{\min_\ell \bar t_\ell} - 1\right) \times 100\,\%.$$
#
# It is never 0, because runs with equal settings differ too. So it is compared with variations by chance. The runs were made in *passes*: a pass has one run of each level of each parameter. (The run with all defaults is shared by the parameters.) If the level of a parameter had no effect, the times of its levels could be exchanged within each pass.
#
# **By hand.** In each of three passes, a run with 64k takes 10 s and a run with 16m takes 20 s, so the variation is 100 %. The two times of a pass can be exchanged or not, which gives $2^3 = 8$ arrangements. In two of them (none exchanged, all exchanged) the variation is 100 %. In the other six the means are 40/3 and 50/3 s, and the variation is 25 %. So the median variation by chance is 25 %, and $p = 2/8$: three passes are too few to exclude chance.


# %%
def variation(runs):
    t = runs.groupby("level")["seconds"].mean()
    return 100 * (t.max() / t.min() - 1)


example = pd.DataFrame([("bbs", level, number, seconds) for number in range(3)
                        for level, seconds in (("64k", 10.0), ("16m", 20.0))],
                       columns=["parameter", "level", "pass", "seconds"])
np.testing.assert_allclose(tuning.compare_levels(example)["variation"], variation(example))
tuning.compare_levels(example).round(2).style.hide(axis="index").format(precision=2)

# %% [markdown]
# The library makes the same comparison for all parameters that were changed alone. In these runs, `executor.cores` is 1 unless it is the parameter that is changed. So its levels *default* and *low* are the same setting, 1, which the figure shows as *low*.
#
# Runs made in turn on one machine are a *session*. Times of different sessions cannot be compared.

# %%
is_same = (levels["parameter"] == "exc") & (levels["level"] == "default")
levels.loc[is_same, "level"] = "low"
levels["session of"] = levels["program"] + ", " + levels["session"]
letters = dict(zip(levels["session of"].unique(), "ABCDEFGHIJKLMNOPQRSTUVWXYZ", strict=False))
levels["letter"] = levels["session of"].map(letters)
sessions = levels.groupby(["letter", "program", "session"]).agg(
    passes=("pass", "nunique"), runs=("date", "nunique"))
sessions = sessions.reset_index(["program", "session"])
results.table(sessions, "sessions", "**Table.** The sessions, "
              "with date and processor.")

# %%
levels["order"] = levels["level"].map({"low": 0, "default": 1, "high": 2})
levels = levels.sort_values(["letter", "parameter", "order"], kind="stable")
cases = levels["letter"] + ": " + levels["program"] + ", " + levels["parameter"].map(FULL_NAMES)
figure, _ = plot.dots_by_program(levels.assign(program=cases), value="seconds", hue="level",
                                 xlabel="execution time [s]", grey=["default"])
results.figure(figure, "fig14", "**CounterMiner, Fig. 14.** Execution times by the level of one "
               "parameter, one mark per run; the letter is the session. The paper's figure shows "
               "sort with `broadcast.blockSize` and `network.timeout`. Look for parameters with "
               "marks of one color apart from the others.")

# %%
varied = {name: tuning.compare_levels(own, seed=seed)
          for name, own in levels.groupby(["letter", "program"])}
varied = pd.concat(varied, names=["session", "program"]).reset_index(["session", "program"])
of_sort = paper_values["sort"]
printed = {("sort", of_sort["tied"]): of_sort["variation_percent"],
           ("sort", of_sort["loosely_tied"]): of_sort["loosely_tied_variation_percent"]}
varied["paper"] = [printed.get(case, np.nan)
                   for case in zip(varied["program"], varied["parameter"], strict=True)]
shown = varied.assign(parameter=varied["parameter"].map(FULL_NAMES))
shown = shown.rename(columns={"variation": "variation [%]", "by_chance": "by chance [%]",
                              "paper": "paper [%]"})
results.table(shown, "variation", "**Table.** Variation of the execution time by each parameter "
              "that was changed alone. *By chance*: median variation if the times of each pass are "
              "exchanged at random. (This value also grows with the effect of the parameter, "
              "because the exchanged times then differ more.) *p*: share of the random exchanges "
              "with at least the measured variation, times the number of parameters in the session "
              "(Bonferroni).",
              decimals={"variation [%]": 1, "by chance [%]": 1, "p": 3, "paper [%]": 1})

# %% [markdown]
# Of the parameters with $p \le 0.05$ in a session, the one with the largest variation is the *right* parameter of the program. The methods below should name it. They choose among all parameters of Table IV, while only a few were changed alone. One of the others might have a larger effect; this is not known.

# %%
clear = varied[varied["p"] <= 0.05].sort_values("variation")
right = clear.groupby("program")["parameter"].last().reindex(programs)

# %% [markdown]
# ## The two methods
#
# **Method B** fits boosted regression trees to the time $t$ as a function of the parameters $p_1 \dots p_m$. Each split of a tree reduces the squared error. The importance of a parameter is the part of the total reduction, over all trees, that is due to its splits (Friedman 2001).
#
# **Method A** uses two models. The first explains the performance by the events, and yields the $n$ most important ones, $e_1 \dots e_n$ (parameter `n_events`, 10 by default). Where cycles were counted, it explains the IPC of each interval, as in the papers. Otherwise it explains the time of each run. The second model explains the time by these events and all parameters together (GBRT paper, Eq. 9):
#
# $$\vec v = (e_1, e_2, \dots, e_n, p_1, p_2, \dots, p_m) \tag{9}$$
#
# In this model $\hat t$, the pairs of an event and a parameter are ranked. CounterMiner's measure is the *residual variance*. For each run $i$, the model predicts the time from the pair's values $x_i$ in this run, with all other inputs at their means. One plane is fitted to the predictions of all runs. The *intensity* of the pair is the sum of squared residuals from this plane:
#
# $$v = \sum_{i} \big(\hat t(x_i) - a - b^\top x_i\big)^2 \tag{12}$$
#
# [Notebook 04](04_interactions.ipynb) explains this reading of the paper's Eq. 12. It also shows that this measure mistakes the curve of a single input for an interaction, and that Friedman's H does not. H is computed from partial dependences. For $F_{ep}$ of run $i$, take all runs, replace the values of the event $e$ and the parameter $p$ by those of run $i$, and average the predictions. If only $e$ or only $p$ is replaced, the averages are $F_e$ and $F_p$. Each of the three is centered: its mean over all $i$ is subtracted. Then
#
# $$v^{H} = \sum_i (F_{ep} - F_e - F_p)^2.$$
#
# The importance of a pair is its intensity in percent of the sum over all pairs (Eq. 13). We use LightGBM with 100 trees of at most 4 leaves, at least 2 runs per leaf, and each tree grown on a random 80 % of the runs.


# %%
def fit(X, y):
    return regressor(boosting=tuning.FEW_ROWS, seed=seed).fit(X, y)


def method_B(runs):
    return influence(fit(runs.parameters, runs.seconds))


def method_A(runs, intensity):
    e = influence(fit(runs.examples, runs.performance)).index[:n_events]
    v = pd.concat([runs.rates[e], runs.parameters], axis=1)[sorted([*e, *runs.parameters])]  # Eq. 9
    t = fit(v, runs.seconds)
    pairs = product(e, runs.parameters)
    intensities = pd.Series({pair: intensity(t, v, *pair) for pair in pairs})
    return 100 * intensities / intensities.sum()  # Eq. 13


def residual_variance(t, v, e, p):  # Eq. 12
    at_means = v.assign(**v.drop(columns=[e, p]).mean())
    predicted, x = t.predict(at_means), (v[[e, p]] - v[[e, p]].mean()) / v[[e, p]].std()
    plane = np.column_stack([np.ones(len(x)), x])
    a_b = np.linalg.lstsq(plane, predicted, rcond=None)[0]
    return ((predicted - plane @ a_b) ** 2).sum()


def F(t, v, *held):
    means = [t.predict(v.assign(**row)).mean() for row in v[list(held)].to_dict("records")]
    return np.array(means) - np.mean(means)


def H(t, v, e, p):
    return ((F(t, v, e, p) - F(t, v, e) - F(t, v, p)) ** 2).sum()


# %% [markdown]
# ### A worked example
#
# A made-up program has two parameters $c$ and $d$ and one event $e$, all of them 0 or 1. Its eight possible runs take
#
# $$t = 10 + 6c + de.$$
#
# Changing $c$ alone makes the program 6 s slower, changing $d$ at most 1 s. So $c$ is the right parameter, and method B names it. But its effect does not depend on the event, so $c$ and $e$ do not interact. In the pair of $d$ and $e$, the interaction is $F_{ed} - F_e - F_d = (d - \frac12)(e - \frac12) = \pm\frac14$, and the sum of its squares over the eight runs is 0.5. This is the only interaction, so method A names $d$. Interaction and effect are different things.


# %%
class Example:
    def predict(self, v):
        return (10 + 6 * v["c"] + v["d"] * v["e"]).to_numpy()


t, v = Example(), pd.DataFrame(list(product((0, 1), repeat=3)), columns=["c", "d", "e"])
direct = influence(fit(v[["c", "d"]], pd.Series(t.predict(v))))
worked = pd.DataFrame({
    p: {"method B [%]": direct[p], "interaction with e, H [s²]": H(t, v, "e", p),
        "interaction with e, residual variance [s²]": residual_variance(t, v, "e", p)}
    for p in ("c", "d")}).T
results.table(worked.rename_axis("parameter"), "example", "**Table.** The worked example: method B "
              "names c, and method A names d.", decimals=1, data=())

# %% [markdown]
# The library (cmlib) has faster versions of the functions above. The next cell checks on the first program that both give the same importances; it prints nothing if they do.

# %%
by_cell = method_A(runs, residual_variance)
by_library = tuning.rank_through_events(runs, n_events=n_events, measure="residual_variance",
                                        seed=seed).set_index(["event", "parameter"])["importance"]
np.testing.assert_allclose(by_library.loc[by_cell.index], by_cell, rtol=1e-6)
np.testing.assert_allclose(tuning.rank_directly(runs, seed=seed), method_B(runs))

# %% [markdown]
# ## Method B: the parameters directly
#
# The model is fitted to `n_seeds` resampled sets of runs (20 by default). A resampled set has as many runs as the original, drawn with replacement.


# %%
def rank_correlation(runs, **options):
    """Absolute rank correlation of each parameter with the time."""
    columns = runs.parameters.assign(seconds=runs.seconds)
    return columns.corr(method="spearman")["seconds"].drop("seconds").abs().fillna(0)


def rank_by_pairs(measure):
    """Return method A: each parameter by its strongest pair with an event."""
    def rank(runs, seed):
        pairs = tuning.rank_through_events(runs, n_events=n_events, measure=measure, seed=seed)
        return pairs.groupby("parameter")["importance"].max()
    return rank


WAYS = {"rank correlation, no model": rank_correlation, "method B": tuning.rank_directly,
        "method A, Friedman's H": rank_by_pairs("h_statistic"),
        "method A, residual variance": rank_by_pairs("residual_variance")}


def rank_resampled(name, number):
    """Rank the parameters of a program in one resampled set of runs, in each way."""
    runs = tuned[name].runs.resample([seed, number])
    return pd.DataFrame({way: rank(runs, seed=number) for way, rank in WAYS.items()})


jobs = list(product(programs, range(n_seeds)))
resampled = dict(zip(jobs, parallel_map(lambda job: rank_resampled(*job), jobs, workers),
                     strict=True))
resampled = pd.concat(resampled, names=["program", "set", "parameter"])

# %%
COLORS = {"right parameter": BLUE, "changed alone, smaller effect": LIGHT_BLUE,
          "never changed alone": GRAY}


def kinds_of(program, parameters):
    """Say of each parameter how it changes the program's time when changed alone."""
    was_changed = parameters.isin(levels.loc[levels["program"] == program, "parameter"])
    right_one, smaller, never = COLORS
    kinds = np.where(was_changed, smaller, never)
    return np.where(parameters == right[program], right_one, kinds)


bars = {}
for name in programs:
    draws = resampled.loc[name, "method B"].unstack("parameter")
    bars[name] = stability.importance_spread(draws).rename_axis("parameter").reset_index()
    bars[name]["kind"] = kinds_of(name, bars[name]["parameter"])
    bars[name]["label"] = bars[name]["parameter"].map(FULL_NAMES)
figure, _ = plot.ranking(dict(list(bars.items())[:4]), value="mean", low="low", high="high",
                         label="label", hue="kind", xlabel="importance for the time [%]",
                         columns=2, colors=COLORS)
results.figure(figure, "parameters", "**Figure.** Method B: importance of each parameter in models "
               "of the execution time. Mean of the resampled sets and the range of 90 % of them. "
               "The first bar of a program should be dark blue.")

# %% [markdown]
# **Explore.** Would fewer runs have been enough? In JupyterLab, the figure below has controls, and a table of the first five parameters. Reduce *runs*, and see whether the first parameter changes.


# %%
def draw_first_runs(program, n_runs, parameter):
    """Draw the times of the first runs by a parameter, and rank the parameters by these runs."""
    runs = tuned[program].runs.take(range(n_runs))
    frame = pd.DataFrame({"value": runs.parameters[parameter], "seconds": runs.seconds})
    figure, (ax,) = plot.points({f"{program}: the first {n_runs} runs": frame}, x="value",
                                y="seconds", xlabel=TABLE_IV[parameter].name,
                                ylabel="execution time [s]", size=20)
    ax.set_xscale("log", base=2)
    ax.set_ylim(0, None)
    ranked = pd.DataFrame({"importance, method B [%]": tuning.rank_directly(runs, seed=seed),
                           "rank correlation (absolute)": rank_correlation(runs)})
    ranked = ranked.sort_values("importance, method B [%]", ascending=False).head(5)
    return figure, ranked.rename(FULL_NAMES).to_html(float_format="{:.2f}".format)


most = min(len(own.runs) for own in tuned.values())
names = [(FULL_NAMES[abbr], abbr) for abbr in runs.parameters]
panel = explore.Panel(draw_first_runs, {
    "program": explore.dropdown("program", programs),
    "n_runs": explore.slider("runs", min(10, most), most, value=most),
    "parameter": explore.dropdown("parameter", names, bars[programs[0]]["parameter"][0])})
notebook.widget(panel, "explore", "**Figure.** The first program: the execution time of each run "
                "by the parameter that method B names.")

# %% [markdown]
# ## Method A: through events
#
# In the paper, each program has one or two pairs that interact much more strongly than all others, and these differ between programs. Their parameters should be tuned first.

# %%
pairs = {}
for name, measure in product(programs, ("h_statistic", "residual_variance")):
    pairs[name, measure] = tuning.rank_through_events(
        tuned[name].runs, n_events=n_events, measure=measure, seed=seed)
bars = {}
for name in programs[:4]:
    frame = pairs[name, "h_statistic"].head(10)
    event = frame["event"].str.rpartition(":")[2].str.removeprefix("sys_enter_")
    kind = kinds_of(name, frame["parameter"])
    bars[name] = frame.assign(pair=event + " × " + frame["parameter"].map(FULL_NAMES), kind=kind)
figure, _ = plot.ranking(bars, value="importance", label="pair", hue="kind", columns=1,
                         xlabel="importance of the pair [%]", colors=COLORS)
results.figure(figure, "fig13", "**CounterMiner, Fig. 13, by Friedman's H.** Method A: the ten "
               "strongest pairs of an event and a parameter. Method A names the parameter of the "
               "first bar. It is right if this bar is dark blue. Gray: the parameter was never "
               "changed alone, so its effect is not known; the table at the end counts it as not "
               "right. That table also shows how often resampled runs agree. System calls are "
               "shown without the prefix of their tracepoint.")

# %%
both = {}
for name in programs:
    by_h, by_plane = (pairs[name, measure].set_index(["event", "parameter"])["importance"]
                      for measure in ("h_statistic", "residual_variance"))
    both[name] = pd.DataFrame({"H [%]": by_h, "residual variance [%]": by_plane})
    both[name]["place by H"] = by_h.rank(ascending=False, method="first").astype(int)
    both[name]["place by residual variance"] = by_plane.rank(
        ascending=False, method="first").astype(int)
    both[name] = both[name].sort_values("place by H")
both = pd.concat(both, names=["program"]).rename(FULL_NAMES, level="parameter")
place = both.groupby("program").cumcount()
both = pd.concat([both[place < 3], both[place >= 3]])
results.table(both, "pairs", "**Table.** The three strongest pairs of each program by H, and their "
              "importance by both measures. If the time depends on one event "
              "in a nonlinear way, all pairs with this event have about the same residual "
              "variance, and the order of their parameters is arbitrary.",
              rows=3 * len(programs), decimals=1)

# %% [markdown]
# ## Who names the right parameter?
#
# The table compares the methods with two baselines. The *rank correlation* of a parameter with the time (Spearman, absolute value) needs no model. *Random choice* takes one of all parameters. Each method is applied to the runs with random settings: first to all of them, and then to each resampled set.

# %%
named = []
for name, (way, rank) in product(programs, WAYS.items()):
    first = rank(tuned[name].runs, seed=seed).idxmax()
    choices = resampled.loc[name, way].unstack("parameter").idxmax(axis=1)
    named.append({"program": name, "method": way, "names": FULL_NAMES[first],
                  "right": first == right[name],
                  "right, resampled [%]": 100 * (choices == right[name]).mean()})
named = pd.DataFrame(named)
named = named[named["program"].isin(right.dropna().index)]  # the right parameter is known
chance = pd.DataFrame({"program": right.dropna().index, "method": "random choice", "names": "",
                       "right, resampled [%]": 100 / len(TABLE_IV)})
shown = named.assign(right=named["right"].map({True: "yes", False: "no"}))
shown = pd.concat([shown, chance]).fillna({"right": ""}).sort_values("program", kind="stable")
results.table(shown.reset_index(drop=True), "named", "**Table.** The parameter that each method "
              "names, and whether it is the right one. Last column: share of the resampled sets in "
              "which it names the right one. A program whose right parameter is not known is left "
              "out.", decimals=0)

# %% [markdown]
# ## Result
#
# The paper's numbers are for HiBench's sort on a cluster of four servers. The paper does not say which values it compares, or how it defines the variation.

# %%
for row in varied.itertuples():
    date = sessions.loc[row.session, "session"][:10]
    results.number(f"variation of the time of {row.program} by {FULL_NAMES[row.parameter]}, {date}",
                   row.variation, "%",
                   paper=None if np.isnan(row.paper) else row.paper,
                   note=f"by chance {row.by_chance:.1f} %")
n_known = named["program"].nunique()
for way, rows in named.groupby("method", sort=False):
    results.number(f"programs whose right parameter is named, {way}", int(rows["right"].sum()),
                   f"of {n_known}")
for row in named.itertuples():
    results.number(f"resampled sets that name the right parameter of {row.program}, {row.method}",
                   row[5], "%")
results.numbers()

# %% [markdown]
# ## Limitations
#
# * The project recorded only two programs, and changed only a few parameters alone. A parameter that was never changed alone could have a larger effect.
# * The project's session of 2026-11-29, with the paper's two parameters, was not recorded on an idle machine: other programs ran at a lower priority. The order of its runs is random in each pass. It ran on another machine than the runs with random settings.
# * In that session, `broadcast.blockSize` could not act on sort. By Spark's log, sort broadcasts four values of 3.5 to 49 KiB, about 100 KiB in all. The smallest block size of Table IV, 64 KiB, leaves each of them in one block. The paper does not say which block sizes it tried, or how much its sort broadcasts.
# * The project's machines have two processors, and its programs last 10 to 33 s. The start of Spark is part of every run. On a cluster, other parameters may matter.
# * Software events count what the kernel does: system calls, page faults, packets. They show nothing about the processor itself. The paper's method A ranks hardware events by a model of IPC, with one row per interval. Here it has one row per run, and so lacks its main advantage.
# * Parameters are drawn independently, so rank correlation works well. It misses a parameter whose best value lies in the middle of its range.
# * Importance in a model is not a cause. Another notebook ([causes](studies/causes.ipynb)) makes important events more frequent, and measures whether the time changes.
#
# ## Your own program
#
# The notebook needs runs of a Spark program with different settings. For any other recording, such as an imported file of `perf stat -I`, it ends with a message. Record another of the Spark programs that come with cmlib, then run the notebook:
#
# ```sh
# .venv/bin/cmlib record-tuning --program kmeans
# .venv/bin/papermill notebooks/08_tuning.ipynb out.ipynb -p program kmeans
# ```
#
# The command makes 60 runs with random settings (10 to 30 minutes for the programs here), and then changes single parameters. A Spark job of your own must first become such a program; [how to add a program](../docs/add-a-program.md) explains how. The first parameter to change is `n_events` (10 by default), the number of events that method A pairs with the parameters.
#
# ## References
#
# * Lv, Sun, Luo, Wang, Yu, Qian: *CounterMiner*, MICRO 2018, §V-D.
# * Lv, Sun, Yu: *Mining CPU performance data based on gradient boosting regression tree*, 2018 (in Chinese), §4.3. This is the GBRT paper.
# * Friedman: *Greedy function approximation: a gradient boosting machine*, Annals of Statistics, 2001.
# * Friedman, Popescu: *Predictive learning via rule ensembles*, Annals of Applied Statistics, 2008.

# %%
results.save()
