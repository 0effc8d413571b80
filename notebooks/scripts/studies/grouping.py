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
# # Grouping: what clusters of events prove
#
# **Question.** Are clusters of events more stable than clusters whose members are drawn at random, and does the linear model behind them explain cycles per instruction?
#
# *Reads* the store (the database of all recordings, notebook 01). *Writes* how stable each program's first clusters are beside shuffled ones, and the error of the model beside that of boosted trees and of the mean.
#
# Notebook [clusters](clusters.ipynb) weighs groups of events that rise and fall together. That their order hardly changes on other rows is no proof that they belong together: any groups of these sizes may do as well. Here their members are shuffled to see. This is no method of the papers.

# %% [markdown] tags=["answer"]
# > **Answer** (bzip2, gcc, kmeans and wordcount as recorded for this project, default parameters). Grouping events proves little. Two models of resampled rows have **76 %** of their first five clusters in common; with members drawn at random they have **78 %**. In **0** of 4 programs the grouping is more stable than 95 % of the random draws. The linear model behind the clusters errs by **2.4 %** of CPI on unseen parts, boosted trees by **3.9 %**, a straight line through one event by **5.8 %**, the mean by **20.1 %**.

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas, or all
target: str = ""  # other than IPC leaves this notebook out: clusters are of cycles per instruction
method: str = "shrinkage"  # cleaning of the runs: shrinkage, counterminer, interpolate …
n_models: int = 20  # models of resampled rows whose first clusters are compared
n_shuffles: int = 30  # times that members are drawn at random
seed: int = 0  # of the models and of the draws
settings: dict = {}  # jobs, executor, scheduler, database, profile, results_folder

# %%
import numpy as np
import pandas as pd
from IPython.display import Markdown

from cmlib import experiments as study
from cmlib import plot
from cmlib.errors import UnfitRecordingError
from cmlib.experiments.data import describe_data
from cmlib.experiments.matrices import choose_cycles, usable_events
from cmlib.parallel import Workers, parallel_map
from cmlib.rank import (
    blocks,
    hold_out_one_event,
    predict_by_one_event,
    predict_held_out,
    regressor,
    relative_error,
)
from cmlib.rank.clusters import (
    ClusterRegression,
    cluster_events,
    draw_contributions,
    held_out,
    importances,
)
from cmlib.report.notebook import begin

# %%
limits = {"method": "cmlib.clean.DISTINCT_METHODS", "n_models": (2, 200), "n_shuffles": (1, 1000),
          "seed": (0, 1_000_000)}
notebook = begin("grouping", settings, program=program, target=target, method=method,
                 n_models=n_models, n_shuffles=n_shuffles, seed=seed)
results, workers, url = notebook.results, notebook.workers, notebook.database

# %%
table = study.event_table(url)
programs = choose_cycles(url, program, target)

# %% [markdown]
# ## The data
#
# A row is a step of progress, the same share of retired instructions in all runs (or an interval of time, where one run counted all events); a column is an event per instruction. Explained is CPI, cycles per instruction. Each event is of one kind, as stall cycles or data supply (`data/events/kinds.yaml`). Left out are events that happen in less than a tenth of the rows, and those that are cycles per instruction by definition.

# %%
display(Markdown(describe_data(url, programs)))
runs = study.recorded_runs(url, programs[0], method=method, workers=workers)
X, CPI, what = usable_events(study.matrix(runs, per="instructions", table=table), table)
print(f"{programs[0]}: {len(X)} rows, {X.shape[1]} events; the first 4 rows of 4 events, per "
      "instruction:")
X.iloc[:4, :4].map("{:.5f}".format)

# %% [markdown]
# ## Overlap, and members drawn at random
#
# Of $M$ models, each of resampled rows (stretches of the run, drawn with replacement), let $F_i$ be the five clusters of most importance in model $i$ (the share of a cluster in what the model adds to the mean and takes away, notebook studies/clusters). The *overlap* is the share of these that two models have in common, mean over all pairs:
#
# $$O = \frac{2}{M(M-1)} \sum_{i<j} \frac{|F_i \cap F_j|}{5}$$
#
# It has to beat clusters of the same sizes and kinds whose members are drawn at random: where more than 5 % of the draws overlap as much, stability says nothing for the grouping. The models are the same for both, as grouping changes nothing of the regression, only how its terms are added up (notebook studies/clusters).

# %%
def overlap(importance, n_first=5):
    """The formula above, of importances: a row a model, a column a cluster."""
    n = min(n_first, importance.shape[1])
    F = ((-importance).rank(axis=1, method="first") <= n).to_numpy(float)
    i, j = np.triu_indices(len(importance), 1)
    return float((F @ F.T / n)[i, j].mean())


def shuffle_members(grouped, kinds, number):
    """Clusters of the same sizes and kinds, whose members are drawn at random."""
    rng = np.random.default_rng(number)
    by_kind = grouped.groupby(kinds[grouped.index])
    return by_kind.transform(lambda clusters: rng.permutation(clusters.to_numpy()))


# %%
def stability(X, CPI, kind, fold):
    """Number of clusters, overlap as grouped and shuffled, and how many draws overlap as much."""
    grouped = cluster_events(X, kind)
    model = ClusterRegression(grouped).fit(X, CPI, fold)
    added = draw_contributions(model, X, CPI, range(seed, seed + n_models))
    shuffled = [shuffle_members(grouped, kind, seed + number) for number in range(n_shuffles)]
    own, *others = [overlap(pd.DataFrame([importances(of_model, clusters) for of_model in added]))
                    for clusters in (grouped, *shuffled)]
    return {"clusters": grouped.nunique(), "overlap": own,
            "overlap, members shuffled": np.mean(others),
            "draws as stable [%]": 100 * np.mean(np.array(others) >= own)}


# %% [markdown]
# Whether the model behind the clusters says something is another matter: its error on rows that it never saw, beside that of the mean and of a boosted model (gradient boosted trees) of the same single events.

# %%
def errors_held_out(X, CPI, kind, fold):
    """Errors [%] of CPI on stretches of progress that are held out in turn."""
    _, linear = held_out(cluster_events(X, kind), X, CPI, fold)
    means = [CPI[fold != held].mean() for held in fold]
    predicted = {"linear": linear, "boosted": predict_held_out(X, CPI, fold, seed=seed),
                 "one event": hold_out_one_event(X, CPI, fold), "mean": means}
    return {model: relative_error(CPI, of_model) for model, of_model in predicted.items()}


def judge(program):
    """What grouping proves for a recorded program; None if its runs are too few."""
    runs = study.recorded_runs(url, program, method=method, workers=Workers(1))
    try:
        X, CPI, what = usable_events(study.matrix(runs, per="instructions", table=table), table)
    except UnfitRecordingError:
        return None
    fold = blocks(X.index, 12) % 4
    return stability(X, CPI, what["kind"], fold) | errors_held_out(X, CPI, what["kind"], fold)


# %%
judged = dict(zip(programs, parallel_map(judge, programs, workers=workers), strict=True))
judged = {name: of_program for name, of_program in judged.items() if of_program is not None}
if not judged:
    raise UnfitRecordingError(f"no event varies in the runs of {', '.join(programs)}.")
judged = pd.DataFrame(judged).T.astype({"clusters": int})
judged = judged.rename_axis("program").reset_index()

# %%
shuffled = "overlap, members shuffled"
better = judged["draws as stable [%]"] <= 5
as_stable = ", ".join(f"{row['program']} {row['draws as stable [%]']:.0f} %"
                      for _, row in judged.iterrows())
shown = judged.melt("program", ["overlap", shuffled], "clusters are", "overlap of first five")
shown["clusters are"] = shown["clusters are"].map({"overlap": "as grouped", shuffled: "shuffled"})
figure, ax = plot.dots_by_program(shown, value="overlap of first five", hue="clusters are",
                                  xlabel="overlap of the first five clusters", grey=["shuffled"])
ax.set_xlim(0, 1.05)
results.figure(figure, "overlap",
               "**Figure.** Share of the first five clusters that two resampled models have in "
               "common; grey: the same sizes and kinds with members drawn at random. *See:* the "
               f"grouping is more stable than 95 % of {n_shuffles} draws in {better.sum()} of "
               f"{len(judged)} program{'s' * (len(judged) > 1)}; draws that overlap as much: "
               f"{as_stable}.")

# %%
MODELS = {"linear": "ridge regression", "boosted": "boosted trees", "one event": "line, one event",
          "mean": "mean of other rows"}
shown = judged.melt("program", list(MODELS), "model", "error").replace({"model": MODELS})
figure, ax = plot.dots_by_program(shown, value="error", hue="model", xlabel="CPI error [%]",
                                  grey=[MODELS["mean"]])
ax.set_xlim(0, None)
results.figure(figure, "errors",
               "**Figure.** Error of CPI on held-out stretches of progress; grey: no event. "
               f"*See:* ridge regression errs by {judged['linear'].mean():.1f} % on average, "
               f"boosted trees by {judged['boosted'].mean():.1f} %, a line through one event by "
               f"{judged['one event'].mean():.1f} %, the mean by {judged['mean'].mean():.1f} %.")

# %%
results.table(judged, "clusters-judged",
              "**Table.** Number of clusters; overlap, its mean with members shuffled, how many of "
              "these draws overlap at least as much; errors [%] of CPI on held-out stretches "
              "(both figures in numbers).")

# %% [markdown]
# ## On another recording
#
# A few events (branches, misses, stalls) were counted all the time in two recordings of some programs: other models, of these events alone, are fitted on one recording and tested on the other.

# %%
def errors_elsewhere(data):
    """Errors [%] of CPI on another pass than the one that the models were fitted on."""
    X, CPI, what = usable_events(data, table)
    elsewhere, ipc = data.holdout
    model = ClusterRegression(cluster_events(X, what["kind"])).fit(X, CPI, blocks(X.index, 12) % 4)
    X = X[sorted(X)]
    boosted = regressor(seed=seed).fit(X, CPI).predict(elsewhere[X.columns])
    predicted = {"linear": model.predict(elsewhere), "boosted": boosted,
                 "one event": predict_by_one_event(X, CPI, elsewhere), "mean": CPI.mean()}
    return {model: relative_error(1 / ipc, of_model) for model, of_model in predicted.items()}


# %%
core, n_core = {}, set()
for name, cleaned in study.core_runs(url, list(judged["program"]), workers=workers).items():
    data = study.matrix(cleaned, per="instructions", table=table)
    core[name] = errors_elsewhere(data)
    n_core.add(data.X.shape[1])
core = pd.DataFrame(core).T.rename_axis("program").reset_index()
n_events = " or ".join(map(str, sorted(n_core)))
if len(core):
    beaten = (core["linear"] < core["boosted"]).sum()
    display(results.table(core, "core",
                          f"**Table.** The same errors [%] of models of {n_events} events alone, "
                          "fitted on one recording, tested on the other. *See:* the linear model "
                          "errs by "
                          f"{core['linear'].mean():.1f} %, the boosted one by "
                          f"{core['boosted'].mean():.1f} % on average, and the linear one by less "
                          f"in {beaten} of {len(core)}."))

# %% [markdown]
# ## The answer

# %%
again = ""
if len(core):
    again = (f" Other models, of only {n_events} events, fitted on one recording, err on another "
             f"by {core['linear'].mean():.1f} % (linear), {core['boosted'].mean():.1f} % (boosted "
             f"trees) and {core['mean'].mean():.1f} % (mean).")
display(results.finding(
    f"The grouping proves {'something' if better.all() else 'little'}: of their first five "
    f"clusters two models of resampled rows share {100 * judged['overlap'].mean():.0f} %, with "
    f"members drawn at random {100 * judged[shuffled].mean():.0f} % (mean of {len(judged)} "
    f"program{'s' * (len(judged) > 1)}); in {better.sum()} it is more stable than 95 % of "
    f"{n_shuffles} draws (as stable or more are: {as_stable}). The linear model behind the "
    f"clusters errs by {judged['linear'].mean():.1f} % of CPI on stretches that it never saw, "
    f"boosted trees by {judged['boosted'].mean():.1f} %, a line through one event by "
    f"{judged['one event'].mean():.1f} %, the mean by {judged['mean'].mean():.1f} %.{again}"))
results.number("overlap of the first five clusters, members shuffled",
               100 * judged[shuffled].mean(), "%")
results.number("programs where grouping is more stable than 95 % of random draws", better.sum(),
               "programs", note=f"of {len(judged)}")
for model, label in MODELS.items():
    results.number(f"CPI error on held-out stretches, {label}", judged[model].mean(), "%")
results.number("overlap of the first five clusters", 100 * judged["overlap"].mean(), "%",
               note=f"share in common; members shuffled: {judged[shuffled].mean():.2f}")

# %% [markdown]
# ## What this doesn't show
#
# That a cluster is the same in two models does not say that its members belong together, nor that they cause the cycles. But for the section on another recording, the rows of all models are of the same runs.
#
# ## On your own program
#
# `cmlib record NAME -- COMMAND` (or `cmlib import NAME FILE`), then `cmlib run live grouping -p program=NAME`. Change `n_models` first, for a steadier overlap.
#
# **References.** Hoerl and Kennard, *Ridge regression*, Technometrics 1970; Friedman, *Greedy function approximation*, Annals of Statistics 2001 (boosted trees).

# %%
results.save()
