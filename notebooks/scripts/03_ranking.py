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
# # Ranking: which events explain IPC
#
# **Question.** Which few events explain a program's instructions per cycle (IPC), and how stable is their ranking?
#
# CounterMiner (Lv et al., MICRO 2018, §III-C) answers this with *event importance refinement*. It fits a gradient-boosted model of IPC on all events, ranks the events by importance, drops the ten least important ones, and refits until few are left. The model with the smallest error provides the ranking.
#
# This notebook runs the algorithm as the paper does (CounterMiner, Fig. 4, 8, 9 and 10; GBRT paper, Fig. 4 and 5). It then repeats it with three changes: without events that are IPC under another name, on parts of the program that the model has not seen, and with the ranking refitted many times.

# %% [markdown] tags=["answer"]
# > **Answer** (the four programs recorded for this project, default parameters). Tested as the papers test, the model errs by **2.1 %** at its best, the mean by **19.9 %**, and a straight line through one event by **5.0 %**. Of the five leading events of each program, **12** of 20 are IPC under another name. Without these events and on unseen parts of a program, the model errs by **4.2 %**, the mean by **20.3 %** and one event by **7.0 %**; for gcc, one event predicts about as well as the model. Dropping events does not lower the error. CounterMiner's law, that one to three events matter significantly more than the rest, holds in **0** of 4 programs: refitted models do not agree on these events.

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas
target: str = ""  # rate to explain: IPC (default), EVENT (per second) or EVENT per EVENT
method: str = "shrinkage"  # cleaning of multiplexed runs, see notebook 02
step: int = 10  # events dropped per iteration (at most a quarter of all)
test_share: float = 0.2  # random share of rows for the paper's test
n_seeds: int = 10  # refitted models behind each interval
top: int = 5  # events shown per program
seed: int = 0
settings: dict = {}  # jobs, executor, scheduler, database, interactive, profile, results_folder

# %%
from functools import partial

import numpy as np
import pandas as pd
from IPython.display import Markdown

from cmlib import experiments, explore, plot, rank
from cmlib.experiments.data import describe_data
from cmlib.io import events
from cmlib.parallel import parallel_map
from cmlib.rank import influence, regressor
from cmlib.report import paper
from cmlib.report.notebook import begin

# %%
limits = {"method": "cmlib.clean.DISTINCT_METHODS", "step": (1, 100), "test_share": (0.05, 0.5),
          "n_seeds": (2, 100), "top": (3, 30), "seed": (0, 1_000_000)}
notebook = begin("03_ranking", settings, program=program, target=target, method=method, step=step,
                 test_share=test_share, n_seeds=n_seeds, top=top, seed=seed)
results, url, workers = notebook.results, notebook.database, notebook.workers
paper_values = paper("counterminer")

# %% [markdown]
# ## Data
#
# A run counts only a few events at a time, so the runs of a program are joined by *progress*, the share of its instructions that have retired. Each row of the matrix is a step of progress, and each column is an event, in counts per cycle. Where one run counted all events, a row is an interval of time. The study [merging runs](studies/merging_runs.ipynb) compares this with the papers' way of stacking runs.

# %%
programs, aim = experiments.choose_target(url, program, target)
table = experiments.event_table(url)
results.mark(experiments.describe_source(url, programs))
display(Markdown(describe_data(url, programs)))
recorded = partial(experiments.recorded_matrix, url, target=aim, method=method, workers=workers)
matrices = {name: recorded(name) for name in programs}

# %% [markdown]
# Three kinds of data are left out of the ranking:
#
# * **Start and exit of the process.** These are the rows in the first and the last twentieth of a run that lie outside the range of the rest by more than half of this range (of logarithms), and the rows between them and the end of the run.
# * **IPC under another name.** Counted per cycle, a kind of instruction is IPC times the share of that kind. Such events are found by the description in the event table (kinds of retired instructions and of dispatched operations) or by the data (events at a constant rate per instruction). The papers rank them with the others. They are called *aliases* below.
# * **Clocks.** Events at a constant rate in time, such as timer interrupts, only measure how long a row took.
#
# A program is ranked only if the standard deviation of the rest is at least 2 % of its mean. Otherwise its speed does not vary, and there is nothing to explain.

# %%
data = pd.DataFrame({name: {"rows": len(m.X), "start": m.ends[0], "exit": m.ends[1],
                            "events": m.all_events.shape[1], "aliases": m.aliases.shape[1],
                            "mean": m.ipc.mean(), "deviation [%]": 100 * m.ipc.std() / m.ipc.mean()}
                     for name, m in matrices.items()}).T.rename_axis("program")
integers = dict.fromkeys(["rows", "start", "exit", "events", "aliases"], int)
results.table(data.astype(integers), "data", "**Table.** The matrices: rows, rows left out at the "
              "start and at the exit, events, how many of these are the target under another name, "
              f"then mean and standard deviation of {aim.name}.")

# %%
matrices = experiments.varying(matrices)
programs = list(matrices)
figure, _ = plot.series_by_program({name: {"": m.ipc} for name, m in matrices.items()},
                                   ylabel=aim.label, xlabel="progress, or time [s]")
results.figure(figure, "target", "**Figure.** What the models have to explain, over each run "
               "without start and exit. A flat curve leaves them little to do.")

# %% [markdown]
# ## The algorithm
#
# The model maps the events $e_1 \dots e_n$ to IPC, and its error is relative to the measured value:
#
# $$IPC = perf(e_1, e_2, \dots, e_n) \tag{9}$$
#
# $$err = \frac{|IPC_{meas} - IPC_{pred}|}{IPC_{meas}} \times 100\,\% \tag{14}$$
#
# As in the paper (§V-B), *perf* is a gradient-boosted regression tree. An event's importance is the reduction in squared error that its splits contribute, summed over the $M$ trees (Friedman 2001, Eq. 44 and 45):
#
# $$\hat I_j^2 = \frac{1}{M} \sum_{m=1}^{M} \hat I_j^2(T_m), \qquad \hat I_j^2(T) = \sum_{s \in T,\ v_s = e_j} \hat\imath^2_s$$
#
# Here *perf* is LightGBM's, with 100 trees of 8 leaves, a learning rate of 0.1, at least 5 rows per leaf, and each tree grown on a random half of the rows. The papers do not print their settings.

# %%
if not notebook.of_program:
    steps = {"Data collector": "OCOE or MLPX,\nevents in groups",
             "Data cleaner": "outliers,\nmissing values\n(notebook 02)",
             "Model": "IPC by all events\n(Eq. 9)",
             "Importance": "of each event",
             "Refinement": "drop the least\nimportant",
             "Interactions": "of pairs of the\nfirst events\n(notebook 04)"}
    until = "until few events are left; the most accurate model goes on"
    figure, _ = plot.flow(steps, returns=[("Refinement", "Model", until)], columns=6)
    display(results.figure(figure, "flow", "**CounterMiner, Fig. 4; GBRT paper, Fig. 4.** The "
                           "method. OCOE: one counter, one event. MLPX: events take turns on the "
                           "counters. The arrow back is the loop of the next cell."))


# %%
def refinement(e, IPC, train, test, err):
    """Yield (number of events, error [%], importances [%]) of each model."""
    names = sorted(e)
    n_dropped = min(step, max(1, len(names) // 4))
    while True:
        perf = regressor(seed=seed).fit(e[names].iloc[train], IPC.iloc[train])
        importances = influence(perf)  # descending, sums to 100
        yield len(names), err(IPC.iloc[test], perf.predict(e[names].iloc[test])), importances
        if len(names) <= n_dropped:
            return
        names = sorted(importances.index[:-n_dropped])


# %% [markdown]
# ## As the papers rank
#
# The papers take all events and test on a random fifth of the rows (CounterMiner, §V-B). The model has to beat two simple predictions of the same rows: the mean of the training rows, and a straight line through the one event that correlates best with IPC in the training rows.

# %%
paths, paper_errors, paper_models = {}, {}, {}
for name, m in matrices.items():
    e, IPC = m.all_events, m.ipc
    order = np.random.default_rng(seed).permutation(len(e))
    n_test = round(test_share * len(e))
    test, train = np.sort(order[:n_test]), np.sort(order[n_test:])
    models = list(refinement(e, IPC, train, test, m.error))
    path = pd.DataFrame([model[:2] for model in models], columns=["n_events", "error"])
    line = rank.predict_by_one_event(e.iloc[train], IPC.iloc[train], e.iloc[test])
    path["one_event"] = m.error(IPC.iloc[test], line)
    path["mean"] = m.error(IPC.iloc[test], IPC.iloc[train].mean())
    best = path["error"].idxmin()
    paths[name], paper_models[name] = path, models[best][2]
    paper_errors[name] = {"all events": path["error"].iloc[0], "lowest": path.at[best, "error"],
                          "events left": path.at[best, "n_events"],
                          "one event": path.at[best, "one_event"], "mean": path.at[best, "mean"]}
paper_errors = pd.DataFrame(paper_errors).T.rename_axis("program")

# %%
hibench = experiments.of_suites(programs, ["HiBench"])
figure, _ = plot.refinement(
    paths, lines={"error": "model, random fifth"},
    baselines={"mean": "mean", "one_event": "line through one event"},
    marked={name: int(row["events left"]) for name, row in paper_errors.iterrows()},
    paper=dict.fromkeys(hibench, paper_values["model_error_percent"]))
results.figure(figure, "fig08", "**CounterMiner, Fig. 8; GBRT paper, Fig. 5.** As the papers test: "
               "error on a random fifth of the rows while events are dropped. Crosses, for HiBench "
               "programs: the paper's mean of eight. Compare the model with the grey lines.")

# %%
results.table(paper_errors.astype({"events left": int}), "papers_errors",
              "**Table.** As the papers test: error [%] on a random fifth of the rows, with all "
              "events and at its lowest, and of two simple predictions of these rows.")

# %% [markdown]
# The ranking below is the papers'. Its bars show which of the leading events are IPC under another name.

# %%
paper_rankings = {}
for name, importances in paper_models.items():
    bars = importances.head(top).rename_axis("event").reset_index()
    is_alias = bars["event"].isin(matrices[name].aliases.columns)
    bars["kind"] = np.where(is_alias, f"{aim.name} under another name", "other events")
    paper_rankings[name] = bars
numbers = {"HiBench": "9", "CloudSuite 3.0": "10"}
figure, _ = plot.ranking(paper_rankings, value="importance", label="event", hue="kind", columns=1,
                         xlabel="importance [%]")
label = experiments.paper_figures(programs, numbers)
results.figure(figure, "fig09", f"**{label}.** As the papers rank: importance of the first events "
               "in the model with the lowest error on a random fifth, all events included. The "
               "color shows which events are left out below.")

# %% [markdown]
# ## Without IPC under another name, on unseen parts
#
# A random fifth is an easy test, because the training set contains the neighbors of every test row. The harder test holds out whole *blocks* of consecutive rows: twelve blocks in four folds. `rank.refine` is the library's version of the algorithm with this test. A nested cross-validation chooses the number of events without the blocks on which it is judged (*after refinement*).

# %%
refine = partial(experiments.refine, step=step, test_share=test_share, seed=seed)
refined = dict(zip(programs, parallel_map(refine, matrices.values(), workers=workers), strict=True))

# %%
errors = pd.DataFrame({name: {
    "all events": r.history["blocks_error"].iloc[0], "after refinement": r.unseen_error,
    "one event": r.baselines["blocks_one_event"], "mean": r.baselines["blocks_mean"],
    "one event / model": r.baselines["blocks_one_event"] / r.unseen_error,
    "events left": len(r.events), "the one event": r.one_event} for name, r in refined.items()}).T
columns = dict.fromkeys(errors.columns[:5], float) | {"events left": int}
errors = errors.astype(columns).rename_axis("program")
results.table(errors, "errors", "**Table.** Error [%] on unseen blocks: the model with all events, "
              "the refined model, a straight line through the best single event, and the mean. "
              "Where *one event / model* is below 1.5, this one event predicts about as well as "
              "the model, and the order of the other events means little.")

# %% [markdown]
# Where *after refinement* is not below *all events*, dropping events did not improve the model; it only made it cheaper to measure. Where it is not below *mean*, the model has learned nothing, and its ranking means nothing.

# %%
figure, _ = plot.refinement(
    {name: r.history for name, r in refined.items()},
    lines={"blocks_error": "unseen blocks", "error": "random fifth",
           "holdout_error": "another pass"},
    baselines={"blocks_mean_baseline": "mean, unseen blocks",
               "blocks_one_event_baseline": "line through one event, unseen blocks"},
    marked={name: len(r.events) for name, r in refined.items()})
results.figure(figure, "unseen", "**Figure.** Without aliases: error while events are dropped. The "
               "distance between the two colored lines is what a random fifth "
               "flatters. Compare the model with the grey lines.")

# %%
history = pd.concat({name: r.history for name, r in refined.items()}, names=["program"])
columns = ["program", "n_events", "blocks_error", "error", "blocks_mean_baseline",
           "mean_baseline", "holdout_error"]
history = history.reset_index("program")[columns].dropna(axis=1, how="all")
results.table(history, "refinement", "**Table.** The lines of the figure [%]: *blocks* are unseen "
              "blocks, the others a random fifth.", rows=2)

# %% [markdown]
# ## Stability of the ranking
#
# The refined model is refitted on resampled blocks of rows with different seeds. An event that matters should stay among the first three.

# %%
draws = {name: rank.draw_importances(m.X[refined[name].events], m.ipc, seeds=range(n_seeds))
         for name, m in matrices.items()}
spreads = {name: rank.importance_spread(drawn) for name, drawn in draws.items()}
leading = {name: spread.head(top) for name, spread in spreads.items()}

# %%
bars = {name: frame.reset_index() for name, frame in leading.items()}
for frame in bars.values():
    frame["place"] = np.where(frame["first_three"] >= 95, "stays among the first three",
                              plot.UNDECIDED)
figure, axes = plot.ranking(bars, value="mean", low="low", high="high", label="event", hue="place",
                            columns=1, xlabel="importance [%]")
results.figure(figure, "ranking", "**Figure.** Our ranking, without aliases: importance of the "
               "first events, mean of the refitted models and the range of 90 % of them. Colored "
               "events are among the first three in 95 % of the models.")

# %% [markdown]
# **Explore.** In JupyterLab the panel compares the rankings of two programs at any number of events. Nothing is fitted again. Elsewhere its first setting is shown.

# %%
panel = explore.ranking(refined, draws)
notebook.widget(panel, "explore", "**Figure.** The panel's first setting.")

# %%
listed = pd.concat(leading, names=["program"]).reset_index()
abbreviations = [events.abbreviate(frame.index, table) for frame in leading.values()]
listed["abbr"] = np.concatenate(abbreviations)
listed["description"] = table["description"].reindex(listed["event"]).to_numpy()
columns = ["program", "event", "abbr", "description", "mean", "low", "high", "first_three"]
listed = listed[columns]
place = listed.groupby("program").cumcount()
listed = pd.concat([listed[place < 3], listed[place >= 3]])
results.table(listed, "importances", "**CounterMiner, Table III.** The three leading events of "
              "each program (all are in the file): short name, what they count, mean importance "
              "[%] with the range of 90 % of the models, and the share of models [%] that rank the "
              "event among the first three.", rows=int((place < 3).sum()), decimals=1)

# %% [markdown]
# CounterMiner states a law (§V-B): one to three events matter significantly more than the rest. The GBRT paper finds one or two. If the law held, refitted models would agree on these events, and one of the columns below would be close to 100. We apply the same test to the papers' ranking, with all events of its best model.

# %%
agreement = {}
for name, m in matrices.items():
    paper_draws = rank.draw_importances(m.all_events[list(paper_models[name].index)], m.ipc,
                                        seeds=range(n_seeds))
    for ranking, drawn in {"papers'": paper_draws, "without aliases": draws[name]}.items():
        agreement[name, ranking] = rank.leading_agreement(drawn).add_prefix("first ")
agreement = pd.DataFrame(agreement).T.rename_axis(["program", "ranking"])
results.table(agreement, "law", "**Table.** Share of refitted models [%] whose first event, first "
              "two and first three events are those of the mean.", decimals=0)

# %% [markdown]
# ## The formula that the paper prints
#
# CounterMiner's text describes Friedman's importance, but its Eq. 10 and 11 are another quantity:
#
# $$I_j^2(T) = nt \cdot \sum_{k=1}^{nt} P^2(k), \qquad P(k) = \frac{IPC_k - IPC_{k-1}}{IPC_{k-1}} \tag{10}$$
#
# $$I_j^2 = \frac{1}{R} \sum_{m=1}^{R} I_j^2(T_m) \tag{11}$$
#
# Here $nt$ is the number of splits on the event in a tree, $P(k)$ the relative change of the predicted IPC by split $k$, and $R$ the number of trees that use the event. An event used once counts as much as one used in every tree. All other notebooks use Friedman's importance.

# %%
formulas = {}
for name, m in matrices.items():
    printed = rank.draw_importances(m.X[refined[name].events], m.ipc, seeds=range(n_seeds),
                                    importance="printed").mean().nlargest(3)
    first = leading[name].index[:3]
    formulas[name] = {"Friedman": ", ".join(first), "Eq. 10 and 11": ", ".join(printed.index),
                      "in both": len(first.intersection(printed.index))}
formulas = pd.DataFrame(formulas).T.rename_axis("program")
results.table(formulas, "formula", "**Table.** The first three events by both formulas, in the "
              "same refitted models.")

# %% [markdown]
# ## Result
#
# The paper's numbers come from other programs, another processor and single intervals as rows, so only orders of magnitude compare. The paper says of all its programs that one to three events lead.

# %%
is_stable = [spread["first_three"].ge(95).any() for spread in spreads.values()]
law_holds = (agreement >= 95).any(axis=1).groupby("ranking").sum()
printed = paper_values["model_error_percent"] if hibench else {}
means, paper_means = errors.select_dtypes("number").mean(), paper_errors.mean()
of_paper = {"all events": printed.get(229), "lowest": printed.get(150)}
for column in ("all events", "lowest", "one event", "mean"):
    results.number(f"error on a random fifth, as the papers test: {column}", paper_means[column],
                   "%", paper=of_paper.get(column))
results.number("events left at the lowest of these errors", paper_means["events left"], "events",
               paper=150 if hibench else None)
for column in ("all events", "after refinement", "one event", "mean"):
    results.number(f"error on unseen blocks, without aliases: {column}", means[column], "%")
n_aliases = {name: (bars["kind"] != "other events").sum() for name, bars in paper_rankings.items()}
results.number("leading events of the papers' ranking that are aliases",
               int(sum(n_aliases.values())), f"of {sum(map(len, paper_rankings.values()))}")
results.number("programs where one event errs at most 1.5 times as much",
               int((errors["one event / model"] <= rank.NEAR).sum()), f"of {len(errors)}")
results.number("programs with an event that stays among the first three", int(sum(is_stable)),
               f"of {len(is_stable)}")
for ranking, n in law_holds.items():
    results.number(f"programs where one to three events lead ({ranking})", int(n),
                   f"of {len(programs)}")
results.numbers()

# %%
for name in programs:  # for the page of a program
    if bars := experiments.describe_ranking(refined[name], spreads[name], aim.name):
        results.overview_bars(name, *bars)

# %% [markdown]
# ## Limitations
#
# * Importance in a model is not a cause; the study [causes](studies/causes.ipynb) intervenes.
# * Cycles without retirement stay in the ranking, although they are largely what IPC lacks. The single event in the table of errors often is one of them.
# * All events were counted in one pass of runs, so the test rows come from the same pass. The study [another pass](studies/another_pass.ipynb) tests on another one.
# * That errors are lower than the paper's says nothing about the method: programs, rows and the random split differ.
#
# ## Your own program
#
# ```sh
# cmlib record myapp -- ./myapp                        # or: cmlib import myapp FILE
# papermill notebooks/03_ranking.ipynb out.ipynb -p program myapp
# ```
#
# It takes instructions, cycles and 20 intervals. With fewer than about 40 events the refinement has only a few steps; look at the table of errors first. Change `method` next: `counterminer` cleans the runs as the paper does.
#
# ## References
#
# * Lv, Sun, Luo, Wang, Yu, Qian: *CounterMiner*, MICRO 2018, §III-C and §V-B.
# * Lv, Sun, Yu: *Mining CPU performance data based on gradient boosting regression tree*, 2018 (in Chinese), §3 and §4.
# * Friedman: *Greedy function approximation: a gradient boosting machine*, Annals of Statistics, 2001.

# %%
results.save()
