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
# # Extrapolation: does the noise of a multiplexed run show which of its counts are wrong?
#
# **Question.** In a run whose events took turns on the counters, how much of each event's variation is estimated to be error, and do runs that counted the event all the time confirm the estimate?
#
# *Reads* the store, the database of all recorded runs. *Writes* the share of error in each event's variation, estimated from one multiplexed run per program, and a comparison with runs that counted the event all the time.
#
# A processor counts a handful of events at a time. If more are asked for, they take turns (*multiplexing*, MLPX), and perf extrapolates each count from the share of time that its event was on a counter, its *running share*. A service that was measured once has no run that counted the event all the time (*OCOE*: one counter, one event): then only the multiplexed counts are known. This notebook estimates errors from these counts alone and, where the store has OCOE runs, checks the estimate. This is not a method of the papers. [Notebook 02](../02_cleaning.ipynb) measures the distance of whole series from OCOE.

# %% [markdown] tags=["answer"]
# > **Answer** (bzip2, gcc, kmeans and wordcount as recorded for this project, default parameters). From a multiplexed run alone, **13** of **48** series are flagged: at least a quarter of their variation is estimated to be error of extrapolation. Other runs, which counted the events all the time, hardly confirm this: the rank correlation of the estimated with the measured noise is only **0.08**. The flag therefore does not show which counts to trust.

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas, or all
most_noise: float = 25.0  # of the variation of an event that may be error [%]
settings: dict = {}  # database, profile, results_folder

# %%
import contextlib

import numpy as np
import pandas as pd
from IPython.display import Markdown
from scipy.stats import spearmanr

from cmlib import clean, merge, plot
from cmlib.clean.series import FEWEST_SAMPLES
from cmlib.errors import UnfitRecordingError
from cmlib.experiments import data, repair
from cmlib.experiments.event_tables import known_sums
from cmlib.io import events, store
from cmlib.report.notebook import begin

limits = {"most_noise": (1.0, 99.0)}
notebook = begin("extrapolation", settings, program=program, most_noise=most_noise)
results, url = notebook.results, notebook.database
PINNED = ["instructions", "cycles"]
SHOWN = 15  # events of a program in the figure

# %% [markdown]
# ## The data
#
# The notebook reads the multiplexed run with the most events of each program.

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
data.refuse_simulated(url, programs, "every event was counted in every interval, so that nothing "
                      "was extrapolated, and there is nothing to clean.")
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
      f"{sizes} events beside instructions and cycles. Counts of {chosen.iloc[0]}, in 5 of its "
      "intervals, as perf prints them:")
display(first.counts.iloc[:5, :5].map("{:,.0f}".format))

# %% [markdown]
# ## How much of an event's variation is error?
#
# *Shrinkage* (the default cleaning, [notebook studies/repair](repair.ipynb)) moves each count towards its neighbors in time by as much as multiplexing may have added. It gives counts $\hat{c}_t$ with standard errors $s_t$ for each interval $t$ of $T$. *Noise* is the mean squared standard error, divided by the sum of itself and the variance of the cleaned counts over time:
#
# $$\mathrm{noise} = \frac{\frac{1}{T} \sum_t s_t^2}{\mathrm{var}_t(\hat{c}_t) + \frac{1}{T} \sum_t s_t^2}$$
#
# It is the share of an event's variation that is error of extrapolation. An event is *flagged* here if its noise is at least `most_noise`, 25 % unless changed, and its standard error at least 1 % of its mean. If a quarter of the variance is error, a correlation with the event can reach at most $\sqrt{0.75} = 0.87$. The flag is a hypothesis that the next section tests; no page or command uses it.

# %%
def score_events(c, running, c_hat, s):
    """Running share, movement by cleaning, standard error and noise of events [%]."""
    mean, squares = c_hat.mean().replace(0, np.nan), (s**2).mean()
    noise = (squares / (c_hat.var() + squares)).fillna(0)
    columns = {"share": running.mean(), "moved": (c_hat - c).abs().mean() / mean,
               "error": s.median() / mean, "noise": noise}
    scores = 100 * pd.DataFrame(columns).rename_axis("event")
    scores["flagged"] = (scores["noise"] >= most_noise) & (scores["error"] >= 1)
    return scores.sort_values("noise", ascending=False, kind="stable")


cleaned, errors, judged = {}, {}, {}
for name, run in runs.items():
    counts, running = run.whole()
    counts = counts.loc[:, counts.notna().sum() >= FEWEST_SAMPLES]
    running = running[counts.columns]
    cleaned[name], errors[name] = clean.estimate_counts(counts, running, sums=known_sums(run))
    judged[name] = score_events(counts, running, cleaned[name], errors[name])

# %%
FLAGGED, OTHERS = "flagged", "not flagged"
turns = {name: scores[scores["share"] < 100] for name, scores in judged.items()}
turns = {name: rows for name, rows in turns.items() if len(rows)}
every = pd.concat(turns or judged, names=["program", "event"]).reset_index()
every = every.sort_values(["flagged", "noise"], ascending=False, kind="stable")
n_shown = min(len(every), max(8, int(every["flagged"].sum())))
caption = (f"**Table.** The {n_shown} least certain of {len(every)} series (all in events.csv), "
           "each an event of one program's run: *share* of the time on a counter, by how "
           "much cleaning *moved* a count and the median standard *error* that it leaves (both "
           f"of the mean), and *noise* [%]; *flagged*: {most_noise:g} % or more before rounding.")
shown = every.assign(flagged=every["flagged"].map({True: "yes", False: "no"}))
display(results.table(shown, "events", caption, rows=n_shown, decimals=1))

# %%
leading = {name: rows.head(SHOWN).reset_index() for name, rows in turns.items()}
leading = {name: rows.assign(kind=np.where(rows["flagged"], FLAGGED, OTHERS))
           for name, rows in leading.items()}
figure, axes = plot.ranking(leading, value="noise", label="event", columns=2, hue="kind",
                            xlabel="noise: error² / (variance + error²) [%]")
for ax in axes:
    ax.set_xlim(0, max(30.0, 1.05 * max(rows["noise"].max() for rows in leading.values())))
    ax.axvline(most_noise, color="#444444", lw=1, ls="--")
n_flagged = sum(int(rows["flagged"].sum()) for rows in turns.values())
n_turns = sum(len(rows) for rows in turns.values())
n_events = " or ".join(dict.fromkeys(str(len(rows)) for rows in turns.values()))
series = (f"{n_turns} series ({n_events} events in each of {len(turns)} programs)"
          if len(turns) > 1 else f"{n_turns} events")
display(results.figure(
    figure, "noise", "**Figure.** Noise: how much of what an event does over time is error of "
    f"extrapolation, as the run itself tells it, at most {SHOWN} events a program; dashed: "
    f"{most_noise:g} %, a convention. *See:* {n_flagged} of {series} are flagged by it."))

# %% [markdown]
# ## Compared with runs that counted the event all the time
#
# Noise is estimated from one run. If two OCOE runs $o_1, o_2$ of the program counted the event, they give an independent estimate. Suppose that a run's variation is part signal and part error, and that the errors of two runs are independent. Then error multiplies the correlation with an OCOE run by the square root of the share of signal (Spearman's attenuation). With $r(a, b)$ the correlation of two runs over equal steps of instructions, and $r(\hat c, o)$ the mean of both,
#
# $$r(\hat c, o) = r(o_1, o_2) \sqrt{1 - \mathrm{noise}}, \qquad \text{so that} \qquad \mathrm{noise}_{\mathrm{OCOE}} = 1 - \Big( \frac{r(\hat c, o)}{r(o_1, o_2)} \Big)^2.$$
#
# A value below 0 (nearer to OCOE than OCOE runs are to each other) is set to 0. Events with $r(o_1, o_2) < 0.5$ are not tested, because their OCOE runs hardly agree. Runs also differ in time within a step, which lowers both correlations.

# %%
def noise_by_others(event, c_hat, others):
    """Noise of an event by two runs that counted it all the time [%], and how far these agree."""
    needed = [*PINNED, event]
    aligned = merge.step_runs([run[needed].interpolate(limit_direction="both")
                               for run in (c_hat, *others[:2])])
    c, o_1, o_2 = (steps[event] for steps in aligned)
    r_ocoe, r = o_1.corr(o_2), (c.corr(o_1) + c.corr(o_2)) / 2
    return {"OCOE runs agree": r_ocoe, "MLPX agrees": r,
            "noise by OCOE": 100 * max(0.0, 1 - max(r, 0.0) ** 2 / r_ocoe**2)}


def check_noise(name, scores):
    """Noise as one run tells it, beside that by runs that counted the event all the time."""
    ocoe = recorded[(recorded["program"] == name) & (recorded["mode"] == "ocoe")]
    whole = [store.load(url, run_id).whole()[0] for run_id in ocoe["run_id"]]
    for event, row in scores.iterrows():
        others = [run for run in whole if {event, *PINNED} <= set(run)]
        with contextlib.suppress(UnfitRecordingError):  # of runs that did not do the same work
            if len(others) > 1 and set(PINNED) <= set(cleaned[name]):
                yield {"program": name, "event": event, "noise": row["noise"],
                       "flagged": row["flagged"], **noise_by_others(event, cleaned[name], others)}


# %%
checked = pd.DataFrame([row for name, scores in turns.items() for row in check_noise(name, scores)])
if len(checked):
    checked = checked[checked["OCOE runs agree"] >= 0.5]

# %%
from cmlib.plot.style import panels, styled


def name_worst(ax, frame):
    """Names beside the events that are farthest from OCOE."""
    for _, row in frame.nlargest(8, "noise by OCOE").iterrows():
        ax.annotate(row["event"], row[["noise", "noise by OCOE"]], (6, -2), fontsize=7,
                    textcoords="offset points")


@styled
def draw_check(frame):
    """Noise by other runs against noise as told by one, a colour a program."""
    figure, (ax,) = panels([""], height=3.4)
    parts, top = frame.groupby("program"), max(30, frame["noise"].max() + 5)
    for (name, of), colour in zip(parts, plot.palette(len(parts)), strict=True):
        ax.plot(of["noise"], of["noise by OCOE"], "o", color=colour, ms=5, label=name, alpha=0.85)
    for x, y, style in (([0, top], [0, top], ":"), ([most_noise] * 2, [-3, 105], "--"),
                        ([0, top], [most_noise] * 2, "--")):
        ax.plot(x, y, color="#444444", lw=1, ls=style)
    name_worst(ax, frame)
    ax.set(xlabel="noise as one multiplexed run tells it [%]", xlim=(0, top), ylim=(-3, 105),
           ylabel="noise by OCOE [%]")
    plot.legend_below(figure, ax, 4)
    return figure, ax

# %%
verdict = ("No run in the store counted them all the time, so nothing tests this: record an event "
           "without turns before you trust it.")
if len(checked) > 2:
    bad, flagged = checked["noise by OCOE"] >= most_noise, checked["flagged"].astype(bool)
    rank, p = spearmanr(checked["noise"], checked["noise by OCOE"])
    over = (checked["noise"] > checked["noise by OCOE"]).sum()
    far = checked.sort_values("noise by OCOE", ascending=False, kind="stable")
    counts = (f"of {flagged.sum()} flagged series {(bad & flagged).sum()} have {most_noise:g} % or "
              f"more by these runs, of {(~flagged).sum()} others {(bad & ~flagged).sum()} "
              f"(rank correlation {rank:.2f}, p-value {p:.2f})")
    figure, _ = draw_check(checked)
    display(results.figure(
        figure, "noise-by-ocoe", "**Figure.** Noise of an event as its multiplexed run tells it, "
        "and by two runs that counted it all the time (formula above), of "
        f"{len(checked)} series whose OCOE runs agree; dashed: {most_noise:g} %, dotted: equal. "
        f"*See:* in {over} the run tells more noise than the OCOE runs; {counts}."))

# %%
if len(checked) > 2:
    display(results.table(
        far.drop(columns="flagged"), "checked", "**Table.** The 8 farthest from OCOE of "
        f"{len(checked)} series (all in checked.csv): noise as the run tells it and by OCOE [%], "
        "correlation of the two OCOE runs, and mean correlation of the cleaned multiplexed run "
        "with them.", rows=8))
    verdict = (
        f"Two runs that counted the event all the time {'hardly' if rank < 0.3 else 'in part'} "
        f"bear that out ({len(checked)} series whose two agree): {counts}. So record an event "
        "without turns before you trust it; farthest off is "
        f"`{far['event'].iloc[0]}` ({far['program'].iloc[0]}), of which the run tells "
        f"{far['noise'].iloc[0]:.0f} % noise, and these runs {far['noise by OCOE'].iloc[0]:.0f} %.")
    results.number("rank correlation of noise as the multiplexed run tells it, and by OCOE",
                   np.nan_to_num(rank), note=f"{len(checked)} series, p-value {p:.2f}")

# %% [markdown]
# ## Without other runs: an event counted twice
#
# A single run can contain a test as well: two readings of one event, counted at different times. Their distance is the error of both. If cleaning made one of them true, $1/\sqrt 2$ (71 %) of the distance would remain. One reading is cleaned without the other, and without all events that shared its time. It is then compared with the other as printed.

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
    print(f"The runs used here of {', '.join(without)} have no event twice. To have one, name it "
          "twice, half the list apart: perf stat -e a,b,c,a,d,e")
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
# ## The answer

# %%
def summarize_turns(found):
    """Count the events that took turns, and give the range of their running shares."""
    turns = found[found["share"] < 100]
    ends = [f"{share:.0f}" for share in (turns["share"].min(), turns["share"].max())]
    also = " and ".join(event for event in PINNED if event in turns.index)
    return (f"{len(turns)} events took turns on the counters, each for "
            f"{' to '.join(dict.fromkeys(ends))} % of the time"
            + (f"; {also} as well, so that an error of theirs is in IPC and in all rates "
               "(count them in every group, or pin them: `:D`)" if also else ""))


# %%
display(results.finding(
    f"The run itself flags {n_flagged} of {series}: {most_noise:g} % or more of their variation is "
    f"estimated to be error of extrapolation. {verdict}"))
turning = pd.concat([scores["share"] < 100 for scores in judged.values()])
results.number("series that took turns", turning.sum(), "series")
results.number("flagged series", n_flagged, "series", note=f"of {turning.sum()}")
for name, scores in judged.items():
    results.number(f"{name}: flagged events", int(scores["flagged"].sum()), "events",
                   note=f"of {int((scores['share'] < 100).sum())} that took turns")
    if (scores["share"] < 100).any():
        display(results.finding(f"{summarize_turns(scores)}.", program=name))

# %% [markdown]
# ## What to record next
#
# The flag does not show which events to record again. Record the events that matter without turns: as many at a time as there are counters (`cmlib record NAME --mode ocoe --events …`).

# %% [markdown]
# ## What this doesn't show
#
# The standard errors rest on one assumption: that an event changes within an interval as it does between intervals. If an event's bursts are synchronous with the rotation, its error is larger, and no single run can show this. Notebook studies/repair measures how many of the 90 % intervals hold where the truth is known.
# Correlation tests the variation, not the mean or the error of single counts; notebook 02 compares distances after time warping. One multiplexed run per program and two OCOE runs per event are few.
#
# ## On your own program
#
# `perf stat -I 100 -x, -e EVENTS -o FILE -- COMMAND`, `cmlib import NAME FILE`, then `cmlib run live extrapolation -p program=NAME`. The first parameter to change is `most_noise`, the share of error [%] from which an event is flagged. `cmlib record NAME -- COMMAND` in place of the first two commands also records runs without multiplexing, so that the estimate can be checked.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §III-B (cleaning of multiplexed counts). Mathur and Cook, *Improved estimation for software multiplexing of performance counters*, MASCOTS 2005. Spearman, *The proof and measurement of association between two things*, American Journal of Psychology 15, 1904, on attenuation.

# %%
results.save()
