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
# **Question.** Can a tree that has only seen small programs with one known bottleneck each tell where a real program loses its time?
#
# *Reads* the recordings that `python -m cmlib.workloads.micro --record` makes. *Writes* the key events, the tree and its rules, how often it is right, and the phases of programs it never saw.
#
# Each micro-benchmark has a pathological form (P) and a healthy twin (N). Their runs are cut into time slices of equal length; counts are divided by the slice's cycles; the few events that tell the classes apart are selected; a C4.5 tree learns the classes (Yoo et al. 2012).

# %% tags=["parameters"]
program = "all"  # recording whose timeline is drawn; all: the one of most kinds of phases
slice_s = 0.4  # length of a time slice [s] [0.1, 10.0]
quantile = 0.99  # of training slices that must not be unknown to the other programs [0.5, 1.0]
margin = 1.0  # how many times farther a slice may lie before it is unknown [0.1, 10.0]
seed = 0  # of the folds [0, 1000000]
interactive = True  # widgets at the end; False: a figure in their place
profile = "paper"  # folder of the results under data/results
results_folder = ""  # where results go instead of data/results

# %%
import pandas as pd

import cmlib.plot.fingerprint as plot
from cmlib import explore
from cmlib.report import Results, paper
from cmlib.study import diagnosis, fingerprint as study

# %%
results = Results("05_fingerprinting", title="Fingerprinting: which bottleneck, in which slice of the run",
                  question="Can a tree that has only seen small programs with one known bottleneck each tell where a real program loses its time?",
                  profile=profile, folder=results_folder or None)
yoo, found = paper("fingerprinting"), study.load()
caveat, micro = found.caveat, study.slices(found.key["micro"], slice_s)
results.table(study.table_1(micro[1]), "table1", "**Table 1.** The micro-benchmarks: what the pathological form (P) suffers from, working sets, and slices recorded of each form. "
              f"RS is two here: the integer and the floating-point side have reservation stations of their own.{caveat}")

# %% [markdown]
# ## Working sets
#
# A class of memory is a working set that stays in one level of the caches. What a machine reports of its caches can't be trusted, so the sizes follow from a sweep: a chain of loads, each waiting for the one before, through ever more memory.

# %%
levels, chosen = study.levels(found.sweep), study.chosen_sizes(micro[1])
figure, _ = plot.latency(found.sweep, levels, chosen)
results.figure(figure, "sweep", "**Figure.** Latency of a load by the size of the memory it walks through at random. Coloured: where a level was found, with its median latency; triangles: the working sets recorded. "
               f"The paper: {', '.join(f'{level} {low}–{high} KiB' for level, (low, high) in yoo['working_sets_kib'].items())}.{caveat}")

# %% [markdown]
# ## Key events
#
# Events are ranked by gain ratio and by the order in which CFS adds them to its subset; the one of worst average rank goes; CFS is done again with those that are left. The paper stops at 40. How few would do?

# %%
everything = study.slices(found.all, slice_s)
elimination, curves = study.key_event_curve(*everything, [250, 160, 100, 60, 40, 25, 16, 10, 6, 4, found.unmultiplexed, 2, 1], seed=seed)
figure, _ = plot.accuracy_curve(curves, x="n_events", xlabel="number of events", log=True, lines={"the paper's": yoo["key_events"], "without multiplexing": found.unmultiplexed})
results.figure(figure, "key-events", "**Figure.** Accuracy of the tree against the number of events left. *10-fold*: random slices held out, as in the paper; *whole programs left out*: all slices of a program's form at one size are held out together, so that no neighbour of theirs was seen. "
               f"Dotted: as many events as can be counted at once, beside instructions and cycles.{caveat}")

# %%
key = elimination.iloc[::-1].head(len(micro[0].columns)).reset_index()
results.table(key, "key-events", f"**Table.** The events that were eliminated last, the very last first: gain ratio, its rank, the rank by CFS, and the mean of both when the event went.{caveat}", decimals=3, rows=40)

# %% [markdown]
# ## The tree

# %%
model = study.train(*micro, quantile=quantile, margin=margin)
tree = model.classifier_
figure, _ = plot.decision_tree(tree.to_dict())
display(results.figure(figure, "fig02", f"**Figure 2.** The tree: {len(tree.rules())} leaves over {len(set(tree.feature_[tree.feature_ >= 0]))} events per cycle. Upwards where a condition holds, downwards where it doesn't; leaves: class and training slices.{caveat}"))
results.table(tree.rules().reset_index(), "rules", f"**Table.** The same tree as rules; *wrong*: training slices of other classes in the leaf. Rates are events per cycle.{caveat}", rows=60)

# %% [markdown]
# ## How often is it right?
#
# Neighbouring slices of a run are nearly copies. With random folds the tree has seen the neighbours of every slice it is asked about; with folds by run it has not, and with folds by size it has never seen that working set. For programs, the question is another one: do slices tell which program they are of?

# %%
kinds = [kind for kind in ("micro", "CPU", "parallel") if found.key[kind]]
data = [micro if kind == "micro" else study.slices(found.key[kind], slice_s) for kind in kinds]
folds = pd.concat([study.table_2(*slices, kind, seed=seed) for slices, kind in zip(data, kinds)], ignore_index=True)
folds["paper"] = [yoo["table_2"][name]["accuracy"] if how == "10-fold" else float("nan") for name, how in zip(folds["benchmarks"], folds["folds"])]
results.table(folds, "table2", f"**Table 2.** Accuracy [%] of cross-validation, with slices in the right class and in a wrong one; the paper's 10-fold beside it (SPEC CPU2006 and PARSEC there). Programs: {', '.join(str(slices[1]['label'].nunique()) for slices in data[1:])}.{caveat}")

# %%
lengths = study.slice_lengths(found.key["micro"], [0.2, 0.4, 0.8, 1.6, 3.2], seed=seed)
figure, _ = plot.accuracy_curve(lengths, x="slice_s", xlabel="length of a slice [s]", log=True, lines={"the paper's": yoo["slice_ms"] / 1000})
results.figure(figure, "slice-length", f"**Figure.** Accuracy on the micro-benchmarks against the length of a slice: short slices are noisier, long ones fewer.{caveat}")

# %% [markdown]
# ## A program in slices
#
# A slice farther from all training data than programs of the same kind are from each other is *unknown*: no class is forced on it.

# %%
profiles = {name: one for kind in ("CPU", "parallel", "own") for name, one in diagnosis.profiles(model, found.key[kind], slice_s=slice_s).items()}
shown = diagnosis.choose(profiles, program)
figure, _ = plot.phase_timeline(profiles[shown].labelled, profiles[shown].ipc, title=shown)
results.figure(figure, "profile", f"**Figure.** `{shown}` in slices of {slice_s:g} s: the class of each, a lane a class, its share of slices beside, and IPC below on the same colours. P: pathological, N: healthy, grey: unlike all training data.{caveat}")

# %%
unseen_profiles = diagnosis.profiles(model, found.key["unseen"], slice_s=slice_s)
netlist = unseen_profiles[next(name for name in unseen_profiles if "netlist-P" in name)]
figure, _ = plot.phase_timeline(netlist.labelled, netlist.ipc, title="netlist, pathological form (canneal's case)")
display(results.figure(figure, "canneal", "**Figure.** The paper's case rebuilt: a loader that looks every element up by its name in a map, then elements swapped at random. "
               f"The paper labels {yoo['canneal']['p_mem_m']} of canneal's {yoo['canneal']['slices']} slices P_Mem_M.{caveat}"))
results.table(diagnosis.explain(netlist), "canneal", f"**Table.** Its phases, the rule that fired in each, what that means, and what a programmer can do.{caveat}", rows=20)

# %% [markdown]
# ## Programs never trained on
#
# Nine programs unlike the micro-benchmarks in code, with one known pathology each, and their healthy twins: are their slices labelled as what they are?

# %%
unseen = study.slices(found.key["unseen"], slice_s)
labels, scores = study.score(model, *unseen)
figure, _ = plot.program_scores(study.shares_by_program(labels, *unseen), goal={"goal, right class": 90}, limit={"healthy, most in a P class": 5})
results.figure(figure, "unseen", f"**Figure.** How the slices of each program were labelled; in brackets its own class. Held to: at least 90 % of a pathological program's slices in its class, at most 5 % of a healthy one's in any P class.{caveat}")

# %%
pathological = scores["expected"].str.startswith("P_")
micro_folds = folds[folds["benchmarks"] == "Micro-benchmarks"].set_index("folds")["accuracy"]
for how, printed in (("10-fold", yoo["table_2"]["Micro-benchmarks"]["accuracy"]), ("by run", None), ("by size", None)):
    results.number(f"accuracy on the micro-benchmarks, {how}", micro_folds[how], "%", paper=printed)
results.number("slices of unseen pathological programs in the right class", scores.loc[pathological, "right"].mean(), "%", note="mean of the programs; held to 90 for each")
results.number("slices of unseen healthy programs in a P class", scores.loc[~pathological, "pathological"].mean(), "%", note="mean of the programs; held to 5 for each")
results.number("slices of canneal's case labelled P_Mem_M", float(netlist.shares.get("P_Mem_M", 0)), "%", paper=100 * yoo["canneal"]["p_mem_m"] / yoo["canneal"]["slices"], note="a rebuilt netlist here")

# %%
right = scores.loc[pathological, "right"].ge(90).sum()
results.finding(f"A tree of {len(tree.rules())} rules over {micro[0].shape[1]} events names the bottleneck of {right} of {pathological.sum()} programs it never saw in at least 90 % of their slices; {micro_folds['10-fold']:.2f} % of the micro-benchmarks' own slices in 10-fold (the paper: {yoo['table_2']['Micro-benchmarks']['accuracy']} %), {micro_folds['by size']:.2f} % where the working set was never seen.{caveat}")
results.numbers()

# %% [markdown]
# ## Turn the knobs

# %%
programs = [one for kind in ("CPU", "parallel", "own", "unseen") for one in found.key[kind]]
by_length = {length: diagnosis.profiles(model, programs, slice_s=length) for length in (0.4, 0.2, 0.8, 1.6)}
panel = explore.fingerprint({name: {length: by_length[length][name] for length in by_length} for name in by_length[0.4]}, program=shown)
panel if interactive else results.figure(panel.figure(), "explore", f"**Figure.** The panel of this notebook: a program's slices, and (in JupyterLab) the rule that decided for the one at the dotted line.{caveat}")

# %% [markdown]
# ## What this doesn't show
#
# A class says what a slice is most like among eight, not that nothing else is wrong with it: false sharing, page faults, input and output have no micro-benchmark here, and are at best *unknown*. Classes name a kind of resource; which line of code it is, they don't say.
# Rates and thresholds belong to one processor: a tree doesn't carry over to another, where the micro-benchmarks are recorded anew. Cross-validation over slices of programs (Table 2) asks whether programs differ, not whether the tree is right about them.
#
# **References.** Yoo, Larson, Baugh, Kim, Ahn, Campbell, *Automated fingerprinting of performance pathologies using performance monitoring units*, 2012. Quinlan, *C4.5*, 1993. Hall, *Correlation-based feature selection for discrete and numeric class machine learning*, ICML 2000.

# %%
results.save()
