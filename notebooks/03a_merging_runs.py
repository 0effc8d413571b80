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
# # Merging runs: from many runs to one matrix, from many programs to one model
#
# **Question.** How are runs that counted different events put together, and which events matter across programs?
#
# *Reads* the store. *Writes* run times, the merged matrices, the errors of models on both, the ranking of a model of all programs, and the events that programs share.
#
# This is the study on gradient boosting and processor events (Lv, Sun, Yu, 2018; "GBRT paper" below) on our recordings: its Eq. 1–3, Figures 2, 3, 5, 6 and Table 1.

# %% tags=["parameters"]
program = "all"  # programs to study, separated by commas, or all
method = "joint"  # cleaning of the runs {scaling, interpolate, counterminer, joint}
step = 10  # events dropped at a time [1, 100]
test_share = 0.2  # random share of rows kept back for the test, as in the paper [0.05, 0.5]
n_seeds = 10  # models behind the spread of an importance [2, 100]
top = 5  # events shown a program [3, 30]
seed = 0  # of the random share and of the models [0, 1000000]
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

from cmlib import events, explore, plot, stability, study
from cmlib.fanout import Workers, fan_out
from cmlib.report import Results, paper

# %%
results = Results("03a_merging_runs", title="Merging runs: from many runs to one matrix, from many programs to one model",
                  question="How are runs that counted different events put together, and which events matter across programs?",
                  profile=profile, folder=results_folder or None)
workers, gbrt, url = Workers(jobs, executor, scheduler), paper("gbrt"), study.open_database(database)
table = study.event_table(url)
programs = study.programs(url, program, modes=["ocoe", "mlpx"])

# %% [markdown]
# ## No two runs take the same time
#
# Every run counts other events, so that a row of one run has no partner in another unless something tells where in the program both are. Time does not: runs of one program on one machine differ.

# %%
times = study.run_times(url, programs)
figure, _ = plot.run_times(times, ylabel="run time [s]")
results.figure(figure, "fig02", f"**GBRT paper, Figure 2.** Time of every run, {len(times)} runs of {', '.join(programs)}, in the order of their names (unmultiplexed, multiplexed, sweep). What to see: how far points of one colour lie apart.")

# %%
spread = study.run_time_spread(times)
spread["mean, paper [s]"] = [gbrt["run_time_s"].get(name, {}).get("mean") for name in spread["program"]]
spread["variance, paper [s²]"] = [gbrt["run_time_s"].get(name, {}).get("variance") for name in spread["program"]]
results.table(spread.astype({"mean, paper [s]": float, "variance, paper [s²]": float}), "run-times", "**Table.** Run times. The paper prints its variances in s; they are s². Its runs are longer, on four servers.")

# %% [markdown]
# ## Two ways to put them together
#
# Run *i* counts q_i events (Eq. 1); together they are the events of the matrix (Eq. 2). The paper puts one run below the other, moves an event that several runs counted to one column, and fills the rest with zeros: a matrix of blocks.
# Laid over each other by progress instead (the same share of retired instructions is the same place in the program), the runs give a matrix with one row a place and no filling. Columns are scaled to 0–1 (Eq. 3).

# %%
runs = {name: study.cleaned_runs(url, name, ["ocoe", "sweep"], method=method, workers=workers) for name in programs}
figure, _ = plot.matrices({f"{programs[-1]}, {how}": X for how, X in study.merged(runs[programs[-1]]).items()}, label="count, scaled (Eq. 3)")
results.figure(figure, "fig03", f"**GBRT paper, Figure 3.** The runs of {programs[-1]}, merged: left one below the other, right laid over each other by progress, in rates per cycle. White: filling, and each event's least value. "
               "Columns in which colour repeats further down, top left, are events that several runs counted: the core events, once a pass.")

# %%
shape = pd.DataFrame({name: study.merged_shape(group) for name, group in runs.items()}).T.rename_axis("program").reset_index()
results.table(shape.convert_dtypes(), "shape", "**Table.** Eq. 1 and 2 on these runs, and how much of each matrix was counted. The models below take the first pass alone.")

# %%
fusions = pd.concat(dict(zip(programs, fan_out(partial(study.compare_fusions, test_share=test_share, seed=seed), runs.values(), workers=workers))), names=["program"]).reset_index()
display(results.table(fusions, "fusions", "**Table.** Error of a model of all events [%] on a random share of rows, and on blocks of neighbouring rows that it never saw; *trivial* predicts the mean."))
shown = fusions.melt(["program", "fusion"], ["error", "blocks_error"], "held out", "value")
shown["model"] = shown["fusion"] + ", " + shown["held out"].map({"error": "random rows", "blocks_error": "blocks"})
figure, _ = plot.bars_by_program(shown, value="value", hue="model", ylabel="IPC error [%]")
results.figure(figure, "fusion", "**Figure.** Error of one model of all events on stacked and on aligned runs. Random rows have neighbours in the training rows; blocks don't.")

# %% [markdown]
# ## Fewer events
#
# As in the paper: the least important events are dropped ten at a time, and the error is taken on a random fifth of the rows. Notebook 03 takes it on stretches the model never saw as well.

# %%
histories = dict(zip(programs, fan_out(partial(study.refine_both, step=step, test_share=test_share, seed=seed), runs.values(), workers=workers)))
figure, _ = plot.refinement(histories, lines={"stacked": "stacked (as the paper)", "aligned": "aligned", "trivial": "predicting the mean"}, paper=gbrt["model_error_percent"],
                            marked={name: int(h.loc[h["stacked"].idxmin(), "n_events"]) for name, h in histories.items()}, paper_label="paper, mean of 8 programs")
results.figure(figure, "fig05", "**GBRT paper, Figure 5.** Error on a random fifth of the rows against the number of events left; dotted: where the stacked model's is lowest.")

# %% [markdown]
# ## One model of all programs
#
# Each program's most accurate model (chosen on blocks, as in notebook 03) beside *Mix*, a model of the rows of all programs together. Bars: mean of resampled models; lines: nine of ten of them.

# %%
matrices = {name: study.matrix(group) for name, group in runs.items()}
data = matrices | {"Mix": study.mixed(matrices)}
refined = dict(zip(data, fan_out(partial(study.refine, step=step, test_share=test_share, seed=seed), data.values(), workers=workers)))
draws = {name: stability.draw_importances(data[name].X[r.events], data[name].ipc, seeds=range(n_seeds)) for name, r in refined.items()}
leading = {name: stability.importance_spread(d).head(top).assign(abbr=lambda f: events.abbreviate(f.index, table)) for name, d in draws.items()}
figure, _ = plot.ranking(leading, value="mean", low="low", high="high", label="abbr", xlabel="importance [%]", columns=3)
results.figure(figure, "fig06", f"**GBRT paper, Figure 6.** The {top} most important events of each program, and of all together (Mix). Mix also has to tell programs apart, whose mean IPC differs.")

# %%
errors = study.mixed_errors(data["Mix"], refined["Mix"].events, seed=seed)
results.table(errors, "mixed", "**Table.** IPC error [%] on blocks held out, of the mixed model and of models of one program; then with the whole program held out.")

# %%
named = pd.concat(leading, names=["program", "event"]).reset_index()[["abbr", "event", "program"]].groupby(["abbr", "event"])["program"].agg(", ".join).reset_index()
named["description"] = table["description"].reindex(named["event"]).to_numpy()
results.table(named, "table1", "**GBRT paper, Table 1.** The events of Figure 6: whose they are, and what they count.", rows=60)

# %% [markdown]
# ## Which events do programs share?
#
# The papers name events that matter in every program, and find HiBench's programs less alike than CloudSuite's. Both can be asked of the programs that are here, by suite.

# %%
own = {name: draws[name] for name in programs}
suite_of = study.suites(programs)
common = study.common_events(own, suite_of).assign(abbr=lambda f: events.abbreviate(f.index, table))
display(results.table(common.reset_index(), "common", "**Table.** Events among the first ten of some program: of how many programs, by suite; importance: mean over all programs [%].", rows=40))
alike = study.likeness(own, suite_of, seed=seed)
results.table(alike, "likeness", "**Table.** Share of the first ten events that two programs have in common, with its 90 % interval over resampled models; "
              f"pairs: {len(alike)}, inside one suite: {int((alike['suites'] != 'across').sum())}. One or two pairs cannot say how alike a suite is.")

# %%
lowest = pd.DataFrame({name: h.min() for name, h in histories.items()}).T
results.number("error, all events, stacked, random fifth", pd.concat([h.iloc[[0]] for h in histories.values()])["stacked"].mean(), "%", paper=gbrt["model_error_percent"][229], note="mean of the programs")
results.number("error, events kept, stacked, random fifth", lowest["stacked"].mean(), "%", paper=gbrt["model_error_percent"][150], note="lowest of each program")
results.number("error, events kept, aligned, random fifth", lowest["aligned"].mean(), "%", note="no such matrix in the paper")
results.number("sd of run times, mean", spread["sd [% of mean]"].mean(), "% of mean", note="the paper: kmeans 8 %, wordcount 28 %")
results.number("error of one model of all programs, on blocks", errors["of all programs"].mean(), "%", note=f"models of one program: {errors['of its own'].mean():.1f} %")
results.number("events among the first ten of every program", int((common["programs"] == len(programs)).sum()), "events", paper=2, note="the paper: ISIF and BIEB in all eight")

# %%
results.finding(f"Runs laid over each other by progress give a model that errs by {lowest['aligned'].mean():.1f} %, stacked ones by {lowest['stacked'].mean():.1f} %.")
if len(programs) > 1:
    everywhere = ", ".join(f"`{event}`" for event in common.index[common["programs"] == len(programs)]) or "none"
    display(results.finding(f"Among the first ten events of every program: {everywhere}. In the model of all programs these lead: {', '.join(f'`{e}`' for e in leading['Mix'].index[:3])}."))
    display(results.finding(study.say_mixed(errors)))
results.numbers()

# %% [markdown]
# ## Turn the knobs
#
# The ranking of all programs together beside a single one's, or any two beside each other, from any step of the refinement. Nothing is fitted anew: these are the models above.

# %%
panel = explore.ranking({"Mix": refined["Mix"]} | refined, draws, table, top=top)
panel if interactive else results.figure(panel.figure(), "explore", "**Figure.** The first setting of the panel that JupyterLab shows here: Mix beside one program. Blue: events that are in both lists, tied by a line.")

# %% [markdown]
# ## What this doesn't show
#
# The paper's Figure 1, the error of multiplexing from 10 to 36 events at a time, which it finds to grow by 46 %: the committed runs were multiplexed at 12 only. Its Figure 4 is a flow chart; its Table 2 and Eq. 9 are about tuning Spark, which no notebook does yet.
# Aligned rows are means over runs of one place in the program, and so vary less than a single run's: part of their lower error is that there is less to err about. The mixed model's events were chosen with all rows; the errors on blocks are a little too good for it.
#
# **References.** Lv, Sun, Yu, *Mining CPU performance data based on gradient boosting regression tree*, 2018 (in Chinese), §3 and §4. Lv et al., *CounterMiner*, MICRO 2018, §V-B.

# %%
results.save()
