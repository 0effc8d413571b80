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
# # Across programs: do the same events explain the IPC of different programs?
#
# **Question.** Do the same events explain IPC in every program, so that one model can stand for all?
#
# *Reads* the store. *Writes* the ranking of a model of all programs beside those of single ones, its errors, and the events that programs share.
#
# This is Figure 6 and Table 1 of the study on gradient boosting and processor events (Lv, Sun, Yu, 2018; "GBRT paper" below) on our recordings. How the runs of a program, each of which counts other events, become one matrix is in [notebook 03a](03a_merging_runs.ipynb), the ranking of a single program in [notebook 03](03_ranking.ipynb).

# %% tags=["parameters"]
program = "all"  # two programs or more, separated by commas, or all
method = "kalman"  # cleaning of the runs {cmlib.clean.DISTINCT_METHODS}
step = 10  # events dropped at a time [1, 100]
test_share = 0.2  # random share of rows kept back for the test, as in the paper [0.05, 0.5]
n_seeds = 10  # models behind the spread of an importance [2, 100]
top = 5  # events shown a program [3, 30]
seed = 0  # of the random share and of the models [0, 1000000]
settings = {}  # jobs, executor, scheduler, database, interactive, profile, results_folder

# %%
from functools import partial
from itertools import combinations

import pandas as pd

from cmlib import experiments as study
from cmlib import explore, plot, rank
from cmlib.errors import UnfitRecordingError
from cmlib.experiments.data import FEWEST_INTERVALS, refuse_simulated, timed_runs
from cmlib.io import events
from cmlib.parallel import parallel_map
from cmlib.rank import predict_held_out, regressor, relative_error, stability
from cmlib.report.notebook import begin

# %%
notebook = begin("03d_across_programs", globals())
results, workers, url = notebook.results, notebook.workers, notebook.database
table = study.event_table(url)
recorded = study.programs(url, program)
refuse_simulated(url, recorded, "its counts never stand beside measured ones.")
counted = timed_runs(url, recorded)
counted = counted[study.IPC.counted_in(counted) & (counted["n_intervals"] >= FEWEST_INTERVALS)]
parts = counted.groupby("program")["events"].nunique().reindex(recorded, fill_value=0)
programs = list(parts.index[parts > 1])
if len(programs) < 2 or (program != "all" and len(programs) < len(parts)):
    raise UnfitRecordingError(
        "a model of all programs takes two, of each of them two runs that counted different events "
        f"beside instructions and cycles, {FEWEST_INTERVALS} intervals at least; of "
        f"{', '.join(recorded)} these have them: {', '.join(programs) or 'none'}. Notebook 03 "
        "ranks the events of one program.")

# %% [markdown]
# ## The data
#
# A row is a step of progress, the same share of a program's retired instructions in all its runs; a column is an event per cycle, of those that were counted of every program. What is explained is IPC, the mean of the runs.

# %%
recorded_matrix = partial(study.recorded_matrix, url, method=method, workers=workers)
matrices = {name: recorded_matrix(name) for name in programs}
common = set.intersection(*(set(m.X) for m in matrices.values()))
common = [event for event in matrices[programs[0]].X if event in common]
X = pd.concat({name: m.X[common] for name, m in matrices.items()}, names=["program"])
ipc = pd.concat({name: m.ipc for name, m in matrices.items()}, names=["program"])
suite_of = study.suites(programs)
levels = ipc.groupby("program", sort=False).agg(["size", "mean", "std"])
levels = levels.set_axis(["rows", "mean IPC", "sd of IPC"], axis=1)
levels.assign(suite=pd.Series(suite_of), events=[m.X.shape[1] for m in matrices.values()],
              common=len(common))

# %% [markdown]
# ## One model of all programs
#
# Each program's most accurate model (chosen on blocks, as in notebook 03) stands beside *Mix*, a model of the rows of all programs together. Mix also has to tell programs apart, whose mean IPC differs: an event that does so counts as important, even if it says nothing inside any of them.

# %%
data = matrices | {"Mix": study.Matrix(X, ipc, None)}
refine = partial(study.refine, step=step, test_share=test_share, seed=seed)
refined = dict(zip(data, parallel_map(refine, data.values(), workers=workers), strict=True))
seeds = range(n_seeds)
draws = {name: stability.draw_importances(data[name].X[r.events], data[name].ipc, seeds=seeds)
         for name, r in refined.items()}
spreads = {name: stability.importance_spread(drawn).head(top) for name, drawn in draws.items()}
leading = {name: s.assign(abbr=events.abbreviate(s.index, table)) for name, s in spreads.items()}

# %%
shown = {name: s.reset_index() for name, s in leading.items()}
figure, _ = plot.ranking(shown, value="mean", low="low", high="high", label="event",
                         xlabel="importance [%]", columns=2)
results.figure(figure, "fig06",
               f"**GBRT paper, Figure 6.** The {top} most important events of each program, and of "
               "all together (Mix). Bars: mean of resampled models; lines: range of 90 % of them.")

# %%
named = pd.concat(leading, names=["program", "event"]).reset_index()
named = named.groupby(["abbr", "event"])["program"].agg(", ".join).reset_index()
named["description"] = table["description"].reindex(named["event"]).to_numpy()
results.table(named, "table1",
              "**GBRT paper, Table 1.** The events of Figure 6: whose they are, and what they "
              "count.", rows=60)

# %% [markdown]
# ## Can one model stand for all?
#
# Models of all events are judged on blocks that they never saw, stretches of progress of each program, by the error of the GBRT paper (Eq. 8):
#
# $$err = \frac{|IPC_{meas} - IPC_{pred}|}{IPC_{meas}} \times 100\,\% \tag{8}$$
#
# Then a whole program is held out, and predicted by a model of the others.

# %%
def judge_mix(name):
    """Errors [%] for one program: models of all programs, of its own, and of the others."""
    own = program_of == name
    alone = predict_held_out(X[own], ipc[own], fold[own], seed=seed)
    means = [ipc[own & (fold != held)].mean() for held in fold[own]]
    others = regressor(seed=seed).fit(X[~own], ipc[~own]).predict(X[own])
    return {"program": name, "of all programs": relative_error(ipc[own], everywhere[own]),
            "of its own": relative_error(ipc[own], alone),
            "its own mean": relative_error(ipc[own], means),
            "of the others": relative_error(ipc[own], others),
            "mean of the others": relative_error(ipc[own], ipc[~own].mean())}


# %%
X, program_of = X[sorted(X)], ipc.index.get_level_values("program")
fold = rank.blocks(ipc.index, 12) % 4
everywhere = predict_held_out(X, ipc, fold, seed=seed)
errors = pd.DataFrame([judge_mix(name) for name in programs])
results.table(errors, "mixed",
              "**Table.** IPC error [%] of models of all events on blocks held out: one model of "
              "all programs, models of one; then with the whole program held out.")

# %% [markdown]
# ## Which events do programs share?
#
# The papers name events that matter in every program, and find HiBench's programs less alike than CloudSuite's. Both can be asked of the programs that are here, by suite; one or two pairs cannot say how alike a suite is. Of two programs $a$ and $b$ with the first ten events $F_a$ and $F_b$,
#
# $$\mathrm{shared} = \frac{|F_a \cap F_b|}{10}$$

# %%
means = pd.DataFrame({name: draws[name].mean() for name in programs}).fillna(0.0)
among = (means.rank(ascending=False, method="first") <= 10) & (means > 0)
common = among.T.groupby(suite_of).sum().T.astype(int)
common = common.assign(programs=among.sum(axis=1), importance=means.mean(axis=1))
common = common[common["programs"] > 0].rename_axis("event")
common = common.sort_values(["programs", "importance"], ascending=False, kind="stable")
common["abbr"] = events.abbreviate(common.index, table)
results.table(common.reset_index(), "common",
              "**Table.** Events among the first ten of some program: of how many programs, by "
              "suite; importance: mean over all programs [%].", rows=40)

# %%
everything = sorted(set().union(*(draws[name].columns for name in programs)))
own = {name: draws[name].reindex(columns=everything, fill_value=0.0) for name in programs}
alike = []
for one, other in combinations(programs, 2):
    shared = stability.rank_agreement(own[one], own[other], seed=seed).loc["top10_shared"]
    within = suite_of[one] if suite_of[one] == suite_of[other] else "across"
    alike.append({"pair": f"{one} – {other}", "suites": within, "shared": shared["value"],
                  "low": shared["low"], "high": shared["high"]})
alike = pd.DataFrame(alike, columns=["pair", "suites", "shared", "low", "high"])
inside = int((alike["suites"] != "across").sum())
results.table(alike, "likeness",
              "**Table.** Share of the first ten events that two programs have in common, with "
              f"its 90 % interval over resampled models; {inside} of {len(alike)} pairs are inside "
              "one suite.")

# %% [markdown]
# ## What was found

# %%
results.number("error of one model of all programs, on blocks",
               errors["of all programs"].mean(), "%",
               note=f"models of one program: {errors['of its own'].mean():.1f} %")
results.number("events among the first ten of every program",
               int((common["programs"] == len(programs)).sum()), "events",
               note=f"of {', '.join(programs)}; the paper: ISIF and BIEB in all eight of its own")

# %%
shared = common.index[common["programs"] == len(programs)]
everywhere = ", ".join(f"`{event}`" for event in shared) or "none"
first = ", ".join(f"`{event}`" for event in leading["Mix"].index[:3])
display(results.finding(f"Among the first ten events of every program: {everywhere}. In the "
                        f"model of all programs these lead: {first}."))
best, worst = (errors.loc[place] for place in errors["of the others"].agg(["idxmin", "idxmax"]))
display(results.finding(
    f"One model of all programs errs by {errors['of all programs'].mean():.1f} % on stretches "
    f"it never saw, models of one program by {errors['of its own'].mean():.1f} %. Of a program "
    f"it never saw, a model of the others tells IPC within {best['of the others']:.1f} % at "
    f"best ({best['program']}) and {worst['of the others']:.1f} % at worst "
    f"({worst['program']}); their mean would err by {best['mean of the others']:.0f} and "
    f"{worst['mean of the others']:.0f} %."))
results.numbers()

# %% [markdown]
# ## Explore
#
# The ranking of all programs together beside a single one's, or any two beside each other, from any step of the refinement. Nothing is fitted anew: these are the models above.

# %%
panel = explore.ranking({"Mix": refined["Mix"]} | refined, draws, top=top)
caption = ("**Figure.** The first setting of the panel that JupyterLab shows here: Mix beside one "
           "program. Blue: events that are in both lists.")
panel if notebook.interactive else results.figure(panel.figure(), "explore", caption)

# %% [markdown]
# ## What this doesn't show
#
# A few programs are no sample of all: the GBRT paper has eight, of HiBench. The committed recordings are of one machine; on another, other events may be shared.
# Importance is of a model, not a cause: of events that rise and fall together, one may lead here and another one there (notebook 03c).
#
# **References.** Lv, Sun, Yu, *Mining CPU performance data based on gradient boosting regression tree*, 2018 (in Chinese), §4. Lv et al., *CounterMiner*, MICRO 2018, §V-B.

# %%
results.save()
