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
# # Co-location: how co-located programs change each other's ranking
#
# **Question.** Do the same events matter when a program shares the machine with a second copy of itself, or with another program?
#
# *Reads* the store. *Writes* the ranking of each pair beside those of its programs alone, and how far they differ.
#
# Both programs of a pair are counted together: counters do not tell them apart, as in the paper (CounterMiner, §V-E). The paper compares its pairs with "Figure 9", where DataCaching is not; it means Figure 10.

# %% [markdown] tags=["answer"]
# > **Answer** None yet. This notebook needs programs recorded together on one machine, and no such recording comes with cmlib; `cmlib record --program datacaching-datacaching` makes one.

# %% tags=["parameters"]
# Pairs: datacaching-datacaching, datacaching-graphanalytics.
pairs: str = "all"  # pairs to study, separated by commas, or all that are recorded
program: str = "all"  # only pairs with one of these programs, separated by commas, or all
method: str = "shrinkage"  # cleaning of the runs
step: int = 10  # events dropped at a time
n_seeds: int = 20  # models behind the spread of an importance
top: int = 10  # events shown a ranking
seed: int = 0  # of the models
settings: dict = {}  # jobs, executor, scheduler, database, interactive, profile, results_folder

# %%
from functools import partial

import numpy as np
import pandas as pd

from cmlib import experiments, explore, plot
from cmlib.errors import NothingRecordedError
from cmlib.experiments.data import how_to_record
from cmlib.experiments.requested import resolve_names, split_names
from cmlib.io import events, store
from cmlib.parallel import parallel_map
from cmlib.rank import stability
from cmlib.report import paper
from cmlib.report.notebook import begin

# %%
limits = {
    "method": "cmlib.clean.DISTINCT_METHODS", "step": (1, 100), "n_seeds": (2, 100), "top": (3,
    30), "seed": (0, 1_000_000),
}
notebook = begin(
    "09_colocation", settings, pairs=pairs, program=program, method=method, step=step,
    n_seeds=n_seeds, top=top, seed=seed,
)
results, workers, url = notebook.results, notebook.workers, notebook.database
counterminer = paper("counterminer")
table = experiments.event_table(url)
SETS = ["ocoe", "sweep"]
PAIRS = {
    "datacaching-datacaching": ["datacaching"],
    "datacaching-graphanalytics": ["datacaching", "graphanalytics"],
}


# %%
def is_recorded(name):
    """Whether a program or a pair has runs of both sets."""
    return set(SETS) <= set(store.runs(url, program=name)["set"])


known = sorted({name for pair, alone in PAIRS.items() for name in (pair, *alone)})
own = resolve_names(program, known, about="programs of the pairs", todo="Pairs are the paper's.")
wanted = list(PAIRS) if pairs == "all" else split_names(pairs)
resolve_names(",".join(wanted), PAIRS, about="the pairs", todo="Others are not started.")
wanted = [pair for pair in wanted if set(own) & {pair, *PAIRS[pair]}]
lacking = {pair: [n for n in (*PAIRS[pair], pair) if not is_recorded(n)] for pair in wanted}
cases = {pair: PAIRS[pair] for pair in wanted if not lacking[pair]}
if not cases or (pairs != "all" and len(cases) < len(wanted)):
    names = dict.fromkeys(name for pair in wanted for name in lacking[pair])
    commands = ", ".join(how_to_record(name) for name in names)
    raise NothingRecordedError(f"nothing recorded yet of programs on one machine: run {commands}")

# %% [markdown]
# ## The runs
#
# Pairs and programs alone are recorded with the same events on the same machine; rows are steps of progress, columns events per cycle. IPC of a pair is that of both programs counted together, so it lies between theirs even without interference.

# %%
names = list(dict.fromkeys(name for pair, alone in cases.items() for name in (*alone, pair)))
clean = partial(experiments.cleaned_runs, url, sets=SETS, method=method, workers=workers)
matrices = {name: experiments.matrix(clean(name), table=table) for name in names}
ipc = {name: {"mean of all runs": data.ipc} for name, data in matrices.items()}
figure, _ = plot.series_by_program(ipc, ylabel="IPC", xlabel="progress [share of instructions]")
about = "**Figure.** IPC of each program alone and of the pairs, mean of all runs."
display(results.figure(figure, "ipc", about))
matrices[names[-1]].X.iloc[:5, :5]

# %% [markdown]
# ## Rankings, alone and together
#
# Compare the first events of the pair with those of each program. Events whose intervals overlap are in no certain order.

# %%
refine = partial(experiments.refine, step=step, seed=seed)
refined = dict(zip(names, parallel_map(refine, matrices.values(), workers=workers), strict=True))
seeds = range(n_seeds)
draws = {name: stability.draw_importances(data.X[refined[name].events], data.ipc, seeds=seeds)
         for name, data in matrices.items()}
spreads = {name: stability.importance_spread(drawn).head(top) for name, drawn in draws.items()}
leading = {name: s.assign(abbr=events.abbreviate(s.index, table)) for name, s in spreads.items()}

# %%
shown = {name: s.reset_index() for name, s in leading.items()}
figure, _ = plot.ranking(shown, value="mean", low="low", high="high", label="event",
                         xlabel="importance [%]", columns=2)
results.figure(figure, "fig16",
               "**Figure 16.** The most important events for IPC of each program alone, and of the "
               "pairs on one machine. Lines: 90 % of resampled models.")

# %%
shown = pd.concat(leading, names=["program", "event"]).reset_index()
shown["description"] = table["description"].reindex(shown["event"]).to_numpy()
results.table(shown.drop(columns=["sd"]), "importances",
              "**Table.** Figure 16 in numbers [%], and what the events count.", rows=60)

# %% [markdown]
# ## How far did each ranking change?
#
# Two measures, with intervals over resampled models: the importance that lies on the same events,
#
# $$\sum_e \min(I_e^{\mathrm{pair}}, I_e^{\mathrm{alone}}),$$
#
# and the rank correlation of the events among the first twenty of either ranking. Two rankings of one program differ as well: *itself* compares two halves of the recording of the program alone. A ranking has changed only if its whole interval lies below that.


# %%
def draw(data, common):
    """Importances of the common events, by models of resampled rows."""
    return stability.draw_importances(data.X[common], data.ipc, seeds=range(n_seeds))


def shared(one, other):
    """Importance that lies on the same events [0, 1]."""
    return np.minimum(one.mean(), other.mean()).sum() / 100


def agreement(one, other):
    """Both measures of two rankings' agreement, with 90 % intervals."""
    rng = np.random.default_rng(0)
    drawn = [[each.iloc[rng.integers(len(each), size=len(each))] for each in (one, other)]
             for _ in range(200)]
    low, high = np.quantile([shared(*both) for both in drawn], [0.05, 0.95])
    row = {"value": shared(one, other), "low": low, "high": high}
    importance = pd.DataFrame(row, ["importance_shared"])
    return pd.concat([importance, stability.rank_agreement(one, other, n_top=20)])


# %%
def halves(data):
    """Even and odd stretches of a program's rows, each as good a sample of it as the other."""
    stretch = (data.X.index.get_level_values("progress").to_numpy() * 20).astype(int)
    return [experiments.Matrix(data.X[stretch % 2 == k], data.ipc[stretch % 2 == k], None)
            for k in (0, 1)]


def movement(pair, alone):
    """How far the ranking of a pair is from that of one of its programs alone."""
    data = matrices[alone]
    common = [event for event in matrices[pair].X if event in data.X]
    apart = agreement(draw(matrices[pair], common), draw(data, common))
    itself = agreement(*(draw(half, common) for half in halves(data)))["value"]
    row = {"pair": pair, "alone": alone, "events": len(common)}
    for name, values in apart.iterrows():
        row |= {name: values["value"], f"{name} low": values["low"], f"{name} high": values["high"]}
    return row | itself.add_prefix("itself: ").to_dict()


# %%
moved = pd.DataFrame([movement(pair, one) for pair, alone in cases.items() for one in alone])
results.table(moved, "movement",
              "**Table.** Agreement of the ranking together with the ranking alone; importance "
              "shared (0 to 1), rank correlations (−1 to 1), and the share of the first ten events "
              "in common.")

# %% [markdown]
# The paper finds six events of the L2 cache among the first ten of DataCaching beside GraphAnalytics, and none for either alone.

# %%
unit_of = table["unit"].fillna("other")
first = {name: drawn.mean().nlargest(10).index for name, drawn in draws.items()}
units = {name: unit_of.reindex(of, fill_value="other").value_counts() for name, of in first.items()}
units = pd.DataFrame(units).T.fillna(0).astype(int).rename_axis("program")
figure, _ = plot.counts(units, ylabel="events among the first ten")
results.figure(figure, "units",
               "**Figure.** Which part of the processor the ten most important events count.")

# %%
printed = counterminer["colocated"]
for pair in cases:
    results.number(f"importance of the first event, {pair}", leading[pair]["mean"].iloc[0], "%",
                   paper=printed[pair].get("top_percent"), note=f"here {leading[pair].index[0]}")
    of_l2 = int(units.get("l2-cache", {}).get(pair, 0))
    results.number(f"events of the L2 cache among the first ten, {pair}", of_l2, "events",
                   paper=printed[pair].get("l2_events_in_top10"))

# %%
for row in moved.to_dict("records"):
    low, high, itself = (100 * row[name] for name in (
        "importance_shared low", "importance_shared high", "itself: importance_shared"))
    results.number(f"importance shared by {row['pair']} and {row['alone']} alone",
                   100 * row["importance_shared"], "%",
                   note=f"90 %: {low:.0f} to {high:.0f}; alone against itself {itself:.0f}")
    low, high, itself = row["spearman low"], row["spearman high"], row["itself: spearman"]
    results.number(f"rank correlation of {row['pair']} with {row['alone']} alone", row["spearman"],
                   note=f"Spearman, 90 %: {low:.2f} to {high:.2f}; alone against itself "
                        f"{itself:.2f}")

# %%
for row in moved.to_dict("records"):
    share, low, high, itself = (100 * row[name] for name in (
        "importance_shared", "importance_shared low", "importance_shared high",
        "itself: importance_shared"))
    verdict = "moved further than" if high < itself else "was not seen to move further than"
    display(results.finding(
        f"{row['pair']} against {row['alone']} alone: {share:.0f} % of the importance lies on the "
        f"same events ({low:.0f} to {high:.0f}; two halves of {row['alone']} itself: "
        f"{itself:.0f}): the ranking {verdict} two halves do."))
results.numbers()

# %% [markdown]
# ## Explore
#
# A program's ranking alone beside a pair's, from any step of the refinement, with more or fewer seeds behind the lines. The models are those above; none is refitted.

# %%
panel = explore.ranking(refined, draws, top=top)
caption = ("**Figure.** The first setting of the panel that JupyterLab shows here. Blue: events in "
           "both lists; lines on the bars: the range of 90 % of the resampled models.")
panel if notebook.interactive else results.figure(panel.figure(), "explore", caption)

# %% [markdown]
# ## What this doesn't show
#
# Events can't be assigned to one of the two programs, because both are counted together. A changed ranking does not prove interference: counting a mixture of two programs changes it as well.
# The recordings are of one machine with few processors; the paper's programs shared a cluster. The programs recorded under the paper's names are substitutes: see `cmlib programs`.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §V-E.

# %%
results.save()
