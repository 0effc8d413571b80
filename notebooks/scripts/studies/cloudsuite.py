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
# # CloudSuite: do the same events explain IPC on four processors?
#
# **Question.** Do the same events explain the IPC of one of CloudSuite's programs on different processors?
#
# *Reads* recordings that others made and that come with cmlib. *Writes* the errors of models and of predictions that use no event, the most important events, and the agreement of rankings.
#
# M. Canuto recorded eight programs of CloudSuite, seven of which CounterMiner studied, for models of power (`maurocanuto/power-modelling`, Apache-2.0). The servers have Intel's Westmere (X5650) and Sandy Bridge (E5-2640, E5-2650) and AMD's Opteron 6234. About twenty events were counted, in intervals of 2 s or 10 s.

# %% [markdown] tags=["answer"]
# > **Answer** (23 recordings of CloudSuite on four processors, by others; default parameters). No: the rankings of one program on two processors hardly agree (rank correlation **0.07**, and **0.04** for two different programs). Within one recording, a model by events errs by **7.6 %** on unseen parts in the median; the previous row errs by **8.8 %** and the best constant by **30 %**. Another processor's model errs by **30 %** even with its mean corrected, as much as a constant. On the E5-2640, two of the eight programs share **6.0** of their ten most important events on average. With the programs' labels shuffled it is 6.1, so the programs are not visibly diverse. Data caches have **49 %** of the importance and a third of the events (p = 0.06). These recordings cannot show whether HiBench is more diverse.

# %% tags=["parameters"]
program: str = "all"  # programs of CloudSuite to study, separated by commas, or all
n_seeds: int = 4  # models behind the spread of an importance
top: int = 10  # events shown of each program, as in the paper's figure
seed: int = 0  # of the models
settings: dict = {}  # profile, results_folder

# %%
import re
from itertools import combinations, permutations

import numpy as np
import pandas as pd
from IPython.display import Markdown
from scipy.stats import kendalltau, spearmanr

from cmlib import plot, rank
from cmlib.experiments.published import QUICK, cloudsuite, shorten_event
from cmlib.rank.boosting import predict_held_out, regressor
from cmlib.report.notebook import begin

limits = {"n_seeds": (2, 100), "top": (3, 20), "seed": (0, 1_000_000)}
notebook = begin(
    "cloudsuite", settings, program=program, n_seeds=n_seeds, top=top, seed=seed,
)
results = notebook.results

# %%
programs = cloudsuite(program)
key, data = next(iter(programs.items()))
display(Markdown(
    f"**Data.** {len(programs)} recordings of {len({name for name, _ in programs})} programs on "
    f"{len({processor for _, processor in programs})} processors, whole machines; others' hardware "
    f"events, not the paper's. The first, {', '.join(key)}: {data.X.shape[1]} events, {data.runs} "
    f"runs, {len(data.X)} rows."))
(1000 * data.X.iloc[:5, :5]).assign(IPC=data.ipc)

# %% [markdown]
# A row is an interval, or the sum of several, so that a recording has at most 500 rows. The table shows the first five events per 1,000 instructions, and IPC. An event that only grows with the number of instructions has the same rate in every row, and explains nothing.
#
# ## Can IPC be explained at all?
#
# Models (boosted regression trees) explain the logarithm of IPC, because errors are relative (CounterMiner, Eq. 14, mean over the rows):
#
# $$err = \frac{|IPC_{meas} - IPC_{pred}|}{IPC_{meas}} \times 100\,\% \tag{14}$$
#
# Each recording is cut into twelve stretches of rows. Every fourth stretch belongs to the same fold, and each of the four folds is predicted by a model trained on the other three. Three predictions that use no event are the baselines: the *mean* of the model's rows; the *best constant*, which errs least on the model's rows; and the *previous row*'s IPC, which the model does not get.

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
medians, worse = table.median(), int((table["events"] > table["previous row"]).sum())
shown = table[["events", "previous row", "best constant", "mean"]].stack().rename("error")
shown = shown.rename_axis(["name", "processor", "by"]).reset_index()
shown["program"] = shown["name"] + ", " + shown["processor"]
shown["by"] = shown["by"].replace({"events": "model by events"})
figure, ax = plot.dots_by_program(shown, value="error", hue="by",
                                  xlabel="error on unseen stretches [%]")
ax.set_xscale("log")
ax.set_xticks(ticks := [2, 5, 10, 20, 50, 100], map(str, ticks))
ax.minorticks_off()
results.figure(
    figure, "errors",
    f"**Figure.** Error on stretches that a model never saw, n = {len(table)} recordings of "
    "others, beside predictions that look at no event. CounterMiner prints no error of CloudSuite. "
    f"*See:* the model errs by {medians['events']:.1f} % in the median, the best constant by "
    f"{medians['best constant']:.0f} %. The previous row errs less in {worse} recordings.")

# %%
results.table(table.assign(rows=[len(data.ipc) for data in programs.values()]).reset_index(),
              "errors", "**Table.** The same errors [%], first recordings.", rows=6, decimals=1)

# %%
note = f"{len(table)} recordings; worse than the previous row in {worse}; paper: none of it"
results.number("CloudSuite: error on unseen stretches, median", medians["events"], "%", note=note)
for name in ("previous row", "best constant", "mean"):
    results.number(f"CloudSuite: error of the {name}, median", medians[name], "%")

# %% [markdown]
# ## The most important events
#
# The importance of an event is its share of the reduction of the model's error by all events, in percent (CounterMiner, Eq. 10 and 11; step by step in notebook 03). Here it is the mean over models fitted to resampled stretches.

# %%
drawn = {
    name: rank.draw_importances(data.X, data.y, seeds=range(n_seeds), boosting=QUICK)
    for name, data in programs.items()
}
spreads = {name: rank.importance_spread(draws) for name, draws in drawn.items()}
on = pd.Series([processor for _, processor in spreads]).value_counts().index[0]  # most programs
panels = {}
for (name, processor), spread in spreads.items():
    if processor == on:
        first_events = spread.head(top).reset_index()
        panels[name] = first_events.assign(label=first_events["event"].map(shorten_event))

# %%
ends = {"value": "mean", "low": "low", "high": "high", "label": "label"}
figure, _ = plot.ranking(panels, **ends, xlabel="importance [%]", columns=2)
first = {name: rows["label"][0] for name, rows in panels.items()}
n_counted = max(len(spreads[name, on]) for name in panels)
last_share = max(rows["mean"].iloc[-1] for rows in panels.values())
results.figure(
    figure, "fig10",
    f"**CounterMiner, Fig. 10, on others' hardware.** The {top} most important of {n_counted} "
    f"events for IPC of each program on one processor, the {on}; lines: 5th to 95th percentile of "
    f"the models ({n_seeds}, so nearly their range). The paper shows ten of Haswell's 229 events; "
    "none of the ten was counted here. software_testing is not in the paper. *See:* "
    f"{len(set(first.values()))} different events come first in {len(first)} programs. The last "
    f"event shown has at most {last_share:.1f} %.")

# %%
results.table(pd.concat(panels, names=["program"]).reset_index("program").drop(columns="label"),
              "importances", "The figure's numbers are in importances.csv.", on_page=False);

# %% [markdown]
# How stable is such a list? *Stable* is the share of a model's first five events that are also among the first five by the mean of the other models of the same recording. *Random* is the same share for a random order.

# %%
def stability(draws):
    """Share of the first five events of each model that the mean of the others has, too [%]."""
    firsts = []
    for number in draws.index:
        others = set(draws.drop(index=number).mean().nlargest(5).index)
        firsts.append(len(others & set(draws.loc[number].nlargest(5).index)) / 5)
    return 100 * np.mean(firsts)


first = pd.DataFrame({
    name: {"first five": ", ".join(map(shorten_event, spreads[name].index[:5])),
           "stable [%]": stability(draws.reset_index(drop=True)),
           "random [%]": 100 * 5 / draws.shape[1]}
    for name, draws in drawn.items()
}).T.rename_axis(["program", "processor"])
about = (f"**Table.** The first five events of each recording; the first {min(6, len(first))} of "
         f"{len(first)}, all in first.csv. FP: floating-point operations executed (Intel). SSE: "
         "SSE operations retired (Westmere). Retired X87, MMX or SSE: such instructions (AMD). "
         "L1D, L1I: first-level caches of data and instructions. LLC: last-level cache.")
display(results.table(first.reset_index(), "first", about, decimals=0, rows=6))
note = f"each model against the others; a random order {first['random [%]'].mean():.0f} %"
stable = first["stable [%]"].mean()
results.number("CloudSuite: first five events that other models have", stable, "%", note=note)

# %% [markdown]
# ## Are the programs diverse, and of which kind are their important events?
#
# CounterMiner (§V-B) compares the ten most important events of each program. Four events of CloudSuite are in no list of HiBench, and thirteen events of HiBench are in no list of CloudSuite, so the paper calls HiBench more diverse. **Nobody recorded HiBench's programs on these processors, so the two suites cannot be compared here.** We measure how diverse CloudSuite's programs are: how many of their ten most important events two programs share, on the processor with most programs.
#
# There are two baselines. *Labels shuffled*: the models of all programs are assigned to programs at random, so that programs differ only by chance. *At random*: two lists drawn from all events that were counted.
#
# The paper also names the kinds of the important events: instruction queue, branches, TLBs, memory loads, and remote memory or caches. We add up the importance by kind. Its baseline is the share that a kind would have if all events were equally important. For the p-value, the kinds are shuffled among the events 2,000 times.

# %%
FIRST = 10
own = {name: draws.reset_index(drop=True) for (name, processor), draws in drawn.items()
       if processor == on}


def share_of_first(draws_by_program):
    """Mean number of the first ten events that two programs share."""
    lists = [set(draws.mean().nlargest(FIRST).index) for draws in draws_by_program]
    return np.mean([len(a & b) for a, b in combinations(lists, 2)])


def deal_anew(rng):
    """The models of all programs, dealt out to the programs at random."""
    models = pd.concat(own.values(), ignore_index=True).fillna(0)
    order = rng.permutation(len(models)).reshape(len(own), -1)
    return [models.iloc[rows] for rows in order]


if len(own) > 1:
    rng = np.random.default_rng(seed)
    measured = share_of_first(own.values())
    shuffled = np.array([share_of_first(deal_anew(rng)) for _ in range(300)])
    n_events = len(set().union(*own.values()))
    all_first = [set(draws.mean().nlargest(FIRST).index) for draws in own.values()]
    diversity = pd.DataFrame({
        "programs": [len(own)], "events counted": [n_events],
        "in a first ten": [len(set().union(*all_first))],
        "in every first ten": [len(set.intersection(*all_first))],
        "shared by two": [measured], "labels shuffled": [shuffled.mean()],
        "at random": [FIRST**2 / n_events],
        "p": [(1 + (shuffled <= measured).sum()) / (1 + len(shuffled))]})
    display(results.table(
        diversity, "diversity",
        f"**Table.** The ten most important events of CloudSuite's programs on the {on}: number of "
        "events in the list of some program, of every program, and of two programs on average. p: "
        "share of shuffles in which two programs share at most as many. Others' hardware.",
        decimals={"shared by two": 1, "labels shuffled": 1, "at random": 1, "p": 2}))
    results.number("CloudSuite: events of the first ten that two programs share", measured,
                   "events", note=f"labels shuffled: {shuffled.mean():.1f}; at random: "
                                  f"{FIRST**2 / n_events:.1f}")

# %%
KINDS = {"branches": r"branch", "instruction supply": r"icache|CODE_RD",
         "data caches": r"dcache|LLC|cache-misses|cache-references",
         "floating point and SIMD": r"FP_|SIMD|SSE|MMX"}


def kind_of(event):
    """What an event counts, by its name."""
    return next((kind for kind, pattern in KINDS.items() if re.search(pattern, event)), "other")


importance = pd.DataFrame({name: draws.mean() for name, draws in own.items()}).fillna(0)
importance = importance.mean(axis=1)
kind = importance.index.map(kind_of)
by_kind_share = importance.groupby(kind).sum()
equal = 100 * pd.Series(1, importance.index).groupby(kind).sum() / len(importance)
rng = np.random.default_rng(seed)
drawn_shares = pd.DataFrame([importance.groupby(rng.permutation(kind)).sum() for _ in range(2000)])
kinds = pd.DataFrame({
    "importance [%]": by_kind_share, "if all were equal [%]": equal,
    "p": (1 + (drawn_shares >= by_kind_share).sum()) / 2001})
for name in by_kind_share.index:
    results.number(f"CloudSuite: importance of events of {name}", by_kind_share[name], "%",
                   note=f"if all were equal: {equal[name]:.0f} %")
results.table(kinds.rename_axis("kind").reset_index(), "kinds",
              "**Table.** Importance by kind of event, mean of CloudSuite's programs on one "
              "processor, beside the share of events of that kind. p: share of shuffles in which "
              "the kind has at least this importance. The paper also finds events of TLBs, of the "
              "instruction queue and of remote memory important; none was counted here. Others' "
              "hardware.", decimals={"importance [%]": 0, "if all were equal [%]": 0, "p": 2})

# %% [markdown]
# ## Does a program follow the same events on every processor?
#
# Two rankings are compared on the events that both processors count, by Kendall's $\tau$: of all pairs of events, $n_c$ are in the same order in both rankings, $n_d$ in opposite ones, and $t_a$, $t_b$ are tied in one of them:
#
# $$\tau = \frac{n_c - n_d}{\sqrt{(n_c + n_d + t_a)(n_c + n_d + t_b)}}$$
#
# If a program had bottlenecks of its own, rankings of one program on two processors would agree more than those of two programs on two processors.

# %%
def tau(a, b):
    """Kendall's rank correlation of two importances."""
    order = [(np.sign(a[e] - a[f]), np.sign(b[e] - b[f])) for e, f in combinations(a.index, 2)]
    n_c = sum(in_a * in_b > 0 for in_a, in_b in order)
    n_d = sum(in_a * in_b < 0 for in_a, in_b in order)
    t_a = sum(in_a == 0 and in_b != 0 for in_a, in_b in order)
    t_b = sum(in_b == 0 and in_a != 0 for in_a, in_b in order)
    return (n_c - n_d) / np.sqrt((n_c + n_d + t_a) * (n_c + n_d + t_b))


def compare(one, other):
    """How far two rankings agree, on the events that both have."""
    common = spreads[one].index.intersection(spreads[other].index)
    a, b = (spreads[name].loc[common, "mean"] for name in (one, other))
    np.testing.assert_allclose(tau(a, b), kendalltau(a, b).statistic)
    shared = len(set(a.nlargest(5).index) & set(b.nlargest(5).index))
    same = "program" if one[0] == other[0] else "processor" if one[1] == other[1] else "neither"
    return one, other, same, len(common), tau(a, b), shared, 25 / len(common)


# %%
columns = ["one", "other", "in common", "events", "kendall", "shared", "random"]
rankings = pd.DataFrame([compare(*both) for both in combinations(spreads, 2)], columns=columns)
by_kind = rankings.groupby("in common")[columns[3:]].mean()
by_kind["pairs"] = rankings.groupby("in common").size()
about = ("**Table.** Agreement of two rankings, means over the pairs of recordings that have the "
         "program, the processor or neither in common. *events*: events that both count; "
         "*kendall*: Kendall's τ on these; *shared*: events among the first five of both; "
         "*random*: the same for two random orders. Compare *shared* with *random* only, because "
         "the fewer events there are, the more are shared.")
results.table(by_kind.reset_index(), "agreement", about)

# %% [markdown]
# The p-value is the share of random permutations of the programs' names within each processor that give as large a difference.

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
text = (f"A model by events errs by {medians['events']:.1f} % in the median of {len(table)} "
        f"recordings, the previous row by {medians['previous row']:.1f} %, the best constant by "
        f"{medians['best constant']:.0f} %.")
if "program" in by_kind.index and "neither" in by_kind.index:
    rng = np.random.default_rng(seed)
    real = gap({key: key[0] for key in spreads})
    exchanges = np.array([gap(exchanged(rng)) for _ in range(300)])
    p = (1 + (exchanges >= real).sum()) / 301
    same, apart = by_kind.loc["program", "kendall"], by_kind.loc["program", "kendall"] - real
    name = "CloudSuite: rank correlation of a program's events on two processors"
    results.number(name, same, note=f"of two programs: {apart:.2f}; p = {p:.2f}")
    results.number("CloudSuite: rank correlation of two programs' events on two processors", apart)
    yes = "Yes, to a degree" if p < 0.05 else "Not visibly"
    text = (f"{yes}: the rankings of one program's events on two processors correlate by "
            f"{same:.2f} (Kendall), those of two programs by {apart:.2f} (p = {p:.2f}; "
            f"{len(table)} recordings of CloudSuite by others). {text}")
display(results.finding(text))

# %% [markdown]
# If events are correlated, another of them can come first on another processor. Eight programs on four processors are too few to show a small effect of the program. And processors may count different things under the same name:

# %%
def rate(key, events):
    """How often some events happened per instruction in a recording."""
    total = programs[key].counts.sum()
    return total.reindex(events).sum() / total["instructions"]


def beside(processor, *events, base="Xeon-E5-2640"):
    """A processor's rate beside the E5-2640's, by program that both ran: least and most."""
    both = [name for name, other in programs if other == base and (name, processor) in programs]
    ratio = [rate((name, processor), events) / rate((name, base), events) for name in both]
    return f"{min(ratio):.2g} to {max(ratio):.2g} times ({len(ratio)} programs)"


if {"Xeon-X5650", "Xeon-E5-2650", "Xeon-E5-2640"} <= {processor for _, processor in programs}:
    display(Markdown(
        "Per instruction, the X5650 counts "
        f"{beside('Xeon-X5650', 'L1-icache-load-misses')} as many misses of the instruction cache "
        "as the E5-2640, and the E5-2650 "
        f"{beside('Xeon-E5-2650', 'LLC-load-misses', 'LLC-store-misses')} as many misses of the "
        "last-level cache."
    ))

# %% [markdown]
#
# ## Does a model of one processor explain another?
#
# A model of all rows of one processor predicts the IPC of another, by the events that both have. For *levelled*, the prediction is multiplied by the factor that corrects its mean, so that only changes along the run count. The baseline, *constant*, also uses the tested rows: it is the constant with the smallest error on them.

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
    row |= {"constant": rank.relative_error(ipc, best_constant(ipc))}
    return row | {"spearman": spearmanr(ipc, predicted).statistic}


moved = [transfer(one, other) for one, other in permutations(programs, 2) if one[0] == other[0]]
moved = pd.DataFrame(moved)
about = ("**Table.** Models moved to another processor: errors [%], and the rank correlation of "
         "predicted and counted IPC.")
if len(moved):
    display(results.table(moved, "transfer", about, rows=8))

# %%
if len(moved):
    ratio = moved.assign(ratio=moved["levelled"] / moved["constant"])
    programs_of = moved.groupby(["trained on", "tested on"]).size()
    places = {"index": "trained on", "columns": "tested on", "values": "ratio"}
    better = f"{(ratio['ratio'] < 1).sum()} of {len(moved)} transfers"
    figure, ax = plot.heat(
        ratio.pivot_table(**places, aggfunc="median"), label="error / constant's", centre=1
    )
    ax.set(xlabel="tested on", ylabel="trained on")
    display(results.figure(
        figure, "transfer",
        "**Figure.** Error of another processor's model, levelled, divided by the error of the "
        f"best constant for the tested rows: median of {programs_of.min()} to {programs_of.max()} "
        f"programs. Below 1 the model is better. *See:* it is better in {better}."))
    name = "CloudSuite: error of another processor's model, levelled, median"
    results.number(name, moved["levelled"].median(), "%", note=f"better than the constant "
                   f"of the tested rows, {moved['constant'].median():.0f} %, in {better}")
    nearer = (ratio["ratio"] < 1).mean() > 0.5
    display(results.finding(
        "A model of another processor, even with the mean made right, is "
        f"{'nearer' if nearer else 'no nearer'} than the best constant of the tested rows: it errs "
        f"less in {better} (median errors {moved['levelled'].median():.0f} and "
        f"{moved['constant'].median():.0f} %)."))
results.numbers()

# %% [markdown]
# ## What this doesn't show
#
# - The authors of the recordings chose the events. They do not say whether counts were scaled, so nothing can be cleaned.
# - Programs ran on whole machines, with other software, at unknown loads.
# - A processor's model may fail on another because the events differ, not the program.
#
# ## On your own program
#
# This page is only about recordings that others published. `cmlib run paper cloudsuite -p program=web_search,data_caching` reads some of them. The first parameter to change is `n_seeds`: more models make rankings, and so the rank correlations, more stable. For your own program: `cmlib record NAME -- COMMAND`, then `cmlib run live 03 -p program=NAME` ([notebook 03](../03_ranking.ipynb)).
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018. Recordings: M. Canuto, power-modelling.

# %%
results.save()
