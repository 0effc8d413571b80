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
# # On other people's hardware
#
# **Question.** Do the papers' methods find the same on recordings that others made, on other processors, for other purposes?
#
# *Reads* public recordings: those that come with cmlib, and those that `cmlib fetch` or the folder `CMLIB_PUBLIC` has. *Writes* errors of models beside the mean's, rankings and how far they agree.
#
# Nobody here chose the events, intervals or programs. Each section is about one set and says where it is from.

# %% tags=["parameters"]
program = "all"  # programs of CloudSuite to study, separated by commas, or all
n_seeds = 4  # models behind the spread of an importance [2, 100]
top = 6  # events shown a program [3, 20]
seed = 0  # of the models [0, 1000000]
settings = {}  # profile, results_folder

# %%
import pandas as pd

from cmlib import plot, study
from cmlib.notebook import begin
from cmlib.report import paper
from cmlib.study.public import cbench, cloudsuite, counting, intruder, neighbours
from cmlib.study.public.reading import how_to_get

notebook = begin("09a_other_hardware", globals())
results = notebook.results
counterminer = paper("counterminer")
CLEANINGS = ["scaling", "interpolate", "counterminer", "joint"]
rotations = [(groups, slots) for slots in (1, 6) for groups in (2, 3, 6)]
programs = cloudsuite.recorded(program)
print(f"{len(programs)} recordings of {len({name for name, _ in programs})} programs")

# %% [markdown]
# ## CloudSuite on four processors: can IPC be explained?
#
# Eight programs of CloudSuite, seven of which CounterMiner studied, on servers with Intel's Westmere (X5650) and Sandy Bridge (E5-2640, E5-2650) and AMD's Opteron 6234, recorded by M. Canuto for models of power (`maurocanuto/power-modelling`, Apache-2.0):
# about twenty events as a wide table, 2 s or 10 s an interval, without running shares. All runs of a file are taken together, in at most 500 rows; a row is events per instruction, so that an event can't tell IPC by being frequent when instructions are.
# Models explain the logarithm of IPC: the error is relative (Eq. 14). Twelve stretches in four folds are each predicted by a model that saw none of them, with all events and with the six most important ones of the training rows.

# %%
sizes = {name: cloudsuite.errors_by_size(data, seed=seed) for name, data in programs.items()}
errors = pd.concat(sizes, names=["program", "processor", "step"]).reset_index()
labels = errors.groupby(["program", "processor"])["n_events"].rank(ascending=False)
errors["model"] = labels.map({1: "all events", 2: "6 events"})
baseline = errors[errors["model"] == "all events"].assign(model="mean of IPC")
baseline["error"] = baseline["mean_baseline"]
figure, _ = plot.bars_by_program(pd.concat([errors, baseline]), value="error", hue="model",
                                 ylabel="error on unseen stretches [%]")
results.figure(figure, "fig08", "**Figure 8, CloudSuite.** Error on stretches that a model never "
                                "saw; thin lines: from the best to the worst processor.")

# %%
table = errors.pivot(index=["program", "processor"], columns="model", values="error")
table = table[["all events", "6 events"]]
table["mean of IPC"] = baseline.set_index(["program", "processor"])["error"]
table["rows"] = {name: len(data.ipc) for name, data in programs.items()}
results.table(table.reset_index(), "errors", "**Table.** The same errors [%].", decimals=1)

# %%
above = int((table["all events"] > table["mean of IPC"]).sum())
results.number("CloudSuite: error on unseen stretches, all events, median",
               table["all events"].median(), "%", note=f"{len(table)} recordings")
results.number("CloudSuite: error of the mean, median", table["mean of IPC"].median(), "%")
results.number("CloudSuite: recordings whose model is worse than the mean", above)
medians = table.median()
results.finding(f"On CloudSuite, recorded by others on {table.index.unique(1).size} processors, "
                f"a model errs by {medians['all events']:.1f} % in the median on stretches that "
                f"it never saw, the mean by {medians['mean of IPC']:.0f} %; it is worse than "
                f"the mean in {above} of {len(table)} recordings.")

# %% [markdown]
# CounterMiner prints 6.3 to 14 % for HiBench (Figure 8), on a random fifth of the rows, whose neighbours the model knew; of CloudSuite it prints no error. The hard one is graph_analytics: a few minutes a run, with IPC between 0.03 and 2.3.
#
# ## The first events, and how stable they are
#
# Importance as in notebook 03, over models of resampled stretches. *Stable* is how many of the first five are the first five of a resampled model. The names of CounterMiner's Table III are of Haswell's 229 events and none of these twenty, so that bars can't be set beside its Figure 10.

# %%
seeds = range(n_seeds)
ranked = {name: cloudsuite.ranked(data, seeds=seeds) for name, data in programs.items()}
spreads = {name: spread for name, (spread, _) in ranked.items()}
drawn = {cloudsuite.label(name): spread.head(top).reset_index()
         for name, spread in spreads.items() if name[0] in ("data_caching", "graph_analytics")}
if drawn:
    figure, _ = plot.ranking(drawn, value="mean", low="low", high="high", label="event",
                             xlabel="importance [%]", columns=2)
    display(results.figure(figure, "fig10", "**Figure 10, two programs on four processors.** The "
                                            "most important events for IPC."))

# %%
first = pd.DataFrame({name: {"first five": ", ".join(spread.index[:5]), "stable [%]": kept}
                      for name, (spread, kept) in ranked.items()}).T
first = first.rename_axis(["program", "processor"]).reset_index()
display(results.table(first, "first", "**Table.** The first five events of each recording.",
                      decimals=0))
results.number("CloudSuite: first five events that stay among the first five",
               first["stable [%]"].mean(), "%", note="models of resampled stretches, mean")

# %% [markdown]
# ## Does a program follow the same events on every processor?
#
# Each two rankings are compared on the events that both processors count: Kendall's rank correlation, and how many of the first five are the same, beside what two random orders share (*random*). If a program had bottlenecks of its own, rankings of one program on two processors would agree more than those of two programs. The p-value is that of
# exchanging the programs' names within each processor.

# %%
pairs = cloudsuite.compare_rankings({name: spread["mean"] for name, spread in spreads.items()})
agreement = cloudsuite.agreement(pairs)
display(results.table(agreement.reset_index(), "agreement",
                      "**Table.** Agreement of two rankings by what they have in common."))
gap, p = cloudsuite.program_effect(pairs, seed=seed)
if "program" in agreement.index and p == p:
    same = agreement.loc["program"]
    results.number("CloudSuite: rank correlation of a program's events on two processors",
                   same["kendall"],
                   note=f"of two programs: {same['kendall'] - gap:.2f}; p = {p:.2f}")
    verdict = "no more than" if p > 0.05 else "more than"
    display(results.finding(f"Rankings of one CloudSuite program on two processors agree {verdict} "
                            f"those of two programs do: {same['shared']:.1f} of the first five "
                            f"events in common, {same['random']:.1f} in random orders "
                            f"(p = {p:.2f})."))

# %% [markdown]
# What a ranking says is about the program *on this processor, with these events*: another one counts other things by the same name, and of correlated events another one comes first. Rankings of one processor are more alike, presumably because some of its events hardly happen in any program.
#
# ## Does a model of one processor explain another?
#
# A model of all rows of one processor predicts the IPC of another, by the events that both have. *Levelled*: times the factor that makes the mean right, so that only ups and downs count.

# %%
moved = cloudsuite.transfer(programs, seed=seed)
if len(moved):
    ratio = moved.assign(ratio=moved["levelled"] / moved["mean"])
    ratio = ratio.pivot_table(index="trained on", columns="tested on", values="ratio",
                              aggfunc="median")
    figure, _ = plot.heat(ratio, label="error as a multiple of the mean's", centre=1)
    display(results.figure(figure, "transfer",
                           "**Figure.** Error of another processor's model, levelled, as a "
                           "multiple of that of the mean: median of the programs."))
    display(results.table(moved, "transfer", "**Table.** Every transfer: errors [%], and rank "
                                             "correlation of predicted and counted IPC.", rows=60))

# %%
if len(moved):
    better = (moved["levelled"] < moved["mean"]).mean()
    results.number("CloudSuite: error of another processor's model, levelled, median",
                   moved["levelled"].median(), "%",
                   note=f"of the mean {moved['mean'].median():.0f} %; better than it in "
                        f"{100 * better:.0f} % of {len(moved)} transfers")

# %% [markdown]
# Ups and downs carry over in part; levels do not: IPC at the same misses depends on what a miss costs.
#
# ## What CloudSuite's authors found
#
# Ferdman et al. (ASPLOS 2012) measured the same suite on the X5650: scale-out programs miss in the instruction cache far more than desktop programs do, and use little of the bandwidth to memory. Here misses per 1,000 instructions, and last-level misses times 64 bytes. That is a lower bound, without prefetches and write-backs; on
# the E5-2650 the event counts hardly anything, and intervals of 10 s (E5-2640) were averaged by those who recorded them, so only the other two tell the traffic.

# %%
misses = cloudsuite.per_instruction(programs)
figure, _ = plot.bars_by_program(misses.reset_index(), value="instruction cache", hue="processor",
                                 ylabel="misses per 1,000 instructions")
results.figure(figure, "instruction-cache", "**Figure.** Misses of the first-level instruction "
                                            "cache, mean of all runs.")

# %%
display(results.table(misses.reset_index(), "misses",
                      "**Table.** IPC, misses per 1,000 instructions, and traffic of last-level "
                      "misses [GB/s]."))
full = misses[misses.index.get_level_values("processor").isin(["Xeon-X5650", "AMD-Opteron-6234"])]
results.number("CloudSuite: instruction-cache misses per 1,000 instructions, median",
               misses["instruction cache"].median(),
               note=f"branch misses: {misses['branches'].median():.1f}")
if len(full):
    results.number("CloudSuite: highest traffic of last-level misses", full["traffic"].max(),
                   "GB/s", note="X5650 and Opteron 6234; two sockets of the first have 64 GB/s")

# %% [markdown]
# Both agree with Ferdman et al.: servers (caching, serving, streaming, search) miss in the instruction cache 7 to 107 times per 1,000 instructions, the analytics programs and the symbolic execution of software_testing hardly; and the highest traffic seen is a tenth of what the memory can do. On the E5-2650, data_caching follows misses of the instruction
# cache and of branches; on the E5-2640, of the same family, traffic to the last level.
#
# ## Which pairs interact?
#
# The six most important events of each recording are paired as in notebook 04 (residual variance). CounterMiner finds a pair with 64 % of all interaction in WebServing and one with 19 % in GraphAnalytics (Figure 12), and events of branches in 83 % of the pairs (Figures 11 and 12).

# %%
pairs = {name: cloudsuite.leading_pair(data, spreads[name], seed=seed)
         for name, data in programs.items()}
pairs = pd.DataFrame(pairs).T.rename_axis(["program", "processor"]).reset_index()
pairs = pairs.astype(dict.fromkeys(["importance", "with branches", "as many pairs"], float))
display(results.table(pairs, "pairs", "**Table.** The pair that interacts most, its share [%], the "
                                      "share of pairs with an event of branches [%], and what as "
                                      "many pairs would have if all were alike [%].", decimals=0))

# %%
for name, printed in counterminer["interactions"]["dominant_percent"].items():
    own = pairs[pairs["program"].str.replace("_", "") == name]
    if len(own):
        results.number(f"CloudSuite: interaction of the first pair, {name}",
                       own["importance"].mean(), "%", paper=printed,
                       note="six events, mean of the processors; paper: ten of 229")
pairs["beyond"] = pairs["with branches"] - pairs["as many pairs"]
results.number("CloudSuite: interaction with branches beyond their share of pairs",
               pairs["beyond"].mean(), "percentage points",
               note=f"{pairs['with branches'].mean():.0f} % of all; paper: 83 % of the first pairs")

# %% [markdown]
# No pair dominates anywhere, and branches interact about as much as any event. The paper's pairs are the ten strongest of each program among ten of 229 events, many of which count branches.

# %% [markdown]
# ## Merging runs: thirty programs on an Arm core
#
# The GBRT paper puts runs with different events together. Here is a case where it is needed: on a Cortex-A15 six events were counted in one run and six others in another, twice, at three clock rates, for thirty programs of cBench one after another (`kranik/ARMPM_BUILDMODEL`, BSD-3-Clause). Every event was on a counter all the time.
#
# The first list has no instructions, so that its rows have no IPC and can't be stacked below those of the second, as the paper does. Both count cycles: each program is cut into ten steps of equal cycles, and the steps are put side by side. Models are judged on programs that they never saw.

# %%
matrices = {(mhz, run): cbench.merged(mhz, run) for mhz in cbench.CLOCKS for run in cbench.RUNS}
unseen = cbench.errors(matrices)
display(results.table(unseen.reset_index(), "cbench-errors",
                      "**Table.** Error on unseen programs [%]: events of one list, of the other, "
                      "of both, and the mean of the other programs.", decimals=1))
results.number("cBench: error on unseen programs, both lists merged", unseen["both"].mean(), "%",
               note=f"either alone {unseen['list 1'].mean():.0f} and "
                    f"{unseen['list 2'].mean():.0f} %, mean {unseen['mean of IPC'].mean():.0f} %")

# %% [markdown]
# Thirty programs are few to learn programs from: errors are not far below the mean's. Beside the second list, which holds branches, the events of the first help at 1 GHz and harm at 2 GHz.
#
# ### The noise floor, and a cause that is known
#
# The second run of everything tells how much a ranking and a rate change when nothing has changed. The clock rate is an intervention: the core gets faster, memory does not. What the program does stays; what a miss costs in cycles does not.

# %%
spreads = {key: cbench.ranking(*matrix, seeds=seeds) for key, matrix in matrices.items()}
agree = cbench.agreements(matrices, spreads)
display(results.table(agree, "cbench-agreement",
                      "**Table.** Rank correlation of importances, how many of the first three "
                      "events are the same, and the median change of a program's IPC [%]."))
means = agree.groupby("what")["kendall"].mean()
results.number("cBench: rank correlation of importances, another run", means["another run"],
               note=f"another clock rate: {means['another clock rate']:.2f}")
changes = cbench.changes(matrices)
display(results.table(changes.reset_index(), "cbench-changes",
                      "**Table.** Median change of a program's events per instruction and of IPC "
                      "[%]: from run to run at 1 GHz, and from 1 to 2 GHz."))
results.number("cBench: change of IPC from run to run, median",
               changes.at["ipc", "run to run"], "%",
               note=f"from 1 to 2 GHz: {changes.at['ipc', 'signed']:.1f} %")

# %%
lost, rho, p = cbench.intervention(matrices)
named = [*lost["change"].nsmallest(3).index, lost["misses"].idxmax()]
figure, _ = plot.scatter(lost, x="misses", y="change", log=True, named=named,
                         xlabel="data-cache refills per 1,000 instructions at 1 GHz",
                         ylabel="change of IPC [%]")
display(results.figure(figure, "cbench-clock", "**Figure.** What each program loses in IPC when "
                                               "the clock goes from 1 to 2 GHz."))
others = {event: cbench.intervention(matrices, event=event)[1]
          for event in ("L1D_TLB_REFILL", "L1I_CACHE_REFILL", "BRANCH_MISPRED")}
results.number("cBench: rank correlation of data-cache refills with the loss of IPC at 2 GHz", rho,
               note=", ".join(f"{event} {value:.2f}" for event, value in others.items()))

# %%
display(results.finding(
    f"Events of cBench on an Arm core are ranked alike at another clock rate (Kendall "
    f"{means['another clock rate']:.2f}) and in another run ({means['another run']:.2f}), although "
    f"the clock changes IPC by {changes.at['ipc', 'clock rate']:.1f} % and the other run by "
    f"{changes.at['ipc', 'run to run']:.1f} %: importance for IPC is not what slows a program."))

# %% [markdown]
# A program's branches, mispredictions and accesses per instruction stay within little more than 1 %; IPC falls where refills are many, and not where mispredictions are: these cost as many cycles at any clock rate. The ranking does not see it: it explains how programs differ, branches first, at every clock rate. Which event is a cause is told by what is changed, not by importance.
# telecom_CRC32 and network_dijkstra lose most with few refills of the first level: what they wait for was not counted.
#
# ## Cleaning, with exact truth
#
# As every event of cBench was on a counter all the time, what multiplexing would have hidden can be hidden, and cleaned in every way. Two, three or six groups of events take turns: each for a whole interval of 0.5 s (*slow*), or all of them within an interval of six samples (*fast*). Errors are distances from the true counts as a share of their mean, over ten events.
#
# Without truth, an event that was counted under two names tells as much: one name is cleaned without sight of the other, and compared with the other as printed. On the packet-processing recordings of the next section these are stores. A perfect way would leave 71 % of the disagreement.

# %%
hidden = [study.replay_counts(counts, CLEANINGS, rotations=rotations, phases=1)
          for counts in cbench.exact_counts()]
hidden = pd.concat(hidden)
slower = hidden["slots"].eq(1).map({True: "slow", False: "fast"})
hidden["program"] = hidden["groups"].astype(str) + " groups, " + slower
means = hidden.groupby(["program", "method"], sort=False)[["error", "p95", "covered"]].mean()
figure, _ = plot.bars_by_program(means.reset_index(), value="error", hue="method",
                                 ylabel="error [% of the mean count]")
display(results.figure(figure, "replayed", "**Figure.** Mean error of counts that were cleaned "
                                           "after a rotation was replayed on cBench."))
display(results.table(means.reset_index().rename(columns={"program": "rotation"}), "replayed",
                      "**Table.** Mean and 95th percentile of the error, and how many true counts "
                      "lie in 90 % intervals of joint cleaning [%]."))

# %%
by_method = hidden.groupby("method")[["error", "p95"]].mean()
for name in CLEANINGS:
    results.number(f"cBench replayed: error, {name}", by_method.at[name, "error"], "%",
                   note=f"95th percentile {by_method.at[name, 'p95']:.1f} %; scaling is what perf "
                        "prints")
results.finding(f"With exact truth (cBench, {len(rotations)} rotations) cleaned counts are off by "
                f"{by_method.at['joint', 'error']:.2f} % (joint) and "
                f"{by_method.at['counterminer', 'error']:.2f} % (CounterMiner), what perf prints "
                f"by {by_method.at['scaling', 'error']:.2f} %.")

# %%
twins = neighbours.judge_cleaning([name for name in CLEANINGS if name != "scaling"])
if len(twins):
    left = twins.groupby("method")["left"]
    display(results.table(left.agg(["mean", "max"]).reset_index(), "twins",
                          "**Table.** Disagreement of the two names, one of them cleaned, as a "
                          "share of that of both as printed [%]: mean and highest of the files."))
    results.number("counted twice: disagreement after joint cleaning", left.mean()["joint"], "%",
                   note=f"of that as printed; at most {left.max()['joint']:.0f} %; "
                        f"{twins['file'].nunique()} files of {neighbours.SET}")
print("" if len(twins) else how_to_get(neighbours.SET))

# %% [markdown]
# On programs like these, with steps from one to the next, no way of cleaning is far better than what perf prints, and replacing outliers harms: they are real. Where a rotation is slower than an interval, *scaling* stands for a straight line between neighbours. Counts of a steady load at running shares from 6 % gain: there joint cleaning brings the two names nearer in nearly every file.
#
# ## Neighbours: does it matter where perf runs?
#
# Packet processing by FastClick in chains of one, three and five network functions, with perf on the measured core (*collocated*) or on another (*independent*): 31 events on four counters (`theleos88/ml-for-highspeed-networks`, no licence stated, so it is shown only where it was fetched). The paper asks what a neighbour changes in the ranking (Figure 16).

# %%
packets = neighbours.recorded()
if packets:
    told, alike = neighbours.describe(packets), neighbours.agreement(packets)
    display(results.table(told.reset_index(), "neighbours",
                          "**Table.** IPC, errors on unseen stretches [%], first events."))
    display(results.table(alike.reset_index(), "neighbours-agreement",
                          "**Table.** Rank correlation of importances by what differs."))
    gap = told["IPC"].unstack("perf's core").diff(axis=1).iloc[:, -1].abs().max()
    results.number("neighbours: change of IPC by perf on the measured core, highest", gap)
print("" if packets else how_to_get(neighbours.SET))

# %% [markdown]
# IPC is the same to the third digit wherever perf runs; the length of the chain changes it by a fifth. The core polls, so that IPC hardly varies within a recording and little can be explained: rankings of two halves of one recording agree only in part, and no change of a ranking can be told from that.
#
# ## An intruder
#
# Spectre attacks on a quiet and on a busy system (`breatrice321/T-Smade`, no licence stated), through notebook 06's detector: trained on the first half of the normal recording of each load, with runs of 20 s and counts per branch. *Beyond* is the simplest detector: some event's mean beyond four standard deviations.

# %%
attacks = intruder.recorded()
if attacks:
    judged = intruder.judge(attacks, seed=seed)
    found, false = intruder.rates(judged)
    display(results.table(judged, "intruder", "**Table.** Runs that were judged, and how many "
                                              "were found to be anomalous."))
    results.number("Spectre: attacked runs found", found, "%", note=f"false alarms {false:.0f} %")
print("" if attacks else how_to_get(intruder.SET))

# %% [markdown]
# Every attack is found and no normal run raises an alarm, but it takes no autoencoder: an attack that never rests multiplies last-level misses and interrupts.
#
# ## Counting itself
#
# V. Weaver counted the events of an assembly program by hand and ran it on many machines (`deater/deterministic`; no file to be fetched, the table was made from its logs). `cmlib doctor` finds counters that disagree with others about the same event; that an event counts something else than its name says, on all counters alike, it can't see.

# %%
by_hand = counting.measured()
if by_hand is not None:
    exact = counting.exactness(by_hand)
    display(results.table(exact.reset_index(), "counting",
                          "**Table.** On how many machines an event is exact, or at least "
                          "repeatable, and what is counted beyond [parts per million].",
                          decimals=0))
    results.number("counted by hand: instructions too many, median",
                   exact.at["Retired Instructions", "too many"], "ppm",
                   note=f"of {exact.at['Retired Instructions', 'machines']} machines "
                        f"{exact.at['Retired Instructions', 'exact']} exact")
print("" if by_hand is not None else "Not shown: CMLIB_PUBLIC has no totals/deterministic.")

# %% [markdown]
# Only conditional branches are exact on most machines. Instructions are too many by the interrupts of the run, some 60 parts per million; stores count micro-operations on several machines, loads nowhere what the program does.
#
# ## What this doesn't show
#
# Whoever recorded these files chose what to count, and how it was scaled is not told, so that nothing can be cleaned. Programs ran on whole machines, with other software, at loads that are not told either. That a model of one processor explains another in part may be owed to what all programs share.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018. Ferdman et al., *Clearing the Clouds*, ASPLOS 2012. Recordings: M. Canuto, power-modelling.

# %%
display(results.numbers())
results.save()
