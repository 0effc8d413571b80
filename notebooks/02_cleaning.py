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
# # Cleaning: what multiplexing did to the counts, and what can be undone
#
# **Question.** How far are multiplexed counts from the truth, and which way of cleaning brings them nearer?
#
# *Reads* the store. *Writes* figures, the error of every method on every event, and a verdict.
#
# Truth is a run in which the event never left its counter (OCOE). Two such runs differ as well, so every distance is judged beside the distance between two OCOE runs (CounterMiner, Eq. 1–4).

# %% tags=["parameters"]
program = "all"  # programs to study, separated by commas, or all
event = ""  # event that the figures follow; empty: instruction-cache misses where they were counted, else the first
method = "joint"  # cleaning that is set beside what perf prints {interpolate, counterminer, joint}
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

from cmlib import accuracy, events, explore, plot, study
from cmlib.fanout import Workers, fan_out
from cmlib.report import Results, paper

# %%
results = Results("02_cleaning", title="Cleaning: what multiplexing did to the counts",
                  question="How far are multiplexed counts from the truth, and which way of cleaning brings them nearer?",
                  profile=profile, folder=results_folder or None)
workers = Workers(jobs, executor, scheduler)
counterminer, url = paper("counterminer"), study.open_database(database)
table = study.event_table(url)
programs = study.programs(url, program, modes=["ocoe", "mlpx"])
event = event or study.followed_event(url, programs)

# %% [markdown]
# ## What multiplexing does to one event
#
# Before any number, one event of one program: counted all the time (OCOE), as perf extrapolates it when it takes turns with others (MLPX), and cleaned as the paper does (MLPX-CLN).

# %%
lines, marks = study.example(url, programs[-1], event)
figure, _ = plot.series(lines, marks=marks, ylabel="count per 100 ms", title=f"{programs[-1]}: {event}")
results.figure(figure, "fig02-fig05", f"**Figures 2 and 5.** `{event}` in {programs[-1]}: OCOE, MLPX, and MLPX after CounterMiner's cleaning; rings: samples it changed. Two runs, so the curves differ in timing as well.")

# %%
outlier = pd.concat([study.largest_outliers(url, name) for name in programs]).nlargest(1, "ratio").iloc[0]
lines, marks = study.example(url, outlier["program"], outlier["event"])
figure, _ = plot.series(lines, marks=marks, ylabel="count per 100 ms", title=f"{outlier['program']}: {outlier['event']}")
results.figure(figure, "fig02-outlier", f"**Figure 2 a.** The largest outlier found: `{outlier['event']}` in {outlier['program']}, whose greatest multiplexed sample is {outlier['ratio']:.1f} times the median of its unmultiplexed ones (the paper's example, an outlier against normal values: {counterminer['outlier_ratio']} times).")

# %% [markdown]
# ## How events are distributed
#
# The threshold for an outlier (Eq. 6) is three standard deviations for Gaussian events and five for long-tailed ones, so the distribution of each event has to be known. The test is Anderson and Darling's at 5 %.
#
# What replaces an outlier is the median of its interval (Eq. 7): an interval of time here; the paper prints one of values, in which an outlier would be replaced by its like.

# %%
kinds = pd.concat(fan_out(partial(study.distributions, url), programs, workers=workers))
kinds["kind"] = kinds["kind"].where(kinds["kind"] != "long-tail", "long tail, best " + kinds["best"].str.upper().replace("GUMBEL", "Gumbel").replace("LOGISTIC", "logistic"))
shape = kinds.groupby(["program", "kind"]).size().unstack(fill_value=0)
figure, _ = plot.counts(shape, ylabel="series of one event in one run")
results.figure(figure, "distributions", "**Figure.** Distribution of each event's samples in each run (§III-B). Gaussian: passes the test at 5 %. Long tail: by the family that fits best. Constant: the same count in every interval, mostly zero.")

# %%
coverage = kinds[kinds["mode"] == "mlpx"].groupby("program")[["within 3 sd", "within 5 sd"]].mean().reset_index()
printed = [counterminer["coverage_percent"].get(name, [float("nan")] * 2) for name in coverage["program"]]
coverage[["paper, n = 3", "paper, n = 5"]] = printed
results.table(coverage, "table1", "**Table I.** Share of multiplexed samples below mean + n standard deviations [%], mean over events.")

# %% [markdown]
# ## Every method on every event
#
# Five ways: *scaling* is what perf prints; *interpolate* draws a line between the stretches in which an event was really counted (Mathur and Cook); *counterminer* replaces outliers by the median of their interval and
# fills gaps from the five nearest samples (Eq. 6–8); *counterminer-printed* does so without the running shares, and so fills zeros that were counted as well; *joint* predicts each event from what was counted at the same time, and leaves perf's own number alone where it can't better it.
#
# Eq. 4 folds at 1: a series nearer to OCOE than two OCOE runs are to each other counts as an error again. So the plain ratio of distances stands beside it, and the errors of the total and of the distribution, which no time warping can fool.

# %%
frame = pd.concat(fan_out(partial(study.compare_cleaning, url, floor=True), programs, workers=workers))
methods = frame[~frame["method"].isin(["always counted", "ocoe"])]
followed = methods[methods["event"] == event]

# %%
names = {"scaling": "before (what perf prints)", method: f"after ({method})", "counterminer": "after (counterminer)"}
shown = followed[followed["method"].isin(names)].assign(method=lambda f: f["method"].map(names)).sort_values("method", ascending=False)
figure, _ = plot.bars_by_program(shown, value="eq4_percent", hue="method", ylabel="error by Eq. 4 [%]",
                                 levels={"paper, before": counterminer["raw_error_percent"]["mean"], "paper, after": counterminer["cleaned_error_percent"]["mean"]})
results.figure(figure, "fig01-fig06", f"**Figures 1 and 6.** Error of `{event}` before and after cleaning, by Eq. 4; bars: mean of the multiplexed runs, lines: from the least to the greatest. "
               "Dashed: the paper's means over 16 programs. An error near the floor (next figure) is as small as can be told.")

# %%
figure, _ = plot.bars_by_program(frame[frame["event"] == event], value="distance_ratio", hue="method", ylabel="distance to OCOE /\ndistance OCOE to OCOE", levels={"as near as OCOE itself": 1.0})
results.figure(figure, "ratio", f"**Figure.** The same, not folded: how many times further from OCOE than OCOE from itself. *always counted* is the floor: `instructions`, which was never multiplexed, scored in the same runs.")

# %%
ratios = methods.groupby(["event", "method"])["distance_ratio"].mean().unstack()[["scaling", "interpolate", "counterminer", "joint"]]
figure, _ = plot.heat(ratios.rename(index=lambda name: f"{name} ({events.abbreviate([name], table)[0]})"), label="distance to OCOE /\nOCOE to OCOE", centre=1.0)
results.figure(figure, "ratio-by-event", "**Figure.** Every multiplexed event, mean over programs: ratio of distances by method. 1: nothing left to gain. Cleaning matters where the first column is well above 1.")

# %% [markdown]
# ## Verdict

# %%
verdict = accuracy.verdict(methods).reset_index()
results.table(verdict, "verdict", "**Table.** Each method by each measure: mean and median over program-and-event pairs, and on how many of them it is the only best or the only worst.")

# %%
wins = methods.groupby(["program", "event", "method"])["distance_ratio"].mean().unstack()
winner = wins.assign(best=wins.idxmin(axis=1)).reset_index()
winner["best"] = winner["best"].where(wins.min(axis=1).to_numpy() < wins["scaling"].to_numpy(), "none: perf's own number is as near")
results.table(winner, "winners", "**Table.** Ratio of distances by program and event, and which method is nearest to OCOE.", rows=60)

# %%
errors = followed.groupby(["program", "method"])["eq4_percent"].mean().unstack()
mean = errors.mean()
results.number("error before cleaning, mean", mean["scaling"], "%", paper=counterminer["raw_error_percent"]["mean"], note=f"{event} in {', '.join(errors.index)}; the paper: 16 programs")
results.number("error after cleaning as the paper does, mean", mean["counterminer"], "%", paper=counterminer["cleaned_error_percent"]["mean"])
results.number(f"error after cleaning, {method}, mean", mean[method], "%", note="no such method in the paper")
results.number("series of an event that are Gaussian", 100 * (kinds["kind"] == "gaussian").mean(), "%", paper=100 * 100 / 229, note="of all series, constant ones included")

# %%
long_tails = kinds[kinds["kind"].str.startswith("long")]
results.number("long-tailed series that GEV fits best", 100 * (long_tails["best"] == "gev").mean(), "%", note="the paper: GEV fits best")
overall = methods.groupby("method")["distance_ratio"].mean()
results.finding(f"Multiplexed counts are {overall['scaling']:.2f} times as far from the truth as two true runs are from each other; after *{method}* cleaning {overall[method]:.2f} times, after CounterMiner's {overall['counterminer']:.2f} times.")

# %% [markdown]
# ## Turn the knobs
#
# Any event in any program, cleaned in any of the four ways: what was counted all the time, what perf printed, and what is left of the difference.
# For CounterMiner's way, *n* is how many standard deviations above the mean an outlier begins (Eq. 6), *k* how many neighbours fill a gap (Eq. 8).

# %%
both = dict(zip(programs, fan_out(partial(study.both_ways, url), programs, workers=workers)))
panel = explore.cleaning(both, table, event=event, method=method)
caption = (f"**Figure.** The first event and program of the panel that JupyterLab shows here: OCOE, what perf prints, and cleaned by *{method}*. "
           "Two runs are no two copies: curves differ in timing as well.")
panel if interactive else results.figure(panel.figure(), "explore", caption)

# %% [markdown]
# ## What this doesn't show
#
# In the committed recordings 12 events take turns on 3 free counters, in intervals of 100 ms; the paper's Figures 3 and 7, and the GBRT paper's Figure 1 (6 to 36 events at once), need recordings that are not there yet.
# The multiplexing error of instruction-cache misses is small in them to begin with: a group comes round every 16 ms, six times an interval. Where perf's own number already is as near to OCOE as OCOE is to itself, no cleaning can show.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §II-B, §III-B, §V-A. Mathur and Cook, *Improved estimation for software multiplexing of performance counters*, MASCOTS 2005.

# %%
results.numbers()

# %%
results.save()
