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
# # Cause or correlation: does a Spark program's time change when an important event is moved alone?
#
# **Question.** Which of the events that are important in a model of a Spark program's time cause that time?
#
# *Reads* runs of Spark programs under settings drawn at random, and runs beside which a small program made events happen. *Writes* a verdict on each important event, with the change of the time that the model expects and the one observed.
#
# CounterMiner (§V-D) tunes the parameters that go with important events, as if these were causes. But importance is of a model: an event that merely accompanies a long time is as important in it as its cause. Here a small program beside makes more of these events happen; the paper has nothing of the kind. Several kinds of event are made in the same runs, each at a rate drawn independently of the others. *Moved alone* means of an event: the rate drawn for it goes with its counts (Spearman's rank correlation, corrected by Holm) and with those of no other important event, so that runs with much and with little of it differ in no other important event that shows. [Notebook 08](../08_tuning.ipynb) ranks the parameters, [notebook studies/number_of_runs](number_of_runs.ipynb) asks how many runs that takes. The programs are ours, with HiBench's tasks and names, on generated input.

# %% [markdown] tags=["answer"]
# > **Answer** (pagerank and sort on Spark, one machine, recorded for this project; default parameters). Of **20** important events, **0** are shown to cause the time. When **5** of them are made more frequent beside the program, its time changes less than the model expects; for **15** neither is shown. Emitting an event in another process is not the same as the program causing it, so this does not prove that such events cost nothing.

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas, or all that are recorded
n_events: int = 10  # most important events that are judged
seed: int = 0  # of models and draws
settings: dict = {}  # profile, results_folder

# %%
import numpy as np
import pandas as pd
from scipy.stats import permutation_test, spearmanr
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import GroupKFold, cross_val_predict

from cmlib import plot, tuning
from cmlib.experiments.tuning.recordings import load_tuned
from cmlib.experiments.tuning.settings import EMITTERS
from cmlib.interact.dependence import partial_dependence
from cmlib.io import events
from cmlib.rank import regressor
from cmlib.report.notebook import begin

CAUSES, CORRELATES, NOT_SHOWN = "causes", "correlates only", "not shown"
LESS = "less than expected"
limits = {"n_events": (2, 30), "seed": (0, 1_000_000)}
notebook = begin("causes", settings, program=program, n_events=n_events, seed=seed)
results = notebook.results

# %%
tuned = load_tuned(wanted=program)
one = next(iter(tuned.values()))
kind = {"cycles": "hardware events"}.get(one.per, "software events and tracepoints")
source = f"{kind}; {one.machine['model_name']}, {one.machine['processors']} processors."
measure = "IPC" if one.per == "cycles" else "time"
sizes = ", ".join(f"{len(each.runs)} runs of {name}" for name, each in tuned.items())
print(f"Recorded for cmlib, not the paper's: {sizes};\n{one.runs.rates.shape[1]} {source}")
one.runs.rates.iloc[:5, :3].assign(seconds=one.runs.seconds)

# %% [markdown]
# A row is a run with its first three events, and its execution time. A *rate* is how often an event happened per millisecond of processor time (per cycle where cycles were counted); where the small program runs beside, its events and its processor time are counted with the program's.
#
# ## The experiments
#
# What is drawn at random has no causes among the events. If it moves one important event and no other, its runs are an experiment on that event, whatever else is drawn in them: if the time changes as the model expects, the event (or something uncounted that changes with it) is a cause; if the time stays, the event only accompanies it.
#
# Spark's parameters are drawn at random, but most of them move many events at once. So there are further runs in which a small program beside the executors makes events happen (*emits* them), each kind at a random rate, often none, up to those of the slowest runs. All kinds share these runs. In those called *default*, Spark's parameters are at their defaults, but for `executor.cores` (`exc`), which is 1 here, as two executors share the processors; in those called *exc-high* it is at the upper end of its range, 2. The table says which programs have which.

# %%
sizes = [(name, "Spark's parameters", "", each.runs) for name, each in tuned.items()]
sizes += [(name, "rates of emitted events", at, runs)
          for name, each in tuned.items() for at, runs in each.emitted.items()]
sizes = [(name, drawn, runs.parameters.shape[1],
          f"{runs.parameters.gt(0).sum(axis=1).median():.0f}", at, len(runs))
         for name, drawn, at, runs in sizes]
pd.DataFrame(sizes, columns=["program", "drawn at random", "how many", "of these in a run, median",
                             "at setting", "runs"])

# %% [markdown]
# ## One experiment, step by step
#
# In the code, `examples` and `performance` are the inputs and the output of the model by events: a row a run (an interval, where cycles were counted); `FEW_ROWS` are settings of the boosted model for so few rows; `EMITTERS` says of an event that can be emitted what it brings along by its nature (a system call counts among all system calls).
#
# Runs with the highest third of the emitted rates are compared with those with the lowest third (or those without the event, where they are many). *Observed* is by how much their mean times $\bar t$ differ. *Expected* is by how much the model's predictions differ, where $\hat t_e$ is the model's mean prediction with event $e$ as in the run of the experiment and all other events $o$ as in each run $i$ that it learned from (partial dependence, Friedman 2001):
#
# $$\mathrm{observed} = \frac{\bar t_{high}}{\bar t_{low}} - 1, \qquad \mathrm{expected} = \frac{\overline{\hat t_e}_{high}}{\overline{\hat t_e}_{low}} - 1, \qquad \hat t_e(x) = \frac{1}{n}\sum_{i=1}^{n} \hat t(e = x,\ o = o_i)$$

# %%
t_hat = regressor(boosting=tuning.FEW_ROWS, seed=seed)
t_hat.fit(one.runs.examples, one.runs.performance)  # the model whose important events are judged
important = list(tuning.important_events(one.runs, seed=seed).index[:n_events])


def t_hat_e(e, x):
    """Partial dependence on event e at x."""
    return t_hat.predict(one.runs.examples.assign(**{e: x})).mean()


def sides(drawn):
    """Which runs have little of what was drawn, and which much."""
    place = drawn.rank(method="dense") - 1
    none = place == 0
    low = none if none.sum() >= len(place) / 6 else place <= place.max() / 3
    return low, place >= 2 * place.max() / 3

# %%
def experiment(e, tried):
    """Change of the performance, expected and observed, of runs in which e was emitted [%]."""
    low, high = sides(tried.parameters[e])
    t = tried.performance.groupby(level=0).mean()
    says = pd.Series([t_hat_e(e, x) for x in tried.rates[e]], tried.rates.index)
    return [100 * (of[high].mean() / of[low].mean() - 1) for of in (says, t)]


by_hand = {(e, at): experiment(e, tried) for at, tried in one.emitted.items()
           for e in important if e in tried.parameters and tried.parameters[e].nunique() > 1}

# %% [markdown]
# What the model expects is worth as much as the model. So here is its error on runs that it did not learn from (each fifth of the runs predicted by the others), beside that of a model that looks at no event, the mean.

# %%
def quality(runs):
    """Error of the model by events on held-out runs, and of the others' mean [%]."""
    X, t, of_run = runs.examples, runs.performance, runs.examples.index
    folds = GroupKFold(min(5, of_run.nunique()))
    models = {"model by events": regressor(boosting=tuning.FEW_ROWS, seed=seed),
              "mean": DummyRegressor()}
    return {name: 100 * (cross_val_predict(by, X, t, groups=of_run, cv=folds) / t - 1).abs().mean()
            for name, by in models.items()}


held_out = pd.DataFrame({name: quality(each.runs) for name, each in tuned.items()}).T
results.table(held_out.rename_axis("program").reset_index(), "quality", (
    f"**Table.** Mean error of the {measure} on held-out runs [%]. *See:* the model errs less than "
    f"the mean in {(held_out['model by events'] < held_out['mean']).sum()} of {len(held_out)} "
    "programs."), decimals=1)

# %% [markdown]
# ## The verdicts
#
# So it is done for all events and all experiments, with the partial dependence of all runs at once. The range of the observed change in 95 % of resamplings is added (runs drawn with replacement; of so few runs a side, it is too narrow for a confidence interval), and whether runs exchanged at random between high and low differ as much (*p, no change*). Of several experiments on an event the one is taken in which the model expects most, whatever was observed. The same test is done with the times of the low runs changed as the model expects (*p, as expected*). Both are corrected by Holm: the probability that a test is wrong about any event of a program is at most 5 %.
#
# - *causes*: by the first test there is a change, in the direction expected, and the end of its range that is farther in this direction reaches half of what is expected.
# - *less than expected*: that end does not reach so far (if no change is seen: not as far as expected), and by the second test the time did not change as expected.
# - *not shown*: nothing moves the event alone, or the data allow both what the model expects and no change.

# %%
def holm(p, level=0.05):
    """Of which p are small enough for all of them together."""
    ordered = p.dropna().sort_values()
    held = ordered * np.arange(len(ordered), 0, -1) <= level
    return held.cummin().reindex(p.index, fill_value=False)


def moves(runs, events):
    """Which parameter moves which event, by Spearman's rank correlation."""
    rows = [(parameter, event, *spearmanr(runs.parameters[parameter], runs.rates[event]))
            for parameter in runs.parameters for event in events
            if runs.parameters[parameter].nunique() > 1 and runs.rates[event].nunique() > 1]
    tested = pd.DataFrame(rows, columns=["parameter", "event", "correlation", "p"])
    return tested[holm(tested["p"]).astype(bool)]


# %%
def alone(moved, aims):
    """Events with the factor that moves each alone, or with what it brings along, and these."""
    best = {}
    for factor, of_factor in moved.groupby("parameter", sort=False):
        strength = of_factor.set_index("event")["correlation"].abs()
        event, *allowed = aims.get(factor, strength.index[:1])
        if event in strength and strength.index.isin([event, *allowed]).all():
            brought = list(strength.index.drop(event))
            best[event] = max(best.get(event, (0.0,)), (strength[event], factor, brought))
    return [(event, *rest) for event, (_, *rest) in best.items()]


# %%
def change(before, after):
    return 100 * (after / before - 1)


def observed(low, high, draws=1000):
    """Change of the mean, its range in 95 % of resamplings, and p of runs exchanged at random."""
    rng = np.random.default_rng(seed)
    means = [rng.choice(side, (draws, len(side))).mean(axis=1) for side in (low, high)]
    ends = np.quantile(change(*means), [0.025, 0.975])
    drawn = rng.permuted(np.tile(np.concatenate([low, high]), (draws, 1)), axis=1)
    apart = np.abs(drawn[:, len(low):].mean(axis=1) - drawn[:, :len(low)].mean(axis=1))
    as_far = np.sum(apart >= abs(high.mean() - low.mean()) * (1 - 1e-12))
    return {"observed": change(low.mean(), high.mean()), "low": ends[0], "high": ends[1],
            "p": (1 + as_far) / (1 + draws)}


# %%
def measured(runs, t_hat, tried, event, factor):
    """What the model expects of an event that a factor moves alone, and what was observed."""
    low, high = (tried.parameters.index[side] for side in sides(tried.parameters[factor]))
    t = tried.performance.groupby(level=0).mean()
    says = partial_dependence(t_hat, runs.examples, tried.rates[[event]])
    says = pd.Series(says, tried.rates.index).groupby(level=0).mean()
    rates, seen = tried.rates[event], runs.examples[event]
    inside = rates[low.union(high)].between(seen.min(), seen.max())
    return {"before": rates[low].mean(), "after": rates[high].mean(),
            "beyond": 100 * (1 - inside.mean()),
            "expected": change(says[low].mean(), says[high].mean()),
            **observed(t[low].to_numpy(), t[high].to_numpy())}


def verdict(expected, low, high, differs):
    """Whether the performance changes as the model expects, less, or neither is shown."""
    if expected < 0:
        expected, low, high = -expected, -high, -low
    if not differs:
        return CORRELATES if expected > high else NOT_SHOWN
    if low + high < 0 or expected < 1e-3:
        return NOT_SHOWN
    return CAUSES if high >= expected / 2 else CORRELATES


# %%
def find_causes(runs, events, experiments):
    """Judge events by experiments: runs, and by factor its event and what that brings along."""
    t_hat = regressor(boosting=tuning.FEW_ROWS, seed=seed).fit(runs.examples, runs.performance)
    rows = {event: {"factor": "", "with": ""} for event in events}
    for tried, aims in experiments:
        for event, factor, brought in alone(moves(tried, events), aims):
            row = measured(runs, t_hat, tried, event, factor)
            if abs(row["expected"]) >= abs(rows[event].get("expected", 0.0)):
                rows[event] |= {"factor": factor, "with": ", ".join(brought)} | row
    names = ["factor", "with", "before", "after", "beyond", "expected", "observed", "low", "high"]
    rows = pd.DataFrame.from_dict(rows, orient="index").reindex(columns=[*names, "p"])
    decided = zip(rows["expected"], rows["low"], rows["high"], holm(rows["p"]), strict=True)
    verdicts = [verdict(*row) if pd.notna(row[0]) else NOT_SHOWN for row in decided]
    return rows.assign(verdict=verdicts).rename_axis("event")


# %%
def short(names):
    """Events' abbreviations, or tracepoints without their family."""
    names = events.abbreviate(names, events.table_of(one.machine))
    return [name.rpartition(":")[2].removeprefix("sys_enter_") for name in names]


def emitting(at, runs):
    """Runs beside which events were emitted, as an experiment on each of these events."""
    called = {event: f"{short([event])[0]} emitted ({at})" for event in runs.parameters}
    parameters = runs.parameters.rename(columns=called)
    rest = (runs.rates, runs.seconds, runs.examples, runs.performance)
    aims = {called[event]: (event, *EMITTERS[event]) for event in called}
    return tuning.Runs(parameters, *rest), aims

# %%
def as_expected(row, experiments):
    """How often runs exchanged at random differ as much, if the change is the expected one."""
    runs = next(tried for tried, _ in experiments if row["factor"] in tried.parameters)
    low, high = sides(runs.parameters[row["factor"]])
    t = runs.performance.groupby(level=0).mean()
    sample = t[high], t[low] * (1 + row["expected"] / 100)
    return permutation_test(sample, lambda a, b, axis: a.mean(axis) - b.mean(axis), vectorized=True,
                            n_resamples=1999, random_state=seed).pvalue

# %%
def judge(each):
    """Verdicts on the important events of a program by all that was drawn at random."""
    important = tuning.important_events(each.runs, seed=seed).iloc[:n_events]
    emitted = [emitting(at, runs) for at, runs in each.emitted.items()]
    experiments = [(each.runs, {}), *emitted]
    rows = find_causes(each.runs, list(important.index), experiments)
    p = {event: as_expected(row, experiments) for event, row in rows.iterrows() if row["factor"]}
    rows["p, as expected"] = pd.Series(p, dtype=float).reindex(rows.index)
    less = rows["verdict"].eq(CORRELATES) & holm(rows["p, as expected"])
    rows["verdict"] = rows["verdict"].replace(CORRELATES, NOT_SHOWN).mask(less, LESS)
    return rows.assign(importance=important)


# %%
judged = {name: judge(each) for name, each in tuned.items()}
first, compared = next(iter(judged.values())), []
for event, at in by_hand:
    if first.at[event, "factor"] == f"{short([event])[0]} emitted ({at})":
        compared.append(event)
        np.testing.assert_allclose(by_hand[event, at], first.loc[event, ["expected", "observed"]]
                                   .astype(float), atol=1e-6)
print(f"{next(iter(tuned))}: by hand as at once: {', '.join(short(compared)) or 'none'}")
judged = pd.concat(judged, names=["program"]).reset_index()
judged["event"] = short(judged["event"])

# %%
def draw_program(ax, rows, colours):
    """What the model expects of each event moved alone, and what was observed."""
    places = range(len(rows))
    ax.axvline(0, color="#777777", lw=0.8)
    ax.hlines(places, rows["low"], rows["high"], color=colours[1], lw=1.6)
    ax.plot(rows["observed"], places, "o", ms=5, color=colours[1], 
            label="observed, 95 % of resamplings")
    ax.plot(rows["expected"], places, "X", ms=6, color=colours[0], label="the model says")
    ax.set_yticks(places, rows["event"] + ": " + rows["verdict"])
    ax.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    ax.grid(True, axis="x")
    ax.grid(False, axis="y")

# %%
@plot.styled
def draw_verdicts(frame, programs, xlabel):
    """A panel a program."""
    most = max([1, *frame["program"].value_counts()])
    figure, axes = plot.panels(programs, columns=1, height=0.9 + 0.24 * most, sharex=True)
    for ax, name in zip(axes, programs, strict=True):
        rows = frame[frame["program"] == name]
        draw_program(ax, rows, plot.palette(2))
        ax.set(title=name if len(rows) else f"{name}: no event was moved alone", xlabel=xlabel)
        ax.tick_params(labelbottom=True)
    if not len(frame):
        axes[0].set_xticks([])
    plot.legend_below(figure, axes[0], 2)
    return figure, axes


# %%
shown = judged.dropna(subset="expected")
figure, _ = draw_verdicts(shown, list(tuned), f"change of the {measure} [%]")
far = shown[(shown["expected"] < shown["low"]) | (shown["expected"] > shown["high"])]
emitted = ", ".join(f"{len(runs)} of {name} ({at})" for name, each in tuned.items()
                    for at, runs in each.emitted.items())
results.figure(
    figure,
    "causes",
    f"**Figure.** By how much the {measure} of runs with the most of one emitted event differs "
    "from that of runs with the least: as the model by events expects (cross), and as observed "
    "(dot; line: 95 % of resamplings). "
    f"Runs with emitted events: {emitted or 'none'}; {source} *See:* of {len(shown)} "
    f"events that were moved alone, {len(far)} have the cross outside of the line: surely "
    f"so, by the second test, {(shown['verdict'] == LESS).sum()}.",
)

# %% [markdown]
# A cross far from a line that holds 0 means: by the model the time goes up or down with the event, but more of it, made by another process, changes no time that shows.

# %%
telling = ["program", "event", "importance", "verdict", "expected", "observed", "low", "high"]
results.table(
    judged[telling],
    "causes",
    "**Table.** The important events, most important first, with their importance in the model "
    f"[%]: change of the {measure} expected and observed, with the range of "
    "95 % of resamplings [%]. An event can be important in the model with little change expected, "
    "where what was made of it lies in a "
    "range in which the model's prediction is flat.",
    rows=30,
    decimals=1,
)

# %%
judged["factor"] += ("; with " + judged["with"]).where(judged["with"].ne(""), "")
judged["beyond"] = judged["beyond"].map("{:.0f}".format, na_action="ignore")
moved = judged.rename(columns={"p": "p, no change"})
results.table(
    moved[["program", "event", "factor", "before", "after", "beyond", "p, no change",
           "p, as expected"]],
    "moves",
    "**Table.** What moved each event and no other important one (*factor*; *with* what it brings "
    "along by its nature; empty: nothing did), mean rate in the runs with its lowest rates "
    "(*before*) and its highest (*after*), share of these runs whose rate is *beyond* what the "
    "model has seen [%], and p, before correction. Beyond, a model of trees expects what it does "
    "at the highest rate seen, perhaps too little.",
    rows=30,
    decimals=4,
)

# %%
n = judged["verdict"].value_counts()
results.number("important events", len(judged), "events")
for verdict in (CAUSES, LESS, NOT_SHOWN):
    results.number(f"important events: {verdict}", n.get(verdict, 0), "events")
shown_to = {0: "None is", 1: "One is"}.get(n.get(CAUSES, 0), f"{n.get(CAUSES)} are")
text = (f"{shown_to} shown to cause the {measure}, of the {len(judged)} important events of "
        f"{' and '.join(tuned)}: when they are made beside the program, it changes less than the "
        f"model expects for {n.get(LESS, 0)}, and of {n.get(NOT_SHOWN, 0)} neither is shown")

# %%
if len(shown):
    row = shown.loc[shown["expected"].abs().idxmax()]
    undecided = shown[shown["verdict"] == NOT_SHOWN]
    few = (undecided["expected"].abs() < (undecided["high"] - undecided["low"]) / 2).sum()
    if few:
        text += f" (for {few} of these the model expects too little to be seen in these runs)"
    text += (f". The model expects most of {row['event']} in {row['program']}, "
             f"{row['expected']:+.1f} % {measure}; with more of it the {measure} differed by "
             f"{row['observed']:+.1f} % (in 95 % of resamplings "
             f"{row['low']:+.1f} to {row['high']:+.1f})")
results.finding(text + ". What was added are bare calls in another process; what the program "
                "itself does with such events may still cost time.")

# %% [markdown]
# ## What this doesn't show
#
# Nothing is said of an event that could not be moved alone, or not far enough for the model to expect a change (by less than half of the range's width it could not be seen). Expectations are somewhat too high where of two experiments the one with the higher is taken, and the model's error is known under Spark's parameters, not beside emitted events.
#
# The cluster is one machine, and programs last seconds; start-up is part of every run.
#
# ## On your own program
#
# A program on Spark: `cmlib record-tuning --program NAME`, which also takes the runs beside emitted events, then `cmlib run paper causes -p program=NAME`. To change first: `n_events`; with fewer, fewer comparisons are corrected for and smaller changes can be shown.
#
# **References.** Friedman, *Greedy function approximation: a gradient boosting machine*, Annals of Statistics, 2001. Holm, *A simple sequentially rejective multiple test procedure*, 1979. Lv et al., *CounterMiner*, MICRO 2018, §V-D.

# %%
results.save()
