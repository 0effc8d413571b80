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
# # Across programs: one model of the IPC of all, and the events that they share
#
# **Question.** Do the same events explain the IPC of every program, and can one model of all programs predict each of them?
#
# *Reads* the store, two recorded programs or more. *Writes* the errors of a model of all programs and of single ones, the most important events of each, and how many of these two programs share.
#
# Lv, Sun and Yu (2018, "GBRT paper" below) fit a gradient boosted regression tree to the events of a Spark program, rank the events by their importance, and do the same once more with the rows of all eight programs put together, which they call *Mix* (their Fig. 6 and Table 1). They report two events that matter in every program and in Mix. Here the same is done with the programs that are recorded.
#
# Other notebooks: [03](03_ranking.ipynb) ranks the events of a single program, [03a](03a_merging_runs.ipynb) shows how runs that counted different events become one matrix. Programs of your own: `cmlib record NAME -- COMMAND` for each, then `cmlib run live 03d_across_programs -p program=NAME,OTHER`; change `top` first, to see more events.

# %% tags=["parameters"]
program: str = "all"  # two programs or more, separated by commas, or all
method: str = "shrinkage"  # cleaning of the runs
step: int = 10  # events dropped at a time
test_share: float = 0.2  # random share of rows kept back for the test, as in the paper
n_seeds: int = 10  # models behind the spread of an importance
top: int = 5  # events shown a program
seed: int = 0  # of the random share and of the models
settings: dict = {}  # jobs, executor, scheduler, database, interactive, profile, results_folder

# %%
from functools import partial
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd

from cmlib import experiments as study
from cmlib import explore, plot, rank
from cmlib.errors import UnfitRecordingError
from cmlib.io import events, store
from cmlib.parallel import parallel_map
from cmlib.rank import predict_held_out, regressor, stability
from cmlib.report import paper
from cmlib.report.notebook import begin

limits = {
    "method": "cmlib.clean.DISTINCT_METHODS", "step": (1, 100), "test_share": (0.05, 0.5),
    "n_seeds": (2, 100), "top": (3, 30), "seed": (0, 1_000_000),
}
notebook = begin(
    "03d_across_programs", settings, program=program, method=method, step=step,
    test_share=test_share, n_seeds=n_seeds, top=top, seed=seed,
)
results, workers, url = notebook.results, notebook.workers, notebook.database
table, gbrt = study.event_table(url), paper("gbrt")

# %%
from cmlib.experiments.data import FEWEST_INTERVALS, refuse_simulated, timed_runs

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
# ## The data: one matrix a program
#
# Each run of a program counted other events. Runs are aligned by progress: the same share of a program's retired instructions is taken to be the same place in all its runs. A row is a step of progress, a column an event per cycle, and what is explained is IPC, the mean of the runs.

# %%
clean = partial(study.recorded_runs, url, method=method, workers=workers)
cleaned = {name: clean(name) for name in programs}
matrices = {name: study.matrix(runs_of) for name, runs_of in cleaned.items()}
common = sorted(set.intersection(*(set(m.X) for m in matrices.values())))
X = pd.concat({name: m.X[common] for name, m in matrices.items()}, names=["program"])
IPC = pd.concat({name: m.ipc for name, m in matrices.items()}, names=["program"])
program_of = IPC.index.get_level_values("program")
suite_of = study.suites(programs)

first = runs.groupby("program").first().reindex(programs)
machine = store.load(url, first["run_id"].iloc[0]).meta.get("machine") or {}
data = IPC.groupby("program", sort=False).agg(["size", "mean", "std"])
data = data.set_axis(["rows", "mean IPC", "sd of IPC"], axis=1)
data.insert(0, "what ran", first["command"].str.slice(0, 60))
data.insert(1, "suite", suite_of)
data.insert(2, "runs", [int((r["pass"] == r["pass"].min()).sum()) for r in cleaned.values()])
data.insert(3, "events", [m.X.shape[1] for m in matrices.values()])
results.table(data.reset_index(), "data",
              f"**Table.** The programs; {len(common)} events were counted of each of them. "
              f"Processor: {machine.get('microarchitecture', 'not stated')}.")

# %% [markdown]
# ## Can one model stand for all programs?
#
# The model *perf* takes the values of the events and gives IPC. Its error (GBRT paper, Eq. 8) is relative to what was measured:
#
# $$err = \frac{|IPC_{meas} - IPC_{pred}|}{IPC_{meas}} \times 100\,\% \tag{8}$$
#
# Rows of one program that are neighbours are alike, so each program is cut into twelve stretches of progress, in four folds, and each fold is predicted by models that were fitted on the others. Five predictions are compared: *perf* of the rows of all programs (*Mix*), *perf* of this program, the mean IPC of this program; then with the whole program left out: *perf* of the other programs, and their mean IPC.

# %%
fold = rank.blocks(IPC.index, 12) % 4
MODELS = ["model of all programs", "model of this program", "mean of this program",
          "model of the other programs", "mean of the other programs"]
MIX, ALONE, MEAN, OTHERS, MEAN_OF_OTHERS = MODELS
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
              "three columns leave out a fold, the last two the whole program.")

# %%
shown = errors.reset_index().melt("program", var_name="model", value_name="error")
figure, ax = plot.dots_by_program(shown, value="error", hue="model", xlabel="IPC error [%]",
                                  grey=[MEAN, MEAN_OF_OTHERS])
ax.set_xlim(0, None)
unseen = errors[OTHERS]
results.figure(
    figure, "errors",
    "**Figure.** Error of IPC (Eq. 8) on rows that took no part in the fit; grey: predictions that "
    f"look at no event. {len(programs)} programs, {len(X)} rows. *See:* the model of all "
    f"programs errs by {errors[MIX].mean():.1f} % on average, models of single programs by "
    f"{errors[ALONE].mean():.1f} %; fitted without a program, a model errs by "
    f"{unseen.min():.1f} to {unseen.max():.1f} % for it.")

# %% [markdown]
# ## Which events lead in each program, and in all together?
#
# Events are ranked as in notebook 03 (event importance refinement): fit *perf*, drop the least important events, fit again, and keep the most accurate model. Importance is the squared error that the splits on an event take away, in percent of all events'. Mix also has to tell the programs apart, whose mean IPC differs: an event that does so counts as important there, even if it explains nothing inside any program.

# %%
data = matrices | {"Mix": study.Matrix(X, IPC, None)}
refine = partial(study.refine, step=step, test_share=test_share, seed=seed)
refined = dict(zip(data, parallel_map(refine, data.values(), workers=workers), strict=True))
draws = {name: stability.draw_importances(data[name].X[r.events], data[name].ipc,
                                          seeds=range(n_seeds)) for name, r in refined.items()}
means = pd.DataFrame({name: draws[name].mean() for name in programs}).fillna(0.0)
among = (means.rank(ascending=False, method="first") <= 10) & (means > 0)
n_programs = among.sum(axis=1)  # among whose first ten events each event is
leading = {name: stability.importance_spread(drawn).head(top) for name, drawn in draws.items()}

# %%
def say_in(n):
    """In how many programs an event is among the first ten."""
    return f"first ten of {n} program{'s' * (n != 1)}"


shown = {name: s.reset_index() for name, s in leading.items()}
for frame in shown.values():
    frame["shared"] = n_programs.reindex(frame["event"], fill_value=0).map(say_in).to_numpy()
figure, _ = plot.ranking(shown, value="mean", low="low", high="high", label="event", hue="shared",
                         xlabel="importance [%]", columns=1)
in_mix = n_programs.reindex(leading["Mix"].index, fill_value=0)
printed = ", ".join(gbrt["event_names"][event] for event in gbrt["importance"]["in_all_programs"])
results.figure(
    figure, "fig06",
    f"**GBRT paper, Fig. 6.** The {top} most important events of each program, and of all together "
    f"(Mix): bars are means of {n_seeds} models of resampled rows, lines the range of 90 % of "
    "them. Colour: in how many programs the event is among the first ten. The paper's in all "
    f"eight programs and in Mix, on another processor: {printed}. *See:* the first event of Mix, "
    f"`{in_mix.index[0]}`, is among the first ten of {in_mix.iloc[0]} of {len(programs)} programs.")

# %%
named = pd.concat(leading, names=["program", "event"]).reset_index()
named = named.groupby("event")["program"].agg(", ".join).reset_index()
named.insert(0, "abbr", events.abbreviate(named["event"], table))
named["description"] = table["description"].reindex(named["event"]).to_numpy()
results.table(named, "table1",
              "**GBRT paper, Table 1.** The events of the figure: short name, among the first "
              f"{top} of which program, and what they count.", rows=60)

# %% [markdown]
# ## How many events do two programs share?
#
# Of two programs $a$ and $b$ with the ten most important events $F_a$ and $F_b$,
#
# $$\mathrm{shared}(a, b) = \frac{|F_a \cap F_b|}{10}.$$
#
# Two numbers to hold it against: ten events drawn at random share $10/n$ of $n$ events; and one program shares less than all with itself, if half of its resampled models are compared with the other half.

# %%
every = sorted(set().union(*(draws[name].columns for name in programs)))
full = {name: draws[name].reindex(columns=every, fill_value=0.0) for name in programs}
likeness = []
for a, b in combinations_with_replacement(programs, 2):
    pair = (full[a], full[b]) if a != b else (full[a].iloc[::2], full[a].iloc[1::2])
    shared = stability.rank_agreement(*pair, seed=seed).loc["top10_shared"]
    suites = suite_of[a] if suite_of[a] == suite_of[b] else "across"
    likeness.append({"program": a, "other": b, "suites": "itself" if a == b else suites,
                     "shared": shared["value"], "low": shared["low"], "high": shared["high"]})
likeness = pd.DataFrame(likeness)
pairs, itself = likeness.query("program != other"), likeness.query("program == other")
at_random = 10 / len(common)
results.table(likeness, "likeness",
              "**Table.** Share of the first ten events that two programs have in common, with its "
              "90 % interval over resampled models; *itself*: half of a program's models against "
              f"the other half. Drawn at random: {at_random:.2f}.")

# %%
square = pd.concat([likeness, pairs.rename(columns={"program": "other", "other": "program"})])
square = square.pivot(index="program", columns="other", values="shared")
figure, _ = plot.heat(square.rename_axis(index=None, columns=None), label="share in common")
results.figure(
    figure, "shared",
    "**Figure.** Share of the first ten events that two programs have in common; on the diagonal "
    "two halves of the models of one program. *See:* two programs share "
    f"{pairs['shared'].mean():.2f} on average, one program with itself "
    f"{itself['shared'].mean():.2f}, ten events drawn at random of {len(common)} {at_random:.2f}.")

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
# The GBRT paper has eight programs of HiBench, on a Haswell-E, and prints that ILD_STALL.IQ_FULL (ISIF) and BR_INST_EXEC.ALL_BRANCHES (BIEB) are important in all of them. Beside it stand programs of HiBench only.

# %%
of_paper = study.of_suites(programs, ["HiBench"])
if len(of_paper) > 1:
    in_all = among.index[among[of_paper].all(axis=1)]
    results.number("events among the first ten of every program of HiBench", len(in_all), "events",
                   paper=len(gbrt["importance"]["in_all_programs"]),
                   note=f"{', '.join(in_all) or 'none'}, of {', '.join(of_paper)} here; the paper: "
                        f"{', '.join(gbrt['importance']['in_all_programs'])}, of eight programs")
in_all = int((n_programs == len(programs)).sum())
results.number("events among the first ten of every program", in_all, "events",
               note=f"of {', '.join(programs)}")
results.number("error of one model of all programs, held-out stretches", errors[MIX].mean(), "%",
               note=f"models of one program: {errors[ALONE].mean():.1f} %")
results.numbers()

# %%
most = n_programs.max()
leaders = ", ".join(f"`{event}`" for event in shared.index[shared["programs"] == most][:4])
shared_by = ("No event is among the ten most important of every program: " if most < len(programs)
             else "")
best, worst = unseen.idxmin(), unseen.idxmax()
results.finding(
    f"{shared_by}{leaders} are among those of {most} of {len(programs)} programs, and two programs "
    f"share {10 * pairs['shared'].mean():.1f} of ten on average. One model of all programs errs by "
    f"{errors[MIX].mean():.1f} % on stretches that it was not fitted on, models of single programs "
    f"by {errors[ALONE].mean():.1f} %, the mean of each program by {errors[MEAN].mean():.0f} %. "
    "Fitted without a program, a model errs for it by "
    f"{unseen[best]:.1f} % at best ({best}) and by {unseen[worst]:.1f} % at worst ({worst}), where "
    f"the mean of the other programs errs by {errors.at[worst, MEAN_OF_OTHERS]:.1f} %.")

# %% [markdown]
# ## Explore
#
# The ranking of Mix beside a single program's, or of any two programs, from any step of the refinement. Nothing is fitted anew: these are the models above.

# %%
panel = explore.ranking({"Mix": refined["Mix"]} | refined, draws, top=top)
caption = ("**Figure.** The panel as it opens in JupyterLab, where program and number of events "
           "can be chosen. Blue: events that are in both lists.")
panel if notebook.interactive else results.figure(panel.figure(), "explore", caption)

# %% [markdown]
# ## What this doesn't show
#
# A few programs are no sample of all: the GBRT paper has eight, of HiBench. The committed recordings are of one machine; on another, other events may be shared.
# Importance is of a model and no cause: of events that rise and fall together, one may lead in one program and another in the next (notebook 03c takes them as one cluster).
#
# **References.** Lv, Sun, Yu, *Mining CPU performance data based on gradient boosting regression tree*, 2018 (in Chinese), §4. Lv et al., *CounterMiner*, MICRO 2018, §V-B.

# %%
results.save()
