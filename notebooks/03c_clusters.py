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
# # Clusters: which groups of events go with the cycles, and what grouping proves
#
# **Question.** Which groups of events that rise and fall together go with a program's cycles per instruction, and does the grouping say more than clusters whose members are drawn at random?
#
# *Reads* the store (the database of all recordings, notebook 01). *Writes* the clusters of each program, the cycles that go with them, how stable they are beside shuffled clusters, and the error of the model behind them.
#
# The order of single events (notebook [03](03_ranking.ipynb)) is unstable, because many events are strongly correlated: which of them leads is decided by noise. Here events of one kind that rise and fall together are one *cluster*, which is weighed as a whole. This is no method of the papers.

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas, or all
target: str = ""  # other than IPC leaves this notebook out: clusters are of cycles per instruction
method: str = "shrinkage"  # cleaning of the runs: shrinkage, counterminer, interpolate …
n_models: int = 20  # models of resampled rows behind the interval of an importance
seed: int = 0  # of the models
settings: dict = {}  # jobs, executor, scheduler, database, processor, profile, results_folder

# %%
import re
from functools import partial

import numpy as np
import pandas as pd
from IPython.display import Markdown
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GroupKFold

from cmlib import experiments as study
from cmlib import plot
from cmlib.errors import UnfitRecordingError
from cmlib.experiments.data import describe_data, refuse_simulated
from cmlib.io import events
from cmlib.parallel import parallel_map
from cmlib.rank import blocks
from cmlib.rank.clusters import PENALTIES, ClusterRegression, cluster_events
from cmlib.report.notebook import begin

# %%
limits = {"method": "cmlib.clean.DISTINCT_METHODS", "n_models": (4, 200), "seed": (0, 1_000_000)}
notebook = begin(
    "03c_clusters", settings, program=program, target=target, method=method,
    n_models=n_models, seed=seed,
)
results, workers, url = notebook.results, notebook.workers, notebook.database

# %%
table = study.event_table(url)
programs, aim = study.choose_target(url, program, target)
refuse_simulated(url, programs, "clusters go with counted cycles.")
if aim != study.IPC:
    raise UnfitRecordingError(f"clusters of events go with cycles per instruction, and {aim.name} "
                              "is explained here: notebook 03 has its events.")

# %% [markdown]
# ## The data
#
# A row is a step of progress, the same share of retired instructions in all runs (or an interval of time, where one run counted all events); a column is an event per instruction. What is explained is CPI, cycles per instruction, the inverse of IPC. Each event is of one kind: stall cycles (nothing is dispatched, executed or retired), bad speculation (mispredicted branches and the *wrong-path ops* dispatched before they are found out), instruction supply, data supply, instruction mix (`data/events/kinds.yaml`; ops that are dispatched, and the op-cache lookups that fetch them, are counted whether they are of the right path or not, and are put to bad speculation). Runs that multiplex are cleaned first (*shrinkage* moves each count of an event that took turns towards its neighbours in time, by as much as its own noise calls for, notebook 02c). Left out are events that happen in less than a tenth of the rows, those that are cycles per instruction by definition, and those that happen at a fixed rate in time.

# %%
display(Markdown(describe_data(url, programs)))
runs = study.recorded_runs(url, programs[0], method=method, workers=workers)
data = study.matrix(runs, per="instructions")
what = events.kinds(data.X.columns, table)
usable = (data.X > 0).mean().ge(0.1) & data.X.nunique().gt(1) & what["class"].ne("target")
X, CPI, kind = data.X.loc[:, usable], 1 / data.ipc, what["kind"]
print(f"{programs[0]}: {len(X)} rows; {X.shape[1]} of {data.X.shape[1]} events are used, of "
      f"{kind[X.columns].nunique()} kinds; the first 4 rows of 4 events, per instruction:")
X.iloc[:4, :4].map("{:.5f}".format)

# %% [markdown]
# ## The method, on one program
#
# 1. Two events of one kind are $1 - |\rho|$ apart, $\rho$ being Spearman's rank correlation; events of two kinds are never joined. Average linkage joins events to clusters $C$ up to a mean distance of 0.3.
# 2. Ridge regression explains CPI by all events, standardized: $z_{te}$ is event $e$ in step $t$ less its mean, over its standard deviation, cut at ±3 so that single steps don't decide, and $\beta_e$ its coefficient. What the events of a cluster add in step $t$ is summed ($a_{tC}$), and a cluster's importance $I_C$ is its share of what the model adds and takes away, $\sigma$ being the standard deviation over steps and $D$ running over all clusters:
#
# $$\widehat{\mathrm{CPI}}_t = \overline{\mathrm{CPI}} + \sum_C a_{tC}, \qquad a_{tC} = \sum_{e \in C} \beta_e z_{te}, \qquad I_C = 100\,\frac{\sigma(a_C)}{\sum_{D} \sigma(a_D)}$$
#
# No model of clusters is fitted: grouping changes nothing of the prediction, only how it is read. The penalty of the regression is the one with the least error when folds of neighbouring rows are held out.

# %%
rho = X.corr(method="spearman").to_numpy()
distance = 1 - np.abs(rho)
distance[kind[X.columns].to_numpy()[:, None] != kind[X.columns].to_numpy()] = 2  # never joined
np.fill_diagonal(distance, 0)
C = fcluster(linkage(squareform(distance, checks=False), "average"), 0.3, "distance")

z = ((X - X.mean()) / X.std(ddof=0)).clip(-3, 3)
fold = blocks(X.index, 12) % 4
folds = list(GroupKFold(4).split(z, groups=fold))
beta = RidgeCV(PENALTIES, cv=folds, scoring="neg_mean_squared_error").fit(z.to_numpy(), CPI).coef_
a = ((z - z.mean()) * beta).T.groupby(C).sum().T  # a column a cluster
sigma = a.std(ddof=0)
I_C = (100 * sigma / sigma.sum()).sort_values(ascending=False)
members = {c: X.columns[c == C] for c in I_C.index}
print(f"{X.shape[1]} events in {len(I_C)} clusters; the three most important, in one fit of all "
      "rows (the tables below have means of resampled models):\n"
      + "\n".join(f"{share:.1f} %: {len(members[c])} events of {kind[members[c][0]]}"
                  for c, share in I_C.head(3).items()))

# %%
model = ClusterRegression(cluster_events(X, kind)).fit(X, CPI, fold)
np.testing.assert_allclose(np.sort(model.importance_), np.sort(I_C), rtol=1e-6)
print(f"cmlib.rank.clusters and the cell above agree on the importance of {len(I_C)} clusters")

# %% [markdown]
# ## The clusters of every program

# %%
explain = partial(study.event_clusters, url, table=table, processor=notebook.processor,
                  method=method, n_models=n_models, seed=seed)
clusters = dict(zip(programs, parallel_map(explain, programs, workers=workers), strict=True))
clusters = {name: made for name, made in clusters.items() if made is not None}
if not clusters:
    raise UnfitRecordingError(f"no event varies in the runs of {', '.join(programs)}.")
listed = pd.concat({name: c.table for name, c in clusters.items()}, names=["program"])
listed = listed.reset_index("program")

# %%
first = {name: c.table.head(5) for name, c in clusters.items()}
first = {name: t.assign(label=t["name"].str.wrap(58)) for name, t in first.items()}
figure, axes = plot.ranking(first, value="importance", label="label", low="low", high="high",
                            hue="kind", xlabel="importance [%]", columns=1, row_height=0.24)
for ax in axes:
    ax.set_xlim(0, 1.05 * max(t["high"].max() for t in first.values()))
shares = listed[listed["cluster"] <= 5].groupby("program")["importance"].sum()
results.figure(figure, "clusters",
               "**Figure.** The five most important clusters of each program, on one scale, by the "
               f"kind of their events. Bars: mean importance in {n_models} models of resampled "
               "rows (stretches of the run, drawn with replacement), lines: the range of 90 % of "
               "them, for the same clusters in all (that the grouping itself is sure they don't "
               "say). They are shares of a linear model's terms, not of cycles. A cluster of up "
               "to a dozen events is named by what they "
               "count, a larger one by its kind and size. *See:* the five make "
               f"{shares.min():.0f} ({shares.idxmin()}) to {shares.max():.0f} % "
               f"({shares.idxmax()}) of what the model adds and takes away.")

# %%
columns = ["program", "cluster", "name", "class", "n_events", "importance", "low", "high"]
ordered = pd.concat([listed[listed["cluster"] <= 3], listed[listed["cluster"] > 3]])
results.table(ordered[columns], "clusters",
              "**Table.** The clusters by falling importance [%] with the range of 90 % of the "
              "models (*low* to *high*); *class*: stalls, misses (of supply, and of prediction "
              "with the ops it wastes), or instruction mix. The first three of each program: "
              f"{3 * len(clusters)} of {len(listed)}, all in clusters.csv.",
              rows=3 * len(clusters), decimals=1)

# %%
members = pd.concat({name: c.members for name, c in clusters.items()}, names=["program"])
members = members.reset_index("program")
first = members[members["cluster"] == 1]
costly = listed[listed["cluster"] == 1].set_index("program")["cycles_event"]
chosen = first.groupby("program").cumcount().lt(4) | first["event"].eq(first["program"].map(costly))
results.table(first[chosen], "members",
              "**Table.** The four members of each program's first cluster with most weight, as a "
              "share of the cluster's [%], and the one whose cycles are shown below, where it has "
              "one.", decimals=0)

# %% [markdown]
# ## The cycles that go with a cluster
#
# These are of the data and not of the model: cycles per 1,000 instructions in the tenth of the rows with most of an event, less those in the tenth with least. The event is the cluster's first that costs cycles at all (a miss, a stall, a wrong-path op); a cluster of events that cost nothing, such as cache hits, has none. Below zero, more of the event goes with fewer cycles. *At most* is the same difference of the event's counts times the most that one of them can cost (`data/topdown/costs`): of an event that is itself cycles without ops from the front end, one cycle each; of other stall cycles no bound is known. Where even the lower end of the cycles is above it, by more than a tenth of it (*exceeded*), the cluster only goes along with what costs these cycles; where otherwise the upper end is above it (*perhaps exceeded*), it may. Where the bound is many times the cycles, as of misses that other work hides, it says nothing.

# %%
def exceeds(row):
    """Whether surely, or perhaps, more cycles go with an event than it can cost."""
    if row["cycles_low"] > 1.1 * row["cycles_at_most"]:
        return "exceeded"
    return "perhaps exceeded" if row["cycles_high"] > row["cycles_at_most"] else ""


# %%
cycles = listed[listed["cycles_event"] != ""]
bound = cycles["cycles_at_most"].map("{:,.0f}".format, na_action="ignore")
beyond = cycles.apply(exceeds, axis=1).map(lambda how: f" ({how})" if how else "")
cycles = cycles.assign(**{"at most": bound + beyond}).rename(columns={
    "cycles_event": "event", "cycles_per_kilo_instruction": "cycles", "cycles_low": "from",
    "cycles_high": "to", "category": "top-down"})
place = cycles.groupby("program").cumcount()
cycles = pd.concat([cycles[place < 3], cycles[place >= 3]])
columns = ["program", "cluster", "event", "cycles", "from", "to", "at most", "top-down"]
results.table(cycles[columns], "cycles",
              "**Table.** Cycles per 1,000 instructions more where there is most of the event than "
              "where there is least, with a 90 % interval (*from* to *to*); *at most*: what so "
              "much of the event can cost; *top-down*: the category of the top-down account (which "
              "parts all cycles, notebook 02a) that is most correlated with what the cluster adds. "
              "It need not be the category of the cluster's own events, as several categories rise "
              "and fall together. The first three clusters of each program that have such an "
              f"event, {(place < 3).sum()} of {len(cycles)}; all in cycles.csv.",
              decimals=0, rows=int((place < 3).sum()))

# %% [markdown]
# ## What does the grouping prove?
#
# *Overlap* is the share of the first five clusters that two models of resampled rows have in common, mean over all pairs of models. It has to beat clusters of the same sizes and kinds whose members are drawn at random (30 draws): where these overlap as much (a difference below 0.02 counts as none), stability says nothing for the grouping.

# %%
judged = {name: c.stability.iloc[0].to_dict() | c.errors.iloc[0, 1:].to_dict()
          for name, c in clusters.items()}
judged = pd.DataFrame(judged).T.astype({"clusters": int, "largest": int})
judged = judged.rename_axis("program").reset_index()
shuffled = "overlap, members shuffled"
gain = (judged["overlap"] - judged[shuffled]).astype(float)
better, worse = gain >= 0.02, gain <= -0.02
shown = judged.melt("program", ["overlap", shuffled], "clusters are", "overlap of first five")
shown["clusters are"] = shown["clusters are"].map({"overlap": "as grouped", shuffled: "shuffled"})
figure, ax = plot.dots_by_program(shown, value="overlap of first five", hue="clusters are",
                                  xlabel="overlap of the first five clusters", grey=["shuffled"])
ax.set_xlim(0, 1.05)
results.figure(figure, "overlap",
               "**Figure.** Share of the first five clusters that two resampled models have in "
               "common; grey: the same sizes and kinds with members drawn at random. *See:* the "
               f"grouping beats shuffled members in {better.sum()} of {len(judged)} "
               f"program{'s' * (len(judged) > 1)} (means {judged['overlap'].mean():.2f} and "
               f"{judged[shuffled].mean():.2f}), and is less stable than they in {worse.sum()}: "
               f"differences of {gain.min():+.2f} to {gain.max():+.2f}, which are not judged, as "
               "of "
               "the 30 draws only the mean was kept.")

# %% [markdown]
# Whether the model behind the clusters says something is another matter: its error on rows that it never saw, beside that of the mean and of a boosted model (gradient boosted trees) of the same single events.

# %%
MODELS = {"linear": "ridge regression", "boosted": "boosted trees", "mean": "mean of other rows"}
shown = judged.melt("program", list(MODELS), "model", "error").replace({"model": MODELS})
figure, ax = plot.dots_by_program(shown, value="error", hue="model", xlabel="CPI error [%]",
                                  grey=[MODELS["mean"]])
ax.set_xlim(0, None)
results.figure(figure, "errors",
               "**Figure.** Error of CPI on held-out stretches of progress; grey: no event. "
               f"*See:* ridge regression errs by {judged['linear'].mean():.1f} % on average, "
               f"boosted trees by {judged['boosted'].mean():.1f} %, the mean by "
               f"{judged['mean'].mean():.1f} %.")

# %%
display(results.table(judged, "clusters-judged",
                      "**Table.** Number of clusters, events in the largest; overlap; errors [%] "
                      "of CPI on held-out stretches (both figures in numbers)."))
core, n_core = {}, set()
for name, cleaned in study.core_runs(url, list(clusters), aim, workers=workers).items():
    own = study.matrix(cleaned, per="instructions")
    explained = study.explain(own, table, n_models=2, seed=seed)
    n_core.add(own.X.shape[1])
    core[name] = explained.errors.set_index("test").loc["another pass"]
if core:
    core = pd.DataFrame(core).T.rename_axis("program").reset_index()
    beaten = (core["linear"] < core["boosted"]).sum()
    display(results.table(core, "core",
                          "**Table.** The same errors [%] of "
                          f"{' or '.join(map(str, sorted(n_core)))} core "
                          "events alone, which were counted all the time in two recordings: "
                          "fitted on one, tested "
                          "on the other. *See:* the linear model errs by "
                          f"{core['linear'].mean():.1f} %, the boosted one by "
                          f"{core['boosted'].mean():.1f} % on average, and "
                          f"the linear one by less in {beaten} of {len(core)}."))

# %% [markdown]
# ## Which cluster may cost the cycles
#
# Of each program, the first cluster of stalls or misses that surely goes with more cycles, and with not surely more than it can cost; the first page of the whole report (index.html) shows it. These are the sentences, where there is such a cluster:

# %%
def first_event(row):
    return f"`{row['cycles_event'] or row['members'].split('; ')[0]}`"


def note(row):
    """What stands below a bar: whether cycles go with the cluster, and it may cost them."""
    cycles = row["cycles_per_kilo_instruction"]
    if row["class"] not in ("stall", "miss"):
        return "moves with the cycles; counts work, not delay"
    if not row["cycles_event"]:
        return "moves with the cycles; what it costs is not known"
    if exceeds(row) == "exceeded":
        return "rises with the cycles, but happens too seldom to cost them"
    if row["direction"] != ("more" if cycles > 0 else "fewer"):
        return "not surely with more or with fewer cycles"
    return f"the more of it, the {'more' if cycles > 0 else 'fewer'} cycles"


# %%
def first_cost(table):
    """Stalls or misses that surely go with more cycles, and not surely more than they cost."""
    more = table[table["class"].isin(["stall", "miss"]) & (table["direction"] == "more")]
    mean = more["cycles_per_kilo_instruction"]
    able = np.array([exceeds(row) != "exceeded" for _, row in more.iterrows()], dtype=bool)
    return more[(mean > 0) & (more["cycles_low"] > 0.2 * mean) & able]


# %%
def varies(found):
    """The largest cluster that goes with more cycles and may cost them."""
    costly = first_cost(found.table)
    if costly.empty:
        return ""
    row = costly.iloc[0]
    return (f"the largest group that may itself cost the cycles that go with it: "
            f"**{row['name']}** ({first_event(row)}); how many of them it costs is not known")


# %%
def others_of(table):
    """What the bars of the first five clusters leave to the others, in a clause."""
    rest = table["importance"].iloc[5:]
    return f"; {len(rest)} smaller groups have the other {rest.sum():.0f} %" if len(rest) else ""


# %%
for name, c in clusters.items():
    errors = c.errors.loc[0]
    bars = c.table.head(5).rename(columns={"importance": "value"})
    bars = bars.assign(note=[note(row) for _, row in bars.iterrows()])
    results.overview_bars(
        name, bars, "**What its speed varies with.** From stretch to stretch of the run a linear "
        "model adds something to the mean cycles per instruction, or takes it away, for each group "
        "of events that rise and fall together; a bar is the group's share of all that [%], with "
        f"its 90 % interval{others_of(c.table)}. On stretches that it never saw the model is off "
        f"by {errors['linear']:.1f} %, the mean alone by {errors['mean']:.1f} %")
    if costly := varies(c):
        display(results.overview(name, varies=costly))

# %%
for name, c in clusters.items():
    named = "; ".join(f"**{row['name']}** ({row['importance']:.0f} %, 90 % interval "
                      f"{row['low']:.0f}–{row['high']:.0f}; first event {first_event(row)})"
                      for _, row in c.table.head(5).iterrows())
    still, of_shuffled = 100 * c.stability.loc[0, ["overlap", shuffled]]
    error = c.errors.loc[0]
    results.finding(
        f"Cycles per instruction go with {named}: shares of what a linear model adds and takes "
        f"away. It errs by {error['linear']:.1f} % on held-out stretches, a boosted model of "
        f"single events by {error['boosted']:.1f} %, the mean by {error['mean']:.1f} %. Of the "
        f"first five clusters two resampled models share {still:.0f} %, of clusters with shuffled "
        f"members {of_shuffled:.0f} %.", program=name)

# %% [markdown]
# ## The answer

# %%
def lead(table):
    """The first cluster of a program, its importance, and whether it can cost what goes with it."""
    row = table.iloc[0]
    along = "" if row["cycles_event"] else "no misses or stalls"
    if exceeds(row) == "exceeded":
        along = (f"only goes along: {row['cycles_per_kilo_instruction']:.0f} cycles per 1,000 "
                 f"instructions more, of which it can cost {row['cycles_at_most']:.0f}")
    share = f"{row['importance']:.1f} %"
    unsure = "not surely the first" if (row["low"] <= table["high"].iloc[1:2]).any() else ""
    return f"{row['name']} ({'; '.join(filter(None, [share, unsure, along]))})"


# %%
leading = "; ".join(f"{name}: {lead(c.table)}" for name, c in clusters.items())
names = "; ".join(f"{name} {re.sub(r', [0-9]+ events.*', '', c.table['name'].iloc[0])}"
                  for name, c in clusters.items())
again = ""
if len(core):
    again = (f" On another recording of the core events it errs by {core['linear'].mean():.1f} %, "
             f"boosted trees by {core['boosted'].mean():.1f} %.")
display(results.finding(
    f"First go with cycles per instruction: {names}; the grouping proves "
    f"{'something' if (judged['overlap'] > judged[shuffled] + 0.1).all() else 'little'} (overlap "
    f"{judged['overlap'].mean():.2f}, with members drawn at random "
    f"{judged[shuffled].mean():.2f}). The first cluster's share of what a linear model adds and "
    f"takes away: {leading}. Overlap is what two resampled models share of the first five "
    f"clusters; the grouping wins in {better.sum()} of "
    f"{len(judged)} program{'s' * (len(judged) > 1)}"
    f"{f' (by {max(0, gain.max()):.2f} at most)' * (len(judged) > 1)}, and "
    f"loses in {worse.sum()} ({', '.join(judged['program'][worse]) or 'none'}); how far shuffled "
    "draws differ among themselves is not known."))
display(results.finding(
    f"The linear model behind the clusters errs by {judged['linear'].mean():.1f} % on held-out "
    f"stretches, boosted trees by {judged['boosted'].mean():.1f} %, the mean by "
    f"{judged['mean'].mean():.1f} %.{again}"))
results.number("overlap of the first five clusters", judged["overlap"].mean(),
               note=f"share in common; members shuffled: {judged[shuffled].mean():.2f}")

# %% [markdown]
# ## What this doesn't show
#
# That events go with cycles does not say that they cause them; that a cluster is the same in two models does not say that its members belong together. Stalls are cycles by definition, so that a cluster of them explains cycles by some of these cycles. Shares are of one linear model: an effect that is not linear, or that two events have together, is in none of them (notebook 04).
#
# ## On your own program
#
# `cmlib record NAME -- COMMAND` (or `cmlib import NAME FILE`), then `cmlib run live 03c_clusters -p program=NAME`. Change `n_models` first, for steadier intervals.
#
# **References.** Hoerl and Kennard, *Ridge regression*, Technometrics 1970. Yasin, *A top-down method for performance analysis and counters architecture*, ISPASS 2014.

# %%
results.save()
