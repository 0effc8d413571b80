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
# # CloudSuite on four processors: does a program follow the same events everywhere?
#
# **Question.** How well do events explain the IPC of CloudSuite's programs on four processors, and are the first events the same on each?
#
# *Reads* recordings that others made and that come with cmlib. *Writes* errors of models beside those that look at no event, rankings, and how far they agree.
#
# Eight programs of CloudSuite, seven of which CounterMiner studied, on servers with Intel's Westmere (X5650) and Sandy Bridge (E5-2640, E5-2650) and AMD's Opteron 6234, recorded by M. Canuto for models of power (`maurocanuto/power-modelling`, Apache-2.0): about twenty events, 2 s or 10 s an interval, without running shares.

# %% tags=["parameters"]
program: str = "all"  # programs of CloudSuite to study, separated by commas, or all
n_seeds: int = 4  # models behind the spread of an importance
top: int = 6  # events shown a program
seed: int = 0  # of the models
settings: dict = {}  # profile, results_folder

# %%
from itertools import combinations, permutations

import numpy as np
import pandas as pd
from scipy.stats import kendalltau, spearmanr

from cmlib import plot, rank
from cmlib.experiments.published import QUICK, cloudsuite
from cmlib.rank.boosting import predict_held_out, regressor
from cmlib.report.notebook import begin

# %%
limits = {"n_seeds": (2, 100), "top": (3, 20), "seed": (0, 1_000_000)}
notebook = begin(
    "09a_cloudsuite", settings, program=program, n_seeds=n_seeds, top=top, seed=seed,
)
results = notebook.results
programs = cloudsuite(program)
print(f"{len(programs)} recordings of {len({name for name, _ in programs})} programs")
next(iter(programs.values())).counts.head()

# %% [markdown]
# ## Can IPC be explained?
#
# All runs of a file are taken together, in at most 500 rows. A row is events per instruction, so that an event can't tell IPC by being frequent when instructions are. Models explain $\log \mathrm{IPC}$, for errors are relative (CounterMiner, Eq. 14):
#
# $$err = \frac{|IPC_{meas} - IPC_{pred}|}{IPC_{meas}} \times 100\,\% \tag{14}$$
#
# in the mean over the rows.
#
# Twelve stretches in four folds are each predicted by a model that saw none of them. Three predictions that look at no event stand beside it: the mean of the other stretches, the constant that errs least on them by this measure, and the row before, which the model may not see.


# %%
def best_constant(ipc):
    """The constant with the least relative error: the median weighted by 1 / IPC."""
    ordered = np.sort(ipc.to_numpy())
    weight = (1 / ordered).cumsum()
    return ordered[np.searchsorted(weight, weight[-1] / 2)]


def errors(data):
    """Relative errors on held-out stretches [%]."""
    ipc, fold = data.ipc, data.fold
    predicted = np.exp(predict_held_out(data.X, data.y, fold, boosting=QUICK, seed=seed))
    others = [ipc[fold != held] for held in range(fold.max() + 1)]
    known = {"mean": [others[f].mean() for f in fold]}
    known["best constant"] = [best_constant(others[f]) for f in fold]
    known["previous row"] = ipc.shift().bfill()
    known = {"events": predicted} | known
    return {name: rank.relative_error(ipc, values) for name, values in known.items()}


# %%
table = pd.DataFrame({name: errors(data) for name, data in programs.items()}).T
table = table.rename_axis(["program", "processor"])
table["rows"] = [len(data.ipc) for data in programs.values()]
shown = table.drop(columns="rows").stack().rename_axis(["program", "processor", "by"])
shown = shown.rename("error").reset_index()
axis = "error on unseen stretches [%]"
figure, _ = plot.bars_by_program(shown, value="error", hue="by", ylabel=axis)
display(results.figure(
    figure,
    "fig08",
    "**Figure 8, CloudSuite.** Error on stretches that a model never saw, and of predictions that "
    "look at no event; thin lines: from the best to the worst processor.",
))
results.table(table.reset_index(), "errors", "**Table.** The same errors [%].", decimals=1)

# %%
medians = table.median()
worse = int((table["events"] > table["previous row"]).sum())
note = f"{len(table)} recordings; worse than the previous row in {worse}"
results.number(
    "CloudSuite: error on unseen stretches, median", medians["events"], "%", note=note
)
for name in ("previous row", "best constant", "mean"):
    results.number(f"CloudSuite: error of the {name}, median", medians[name], "%")
results.finding(
    f"On CloudSuite, recorded by others on {table.index.unique(1).size} processors, a model by "
    f"events errs by {medians['events']:.1f} % in the median on stretches that it never saw, the "
    f"row before by {medians['previous row']:.1f} % (the model is worse in {worse} of "
    f"{len(table)} recordings), the best constant by {medians['best constant']:.0f} %."
)

# %% [markdown]
# CounterMiner prints 6.3 to 14 % for HiBench (Figure 8), on a random fifth of the rows, whose neighbours the model knew; of CloudSuite it prints no error.
#
# ## The first events, and how stable they are
#
# Importance as in notebook 03, over models of resampled stretches. *Stable* is how many of the first five by the other models are the first five of one, each model in turn; *random* is what a random order would have.


# %%
def stability(draws):
    """Share of the first five events of each model that the mean of the others has, too [%]."""
    firsts = []
    for number in draws.index:
        others = set(draws.drop(index=number).mean().nlargest(5).index)
        firsts.append(len(others & set(draws.loc[number].nlargest(5).index)) / 5)
    return 100 * np.mean(firsts)


drawn = {
    name: rank.draw_importances(data.X, data.y, seeds=range(n_seeds), boosting=QUICK)
    for name, data in programs.items()
}
spreads = {name: rank.importance_spread(draws) for name, draws in drawn.items()}

# %%
two = [name for name in spreads if name[0] in ("data_caching", "graph_analytics")]
two = two or list(spreads)[:4]
panels = {", ".join(name): spreads[name].head(top).reset_index() for name in two}
ends = {"value": "mean", "low": "low", "high": "high", "label": "event"}
figure, _ = plot.ranking(panels, **ends, xlabel="importance [%]", columns=2)
results.figure(
    figure, "fig10", "**Figure 10, on other processors.** The most important events for IPC."
)

# %%
first = pd.DataFrame(
    {
        name: {
            "first five": ", ".join(spreads[name].index[:5]),
            "stable [%]": stability(draws.reset_index(drop=True)),
            "random [%]": 100 * 5 / draws.shape[1],
        }
        for name, draws in drawn.items()
    }
).T.rename_axis(["program", "processor"])
about = "**Table.** The first five events of each recording."
display(results.table(first.reset_index(), "first", about, decimals=0))
note = f"each model against the others; a random order {first['random [%]'].mean():.0f} %"
stable = first["stable [%]"].mean()
results.number("CloudSuite: first five events that other models have", stable, "%", note=note)

# %% [markdown]
# ## Does a program follow the same events on every processor?
#
# Each two rankings are compared on the events that both processors count: Kendall's $\tau$, and how many of the first five are the same, beside what two random orders share (*random*). Of the $n(n-1)/2$ pairs of events, $n_c$ are in the same order in both rankings and $n_d$ in opposite ones:
#
# $$\tau = \frac{n_c - n_d}{n(n-1)/2}$$
#
# If a program had bottlenecks of its own, rankings of one program on two processors would agree more than those of two programs. The p-value is that of exchanging the programs' names within each processor.


# %%
def compare(one, other):
    """How far two rankings agree, on the events that both have."""
    common = spreads[one].index.intersection(spreads[other].index)
    a, b = (spreads[name].loc[common, "mean"] for name in (one, other))
    shared = len(set(a.nlargest(5).index) & set(b.nlargest(5).index))
    tau = kendalltau(a, b, method="asymptotic").statistic
    same = "program" if one[0] == other[0] else "processor" if one[1] == other[1] else "neither"
    return one, other, same, tau, shared, 25 / len(common)


columns = ["one", "other", "in common", "kendall", "shared", "random"]
rankings = pd.DataFrame([compare(*both) for both in combinations(spreads, 2)], columns=columns)
by_kind = rankings.groupby("in common")[["kendall", "shared", "random"]].mean()
by_kind["pairs"] = rankings.groupby("in common").size()
about = "**Table.** Agreement of two rankings by what they have in common."
results.table(by_kind.reset_index(), "agreement", about)

# %%
across = rankings[rankings["in common"] != "processor"]


def gap(called):
    """How much more rankings agree where the program is called the same."""
    pairs = zip(across["one"], across["other"], strict=True)
    same = np.array([called[one] == called[other] for one, other in pairs], bool)
    return across["kendall"][same].mean() - across["kendall"][~same].mean()


def exchanged(rng):
    """Programs' names, exchanged at random within each processor."""
    called = {}
    for processor in dict.fromkeys(key[1] for key in spreads):
        own = [key for key in spreads if key[1] == processor]
        called |= dict(zip(own, rng.permutation([key[0] for key in own]), strict=True))
    return called


# %%
rng = np.random.default_rng(seed)
if "program" in by_kind.index and "neither" in by_kind.index:
    real = gap({key: key[0] for key in spreads})
    exchanges = np.array([gap(exchanged(rng)) for _ in range(300)])
    p = (1 + (exchanges >= real).sum()) / 301
    tau, apart = by_kind.loc["program", "kendall"], by_kind.loc["program", "kendall"] - real
    name = "CloudSuite: rank correlation of a program's events on two processors"
    results.number(name, tau, note=f"of two programs: {apart:.2f}; p = {p:.2f}")
    shown = "agree more" if p < 0.05 else "are not shown to agree more"
    display(results.finding(
        f"Rankings of one CloudSuite program on two processors {shown} than those of two programs "
        f"(Kendall {tau:.2f} against {apart:.2f}, p = {p:.2f})."
    ))

# %% [markdown]
# Another processor counts other things by the same name, and of correlated events another one comes first. With eight programs on four processors a small effect of the program would not be seen.
#
# ## Does a model of one processor explain another?
#
# A model of all rows of one processor predicts the IPC of another, by the events that both have. *Levelled*: times the factor that makes the mean right, so that only ups and downs count.


# %%
def transfer(one, other):
    """Errors of one processor's model on another's rows [%]."""
    source, target = programs[one], programs[other]
    common = sorted(set(source.X) & set(target.X))
    model = regressor(boosting=QUICK, seed=seed).fit(source.X[common], source.y)
    predicted, ipc = np.exp(model.predict(target.X[common])), target.ipc
    levelled = predicted * ipc.mean() / predicted.mean()
    row = {"program": one[0], "trained on": one[1], "tested on": other[1]}
    row |= {"error": rank.relative_error(ipc, predicted)}
    row |= {"levelled": rank.relative_error(ipc, levelled)}
    row |= {"best constant": rank.relative_error(ipc, best_constant(ipc))}
    return row | {"spearman": spearmanr(ipc, predicted).statistic}


moved = [transfer(one, other) for one, other in permutations(programs, 2) if one[0] == other[0]]
moved = pd.DataFrame(moved)
about = "**Table.** Every transfer: errors [%], rank correlation of predicted and counted IPC."
if len(moved):
    display(results.table(moved, "transfer", about, rows=60))

# %%
if len(moved):
    ratio = moved.assign(ratio=moved["levelled"] / moved["best constant"])
    places = {"index": "trained on", "columns": "tested on", "values": "ratio"}
    figure, _ = plot.heat(
        ratio.pivot_table(**places, aggfunc="median"), label="error / best constant's", centre=1
    )
    about = "**Figure.** Error of another processor's model, levelled, as a multiple of the best "
    about += "constant's: median of the programs."
    display(results.figure(figure, "transfer", about))
    note = f"of the best constant {moved['best constant'].median():.0f} %, which knows the target; "
    note += f"better in {(ratio['ratio'] < 1).sum()} of {len(moved)} transfers"
    name = "CloudSuite: error of another processor's model, levelled, median"
    results.number(name, moved["levelled"].median(), "%", note=note)
results.numbers()

# %% [markdown]
# ## What this doesn't show
#
# Whoever recorded these files chose what to count, and how it was scaled is not told, so that nothing can be cleaned. Programs ran on whole machines, with other software, at loads that are not told either. The names of CounterMiner's Table III are of Haswell's 229 events and none of these twenty, so that bars can't be set beside its Figure 10. That a model of one processor explains another in part may be owed to what all programs share.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018. Recordings: M. Canuto, power-modelling.

# %%
results.save()
