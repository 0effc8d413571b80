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
# # CloudSuite's pairs: which events interact for IPC, and what the programs miss
#
# **Question.** Does one pair of events dominate the IPC of each of CloudSuite's programs, as CounterMiner's Figure 12 has it?
#
# *Reads* the recordings of [notebook 09a](09a_cloudsuite.ipynb), which others made and which come with cmlib: eight programs of CloudSuite on up to four processors, about twenty events. *Writes* misses per instruction, and the pairs that interact most.
#
# CounterMiner prints first pairs of 19 % (GraphAnalytics) to 64 % (WebServing) of all interaction, on Haswell with 229 events.

# %% tags=["parameters"]
program: str = "all"  # programs of CloudSuite to study, separated by commas, or all
n_seeds: int = 4  # models behind an importance
n_events: int = 6  # most important events that are paired
seed: int = 0  # of the models
settings: dict = {}  # profile, results_folder

# %%
from itertools import combinations

import numpy as np
import pandas as pd
from IPython.display import Markdown

from cmlib import plot, rank
from cmlib.experiments.published import QUICK, cloudsuite
from cmlib.interact import rank_pairs
from cmlib.plot.style import PAPER
from cmlib.rank.boosting import regressor
from cmlib.report import paper
from cmlib.report.notebook import begin

limits = {"n_seeds": (2, 100), "n_events": (3, 12), "seed": (0, 1_000_000)}
notebook = begin(
    "09e_cloudsuite_misses", settings, program=program, n_seeds=n_seeds,
    n_events=n_events, seed=seed,
)
results = notebook.results

# %%
programs = cloudsuite(program)
key, data = next(iter(programs.items()))
display(Markdown(
    f"**Data.** {len(programs)} recordings of {len({name for name, _ in programs})} programs on "
    f"{len({processor for _, processor in programs})} processors; others' hardware events, not the "
    f"paper's. The first, {', '.join(key)}: {data.X.shape[1]} events, {len(data.X)} rows."))
data.counts.iloc[:5, :6]

# %% [markdown]
# A row is an interval, or several added up; the first events of one recording.
#
# ## What the programs miss
#
# Misses per 1,000 instructions over all runs of a recording.

# %%
def misses(data):
    """IPC and misses per 1,000 instructions."""
    total = data.counts.sum()
    per = 1000 * total / total["instructions"]
    last = total.reindex(["LLC-load-misses", "LLC-store-misses"]).sum()
    row = {"IPC": total["instructions"] / total["cycles"]}
    row |= {"instruction cache": per["L1-icache-load-misses"]}
    row |= {"data cache": per["L1-dcache-load-misses"], "branches": per["branch-misses"]}
    return row | {"last level": 1000 * last / total["instructions"]}


table = pd.DataFrame({key: misses(data) for key, data in programs.items()}).T
table = table.rename_axis(["program", "processor"])
analytics = [name.endswith("analytics") for name, _ in table.index]
by_kind = table["instruction cache"].groupby(analytics).median()

# %%
figure, _ = plot.dots_by_program(table.reset_index(), value="instruction cache", hue="processor",
                                 xlabel="misses of the instruction cache per 1,000 instructions")
seen = "; ".join(f"{'analytics' if kind else 'other programs'} {value:.0f} in the median"
                 for kind, value in by_kind.items())
display(results.figure(
    figure, "instruction-cache",
    "**Figure.** Misses of the first-level instruction cache, all runs of a recording; others' "
    f"hardware. *See:* {seen}."))
results.table(table.reset_index(), "misses", "**Table.** IPC, misses per 1,000 instructions, "
              "first recordings.", rows=6)

# %%
results.number("CloudSuite: instruction-cache misses per 1,000 instructions, median",
               table["instruction cache"].median(),
               note=f"branch misses: {table['branches'].median():.1f}")

# %% [markdown]
# On the E5-2650 the last-level event counts hardly anything, and on the X5650 the event of the instruction cache counts several times what it does elsewhere for the same programs: probably another event by the same name. Ferdman et al. (ASPLOS 2012), the suite's authors, say of the X5650 that such programs miss in the instruction cache far more than desktop programs; no desktop program is among these recordings.
#
# ## Which pairs interact?
#
# The most important events of a recording are the inputs of a model $f$ of the logarithm of IPC, $y$. Around a pair, all other events stand at their means; what a plane over the pair leaves of the model's predictions, or of the observed $y$ themselves, is its intensity $v$, and its share of all pairs' its importance:
#
# $$v_{model} = \sum_i \big(f(x_i) - a - b^\top x_i\big)^2, \qquad v_{printed} = \sum_i \big(y_i - a - b^\top x_i\big)^2 \tag{12}$$
#
# $$I = \frac{v}{\sum v} \times 100\,\% \tag{13}$$
#
# Eq. 12 is printed with the observed values (*printed*); the text asks for the model's (*residual variance*; Elith, Leathwick and Hastie 2008).

# %%
draws = rank.draw_importances(data.X, data.y, seeds=range(n_seeds), boosting=QUICK)
X = data.X[sorted(draws.mean().nlargest(n_events).index)]
f = regressor(boosting=QUICK, seed=seed).fit(X, data.y)


def beyond_plane(pair, y):
    """Sum of the squared residuals of a plane over both events."""
    z = (X[pair] - X[pair].mean()) / X[pair].std()
    plane = np.column_stack([np.ones(len(X)), z])
    return ((y - plane @ np.linalg.lstsq(plane, y, rcond=None)[0]) ** 2).sum()


v = {}
for a, b in combinations(X, 2):
    at_means = pd.DataFrame([X.mean()] * len(X), X.index)
    around = at_means.assign(**{a: X[a], b: X[b]})
    v[a, b] = {"residual_variance": beyond_plane([a, b], f.predict(around)),
               "printed": beyond_plane([a, b], data.y.to_numpy())}
v = pd.DataFrame(v).T
I_pairs = 100 * v / v.sum()

# %%
for measure in I_pairs:  # the library's faster version computes the same
    ranking = rank_pairs(data.X, data.y, list(X), fitted=f, method=measure)
    ranking = ranking.set_index(["event_a", "event_b"])["importance"].loc[I_pairs.index]
    np.testing.assert_allclose(ranking, I_pairs[measure], rtol=1e-6)
print(f"{', '.join(key)}: {len(v)} pairs of {n_events} events; if all were alike, each would have "
      f"{100 / len(v):.1f} %")
I_pairs.sort_values("residual_variance", ascending=False).head(4).round(1)

# %% [markdown]
# The residual variance takes any bend of one event for an interaction; Friedman's H (notebook 04: how much of the model's joint effect of two events is not the sum of their single effects) does not, and finds interactions that were planted. The figure is by H, the table has all three.

# %%
def pairs_of(data):
    """Pairs of the most important events by each measure, the strongest first."""
    draws = rank.draw_importances(data.X, data.y, seeds=range(n_seeds), boosting=QUICK)
    first = list(draws.mean().nlargest(n_events).index)
    model = regressor(boosting=QUICK, seed=seed).fit(data.X[sorted(first)], data.y)
    return {measure: rank_pairs(data.X, data.y, first, fitted=model, method=measure, seed=seed)
            for measure in ("h_statistic", "residual_variance", "printed")}


def leading(pairs):
    """The first pair, by each measure its share [%], and the share of pairs with branches."""
    h, by_variance, printed = pairs.values()
    either = by_variance[["event_a", "event_b"]].isin(["branches", "branch-misses"]).any(axis=1)
    row = {"first pair by H": h["pair"].iloc[0], "by H": h["importance"].iloc[0]}
    row |= {"residual variance": by_variance["importance"].iloc[0]}
    row |= {"Eq. 12 printed": printed["importance"].iloc[0]}
    row |= {"with branches": by_variance["importance"][either].sum()}
    return row | {"of pairs": 100 * either.mean()}


paired = {key: pairs_of(data) for key, data in programs.items()}
found = pd.DataFrame({key: leading(pairs) for key, pairs in paired.items()}).T.infer_objects()
found = found.rename_axis(["program", "processor"]).reset_index()

# %%
on = found["processor"].value_counts().index[0]  # the processor of most programs
panels = {}
for (name, processor), pairs in paired.items():
    if processor == on:
        names = pairs["h_statistic"]["pair"].str.replace("FP_COMP_OPS_EXE_", "FP: ")
        rows = pairs["h_statistic"].assign(label=names.str.replace(" × ", "\n× "))
        panels[name] = rows.head(3)
figure, axes = plot.ranking(panels, value="importance", label="label", xlabel="importance [%]",
                            columns=2, row_height=0.42)
printed = paper("counterminer")["interactions"]["dominant_percent"]
for ax, name in zip(axes, panels, strict=True):
    if share := printed.get(name.replace("_", "")):
        ax.plot([share], [0], label="paper, first pair", **PAPER)
h, alike = found["by H"], 100 / len(v)
results.figure(figure, "fig12", f"**CounterMiner, Fig. 12.** The three strongest of {len(v)} pairs "
               f"of each program on the {on}, by Friedman's H, as a share of all; crosses: the "
               "first pair's share where the paper prints it, by Eq. 12 of the 45 pairs of ten "
               "events on Haswell (2.2 % each if all were alike), so that bar and cross are two "
               "measures; software_testing is not in the "
               "paper. *See:* first pairs have "
               f"{min(rows['importance'].iloc[0] for rows in panels.values()):.0f} to "
               f"{max(rows['importance'].iloc[0] for rows in panels.values()):.0f} %.")

# %%
results.table(found, "pairs", "**Table.** First pair of each recording by H, and the share of the "
              "first pair by each measure [%]; interaction (residual variance) of pairs with an "
              "event of branches, and how many of the pairs have one [%].", decimals=1)

# %% [markdown]
# ## What the paper printed, and what was measured here
#
# The paper's data are ten events of 229 on Haswell; here six of about twenty, on other processors, recorded by others.

# %%
for name, value in printed.items():
    rows = found[found["program"].str.replace("_", "") == name]
    if len(rows):
        results.number(f"CloudSuite: interaction of the first pair by Eq. 12, {name}",
                       rows["Eq. 12 printed"].mean(), "%", paper=value,
                       note=f"{n_events} events, mean of the processors; paper: ten of 229")
        results.number(f"CloudSuite: the same by the residual variance, {name}",
                       rows["residual variance"].mean(), "%", note="of the model's predictions")
        results.number(f"CloudSuite: the same by Friedman's H, {name}", rows["by H"].mean(), "%",
                       note="of the model's predictions")
beyond = (found["with branches"] - found["of pairs"]).mean()
results.number("CloudSuite: interaction with branches beyond their share of pairs", beyond,
               "percentage points", note="residual variance")
in_first = [pairs["h_statistic"][["event_a", "event_b"]].iloc[0] for pairs in paired.values()]
with_branches = sum(first.isin(["branches", "branch-misses"]).any() for first in in_first)
same_way = [f"{row['Eq. 12 printed'].mean():.0f} % ({name}; the paper {printed[called]} %)"
            for name, row in found.groupby("program")
            if (called := name.replace("_", "")) in printed]

# %%
display(results.finding(
    f"{'No' if (h >= 50).mean() < 0.5 else 'Mostly'}: by Friedman's H (what of two events' "
    f"joint effect is not the sum of their single ones) one of {len(v)} pairs has half of all "
    f"interaction or more in {(h >= 50).sum()} of {len(found)} recordings of CloudSuite; "
    f"the first pair has {h.min():.0f} to {h.max():.0f} % (median {h.median():.0f} "
    f"%; {alike:.1f} % if all were alike). By the paper's own measure (Eq. 12 as printed) it has "
    f"{found['Eq. 12 printed'].min():.0f} to {found['Eq. 12 printed'].max():.0f} %."))
display(results.finding(
    "Where the paper prints a share, Eq. 12 gives, in the mean of the processors: "
    + (", ".join(same_way) or "none of these programs") + ". An event of branches is in the first "
    f"pair by H in {with_branches} of {len(found)} recordings."))
results.numbers()

# %% [markdown]
# ## What this doesn't show
#
# Most of the pairs that the paper draws hold an event of branches, of which it counted many; here two of about twenty events are of branches. One recording of a program is one run on one machine, or a few, and no interval is given: with other events counted, other pairs would come first.
#
# ## On your own program
#
# This page is only about recordings that others published. Pairs of your own program: `cmlib record NAME -- COMMAND`, then `cmlib run live 04 -p program=NAME` ([notebook 04](04_interactions.ipynb)). To change first, here (`cmlib run paper 09e -p n_events=10`): `n_events`; more events make more pairs, each known less well.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, Figures 11 and 12. Ferdman et al., *Clearing the Clouds*, ASPLOS 2012. Recordings: M. Canuto, power-modelling.

# %%
results.save()
