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
# # Across programs: one model of the IPC of all, and the events that they share
#
# **Question.** Do the same events explain the IPC of every program, and can one model of all programs predict each of them?
#
# *Reads* the store (the database of all recordings, notebook 01), with at least two recorded programs. *Writes* the errors of a model of all programs and of single ones, the most important events of each, and how many of its leading events a program shares with another.
#
# IPC is instructions per cycle. Lv, Sun and Yu (2018, "GBRT paper" below) fit a gradient boosted regression tree to the events of a Spark program, rank the events by their importance, and do the same once more with the rows of all eight programs put together, which they call *Mix* (their Fig. 6 and Table 1). They report two events that matter in every program and in Mix. Here the same is done with the programs that are recorded.
#
# Other notebooks: [03](../03_ranking.ipynb) ranks the events of a single program, [merging_runs](merging_runs.ipynb) shows how runs that counted different events become one matrix.

# %% [markdown] tags=["answer"]
# > **Answer** (bzip2, gcc, kmeans and wordcount as recorded for this project, default parameters). **0** events are among the ten most important of all four programs. Two programs share **1.3** of their first ten events; ten events drawn at random would share **0.9**, and two halves of one program's models share **7.8**. One model fitted on all programs errs by **4.4 %** on held-out parts, models of single programs by **4.2 %**, and a program's mean by **20.3 %**; a straight line through one event of the program errs by 7.0 %.

# %% tags=["parameters"]
program: str = "all"  # two programs or more, separated by commas, or all
method: str = "shrinkage"  # cleaning of the runs: shrinkage, counterminer, interpolate …
step: int = 10  # events dropped at a time
test_share: float = 0.2  # random rows kept back, as in the paper: for an error that chooses nothing
n_seeds: int = 10  # models behind the spread of an importance
top: int = 5  # events shown a program
seed: int = 0  # of the random share and of the models
settings: dict = {}  # jobs, executor, scheduler, database, interactive, profile, results_folder

# %%
from functools import partial
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
from IPython.display import Markdown

from cmlib import experiments as study
from cmlib import explore, plot, rank
from cmlib.errors import UnfitRecordingError
from cmlib.parallel import parallel_map
from cmlib.rank import predict_by_one_event, predict_held_out, regressor, stability
from cmlib.report import paper
from cmlib.report.notebook import begin

# %%
limits = {"method": "cmlib.clean.DISTINCT_METHODS", "step": (1, 100), "test_share": (0.05, 0.5),
          "n_seeds": (2, 100), "top": (3, 30), "seed": (0, 1_000_000)}
notebook = begin("across_programs", settings, program=program, method=method, step=step,
                 test_share=test_share, n_seeds=n_seeds, top=top, seed=seed)
results, workers, url = notebook.results, notebook.workers, notebook.database
table, gbrt = study.event_table(url), paper("gbrt")

# %%
from cmlib.experiments.data import FEWEST_INTERVALS, describe_data, refuse_simulated, timed_runs

recorded = study.programs(url, program)
refuse_simulated(url, recorded, "its counts never stand beside measured ones.")
runs = timed_runs(url, recorded)
runs = runs[study.IPC.counted_in(runs) & (runs["n_intervals"] >= FEWEST_INTERVALS)]
event_sets = runs.groupby("program")["events"].nunique().reindex(recorded, fill_value=0)
programs = list(event_sets.index[event_sets > 1])
if len(programs) < 2 or (program != "all" and len(programs) < len(recorded)):
    raise UnfitRecordingError(
        "a model of all programs takes two, of each of them two runs that counted different events "
        f"beside instructions and cycles, {FEWEST_INTERVALS} intervals at least; of "
        f"{', '.join(recorded)} these have them: {', '.join(programs) or 'none'}. Notebook 03 "
        "ranks the events of one program.")

# %% [markdown]
# ## The data: one matrix per program
#
# Each run of a program counted different events. Runs are aligned by progress: the same share of a program's retired instructions is taken to be the same place in all its runs. A row is a step of progress (one of some hundred equal shares of the instructions), a column is an event per cycle, and the target is IPC, the mean of the runs. Runs that multiplex are cleaned first (*shrinkage* moves each count of an event that took turns towards its neighbors in time, by an amount that depends on its noise; see notebook studies/repair).
#
# Per cycle, a kind of instructions (branches, fused pairs, dispatched operations) is IPC times the share of that kind, so such events are left out (notebook 03). Cycles without retirement stay. The papers' events are counts per interval and include all of these; notebook [studies/clusters](clusters.ipynb) takes events per instruction.

# %%
clean = partial(study.recorded_runs, url, method=method, workers=workers)
cleaned = {name: clean(name) for name in programs}
matrices = {name: study.matrix(runs_of, table=table) for name, runs_of in cleaned.items()}
common = sorted(set.intersection(*(set(m.X) for m in matrices.values())))
X = pd.concat({name: m.X[common] for name, m in matrices.items()}, names=["program"])
IPC = pd.concat({name: m.ipc for name, m in matrices.items()}, names=["program"])
program_of = IPC.index.get_level_values("program")
suite_of = study.suites(programs)

display(Markdown(describe_data(url, programs)))
data = IPC.groupby("program", sort=False).agg(["size", "mean", "std"])
data = data.set_axis(["rows", "mean IPC", "sd of IPC"], axis=1)
data.insert(0, "suite", suite_of)
data.insert(1, "runs", [int((r["pass"] == r["pass"].min()).sum()) for r in cleaned.values()])
data.insert(2, "events", [m.X.shape[1] for m in matrices.values()])
results.table(data.reset_index(), "data",
              "**Table.** The programs, and of each of them the runs that make its matrix: those "
              "of the first pass, in which every event was counted once (a second pass, and runs "
              "that multiplex the same events, are left out). *Suite*: the one that has a program "
              "of this name; what was run, with which input, stands above. The errors below and "
              f"Mix take the {len(common)} events that every program has, a program's own ranking "
              "takes all of its own; of some programs events that happen at a fixed rate in time "
              "are left out (notebook 03).")

# %% [markdown]
# ## Can one model stand for all programs?
#
# The model *perf* (the papers' name, not the tool) takes the values of the events and gives IPC. Its error (GBRT paper, Eq. 8) is relative to the measured IPC:
#
# $$err = \frac{|IPC_{meas} - IPC_{pred}|}{IPC_{meas}} \times 100\,\% \tag{8}$$
#
# with the measured and the predicted IPC of a row, averaged over the rows of a program. Neighboring rows of one program are alike, so each program is cut into twelve stretches of progress, in four folds, and each fold is predicted by models that were fitted on the others. Six predictions are compared: *perf* of the rows of all programs (*Mix*), *perf* of this program, a straight line through the one event of this program that correlates best, the mean IPC of this program; then with the whole program left out: *perf* of the other programs, and their mean IPC.

# %%
fold = rank.blocks(IPC.index, 12) % 4
MODELS = ["model of all programs", "model of this program", "one event of this program",
          "mean of this program", "model of the other programs", "mean of the other programs"]
MIX, ALONE, ONE, MEAN, OTHERS, MEAN_OF_OTHERS = MODELS
IPC_pred = pd.DataFrame(index=IPC.index, columns=MODELS, dtype=float)
for k in range(4):
    train, test = fold != k, fold == k
    perf = regressor(seed=seed).fit(X[train], IPC[train])
    IPC_pred.loc[test, MIX] = perf.predict(X[test])
for name in programs:
    this = program_of == name
    for k in range(4):
        train, test = this & (fold != k), this & (fold == k)
        perf = regressor(seed=seed).fit(X[train], IPC[train])
        IPC_pred.loc[test, ALONE] = perf.predict(X[test])
        IPC_pred.loc[test, ONE] = predict_by_one_event(X[train], IPC[train], X[test])
        IPC_pred.loc[test, MEAN] = IPC[train].mean()
    perf = regressor(seed=seed).fit(X[~this], IPC[~this])
    IPC_pred.loc[this, OTHERS] = perf.predict(X[this])
    IPC_pred.loc[this, MEAN_OF_OTHERS] = IPC[~this].mean()
err = 100 * IPC_pred.sub(IPC, axis=0).abs().div(IPC, axis=0)  # Eq. 8
errors = err.groupby(program_of).mean().loc[programs].rename_axis("program")

# %%
np.testing.assert_allclose(IPC_pred[MIX], predict_held_out(X, IPC, fold, seed=seed))
print(f"cmlib.rank.predict_held_out and the loop above agree on {len(X)} predictions")
results.table(errors.reset_index(), "mixed",
              "**Table.** Mean error [%] (Eq. 8) on rows that took no part in the fit. The first "
              "four columns leave out a fold, the last two the whole program.")

# %%
shown = errors.reset_index().melt("program", var_name="model", value_name="error")
figure, ax = plot.dots_by_program(shown, value="error", hue="model", xlabel="IPC error [%]",
                                  grey=[MEAN, MEAN_OF_OTHERS])
ax.set_xlim(0, None)
unseen = errors[OTHERS]
lost = list(errors.index[unseen > errors[MEAN_OF_OTHERS]])
results.figure(
    figure, "errors",
    "**Figure.** Error of IPC (Eq. 8) on rows that took no part in the fit; grey: predictions that "
    f"look at no event. {len(programs)} programs, {len(X)} rows. *See:* the model of all "
    f"programs errs by {errors[MIX].mean():.1f} % on average, models of single programs by "
    f"{errors[ALONE].mean():.1f} %; fitted without a program, a model errs by "
    f"{unseen.min():.1f} to {unseen.max():.1f} % for it: by more than the mean of the others, "
    f"which looks at no event, for {', '.join(lost) or 'none'}, by more than the program's own "
    f"mean for {', '.join(errors.index[unseen > errors[MEAN]]) or 'none'}.")

# %% [markdown]
# ## Which events lead in each program, and in all together?
#
# Events are ranked as in notebook 03 (event importance refinement): fit *perf*, drop the least important events, fit again, and keep the model that is most accurate on unseen stretches (the papers' error, on a random share of the rows, chooses nothing here). The importance of an event is its share of the reduction of the squared error by all splits, in percent. Mix also has to tell the programs apart, whose mean IPC differs: an event that does so counts as important there, even if it explains nothing inside any program.

# %%
data = matrices | {"Mix": study.Matrix(X, IPC, None)}
refine = partial(study.refine, step=step, test_share=test_share, seed=seed)
refined = dict(zip(data, parallel_map(refine, data.values(), workers=workers), strict=True))
kept = {name: len(r.events) for name, r in refined.items()}
print("Events kept by the refinement: " + ", ".join(f"{name} {n}" for name, n in kept.items()))
draws = {name: stability.draw_importances(data[name].X[r.events], data[name].ipc,
                                          seeds=range(n_seeds)) for name, r in refined.items()}
means = pd.DataFrame({name: draws[name].mean() for name in programs}).fillna(0.0)
among = (means.rank(ascending=False, method="first") <= 10) & (means > 0)
n_programs = among.sum(axis=1)  # among whose first ten events each event is
leading = {name: stability.importance_spread(drawn).head(top) for name, drawn in draws.items()}
ten = pd.DataFrame({name: pd.Series(list(stability.importance_spread(draws[name]).index[:10]))
                    for name in programs}).fillna("")
ten.insert(0, "place", range(1, len(ten) + 1))
results.table(ten, "first-ten",
              f"**Table.** The ten most important events of each program, means of {n_seeds} "
              "models of resampled rows (fewer where the refinement keeps fewer). These are "
              "compared below.")

# %%
def say_in(n):
    """In how many programs an event is among the first ten."""
    return f"first ten of {n} program{'s' * (n != 1)}"


shown = {name: s.reset_index() for name, s in leading.items()}
for frame in shown.values():
    frame["shared"] = n_programs.reindex(frame["event"], fill_value=0).map(say_in).to_numpy()
figure, axes = plot.ranking(shown, value="mean", low="low", high="high", label="event",
                            hue="shared", xlabel="importance [%]", columns=1)
for ax in axes:
    ax.set_xlim(0, 1.05 * max(s["high"].max() for s in leading.values()))
in_mix = n_programs.reindex(leading["Mix"].index, fill_value=0)
printed = ", ".join(gbrt["event_names"][event] for event in gbrt["importance"]["in_all_programs"])
results.figure(
    figure, "fig06",
    f"**GBRT paper, Fig. 6.** The {top} most important events of each program, and of all together "
    f"(Mix): bars are means of {n_seeds} models of resampled rows, lines the range of 90 % of "
    "them, all on one scale; bars whose lines overlap have no order. Colour: in how many programs "
    "the event is among the first ten, of "
    f"which {top} are drawn. The paper's in all eight programs and in Mix, on another processor: "
    f"{printed}. *See:* the first event of Mix, `{in_mix.index[0]}`, is among the first ten of "
    f"{in_mix.iloc[0]} of {len(programs)} programs; that it leads may only say that it tells the "
    "programs apart, or that it is IPC times a share.")

# %%
named = pd.concat(leading, names=["program", "event"]).reset_index()
named = named.groupby("event")["program"].agg(", ".join).reset_index()
named = named.sort_values("program", key=lambda of: -of.str.count(","), kind="stable")
named["description"] = table["description"].reindex(named["event"]).to_numpy()
results.table(named, "table1",
              f"**GBRT paper, Table 1.** The events of the figure: among the first {top} of which "
              "program, those of most programs first, and what they count.", rows=60)

# %% [markdown]
# ## How many events do two programs share?
#
# Of two programs $a$ and $b$ with the ten most important events $F_a$ and $F_b$,
#
# $$\mathrm{shared}(a, b) = \frac{|F_a \cap F_b|}{10}.$$
#
# This is no formula of the papers. A program whose model keeps fewer than ten events has only these in $F$, and cannot reach 1. There are two baselines: the share for ten events drawn at random, and the share of a program with itself, if half of its resampled models are compared with the other half. (If a model keeps hardly more than ten events, the two halves are forced to share most of them; the column *at random* shows how many.)

# %%
def first_ten(drawn):
    """The ten most important events by the mean of some models."""
    mean = drawn.mean()
    return set(mean[mean > 0].sort_values(ascending=False, kind="stable").index[:10])


def share(pair):
    return len(first_ten(pair[0]) & first_ten(pair[1])) / 10


# %%
rng, likeness = np.random.default_rng(seed), []
for a, b in combinations_with_replacement(programs, 2):
    pair = (draws[a], draws[b]) if a != b else (draws[a].iloc[::2], draws[a].iloc[1::2])
    again = [share([drawn.sample(frac=1, replace=True, random_state=rng) for drawn in pair])
             for _ in range(200)]
    low, high = np.quantile(again, [0.05, 0.95])
    suites = suite_of[a] if suite_of[a] == suite_of[b] else "across"
    n = kept[a] if a == b else len(common)
    expected = min(10, kept[a]) * min(10, kept[b]) / n / 10
    likeness.append({"program": a, "other": b, "suites": "itself" if a == b else suites,
                     "shared": share(pair), "low": low, "high": high, "at random": expected})
likeness = pd.DataFrame(likeness)
pairs, itself = likeness.query("program != other"), likeness.query("program == other")
at_random = 10 / len(common)
results.table(likeness, "likeness",
              "**Table.** Share of the first ten events that two programs have in common, with the "
              "range of 90 % of 200 resamplings of the models (*low* to *high*; the share itself "
              "may lie outside, as a resampling repeats some models and lacks others); *itself*: "
              "half of a program's models against the other half; "
              "*at random*: expected of events drawn at random, of two programs from those counted "
              "of all, of a program and itself from those that its model kept.")

# %%
square = pd.concat([likeness, pairs.rename(columns={"program": "other", "other": "program"})])
square = square.pivot(index="program", columns="other", values="shared")
figure, _ = plot.heat(square.rename_axis(index=None, columns=None), label="share in common")
results.figure(
    figure, "shared",
    "**Figure.** Share of the first ten events that two programs have in common; on the diagonal "
    "two halves of the models of one program. *See:* two programs share "
    f"{pairs['shared'].mean():.2f} on average (drawn at random: {at_random:.2f}), one program with "
    f"itself {itself['shared'].mean():.2f} (drawn at random from the events that its model kept: "
    f"{itself['at random'].mean():.2f}). "
    "The diagonal is high by itself where a model keeps hardly more than ten events ("
    + ", ".join(f"{name} {kept[name]}" for name in programs) + ").")

# %%
shared = among.T.groupby(suite_of).sum().T.astype(int)
shared = shared.assign(programs=n_programs, importance=means.mean(axis=1)).rename_axis("event")
shared = shared[shared["programs"] > 0].sort_values(["programs", "importance"], ascending=False,
                                                    kind="stable")
several = int((shared["programs"] > 1).sum())
results.table(shared.reset_index(), "common",
              "**Table.** Events among the first ten of some program: of how many programs of each "
              f"suite and in all; importance: mean over all programs [%]. {several} of "
              f"{len(shared)} events are shared; the first twelve.", rows=12)

# %% [markdown]
# ## What the paper printed, and what was measured here
#
# The GBRT paper has eight programs of HiBench, on a Haswell-E, and prints that ILD_STALL.IQ_FULL (ISIF) and BR_INST_EXEC.ALL_BRANCHES (BIEB) are important in all of them. Its number is compared with programs of HiBench only. The other rows are for all programs here; the paper prints no error of its Mix.

# %%
of_paper = study.of_suites(programs, ["HiBench"])
if len(of_paper) > 1:
    in_all = among.index[among[of_paper].all(axis=1)]
    results.number("events among the first ten of every program of HiBench", len(in_all), "events",
                   paper=len(gbrt["importance"]["in_all_programs"]),
                   note=f"{', '.join(in_all) or 'none'}, of {', '.join(of_paper)} here; the paper: "
                        f"{', '.join(gbrt['importance']['in_all_programs'])}, of eight programs, "
                        "which is harder than of fewer")
in_all = int((n_programs == len(programs)).sum())
results.number("events among the first ten of every program", in_all, "events",
               note=f"of {', '.join(programs)}")
for what, value in [("two programs", pairs["shared"].mean()), ("drawn at random", at_random),
                    ("two halves of one program's models", itself["shared"].mean())]:
    results.number(f"events in common of the first ten, {what}", 10 * value, "events")
results.number("error of models of single programs, held-out stretches", errors[ALONE].mean(), "%")
results.number("error of a program's mean, held-out stretches", errors[MEAN].mean(), "%")
results.number("error of one model of all programs, held-out stretches", errors[MIX].mean(), "%",
               note=f"models of one program: {errors[ALONE].mean():.1f} %")
results.numbers()

# %%
most = n_programs.max()
leaders = ", ".join(f"`{event}`" for event in shared.index[shared["programs"] == most][:4])
shared_by = (f"No event is among the ten most important of all {len(programs)} programs"
             if most < len(programs) else
             f"Events among the ten most important of all {len(programs)} programs: {leaders}")
best, worst = unseen.idxmin(), unseen.idxmax()
same_suite = [name for name in programs if suite_of[name] == suite_of[best] and name != best]
beside = ""
if same_suite and len(programs) > 2:  # is it the program of the same suite that helps?
    fitted = ~program_of.isin([best, *same_suite])
    perf = regressor(seed=seed).fit(X[fitted], IPC[fitted])
    of_best = IPC[program_of == best]
    without = 100 * ((perf.predict(X[program_of == best]) - of_best).abs() / of_best).mean()
    beside = (f"; fitted without {', '.join(same_suite)} too, of the same suite {suite_of[best]}, "
              f"it errs by {without:.1f} %, though these share "
              + ", ".join(f"{10 * square.at[best, name]:.0f}" for name in same_suite)
              + " of their first ten events")
if beside:
    display(Markdown(f"The model of the other programs does best for {best}{beside}."))

# %%
def better_than(rival):
    """The programs for which a model of the other programs errs by less than `rival`."""
    return ", ".join(errors.index[unseen < errors[rival]]) or "none"


kept_at_random = 10 * itself["at random"].mean()
display(results.finding(
    f"{shared_by}; two programs share {10 * pairs['shared'].mean():.1f} of ten "
    f"({10 * at_random:.1f} if drawn at random), two halves of one program's models "
    f"{10 * itself['shared'].mean():.1f} ({kept_at_random:.1f} if drawn at random "
    f"from the events that its model kept). Among the ten of {most} programs: {leaders}."))
results.finding(
    f"One model of all programs errs by {errors[MIX].mean():.1f} % on stretches that were held "
    f"out, models of single programs by {errors[ALONE].mean():.1f} %, a program's mean by "
    f"{errors[MEAN].mean():.1f} %. Fitted without a program, it errs by {unseen[best]:.1f} % "
    f"({best}) to {unseen[worst]:.1f} % ({worst}) for it: better than the mean of the others, "
    f"which takes no event, for {better_than(MEAN_OF_OTHERS)}; than the program's own mean for "
    f"{better_than(MEAN)}.")

# %% [markdown]
# ## Explore
#
# The ranking of Mix beside a single program's, or of any two programs, from any step of the refinement. Nothing is fitted anew: these are the models above.

# %%
panel = explore.ranking({"Mix": refined["Mix"]} | refined, draws, top=top)
see = (f"{len(set(leading['Mix'].index) & set(leading[programs[0]].index))} of the first {top} "
       f"events of Mix are among the first {top} of {programs[0]}.")
caption = ("**Figure.** The panel as it opens in JupyterLab, where program and number of events "
           "can be chosen: importance [%], colours by whether an event is in both lists or in one; "
           "each panel has its own scale. *See:* " + see)
panel if notebook.interactive else results.figure(panel.figure(), "explore", caption)

# %% [markdown]
# ## What this doesn't show
#
# A few programs do not represent all programs. The GBRT paper has eight, of HiBench. The recordings that come with cmlib are of one machine; on another, other events may be shared.
# Importance in a model is not a cause. If events rise and fall together, one may lead in one program and another in the next (notebook studies/clusters joins them to one cluster).
#
# ## On your own programs
#
# `cmlib record NAME -- COMMAND` for each, then `cmlib run live across_programs -p program=NAME,OTHER`. The first parameter to change is `method`, the cleaning of the runs before they are merged; `top` shows more events.
#
# **References.** Lv, Sun, Yu, *Mining CPU performance data based on gradient boosting regression tree*, 2018 (in Chinese), §4. Lv et al., *CounterMiner*, MICRO 2018, §V-B.

# %%
results.save()
