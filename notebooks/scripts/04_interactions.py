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
# # Interactions: which pairs of events act together
#
# **Question.** Which two events have a joint effect in a model of IPC that is more than the sum of what each does alone, and how sure is that?
#
# *Reads* the store (the database of all recordings, notebook 01). *Writes* the ranking of pairs by three measures, and how far they agree.
#
# IPC is instructions per cycle. CounterMiner (§III-D) trains a linear regression on each pair of important events, and takes what it leaves over for their interaction. Two readings of this and a third measure, Friedman's H, are computed here on one model of IPC (notebook 03).

# %% [markdown] tags=["answer"]
# > **Answer** (bzip2, gcc, kmeans and wordcount as recorded for this project, default parameters). No interacting pair is certain. The first pair by Friedman's H stays first with five other seeds in **0** of 4 programs; in **2** it exceeds the strongest pair of a model without interactions; **0** do both. On synthetic data with planted pairs, H finds them in **10** of 10 data sets, the residual variance in **3**, and the paper's Eq. 12 as printed in **0**.

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
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from IPython.display import Markdown
from matplotlib.colors import CenteredNorm
from scipy import stats
from sklearn.linear_model import LinearRegression

from cmlib import experiments, explore, plot
from cmlib.errors import UnfitRecordingError
from cmlib.experiments.data import describe_data
from cmlib.interact import rank_pairs
from cmlib.interact.dependence import pair_surface
from cmlib.parallel import parallel_map
from cmlib.rank import Boosting, blocks, hold_out_one_event, predict_held_out, regressor
from cmlib.report import paper
from cmlib.report.notebook import begin
from cmlib.synthetic import product_pair_data

# %%
limits = {"method": "cmlib.clean.DISTINCT_METHODS", "n_events": (3, 20), "top": (3, 45),
          "n_planted": (1, 100), "seed": (0, 1_000_000)}
notebook = begin("04_interactions", settings, program=program, target=target, method=method,
                 n_events=n_events, top=top, n_planted=n_planted, seed=seed)
results, workers, url = notebook.results, notebook.workers, notebook.database
SHOWN = 5  # pairs drawn a program; the table has all
MEASURES = {"h_statistic": "H", "residual_variance": "residual variance",
            "printed": "Eq. 12 as printed"}
counterminer = paper("counterminer")["interactions"]

# %% [markdown]
# ## The intensity of a pair
#
# The intensity $v_{ab}$ of two events $a$ and $b$ is a sum over $n$ rows $i$: all, but for H 60 drawn at random (30 of the synthetic data; all if fewer), as its cost grows with the square. In each way something is predicted for a row, and what is left over is squared:
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
# A pair's importance $I_i$ is its share of the intensities of all pairs (the paper's $i$ and $n$ now count pairs, and no rows). It is a share of pair effects, and no share of IPC: of pairs that do nothing one still has the largest, and it is largest where most others are 0.
#
# $$I_i = \frac{v_i}{\sum_{j=1}^{n} v_j} \times 100\,\% \tag{13}$$

# %%
ways = {"h_statistic": v_H, "residual_variance": v_residual, "printed": v_printed}
v = pd.DataFrame({measure: {f"{a} × {b}": way(a, b) for a, b in combinations(X, 2)}
                  for measure, way in ways.items()})
importance = 100 * v / v.sum()
for measure in ways:  # the library's faster version computes the same
    fast = rank_pairs(X, IPC, list(X), method=measure, fitted=f).set_index("pair")["importance"]
    np.testing.assert_allclose(fast.loc[v.index], importance[measure], rtol=1e-6)
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
        place[title] = 1 + max(list(ranking["pair"]).index(" × ".join(p)) for p in data.pairs)
    return place


planted = {}  # in how many data sets, by measure
if not notebook.of_program:  # a report of one's own program has nothing else in it
    last = pd.DataFrame(parallel_map(last_places, range(n_planted), workers))
    example = product_pair_data()
    n_pairs, n_all = len(example.pairs), len(list(combinations(example.X, 2)))
    planted = (last == n_pairs).sum()
    places = pd.DataFrame({"planted first": planted, "mean place": last.mean(),
                           "worst place": last.max()}).rename_axis("measure").reset_index()
    display(results.table(places, "planted", "**Table, synthetic data.** In how many of "
                          f"{n_planted} data sets, with {n_pairs} pairs planted in each, these are "
                          "first, and the place of the last of them; in random order it is "
                          f"{2 * (n_all + 1) / 3:.0f} of {n_all} on average."))

# %% [markdown]
# The planted pairs are just what H takes apart, products on top of single curves. The residual variance takes the curve of a single event for an interaction, as a plane can't follow it, so that one strong event takes part in most of its pairs. Eq. 12 as printed puts first the pair whose plane tells least of IPC, interacting or not.
#
# ## The model, and its most important events
#
# The model is that of notebook 03: all events of a program, by progress (equal shares of the instructions) or, of one run, by intervals of time, the least important dropped until the model is most accurate on unseen stretches. Where IPC is explained, events are counts per cycle: a kind of instructions, or cycles without retirement (`ex_no_retire`), then rise and fall with IPC by definition, and a pair of such events says little (notebook studies/across_programs). Runs that multiplex are cleaned first (*shrinkage*, notebook studies/repair). Pairs are effects of one model, so its own first events are paired; notebook 03's figure has means of resampled models, in which other events may come first. A pair takes a model of two events or more; programs whose model keeps one are named, and left out.

# %%
table = experiments.event_table(url)
recorded, aim = experiments.choose_target(url, program, target)
display(Markdown(describe_data(url, recorded)))
results.mark(experiments.describe_source(url, recorded))
fuse = partial(experiments.recorded_matrix, url, target=aim, method=method, workers=workers)
matrices = experiments.varying({name: fuse(name) for name in recorded})
recorded = list(matrices)
refine = partial(experiments.refine, seed=seed)
refined = dict(zip(recorded, parallel_map(refine, matrices.values(), workers=workers), strict=True))
print("Of these " + ", ".join(f"{name} {len(one.ipc)} rows, {len(refined[name].events)} events kept"
                              for name, one in matrices.items()))
programs = [name for name, one in refined.items() if len(one.events) > 1]
if not programs:
    raise UnfitRecordingError(
        f"the model of {aim.name} (notebook 03) keeps one event, and a pair takes two: record "
        "more events together with it, or explain another by `-p target=EVENT`.")
for name in sorted(set(recorded) - set(programs)):
    display(results.finding(f"Its model of {aim.name} keeps one event, and a pair takes two: "
                            "record more events together with it.", program=name))

# %% [markdown]
# ## The first pairs, and how sure they are
#
# Two tests: five models of the same rows, events and settings, with other seeds (each tree sees a random half of the rows); and the same five with a target in which no two events act together (what a model of trees with a single split predicts), so that all that H finds there is noise.

# %%
def pairs_by_measure(data_and_model):
    """Pairs of the most important events of one model, by every measure."""
    data, one = data_and_model
    return {measure: rank_pairs(data.X, data.ipc, one.events[:n_events], method=measure,
                                fitted=one.model, seed=seed) for measure in MEASURES}


models = [(matrices[name], refined[name]) for name in programs]
ranked = dict(zip(programs, parallel_map(pairs_by_measure, models, workers=workers), strict=True))
figures = experiments.paper_figures(programs, {"HiBench": "11", "CloudSuite 3.0": "12"})

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
first = {name: pairs["h_statistic"].head(SHOWN) for name, pairs in ranked.items()}
strongest = {name: pairs.iloc[0] for name, pairs in first.items()}

# %%
def span(values):
    return f"{values.min():.1f} to {values.max():.1f}"


sure = {}
for name, tests in reseeded.items():
    pair = strongest[name]
    by_seed = pd.concat([r.set_index("pair")["importance"] for r in tests["measured"]], axis=1)
    first[name] = first[name].join(by_seed.T.agg(["min", "max"]).T, on="pair")
    again, their_first = by_seed.loc[pair["pair"]], by_seed.max()
    sure[name] = {"first pair": pair["pair"], "share [%]": pair["importance"],
                  "other seeds": span(again), "first in": (again == their_first).sum(),
                  "their first": span(their_first), "intensity": pair["intensity"],
                  "largest without": max(r["intensity"].max() for r in tests["additive"])}
sure = pd.DataFrame(sure).T.rename_axis("program").infer_objects()
same_first, above = sure["first in"] == 5, sure["intensity"] > sure["largest without"]
steady = list(sure.index[same_first & above])

# %%
shown = {name: pairs.assign(label=pairs["pair"].str.replace(" × ", "\n× "), sure=np.where(
    (pairs.index == 0) & (name in steady), "sure", plot.UNDECIDED))
    for name, pairs in first.items()}
figure, axes = plot.ranking(shown, value="importance", low="min", high="max", label="label",
                            xlabel="importance [%]", columns=1, row_height=0.36, hue="sure")
for ax in axes:
    ax.set_xlim(0, 1.05 * max(p[["importance", "max"]].max().max() for p in first.values()))
of_paper = experiments.of_suites(programs, ["HiBench", "CloudSuite 3.0"])
sizes = sorted({len(pairs["h_statistic"]) for pairs in ranked.values()})
alone = [name for name, pairs in first.items() if pairs["importance"][0] > pairs["max"][0]]
results.figure(
    figure, "fig11-h",
    f"**{figures}, by Friedman's H.** The first {SHOWN} of {' to '.join(map(str, sizes))} pairs of "
    "each program: shares of all pair effects [%], not of IPC; lines: least to most in five models "
    "with other seeds; grey: not sure (below). *See:* of the first pairs, the bar ends beyond the "
    f"line in {', '.join(alone) or 'none'}: that share is one seed's. In the paper's figures, of "
    "other pairs and recordings and by its Eq. 12, the first pair has "
    f"{span(pd.Series(counterminer['dominant_percent']))} %.")

# %%
results.table(sure.reset_index(), "first-pairs",
              "**Table.** The first pair, its share of all pair effects, and that in five models "
              "with other seeds; in how many it is first, and the share of the pair that is first "
              "there (*their first*); its intensity [IPC², sum over 60 rows or all], and the "
              "largest in five models of a target without interactions (*largest without*). *See:* "
              "the first is sure if *first in* is 5, and *intensity* above the last.", decimals=3)

# %% [markdown]
# Why is a share many times as large in one model as in the others? Nothing but the seed differs, and with the same seed the model comes out the same. The others have a strong first pair, too, but another (*their first*): a tree sees half the rows, which decide on which of several events that count nearly the same it splits, and a pair has no effect in a model that does not use one of its events. What the events of the first pairs count:

# %%
texts = table["description"].fillna("").str.split(". ", regex=False).str[0].str.rstrip(".")
display(Markdown("\n".join(f"- {name}: " + "; ".join(
    f"`{event}`: {texts.get(event) or 'no description known'}"
    for event in pair[["event_a", "event_b"]]) for name, pair in strongest.items())))
flat = {(name, way): pairs for name, ways in ranked.items() for way, pairs in ways.items()}
flat = pd.concat(flat, names=["program", "measure"]).reset_index(["program", "measure"])
results.table(flat.drop(columns="pair").reset_index(drop=True), "pairs",
              "**Table.** Pairs by each measure: intensity [IPC²], importance (Eq. 13) [%], and "
              "*h*: root of the share of H's sum in that of the pair's squared joint effect (0: no "
              f"interaction, 1: nothing else). By H, of {programs[0]}.", rows=SHOWN, decimals=3)

# %% [markdown]
# ## Does a model with interactions predict better?
#
# Boosted trees of a single split each are a sum of effects of single events; deeper trees can let events act together. Both kinds take the events above and predict each of four folds of stretches of the program from the other three. The events were chosen by models with interactions, which favours these.

# %%
def held_out_errors(data_and_model):
    """Errors [% of the mean] on held-out stretches, and by how much that together is less."""
    data, one = data_and_model
    stretch = blocks(data.ipc.index, 12)
    fold, X = stretch % 4, data.X[one.events]
    means = [data.ipc[fold != held].mean() for held in fold]
    simple = {"one event": hold_out_one_event(X, data.ipc, fold), "mean": means}
    errors = {way: 100 * (data.ipc - predicted).abs() / data.ipc.mean()
              for way, predicted in simple.items()}
    for way, boosting in (("together", Boosting()), ("alone", Boosting(leaves=2))):
        predicted = predict_held_out(X, data.ipc, fold, seed=seed, boosting=boosting)
        errors[way] = 100 * (data.ipc - predicted).abs() / data.ipc.mean()
    errors = pd.DataFrame(errors).groupby(stretch).mean()
    less = errors["alone"] - errors["together"]
    half = stats.t.ppf(0.95, len(less) - 1) * less.sem()
    return errors.mean().to_dict() | {
        "less": less.mean(), "low": less.mean() - half, "high": less.mean() + half}


judged = pd.DataFrame(parallel_map(held_out_errors, models, workers=workers), programs)
gains = [name for name, error in judged.iterrows() if error["low"] > 0]

# %%
results.table(judged.rename_axis("program").reset_index(), "held-out",
              f"**Table.** Error of {aim.name} on twelve held-out stretches [% of its mean]: "
              "a line through *one event* and the *mean* of the other folds; events *together* and "
              "each *alone*; by how much the first errs *less*, with a 90 % "
              "interval (*low* to *high*; rather too narrow, as three stretches share a model). "
              f"*See:* *low* is above 0 for {', '.join(gains) or 'none'} of {len(judged)}, *high* "
              f"below 0 for {(judged['high'] < 0).sum()}.", decimals=3)

# %% [markdown]
# ## How far do the measures agree, and how often are branches involved?
#
# The paper counts 98 of its 160 strongest pairs with one branch event and 36 with two, and prints the sum as 83.4 %; it is 83.75 %. It explains the strong pair of retired and mispredicted branches by the one being small where the other is. That is correlation; an interaction would be an effect on IPC that neither has alone.

# %%
named = table["description"].str.contains(r"^[^(]*(?:branch|far transfer)", case=False)
rows = []
for name, by_measure in ranked.items():
    by_h = by_measure["h_statistic"].set_index("pair")["importance"]
    for measure, title in MEASURES.items():
        pairs = by_measure[measure].set_index("pair")
        involved = pairs[["event_a", "event_b"]].isin(table.index[named]).any(axis=1)
        both = pd.DataFrame({"this": pairs["importance"], "H": by_h})
        rows.append({"program": name, "measure": title, "first pair": pairs.index[0],
                     "its share [%]": pairs["importance"].iloc[0],
                     "with branch [%]": 100 * involved.head(top).mean(),
                     "of all pairs [%]": 100 * involved.mean(),
                     "rank correlation with H": both.corr(method="spearman").loc["this", "H"]})
agreement = pd.DataFrame(rows)
by_way = agreement.pivot(index="program", columns="measure")
correlation = by_way["rank correlation with H"]
of_printed = by_way.xs("Eq. 12 as printed", axis=1, level="measure")

# %%
display(results.table(agreement, "agreement",
              "**Table.** By each measure the first pair and its share (equal shares would be "
              f"{' to '.join(f'{100 / n:.1f}' for n in sizes[::-1])} %), how many of the first "
              f"{top} pairs have a branch event, how many of all pairs have one (what a choice at "
              "random would give), and the rank correlation of all pairs with those by H."))
if of_paper:
    of_printed = of_printed.loc[of_paper]
    results.number(f"strongest {top} pairs with a branch event, by Eq. 12 as printed",
                   of_printed["with branch [%]"].mean(), "%",
                   paper=counterminer["branch_share_percent"],
                   note=f"mean of {', '.join(of_paper)} here; of all their pairs "
                        f"{of_printed['of all pairs [%]'].mean():.0f} %; the paper's as printed")
results.number("programs whose first pair by H stays first with other seeds", same_first.sum(),
               note=f"of {len(sure)}")
results.number("programs whose first pair by H exceeds a model without interactions",
               above.sum(), note=f"of {len(sure)}")
results.number("programs whose first pair by H is sure", len(steady), note=f"of {len(sure)}")
for measure, n in planted.items():
    results.number(f"synthetic data with planted pairs first by {measure}", n, f"of {n_planted}")

# %%
first_pairs = "; ".join(
    f"{name}: `{pair['event_a']}` with `{pair['event_b']}` ({pair['importance']:.0f} %; "
    f"{sure.at[name, 'other seeds']} %)" for name, pair in strongest.items())
checked = ", ".join(f"by {measure} in {n}" for measure, n in planted.items())
checked = f"On synthetic data the planted pairs come first {checked} of {n_planted} data sets. "
if len(programs) > 1:
    display(results.finding(
        f"{'Few' if steady else 'No'} interacting pairs are sure: of {len(sure)} programs' first "
        f"pairs in a model of {aim.name}, {same_first.sum()} stay first with five other seeds, "
        f"{above.sum()} exceed the largest pair of a model without interactions, {len(steady)} do "
        "both. That letting events act together predicts held-out stretches better (90 %) can be "
        f"said of {len(gains)} of {len(judged)} programs{': ' * bool(gains)}{', '.join(gains)}."))
    display(results.finding(
        "First pairs by Friedman's H, with their share of all pair effects (not of IPC) and that "
        f"in the five models with other seeds: {first_pairs}."))
    display(results.finding(
        f"{checked * bool(len(planted))}On the recordings the measures disagree: the mean rank "
        "correlation of all pairs by H and by the residual variance is "
        f"{correlation['residual variance'].mean():.2f}, by H and by Eq. 12 as printed "
        f"{correlation['Eq. 12 as printed'].mean():.2f}."))

# %%
for name in programs:
    by_h, error = ranked[name]["h_statistic"], judged.loc[name]
    pairs = "; ".join(f"`{pair.event_a}` with `{pair.event_b}` ({pair.importance:.0f} % of all "
                      "pair effects)" for pair in by_h.head(2).itertuples())
    results.finding(
        f"What acts together, by Friedman's H: {pairs}. How sure: the first comes first in "
        f"{sure.at[name, 'first in']} of 5 models with other seeds; a model in which events act "
        f"together errs by {error['together']:.1f} % on held-out stretches, one in which each acts "
        f"alone by {error['alone']:.1f} %.", program=name)
results.numbers()

# %% [markdown]
# ## Explore
#
# What the model says of one pair: IPC at the pair's values, averaged over everything else; the sum of what each event does alone; and what is left, which is their interaction, in units of what is explained. Axes run by quantiles (equal steps hold equal numbers of rows), so that their numbers are uneven. Dots are the program's rows; where there are none, the model extrapolates.

# %%
def draw_surface(ax, values, X, **colours):
    """A quantity by quantiles of two events, at equal distances, and a dot for each row of X."""
    axes = {ax.xaxis: values.columns, ax.yaxis: values.index}
    dots = [np.interp(X[at.name], at, np.arange(len(at)), left=np.nan, right=np.nan)
            for at in axes.values()]
    ax.plot(*dots, ".", color="white", mec="#222222", mew=0.4, ms=4, alpha=0.7)
    for axis, at in axes.items():
        ticks = sorted({part * (len(at) - 1) // 3 for part in range(4)})
        axis.set_ticks(ticks, [f"{value:.2g}" for value in at[ticks]], fontsize=7.5)
        axis.set_label_text(at.name)
    ax.figure.colorbar(ax.imshow(values, origin="lower", aspect="auto", **colours), ax=ax, pad=0.02)
    ax.grid(False)

# %%
@plot.styled
def draw_pair(program, pair):
    """A pair's joint effect, the sum of the single ones, and what is left; and how large it is."""
    X = matrices[program].X
    joint, summed = pair_surface(refined[program].model, X, *pair.split(" × "))
    low, high = np.min([joint, summed]), np.max([joint, summed])
    same = {"cmap": "viridis", "vmin": low, "vmax": high}
    parts = {f"both together: {aim.name}": (joint, same), "sum of each alone": (summed, same),
             "what is left": (joint - summed, {"cmap": "RdBu_r", "norm": CenteredNorm()})}
    figure, axes = plot.panels(parts, columns=3, height=2.6)
    for ax, (title, (values, colours)) in zip(axes, parts.items(), strict=True):
        draw_surface(ax, values, X, **colours)
        ax.set_title(title)
    return figure, (f"Both together move {aim.name} by {np.ptp(joint.to_numpy()):.2g}; what is "
                    f"left is {(joint - summed).abs().max().max():.2g} at most.")

# %%
offered = {name: list(pairs["h_statistic"]["pair"]) for name, pairs in ranked.items()}
controls = {"program": explore.dropdown("program", programs),
            "pair": explore.dropdown("pair, by H", offered[programs[0]])}
panel = explore.Panel(draw_pair, controls, {
    "program": lambda name: explore.offer(controls["pair"], offered[name])})
caption = (f"**Figure.** The first pair by H of {programs[0]} (in JupyterLab any can be chosen): "
           f"{aim.name} by both events, the sum of the single effects in the same colours, and the "
           "difference. White dots: rows. *See:* "
           + draw_pair(programs[0], controls["pair"].value)[1])
panel if notebook.interactive else results.figure(panel.figure(), "explore", caption)

# %% [markdown]
# ## What this doesn't show
#
# That H finds pairs in data like these: what was planted has the form that H measures, and no two synthetic events count nearly the same, as recorded ones often do. The target without interactions is a model's output, with less noise than IPC as recorded, so that to exceed it is easy. The events are those of one seed's model, and rows are not resampled as in notebook 03. An interaction in a model is no mechanism in the processor: two events that stand for one cause can share its effect between them. The paper's link between the number of software tiers (of a web server, its database and so on) and the first pair takes recordings of its servers, which cmlib has not.
#
# ## On your own program
#
# `cmlib record NAME -- COMMAND` (or `cmlib import NAME FILE`), then `cmlib run live 04_interactions -p program=NAME`. Change `n_events` first: how many of the most important events are paired.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §III-D and §V-C. Friedman and Popescu, *Predictive learning via rule ensembles*, Annals of Applied Statistics 2008. Elith, Leathwick and Hastie, *A working guide to boosted regression trees*, Journal of Animal Ecology 2008.

# %%
results.save()
