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
# # Do counts add up: what cleaning and merging of runs bring
#
# **Question.** Do cleaning the counts of single runs, and adjusting runs to their mean speed before they are merged, bring the steps of a run nearer to sums that must hold?
#
# *Reads* the store, the database of all recorded runs, and the formulas of each processor under `data/topdown`. *Writes* how far counts are from two kinds of sums and from those of other runs, by every way of cleaning and merging.
#
# The events of a top-down account, which says what became of the pipeline's slots (notebook 00), do not fit on the counters at once, so they come from several runs, in some of which events took turns (multiplexing). Two things are done to them before they stand side by side, and each is judged here: counts are *cleaned*, and runs *adjusted to IPC* (instructions a cycle). Neither comes from a paper of CounterMiner's authors, except for one way of cleaning, *counterminer*. Constants of shrinkage were set on bzip2 and gcc, two of this page's programs (notebook 02).

# %% [markdown] tags=["answer"]
# > **Answer** (bzip2, gcc, kmeans and wordcount as recorded for this project, default parameters). Adjusting each run to the mean speed of all runs makes counts add up better. The four shares of a single step miss all slots by **4.2 %** as perf prints the counts, by **4.1 %** after cleaning, by **2.9 %** after adjusting, and by **2.7 %** after both; adjusting to the IPC of steps half a run away, as a control, gives **4.3 %**. Adjusting does not bring a single event nearer to another run's count: **15.8 %** before, **17.0 %** after.

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas, or all
method: str = "shrinkage"  # cleaning that the answer tells
settings: dict = {}  # jobs executor scheduler database processor interactive profile results_folder

# %%
import itertools

import numpy as np
import pandas as pd
import seaborn as sns
from IPython.display import Markdown

from cmlib import clean, experiments, plot, topdown
from cmlib.experiments import data
from cmlib.experiments.event_tables import table_name
from cmlib.io import events
from cmlib.parallel import parallel_map
from cmlib.report.notebook import begin

# %%
limits = {"method": "cmlib.clean.DISTINCT_METHODS"}
notebook = begin("sums", settings, program=program, method=method)
results, workers, url = notebook.results, notebook.workers, notebook.database
recorded = data.programs(url, program)
data.refuse_simulated(url, recorded, "nothing of it was extrapolated or merged.")
PINNED = ["instructions", "cycles"]
tables = experiments.topdown_tables(url, recorded, notebook.processor)
programs = [*tables]
display(Markdown(data.describe_data(url, programs)))

# %% [markdown]
# ## Cleaning, and adjusting to IPC
#
# *Cleaning*, run by run: *scaling* leaves what perf prints, each count extrapolated by the share of time on a counter; *interpolate* draws straight lines over what was not counted; *counterminer* replaces peaks and fills gaps as that paper does; *shrinkage* moves each count part of the way to the mean of its two neighbours in time (notebook studies/repair has its formula).
#
# *Merging*: each run is cut into steps of equal instructions, so that the same step of two runs should be the same work. Instructions and cycles were counted in every run, so each event's rate is moved to the mean speed of all runs by the regression of that event on IPC within its own run (Cochran, §7.1; *adjusted to IPC* below; *not adjusted* without it, cleaned or not). It is taken for granted that the same share of the instructions is the same work. With $e_{j,t}$ the rate of an event a cycle in step $t$ of run $j$, of $R$ runs that counted it (often one), and $m_t$ the mean IPC of all runs:
#
# $$\hat{e}_t = \frac{1}{R} \sum_j \left( e_{j,t} + b_j \, (m_t - \mathrm{IPC}_{j,t}) \right), \quad b_j = \frac{\mathrm{cov}_t(e_j, \mathrm{IPC}_j)}{\mathrm{var}_t(\mathrm{IPC}_j)}.$$
#
# `adjust_by_hand` computes it; the first event beside instructions and cycles of each program is checked against the library. Sums of steps that were adjusted by one and the same IPC may agree for that alone. So there is a *control*, adjusted to the IPC of steps half a run away, which is as smooth but of other work; and a third test, which takes no sums.

# %%
def adjust_by_hand(steps, event):
    """The formula above: an event's rate in each step, its runs adjusted to IPC, none below 0."""
    IPC, e_hat = [run["instructions"] / run["cycles"] for run in steps], []
    m = sum(IPC) / len(IPC)
    for run, IPC_j in zip(steps, IPC, strict=True):
        if event in run:
            e_j = run[event] / run["cycles"]
            b_j = e_j.cov(IPC_j) / IPC_j.var() if IPC_j.var() > 0 else 0.0
            e_hat.append((e_j + b_j * (m - IPC_j)).clip(lower=0))
    return sum(e_hat) / len(e_hat)


# %% [markdown]
# ## First test: shares of the slots
#
# In every cycle the pipeline can take a fixed number of operations (eight on this page's processor). Each of these slots is used (*retired*), wasted on a wrong path (*bad speculation*), or left empty for want of operations (*front end*) or of room (*back end*). These four shares should be all slots, in every step. With the shares $s_{k,t}$ of the categories $k$ in step $t$, which has the share $p_t$ of all cycles,
#
# $$\mathrm{mean} = \sum_t p_t \sum_k s_{k,t}, \qquad \mathrm{rms}^2 = \sum_t p_t \Big( \sum_k s_{k,t} - 1 \Big)^2,$$
#
# *mean* should be 1, and *rms*, the distance of the single steps, small. (In *mean* each run weighs the same; in the sum of a whole run in notebook 00 each count weighs by the time it was counted: the two differ by a point or so.)
#
# By AMD's formulas retired $r$ cancels in the sum, and what is tested are three events, dispatched $d$, front end $f$ and back end $b$, against the slots of the cycles $c$:
#
# $$\sum_k s_k = \frac{r + (d - r) + f + b}{8 \, c} = \frac{d + f + b}{8 \, c}$$
#
# **No error in retired, nor in how what was dispatched is split into retired and bad speculation, can show here.** Slots that another thread on the same core took are no category here, as their event was not counted (the formulas above have `0 * cycles` for it): assumed to be none, not measured. Where one category is defined as what the others leave, as by Intel's formulas, the sum is one whatever was counted: then nothing is said.
#
# *worst step* is the part of the squared distances that one single step makes up, and *its sum* the sum of its shares. Where that is the last step, in which the program exits, slots are missing however runs are cleaned and merged: only user mode was counted, and what the processor does on its way into the kernel and back may be missing.

# %%
def closure_of(account, ipc):
    """How far an account is from all slots; unknown where it proves nothing."""
    if not account.is_tested():
        return dict.fromkeys(["mean", "rms", "worst step", "its sum"])
    total, p = account.level().sum(axis=1), 1 / ipc / (1 / ipc).sum()
    squares = p * (total - 1) ** 2
    return {"mean": (p * total).sum(), "rms": squares.sum() ** 0.5,
            "worst step": squares.max() / (squares.sum() or float("nan")),
            "its sum": total[squares.idxmax()]}

# %% [markdown]
# ## Second test: events that are sums of others
#
# Some events are the sum of others, by their umasks (the bits that pick which cases an event counts), as all accesses to the instruction cache are its hits and its misses. With $e$ the rate of such an event, $e_k$ those of its parts, over the steps $t$:
#
# $$\mathrm{distance} = \frac{\sqrt{\mathrm{mean}_t \, \big(e_t - \sum_k e_{k,t}\big)^2}}{\mathrm{mean}_t \, e_t}$$
#
# Only such sums are taken of which no run counted the whole together with a part, so that merging is tested. What makes counts better by one test should make them better by the other.
#
# ## Third test: the counts of another run
#
# Where two runs $j$, $l$ counted the same event, what run $j$ counted, adjusted to the IPC of run $l$, should be nearer to what run $l$ counted than it is without:
#
# $$\mathrm{distance} = \frac{\sqrt{\mathrm{mean}_t \, \big(e_{j,t} + b_j \, (\mathrm{IPC}_{l,t} - \mathrm{IPC}_{j,t}) - e_{l,t}\big)^2}}{\mathrm{mean}_t \, e_{l,t}}, \quad \text{without: } b_j = 0.$$
#
# The answer calls it nearer where this is shorter by 5 % or more.

# %%
def separate_sums(name):
    """Sums between events of which no run counted the whole together with a part."""
    table = table_name(url, name, notebook.processor)
    runs = data.interval_runs(url, [name])
    counted = runs.explode("events").groupby("events")["run_id"].agg(set)
    return [(whole, [*parts])
            for whole, parts in (events.umask_sums(events.table(table)) if table else ())
            if {whole, *parts} <= set(counted.index)
            and not any(counted[part] & counted[whole] for part in parts)]


def miss_of_sums(rates, sums):
    """Root mean square distance of each whole from its parts / mean of the whole."""
    off = {whole: (((rates[whole] - rates[parts].sum(axis=1)) ** 2).mean()) ** 0.5
           for whole, parts in sums if {whole, *parts} <= set(rates)}
    return pd.Series({whole: distance / rates[whole].mean() for whole, distance in off.items()
                      if rates[whole].mean() > 1e-5}, dtype=float)

# %%
def distance_to_another_run(steps, adjust):
    """The distance of the third test, by event, mean of all ordered pairs of runs."""
    found, rates = {}, [run.div(run["cycles"], axis=0) for run in steps]
    for run_j, run_l in itertools.permutations(rates, 2):
        IPC_j, IPC_l = run_j["instructions"], run_l["instructions"]
        for event in {*run_j} & {*run_l} - {*PINNED}:
            e_j, e_l = run_j[event], run_l[event]
            b_j = e_j.cov(IPC_j) / IPC_j.var() if adjust and IPC_j.var() > 0 else 0.0
            if e_l.mean() > 1e-5:
                distance = ((e_j + b_j * (IPC_l - IPC_j) - e_l) ** 2).mean() ** 0.5
                found.setdefault(event, []).append(distance / e_l.mean())
    return pd.Series({event: np.mean(of) for event, of in found.items()}, dtype=float)


def with_other_ipc(run):
    """A run's steps, with the IPC of those that are half a run away: the control."""
    IPC = run["instructions"] / run["cycles"]
    return run.assign(instructions=np.roll(IPC, len(run) // 2) * run["cycles"])


# %%
WAYS = {"not adjusted": False, "adjusted to IPC": True, "control": True}


def judge_way(name, how, merging, steps, sums):
    """By one way of cleaning and of merging, how far a program's steps are from both sums."""
    adjust = WAYS[merging]
    taken = [with_other_ipc(run) for run in steps] if merging == "control" else steps
    rates, _ = topdown.merge_steps(taken, adjust=adjust)
    another = distance_to_another_run(taken, adjust)
    missed = miss_of_sums(rates, sums)
    off = closure_of(topdown.account(rates, tables[name]), topdown.merge_steps(steps)[1])
    return [name, how, merging, *off.values(), missed.median(), another.median(), len(missed),
            len(another)]


# %%
def judge_every_way(name):
    """The rows of all ways of cleaning and merging a program."""
    sums, rows = separate_sums(name), []
    counted = set(data.interval_runs(url, [name])["events"].explode())
    wanted = {*tables[name].select_events(counted), *PINNED,
              *(event for whole, parts in sums for event in (whole, *parts))}
    for how in clean.DISTINCT_METHODS:
        steps = experiments.cleaned_steps(url, name, wanted, method=how, workers=workers)
        rows += [judge_way(name, how, merging, steps, sums) for merging in WAYS]
        adjusted = topdown.merge_steps(steps)[0]
        event = adjusted.columns[0]
        np.testing.assert_allclose(adjusted[event], adjust_by_hand(steps, event))
    return rows


keys = ["program", "cleaning", "merging"]
measures = ["mean", "rms", "worst step", "its sum", "sums", "another run", "number of sums",
            "number of events"]
rows = [row for of in parallel_map(judge_every_way, programs, workers) for row in of]
closures = pd.DataFrame(rows, columns=[*keys, *measures])
closures = closures.astype(dict.fromkeys(measures, float))

# %%
STAGES = [("scaling", "not adjusted"), ("scaling", "adjusted to IPC"), (method, "adjusted to IPC")]
CONTROL, CLEANED = ("scaling", "control"), (method, "not adjusted")
named = closures[keys[1:]].apply(tuple, axis=1).isin([*STAGES, CONTROL, CLEANED])
n_sums = " or ".join(dict.fromkeys(f"{n:.0f}" for n in closures.pop("number of sums")))
n_events = " or ".join(dict.fromkeys(f"{n:.0f}" for n in closures.pop("number of events")))
wholes = ", ".join(f"`{whole}`" for whole in dict.fromkeys(
    whole for name in programs for whole, _ in separate_sums(name)))
caption = ("**Table.** What perf prints (scaling), not adjusted, adjusted to IPC and in the "
           f"control, and {method}: {named.sum()} of {len(closures)} rows. *mean* and *rms* of "
           "the steps [share of the slots], *worst step* and *its sum* as above; *sums*: the "
           f"distance of the second test [share of the whole], median of {n_sums} sums of a "
           f"program ({wholes} and their parts); *another run*: of the third [share of the mean], "
           f"median of {n_events} events.")
closures = pd.concat([closures[named], closures[~named]])
shown = closures.assign(way=closures["cleaning"] + ", " + closures["merging"])
shown = shown[["program", "way", *measures[:6]]]
results.table(shown, "closure", caption, rows=named.sum(), decimals=3)

# %%
@plot.styled
def draw_ways(closures):
    """Distances from sums of every way of cleaning and merging, a dot a program."""
    figure, axes = plot.panels(["rms", "sums"], columns=2, height=3.0, sharey=True)
    ways = closures["cleaning"] + ", " + closures["merging"]
    for ax, test in zip(axes, ["rms", "sums"], strict=True):
        sns.stripplot(x=100 * closures[test], y=ways, hue=closures["program"], ax=ax, jitter=False,
                      palette=plot.palette(closures["program"].nunique()), legend=ax is axes[1])
        ax.set(xlim=(0, None), ylabel="")
    axes[0].set(xlabel="single steps: shares off all slots (rms) [%]")
    axes[1].set(xlabel="events off the sum of their parts [%]")
    sns.move_legend(axes[1], "upper left", bbox_to_anchor=(1, 1), title="")
    return figure, axes


# %%
first, second, third = (100 * closures.groupby(keys[1:])[test].mean()
                        for test in ("rms", "sums", "another run"))
if first.notna().all():
    drawn = closures.sort_values(keys[:0:-1], ascending=False)
    figure, axes = draw_ways(drawn[drawn["merging"] != "control"])
    by_cleaning = 100 * closures.set_index(keys)[["rms", "sums"]].unstack("cleaning")
    paper_moves = (by_cleaning.xs("counterminer", axis=1, level=1)
                   - by_cleaning.xs("scaling", axis=1, level=1)).abs().max().max()
    real = [of.drop("control", level="merging") for of in (first, second)]
    best = {test: ", ".join(of.idxmin()) if of.notna().all() else "none"
            for test, of in zip(("slots", "events"), real, strict=True)}
    display(results.figure(
        figure, "ways", "**Figure.** Distance of single steps from both kinds of sums, a dot a "
        "program. *See:* in the mean of programs the shortest distance is, by the slots, that of "
        f"{best['slots']}, by the events that of {best['events']}. The paper's cleaning "
        f"(counterminer) is at most {paper_moves:.1f} points from what perf prints (scaling)."))

# %%
def describe_stages(distances):
    """How far counts are off by one test [%]: printed, cleaned, adjusted, its control, both."""
    before, adjusted, both, control, clean = distances[[*STAGES, CONTROL, CLEANED]]
    return (f"{before:.1f} % as perf prints them, {clean:.1f} % cleaned by {method}, "
            f"{adjusted:.1f} % adjusted (its control: {control:.1f} %), {both:.1f} % both")


# %%
if first.notna().all():
    by_name = closures.set_index([*keys[1:], "program"]).sort_index()
    most = by_name.loc[STAGES[-1]].nlargest(1, "rms").iloc[0]
    to_sums = all(of[STAGES[2]] < of[STAGES[0]] and of[STAGES[1]] < of[CONTROL]
                  for of in (first, second) if of.notna().all())
    moved = by_name.loc[STAGES[1]] - by_name.loc[STAGES[0]]
    apart, mean = moved["another run"].sort_values(), moved["mean"].abs().idxmax()
    nearer = {done: third[way] < 0.95 * third[STAGES[0]]
              for done, way in (("cleaning", CLEANED), ("adjusting", STAGES[1]))}
    to_runs = ", by ".join(f"{done} {'yes' if of else 'no'}" for done, of in nearer.items())

# %%
if first.notna().all():
    display(results.finding(
        ("Nearer to the sums by adjusting: " + ("yes" if to_sums else "not by every test"))
        + (f"; to what another run counted: by {to_runs}" if third.notna().all() else "")
        + f"; shares of single steps are off all slots by {describe_stages(first)}"
        + (f"; events off the sum of their parts by {describe_stages(second)}"
           if second.notna().all() else "")
        + f"; root mean squares, means of {len(programs)} program{'s' * (len(programs) > 1)}."
        + " So adjust for an account by steps, whose shares then fit together; a single event's "
        "course gets no surer by it." * bool(to_sums and not nearer["adjusting"])))
    if third.notna().all():
        display(results.finding(
            f"From another run counts are off by {third[STAGES[0]]:.1f} % as perf prints them, "
            f"{third[CLEANED]:.1f} % cleaned by {method} (both runs are, and any smoothing of "
            f"both brings them nearer), {third[STAGES[1]]:.1f} % adjusted, {third[STAGES[2]]:.1f} "
            f"% adjusted and cleaned. Adjusting moves them by {100 * apart.iloc[0]:+.1f} points in "
            f"{apart.index[0]} to {100 * apart.iloc[-1]:+.1f} in {apart.index[-1]}."))
    display(results.finding(
        f"By the slots most is left in {most.name} ({100 * most['rms']:.1f} %; one step, whose "
        f"shares add up to {100 * most['its sum']:.0f} %, is {100 * most['worst step']:.0f} % of "
        f"its squares). Adjusting moves the mean of the sums most in {mean}, from "
        f"{by_name.loc[STAGES[0]].at[mean, 'mean']:.3f} to "
        f"{by_name.loc[STAGES[1]].at[mean, 'mean']:.3f}; it should be 1."))
else:
    display(results.finding("What was counted can't be tested by the sum of its shares."))

# %%
said = ["counts as perf prints them", "runs adjusted to IPC", f"adjusted, cleaned by {method}",
        f"cleaned by {method}", "control of the adjusted"]
for how, stage in zip(said, [*STAGES, CLEANED, CONTROL], strict=True):
    if first.notna().all():
        results.number(f"account's error of a single step, {how}", first[stage], "% of the slots",
                       note="root mean square over the steps, mean of programs")
for how, stage in zip(said, STAGES, strict=False):
    if third.notna().all():
        results.number(f"difference from another run, {how}", third[stage], "%")

# %% [markdown]
# ## What this doesn't show
#
# That counts are right: an error that all runs share, or that cancels in a sum, is not seen. The control shows that the sums agree better by the IPC of the same steps only, not by any smooth series; it can't show that each event is nearer to what it was, which is what the third test asks, of the few events that several runs counted. Kernel work was not counted (`:u`). A single run of each event is merged with others', so that which of two ways is nearer rests on few runs.
#
# ## On your own program
#
# `cmlib record NAME -- COMMAND`, then `cmlib run live sums -p program=NAME` (*live*: the profile for recordings of your own). Change `method` first, the cleaning that the answer tells.
#
# **References.** Yasin, *A top-down method for performance analysis and counters architecture*, ISPASS 2014. AMD, Processor Programming Reference, guidance for pipeline utilization analysis. Cochran, *Sampling Techniques*, §7.1 (regression estimator). Lv et al., *CounterMiner*, MICRO 2018, §III-B.

# %%
results.save()
