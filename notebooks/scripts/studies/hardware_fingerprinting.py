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
# # Fingerprinting: which hardware bottleneck, in which slice of the run
#
# **Question.** Can a decision tree that was trained on small programs with one known bottleneck each identify the bottlenecks of a real program?
#
# *Reads* the recordings that `cmlib record-micro` makes with a processor's counters (without any: notebook 05). *Writes* the key events, the tree and its rules, its accuracy, and the phases of programs that it was not trained on.
#
# Each micro-benchmark has a pathological form (P) and a non-pathological form (N). Their runs are cut into time slices of equal length; counts are divided by the slice's cycles; the few events that tell the classes apart are selected; a C4.5 tree learns the classes (Yoo et al. 2012).

# %% [markdown] tags=["answer"]
# > **Answer** None yet. This notebook needs micro-benchmarks recorded with hardware counters, and no such recording comes with cmlib; `cmlib record-micro` makes one. Notebook 05 trains the same tree on simulated counts.

# %% tags=["parameters"]
program: str = "all"  # recording whose timeline is drawn; all: the one of most kinds of phases
slice_s: float = 0.4  # length of a time slice [s]
quantile: float = 0.99  # of training slices that must not be unknown to the other programs
margin: float = 1.0  # how many times farther a slice may lie before it is unknown
seed: int = 0  # of the folds
settings: dict = {}  # interactive, profile, results_folder

# %%
import numpy as np
import pandas as pd

import cmlib.plot.fingerprint as plot
from cmlib import explore
from cmlib.errors import NothingRecordedError
from cmlib.experiments import diagnosis
from cmlib.experiments.micro import fingerprint
from cmlib.experiments.micro.cache_levels import plateaus
from cmlib.experiments.micro.programs import table_1
from cmlib.experiments.micro.recordings import cut
from cmlib.experiments.micro.validation import validate
from cmlib.fingerprint.c45 import C45Classifier
from cmlib.fingerprint.diagnosis import score_programs
from cmlib.fingerprint.unknown import UnknownRejector
from cmlib.plot.style import single, styled
from cmlib.report import paper
from cmlib.report.notebook import begin

# %%
limits = {
    "slice_s": (0.1, 10.0), "quantile": (0.5, 1.0), "margin": (0.1, 10.0), "seed": (0, 1_000_000),
}
notebook = begin(
    "hardware_fingerprinting", settings, program=program, slice_s=slice_s, quantile=quantile,
    margin=margin, seed=seed,
)
results, yoo = notebook.results, paper("fingerprinting")
diagnosis.refuse_simulated_program(program)
recorded = fingerprint.load()
names = [one.program for kind in ("CPU", "parallel", "own") for one in recorded.key[kind]]
wanted = fingerprint.find(program, names)
if not names or (wanted is None and program != "all"):
    todo = "record-micro" if program == "all" else f"diagnose --keep {program} -- COMMAND"
    raise NothingRecordedError(f"nothing recorded yet of the key events of {program!r}: run "
                               f"`cmlib {todo}`")
caveat = recorded.caveat
X, about = cut(recorded.key["micro"], slice_s=slice_s)
print(f"{len(X)} slices of {slice_s:g} s, {X.shape[1]} key events per cycle")
X.head()

# %% [markdown]
# ## The micro-benchmarks
#
# The classes are defined by these small programs: the tree can name no other bottleneck. The two forms of a micro-benchmark work on the same data; they differ in the order of their accesses, in how predictable their branches are, or in the unit that does the arithmetic. The paper's *RS* is two programs here, because integer and floating-point units have separate reservation stations.

# %%
results.table(
    table_1(about),
    "table1",
    "**Table 1.** The micro-benchmarks: what the pathological form (P) suffers from, working sets, "
    f"and slices recorded of each form.{caveat}",
)

# %% [markdown]
# ## Working sets
#
# A class of memory is a working set that stays in one level of the caches. The cache sizes that a virtual machine reports are unreliable, so they are measured by a sweep: a chain of dependent loads through increasing amounts of memory. Each level appears as a plateau of latency. The working sets (triangles) must lie well inside one plateau: near an edge part of the accesses is served by the next level, and the class would be a mixture.

# %%
@styled
def draw_sweep(sweep, levels, chosen):
    """Latency by working set, the levels in it as bands, the sizes chosen as triangles."""
    figure, ax = single(3.2)
    for number, (name, level) in enumerate(levels.iterrows()):
        smallest, largest = level["smallest"] / 1024, level["largest"] / 1024
        ax.axvspan(smallest, largest, color=("#dfe7ee", "#f3dfa2")[number % 2], lw=0)
        ax.text(smallest, 0.98, f"{name}\n{level['ns']:.3g} ns", transform=ax.get_xaxis_transform(),
                va="top")
    sizes = [size / 1024 for of_level in chosen.values() for size in of_level]
    ax.plot(sizes, [0.03] * len(sizes), "^", transform=ax.get_xaxis_transform())
    ax.plot(sweep["size"] / 1024, sweep["ns"], color="#222222", marker=".")
    ax.set(xscale="log", yscale="log", xlabel="working set [KiB]", ylabel="ns a load",
           ylim=(sweep["ns"].min() / 2, sweep["ns"].max() * 4))
    return figure, ax

# %%
sized = about.dropna(subset="size")
level = sized["label"].str.rsplit("_", n=1).str[-1]
chosen = {name: sorted(sizes.unique()) for name, sizes in sized["size"].groupby(level)}
pairs = yoo["working_sets_kib"].items()
printed = ", ".join(f"{level} {low}–{high} KiB" for level, (low, high) in pairs)
figure, _ = draw_sweep(recorded.sweep, plateaus(recorded.sweep), chosen)
results.figure(
    figure,
    "sweep",
    "**Figure.** Latency of a load by the size of the memory it walks through at random, with the "
    f"levels found in it and the working sets recorded. The paper's: {printed}.{caveat}",
)

# %% [markdown]
# ## Key events
#
# An event $E$ is worth its **gain ratio** about the class $C$ (Quinlan 1993), $GR(E) = \dfrac{H(C) - H(C\mid E)}{H(E)}$, where $H$ is entropy in bits and $E$ is cut into intervals by minimum description length. A set $S$ of $k$ events is worth its **merit** (CFS, Hall 2000, Eq. 1), $M_S = \dfrac{k\,\overline{r_{cf}}}{\sqrt{k + k(k-1)\,\overline{r_{ff}}}}$, with mean correlations of its events with the class ($r_{cf}$) and among themselves ($r_{ff}$): $r_{XY} = 2\,\dfrac{H(X) - H(X\mid Y)}{H(X) + H(Y)}$ (symmetric uncertainty). The event of worst average rank by both is dropped, and CFS is repeated with the rest. The paper stops at 40. How few are enough?
#
# *10-fold* is the paper's way: the events are chosen once from all slices, and then random slices are held out. This is optimistic in two ways: the choice of events has seen the held-out slices, and the tree has seen their neighbors in time. For *whole cases left out*, all slices of a program's form at one size are held out together, and the events are chosen without them in each fold. Look for the number of events at which the second curve falls.

# %%
everything = cut(recorded.all, slice_s=slice_s)
sizes = [250, 160, 100, 60, 40, 25, 16, 10, 6, 4, recorded.unmultiplexed, 2, 1]
tree = C45Classifier()
elimination, curves = fingerprint.key_event_curve(*everything, sizes, tree, seed=seed)
lines = {"the paper's": yoo["key_events"], "without multiplexing": recorded.unmultiplexed}
axis = "number of events"
figure, _ = plot.accuracy_curve(curves, x="n_events", xlabel=axis, log=True, lines=lines)
results.figure(
    figure,
    "key-events",
    "**Figure.** Accuracy of the tree against the number of events left, by two kinds of folds."
    + caveat,
)

# %%
last = elimination.iloc[::-1].head(X.shape[1]).drop(columns="n_left").reset_index()
results.table(
    last,
    "key-events",
    "**Table.** The events that were eliminated last, the very last first: gain ratio, its rank, "
    f"the rank by CFS, and the mean of both ranks when the event went.{caveat}",
    decimals=3,
)

# %% [markdown]
# ## The tree
#
# C4.5 splits where the gain ratio is largest among attributes of at least average gain (that of a split at $\theta$ is $GR$ above with $E \le \theta$ in place of $E$), and prunes a branch whose upper confidence limit of errors is no better than a leaf's.
#
# It is fitted here, and beside it how far slices of one program lie from those of others. With $z$ the standardized logarithms of the rates, a slice $x$ is *unknown* if even the nearest training slice is farther than programs are from each other:
#
# $$\min_{i} \lVert z(x) - z(x_i) \rVert > \mathtt{margin} \cdot Q_{\mathtt{quantile}} \Big( \min_{j:\ \mathrm{program}(j) \ne \mathrm{program}(i)} \lVert z(x_i) - z(x_j) \rVert \Big)_i$$
#
# Every path from the root is a rule in events per cycle, and this rule is the explanation of a slice's class. A leaf with few training slices has a rule made for one program; two distant leaves of one class mean that the class has two fingerprints.

# %%
model = UnknownRejector(tree, quantile=quantile, margin=margin)
model.fit(X, about["label"], groups=fingerprint.program_of(X))
tree = model.classifier_
rules, used = tree.rules(), len(set(tree.feature_[tree.feature_ >= 0]))
figure, _ = plot.decision_tree(tree.to_dict())
results.figure(
    figure,
    "fig02",
    f"**Figure 2.** The tree: {len(rules)} leaves over {used} events per cycle. Upwards where a "
    f"condition holds, downwards where it doesn't; leaves: class and slices.{caveat}",
)

# %%
results.table(
    rules.reset_index(),
    "rules",
    "**Table.** The same tree as rules, in events per cycle; *wrong*: training slices of other "
    f"classes in the leaf.{caveat}",
    rows=60,
)

# %% [markdown]
# ## How often is it right?
#
# Of $CC$ slices in the right class and $IC$ in a wrong one, the accuracy is (the paper's §4, without a number)
#
# $$\mathrm{accuracy} = \frac{CC}{CC + IC}.$$
#
# Neighboring slices of a run are nearly copies. With random folds, as in the paper, the tree has seen the neighbors of every slice that it is tested on. With folds *by run* it has not. With folds *by size*, neither the tree nor the choice of its events has seen the working set: for this row, the events are chosen in each fold from the recordings of all events. With folds *by program*, a whole micro-benchmark is left out of the training. The baseline is the most frequent class.
#
# For programs the question is a different one: can slices be assigned to their programs?

# %%
kinds = [kind for kind in ("CPU", "parallel") if recorded.key[kind]]
others = {kind: cut(recorded.key[kind], slice_s=slice_s) for kind in kinds}
folds = fingerprint.table_2((X, about), everything, others, C45Classifier(), seed=seed)
accuracy = folds["benchmarks"].map({name: row["accuracy"] for name, row in yoo["table_2"].items()})
folds["paper"] = accuracy.where(folds["folds"] == "10-fold")
baseline = 100 * about["label"].value_counts(normalize=True).iloc[0]
counted = [f"{own['label'].nunique()} {kind}" for kind, (_, own) in others.items()]
results.table(
    folds,
    "table2",
    "**Table 2.** Accuracy of cross-validation [%], with the slices in the right class and in a "
    "wrong one, beside the paper's 10-fold (of SPEC CPU2006 and PARSEC). "
    f"Programs here: {', '.join(counted) or 'none'}. The most frequent class of the "
    f"micro-benchmarks has {baseline:.1f} %.{caveat}",
)

# %% [markdown]
# How long should a slice be? A short one holds few samples of each multiplexing group and is noisy; a long one mixes phases, and there are fewer to learn from. The paper takes 0.4 s. Read the curve by run: random folds become easier with more slices of the same runs.

# %%
def accuracy_by_length(series, lengths):
    """Accuracy of the tree for every length of which each run has at least three slices."""
    shortest = min(one.counts.notna().any(axis=1).sum() for one in series)
    interval = np.median(np.diff(series[0].counts.index))
    rows = []
    for length in lengths:
        if 0.5 < length / interval <= shortest / 3:
            slices, own = cut(series, slice_s=length)
            runs = fingerprint.run_of(slices)
            scores = validate(C45Classifier(), slices, own["label"], runs=runs, seed=seed)
            rows.append(scores.reset_index().assign(slice_s=length))
    return {folds: frame for folds, frame in pd.concat(rows).groupby("folds")}


lengths = accuracy_by_length(recorded.key["micro"], (0.2, 0.4, 0.8, 1.6, 3.2))
axis, lines = "length of a slice [s]", {"the paper's": yoo["slice_ms"] / 1000}
figure, _ = plot.accuracy_curve(lengths, x="slice_s", xlabel=axis, log=True, lines=lines)
caption = "**Figure.** Accuracy on the micro-benchmarks against the length of a slice."
results.figure(figure, "slice-length", caption + caveat)

# %% [markdown]
# ## A program in slices
#
# This program was not used in training. Each slice gets a class; phases appear as stretches of one colour. IPC is drawn below in the same colours: a pathological phase should have a low IPC.

# %%
kinds = [kind for kind in ("CPU", "parallel", "own") if recorded.key[kind]]
profiles = {}
for kind in kinds:
    profiles |= diagnosis.profiles(model, recorded.key[kind], slice_s=slice_s)
kinds_of_phases = {name: (len(one.shares), len(one.phases)) for name, one in profiles.items()}
shown = wanted or max(profiles, key=kinds_of_phases.get)
figure, _ = plot.phase_timeline(profiles[shown].labelled, profiles[shown].pace, title=shown)
results.figure(
    figure,
    "profile",
    f"**Figure.** `{shown}` slice by slice ({slice_s:g} s each): the class with its share, and "
    f"below IPC. P: pathological, N: healthy, grey: unlike all training data.{caveat}",
)

# %% [markdown]
# The paper's only case is canneal of PARSEC: it labels two thirds of the slices P_Mem_M, and traces them to a function that looks up every element of a netlist by name in a map. The case is rebuilt here: a loader that does the same, followed by random swaps of elements. Both phases access memory in no order, so most of the run should be P_Mem_M.

# %%
unseen_profiles = diagnosis.profiles(model, recorded.key["unseen"], slice_s=slice_s)
netlist = unseen_profiles[next(name for name in unseen_profiles if "netlist-P" in name)]
title = "netlist, pathological form (canneal's case)"
figure, _ = plot.phase_timeline(netlist.labelled, netlist.pace, title=title)
results.figure(
    figure,
    "canneal",
    "**Figure.** The paper's case rebuilt. The paper labels "
    f"{yoo['canneal']['p_mem_m']} of canneal's {yoo['canneal']['slices']} slices P_Mem_M.{caveat}",
)

# %%
results.table(
    diagnosis.explain(netlist).rename(columns={"start_s": "from [s]", "end_s": "to [s]"}),
    "canneal",
    "**Table.** Its phases, the rule that fired in each, what that means, and what a programmer "
    f"can do.{caveat}",
    rows=20,
)

# %% [markdown]
# ## Programs never trained on
#
# The hardest test has programs whose code differs from the micro-benchmarks', some at two sizes, with one known pathology each, and their non-pathological forms. Two errors are possible: a pathology that is missed, and, more costly, a false alarm on a non-pathological program. Goals were set beforehand: at least 90 % of a pathological case's slices in its class, at most 5 % of a non-pathological one's in any P class.

# %%
X_unseen, unseen = cut(recorded.key["unseen"], slice_s=slice_s)
labels = model.predict(X_unseen[X.columns])
scores = score_programs(labels, unseen["label"], X_unseen.index.get_level_values("program"))
tiles = scores[["expected", "most"]].set_axis(["true class", "tree"], axis=1)
tiles.index = pd.MultiIndex.from_product([[""], tiles.index.str.removeprefix("unseen-")])
is_healthy = tiles["true class"].str.startswith("N")
figure, _ = plot.class_tiles(
    {"with a bottleneck": tiles[~is_healthy], "healthy": tiles[is_healthy]}
)
results.figure(
    figure,
    "unseen",
    "**Figure.** The true class of each case, and the class that most of its slices get. Rows with "
    f"different colors are errors.{caveat}",
)

# %%
pathological = scores["expected"].str.startswith("P_")
named, accused = scores.loc[pathological, "right"], scores.loc[~pathological, "pathological"]
micro = folds[folds["benchmarks"] == "Micro-benchmarks"].set_index("folds")["accuracy"]
ten_fold = yoo["table_2"]["Micro-benchmarks"]["accuracy"]
for how, value in micro.items():
    printed = ten_fold if how == "10-fold" else None
    results.number(f"accuracy on the micro-benchmarks, {how}", value, "%", paper=printed)
note = "measured, mean of the cases; goal: {} for each"
right = "slices of unseen pathological programs in the right class"
results.number(right, named.mean(), "%", note=note.format("90 or more"))
wrong = "slices of unseen healthy programs in a P class"
results.number(wrong, accused.mean(), "%", note=note.format("5 or less"))
results.number(
    "slices of canneal's case labelled P_Mem_M",
    netlist.shares.get("P_Mem_M", 0),
    "%",
    paper=100 * yoo["canneal"]["p_mem_m"] / yoo["canneal"]["slices"],
    note="a rebuilt netlist, measured",
)
results.numbers()

# %%
programs = named.index.str.split("-").str[1].nunique()
results.finding(
    f"A tree of {len(rules)} rules over {used} events names the bottleneck of "
    f"{named.ge(90).sum()} of {len(named)} cases, of {programs} programs it never saw, in at least "
    f"90 % of their slices; {micro['10-fold']:.2f} % of the micro-benchmarks' own slices in "
    f"10-fold (the paper: {ten_fold} %), {micro['by size']:.2f} % where neither it nor the choice "
    f"of its events had seen the working set.{caveat}"
)

# %% [markdown]
# ## Explore
#
# In JupyterLab: choose a program, a slice length and a slice; the rule that determined its class is shown below.

# %%
cases = [one for kind in (*kinds, "unseen") for one in recorded.key[kind]]
cuts = (0.2, 0.8, 1.6) if notebook.interactive else ()
by_length = {slice_s: profiles | unseen_profiles}
by_length |= {length: diagnosis.profiles(model, cases, slice_s=length) for length in cuts}
of_program = {name: {s: by_length[s][name] for s in by_length} for name in by_length[slice_s]}
panel = explore.fingerprint(of_program, program=shown)
caption = f"**Figure.** What the widgets show at first: the slices of `{shown}`.{caveat}"
panel if notebook.interactive else results.figure(panel.figure(), "explore", caption)

# %% [markdown]
# ## What this doesn't show
#
# A class is the most similar of those in training; other problems may be present. False sharing, page faults, input and output have no micro-benchmark here, and are at best *unknown*. Classes name a kind of resource, not a line of code.
#
# Rates and thresholds belong to one processor: a tree is not valid on another, where the micro-benchmarks must be recorded again. Cross-validation over slices of programs (Table 2) asks whether programs differ, not whether the tree is right about them. The key events of the recorded tree were chosen once from all micro-benchmarks; only *by size* and *whole cases left out* choose them anew.
#
# **References.** Yoo, Larson, Baugh, Kim, Ahn, Campbell, *Automated fingerprinting of performance pathologies using performance monitoring units*, 2012. Quinlan, *C4.5*, 1993. Hall, *Correlation-based feature selection for discrete and numeric class machine learning*, ICML 2000.

# %%
results.save()
