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
# This is the study on gradient boosting and processor events (Lv, Sun, Yu, 2018; "GBRT paper" below) on our recordings: its Eq. 1–3, Figures 2, 3, 5, 6 and Table 1. It sampled once a second; here an interval is a tenth of that.

# %% tags=["parameters"]
program = "all"  # programs to study, separated by commas, or all
method = "joint"  # cleaning of the runs {cmlib.clean.DISTINCT_METHODS}
step = 10  # events dropped at a time [1, 100]
test_share = 0.2  # random share of rows kept back for the test, as in the paper [0.05, 0.5]
n_seeds = 10  # models behind the spread of an importance [2, 100]
top = 5  # events shown a program [3, 30]
seed = 0  # of the random share and of the models [0, 1000000]
settings = {}  # jobs, executor, scheduler, database, interactive, profile, results_folder

# %%
from functools import partial

import pandas as pd

from cmlib import events, explore, plot, study
from cmlib.fanout import fan_out
from cmlib.notebook import begin
from cmlib.rank import stability
from cmlib.report import paper

# %%
notebook = begin("03a_merging_runs", globals())
results, workers = notebook.results, notebook.workers
gbrt = paper("gbrt")
url = notebook.database
table = study.event_table(url)
programs = study.mergeable(url, program)

# %% [markdown]
# ## No two runs take the same time
#
# Every run counts other events, so that a row of one run has no partner in another unless something tells where in the program both are. Time does not tell it: look at how far the runs of one program, points of one colour, lie apart.

# %%
times = study.run_times(url, programs)
figure, _ = plot.run_times(times, ylabel="run time [s]")
results.figure(figure, "fig02",
               f"**GBRT paper, Figure 2.** Time of every run, {len(times)} runs of "
               f"{', '.join(programs)}: unmultiplexed, multiplexed, and the sweep through all "
               "events.")

# %%
spread = study.run_time_spread(times)
spread["mean, paper [s]"] = [gbrt["run_time_s"].get(name, {}).get("mean", float("nan"))
                             for name in spread["program"]]
spread["variance, paper [s²]"] = [gbrt["run_time_s"].get(name, {}).get("variance", float("nan"))
                                  for name in spread["program"]]
results.table(spread, "run-times",
              "**Table.** Run times. The paper prints its variances in s; they are s².")

# %% [markdown]
# The paper's runs are of larger inputs, on four servers that share the work.
#
# ## Two ways to put them together
#
# Run *i* counts q_i events (Eq. 1); together they are the events of the matrix (Eq. 2). The paper puts one run below the other, moves an event that several runs counted to one column, and fills the rest with zeros: a matrix of blocks.
# Aligned by progress instead (the same share of retired instructions is taken to be the same place in the program), the runs give a matrix with one row a place and no filling. Columns are scaled to 0–1 (Eq. 3).

# %%
clean = partial(study.recorded_runs, url, method=method, workers=workers)
runs = {name: clean(name) for name in programs}
pictures = {f"{programs[-1]}, {how}": X for how, X in study.merged(runs[programs[-1]]).items()}
figure, _ = plot.matrices(pictures, label="count, scaled (Eq. 3)")
results.figure(figure, "fig03",
               f"**GBRT paper, Figure 3.** The runs of {programs[-1]}, stacked (counts) and "
               "aligned by progress (per cycle). White: filling, and each event's least value.")

# %% [markdown]
# Left, every block is a run. Columns that are coloured in several blocks, at the left edge, are the core events, which several runs counted. Right, every row has all events.

# %%
shape = pd.DataFrame({name: study.merged_shape(group) for name, group in runs.items()}).T
results.table(shape.rename_axis("program").reset_index().convert_dtypes(), "shape",
              "**Table.** Eq. 1 and 2 on these runs, and how much of each matrix was counted. The "
              "models below take the first pass alone.")

# %% [markdown]
# ## Which of the two makes better models?
#
# They differ in more than their zeros. The paper's values are counts, and each row has the IPC of its own run; aligned, values are events per cycle (which IPC shares the cycles with), and IPC is the mean of all runs, which varies less and is easier to tell.
# So the two are compared like with like: the same steps of progress, the same blocks held out (in all runs at once), the same trees. Both are judged by the IPC of each run, and by the mean of all runs, for which the stacked model's predictions for the runs are averaged.

# %%
compare = partial(study.compare_fusions, seed=seed)
compared = dict(zip(programs, fan_out(compare, runs.values(), workers=workers), strict=True))
fusions = pd.concat(compared, names=["program"]).reset_index("program")
results.table(fusions, "fusions",
              "**Table.** Errors [%] of models of all events on blocks, judged by the IPC of each "
              "run and by the mean of runs; *none*: predicting the mean of the other blocks.")

# %%
judged = fusions.query("values == 'per cycle' and fusion != 'aligned, small trees'")
judged = judged.melt(["program", "fusion"], ["each run", "mean of runs"], "judged by", "error")
judged["model"] = judged["fusion"] + ", judged by " + judged["judged by"]
figure, _ = plot.bars_by_program(judged, value="error", hue="model",
                                 ylabel="IPC error on blocks [%]")
results.figure(figure, "fusion",
               "**Figure.** Models of the same events per cycle with the same trees, on stacked "
               "and on aligned runs; each pair of equal judges is one fair comparison.")

# %% [markdown]
# Compare bars with the same judge: only they differ in nothing but the way the runs were put together. From one judge to the other the error falls for both, as the noise of single runs is averaged away.
# The table goes from the paper's way to this package's, one change at a time. In another order the shares would be others.

# %%
gains = study.gain_by_change(fusions)
results.table(gains.rename_axis(columns=None).reset_index(), "gains",
              "**Table.** Error on blocks [%] after each change and those before it, and its share "
              "of the gain in the mean over programs [%].")

# %% [markdown]
# All other notebooks use aligned runs, whichever errs less: every row holds all events, so that they compete for importance at the same place of the program, and there are far fewer rows to fit.
#
# ## Fewer events
#
# As in the paper: runs stacked, the least important events dropped ten at a time, and the error taken on a random fifth of the rows. Notebook 03 does the same on aligned runs, and takes the error on blocks as well: a row's neighbours tell much of it.

# %%
fewer = partial(study.refine_stacked, step=step, test_share=test_share, seed=seed)
histories = dict(zip(programs, fan_out(fewer, runs.values(), workers=workers), strict=True))
lowest = pd.DataFrame({name: h.loc[h["error"].idxmin()] for name, h in histories.items()}).T
lines = {"error": "stacked runs", "mean_baseline": "mean baseline"}
figure, _ = plot.refinement(histories, lines=lines,
                            marked=lowest["n_events"].astype(int).to_dict(),
                            paper=gbrt["model_error_percent"],
                            paper_label="paper, mean of 8 programs")
results.figure(figure, "fig05",
               "**GBRT paper, Figure 5.** Error on a random fifth of the rows against the number "
               "of events left; dotted: where it is lowest.")

# %% [markdown]
# ## One model of all programs
#
# Each program's most accurate model (chosen on blocks, as in notebook 03) stands beside *Mix*, a model of the rows of all programs together. Mix also has to tell programs apart, whose mean IPC differs: an event that does so counts as important, even if it says nothing inside any of them.

# %%
matrices = {name: study.matrix(group) for name, group in runs.items()}
data = matrices | {"Mix": study.mixed(matrices)}
refine = partial(study.refine, step=step, test_share=test_share, seed=seed)
refined = dict(zip(data, fan_out(refine, data.values(), workers=workers), strict=True))
seeds = range(n_seeds)
draws = {name: stability.draw_importances(data[name].X[r.events], data[name].ipc, seeds=seeds)
         for name, r in refined.items()}
spreads = {name: stability.importance_spread(drawn).head(top) for name, drawn in draws.items()}
leading = {name: s.assign(abbr=events.abbreviate(s.index, table)) for name, s in spreads.items()}

# %%
figure, _ = plot.ranking(leading, value="mean", low="low", high="high", label="abbr",
                         xlabel="importance [%]", columns=3)
results.figure(figure, "fig06",
               f"**GBRT paper, Figure 6.** The {top} most important events of each program, and of "
               "all together (Mix). Bars: mean of resampled models; lines: nine of ten of them.")

# %%
errors = study.mixed_errors(data["Mix"], seed=seed)
results.table(errors, "mixed",
              "**Table.** IPC error [%] of models of all events on blocks held out: one model of "
              "all programs, models of one; then with the whole program held out.")

# %%
named = pd.concat(leading, names=["program", "event"]).reset_index()
named = named.groupby(["abbr", "event"])["program"].agg(", ".join).reset_index()
named["description"] = table["description"].reindex(named["event"]).to_numpy()
results.table(named, "table1",
              "**GBRT paper, Table 1.** The events of Figure 6: whose they are, and what they "
              "count.", rows=60)

# %% [markdown]
# ## Which events do programs share?
#
# The papers name events that matter in every program, and find HiBench's programs less alike than CloudSuite's. Both can be asked of the programs that are here, by suite; one or two pairs cannot say how alike a suite is.

# %%
own = {name: draws[name] for name in programs}
suite_of = study.suites(programs)
common = study.common_events(own, suite_of).assign(abbr=lambda f: events.abbreviate(f.index, table))
results.table(common.reset_index(), "common",
              "**Table.** Events among the first ten of some program: of how many programs, by "
              "suite; importance: mean over all programs [%].", rows=40)

# %%
alike = study.likeness(own, suite_of, seed=seed)
inside = int((alike["suites"] != "across").sum())
results.table(alike, "likeness",
              "**Table.** Share of the first ten events that two programs have in common, with "
              f"its 90 % interval over resampled models; {inside} of {len(alike)} pairs are inside "
              "one suite.")

# %% [markdown]
# ## What was found
#
# Beside the paper's values stand means of its own programs only, those of HiBench. The paper's abstract gives its models an accuracy of 95 %; the lowest mean error that it prints, 6.3 %, would be 93.7 %.

# %%
of_paper = study.of_suites(programs, ["HiBench"])
if of_paper:
    note = f"mean of {', '.join(of_paper)}; the paper: mean of eight programs"
    everything = pd.DataFrame({name: histories[name].iloc[0] for name in of_paper}).T
    results.number("error, all events, stacked, random fifth", everything["error"].mean(), "%",
                   paper=gbrt["model_error_percent"][229], note=note)
    results.number("lowest error, stacked, random fifth", lowest.loc[of_paper, "error"].mean(), "%",
                   paper=gbrt["model_error_percent"][150], note=note)

# %%
steps = gains["share of the gain"].dropna()
for change, share in steps.items():
    results.number(f"share of the gain over stacked runs: {change}", share, "%",
                   note="mean of the programs, on blocks")
results.number("sd of run times, mean", spread["sd [% of mean]"].mean(), "% of mean",
               note="the paper: kmeans 8 %, wordcount 28 %")
results.number("error of one model of all programs, on blocks",
               errors["of all programs"].mean(), "%",
               note=f"models of one program: {errors['of its own'].mean():.1f} %")
results.number("events among the first ten of every program",
               int((common["programs"] == len(programs)).sum()), "events",
               note=f"of {', '.join(programs)}; the paper: ISIF and BIEB in all eight of its own")

# %%
display(results.finding(study.say_fusions(fusions)))
if len(programs) > 1:
    shared = common.index[common["programs"] == len(programs)]
    everywhere = ", ".join(f"`{event}`" for event in shared) or "none"
    first = ", ".join(f"`{event}`" for event in leading["Mix"].index[:3])
    display(results.finding(f"Among the first ten events of every program: {everywhere}. In the "
                            f"model of all programs these lead: {first}."))
    display(results.finding(study.say_mixed(errors)))
results.numbers()

# %% [markdown]
# ## Explore
#
# The ranking of all programs together beside a single one's, or any two beside each other, from any step of the refinement. Nothing is fitted anew: these are the models above.

# %%
panel = explore.ranking({"Mix": refined["Mix"]} | refined, draws, table, top=top)
caption = ("**Figure.** The first setting of the panel that JupyterLab shows here: Mix beside one "
           "program. Blue: events that are in both lists, tied by a line.")
panel if notebook.interactive else results.figure(panel.figure(), "explore", caption)

# %% [markdown]
# ## What this doesn't show
#
# The paper's Figure 1, the error of multiplexing from 10 to 36 events at a time, which it finds to grow by 46 %: the committed runs were multiplexed at 12 only. Its Figure 4 is a flow chart; its Table 2 and Eq. 9, on tuning Spark, are the matter of notebook 08.
# Stacked and aligned runs were compared in steps of progress; rows that are intervals, as the paper has them, are in Figure 5 alone.
#
# **References.** Lv, Sun, Yu, *Mining CPU performance data based on gradient boosting regression tree*, 2018 (in Chinese), §3 and §4. Lv et al., *CounterMiner*, MICRO 2018, §V-B.

# %%
results.save()
