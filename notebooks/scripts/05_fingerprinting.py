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
# # Fingerprinting without counters: a decision tree trained on simulated counts
#
# **Question.** Where a machine has no counters: can a decision tree that is trained on simulated counts name what limits a program?
#
# *Reads* what `cmlib record-micro --simulate` made with Valgrind. *Writes* which bottlenecks a simulation can tell, the tree and its accuracy, its errors on programs that it was not trained on, how many of their slices it calls unknown, and how far simulated counts are from a processor's.
#
# Yoo et al. (2012, "the paper" below) record small programs with one known bottleneck each (*micro-benchmarks*, each in a pathological form **P** and a healthy form **N**), cut the runs into slices, choose the few events that tell the classes apart, and train a C4.5 tree on them; the tree then names each slice of another program. [Notebook 05](studies/hardware_fingerprinting.ipynb) does so with a processor's counters, this one with counts by Valgrind's Callgrind. Classes: `P_Mem_L2`, `P_Mem_L3`, `P_Mem_M` wait for data from that level (M: memory; the third level is the last, LL below), `P_CPU` is bound by the core (the only cause of this kind that the tree learns is mispredicted branches; among the other programs are long chains of arithmetic, too), `N` is healthy. A slice whose nearest training slice is too far off gets no class: it is *unknown*.

# %% [markdown] tags=["answer"]
# > **Answer** (micro-benchmarks and 19 other programs of this project, simulated by Valgrind, default parameters). The tree names the bottleneck in at least 90 % of the slices for **18** of **23** cases; always giving the most frequent class would do so for **12**. It calls **5** of 23 healthy cases pathological in more than 5 % of their slices. On the micro-benchmarks themselves it is right in **100.00 %** of the slices (paper: 99.96 %), and in **91 %** if the whole micro-benchmark is left out of the training.

# %% tags=["parameters"]
program: str = "all"  # all: this notebook is about the micro-benchmarks, and refuses any other
quantile: float = 0.99  # of training slices that must not be unknown to the other programs
margin: float = 1.0  # how many times farther a slice may lie before it is unknown (table below)
seed: int = 0  # of the folds
settings: dict = {}  # interactive, profile, results_folder

# %%
from itertools import chain, combinations

import numpy as np
import pandas as pd
from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict

import cmlib.plot.fingerprint as plot
from cmlib import explore, places
from cmlib.errors import UnfitRecordingError
from cmlib.experiments import diagnosis
from cmlib.experiments.micro import fingerprint
from cmlib.experiments.micro.programs import micro_benchmarks, table_1
from cmlib.experiments.micro.recordings import cut
from cmlib.fingerprint.c45 import C45Classifier
from cmlib.fingerprint.diagnosis import score_programs
from cmlib.fingerprint.key_events import discretize
from cmlib.fingerprint.unknown import UnknownRejector
from cmlib.io.archive import readable
from cmlib.io.archive.programs import readable_runs
from cmlib.io.store.raw import read_counts
from cmlib.plot import flow
from cmlib.report import paper
from cmlib.report.notebook import begin

# %%
limits = {"quantile": (0.5, 1.0), "margin": (0.1, 10.0), "seed": (0, 1_000_000)}
notebook = begin("05_fingerprinting", settings, program=program, quantile=quantile,
                 margin=margin, seed=seed)
results, yoo = notebook.results, paper("fingerprinting")
ten_fold = yoo["table_2"]["Micro-benchmarks"]["accuracy"]
if program != "all":
    diagnosis.refuse_simulated_program(program)
    raise UnfitRecordingError(f"{program} is no micro-benchmark: use `cmlib diagnose --simulate`.")

# %%
steps = {"a  Profile": "micro-benchmarks,\nall events", "b  Key events": "profile again,\nthe most "
         "relevant\nevents only", "c  Slices": "of equal length", "d  Train": "a decision tree\non "
         "the slices", "b′–d′  Apply": "program's slices,\nthe same events,\nthe tree names each"}
figure, _ = flow(steps)
results.figure(figure, "fig01", "**Fingerprinting, Fig. 1.** The method. *See:* each of a to d "
               "differs here: a, a simulation by Valgrind profiles, not a processor; b, the "
               "tree is given the modelled events, whatever the choice of key events says; c, "
               "slices are of equally many basic blocks (runs of instructions without a branch); "
               "d, thresholds lie half-way between the values that they separate.")

# %% [markdown]
# ## The data: simulated slices
#
# Valgrind simulates no cycles. A slice is an interval of equally many basic blocks, and counts are divided by KCachegrind's estimate
#
# $$\mathit{cycles} = I + 10\,(M_{L1} + B) + 100\,M_{LL}$$
#
# with instructions $I$, misses $M$ of the first and of the last level, and mispredictions $B$. (A miss of the second level that the last one serves costs no more than the first level's; misses of the second level are counted all the same, and the tree is given them.) Instructions, loads, stores and branches are exact; misses and mispredictions are a model's ([what that means](../docs/simulated-counts.md)). Simulated caches have 32 KiB, 256 KiB and 2 MiB, small so that simulations are short; what lies in consecutive lines is prefetched into the second and last level.

# %%
recorded = fingerprint.load_simulated()
caveat, PER = recorded.caveat, "1,000 estimated cycles"
X, about = cut(recorded.key["micro"], slice_s=1)
print(f"{len(X)} slices of {about.index.get_level_values('program').nunique()} cases (a form "
      f"at a working set, or with an input, of a micro-benchmark), {X.shape[1]} modelled events "
      f"per {PER}, {about['label'].nunique()} classes")
X.head()

# %% [markdown]
# ## The micro-benchmarks
#
# A simulation does not tell every bottleneck. Instructions that wait for each other take no longer than others where no latencies are simulated; arithmetic by software is only more instructions; and Valgrind's simple predictor of indirect branches fails in a loop that a processor's learns. The tree is not trained on a program unless some cause $x$ (misses of the first or of the last level, or mispredictions) is charged at least a tenth of the pathological form's estimated cycles, and twice the share of the other form's:
#
# $$\exists\,x:\ s_x(P) \ge 0.1 \ \wedge\ s_x(P) \ge 2\, s_x(N), \qquad s_x = \mathit{cycles}_x / \mathit{cycles}.$$
#
# All healthy forms are one class, **N**: what lies in order is prefetched, so that its level can't be told.

# %%
results.table(
    table_1(about), "table1",
    "**Fingerprinting, Table 1.** The micro-benchmarks that the tree learns: what the pathological "
    f"form (P) suffers from, working sets, and slices recorded of each form.{caveat}")

# %%
pathology = {one.name: one.pathology for one in micro_benchmarks()}
table = cut(list(recorded.indistinguishable), slice_s=1)[0].groupby("program").mean()
table = table.drop(columns="sim.l1i_misses")
names = table.index.str.split("-")
table.insert(0, "program", names.str[1])
table.insert(1, "pathology", table["program"].map(pathology))
table.insert(2, "form", names.str[2])
table.insert(3, "trained on", np.where(names.str[0] == "micro", "left out", "never"))
results.table(
    table.reset_index(drop=True), "indistinguishable",
    "**Table.** Programs whose forms the simulation does not tell apart: modelled events per "
    f"{PER}, mean of the slices. Those never trained on are scored all the same.{caveat}",
    decimals=2)

# %% [markdown]
# Does the simulation miss where it should? The pointer chain reads a working set in random order (P) or in order (N). In order only every eighth load misses the first level, which begins a line of eight words.

# %%
misses = {"L1": "sim.l1d_load_misses", "L2": "sim.l2_load_misses", "LL": "sim.ll_load_misses"}
rows = []
for one in recorded.all:
    _, name, form, *level = one.program.split("-")
    if name == "pointer":
        total = one.counts.sum()
        per_load = {kind: 100 * total[event] / total["sim.loads"] for kind, event in misses.items()}
        size = one.about["size"] / 1024
        rows.append({"level": level[0], "working set [KiB]": size, "form": form, **per_load})
levels = pd.DataFrame(rows).sort_values(["working set [KiB]", "form"], ignore_index=True)
results.table(
    levels, "working-sets",
    "**Table.** Of 100 loads of the pointer chain those that miss each level, in random order (P) "
    "and in order (N), by working set; *level*: the level that the set is to fit into or exceed."
    f"{caveat}", rows=12, decimals=1)

# %% [markdown]
# ## Key events: gain ratio and CFS (correlation-based feature selection)
#
# An event $E$ is cut into intervals. How much it says of the class $C$ is its gain ratio; how much a set $S$ of $k$ events says without repeating itself is its merit (CFS), with $r_{cf}$ the mean correlation of its events with the class and $r_{ff}$ among themselves:
#
# $$GR(E) = \frac{H(C) - H(C\mid E)}{H(E)}, \qquad M_S = \frac{k\,\overline{r_{cf}}}{\sqrt{k + k(k-1)\,\overline{r_{ff}}}}$$
#
# $H$ is the entropy, $r(a, b) = 2\,(H(a) + H(b) - H(a, b)) / (H(a) + H(b))$. Both over all simulated rates that vary:

# %%
everything = cut(recorded.all, slice_s=1)
rates = everything[0].loc[:, everything[0].nunique() > 1]
C = pd.Series(everything[1]["label"].factorize()[0], rates.index)
E = pd.DataFrame(discretize(rates.to_numpy(), C.to_numpy(), C.nunique()), C.index, rates.columns)


def H(*columns):
    """Entropy of columns taken together [bits]."""
    p = pd.concat(columns, axis=1).value_counts(normalize=True)
    return -(p * np.log2(p)).sum()


def r(a, b):
    return 2 * (H(a) + H(b) - H(a, b)) / (H(a) + H(b))


GR = pd.Series({e: (H(C) - (H(C, E[e]) - H(E[e]))) / H(E[e]) for e in E})
r_c = {e: r(E[e], C) for e in E}
r_f = {pair: r(E[pair[0]], E[pair[1]]) for pair in combinations(E, 2)}
M = {}
for S in chain.from_iterable(combinations(E, k) for k in range(1, len(E.columns) + 1)):
    among = 2 * sum(r_f[pair] for pair in combinations(S, 2))  # k(k-1) times the mean
    M[S] = sum(r_c[e] for e in S) / np.sqrt(len(S) + among)
print(f"highest merit: {max(M.values()):.3f} of {', '.join(max(M, key=M.get))}")
GR.sort_values(ascending=False).round(3).to_frame("gain ratio").T

# %% [markdown]
# As in the paper, the event with the worst average of both ranks is removed, again and again (`cmlib.fingerprint.select_key_events`). Rates of loads, stores and branches are exact, but tell which program it is and not what it waits for: they are in the curve and not in the tree, which is trained on those that a model decides.

# %%
tree = C45Classifier(midpoints=True)
sizes = [9, 6, recorded.unmultiplexed, 4, 3, 2, 1]
elimination, curves = fingerprint.key_event_curve(*everything, sizes, tree, seed=seed)
curves["whole cases left out"] = curves.pop("whole programs left out")
np.testing.assert_allclose(elimination["gain_ratio"], GR[elimination.index])
enough = curves["whole cases left out"]
smallest = enough.loc[enough["accuracy"] >= enough["accuracy"].max() - 0.1, "n_events"].min()
last = elimination.index[-int(smallest) :]
exact = [f"`{event}`" for event in last if event not in X]
figure, _ = plot.accuracy_curve(curves, x="n_events", xlabel="number of events",
                               lines={"modelled": recorded.unmultiplexed})
results.figure(
    figure, "key-events",
    "**Figure.** Accuracy of the tree against the number of events left, by two kinds of folds, "
    "which cover each other where they agree; dashed: as many events as the tree is given, which "
    "are the modelled ones and not the last of this elimination. *See:* "
    f"the last {smallest:.0f} events of the elimination are enough for "
    f"{enough['accuracy'].max():.1f} % of the slices; exact among these, and so telling which "
    f"program it is: {', '.join(exact) or 'none'}.{caveat}")

# %% [markdown]
# ## The tree
#
# C4.5 splits at the threshold of highest information gain of the event of highest gain ratio, and splits both sides again. Thresholds lie half-way between the values that they separate. C4.5 takes the largest value below; exact counts of loops have no noise, and a threshold at zero would be learned.

# %%
model = UnknownRejector(tree, quantile=quantile, margin=margin)
model.fit(X, about["label"], groups=fingerprint.program_of(X))
tree = model.classifier_
rules, used = tree.rules(), len(set(tree.feature_[tree.feature_ >= 0]))
figure, _ = plot.decision_tree(tree.to_dict())
results.figure(
    figure, "fig02",
    f"**Fingerprinting, Fig. 2.** The tree: {len(rules)} leaves over {used} of {X.shape[1]} "
    f"events per {PER}. Upwards where a condition holds, downwards where it doesn't; leaves: class "
    f"and slices. *See:* the first question is `{tree.feature_names_in_[tree.feature_[0]]}`; "
    f"{rules['wrong'].sum()} of {rules['n'].sum()} training slices are in a wrong leaf.{caveat}")

# %% [markdown]
# ## How often is it right?
#
# Every simulated case is run once: *by run* leaves whole cases out; *by size* leaves out a working set, from the choice of events as well (micro-benchmarks without working sets are not in it). *By program* is the hardest test: a whole micro-benchmark is left out, all its cases; a class that no other micro-benchmark has can't be named then. The paper's tree tells more classes, which is a harder task.

# %%
folds = fingerprint.table_2((X, about), everything, {}, C45Classifier(midpoints=True), seed=seed)
tested = cross_val_predict(C45Classifier(midpoints=True), X, about["label"],
                           groups=fingerprint.program_of(X), cv=LeaveOneGroupOut())
right = pd.Series(tested == about["label"].to_numpy()).groupby(fingerprint.program_of(X))
n_right, n = int(right.sum().sum()), len(X)
folds.loc[len(folds)] = ["Micro-benchmarks", "by program", 100 * n_right / n, n_right, n - n_right]
folds["paper"] = np.where(folds["folds"] == "10-fold", ten_fold, np.nan)
trivial = 100 * about["label"].value_counts(normalize=True).iloc[0]
results.table(
    folds, "table2",
    "**Fingerprinting, Table 2.** Accuracy of cross-validation [%], with the slices in the right "
    f"class and in a wrong one: {about['label'].nunique()} classes. The most frequent has "
    f"{trivial:.1f} %; beside them the paper's 10-fold, of more classes. *See:* of a "
    "micro-benchmark that is left out whole, right are "
    + ", ".join(f"{100 * share:.0f} % ({name})" for name, share in right.mean().items())
    + f".{caveat}")

# %% [markdown]
# ## Programs never trained on
#
# Programs whose code differs from the micro-benchmarks', each in a pathological and a healthy form, some at two working sets. All are scored, those too whose forms the simulation does not tell apart.
#
# - The scores of nine programs are optimistic: which rates the tree is given, where its thresholds lie, and what is prefetched were chosen with them in view. Five (count_keys, tree_walk, graph_search, varint and median_filter) were simulated when all this was fixed; their score stands apart below.
# - *Streams* and *quadruple* (floating point by software) came after these, and nothing was changed for them. A processor's prefetcher serves streams in order; the simulated one fills the second and the last level only and follows no stride. So a class of misses says nothing of a stream, and the simulated predictor fails at the end of each short loop. `cmlib diagnose --simulate` counts the lines that were prefetched.

# %%
X_unseen, unseen = cut(recorded.key["unseen"], slice_s=1)
labels = model.predict(X_unseen[X.columns])
scores = score_programs(labels, unseen["label"], X_unseen.index.get_level_values("program"))
outcomes = fingerprint.outcomes_by_program(labels, X_unseen, unseen)
whole = outcomes.get("right class", pd.Series(0.0, outcomes.index)).ge(100)
figure, _ = plot.program_outcomes(outcomes[~whole] if (~whole).any() else outcomes)
healthy = scores["expected"] == fingerprint.HEALTHY
named, accused = scores.loc[~healthy, "right"], scores.loc[healthy, "pathological"]
results.figure(
    figure, "unseen",
    "**Figure.** The cases that were not named right in every slice: pathological forms (P) above, "
    "healthy ones (N) below. In brackets the class that the case has, after the colon the wrong "
    "label that it gets most often; cases of equal name and class at two working sets share a "
    f"row. Not drawn: the {whole.sum()} of {len(whole)} rows that are right in every slice. *See:* "
    f"{named.ge(90).sum()} of {len(named)} pathological cases are right in at least 90 % of their "
    f"slices; {accused.gt(5).sum()} of {len(accused)} healthy ones are false alarms.{caveat}")

# %% [markdown]
# How far is too far? The limit of *unknown* is `margin` times the distance within which nearly all training slices (the share `quantile`) find a slice of another micro-benchmark; distances are Euclidean, of standardised logarithms of the rates. A lower margin calls more slices unknown; it helps if more of the wrong ones than of the right ones are among them:

# %%
rows, plain = [], model.classifier_.predict(X_unseen[X.columns]) == unseen["label"].to_numpy()
for value in sorted({0.5, 1.0, 2.0, margin}):
    one = UnknownRejector(C45Classifier(midpoints=True), quantile=quantile, margin=value)
    one.fit(X, about["label"], groups=fingerprint.program_of(X))
    far = one.is_unknown(X_unseen[X.columns])
    rows.append((value, one.threshold_, 100 * far.mean(), 100 * far[plain].mean(),
                 100 * far[~plain].mean()))
columns = ["margin", "limit [sd]", "unknown [%]", "of the right [%]", "of the wrong [%]"]
unknown = pd.DataFrame(rows, columns=columns)
here, least = unknown.set_index("margin").loc[margin], unknown.iloc[0]
results.table(
    unknown, "unknown",
    f"**Table.** Share of the {len(X_unseen)} slices of these programs that is called unknown, by "
    "margin; *of the right*, *of the wrong*: of those that the tree by itself names right or "
    f"wrong. *See:* at this page's margin, {margin:g}, {here['unknown [%]']:.1f} % are unknown; at "
    f"{least['margin']:g} {least['of the wrong [%]']:.1f} % of the wrong ones and "
    f"{least['of the right [%]']:.1f} % of the right ones.{caveat}", decimals=1)

# %%
SIMULATED_LAST = ("count_keys", "tree_walk", "graph_search", "varint", "median_filter")
name = scores.index.str.split("-").str[1]
apart = ~name.isin({fingerprint.program_of(one) for one in recorded.indistinguishable})
groups = {
    "all cases": np.full(len(scores), True),
    "cases that a simulation tells apart": apart,
    "programs simulated when all was fixed": name.isin(SIMULATED_LAST),
    "streams and quadruple": name.str.contains("stream|quadruple"),
}
for group, cases in groups.items():
    for kind, column, of in (
        ("pathological slices in the right class", "right", ~healthy),
        ("pathological slices in some P class", "pathological", ~healthy),
        ("healthy slices in a P class", "pathological", healthy),
    ):
        value, n = scores.loc[cases & of, column].mean(), (cases & of).sum()
        results.number(f"{group}: {kind}", value, "%", note=f"simulated, mean of {n} cases")

# %% [markdown]
# ## A program in slices
#
# The paper's only case, canneal of PARSEC, is rebuilt: a loader that looks up every element of a netlist by name in a map, then random swaps. A simulation has no IPC; estimated cycles per instruction are drawn instead, of which more are worse.

# %%
profiles = diagnosis.profiles(model, recorded.key["unseen"] + recorded.key["own"], slice_s=1)
shown = next(name for name in profiles if "netlist-P" in name)
netlist = profiles[shown]
by_length = {name: {1: profile} for name, profile in profiles.items()}
if notebook.interactive:  # choose a program and a slice; its rule is shown
    display(explore.fingerprint(by_length, program=shown, unit="interval(s)", per=PER))
figure, _ = plot.phase_timeline(netlist.labelled, netlist.pace, title=shown)
results.figure(
    figure, "canneal",
    "**Figure.** The paper's case rebuilt: the class of each slice, and below it estimated cycles "
    f"per instruction. *See:* {netlist.shares.get('P_Mem_M', 0):.0f} % of the slices are P_Mem_M; "
    f"the paper labels {yoo['canneal']['p_mem_m']} of canneal's {yoo['canneal']['slices']} slices "
    f"so ({100 * yoo['canneal']['p_mem_m'] / yoo['canneal']['slices']:.0f} %).{caveat}")

# %% [markdown]
# ## What the paper printed, and what was simulated here

# %%
micro = folds.set_index("folds")["accuracy"]
for how, value in micro.items():
    printed = ten_fold if how == "10-fold" else None
    label = f"accuracy on the micro-benchmarks, {how}"
    results.number(label, value, "%", paper=printed, note="simulated")
results.number("slices of canneal's case labelled P_Mem_M", netlist.shares.get("P_Mem_M", 0), "%",
               paper=100 * yoo["canneal"]["p_mem_m"] / yoo["canneal"]["slices"],
               note="P_Mem_M: waits for main memory; a rebuilt netlist, simulated")
results.numbers()

# %%
distinguished = named[apart[~healthy]]
programs = named.index.str.split("-").str[1].nunique()
alarms = accused[accused.gt(5)].index.str.split("-").str[1].unique()
frequent = scores.loc[~healthy, "expected"].value_counts()
results.number("cases with a bottleneck", len(named), "cases", note="simulated")
results.number("cases with a bottleneck named in 90 % of the slices", named.ge(90).sum(), "cases",
               note=f"of {len(named)}, simulated")
results.number("cases that the most frequent class would name", frequent.iloc[0], "cases",
               note="baseline")
results.number("healthy cases called pathological in more than 5 % of the slices",
               accused.gt(5).sum(), "cases", note=f"of {len(accused)}, simulated")
always = (scores.loc[~healthy, "expected"] == frequent.index[0]).to_numpy()
results.finding(
    f"In simulation, in {named.ge(90).sum()} of {len(named)} cases with a bottleneck, of "
    f"{programs} programs that it was not trained on, the tree names it in at least 90 % of the "
    f"slices (always giving the most frequent class would in {frequent.iloc[0]}). Of the "
    f"{len(distinguished)} whose two forms differ in the simulation, in "
    f"{distinguished.ge(90).sum()} (that class would in {always[apart[~healthy]].sum()}). "
    f"{accused.gt(5).sum()} of {len(accused)} healthy cases are "
    f"called pathological in more than 5 % of their slices: {', '.join(alarms) or 'none'}. Unknown "
    f"are {here['unknown [%]']:.1f} % of all slices. Of the paper's own case, rebuilt, "
    f"{netlist.shares.get('P_Mem_M', 0):.0f} % of the slices are P_Mem_M, "
    f"{100 * yoo['canneal']['p_mem_m'] / yoo['canneal']['slices']:.0f} % in the paper. On the "
    f"micro-benchmarks themselves it is right in {micro['10-fold']:.2f} % of the slices (the "
    f"paper: {ten_fold} %, of more classes), in {micro['by program']:.0f} % if the whole "
    f"micro-benchmark is left out.{caveat}")

# %% [markdown]
# ## How far are simulated counts from a processor's?
#
# bzip2 and gcc are recorded on a processor (AMD Zen 5, other notebooks) and simulated, with caches as large as that one's, and prefetching as above. It is not the same run: the processor compressed a tar of 285 MB and compiled 9 MB of C, the simulation 6 MB of Python's library and 40 functions. The processor counts micro-operations, speculative ones among them, where the simulation counts instructions.
#
# What others found: Valgrind's instructions differ from a Core 2's by more than 0.2 % in four of 101 runs of SPEC CPU 2000 and 2006 (Weaver and McKee, IISWC 2008). gem5, which simulates a pipeline in detail, errs by 13 % in the mean of SPEC CPU2006's time after it was tuned to one board (Gutierrez et al., ISPASS 2014). Valgrind simulates no time.

# %%
FILLS = "ls_dmnd_fills_from_sys"
# Whether a count is exact; the processor's events that add up to it; the simulated ones.
QUANTITIES = {
    "loads": ("exact", "+ls_dispatch.ld_dispatch +ls_dispatch.ld_st_dispatch", "loads"),
    "stores": ("exact", "+ls_dispatch.store_dispatch +ls_dispatch.ld_st_dispatch", "stores"),
    "conditional branches":
        ("exact", "+ex_ret_brn -ex_ret_uncond_brnch_instr", "conditional_branches"),
    "mispredicted branches":
        ("modelled", "+ex_ret_brn_misp", "conditional_mispredictions indirect_mispredictions"),
    "first-level data misses":
        ("modelled", f"+{FILLS}.all", "l1d_load_misses l1d_store_misses"),
    "of these, not in the second level":
        ("modelled", f"+{FILLS}.local_ccx +{FILLS}.dram_io_all", "l2_load_misses l2_store_misses"),
    "of these, from memory":
        ("modelled", f"+{FILLS}.dram_io_all", "ll_load_misses ll_store_misses"),
    "first-level instruction misses":
        ("modelled", "+l2_cache_req_stat.ic_access_in_l2", "l1i_misses"),
}  # fmt: skip


# %%
def counted_rates(folder):
    """Events per 1,000 instructions of a program on a processor: the mean of the runs with each."""
    wanted = {part[1:] for _, parts, _ in QUANTITIES.values() for part in parts.split()}
    rates, metas = {}, {}
    for run, meta in readable_runs(folder).items():
        events = {event for group in meta["groups"] for event in group} & wanted
        if events and "instructions" in meta["pinned"]:
            metas[folder / f"{run}.json"] = meta
    for counts, _ in readable(lambda file: read_counts(file, metas[file]), metas).values():
        for event in wanted & set(counts):
            used = counts[counts[event] <= 10 * counts["instructions"]]  # more is a fault
            rates.setdefault(event, []).append(used[event].sum() / used["instructions"].sum())
    return {event: 1000 * np.mean(values) for event, values in rates.items()}


# %%
rows = []
for one in recorded.key["own"]:
    counted = counted_rates(places.recordings_dir() / one.about["label"])
    total = 1000 * one.counts.sum() / one.counts["sim.instructions"].sum()
    for quantity, (kind, parts, events) in QUANTITIES.items():
        value = sum(float(part[0] + "1") * counted.get(part[1:], np.nan) for part in parts.split())
        simulated = sum(total[f"sim.{event}"] for event in events.split())
        rows.append((one.about["label"], quantity, kind, value, simulated, simulated / value))
columns = ["program", "quantity", "simulated as", "counted", "simulated", "ratio"]
hardware = pd.DataFrame(rows, columns=columns).dropna()
off = np.exp(np.abs(np.log(hardware["ratio"])))
rare = hardware["counted"] < 0.1
far = off[~rare].groupby(hardware["simulated as"]).max()
results.table(
    hardware, "hardware",
    "**Table.** Counted by a processor and **simulated** by Valgrind, per 1,000 instructions; "
    "*exact*: the simulation counts what was executed; *modelled*: its caches or its predictor "
    "decide. *See:* counts of what was executed differ by a factor of at most "
    f"{far.get('exact', np.nan):.1f} (other inputs; operations, not instructions), those that the "
    f"simulated caches and predictor decide by up to {far.get('modelled', np.nan):.1f} where the "
    "processor counts at least 0.1 per 1,000 instructions; what it counts less of ("
    f"{rare.sum()} of {len(rare)}) by more.", rows=20, decimals=3)

# %% [markdown]
# ## What this doesn't show
#
# A simulation knows caches, a prefetcher and a branch predictor, and neither latencies nor overlap, translation of addresses, or anything of the kernel: a miss that a processor hides counts as much as one that it waits for. Nothing can be said of time, or of threads that wait for each other.
#
# Conclusions that rest on exact counts hold on a processor: how much more a version executes, and where. Those on the kind of bottleneck hold where the model's reason is the processor's: random accesses to more than a cache holds, branches that no predictor can know. Rates do not carry over to a processor, as the table of simulated and counted events shows.
#
# ## On your own program
#
# `cmlib diagnose --simulate -- COMMAND` names the phases of a program by such a tree. This notebook is about the micro-benchmarks (`program` takes `all`); the parameter to change first is `margin`, above: with less, more slices are called unknown.
#
# **References.** Yoo et al., *Automated fingerprinting of performance pathologies using performance monitoring units*, 2012. Nethercote and Seward, *Valgrind*, PLDI 2007. Weaver and McKee, *Can hardware performance counters be trusted?*, IISWC 2008. Gutierrez et al., *Sources of error in full-system simulation*, ISPASS 2014.

# %%
results.save()
