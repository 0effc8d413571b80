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
# # Compression: piecewise-linear segments instead of samples
#
# **Question.** How much smaller do sample streams get as piecewise-linear segments (*lines*) found while the program runs, and what is lost?
#
# *Reads* the sample streams under `data/samples` and the store. *Writes* sizes, fits and errors of every case, beside the values of Wu and Mencer, other methods at equal size, and the effect of lines on cleaning and ranking.
#
# Counts never decrease, and during one phase of a program they grow along a straight line. A line ends before a sample that lies more than three of its standard deviations off (Eq. 7). Streams of hardware events are used where there are any, otherwise streams of software events and tracepoints: recorded from real programs, but of other events than the paper's.

# %% tags=["parameters"]
streams = (
    "auto"  # which: of hardware events if there are any, else software {auto, hardware, software}
)
cases = "all"  # cases to study, separated by commas, or all
event = ""  # event of the figures; empty: the first that was counted along
alpha = 0.01  # tolerance for a line's third sample, share of the count [0, 1]
n_sigma = 3.0  # tolerance for the later ones, standard deviations [0, 100]
drift = 20.0  # threshold of the drift test, standard deviations added up [0.5, 1000]
bound = 0.01  # hard bound on a sample's distance, share of the event's count [0.000001, 0.5]
curve_cases = 12  # cases behind the curves of size against error [1, 1000]
program = "all"  # programs, sampled and recorded in intervals, separated by commas, or all
n_runs = 0  # of their runs, as a second body of cases; 0: all [0, 10000]
n_seeds = 10  # models behind a ranking [2, 100]
settings = {}  # jobs, executor, scheduler, database, interactive, profile, results_folder

# %%
from functools import partial

import pandas as pd

from cmlib import explore, plot, study
from cmlib.fanout import fan_out
from cmlib.notebook import begin
from cmlib.report import paper
from cmlib.study.compression import alternatives, consequences, sample_streams, sizes_and_fits

# %%
notebook = begin("07_compression", globals())
results, workers = notebook.results, notebook.workers
printed = paper("online_linear_regression")
samples = sample_streams.load(kind=streams, wanted=cases, program=program)
url = notebook.database
programs = study.programs(url, program, modes=["ocoe", "mlpx"])
one = next(iter(samples.values()))
event, source = event or one.totals.columns[1], sample_streams.say_source(one)
about = f"{len(samples)} cases, `{event}` by `{one.timer}`; {source}."

# %% [markdown]
# ## The streams
#
# A case is a program with an input, as are the paper's 57. Three are shown: the most even one, a median one, and the most bursty one. Points are samples, lines are what is stored of them. A straight stretch takes one line, whatever its length.

# %%
evenness = sample_streams.constancy(samples, event)
shown = evenness.index[[0, len(evenness) // 2, -1]]
drawn = {name: sample_streams.drawn(samples[name], event, drift=drift) for name in shown}
figure, _ = plot.fits(drawn, xlabel=one.timer, ylabel=event, columns=3)
about_shown = ", ".join(f"{name} ({evenness[name]:.2f})" for name in shown)
results.figure(
    figure,
    "streams",
    f"**Figure.** Cumulated `{event}` and its lines, with the drift test: {about_shown}; in "
    f"brackets the largest distance from a constant rate, as a share of the count. "
    f"{source.capitalize()}.",
)

# %% [markdown]
# ## How much smaller?
#
# Every case by three methods: the paper's as printed, the same with a test against drift, and lines with a hard bound on the distance (both below). The paper's programs ran for minutes and ours for seconds, so sizes in megabytes can't be compared. Two ratios can: that of perf's text to two numbers a sample, which is lossless, and from there to lines.

# %%
settings = {"alpha": alpha, "n_sigma": n_sigma, "drift": drift, "bound": bound}
whole = sizes_and_fits.fits_of_all_events(samples, **settings)
fits = whole[whole["event"] == event].drop(columns="event")
results.table(
    fits,
    "fits",
    "**Table.** Every case by every method: samples, lines, sizes [bytes]; MNESD, largest and root "
    f"mean square distance of samples from their lines [shares of the count]. {about}",
    rows=12,
    decimals=4,
)

# %%
by_method = {
    name: fits.pivot(index="case", columns="method", values=name)[["printed", "drift", "bounded"]]
    for name in ("reduction", "mnesd", "largest", "n_bytes")
}
sizes = fits[fits["method"] == "printed"].set_index("case")[["perf's text", "samples"]] / 1e6
sizes = sizes.assign(lines=by_method["n_bytes"]["printed"] / 1e6)
megabytes = printed["sample_data_mb"]
levels = {"paper, most from": megabytes["most_from"], "paper, most to": megabytes["most_to"]}
figure, _ = plot.by_case(sizes, ylabel="size [MB]", levels=levels)
results.figure(
    figure,
    "fig01",
    "**Figure 1.** Size of the sample data: as perf prints all events of the group, as two numbers "
    f"a sample for one event, and as lines. {about}",
)

# %% [markdown]
# The reduction ratio is the number of samples for each line. The paper states two usual ranges: most benchmarks from 10 to 1000 (§4.2), typically 10 to 100 (§5). Stricter methods need more lines: the drift test can only end lines earlier. The bound limits nothing but the distance, so it may need fewer lines than the printed rule.

# %%
levels = {f"paper, {name}": printed["reduction"][name] for name in ("min", "max")}
figure, _ = plot.by_case(by_method["reduction"], ylabel="samples / lines", levels=levels)
results.figure(
    figure,
    "fig02",
    "**Figure 2.** Reduction: number of samples for each line; as printed, with the drift test, "
    f"and with a hard bound of {100 * bound:g} % of the count. {about}",
)

# %% [markdown]
# The most and the least reduced case, by the method as printed. The paper shows the same two; its most reduced case is badly fitted, because a line that never ends needs the least space.

# %%
reduction, mnesd, largest = (
    by_method[name]["printed"].sort_values() for name in ("reduction", "mnesd", "largest")
)
ends = {"least reduced": reduction.index[0], "most reduced": reduction.index[-1]}
as_printed = partial(sample_streams.drawn, event=event, alpha=alpha, n_sigma=n_sigma)
drawn = {
    f"{name}, {what}: {reduction[name]:.0f} x": as_printed(samples[name])
    for what, name in ends.items()
}
figure, _ = plot.fits(drawn, xlabel=one.timer, ylabel=event)

# %%
results.figure(
    figure,
    "fig03-fig04",
    "**Figures 3 and 4.** Fits at the least and at the greatest reduction, as printed. The "
    f"paper's: {printed['least_reduced']} ({printed['reduction']['min']} x) and "
    f"{printed['most_reduced']} (about {printed['reduction']['max']} x). {source.capitalize()}.",
)

# %% [markdown]
# ## How well do they fit?
#
# The paper's measure is MNESD: the largest standard deviation of any line, divided by the event's count. Its abstract says that it stays below 0.1. In its Figure 5 (values read from the figure; the text gives none) three cases exceed that.

# %%
levels = {"paper's claim": printed["mnesd_below"]}
axis = "MNESD [share of the count]"
figure, _ = plot.by_case(by_method["mnesd"], ylabel=axis, levels=levels)
results.figure(
    figure,
    "fig05",
    f"**Figure 5.** Largest standard deviation of any line, normalized (MNESD). {about}",
)

# %% [markdown]
# MNESD averages over a line and can hide large deviations. The worst fits are shown below: a long line drifts away from its samples, because each sample that is slightly off widens the tolerance for the next.

# %%
worst, best = mnesd.index[::-1][:2], mnesd.index[:2]
drawn = {f"{name}: MNESD {mnesd[name]:.4f}": as_printed(samples[name]) for name in [*worst, *best]}
figure, _ = plot.fits(drawn, xlabel=one.timer, ylabel=event)
bad, good = (", ".join(printed[name]) for name in ("worst_fits", "best_fits"))
results.figure(
    figure,
    "fig06-fig09",
    "**Figures 6 to 9.** The two worst fits (above) and the two best (below), as printed. The "
    f"paper's: {bad}; {good}. {source.capitalize()}.",
)

# %% [markdown]
# ## Overhead
#
# The paper measures the time of the regression during sampling. Here two quantities are measured, both in processor time, which depends little on other programs.
#
# - *Regression, replayed*: the recorded samples are put through the regression afterwards, in one call. Caches are warm and there is no cost per interrupt, so this is a lower bound, not the paper's measurement.
# - *Recording process*: measured while the program ran, everything that cmlib did to read perf's binary stream of two events, run the regression with the drift test and store the lines, without perf's own work. Where the program ran for less than a second, starting takes most of it.

# %%
overhead = sizes_and_fits.costs(samples)
levels = {"paper, below": printed["overhead_percent_below"], "our aim, below": 0.5}
axis = "share of the program's\nprocessor time [%]"
figure, _ = plot.by_case(overhead, ylabel=axis, levels=levels)
results.figure(
    figure,
    "fig10",
    "**Figure 10.** Overhead at 2,000 samples a second, as a share of the program's processor "
    f"time: the regression replayed, and the whole recording process as it ran. "
    f"{source.capitalize()}.",
)

# %% [markdown]
# ## Beyond the printed method
#
# The paper names a weakness: samples that move slowly to one side widen a line's standard deviation until any sample fits. The drift test ends such a line when residuals on one side have added up. With a hard bound on the distance, a line ends only where no straight line keeps the bound; the bound is never exceeded, and appears in the figure as an upper limit.

# %%
axis = "largest distance\n[share of the count]"
figure, _ = plot.by_case(by_method["largest"], ylabel=axis, levels={"bound": bound})
results.figure(
    figure,
    "drift",
    "**Figure.** Largest distance of any sample from its line: as printed, with the drift test, "
    f"with the bound. {about}",
)

# %%
drifting = largest.index[::-1][:2]
ways = {"printed": {}, "drift test": {"drift": drift}}
drawn = {
    f"{name}, {how}": as_printed(samples[name], **options)
    for name in drifting
    for how, options in ways.items()
}
figure, _ = plot.fits(drawn, xlabel=one.timer, ylabel=event)
results.figure(
    figure,
    "drift-fits",
    "**Figure.** The cases in which the printed method strays furthest, and what the drift test "
    f"makes of them. {source.capitalize()}.",
)

# %% [markdown]
# Methods must be compared at equal size. Lower and further left is better. Swinging door is used in process control; bottom-up segmentation uses the whole stream, which no online method can; every n-th sample, compressed by zstd, is the simplest baseline, and at its right end keeps all samples. A curve covers the sizes that its method reaches on most cases.

# %%
peers = alternatives.at_equal_size(samples, event, workers)
picked = {name: samples[name] for name in list(samples)[:: max(1, -(-len(samples) // curve_cases))]}
curves = alternatives.size_against_error(picked, event, workers)
errors = {name: f"{name} distance [share of the count]" for name in ("largest", "rms")}
figure, _ = plot.size_against_error(curves, errors=errors)
results.figure(
    figure,
    "peers",
    f"**Figure.** Size against error, median of {len(picked)} cases: lines as printed, with the "
    f"drift test and with the bound, and their peers. {source.capitalize()}.",
)

# %% [markdown]
# The recordings in intervals that the other notebooks read are a second set of cases, of hardware events. At intervals of 100 ms there are few samples, so little can be saved.

# %%
options = {"n_runs": n_runs, "drift": drift, "workers": workers}
series = sizes_and_fits.interval_series(url, programs=programs, **options)
errors = series.groupby("method", sort=False)[["reduction", "mnesd", "largest", "rms"]]
table = errors.agg(["median", "max"])
table.columns = [f"{name}, {what}" for name, what in table.columns]
n_series = series.groupby(["run", "event"]).ngroups
results.table(
    table,
    "intervals",
    f"**Table.** {n_series} series of counts per interval by cycles, {', '.join(programs)}; "
    "hardware events. The peers may take the bytes that the printed method takes.",
    decimals=4,
)

# %% [markdown]
# ## Lines as a series again
#
# Evaluated at equal steps of the timer (`cmlib.compress.intervals`), lines are a frame of counts like any recording. Lines that were recorded while programs ran are in the store, and `cmlib.store.load` returns them like any run, in as many steps as there are lines. They are shown beside samples from other runs of the same programs, so the differences include run-to-run noise.

# %%
chosen = {name: samples[name] for name in shown}
stored = consequences.stored_beside_samples(url, chosen, event)
figure, _ = plot.steps(stored, ylabel=f"{event} in a step")
alike = "; ".join(
    f"{name} {len(steps)} steps, {steps.corr().iloc[0, 1]:.2f}" for name, steps in stored.items()
)
results.figure(
    figure,
    "stored",
    f"**Figure.** `{event}` read back from lines in the store, beside samples, in two runs of each "
    f"program. Correlation: {alike}. {source.capitalize()}.",
)

# %% [markdown]
# Do lines change later results? The recorded runs of the other notebooks are converted to lines, each event separately, read back, and ranked. The reference is the agreement of the ranking with itself between models: where both intervals overlap, lines change the ranking no more than another random seed does. For cleaning (second table), multiplexed runs are read back at their own intervals.

# %%
change = partial(consequences.ranking_change, url, drift=drift, n_seeds=n_seeds)
agreements, kept = zip(*fan_out(change, programs, workers), strict=True)
agreements = pd.concat(agreements)
spearman = agreements[agreements["measure"] == "spearman"]
figure, _ = plot.agreement(spearman, ylabel="rank correlation (Spearman)")
saved = ", ".join(f"{name} {value:.1f}" for name, value in zip(programs, kept, strict=True))
results.figure(
    figure,
    "ranking",
    "**Figure.** Ranking of the leading events on recordings against the same kept as lines, and "
    f"by other models; 90 % intervals over {n_seeds} models. Numbers recorded for each kept: "
    f"{saved}. Hardware events.",
)

# %%
clean = partial(consequences.cleaning_change, url, drift=drift)
cleaned = pd.concat(list(fan_out(clean, programs, workers)))
means = cleaned.groupby(["program", "method", "kept"])["distance_ratio"].mean()
results.table(
    means.unstack("kept").reset_index(),
    "cleaning",
    "**Table.** Multiplexed runs, as recorded and as kept as lines, before cleaning (scaling) and "
    "after CounterMiner's: the distance from OCOE as a multiple of run-to-run noise, mean over "
    "events. Hardware events.",
    decimals=3,
)

# %%
note = f"{about} The paper: 10 to 100 x."
results.number("reduction, median", reduction.median(), "x", note=note)
results.number("reduction, least", reduction.min(), "x", paper=printed["reduction"]["min"])
results.number("reduction, greatest", reduction.max(), "x", paper=printed["reduction"]["max"])
for method, group in whole.groupby("method"):
    name = f"greatest MNESD of all events and cases, {method}"
    claim = printed["mnesd_below"] if method == "printed" else None
    far = f"largest distance {100 * group['largest'].max():.2f} %"
    note = f"median reduction {group['reduction'].median():.0f} x, {far}"
    results.number(name, group["mnesd"].max(), paper=claim, note=note)
worst = series.loc[series["method"] == "drift", "mnesd"].max()
results.number("greatest MNESD of interval series, drift", worst, note="hardware events")

# %%
won = alternatives.smaller_errors(peers, case=["case"])
name = "cases with a smaller error than swinging door at equal size"
note = "lines with a bound, largest distance; {rms:.0f} % by rms; {cases:.0f} cases"
results.number(name, won["largest"], "%", note=note.format(**won))
won = alternatives.smaller_errors(series, case=["run", "event"])
name = "interval series with a smaller error than swinging door at equal size"
note = f"{note}, series of hardware events"
results.number(name, won["largest"], "%", note=note.format(**won))

# %%
for part, shares in overhead.dropna(axis=1, how="all").items():
    note = f"median {shares.median():.2g} %; processor time, 2,000 samples a second"
    limit = printed["overhead_percent_below"]
    results.number(f"overhead of the {part}, greatest", shares.max(), "%", paper=limit, note=note)
mean = spearman.groupby("compared")["value"].mean()
name = "rank correlation of events, lines against recordings, mean"
results.number(name, mean["lines"], note=f"other models alone: {mean['other models']:.2f}")
results.numbers()

# %%
far = {name: 100 * by_method["largest"][name].max() for name in ("printed", "drift")}
results.finding(
    f"A line stands for {reduction.median():.0f} samples in the middle of {len(reduction)} cases "
    f"({source}). The printed method strays by up to {far['printed']:.1f} % of the count, with the "
    f"drift test by {far['drift']:.1f} %."
)

# %% [markdown]
# ## Explore
#
# In JupyterLab: choose a case and a method; the figure shows where its lines end.

# %%
panel = explore.compression(samples, stream=drifting[0], event=event)
caption = f"**Figure.** What the widgets show at first: {drifting[0]}. {source.capitalize()}."
panel if notebook.interactive else results.figure(panel.figure(), "explore", caption)

# %% [markdown]
# ## What this doesn't show
#
# The committed sample streams are of software events and tracepoints (page faults, system calls, pages, context switches) along processor time, because the machine that recorded them had no hardware counters. They are not the paper's last-level cache misses by cycles: reductions and errors are shown beside the paper's, but are not directly comparable. `cmlib record-samples` on a machine with counters records the same cases with hardware events, which this notebook then uses.
#
# The programs are those of SPEC CPU2006 that Debian ships, run for seconds; the paper's ran for minutes. Only one process is sampled, without its children. The slowdown in elapsed time was not measured, because the machine was shared; processor time is less sensitive to that.
#
# **References.** Wu and Mencer, *Online Linear Regression of Sampling Data from Performance Event Counters*. Bristol, *Swinging door trending*, 1990. O'Rourke, *An on-line algorithm for fitting straight lines between data ranges*, 1981. Page, *Continuous inspection schemes*, 1954.

# %%
results.save()
