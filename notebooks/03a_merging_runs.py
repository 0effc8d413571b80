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
# # Merging runs: how runs that counted different events become one matrix
#
# **Question.** How are runs that counted different events put together?
#
# *Reads* the store. *Writes* run times, the merged matrices, and the errors of models on both.
#
# This is the study on gradient boosting and processor events (Lv, Sun, Yu, 2018; "GBRT paper" below) on our recordings: its Eq. 1–3, Figures 2, 3 and 5; its Figure 6 and Table 1, on one model of all programs, are in [notebook 03d](03d_across_programs.ipynb). It sampled once a second; here an interval is a tenth of that.

# %% tags=["parameters"]
program = "all"  # programs to study, separated by commas, or all
method = "kalman"  # cleaning of the runs {cmlib.clean.DISTINCT_METHODS}
step = 10  # events dropped at a time [1, 100]
test_share = 0.2  # random share of rows kept back for the test, as in the paper [0.05, 0.5]
seed = 0  # of the random share and of the models [0, 1000000]
settings = {}  # jobs, executor, scheduler, database, profile, results_folder

# %%
from functools import partial

import numpy as np
import pandas as pd

from cmlib import experiments as study
from cmlib import merge, plot, rank
from cmlib.errors import UnfitRecordingError
from cmlib.experiments.data import FEWEST_INTERVALS, refuse_simulated, timed_runs
from cmlib.parallel import parallel_map
from cmlib.rank import STACKED, predict_held_out, regressor, relative_error
from cmlib.report import paper
from cmlib.report.notebook import begin

# %%
notebook = begin("03a_merging_runs", globals())
results, workers = notebook.results, notebook.workers
gbrt = paper("gbrt")
url = notebook.database
recorded = study.programs(url, program)
refuse_simulated(url, recorded, "each of its runs counts all events, so that none are merged.")
counted = timed_runs(url, recorded)
counted = counted[study.IPC.counted_in(counted) & (counted["n_intervals"] >= FEWEST_INTERVALS)]
parts = counted.groupby("program")["events"].nunique().reindex(recorded, fill_value=0)
programs = list(parts.index[parts > 1])
if not programs or (program != "all" and len(programs) < len(parts)):
    raise UnfitRecordingError(
        "merging takes two runs that counted different events beside instructions and cycles, "
        f"{FEWEST_INTERVALS} intervals at least, and {parts.idxmin()!r} has {parts.min()}. One run "
        "needs no merging: notebook 03 ranks its events. A second run with other events, imported "
        "under the same name, is merged with it.")

# %% [markdown]
# ## No two runs take the same time
#
# Every run counts other events, so that a row of one run has no partner in another unless something tells where in the program both are. Time does not tell it: look at how far the runs of one program, points of one colour, lie apart.

# %%
times = study.interval_runs(url, programs)[["program", "set", "run", "duration_s"]]
times = times.rename(columns={"duration_s": "seconds"})
display(times.head())
figure, _ = plot.run_times(times, ylabel="run time [s]")
results.figure(figure, "fig02",
               f"**GBRT paper, Figure 2.** Time of every run, {len(times)} runs of "
               f"{', '.join(programs)}: unmultiplexed, multiplexed, and the sweep through all "
               "events.")

# %%
seconds = times.groupby("program")["seconds"]
columns = {"runs": "size", "mean [s]": "mean", "variance [s²]": "var", "least [s]": "min",
           "most [s]": "max"}
spread = seconds.agg(**columns)
spread.insert(3, "sd [% of mean]", 100 * seconds.std() / spread["mean [s]"])
spread = spread.reset_index()
spread["mean, paper [s]"] = [gbrt["run_time_s"].get(name, {}).get("mean", float("nan"))
                             for name in spread["program"]]
spread["variance, paper [s²]"] = [gbrt["run_time_s"].get(name, {}).get("variance", float("nan"))
                                  for name in spread["program"]]
results.table(spread, "run-times",
              "**Table.** Run times. The paper prints its variances in s; they are s².")

# %% [markdown]
# The paper's runs are of larger inputs, on four servers that share the work.
#
# ## Two ways to put them together
#
# Run $i$ of $m$ counts a set $E_i$ of $q_i$ events (GBRT paper, Eq. 1); the events of the merged matrix are those of all runs (Eq. 2):
#
# $$q_i = \mathrm{card}(E_i) \tag{1}$$
# $$E = E_1 \cup E_2 \cup \dots \cup E_i \cup \dots \cup E_m \tag{2}$$
#
# The paper puts one run below the other, moves an event that several runs counted to one column, and fills the rest with zeros: a matrix of blocks.
# Aligned by progress instead (the same share of retired instructions is taken to be the same place in the program), the runs give a matrix with one row a place and no filling. Columns are scaled to 0–1 (Eq. 3):
#
# $$X' = \frac{X - X_{\min}}{X_{\max} - X_{\min}} \tag{3}$$

# %%
def scale_to_unit(X):
    """Every column from 0 to 1 (Eq. 3); a constant one becomes 0."""
    spread = X.max() - X.min()
    return (X - X.min()) / spread.where(spread > 0, 1.0)


@plot.styled
def draw(matrices):
    """Matrices as pictures beside each other; zeros are left white."""
    figure, axes = plot.panels(list(matrices), height=3.8)
    for ax, (title, X) in zip(axes, matrices.items(), strict=True):
        picture = ax.imshow(X.where(X > 0), aspect="auto", cmap="crest", vmin=0, vmax=1)
        ax.set(title=title, xlabel="event", ylabel="row")
        ax.grid(False)
    figure.colorbar(picture, ax=list(axes), label="count, scaled (Eq. 3)")
    return figure, axes


# %%
clean = partial(study.recorded_runs, url, method=method, workers=workers)
runs = {name: clean(name) for name in programs}
merged = {}
for name, group in runs.items():
    stacked = merge.stack_runs(list(group["counts"]))[0]
    aligned = merge.align_runs(list(group["counts"]))[0]
    merged[name] = {"stacked": stacked, "aligned": aligned[list(stacked)]}
pictures = {f"{programs[-1]}, {how}": scale_to_unit(X)
            for how, X in merged[programs[-1]].items()}
figure, _ = draw(pictures)
results.figure(figure, "fig03",
               f"**GBRT paper, Figure 3.** The runs of {programs[-1]}, stacked (counts) and "
               "aligned by progress (per cycle). White: filling, and each event's least value.")

# %% [markdown]
# Left, every block is a run. Columns that are coloured in several blocks, at the left edge, are the core events, which several runs counted. Right, every row has all events.

# %%
def describe_shape(counts, stacked, aligned):
    """Sizes of the merged matrices, and how much of each was counted."""
    own = [run.columns[run.notna().any()].intersection(stacked.columns) for run in counts]
    times = pd.Series([event for names in own for event in names]).value_counts()
    measured = sum(len(run) * len(names) for run, names in zip(counts, own, strict=True))
    sizes = [len(names) for names in own]
    return {"runs": len(counts), "events a run": f"{min(sizes)}–{max(sizes)}",
            "events": stacked.shape[1], "in several runs": int((times > 1).sum()),
            "rows, stacked": len(stacked), "rows, aligned": len(aligned),
            "filled, stacked [%]": 100 * measured / stacked.size,
            "filled, aligned [%]": 100 * aligned.notna().to_numpy().mean()}


# %%
shape = {name: describe_shape(list(runs[name]["counts"]), **both) for name, both in merged.items()}
shape = pd.DataFrame(shape).T
results.table(shape.rename_axis("program").reset_index().convert_dtypes(), "shape",
              "**Table.** Eq. 1 and 2 on these runs, and how much of each matrix was counted. The "
              "models below take the first pass alone.")

# %% [markdown]
# ## Which of the two makes better models?
#
# They differ in more than their zeros. The paper's values are counts, and each row has the IPC of its own run; aligned, values are events per cycle (which IPC shares the cycles with), and IPC is the mean of all runs, which varies less and is easier to tell.
# So the two are compared like with like: the same steps of progress, the same blocks held out (in all runs at once), the same trees. Both are judged by the IPC of each run, and by the mean of all runs, for which the stacked model's predictions for the runs are averaged.

# %%
def judge(fusion, values, by_run, predicted):
    """Errors [%] by the IPC of each run, a row of `by_run`, and by the mean of all runs."""
    of_mean = predicted if predicted.ndim == 1 else predicted.mean(axis=0)
    each = relative_error(by_run, np.broadcast_to(predicted, by_run.shape))
    return {"fusion": fusion, "values": values, "rows": predicted.size, "each run": each,
            "mean of runs": relative_error(by_run.mean(axis=0), of_mean)}


def judge_both(steps, fold, values, per):
    """Stacked and aligned runs: the same steps, the same folds, the same trees."""
    options = {"per": per, "leave_out": ("intervals",)}
    X, ipc = merge.stack_runs(steps, **options)
    by_run = ipc.to_numpy().reshape(len(steps), len(fold))
    folds, trees = np.tile(fold, len(steps)), {"boosting": STACKED, "seed": seed}
    stacked = predict_held_out(X, ipc, folds, **trees).reshape(by_run.shape)
    X, ipc = merge.align_runs(steps, len(fold), **options)
    aligned = predict_held_out(X, ipc, fold, **trees)
    return [judge("stacked", values, by_run, stacked), judge("aligned", values, by_run, aligned)]


# %%
def compare(runs):
    """Errors on held-out blocks by the runs of the first pass."""
    first = runs[runs["pass"] == runs["pass"].min()]["counts"]
    steps = merge.step_runs([run.assign(intervals=1.0) for run in first])
    fold = rank.blocks(steps[0].index, 12) % 4
    by_run = np.array([step["instructions"] / step["cycles"] for step in steps])
    X, ipc = merge.align_runs(steps, len(fold), leave_out=("intervals",))
    small = predict_held_out(X, ipc, fold, seed=seed)
    others = np.array([by_run[:, fold != held].mean() for held in fold])
    return pd.DataFrame([*judge_both(steps, fold, "counts", "intervals"),
                         *judge_both(steps, fold, "per cycle", "cycles"),
                         judge("aligned, small trees", "per cycle", by_run, small),
                         judge("none", "", by_run, others)])


compared = dict(zip(programs, parallel_map(compare, runs.values(), workers=workers), strict=True))
fusions = pd.concat(compared, names=["program"]).reset_index("program")
results.table(fusions, "fusions",
              "**Table.** Errors [%] of models of all events on blocks, judged by the IPC of each "
              "run and by the mean of runs; *none*: predicting the mean of the other blocks.")

# %%
judged = fusions.query("values == 'per cycle' and fusion != 'aligned, small trees'")
judged = judged.melt(["program", "fusion"], ["each run", "mean of runs"], "judged by", "error")
judged["model"] = judged["fusion"] + ", judged by " + judged["judged by"]
figure, _ = plot.bars_by_program(judged, value="error", hue="model",
                                 ylabel="IPC error on blocks [%]")
results.figure(figure, "fusion",
               "**Figure.** Models of the same events per cycle with the same trees, on stacked "
               "and on aligned runs; each pair of equal judges is one fair comparison.")

# %% [markdown]
# Compare bars with the same judge: only they differ in nothing but the way the runs were put together. From one judge to the other the error falls for both, as the noise of single runs is averaged away.
# The table goes from the paper's way to this package's, one change at a time. In another order the shares would be others.

# %%
changes = {
    "stacked counts, IPC of each run": ("stacked", "counts", "each run"),
    "events per cycle": ("stacked", "per cycle", "each run"),
    "mean IPC of all runs": ("stacked", "per cycle", "mean of runs"),
    "aligned instead of stacked": ("aligned", "per cycle", "mean of runs"),
    "smaller trees": ("aligned, small trees", "per cycle", "mean of runs"),
}
each = fusions.set_index(["fusion", "values", "program"]).sort_index()
gains = pd.DataFrame({change: each.loc[(fusion, values), judge_by]
                      for change, (fusion, values, judge_by) in changes.items()}).T
gains = gains[programs].assign(mean=gains.mean(axis=1)).rename_axis("change")
gained = -gains["mean"].diff()
gains["share of the gain"] = 100 * gained / gained.sum()
results.table(gains.rename_axis(columns=None).reset_index(), "gains",
              "**Table.** Error on blocks [%] after each change and those before it, and its share "
              "of the gain in the mean over programs [%].")

# %% [markdown]
# All other notebooks use aligned runs, whichever errs less: every row holds all events, so that they compete for importance at the same place of the program, and there are far fewer rows to fit.
#
# ## Fewer events
#
# As in the paper: runs stacked, the least important events dropped ten at a time, and the error taken on a random fifth of the rows (GBRT paper, Eq. 8, which is CounterMiner's Eq. 14):
#
# $$err = \frac{|IPC_{meas} - IPC_{pred}|}{IPC_{meas}} \times 100\,\% \tag{8}$$
#
# Notebook 03 does the same on aligned runs, and takes the error on blocks as well: a row's neighbours tell much of it.

# %%
def refine_stacked(runs):
    """Errors on a random share of the rows by the number of events left; runs of the first pass."""
    X, ipc = merge.stack_runs(list(runs[runs["pass"] == runs["pass"].min()]["counts"]))
    X = scale_to_unit(X[sorted(X)])
    order, n_test = np.random.default_rng(seed).permutation(len(X)), round(len(X) * test_share)
    test, train = np.sort(order[:n_test]), np.sort(order[n_test:])
    measured, mean, rows = ipc.iloc[test], ipc.iloc[train].mean(), []
    model = regressor(boosting=STACKED, seed=seed)
    for fitted, kept in rank.drop_least(model, X.iloc[train], ipc.iloc[train], step=step):
        error = relative_error(measured, fitted.predict(X.iloc[test][fitted.feature_names_in_]))
        rows.append((len(kept), error, relative_error(measured, mean)))
    return pd.DataFrame(rows, columns=["n_events", "error", "mean_baseline"])


# %%
fewer = parallel_map(refine_stacked, runs.values(), workers=workers)
histories = dict(zip(programs, fewer, strict=True))
lowest = pd.DataFrame({name: h.loc[h["error"].idxmin()] for name, h in histories.items()}).T
printed = dict.fromkeys(study.of_suites(programs, ["HiBench"]), gbrt["model_error_percent"])
figure, _ = plot.refinement(histories, lines={"error": "stacked runs"},
                            baselines={"mean_baseline": "the mean of the training rows"},
                            marked=lowest["n_events"].astype(int).to_dict(), paper=printed)
results.figure(figure, "fig05",
               "**GBRT paper, Fig. 5.** Error on a random fifth of the rows against the number of "
               "events left; dash-dotted: where it is lowest. Crosses, beside HiBench's programs: "
               "the paper's mean of eight.")

# %% [markdown]
# ## What was found
#
# Beside the paper's values stand means of its own programs only, those of HiBench. The paper's abstract gives its models an accuracy of 95 %; the lowest mean error that it prints, 6.3 %, would be 93.7 %.

# %%
of_paper = study.of_suites(programs, ["HiBench"])
if of_paper:
    note = f"mean of {', '.join(of_paper)}; the paper: mean of eight programs"
    everything = pd.DataFrame({name: histories[name].iloc[0] for name in of_paper}).T
    results.number("error, all events, stacked, random fifth", everything["error"].mean(), "%",
                   paper=gbrt["model_error_percent"][229], note=note)
    results.number("lowest error, stacked, random fifth", lowest.loc[of_paper, "error"].mean(), "%",
                   paper=gbrt["model_error_percent"][150], note=note)

# %%
steps = gains["share of the gain"].dropna()
for change, share in steps.items():
    results.number(f"share of the gain over stacked runs: {change}", share, "%",
                   note="mean of the programs, on blocks")
results.number("sd of run times, mean", spread["sd [% of mean]"].mean(), "% of mean",
               note="the paper: kmeans 8 %, wordcount 28 %")

# %%
fair = fusions[fusions["values"] == "per cycle"].set_index(["fusion", "program"])["mean of runs"]
stacked, aligned = fair["stacked"], fair["aligned"]
display(results.finding(
    "Judged alike (events per cycle, the mean IPC of all runs, the same trees), models of aligned "
    f"runs err by {aligned.mean():.1f} % on blocks that they never saw and models of stacked runs "
    f"by {stacked.mean():.1f} %; aligned ones err less on {(aligned < stacked).sum()} of "
    f"{len(aligned)} programs. From the paper's stacked runs ({gains['mean'].iloc[0]:.1f} %) to "
    f"the aligned ones of this package ({gains['mean'].iloc[-1]:.1f} %), averaging IPC over the "
    f"runs alone makes {steps['mean IPC of all runs']:.0f} % of the difference."))
results.numbers()

# %% [markdown]
# ## What this doesn't show
#
# The paper's Figure 1, the error of multiplexing from 10 to 36 events at a time, which it finds to grow by 46 %: the committed runs were multiplexed at 12 only. Its Figure 4 is a flow chart; its Table 2 and Eq. 9, on tuning Spark, are the matter of notebooks 08 and 08a.
# Stacked and aligned runs were compared in steps of progress; rows that are intervals, as the paper has them, are in Figure 5 alone.
#
# **References.** Lv, Sun, Yu, *Mining CPU performance data based on gradient boosting regression tree*, 2018 (in Chinese), §3 and §4. Lv et al., *CounterMiner*, MICRO 2018, §V-B.

# %%
results.save()
