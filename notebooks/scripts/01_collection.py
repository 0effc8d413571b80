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
# # Collection: what was counted, and how
#
# **Question.** Which events were counted on which programs, and with how many counters?
#
# *Reads* the *store*, the database of all recorded runs, made of the raw `perf stat` output under `data/recordings` (SQLite unless `database` says otherwise); every other notebook reads it as well. *Writes* which events were counted how, and where counts can't be.
#
# A processor has a handful of counters and hundreds of events. **OCOE** (one counter, one event) counts as many events as there are counters, all the time; more events need more runs.
# **MLPX** (multiplexing) lets groups of events take turns on the counters every few milliseconds, and perf extrapolates each count by the share of time its group was on (CounterMiner, §II-A).
# Three values stay apart everywhere: `<not counted>` (nothing was measured), `<not supported>` (it can't be), and `0` (it was measured and did not happen).

# %% [markdown] tags=["answer"]
# > **Answer** (bzip2, gcc, kmeans and wordcount as recorded for this project, default parameters). **231** events were counted beside instructions and cycles, in **116** runs; **225** of them happened at least once. The paper measured 229 events of its Haswell processor. Counts that can be checked are consistent: an event that is the sum of others differs from that sum by at most **0.00043 %** if all were counted in one group, and by at most **6.8 %** if they were in groups that took turns.

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas, or all
settings: dict = {}  # database, profile, results_folder

# %%
import numpy as np
import pandas as pd
import seaborn as sns
from IPython.display import Markdown

from cmlib import places, plot
from cmlib.collect import machine
from cmlib.experiments import data, published
from cmlib.experiments.event_tables import event_table, known_sums
from cmlib.io import events, store
from cmlib.io.recording import INSTRUCTIONS
from cmlib.report import paper
from cmlib.report.notebook import begin

notebook = begin("01_collection", settings, program=program)
results, url = notebook.results, notebook.database

# %% [markdown]
# ## The data
#
# A recording is one run: counts by interval and event (`NaN`: not counted), the share of each interval for which an event was on a counter, the lengths of the intervals, and what is known of the machine. It is the same whether perf counted, Callgrind simulated, or a file came from elsewhere; its rows lie along time, the instructions executed, or are whole runs (`axis`).

# %%
programs = data.programs(url, program)
display(Markdown(data.describe_data(url, programs)))
runs = {name: [store.load(url, one) for one in data.interval_runs(url, [name])["run_id"]]
        for name in programs}
recordings = [run for own in runs.values() for run in own]
first = recordings[0]
print(f"The first of them, {first.meta['run']} of {first.meta['program']}: counts of 5 of its "
      f"{first.counts.shape[1]} events in 5 of its {first.counts.shape[0]} intervals")
first.counts.iloc[:5, :5].map("{:,.0f}".format)

# %% [markdown]
# ## The machine that made the recordings
#
# Counters differ between machines, and some lie: `cmlib record` first counts one event several times at once and sees how many copies agree. *Offered* is how many counters the kernel hands out, *good* how many of them count correctly. A recording with more events in a group than good counters is wrong without any warning from perf.

# %%
def describe_machine(run):
    """The processor and its counters, or the simulator and its caches."""
    if run.simulated:
        about = run.meta["simulator"]
        return {"simulator": f"{about['tool']} {about['version']}"} | about["caches"]
    known, counters = run.machine, run.meta.get("counters") or {}
    identity = ", ".join(f"{key} {known[key]}" for key in ("family", "model") if known.get(key))
    return {"processor": f"{known.get('model_name') or 'not known'}"
                         + f" ({identity})" * bool(identity),
            "processors": known.get("processors"),
            "virtual machine": (known.get("virtual") or "no") if known.get("processors") else None,
            "kernel": known.get("kernel"), "perf": known.get("perf"),
            "counters offered": counters.get("offered"), "counters good": counters.get("good")}

# %%
machines = pd.DataFrame(map(describe_machine, recordings))
machines = machines.groupby(list(machines), dropna=False, sort=False).size().rename("runs")
machines = machines.reset_index()
results.table(machines, "machines",
              "**Table.** Machines and counters behind the recordings. *See:* "
              f"{len(recordings)} runs on {len(machines)} kind{'s' * (len(machines) > 1)} of "
              "machine.")

# %% [markdown]
# ## What is recorded
#
# `instructions` and `cycles` have a counter of their own all the time, so each interval in which the program ran has its IPC (instructions a cycle). The other events are counted in *groups*: the events of one group are on the counters at the same time, and groups take turns.
#
# A *set* is a family of runs made to one plan: `ocoe` counts a dozen events all the time, one group a run, in several runs; `mlpx12` lets the same events take turns in one run, in several groups; `sweep` goes through the other events of the processor, a dozen or so a run, also in groups that take turns. A *pass* goes through the whole plan once, so that two passes count everything twice.
# (Names such as `mlpx12-p0-00` are the set, the pass from 0, and the part of the pass.)

# %%
def describe_set(own):
    """How much the runs of one set hold."""
    shares = np.concatenate([run.running[run.studied].to_numpy().ravel() for run in own])
    shares = shares if own[0].knows_shares else np.full(1, np.nan)
    row = {"passes": len({run.meta["pass"] for run in own}), "runs": len(own),
           "events": len({event for run in own for event in run.studied}),
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
              "**Table.** Recorded runs by program and set: events asked for beside instructions "
              "and cycles (whether they gave a count or not), intervals, their length in all, and "
              "the mean share of time for which an event was on a counter.")

# %% [markdown]
# CounterMiner's figures take programs that were recorded both ways, all the time (OCOE) and taking turns (MLPX).

# %%
others = set(published.files_like("cloudsuite", r".+\.(?P<program>\w+)\.csv")["program"]
             .str.replace("_", ""))
both = {name for name, own in runs.items() if {"ocoe", "mlpx"} <= {run.meta["mode"] for run in own}}
WHERE = ["both ways", "by others, one way only", "not here"]
rows = pd.DataFrame([(name, WHERE[0 if name in both else 1 if name in others else 2])
                     for name in paper("counterminer")["coverage_percent"]],
                    columns=["program", "recorded"])
rows = rows.sort_values("recorded", key=lambda way: way.map(WHERE.index), kind="stable")
n_here, n_others, _ = (int((rows["recorded"] == way).sum()) for way in WHERE)
if not notebook.of_program:
    display(results.table(rows, "table2", "**CounterMiner, Table II.** Of the paper's sixteen "
                          "programs those recorded both ways, as its figures need. *See:* these "
                          f"are {n_here}; {n_others} more were recorded by others, one way only, "
                          "and are not used.", rows=n_here))

# %% [markdown]
# The *running share* $r$ is the share of an interval for which an event was on a counter. Where groups take turns, perf itself computes (CounterMiner, §II-A)
#
# $$\hat{c} = \frac{c}{r}$$
#
# and prints $\hat c$ for the $c$ occurrences that it saw: with $g$ groups, a share of about $1 - 1/g$ of what it prints is extrapolated. A simulation counts everything all the time, without counters. Some files from elsewhere tell no shares: then they are not known, and not drawn.

# %%
@plot.styled
def draw_shares(frame):
    """Cumulative distribution of the running share, a line a kind of run."""
    figure, (ax,) = plot.panels([""], height=2.8)
    kinds = list(dict.fromkeys(frame["kind"]))
    sns.ecdfplot(frame, x="share", hue="kind", hue_order=kinds,
                 palette=plot.palette(len(kinds)), ax=ax)
    ax.set(xlabel="running share of an event in an interval", xlim=(0, 1.02), ylim=(0, 1.02),
           ylabel="share of intervals\nand events")
    sns.move_legend(ax, "upper left", bbox_to_anchor=(1, 1), title="")
    return figure, ax

# %%
known = [run for run in recordings if run.knows_shares and not run.simulated]
multiplexed = [run for run in known if (run.running[run.studied] < 1).any(axis=None)]
if multiplexed:
    counted = [run.running[run.studied].loc[:, run.counts[run.studied].notna().any()]
               .melt(value_name="share").assign(kind=run.kind) for run in known]
    shares = pd.concat(counted, ignore_index=True)[["kind", "share"]].dropna()
    turns = shares.loc[shares["share"] < 1, "share"]
    figure, _ = draw_shares(shares)
    display(results.figure(figure, "running-share",
                           "**Figure.** Share of all intervals and events whose running share is "
                           f"at most so large, {len(known)} runs (without events of which a run "
                           "has no count at all: not supported). *See:* where events take turns, "
                           f"it is {turns.median():.2f} in the median, and 0 (`<not counted>`) in "
                           f"{100 * (turns == 0).mean():.2f} %; without turns it is 1."))

# %% [markdown]
# ## Which events count at all
#
# Of the events that are documented for a processor, many never count in a given program. They carry no information, and time on a counter spent on them is lost. Some counts can't be: no event happens a thousand times a cycle. Such counts are left out below, of sums the whole interval; what perf printed is kept in the store. Where `cycles` itself reads 0, as after the end of a program, counts beside it were read late, and the interval has no IPC. (*unit* below: the part of the core that an event is of, by the vendor's tables.)

# %%
def impossible(run):
    """Where an event reads more than a thousand occurrences a cycle."""
    cycles = run.counts.get("cycles", pd.Series(np.inf, run.counts.index))
    return run.counts.gt(1000 * cycles, axis=0)

# %%
def rates_of(run):
    """Total of each studied event without impossible counts; its rates by instructions and time."""
    counts = run.counts.mask(impossible(run))
    totals = counts.sum(min_count=1)  # of what is not supported there is none
    executed = totals.get("instructions", totals.get(INSTRUCTIONS, np.nan))
    found = pd.DataFrame({"total": totals[run.studied]})
    found["per 1000 instructions"] = 1000 * found["total"] / executed
    timed = run.axis.rate != "per run"  # of totals nobody may have told how long they took
    found["per second"] = found["total"] / (run.interval_s.sum() if timed else np.nan)
    return found.rename_axis("event").reset_index().assign(program=run.meta["program"])


counting = pd.concat(map(rates_of, recordings))
counting = counting.groupby(["event", "program"], sort=False).mean().reset_index("program")
counting.insert(1, "unit", event_table(url)["unit"].reindex(counting.index).fillna("other"))
KINDS = {"happened": counting["total"] > 0, "always zero": counting["total"] == 0,
         "no count": counting["total"].isna()}
for place, (kind, rows) in enumerate(KINDS.items(), 2):
    counting.insert(place, kind, rows.astype(int))
unwanted = ["total", "per second"] if first.simulated else ["total"]
counting = counting.drop(columns=unwanted).sort_values(["unit", "program"], kind="stable")

# %%
wrong = [(run, event, at) for run in recordings if (beyond := impossible(run)).any(axis=None)
         for at, event in beyond.stack()[lambda found: found].index]
n_counts = sum(run.counts.notna().to_numpy().sum() for run in recordings)
no_cycles = sum(run.counts.at[at, "cycles"] == 0 for run, _, at in wrong)
if wrong:
    print("Counts that can't be, each in one interval:")
for run, event, at in wrong:
    cycles = run.counts.at[at, "cycles"]
    print(f"{run.meta['program']}, {run.meta['run']}, to {at:.1f} s: {cycles:,.0f} cycles, "
          f"{run.counts.at[at, event]:,.0f} {event}")

# %%
by_unit = counting.groupby("unit")[list(KINDS)].sum() / len(programs)
by_unit = by_unit.loc[:, by_unit.sum() > 0]
n_events, zeros = counting.index.nunique(), counting.groupby("unit")["always zero"].sum()
zeros = zeros / len(programs)
never = counting.groupby("event")[list(KINDS)].min()  # in every program
lacking = list(never.index[never["no count"] > 0])
figure, _ = plot.counts(by_unit, ylabel="events (mean of programs)")
results.figure(figure, "counting",
               f"**Figure.** {n_events} events by unit of the core, mean of "
               f"{', '.join(programs)}: those that happened at least once, those that read zero "
               "from beginning "
               "to end, and those for which perf printed no count (not supported). Heights are "
               "numbers of events, not how often they happen. *See:* on average "
               f"{zeros.sum():.0f} events of a program read zero, most of the unit "
               f"{zeros.idxmax()} ({never['always zero'].sum()} read zero in all programs); "
               f"{len(lacking)} gave no count in any.")

# %%
often = counting.drop(columns=list(KINDS))
often = often.sort_values("per 1000 instructions", ascending=False, kind="stable")
if "per second" in often:
    often["million a second"] = often.pop("per second") / 1e6
display(results.table(
    often.reset_index(), "events", f"**Table.** The 10 most frequent of {len(often)} rows, an "
    "event and a program each (all in events.csv): mean count per thousand instructions, and "
    "millions a second where time was measured.", rows=10, decimals=0,
    on_page=notebook.of_program))

# %% [markdown]
# ## Sums that must hold
#
# An event is often the exact sum of others, as where each bit of its selector (*umask*) stands for a part. Where whole and parts are in one group, they are counted at the same time, and the sum is a check of the counters themselves; where they are in different groups, each is counted while the others are not, and the sum shows what multiplexing loses. Of a whole $e$ and its parts $e_k$, from their totals in one run,
#
# $$\mathrm{difference} = \frac{\sum_k e_k}{e} - 1.$$

# %%
def check_sums(run):
    """Totals of events against the sum of the events they consist of."""
    possible = run.counts[~impossible(run).any(axis=1)]
    totals, groups = possible.sum(), list(map(set, run.meta["groups"]))
    for whole, parts in known_sums(run):
        if {whole, *parts} <= set(totals.index) and totals[whole] > 0:
            together = any({whole, *parts} <= group for group in groups)
            off = totals[list(parts)].sum() - totals[whole]
            yield (run.meta["program"], whole, " + ".join(parts), together,
                   100 * off / totals[whole], off / len(possible))


columns = ["program", "whole", "parts", "same group", "difference [%]", "counts an interval"]
sums = pd.DataFrame([row for run in recordings for row in check_sums(run)], columns=columns)
sums = sums.sort_values("difference [%]", key=abs, ascending=False, kind="stable",
                        ignore_index=True)
off = sums[columns[4:]].abs().groupby(sums["same group"]).max()
WHERE = {True: "all are in one group, which is counted at the same time",
         False: "they are in groups that took turns with each other"}
agree = ", and ".join(f"by at most {one['difference [%]']:.2g} % where {WHERE[same]}"
                      for same, one in off.iterrows())

# %%
if len(sums):
    largest = sums.groupby("same group").head(4).sort_values("same group", kind="stable")
    sums, n_ends = pd.concat([largest, sums.drop(largest.index)]), len(largest)
    caption = ("**Table.** The 4 largest differences between an event and the sum of its parts "
               "where these are in different groups, and the 4 largest where all are in one "
               f"(*same group*), of {len(sums)}, in one run each (all in sums.csv). Intervals with "
               "a count that can't be are left out.")
    display(results.table(sums.drop(columns=columns[5]), "sums", caption, rows=n_ends,
                          decimals=5))
if True in off.index:
    print(f"In one group, they are at most {off.at[True, 'counts an interval']:.1f} "
          "counts an interval off: perf rounds what it extrapolates.")

# %% [markdown]
# Sums within one group should agree but for rounding, or a counter, or our list of sums, is wrong.
#
# ## Do counters count what their names say?
#
# Sums only show whether counts fit together. V. Weaver counted the events of one assembly program by hand, and ran it ten times on each of several machines (others' hardware, user mode; `totals/deterministic` in the folder that `CMLIB_PUBLIC` names, if it is there). An event is *exact* on a machine if all ten counts equal the count by hand, and *repeatable* if they differ by at most a millionth of it.

# %%
folder = places.external_data_dir()
files = sorted((folder / "totals/deterministic").glob("expected.csv*")) if folder else []
if files and not notebook.of_program:
    by_hand = pd.read_csv(files[0]).query("expected > 0").rename(columns={"section": "event"})
    values = by_hand["all_values"].str.split(";", expand=True).astype(float)
    spread = values.max(axis=1) - values.min(axis=1)
    by_hand["exact"] = (by_hand["raw_average"] == by_hand["expected"]) & (spread == 0)
    by_hand["repeatable"] = spread <= 1e-6 * by_hand["expected"]
    by_hand["off"] = 100 * (by_hand["raw_average"] / by_hand["expected"] - 1).abs()
    by_event = by_hand.groupby("event")
    right = by_event[["exact", "repeatable"]].sum().assign(machines=by_event.size())
    right["off by, median [%]"] = by_event["off"].median()
    right["off by, most [%]"] = by_event["off"].max()
    display(results.table(
        right.sort_values("off by, median [%]").reset_index(), "counting",
        "**Table.** On how many machines an event is exact, or at least repeatable, and how far "
        "it is off the count by hand [%].", decimals=3))

# %%
n_counted = n_events - len(lacking)
counted = int(counting.query("happened > 0").index.nunique())
if len(sums):
    results.number("sums measured in one group", int(sums["same group"].sum()), "sums")
for same, one in off.iterrows():
    where = "one group" if same else "groups that took turns"
    results.number(f"largest difference of a sum, {where}", one["difference [%]"], "%")
results.number("runs in the store", len(recordings), "runs")
note = f"{len(lacking)} more were asked for and gave no count" if lacking else ""
if not notebook.of_program:
    note += "; " * bool(note) + "the paper measured all events that its Haswell processor has"
results.number("events counted", n_counted, "events", note=note,
               paper=None if notebook.of_program else 229)
results.number("events that happened in some program", counted, "events")
share = pd.concat([run.running[run.studied].mean() for run in recordings if run.knows_shares]
                  or [pd.Series()]).drop(lacking, errors="ignore")
always, turning = (set(share.index[of]) for of in (share >= 0.995, share < 0.995))
HOW = {f"{len(turning - always)} only taking turns": turning - always,
       f"{len(always - turning)} only all the time": always - turning,
       f"{len(always & turning)} both all the time and taking turns": always & turning}
ways = ", ".join(text for text, among in HOW.items() if among)

# %%
good = {(run.meta.get("counters") or {}).get("good") for run in recordings} - {None}
pinned = {event for run in recordings for event in run.meta.get("pinned", ())}
most = max((len(group) for run in recordings for group in run.meta["groups"]), default=0)
on = (f", on {' or '.join(map(str, sorted(good)))} counters that count correctly"
      + f", {len(pinned)} of which {' and '.join(sorted(pinned))} had all the time"
      * (good == {most + len(pinned)}) if good else "")

# %%
text = (f"{n_counted} events were counted beside instructions and cycles in {len(recordings)} "
        f"run{'s' * (len(recordings) > 1)} of {', '.join(programs)}{on} "
        f"({ways or 'for which share of the time is not told'}). Of these {counted} happened at "
        "least once"
        + (f", the other {n_counted - counted} read zero throughout."
           if counted < n_counted else ".")
        + (f" {len(lacking)} more were asked for, and perf printed no count." if lacking else "")
        + (" The paper measured 229, all that its processor (Intel Haswell) has."
           if not notebook.of_program else ""))
display(results.finding(text))
if len(sums):
    text = f"Events that are sums of others are off the sum {agree}. Of single counts, "
    text += (f"{len(wrong)} of {n_counts:,} are above a thousand a cycle, {no_cycles} of "
             "them as `cycles` reads 0 beside them, and are left out of rates and sums"
             if wrong else f"none of {n_counts:,} is above a thousand a cycle")
    display(results.finding(f"{text}; smaller errors are not seen so."))
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
# ## The machine on which this page was made
#
# It need not be the one that made the recordings (first table). Here is what `cmlib doctor` says of it: whether it could record hardware events itself, and what to do if not.

# %%
if not notebook.of_program:
    here = pd.DataFrame(machine.examine().findings)[["what", "numbers", "todo"]]
    here = here.replace("`", "", regex=True).rename(columns={"todo": "what to do"})
    asks = here[here["what to do"] != "nothing to do"]
    display(results.table(here.loc[asks.index], "this-machine", "**Table.** Not of the recordings: "
                          f"of {len(here)} findings about the machine that made this page the "
                          f"{len(asks)} that ask for something."))

# %% [markdown]
# ## On your own program
#
# `cmlib record NAME -- COMMAND`, then `cmlib run live 01_collection -p program=NAME` (*live*: the profile for recordings of your own); look whether events took turns, how many read zero, and whether sums hold. `program` is the one parameter: several names, separated by commas, are put side by side.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §II-A and §III-A.

# %%
results.save()
