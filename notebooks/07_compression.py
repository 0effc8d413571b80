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
# # Compression: straight lines instead of samples
#
# **Question.** How much smaller do sample streams get as straight lines found while the program runs, and what is lost?
#
# *Reads* the sample streams under `data/samples` and the store. *Writes* sizes, fits and errors of every case, beside what Wu and Mencer print, the peers at equal size, and what lines do to cleaning and ranking.
#
# Counts only grow, and while a program does one thing they grow along a straight line. A line ends before a sample that lies more than three of its standard deviations off (Eq. 7). Streams of hardware events are taken where there are any. Where there are none, streams of events that the kernel counts stand in for them: real streams of real programs, but of other events than the paper's.

# %% tags=["parameters"]
streams = "auto"  # which sample streams: of hardware events if there are any, else of the kernel's {auto, hardware, software}
cases = "all"  # cases to study, separated by commas, or all
event = ""  # event of the figures; empty: the first that was counted along
alpha = 0.01  # tolerance for a line's third sample, share of the count [0, 1]
n_sigma = 3.0  # tolerance for the later ones, standard deviations [0, 100]
drift = 20.0  # threshold of the drift test, standard deviations added up [0.5, 1000]
bound = 0.01  # hard bound on a sample's distance, share of the event's count [0.000001, 0.5]
curve_cases = 12  # cases behind the curves of size against error [1, 1000]
program = "all"  # programs recorded in intervals, separated by commas, or all
n_runs = 0  # of their runs, as a second body of cases; 0: all [0, 10000]
n_seeds = 10  # models behind a ranking [2, 100]
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
from cmlib.study import compression, lines_in_use, other_ways, sample_streams

# %%
results = Results("07_compression", title="Compression: straight lines instead of samples",
                  question="How much smaller do sample streams get as straight lines found while the program runs, and what is lost?",
                  profile=profile, folder=results_folder or None)
workers, printed = Workers(jobs, executor, scheduler), paper("online_linear_regression")
samples = sample_streams.load(kind=streams, wanted=cases)
one = next(iter(samples.values()))
event, source = event or one.totals.columns[1], {"hardware": "hardware events", "software": "events that the kernel counts, not hardware events"}[one.kind]
about = f"{len(samples)} cases, `{event}` by `{one.timer}`; {source}."

# %% [markdown]
# ## The streams
#
# A case is a program with an input, as the paper's 57 are. Three of them show what there is: the most even one, one in the middle, and the one that happens most at once. Points are samples, lines are what is kept of them.

# %%
evenness = sample_streams.constancy(samples, event)
shown = evenness.index[[0, len(evenness) // 2, -1]]
figure, _ = plot.fits({name: sample_streams.drawn(samples[name], event, drift=drift) for name in shown}, xlabel=one.timer, ylabel=event, columns=3)
results.figure(figure, "streams", f"**Figure.** Cumulated `{event}` and its lines, with the drift test: {', '.join(f'{name} ({evenness[name]:.2f})' for name in shown)}; in brackets the largest distance from a constant rate, as a share of the count. {source.capitalize()}.")

# %%
fits = compression.fits(samples, event, alpha=alpha, n_sigma=n_sigma, drift=drift, bound=bound)
results.table(fits, "fits", f"**Table.** Every case by every method: samples, lines, sizes [bytes]; MNESD, largest and root mean square distance of samples from their lines [shares of the count]. {about}", rows=12, decimals=4)
by_method = {name: fits.pivot(index="case", columns="method", values=name)[["printed", "drift", "bounded"]] for name in ("reduction", "mnesd", "largest", "n_bytes")}
sizes = fits[fits["method"] == "printed"].set_index("case")[["perf's text", "samples"]] / 1e6
figure, _ = plot.by_case(sizes.assign(lines=by_method["n_bytes"]["printed"] / 1e6), ylabel="size [MB]", levels={"paper, most from": printed["sample_data_mb"]["most_from"], "paper, most to": printed["sample_data_mb"]["most_to"]})
results.figure(figure, "fig01", f"**Figure 1.** Size of the sample data: as perf prints all events of the group, as two numbers a sample for one event, and as lines. {about} The programs ran for seconds, the paper's for minutes.")

# %%
figure, _ = plot.by_case(by_method["reduction"], ylabel="samples / lines", levels={f"paper, {name}": printed["reduction"][name] for name in ("min", "max")})
display(results.figure(figure, "fig02", f"**Figure 2.** Reduction: number of samples for each line; as printed, with the drift test, and with a hard bound of {100 * bound:g} % of the count. {about}"))
figure, _ = plot.by_case(by_method["mnesd"], ylabel="MNESD [share of the count]", levels={"paper's claim": printed["mnesd_below"]})
results.figure(figure, "fig05", f"**Figure 5.** Largest standard deviation of any line, normalized (MNESD). The paper misses its claim on three cases. {about}")

# %%
reduction, mnesd, largest = (by_method[name]["printed"].sort_values() for name in ("reduction", "mnesd", "largest"))
ends = {"least reduced": reduction.index[0], "most reduced": reduction.index[-1]}
as_printed = partial(sample_streams.drawn, event=event, alpha=alpha, n_sigma=n_sigma)
figure, _ = plot.fits({f"{name}, {what}: {reduction[name]:.0f} x": as_printed(samples[name]) for what, name in ends.items()}, xlabel=one.timer, ylabel=event)
display(results.figure(figure, "fig03-fig04", f"**Figures 3 and 4.** Fits at the least and at the greatest reduction, as printed. The paper's: {printed['least_reduced']} ({printed['reduction']['min']} x) and {printed['most_reduced']} (about {printed['reduction']['max']} x). {source.capitalize()}."))
worst, best = mnesd.index[::-1][:2], mnesd.index[:2]
figure, _ = plot.fits({f"{name}: MNESD {mnesd[name]:.4f}": as_printed(samples[name]) for name in [*worst, *best]}, xlabel=one.timer, ylabel=event)
results.figure(figure, "fig06-fig09", f"**Figures 6 to 9.** The two worst fits (above) and the two best (below), as printed. The paper's: {', '.join(printed['worst_fits'])}; {', '.join(printed['best_fits'])}. In the worst, a long line drifts away from its samples. {source.capitalize()}.")

# %%
overhead = compression.costs(samples)
figure, _ = plot.by_case(overhead, ylabel="share of the program's\nprocessor time [%]", levels={"paper, below": printed["overhead_percent_below"], "our aim, below": 0.5})
results.figure(figure, "fig10", "**Figure 10.** Overhead at 2,000 samples a second, in processor time, which other programs on the machine don't change: of the regression alone, as the paper counts it; and of the whole recording process while the program ran, which read perf's binary stream of two events, ran the regression with the drift test and stored the lines. "
               f"Where the program ran for less than a second, starting takes most of the latter. perf record's own work is not in it. {source.capitalize()}.")

# %% [markdown]
# ## Beyond the printed method
#
# The paper names its fault: samples that move slowly to one side widen a line's deviation until anything fits. The drift test ends such a line when residuals have added up on one side. A hard bound on the distance ends a line only where no straight line keeps the bound.

# %%
figure, _ = plot.by_case(by_method["largest"], ylabel="largest distance\n[share of the count]", levels={"bound": bound})
display(results.figure(figure, "drift", f"**Figure.** Largest distance of any sample from its line: as printed, with the drift test, with the bound. {about}"))
drifting = largest.index[::-1][:2]
settings = {"printed": {}, "drift test": {"drift": drift}}
figure, _ = plot.fits({f"{name}, {how}": as_printed(samples[name], **options) for name in drifting for how, options in settings.items()}, xlabel=one.timer, ylabel=event)
results.figure(figure, "drift-fits", f"**Figure.** The cases in which the printed method strays furthest, and what the drift test makes of them. {source.capitalize()}.")

# %%
peers = other_ways.at_equal_size(samples, event, workers)
picked = {name: samples[name] for name in list(samples)[:: max(1, -(-len(samples) // curve_cases))]}
curves = other_ways.size_against_error(picked, event, workers)
figure, _ = plot.size_against_error(curves, errors={"largest": "largest distance [share of the count]", "rms": "rms distance [share of the count]"})
results.figure(figure, "peers", f"**Figure.** Size against error, median of {len(picked)} cases: lines as printed, with the drift test and with the bound, swinging door, bottom-up segmentation (offline, by squares), and every n-th sample under zstd, which at the right end keeps all of them. A curve goes as far as its method does on most cases. Further down and left is better. {source.capitalize()}.")

# %%
url = study.open_database(database)
programs = study.programs(url, program, modes=["ocoe", "mlpx"])
series = compression.interval_series(url, programs=programs, n_runs=n_runs, drift=drift, workers=workers)
table = series.groupby("method", sort=False)[["reduction", "mnesd", "largest", "rms"]].agg(["median", "max"])
table.columns = [f"{name}, {what}" for name, what in table.columns]
results.table(table, "intervals", f"**Table.** A second body of cases, of hardware events: {series.groupby(['run', 'event']).ngroups} series of counts per interval by cycles, {', '.join(programs)}. The peers may take the bytes that the printed method takes. An interval of 100 ms is coarse: few samples, little to gain.", decimals=4)

# %% [markdown]
# ## Lines as a series again
#
# Read back between equal steps of the timer (`cmlib.compress.intervals`), lines are a frame of counts like any recording. Lines that were recorded while programs ran are in the store, and `cmlib.store.load` gives them back like any run, in as many steps as there are lines.
# The recorded runs of the other notebooks are kept as lines here, each event by itself, read back, and ranked; multiplexed runs are read back at their own intervals and cleaned.

# %%
stored = lines_in_use.stored_beside_samples(url, {name: samples[name] for name in shown}, event)
figure, _ = plot.steps(stored, ylabel=f"{event} in a step")
alike = {name: f"{name} {len(steps)} steps, {steps.corr().iloc[0, 1]:.2f}" for name, steps in stored.items()}
results.figure(figure, "stored", f"**Figure.** `{event}` read back from lines in the store, beside the samples, in equal steps of `{one.timer}`. They were kept in two runs of each program, so what differs are the runs, too. Correlation: {'; '.join(alike.values())}. {source.capitalize()}.")

# %%
changes = list(fan_out(partial(lines_in_use.ranking_change, url, drift=drift, n_seeds=n_seeds), programs, workers))
agreements = pd.concat([agreement for agreement, _ in changes])
spearman = agreements[agreements["measure"] == "spearman"]
figure, _ = plot.agreement(spearman, ylabel="rank correlation (Spearman)")
results.figure(figure, "ranking", f"**Figure.** Ranking of the events on recordings against the same kept as lines, beside the recordings against themselves by other models; the leading events, with 90 % intervals over {n_seeds} models. Where both overlap, lines change the ranking no more than chance does. Numbers recorded for each kept: {', '.join(f'{name} {value:.1f}' for name, (_, value) in zip(programs, changes))}. Hardware events.")

# %%
cleaned = pd.concat(list(fan_out(partial(lines_in_use.cleaning_change, url, drift=drift), programs, workers)))
nearness = cleaned.groupby(["program", "method", "kept"])["distance_ratio"].mean().unstack("kept").reset_index()
results.table(nearness, "cleaning", "**Table.** Multiplexed runs, as recorded and as kept as lines, before cleaning (scaling) and after CounterMiner's: how many times further from OCOE than OCOE from itself, mean over events. Hardware events.", decimals=3)

# %%
whole = compression.fits_of_all_events(samples, alpha=alpha, n_sigma=n_sigma, drift=drift, bound=bound).groupby("method")
results.number("reduction, median", reduction.median(), "x", note=f"{about} The paper: 10 to 100 x.")
results.number("reduction, least", reduction.min(), "x", paper=printed["reduction"]["min"])
results.number("reduction, greatest", reduction.max(), "x", paper=printed["reduction"]["max"])
for method, group in whole:
    results.number(f"greatest MNESD of all events and cases, {method}", group["mnesd"].max(), paper=printed["mnesd_below"] if method == "printed" else None, note=f"median reduction {group['reduction'].median():.0f} x, largest distance {100 * group['largest'].max():.2f} %")
results.number("greatest MNESD of interval series, drift", series.loc[series["method"] == "drift", "mnesd"].max(), note="hardware events")

# %%
won, won_series = other_ways.smaller_errors(peers, case=["case"]), other_ways.smaller_errors(series, case=["run", "event"])
results.number("cases with a smaller error than swinging door at equal size", won["largest"], "%", note=f"lines with a bound, largest distance; {won['rms']:.0f} % by rms; {won['cases']:.0f} cases")
results.number("interval series with a smaller error than swinging door at equal size", won_series["largest"], "%", note=f"the same; {won_series['rms']:.0f} % by rms; {won_series['cases']:.0f} series of hardware events")
for part, shares in overhead.dropna(axis=1, how="all").items():
    results.number(f"overhead of the {part}, greatest", shares.max(), "%", paper=printed["overhead_percent_below"], note=f"median {shares.median():.2g} %; processor time, 2,000 samples a second")
results.number("rank correlation of events, lines against recordings, mean", spearman.loc[spearman["compared"] == "lines", "value"].mean(), note=f"other models alone: {spearman.loc[spearman['compared'] != 'lines', 'value'].mean():.2f}")
results.finding(f"A line stands for {reduction.median():.0f} samples in the middle of {len(reduction)} cases ({source}). The printed method strays by up to {100 * largest.max():.1f} % of the count, with the drift test by {100 * by_method['largest']['drift'].max():.1f} %.")

# %% [markdown]
# ## Turn the knobs

# %%
panel = explore.compression(samples, stream=drifting[0], event=event)
panel if interactive else results.figure(panel.figure(), "explore", f"**Figure.** What the widgets show at first: {drifting[0]}, as printed. {source.capitalize()}.")

# %% [markdown]
# ## What this doesn't show
#
# The committed sample streams count what the kernel counts (page faults, system calls, pages, context switches) along processor time, because the machine that recorded them had no hardware counters. They are not the paper's last-level cache misses by cycles: reductions and errors stand beside the paper's and can't be compared one by one. `python -m cmlib.samples --record` on a machine with counters records the same cases with hardware events, which this notebook then takes.
# The programs are those of SPEC CPU2006 that Debian ships, run for seconds; the paper's ran for minutes. Only one process is sampled, without those it starts. Slow-down of the program by wall clock was not measured here, because the machine was shared; processor time is robust against that.
#
# **References.** Wu and Mencer, *Online Linear Regression of Sampling Data from Performance Event Counters*. Bristol, *Swinging door trending*, 1990. O'Rourke, *An on-line algorithm for fitting straight lines between data ranges*, 1981. Page, *Continuous inspection schemes*, 1954.

# %%
results.numbers()

# %%
results.save()
