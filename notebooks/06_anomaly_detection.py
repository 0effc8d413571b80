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
# Each changed function is counted from its beginning to its end. A sample is one invocation: its counts divided by its instructions and by the number of threads. A machine without a PMU counts no instructions; there software events and tracepoints (the processor's time, page faults, system calls, …) are divided by the work that the program says it does.
# An autoencoder learns the samples of good runs and gives a sample back. What it can't give back, the reconstruction error, tells how far the sample is from all that is known.
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
# The text names neither ε nor goal. The authors published the program and the two series that it was tried on: there ε is 0.05 and goal 0, but each difference is taken one run earlier than printed. Read as printed, the series stop where the paper says with goal 1 (with 0, MySQL's stops at 57).
# The paper counts from 0 (its Figure 4 does, too): its 58 is the 59th value.

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
# Runs differ in the size of their input and in their number of threads. Those of the good form are split, in the order of recording, into those that may be learned and those that are judged; of the bad form nothing is ever learned. Only Boost's spinlocks are the original code: the paper describes its five kernels and the sharing in the other programs, and these were written here after that.

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
# The paper trained on as many runs as Algorithm 1 asked for. So does this notebook: the series has a value for every number of runs, first of those recorded for training (as many as the paper used), then of the good form recorded once more, at another time. Training ends where the series stops; one that never does takes all runs.
#
# Errors of another scale need another ε: here 0.6 % of the mean variance so far, which is what 0.05 is in the paper's MySQL series. The series are those of an autoencoder with one hidden layer, half as wide as its input, from one start; another start gives another series, and often another stop.
#
# To see in Figure 4: Boost's series pauses early and is taken for settled, although inputs that come later raise it more than fourfold; MySQL's falls and jumps to its end. Algorithm 1 sees a pause, not an end.

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
# A threshold that serves one program does not serve another: the paper's mean errors are 0.00043 for dedup and 0.28 for MySQL (§3.3.2; its Table 3 has 0.04887 for MySQL). So each autoencoder has its own, the mean and two standard deviations of the errors of what it learned.
#
# To see: contention moves dedup's samples far beyond the threshold, MySQL's only little. And some samples of the good runs lie beyond it in both.

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
# The paper's rule: if the error of one sample is beyond the threshold, the run is anomalous (§3.3, §3.5). But two standard deviations are exceeded by some samples of every program; were errors normally distributed, 2.3 % would be beyond. Of good runs with 20 samples such as these more than a third would then be false alarms, of runs with 140 nearly all.
#
# So the same autoencoders are asked in another way as well: good runs that they did not learn say how far half of a run's samples, or a tenth of them, usually lie from what is known, and a run is anomalous if its own lie farther off but for a false-alarm probability of 0.5 % (*calibrated*).
# Those good runs are the ones that Algorithm 1 left over; where fewer than ten are, each of the learned ones is judged by autoencoders that learned the others.
#
# To see in Figure 11: over all programs a threshold of each one's own is better than any fixed one, as in the paper, but by less. In the figure below it, what the paper's rule costs: about a quarter of these good runs are false alarms. The calibrated rule has hardly any; it misses most bad runs of the two matrix programs instead, whose bad form takes only a fifth longer.

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
# ## Who finds what
#
# All models below decide by the calibrated rule, from the same good runs. The decision tree (Jayasena et al. 2013) is the exception: it is shown good *and bad* runs of the five parallel kernels (never of the program in question), and looks at fixed ratios: of events to instructions as published, of events to work where instructions were not counted.
#
# In the table, fs is false sharing, ts true sharing, np NUMA. *Named first* is the counter behind most of the runs found. With a PMU its rank tells how early the HITM-equivalent event (lines that another core has changed) is named; software events have none. *Time* is cycles per instruction, or processor time per unit of work.

# %%
tree = study.judge_by_tree(subjects, seed=seed)
table = tables.table2(judged, tree, autoperf["table2"])
results.table(
    table,
    "table2",
    source + "**Table 2.** Every test run, judged by a detector that knows good runs only.",
)

# %% [markdown]
# ## Which topology
#
# All topologies of up to four encoding layers are trained, with the widths of the paper's Table 3 as shares of the number of counters, so that with the paper's 32 each that it selected could be. Those with the smallest error after 200 batches are trained to the end, and the one with the smallest mean error is taken. Here that is nearly always one wide layer: the less is squeezed, the less is lost.

# %%
results.table(
    tables.table3(judged, autoperf["table3"]),
    "table3",
    source + "**Table 3.** Topology and mean reconstruction error: a sum over the counters, scaled "
    "to 0.1–0.9 here; the paper doesn't say how it scales.",
    decimals=5,
)

# %% [markdown]
# In the paper F1 grows as the error shrinks. Here error and F1 are those of the same model, every topology trained once, from one start, and judged by the paper's rule; and there is no such relation: a model that squeezes more has a larger error and, with it, a larger threshold.

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
# A new version changes many functions. An autoencoder for each is expensive, one for all knows too little: functions are clustered by their samples (K-means), and a cluster shares one. The paper raises K until the rate of false positives, among the samples that were learned, no longer falls (§3.4).
#
# The program here is made of the paper's seven functions, run by run; in a bad run one function is bad and the six others are good. A run has 140 samples.
#
# To see: that rate can't choose K. The threshold is set so that a few per cent of the samples learned lie beyond it, whatever was learned, and so the rate does not fall when K is raised. By the paper's own criterion one autoencoder is enough (Figure 6), while F1 says that more are better (Figures 8 and 9). And by the paper's rule most good runs of so many samples are anomalous.

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
# Two recordings of one version must not differ; a slowdown must be found while it is small; and counting must not cost what it looks for.
#
# Versions are compared by some twenty runs of the old and ten of the new. An anomaly is a difference that is significant (1 %), and that matters: the median new run lies farther off than any old one, as judged by autoencoders that have not seen it. To see how often that is wrong, the good forms recorded at two times are compared, either as the new version in turn.
# Of three programs the sharing was diluted, by letting only a part of the updates go to the contended place.
#
# To see: bodytrack's contention is found while it costs a tenth of the time. In the two others it costs less than a tenth at any share, and is not found. Below zero the machine was slower while the good form was recorded. In Figure 12 a program without a bar was no slower when it was counted.

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
# The paper's programs were large; here the changed function and its pattern of sharing stand alone, so a bad form is clearer than in a server with a thousand other functions. The four programs of Table 1 without an anomaly (Apache, Mesos, Postgres, Sqlite) are not recorded: Figures 8 and 9 are drawn of the kernels instead.
# The two NUMA programs need two nodes. A fixed good form may itself be imperfect: only a change is judged, not a program.
#
# Without a PMU, a lock that threads wait for has a tracepoint of its own; false sharing is seen as time alone, and so would be any other way to be slower. To name it takes the HITM-equivalent event, and a PMU.
# These recordings ran with real-time priority, and executions beside a slow machine were repeated; without either the time of an invocation varies several times as much, and fewer anomalies are found.
#
# **References.** Alam, Gottschlich, Muzahid, *AutoPerf: A Generalized Zero-Positive Learning System to Detect Software Performance Anomalies*, §3–5; data of its figures and termination algorithm: their repository, mejbah/AutoPerf on GitHub. Jayasena et al., *Detection of false sharing using machine learning*, SC 2013.

# %%
results.save()
