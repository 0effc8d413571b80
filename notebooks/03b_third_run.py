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
# # Merged runs held against a third run that counted both events
#
# **Question.** Two runs of a program counted different events and are merged: how well do they predict, interval by interval, what a third run counted?
#
# *Reads* the public set that `cmlib fetch spec2000` downloads into cmlib's cache (or that lies in the folder which the environment variable `CMLIB_PUBLIC` names). *Writes* the error of merging by program and by way of merging, what a shift of phases costs, and the error of models fitted on merged runs.
#
# **Whose data.** Recordings that somebody else published (Weaver, `perfevent_overhead`), not the paper's: programs of SPEC CPU 2000 on an AMD processor whose model is not stated, user mode, three runs each, a count each 100 million instructions, nothing multiplexed. Run 1 counts taken branches, run 2 all branches, run 3 both. So runs 1 and 2 can be merged as in [notebook 03a](03a_merging_runs.ipynb), and run 3 is the truth: it counted together what the merged rows put together. The GBRT paper (Lv, Sun, Yu, 2018) merges such runs and does not test it.

# %% tags=["parameters"]
program: str = "all"  # cases (program and input) to judge, separated by commas, or all
folder: str = ""  # with other runs of the set's form; empty: the downloaded set
seed: int = 0  # of the shuffled intervals and of the models
settings: dict = {}  # profile, results_folder

# %%
import re

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor

from cmlib import plot, rank
from cmlib.errors import NothingRecordedError
from cmlib.experiments.requested import resolve_names
from cmlib.io import streams
from cmlib.io.archive import decompress, read_file
from cmlib.report.notebook import begin

limits = {"seed": (0, 1_000_000)}
notebook = begin("03b_third_run", settings, program=program, folder=folder, seed=seed)
results = notebook.results

# %%
from cmlib.experiments.published import how_to_get

files = streams.find_runs("spec2000", folder)
RUNS = {"amd_taken_totalmiss": 1, "amd_branches_totalmiss": 2, "amd_branches_takentotal": 3}
files = files.assign(run=files["run"].map(RUNS))
todo = "Notebook 03b is about programs of SPEC CPU 2000: `cmlib fetch spec2000`."
names = resolve_names(program, files["case"].unique(), about="the cases of spec2000", todo=todo)
if files["run"].nunique() < 3:
    raise NothingRecordedError(how_to_get("spec2000"))

# %% [markdown]
# ## The data: three runs of each case
#
# A case is a program with one input. Counts are cumulative: a row has what was counted since the start of the run, and for how many seconds it has run. Cases that lack a run, or have a run of at most 20 intervals, are left out.


# %%
def read(path):
    """Cumulative counts of a run, and for how long it has run [s]."""
    counts = streams.read_stream(path)
    # perf's "time enabled" [ns] stands behind each count.
    times = re.findall(rb" ENA=(\d+)", decompress(read_file(path), path))[:len(counts)]
    short = {f"retired_{kind}branch_instructions": name
             for kind, name in (("taken_", "taken"), ("", "branches"))}
    return counts.rename(columns=short).assign(seconds=np.array(times, dtype=float) / 1e9)


found = {name: {run.run: read(run.path) for run in group.itertuples()}
         for name, group in files[files["case"].isin(names)].groupby("case")}
cases = {name: runs for name, runs in found.items()
         if len(runs) == 3 and min(map(len, runs.values())) > 20}
n_programs = len({name.rpartition(".")[0] for name in cases})
print(f"{len(cases)} of {len(found)} cases, of {n_programs} programs, three runs each; the first "
      "rows of the third run of the first case:")
SOURCE = {"taken": 1, "branches": 2}  # the merged run that counts the event
next(iter(cases.values()))[3].head(3)

# %%
totals = []
for name, runs in cases.items():
    last = min(map(len, runs.values())) - 1
    seconds = pd.Series([runs[run]["seconds"].iloc[last] for run in (1, 2, 3)])
    apart = {f"{event} [%]": 100 * abs(runs[run][event].iloc[last] / runs[3][event].iloc[last] - 1)
             for event, run in SOURCE.items()}
    totals.append({"case": name, "intervals": last + 1, "seconds": round(seconds.mean()), **apart,
                   "time [%]": 100 * (seconds.max() / seconds.min() - 1)})
totals = pd.DataFrame(totals)
furthest = totals[[f"{event} [%]" for event in SOURCE]].max().max()
results.table(totals, "totals",
              f"**Table.** Intervals, mean seconds of a run, and by how much the total of an event "
              "in the run that is merged differs from the third run's "
              f"(at most {furthest:.3f} %); *time*: by how much longer the slowest of the three "
              f"runs took than the fastest (at most {totals['time [%]'].max():.1f} %). The first 4 "
              f"of {len(totals)} cases; all in totals.csv.", decimals=4, rows=4)

# %% [markdown]
# ## The method: look up the same place in another run
#
# This is no formula of the paper. Let $F_r(i)$ be the count of an event in run $r$ up to its $i$-th instruction, and $G_r(t)$ up to time $t$ of the $T_r$ seconds that it takes. In interval $k$ the third run counts $c_k$ events; the interval ends at instruction $i_k$ and at time $t_k$ of $T_3$ seconds. What run $r$ predicts of it is, aligned by instructions and by the share of the time,
#
# $$\hat c_k = F_r(i_k) - F_r(i_{k-1}),$$
#
# $$\hat c_k = G_r\left(\frac{t_k}{T_3} T_r\right) - G_r\left(\frac{t_{k-1}}{T_3} T_r\right),$$
#
# and the error $E$ [%] is the sum of what is too many or too few, in percent of the event's count (an event in a wrong interval is counted twice, where it is missing and where it is too many),
#
# $$E = 100\,\frac{\sum_k |\hat c_k - c_k|}{\sum_k c_k}.$$
#
# For one case, term by term:

# %%
case = next(iter(cases))
r, third = cases[case][SOURCE["taken"]], cases[case][3]
third = third[third["instructions"] <= r["instructions"].iloc[-1] + 1000]
i, t = third["instructions"], third["seconds"]
T_r, T_3 = r["seconds"].iloc[-1], cases[case][3]["seconds"].iloc[-1]


def F_r(i):
    return np.interp(i, [0, *r["instructions"]], [0, *r["taken"]])


def G_r(t):
    return np.interp(t, [0, *r["seconds"]], [0, *r["taken"]])


c = third["taken"].diff().iloc[1:]
by_instructions = np.diff(F_r(i))
by_time = np.diff(G_r(t / T_3 * T_r))
E = {way: 100 * np.abs(c_hat - c).sum() / c.sum()
     for way, c_hat in {"by instructions": by_instructions, "by time": by_time}.items()}
print(f"{case}, taken branches, {len(c)} intervals: "
      + ", ".join(f"aligned {way} E = {error:.3f} %" for way, error in E.items()))

# %% [markdown]
# The same for all cases and both events. Three predictions are held beside it that look up no place: the mean rate of the run (*mean*), its intervals in random order (*shuffled*), and the third run's own previous interval, which a merged run does not know: a rival that looks at the truth. (Stacked runs, one below the other and filled with zeros, have no common place: without a model they predict the mean.)


# %%
def counts_at(run, event, by, edges):
    """Counts of an event between places of a run, interpolated evenly inside its intervals."""
    inside = np.clip(edges, 0, run[by].iloc[-1])
    return np.diff(np.interp(inside, [0, *run[by]], [0, *run[event]]))


def predictions(runs, event):
    """What each way of merging predicts of the third run's intervals, and what it counted."""
    merged, third = runs[SOURCE[event]], runs[3]
    ends = third[third["instructions"] <= merged["instructions"].iloc[-1] + 1000]
    times = np.array([0, *ends["seconds"]]) * merged["seconds"].iloc[-1] / third["seconds"].iloc[-1]
    by_place = counts_at(merged, event, "instructions", np.array([0, *ends["instructions"]]))
    table = pd.DataFrame({"counted": np.diff([0, *ends[event]]), "by instructions": by_place,
                          "by time": counts_at(merged, event, "seconds", times)})
    table["previous interval"] = table["counted"].shift()
    shuffled = np.random.default_rng(seed).permutation(by_place)
    return table.assign(mean=by_place.mean(), shuffled=shuffled).iloc[1:]


def error(predicted, counted):
    """What is too many or too few in all intervals, in percent of the count."""
    return 100 * np.abs(predicted - counted).sum() / counted.sum()


# %%
predicted = {(name, event): predictions(runs, event)
             for name, runs in cases.items() for event in SOURCE}
errors = pd.DataFrame({key: {way: error(rows[way], rows["counted"]) for way in list(rows)[1:]}
                       for key, rows in predicted.items()}).T.rename_axis(["case", "event"])
np.testing.assert_allclose(errors.loc[(case, "taken"), list(E)], list(E.values()))
results.table(errors.reset_index(), "places",
              "**Table.** Error [%] of what one run predicts of the third: two ways of aligning, "
              "and three predictions that look up no place. The first 6 of "
              f"{len(errors)} cases and events; all in places.csv.", rows=6)

# %%
shown = errors.groupby("case").mean().sort_values("by instructions")
figure, _ = plot.by_case(shown, ylabel="error [% of the event's count]")
nearest = (errors["by instructions"] == errors.min(axis=1)).sum()
results.figure(figure, "places",
               "**Figure.** Error of what one run predicts of the third run's intervals, mean of "
               f"taken and all branches; {len(shown)} cases of SPEC CPU 2000; note the "
               f"logarithmic axis. *See:* by instructions is nearest in {nearest} of {len(errors)} "
               f"cases and events, with {errors['by instructions'].median():.2f} % in the median; "
               f"by time {errors['by time'].median():.2f} %, the third run's previous interval "
               f"{errors['previous interval'].median():.2f} %, the mean "
               f"{errors['mean'].median():.2f} %.")

# %% [markdown]
# Look at the case in which time is worst against instructions: a stretch of the third run, and what either alignment puts there.

# %%
worst = (errors["by time"] - errors["by instructions"]).idxmax()
stretch = predicted[worst].iloc[len(predicted[worst]) // 2:][:60]
lines = {"third run": stretch["counted"], "by instructions": stretch["by instructions"],
         "by time": stretch["by time"]}
seconds = cases[worst[0]][3]["seconds"].iloc[stretch.index].to_numpy()
lines = {label: pd.Series(values.to_numpy() / 1e6, seconds) for label, values in lines.items()}
lasting = np.diff(seconds)
figure, _ = plot.series(lines, ylabel="million an interval", title=f"{worst[0]}, {worst[1]}")
results.figure(figure, "stretch",
               f"**Figure.** {len(stretch)} intervals from the middle of the case with the largest "
               "difference of the two alignments: taken branches that the third run counted, and "
               "that run 1 puts there. *See:* by instructions run 1 lies on "
               f"the third ({errors.at[worst, 'by instructions']:.2f} % error over the whole run); "
               f"by time it errs by {errors.at[worst, 'by time']:.2f} %, its peaks are too high "
               "and its valleys too low. Intervals have the same instructions but last "
               f"{lasting.min():.3f} to {lasting.max():.3f} s: a long one, laid by time over a "
               "fast stretch of the other run, catches the branches of several.")

# %% [markdown]
# ## What a shift of phases costs
#
# Aligned by instructions, but the merged run shifted by a number of intervals, as when two runs did not begin at the same place. The error is divided by that of the mean: at 1 the merged row is worth no more than a constant.

# %%
rows = []
for shift in (0, 1, 2, 5, 10, 20, 50):
    for key, rows_of in predicted.items():
        moved = rows_of["by instructions"].shift(shift)
        both = rows_of.assign(moved=moved).dropna()
        if len(both) > shift:
            ratio = error(both["moved"], both["counted"]) / error(both["mean"], both["counted"])
            rows.append((shift, *key, ratio))
shifts = pd.DataFrame(rows, columns=["shift", "case", "event", "ratio"])
spread = shifts.groupby("shift")["ratio"].quantile([0.1, 0.5, 0.9]).unstack()
spread.columns = ["10th percentile", "median", "90th percentile"]
worthless = (shifts["ratio"] >= 1).groupby(shifts["shift"]).mean()
n_long = shifts.groupby("shift").size()
results.table(spread.assign(worthless=worthless, n=n_long).reset_index(), "shift",
              "**Table.** Error over that of the mean, by intervals of shift: quantiles over the "
              "*n* cases and events that have more than twice as many intervals; *worthless*: the "
              "share of them with a ratio of 1 or more.")

# %%
@plot.styled
def draw_shifts(spread):
    """Quantiles of the ratio by shift, beside the mean's error."""
    figure, (ax,) = plot.panels([""], columns=1, height=2.9)
    spread.plot(ax=ax, marker="o", ms=4, lw=1.3, color=plot.palette(spread.shape[1]))
    ax.axhline(1, color="#444444", ls="--", lw=1, label="mean")
    ax.set(xlabel="shift [intervals of 100 million instructions]",
           ylabel="error over that of the mean", ylim=(0, None), xticks=spread.index)
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure, ax


figure, _ = draw_shifts(spread)
results.figure(figure, "shift",
               "**Figure.** What a shift of phases costs: error over that of the mean, quantiles "
               f"of {n_long.min()} to {n_long.max()} cases and events (table). *See:* one interval "
               "raises "
               f"the median from {spread.loc[0, 'median']:.2f} to {spread.loc[1, 'median']:.2f}, "
               "twenty to "
               f"{spread.loc[20, 'median']:.2f}; but cases differ: shifted by fifty intervals a "
               f"tenth of them is still at {spread.loc[50, '10th percentile']:.2f} or less.")

# %% [markdown]
# ## A model of what was never counted together
#
# Merged rows are made for models. One of taken branches by all branches and by the pace (time per instruction) is fitted on rows whose two events come from runs 1 and 2, and predicts the third run's taken branches from its own branches and pace; and the other way round. Rates are per instruction, the trees are the same, and blocks of the program that are judged take no part in the fit:
#
# $$m = \text{arg min}_{m} \sum_{j \notin \mathrm{block}(k)} \left(y_1(j) - m(x_2(j), p_{12}(j))\right)^2, \qquad \hat y_3(k) = m(x_3(k), p_3(k)).$$
#
# $y_r(j)$ is the event to predict, $x_r(j)$ the other event, in row $j$ of run $r$, and $p_r(j)$ its pace; $p_{12}$ is the mean pace of runs 1 and 2. The ways to put together the rows on which $m$ is fitted:
#
# - *third run alone*: the third run's other blocks, counted together; what a merge is held against (both vary a little, so that a merge may come out better)
# - *by instructions*, *by time*: runs 1 and 2, merged at the same place or at the same share of the time
# - *shuffled*: the same as *by instructions*, the other event in random order
# - *pace alone*: only the run that counted the event; its other event is not known, so a constant, and the pace is all that is left. So it is in stacked runs, one below the other: no row has both events. (The GBRT paper stacks runs, but predicts IPC, which every run counts; this is no test of its way.)
# - *mean*: no model


# %%
def rates(run, names, edges, by="instructions"):
    """Events and time per instruction between places of a run."""
    done = pd.DataFrame({name: counts_at(run, name, by, edges)
                         for name in ("instructions", "seconds", *names)})
    return done[list(names)].div(done["instructions"], axis=0).assign(
        pace=1e9 * done["seconds"] / done["instructions"])


def merge_two(runs, event, other, by, n):
    """Rows with the event of one run and the other event of another, at the same place."""
    one, two = (runs[SOURCE[name]] for name in (event, other))
    end = [run[by].iloc[-1] if by == "seconds" else n * 1e8 for run in (one, two)]
    one = rates(one, [event], np.linspace(0, end[0], n + 1), by)
    two = rates(two, [other], np.linspace(0, end[1], n + 1), by)
    return pd.DataFrame({other: two[other], "pace": (one["pace"] + two["pace"]) / 2,
                         event: one[event]}), one


# %%
def error_of_fit(fitted, third, event, fold):
    """Fit on the blocks that are not judged, predict the third run's; the error [%]."""
    predicted, inputs = np.empty(len(third)), third.columns.drop(event)
    trees = {"n_estimators": 100, "learning_rate": 0.1, "num_leaves": 15, "min_child_samples": 10}
    for held in np.unique(fold):
        rows = fitted[fold != held]
        model = LGBMRegressor(**trees, random_state=seed, n_jobs=1, deterministic=True, verbose=-1)
        model.fit(rows[inputs], rows[event])
        predicted[fold == held] = model.predict(third.loc[fold == held, inputs])
    return error(predicted, third[event])


# %%
def errors_by_rows(runs, event, other):
    """Errors of models fitted on runs that were put together in different ways."""
    n = min(map(len, runs.values()))
    third = rates(runs[3], [other, event], np.linspace(0, n * 1e8, n + 1))[[other, "pace", event]]
    placed, one = merge_two(runs, event, other, "instructions", n)
    fold = rank.blocks(third.index, 12) % 4
    mixed = placed.assign(**{other: placed[other].sample(frac=1, random_state=seed).to_numpy()})
    timed = merge_two(runs, event, other, "seconds", n)[0]
    fits = {"third run alone": third, "by instructions": placed, "shuffled": mixed,
            "by time": timed, "pace alone": one.assign(**{other: 0.0})}
    errs = {way: error_of_fit(rows, third, event, fold) for way, rows in fits.items()}
    return errs | {"mean": error(one[event].mean(), third[event])}


# %%
OTHER = {"taken": "branches", "branches": "taken"}
models = {(name, event): errors_by_rows(runs, event, other)
          for name, runs in cases.items() for event, other in OTHER.items()}
models = pd.DataFrame(models).T.rename_axis(["case", "event"])
results.table(models.reset_index(), "models",
              f"**Table.** Error [%] of models on blocks of the third run, by the rows on which "
              f"they were fitted. The first 6 of {len(models)} cases and events; all in "
              "models.csv.", rows=6)

# %%
order = ["by instructions", "by time", "pace alone", "mean", "shuffled"]
by_case = models.groupby("case").mean()
shown = by_case[order].div(by_case["third run alone"], axis=0).sort_values("by instructions")
figure, _ = plot.by_case(shown, ylabel="error over that of a model\nof the third run alone",
                         levels={"third run alone": 1})
place, model = errors.median(), models.median()
by_events = (models["by instructions"] < models["pace alone"]).sum()
better = (models["by instructions"] < models["third run alone"]).sum()
hopeless = list(by_case.index[by_case["mean"] <= by_case["third run alone"]])
results.figure(figure, "models",
               "**Figure.** Error of models of taken by all branches and the other way round, on "
               "blocks of the third run, by the rows that they were fitted on, over that of a "
               f"model fitted on the third run itself; mean of both, {len(shown)} cases, "
               "logarithmic axis. *See:* merged by instructions, a model errs by "
               f"{model['by instructions']:.2f} % in the median, one fitted on the third run "
               f"itself by {model['third run alone']:.2f} % (and by more than the merged one in "
               f"{better} of {len(models)}), by the pace alone {model['pace alone']:.2f} %. No "
               "model beats the mean for " + (", ".join(hopeless) or "none of them") + ".")

# %% [markdown]
# ## In numbers

# %%
for what, table in (("intervals", errors), ("model", models)):
    for way in [way for way in ("by instructions", "third run alone", "by time", "mean")
                if way in table]:
        low, high = table[way].quantile([0.1, 0.9])
        results.number(f"{what}, {way}: error", table[way].median(), "%",
                       note=f"median of {len(table)} cases and events; 10th to 90th "
                            f"percentile: {low:.2f} to {high:.2f} %")
results.number("error over that of the mean, shifted by one interval", spread.loc[1, "median"],
               "of 1", note=f"not shifted: {spread.loc[0, 'median']:.2f}")
results.numbers()

# %%
display(results.finding(
    "In programs that do the same in every run, aligned by instructions, a run errs by "
    f"{place['by instructions']:.2f} % on the third run's intervals (median of "
    f"{len(errors)}: {len(cases)} cases of {n_programs} programs, two events each; "
    f"{errors['by instructions'].max():.2f} % at most). It wins in {nearest} of {len(errors)}: "
    f"aligned by the share of the time the error is {place['by time']:.2f} %, by the third run's "
    f"own previous interval {place['previous interval']:.2f} %, by the mean {place['mean']:.2f} %. "
    f"The totals of these runs differ by {furthest:.3f} % at most."))
display(results.finding(
    "A model of one event by the other and the time per instruction, fitted on two merged runs, "
    f"errs by {model['by instructions']:.2f} % on the third run's unseen blocks, one "
    f"fitted on the third run itself by {model['third run alone']:.2f} % (by more than the merged "
    f"one in {better} of "
    f"{len(models)}), one of runs merged by time {model['by time']:.2f} %; with one event in "
    "random order by "
    f"{model['shuffled']:.2f} %, by the time per instruction alone {model['pace alone']:.2f} % "
    f"(more than the merged one in {by_events} of {len(models)}), the mean by "
    f"{model['mean']:.2f} %. A merge that is off by one interval loses much of this: its error is "
    f"{spread.loc[1, 'median']:.2f} of the "
    "mean's."))

# %% [markdown]
# ## What this doesn't show
#
# These programs do the same in every run, as the first table shows, so that a place is found again by counting instructions. Where work depends on time or on other threads, the same instruction is not the same place; notebook 03a has such programs, and no third run. There is one pair of events, predicted by one another. The GBRT paper's target is IPC, which every run counts; its way of stacking runs is not tested here.
#
# ## On your own program
#
# This page is about published recordings; no command of cmlib makes three runs of their form (`folder` reads other files of that form: three folders, `amd_taken_totalmiss`, `amd_branches_totalmiss` and `amd_branches_takentotal`, in each a file `PROGRAM.INPUT.gcc.sse3.perf` a case). Change `program` first: it picks the cases. Runs of your own program that counted different events are merged in [notebook 03a](03a_merging_runs.ipynb): `cmlib record NAME -- COMMAND`, then `cmlib run live 03a_merging_runs -p program=NAME`.
#
# **References.** Lv, Sun, Yu, *Mining CPU performance data based on gradient boosting regression tree*, 2018, §3.1. Recordings: Weaver, deater/perfevent_overhead.

# %%
results.save()
