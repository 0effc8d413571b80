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
# # Do counts add up: what cleaning and merging of runs bring
#
# **Question.** Do cleaning the counts of single runs, and adjusting runs to their mean speed before they are merged, bring the steps of a run nearer to sums that must hold?
#
# *Reads* the store, the database of all recorded runs, and the formulas of each processor under `data/topdown`. *Writes* how far counts are from two kinds of sums, by every way of cleaning and merging.
#
# The events of a top-down account, which says what became of the pipeline's slots (notebook 02a), do not fit on the counters at once, so they come from several runs, in some of which events took turns (multiplexing). Two things are done to them before they stand side by side, and each is judged here: counts are *cleaned*, and runs *adjusted to IPC* (instructions a cycle). Neither comes from a paper of CounterMiner's authors, but for their cleaning, *counterminer*.

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas, or all
method: str = "shrinkage"  # cleaning that the answer tells
settings: dict = {}  # jobs executor scheduler database processor interactive profile results_folder

# %%
import numpy as np
import pandas as pd
import seaborn as sns
from IPython.display import Markdown

from cmlib import clean, experiments, plot, topdown
from cmlib.errors import NothingRecordedError
from cmlib.experiments import data
from cmlib.experiments.event_tables import table_name
from cmlib.io import events
from cmlib.parallel import parallel_map
from cmlib.report.notebook import begin

# %%
limits = {"method": "cmlib.clean.DISTINCT_METHODS"}
notebook = begin("02g_sums", settings, program=program, method=method)
results, workers, url = notebook.results, notebook.workers, notebook.database
recorded = data.programs(url, program)
data.refuse_simulated(url, recorded, "nothing of it was extrapolated or merged.")
PINNED = ["instructions", "cycles"]
tables = {name: experiments.program_table(url, name, notebook.processor) for name in recorded}
programs = [name for name in recorded if tables[name]]
if not programs:
    raise NothingRecordedError(
        "this takes cycles and a processor's events for slots, and they were not counted of "
        f"{', '.join(recorded)}. What is known of its slots begins the report's first page.")
display(Markdown(data.describe_data(url, programs)))

# %% [markdown]
# ## Cleaning, and adjusting to IPC
#
# *Cleaning*, run by run: *scaling* leaves what perf prints, each count extrapolated by the share of time on a counter; *interpolate* draws straight lines over what was not counted; *counterminer* replaces peaks and fills gaps as that paper does; *shrinkage* moves each count part of the way to the mean of its two neighbours in time (notebook 02c has its formula).
#
# *Merging*: each run is cut into steps of equal instructions, so that the same step of two runs is the same work. Instructions and cycles were counted in every run, so each event's rate is moved to the mean speed of all runs by the regression of that event on IPC within its own run (Cochran, §7.1; *adjusted to IPC* below, *as counted* without it). With $e_{j,t}$ the rate of an event a cycle in step $t$ of run $j$, of $R$ runs that counted it (often one), and $m_t$ the mean IPC of all runs:
#
# $$\hat{e}_t = \frac{1}{R} \sum_j \left( e_{j,t} + b_j \, (m_t - \mathrm{IPC}_{j,t}) \right), \quad b_j = \frac{\mathrm{cov}_t(e_j, \mathrm{IPC}_j)}{\mathrm{var}_t(\mathrm{IPC}_j)}.$$
#
# `adjust_by_hand` computes it; an event of each program is checked against the library.

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
# *mean* should be 1, and *rms*, the distance of the single steps, small. (In *mean* each run weighs the same; in the sum of a whole run in notebook 02a each count weighs by the time it was counted: the two differ by a point or so.)
#
# By AMD's formulas retired $r$ cancels in the sum, and what is tested are three events, dispatched $d$, front end $f$ and back end $b$, against the slots of the cycles $c$:
#
# $$\sum_k s_k = \frac{r + (d - r) + f + b}{8 \, c} = \frac{d + f + b}{8 \, c}$$
#
# **No error in retired, nor in how what was dispatched is split into retired and bad speculation, can show here.** The share of a sibling thread is zero where its event was not counted (`0 * cycles`): assumed, not measured. Where one category is defined as what the others leave, as by Intel's formulas, the sum is one whatever was counted: then nothing is said.
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
# Some events are the sum of others, by their umasks (the bits that pick which cases an event counts), as all fills are of local and remote ones. With $e$ the rate of such an event, $e_k$ those of its parts, over the steps $t$:
#
# $$\mathrm{distance} = \frac{\sqrt{\mathrm{mean}_t \, \big(e_t - \sum_k e_{k,t}\big)^2}}{\mathrm{mean}_t \, e_t}$$
#
# Only such sums are taken of which no run counted the whole together with a part, so that merging is tested. What makes counts better by one test should make them better by the other.

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
def judge_every_way(name):
    """By every way of cleaning and of merging, how far a program's steps are from both sums."""
    sums, rows = separate_sums(name), []
    counted = set(data.interval_runs(url, [name])["events"].explode())
    wanted = {*tables[name].takes(counted), *PINNED,
              *(event for whole, parts in sums for event in (whole, *parts))}
    for how in clean.DISTINCT_METHODS:
        steps = experiments.cleaned_steps(url, name, wanted, method=how, workers=workers)
        for merging, adjust in {"as counted": False, "adjusted to IPC": True}.items():
            rates, ipc = topdown.merge_steps(steps, adjust=adjust)
            missed = miss_of_sums(rates, sums)
            off = closure_of(topdown.account(rates, tables[name]), ipc)
            rows.append([name, how, merging, *off.values(), missed.median(), len(missed)])
        np.testing.assert_allclose(rates.iloc[:, 0], adjust_by_hand(steps, rates.columns[0]))
    return rows


keys = ["program", "cleaning", "merging"]
measures = ["mean", "rms", "worst step", "its sum", "sums", "number of sums"]
rows = [row for of in parallel_map(judge_every_way, programs, workers) for row in of]
closures = pd.DataFrame(rows, columns=[*keys, *measures])
closures = closures.astype(dict.fromkeys(measures, float))

# %%
STAGES = [("scaling", "as counted"), ("scaling", "adjusted to IPC"), (method, "adjusted to IPC")]
named = closures[keys[1:]].apply(tuple, axis=1).isin(STAGES)
n_sums = " or ".join(dict.fromkeys(f"{n:.0f}" for n in closures.pop("number of sums")))
caption = ("**Table.** What perf prints as counted and adjusted to IPC, and "
           f"{method} adjusted to IPC: {named.sum()} of {len(closures)} rows. *mean* and *rms* of "
           "the steps [share of the slots]; *sums*: the distance of the second test [share of the "
           f"whole], median of {n_sums} sums of a program.")
closures = pd.concat([closures[named], closures[~named]])
results.table(closures, "closure", caption, rows=named.sum(), decimals=3)

# %%
@plot.styled
def draw_ways(closures):
    """Both distances of every way of cleaning and merging, a dot a program."""
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
first, second = (100 * closures.groupby(keys[1:])[test].mean() for test in ("rms", "sums"))
if first.notna().all():
    figure, axes = draw_ways(closures.sort_values(keys[:0:-1], ascending=False))
    best = {test: ", ".join(of.idxmin()) if of.notna().all() else "none"
            for test, of in (("slots", first), ("events", second))}
    display(results.figure(
        figure, "ways", "**Figure.** Distance of single steps from both kinds of sums, a dot a "
        "program. *See:* in the mean of programs the shortest distance is, by the slots, that of "
        f"{best['slots']}, by the events that of {best['events']}."))

# %%
def describe_gain(rms, sums, others):
    """What adjusting and cleaning bring, by both tests [%], each as counted, adjusted, and both."""
    gain = 100 * (rms[0] - rms[1]) / (rms[0] - rms[2]) if rms[2] < rms[0] else 0
    alike = bool((np.sign(np.diff(sums)) == np.sign(np.diff(rms))).all())
    others = ", ".join(f"{how} {off:.1f} %" for how, off in others.items())
    answer = (f"Yes, and adjusting runs makes up {gain:.0f} % of the gain" if gain else
              "Both together do not")
    return (f"{answer}: in single steps the sum of the shares is off from all slots by {{:.1f}} % "
            "as perf prints the counts, by {:.1f} % with runs adjusted to their mean IPC, by "
            f"{{:.1f}} % cleaned by {method} too ({others}; root mean square, mean of "
            f"{len(programs)} program{'s' * (len(programs) > 1)}).").format(*rms) + (
        f" Sums of events {'agree' if alike else 'do not agree'}: they are off by "
        "{:.1f}, {:.1f} and {:.1f} %.".format(*sums) if np.isfinite(sums).all() else "")


# %%
if first.notna().all():
    others = first.xs("adjusted to IPC", level="merging").drop(["scaling", method], errors="ignore")
    most = closures.set_index(keys).xs(STAGES[-1], level=[1, 2]).nlargest(1, "rms").iloc[0]
    display(results.finding(
        describe_gain(first[STAGES].to_numpy(), second[STAGES].to_numpy(), others)
        + f" By the slots most is left in {most.name} ({100 * most['rms']:.1f} %), of whose "
        f"squares {100 * most['worst step']:.0f} % are one step, whose shares add up to "
        f"{100 * most['its sum']:.0f} %."))
    said = ["counts as perf prints them", "runs adjusted to IPC", f"adjusted, cleaned by {method}"]
    for how, stage in dict(zip(said, STAGES, strict=True)).items():
        results.number(f"account's error of a single step, {how}", first[stage], "% of the slots",
                       note="root mean square over the steps, mean of programs")
else:
    display(results.finding("What was counted can't be tested by the sum of its shares."))

# %% [markdown]
# ## What this doesn't show
#
# That counts are right: an error that all runs share, or that cancels in a sum, is not seen. Sums of steps that were adjusted by one and the same IPC may agree for that alone; the second test takes events of other runs, but the same IPC. Kernel work was not counted (`:u`). A single run of each event is merged with others', so that which of two ways is nearer rests on few runs.
#
# ## On your own program
#
# `cmlib record NAME -- COMMAND`, then `cmlib run live 02g_sums -p program=NAME` (*live*: the profile for recordings of your own). Change `method` first, the cleaning that the answer tells.
#
# **References.** Yasin, *A top-down method for performance analysis and counters architecture*, ISPASS 2014. AMD, Processor Programming Reference, guidance for pipeline utilization analysis. Cochran, *Sampling Techniques*, §7.1 (regression estimator). Lv et al., *CounterMiner*, MICRO 2018, §III-B.

# %%
results.save()
