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
# # Tuning: which parameters of Spark to turn, asked directly and through events
#
# **Question.** Which of Spark's parameters does a program's time depend on, and how many runs does it take to know?
#
# *Reads* runs of Spark programs under different settings. *Writes* the importance of every parameter, the pairs of events and parameters that act together, what tuning one of them is worth, which events cause the time, and errors against the number of runs.
#
# Method B asks directly: a model of the execution time by the parameters, one row a run. Method A asks the events first: which events matter for the time, and which parameters act together with those (CounterMiner, §V-D). The papers say that A needs fewer runs; here both are counted.

# %% tags=["parameters"]
program = "all"  # programs to study, separated by commas, or all that are recorded
n_sizes = 6  # numbers of runs that models are trained on, from 10 to three quarters of all [1, 20]
draws = 20  # times that runs are drawn for each number [2, 1000]
n_events = 10  # important events that are paired with the parameters [2, 30]
n_seeds = 20  # models behind the spread of an importance [2, 100]
share = 90.0  # a parameter is found when this share of the draws names it [%] [50, 100]
seed = 0  # of models and draws [0, 1000000]
jobs = -1  # worker processes; -1: one a processor [-1, 1024]
executor = "processes"  # where the workers are: on this machine, or on a cluster {processes, dask}
scheduler = ""  # address of a running Dask scheduler, such as tcp://127.0.0.1:8786; needs executor dask
interactive = True  # widgets at the end; False: a figure in their place
profile = "paper"  # folder of the results under data/results
results_folder = ""  # where results go instead of data/results

# %%
from functools import partial

import pandas as pd

from cmlib import events, explore, plot, stability, tuning
from cmlib.fanout import Workers, fan_out
from cmlib.report import Results, paper
from cmlib.study import asking, causes, tuned_runs

# %%
results = Results("08_tuning", title="Tuning: which parameters of Spark to turn, asked directly and through events",
                  question="Which of Spark's parameters does a program's time depend on, and how many runs does it take to know?",
                  profile=profile, folder=results_folder or None)
workers, counterminer, gbrt = Workers(jobs, executor, scheduler), paper("counterminer")["tuning"], paper("gbrt")["tuning"]
tuned = tuned_runs.load_tuned(wanted=program)
source, table = tuned_runs.say_source(tuned), events.table_of(next(iter(tuned.values())).machine)

# %% [markdown]
# ## The runs
#
# Each program runs on a standalone cluster of Spark on one machine, with settings drawn at random: every parameter of Table IV by itself, uniformly in the logarithm between two ends that are far apart and still run.

# %%
results.table(tuned_runs.table_iv(), "table4", "**Table IV.** Spark's parameters, with the range each was drawn from. Some act only with a codec, a serializer or executors that are not Spark's defaults; those were set in all runs.", rows=20)

# %%
times = pd.concat({name: one.runs.seconds for name, one in tuned.items()}, names=["program"]).reset_index()
figure, _ = plot.run_times(times, ylabel="execution time [s]")
results.figure(figure, "times", f"**Figure.** Execution time of every run, in the order they were made. {source}")

# %% [markdown]
# ## Asking the parameters (method B)

# %%
direct = {name: stability.importance_spread(stability.draw_importances(one.runs.parameters, one.runs.seconds, seeds=range(n_seeds), boosting=tuning.FEW_ROWS)).rename_axis("parameter").reset_index() for name, one in tuned.items()}
figure, _ = plot.ranking(direct, value="mean", low="low", high="high", label="parameter", xlabel="importance for the time [%]", columns=2)
results.figure(figure, "parameters", "**Figure.** Importance of each parameter in a model of the execution time by the parameters. Lines: 90 % of models of resampled runs. A parameter leads where the ends of its range are far apart for a program; that says nothing of Spark's default.")

# %% [markdown]
# ## Asking the events (method A)
#
# Events are rates, so that a long run does not count more of everything. A mixed model of the important events and all parameters (GBRT study, Eq. 9) tells which pairs act together.

# %%
pairs = dict(zip(tuned, fan_out(partial(tuning.couple, n_events=n_events, seed=seed), [one.runs for one in tuned.values()], workers)))
leading = {name: found.head(10).assign(label=lambda of: [f"{event} - {parameter}" for event, parameter in zip(asking.short(of["event_a"], table), of["event_b"])]) for name, found in pairs.items()}
figure, _ = plot.ranking(leading, value="importance", label="label", xlabel="importance of the pair [%]", columns=2)
display(results.figure(figure, "fig13", f"**Figure 13.** The strongest pairs of an important event and a parameter, by Friedman's H (the paper's Eq. 12 stands in the table). {source}"))
printed = {name: tuning.couple(one.runs, n_events=n_events, method="residual_variance", seed=seed) for name, one in tuned.items()}
both = pd.concat({name: asking.beside(pairs[name], printed[name]) for name in tuned}, names=["program"]).reset_index("program")
results.table(both, "pairs", "**Table.** Importance of each pair [%] by Friedman's H and by the residual variance as printed (Eq. 12), and its place by either.", rows=20)

# %% [markdown]
# ## How many runs does it take?
#
# A model trained on few runs is tested on others (Eq. 14), and the mean of the training runs beside it. The second figure asks for less: is the parameter that all runs rank first also first in a ranking from fewer?

# %%
learned = asking.curves(tuned, n_sizes=n_sizes, draws=draws, seed=seed, workers=workers)
figure, _ = plot.by_runs(learned, value="error", by="model", band=("low", "high"), trivial="trivial", ylabel="error of the time [%]")
results.figure(figure, "learning", f"**Figure.** Error on runs left out against the number of runs trained on, mean of {draws} draws, nine of ten within the band. {source}")

# %%
firsts = {name: ranked["parameter"].iloc[0] for name, ranked in direct.items()}
found = asking.runs_needed(tuned, firsts, n_sizes=n_sizes, draws=draws, seed=seed, workers=workers)
figure, _ = plot.by_runs(found, value="found", by="way", ylabel="draws that name it [%]")
display(results.figure(figure, "fig15", f"**Figure 15, measured.** How often a ranking from so many runs begins with the parameter that all runs rank first: {', '.join(f'{name} {first}' for name, first in firsts.items())}. *By pairs* is the paper's method A; *by effect* shares an event's importance out among the parameters that move it. An event that a parameter moves takes that parameter's place in a mixed model and leaves little for the two to do together: pairs can miss what matters most."))
last = learned.groupby(["program", "model"], sort=False).last()[["runs", "error", "trivial"]].reset_index()
results.table(last, "table2", f"**Table 2.** Error of each model trained on as many runs as a test leaves [%]. The GBRT study, pagerank: parameters {gbrt['spark_model']['error_percent']} % from {gbrt['spark_model']['samples']} runs, events {gbrt['most_accurate_model']['error_percent']} % from {gbrt['most_accurate_model']['samples']}, both {gbrt['coupled_model']['error_percent']} % from {gbrt['coupled_model']['samples']}.")

# %% [markdown]
# ## What tuning is worth
#
# One parameter at a time at both ends of its range, everything else at the defaults of Table IV but for executors of one processor each, without which nothing goes over the network; runs of all levels in turn. Two levels that are the same setting show what chance does.

# %%
tried = tuned_runs.levels(tuned)
varied = asking.variations(tried)
figure, _ = plot.levels(tried, ylabel="execution time [s]")
display(results.figure(figure, "fig14", f"**Figure 14.** Execution time by the level of one parameter, a circle a run; the bar is their mean. Ends and defaults are in Table IV. The paper tunes bbs ({counterminer['sort']['variation_percent']} % for sort) and nwt ({counterminer['sort']['loosely_tied_variation_percent']} %)."))
results.table(varied, "variation", "**Table.** How much longer the slowest level takes than the fastest [%], with its 95 % interval, and how often chance shows as much: the same runs with their levels exchanged at random (p).", decimals=3)

# %% [markdown]
# ## Cause, or company?
#
# What was drawn at random can be moved by nothing. Where it moves one important event and no other, the runs are an experiment on that event: if the time moves as the model says, the event causes it (or something nobody counted, moved along with it); if the time stays, the event only goes along with it.
# Spark's parameters, drawn for the runs above, are one such experiment, but they mostly move many events at once. In the other a small program beside the executors makes one kind of event each, at rates drawn by themselves up to what the slowest runs have, at one setting of Spark (in brackets), and is counted with them.

# %%
judged = pd.concat({name: causes.judged(one, n_events=n_events, seed=seed) for name, one in tuned.items()}, names=["program"]).reset_index()
shown = judged.assign(event=asking.short(judged["event"], table)).dropna(subset="expected")
figure, _ = plot.verdicts(shown, programs=list(tuned), xlabel="change of the performance [%]")
display(results.figure(figure, "causes", "**Figure.** What the performance (the time of a run, or IPC where cycles are counted) does when one event is moved alone, from none or the lowest third of a knob's values to the highest third: cross, as the model by events says; circle with its 95 % interval, as it was. A cross far from an interval that holds 0: the event goes along with the performance and does not cause it."))
emitting = ", ".join(f"{len(runs)} of {name} ({at})" for name, one in tuned.items() for at, runs in one.emitted.items()) or "none"
results.table(judged, "causes", f"**Table.** The important events, the knobs that move each, the one that moves it alone, and what that brings along; the event's mean rate with the knob low and high, and how many of these runs lie beyond what the model has seen [%]; and what the performance does in between [%]: as the model of the performance says, and as it was, with its 95 % interval and how often chance does as much (p). Runs with emitted events: {emitting}. {source}", rows=30)

# %%
same = {"parameters": "spark_model", "events": "most_accurate_model", "events and parameters": "coupled_model"}
fig14 = {("sort", counterminer["sort"][name]): counterminer["sort"][f"{kind}variation_percent"] for name, kind in (("tied", ""), ("loosely_tied", "loosely_tied_"))}
for row in last.to_dict("records"):
    results.number(f"error of the model by {row['model']}, {row['program']}", row["error"], "%", paper=gbrt[same[row["model"]]]["error_percent"] if row["program"] == "pagerank" else None, note=f"{row['runs']} runs; the mean of the runs errs by {row['trivial']:.1f} %")
for row in varied.to_dict("records"):
    results.number(f"variation of the time of {row['program']} by {row['parameter']}", row["variation"], "%", paper=fig14.get((row["program"], row["parameter"])), note=f"95 %: {row['low']:.0f} to {row['high']:.0f}; p = {row['p']:.3f}")
results.numbers()

# %%
needed = asking.enough(found, share=share)
for name in tuned:
    said = asking.say_tuning(name, direct[name], varied, needed.loc[name])
    why = causes.say_causes(name, judged[judged["program"] == name].set_index("event"), emitted=tuned[name].emitted)
    display(results.finding(f"{said} {why}", program=name))

# %% [markdown]
# ## Turn the knobs

# %%
panel = explore.tuning(tuned)
panel if interactive else results.figure(panel.figure(), "explore", f"**Figure.** What the widgets show at first: {next(iter(tuned))}. {source}")

# %% [markdown]
# ## What this doesn't show
#
# The paper's method A is quick because each interval of a run is an example for its model of IPC: 60 runs give thousands. Where cycles and instructions were not counted there is no IPC, and events are asked for the time of a run, one example each; then that advantage is not shown here.
# Ranges decide what is important: a parameter whose ends are near each other for a program is unimportant by construction. The cluster is one machine of two processors, and programs last seconds; start-up is part of every run.
# Importance is of a model, not a cause. An event that no knob moves alone is not shown to cause anything here, nor is one that the knob could not move as far as the model would need to say something.
# An emitted event is like the program's own only as the kernel counts it: a call that does as little as it can, in a process beside the program's. That it goes along with the time says that the event does not cost it; what the program does when it makes that event may.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §V-D. Lv, Sun, Yu, on gradient boosting and processor events, 2018, §4.3. Friedman and Popescu, *Predictive learning via rule ensembles*, 2008.

# %%
results.save()
