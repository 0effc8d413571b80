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
# # Interactions: which pairs of events act together
#
# **Question.** Which two events change IPC together in a way that neither does alone?
#
# *Reads* the store (the database of all recordings, notebook 01). *Writes* the ranking of pairs by three measures, and how far they agree.
#
# IPC is instructions per cycle. CounterMiner (§III-D) trains a linear regression on each pair of important events, and takes what it leaves over for their interaction. What exactly is left over can be read in three ways; all are computed on one model of IPC (notebook 03).

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas, or all
target: str = ""  # explained: IPC, EVENT (per second), or EVENT per EVENT; empty: IPC if known
method: str = "shrinkage"  # cleaning of the runs: shrinkage, counterminer, interpolate …
n_events: int = 10  # most important events, whose pairs are ranked
top: int = 10  # first pairs of a program in tables, and of which branches are counted
n_planted: int = 10  # synthetic data sets whose pairs are known
seed: int = 0  # of the models
settings: dict = {}  # jobs, executor, scheduler, database, interactive, profile, results_folder

# %%
from functools import cache, partial
from itertools import combinations

import numpy as np
import pandas as pd
from IPython.display import Markdown
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict

from cmlib import experiments as study
from cmlib import plot
from cmlib.errors import UnfitRecordingError
from cmlib.experiments.data import describe_data
from cmlib.interact import rank_pairs
from cmlib.interact.dependence import partial_dependence
from cmlib.parallel import parallel_map
from cmlib.plot.style import bars_across, palette, single
from cmlib.rank import Boosting, blocks, predict_held_out, regressor, relative_error
from cmlib.report import paper
from cmlib.report.notebook import begin
from cmlib.synthetic import product_pair_data

# %%
limits = {
    "method": "cmlib.clean.DISTINCT_METHODS", "n_events": (3, 20), "top": (3, 45), "n_planted":
    (1, 100), "seed": (0, 1_000_000),
}
notebook = begin(
    "04_interactions", settings, program=program, target=target, method=method,
    n_events=n_events, top=top, n_planted=n_planted, seed=seed,
)
results, workers = notebook.results, notebook.workers
SHOWN = 5  # pairs drawn a program; the table has all
MEASURES = {"h_statistic": "H", "residual_variance": "residual variance",
            "printed": "Eq. 12 as printed"}
counterminer = paper("counterminer")["interactions"]

# %% [markdown]
# ## The intensity of a pair
#
# The intensity $v_{ab}$ of two events $a$ and $b$ is a sum over the $n$ rows $i$. In each way something is predicted for a row, and what is left over is squared:
#
# *Eq. 12 as printed*: a plane, the linear regression of IPC on $a$ and $b$, predicts $p_i$, which is held against the **observed** $IPC_i$. All other events are to stand at their means, but nobody observed IPC there; as printed they drop out, and what is left over is all of IPC that the two events say nothing of.
#
# $$v^{\mathrm{printed}}_{ab} = \sum_{i=1}^{n} (p_i - IPC_i)^2 \tag{12}$$
#
# *Residual variance* (Elith, Leathwick and Hastie 2008): the plane $p_i$ is fitted to the **predictions of the model** $\hat f$ at the row's values $x_{ia}$, $x_{ib}$, with the other events at their means $\bar x$, so that only the two events vary.
#
# $$v^{\mathrm{residual}}_{ab} = \sum_{i=1}^{n} (p_i - \hat f(x_{ia}, x_{ib}, \bar x))^2$$
#
# *Friedman's H* (Friedman and Popescu 2008; the sum below is the numerator of their $H^2$): how much of the model's joint effect of two events is not the sum of their single effects. $F$ is a centred partial dependence: the mean prediction with the named events as in row $i$, and the others as in all rows.
#
# $$v^{H}_{ab} = \sum_{i=1}^{n} (F_{ab}(x_{ia}, x_{ib}) - F_a(x_{ia}) - F_b(x_{ib}))^2$$
#
# All three, for a small synthetic data set of 60 rows: four events on which IPC depends along a curve each, and two of them also by their product.

# %%
known = product_pair_data(n_steps=60, n_events=4, n_pairs=1, seed=2)
X, IPC = known.X, known.ipc
f = regressor(seed=seed).fit(X, IPC)


def plane(a, b, values):  # p: a linear regression on the pair
    return LinearRegression().fit(X[[a, b]], values).predict(X[[a, b]])


def v_printed(a, b):
    return ((plane(a, b, IPC) - IPC) ** 2).sum()


def v_residual(a, b):
    at_means = X.assign(**X.drop(columns=[a, b]).mean())
    return ((plane(a, b, f.predict(at_means)) - f.predict(at_means)) ** 2).sum()


def F(*events):
    each = [f.predict(X.assign(**row)).mean() for row in X[list(events)].to_dict("records")]
    return np.array(each) - np.mean(each)


def v_H(a, b):
    return ((F(a, b) - F(a) - F(b)) ** 2).sum()

# %% [markdown]
# A pair's importance $I_i$ is its share of the intensities of all pairs (the paper's $i$ and $n$ now count pairs, and no rows). It is a share of pair effects, and no share of IPC: of pairs that do nothing one still has the largest.
#
# $$I_i = \frac{v_i}{\sum_{j=1}^{n} v_j} \times 100\,\% \tag{13}$$

# %%
ways = {"h_statistic": v_H, "residual_variance": v_residual, "printed": v_printed}
v = pd.DataFrame({measure: {f"{a} × {b}": way(a, b) for a, b in combinations(X, 2)}
                  for measure, way in ways.items()})
importance = 100 * v / v.sum()
for measure in ways:  # the library's faster version computes the same
    ranking = rank_pairs(X, IPC, list(X), method=measure, fitted=f).set_index("pair")
    np.testing.assert_allclose(ranking["importance"].loc[v.index], importance[measure],
                               rtol=1e-6)
print(f"planted: {' × '.join(known.pairs[0])}; importance of every pair [%]:")
importance.rename(columns=MEASURES).round(1)

# %% [markdown]
# ## Can the measures find a pair that is there?
#
# The same many times, with more events and two planted pairs. A measure that is of use puts these pairs first.

# %%
def last_places(seed):
    """By every measure, of one model, the place of the last planted pair."""
    data = product_pair_data(seed=seed)
    model = regressor(seed=seed).fit(data.X, data.ipc)
    place = {}
    for measure, title in MEASURES.items():
        ranking = rank_pairs(data.X, data.ipc, list(data.X), method=measure, fitted=model,
                             n_points=30, seed=seed)
        found = list(zip(ranking["event_a"], ranking["event_b"], strict=True))
        place[title] = 1 + max(found.index(pair) for pair in data.pairs)
    return place


planted = pd.DataFrame()
if not notebook.of_program:  # a report of one's own program has nothing else in it
    last = pd.DataFrame(parallel_map(last_places, range(n_planted), workers))
    n_pairs = len(product_pair_data().pairs)
    planted = pd.DataFrame({"planted first": (last == n_pairs).sum(), "mean place": last.mean(),
                            "worst place": last.max()}).rename_axis("measure").reset_index()
    example = product_pair_data()
    n_all = example.X.shape[1] * (example.X.shape[1] - 1) // 2
    display(results.table(planted, "planted", f"**Table, synthetic data.** In how many of "
                          f"{n_planted} data sets ({len(example.X)} rows, {example.X.shape[1]} "
                          f"events, {n_pairs} of {n_all} pairs planted) each measure puts the "
                          "planted pairs first, and at which place the last of them comes."))

# %%
if len(planted):
    figure, ax = single(1.5)
    bars_across(ax, planted["planted first"], planted["measure"], palette(1)[0])
    ax.set(xlabel=f"data sets of {n_planted} in which the planted pairs come first",
           xlim=(0, n_planted))
    display(results.figure(figure, "planted", "**Figure, synthetic data.** Planted pairs found. "
                           "*See:* " + ", ".join(
                               f"{row.measure} finds them in {row[2]:.0f}"
                               for row in planted.itertuples()) + f" of {n_planted} data sets."))

# %% [markdown]
# H finds what was planted. The residual variance takes the curve of a single event for an interaction, as a plane can't follow it, so that one strong event takes part in most of its pairs. Eq. 12 as printed puts first what explains least.
#
# ## The model, and its most important events
#
# The model is that of notebook 03: all events of a program, by progress (equal shares of the instructions) or, of one run, by intervals of time, the least important dropped until the model is most accurate on unseen stretches. Runs that multiplex are cleaned first (*shrinkage*, notebook 02c). Pairs are effects of one model, so its own first events are paired; notebook 03's figure has means of resampled models, in which other events may come first. A pair takes a model of two events or more; programs whose model keeps one are named, and left out.

# %%
url = notebook.database
table = study.event_table(url)
recorded, aim = study.choose_target(url, program, target)
display(Markdown(describe_data(url, recorded)))
results.mark(study.describe_source(url, recorded))
fuse = partial(study.recorded_matrix, url, target=aim, method=method, workers=workers)
matrices = {name: fuse(name) for name in recorded}
refine = partial(study.refine, seed=seed)
refined = dict(zip(recorded, parallel_map(refine, matrices.values(), workers=workers), strict=True))
print("Of these " + ", ".join(f"{name} {len(one.ipc)} rows, {len(refined[name].events)} events kept"
                              for name, one in matrices.items()))
programs = [name for name, one in refined.items() if len(one.events) > 1]
if not programs:
    raise UnfitRecordingError(
        f"the model of {aim.name} (notebook 03) keeps one event, and a pair takes two: record "
        "more events together with it, or explain another by `-p target=EVENT`.")
for name in sorted(set(recorded) - set(programs)):
    display(results.finding(f"The model of {aim.name} keeps one event, and a pair takes two: "
                            "record more events together with it.", program=name))

# %% [markdown]
# ## Pairs by each measure

# %%
def pairs_by_measure(data_and_model):
    """Pairs of the most important events of one model, by every measure."""
    data, one = data_and_model
    return {measure: rank_pairs(data.X, data.ipc, one.events[:n_events], method=measure,
                                fitted=one.model, seed=seed) for measure in MEASURES}


models = [(matrices[name], refined[name]) for name in programs]
ranked = dict(zip(programs, parallel_map(pairs_by_measure, models, workers=workers), strict=True))
figures = study.paper_figures(programs, {"HiBench": "11", "CloudSuite 3.0": "12"})

# %%
first = {name: pairs["h_statistic"].head(SHOWN) for name, pairs in ranked.items()}
first = {name: one.assign(label=one["pair"].str.replace(" × ", "\n× "))
         for name, one in first.items()}
figure, axes = plot.ranking(first, value="importance", label="label", xlabel="importance [%]",
                            columns=1, row_height=0.36)
for ax in axes:
    ax.set_xlim(0, 1.05 * max(pairs["importance"].max() for pairs in first.values()))
strongest = {name: pairs.iloc[0] for name, pairs in first.items()}
sizes = sorted({len(pairs["h_statistic"]) for pairs in ranked.values()})
results.figure(figure, "fig11-h",
               f"**{figures}, by Friedman's H.** The first {SHOWN} of "
               f"{' to '.join(map(str, sizes))} pairs of each program, "
               "whose joint effect differs most from the sum of their single effects: shares of "
               "all pair effects [%], on one scale. They are no shares of IPC (an empty bar: below "
               "what can be drawn). *See:* the first "
               "pair has " + ", ".join(f"{pair['importance']:.0f} % ({name})"
                                       for name, pair in strongest.items()) + ".")

# %% [markdown]
# How sure is a first pair? Two tests: the same rows and events, but five models with other seeds; and the same five with a target in which no two events act together (what a model of trees with a single split predicts), so that all that H finds there is noise.

# %%
def rank_again(data_and_model):
    """Rankings by H of models with other seeds: of the target, and of one without interactions."""
    data, one = data_and_model
    X = data.X[sorted(one.events)]
    additive = regressor(boosting=Boosting(leaves=2), seed=seed).fit(X, data.ipc).predict(X)
    targets = {"measured": data.ipc, "additive": data.ipc * 0 + additive}
    return {what: [rank_pairs(X, target, one.events[:n_events], method="h_statistic", seed=seed,
                              fitted=regressor(seed=seed + 1 + more).fit(X, target))
                   for more in range(5)] for what, target in targets.items()}


reseeded = dict(zip(programs, parallel_map(rank_again, models, workers=workers), strict=True))
sure = {}
for name, tests in reseeded.items():
    pair = strongest[name]["pair"]
    shares = [r.set_index("pair").at[pair, "importance"] for r in tests["measured"]]
    noise = max(r["intensity"].max() for r in tests["additive"])
    sure[name] = {"first pair": pair, "share [%]": strongest[name]["importance"],
                  "other seeds, least": min(shares), "other seeds, most": max(shares),
                  "first in": sum(r["pair"].iloc[0] == pair for r in tests["measured"]),
                  "intensity": strongest[name]["intensity"], "largest without": noise}

# %%
sure = pd.DataFrame(sure).T.rename_axis("program").infer_objects()
steady = list(sure.index[(sure["first in"] == 5) & (sure["intensity"] > sure["largest without"])])
results.table(sure.reset_index(), "first-pairs",
              "**Table.** The first pair of each program and its share of all pair effects; its "
              "share in five models of the same rows with other seeds (least, most), and in how "
              "many of the five it comes first; its intensity [IPC²], and the largest of any pair "
              "in five models of a target without interactions. *See:* first in all five, and "
              "above what such a target gives, it is for "
              f"{', '.join(steady) or 'none'} of {len(sure)}.", decimals=3)

# %%
drawn = counterminer["dominant_percent"]
as_printed = [pairs["printed"]["importance"].iloc[0] for pairs in ranked.values()]
Markdown(f"As Eq. 12 is printed, all pairs have nearly the same share: the first has "
         f"{min(as_printed):.0f} to {max(as_printed):.0f} %. The paper draws first pairs of "
         f"{min(drawn.values()):.0f} % ({min(drawn, key=drawn.get)}) to "
         f"{max(drawn.values()):.0f} % ({max(drawn, key=drawn.get)}): Eq. 12 can't have given "
         "these on data like ours.")

# %%
flat = {(name, way): pairs for name, ways in ranked.items() for way, pairs in ways.items()}
flat = pd.concat(flat, names=["program", "measure"]).reset_index(["program", "measure"])
results.table(flat.drop(columns="pair").reset_index(drop=True), "pairs",
              "**Table.** Pairs by each measure: intensity (Eq. 12 and its readings) [IPC²], "
              "importance (Eq. 13) [%], and *h*: for H, the part of the pair's own joint effect "
              "that is not the sum of the single ones (0: none, 1: all), so that a pair that does "
              f"little may have a large one. The first {SHOWN} of {programs[0]}, of {len(flat)} "
              "rows; all in pairs.csv.", rows=SHOWN, decimals=3)

# %% [markdown]
# ## Pairs of clusters
#
# Single events that say the same share an interaction as they share importance, and which of them shows it is decided by noise. Here the clusters of notebook 03c are paired, groups of events that rise and fall together. Three models explain cycles per instruction by what each of the first six clusters adds (in a step, by ridge regressions that were fitted without the step's fold), all on the same steps and folds: a boosted one, in which clusters act *together*; one of trees of a single split, in which each acts *alone*; and least squares, which takes a *sum*. Where the first does not err less than both of the others by more than its blocks vary (*low* to *high*: a 90 % interval over twelve blocks of how much less it errs), nothing shows that any two clusters act together.

# %%
explain = partial(study.event_clusters, url, table=table, method=method, seed=seed)
asked = programs if aim == study.IPC else []  # clusters go with cycles per instruction
clusters = dict(zip(asked, parallel_map(explain, asked, workers=workers), strict=True))
clusters = {name: c for name, c in clusters.items() if c is not None and len(c.table) > 1}


def errors_of_six(c):
    """Errors [%] on held-out blocks by models of the first six clusters."""
    X, cpi = c.contributions.iloc[:, :6], c.cpi["cpi"]
    fold = blocks(X.index, 12) % 4
    summed = cross_val_predict(LinearRegression(), X, cpi, groups=fold, cv=LeaveOneGroupOut())
    found = {"together": predict_held_out(X, cpi, fold, seed=seed),
             "alone": predict_held_out(X, cpi, fold, boosting=Boosting(leaves=2), seed=seed),
             "sum": summed}
    errors = {way: relative_error(cpi, predicted) for way, predicted in found.items()}
    off = {way: 100 * (predicted - cpi).abs() / cpi for way, predicted in found.items()}
    less = off[min(("alone", "sum"), key=errors.get)] - off["together"]
    less = less.groupby(blocks(X.index, 12)).mean()
    half = stats.t.ppf(0.95, len(less) - 1) * less.sem()
    return errors | {"low": less.mean() - half, "high": less.mean() + half}

# %%
together = {}
for name, c in clusters.items():
    X, cpi = c.contributions.iloc[:, :6], c.cpi["cpi"]
    model = regressor(seed=seed).fit(X, cpi)
    ranked_pairs = rank_pairs(X, cpi, list(X), method="h_statistic", fitted=model, seed=seed)
    names = c.table["name"].set_axis(c.table["cluster"].astype(str))
    label = ranked_pairs["event_a"].map(names) + " × " + ranked_pairs["event_b"].map(names)
    together[name] = ranked_pairs.assign(label=label)

# %%
cluster_errors = pd.DataFrame({name: errors_of_six(c) for name, c in clusters.items()}).T
surely = [name for name, error in cluster_errors.iterrows() if error["low"] > 0]
worse = [name for name, error in cluster_errors.iterrows() if error["high"] < 0]

# %%
if together:
    leading = {name: list(p.loc[0, ["label", "importance"]]) for name, p in together.items()}
    leading = pd.DataFrame(leading, ["first pair", "its share [%]"]).T.infer_objects()
    judged = cluster_errors.join(leading).rename_axis("program").reset_index()
    display(results.table(judged, "cluster-pairs",
                          "**Table.** Errors of cycles per instruction [%] on held-out blocks of "
                          "three models of the same six clusters; how much less the first errs "
                          "than the better of the others, 90 % interval over blocks (*low* to "
                          "*high*); and the first pair with its share of the pair effects [%]. "
                          "*See:* where *low* is below 0, nothing shows that clusters act "
                          "together; it is above for "
                          f"{', '.join(surely) or 'none'} of {len(judged)}; where *high* is, the "
                          "first model is the worse one: "
                          f"{', '.join(worse) or 'none'}. Whether the test would notice a pair "
                          "that is there was not tried."))

# %% [markdown]
# ## How far do the measures agree, and how often are branches involved?
#
# The paper counts 98 of its 160 strongest pairs with one branch event and 36 with two, and prints the sum as 83.4 %; it is 83.75 %.

# %%
branches = [name for name in table.index
            if table.at[name, "unit"] == "branch-prediction" or "_br" in name]
rows = []
for name, by_measure in ranked.items():
    by_h = by_measure["h_statistic"].set_index("pair")["importance"]
    for measure, title in MEASURES.items():
        pairs = by_measure[measure]
        involved = pairs[["event_a", "event_b"]].isin(branches).any(axis=1)
        order = pairs.set_index("pair")["importance"]
        rows.append({"program": name, "measure": title, "first pair": pairs["pair"].iloc[0],
                     "its share [%]": pairs["importance"].iloc[0],
                     "with branch [%]": 100 * involved.head(top).mean(),
                     "of all pairs [%]": 100 * involved.mean(),
                     "rank correlation with H": order.corr(by_h, method="spearman")})
agreement = pd.DataFrame(rows)
results.table(agreement, "agreement",
              "**Table.** By each measure the first pair and its share, how many of the first "
              f"{top} pairs have a branch event, how many of all pairs have one (what a choice at "
              "random would give), and the rank correlation of all pairs with those by H.")

# %% [markdown]
# The paper explains the strong pair of retired and mispredicted branches by the one being small where the other is. That is correlation; an interaction would be an effect on IPC that neither has alone.
#
# Beside the paper's value stands the mean of the paper's own programs, by its Eq. 12; the other measures are of the model.

# %%
of_paper = study.of_suites(asked, ["HiBench", "CloudSuite 3.0"])
for measure in MEASURES.values() if of_paper else ():
    of_measure = agreement.query("measure == @measure and program in @of_paper")
    results.number(f"pairs among the first with a branch event, by {measure}",
                   of_measure["with branch [%]"].mean(), "%",
                   paper=counterminer["branch_share_percent"] if "Eq. 12" in measure else None,
                   note=f"mean of {', '.join(of_paper)}, on another processor; of all their pairs "
                        f"{of_measure['of all pairs [%]'].mean():.0f} % have one")

# %%
correlation = agreement.loc[agreement["measure"] == MEASURES["residual_variance"],
                            "rank correlation with H"]
if correlation.notna().any():  # a single pair has no order
    results.number("rank correlation of H and the residual variance, mean", correlation.mean(),
                   note="1: the same order, 0: none in common")
for row in planted.itertuples():
    results.number(f"planted pairs found by {row.measure}", row[2], f"of {n_planted} data sets",
                   note="synthetic")

# %%
found_by = {row.measure: int(row[2]) for row in planted.itertuples()}
first_pairs = "; ".join(f"{name}: `{pair['event_a']}` with `{pair['event_b']}` "
                        f"({pair['importance']:.0f} %)" for name, pair in strongest.items())
checked = ("On synthetic data with pairs that are known, H puts these first in "
           f"{found_by['H']} of {n_planted} data sets, the residual variance in "
           f"{found_by['residual variance']}, and Eq. 12 as printed in "
           f"{found_by['Eq. 12 as printed']}. " if found_by else "")
shown_or_not = (f"Of groups of events (clusters, notebook 03c) nothing shows that any two act "
                f"together in {len(cluster_errors) - len(surely)} of {len(cluster_errors)} "
                "programs; a model in which they do errs by surely more for "
                f"{', '.join(worse) or 'none'}." if len(cluster_errors) else "")
names = ", ".join(steady)
seeded = ", ".join(f"{row['other seeds, least']:.0f} to {row['other seeds, most']:.0f} % ({name})"
                   for name, row in sure.iterrows())

# %%
if len(programs) > 1:
    display(results.finding(
        f"Which two is {'sure for few programs' if steady else 'not sure for any program'}. By "
        "Friedman's H the first pair, with its share of all pair effects (not of IPC), is "
        f"{first_pairs}; in five models with other seeds these have {seeded}. First in all five, "
        "and above what a target without interactions gives, are "
        f"{len(steady)} of {len(sure)}{f' ({names})' if steady else ''}. The measures disagree: "
        f"the mean rank correlation of H and the residual variance is {correlation.mean():.2f}."))
    display(results.finding(f"{checked}{shown_or_not}"))

# %%
for name in programs:
    by_h, other = (ranked[name][measure] for measure in ("h_statistic", "residual_variance"))
    first = "; ".join(f"`{pair.event_a}` with `{pair.event_b}` ({pair.importance:.0f} % of all "
                      "pair effects)" for pair in by_h.head(2).itertuples())
    place = list(other["pair"]).index(by_h["pair"].iloc[0]) + 1
    among = (f"it comes first in {sure.at[name, 'first in']} of 5 models with other seeds, and by "
             f"the residual variance of the same model at place {place} of {len(other)}")
    text = f"What acts together: {first}, by Friedman's H. How sure is the first of them: {among}."
    single = f"The model keeps two events, {first.partition(' (')[0]}: one pair has no ranking."
    results.finding(text if len(by_h) > 1 else single, program=name)
for name, pairs in together.items():
    error = cluster_errors.loc[name]
    best = error[["alone", "sum"]].min()
    most = (f"{pairs.at[0, 'label']} have the largest of the pair effects of clusters "
            f"({pairs.at[0, 'importance']:.0f} % of all)")
    judgement = (f"Clusters act together: {most}" if error["low"] > 0 else
                 f"Nothing shows that clusters act together; in a model {most}")
    results.finding(
        f"{judgement}. A model in which clusters act together errs by "
        f"{error['together']:.1f} % on held-out stretches, the best in which each acts alone by "
        f"{best:.1f} %.", program=name)
results.numbers()

# %% [markdown]
# ## Explore
#
# All pairs of a program as a matrix, and what the model says of one of them: IPC at the pair's values, averaged over everything else; the sum of what each event does alone; and what is left, which is their interaction.
# Axes run by quantiles. Dots are the program's rows; where there are none, the model extrapolates. The size of an interaction is to be read off the last map, in units of what is explained, and not off its share of all pair effects.

# %%
def surface(model, X, a, b, n=10):
    """IPC at n quantiles of two events, averaged over rows: both, and the sum of each alone."""
    X = X[model.feature_names_in_]
    at = {event: np.unique(X[event].quantile(np.linspace(0.05, 0.95, n))) for event in (a, b)}
    rows = X.iloc[np.unique(np.linspace(0, len(X) - 1, 100).round().astype(int))]
    grid = pd.MultiIndex.from_product(at.values(), names=at)
    joint = partial_dependence(model, rows, grid.to_frame(index=False))
    joint = pd.Series(joint, grid).unstack()
    alone = [partial_dependence(model, rows, pd.DataFrame({event: at[event]})) for event in at]
    summed = np.add.outer(*alone) - model.predict(rows).mean()
    return joint, pd.DataFrame(summed, joint.index, joint.columns)


@cache
def effect_of(program, pair):
    """What the model says of a pair at its quantiles, and where among these the rows lie."""
    a, b = ranked[program]["h_statistic"].set_index("pair").loc[pair, ["event_a", "event_b"]]
    X = matrices[program].X
    effect = surface(refined[program].model, X, a, b)
    axes = effect[0].columns, effect[0].index
    places = [np.interp(X[at.name], at, np.arange(len(at)), left=np.nan, right=np.nan)
              for at in axes]
    return effect, places

# %%
from cmlib import explore


def describe(program, measure, least, pair):
    """How many pairs are shown, what the pair does, and its place by every measure."""
    (joint, summed), _ = effect_of(program, pair)
    beyond = (joint - summed).to_numpy()
    shares = ranked[program][measure]["importance"]
    shown = shares[shares >= least]
    text = (f"<p>{len(shown)} of {len(shares)} pairs reach {least:g} %; together they make up "
            f"{shown.sum():.1f} %. Both together move the prediction by "
            f"{np.ptp(joint.to_numpy()):.3f}; beyond the sum of both alone by "
            f"{beyond.min():.3f} to {beyond.max():.3f}.</p>")
    ways = {title: ranked[program][way].set_index("pair") for way, title in MEASURES.items()}
    places = [(way.index.get_loc(pair) + 1, way.at[pair, "importance"]) for way in ways.values()]
    compared = pd.DataFrame(places, list(ways), ["place", "importance [%]"])
    return text + compared.to_html(float_format="{:.1f}".format)


# %%
def draw_matrix(ax, pairs, least, pair):
    """Importance of the pairs from a threshold on, below the diagonal; one of them is ringed."""
    names = sorted({*pairs["event_a"], *pairs["event_b"]})
    cells = pairs.pivot(index="event_b", columns="event_a", values="importance")
    cells = cells.where(cells >= least).reindex(index=names, columns=names)
    numbers = [str(place) for place in range(1, len(names) + 1)]
    named = [f"{name} · {number}" for name, number in zip(names, numbers, strict=True)]
    ax.set_yticks(range(len(names)), named, fontsize=7.5)
    ax.set_xticks(range(len(names)), numbers, fontsize=7.5)
    ringed = pairs.set_index("pair").loc[pair]
    ax.plot(names.index(ringed["event_a"]), names.index(ringed["event_b"]), "s", mfc="none",
            mec="#d62728", mew=2, ms=150 / len(names))
    return ax.imshow(cells, cmap="crest", vmin=0, aspect="auto")

# %%
from matplotlib.colors import CenteredNorm


def draw_surface(ax, values, places, **colours):
    """A part of a pair's effect by quantiles of both, and the program's rows as dots."""
    ax.plot(*places, ".", color="white", mec="#222222", mew=0.4, ms=4, alpha=0.7)
    for axis, at in ((ax.xaxis, values.columns), (ax.yaxis, values.index)):
        ticks = np.unique(np.arange(4) * (len(at) - 1) // 3)
        axis.set_ticks(ticks, [f"{value:.3g}" for value in at[ticks]], fontsize=7.5)
        axis.set_label_text(at.name)
    return ax.imshow(values, origin="lower", aspect="auto", **colours)


def draw_parts(axes, effect, places):
    """A pair's joint effect, the sum of the single ones, and what is left."""
    joint, summed = effect
    both = np.stack(effect)
    same = {"cmap": "viridis", "vmin": both.min(), "vmax": both.max()}
    parts = {f"both together: {aim.name}": (joint, same),
             "sum of each alone, same colours": (summed, same),
             "what is left": (joint - summed, {"cmap": "RdBu_r", "norm": CenteredNorm()})}
    for ax, (title, (values, colours)) in zip(axes, parts.items(), strict=True):
        ax.figure.colorbar(draw_surface(ax, values, places, **colours), ax=ax, pad=0.02)
        ax.set_title(title)

# %%
from cmlib.plot import panels, styled


@styled
def draw_pairs(program, measure, least, pair):
    """All pairs of a program as a matrix, and what its model says of one of them."""
    figure, axes = panels(range(4), height=2.8)
    figure.set_layout_engine(None)  # to find the room for all anew takes longer than to draw it
    figure.subplots_adjust(0.3, 0.085, 0.955, 0.95, wspace=0.33, hspace=0.34)
    shown = draw_matrix(axes[0], ranked[program][measure], least, pair)
    figure.colorbar(shown, ax=axes[0], pad=0.02)
    axes[0].set_title(f"{program}: importance of pairs [%]")
    draw_parts(axes[1:], *effect_of(program, pair))
    for ax in axes:
        ax.grid(False)
    return figure, describe(program, measure, least, pair)


def offered(program):
    """The pairs of a program as options, the strongest by H first."""
    names = ranked[program]["h_statistic"]["pair"]
    return [(f"{place}. {name}", name) for place, name in enumerate(names, 1)]

# %%
controls = {
    "program": explore.dropdown("program", programs),
    "measure": explore.dropdown("measure", [(name, key) for key, name in MEASURES.items()]),
    "least": explore.slider("shown from [%]", 0.0, 20.0, step=0.5, value=2.0),
    "pair": explore.dropdown("pair, by H", offered(programs[0])),
}
panel = explore.Panel(draw_pairs, controls, {
    "program": lambda name: explore.offer(controls["pair"], offered(name))})
(joint, summed), _ = effect_of(programs[0], offered(programs[0])[0][1])
moved, beyond = np.ptp(joint.to_numpy()), (joint - summed).abs().max().max()
caption = ("**Figure.** The first setting of the panel that JupyterLab shows here: pairs by "
           f"Friedman's H (a white cell: less than {controls['least'].value:g} % of all), and for "
           f"the first pair, ringed, {aim.name} by both events, the sum of the single effects in "
           "the same colours, and the difference. White dots: the program's rows; away from them "
           f"the model extrapolates. *See:* both together move {aim.name} by {moved:.2g}, what is "
           f"left beyond the single effects by {beyond:.2g} at most.")
panel if notebook.interactive else results.figure(panel.figure(), "explore", caption)

# %% [markdown]
# ## What this doesn't show
#
# An interaction in a model is no mechanism in the processor: two events that stand for one cause can share its effect between them. The paper's link between the number of software tiers (of a web server, its database and so on) and the first pair takes recordings of its servers, which cmlib has not.
#
# ## On your own program
#
# `cmlib record NAME -- COMMAND` (or `cmlib import NAME FILE`), then `cmlib run live 04_interactions -p program=NAME`. Change `n_events` first: how many of the most important events are paired.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §III-D and §V-C. Friedman and Popescu, *Predictive learning via rule ensembles*, Annals of Applied Statistics 2008. Elith, Leathwick and Hastie, *A working guide to boosted regression trees*, Journal of Animal Ecology 2008.

# %%
results.save()
