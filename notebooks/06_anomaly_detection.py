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
# # Anomaly detection: is the new version slower, where and why?
#
# **Question.** Can a model trained on a program's good runs alone detect performance anomalies of new versions, and locate them and their causes?
#
# *Reads* the recordings of the kernels under `data/regions`. *Writes* the tables and figures of AutoPerf's §5, and the rate of wrong verdicts.
#
# Each changed function is counted from its beginning to its end.
#
# A sample is one invocation: its counts divided by its instructions and by the number of threads. A machine without a PMU counts no instructions; there software events and tracepoints (the processor's time, page faults, system calls, …) are divided by the work that the program says it does.
# An autoencoder is trained to reconstruct the samples of good runs. The reconstruction error of a new sample measures how far it is from all of these.
#
# Every program comes in two forms that execute the same instructions on the same data and print the same result. In the bad form threads contend for a cache line or a lock.

# %% tags=["parameters"]
program = "all"  # programs to study, by their names here, separated by commas, or all
folder = ""  # where the recordings are instead of data/regions
max_runs = 100  # runs that are learned at most [2, 1000]
k_max = 10  # most clusters of functions tried [2, 13]
n_pairs = 104  # comparisons of a version with itself, shared among the programs [1, 5000]
seed = 0  # of the autoencoders and of the pairs [0, 1000000]
settings = {}  # jobs, executor, scheduler, interactive, profile, results_folder

# %%
from functools import partial

import pandas as pd

from cmlib import anomaly, explore, plot
from cmlib.anomaly.clusters import clusters_needed
from cmlib.fanout import fan_out
from cmlib.notebook import begin
from cmlib.report import paper
from cmlib.study.anomaly import autoencoders, sensitivity, tables
from cmlib.study.anomaly import judging as study

# %%
notebook = begin("06_anomaly_detection", globals())
results, workers = notebook.results, notebook.workers
autoperf = paper("autoperf")

# %% [markdown]
# ## How many good runs are enough
#
# Training is repeated with 1, 2, 3, … runs, and each time the variance of the reconstruction errors is noted. Algorithm 1 stops where that variance changes little: less over the last tenth of the runs than over all of them, and by less than ε, for more than *goal* runs in a row.
#
# The text gives neither ε nor goal. In the program that the authors published, with two series, ε is 0.05 and goal is 0, but each difference is taken one run earlier than printed. With the algorithm as printed, the series stop where the paper says if goal is 1 (with 0, MySQL's stops at 57).
# The paper counts from 0, also in its Figure 4: its 58 is the 59th value.

# %%
published = {name: pd.Series(values) for name, values in autoperf["variances"].items()}
stops = {
    name: anomaly.stopping_run(values, **autoperf["algorithm1"])
    for name, values in published.items()
}
for name, stop in stops.items():
    results.number(
        f"stopping run of the paper's {name} series",
        stop,
        "runs",
        paper=autoperf["stop_at_run"][name],
        note="Algorithm 1 on the published series",
    )

# %%
settled = {name: stop for name, stop in stops.items() if stop < len(published[name])}
figure, _ = plot.settling(published, stops=settled, ylabel="variance of the errors")
results.figure(
    figure,
    "algorithm1",
    "**Figure.** Algorithm 1 on the series that AutoPerf's authors published (ε 0.05, goal 1): "
    "MySQL's settles, Boost's does not within 100 runs.",
)

# %% [markdown]
# ## What is recorded
#
# Runs differ in the size of their input and in their number of threads. Those of the good form are split, in the order of recording, into those that may be learned and those that are judged; the bad form is never used for training. Only Boost's spinlocks are the original code: the paper describes its five kernels and the sharing in the other programs, and these were written here after that.

# %%
subjects = study.recorded_subjects(folder, program)
source = tables.say_source(subjects)
results.table(
    tables.recorded_table(subjects),
    "recorded",
    source + "**Table.** The fifteen programs of Table 2 and what is recorded of each.",
)

# %% [markdown]
# ## How many of these runs are learned
#
# As in the paper, Algorithm 1 determines the number of training runs. The series has a value for every number of runs, first of those recorded for training (as many as the paper used), then of a second recording of the good form, made at another time. Training ends where the algorithm stops; if it never does, all runs are used.
#
# Errors of another scale need another ε: here 0.6 % of the mean variance so far, which is what 0.05 is in the paper's MySQL series. The series are those of an autoencoder with one hidden layer, half as wide as its input, from one start; another start gives another series, and often another stop.
#
# In Figure 4 Boost's series is constant for a while and is taken for converged, although later inputs raise it more than fourfold; MySQL's falls and jumps to its end. Algorithm 1 detects a constant stretch, not convergence.

# %%
largest_first = sorted(subjects, key=lambda name: -len(subjects[name].training))
work = partial(study.judge_subject, max_runs=max_runs, seed=seed)
results_by_size = fan_out(work, [subjects[name] for name in largest_first], workers)
by_name = dict(zip(largest_first, results_by_size, strict=True))
judged = {name: by_name[name] for name in subjects}

# %%
longest = sorted(judged.values(), key=lambda one: -len(one.settling))[:2]
series = {one.subject.stands_for: one.settling["variance"] for one in longest}
stops = {
    one.subject.stands_for: int(one.row["stopping_run"])
    for one in longest
    if one.row["stopping_run"] > 0
}
figure, _ = plot.settling(series, stops=stops, ylabel="variance of the errors")
results.figure(
    figure,
    "fig04",
    source + "**Figure 4.** Variance of the reconstruction errors against the number of training "
    "runs, of the programs with the most; the paper stops MySQL's at 58.",
)

# %% [markdown]
# ## What the errors look like
#
# No threshold fits all programs: the paper's mean errors are 0.00043 for dedup and 0.28 for MySQL (§3.3.2; its Table 3 has 0.04887 for MySQL). Each autoencoder therefore has its own: the mean plus two standard deviations of the errors of its training samples.
#
# Contention moves dedup's samples far beyond the threshold, and MySQL's only slightly. Some samples of good runs lie beyond it in both.

# %%
of_paper = {name: judged[name] for name in ("hash_table_lock", "row_counters") if name in judged}
shown = of_paper or judged
figure, _ = plot.sample_errors(
    {one.subject.stands_for: one.samples for one in shown.values()},
    thresholds={one.subject.stands_for: one.threshold for one in shown.values()},
)
results.figure(
    figure,
    "fig05",
    source + "**Figure 5.** Reconstruction error of every sample, run after run (logarithmic). "
    "Dashed: mean + 2 standard deviations of the samples learned.",
)

# %% [markdown]
# ## When is a run anomalous?
#
# The paper's rule: if the error of one sample is beyond the threshold, the run is anomalous (§3.3, §3.5). But two standard deviations are exceeded by some samples of every program; if errors were normally distributed, 2.3 % would lie beyond. More than a third of good runs with 20 samples, as here, would then be false alarms, and nearly all runs with 140 samples.
#
# A second rule uses the same autoencoders (*calibrated*): good runs that were held out show how far half of a run's samples, or a tenth of them, usually lie from the training samples. A run is anomalous if its own lie farther off, at a false-alarm probability of 0.5 %.
# The held-out runs are those that Algorithm 1 did not use; if they are fewer than ten, each training run is judged by autoencoders trained on the others.
#
# In Figure 11 a separate threshold for each program is better over all programs than any fixed one, as in the paper, but by less. The figure below it shows the false alarms of the paper's rule: about a quarter of these good runs. The calibrated rule has hardly any, but misses most bad runs of the two matrix programs, whose bad form takes only a fifth longer.

# %%
thresholds = tables.thresholds_table(judged)
printed = autoperf["f1_by_threshold"]
levels = {
    "paper, mean + 2 sd": printed["mean + 2 sd"],
    "paper, best fixed": max(printed[share] for share in ("10 %", "20 %", "40 %")),
}
figure, _ = plot.bars_by_program(
    thresholds, value="f1", hue="threshold", ylabel="F1", levels=levels
)
results.figure(
    figure,
    "fig11",
    source + "**Figure 11.** F1 by threshold: one sample beyond it makes a run anomalous, but for "
    "the last. Fixed ones are shares by which the length of a sample's vector changes.",
)

# %%
own = thresholds[thresholds["threshold"].str.startswith("mean")]
figure, _ = plot.bars_by_program(
    own, value="false_alarms", hue="threshold", ylabel="good test runs\ncalled anomalous [%]"
)
results.figure(
    figure,
    "fig11-false-alarms",
    source + "**Figure 11, false alarms.** Good test runs that are called anomalous, by the "
    "paper's rule and by the calibrated one.",
)

# %% [markdown]
# ## Comparison of detectors
#
# All models below use the calibrated rule and the same good runs. The decision tree (Jayasena et al. 2013) is the exception: it is trained on good *and bad* runs of the five parallel kernels (never of the program in question), and uses fixed ratios: of events to instructions as published, of events to work where instructions were not counted.
#
# In the table, fs is false sharing, ts true sharing, np NUMA. *Named first* is the counter that was named first in most of the detected runs. With a PMU, the rank is the place of the HITM-equivalent event (cache lines that another core has modified); software events have none. *Time* is cycles per instruction, or processor time per unit of work.

# %%
tree = study.judge_by_tree(subjects, seed=seed)
table = tables.table2(judged, tree, autoperf["table2"])
results.table(
    table,
    "table2",
    source + "**Table 2.** Every test run, judged by a detector that knows good runs only.",
)

# %% [markdown]
# ## Choice of the topology
#
# All topologies of up to four encoding layers are trained, with the widths of the paper's Table 3 as shares of the number of counters, so that with 32 counters every topology that the paper selected is among them. Those with the smallest error after 200 batches are trained to the end, and the one with the smallest mean error is selected. Here that is nearly always one wide layer: weaker compression loses less.

# %%
results.table(
    tables.table3(judged, autoperf["table3"]),
    "table3",
    source + "**Table 3.** Topology and mean reconstruction error: a sum over the counters, scaled "
    "to 0.1–0.9 here; the paper doesn't say how it scales.",
    decimals=5,
)

# %% [markdown]
# In the paper F1 grows as the error shrinks. Here error and F1 are those of the same model, every topology trained once, from one start, and judged by the paper's rule; and there is no such relation: a narrower model has a larger error and therefore a larger threshold.

# %%
one = judged.get("row_counters", list(judged.values())[-1])
topologies = study.score_topologies(one, seed=seed)
figure, _ = plot.topologies(
    {
        f"{one.subject.stands_for}, here": topologies,
        "MySQL, paper": pd.DataFrame(autoperf["error_and_f1"], columns=["error", "f1"]),
    }
)
results.figure(
    figure,
    "fig10",
    source + "**Figure 10.** F1 against the mean reconstruction error, a point a topology; right, "
    "the paper's data.",
)

# %% [markdown]
# ## How many autoencoders
#
# A new version changes many functions. An autoencoder for each is expensive, and one for all is too coarse: functions are clustered by their samples (K-means), and each cluster has one. The paper raises K until the rate of false positives, among the training samples, no longer falls (§3.4).
#
# The program here combines the paper's seven functions, run by run; in a bad run one function is bad and the six others are good. A run has 140 samples.
#
# This rate can't select K: the threshold is set so that a few per cent of the training samples always lie beyond it, so the rate does not fall as K rises. By the paper's criterion one autoencoder is enough (Figure 6), while by F1 more are better (Figures 8 and 9). By the paper's rule most good runs with so many samples are anomalous.

# %%
together = autoencoders.put_together(subjects)
scored = autoencoders.score_clusters(together, k_max, seed=seed, workers=workers)
ks = [k for k in scored if k != autoencoders.EACH]
chosen = clusters_needed([scored[k]["false_positive_rate"] for k in ks])

# %%
by_function = tables.functions_table(scored[autoencoders.EACH], scored[chosen], scored[1])
levels = {
    "paper, lowest of one each": min(f1 for f1 in list(autoperf["f1_by_function"].values())[:-1]),
    "paper, one for all": autoperf["f1_by_function"]["whole program"],
}
figure, _ = plot.bars_by_program(
    by_function, value="f1", hue="autoencoders", ylabel="F1", levels=levels
)
results.figure(
    figure,
    "fig06",
    source + "**Figure 6.** F1 (calibrated) of each function when it alone is bad: an autoencoder "
    f"each, K = {chosen} as the false positives in training choose it, and one for all.",
)

# %%
places = autoencoders.samples_in_plane(together)
clusters = {f"K = {k}: F1 {scored[k]['f1']:.2f}": scored[k]["clusters"] for k in ks[1:4] or ks}
printed = (f"K = {k}: {', '.join(map(str, f1))}" for k, f1 in autoperf["f1_by_cluster"].items())
figure, _ = plot.clusters(places, clusters)
results.figure(
    figure,
    "fig07",
    source + "**Figure 7.** Functions by their mean training sample, coloured by cluster. "
    f"The paper's F1 by cluster: {'; '.join(printed)}.",
)

# %%
by_k = tables.clusters_table([scored[k] for k in ks], autoperf["false_positive_rate_by_k"])
lines = [*tables.CLUSTER_COLUMNS.values(), "paper, Apache", "paper, MySQL"]
figure, _ = plot.curves(
    by_k, x="k", ys={line: line for line in lines}, xlabel="K, clusters of samples",
    ylabel="rate, or F1"
)
results.figure(
    figure,
    "fig08-fig09",
    source + "**Figures 8 and 9.** False positives and F1 against the number of clusters.",
)

# %%
results.table(
    by_k,
    "clusters",
    source + "**Table.** The same in numbers, beside the paper's rates (Fig. 8). Its Sqlite "
    "(Fig. 9) has F1 0.91 with one and two clusters, 1.0 with three.",
)

# %% [markdown]
# ## False alarms, sensitivity, overhead
#
# Two recordings of one version must not differ; a small slowdown must be detected; and counting must not itself slow the program.
#
# Versions are compared by some twenty runs of the old and ten of the new. An anomaly is a difference that is significant (1 %) and relevant: the median new run lies farther off than any old one, as judged by autoencoders that were not trained on it. The rate of false alarms is measured on the good forms recorded at two times, each as the new version in turn.
# In three programs the sharing was diluted: only part of the updates go to the contended place.
#
# Bodytrack's contention is detected when it costs a tenth of the time. In the two others it costs less than a tenth at any share, and is not detected. Values below zero mean that the machine was slower while the good form was recorded. In Figure 12 a program without a bar was no slower when it was counted.

# %%
work = partial(sensitivity.same_version_alarms, n_pairs=-(-n_pairs // len(judged)), seed=seed)
compared = sum(fan_out(work, judged.values(), workers), [])
work = partial(sensitivity.dilution, seed=seed)
diluted = pd.concat(fan_out(work, judged.values(), workers), ignore_index=True)

# %%
figure, _ = plot.curves(
    diluted,
    x="sharing",
    ys={"slowdown": "slowdown"},
    by="program",
    xlabel="share of the updates at the contended place [%]",
    ylabel="time, above\nthe good form's [%]",
    log=True,
)
results.figure(
    figure,
    "dilution",
    source + "**Figure.** What diluted sharing costs (median runs).",
)

# %%
results.table(
    diluted,
    "dilution",
    source + "**Table.** Ten runs with diluted sharing against twenty of the good form with the "
    "same path through the code: slowdown [%], p-value, verdict.",
    decimals=4,
)

# %%
overhead = tables.overhead_table(subjects, autoperf["overhead"])
levels = {"paper, mean": 100 * (autoperf["overhead"]["mean"] - 1)}
figure, _ = plot.bars_by_program(
    overhead,
    value="overhead",
    hue="where",
    ylabel="time, counted\nabove uncounted [%]",
    levels=levels,
)
results.figure(
    figure,
    "fig12",
    source + "**Figure 12.** Overhead of counting the regions, median of ten pairs of executions "
    "that took turns.",
)

# %% [markdown]
# ## What was found

# %%
measured = tables.numbers(judged, compared, diluted, overhead, topologies, autoperf)
for name, value, unit, printed, note in measured:
    note = "; ".join(filter(None, (note, source.strip("* ."))))
    results.number(name, value, unit, paper=printed, note=note)
display(results.finding(source + tables.say_verdict(table, compared, diluted)))
results.numbers()

# %% [markdown]
# ## Explore

# %%
panel = explore.anomaly(judged)
caption = "**Figure.** Every sample's error against the threshold, and the counters behind one."
panel if notebook.interactive else results.figure(panel.figure(), "explore", source + caption)

# %% [markdown]
# ## What this doesn't show
#
# The paper's programs were large; here the changed function and its pattern of sharing are isolated, so a bad form is easier to detect than in a server with a thousand other functions. The four programs of Table 1 without an anomaly (Apache, Mesos, Postgres, Sqlite) are not recorded: Figures 8 and 9 show the kernels instead.
# The two NUMA programs need two nodes. The good form may itself be imperfect: a change is judged, not a program.
#
# Without a PMU, a lock that threads wait for has a tracepoint of its own; false sharing appears only as a longer time, as any other slowdown would. To name it, the HITM-equivalent event of a PMU is needed.
# These recordings were made with real-time priority, and executions during which the machine was slow were repeated; otherwise the time of an invocation varies several times as much, and fewer anomalies are detected.
#
# **References.** Alam, Gottschlich, Muzahid, *AutoPerf: A Generalized Zero-Positive Learning System to Detect Software Performance Anomalies*, §3–5; data of its figures and termination algorithm: their repository, mejbah/AutoPerf on GitHub. Jayasena et al., *Detection of false sharing using machine learning*, SC 2013.

# %%
results.save()
