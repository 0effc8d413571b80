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
# # Extrapolation: which multiplexed counts can be believed, and what to record next
#
# **Question.** Of a run whose events took turns on the counters and of which no truth is known: which of its counts can be believed from interval to interval, and what should be recorded next?
#
# *Reads* the store, the database of all recorded runs. *Writes* how thinly each event of one multiplexed run a program was counted and how much of its variation is error, and which events can't be believed, with the command that counts them.
#
# A processor counts a handful of events at a time. If more are asked for, they take turns (*multiplexing*), and perf extrapolates each count from the share of time that its event was on a counter, its *running share*. [Notebook 02](02_cleaning.ipynb) compares such counts with runs that counted the events all the time (OCOE: one counter, one event); a service that was measured once has no such runs. This notebook goes by one run alone, and looks at such other runs only at the end, where there are any. It is no method of the papers.

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas, or all
top: int = 15  # events shown a program
settings: dict = {}  # database, profile, results_folder

# %%
import numpy as np
import pandas as pd
from IPython.display import Markdown

from cmlib import clean, plot
from cmlib.clean.series import FEWEST_SAMPLES
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
    """Why no run is taken."""
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
display(Markdown(data.describe_data(url, programs)))
able = recorded[(recorded["mode"] == "mlpx") & (recorded["n_intervals"] >= data.FEWEST_INTERVALS)]
if able.empty:
    raise UnfitRecordingError(explain_none(recorded))

# %%
most = able.sort_values(["n_events", "run_id"], ascending=[False, True])
chosen = most.groupby("program")["run_id"].first()
runs = {name: store.load(url, run_id) for name, run_id in chosen.items()}
first = next(iter(runs.values()))
sizes = " or ".join(sorted({str(len(run.studied)) for run in runs.values()}))
print(f"Used here: {len(runs)} run{'s' * (len(runs) > 1)}, one a program ({', '.join(chosen)}), of "
      f"{sizes} events beside instructions and cycles. Running shares of {chosen.iloc[0]}, 0 to 1:")
first.running.iloc[:4, :5].round(3)

# %% [markdown]
# ## How much of an event's variation is error?
#
# The default cleaning (shrinkage towards neighbours in time, [notebook 02c](02c_repair.ipynb)) gives counts $\hat{c}_t$ with standard errors $s_t$ for each interval $t$ of $T$. *Noise* is the mean squared standard error as a share of itself and the variance of the cleaned counts over time:
#
# $$\mathrm{noise} = \frac{\frac{1}{T} \sum_t s_t^2}{\mathrm{var}_t(\hat{c}_t) + \frac{1}{T} \sum_t s_t^2}$$
#
# that is, how much of an event's ups and downs is error of extrapolation. Towards 100 % none of them can be believed; the mean of the run can still be right. An event is *too thinly counted* if its noise is 25 % or more (a convention: with a quarter of error in its variance, a correlation with it can reach at most $\sqrt{0.75} = 0.87$) and its standard error at least 1 % of its mean, below which it hardly matters. There is no gap at 25 %: events just below it are hardly better than those just above.
#
# Noise compares the error with how much the event varies, the standard error in the table with its mean: an event in bursts can have an error of most of its mean and still a noise of a third.

# %%
def score_events(c, running, c_hat, s):
    """Running share, intervals with a count, movement, standard error and noise of events [%]."""
    mean, squares = c_hat.mean().replace(0, np.nan), (s**2).mean()
    noise = (squares / (c_hat.var() + squares)).fillna(0)
    columns = {"share": running.mean(), "seen": c.notna().mean(),
               "moved": (c_hat - c).abs().mean() / mean, "error": s.median() / mean, "noise": noise}
    scores = 100 * pd.DataFrame(columns).rename_axis("event")
    scores["thin"] = (scores["noise"] >= 25) & (scores["error"] >= 1)
    return scores.sort_values("noise", ascending=False, kind="stable")


cleaned, errors, judged = {}, {}, {}
for name, run in runs.items():
    counts, running = run.whole()
    counts = counts.loc[:, counts.notna().sum() >= FEWEST_SAMPLES]
    running = running[counts.columns]
    cleaned[name], errors[name] = clean.estimate_counts(counts, running, sums=known_sums(run))
    judged[name] = score_events(counts, running, cleaned[name], errors[name])

# %%
every = pd.concat(judged, names=["program", "event"]).reset_index()
every = every.sort_values(["thin", "noise"], ascending=False, kind="stable")
n_shown = min(len(every), max(15, int(every["thin"].sum())))
results.table(every, "events",
              f"**Table.** The {n_shown} least certain of {len(every)} events (all in events.csv), "
              "of one multiplexed run a program: *share* of the time on a counter, intervals in "
              "which it was *seen* at all, by how much cleaning *moved* a count and the median "
              "standard *error* that it leaves (both of the mean), and *noise* [%]; *thin*: too "
              "thinly counted.", rows=n_shown, decimals=1)

# %% [markdown]
# ## Which events can be believed from interval to interval?

# %%
THIN, FINE = "too thinly counted", "less than a quarter error"
turns = {name: scores[scores["share"] < 100] for name, scores in judged.items()}
turns = {name: rows for name, rows in turns.items() if len(rows)}
leading = {name: rows.head(top).reset_index() for name, rows in turns.items()}
leading = {name: rows.assign(label=rows["event"] + rows["share"].map(" ({:.0f} %)".format),
                             kind=np.where(rows["thin"], THIN, FINE))
           for name, rows in leading.items()}
figure, axes = plot.ranking(leading, value="noise", label="label", columns=1, hue="kind",
                            xlabel="noise: error² / (variance + error²) [%]")
for ax in axes:
    ax.set_xlim(0, max(30.0, 1.05 * max(rows["noise"].max() for rows in leading.values())))
    ax.axvline(25, color="#444444", lw=1, ls="--")
n_thin, n_turns = (sum(int(of(rows)) for rows in turns.values())
                   for of in (lambda rows: rows["thin"].sum(), len))
results.figure(figure, "noise",
               "**Figure.** How much of what an event does over time is error of extrapolation "
               f"(noise), the {top} least certain of each program at most; in brackets its "
               "running share; dashed: 25 %. *See:* "
               f"{n_thin} of {n_turns} events that took turns are too thinly counted, in "
               f"{len(turns)} program{'s' * (len(turns) > 1)}.")

# %% [markdown]
# ## How sure is that, without a second run?
#
# All of this follows from each event's own changes from interval to interval. A run can hold evidence of another kind: two readings of one event, counted at different times. `cmlib record` counts some events twice in a list, and two names may stand for one event, such as `L1-dcache-stores` and `dTLB-stores` on Intel processors since Haswell. How far two readings are apart is error, of both. Neighbours in the rotation share a part of their time and their errors there, so only readings that share none are evidence.
#
# They also test a way of cleaning: one reading is cleaned without the other and without all events that shared its time, and compared with the other **as printed**. Their distance is √2 times the error of one, as both err; were one cleaned to the truth, the error of the other would remain: a perfect cleaning leaves 1/√2, or 71 %.

# %%
def score_readings(run):
    """Each reading of an event, cleaned without the other and compared with it as printed."""
    counts, running = run.whole()
    again = list(events.second_readings([*run.counts, *run.counts_again]))
    listed = [event for group in run.meta["groups"] for event in group]
    order = sorted([*counts, *again], key=lambda one: listed.index(one) if one in listed else -1)
    counts = counts.join(run.counts_again[again])[order]
    running = running.join(run.running_again[again])[order]
    cases = repair.twice_counted(counts, running, run.meta["groups"], run.machine)
    cells = repair.score_cases({"shrinkage": clean.estimate_counts}, cases)
    return cells.assign(left=100 * cells["ratio"]).drop(columns=["event", "noise", "ratio"])


compared = {name: score_readings(run) for name, run in runs.items()}
compared = {name: cells for name, cells in compared.items() if len(cells)}
for name, cells in compared.items():
    left = cells.loc[cells["method"] == "shrinkage", "left"].mean()
    apart = cells.groupby("case")["printed"].first().map("{:.2g} %".format)
    display(results.finding(
        f"Two readings of one event are apart as printed: {', '.join(apart.index + ' ' + apart)}. "
        f"Cleaned without sight of the other, one reading is {left:.0f} % as far from the other "
        "as before, where a perfect cleaning would leave 71 %.", program=name))

# %%
if without := sorted(set(runs) - set(compared)):
    print(f"No two readings of one event in the run of {', '.join(without)}: nothing tests the "
          "errors above. Name one event twice, half the list apart: perf stat -e a,b,c,a,d,e")
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
# ## The event that cleaning moves most
#
# Look whether what cleaning takes away looks like noise: spikes that come back at the same place of other events are none. How near to the truth the result is, only a run without multiplexing tells.

# %%
moved = {name: scores["moved"].idxmax() for name, scores in judged.items()}
lines = {}
for name, event in moved.items():
    both = {"as perf prints it": runs[name].counts[event].reindex(cleaned[name].index),
            "after cleaning": cleaned[name][event]}
    lines[f"{name}: {event}"] = {way: counts.iloc[:150] for way, counts in both.items()}
figure, _ = plot.series_by_program(lines, ylabel="count per interval")
most = pd.Series({name: judged[name].at[event, "moved"] for name, event in moved.items()})
most, event = most.idxmax(), moved[most.idxmax()]
results.figure(figure, "moved",
               "**Figure.** The event of each program that cleaning moves most, its first 150 "
               f"intervals. *See:* `{event}` in {most}, on a counter "
               f"{judged[most].at[event, 'share']:.0f} % of the time, is moved by "
               f"{judged[most].at[event, 'moved']:.0f} % of its mean, with a standard error of "
               f"{judged[most].at[event, 'error']:.0f} %.")

# %% [markdown]
# ## What can be believed

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
for name, scores in judged.items():
    results.number(f"{name}: events too thinly counted", int(scores["thin"].sum()), "events",
                   note=f"of {int((scores['share'] < 100).sum())} that took turns")
    display(results.finding(f"{summarize_turns(scores)}; {summarize_thin(scores)}.", program=name))
if not notebook.of_program:
    by_program = ", ".join(f"{name} {int(rows['thin'].sum())} of {len(rows)}"
                           for name, rows in turns.items())
    display(results.finding(
        f"Of {n_turns} events that took turns, {n_turns - n_thin} vary by less than a quarter of "
        f"error and can be believed from interval to interval; of {n_thin} a quarter or more of "
        f"the variation is error of extrapolation ({by_program}): count these again without turns "
        "before anything is concluded from their ups and downs. "
        + (f"{len(compared)} of {len(runs)} runs hold two readings of one event that test this."
           if compared else "No run holds two readings of one event, so that nothing in the runs "
           "themselves tests these errors.")))

# %% [markdown]
# ## What to record next
#
# Thinly counted events are to be recorded alone, as many at a time as there are counters; below is the command for each program. Where runs are in the store that counted them all the time, nothing is left to record: then those are to be used instead (notebook 02).

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


for name, scores in judged.items():
    ocoe = recorded[(recorded["program"] == name) & (recorded["mode"] == "ocoe")]
    alone = {event for names in ocoe["events"] for event in names} - set(PINNED)
    rest = scores[~scores.index.isin(alone)]
    if (rest["share"] < 100).any():
        sure = f"{summarize_turns(rest)}; {summarize_thin(rest)}"
        display(results.overview(name, sure=sure, lacking=suggest_recording(runs[name], rest)))
    elif scores["thin"].any():
        ask = suggest_recording(runs[name], scores)
        display(Markdown(f"**{name}.** All its events were counted all the time in {len(ocoe)} "
                         f"other runs. Without these: {ask}"))

# %% [markdown]
# ## What this doesn't show
#
# The standard errors rest on one assumption: that an event changes within an interval as it does between intervals. How many of the 90 % intervals hold where the truth is known is in notebook 02c, by kind of recording, file and rotation. An event whose bursts keep time with the rotation is off by more, and no single run can tell.
# Two readings of one event show the errors of that event alone; another one's, which varies otherwise, can be larger or smaller.
#
# ## On your own program
#
# `perf stat -I 100 -x, -e EVENTS -o FILE -- COMMAND`, `cmlib import NAME FILE`, then `cmlib run live 02b_extrapolation -p program=NAME`. Change `top` first: how many events the figure shows, where more than that took turns.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §III-B. Mathur and Cook, *Improved estimation for software multiplexing of performance counters*, MASCOTS 2005.

# %%
results.save()
