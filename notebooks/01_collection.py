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
# # Collection: what was counted, and how
#
# **Question.** Which events were counted on which programs, with how many counters, and how well do two runs of one program agree?
#
# *Reads* the raw `perf stat` output under `data/recordings`. *Writes* the store (SQLite unless `database` says otherwise), and this notebook's figures and tables.
#
# A processor has a handful of counters and hundreds of events. **OCOE** (one counter, one event) counts as many events as there are counters, all the time, and needs a run for each handful.
# **MLPX** (multiplexing) lets groups of events take turns on the counters every few milliseconds, and perf extrapolates each count by the share of time its group was on (CounterMiner, §II-A).

# %% tags=["parameters"]
program = "all"  # programs to study, separated by commas, or all
settings = {}  # database, profile, results_folder

# %%
import pandas as pd

from cmlib import machine, plot, store, study
from cmlib.notebook import begin
from cmlib.study import simulated_phases

notebook = begin("01_collection", globals())
results = notebook.results

# %% [markdown]
# ## The machine that made the recordings, and this one
#
# Recordings carry the machine they were made on. Counters differ between machines, and some lie: a census counts the same event several times at once and sees how many copies agree.

# %%
url = notebook.database
programs = study.programs(url, program)
runs = store.runs(url).query("program in @programs and mode != 'lines'")  # lines: notebook 07
here = pd.DataFrame(machine.examine().findings)[["what", "numbers", "todo"]]
here = here.replace("`", "", regex=True)
results.table(here, "this-machine",
              "**Table.** What `cmlib doctor` says of the machine this notebook ran on.")

# %%
results.mark(study.say_source(url, programs))  # simulated counts say so in every caption
results.table(study.machines(url, programs), "machines",
              "**Table.** Machines and counters behind the recordings.")

# %% [markdown]
# ## What is recorded
#
# A *set* is a family of runs made to one plan; a *pass* goes through the whole plan once; a *part* is one run of it.
# `instructions` and `cycles` are pinned where they are counted, so every interval of every run knows its IPC.

# %%
overview = study.recordings(url, programs)
results.table(overview, "recordings",
              "**Table.** Recorded runs: events, intervals, their length in all, and the share of "
              "time each event was on a counter.")

# %% [markdown]
# The *running share* is the share of an interval for which an event was on a counter. Unmultiplexed events sit at 1. Where groups take turns, the rest is extrapolated: with four groups, some three quarters of it. A simulation counts everything all the time, without counters.

# %%
shares = study.running_shares(url, programs)
if len(shares):
    figure, _ = plot.shares(shares, xlabel="running share of an event in an interval")
    caption = "**Figure.** Share of each interval in which an event was on a counter, all runs."
    display(results.figure(figure, "running-share", caption))

# %% [markdown]
# ## How well two runs agree
#
# Before anything is concluded from multiplexed counts, look at what does not depend on multiplexing: IPC over time, from the pinned counters, in several runs of each program.

# %%
ipc = {name: series for name in programs if (series := study.ipc(url, name))}
if ipc:
    figure, _ = plot.series_by_program(ipc, ylabel="IPC [instructions per cycle]")
    display(results.figure(figure, "ipc",
                           "**Figure.** IPC over time, of unmultiplexed runs if there are any."))

# %% [markdown]
# Look whether the shape repeats: if it does not, runs can't be merged, and no ranking will hold. Even where it does, its timing shifts from run to run, which is why series are compared by dynamic time warping (DTW)
# and merged by progress, not by the clock. Where instructions and cycles were not counted, there is no IPC; then the rates of what was counted are shown instead, those of a simulated program by the instructions executed, as no clock runs there.

# %%
for place, name in enumerate(name for name in programs if name not in ipc):
    unit = study.units(url, programs)
    figure, _ = plot.series_by_program(study.rates(url, name), ylabel=unit.rate, xlabel=unit.axis)
    display(results.figure(figure, f"rates-{place}",
                           f"**Figure.** Events {unit.rate} in the runs of {name}."))

# %% [markdown]
# ## Where the estimated cycles of a simulated program go
#
# Of measured programs nothing is drawn here; notebook 02a has where their cycles go. A simulation counts no cycles. KCachegrind's estimate is a weighted sum: 1 for each instruction, 10 for each misprediction and miss of a first-level cache, 100 for each miss of the last level. A phase begins where the shares of this sum change, and is called after the largest of them beside instructions, from a tenth on. Functions have names where the program has symbols: build it with `-g`, or install the package with its debug symbols. A class is named where streams were prefetched, as `cmlib diagnose --simulate --keep NAME` does.

# %%
profiles = simulated_phases.simulated_profiles(url, programs)
parts = {name: simulated_phases.estimated_parts(profile) for name, profile in profiles.items()}
for place, name in enumerate(profiles):
    figure, _ = plot.simulated_phases(*parts[name], title=name)
    display(results.figure(figure, f"phases-{place}",
                           f"**Figure.** Estimated cycles of {name} by what they are charged for; "
                           "none were counted. Dotted: phases."))

# %%
if profiles:
    display(results.table(simulated_phases.phase_table(profiles), "phases",
                          "**Table.** Phases, from and to [million instructions], with the "
                          "functions of the largest shares.", rows=60, decimals=1))
    display(results.table(simulated_phases.remedies(profiles), "remedies",
                          "**Table.** What stands out in them, and what a programmer can do."))

# %% [markdown]
# ## Which events count at all
#
# Of the events that are documented for a processor, many never count in a given program. They carry no information, and time on a counter spent on them is lost.

# %%
counting = study.counting_events(url, programs)
by_unit = counting.groupby("unit")[["counts", "always zero"]].sum()
figure, _ = plot.counts(by_unit, ylabel="events x programs")
results.figure(figure, "counting",
               "**Figure.** Events by unit of the core, summed over programs: those that counted "
               "at least once, and those that read zero throughout.")

# %%
results.table(counting.reset_index(), "events",
              "**Table.** Events by program: mean count per thousand instructions, and per second "
              "where time was measured.", decimals=4)

# %% [markdown]
# ## Sums that must hold
#
# Most events of this processor are selected by a set of bits, so one event is often the exact sum of others. Where whole and parts were on the counters together, the sum is a check of the counters themselves.

# %%
sums = study.sum_checks(url, programs)
if len(sums):
    display(results.table(sums, "sums", "**Table.** Events that are sums of others: relative "
                                        "difference of their totals in one run.", decimals=5))

# %% [markdown]
# Sums whose events were measured in one group agree to the last count; those whose events took turns differ by what multiplexing loses.

# %%
counted = int(counting.query("counts > 0").index.nunique())
together = int(sums["same group"].sum())
if len(sums):
    results.number("sums measured in one group", together, "sums")
results.number("runs in the store", len(runs), "runs")
results.number("events recorded", counting.index.nunique(), "events", paper=229,
               note="the paper measured all events that its processor has")
results.number("events that counted in some program", counted, "events")

# %%
display(results.finding(f"{len(runs)} runs of {', '.join(programs)} are in the store; "
                        f"{counted} events counted in at least one of them."))
for name, sentence in study.said_by_names(url, programs).items():
    display(results.finding(sentence, program=name))

# %% [markdown]
# The report begins with a picture of each program. Where more than this is known of it, notebook 02a draws another.

# %%
for name in programs:
    if name in profiles:
        figure, _ = plot.simulated_card(*parts[name])
        alt = f"{name}: estimated cycles by what they are charged for, over its instructions."
    else:
        rows = {"IPC": ipc[name]} if name in ipc else study.leading_rates(url, name)
        figure, _ = plot.series_card(study.with_phases(rows))
        alt = f"{name}: {', '.join(rows)} over time, a line a run, of one run with its phases."
    results.overview_picture(name, figure, alt)
    told = simulated_phases.say_estimated(profiles[name]) if name in profiles else {}
    display(results.overview(name, **told | study.say_recorded(url, name)))

# %% [markdown]
# ## What this doesn't show
#
# Counts in user mode, as `cmlib record` makes them, leave out what the kernel did on a program's behalf. The recordings that come with cmlib are of one kind of processor, in a virtual machine.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §II-A and §III-A.

# %%
results.save()
