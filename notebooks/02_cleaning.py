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
event = ""  # that the figures follow; empty: instruction-cache misses if counted, else the first
method = "kalman"  # cleaning that is set beside what perf prints {cmlib.clean.DISTINCT_METHODS}
settings = {}  # jobs, executor, scheduler, database, interactive, profile, results_folder

# %%
from functools import partial

import pandas as pd

from cmlib import experiments as study
from cmlib import explore, plot
from cmlib.clean import DISTINCT_METHODS, accuracy
from cmlib.io import events
from cmlib.parallel import parallel_map
from cmlib.report import paper
from cmlib.report.notebook import begin

# %%
notebook = begin("02_cleaning", globals())
results, workers = notebook.results, notebook.workers
counterminer, url = paper("counterminer"), notebook.database
table = study.event_table(url)
programs = study.recorded_both_ways(url, program)
event = event or study.followed_event(url, programs)

# %% [markdown]
# ## How much the paper's cleaning changes here
#
# CounterMiner replaces a sample above mean + *n* standard deviations (Eq. 6) and fills gaps. How often that happens decides what the next figures can show: where nothing is replaced, the curve after cleaning is the curve
# before it, and the bars of Figures 1 and 6 are equal.

# %%
replaced = pd.concat(parallel_map(partial(study.replaced_samples, url), programs, workers=workers))
by_program = replaced.groupby("program")[["samples", "replaced"]].sum().reset_index()
n_samples, n_replaced = int(by_program["samples"].sum()), int(by_program["replaced"].sum())
caption = "**Table.** Samples of the events recorded both ways, and those that Eq. 6 to 8 change."
results.table(by_program, "replaced", caption)

# %%
most = replaced.sort_values("replaced", ascending=False, kind="stable").iloc[0]
results.finding(
    f"CounterMiner's cleaning changes {n_replaced} of {n_samples:,} multiplexed samples, "
    f"most of them ({most['replaced']}) of {most['event']} in {most['program']}."
)

# %% [markdown]
# ## What multiplexing does to one event
#
# The event in which most is replaced, counted all the time (OCOE), as perf extrapolates it when it takes turns with others (MLPX), and cleaned as the paper does (MLPX-CLN). Rings: samples that were changed. OCOE and MLPX
# are two runs, so the curves differ in timing as well.

# %%
lines, marks = study.example(url, most["program"], most["event"])
title = f"{most['program']}: {most['event']}"
figure, _ = plot.series(lines, marks=marks, ylabel="count per 100 ms", title=title)
caption = f"**Figures 2 and 5.** `{most['event']}` in {most['program']}, before and after cleaning."
results.figure(figure, "fig02-fig05", caption)

# %% [markdown]
# The paper's Figure 2a shows an outlier beside normal values. Here: the event whose greatest multiplexed sample is farthest above the median of its unmultiplexed ones.

# %%
outliers = pd.concat([study.largest_outliers(url, name) for name in programs])
outlier = outliers.nlargest(1, "ratio").iloc[0]
lines, marks = study.example(url, outlier["program"], outlier["event"])
title = f"{outlier['program']}: {outlier['event']}"
figure, _ = plot.series(lines, marks=marks, ylabel="count per 100 ms", title=title)
caption = (
    f"**Figure 2 a.** The largest outlier: {outlier['ratio']:.1f} times the median without "
    f"multiplexing (the paper's example: {counterminer['outlier_ratio']} times normal values)."
)
results.figure(figure, "fig02-outlier", caption)

# %% [markdown]
# ## How events are distributed
#
# The threshold for an outlier (Eq. 6) is three standard deviations for Gaussian events and five for long-tailed ones, so the distribution of each event has to be known. The test is Anderson and Darling's at 5 %;
# a long tail is named by the family that fits best; *constant* is the same count in every interval, mostly zero.
#
# What replaces an outlier is the median of its interval (Eq. 7): an interval of time here; the paper prints one of values, in which an outlier would be replaced by its like.

# %%
kinds = pd.concat(parallel_map(partial(study.distributions, url), programs, workers=workers))
best = kinds["best"].str.upper().replace({"GUMBEL": "Gumbel", "LOGISTIC": "logistic"})
kinds["kind"] = kinds["kind"].where(kinds["kind"] != "long-tail", "long tail, best " + best)
shape = kinds.groupby(["program", "kind"]).size().unstack(fill_value=0)
figure, _ = plot.counts(shape, ylabel="series of one event in one run")
caption = "**Figure.** Distribution of each event's samples in each run (§III-B)."
results.figure(figure, "distributions", caption)

# %%
within = ["within 3 sd", "within 5 sd"]
coverage = kinds[kinds["mode"] == "mlpx"].groupby("program")[within].mean().reset_index()
unknown = [float("nan")] * 2
printed = [counterminer["coverage_percent"].get(name, unknown) for name in coverage["program"]]
coverage[["paper, n = 3", "paper, n = 5"]] = printed
caption = "**Table I.** Share of multiplexed samples below mean + n standard deviations [%]."
results.table(coverage, "table1", caption)

# %% [markdown]
# ## Every method on every event
#
# - *scaling* is what perf prints.
# - *interpolate* draws a line between the stretches in which an event was really counted (Mathur and Cook).
# - *counterminer* replaces outliers by the median of their interval and fills gaps from the five nearest samples (Eq. 6–8). *counterminer-printed* does so without the running shares, and so fills zeros that were counted.
# - *kalman*, ours, takes each rate for a level that drifts and smooths what multiplexing added. Notebook 02c judges it where the truth is exact, with standard errors.
#
# Eq. 4 folds at 1: a series nearer to OCOE than two OCOE runs are to each other counts as an error again. So the plain ratio of distances stands beside it, and the errors of the total and of the distribution, which no
# time warping can fool.

# %%
scored = parallel_map(partial(study.compare_cleaning, url, floor=True), programs, workers=workers)
frame = pd.concat(scored)
methods = frame[~frame["method"].isin(["always counted", "ocoe"])]
followed = methods[methods["event"] == event]

# %% [markdown]
# Figures 1 and 6 of the paper: the error of one event by Eq. 4, before and after. Bars are the mean of the multiplexed runs, thin lines reach from the least to the greatest, dashed lines are the paper's means over its 16
# programs. Where the paper's cleaning replaces nothing, its bar equals the one before.

# %%
shown = {"scaling": "before (what perf prints)", "counterminer": "after (counterminer)"}
shown |= {method: f"after ({method})"}
both = followed[followed["method"].isin(shown)].assign(method=lambda f: f["method"].map(shown))
levels = {
    "paper, before": counterminer["raw_error_percent"]["mean"],
    "paper, after": counterminer["cleaned_error_percent"]["mean"],
}
figure, _ = plot.bars_by_program(
    both.sort_values("method", ascending=False),
    value="eq4_percent", hue="method", ylabel="error by Eq. 4 [%]", levels=levels,
)  # fmt: skip
caption = f"**Figures 1 and 6.** Error of `{event}` before and after cleaning, by Eq. 4."
results.figure(figure, "fig01-fig06", caption)

# %% [markdown]
# The same, not folded: the distance from OCOE as a multiple of run-to-run noise, the distance between two OCOE runs. *always counted* is the floor: `instructions`, which was never multiplexed, scored in the same runs.

# %%
figure, _ = plot.bars_by_program(
    frame[frame["event"] == event], value="distance_ratio", hue="method",
    ylabel="distance to OCOE /\ndistance OCOE to OCOE", levels={"as near as OCOE itself": 1.0},
)  # fmt: skip
results.figure(figure, "ratio", f"**Figure.** Distance of `{event}` to OCOE, by method.")

# %% [markdown]
# And every multiplexed event, mean over programs. 1: nothing left to gain. Cleaning matters where the first column is well above 1.

# %%
ratios = methods.groupby(["event", "method"])["distance_ratio"].mean().unstack()
ratios = ratios[list(DISTINCT_METHODS)]
named = ratios.rename(index=lambda name: f"{name} ({events.abbreviate([name], table)[0]})")
figure, _ = plot.heat(named, label="distance to OCOE /\nOCOE to OCOE", centre=1.0)
results.figure(figure, "ratio-by-event", "**Figure.** Ratio of distances by event and method.")

# %% [markdown]
# ## Verdict
#
# Each method by each measure: mean and median over program-and-event pairs, and on how many of them it is the only best or the only worst.
# The paper prints two errors after cleaning for ten multiplexed events: 7.7 % (abstract and Figure 6, mean of 16 programs) and 5.3 % (Figure 7, whose programs it does not name). Beside the first stands a mean of its own programs only.

# %%
verdict = accuracy.verdict(methods).reset_index()
results.table(verdict, "verdict", "**Table.** Each method by each measure.")

# %%
wins = methods.groupby(["program", "event", "method"])["distance_ratio"].mean().unstack()
winner = wins.assign(best=wins.idxmin(axis=1)).reset_index()
better = wins.min(axis=1).to_numpy() < wins["scaling"].to_numpy()
winner["best"] = winner["best"].where(better, "none: perf's own number is as near")
caption = "**Table.** Ratio of distances by program and event, and which method is nearest to OCOE."
results.table(winner, "winners", caption, rows=60)

# %%
errors = followed.groupby(["program", "method"])["eq4_percent"].mean().unstack()
before = counterminer["raw_error_percent"]["mean"]
after = counterminer["cleaned_error_percent"]["mean"]
of_paper = study.of_suites(errors.index, ["HiBench", "CloudSuite 3.0"])
if of_paper:
    mean = errors.loc[of_paper].mean()
    note = f"{event} in {', '.join(of_paper)}; the paper: 16 programs"
    results.number("error before cleaning, mean", mean["scaling"], "%", paper=before, note=note)
    name = "error after cleaning as the paper does, mean"
    results.number(name, mean["counterminer"], "%", paper=after, note=note)
name, note = f"error after cleaning, {method}, mean", f"{event} in {', '.join(errors.index)}"
results.number(name, errors[method].mean(), "%", note=f"{note}; no such method in the paper")

# %%
long_tails = kinds[kinds["kind"].str.startswith("long")]
gaussian = kinds.loc[kinds["program"].isin(of_paper), "kind"] == "gaussian"
if len(gaussian):
    name = "series of an event that are Gaussian"
    note = f"in {', '.join(of_paper)}, constant ones included"
    results.number(name, 100 * gaussian.mean(), "%", paper=100 * 100 / 229, note=note)
name, note = "long-tailed series that GEV fits best", "the paper: GEV fits best"
results.number(name, 100 * (long_tails["best"] == "gev").mean(), "%", note=note)

# %%
overall = methods.groupby("method")[["distance_ratio", "total_error_percent"]].mean()
far, total = overall["distance_ratio"], overall["total_error_percent"]
results.finding(
    f"Multiplexed counts are {far['scaling']:.2f} times as far from the truth as two true runs "
    f"are from each other: {far[method]:.2f} times after *{method}* cleaning, "
    f"{far['interpolate']:.2f} by straight lines, {far['counterminer']:.2f} by CounterMiner's "
    f"way; nearest is *{far.idxmin()}*. Totals are off by {total['scaling']:.2f} % as printed "
    f"and by {total[method]:.2f} % after *{method}*."
)

# %% [markdown]
# ## Explore
#
# Any event in any program, cleaned in any of these ways: what was counted all the time, what perf printed, and what is left of the difference.
# For CounterMiner's way, *n* is how many standard deviations above the mean an outlier begins (Eq. 6), *k* how many neighbours fill a gap (Eq. 8).

# %%
recorded = parallel_map(partial(study.both_ways, url), programs, workers=workers)
both = dict(zip(programs, recorded, strict=True))
panel = explore.cleaning(both, table, event=event, method=method)
caption = f"**Figure.** The panel at its first setting: OCOE, what perf prints, and *{method}*."
panel if notebook.interactive else results.figure(panel.figure(), "explore", caption)

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
