# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Collection: what was counted, and how
#
# **Question.** Which events were counted on which programs, and with how many counters?
#
# *Reads* the raw `perf stat` output under `data/recordings`. *Writes* the store (SQLite unless `database` says otherwise), and this notebook's figures and tables.
#
# A processor has a handful of counters and hundreds of events. **OCOE** (one counter, one event) counts as many events as there are counters, all the time, and needs a run for each handful.
# **MLPX** (multiplexing) lets groups of events take turns on the counters every few milliseconds, and perf extrapolates each count by the share of time its group was on (CounterMiner, §II-A).
#
# Read this notebook first for a recording of your own (`cmlib record NAME -- COMMAND`, then `cmlib run live 01_collection -p program=NAME`): it says whether the rest can be believed. Three values stay apart everywhere: `<not counted>` (nothing was measured), `<not supported>` (it can't be), and `0` (it was measured and did not happen).

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas, or all
settings: dict = {}  # database, profile, results_folder

# %%
import numpy as np
import pandas as pd
import seaborn as sns

from cmlib import plot
from cmlib.collect import machine
from cmlib.experiments import data
from cmlib.experiments.event_tables import event_table, known_sums
from cmlib.io import events, store
from cmlib.io.recording import INSTRUCTIONS
from cmlib.report.notebook import begin

notebook = begin("01_collection", settings, program=program)
results, url = notebook.results, notebook.database

# %% [markdown]
# ## The data
#
# A recording is one run: counts by interval and event (`NaN`: not counted), the share of each interval for which an event was on a counter, the lengths of the intervals, and what is known of the machine. It is the same whether perf counted, Callgrind simulated, or a file came from elsewhere; `axis` says what its rows lie along.

# %%
programs = data.programs(url, program)
runs = {name: [store.load(url, one) for one in data.interval_runs(url, [name])["run_id"]]
        for name in programs}
recordings = [run for own in runs.values() for run in own]
first = recordings[0]
print(f"{len(recordings)} recordings; {first.meta['run']} of {first.meta['program']}, by "
      f"{first.source}: {first.counts.shape[0]} intervals x {first.counts.shape[1]} events")
first.counts.head()

# %% [markdown]
# ## The machine that made the recordings, and this one
#
# Recordings carry the machine they were made on. Counters differ between machines, and some lie: a census counts the same event several times at once and sees how many copies agree. *Offered* is what the kernel hands out, *good* how many count correctly. A recording with more events in a group than good counters is wrong without any warning from perf.

# %%
if not notebook.of_program:  # which may have been recorded elsewhere
    here = pd.DataFrame(machine.examine().findings)[["what", "numbers", "todo"]]
    here = here.replace("`", "", regex=True)
    display(results.table(here, "this-machine", "**Table.** What `cmlib doctor` says of the "
                          "machine this notebook ran on.", on_page=program == "all"))

# %%
def describe_machine(run):
    """The processor and its counters, or the simulator and its caches."""
    if run.simulated:
        about = run.meta["simulator"]
        return {"simulator": f"{about['tool']} {about['version']}"} | about["caches"]
    known, counters = run.machine, run.meta.get("counters") or {}
    identity = [str(known[key]) for key in ("family", "model") if known.get(key) is not None]
    return {"processor": known.get("model_name") or "not known",
            "family/model": "/".join(identity) if len(identity) == 2 else None,
            "processors": known.get("processors"),
            "virtual": (known.get("virtual") or "no") if known.get("processors") else None,
            "kernel": known.get("kernel"), "perf": known.get("perf"),
            "counters offered": counters.get("offered"), "counters good": counters.get("good")}

# %%
results.mark(data.describe_source(url, programs))  # simulated counts say so in every caption
machines = pd.DataFrame(map(describe_machine, recordings))
machines = machines.groupby(list(machines), dropna=False, sort=False).size().rename("runs")
results.table(machines.reset_index(), "machines",
              "**Table.** Machines and counters behind the recordings. *See:* "
              f"{len(recordings)} runs on {len(machines)} kind{'s' * (len(machines) > 1)} of "
              "machine.")

# %% [markdown]
# ## What is recorded
#
# A *set* is a family of runs made to one plan; a *pass* goes through the whole plan once; a *part* is one run of it.
# `instructions` and `cycles` are pinned where they are counted, so every interval of every run knows its IPC.

# %%
def describe_set(own):
    """How much the runs of one set hold."""
    shares = np.concatenate([run.running[run.studied].to_numpy().ravel() for run in own])
    shares = shares if own[0].knows_shares else np.full(1, np.nan)
    row = {"kind": own[0].kind, "passes": len({run.meta["pass"] for run in own}),
           "runs": len(own), "events": len({event for run in own for event in run.studied}),
           "intervals": sum(len(run.counts) for run in own)}
    if own[0].simulated:
        return row | {"million instructions": sum(run.counts.index[-1] for run in own)}
    timed = own[0].axis.rate == "per second"
    seconds = sum(run.meta["duration_s"] for run in own) if timed else np.nan
    return row | {"seconds": seconds, "mean running share": pd.Series(shares).mean()}


sets = {}
for run in recordings:
    sets.setdefault((run.meta["program"], run.meta["set"]), []).append(run)
overview = pd.DataFrame([{"program": name, "set": plan} | describe_set(own)
                         for (name, plan), own in sets.items()])
results.table(overview, "recordings",
              "**Table.** Recorded runs: events, intervals, their length in all, and the share of "
              "time each event was on a counter.")

# %% [markdown]
# The *running share* $r$ is the share of an interval for which an event was on a counter. Unmultiplexed events sit at 1. Where groups take turns, perf prints $\hat{c} = c / r$ for the $c$ events that it saw (CounterMiner, §II-A): with four groups, some three quarters of what it prints is extrapolated; below a share of about 0.1 a single burst decides the count of the whole interval. A simulation counts everything all the time, without counters. Some files from elsewhere tell no shares: then they are not known, and not drawn.

# %%
@plot.styled
def draw_shares(frame):
    """Cumulative distribution of the running share, a line a kind of run."""
    figure, (ax,) = plot.panels([""], height=2.8)
    kinds = list(dict.fromkeys(frame["kind"]))
    sns.ecdfplot(frame, x="share", hue="kind", hue_order=kinds,
                 palette=plot.palette(len(kinds)), ax=ax)
    ax.set(xlabel="running share of an event in an interval", ylabel="share of intervals",
           xlim=(0, 1.02), ylim=(0, 1.02))
    sns.move_legend(ax, "upper left", bbox_to_anchor=(1, 1), title="")
    return figure, ax


known = [run for run in recordings if run.knows_shares and not run.simulated]
multiplexed = [run for run in known if (run.running[run.studied] < 1).any(axis=None)]
if multiplexed:
    shares = pd.concat([run.running[run.studied].melt(value_name="share").assign(kind=run.kind)
                        for run in known], ignore_index=True)[["kind", "share"]].dropna()
    turning = shares.loc[shares["share"] < 1, "share"].median()
    figure, _ = draw_shares(shares)
    display(results.figure(figure, "running-share",
                           "**Figure.** Share of the intervals in which an event was on a counter "
                           f"for at most so much of the time, {len(known)} runs. *See:* where "
                           f"events take turns, {turning:.2f} of the time in the median."))

# %% [markdown]
# ## Which events count at all
#
# Of the events that are documented for a processor, many never count in a given program. They carry no information, and time on a counter spent on them is lost.

# %%
def rates_of(run):
    """Total of each studied event, and its rates by instructions and by time."""
    totals = run.counts.sum(min_count=1)  # of what is not supported there is none
    executed = totals.get("instructions", totals.get(INSTRUCTIONS, np.nan))
    found = pd.DataFrame({"total": totals[run.studied]})
    found["per 1000 instructions"] = 1000 * found["total"] / executed
    timed = run.axis.rate != "per run"  # of totals nobody may have told how long they took
    found["per second"] = found["total"] / (run.interval_s.sum() if timed else np.nan)
    return found.rename_axis("event").reset_index().assign(program=run.meta["program"])


counting = pd.concat(map(rates_of, recordings))
counting = counting.groupby(["event", "program"], sort=False).mean().reset_index("program")
counting.insert(1, "unit", event_table(url)["unit"].reindex(counting.index).fillna("other"))
counting.insert(2, "counts", (counting["total"] > 0).astype(int))
counting.insert(3, "always zero", (counting["total"] == 0).astype(int))
unwanted = ["total", "per second"] if first.simulated else ["total"]
counting = counting.drop(columns=unwanted).sort_values(["unit", "program"], kind="stable")

# %%
by_unit = counting.groupby("unit")[["counts", "always zero"]].sum()
figure, _ = plot.counts(by_unit, ylabel="events x programs")
results.figure(figure, "counting",
               "**Figure.** Events by unit of the core, summed over programs: those that counted "
               "at least once, and those that read zero throughout. *See:* "
               f"{by_unit['always zero'].sum()} of {by_unit.to_numpy().sum()} read zero.")

# %%
results.table(counting.reset_index(), "events",
              "**Table.** Events by program: mean count per thousand instructions, and per second "
              "where time was measured.", decimals=4)

# %% [markdown]
# ## Sums that must hold
#
# Most events of this processor are selected by a set of bits, so one event is often the exact sum of others. Where whole and parts were on the counters together, the sum is a check of the counters themselves.

# %%
def check_sums(run):
    """Totals of events against the sum of the events they consist of."""
    totals, groups = run.counts.sum(), list(map(set, run.meta["groups"]))
    for whole, parts in known_sums(run):
        if {whole, *parts} <= set(totals.index) and totals[whole] > 0:
            together = any({whole, *parts} <= group for group in groups)
            off = 100 * (totals[list(parts)].sum() / totals[whole] - 1)
            yield (run.meta["program"], run.meta["run"], whole, " + ".join(parts), together, off)


columns = ["program", "run", "whole", "parts", "same group", "difference [%]"]
sums = pd.DataFrame([row for run in recordings for row in check_sums(run)], columns=columns)
if len(sums):
    off = sums["difference [%]"].abs().groupby(sums["same group"]).max()
    text = ", ".join(f"{value:.3g} % {'in one group' if same else 'where they took turns'}"
                     for same, value in off.items())
    display(results.table(sums, "sums", "**Table.** Events that are sums of others: relative "
                          "difference of their totals in one run. *See:* sums differ by at most "
                          f"{text}.", decimals=5))

# %% [markdown]
# Sums whose events were measured in one group should agree to the last count, or a counter or a table is wrong; those whose events took turns differ by what multiplexing loses.

# %%
counted = int(counting.query("counts > 0").index.nunique())
together = int(sums["same group"].sum())
if len(sums):
    results.number("sums measured in one group", together, "sums")
results.number("runs in the store", len(recordings), "runs")
results.number("events recorded", counting.index.nunique(), "events",
               **{"paper": 229, "note": "the paper measured all events that its processor has"}
               if program == "all" else {})
results.number("events that counted in some program", counted, "events")

# %%
display(results.finding(f"{len(recordings)} runs of {', '.join(programs)} are in the store; "
                        f"{counted} events counted in at least one of them."))
for name, own in runs.items():
    names = {event for run in own for event in run.counts}
    known = own[0].simulated or own[0].machine.get("vendor") is not None
    if not known and (sentence := events.describe_recognised(events.recognise(names))):
        display(results.finding(sentence, program=name))

# %% [markdown]
# ## What this doesn't show
#
# Counts in user mode, as `cmlib record` makes them, leave out what the kernel did on a program's behalf. The recordings that come with cmlib are of one kind of processor, in a virtual machine.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §II-A and §III-A.

# %%
results.save()
