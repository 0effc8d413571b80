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
# *Reads* the recordings that `cmlib record-micro` makes, and where there are none what `cmlib record-micro --simulate` made without counters: every caption says which. *Writes* the key events, the tree and its rules, its accuracy, and the phases of programs that it was not trained on.
#
# Each micro-benchmark has a pathological form (P) and a non-pathological form (N). Their runs are cut into time slices of equal length; counts are divided by the slice's cycles; the few events that tell the classes apart are selected; a C4.5 tree learns the classes (Yoo et al. 2012).
#
# Valgrind simulates no cycles. **Simulated** slices are intervals of equally many basic blocks, and counts are divided by KCachegrind's estimate of the cycles: one for an instruction, 10 more for a miss of the first level and for a misprediction, 100 more for a miss of the last level. Instructions, loads, stores and branches are exact; misses and mispredictions are a model's ([what that means](../docs/simulated-counts.md)).

# %% tags=["parameters"]
program = "all"  # recording whose timeline is drawn; all: the one of most kinds of phases
slice_s = 0.4  # length of a time slice [s] [0.1, 10.0]; a simulated one is an interval
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
from cmlib.study import diagnosis, simulated_hardware, simulated_phases
from cmlib.study import fingerprint as study
from cmlib.study import simulated_fingerprint as simulated

# %%
notebook = begin("05_fingerprinting", globals())
results = notebook.results
simulated_phases.refuse_own(program)
yoo, sources = paper("fingerprinting"), simulated.sources()
recorded = sources[0]  # measured recordings stand first
diagnosis.require(recorded.programs, program)
caveat, length = recorded.caveat, recorded.slice_length(slice_s)
micro = study.slices(recorded.key["micro"], length)

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
# A simulation does not tell every pathology. Instructions that wait for each other take no longer than others where no latencies are simulated; arithmetic by software is only more instructions; and Valgrind's simple predictor of indirect branches fails in a loop that a processor's learns. A program is left out, and not scored, unless misses of a level or mispredictions are charged at least a tenth of the pathological form's estimated cycles, and twice the share of the other form's. All healthy forms are one class, **N**: what lies in order is prefetched, so that its level can't be told.

# %%
results.table(
    simulated.untold(recorded),
    "untold",
    "**Table.** Left out: programs whose forms the simulation does not tell apart. Modelled events "
    f"per {recorded.per}.{caveat}",
    decimals=2,
) if recorded.simulated else None

# %% [markdown]
# ## Working sets
#
# A class of memory is a working set that stays in one level of the caches. The cache sizes that a virtual machine reports are unreliable, so they are measured by a sweep: a chain of dependent loads through increasing amounts of memory. Each level appears as a plateau of latency. The working sets (triangles) must lie well inside one plateau: near an edge part of the accesses is served by the next level, and the class would be a mixture.
#
# Simulated caches are as they were told: 32 KiB, 256 KiB and 2 MiB, small so that simulations are short. Valgrind has two levels; the middle one comes from a second run, whose last level is as large. That is exact, because all runs execute the same, which is checked. Streams are prefetched: what lies in consecutive lines is in the second and last level before it is asked for, never too late, and so is the other line of an aligned pair. In random order nearly every load misses the levels that are too small; in order only every eighth misses the first level, which begins a line of eight words, and hardly any the others.

# %%
pairs = yoo["working_sets_kib"].items()
printed = "The paper's: " + ", ".join(f"{level} {low}–{high} KiB" for level, (low, high) in pairs)
results.table(
    simulated.miss_rates(recorded),
    "working-sets",
    "**Table.** Of 100 loads of the pointer chain those that miss each level, in random order (P) "
    f"and in order (N), by working set. {printed}.{caveat}",
    rows=12,
    decimals=1,
) if recorded.simulated else None

# %%
if not recorded.simulated:
    levels, chosen = study.levels(recorded.sweep), study.chosen_sizes(micro[1])
    figure, _ = plot.latency(recorded.sweep, levels, chosen)
results.figure(
    figure,
    "sweep",
    "**Figure.** Latency of a load by the size of the memory it walks through at random, with the "
    f"levels found in it and the working sets recorded. {printed}.{caveat}",
) if not recorded.simulated else None

# %% [markdown]
# ## Key events
#
# Events are ranked by gain ratio and by the order in which CFS adds them to its subset; the one of worst average rank is dropped, and CFS is repeated with the rest. The paper stops at 40. How few are enough?
#
# Two curves answer. *10-fold* is the paper's way: the events are chosen once from all slices, and random slices are then held out, whose neighbours in time the tree has seen. It is optimistic in two ways. For *whole programs left out*, all slices of a program's form at one size are held out together, and the events are chosen without them in each fold. Look for the number of events at which the second curve falls. The dotted lines mark the paper's 40 events, and the few that can be counted at once, without multiplexing, beside instructions and cycles.
#
# Of simulated rates there are nine. The tree is trained on the five that a model decides: misses of data in each of three levels, instruction-cache misses and mispredictions. Rates of loads, stores and branches are exact, but tell which program it is, not what it waits for: they are in the curve and not in the tree. Thresholds lie half-way between the values that they separate. C4.5 takes the largest value below; exact counts of loops have no noise, and a threshold at zero would be learned.

# %%
everything = study.slices(recorded.all, length)
sizes = [250, 160, 100, 60, 40, 25, 16, 10, 6, 4, recorded.unmultiplexed, 2, 1]
elimination, curves = study.key_event_curve(*everything, sizes, recorded.tree, seed=seed)
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
# Every path from the root is a rule in events per cycle (simulated: per 1,000 estimated cycles), and this rule is the explanation of a slice's class. A leaf with few training slices has a rule made for one program; two distant leaves of one class mean that the class has two fingerprints.

# %%
model = study.train(*micro, recorded.tree, quantile=quantile, margin=margin)
tree = model.classifier_
figure, _ = plot.decision_tree(tree.to_dict())
used = len(set(tree.feature_[tree.feature_ >= 0]))
results.figure(
    figure,
    "fig02",
    f"**Figure 2.** The tree: {len(tree.rules())} leaves over {used} events per {recorded.per}. "
    "Upwards where a condition holds, downwards where it doesn't; leaves: class and slices."
    + caveat,
)

# %%
results.table(
    tree.rules().reset_index(),
    "rules",
    f"**Table.** The same tree as rules, in events per {recorded.per}; *wrong*: training slices of "
    f"other classes in the leaf.{caveat}",
    rows=60,
)

# %% [markdown]
# ## How often is it right?
#
# Neighbouring slices of a run are nearly copies. With random folds, as in the paper, the tree has seen the neighbours of every slice it is asked about. With folds *by run* it has not. *By size* it has never seen the working set, and neither has the choice of its events: for this row they are chosen in each fold from the recordings of all events, as the recordings of the key events hold only what was chosen from all sizes. The paper's figure does not show the difference between *10-fold* and *by size*.
#
# Every simulated case is run once: *by run* leaves whole cases out.
#
# For programs the question is a different one: can slices be assigned to their programs?

# %%
kinds = [kind for kind in ("CPU", "parallel") if recorded.key[kind]]
data = {kind: study.slices(recorded.key[kind], length) for kind in kinds}
how = {"tree": recorded.tree, "seed": seed}
by_size = study.table_2_by_size(*everything, micro[0].shape[1], recorded.tree)
of_programs = [study.table_2(*slices, kind, **how) for kind, slices in data.items()]
folds = [study.table_2(*micro, "micro", **how), by_size, *of_programs]
folds = pd.concat(folds, ignore_index=True)
accuracy = folds["benchmarks"].map({name: row["accuracy"] for name, row in yoo["table_2"].items()})
folds["paper"] = accuracy.where(folds["folds"] == "10-fold")

# %%
counted = [f"{slices[1]['label'].nunique()} {kind}" for kind, slices in data.items()]
programs = ", ".join(counted) or "none"
results.table(
    folds,
    "table2",
    "**Table 2.** Accuracy of cross-validation [%], with the slices in the right class and in a "
    "wrong one, beside the paper's 10-fold (of SPEC CPU2006 and PARSEC). "
    f"Programs here: {programs}.{caveat}",
)

# %% [markdown]
# How long should a slice be? A short one holds few samples of each multiplexing group and is noisy; a long one mixes phases, and there are fewer to learn from. The paper takes 0.4 s. Read the curve by run: random folds become easier with more slices of the same runs. Simulated slices have no noise that a longer one would average: there is no such curve of them.

# %%
if not recorded.simulated:
    lengths = study.slice_lengths(recorded.key["micro"], recorded.lengths, **how)
    axis, lines = "length of a slice [s]", {"the paper's": yoo["slice_ms"] / 1000}
    figure, _ = plot.accuracy_curve(lengths, x="slice_s", xlabel=axis, log=True, lines=lines)
results.figure(
    figure,
    "slice-length",
    f"**Figure.** Accuracy on the micro-benchmarks against the length of a slice.{caveat}",
) if not recorded.simulated else None

# %% [markdown]
# ## A program in slices
#
# This program was not used in training. Each slice gets a class; phases appear as stretches of one colour. A slice farther from all training data than programs of the same class are from each other is *unknown*. IPC is drawn below in the same colours: a pathological phase should have a low IPC. A simulation has no IPC; estimated cycles per instruction are drawn instead, of which more are worse.

# %%
others = [kind for kind in ("CPU", "parallel", "own") if recorded.key[kind]]
profiles = {}
for kind in others:
    profiles |= diagnosis.profiles(model, recorded.key[kind], slice_s=length)
shown = diagnosis.choose(profiles, program)
figure, _ = plot.phase_timeline(profiles[shown].labelled, profiles[shown].pace, title=shown)
results.figure(
    figure,
    "profile",
    f"**Figure.** `{shown}` slice by slice ({length:g} {recorded.unit} each): the class with its "
    "share, and below how it fares. "
    f"P: pathological, N: healthy, grey: unlike all training data.{caveat}",
)

# %% [markdown]
# The paper's only case is canneal of PARSEC: it labels two thirds of the slices P_Mem_M, and traces them to a function that looks up every element of a netlist by name in a map. The case is rebuilt here: a loader that does the same, followed by random swaps of elements. Both phases access memory in no order, so most of the run should be P_Mem_M.

# %%
unseen_profiles = diagnosis.profiles(model, recorded.key["unseen"], slice_s=length)
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
ends = {"start_s": f"from [{recorded.unit}]", "end_s": f"to [{recorded.unit}]"}
results.table(
    diagnosis.explain(netlist).rename(columns=ends),
    "canneal",
    "**Table.** Its phases, the rule that fired in each, what that means, and what a programmer "
    f"can do.{caveat}",
    rows=20,
)

# %% [markdown]
# ## Programs never trained on
#
# The hardest test has fourteen programs whose code differs from the micro-benchmarks', some at two sizes, with one known pathology each, and their non-pathological forms. Two errors are possible: a pathology that is missed, and, more costly, a false alarm on a non-pathological program. Goals were set beforehand: at least 90 % of a pathological program's slices in its class, at most 5 % of a non-pathological one's in any P class.
#
# Simulated scores of nine programs are optimistic: which rates the tree is given, where its thresholds lie, and what is prefetched were chosen with them in view. Five (count_keys, tree_walk, graph_search, varint and median_filter) were simulated last, when all this was fixed; their score stands apart.
#
# Two simulated programs that suffer from memory are called P_Mem_L3 in most slices: netlist, whose data outgrow the last level only as it loads, and graph_search. KCachegrind's estimate charges a whole cycle for an instruction and 100 for a miss of the last level, where a processor executes several instructions a cycle and waits longer; so those misses are 34 % of graph_search's estimated cycles, and the threshold is at 38 %.

# %%
unseen = study.slices(recorded.key["unseen"], length)
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
    name = f"accuracy on the micro-benchmarks, {how}"
    results.number(name, value, "%", paper=printed, note=recorded.note)
note = f"{recorded.note or 'measured'}, mean of the programs; goal: {{}} for each"
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
    note=f"a rebuilt netlist, {recorded.note or 'measured'}",
)
for name, value in (simulated.blind_scores(scores) if recorded.simulated else {}).items():
    results.number(name, value, "%", note="simulated; nothing was chosen with these in view")
results.numbers()

# %%
results.finding(
    f"A tree of {len(tree.rules())} rules over {micro[0].shape[1]} events names the bottleneck of "
    f"{named.ge(90).sum()} of {len(named)} programs it never saw in at least 90 % of their slices; "
    f"{micro_folds['10-fold']:.2f} % of the micro-benchmarks' own slices in 10-fold (the paper: "
    f"{ten_fold} %), {micro_folds['by size']:.2f} % where neither it nor the choice of its events "
    f"had seen the working set.{recorded.left_out}{caveat}"
)

# %% [markdown]
# ## How far are simulated counts from a processor's?
#
# bzip2 and gcc are recorded on a processor (AMD Zen 5, other notebooks) and simulated, with caches as large as that one's, and prefetching as above. It is not the same run: the processor compressed a tar of 285 MB and compiled 9 MB of C, the simulation 6 MB of Python's library and 40 functions, with the versions of Debian 12; versions and inputs of the former are not known. The processor counts micro-operations, speculative ones among them, where the simulation counts instructions.
#
# Conditional branches agree to 6 % though the inputs differ. Loads and stores are fewer in the simulation, which counts no speculative ones and an instruction that does both once. Mispredictions are 1.6 and 2.1 times the processor's, by a simpler predictor. Misses of the first level are within a quarter; behind it they are off by up to seven times, and by more for bzip2's few from memory.
#
# What others found:
#
# - Instructions: of 101 runs of SPEC CPU 2000 and 2006 that Weaver and McKee published (IISWC 2008, final set), Valgrind's count differs from a Core 2's by 0.00017 % in the median and by more than 0.2 % in four, where Valgrind's floating point rounds otherwise (art, by 50 %; soplex, by 6 %). Pin's and QEMU's medians are 0.00005 and 0.00006 % of 102 runs.
# - Time: gem5, which simulates a pipeline in detail, errs by 13 % in the mean of SPEC CPU2006 after it was tuned to one board (Gutierrez et al., ISPASS 2014). Valgrind simulates no time.
#
# Conclusions that rest on exact counts hold on a processor: how much more a version executes, and where. Those on the kind of bottleneck hold where the model's reason is the processor's: random accesses to more than a cache holds, branches that no predictor can know. Rates of misses and of mispredictions do not carry over: half of bzip2's slices are P_CPU for 10 mispredictions per 1,000 instructions, of which a processor has 6.3. Nothing can be said of time, of latencies that overlap, of translation of addresses, or of threads that wait for each other.
#
# Where the micro-benchmarks are recorded with a processor's counters and simulated too, a tree is trained on each, and both are asked about the programs that neither has seen. Working sets differ: each lies in the levels of its own caches.

# %%
beside = simulated_hardware.beside_hardware()
results.table(
    beside,
    "hardware",
    "**Table.** Counted by a processor and **simulated** by Valgrind, per 1,000 instructions; "
    "*exact*: the simulation counts what was executed; *modelled*: its caches or its predictor "
    "decide.",
    rows=20,
    decimals=3,
) if len(beside) else None

# %%
if len(sources) > 1:
    both = simulated.agreement(*sources, slice_s)
results.table(
    both.reset_index(),
    "agreement",
    "**Table.** The most frequent label of each unseen program by the tree of measured counts and "
    f"by that of simulated ones: {both['agree'].sum()} of {len(both)} agree.{caveat} "
    f"{sources[1].caveat}",
    rows=30,
) if len(sources) > 1 else None

# %% [markdown]
# ## Explore
#
# In JupyterLab: choose a program, a slice length and a slice; the rule that determined its class is shown below.

# %%
programs = [one for kind in (*others, "unseen") for one in recorded.key[kind]]
cuts = [cut for cut in recorded.lengths if cut != length] if notebook.interactive else []
by_length = {cut: diagnosis.profiles(model, programs, slice_s=cut) for cut in cuts[:3]}
by_length = {length: profiles | unseen_profiles} | by_length
of_program = {name: {cut: by_length[cut][name] for cut in by_length} for name in by_length[length]}
how = {"unit": recorded.unit, "per": recorded.per}
panel = explore.fingerprint(of_program, program=shown, **how)
caption = f"**Figure.** What the widgets show at first: the slices of `{shown}`.{caveat}"
panel if notebook.interactive else results.figure(panel.figure(), "explore", caption)

# %% [markdown]
# ## What this doesn't show
#
# A class is the most similar of those in training; other problems may be present. False sharing, page faults, input and output have no micro-benchmark here, and are at best *unknown*. Classes name a kind of resource, not a line of code.
#
# A simulation knows caches, a prefetcher and a branch predictor, and neither latencies nor overlap, translation of addresses, or anything of the kernel: a miss that a processor hides counts as much as one that it waits for.
#
# Rates and thresholds belong to one processor: a tree is not valid on another, where the micro-benchmarks must be recorded again. Cross-validation over slices of programs (Table 2) asks whether programs differ, not whether the tree is right about them. The key events of the recorded tree were chosen once from all micro-benchmarks; only *by size* and *whole programs left out* choose them anew.
#
# **References.** Yoo, Larson, Baugh, Kim, Ahn, Campbell, *Automated fingerprinting of performance pathologies using performance monitoring units*, 2012. Quinlan, *C4.5*, 1993. Hall, *Correlation-based feature selection for discrete and numeric class machine learning*, ICML 2000.

# %%
results.save()
