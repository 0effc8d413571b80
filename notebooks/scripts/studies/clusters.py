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
# # Clusters: which groups of events go with the cycles
#
# **Question.** Which groups of events that rise and fall together go with a program's cycles per instruction?
#
# *Reads* the store (the database of all recordings, notebook 01). *Writes* the clusters of each program, and the cycles that go with them.
#
# The order of single events (notebook [03](../03_ranking.ipynb)) is unstable, because many events are strongly correlated: which of them leads is decided by noise. Here events of one kind that rise and fall together form one *cluster*, and the importance is that of the cluster. This is not a method of the papers. Notebook [grouping](grouping.ipynb) examines whether the grouping says more than clusters drawn at random.

# %% [markdown] tags=["answer"]
# > **Answer** (bzip2, gcc, kmeans and wordcount as recorded for this project, default parameters). A linear model of clusters of events predicts cycles per instruction on unseen parts of a program with an error of **2.4 %**; the mean errs by **20.1 %**, a straight line through one event by 5.8 %. In **1** of 4 programs (bzip2) the first cluster explains surely more than its share of all events: mispredicted branches, with dispatched and wrong-path operations. Notebook studies/grouping shows that clusters drawn at random are as stable, so the clusters themselves prove little.

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas, or all
target: str = ""  # other than IPC leaves this notebook out: clusters are of cycles per instruction
method: str = "shrinkage"  # cleaning of the runs: shrinkage, counterminer, interpolate …
n_models: int = 20  # models of resampled rows behind the interval of an importance
seed: int = 0  # of the models
settings: dict = {}  # jobs, executor, scheduler, database, processor, profile, results_folder

# %%
import numpy as np
import pandas as pd
from IPython.display import Markdown
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GroupKFold

from cmlib import experiments as study
from cmlib import merge, plot, topdown
from cmlib.errors import UnfitRecordingError
from cmlib.experiments.data import describe_data
from cmlib.experiments.event_tables import table_name
from cmlib.experiments.matrices import choose_cycles, usable_events
from cmlib.io import events, store
from cmlib.parallel import Workers, parallel_map
from cmlib.rank import blocks, hold_out_one_event, relative_error
from cmlib.rank import clusters as clustering
from cmlib.report.notebook import begin

# %%
limits = {"method": "cmlib.clean.DISTINCT_METHODS", "n_models": (4, 200), "seed": (0, 1_000_000)}
notebook = begin(
    "clusters", settings, program=program, target=target, method=method,
    n_models=n_models, seed=seed,
)
results, workers, url = notebook.results, notebook.workers, notebook.database
processor = notebook.processor

# %%
table = study.event_table(url)
programs = choose_cycles(url, program, target)

# %% [markdown]
# ## The data
#
# A row is a step of progress, the same share of retired instructions in all runs (or an interval of time, where one run counted all events); a column is an event per instruction. The target is CPI, cycles per instruction, the inverse of IPC. Each event is of one kind: bad speculation (mispredicted branches and the *wrong-path ops* dispatched before they are found out), instruction supply, data supply, instruction mix (`data/events/kinds.yaml`; ops that are dispatched, and the op-cache lookups that fetch them, are counted whether they are of the right path or not, and are put to bad speculation). Runs that multiplex are cleaned first (*shrinkage* moves each count of an event that took turns towards its neighbors in time, by an amount that depends on its noise; see notebook studies/repair). Left out are events that happen in less than a tenth of the rows, counts of cycles (stalls, clocks), which per instruction are CPI times a share, those that happen at a fixed rate in time, and the start and the exit of the process.

# %%
display(Markdown(describe_data(url, programs)))
runs = study.recorded_runs(url, programs[0], method=method, workers=workers)
data = study.matrix(runs, per="instructions", table=table)
X, CPI, what = usable_events(data, table)
kind = what["kind"]
print(f"{programs[0]}: {len(X)} rows; {X.shape[1]} of {data.X.shape[1]} events are used, of "
      f"{kind[X.columns].nunique()} kinds; the first 4 rows of 4 events, per instruction:")
X.iloc[:4, :4].map("{:.5f}".format)

# %% [markdown]
# ## The method, on one program
#
# 1. The distance of two events of one kind is $1 - |\rho|$, where $\rho$ is Spearman's rank correlation; events of two kinds are never joined. Average linkage joins events to clusters $C$ up to a mean distance of 0.3.
# 2. Ridge regression explains CPI by all events, standardized: $z_{te}$ is event $e$ in step $t$ less its mean, over its standard deviation, cut at ±3 so that single steps don't decide, and $\beta_e$ its coefficient. What the events of a cluster add in step $t$ is summed ($a_{tC}$), and a cluster's importance $I_C$ is its share of what the model adds and takes away, $\sigma$ being the standard deviation over steps and $D$ running over all clusters:
#
# $$\widehat{\mathrm{CPI}}_t = \overline{\mathrm{CPI}} + \sum_C a_{tC}, \qquad a_{tC} = \sum_{e \in C} \beta_e z_{te}, \qquad I_C = 100\,\frac{\sigma(a_C)}{\sum_{D} \sigma(a_D)}$$
#
# No model of clusters is fitted: grouping does not change the prediction, only how it is read. The penalty of the regression is the one with the smallest error when folds of neighboring rows are held out.

# %%
rho = X.corr(method="spearman").to_numpy()
distance = 1 - np.abs(rho)
distance[kind[X.columns].to_numpy()[:, None] != kind[X.columns].to_numpy()] = 2  # never joined
np.fill_diagonal(distance, 0)
C = fcluster(linkage(squareform(distance, checks=False), "average"), 0.3, "distance")

z = ((X - X.mean()) / X.std(ddof=0)).clip(-3, 3)
fold = blocks(X.index, 12) % 4
folds = list(GroupKFold(4).split(z, groups=fold))
ridge = RidgeCV(clustering.PENALTIES, cv=folds, scoring="neg_mean_squared_error")
beta = ridge.fit(z.to_numpy(), CPI).coef_
a = ((z - z.mean()) * beta).T.groupby(C).sum().T  # a column a cluster
sigma = a.std(ddof=0)
I_C = (100 * sigma / sigma.sum()).sort_values(ascending=False)
members = {c: X.columns[c == C] for c in I_C.index}
print(f"{X.shape[1]} events in {len(I_C)} clusters; the three most important, in one fit of all "
      "rows (the tables below have means of resampled models):\n"
      + "\n".join(f"{share:.1f} %: {len(members[c])} events of {kind[members[c][0]]}"
                  for c, share in I_C.head(3).items()))

# %%
model = clustering.ClusterRegression(clustering.cluster_events(X, kind)).fit(X, CPI, fold)
np.testing.assert_allclose(np.sort(model.importance_), np.sort(I_C), rtol=1e-6)
print(f"cmlib.rank.clusters and the cell above agree on the importance of {len(I_C)} clusters")

# %% [markdown]
# ## The clusters of every program
#
# For each program, the method is applied to all its events, and again to resampled rows (stretches of the run, drawn with replacement), so that each importance has an interval. Clusters are numbered by their mean importance.

# %%
def weigh(X, CPI, kind, fold):
    """The cluster of each event, the model of all rows, and importances by resampled model."""
    grouped = clustering.cluster_events(X, kind)
    model = clustering.ClusterRegression(grouped).fit(X, CPI, fold)
    added = clustering.draw_contributions(model, X, CPI, range(seed, seed + n_models))
    mean = pd.DataFrame([clustering.importances(of_model, grouped) for of_model in added]).mean()
    order = mean.sort_values(ascending=False, kind="stable").index
    grouped = grouped.map({cluster: place for place, cluster in enumerate(order, 1)})
    return grouped, model, pd.DataFrame([clustering.importances(a, grouped) for a in added])


# %%
def members_of(model, X, grouped):
    """The events of each cluster with their weights [% of the cluster's], the heaviest first."""
    weight = model.event_contributions(X).std(ddof=0)[grouped.index]
    frame = pd.DataFrame({"cluster": grouped, "event": grouped.index, "weight": weight})
    whole = frame.groupby("cluster")["weight"].transform("sum").replace(0.0, np.inf)
    frame["weight"] *= 100 / whole
    by = ["cluster", "weight"]
    return frame.sort_values(by, ascending=[True, False], kind="stable", ignore_index=True)


# %%
def main_topics(members):
    """What has most weight in a cluster, and a second topic of at least 0.4 times that weight."""
    weight = members.groupby("topic", sort=False)["weight"].sum()
    weight = weight.sort_values(ascending=False, kind="stable")
    return " and ".join(weight.index[:2][weight.iloc[:2] >= 0.4 * weight.iloc[0]])


def names_of(members, what):
    """Names by topics, or by kind and size of more than 12 events; distinct by the first event."""
    of = members.assign(topic=members["event"].map(what["topic"])).groupby("cluster")
    size, first = of.size(), of["event"].first()
    large = first.map(what["kind"]) + ", " + size.astype(str) + " events"
    names = of.apply(main_topics, include_groups=False).where(size <= 12, large)
    return names.where(~names.duplicated(keep=False), names + " (" + first + ")")


# %%
def describe(members, draws, what):
    """A row a cluster: what it holds, and its importance with the range of 90 % of the draws."""
    of = members.groupby("cluster")["event"]
    first, weight = of.first(), {"importance": draws.mean()}
    weight |= {"low": draws.quantile(0.05), "high": draws.quantile(0.95)}
    kinds = {column: first.map(what[column]) for column in ("kind", "class")}
    held = {"name": names_of(members, what), "first": first, "n_events": of.size()}
    return pd.DataFrame(held | kinds | weight).rename_axis("cluster")


def explain(data):
    """Clusters of a matrix, their members, and the errors [%] of the model and of the mean."""
    X, CPI, what = usable_events(data, table)
    fold = blocks(X.index, 12) % 4
    grouped, model, draws = weigh(X, CPI, what["kind"], fold)
    members = members_of(model, X, grouped)
    added, predicted = clustering.held_out(grouped, X, CPI, fold)
    means = [CPI[fold != held].mean() for held in fold]
    errors = {"linear": relative_error(CPI, predicted), "mean": relative_error(CPI, means),
              "one event": relative_error(CPI, hold_out_one_event(X, CPI, fold))}
    of_data = {"X": X, "CPI": CPI, "what": what, "added": added, "errors": errors}
    return of_data | {"members": members, "table": describe(members, draws, what)}


# %%
def clusters_of(program):
    """What is found in a program's runs, and the runs; None if they hold too little."""
    runs = study.recorded_runs(url, program, method=method, workers=Workers(1))
    try:
        return explain(study.matrix(runs, per="instructions", table=table)) | {"runs": runs}
    except UnfitRecordingError:
        return None


# %%
clusters = dict(zip(programs, parallel_map(clusters_of, programs, workers=workers), strict=True))
clusters = {name: made for name, made in clusters.items() if made is not None}
if not clusters:
    raise UnfitRecordingError(f"no event varies in the runs of {', '.join(programs)}.")
listed = pd.concat({name: c["table"] for name, c in clusters.items()}, names=["program"])
listed = listed.reset_index()

# %%
first = {name: c["table"].head(5) for name, c in clusters.items()}
first = {name: t.assign(label=t["name"].str.wrap(58)) for name, t in first.items()}
figure, axes = plot.ranking(first, value="importance", label="label", low="low", high="high",
                            hue="kind", columns=1, row_height=0.24,
                            xlabel="share of what the model adds and takes away [%]")
for ax in axes:
    ax.set_xlim(0, 1.05 * max(t["high"].max() for t in first.values()))
five = listed[listed["cluster"] <= 5].groupby("program")[["importance", "n_events"]].sum()
sizes = listed.groupby("program")["n_events"].sum()
told = [f"{five.at[name, 'importance']:.0f} % ({name}, with {five.at[name, 'n_events']} of "
        f"{sizes[name]} events)" for name in five["importance"].agg(["idxmin", "idxmax"])]
results.figure(figure, "clusters",
               "**Figure.** The five most important clusters of each program, on one scale, by the "
               f"kind of their events. Bars: mean importance in {n_models} models of resampled "
               "rows, lines: the range of 90 % of them, for the same clusters in all (that the "
               "grouping itself is sure they don't say). They are shares of a linear model's "
               "terms, not of cycles; clusters of more events tend to have more. A cluster of up "
               "to a dozen events is named by what they count, a larger one by its kind and size. "
               f"*See:* the five make {' to '.join(dict.fromkeys(told))} of what the model adds "
               "and takes away.")

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
members = pd.concat({name: c["members"] for name, c in clusters.items()}, names=["program"])
first = members.reset_index("program").query("cluster == 1").groupby("program").head(4)
results.table(first, "members",
              "**Table.** The four members of each program's first cluster with most weight, as a "
              "share of the cluster's [%].", decimals=0)

# %% [markdown]
# ## The cycles that go with a cluster
#
# These cycles come from the data, not from the model. They are the cycles per 1,000 instructions in the tenth of the rows with most of an event, minus those in the tenth with least. The event is the cluster's first that is stall cycles itself, or of which `data/topdown/costs` says what one can cost; a cluster without such an event is not in the table, but may still cost cycles. If the value is below zero, more of the event goes with fewer cycles. *At most* is the same difference of the event's counts, times the largest cost of one event. An event that counts cycles without ops from the front end costs one cycle each; for other stall cycles, no bound is known. If even the lower end of the cycles is above the bound by more than a tenth of it (*exceeded*), something else costs these cycles, and the cluster only goes along with it. If only the upper end is above the bound (*perhaps exceeded*), this is possible. A bound of many times the cycles, as for misses that other work hides, says nothing.

# %%
def most_less_least(count, values):
    """Mean of values in the tenth of the rows with most of an event, less that with least."""
    least, most = np.quantile(count, [0.1, 0.9])
    return values[count >= most].mean() - values[count <= least].mean()


def cycles_with(event, X, CPI, costs):
    """Cycles per 1,000 instructions that go with an event, 90 % of resamplings, and its bound."""
    count, cycles = X[event].to_numpy(float), 1000 * CPI.to_numpy(float)
    rows = [clustering.resample_blocks(len(X), number, n_blocks=12) for number in range(200)]
    drawn = [most_less_least(count[chosen], cycles[chosen]) for chosen in rows]
    at_most = 1000 * most_less_least(count, count) * costs.most(event)
    return most_less_least(count, cycles), *np.quantile(drawn, [0.05, 0.95]), at_most


# %%
def add_cycles(found, costs):
    """Add to the clusters the first event of each that costs cycles, and what goes with it."""
    table, members, X, CPI, what = (found[k] for k in ("table", "members", "X", "CPI", "what"))
    costly = [what.at[event, "class"] == "stall" or costs.charges(event)
              for event in members["event"]]
    event = members[costly].groupby("cluster")["event"].first().reindex(table.index)
    counted = {c: cycles_with(name, X, CPI, costs) for c, name in event.dropna().items()}
    columns = ["cycles_per_kilo_instruction", "cycles_low", "cycles_high", "cycles_at_most"]
    cycles = pd.DataFrame.from_dict(counted, orient="index", columns=columns, dtype=float)
    leading = event.fillna(table["first"])
    along = leading.map(X[leading].corrwith(CPI, method="spearman"))
    direction = np.select([along >= 0.2, along <= -0.2], ["more", "fewer"], "")
    return table.join(cycles).assign(cycles_event=event.fillna(""), direction=direction)


# %%
def closest_category(found, known):
    """The top-down category most correlated with what each cluster adds to rows held out, or ""."""
    added, progress, along = found["added"], found["X"].index, {}
    if "progress" in progress.names:
        steps = merge.step_runs(list(found["runs"]["counts"]), len(progress))
        rates, ipc = topdown.merge_steps(steps)
        if fitting := topdown.choose_table(rates.columns, known):
            cycles = topdown.account(rates, fitting).level().div(ipc, axis=0).set_axis(progress)
            along = {name: added.corrwith(cycles[name]) for name in cycles if cycles[name].std()}
    return pd.DataFrame(along).fillna(-1.0).idxmax(axis=1) if along else ""


# %%
def find_processor(name):
    """A program's processor: as it is named, or as its machine or the names of events tell."""
    machines, runs = store.machines(url), store.runs(url, program=name)
    every = set().union(*runs["events"])
    return processor or events.find_processor(map(machines.get, runs["run_id"]), every)


for name, c in clusters.items():
    c["table"] = add_cycles(c, topdown.read_costs(find_processor(name)))
    c["table"]["category"] = closest_category(c, table_name(url, name, processor))
listed = pd.concat({name: c["table"] for name, c in clusters.items()}, names=["program"])
listed = listed.reset_index()


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
              "where there is least, with the range of 90 % of resamplings "
              "(*from* to *to*); *at most*: what so much of the event "
              "can cost; *top-down*: the category of the top-down account (which "
              "parts all cycles, notebook 00) that is most correlated with what the "
              "cluster adds. "
              "It need not be the category of the cluster's own events, as several categories rise "
              "and fall together. The first three clusters of each program that have such an "
              f"event, {(place < 3).sum()} of {len(cycles)}; all in cycles.csv.",
              decimals=0, rows=int((place < 3).sum()))

# %% [markdown]
# ## Which cluster may cost the cycles
#
# A cluster of stalls or misses may cost the cycles that go with it under two conditions: it surely goes with more cycles (the lower end of the interval is above a fifth of the mean), and the most that it can cost is not *exceeded*. If no such bound is known, the first condition is enough. The answer below names the first such cluster of each program.

# %%
def first_event(row):
    return f"`{row['cycles_event'] or row['first']}`"


def first_cost(table):
    """The largest cluster of stalls or misses that goes with more cycles and may cost them."""
    able = np.array([exceeds(row) != "exceeded" for _, row in table.iterrows()])
    mean = table["cycles_per_kilo_instruction"]
    sure = (mean > 0) & (table["cycles_low"] > 0.2 * mean) & (table["direction"] == "more")
    return table[table["class"].isin(["stall", "miss"]) & sure & able].head(1)


# %%
for name, c in clusters.items():
    named = "; ".join(f"**{row['name']}** ({row['importance']:.0f} %, in 90 % of resamplings "
                      f"{row['low']:.0f}–{row['high']:.0f}; first event {first_event(row)})"
                      for _, row in c["table"].head(5).iterrows())
    error = c["errors"]
    display(results.finding(
        f"Cycles per instruction go with {named}: shares of what a linear model adds and takes "
        f"away. It errs by {error['linear']:.1f} % on held-out stretches, the mean by "
        f"{error['mean']:.1f} %, a line through one event by {error['one event']:.1f} %.",
        program=name))

# %% [markdown]
# ## The answer

# %%
def lead(table):
    """The first cluster of a program, and the first that may cost the cycles that go with it."""
    row, costly = table.iloc[0], first_cost(table)
    text = (f"*{row['name']}* ({row['importance']:.0f} %, by {row['n_events']} of "
            f"{table['n_events'].sum()} events)")
    other = "which" if table.index[0] in costly.index else f"while *{costly['name'].max()}*"
    return text + f", {other} may cost them" * len(costly)


# %%
leading = "; ".join(f"in {name} {lead(c['table'])}" for name, c in clusters.items())
firsts = {name: c["table"].iloc[0] for name, c in clusters.items()}
shares = {name: 100 * first["n_events"] / clusters[name]["table"]["n_events"].sum()
          for name, first in firsts.items()}
more = [name for name, first in firsts.items() if first["low"] > shares[name]]
errors = pd.DataFrame([c["errors"] for c in clusters.values()]).mean()
results.number("CPI error on held-out stretches, linear model", errors["linear"], "%")
results.number("CPI error on held-out stretches, the mean", errors["mean"], "%")
results.number("programs whose first cluster has more than its share of events", len(more),
               "programs", note=f"of {len(clusters)}")
display(results.finding(
    f"What a linear model adds to cycles per instruction and takes away goes most with: {leading}. "
    f"{'Only in ' + ' and '.join(more) if more else 'In none'} is that surely more than "
    "the cluster's share of all events. "
    f"That model errs by {errors['linear']:.1f} % on stretches that it never saw, the mean by "
    f"{errors['mean']:.1f} %, a line through one event by {errors['one event']:.1f} % (means of "
    "programs). Whether grouping proves anything: notebook studies/grouping."))

# %% [markdown]
# ## What this doesn't show
#
# Events that go with cycles need not cause them. Counts of cycles, including stalls, are left out, because per instruction they are the cycles to be explained. The shares belong to one linear model: they contain no effect that is not linear, or that two events have together (notebook 04).
#
# ## On your own program
#
# `cmlib record NAME -- COMMAND` (or `cmlib import NAME FILE`), then `cmlib run live clusters -p program=NAME`. The first parameter to change is `n_models`, for more stable intervals.
#
# **References.** Hoerl and Kennard, *Ridge regression*, Technometrics 1970. Yasin, *A top-down method for performance analysis and counters architecture*, ISPASS 2014.

# %%
results.save()
