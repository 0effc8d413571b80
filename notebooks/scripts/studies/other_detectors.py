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
# # Other models in AutoPerf's place: does a simpler one find as much?
#
# **Question.** Does a simpler model, an autoencoder of another topology, or time alone do better, by F1 over good and bad runs, than the autoencoder that AutoPerf selects?
#
# *Reads* the recordings of the kernels under `data/regions`. *Writes* F1 of five detectors, AutoPerf's Table 3 (topologies) and its Figures 2 (an autoencoder), 5 (errors of samples) and 10 (error and F1).
#
# The *calibrated* rule is this project's, not AutoPerf's. It takes of every sample its distance from what was learned, $d = \sqrt{RE / RE_{threshold}}$ (below), and calls a run anomalous if the median or the 90th percentile of its samples' distances is one that a good run reaches with a probability of 0.5 % at most. [Notebook 06](../06_anomaly_detection.ipynb) has the detector, its threshold and its rules. A *kernel* is a small program with one function, in a good form and in a bad one, whose threads contend for a cache line or a lock; a *sample* is the counts of one invocation, a *run* one execution of many.

# %% [markdown] tags=["answer"]
# > **Answer** (13 kernels of this project, by software events; default parameters). No model beats comparing the times. The mean F1 is **0.89** for time alone, **0.86** for AutoPerf's autoencoder, **0.66** for a decision tree, **0.45** for principal components and **0.11** for an isolation forest; calling every run anomalous gives **0.65**. In 30 topologies on one kernel, the reconstruction error does not predict F1: their rank correlation is **0.30** (paper's data: −0.92).

# %% tags=["parameters"]
program: str = "all"  # kernels to study, by their names here, separated by commas, or all
folder: str = ""  # of the recordings; empty: data/regions, by hardware events if there are any
max_runs: int = 100  # good runs that a model is trained on, at most
seed: int = 0  # of the models' starts
settings: dict = {}  # jobs, executor, scheduler, profile, results_folder

# %%
from functools import partial

import numpy as np
import pandas as pd
from IPython.display import Markdown
from scipy.stats import binomtest, spearmanr
from sklearn.base import clone
from sklearn.ensemble import IsolationForest
from sklearn.tree import DecisionTreeClassifier

from cmlib import anomaly, plot
from cmlib.anomaly.autoencoder import Autoencoder, PrincipalComponents, search_space
from cmlib.experiments import anomaly as study
from cmlib.experiments.kernels import recordings
from cmlib.parallel import parallel_map
from cmlib.plot.style import PAPER, blank, palette
from cmlib.report import paper
from cmlib.report.notebook import begin

# %%
limits = {"max_runs": (2, 1000), "seed": (0, 1_000_000)}
notebook = begin(
    "other_detectors", settings, program=program, folder=folder, max_runs=max_runs,
    seed=seed,
)
results, workers = notebook.results, notebook.workers
autoperf, programs = paper("autoperf"), recordings.recorded_programs(folder, program)
Markdown(recordings.describe_recordings(programs))

# %% [markdown]
# ## The runs, and the autoencoder
#
# All models but the decision tree learn the same good runs of a kernel, first those of the first recording, then those of the second, as many as AutoPerf's Algorithm 1 says, or all where it never stops ([training_runs](training_runs.ipynb)). The autoencoder sends a sample $X$ of $n$ counters through layers with fewer neurons and back to $X'$; the widths of its layers are its *topology*. Its reconstruction error is (§3.5)
#
# $$RE = \sum_{i=0}^{n-1} |x_i - x'_i|^2$$

# %%
train = partial(study.train_detector, max_runs=max_runs, seed=seed)
largest_first = sorted(programs, key=lambda name: -len(programs[name].training))
trained = parallel_map(train, [programs[name] for name in largest_first], workers)
trained = dict(zip(largest_first, trained, strict=True))
cases = {name: trained[name] for name in programs}
learned = [len(case.learned) for case in cases.values()]
print(f"{len(cases)} kernels; each model learns {min(learned)} to {max(learned)} runs of one.")

# %%
first = cases.get("hash_table_lock", next(iter(cases.values())))
topology, counters = first.detector.models_[0].autoencoder.topology_, first.detector.counters_
widths = [*map(str, topology)]
steps = {"X": f"{len(counters)} counts\nof an invocation"}
steps |= {f"layer {n + 1}": f"{width} neurons" for n, width in enumerate(widths)}
steps |= {f"layer {n + 1}, back": f"{widths[n]} neurons" for n in range(len(widths) - 1)[::-1]}
steps |= {"X'": f"{len(counters)} counts,\nreconstructed",
          "RE": "the squared\ndifference\nof X and X'"}
figure, _ = plot.flow(steps, columns=max(5, len(steps)))
results.figure(figure, "fig02", "**AutoPerf, Fig. 2.** The autoencoder that was selected for "
               f"{first.program.label}; layers from left to right; the paper's example sends 6 "
               f"values through 3 neurons. *See:* {len(counters)} counts come back from "
               f"{min(topology)} neurons.")

# %% [markdown]
# A sample is anomalous if its error is beyond $RE_{threshold} = RE_{mean} + 2 \times RE_{standard\ deviation}$ of the training samples (§3.3.2). Every sample of the kernels that stand for the two programs of the paper's figure:

# %%
def errors_of(case):
    """Reconstruction error of every sample, by kind of run."""
    model, counters = case.detector.models_[0].autoencoder, case.detector.counters_
    kinds = {"training": case.learned, "good": case.program.good, "bad": case.program.bad}
    errors = [pd.DataFrame({"kind": kind, "error": model.squared_errors(
        pd.concat(runs)[counters].to_numpy()).sum(axis=1)}) for kind, runs in kinds.items()]
    return pd.concat(errors, ignore_index=True)


shown = [cases[name] for name in ("hash_table_lock", "row_counters") if name in cases]
shown = shown or list(cases.values())
for case in shown:
    case.samples = errors_of(case)

# %%
COLOURS = {"training": ("trained on", 7), "good": ("good, for the test", 0), "bad": ("bad", 3)}


@plot.styled
def draw_samples(shown):
    """A panel a program: every sample's error, run after run, against the threshold."""
    figure, axes = plot.panels([case.program.label for case in shown], height=2.6)
    for ax, case in zip(axes, shown, strict=True):
        for kind, (label, place) in COLOURS.items():
            errors = case.samples["error"][case.samples["kind"] == kind]
            look = {"ms": 2.5, "color": palette(8)[place], "label": label, "rasterized": True}
            ax.plot(errors.index, errors, ".", **look)
        ax.axhline(case.detector.models_[0].threshold, color="#222222", lw=1, ls="--",
                   label="threshold")
        ax.set(title=case.program.label, xlabel="sample", yscale="log")
    axes[0].set_ylabel("reconstruction error")
    plot.legend_below(figure, axes[0], 4)
    return figure, axes


# %%
def share_beyond(case):
    """Share of a program's samples beyond the threshold, by kind of run [%]."""
    beyond = case.samples["error"] > case.detector.models_[0].threshold
    return 100 * beyond.groupby(case.samples["kind"]).mean()


figure, _ = draw_samples(shown)
seen = "; ".join(f"{share['bad']:.0f} % of the bad samples of {case.program.label} and "
                 f"{share['good']:.1f} % of its good ones ({len(case.learned)} training runs)"
                 for case, share in ((case, share_beyond(case)) for case in shown))  # fmt: skip
results.figure(
    figure, "fig05",
    "**AutoPerf, Fig. 5.** Reconstruction error of every sample (logarithmic), run after run, of "
    f"the {len(shown)} of {len(cases)} kernels that stand for the programs of the paper's figure. "
    f"*See:* beyond the threshold are {seen}.")

# %% [markdown]
# ## Five detectors
#
# - **Autoencoder**, and in its place **PCA** (principal components; the squared residual) and an **isolation forest**: they learn the same good runs and are judged by the calibrated rule above; what a good run reaches is told by the training runs, each judged by models trained without it. This rule was made for reconstruction errors; so all three are also judged *by median distance*: a run is anomalous if the median of its samples' distances is larger than that of each of these good runs, as time alone compares median times.
# - The **decision tree** (Jayasena et al. 2013) learns good *and bad* runs (for the others bad runs are for tests only), of the parallel kernels but never of the one in question. It splits on ratios of events to instructions as published, or to work where instructions were not counted; a run is anomalous if most of its samples are (no calibrated rule).
# - **Time alone**: a run is anomalous if its median invocation took longer than that of every training run (no calibrated rule). With as many training runs as the paper time alone does better than here ([notebook 06](../06_anomaly_detection.ipynb)).
#
# The baseline to be above is *every run*, which calls each run anomalous.
#
# Over runs, with $t_p$ bad and $f_p$ good ones called anomalous, and $f_n$ bad ones that are not (§5.3):
#
# $$F_1 = \frac{2 \times \text{precision} \times \text{recall}}{\text{precision} + \text{recall}} = \frac{2\,t_p}{2\,t_p + f_p + f_n}$$

# %%
def f1_of(good, bad):
    """F1 of good and bad runs that were called anomalous or not."""
    return 2 * sum(bad) / (sum(bad) + len(bad) + sum(good))


def called_by_models(case):
    """Which good, and which bad, runs are anomalous: calibrated, and by median distance."""
    calibrated, medians, runs = {}, {}, (case.program.good, case.program.bad)
    others = {"PCA": PrincipalComponents(), "isolation forest": IsolationForest()}
    for name, model in {"autoencoder": None, **others}.items():
        detector = case.detector
        if model is not None:
            detector = anomaly.AutoPerf(autoencoder=model, random_state=seed)
            detector.fit(case.learned, others=case.others)
        farthest = detector.held_out_["distance_p50"].max()
        calibrated[name] = [detector.predict_runs(kind) for kind in runs]
        medians[name] = [detector.summarize(kind)["distance_p50"] > farthest for kind in runs]
    return calibrated, medians


both = list(parallel_map(called_by_models, cases.values(), workers))

# %%
SHOWN = ["scalar_sum", "vector_sum", "dot_product", "matrix_mult", "matrix_comp"]
tree = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=5, random_state=seed)


def called_by_tree(name):
    """The same by a tree that was shown good and bad runs of the other parallel kernels."""
    shown = [programs[other] for other in map("parallel_{}".format, SHOWN)
             if other in programs and other != name]
    if not shown or programs[name].type == "np":  # a NUMA fault: the tree knows sharing only
        return None
    runs = [(run, kind == "bad") for one in shown for kind in ("training", "bad")
            for run in getattr(one, kind)]
    X = pd.concat([run for run, _ in runs])[counters].to_numpy()
    y = np.repeat([bad for _, bad in runs], [len(run) for run, _ in runs])
    fitted = clone(tree).fit(X, y)
    return [[fitted.predict(run[counters].to_numpy()).mean() > 0.5 for run in kind]
            for kind in (programs[name].good, programs[name].bad)]

# %%
def called_by_time(case):
    """The same by the median time of an invocation, against all training runs'."""
    return study.slow_runs(case.learned, case.program.good, case.program.bad)


EVERY = "every run"
called = [calibrated | {"decision tree": called_by_tree(name), "time alone": called_by_time(case),
                        EVERY: [[True] * len(case.program.good), [True] * len(case.program.bad)]}
          for (name, case), (calibrated, _) in zip(cases.items(), both, strict=True)]
labels = pd.Index([case.program.label for case in cases.values()], name="program")
f1 = pd.DataFrame([{name: f1_of(*runs) if runs else np.nan for name, runs in of.items()}
                   for of in called], labels)
f1 = f1.dropna(axis=1, how="all")  # one kernel alone leaves the tree nothing to learn
by_medians = pd.DataFrame([{name: f1_of(*runs) for name, runs in medians.items()}
                           for _, medians in both]).mean()

# %%
totals = [sum(len(getattr(case.program, kind)) for case in cases.values())
          for kind in ("good", "bad")]
hits = {name: [sum(int(np.sum(of[name][at])) for of in called if of[name]) for at in (0, 1)]
        for name in f1}
ALARMS, FOUND = (f"{kind} of {n}" for kind, n in zip(("false alarms", "bad runs found"), totals,
                                                     strict=True))  # fmt: skip
means = pd.DataFrame({"mean F1": f1.mean(), FOUND: {name: n[1] for name, n in hits.items()},
                      ALARMS: {name: n[0] for name, n in hits.items()},
                      "mean F1 by median distance": by_medians}).rename_axis("detector")
means = means.sort_values("mean F1", ascending=False, kind="stable")
every_run, more = means.at[EVERY, "mean F1"], means["mean F1"]
for name, value in more.items():
    results.number(f"mean F1, {name}", value, note=f"{len(f1)} kernels")
display(results.table(
    means.reset_index(), "means",
    f"**Table.** The detectors over the test runs of {len(f1)} kernels. *See:* "
    + ("time alone has the largest F1" if more.idxmax() == "time alone" else
       f"{more.idxmax()} has the largest F1") + "; above calling every run anomalous "
    f"({every_run:.2f}) by 0.02 or more are "
    f"{', '.join(more.index[more >= every_run + 0.02]) or 'none'}."))

# %%
printed = {case.program.label: autoperf["table2"][case.program.stands_for]
           for case in cases.values()}
of_paper = pd.DataFrame({
    "paper, autoencoder": {name: row[5] for name, row in printed.items()},
    "paper, tree finds it": {name: {True: "yes", False: "no", None: "–"}[row[7]]
                             for name, row in printed.items()}})  # fmt: skip
same = [name for name in f1 if name != EVERY and np.isclose(f1[name], f1[EVERY]).any()]
same = ", ".join(f"{name} in {np.isclose(f1[name], f1[EVERY]).sum()}" for name in same)
zero = ", ".join(f"{name} in {(f1[name] == 0).sum()}" for name in f1 if (f1[name] == 0).any())
results.table(
    f1.drop(columns=EVERY).join(of_paper).reset_index(), "detectors",
    "**Table.** F1 of each detector by kernel, and what the paper prints for the program that the "
    f"kernel stands for, by its own rule. *See:* F1 is 0 of {zero or 'none'}; just that of calling "
    f"every run anomalous ({f1[EVERY].min():.2f} to {f1[EVERY].max():.2f}) of {same or 'none'} "
    f"(kernels of {len(f1)}).")

# %% [markdown]
# The low F1 of isolation forest and PCA by the calibrated rule tells of the rule as well as of these models, and neither was tuned. The forest's case: its score hardly grows beyond the outermost samples that it learned, so that half of a bad run's samples never lie far enough off; by median distance, where only the order counts, it is not held back so. Principal components reconstruct whatever lies along them, however far off it is.

# %% [markdown]
# ## Topologies
#
# Every topology of up to four encoding layers is tried, with the widths of the paper's Table 3 as shares of the number of counters (with 32 counters every topology that the paper selected is among them). Those with the smallest error after 200 batches are trained to the end, from several random starts, and the one with the smallest mean error is selected. Weaker compression loses less, so that the search decides little here (below).

# %%
rows = []
for case in cases.values():
    model = case.detector.models_[0].autoencoder
    n, widths = len(case.detector.counters_), model.topology_
    ended = model.search_["epochs"] == model.epochs
    hidden, error = autoperf["table3"][case.program.stands_for]
    whole = [(n, *widths, *widths[-2::-1], n), (32, *hidden, 32)]
    here, theirs = (" → ".join(map(str, layers)) for layers in whole)
    least = model.search_.loc[ended, "error"].min()
    rows.append((case.program.name, case.program.stands_for, here, least, theirs, error))
columns = ["program", "for the paper's", "topology", "error", "paper, topology", "paper, error"]
table = pd.DataFrame(rows, columns=columns)
results.table(
    table, "table3",
    "**AutoPerf, Table 3.** Topology selected, and mean reconstruction error: a sum over the "
    "counters, scaled to 0.1–0.9 here; the paper doesn't say how it scales, so its errors can't be "
    "compared with these, and it prints one error for Boost and MySQL. Widths from the input "
    "through the hidden layers to the output. *See:* "
    f"{table['topology'].value_counts().iloc[0]} of {len(table)} have the topology "
    f"{table['topology'].mode()[0]}.", decimals=5)  # fmt: skip

# %% [markdown]
# In the paper F1 grows as the error shrinks. The same is asked here of one kernel: each topology is trained once, from one start, and a run is anomalous if the error of one sample is beyond $RE_{mean} + 2\,RE_{standard\ deviation}$ of the training samples (the paper's rule, not the calibrated one). One start instead of the best of several leaves larger errors than in Table 3, and its F1 is another than notebook 06's.

# %%
case = cases.get("row_counters", list(cases.values())[-1])
values = pd.concat(case.learned)[case.detector.counters_].to_numpy()
least = case.detector.models_[0].autoencoder.smallest_range


def judge_topology(topology):
    """Mean error, and F1 by the paper's rule, of an autoencoder of this topology."""
    model = Autoencoder(topologies=[topology], n_starts=1, smallest_range=least, random_state=seed)
    RE = -model.fit(values).score_samples(values)
    RE_threshold, counters = RE.mean() + 2 * RE.std(), case.detector.counters_
    called = [[(-model.score_samples(run[counters].to_numpy()) > RE_threshold).any()
               for run in runs] for runs in (case.program.good, case.program.bad)]
    return " → ".join(map(str, topology)), model.search_["error"][0], f1_of(*called)


space = search_space(values.shape[1])
drawn = sorted(np.random.default_rng(seed).permutation(len(space))[:40])  # at most 40, or all
topologies = pd.DataFrame(parallel_map(judge_topology, [space[place] for place in drawn], workers),
                          columns=["topology", "error", "f1"])

# %%
@plot.styled
def draw_topologies(tables):
    """A point a topology: here, and the paper's, on the same scales."""
    figure, axes = blank(2.9, columns=2, sharex=True, sharey=True)
    looks = {"ls": "", "marker": "o", "color": palette(1)[0], "alpha": 0.6}, PAPER
    for ax, (title, table), look in zip(axes[0], tables.items(), looks, strict=True):
        ax.plot(table["error"], table["f1"], **look)
        ax.set(title=title, xlabel="mean reconstruction error", ylabel="F1")
        ax.tick_params(labelleft=True)
    return figure, axes[0]


# %%
pairs = pd.DataFrame(autoperf["error_and_f1"], columns=["error", "f1"])
theirs = pairs["error"].corr(pairs["f1"], method="spearman")
here, p_here = spearmanr(topologies["error"], topologies["f1"])
figure, _ = draw_topologies({f"{case.program.label}, here": topologies,
                             "MySQL, the paper's": pairs})
relation = (f"the rank correlation is {here:.2f} here (p = {p_here:.2f}), "
            if np.isfinite(here) else "")
f1_by_error = topologies.sort_values("error")["f1"]
n_good, n_bad = len(case.program.good), len(case.program.bad)
results.figure(
    figure, "fig10",
    "**AutoPerf, Fig. 10.** F1 by the mean reconstruction error, a point a topology: left "
    f"{len(topologies)} of {len(space)} topologies, over {n_good} good and {n_bad} bad runs (a "
    f"step is one run), right the paper's {len(pairs)}, many at one place, by hardware events; "
    "by the paper's rule; both on the same scales, though errors and programs can't be compared; "
    f"calling every run anomalous has {f1.at[case.program.label, EVERY]:.2f} here. "
    f"*See:* {relation}{theirs:.2f} in the paper; F1 is "
    f"{f1_by_error.iloc[0]:.2f} at the smallest error and {f1_by_error.iloc[-1]:.2f} at the "
    f"largest; its least is {f1_by_error.min():.2f}.")

# %% [markdown]
# A narrower model has a larger error and therefore a larger threshold: the error of training alone does not say what will be found. Errors of the paper are of other counters and may be scaled otherwise; only the two correlations are compared, and no height of F1.

# %% [markdown]
# ## What the paper printed, and what was measured here

# %%
if np.isfinite(here):
    results.number("rank correlation of reconstruction error and F1 over topologies", here,
                   paper=theirs, note=f"{len(topologies)} topologies, p = {p_here:.2f}")
display(results.numbers())

# %%
auto, rest = means.loc["autoencoder"], means.drop(index=["autoencoder", EVERY])


def in_words(name):
    """Mean F1 of a detector, what it finds and its false alarms."""
    of = means.loc[name]
    return (f"{of['mean F1']:.2f} ({of[FOUND]:.0f} bad and {of[ALARMS]:.0f} good runs called "
            "anomalous)")


better = rest.index[rest["mean F1"] > auto["mean F1"]]
others = ", ".join(f"{name} {value:.2f}" for name, value in rest["mean F1"].items()
                   if name not in better)
ahead = "; ".join(f"{name} {in_words(name)}" for name in better)
kind = "software" if case.program.per == "work" else "hardware"
clear = better[rest["mean F1"][better] > auto["mean F1"] + 0.05]
verdict = (f"Yes, {' and '.join(clear)} does" if len(clear) else
           f"Not clearly, {' and '.join(better)} does about as well" if len(better) else "No")
display(results.finding(
    f"{verdict}: mean F1 over {len(f1)} kernels of ours ({totals[1]} bad and {totals[0]} good test "
    f"runs, {kind} events, one seed) is {f'{ahead}; ' if ahead else ''}autoencoder "
    f"{in_words('autoencoder')}; {f'{others}; ' if others else ''}calling every run anomalous "
    f"{every_run:.2f}. Autoencoder, PCA and isolation forest are judged by a rule that was made "
    "for the first; by median distance they have "
    f"{', '.join(f'{value:.2f}' for value in by_medians)}."))

# %%
if "time alone" in f1:
    less = f1["time alone"] - f1["autoencoder"]
    apart, two = less.abs().idxmax(), ["time alone", "autoencoder"]
    without = f1.drop(index=apart)[two].mean()
    lost = ", ".join(f1.index[(f1[two] == 0).all(axis=1)])
    larger, smaller = (less > 0).sum(), (less < 0).sum()
    p_sign = binomtest(larger, larger + smaller).pvalue if larger + smaller else 1
    display(results.finding(
        f"Time alone against the autoencoder: F1 is larger in {larger} kernels, smaller in "
        f"{smaller}, equal in {(less == 0).sum()} (sign test, p = {p_sign:.2f}); without {apart}, "
        f"where they differ most, the means are {' and '.join(map('{:.2f}'.format, without))}. "
        f"Neither finds a bad run of {lost or 'no kernel'}."))
trend = "grows as the error shrinks, as in the paper" if here < -0.3 else (
    "does not grow as the error shrinks; in the paper it does")  # fmt: skip
finite = f"{here:.2f}" if np.isfinite(here) else "not defined"
larger = (f1_by_error > f1_by_error.iloc[0]).sum()
display(results.finding(
    f"Another topology than that with the smallest error, as AutoPerf selects it, "
    f"{'does' if larger else 'does not do'} better on {case.program.label}, the one kernel asked: "
    f"by the paper's rule that one has F1 {f1_by_error.iloc[0]:.2f}, {larger or 'none'} of "
    f"{len(topologies)} a larger one; the least is {f1_by_error.min():.2f}. Over all of them F1 "
    f"{trend} (rank correlation {finite}, p = {p_here:.2f}; in the paper's data {theirs:.2f})."))

# %% [markdown]
# ## What this doesn't show
#
# How the models do in large programs: here the changed function is alone; in [many_functions](many_functions.ipynb) the same kernels are functions of one program, where fewer runs are learned, only one topology is tried and the false alarms are shared among the functions, so F1 of a kernel is another there. The two NUMA programs need two nodes. The tree's published ratios are of hardware events; principal components and the isolation forest have the settings of one attempt, and were not tuned. Figure 10 is of one kernel, and all its points are judged on the same runs: in others the relation may be another.
#
# ## On your own program
#
# This notebook takes the recorded kernels: `cmlib run paper other_detectors -p program=histogram` takes one (the tree then has nothing to learn from), and the first parameter to change is `seed`, which tells how much hangs on the random start. It doesn't compare models on a program of your own; two versions of one are compared by `cmlib compare './old input' './new input'` ([notebook 06](../06_anomaly_detection.ipynb)).
#
# **References.** Alam, Gottschlich, Muzahid, *AutoPerf: A Generalized Zero-Positive Learning System to Detect Software Performance Anomalies*, §5.3, §5.5; data of its figures: their repository, mejbah/AutoPerf on GitHub. Jayasena et al., *Detection of false sharing using machine learning*, SC 2013. Liu, Ting, Zhou, *Isolation forest*, ICDM 2008.

# %%
results.save()
