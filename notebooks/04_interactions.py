# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Interactions: which pairs of events act together
#
# **Question.** Which two events change IPC together in a way that neither does alone?
#
# *Reads* the store. *Writes* the ranking of pairs by two measures, and how far the two agree.
#
# CounterMiner (§III-D) fits a linear model to each pair with all other events at their means and takes what the line leaves over (Eq. 12) for interaction.
# Friedman's H asks the boosted model itself how much of the joint effect of two events is not the sum of their single effects. Both are computed on the same model.

# %% tags=["parameters"]
program = "all"  # programs to study, separated by commas, or all
method = "joint"  # cleaning of the runs {scaling, interpolate, counterminer, joint}
n_events = 10  # most important events, whose pairs are ranked [3, 20]
top = 10  # pairs shown a program [3, 45]
n_planted = 10  # synthetic data sets whose pairs are known [1, 100]
seed = 0  # of the models [0, 1000000]
jobs = -1  # worker processes; -1: one a processor [-1, 1024]
executor = "processes"  # where the workers are: on this machine, or on a cluster {processes, dask}
scheduler = ""  # address of a running Dask scheduler, such as tcp://127.0.0.1:8786; needs executor dask
interactive = True  # widgets at the end; False: a figure in their place
profile = "paper"  # folder of the results under data/results
results_folder = ""  # where results go instead of data/results
database = ""  # SQLAlchemy URL of the store; empty: an SQLite file among the results

# %%
from functools import partial

import pandas as pd

from cmlib import explore, plot, study
from cmlib.fanout import Workers, fan_out
from cmlib.report import Results, paper

# %%
results = Results("04_interactions", title="Interactions: which pairs of events act together",
                  question="Which two events change IPC together in a way that neither does alone?",
                  profile=profile, folder=results_folder or None)
workers = Workers(jobs, executor, scheduler)
counterminer = paper("counterminer")["interactions"]

# %% [markdown]
# ## Can the two measures find a pair that is there?
#
# Before real data, data with a known answer: pairs of made-up events whose product drives IPC, ten seeds.

# %%
planted = study.planted_pairs(seeds=range(n_planted))
results.table(planted, "planted", f"**Table, synthetic data.** In how many of {n_planted} data sets each measure puts the planted pairs first, and at which place the last of them comes.")

# %% [markdown]
# ## The model, and its most important events
#
# The model is that of notebook 03: all events of a program, aligned by progress, refined to the most accurate set.

# %%
url = study.open_database(database)
table = study.event_table(url)
programs = study.programs(url, program, modes=["ocoe", "mlpx"])
matrices = {name: study.matrix(study.cleaned_runs(url, name, ["ocoe", "sweep"], method=method, workers=workers)) for name in programs}
refined = dict(zip(programs, fan_out(partial(study.refine, seed=seed), matrices.values(), workers=workers)))

# %% [markdown]
# ## Pairs by both measures

# %%
job = partial(study.pairs, table=table, n_events=n_events, seed=seed)
ranked = dict(zip(programs, fan_out(job, [(matrices[name], refined[name]) for name in programs], workers=workers)))
figure, _ = plot.ranking({name: pairs["h_statistic"].head(top) for name, pairs in ranked.items()}, value="importance", label="label", xlabel="importance [%]")
results.figure(figure, "fig11-h", "**Figures 11 and 12, by Friedman's H.** The pairs whose joint effect on IPC is least the sum of their single effects, as a share of all pairs. Abbreviations: notebook 03, Table III.")

# %%
figure, _ = plot.ranking({name: pairs["residual_variance"].head(top) for name, pairs in ranked.items()}, value="importance", label="label", xlabel="importance [%]")
results.figure(figure, "fig11-residual", "**Figures 11 and 12, by Eq. 12 as printed.** The same by the residual variance of a linear model: it takes every bend of a single event for interaction, so one strong event appears in most pairs.")

# %%
flat = pd.concat({(name, way): pairs for name, both in ranked.items() for way, pairs in both.items()}, names=["program", "measure"])
results.table(flat.reset_index(["program", "measure"]).reset_index(drop=True), "pairs", "**Table.** All pairs of every program by both measures.", rows=10, decimals=3)

# %% [markdown]
# ## How far do the two agree, and how often are branches involved?

# %%
agreement = study.compare_pairs(ranked, table, top=top)
results.table(agreement, "agreement", "**Table.** By program: rank correlation of the two measures over all pairs, the dominant pair and its share, and the share of the first pairs with a branch event [%].")

# %%
results.number("pairs among the first with a branch event, by H", agreement["with branch, H [%]"].mean(), "%", paper=counterminer["branch_share_percent"], note="other processor, other events, other programs")
results.number("pairs among the first with a branch event, by Eq. 12", agreement["with branch, Eq. 12 [%]"].mean(), "%", paper=counterminer["branch_share_percent"])
results.number("rank correlation of the two measures, mean", agreement["rank correlation"].mean(), note="1: the same order, 0: none in common")
results.number("planted pairs found by H", planted.set_index("measure").loc["h_statistic", "planted first"], f"of {n_planted} data sets", note="synthetic")
results.number("planted pairs found by Eq. 12", planted.set_index("measure").loc["residual_variance", "planted first"], f"of {n_planted} data sets", note="synthetic")
for name in programs:
    display(results.finding(study.say_pairs(ranked[name]), program=name))
results.numbers()

# %% [markdown]
# ## Turn the knobs
#
# All pairs of a program as a matrix, and what the model says of one of them: IPC at the pair's values, averaged over everything else; the sum of what each event does alone; and what is left, which is their interaction.

# %%
panel = explore.interactions(ranked, refined, matrices, table)
caption = ("**Figure.** The first setting of the panel that JupyterLab shows here: importance of pairs by Friedman's H, and for the first pair the partial dependence of IPC on both events, "
           "the sum of the two single ones in the same colours, and the difference. Axes run by quantiles; dots: the program's rows, outside of which the model extrapolates.")
panel if interactive else results.figure(panel.figure(), "explore", caption)

# %% [markdown]
# ## What this doesn't show
#
# An interaction in a model is no mechanism in the processor: two events that stand for one cause can share its effect between them. The paper's link between the number of software tiers and the dominant pair needs the servers' recordings, which are not there yet.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §III-D and §V-C. Friedman and Popescu, *Predictive learning via rule ensembles*, Annals of Applied Statistics 2008.

# %%
results.save()
