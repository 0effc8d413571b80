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
# # Extrapolation: which multiplexed counts can be believed
#
# **Question.** How thinly was each event counted, what does cleaning do where there is no truth to compare with, and what should be recorded next?
#
# *Reads* the store. *Writes* a table of all events of one multiplexed run a program, and for the report's first page which of them can't be believed.
#
# Notebook 02 compares cleaned counts with runs in which the same events were counted all the time. A service that was measured once with `perf stat -I` has no such runs.
# What is left is the run itself: for which share of the time an event was on a counter, how much its counts change from interval to interval, and what the other events say about it. No error against the truth is shown here, as none is known.

# %% tags=["parameters"]
program = "all"  # programs to study, separated by commas, or all
top = 15  # events shown a program [3, 60]
settings = {}  # database, profile, results_folder

# %%
import pandas as pd

from cmlib import plot, study
from cmlib.notebook import begin

notebook = begin("02b_extrapolation", globals())
results, url = notebook.results, notebook.database

# %% [markdown]
# ## How thinly was it counted, and what does cleaning do?
#
# Of each program, the multiplexed run with the most events is taken. *Share* is the running share; of the rest of the time nothing is known but what perf extrapolates. *Replaced* are the samples that CounterMiner's cleaning changes.
# *Moved* is by how much joint cleaning moves a count towards what events of other slots say, and *error* the standard error that it leaves, both in percent of the mean.

# %%
runs = study.multiplexed_runs(url, program)
found = {name: study.judge_counts(run) for name, run in runs.items()}
judged = {name: events for name, (_, _, events) in found.items()}
listed = pd.concat(judged, names=["program", "event"]).reset_index()
results.table(listed, "events",
              "**Table.** Every event of one multiplexed run a program, the least certain first: "
              "running share, intervals in which it was counted at all, samples that CounterMiner "
              "changes, movement by joint cleaning, standard error and *noise* [%].", rows=60)

# %% [markdown]
# ## Which events can be believed from interval to interval?
#
# *Noise* is the mean squared standard error as a share of the event's variance over time: how much of its ups and downs is error of extrapolation. At 100 % none of them can be believed; the mean of the run can still be right.
# An event is *too thinly counted* from 25 % on, unless its standard error is below 1 % of its mean. A model that explains something by such an event explains it by noise.

# %%
first = {name: events.head(top).reset_index() for name, events in judged.items()}
first = {name: events.assign(label=study.with_shares(events)) for name, events in first.items()}
figure, _ = plot.ranking(first, value="noise", label="label", columns=2,
                         xlabel="noise [% of the variance over time]")
results.figure(figure, "noise",
               "**Figure.** How much of what an event does over time is error; in brackets the "
               "running share.")

# %% [markdown]
# ## How sure is that, without a second run?
#
# All of this was told from each event's own steps. A multiplexed run can hold evidence of another kind:
#
# - **Two readings of one event**, counted at different times: one that the recorder put in twice, or two names for which the kernel sets a counter in the same way, such as `L1-dcache-stores` and `dTLB-stores` on Intel processors since Haswell. How far they are apart is error, of both. Neighbours in the rotation are on the counters together for a part of their time and share their errors there, so that their agreement proves nothing: *apart* is how many groups lie between them in the order in which groups take turns, *shared* which part of their time [%]. Only readings that share none are evidence.
# - **Exact sums** of events, as the bits of the event table tell them.
# - **Constants**: reference and bus cycles by the time on the processor are frequencies that do not change. They say how exactly time was extrapolated, not how exactly an event that varies was; where a whole machine was measured that was partly idle, they are none.

# %%
told = {name: study.evidence(run) for name, run in runs.items()}
twice = {name: rows.query("evidence and kind == @study.READINGS") for name, rows in told.items()}
compared = {name: study.judge_by_readings(runs[name]) for name in runs if len(twice[name])}
for name, sentence in study.say_evidence(told, compared).items():
    display(results.finding(sentence, program=name))

# %%
rows = pd.concat(told, names=["program"]).reset_index("program").reset_index(drop=True)
if len(rows):
    display(results.table(rows, "evidence",
                          "**Table.** What each run tells of its own errors: mean distance from "
                          "what must hold (*off*) and mean running share [%]; is it evidence?"))

# %% [markdown]
# Two readings also judge a way of cleaning: one is cleaned without sight of the other, and compared with the other **as printed**. Smoothing cannot flatter itself there. As printed, both err, and their distance is √2 times the error of one; were one cleaned to the truth, the error of the other would remain. A perfect cleaning leaves 1/√2, or 71 %.

# %%
if compared:
    rows = pd.concat(compared, names=["program"]).reset_index("program").reset_index(drop=True)
    rows = rows.assign(label=rows["program"] + ": " + rows["cleaned"])
    figure, _ = plot.readings(rows, perfect=study.PERFECT)
    display(results.figure(figure, "readings",
                           "**Figure.** What ways of cleaning leave of the disagreement of two "
                           "readings of one event; 71 % would be left if one were the truth."))
    display(results.table(rows.drop(columns="label"), "cleaned-readings",
                          "**Table.** Distance of a cleaned reading from the other as printed "
                          "[% of the mean], and counts of the other in 90 % intervals [%]."))

# %% [markdown]
# ## The event that is moved most
#
# Look whether what cleaning takes away looks like noise: spikes that come back at the same place of other events are none. How near to the truth the result is, only a run without multiplexing tells.

# %%
for place, (name, (cleaned, errors, events)) in enumerate(found.items()):
    most = events["moved"].idxmax()
    lines = {"as perf prints it": runs[name].counts[most].reindex(cleaned.index),
             "after joint cleaning": cleaned[most]}
    figure, _ = plot.series(lines, ylabel="count per interval", title=f"{name}: {most}")
    caption = (f"**Figure.** `{most}` in {name}, on a counter {events.at[most, 'share']:.0f} % of "
               f"the time; standard error {errors[most].median():.3g} (median).")
    display(results.figure(figure, f"moved-{place}", caption))

# %% [markdown]
# ## What was found, and what to record next

# %%
for name, events in judged.items():
    results.number(f"{name}: events too thinly counted", int(events["thin"].sum()), "events",
                   note=f"of {int((events['share'] < 100).sum())} that took turns")
    display(results.finding(f"{study.say_counts(events)}.", program=name))
results.numbers()

# %% [markdown]
# On the report's first page stand programs whose multiplexed events were counted in no other run.

# %%
for name, events in judged.items():
    rest = study.only_multiplexed(url, name, events)
    if (rest["share"] < 100).any():
        display(results.overview(name, sure=study.say_counts(rest),
                                 lacking=study.say_next(runs[name], rest)))

# %% [markdown]
# ## What this doesn't show
#
# The standard errors rest on one assumption: that an event's steps within an interval are like its steps between intervals. An event whose bursts keep time with the rotation is off by more, and no single run can tell.
# Two readings of one event show the errors of that event alone; another one's, which varies otherwise, can be larger or smaller.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §III-B. Mathur and Cook, *Improved estimation for software multiplexing of performance counters*, MASCOTS 2005.

# %%
results.save()
