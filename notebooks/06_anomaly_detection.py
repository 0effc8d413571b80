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
# # Anomaly detection: has the new version become slow?
#
# **Question.** Can a program's good runs alone teach what is normal, so that a performance anomaly nobody has ever seen is found, with its place and its cause?
#
# *Reads* the recordings of the kernels under `data/regions`. *Writes* the tables and figures of AutoPerf's §5, and how often a verdict is wrong.
#
# Each changed function is counted from its beginning to its end: a sample is one invocation, its counts divided by its instructions and threads. Where the machine has no PMU, what the kernel counts is taken instead (the processor's time, page faults, system calls, …), divided by the work that the program says it does. An autoencoder learns the samples of good runs and gives a sample back; what it can't give back, the reconstruction error,
# tells how far the sample is from all that is known. Every program comes in two forms that execute the same instructions on the same data and print the same result; in the bad form threads contend for a cache line or a lock.

# %% tags=["parameters"]
program = "all"  # programs to study, by their names here, separated by commas, or all
folder = ""  # where the recordings are instead of data/regions
points = 20  # numbers of training runs tried at most, where the error settles [2, 100]
k_max = 10  # most clusters of functions tried [2, 13]
n_pairs = 208  # comparisons of a version with itself, shared among the programs [1, 5000]
seed = 0  # of the autoencoders and of the pairs [0, 1000000]
jobs = -1  # worker processes; -1: one a processor [-1, 1024]
executor = "processes"  # where the workers are: on this machine, or on a cluster {processes, dask}
scheduler = ""  # address of a running Dask scheduler, such as tcp://127.0.0.1:8786; needs executor dask
interactive = True  # widgets at the end; False: a figure in their place
profile = "paper"  # folder of the results under data/results
results_folder = ""  # where results go instead of data/results

# %%
from functools import partial

import pandas as pd

from cmlib import anomaly, explore, plot
from cmlib.fanout import Workers, fan_out
from cmlib.report import Results, paper
from cmlib.study import anomaly as study, anomaly_tables, grouping, versions

# %%
results = Results("06_anomaly_detection", title="Anomaly detection: has the new version become slow?",
                  question="Can good runs alone teach what is normal, so that a performance anomaly nobody has ever seen is found, with its place and its cause?",
                  profile=profile, folder=results_folder or None)
autoperf, workers = paper("autoperf"), Workers(jobs, executor, scheduler)

# %% [markdown]
# ## How many good runs are enough
#
# Training is repeated with 1, 2, 3, … runs. Algorithm 1 stops where the variance of the reconstruction errors changes little: less over the last tenth of the runs than over all of them, and by less than ε. The paper's own series are published; here the algorithm, as printed, reads them.

# %%
series = {name: pd.Series(values, index=range(1, len(values) + 1)) for name, values in autoperf["variances"].items()}
stops = {name: anomaly.stopping_run(values, **autoperf["algorithm1"]) for name, values in series.items()}
figure, _ = plot.settling(series, stops=stops, ylabel="variance of the errors")
for name, stop in stops.items():
    results.number(f"stopping run of the paper's {name} series", stop, "runs", paper=autoperf["stop_at_run"][name], note="Algorithm 1 on the published series")
results.figure(figure, "algorithm1", "**Figure.** Algorithm 1 on the paper's variances (ε 0.05, goal 1, at most 100 runs): MySQL settles, Boost never does.")

# %% [markdown]
# ## What is recorded, and what the errors look like
#
# Runs differ in their input's size and in their number of threads. The good runs are split, in the order of recording, into those that are learned and those that are judged; of the bad ones nothing is ever learned.

# %%
subjects = study.recorded_subjects(folder, program)
source = anomaly_tables.say_source(subjects)
largest_first = sorted(subjects, key=lambda name: -len(subjects[name].training))
found = dict(zip(largest_first, fan_out(partial(study.judge_subject, points=points, seed=seed), [subjects[name] for name in largest_first], workers)))
judged = {name: found[name] for name in subjects}
results.table(anomaly_tables.recorded_table(subjects), "recorded", source + "**Table.** The fifteen programs of Table 2. Where the code is no original, its pattern of sharing was rebuilt.")

# %%
shown = {name: judged[name] for name in ("hash_table_lock", "row_counters") if name in judged} or judged
figure, _ = plot.sample_errors({one.subject.stands_for: one.samples for one in shown.values()}, thresholds={one.subject.stands_for: one.threshold for one in shown.values()})
results.figure(figure, "fig05", source + "**Figure 5.** Reconstruction error of every sample, run after run (logarithmic). Dashed: mean + 2 standard deviations of the samples learned. "
               f"The paper's mean errors are {autoperf['mean_error']['dedup']:g} (dedup) and {autoperf['mean_error']['MySQL']:g} (MySQL): no one threshold serves two programs.")

# %%
settling = {one.subject.stands_for: one for one in sorted(judged.values(), key=lambda one: -one.settling.index[-1])[:2]}
figure, _ = plot.settling({name: one.settling["mean"] for name, one in settling.items()},
                          stops={name: int(one.row["stopping_run"]) for name, one in settling.items()}, ylabel="mean reconstruction error")
results.figure(figure, "fig04", source + "**Figure 4.** Mean reconstruction error against the number of training runs, of the programs with the most. Errors of another scale need another ε: 0.6 % of the mean variance, which 0.05 is in the paper's MySQL series. The paper stops there at run 58.")

# %% [markdown]
# ## Who finds what
#
# How many anomalous samples make a *run* anomalous the paper leaves open, and some samples of every good run exceed the threshold. So the good runs are judged by autoencoders that learned only the others; a run is anomalous if half, or a tenth, of its samples lie farther beyond the threshold than those of
# good runs do but for a chance of 0.5 %. The other models decide in the same way, from the same good runs. The decision tree (Jayasena et al. 2013) is the exception: it is shown good *and bad* runs of the five parallel kernels (never the program in question) and looks at fixed ratios of events to instructions.

# %%
tree = study.judge_by_tree(subjects, seed=seed)
table = anomaly_tables.table2(judged, tree, autoperf["table2"])
display(results.table(table, "table2", source + "**Table 2.** Every test run judged by a detector that knows good runs only. fs: false sharing, ts: true sharing, np: NUMA. "
                      "*Named first*: the counter behind most of the runs found; *rank of the cause*: place of the counter that plays HITM's part (lines that another core has changed), in the median run found. *Time*: cycles an instruction, or processor's time a unit of work."))
results.table(anomaly_tables.table3(judged, autoperf["table3"]), "table3", source + "**Table 3.** The topology with the smallest mean reconstruction error. Errors are sums over the counters, scaled to 0.1–0.9 here; the paper doesn't say how it scales.", decimals=5)

# %%
one = judged.get("row_counters", list(judged.values())[-1])
errors = study.searched_topologies(one)
scores = pd.DataFrame({"topology": [study.show_topology(t) for t in errors.index], "error": errors.to_numpy(), "f1": fan_out(partial(study.score_topology, judged=one, seed=seed), errors.index, workers)})
figure, _ = plot.topologies(scores)
display(results.figure(figure, "fig10", source + f"**Figure 10.** {one.subject.stands_for}: reconstruction error (above) and F1 (below) of every topology, by its encoding layers, the smallest error first. The paper finds that F1 grows as the error shrinks."))
figure, _ = plot.bars_by_program(anomaly_tables.thresholds_table(judged), value="f1", hue="threshold", ylabel="F1", levels={"paper, mean + 2 sd": autoperf["f1_by_threshold"]["mean + 2 sd"], "paper, best fixed": max(autoperf["f1_by_threshold"][f"{share} %"] for share in (10, 20, 40))})
results.figure(figure, "fig11", source + "**Figure 11.** F1 by threshold. Fixed ones: share by which the length of a sample's vector changes. *By distance* asks also how far beyond the threshold the samples are, the others only how many are.")

# %% [markdown]
# ## How many autoencoders
#
# A new version changes many functions. An autoencoder for each is dear, one for all knows too little: functions are clustered by their samples (K-means), and a cluster shares one. The program here is made of the paper's seven kernels, run by run; in a bad run one function is bad and the six others are good.

# %%
together = grouping.put_together(subjects)
ks = [*range(1, min(k_max, len(together.functions)) + 1)]
scored = dict(zip(["each", *ks], fan_out(partial(grouping.score_clusters, together=together, seed=seed), ["each", *ks], workers)))
best = max(ks, key=lambda k: (scored[k]["f1"], -k))
figure, _ = plot.bars_by_program(anomaly_tables.functions_table(scored["each"], scored[best], scored[1]), value="f1", hue="autoencoders", ylabel="F1", levels={"paper, one for all": autoperf["f1_by_function"]["whole program"], "paper, lowest of one each": 0.73})
results.figure(figure, "fig06", source + "**Figure 6.** F1 for each function when it alone is bad: with an autoencoder of its own, with one a cluster, and with one for the whole program. False alarms are the program's.")

# %%
places = grouping.samples_in_plane(together)
figure, _ = plot.clusters(places, {f"K = {k}: F1 {scored[k]['f1']:.2f}": scored[k]["clusters"] for k in ks[1:4] or ks})
results.figure(figure, "fig07", source + f"**Figure 7.** Functions by their mean training sample, coloured by cluster. The paper's F1 by cluster: K = 2 {autoperf['f1_by_cluster'][2]}, K = 3 {autoperf['f1_by_cluster'][3]}, K = 4 {autoperf['f1_by_cluster'][4]}.")

# %%
labels = {"false_positive_rate": "false positives, samples learned", "run_false_positive_rate": "false alarms, good test runs", "f1": "F1"}
by_k = pd.DataFrame([scored[k] for k in ks])[["k", "autoencoders", *labels]].rename(columns=labels)
by_k = by_k.join(pd.DataFrame(autoperf["false_positive_rate_by_k"], index=range(1, 11)).add_prefix("paper, "), on="k")
figure, _ = plot.curves(by_k, x="k", ys={name: name for name in [*labels.values(), "paper, Apache", "paper, MySQL"]}, xlabel="K, clusters of samples", ylabel="rate, or F1")
display(results.table(by_k, "clusters", source + "**Table.** Clusters, autoencoders that they take, false positives and F1; beside them the paper's rates (Fig. 8). Its Sqlite (Fig. 9): F1 0.91 with one and two clusters, 1.0 with three."))
results.figure(figure, "fig08-fig09", source + "**Figures 8 and 9.** False positives and F1 against the number of clusters.")

# %% [markdown]
# ## How wrong, how small, how dear
#
# Two recordings of one version must not differ; a slowdown must be found while it is small; and counting must not cost what it looks for. Versions are compared by some twenty runs of the old and ten of the new: an anomaly is a difference that is no chance (1 %), and that matters: the median new run lies farther off than any old one, as judged by autoencoders that have not seen it.
# The good forms were recorded once more, at another time, and either recording is taken for the new version. Sharing is diluted by letting only a part of the updates go to the contended place.

# %%
told = sum(fan_out(partial(versions.same_version_alarms, n_pairs=-(-n_pairs // len(judged)), seed=seed), judged.values(), workers), [])
diluted = pd.concat([versions.dilution(one, seed=seed) for one in judged.values()], ignore_index=True)
display(results.table(diluted, "dilution", source + "**Table.** Ten runs with diluted sharing against twenty of the good form with the same path through the code: slowdown [%], chance of a false alarm, verdict.", decimals=4))
figure, _ = plot.curves(diluted, x="sharing", ys={"slowdown": "slowdown"}, by="program", xlabel="share of the updates at the contended place [%]", ylabel="time, above\nthe good form's [%]", log=True)
results.figure(figure, "dilution", source + "**Figure.** What diluted sharing costs (median runs); which of it is found is in the table. Below zero the machine was slower while the good form was recorded.")

# %%
overhead = anomaly_tables.overhead_table(subjects, autoperf["overhead"])
figure, _ = plot.bars_by_program(overhead, value="overhead", hue="where", ylabel="time, counted\nabove uncounted [%]", levels={"paper, mean": 100 * (autoperf["overhead"]["mean"] - 1)})
results.figure(figure, "fig12", source + "**Figure 12.** Overhead of counting the regions, median of ten pairs of executions that took turns.")

# %%
for name, value, unit, printed, note in anomaly_tables.numbers(judged, told, diluted, overhead, autoperf):
    results.number(name, value, unit, paper=printed, note="; ".join(filter(None, (note, source.strip("* .")))))
display(results.finding(source + anomaly_tables.say_verdict(table, told, diluted)))
results.numbers()

# %% [markdown]
# ## Turn the knobs

# %%
panel = explore.anomaly(judged)
panel if interactive else results.figure(panel.figure(), "explore", source + "**Figure.** Every sample's error against the threshold, and the counters behind one anomalous sample.")

# %% [markdown]
# ## What this doesn't show
#
# The paper's programs were large; here the changed function and its pattern of sharing stand alone, so a bad form is clearer than in a server with a thousand other functions. The seven programs of Table 1 without an anomaly (Apache, Mesos, Postgres, Sqlite) are not recorded: Figures 8 and 9 are drawn of the kernels instead.
# The two NUMA programs need two nodes. A fixed good form may itself be imperfect: only a change is judged, not a program.
# Where the kernel counts, a lock that threads wait for has an event of its own; false sharing is seen as time alone, and so would be any other way to be slower. To name it takes the counter that plays HITM's part, and a PMU. Those recordings ran with real-time priority, and executions beside a slow machine were repeated; without either the time of an invocation varies several times as much, and fewer anomalies are found.
#
# **References.** Alam, Gottschlich, Muzahid, *AutoPerf: A Generalized Zero-Positive Learning System to Detect Software Performance Anomalies*, §3–5. Jayasena et al., *Detection of false sharing using machine learning*, SC 2013.

# %%
results.save()
