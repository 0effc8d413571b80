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
# # Another pass: does a model of IPC hold when the program runs again?
#
# **Question.** Does a model of IPC that learned from one pass over the events hold on another pass of the same program, better than a prediction that looks at no event?
#
# *Reads* the store (the database of all recordings, notebook 01). *Writes* the model's error on another pass, beside what looks at no event, and how far cleaning moves the events' correlation with IPC.
#
# A *pass* is one round of runs that together count every event in one of them. Two things can flatter a model that is tested on the pass it learned from, as in notebook [03](../03_ranking.ipynb): the neighbours of a test row were learned, and if events took turns on the counters (multiplexing), their counts were cleaned. Here the test rows are those of the *second pass*, and the *first pass* is learned. The dozen *core events* (branches, cache misses, stalls) are spread over the four runs of a pass, and each is counted through the whole of its run, so that nothing is cleaned. What cleaning would have done is measured in the last section.

# %% [markdown] tags=["answer"]
# > **Answer** (bzip2, gcc, kmeans and wordcount as recorded for this project, default parameters). No. A model of the core events that learned from one pass, without events that are IPC under another name, predicts IPC of a second pass with an error of **6.1 %**. Repeating the first pass, without looking at any event, errs by **4.8 %**, a straight line through one event by 9.0 %, and the mean by **20.9 %**. The model beats the repeated pass in **0** of 4 programs, so the events add nothing to knowing the place in the program.

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas, or all
method: str = "shrinkage"  # cleaning that is examined: shrinkage, counterminer …
seed: int = 0  # of the models, and of the random fifth
settings: dict = {}  # jobs, executor, scheduler, database, profile, results_folder

# %%
import numpy as np
import pandas as pd
from IPython.display import Markdown

from cmlib import experiments as study
from cmlib import merge, plot
from cmlib.errors import UnfitRecordingError
from cmlib.experiments.data import describe_data, refuse_simulated
from cmlib.io import store
from cmlib.rank import regressor
from cmlib.report.notebook import begin

# %%
limits = {"method": "cmlib.clean.DISTINCT_METHODS", "seed": (0, 1_000_000)}
notebook = begin("another_pass", settings, program=program, method=method, seed=seed)
results, workers, url = notebook.results, notebook.workers, notebook.database

# %% [markdown]
# ## The data: two passes a program
#
# The runs of a pass are aligned by progress: the same share of retired instructions is taken to be the same place in the program. A row is a step of progress, a column an event per cycle, and IPC is the mean of the pass's runs.

# %%
programs, aim = study.choose_target(url, program)
refuse_simulated(url, programs, "a simulation that is repeated gives the same counts.")
passes = study.core_runs(url, programs, workers=workers) if aim == study.IPC else {}
if not passes:
    raise UnfitRecordingError(
        f"{', '.join(programs)}: a second pass takes the same events counted twice, all the time: "
        "`cmlib record NAME --events core --runs 2 -- COMMAND`.")
display(Markdown(describe_data(url, list(passes))))
table = study.event_table(url)
matrices = {name: study.matrix(runs, table=table) for name, runs in passes.items()}
first = matrices[name := next(iter(matrices))]
print(f"Of these, the {sum(map(len, passes.values()))} runs of core events. {name}: "
      f"{len(first.X)} rows of {first.X.shape[1]} events a pass; the first 3 rows of 4 events, per "
      "cycle:")
first.X.iloc[:3, :4].map("{:.5f}".format)

# %%
both = {name: {"first pass": one.ipc, "second pass": one.holdout[1]}
        for name, one in matrices.items()}
figure, _ = plot.series_by_program(both, ylabel="IPC", xlabel="progress [share of instructions]")
alike = {name: one.ipc.corr(one.holdout[1]) for name, one in matrices.items()}
results.figure(figure, "passes",
               "**Figure.** IPC of both passes over progress, each the mean of its runs. *See:* "
               "the program does the same at the same place; the correlation of the two lines is "
               + ", ".join(f"{r:.2f} ({name})" for name, r in alike.items())
               + ". So the first pass alone foretells much of the second, without any event.")

# %% [markdown]
# ## The test
#
# The model *perf* (gradient boosted trees, as in notebook 03) learns IPC by the events $e_t$ of all steps $t$ of the first pass. Its error on the second pass (whose values have a prime) is CounterMiner's Eq. 14, averaged over $n$ steps:
#
# $$err = \frac{100\,\%}{n} \sum_{t=1}^{n} \frac{|IPC'_t - perf(e'_t)|}{IPC'_t}$$
#
# It has to beat a straight line through the one event that correlates best, and two predictions that take no event: the *repeat* has $IPC_t$, that of the first pass at the same place, instead of $perf(e'_t)$; the *mean* has the first pass's mean, $\overline{IPC}$. Where the repeat is as good, the events add nothing to knowing the place in the program.

# %%
e, IPC = first.X[sorted(first.X)], first.ipc
e_second, IPC_second = first.holdout[0][e.columns], first.holdout[1]
perf = regressor(seed=seed).fit(e, IPC)


def err(predicted):
    return 100 * (abs(IPC_second - predicted) / IPC_second).mean()


errors = {"model": err(perf.predict(e_second)), "repeat": err(IPC.to_numpy()),
          "mean": err(IPC.mean())}
print(f"{name}, the first pass learned, the second predicted: the model errs by "
      f"{errors['model']:.2f} %, the repeat by {errors['repeat']:.2f} %, the mean by "
      f"{errors['mean']:.2f} %.")

# %% [markdown]
# The library does this for every program (checked for the first). It also tests on the first pass itself, to show what such tests are worth: on a *random fifth* of its rows, as the paper does, beside a straight line between the nearest rows that were learned; and on *unseen blocks*, stretches of progress that were not learned, beside the mean of the others.

# %%
MODEL, ONE_EVENT = "second pass: model", "line through one event"
REPEAT, MEAN = "repeat of the first pass", "mean of the first pass"


def test_model(one):
    """Errors [%] of a model of all core events, each beside what looks at no event."""
    refined = study.refine(one, seed=seed)
    error, without = refined.history.loc[0], refined.baselines
    return {"random fifth: model": error["error"], "line": without["neighbours"],
            "unseen blocks: model": error["blocks_error"], "one event": without["blocks_one_event"],
            "mean": without["blocks_mean"], MODEL: error["holdout_error"],
            ONE_EVENT: without["holdout_one_event"], REPEAT: without["holdout_repeat"],
            MEAN: without["holdout_mean"]}


tested = pd.DataFrame({name: test_model(one) for name, one in matrices.items()}).T
tested = tested.rename_axis("program").reset_index()
of_library = tested.loc[0, [MODEL, REPEAT, MEAN]]
np.testing.assert_allclose(of_library.astype(float), list(errors.values()))

# %%
shown = tested.melt("program", [MODEL, ONE_EVENT, REPEAT, MEAN], "prediction", "error")
shown = shown.replace({"prediction": {MODEL: "model of the core events"}})
figure, ax = plot.dots_by_program(shown, value="error", hue="prediction",
                                  xlabel="IPC error on the second pass [%]", grey=[MEAN])
ax.set_xlim(0, None)
wins = tested[MODEL] < tested[REPEAT]
winners, losers = (", ".join(tested["program"][rows]) or "none" for rows in (wins, ~wins))
means = tested.drop(columns="program").mean()
margin = (tested[MEAN] / tested[[MODEL, REPEAT]].max(axis=1)).min()
results.figure(figure, "other-pass",
               "**Figure.** Error of IPC on the second pass (Eq. 14), the first pass learned. "
               f"*See:* the mean (grey) errs {margin:.1f} times as much as model and repeat or "
               "more; the "
               f"model errs by less than the repeat for {winners}, by more for {losers}.")

# %%
near = (tested["random fifth: model"] < tested["line"]).sum()
lower = (tested["random fifth: model"] < tested[MODEL]).sum()
results.table(tested, "core",
              "**Table.** Errors [%] of the model on a random fifth of the first pass (*line*: "
              "between the nearest rows that were learned), on unseen blocks of it (*one event*: a "
              "line through the best one; *mean*: of the other blocks), and on the second pass, "
              "each before what looks at one event or none on the same rows. "
              f"*See:* the model errs by less than the line for {near} of "
              f"{len(tested)}, by less than the repeat for {wins.sum()}; its error on a random "
              f"fifth is below that on the second pass for {lower}.")

# %% [markdown]
# ## What cleaning would have added
#
# The core events were recorded multiplexed, too, and such counts can be cleaned in two ways here. *interpolate* only draws straight lines over the time in which an event was not counted. *shrinkage* moves each count $y_i$ towards the mean $\bar y_i$ of its two neighbours in time, by the share $w_i$ of their difference that is error of multiplexing (notebook studies/repair has $w_i$):
#
# $$\hat y_i = y_i - w_i \, (y_i - \bar y_i), \qquad 0 \le w_i \le 1.$$
#
# The neighbours may be those of the rate per cycle. Such a rate is moved by the cycles as well as by the event, and cycles are always known, so that smoothing can tie events to IPC, and a model then finds IPC in them: partly a circle. For each core event the rank correlation with IPC is taken, without its sign,
#
# $$|\rho_e| = |\mathrm{corr}(\mathrm{rank}(e_t),\ \mathrm{rank}(IPC_t))|,$$
#
# and averaged: counted all the time, multiplexed and interpolated, and multiplexed and cleaned by `method`. From the first to the second is no work of smoothing: these are other runs. A multiplexed run has IPC and all core events; of the runs without multiplexing each counts a fourth of the events, so that an event is held against the mean IPC of all these runs, a fourth of which counted it. From the second to the third is what `method` adds on the same counts, and only this can be the circle.

# %%
def correlations(name, sets, how):
    """Rank correlation with IPC of the events of some runs, cleaned by a method."""
    runs = study.cleaned_runs(url, name, list(sets), method=how, workers=workers)
    X, ipc = merge.align_runs(list(runs["counts"]))
    return X.loc[:, X.nunique() > 1].corrwith(ipc, method="spearman")


TRUE, FILLED = "counted all the time", "interpolate"
rho, n_mlpx = {}, 0
for name in matrices:
    runs = store.runs(url, program=name).query("set != 'sweep'")
    sets = {mode: group["set"].unique() for mode, group in runs.groupby("mode")}
    if {"ocoe", "mlpx"} <= set(sets):
        columns = {TRUE: correlations(name, sets["ocoe"], FILLED)}
        n_mlpx += (runs["mode"] == "mlpx").sum()
        columns |= {how: correlations(name, sets["mlpx"], how) for how in (FILLED, method)}
        rho[name] = pd.DataFrame(columns).dropna().abs()

# %%
def by_program(values):
    """Signed values of a Series as words, each with its program."""
    return ", ".join(f"{value:+.3f} ({name})" for name, value in values.items())


n_core = " or ".join(map(str, sorted({len(events) for events in rho.values()})))
if rho:
    mean_rho = pd.DataFrame({name: events.mean() for name, events in rho.items()}).T
    level, added = mean_rho[FILLED] - mean_rho[TRUE], mean_rho[method] - mean_rho[FILLED]
    mean_rho = mean_rho.rename_axis("program").reset_index()
    shown = mean_rho.melt("program", var_name="counts", value_name="correlation")
    figure, ax = plot.dots_by_program(shown, value="correlation", hue="counts", grey=[TRUE],
                                      xlabel="rank correlation with IPC, without sign")
    ax.set_xlim(0, None)
    display(results.figure(figure, "correlations",
                           "**Figure.** Rank correlation of events with IPC, without sign, mean "
                           f"of {n_core} core events; grey: counted all the time, the others "
                           f"multiplexed ({n_mlpx} runs) and cleaned. *See:* interpolate alone "
                           f"lies {by_program(level)} from the grey; from there {method} adds "
                           f"{by_program(added)}."))
    display(results.table(mean_rho, "correlations", "**Table.** The same in numbers.", decimals=4))

# %% [markdown]
# ## The answer

# %%
n, model, repeat = len(tested), means[MODEL], means[REPEAT]
verdict = "Yes" if wins.all() else "In part" if wins.any() else "No"
display(results.finding(
    f"{verdict}: on a second pass a model of a dozen hardware events errs by {model:.1f} %, the "
    f"first pass repeated, without any event, by {repeat:.1f} %; the model wins for {wins.sum()} "
    f"of {n} program{'s' * (n > 1)}. It wins for {winners}, and loses for {losers}; the mean of "
    f"the first pass errs by {means[MEAN]:.1f} %. On a random fifth of the pass that it learned "
    f"from the model errs by {means['random fifth: model']:.1f} %, a straight line between the "
    f"rows beside it by {means['line']:.1f} %. One pair of passes a program does not tell whether "
    "differences of half a point would come again."))
if rho:
    display(results.finding(
        f"Where events are multiplexed, {method} adds {by_program(added)} to their rank "
        f"correlation with IPC, beyond straight lines over the same gaps: more than 0 in "
        f"{(added > 0).sum()} of {len(added)}. So much may be IPC that cleaning put into the "
        f"events. Straight lines alone already differ from events counted all the time by "
        f"{by_program(level)}, which no smoothing did. The test of the model is free of both, as "
        "its events were counted all the time."))
results.number("model error on another pass", model, "%", note=f"mean of {', '.join(passes)}")
results.number("error of the first pass repeated", repeat, "%", note="baseline, no event")
results.number("error of the mean of the first pass", means[MEAN], "%", note="baseline, no event")
results.number("programs where the model errs by less than the pass repeated", wins.sum(),
               "programs", note=f"of {n}")
results.numbers()

# %% [markdown]
# ## What this doesn't show
#
# Both passes are of one machine and one input: another input or machine is a harder test (notebook [across_programs](across_programs.ipynb) takes other programs). The model is of the dozen core events; all events together (notebook 03) were counted in one pass only. A correlation that rises with smoothing may also rise because error is taken away; and how much the importances in notebook 03 rise with it is not measured here.
#
# ## On your own program
#
# `cmlib record NAME --events core --runs 2 -- COMMAND` records two passes of the core events in both modes (`--mode` is left out): counted all the time, and multiplexed. Then `cmlib run live another_pass -p program=NAME` makes the report from them. The parameter to change first is `method`, the cleaning in the last figure (`-p method=counterminer`); recorded with `--mode ocoe` alone, there is no such figure.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §V-B (Eq. 14).

# %%
results.save()
