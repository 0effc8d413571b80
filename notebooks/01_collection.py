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
import numpy as np
import pandas as pd

from cmlib import plot
from cmlib.collect import machine
from cmlib.experiments import data, simulated_phases
from cmlib.experiments.answers import answer, describe_answer, describe_changes, leading_rates
from cmlib.experiments.commands import command_again, describe_simulation
from cmlib.experiments.event_tables import describe_recognised_tables, event_table, known_sums
from cmlib.fingerprint.phases import find_phases
from cmlib.io import events
from cmlib.io.recording import INSTRUCTIONS
from cmlib.report.notebook import begin

notebook = begin("01_collection", globals())
results, url = notebook.results, notebook.database

# %% [markdown]
# ## The data
#
# A recording is one run: counts by interval and event (`NaN`: not counted), the share of each interval for which an event was on a counter, the lengths of the intervals, and what is known of the machine. It is the same whether perf counted, Callgrind simulated, or a file came from elsewhere; `axis` says what its rows lie along.

# %%
programs = data.programs(url, program)
runs = {name: data.load_recordings(url, name) for name in programs}
recordings = [run for own in runs.values() for run in own]
first = recordings[0]
print(f"{len(recordings)} recordings; {first.meta['run']} of {first.meta['program']}, by "
      f"{first.source}: {first.counts.shape[0]} intervals x {first.counts.shape[1]} events")
first.counts.head()

# %% [markdown]
# ## The machine that made the recordings, and this one
#
# Recordings carry the machine they were made on. Counters differ between machines, and some lie: a census counts the same event several times at once and sees how many copies agree.

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
              "**Table.** Machines and counters behind the recordings.")

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
# The *running share* $r$ is the share of an interval for which an event was on a counter. Unmultiplexed events sit at 1. Where groups take turns, perf prints $\hat{c} = c / r$ for the $c$ events that it saw (CounterMiner, §II-A): with four groups, some three quarters of what it prints is extrapolated. A simulation counts everything all the time, without counters. Some files from elsewhere tell no shares: then they are not known, and not drawn.

# %%
known = [run for run in recordings if run.knows_shares and not run.simulated]
multiplexed = [run for run in known if (run.running[run.studied] < 1).any(axis=None)]
if multiplexed:
    shares = pd.concat([run.running[run.studied].melt(value_name="share").assign(kind=run.kind)
                        for run in known], ignore_index=True)[["kind", "share"]].dropna()
    figure, _ = plot.shares(shares, xlabel="running share of an event in an interval")
    display(results.figure(figure, "running-share",
                           "**Figure.** Share of the intervals in which an event was on a counter "
                           "for at most so much of the time, all runs whose files tell it."))

# %% [markdown]
# ## How well two runs agree
#
# Before anything is concluded from multiplexed counts, look at what does not depend on multiplexing: $\mathrm{IPC} = \mathrm{instructions} / \mathrm{cycles}$ over time, from the pinned counters, in several runs of each program.

# %%
def ipc_by_run(own):
    """IPC over time of unmultiplexed runs, or of the others where there are none."""
    known = [run for run in own if {"instructions", "cycles"} <= set(run.counts)]
    for mode in ("ocoe", "mlpx", "unknown"):
        if chosen := [run for run in known if run.meta["mode"] == mode]:
            return {run.meta["run"]: run.counts["instructions"] / run.counts["cycles"]
                    for run in chosen}
    return {}


ipc = {name: series for name, own in runs.items() if (series := ipc_by_run(own))}
if ipc:
    figure, _ = plot.series_by_program(ipc, ylabel="IPC [instructions per cycle]")
    display(results.figure(figure, "ipc",
                           "**Figure.** IPC over time, of unmultiplexed runs if there are any.",
                           on_page=len(ipc) > 1))  # of one program its card has it

# %% [markdown]
# Look whether the shape repeats: if it does not, runs can't be merged, and no ranking will hold. Even where it does, its timing shifts from run to run, which is why series are compared by dynamic time warping (DTW)
# and merged by progress, not by the clock. Where instructions and cycles were not counted, there is no IPC; then the rates of what was counted are shown instead, those of a simulated program by the instructions executed, as no clock runs there.

# %%
def rates_by_run(own):
    """Rates over time of every event that happened, by event and run."""
    found = {}
    for run in own:
        for event, rate in run.rates().items():
            if rate.sum() > 0 and event != INSTRUCTIONS:
                modelled = events.simulated_kind(event) == events.MODELLED
                name = f"{event} (modelled)" if modelled else event
                found.setdefault(name, {})[run.meta["run"]] = rate
    return found


rates = {name: rates_by_run(own) for name, own in runs.items() if name not in ipc}
for place, (name, by_event) in enumerate(rates.items()):
    shown = dict(list(by_event.items())[: None if first.simulated else 8])
    figure, _ = plot.series_by_program(shown, ylabel=first.axis.rate, xlabel=first.axis.label)
    display(results.figure(figure, f"rates-{place}",
                           f"**Figure.** Events {first.axis.rate} in the runs of {name}."))

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
def rates_of(run):
    """Total of each studied event, and its rates by instructions and by time."""
    totals = run.counts.sum(min_count=1)  # of what is not supported there is none
    executed = totals.get("instructions", totals.get(INSTRUCTIONS, np.nan))
    found = pd.DataFrame({"total": totals[run.studied]})
    found["per 1000 instructions"] = 1000 * found["total"] / executed
    timed = run.axis.rate != "per run"  # of totals nobody may have told how long they took
    found["rate"] = found["total"] / (run.interval_s.sum() if timed else len(run.counts))
    found["per second"] = found["rate"] if timed else np.nan
    return found.rename_axis("event").reset_index().assign(program=run.meta["program"])


counting = pd.concat(map(rates_of, recordings))
counting = counting.groupby(["event", "program"], sort=False).mean().reset_index("program")
counting.insert(1, "unit", event_table(url)["unit"].reindex(counting.index).fillna("other"))
counting.insert(2, "counts", (counting["total"] > 0).astype(int))
counting.insert(3, "always zero", (counting["total"] == 0).astype(int))
rates_in_all = counting.set_index("program", append=True)["rate"]
unwanted = ["total", "rate", "per second"] if first.simulated else ["total", "rate"]
counting = counting.drop(columns=unwanted).sort_values(["unit", "program"], kind="stable")

# %%
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
    display(results.table(sums, "sums", "**Table.** Events that are sums of others: relative "
                                        "difference of their totals in one run.", decimals=5))

# %% [markdown]
# Sums whose events were measured in one group agree to a thousandth of a percent; those whose events took turns differ by what multiplexing loses.

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
for name, sentence in describe_recognised_tables(url, programs).items():
    display(results.finding(sentence, program=name))

# %% [markdown]
# The report begins with a picture of each program, and with what can be said of it before anything is computed: its levels, as `perf stat` has them, and where its slots went, with bounds from whatever events there are. An event that counts cycles or slots is a share of them; one that counts misses, page walks or mispredictions costs between nothing and its latency (`data/topdown/costs`). Where the account's own events were counted, notebook 02a draws it.

# %%
answers = {name: answer(name, own) for name, own in runs.items() if not first.simulated}
bounds = {name: pd.DataFrame(one["account"]["categories"])[["name", "parent", "low", "high"]]
          for name, one in answers.items() if one["account"]}
if bounds:
    display(results.table(pd.concat(bounds, names=["program"]).reset_index("program"), "bounds",
                          "**Table.** Bounds of each category [% of the slots], of those whose "
                          "bounds say more than their parent's.", decimals=1))

# %%
def summarize_agreement(by_event):
    """How far the runs' rates of the first event that several runs counted are apart."""
    for event, by_run in by_event.items():
        means = [rate.mean() for rate in by_run.values()]
        if len(means) > 1:
            apart = 100 * (max(means) - min(means)) / np.mean(means)
            return (f"the rate of `{event}` differs by {apart:.0f} % between the {len(means)} "
                    "runs that counted it")
    return ("no event was counted in two runs, so that it is not known how far another run "
            "would differ")


# %%
def suggest_recording(meta):
    """What it takes to know IPC."""
    if meta.get("imported"):
        return ("instructions and cycles in the same recording give IPC: put "
                "`{instructions,cycles}` in front of perf's list of events (`-e`), and "
                f"`cmlib import {meta['program']} FILE`")
    return ("IPC, and where the cycles go. `cmlib doctor` says whether this machine has hardware "
            "counters; on one that has, "
            f"``{command_again(meta | {'command': ''})}`` records what that takes")


def summarize_rates(often, by_event, own):
    """What changes, or happened most often, how far runs agree, and what it takes to know IPC."""
    changes = describe_changes(leading_rates(own)) if not own[0].holds_totals else ""
    times = own[0].axis.rate.replace("per", "times a")
    named = ", ".join(f"`{event}` {rate:,.0f} {times}" for event, rate in often.items())
    if changes and len(own) > 1:
        changes = f"in the first of {len(own)} runs, {changes}"
    return {"varies": changes or f"nothing stands out; most often: {named or 'nothing'}",
            "sure": summarize_agreement(by_event), "lacking": suggest_recording(own[0].meta)}


# %%
def phase_levels(series):
    """The mean of the phase that each value is in."""
    phases = find_phases(series)
    place = phases["start"].searchsorted(series.index, side="right") - 1
    return pd.Series(phases["level"].to_numpy()[place.clip(0)], series.index)


def with_phases(rows):
    """Add its phases to each quantity that one run tells."""
    return {quantity: lines | {"phases": phase_levels(*lines.values())} if len(lines) == 1
            else lines for quantity, lines in rows.items()}


# %%
for name in programs:
    details, rows, figure = answers.get(name, {}), {}, None
    if name in profiles:
        details = simulated_phases.estimated_misses(profiles[name])
        figure, _ = plot.simulated_card(*parts[name])
        summary = simulated_phases.describe_estimate(profiles[name])
        summary |= describe_simulation(runs[name][0].meta)
    elif name in ipc:
        summary, rows = describe_answer(answers[name]), {"IPC": ipc[name]}
    else:
        often = rates_in_all.xs(name, level="program").nlargest(3)
        leading = {event: rates[name][event] for event in often.index if event in rates[name]}
        summary = summarize_rates(often, leading, runs[name])
        rows = {f"{event} {runs[name][0].axis.rate}": by_run for event, by_run in leading.items()}
    if any(len(line) > 1 for by_run in rows.values() for line in by_run.values()):
        figure, _ = plot.series_card(with_phases(rows))
    if figure is not None:  # a single total is no line
        quantity = ", ".join(rows) or "estimated cycles by what they are charged for"
        alt = f"{name}: {quantity} over its run, a line a run, of one run with its phases."
        results.overview_picture(name, figure, alt)
    results.overview_summary(name, details)
    display(results.overview(name, **summary))

# %% [markdown]
# ## What this doesn't show
#
# Counts in user mode, as `cmlib record` makes them, leave out what the kernel did on a program's behalf. The recordings that come with cmlib are of one kind of processor, in a virtual machine.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §II-A and §III-A.

# %%
results.save()
