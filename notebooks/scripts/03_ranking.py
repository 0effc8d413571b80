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
# Two papers by the same group answer this with *event importance refinement*: CounterMiner (Lv et al., MICRO 2018, §III-C) and its forerunner, called the *GBRT paper* here (Lv, Sun and Yu, 2018). They fit a gradient-boosted model of IPC on all events, rank the events by their importance in the model, drop the ten least important ones, and refit until few are left. The model with the smallest error provides the ranking.
#
# This notebook first runs the algorithm as the papers do (CounterMiner, Fig. 4, 8 and 9; GBRT paper, Fig. 4 and 5). Then it changes three things. It leaves out events that are IPC under another name. It tests on parts of the program that the model has not seen. It refits the model many times, to see whether the ranking stays the same (CounterMiner, Table III).

# %% [markdown] tags=["answer"]
# > **Answer** (the four programs recorded for this project, default parameters). The ranking is not stable: no small set of events is always the most important one. We refitted the model of each program on other samples of its rows. In **0** of 4 programs the refitted models agree on the first event, on the first two, or on the first three. (They agree if at least 95 % of them have the same set.) Single events do better. In bzip2, `ex_no_retire.empty` (cycles in which the retire queue was empty) is among the first three in nearly all refitted models, and so is `wcb_close.full_line_64b` (cache lines that were written completely) in gcc. The latter is also about three times as important as the next event. With the papers' method, **12** of the 20 leading events of these programs are IPC under another name. Without such events, a model of the others still predicts IPC: on unseen parts of a program its error is **4.2 %**. The error is **7.0 %** for a straight line through one event, and **20.3 %** for the mean. Dropping the less important events hardly changes the error of the model (**4.2 %** before and after).

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas
target: str = ""  # rate to explain, such as "branches per cycles"; empty: IPC
method: str = "shrinkage"  # cleaning of multiplexed runs, see notebook 02
step: int = 10  # events dropped per iteration (at most a quarter of all)
test_share: float = 0.2  # random share of rows for the papers' test
n_seeds: int = 40  # refitted models behind each interval and each share of models
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
from cmlib.io import events, store
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
BLUE, LIGHT_BLUE, GRAY, ORANGE, BLACK = "#0173b2", "#9dc6e0", "#9aa0a6", "#de8f05", "#222222"
AGREED = 95  # refitted models agree if at least this share of them does [%]

# %% [markdown]
# Colors in the figures: gray stands for a test on random rows, as in the papers, and for their ranking. Blue stands for tests on unseen parts of the program and for our ranking. Orange marks events that are IPC under another name. Black lines are measured values and simple predictions.
#
# The parameter `target` selects another rate than IPC. If cycles or instructions were not counted, the notebook selects one. Then read this rate wherever the text says IPC. Errors are then in percent of the mean rate, because a rate may be 0.
#
# ## Data
#
# A run counts only a few events at a time, so a program is run many times with different events. The runs that together count every event once are a *pass*. This notebook uses only the first pass (of this project's recordings, 23 of the 29 runs of a program), and merges its runs into one matrix. The runs are joined by *progress*, the share of the program's instructions that have retired. Each row of the matrix is a step of progress, and each column is an event, in counts per cycle. The IPC of a row is the mean of all merged runs at this step. (A recording of your own may be a single run that counted all events. Then the rows are its time intervals.) The study [merging runs](studies/merging_runs.ipynb) compares this with the papers' way, which puts the rows of all runs below each other.

# %%
programs, explained = experiments.choose_target(url, program, target)
table = experiments.event_table(url)
display(Markdown(describe_data(url, programs)))
cleaned = partial(experiments.recorded_runs, url, target=explained, method=method, workers=workers)
cleaned_runs = {name: cleaned(name) for name in programs}
matrices = {name: experiments.matrix(runs, target=explained, table=table)
            for name, runs in cleaned_runs.items()}


# %%
def describe_runs(name, runs):
    """Runs of the first pass, their intervals [s], and how long an event had a counter [%]."""
    first = runs[runs["pass"] == runs["pass"].min()]
    run_ids = store.runs(url, program=name).loc[first.index, "run_id"]
    shares = pd.concat([store.load(url, run_id).running.mean() for run_id in run_ids])
    shares = shares[shares.index.isin(matrices[name].all_events.columns)]
    return {"merged runs": len(first), "interval [s]": first["seconds"].iloc[0].median(),
            "counted [%]": 100 * shares.median()}


described = pd.DataFrame({name: describe_runs(name, runs) | {
    "rows": len(matrices[name].X), "left out": sum(matrices[name].ends),
    "mean": matrices[name].ipc.mean(),
    "deviation [%]": 100 * matrices[name].ipc.std() / matrices[name].ipc.mean()}
    for name, runs in cleaned_runs.items()}).T.rename_axis("program")
integers = dict.fromkeys(["merged runs", "rows", "left out"], int)
results.table(described.astype(integers), "data", "**Table.** The matrices. *Counted* is the share "
              "of the run time in which an event had a counter (median of the events). Below 100 "
              "%, the events of a run took turns on the counters; such counts are cleaned first "
              "(parameter `method`, notebook 02). *Left out* are the rows of start and exit; 0 "
              "means that the rule below found none. "
              f"The last columns are mean and standard deviation of {explained.name}.")

# %% [markdown]
# The ranking leaves out five things:
#
# * **Start and exit.** Rows at the very beginning or end of a run, if their IPC is far outside the range of all other rows.
# * **IPC under another name (aliases).** An event is an alias if it only counts how much work was done, or only counts cycles without any work. For example, branches per cycle are IPC times the share of branches among the instructions. An event that counts cycles without work for one particular reason is no alias. The table below counts the events by rule. Most rules follow from an event's name and description. The rule *constant rate per instruction* is measured instead.
# * **Duplicates.** An event with the same counts as another event, up to a constant factor. For example, page faults and minor faults are equal in a program that reads no file from disk. A model can use either of them, so their importances would be arbitrary. The first of them stays. Duplicates are left out of the papers' ranking, too.
# * **Clocks.** Events at a constant rate in time, such as timer interrupts, only measure how long a row took.
# * **Programs of constant speed.** The standard deviation of IPC must be at least 2 % of its mean; otherwise there is nothing to explain.
#
# Cycles without retirement for *one* reason stay, for example `ex_no_retire.empty` (the retire queue was empty). They are lost work as well, but the reason is what a ranking should find. Because this is a choice, the last test of stability repeats the ranking without any stall cycles.

# %%
rules = pd.DataFrame({name: m.alias_rules.value_counts() for name, m in matrices.items()})
rules = rules.sort_values(list(rules)[:1], ascending=False).fillna(0)
rules.loc["same counts as another event"] = {name: len(m.duplicates)
                                             for name, m in matrices.items()}
rules.loc["ranked"] = {name: m.X.shape[1] for name, m in matrices.items()}
rules.loc["all events"] = rules.sum()
closeness = pd.concat([m.aliases.corrwith(m.ipc).abs() for m in matrices.values()])
alias_rules = pd.concat([m.alias_rules for m in matrices.values()])
found = pd.DataFrame({"event": closeness.index, "rule": alias_rules.to_numpy(),
                      "correlation": closeness.to_numpy()})
closest = found.sort_values("correlation", ascending=False).drop_duplicates("rule")
rules.insert(0, "example", closest.set_index("rule")["event"].reindex(rules.index))
rules[programs] = rules[programs].astype(int)
rules["example"] = rules["example"].astype(object).fillna("")
display(results.table(rules.rename_axis("rule"), "aliases", "**Table.** How many events are left "
                      "out, by rule, and how many remain to be ranked. The rules with an example "
                      f"are for {explained.name} under another name. The example is the event "
                      f"that correlates best with {explained.name}. Clocks and events that were "
                      "never counted are not in the table."))
duplicates = pd.concat({name: m.duplicates for name, m in matrices.items()},
                       names=["programs", "event"]).reset_index()
duplicates = duplicates.groupby(["event", "same as"])["programs"].agg(", ".join).reset_index()
results.table(duplicates, "duplicates", "**Table.** The events with the same counts as another "
              "event (*same as*), which stays. The table has no rows if all events differ.")

# %%
matrices = experiments.varying(matrices)
programs = list(matrices)
figure, axes = plot.series_by_program({name: {"": m.ipc} for name, m in matrices.items()},
                                      ylabel=explained.label, colors={"": BLACK})
labels = {"time_s": "time [s]", "progress": "progress [share of instructions]"}
for ax, m in zip(axes, matrices.values(), strict=True):
    ax.set_xlabel(labels.get(m.ipc.index.name, m.ipc.index.name or "row"))
results.figure(figure, "target", "**Figure.** What the models have to explain, without the rows "
               "that the table above lists as left out. A flat curve would leave little to "
               "explain.")

# %% [markdown]
# ## The algorithm
#
# The model maps the events $e_1 \dots e_n$ to IPC, and its error is relative to the measured value. The paper calls this function *perf*; we write $f$, because perf is also the tool that counts:
#
# $$IPC = f(e_1, e_2, \dots, e_n) \tag{9}$$
#
# $$err = \frac{|IPC_{meas} - IPC_{pred}|}{IPC_{meas}} \times 100\,\% \tag{14}$$
#
# As in the paper (§V-B), $f$ is a gradient-boosted regression tree. In this model, each split of a tree reduces the squared error by some amount $\hat\imath^2_s$. The importance of an event is the sum of these amounts over the splits $s$ that use it, averaged over the $M$ trees (Friedman 2001, Eq. 44 and 45). Friedman calls this sum $\hat I_j^2$:
#
# $$\hat I_j^2 = \frac{1}{M} \sum_{m=1}^{M} \hat I_j^2(T_m), \qquad \hat I_j^2(T) = \sum_{s \in T,\ v_s = e_j} \hat\imath^2_s$$
#
# Importances below are $\hat I_j^2$ in percent of the sum over all events. Our trees are LightGBM's: 100 trees of 8 leaves, a learning rate of 0.1, at least 5 rows per leaf, and each tree grown on a random half of the rows. The papers do not print their settings.

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
        f = regressor(seed=seed).fit(e[names].iloc[train], IPC.iloc[train])
        importances = influence(f)  # descending, sums to 100
        yield len(names), err(IPC.iloc[test], f.predict(e[names].iloc[test])), importances
        if len(names) <= n_dropped:
            return
        names = sorted(importances.index[:-n_dropped])


# %% [markdown]
# The papers choose the model with the lowest error on the test rows, and report this error. So it is the smallest of many errors on the same rows, and lower than the error on new rows would be.
#
# ## As the papers rank
#
# The papers take all events and test on a random fifth of the rows (CounterMiner, §V-B). The model has to beat two simple predictions of the same rows: the mean of the training rows, and a straight line through the one event that correlates best with IPC in the training rows. The error depends on which rows are drawn. Therefore the model with all events is also fitted with other random fifths.

# %%
def split(n_rows, seed):
    """Row numbers for training and test."""
    order = np.random.default_rng(seed).permutation(n_rows)
    n_test = round(test_share * n_rows)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def error_of_split(m, seed):
    """Error [%] of the model with all events on the random fifth of this seed."""
    train, test = split(len(m.X), seed)
    e = m.all_events[sorted(m.all_events)]
    f = regressor(seed=seed).fit(e.iloc[train], m.ipc.iloc[train])
    return m.error(m.ipc.iloc[test], f.predict(e.iloc[test]))


paths, paper_errors, paper_models = {}, {}, {}
for name, m in matrices.items():
    e, IPC = m.all_events, m.ipc
    train, test = split(len(e), seed)
    models = list(refinement(e, IPC, train, test, m.error))
    path = pd.DataFrame([model[:2] for model in models], columns=["n_events", "error"])
    line = rank.predict_by_one_event(e.iloc[train], IPC.iloc[train], e.iloc[test])
    path["one_event"] = m.error(IPC.iloc[test], line)
    path["mean"] = m.error(IPC.iloc[test], IPC.iloc[train].mean())
    best = path["error"].idxmin()
    paths[name], paper_models[name] = path, models[best][2]
    other_splits = [error_of_split(m, seed + 1 + number) for number in range(n_seeds)]
    low, high = np.quantile(other_splits, [0.05, 0.95])
    paper_errors[name] = {"test rows": len(test), "all events": path["error"].iloc[0],
                          "from": low, "to": high, "lowest": path.at[best, "error"],
                          "events left": path.at[best, "n_events"],
                          "one event": path.at[best, "one_event"], "mean": path.at[best, "mean"]}
paper_errors = pd.DataFrame(paper_errors).T.rename_axis("program")
YES_NO = {True: "yes", False: "no"}

# %%
hibench = experiments.of_suites(programs, ["HiBench"])
figure, _ = plot.refinement(
    paths, lines={"error": "model, random fifth"},
    baselines={"mean": "mean", "one_event": "line through one event"},
    marked={name: int(row["events left"]) for name, row in paper_errors.iterrows()},
    paper=dict.fromkeys(hibench, paper_values["model_error_percent"]),
    colors={"error": GRAY, "mean": BLACK, "one_event": BLACK})
results.figure(figure, "fig08", "**CounterMiner, Fig. 8; GBRT paper, Fig. 5.** As the papers test: "
               "error on a random fifth of the rows while events are dropped. Compare the "
               "gray line with the two black ones. Where it is flat, events can be dropped without "
               "a larger error. Crosses: the papers' mean errors of eight HiBench programs, "
               "repeated for each HiBench program here. They were not measured on these programs.")

# %%
beats_mean = (paper_errors["lowest"] < paper_errors["mean"]).map(YES_NO)
shown = paper_errors[["all events", "from", "to", "lowest", "one event", "mean"]]
shown = shown.assign(**{"better than the mean": beats_mean})
results.table(shown, "papers_errors", "**Table.** As the papers test: error [%] on a random fifth "
              "of the rows. *From* and *to* enclose 90 % of the errors with all events on "
              f"{n_seeds} other random fifths. *Lowest* is the smallest error while events are "
              "dropped. *One event* and *mean* are the simple predictions. The last column says "
              "whether the lowest error is smaller than the error of the mean.")

# %% [markdown]
# The next figure shows the events that this method ranks first here, and which of them are aliases.

# %%
paper_rankings = {}
for name, importances in paper_models.items():
    bars = importances.head(top).rename_axis("event").reset_index()
    is_alias = bars["event"].isin(matrices[name].aliases.columns)
    bars["kind"] = np.where(is_alias, f"{explained.name} under another name", "other events")
    paper_rankings[name] = bars
numbers = {"HiBench": "9", "CloudSuite 3.0": "10"}
figure, _ = plot.ranking(paper_rankings, value="importance", label="event", hue="kind", columns=1,
                         xlabel="importance [%]", colors={
                             f"{explained.name} under another name": ORANGE, "other events": GRAY})
label = experiments.paper_figures(programs, numbers)
results.figure(figure, "fig09", f"**{label}.** As the papers rank: importance of the first events "
               "in the model with the lowest error on a random fifth, all events included. Events "
               "in orange are left out below.")

# %% [markdown]
# ## Without aliases, on unseen parts
#
# A random fifth is an easy test, because most test rows have a neighbor in the training set. A harder test holds out *blocks*. The run is cut into twelve blocks of consecutive rows. There are four folds. In each, three of the blocks (every fourth one) are held out, and the model is fitted to the other nine. So each row is predicted once, by a model that saw nothing of its block.
#
# The number of events is chosen by cross-validation as well. The choice must not see the rows that it is tested on. Therefore each fold is tested with a number of events that was chosen with the other three folds only (nested cross-validation). `rank.refine` does both.

# %%
refine = partial(experiments.refine, step=step, test_share=test_share, seed=seed)
refined = dict(zip(programs, parallel_map(refine, matrices.values(), workers=workers), strict=True))

# %%
errors = pd.DataFrame({name: {
    "all events": r.history["blocks_error"].iloc[0], "after refinement": r.unseen_error,
    "best fold": r.nested["error"].min(), "worst fold": r.nested["error"].max(),
    "one event": r.baselines["blocks_one_event"], "mean": r.baselines["blocks_mean"]}
    for name, r in refined.items()}).T.rename_axis("program")
beats_mean = pd.Series({name: YES_NO[r.beats_mean] for name, r in refined.items()})
results.table(errors.assign(**{"better than the mean": beats_mean}), "errors",
              "**Table.** Error [%] on unseen blocks: the model with all events; the refined "
              "model, with its error in the best and the worst of the four folds; a straight line "
              "through the best single event; and the mean. The last column compares the refined "
              "model with the mean. If it says *no*, the model has learned nothing, and the rest "
              "of this notebook means nothing for this program.")

# %%
ratio = errors["one event"] / errors["after refinement"]
single = pd.DataFrame({"events left": {name: len(r.events) for name, r in refined.items()},
                       "the one event": {name: r.one_event for name, r in refined.items()},
                       "its error / the model's": ratio}).rename_axis("program")
results.table(single, "one_event", "**Table.** *Events left* is the number of events of the "
              "ranking below, chosen with all rows. (The error *after refinement* above is from "
              "the four folds, each with its own number.) *The one event* is the event behind the "
              "straight line. If the ratio is at most 1.5, this one event predicts about as well "
              "as the model, and the order of the other events means little.")

# %% [markdown]
# Compare the columns *all events* and *after refinement*: dropping events has improved the model only if the second is lower.

# %%
figure, _ = plot.refinement(
    {name: r.history for name, r in refined.items()},
    lines={"blocks_error": "model, unseen blocks", "error": "model, random fifth",
           "holdout_error": "model, second round of runs"},
    baselines={"blocks_mean_baseline": "mean, unseen blocks",
               "blocks_one_event_baseline": "line through one event, unseen blocks"},
    marked={name: len(r.events) for name, r in refined.items()},
    colors={"blocks_error": BLUE, "error": GRAY, "holdout_error": LIGHT_BLUE,
            "blocks_mean_baseline": BLACK, "blocks_one_event_baseline": BLACK})
results.figure(figure, "unseen", "**Figure.** Without aliases: error while events are dropped. The "
               "distance between the blue and the gray line shows how much easier a random fifth "
               "is. (The two black lines are also tests on unseen blocks; do not compare them with "
               "the gray line.) The lowest point "
               "of the blue line can lie below *after refinement* in the table, because it is the "
               "smallest of many errors on the same rows. The error in the table is not chosen in "
               "this way.")

# %%
history = pd.concat({name: r.history for name, r in refined.items()}, names=["program"])
columns = ["program", "n_events", "blocks_error", "error", "blocks_mean_baseline",
           "blocks_one_event_baseline", "mean_baseline", "holdout_error"]
history = history.reset_index("program")[columns].dropna(axis=1, how="all")
results.table(history, "refinement", "**Table.** The lines of the figure [%], first rows. Columns "
              "with *blocks* are errors on unseen blocks, the others on a random fifth.", rows=3)

# %% [markdown]
# ## Stability of the ranking
#
# An event that matters should lead whenever the model is fitted again. The refined model is fitted repeatedly (parameter `n_seeds`), each time with another seed and on another sample: blocks of rows drawn with replacement. An event keeps its place among the first three if it is there in at least 95 % of these models, or 38 of the default 40.

# %%
draw = partial(rank.draw_importances, seeds=range(n_seeds))
draws = {name: draw(m.X[refined[name].events], m.ipc) for name, m in matrices.items()}
spreads = {name: rank.importance_spread(drawn) for name, drawn in draws.items()}

# %%
bars = {name: spread.head(top).reset_index() for name, spread in spreads.items()}
stays, moves = "among the first three in 95 % of the models", "in fewer models"
for frame in bars.values():
    frame["place"] = np.where(frame["first_three"] >= AGREED, stays, moves)
figure, axes = plot.ranking(bars, value="mean", low="low", high="high", label="event", hue="place",
                            columns=1, xlabel="importance [%]",
                            colors={stays: BLUE, moves: LIGHT_BLUE})
results.figure(figure, "ranking", "**Figure.** Our ranking, without aliases: importance of the "
               "first events, mean of the refitted models and the range of 90 % of them.")

# %% [markdown]
# **Explore.** In JupyterLab, the panel below shows the ranking of a program for any number of events, and a second program beside it if several are studied. It uses the models fitted above.

# %%
panel = explore.ranking(refined, draws)
notebook.widget(panel, "explore", "**Figure.** The ten most important events of one program, or of "
                "two programs side by side. With two programs, dark blue means that an event is "
                "in both lists. If all bars are light, the two lists have no event in common.")

# %%
listed = pd.concat(spreads, names=["program"]).reset_index()
abbreviations = [events.abbreviate(frame.index, table) for frame in spreads.values()]
listed["abbr"] = np.concatenate(abbreviations)
listed["description"] = table["description"].reindex(listed["event"]).to_numpy()
columns = ["program", "event", "abbr", "description", "mean", "low", "high", "first_three"]
listed = listed[columns]
place = listed.groupby("program").cumcount()
listed = pd.concat([listed[place < 3], listed[place >= 3]])
results.table(listed, "importances", "**CounterMiner, Table III.** The three leading events of "
              "each program: short name, what they count, mean importance [%] with the range of 90 "
              "% of the models, and the share of models [%] that rank the event among the first "
              "three. The file has all events of the refined models.", decimals=1,
              rows=int((place < 3).sum()))

# %% [markdown]
# CounterMiner states a law (§V-B): one to three events matter significantly more than the rest. The GBRT paper finds one or two. The papers argue with magnitude. For wordcount, CounterMiner's first three events are above 5.0 % each and all others below 2.2 %, a ratio of at least 2.3 between the third event and the fourth.
#
# The table shows two things. The first is this magnitude: the importance of the first, second and third event divided by that of the next one. The second is a test that the papers do not make: do the refitted models have the same first events? Take the two events with the highest mean importance, for example. The column *same first 2* is the share of models in which these two events lead, in any order. We say that the models *agree* if one of the three shares reaches 95 %.
#
# Each program has three rows, one per set of events. The first set is the papers': the events of the model of Fig. 9. The second leaves out aliases. The third also leaves out stall cycles, that is, events that count cycles without retirement. For each set, a new model is refitted many times. A large ratio beside a small share means that an event stands out in the mean of the models, but not in each of them.

# %%
agreement = {}
for name, m in matrices.items():
    kinds = events.kinds(refined[name].events, table)
    no_stalls = list(kinds.index[kinds["class"] != "stall"])
    rankings = {"papers'": draw(m.all_events[list(paper_models[name].index)], m.ipc),
                "without aliases": draws[name]}
    if no_stalls:
        rankings["also without stall cycles"] = draw(m.X[no_stalls], m.ipc)
    for ranking, drawn in rankings.items():
        means = drawn.mean().sort_values(ascending=False, ignore_index=True)
        ratios = (means / means.shift(-1).where(lambda mean: mean > 0)).reindex(range(3))
        ratios.index = ["1st / 2nd", "2nd / 3rd", "3rd / 4th"]
        same = rank.leading_agreement(drawn).reindex([1, 2, 3]).add_prefix("same first ")
        agreement[name, ranking] = pd.concat([ratios, same])
agreement = pd.DataFrame(agreement).T.rename_axis(["program", "ranking"])
shares = agreement.filter(like="same").columns
agreement = agreement.astype(float)
digits = {column: 0 if column in shares else 1 for column in agreement}
results.table(agreement, "law", "**Table.** Left: importance of an event divided by that of the "
              "next one, mean importances. Right: share of the refitted models [%] in which the "
              "one, two or three events with the highest mean importance lead, in any order. A "
              "dash: there are too few events.", decimals=digits)

# %% [markdown]
# ## The formula that the paper prints
#
# CounterMiner's text describes Friedman's importance, but its Eq. 10 and 11 are another quantity:
#
# $$I_j^2(T) = nt \cdot \sum_{k=1}^{nt} P^2(k), \qquad P(k) = \frac{IPC_k - IPC_{k-1}}{IPC_{k-1}} \tag{10}$$
#
# $$I_j^2 = \frac{1}{R} \sum_{m=1}^{R} I_j^2(T_m) \tag{11}$$
#
# Here $nt$ is the number of splits on the event in a tree, $P(k)$ the relative change of the predicted IPC by split $k$, and $R$ the number of trees that use the event. The average is only over these trees, so an event that appears in a single tree can rank above an event that appears in all of them. The table compares the leading events by both formulas; the more they have in common, the less the choice matters. All other notebooks use Friedman's importance.

# %%
formulas = {}
for name, m in matrices.items():
    printed = draw(m.X[refined[name].events], m.ipc, importance="printed").mean().nlargest(3)
    first = spreads[name].index[:3]
    formulas[name] = pd.DataFrame({"Friedman": first, "Eq. 10 and 11": printed.index,
                                   "also by Friedman": printed.index.isin(first)})
formulas = pd.concat(formulas, names=["program", "place"])
n_in_both = int(formulas.pop("also by Friedman").sum())
formulas = formulas.reset_index("place", drop=True)
results.table(formulas, "formula", "**Table.** The first three events by both formulas, in the "
              "same refitted models, by mean importance.")

# %% [markdown]
# ## Result
#
# The papers' numbers are means of other programs on another processor, with single intervals as rows. So only orders of magnitude can be compared. A name in brackets in the first column is the set of events, as in the table above; *(papers')* is our data with the papers' events.

# %%
n_programs = f"of {len(programs)}"
printed = paper_values["model_error_percent"] if hibench else {}
means, paper_means = errors.mean(), paper_errors.mean()
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
               sum(r.one_event_suffices for r in refined.values()), n_programs)
n_stable = sum(int(spread["first_three"].ge(AGREED).sum()) for spread in spreads.values())
results.number("events that stay among the first three in 95 % of the models", n_stable,
               f"of {3 * len(programs)}")
for ranking, rows in agreement.groupby("ranking", sort=False):
    agrees = rows[shares].ge(AGREED).any(axis=1)
    results.number(f"programs whose refitted models agree on one to three events ({ranking})",
                   int(agrees.sum()), n_programs)
    steepest = rows.filter(like=" / ").max(axis=1)
    if steepest.notna().any():
        results.number(f"largest of the three ratios, mean of programs ({ranking})",
                       steepest.mean())
results.number("events in both lists of the first three, Friedman and Eq. 10 and 11",
               n_in_both, f"of {3 * len(programs)}")
results.numbers()

# %% [markdown]
# ## Limitations
#
# * Few rows make the errors uncertain (columns *from* and *to*). The project's own recordings have 58 to 170 rows for about 220 events, and a random fifth of wordcount is only 12 rows. In these recordings, most events had a counter for about a quarter of the time, so their counts are estimates.
# * Importance in a model is not a cause. The study [causes](studies/causes.ipynb) makes events more frequent and measures whether the run time changes.
# * Whether refitted models agree is a strict test: two events that carry the same information take turns in the lead, and then the models disagree although both matter. The study [clusters](studies/clusters.ipynb) ranks such events together.
# * Stall cycles, if they were counted, are close to lost work by construction. The ranking without them is in the table of agreement.
# * Training and test rows come from the same runs. The study [another pass](studies/another_pass.ipynb) tests on runs that were recorded later.
# * The errors cannot be compared with the papers' errors, because programs, rows and the random split differ. On the project's own recordings they are lower, which says nothing about the method.
#
# ## Your own program
#
# Record it, or import what `perf stat -I 100 -x, -o FILE` wrote, then run the notebook:
#
# ```sh
# .venv/bin/cmlib record myapp -- ./myapp  # or: .venv/bin/cmlib import myapp FILE
# .venv/bin/papermill notebooks/03_ranking.ipynb out.ipynb -p program myapp
# ```
#
# The recording needs at least 20 intervals and a few events. The notebook explains IPC if instructions and cycles were counted. Otherwise, it explains the rate of an event that happened in nearly every interval; the parameter `target` selects another one. Look at the table of errors on unseen blocks first, in particular at the column *better than the mean*. With fewer than about 40 events the refinement has only a few steps. `out.ipynb` is the executed page; its tables and figures are in `data/results/papermill/03_ranking`.
#
# Parameters to try: raise `n_seeds` first if shares are close to the threshold. `method` matters only if the runs were multiplexed; `counterminer` cleans them as the paper does.
#
# ## References
#
# * Lv, Sun, Luo, Wang, Yu, Qian: *CounterMiner*, MICRO 2018, §III-C and §V-B.
# * Lv, Sun, Yu: *Mining CPU performance data based on gradient boosting regression tree*, 2018 (in Chinese), §3 and §4. This is the GBRT paper.
# * Friedman: *Greedy function approximation: a gradient boosting machine*, Annals of Statistics, 2001.

# %%
results.save()
