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
# # Clusters: which groups of events go with the cycles
#
# **Question.** Which groups of events that rise and fall together go with a program's cycles per instruction, and does the grouping say more than shuffled clusters do?
#
# *Reads* the store. *Writes* the clusters of each program, the cycles that go with them, and how stable they are beside clusters whose members are shuffled.
#
# The order of single events (notebook 03) is unstable, because many are strongly correlated. Here events of one kind that rise and fall together are one cluster, which is weighed as a whole. This is no method of the papers.

# %% tags=["parameters"]
program = "all"  # programs to study, separated by commas, or all
target = ""  # any other than IPC leaves this notebook out: clusters go with cycles per instruction
method = "kalman"  # cleaning of the runs {cmlib.clean.DISTINCT_METHODS}
n_models = 20  # models behind the interval of an importance [4, 200]
seed = 0  # of the models [0, 1000000]
settings = {}  # jobs, executor, scheduler, database, processor, profile, results_folder

# %%
from functools import partial

import pandas as pd

from cmlib import experiments as study
from cmlib import plot
from cmlib.errors import UnfitRecordingError
from cmlib.experiments.data import refuse_simulated
from cmlib.io import events
from cmlib.parallel import parallel_map
from cmlib.rank import blocks, relative_error
from cmlib.rank.clusters import ClusterRegression, cluster_events, held_out
from cmlib.report.notebook import begin

notebook = begin("03c_clusters", globals())
results, workers, url = notebook.results, notebook.workers, notebook.database
table = study.event_table(url)
programs, aim = study.choose_target(url, program, target)
refuse_simulated(url, programs, "clusters go with counted cycles.")
if aim != study.IPC:
    raise UnfitRecordingError(f"clusters of events go with cycles per instruction, and {aim.name} "
                              "is explained here: notebook 03 has its events.")

# %% [markdown]
# ## The data
#
# Rows are steps of progress (or intervals of time, where one run counted all events), columns events per instruction. What is explained is the inverse of IPC, CPI, the cycles per instruction. Each event is of one kind (stalls, bad speculation, supply of instructions, supply of data, instruction mix; `data/events/kinds.yaml`). Left out are events that happen in less than a tenth of the rows, those that are cycles per instruction by definition, and those that happen at a fixed rate in time, which are the same once they are divided by instructions.

# %%
runs = study.recorded_runs(url, programs[0], method=method, workers=workers)
data = study.matrix(runs, per="instructions")
what = events.kinds(data.X.columns, table)
usable = (data.X > 0).mean().ge(0.1) & data.X.nunique().gt(1) & what["class"].ne("target")
X, cpi = data.X.loc[:, usable], 1 / data.ipc
n_kinds = what.loc[X.columns, "kind"].nunique()
print(f"{programs[0]}: {len(X)} rows, {X.shape[1]} events of {n_kinds} kinds")
X.head()

# %% [markdown]
# ## The model
#
# Events of one kind are joined by average linkage, up to a mean distance $1 - |\rho|$ of 0.3, $\rho$ being Spearman's rank correlation. Ridge regression explains cycles per instruction from the events per instruction, standardized ($z$), and what the events $e$ of a cluster $C$ add in step $t$ is summed:
#
# $$\widehat{\mathrm{CPI}}_t = \overline{\mathrm{CPI}} + \sum_C a_{tC}, \qquad a_{tC} = \sum_{e \in C} \beta_e z_{te}, \qquad I_C = 100\,\frac{\sigma(a_C)}{\sum_{C'} \sigma(a_{C'})}.$$
#
# The importance $I_C$ is a cluster's share of what the model adds and takes away. No model of clusters is fitted: grouping changes nothing of the prediction. Stalls are cycles by definition, so that a cluster of them explains cycles by some of these cycles.

# %%
fold = blocks(X.index, 12) % 4
grouped = cluster_events(X, what["kind"])
model = ClusterRegression(grouped).fit(X, cpi, fold)
_, predicted = held_out(grouped, X, cpi, fold)
means = [cpi[fold != held].mean() for held in fold]
print(f"{programs[0]}: {X.shape[1]} events in {grouped.nunique()} clusters, penalty of the ridge "
      f"regression {model.penalty_:.3g}; on unseen blocks it errs by "
      f"{relative_error(cpi, predicted):.1f} %, the mean by {relative_error(cpi, means):.1f} %")
model.importance_.nlargest(3)

# %% [markdown]
# ## The clusters of every program
#
# The cycles in the table are of the data, not of the model: per 1,000 instructions, those in the tenth of the steps with most of a cluster's first event that costs anything (*cycles_event*), less those in the tenth with least. A cluster of events that cost nothing, such as hits, has none. Below zero, more of it goes with fewer cycles; above *cycles_at_most*, they are more than the event can cost.

# %%
explain = partial(study.event_clusters, url, table=table, processor=notebook.processor,
                  method=method, n_models=n_models, seed=seed)
clusters = dict(zip(programs, parallel_map(explain, programs, workers=workers), strict=True))
clusters = {name: found for name, found in clusters.items() if found is not None}
if not clusters:
    raise UnfitRecordingError(f"no event varies in the runs of {', '.join(programs)}.")
first = {name: c.table.head(6) for name, c in clusters.items()}
first = {name: t.assign(label=t["name"].str.wrap(34)) for name, t in first.items()}
figure, _ = plot.ranking(first, value="importance", label="label", low="low", high="high",
                         hue="class", xlabel="importance [%]", columns=2, row_height=0.36)
results.figure(figure, "clusters",
               "**Figure.** The first clusters of each program. Lines: 90 % of models of resampled "
               "blocks of steps. A cluster of more than a dozen events is named by their kind and "
               "number.")

# %%
listed = pd.concat({name: c.table for name, c in clusters.items()}, names=["program"])
listed = listed.reset_index("program").sort_values(["cluster", "program"])
results.table(listed, "clusters",
              "**Table.** Clusters by falling importance, with the cycles that go with them, and "
              "the category of the top-down account (notebook 02a) whose cycles are most "
              "correlated with what each adds.", rows=6 * len(programs), decimals=1)

# %% [markdown]
# ## What do clusters prove?
#
# *Overlap* is the share of the first five clusters that two resampled models have in common. It has to beat clusters of the same sizes and kinds whose members are drawn at random (mean of 30 draws): where these hold as still, stability says nothing for the grouping. Whether the model says something is its error on steps that it never saw, beside that of the mean and of a boosted model of the same single events.

# %%
judged = {name: c.stability.iloc[0].to_dict() | c.errors.iloc[0, 1:].to_dict()
          for name, c in clusters.items()}
for name, runs in study.core_runs(url, list(clusters), aim, workers=workers).items():
    core = study.explain(study.matrix(runs, per="instructions"), table, n_models=2, seed=seed)
    found = core.errors.set_index("test").loc["another pass"]
    judged[name] |= found.add_prefix("core events, another pass: ").to_dict()
judged = pd.DataFrame(judged).T.rename_axis("program").reset_index()
results.table(judged, "clusters-judged",
              "**Table.** Overlap of the first five clusters, and that of shuffled ones; errors "
              "[%] of cycles per instruction on held-out blocks; and of the twelve core events, on "
              "another pass.")

# %%
agreement = []
for name, c in clusters.items():
    losses = c.table[c.table["class"].isin(["stall", "miss"])]
    if len(losses) and len(c.categories):
        largest = c.categories.loc[c.categories["cycles"].idxmax(), "category"]
        found = losses.iloc[0][["name", "category", "category_r"]].to_dict()
        agreement.append({"program": name} | found | {"varies most": largest})
if agreement:
    caption = ("**Table.** The first cluster of stalls or misses, the category of the top-down "
               "account that goes with it, and the one that varies most: are they the same?")
    display(results.table(pd.DataFrame(agreement), "account", caption, decimals=1))

# %% [markdown]
# ## What was found

# %%
def first_event(row):
    return f"`{row['cycles_event'] or row['members'].split('; ')[0]}`"


def note(row):
    """What stands below a bar: the first event, cycles that go with it, and the category."""
    cycles = row["cycles_per_kilo_instruction"]
    text = f"{cycles:+.0f} cycles ({row['cycles_low']:.0f} to {row['cycles_high']:.0f})"
    if cycles > row["cycles_at_most"]:
        text = f"costs {row['cycles_at_most']:.0f} cycles at most"
    steady = row["direction"] == ("more" if cycles > 0 else "fewer")
    shown = text if steady and row["cycles_event"] else ""
    return ", ".join(filter(None, [first_event(row), shown, row["category"]]))


# %%
def first_cost(table):
    """The first stalls or misses that surely go with more cycles, and no more than they cost."""
    more = table[table["class"].isin(["stall", "miss"]) & (table["direction"] == "more")]
    mean = more["cycles_per_kilo_instruction"]
    return more[(mean > 0) & (more["cycles_low"] > 0.2 * mean) & ~(mean > more["cycles_at_most"])]


def varies(found):
    """What goes with more cycles, and is no more than it can cost."""
    costly = first_cost(found.table)
    if costly.empty:
        return ""
    row = costly.iloc[0]
    category = f", where the top-down account has {row['category']}" if row["category"] else ""
    first = found.table["name"].iloc[0]
    why = "" if row["name"] == first else (
        f"; speed goes along with {first} more closely, but not surely with more cycles for more "
        "of it")
    return (f"the tenth of the run with most of **{row['name']}** ({first_event(row)}) takes "
            f"{row['cycles_per_kilo_instruction']:.0f} cycles per 1,000 instructions more than the "
            f"tenth with least ({row['cycles_low']:.0f}–{row['cycles_high']:.0f}){category}{why}")


# %%
caption = ("**What cycles per instruction go with.** Clusters of events: importance [%] with the "
           "interval of 90 % of resampled models, first event, and cycles per 1,000 instructions "
           "more in the tenth of the steps with most of that event than in the tenth with least, "
           "where it costs any")
for name, c in clusters.items():
    bars = c.table.head(5).rename(columns={"importance": "value"})
    bars = bars.assign(note=[note(row) for _, row in bars.iterrows()])
    results.overview_bars(name, bars, caption)
    sure = (f"a linear model of cycles per instruction errs by {c.errors.at[0, 'linear']:.1f} % on "
            f"held-out blocks, the mean by {c.errors.at[0, 'mean']:.1f} %")
    results.overview(name, varies=varies(c), sure=sure)

# %%
for name, c in clusters.items():
    named = "; ".join(f"**{row.name}** ({row.importance:.0f} %, 90 % interval {row.low:.0f}–"
                      f"{row.high:.0f})" for row in c.table.head(3).itertuples(index=False))
    still, shuffled = 100 * c.stability.loc[0, ["overlap", "overlap, members shuffled"]]
    error = c.errors.loc[0]
    display(results.finding(
        f"Cycles per instruction go with {named}: shares of what a linear model adds and takes "
        f"away. It errs by {error['linear']:.1f} % on stretches that it never saw, a boosted model "
        f"of single events by {error['boosted']:.1f} %, the mean by {error['mean']:.1f} %. Of the "
        f"first five clusters two resampled models share {still:.0f} %, of clusters with shuffled "
        f"members {shuffled:.0f} %.", program=name))
results.number("overlap of the first five clusters", judged["overlap"].mean(),
               note="between resampled models; members shuffled: "
               f"{judged['overlap, members shuffled'].mean():.2f}")
results.numbers()

# %% [markdown]
# ## What this doesn't show
#
# That events go with cycles does not say that they cause them; that a cluster is the same in two models does not say that its members belong together. Shares are of one linear model: an effect that is not linear, or that two events have together, is in none of them (notebook 04).
#
# **References.** Hoerl and Kennard, *Ridge regression*, Technometrics 1970. Yasin, *A top-down method for performance analysis and counters architecture*, ISPASS 2014.

# %%
results.save()
