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
# # CloudSuite: does one pair of events dominate the others?
#
# **Question.** Does one pair of events interact much more than all others in CloudSuite's programs, as in CounterMiner's Figure 12, and more than in data without interactions?
#
# *Reads* the recordings of [notebook studies/cloudsuite](cloudsuite.ipynb), which others made and which come with cmlib: eight programs of CloudSuite on up to four processors, about twenty events. *Writes* the strongest pairs of each recording, and the share of the first pair for IPC as recorded and for IPC without interactions.
#
# A pair's *share* is its interaction intensity in percent of that of all pairs. The *first pair* is the one with the largest share. A *recording* is all runs of a program on one processor. The paper prints the share of two first pairs of CloudSuite: 64 % in WebServing and 19 % in GraphAnalytics.

# %% [markdown] tags=["answer"]
# > **Answer** (23 recordings of CloudSuite on four processors, by others; default parameters). No pair dominates. By the paper's Eq. 12 the first of 45 pairs has **4 %** of the interaction intensity in the median recording (paper: 19 % and 64 % in two programs), and **4 %** as well if IPC is made without interactions. By Friedman's H it has **19 %**, without interactions **22 %**. The first pair exceeds all draws without interactions in **7** of 23 recordings by Eq. 12 and in **2** by H; chance alone would give 2.3. Branch events are in **22 %** of the ten strongest pairs by Eq. 12 (paper: 83.4 %), and in 22 % of all pairs.

# %% tags=["parameters"]
program: str = "all"  # programs of CloudSuite to study, separated by commas, or all
n_seeds: int = 4  # models behind an importance
n_events: int = 10  # most important events that are paired
n_shuffled: int = 9  # draws of IPC without interactions, a recording
seed: int = 0  # of the models, and of the draws
settings: dict = {}  # profile, results_folder

# %%
from itertools import combinations

import numpy as np
import pandas as pd
from IPython.display import Markdown

from cmlib import plot, rank
from cmlib.experiments.published import QUICK, cloudsuite, shorten_event
from cmlib.interact import rank_pairs
from cmlib.parallel import parallel_map
from cmlib.plot.style import PAPER
from cmlib.rank.boosting import Boosting, predict_held_out, regressor
from cmlib.report import paper
from cmlib.report.notebook import begin

limits = {"n_seeds": (2, 100), "n_events": (3, 12), "n_shuffled": (5, 1000),
          "seed": (0, 1_000_000)}
notebook = begin(
    "cloudsuite_pairs", settings, program=program, n_seeds=n_seeds,
    n_events=n_events, n_shuffled=n_shuffled, seed=seed,
)
results, workers = notebook.results, notebook.workers

# %%
programs = cloudsuite(program)
key, data = next(iter(programs.items()))
n_programs = len({name for name, _ in programs})
runs = pd.Series({key: data.runs for key, data in programs.items()})
lowest, highest = (f(len(data.X) for data in programs.values()) for f in (min, max))
display(Markdown(
    f"**Data.** {len(programs)} recordings of {n_programs} programs on "
    f"{len({processor for _, processor in programs})} processors, {runs.sum()} runs in all; "
    f"others' hardware events, not the paper's. {lowest} to {highest} rows a recording; a row is "
    "an interval, or neighbours added up where there are more than 500. The first recording, "
    f"{', '.join(key)}, has {data.X.shape[1]} events and {len(data.X)} rows of {data.runs} runs; "
    "counts of its first events:"))
data.counts.iloc[:5, :6]

# %% [markdown]
# ## A model of IPC by the most important events
#
# We pair the ten most important events of each recording, per instruction (importance as in notebook studies/cloudsuite: the mean over boosted trees fitted to resampled rows). The paper draws ten of 229 events and does not say how many it pairs; here ten is about half of all that were counted. The target is $y = \log \mathrm{IPC}$. The second measure below needs a model $f$ of $y$ as a function of these events, again boosted trees. The table shows its errors: each of four folds is predicted by a model trained on the other three. The baseline is the mean of their $y$, which uses no event. Errors are relative errors of IPC (Eq. 14).

# %%
def fit(data):
    """The most important events, and a model of log IPC by them."""
    draws = rank.draw_importances(data.X, data.y, seeds=range(n_seeds), boosting=QUICK)
    X = data.X[sorted(draws.mean().nlargest(n_events).index)]
    return X, regressor(boosting=QUICK, seed=seed).fit(X, data.y)


def held_out(data, X):
    """Errors on folds that were left out [%]: of the model, and of the mean of log IPC."""
    predicted = predict_held_out(X, data.y, data.fold, boosting=QUICK, seed=seed)
    mean = [data.y[data.fold != held].mean() for held in data.fold]
    return {"error, model [%]": rank.relative_error(data.ipc, np.exp(predicted)),
            "error, mean of log IPC [%]": rank.relative_error(data.ipc, np.exp(mean))}


# %%
models = dict(zip(programs, parallel_map(fit, programs.values(), workers), strict=True))
errors = pd.DataFrame([
    {"program": key[0], "processor": key[1], "rows": len(X)} | held_out(programs[key], X)
    | {"inputs": ", ".join(map(shorten_event, X))} for key, (X, _) in models.items()])
model_error, mean_error = errors[["error, model [%]", "error, mean of log IPC [%]"]].median()
better = (errors["error, model [%]"] < errors["error, mean of log IPC [%]"]).sum()
results.table(errors, "models", f"**Table.** Models of log IPC by {n_events} events: relative "
              "error of IPC on held-out folds, beside that of the mean of log IPC, and the "
              "events, which were chosen on all rows. FP: floating-point operations executed, "
              "L1D and L1I: first-level caches, LLC: last-level cache. *See:* in the median the "
              f"model errs by {model_error:.1f} %, the mean by {mean_error:.1f} %; the model is "
              f"better in {better} of {len(errors)} recordings.",
              rows=5, decimals=1)

# %% [markdown]
# ## Two measures of interaction
#
# **The paper's (Eq. 12).** The paper fits a linear regression, a plane, to IPC over the two events of each pair. The interaction intensity $v$ of the pair is the squared error of the plane:
#
# $$v = \sum_{i=1}^{n} (p_i - \bar p_i)^2, \qquad p_i = a + b_1 x_{i1} + b_2 x_{i2} \tag{12}$$
#
# $$I = \frac{v}{\sum v} \times 100\,\% \tag{13}$$
#
# $p_i$ is "the performance (IPC) predicted by the linear regression model", here the plane at the rates $x_{i1}, x_{i2}$ of row $i$; $\bar p$ "is the observed performance", here $y_i$. $I$ is the share. (The paper's text also sets all other events to their means. No observed IPC is at these means; [notebook 04](../04_interactions.ipynb) computes that reading as well.)

# %%
X, f = models[key]
y = data.y


def intensity(pair):
    """Eq. 12: sum of the squared differences between a plane over both events and y."""
    x = (X[pair] - X[pair].mean()) / X[pair].std()
    plane = np.column_stack([np.ones(len(X)), x])
    p = plane @ np.linalg.lstsq(plane, y, rcond=None)[0]
    return ((p - y) ** 2).sum()


v = pd.Series({(a, b): intensity([a, b]) for a, b in combinations(X, 2)})
share_of_pair = 100 * v / v.sum()  # Eq. 13
by_library = rank_pairs(X, y, list(X), fitted=f, method="printed")
by_library = by_library.set_index(["event_a", "event_b"])["importance"].loc[v.index]
np.testing.assert_allclose(by_library, share_of_pair, rtol=1e-6)
n_pairs, alike = len(v), 100 / len(v)
share_of_pair.nlargest(3).rename("share [%]").rename_axis(["event 1", "event 2"]).reset_index()

# %% [markdown]
# Eq. 12 has a fault: $v$ is largest for the pair whose plane explains IPC worst, whether its events interact or not. Also, every plane leaves some error. So one pair can have half of the total only if the planes of nearly all others leave almost none.
#
# **Friedman's H** finds planted interactions (step by step in notebook 04). $F_{ab}(x_i)$ is the mean of the model's predictions with events $a$ and $b$ as in row $i$ and all others as in each row in turn. $F_a$ and $F_b$ are the same with one event. Each has its own mean subtracted. A pair's intensity is the part of its joint effect that is not the sum of the two single effects, the numerator of H; Eq. 13 turns it into shares:
#
# $$v_H = \sum_i \big(F_{ab}(x_i) - F_a(x_i) - F_b(x_i)\big)^2 .$$
#
# We compute it on 30 rows, drawn at random.
#
# ## The largest share in data without interactions
#
# Shares add up to 100 %, so one of them is the largest even where nothing interacts. We therefore make IPC without interactions from each recording: $y = g(x) + e$. Here $g$ is a model of trees with a single split each, which is a sum of effects of single events, and $e$ is the error of $g$, in random order. The events stay as they are. The model is fitted again, all pairs are ranked, and the first pair's share is kept.

# %%
MEASURES = {"printed": "Eq. 12", "h_statistic": "Friedman's H"}
SINGLE_SPLITS = Boosting(trees=200, learning_rate=0.15, leaves=2, rows_per_leaf=3)


def rank_by_both(X, y, f):
    """Pairs by each measure, the strongest first."""
    return {measure: rank_pairs(X, y, list(X), fitted=f, method=measure, n_points=30, seed=seed)
            for measure in MEASURES}


def without_interactions(key):
    """The first pair's share by each measure [%], in draws of IPC without interactions."""
    X, y, rng, rows = models[key][0], programs[key].y, np.random.default_rng(seed), []
    g = regressor(boosting=SINGLE_SPLITS, seed=seed).fit(X, y).predict(X)
    for draw in range(n_shuffled):
        without = pd.Series(g + rng.permutation(y - g), y.index)
        f = regressor(boosting=QUICK, seed=seed + draw).fit(X, without)
        rows.append({measure: pairs["importance"].iloc[0]
                     for measure, pairs in rank_by_both(X, without, f).items()})
    return pd.DataFrame(rows)


# %%
null = dict(zip(programs, parallel_map(without_interactions, programs, workers), strict=True))
null = pd.concat(null, names=["program", "processor"]).groupby(["program", "processor"])
null = null.agg(["median", "max"])
ranked = {key: rank_by_both(X, programs[key].y, f) for key, (X, f) in models.items()}
share = pd.DataFrame({key: {measure: pairs["importance"].iloc[0]
                            for measure, pairs in by_measure.items()}
                      for key, by_measure in ranked.items()}).T
share = share.rename_axis(["program", "processor"]).sort_index()
largest = null.xs("max", axis=1, level=1)[share.columns]
is_above, expected = share > largest, len(share) / (n_shuffled + 1)
above = is_above.sum()

# %% [markdown]
# ## The first pairs

# %%
SHOWN = 10  # pairs of each program, as in the paper's figure
on = errors["processor"].value_counts().index[0]  # the processor of most programs


def label_pair(pair):
    """Both events' short names."""
    return " × ".join(map(shorten_event, pair.split(" × ")))


def count_branch_events(pair):
    """Number of the pair's events that count branches (0, 1 or 2)."""
    return sum("branch" in event for event in pair.split(" × "))


panels = {}
for (name, processor), by_measure in ranked.items():
    if processor == on:
        pairs = by_measure["printed"].head(SHOWN)
        has_branch = pairs["pair"].map(count_branch_events) > 0
        kind = np.where(has_branch, "with a branch event", "without")
        panels[name] = pairs.assign(label=pairs["pair"].map(label_pair), kind=kind)

# %%
figure, axes = plot.ranking(panels, value="importance", label="label", columns=2, hue="kind",
                            xlabel="share by Eq. 12 [%]")
printed = paper("counterminer")["interactions"]["dominant_percent"]
for ax, name in zip(axes, panels, strict=True):
    ax.axvline(alike, color="#777777", ls="--", lw=1)
    ax.set_xlim(0, 1.05 * max(printed.values()))
    if of_paper := printed.get(name.replace("_", "")):
        ax.plot([of_paper], [0], **PAPER)
first = share.xs(on, level="processor")["printed"]
results.figure(figure, "fig12", (
    f"**CounterMiner, Fig. 12, on others' hardware.** The {min(SHOWN, n_pairs)} pairs with the "
    f"largest shares by Eq. 12, of {n_pairs}, in each program on the {on}. Dashed: {alike:.1f} %, "
    "if all pairs were alike. Crosses: the paper's first pair, where it prints its share (on "
    "Haswell, other events); software_testing is not in the paper. *See:* no pair dominates; first "
    f"pairs have {first.min():.1f} to {first.max():.1f} %, and the bars fall slowly."))

# %% [markdown]
# The paper also counts branch events: of the ten strongest pairs of each of its sixteen programs, 83.4 % contain one (§V-C). The baseline is the share of all pairs that contain one, which follows from how many branch events are among those that are paired. One pair comes first in ten of the paper's programs: retired branches with mispredicted ones. The table shows the rank of this pair in each recording that has it.

# %%
BRANCHES = {"branches", "branch-misses"}


def place_of_branches(pairs):
    """Place (from 1) of branches with mispredicted branches among the pairs; NaN if not paired."""
    is_pair = [set(pair.split(" × ")) == BRANCHES for pair in pairs["pair"]]
    return is_pair.index(True) + 1 if any(is_pair) else np.nan


of_branches = []
for key, by_measure in ranked.items():
    row = {"program": key[0], "processor": key[1]}
    row["all pairs"] = 100 * (by_measure["printed"]["pair"].map(count_branch_events) > 0).mean()
    for measure, title in MEASURES.items():
        strongest = by_measure[measure]["pair"].head(SHOWN)
        row[title] = 100 * (strongest.map(count_branch_events) > 0).mean()
        row[f"place by {title}"] = place_of_branches(by_measure[measure])
    of_branches.append(row)
of_branches = pd.DataFrame(of_branches)
mean_of_branches = of_branches[["Eq. 12", "Friedman's H", "all pairs"]].mean()
means_as_text = ", ".join(f"{name} {value:.0f} %" for name, value in mean_of_branches.items())
n_paired = of_branches["place by Eq. 12"].notna().sum()
for title in MEASURES.values():
    n_first = (of_branches[f"place by {title}"] == 1).sum()
    results.number(f"CloudSuite: recordings with branches × branch misses first by {title}",
                   n_first, f"of {n_paired} recordings", note="the paper: 10 of 16 programs; by "
                   f"chance {n_paired / n_pairs:.1f}")
    results.number(f"CloudSuite: strongest {SHOWN} pairs with a branch event by {title}",
                   mean_of_branches[title], "%", note=f"all pairs: "
                   f"{mean_of_branches['all pairs']:.0f} %; the paper, both suites: 83.4 %")
results.table(of_branches, "branch-pairs", (
    f"**Table.** Share of the {SHOWN} strongest pairs that contain a branch event [%], by each "
    f"measure, and of all pairs; place of branches × branch misses among {n_pairs} pairs (– where "
    f"they are not both paired). Means of the shares: {means_as_text}."), rows=30, decimals=0)


# %%
@plot.styled
def draw_first_pairs():
    """A row a recording: the first pair's share, recorded and without interactions."""
    figure, axes = plot.panels(list(MEASURES), height=1.2 + 0.24 * len(share), sharey=True)
    for ax, measure in zip(axes, MEASURES, strict=True):
        rows = np.arange(len(share))
        low, high = (null[measure, what] for what in ("median", "max"))
        ax.hlines(rows, low, high, color="#222222", lw=2)
        ax.plot(low, rows, "|", color="#222222", ms=9, mew=2.5,
                label=f"without interactions: median of {n_shuffled} draws, line to the largest")
        ax.plot(share[measure], rows, "o", color=plot.palette(1)[0], ms=5, label="IPC as recorded")
        ax.set(xlabel=f"first pair's share by {MEASURES[measure]} [%]",
               ylim=(len(share) - 0.5, -0.5))
        ax.set_xlim(0, None)
        ax.grid(True, axis="x")
    axes[0].set_yticks(rows, [", ".join(key) for key in share.index], fontsize=8)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure, axes


# %%
figure, _ = draw_first_pairs()
excess = 100 * (share / largest - 1).where(is_above).max()
by_processor = is_above["printed"].groupby("processor").sum()
at_most = f", by at most {excess['printed']:.0f} % of the largest draw" * bool(above["printed"])
results.figure(figure, "first-pairs", (
    f"**Figure.** Share of the first of {n_pairs} pairs in each of {len(share)} recordings, by "
    "each measure (scales differ), beside IPC without interactions. *See:* a large share does not "
    f"prove an interaction: by H it reaches {null['h_statistic', 'max'].max():.0f} % without any. "
    f"The dot is beyond the line in {above['printed']} recordings by Eq. 12{at_most}; "
    f"{by_processor.max()} of these are on the {by_processor.idxmax()}. By H it is beyond the line "
    f"in {above['h_statistic']}. If nothing interacts, {expected:.1f} are expected."))

# %%
def first_of(measure):
    """The first pair of each recording, its share, and those without interactions [%]."""
    rows = share.index.to_frame(index=False)
    pairs = [ranked[key][measure]["pair"].iloc[0] for key in share.index]
    rows["first pair"] = list(map(label_pair, pairs))
    rows["its share"] = share[measure].to_numpy()
    rows["without, median"] = null[measure, "median"].to_numpy()
    rows["without, largest"] = null[measure, "max"].to_numpy()
    return rows.assign(above=np.where(is_above[measure], "yes", ""))


about_pair = (f"its share of all {n_pairs} pairs [%], the first pair's share in {n_shuffled} draws "
              "of IPC without interactions, and whether it is above all of these")
results.table(first_of("printed"), "pairs", f"**Table.** First pair of each recording by Eq. 12: "
              f"{about_pair}.", decimals=3)

# %%
results.table(first_of("h_statistic"), "pairs-h", "**Table.** First pair of each recording by "
              f"Friedman's H (often another pair): {about_pair}.", decimals=1)

# %% [markdown]
# ## The paper's values beside ours
#
# The share of each pair is smaller if there are more pairs. The table therefore also divides each share by the share of equal pairs, 100 % / number of pairs. The paper does not say how many pairs make up its 100 %; ten events have 45 pairs.

# %%
PAPER_PAIRS = 45
by_program = share.groupby("program").mean()
of_paper = pd.Series(printed).reindex(by_program.index.str.replace("_", "")).to_numpy()
beside_paper = pd.DataFrame({
    "here [%]": by_program["printed"], "here / all alike": by_program["printed"] / alike,
    "paper [%]": of_paper, "paper / all alike": of_paper * PAPER_PAIRS / 100}).dropna()
results.table(beside_paper.reset_index(), "beside-paper", (
    "**Table.** First pair's share by Eq. 12 (here: others' hardware, mean of the processors), "
    f"and as a multiple of the share of equal pairs: {alike:.1f} % here, "
    f"{100 / PAPER_PAIRS:.1f} % in the paper."), decimals=1)

# %%
note = f"mean of the processors, {n_pairs} pairs of {n_events} events"
for name, value in beside_paper["paper [%]"].items():
    for measure, title in MEASURES.items():
        value_printed = value if measure == "printed" else None
        results.number(f"CloudSuite: share of the first pair by {title}, {name}",
                       by_program.at[name, measure], "%", paper=value_printed,
                       note=f"{note}; the paper: other events")
for measure, title in MEASURES.items():
    results.number(f"CloudSuite: first pairs above those without interactions by {title}",
                   above[measure], f"of {len(share)} recordings",
                   note=f"above the largest of {n_shuffled} draws; expected {expected:.1f}")
results.number("CloudSuite: error of the models behind the pairs, median", model_error, "%",
               note=f"relative, held-out folds; mean of log IPC: {mean_error:.1f} %")

# %%
medians = {measure: (share[measure].median(), null[measure, "median"].median())
           for measure in MEASURES}
by_paper, by_h = medians["printed"], medians["h_statistic"]
for measure, title in MEASURES.items():
    for what, value in zip(("", ", without interactions"), medians[measure], strict=True):
        results.number(f"CloudSuite: share of the first pair by {title}, median{what}", value, "%")
apart = above["printed"] > 2 * len(share) / 3
display(results.finding(
    f"{'Yes' if apart else 'No'}: by the paper's Eq. 12 the first of {n_pairs} pairs has "
    f"{by_paper[0]:.0f} % of all pairs' interaction intensity in the median of {len(share)} "
    f"recordings of CloudSuite (others' hardware; {share['printed'].max():.0f} % at most; the "
    f"paper prints {' and '.join(f'{value:.0f} %' for value in sorted(printed.values()))}), and "
    f"{by_paper[1]:.0f} % in IPC without interactions. It is above all "
    f"{n_shuffled} such draws in {above['printed']} recordings ({expected:.1f} expected "
    f"if nothing interacts){at_most}. By Friedman's H it has {by_h[0]:.0f} %, without interactions "
    f"{by_h[1]:.0f} %, and is above all draws in {above['h_statistic']}."))
results.numbers()

# %% [markdown]
# ## What this doesn't show
#
# - It does not show that nothing interacts, only that the share of a first pair cannot show it on these data.
# - It does not show that the paper's shares are wrong: they come from other events on another processor.
# - The cause of a small excess by Eq. 12 is unknown; noise that changes along a run would raise it, too.
# - The paired events were chosen by the recorded IPC, also in the draws without interactions.
#
# ## On your own program
#
# This page is only about recordings that others published. For the pairs of your own program: `cmlib record NAME -- COMMAND`, then `cmlib run live 04 -p program=NAME` ([notebook 04](../04_interactions.ipynb)). The first parameter to change on this page is `n_events` (`cmlib run paper cloudsuite_pairs -p n_events=6`). More events make more pairs, and each is known less well.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, Figure 12. Friedman and Popescu, *Predictive learning via rule ensembles*, Annals of Applied Statistics 2008. Recordings: M. Canuto, power-modelling.

# %%
results.save()
