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
# # Extrapolation: which multiplexed counts can be believed
#
# **Question.** How thinly was each event counted, what does cleaning do where there is no truth to compare with, and what should be recorded next?
#
# *Reads* the store. *Writes* a table of all events of one multiplexed run a program, and for the report's first page which of them can't be believed.
#
# Notebook 02 compares cleaned counts with runs in which the same events were counted all the time. A service that was measured once with `perf stat -I` has no such runs.
# What is left is the run itself: for which share of the time an event was on a counter, how much its counts change from interval to interval, and what the other events say about it. No error against the truth is shown here, as none is known.

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas, or all
top: int = 15  # events shown a program
settings: dict = {}  # database, profile, results_folder

# %%
import numpy as np
import pandas as pd

from cmlib import clean, plot
from cmlib.errors import UnfitRecordingError
from cmlib.experiments import data, repair
from cmlib.experiments.commands import command_to_count
from cmlib.experiments.event_tables import known_sums, table_name
from cmlib.io import events, store
from cmlib.report.notebook import begin
from cmlib.shell import as_code

limits = {"top": (3, 60)}
notebook = begin("02b_extrapolation", settings, program=program, top=top)
results, url = notebook.results, notebook.database
PINNED = ["instructions", "cycles"]

# %% [markdown]
# ## The data
#
# Of each program, the multiplexed run with the most events.

# %%
def explain_none(recorded):
    """Why no run can be judged."""
    names = ", ".join(recorded["program"].unique())
    if not recorded["running_shares"].all():
        return (f"the files of {names} tell no running shares, so that it is not known how much "
                "was extrapolated, and nothing is cleaned. `perf stat -x,` writes them since "
                "Linux 3.13.")
    if (recorded["mode"] == "ocoe").all():
        return (f"every event of {names} was on a counter all the time: nothing was extrapolated, "
                "and there is nothing to clean. Counts are as perf printed them.")
    return (f"no multiplexed run of {names} has {data.FEWEST_INTERVALS} intervals; the longest "
            f"has {recorded['n_intervals'].max()}: record longer.")


programs = data.programs(url, program)
data.refuse_simulated(url, programs, data.EXACT)
recorded = data.timed_runs(url, programs)
able = recorded[(recorded["mode"] == "mlpx") & (recorded["n_intervals"] >= data.FEWEST_INTERVALS)]
if able.empty:
    raise UnfitRecordingError(explain_none(recorded))

# %%
most = able.sort_values(["n_events", "run_id"], ascending=[False, True])
chosen = most.groupby("program")["run_id"].first()
runs = {name: store.load(url, run_id) for name, run_id in chosen.items()}
first = next(iter(runs.values()))
print(f"{chosen.iloc[0]}: {len(first.counts)} intervals of {first.counts.shape[1]} events; "
      "running shares, 0 to 1:")
first.running.head()

# %% [markdown]
# ## How thinly was it counted, and what does cleaning do?
#
# *Share* is the running share [%]; of the rest of the time nothing is known but what perf extrapolates. *Replaced* are the samples that CounterMiner's cleaning changes (notebook 02e).
# *Moved* is by how much the default cleaning (a Kalman smoother, notebook 02c) moves a count, and *error* the standard error $s_t$ that it leaves, both in percent of the mean.
#
# *Noise* is the mean squared standard error as a share of itself and the variance of the cleaned counts $\hat{c}$ over time,
#
# $$\mathrm{noise} = \frac{\frac{1}{T} \sum_t s_t^2}{\mathrm{var}_t(\hat{c}_t) + \frac{1}{T} \sum_t s_t^2},$$
#
# that is, how much of an event's ups and downs is error of extrapolation. Towards 100 % none of them can be believed; the mean of the run can still be right. An event is *too thinly counted* from 25 % on, unless its standard error is below 1 % of its mean. A model that explains something by such an event explains it by noise.

# %%
def score_events(c, running, c_hat, s):
    """Share, gaps, samples replaced and moved, standard error and noise of each event [%]."""
    _, changed = clean.clean_run(c, running, method="counterminer")
    mean, squares = c_hat.mean().replace(0, np.nan), (s**2).mean()
    noise = (squares / (c_hat.var() + squares)).fillna(0)
    columns = {"share": running.mean(), "seen": c.notna().mean(), "replaced": changed.mean(),
               "moved": (c_hat - c).abs().mean() / mean, "error": s.median() / mean, "noise": noise}
    found = 100 * pd.DataFrame(columns).rename_axis("event")
    found["thin"] = (found["noise"] >= 25) & (found["error"] >= 1)
    return found.sort_values("noise", ascending=False, kind="stable")


cleaned, errors, judged = {}, {}, {}
for name, run in runs.items():
    counts, running = run.whole()
    counts = counts.loc[:, counts.notna().sum() >= clean.FEWEST_SAMPLES]
    running = running[counts.columns]
    cleaned[name], errors[name] = clean.estimate_counts(counts, running, sums=known_sums(run))
    judged[name] = score_events(counts, running, cleaned[name], errors[name])

# %%
every = pd.concat(judged, names=["program", "event"]).reset_index()
results.table(every, "events",
              "**Table.** Every event of one multiplexed run a program, the least certain first: "
              "running share, intervals in which it was counted at all, samples that CounterMiner "
              "changes, movement by cleaning, standard error and *noise* [%].", rows=60)

# %% [markdown]
# ## Which events can be believed from interval to interval?

# %%
leading = {name: found.head(top).reset_index() for name, found in judged.items()}
leading = {name: rows.assign(label=rows["event"] + rows["share"].map(" ({:.0f} %)".format))
           for name, rows in leading.items()}
figure, _ = plot.ranking(leading, value="noise", label="label", columns=2,
                         xlabel="noise: error² / (variance + error²) [%]")
results.figure(figure, "noise",
               "**Figure.** How much of what an event does over time is error; in brackets the "
               "running share.")

# %% [markdown]
# ## How sure is that, without a second run?
#
# All of this follows from each event's own steps. A multiplexed run can hold evidence of another kind: two readings of one event, counted at different times. The recorder puts some events in twice, and for two names the kernel may set a counter in the same way, such as `L1-dcache-stores` and `dTLB-stores` on Intel processors since Haswell. How far two readings are apart is error, of both. Neighbours in the rotation are on the counters together for a part of their time and share their errors there, so that their agreement proves nothing: only readings that share none are evidence.
#
# They also judge a way of cleaning: one is cleaned without sight of the other and of all events that were on the counters together with it, and compared with the other **as printed**. Smoothing cannot flatter itself there. As printed, both err, and their distance is √2 times the error of one; were one cleaned to the truth, the error of the other would remain. A perfect cleaning leaves 1/√2, or 71 %.

# %%
def judge_readings(run):
    """Each reading of an event, repaired without the other and compared with it as printed."""
    counts, running = run.whole()
    again = list(events.second_readings([*run.counts, *run.counts_again]))
    listed = [event for group in run.meta["groups"] for event in group]
    order = sorted([*counts, *again], key=lambda one: listed.index(one) if one in listed else -1)
    counts = counts.join(run.counts_again[again])[order]
    running = running.join(run.running_again[again])[order]
    cases = repair.twice_counted(counts, running, run.meta["groups"], run.machine)
    cells = repair.score_cases({"kalman": clean.estimate_counts}, cases)
    return cells.assign(left=100 * cells["ratio"]).drop(columns=["event", "noise", "ratio"])


compared = {name: judge_readings(run) for name, run in runs.items()}
compared = {name: cells for name, cells in compared.items() if len(cells)}
for name, cells in compared.items():
    left = cells.loc[cells["method"] == "kalman", "left"].mean()
    apart = cells.groupby("case")["printed"].first().map("{:.2g} %".format)
    display(results.finding(
        f"Two readings of one event are apart as printed: {', '.join(apart.index + ' ' + apart)}. "
        f"Repaired without sight of the other, one reading is {left:.0f} % as far from the other "
        "as before, where a perfect repair would leave 71 %.", program=name))

# %%
if without := sorted(set(runs) - set(compared)):
    display(results.finding(
        f"Nothing in the run of {' and '.join(without)} tells how large its errors are. Name one "
        "event twice, half the list apart: `perf stat -e a,b,c,a,d,e`; `cmlib record` does so by "
        "itself."))
if compared:
    rows = pd.concat(compared, names=["program"]).reset_index("program").reset_index(drop=True)
    bars = rows.assign(label=rows["program"] + ": " + rows["case"])
    figure, _ = plot.by_case(bars.pivot_table("left", "label", "method"), log=False,
                             ylabel="left of the disagreement of two readings [%]",
                             levels={"as printed": 100, "perfect": 71})
    display(results.figure(figure, "readings",
                           "**Figure.** What ways of cleaning leave of the disagreement of two "
                           "readings of one event; 71 % would be left if one were the truth."))
    display(results.table(rows, "cleaned-readings",
                          "**Table.** Distance of a cleaned reading from the other as printed "
                          "(*error*) and before cleaning (*printed*) [% of the mean], and counts "
                          "of the other in 90 % intervals [%]."))

# %% [markdown]
# ## The event that is moved most
#
# Look whether what cleaning takes away looks like noise: spikes that come back at the same place of other events are none. How near to the truth the result is, only a run without multiplexing tells.

# %%
for place, (name, found) in enumerate(judged.items()):
    event = found["moved"].idxmax()
    lines = {"as perf prints it": runs[name].counts[event].reindex(cleaned[name].index),
             "after cleaning": cleaned[name][event]}
    figure, _ = plot.series(lines, ylabel="count per interval", title=f"{name}: {event}")
    share, error = found.at[event, "share"], errors[name][event].median()
    caption = (f"**Figure.** `{event}` in {name}, on a counter {share:.0f} % of the time; "
               f"standard error {error:.3g} (median).")
    display(results.figure(figure, f"moved-{place}", caption))

# %% [markdown]
# ## What was found, and what to record next

# %%
def summarize_turns(found):
    """How many events took turns, and for how long each was counted."""
    turns = found[found["share"] < 100]
    ends = [f"{share:.0f}" for share in (turns["share"].min(), turns["share"].max())]
    also = " and ".join(event for event in PINNED if event in turns.index)
    return (f"{len(turns)} events took turns on the counters, each for "
            f"{' to '.join(dict.fromkeys(ends))} % of the time"
            + (f"; {also} as well, so that an error of theirs is in IPC and in all rates "
               "(count them in every group, or pin them: `:D`)" if also else ""))


def summarize_thin(found):
    """Which events are too thinly counted to be believed from interval to interval."""
    thin = found[found["thin"]]
    if thin.empty:
        return "of each event's variation over time, less than a quarter is error of extrapolation"
    named = [f"`{event}` ({share:.0f} % of the time)" for event, share in thin["share"].items()]
    more = f" and {len(named) - 6} more" if len(named) > 6 else ""
    return ("too thinly counted to be believed from interval to interval, as a quarter or more of "
            f"what they do over time is error of extrapolation: {', '.join(named[:6])}{more}")


# %%
for name, found in judged.items():
    results.number(f"{name}: events too thinly counted", int(found["thin"].sum()), "events",
                   note=f"of {int((found['share'] < 100).sum())} that took turns")
    display(results.finding(f"{summarize_turns(found)}; {summarize_thin(found)}.", program=name))
results.numbers()

# %% [markdown]
# Thinly counted events are to be recorded alone, as many at a time as there are counters. On the report's first page stand programs whose multiplexed events were counted in no other run.

# %%
def suggest_recording(run, found):
    """The command line that counts thinly counted events all the time."""
    thin = list(found.index[found["thin"] & ~found.index.isin(PINNED)])
    turns = found[found["share"] < 100]
    counters = int(np.ceil(turns["share"].sum() / 100 - 0.1))
    size = max(1, counters - len(turns.index.intersection(PINNED)))
    groups = [thin[start : start + size] for start in range(0, len(thin), size)]
    pinned = [event for event in PINNED if event in run.counts]
    table = table_name(url, run.meta["program"])
    command = command_to_count(run.meta, groups, pinned, table) if thin else ""
    named = as_code(command) if command else ", ".join(f"`{event}`" for event in thin)
    return f"record these events alone, so that none takes turns: {named}" if thin else ""


for name, found in judged.items():
    ocoe = recorded[(recorded["program"] == name) & (recorded["mode"] == "ocoe")]
    alone = {event for names in ocoe["events"] for event in names} - set(PINNED)
    rest = found[~found.index.isin(alone)]
    if (rest["share"] < 100).any():
        sure = f"{summarize_turns(rest)}; {summarize_thin(rest)}"
        display(results.overview(name, sure=sure, lacking=suggest_recording(runs[name], rest)))

# %% [markdown]
# ## What this doesn't show
#
# The standard errors rest on one assumption: that an event's steps within an interval are like its steps between intervals. Where the truth is known, 90 % intervals hold in 93 to 94 % of the counts of each kind of recording, and in 80 % of those of the worst file (notebook 02c, judging list). An event whose bursts keep time with the rotation is off by more, and no single run can tell: on rotations that are not on that list they hold in 44 % of the worst file's counts.
# Two readings of one event show the errors of that event alone; another one's, which varies otherwise, can be larger or smaller.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §III-B. Mathur and Cook, *Improved estimation for software multiplexing of performance counters*, MASCOTS 2005.

# %%
results.save()
