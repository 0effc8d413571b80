# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
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
# *Reads* the recordings that `cmlib record-micro` makes. *Writes* the key events, the tree and its rules, its accuracy, and the phases of programs that it was not trained on.
#
# Each micro-benchmark has a pathological form (P) and a non-pathological form (N). Their runs are cut into time slices of equal length; counts are divided by the slice's cycles; the few events that tell the classes apart are selected; a C4.5 tree learns the classes (Yoo et al. 2012).

# %% tags=["parameters"]
program = "all"  # recording whose timeline is drawn; all: the one of most kinds of phases
slice_s = 0.4  # length of a time slice [s] [0.1, 10.0]
quantile = 0.99  # of training slices that must not be unknown to the other programs [0.5, 1.0]
margin = 1.0  # how many times farther a slice may lie before it is unknown [0.1, 10.0]
seed = 0  # of the folds [0, 1000000]
settings = {}  # interactive, profile, results_folder

# %%
import pandas as pd

import cmlib.plot.fingerprint as plot
from cmlib import explore
from cmlib.notebook import begin
from cmlib.report import paper
from cmlib.study import diagnosis
from cmlib.study import fingerprint as study

# %%
notebook = begin("05_fingerprinting", globals())
results = notebook.results
yoo, recorded = paper("fingerprinting"), study.load()
diagnosis.require(recorded.programs, program)
caveat, micro = recorded.caveat, study.slices(recorded.key["micro"], slice_s)

# %% [markdown]
# ## The micro-benchmarks
#
# The classes are defined by these small programs: the tree can name no other bottleneck. The two forms of a micro-benchmark work on the same data; they differ in the order of their accesses, in how predictable their branches are, or in the unit that does the arithmetic. The paper's *RS* is two programs here, because integer and floating-point units have separate reservation stations.

# %%
results.table(
    study.table_1(micro[1]),
    "table1",
    "**Table 1.** The micro-benchmarks: what the pathological form (P) suffers from, working sets, "
    f"and slices recorded of each form.{caveat}",
)

# %% [markdown]
# ## Working sets
#
# A class of memory is a working set that stays in one level of the caches. The cache sizes that a virtual machine reports are unreliable, so they are measured by a sweep: a chain of dependent loads through increasing amounts of memory. Each level appears as a plateau of latency. The working sets (triangles) must lie well inside one plateau: near an edge part of the accesses is served by the next level, and the class would be a mixture.

# %%
levels, chosen = study.levels(recorded.sweep), study.chosen_sizes(micro[1])
figure, _ = plot.latency(recorded.sweep, levels, chosen)
printed = (f"{level} {low}–{high} KiB" for level, (low, high) in yoo["working_sets_kib"].items())
results.figure(
    figure,
    "sweep",
    "**Figure.** Latency of a load by the size of the memory it walks through at random, with the "
    f"levels found in it and the working sets recorded. The paper's: {', '.join(printed)}.{caveat}",
)

# %% [markdown]
# ## Key events
#
# Events are ranked by gain ratio and by the order in which CFS adds them to its subset; the one of worst average rank is dropped, and CFS is repeated with the rest. The paper stops at 40. How few are enough?
#
# Two curves answer. *10-fold* is the paper's way: the events are chosen once from all slices, and random slices are then held out, whose neighbours in time the tree has seen. It is optimistic in two ways. For *whole programs left out*, all slices of a program's form at one size are held out together, and the events are chosen without them in each fold. Look for the number of events at which the second curve falls. The dotted lines mark the paper's 40 events, and the few that can be counted at once, without multiplexing, beside instructions and cycles.

# %%
everything = study.slices(recorded.all, slice_s)
sizes = [250, 160, 100, 60, 40, 25, 16, 10, 6, 4, recorded.unmultiplexed, 2, 1]
elimination, curves = study.key_event_curve(*everything, sizes, seed=seed)
lines = {"the paper's": yoo["key_events"], "without multiplexing": recorded.unmultiplexed}
axis = "number of events"
figure, _ = plot.accuracy_curve(curves, x="n_events", xlabel=axis, log=True, lines=lines)
results.figure(
    figure,
    "key-events",
    "**Figure.** Accuracy of the tree against the number of events left, by two kinds of folds."
    + caveat,
)

# %% [markdown]
# The table begins with the event that would be kept if only one could be. A high gain ratio alone is not enough: of two redundant events CFS leaves one out, which then has a low rank there.

# %%
key = elimination.iloc[::-1].head(len(micro[0].columns)).drop(columns="n_left").reset_index()
results.table(
    key,
    "key-events",
    "**Table.** The events that were eliminated last, the very last first: gain ratio, its rank, "
    f"the rank by CFS, and the mean of both ranks when the event went.{caveat}",
    decimals=3,
)

# %% [markdown]
# ## The tree
#
# Every path from the root is a rule in events per cycle, and this rule is the explanation of a slice's class. A leaf with few training slices has a rule made for one program; two distant leaves of one class mean that the class has two fingerprints.

# %%
model = study.train(*micro, quantile=quantile, margin=margin)
tree = model.classifier_
figure, _ = plot.decision_tree(tree.to_dict())
used = len(set(tree.feature_[tree.feature_ >= 0]))
results.figure(
    figure,
    "fig02",
    f"**Figure 2.** The tree: {len(tree.rules())} leaves over {used} events per cycle. Upwards "
    "where a condition holds, downwards where it doesn't; leaves: class and training slices."
    + caveat,
)

# %%
results.table(
    tree.rules().reset_index(),
    "rules",
    "**Table.** The same tree as rules, in events per cycle; *wrong*: training slices of other "
    f"classes in the leaf.{caveat}",
    rows=60,
)

# %% [markdown]
# ## How often is it right?
#
# Neighbouring slices of a run are nearly copies. With random folds, as in the paper, the tree has seen the neighbours of every slice it is asked about. With folds *by run* it has not. *By size* it has never seen the working set, and neither has the choice of its events: for this row they are chosen in each fold from the recordings of all events, as the recordings of the key events hold only what was chosen from all sizes. The paper's figure does not show the difference between *10-fold* and *by size*.
#
# For programs the question is a different one: can slices be assigned to their programs?

# %%
kinds = [kind for kind in ("CPU", "parallel") if recorded.key[kind]]
data = {kind: study.slices(recorded.key[kind], slice_s) for kind in kinds}
by_size = study.table_2_by_size(*everything, micro[0].shape[1])
of_programs = [study.table_2(*slices, kind, seed=seed) for kind, slices in data.items()]
folds = [study.table_2(*micro, "micro", seed=seed), by_size, *of_programs]
folds = pd.concat(folds, ignore_index=True)
accuracy = folds["benchmarks"].map({name: row["accuracy"] for name, row in yoo["table_2"].items()})
folds["paper"] = accuracy.where(folds["folds"] == "10-fold")

# %%
programs = ", ".join(f"{slices[1]['label'].nunique()} {kind}" for kind, slices in data.items())
results.table(
    folds,
    "table2",
    "**Table 2.** Accuracy of cross-validation [%], with the slices in the right class and in a "
    "wrong one, beside the paper's 10-fold (of SPEC CPU2006 and PARSEC). "
    f"Programs here: {programs}.{caveat}",
)

# %% [markdown]
# How long should a slice be? A short one holds few samples of each multiplexing group and is noisy; a long one mixes phases, and there are fewer to learn from. The paper takes 0.4 s. Read the curve by run: random folds become easier with more slices of the same runs.

# %%
lengths = study.slice_lengths(recorded.key["micro"], [0.2, 0.4, 0.8, 1.6, 3.2], seed=seed)
lines, axis = {"the paper's": yoo["slice_ms"] / 1000}, "length of a slice [s]"
figure, _ = plot.accuracy_curve(lengths, x="slice_s", xlabel=axis, log=True, lines=lines)
results.figure(
    figure,
    "slice-length",
    f"**Figure.** Accuracy on the micro-benchmarks against the length of a slice.{caveat}",
)

# %% [markdown]
# ## A program in slices
#
# This program was not used in training. Each slice gets a class; phases appear as stretches of one colour. A slice farther from all training data than programs of the same class are from each other is *unknown*. IPC is drawn below in the same colours: a pathological phase should have a low IPC.

# %%
others = [kind for kind in ("CPU", "parallel", "own") if recorded.key[kind]]
profiles = {}
for kind in others:
    profiles |= diagnosis.profiles(model, recorded.key[kind], slice_s=slice_s)
shown = diagnosis.choose(profiles, program)
figure, _ = plot.phase_timeline(profiles[shown].labelled, profiles[shown].ipc, title=shown)
results.figure(
    figure,
    "profile",
    f"**Figure.** `{shown}` in slices of {slice_s:g} s: the class of each with its share, and IPC. "
    f"P: pathological, N: healthy, grey: unlike all training data.{caveat}",
)

# %% [markdown]
# The paper's only case is canneal of PARSEC: it labels two thirds of the slices P_Mem_M, and traces them to a function that looks up every element of a netlist by name in a map. The case is rebuilt here: a loader that does the same, followed by random swaps of elements. Both phases access memory in no order, so most of the run should be P_Mem_M.

# %%
unseen_profiles = diagnosis.profiles(model, recorded.key["unseen"], slice_s=slice_s)
netlist = unseen_profiles[next(name for name in unseen_profiles if "netlist-P" in name)]
title = "netlist, pathological form (canneal's case)"
figure, _ = plot.phase_timeline(netlist.labelled, netlist.ipc, title=title)
results.figure(
    figure,
    "canneal",
    "**Figure.** The paper's case rebuilt. The paper labels "
    f"{yoo['canneal']['p_mem_m']} of canneal's {yoo['canneal']['slices']} slices P_Mem_M.{caveat}",
)

# %%
results.table(
    diagnosis.explain(netlist),
    "canneal",
    "**Table.** Its phases, the rule that fired in each, what that means, and what a programmer "
    f"can do.{caveat}",
    rows=20,
)

# %% [markdown]
# ## Programs never trained on
#
# The hardest test has nine programs whose code differs from the micro-benchmarks', some at two sizes, with one known pathology each, and their non-pathological forms. Two errors are possible: a pathology that is missed, and, more costly, a false alarm on a non-pathological program. Goals were set beforehand: at least 90 % of a pathological program's slices in its class, at most 5 % of a non-pathological one's in any P class.

# %%
unseen = study.slices(recorded.key["unseen"], slice_s)
labels, scores = study.score(model, *unseen)
goal, limit = {"goal, right class": 90}, {"healthy, most in a P class": 5}
figure, _ = plot.program_scores(study.shares_by_program(labels, *unseen), goal=goal, limit=limit)
results.figure(
    figure,
    "unseen",
    f"**Figure.** How the slices of each program were labelled; in brackets its own class.{caveat}",
)

# %%
pathological = scores["expected"].str.startswith("P_")
named, accused = scores.loc[pathological, "right"], scores.loc[~pathological, "pathological"]
micro_folds = folds[folds["benchmarks"] == "Micro-benchmarks"].set_index("folds")["accuracy"]
ten_fold = yoo["table_2"]["Micro-benchmarks"]["accuracy"]
for how, value in micro_folds.items():
    printed = ten_fold if how == "10-fold" else None
    results.number(f"accuracy on the micro-benchmarks, {how}", value, "%", paper=printed)
note = "mean of the programs; goal: {} for each"
right = "slices of unseen pathological programs in the right class"
results.number(right, named.mean(), "%", note=note.format("90 or more"))
wrong = "slices of unseen healthy programs in a P class"
results.number(wrong, accused.mean(), "%", note=note.format("5 or less"))

# %%
share = 100 * yoo["canneal"]["p_mem_m"] / yoo["canneal"]["slices"]
results.number(
    "slices of canneal's case labelled P_Mem_M",
    netlist.shares.get("P_Mem_M", 0),
    "%",
    paper=share,
    note="a rebuilt netlist here",
)
results.numbers()

# %%
results.finding(
    f"A tree of {len(tree.rules())} rules over {micro[0].shape[1]} events names the bottleneck of "
    f"{named.ge(90).sum()} of {len(named)} programs it never saw in at least 90 % of their slices; "
    f"{micro_folds['10-fold']:.2f} % of the micro-benchmarks' own slices in 10-fold (the paper: "
    f"{ten_fold} %), {micro_folds['by size']:.2f} % where neither it nor the choice of its events "
    f"had seen the working set.{caveat}"
)

# %% [markdown]
# ## Explore
#
# In JupyterLab: choose a program, a slice length and a slice; the rule that determined its class is shown below.

# %%
programs = [one for kind in ("CPU", "parallel", "own", "unseen") for one in recorded.key[kind]]
cuts = (0.4, 0.2, 0.8, 1.6)
by_length = {cut: diagnosis.profiles(model, programs, slice_s=cut) for cut in cuts}
of_program = {name: {cut: by_length[cut][name] for cut in cuts} for name in by_length[0.4]}
panel = explore.fingerprint(of_program, program=shown)
caption = f"**Figure.** What the widgets show at first: the slices of `{shown}`.{caveat}"
panel if notebook.interactive else results.figure(panel.figure(), "explore", caption)

# %% [markdown]
# ## What this doesn't show
#
# A class is the most similar of eight; other problems may be present. False sharing, page faults, input and output have no micro-benchmark here, and are at best *unknown*. Classes name a kind of resource, not a line of code.
#
# Rates and thresholds belong to one processor: a tree is not valid on another, where the micro-benchmarks must be recorded again. Cross-validation over slices of programs (Table 2) asks whether programs differ, not whether the tree is right about them. The key events of the recorded tree were chosen once from all micro-benchmarks; only *by size* and *whole programs left out* choose them anew.
#
# **References.** Yoo, Larson, Baugh, Kim, Ahn, Campbell, *Automated fingerprinting of performance pathologies using performance monitoring units*, 2012. Quinlan, *C4.5*, 1993. Hall, *Correlation-based feature selection for discrete and numeric class machine learning*, ICML 2000.

# %%
results.save()
