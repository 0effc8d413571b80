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
# # Cause or correlation: does the time change when an important event does?
#
# **Question.** Which of the events that are important in a model of a Spark program's time cause it?
#
# *Reads* runs of Spark programs under different settings, and runs beside which a small program emitted events. *Writes* a verdict on each important event, with the change of the time that the model expects and the observed one.
#
# [Notebook 08](08_tuning.ipynb) ranks pairs of important events and Spark's parameters, as the paper does; [notebook 08a](08a_number_of_runs.ipynb) asks how many runs that takes. Importance is of a model: an event that goes along with the cause of a long time is as important as the cause itself. Here the events are moved.

# %% tags=["parameters"]
program = "all"  # programs to study, separated by commas, or all that are recorded
n_events = 10  # most important events that are judged [2, 30]
seed = 0  # of models and draws [0, 1000000]
settings = {}  # profile, results_folder

# %%
import pandas as pd

from cmlib import plot, tuning
from cmlib.experiments.spark_settings import EMITTERS
from cmlib.experiments.tuned_runs import load_tuned
from cmlib.io import events
from cmlib.report.notebook import begin

# %%
notebook = begin("08b_causes", globals())
results = notebook.results
tuned = load_tuned(wanted=program)
one = next(iter(tuned.values()))
table = events.table_of(one.machine)
kind = {"cycles": "hardware events"}.get(one.per, "software events and tracepoints")
source = f"Counted: {kind}; {one.machine['model_name']}, {one.machine['processors']} processors."
one.runs.rates.head()

# %% [markdown]
# A row is a run, a column the rate of an event per millisecond of processor time (per cycle where cycles were counted); Spark's parameters were drawn at random for each run.
#
# ## Experiments
#
# A randomized factor has no causes among the events. Where it moves one important event and no other, the runs are an experiment on that event: if the time changes as the model predicts, the event (or something uncounted that changes with it) is a cause; if the time stays the same, the event is only correlated with it.
#
# Spark's parameters, drawn at random for the runs above, are one such experiment, but most of them move many events at once. In the other experiment a small program beside the executors emits one kind of event, at random rates up to those of the slowest runs, at one setting of Spark, and is counted with them: *default* has all parameters at their defaults, *exc-high* one of them, `executor.cores`, at the upper end of its range.

# %%
sizes = [(name, "Spark's parameters", "", one.runs) for name, one in tuned.items()]
sizes += [(name, "emitted events", at, runs)
          for name, one in tuned.items() for at, runs in one.emitted.items()]
sizes = [(name, factors, runs.parameters.shape[1], at, len(runs))
         for name, factors, at, runs in sizes]
pd.DataFrame(sizes, columns=["program", "factors", "number of factors", "setting", "runs"])

# %% [markdown]
# ## The verdicts
#
# Of each experiment on an event $e$, the runs with the highest third of the factor's values are compared with those with the lowest third (or without the event). With the mean performance $\bar t$ of these runs, and what the model by the events says at the rates of $e$ in these runs, all others as they are in all runs (partial dependence $\hat t_e$, Friedman 2001),
#
# $$\mathrm{observed} = \left(\frac{\bar t_{high}}{\bar t_{low}} - 1\right) \times 100\,\%, \qquad \mathrm{expected} = \left(\frac{\overline{\hat t_e}_{high}}{\overline{\hat t_e}_{low}} - 1\right) \times 100\,\%$$
#
# The event *causes* the time if this changes (an exchange of runs at random gives as much in at most 5 % of the cases, for all events together) in the direction expected and at least half as far, by its interval. It *correlates only* if the time changes less than half as far, or does not change and the interval ends before what the model expects. All else is *not shown*: no factor moves the event alone, or the interval is too wide.

# %%
def short(names):
    """Events' abbreviations, or tracepoints without their family."""
    found = events.abbreviate(names, table)
    return [name.rpartition(":")[2].removeprefix("sys_enter_") for name in found]


def emitting(at, runs):
    """Runs beside which events were emitted, as an experiment on each of these events."""
    called = {event: f"{short([event])[0]} emitted ({at})" for event in runs.parameters}
    parameters = runs.parameters.rename(columns=called)
    own = (runs.rates, runs.seconds, runs.examples, runs.performance)
    aims = {called[event]: (event, *EMITTERS[event]) for event in called}
    return tuning.Experiment(tuning.Runs(parameters, *own), aims)


def judge(each):
    """Judge the important events of a program by all that was drawn at random."""
    important = list(tuning.important_events(each.runs, seed=seed).index[:n_events])
    emitted = [emitting(at, runs) for at, runs in each.emitted.items()]
    experiments = [tuning.Experiment(each.runs), *emitted]
    return tuning.find_causes(each.runs, important, experiments, seed=seed)


# %%
judged = {name: judge(each) for name, each in tuned.items()}
judged = pd.concat(judged, names=["program"]).reset_index()
shown = judged.assign(event=short(judged["event"])).dropna(subset="expected")
axis = "change of the performance [%]"
figure, _ = plot.verdicts(shown, programs=list(tuned), xlabel=axis)
results.figure(
    figure,
    "causes",
    "**Figure.** What the performance (time of a run, or IPC where cycles are counted) does when "
    "one event is moved alone, from none or a factor's lowest third to its highest: as the model "
    f"by events says, and as observed, with its 95 % interval. {source}",
)

# %% [markdown]
# A cross far from an interval that contains 0 means that the model attributes time to the event, but moving the event does not change the time.

# %%
emitted = ", ".join(
    f"{len(runs)} of {name} ({at})"
    for name, one in tuned.items()
    for at, runs in one.emitted.items()
)
telling = ["program", "event", "verdict", "expected", "observed", "low", "high", "p", "factor"]
results.table(
    judged[telling + ["with", "moved_by", "before", "after", "beyond"]],
    "causes",
    "**Table.** The important events: change of the performance expected and observed [%]; what "
    "moves each alone (*factor*; *with*: what that brings along); its mean rate before and after, "
    f"runs beyond what the model has seen [%]. Runs with emitted events: {emitted or 'none'}.",
    rows=30,
)

# %% [markdown]
# ## What was found

# %%
def summarize(name):
    """What was found of one program, in plain words."""
    own = judged[judged["program"] == name]
    verdicts = own["verdict"].value_counts()
    counted = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.items())
    text = f"Of the {len(own)} important events of {name}: {counted}."
    moved = own.dropna(subset="expected")
    if moved.empty:
        return f"{text} None was moved alone."
    row = moved.loc[moved["expected"].abs().idxmax()]
    return (f"{text} The model expects most of {short([row['event']])[0]}, a change of the "
            f"{measure} by {row['expected']:.1f} %; when it is moved alone, the change is "
            f"{row['observed']:.1f} % ({row['low']:.1f} to {row['high']:.1f}).")


measure = "IPC" if one.per == "cycles" else "time"
for name in tuned:
    display(results.finding(summarize(name), program=name))

# %% [markdown]
# ## What this doesn't show
#
# No causal statement is made on an event that no factor moves alone, or that the factor can't move far enough for the model to predict a change. An emitted event is a call that does as little as possible, in a process beside the program's: if it does not change the time, the call itself costs nothing; what the program does with such calls may.
#
# The cluster is one machine of two processors, and programs last seconds; start-up is part of every run.
#
# **References.** Friedman, *Greedy function approximation: a gradient boosting machine*, Annals of Statistics, 2001. Holm, *A simple sequentially rejective multiple test procedure*, 1979. Lv et al., *CounterMiner*, MICRO 2018, §V-D.

# %%
results.save()
