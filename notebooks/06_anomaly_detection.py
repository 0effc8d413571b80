# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
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
# *Reads* the recordings of the kernels under `data/regions`. *Writes* AutoPerf's Figures 5 and 11 and its Table 2.
#
# [Notebook 06e](06e_other_models.ipynb) compares the detector of this one with others, and topologies with each other (Table 3, Figure 10); [06b](06b_many_functions.ipynb) has programs of many changed functions (§5.4), [06d](06d_sensitivity.ipynb) false alarms, small slowdowns and overhead (Figure 12), [06f](06f_training_runs.ipynb) the number of training runs (Figure 4).
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
seed = 0  # of the autoencoders [0, 1000000]
settings = {}  # jobs, executor, scheduler, interactive, profile, results_folder

# %%
from copy import copy
from types import SimpleNamespace

import numpy as np
import pandas as pd

from cmlib import anomaly, explore, plot
from cmlib.collect.compare.counters import CONTENTION, counters_with_role
from cmlib.experiments.anomaly import (
    describe_counts,
    recorded_programs,
    settling,
    slow_runs,
    slowdown,
)
from cmlib.experiments.targets import CLOCKS
from cmlib.io.programs import kernels
from cmlib.parallel import parallel_map
from cmlib.plot.style import bars_across, blank, legend_right, palette
from cmlib.report import paper
from cmlib.report.notebook import begin

# %%
notebook = begin("06_anomaly_detection", globals())
results, workers = notebook.results, notebook.workers
autoperf = paper("autoperf")

# %% [markdown]
# ## What is recorded
#
# Runs differ in the size of their input and in their number of threads. Those of the good form are split, in the order of recording, into those that may be learned and those that are judged; the bad form is never used for training. Only Boost's spinlocks are the original code: the paper describes its five kernels and the sharing in the other programs, and these were written here after that.

# %%
programs = recorded_programs(folder, program)
source = describe_counts(programs)
first = programs.get("hash_table_lock", next(iter(programs.values())))
print(f"{first.name}, the first good run: {len(first.good[0])} samples, counts by {first.per}")
first.good[0].head()

# %%
TYPES = {"fs": "false sharing", "ts": "true sharing", "np": "NUMA"}
rows = []
for one in kernels():
    own = programs.get(one.name)
    runs = [getattr(own, kind) if own else [] for kind in ("training", "good", "bad")]
    missing = f"needs {one.nodes} NUMA nodes" if one.nodes > 1 else "not recorded"
    code, why = "the original" if one.original else "written here", "" if own else missing
    samples = sum(len(run) for kind in runs for run in kind)
    rows.append((one.stands_for, one.name, TYPES[one.type], code, *map(len, runs), samples, why))
columns = ["paper's name", "program here", "anomaly", "code", "training runs", "good test runs",
           "bad test runs", "samples", "why not"]  # fmt: skip
results.table(
    pd.DataFrame(rows, columns=columns),
    "recorded",
    source + "**Table.** The fifteen programs of Table 2 and what is recorded of each.",
)

# %% [markdown]
# ## A detector of one program
#
# The autoencoder sends a sample $X$ of $n$ counters through narrower layers and back to $X'$. Its **reconstruction error** is $RE = |X - X'|^2 = \sum_{i=0}^{n-1} RE_i$ with $RE_i = |x_i - x'_i|^2$ (§3.5), and the threshold $RE_{threshold} = RE_{mean} + 2\,RE_{standard\ deviation}$ of the samples it was trained on (§3.3.2). The counter with the largest $RE_i$ in most of the anomalous samples is named as the cause.

# %%
detector = anomaly.AutoPerf(random_state=seed).fit(first.training[:max_runs])
autoencoder = detector.models_[0].autoencoder


def reconstruction_errors(runs):
    """RE of every sample: the square of what is lost on the way through the autoencoder."""
    return autoencoder.squared_errors(pd.concat(runs)[detector.counters_].to_numpy()).sum(axis=1)


errors = reconstruction_errors(first.training[:max_runs])
threshold = errors.mean() + 2 * errors.std()
print(f"{first.stands_for}: RE mean {errors.mean():.4f}, threshold {threshold:.4f} (training)")
for kind, runs in {"good": first.good, "bad": first.bad}.items():
    beyond = 100 * (reconstruction_errors(runs) > threshold).mean()
    verdicts = detector.predict_runs(runs)
    print(f"{kind}: {beyond:.0f} % of samples beyond, {sum(verdicts)} of {len(runs)} anomalous")
detector.causes(first.bad[0]).head()

# %% [markdown]
# ## A detector of each program
#
# As in the paper, Algorithm 1 determines the number of training runs: [notebook 06f](06f_training_runs.ipynb) has it. It reads the variance of the reconstruction errors after training on 1, 2, … runs, first of those recorded for training (as many as the paper used), then of a second recording of the good form, made at another time. Training ends where the algorithm stops; if it never does, all runs are used.

# %%
def learn(one):
    """A detector of as many good runs as Algorithm 1 says."""
    runs = [*one.training, *one.again][:max_runs]
    variance = settling(runs, seed=seed)["variance"]
    eps = 0.05 / 8 * variance.expanding().mean()  # the paper's variances are about 8
    stop = anomaly.stopping_run(variance, eps=eps, goal=1, max_runs=len(runs))
    others = one.training[stop:] if len(one.training[stop:]) >= 10 else ()
    detector = anomaly.AutoPerf(random_state=seed).fit(runs[:stop], others=others)
    as_paper = anomaly.AutoPerf(random_state=seed).fit(one.training[:max_runs])
    return SimpleNamespace(program=one, detector=detector, as_paper=as_paper, learned=runs[:stop],
                           stops=f"{stop}" if stop < len(runs) else "never")


# %%
largest_first = sorted(programs, key=lambda name: -len(programs[name].training))
by_size = parallel_map(learn, [programs[name] for name in largest_first], workers)
by_name = dict(zip(largest_first, by_size, strict=True))
evaluated = {name: by_name[name] for name in programs}

# %% [markdown]
# ## What the errors look like
#
# No threshold fits all programs: the paper's mean errors are 0.00043 for dedup and 0.28 for MySQL (§3.3.2; its Table 3 has 0.04887 for MySQL). Each autoencoder therefore has its own: the mean plus two standard deviations of the errors of its training samples.
#
# Contention moves dedup's samples far beyond the threshold, and MySQL's only slightly. Some samples of good runs lie beyond it in both.

# %%
def errors_of(one):
    """Reconstruction error of every sample, and the part of each counter in it."""
    model, counters, parts = one.detector.models_[0].autoencoder, one.detector.counters_, []
    kinds = {"training": one.learned, "good": one.program.good, "bad": one.program.bad}
    for kind, runs in kinds.items():
        own = pd.concat(runs, keys=range(len(runs)), names=["run", None]).reset_index("run")
        errors = pd.DataFrame(model.squared_errors(own[counters].to_numpy()), columns=counters)
        known = {"kind": kind, "run": own["run"].to_numpy(), "error": errors.sum(axis=1)}
        parts.append(errors.assign(**known))
    return pd.concat(parts, ignore_index=True)


for one in evaluated.values():
    one.samples = errors_of(one)

# %%
# Label and place in the palette by kind of run.
COLOURS = {"training": ("learned from", 7), "good": ("good, new", 0), "bad": ("anomalous", 3)}


def scatter_samples(ax, samples, threshold):
    """Errors of samples in their order, coloured by kind of run."""
    for kind, (label, place) in COLOURS.items():
        own = (samples["kind"] == kind).to_numpy().nonzero()[0]
        errors = samples["error"].iloc[own]
        ax.plot(own, errors, ".", ms=2.5, color=palette(8)[place], label=label, rasterized=True)
    ax.axhline(threshold, color="#222222", lw=1, ls="--", label="threshold")
    ax.set_yscale("log")


# %%
@plot.styled
def draw_samples(shown):
    """A panel a program: every sample's error, run after run, against the threshold."""
    figure, axes = plot.panels([one.program.stands_for for one in shown], height=2.6)
    for ax, one in zip(axes, shown, strict=True):
        scatter_samples(ax, one.samples, one.detector.models_[0].threshold)
        ax.set(title=one.program.stands_for, xlabel="sample")
    axes[0].set_ylabel("reconstruction error")
    plot.legend_below(figure, axes[0], 4)
    return figure, axes


of_paper = ("hash_table_lock", "row_counters")
shown = [evaluated[name] for name in of_paper if name in evaluated] or [*evaluated.values()]
figure, _ = draw_samples(shown)
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
# Of the runs, $t_p$ bad and $f_p$ good ones are called anomalous, and $f_n$ bad ones are not (§5.3):
#
# $$precision = \frac{t_p}{t_p + f_p}, \qquad recall = \frac{t_p}{t_p + f_n}, \qquad F_1 = \frac{2 \times precision \times recall}{precision + recall} = \frac{2\,t_p}{2\,t_p + f_p + f_n}$$
#
# In Figure 11 a separate threshold for each program is better over all programs than any fixed one, as in the paper, but by less. The figure below it shows the false alarms of the paper's rule: about a quarter of these good runs. The calibrated rule has hardly any, but misses most bad runs of the two matrix programs, whose bad form takes only a fifth longer.

# %%
def f1_of(good, bad):
    """F1 of good and bad runs that were called anomalous or not."""
    return 2 * sum(bad) / (sum(bad) + len(bad) + sum(good))


def length_change(model, X):
    """By which part the length of a scaled sample changes on its way through (§5.7)."""
    scaled = [0.1 + 0.8 * (of - model.low_) / model.range_ for of in (X, model.reconstruct(X))]
    before, after = (np.linalg.norm(of, axis=1) for of in scaled)
    return np.abs(after - before) / before


def beyond(one, share):
    """Which good, and which bad, runs have a sample whose length changes by more than a share."""
    model, counters = one.detector.models_[0].autoencoder, one.detector.counters_
    return [[(length_change(model, run[counters].to_numpy()) > share).any() for run in runs]
            for runs in (one.program.good, one.program.bad)]


# %%
def by_threshold(one):
    """F1 and false alarms of the same autoencoder by each threshold."""
    runs = one.program.good, one.program.bad
    called = {f"{100 * share:.0f} %": beyond(one, share) for share in (0.1, 0.2, 0.4)}
    by_any = copy(one.detector).set_params(rule="any")
    called["mean + 2 sd"] = [by_any.predict_runs(own) for own in runs]
    called["mean + 2 sd, calibrated"] = [one.detector.predict_runs(own) for own in runs]
    rows = [(name, f1_of(*both), np.mean(both[0])) for name, both in called.items()]
    table = pd.DataFrame(rows, columns=["threshold", "f1", "false_alarms"])
    return table.assign(program=one.program.stands_for)


thresholds = pd.concat(map(by_threshold, evaluated.values()), ignore_index=True)
thresholds["false_alarms"] *= 100

# %%
printed = autoperf["f1_by_threshold"]
levels = {
    "paper, mean + 2 sd": printed["mean + 2 sd"],
    "paper, best fixed": max(printed[share] for share in ("10 %", "20 %", "40 %")),
}
figure, _ = plot.bars_by_program(
    thresholds, value="f1", hue="threshold", ylabel="F1", levels=levels
)
display(results.figure(
    figure,
    "fig11",
    source + "**Figure 11.** F1 by threshold: one sample beyond it makes a run anomalous, but for "
    "the last. Fixed ones are shares by which the length of a sample's vector changes.",
))

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
# ## Which runs are anomalous, and why
#
# The table has the calibrated rule. In it, fs is false sharing, ts true sharing, np NUMA. *Named first* is the counter that was named first in most of the detected runs. With a PMU, the rank is the place of the HITM-equivalent event (cache lines that another core has modified); software events have none. *Time* is cycles per instruction, or processor time per unit of work. A detector by time alone looks at nothing else: a run is anomalous if its median invocation took longer than that of any run learned.

# %%
def name_causes(one, found):
    """The counter that is named first in most of the runs found, and the cause's median rank."""
    of_np = one.program.type == "np"
    cause = [] if of_np else counters_with_role(CONTENTION, one.detector.counters_)
    causes = [list(one.detector.causes(run)["counter"]) for run in found]
    firsts = pd.Series([counters[0] for counters in causes if counters], dtype=object)
    ranks = [1 + min(map(counters.index, cause)) for counters in causes if counters and cause]
    rank = pd.Series(ranks, dtype=float).median()
    return {"named": "" if firsts.empty else firsts.mode()[0], "cause_rank": rank}


# %%
def evaluate(one):
    """A row of Table 2: every good and bad run, judged by a detector of good ones."""
    runs = one.program.good, one.program.bad
    good, bad = (one.detector.predict_runs(own) for own in runs)
    found = [run for run, hit in zip(one.program.bad, bad, strict=True) if hit]
    return {"learned": len(one.learned), "good": len(good), "false_positives": sum(good),
            "bad": len(bad), "false_negatives": len(bad) - sum(bad), "f1": f1_of(good, bad),
            "slowdown": slowdown(*runs)} | name_causes(one, found)


rows = pd.DataFrame(map(evaluate, evaluated.values()), index=list(evaluated))


# %%
def f1_of_time_alone(one, learned):
    """By time alone a run is anomalous if its median time is above all learned runs'."""
    slow = slow_runs(learned, one.program.good, one.program.bad)
    return f1_of(*slow) if slow else np.nan


def f1_as_paper(one):
    """F1 of a detector, and of time alone, that learned as many runs as the paper's."""
    judged = [one.as_paper.predict_runs(own) for own in (one.program.good, one.program.bad)]
    return f1_of(*judged), f1_of_time_alone(one, one.program.training[:max_runs])


printed = {name: autoperf["table2"][one.stands_for] for name, one in programs.items()}
table = rows.assign(
    program=[one.stands_for for one in programs.values()],
    type=[one.type for one in programs.values()],
    paper_f1=[row[5] for row in printed.values()], paper_runs=[row[0] for row in printed.values()],
    stops=[one.stops for one in evaluated.values()],
    time=[f1_of_time_alone(one, one.learned) for one in evaluated.values()],
)
table[["as_paper", "time_as_paper"]] = [f1_as_paper(one) for one in evaluated.values()]

# %%
COLUMNS = {
    "program": "program", "type": "type", "f1": "F1", "paper_f1": "paper, F1",
    "time": "time alone, F1", "as_paper": "F1, paper's runs",
    "time_as_paper": "time alone, F1, paper's runs", "false_negatives": "missed", "bad": "of bad",
    "false_positives": "false alarms", "good": "of good", "named": "named first",
    "cause_rank": "rank of the cause", "slowdown": "time, bad / good",
    "stops": "Algorithm 1 stops at run", "learned": "runs learned", "paper_runs": "paper, runs",
}  # fmt: skip
table = table[list(COLUMNS)].rename(columns=COLUMNS).reset_index(drop=True)
table = table.dropna(axis=1, how="all")  # software events have no HITM-equivalent
results.table(
    table,
    "table2",
    source + "**Table 2.** Every test run, judged by a detector that knows good runs only. *Time "
    "alone* calls a run anomalous if its median invocation took longer than any learned run's; "
    "*paper's runs*: as many were learned as the paper's, whatever Algorithm 1 says.",
)

# %% [markdown]
# ## What was found

# %%
means = thresholds.groupby("threshold")[["f1", "false_alarms"]].mean()
by_any, calibrated = means.loc["mean + 2 sd"], means.loc["mean + 2 sd, calibrated"]
fixed = [name for name in means.index if name.endswith("%")]
printed2 = pd.DataFrame(list(printed.values()))
alarms = 100 * (printed2[4] / printed2[1]).mean()
best = max(autoperf["f1_by_threshold"][name] for name in fixed)
same = f"{len(rows)} programs, the same in the paper"
measured = [
    ("F1, mean", calibrated["f1"], "", printed2[5].mean(), f"calibrated; {same}"),
    ("F1, lowest", rows["f1"].min(), "", printed2[5].min(), "calibrated"),
    ("F1, mean, by any sample", by_any["f1"], "", printed2[5].mean(), f"the paper's rule; {same}"),
    ("F1, mean, time alone", table["time alone, F1"].mean(), "", None, "baseline"),
    ("F1, mean, best fixed threshold", means.loc[fixed, "f1"].max(), "", best,
     "the paper's is a geometric mean of fifteen programs"),
    ("false alarms, good runs", calibrated["false_alarms"], "%", alarms, f"calibrated; {same}"),
    ("false alarms, good runs, by any sample", by_any["false_alarms"], "%", alarms,
     "the paper's rule"),
    ("rank of the cause, worst program", rows["cause_rank"].max(), "", 2.0, "median of each"),
]  # fmt: skip

# %%
for name, value, unit, theirs, note in measured:
    if np.isfinite(value):
        note = "; ".join(filter(None, (note, source.strip("* ."))))
        results.number(name, value, unit, paper=theirs, note=note)
results.numbers()

# %%
mean = table[["time alone, F1", "time alone, F1, paper's runs", "F1, paper's runs"]].mean()
named = table["named first"].replace("", np.nan).value_counts()
listed = "; ".join(f"`{counter}`{', time itself,' if counter in CLOCKS else ''} in {n}"
                   for counter, n in named.items())
bad, missed, good, alarms = table[["of bad", "missed", "of good", "false alarms"]].sum()
mostly = table.loc[2 * table["missed"] > table["of bad"], "time, bad / good"].dropna()
hidden = (
    f"In {len(mostly)} programs more than half of them are missed; there the bad form takes "
    f"{mostly.min():.2f} to {mostly.max():.2f} times as long. " if len(mostly) else ""
)
results.finding(
    f"{source}Time alone finds the anomalies with a mean F1 of {mean.iloc[0]:.2f}, the "
    f"autoencoders with {calibrated['f1']:.2f}, where Algorithm 1 says how many runs are learned; "
    f"with the paper's numbers of runs {mean.iloc[1]:.2f} and {mean.iloc[2]:.3f}. Named first in "
    f"most of a program's runs that were found: {listed} of {named.sum()} programs. "
    f"Of {bad} anomalous runs of {len(table)} programs {bad - missed} are found by a "
    f"detector that never saw one; of {good} good ones {alarms} are called anomalous. {hidden}"
)

# %% [markdown]
# ## Explore

# %%
@plot.styled
def draw_one(samples, parts, threshold, chosen, title):
    """Above, every sample's error, one ringed; below, the counters behind that one."""
    figure, axes = blank(5.2, rows=2, gridspec_kw={"height_ratios": (3, 2)})
    ax, below = axes[:, 0]
    scatter_samples(ax, samples, threshold)
    ring = {"ms": 10, "mfc": "none", "mec": "#111111", "mew": 1.6, "label": "chosen"}
    ax.plot(chosen, samples["error"].iloc[chosen], "o", **ring)
    ax.set(title=title, xlabel="sample", ylabel="reconstruction error")
    legend_right(ax)
    bars_across(below, parts, parts.index, palette(4)[3])
    below.set(xlabel="share of the chosen sample's error [%]", xlim=(0, 100))
    return figure, ax


# %%
def draw_errors(program, n_sd, place):
    """Every sample's error against mean + n standard deviations, and the counters behind one."""
    samples = evaluated[program].samples
    error, kind = samples["error"], samples["kind"]
    learned, bad = error[kind == "training"], error[kind == "bad"].sort_values()
    threshold = learned.mean() + n_sd * learned.std(ddof=0)
    chosen = bad.index[place * (len(bad) - 1) // 100]
    parts = 100 * samples.drop(columns=["kind", "run", "error"]).loc[chosen] / error[chosen]
    title = f"{program}: threshold {threshold:.3g}"
    figure, _ = draw_one(samples, parts.nlargest(6), threshold, chosen, title)
    above = (100 * (error > threshold).groupby(kind).mean()).rename("above the threshold [%]")
    return figure, above.to_frame().to_html(float_format="{:.1f}".format)


panel = explore.Panel(draw_errors, {
    "program": explore.dropdown("program", list(evaluated)),
    "n_sd": explore.slider("n (std. deviations)", 0.0, 10.0, step=0.5, value=2.0),
    "place": explore.slider("sample, by error [%]", 0, 100, step=5, value=50),
})
caption = "**Figure.** Every sample's error against the threshold, and the counters behind one."
panel if notebook.interactive else results.figure(panel.figure(), "explore", source + caption)

# %% [markdown]
# ## What this doesn't show
#
# The paper's programs were large; here the changed function and its pattern of sharing are isolated, so a bad form is easier to detect than in a server with a thousand other functions.
# The two NUMA programs need two nodes. The good form may itself be imperfect: a change is judged, not a program.
#
# Without a PMU, a lock that threads wait for has a tracepoint of its own; false sharing appears only as a longer time, as any other slowdown would. To name it, the HITM-equivalent event of a PMU is needed.
# These recordings were made with real-time priority, and executions during which the machine was slow were repeated; otherwise the time of an invocation varies several times as much, and fewer anomalies are detected.
#
# **References.** Alam, Gottschlich, Muzahid, *AutoPerf: A Generalized Zero-Positive Learning System to Detect Software Performance Anomalies*, §3–5; data of its figures and termination algorithm: their repository, mejbah/AutoPerf on GitHub. Jayasena et al., *Detection of false sharing using machine learning*, SC 2013.

# %%
results.save()
