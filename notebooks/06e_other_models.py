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
# # Other models in AutoPerf's place: does a simpler one find as much?
#
# **Question.** Does a simpler model, an autoencoder of another topology, or time alone find more of the bad runs than the autoencoder that AutoPerf selects?
#
# *Reads* the recordings of the kernels under `data/regions`. *Writes* F1 of five detectors, AutoPerf's Table 3 and its Figure 10.
#
# [Notebook 06](06_anomaly_detection.ipynb) has the detector, its threshold and its rules, and what it finds in each kernel. Every kernel has a good form and a bad one, in which threads contend for a cache line or a lock; a sample is one invocation.

# %% tags=["parameters"]
program: str = "all"  # kernels to study, by their names here, separated by commas, or all
folder: str = ""  # of the recordings; empty: data/regions, by hardware events if there are any
max_runs: int = 100  # good runs that a model is trained on, at most
seed: int = 0  # of the models' starts
settings: dict = {}  # jobs, executor, scheduler, profile, results_folder

# %%
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import IsolationForest
from sklearn.tree import DecisionTreeClassifier

from cmlib import anomaly, plot
from cmlib.anomaly.autoencoder import Autoencoder, PrincipalComponents, search_space
from cmlib.experiments import anomaly as study
from cmlib.parallel import parallel_map
from cmlib.plot.style import PAPER, blank, palette
from cmlib.report import paper
from cmlib.report.notebook import begin

limits = {"max_runs": (2, 1000), "seed": (0, 1_000_000)}
notebook = begin(
    "06e_other_models", settings, program=program, folder=folder, max_runs=max_runs,
    seed=seed,
)
results, workers = notebook.results, notebook.workers
autoperf, programs = paper("autoperf"), study.recorded_programs(folder, program)
source = study.describe_counts(programs)  # a sentence for captions

# %% [markdown]
# ## The runs, and the autoencoder
#
# All models learn the same good runs, as many as Algorithm 1 says ([06f](06f_training_runs.ipynb)). The autoencoder sends a sample $X$ of $n$ counters through narrower layers and back to $X'$; its reconstruction error is $RE = \sum_{i=0}^{n-1} |x_i - x'_i|^2$ (§3.5).

# %%
def train(recorded):
    """Train a detector on as many good runs as Algorithm 1 says."""
    runs = [*recorded.training, *recorded.again][:max_runs]
    variance = study.error_variance_by_run(runs, seed=seed)["variance"]
    eps = 0.05 / 8 * variance.expanding().mean()  # the paper's variances are about 8
    stop = anomaly.stopping_run(variance, eps=eps, goal=1, max_runs=len(runs))
    others = recorded.training[stop:] if len(recorded.training[stop:]) >= 10 else ()
    began = time.monotonic()
    detector = anomaly.AutoPerf(random_state=seed).fit(runs[:stop], others=others)
    return SimpleNamespace(program=recorded, detector=detector, learned=runs[:stop],
                           others=others, seconds=time.monotonic() - began)


largest_first = sorted(programs, key=lambda name: -len(programs[name].training))
trained = parallel_map(train, [programs[name] for name in largest_first], workers)
trained = dict(zip(largest_first, trained, strict=True))
cases = {name: trained[name] for name in programs}
learned = {case.program.label: len(case.learned) for case in cases.values()}
pd.Series(learned, name="training runs").to_frame().T

# %% [markdown]
# ## Five detectors
#
# - **PCA** and **isolation forest** take the autoencoder's place: they learn the same good runs and are judged by the same calibrated rule (a run is anomalous if half of its samples, or a tenth, lie farther off than those of good runs that took no part in training, at a false-alarm probability of 0.5 %).
# - The **decision tree** (Jayasena et al. 2013) learns good *and bad* runs, of the parallel kernels but never of the program in question. It splits on ratios of events to instructions as published, or to work where instructions were not counted.
# - **Time alone**: a run is anomalous if its median invocation took longer than that of every training run.
#
# Over runs, with $t_p$ bad and $f_p$ good ones called anomalous, and $f_n$ bad ones that are not (§5.3):
#
# $$F_1 = \frac{2 \times precision \times recall}{precision + recall} = \frac{2\,t_p}{2\,t_p + f_p + f_n}$$

# %%
def f1_of(good, bad):
    """F1 of good and bad runs that were called anomalous or not."""
    return 2 * sum(bad) / (sum(bad) + len(bad) + sum(good))


def f1_of_models(case):
    """F1 of the autoencoder and of the models in its place."""
    runs = case.program.good, case.program.bad
    f1 = {"autoencoder": f1_of(*map(case.detector.predict_runs, runs))}
    others = {"PCA": PrincipalComponents(), "isolation forest": IsolationForest()}
    for name, model in others.items():
        detector = anomaly.AutoPerf(autoencoder=model, random_state=seed)
        detector.fit(case.learned, others=case.others)
        f1[name] = f1_of(*map(detector.predict_runs, runs))
    return f1


f1 = pd.DataFrame(parallel_map(f1_of_models, cases.values(), workers), index=list(programs))

# %%
SHOWN = ["scalar_sum", "vector_sum", "dot_product", "matrix_mult", "matrix_comp"]
tree = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=5, random_state=seed)
counters = next(iter(cases.values())).detector.counters_


def f1_of_tree(name):
    """F1 of a tree that was shown good and bad runs of the other parallel kernels."""
    shown = [programs[other] for other in map("parallel_{}".format, SHOWN)
             if other in programs and other != name]
    if not shown or programs[name].type == "np":
        return np.nan
    runs = [(run, kind == "bad") for one in shown for kind in ("training", "bad")
            for run in getattr(one, kind)]
    X = pd.concat([run for run, _ in runs])[counters].to_numpy()
    y = np.repeat([bad for _, bad in runs], [len(run) for run, _ in runs])
    fitted = clone(tree).fit(X, y)
    return f1_of(*([fitted.predict(run[counters].to_numpy()).mean() > 0.5 for run in kind]
                   for kind in (programs[name].good, programs[name].bad)))


f1["decision tree"] = list(map(f1_of_tree, programs))

# %%
def f1_of_time_alone(case):
    """F1 by the median time of an invocation, against all training runs'."""
    slow = study.slow_runs(case.learned, case.program.good, case.program.bad)
    return f1_of(*slow) if slow else np.nan


f1["time alone"] = list(map(f1_of_time_alone, cases.values()))
f1 = f1.dropna(axis=1, how="all")  # one kernel alone leaves the tree nothing to learn
f1.index = pd.Index([case.program.label for case in cases.values()], name="program")
printed = {case.program.label: autoperf["table2"][case.program.stands_for]
           for case in cases.values()}
of_paper = pd.DataFrame({
    "paper, autoencoder": {name: row[5] for name, row in printed.items()},
    "paper, tree finds it": {name: {True: "yes", False: "no", None: "–"}[row[7]]
                             for name, row in printed.items()}})  # fmt: skip
means = f1.mean().sort_values(ascending=False)
listed = ", ".join(f"{name} {value:.2f}" for name, value in means.items())
results.table(
    f1.join(of_paper).reset_index(), "detectors",
    "**Table.** F1 of each detector over the test runs of each kernel, and what the paper prints "
    f"for the program that it stands for. {source}*See:* means {listed}.")

# %%
long = f1.melt(ignore_index=False, var_name="detector", value_name="f1").dropna().reset_index()
figure, ax = plot.dots_by_program(long, value="f1", hue="detector", xlabel="F1",
                                  paper=of_paper["paper, autoencoder"].to_dict())
ax.set_xlim(-0.03, 1.03)
results.figure(
    figure, "detectors",
    "**Figure.** The same, a dot a detector; crosses: the paper's autoencoder on the program that "
    f"a kernel stands for. {source}*See:* {means.index[0]} has the highest mean, "
    f"{means.iloc[0]:.2f}; the autoencoder {means['autoencoder']:.2f}.")

# %% [markdown]
# The isolation forest's low F1 tells of the rule rather than of the forest: its score hardly grows beyond the outermost samples that it learned, so that half of a bad run's samples never lie far enough off. Principal components reconstruct whatever lies along them, however far off it is.

# %% [markdown]
# ## Topologies
#
# Every topology of up to four encoding layers is tried, with the widths of the paper's Table 3 as shares of the number of counters (with 32 counters every topology that the paper selected is among them). Those with the smallest error after 200 batches are trained to the end, and the one with the smallest mean error is selected. Here that is nearly always one wide layer: weaker compression loses less.

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
    "counters, scaled to 0.1–0.9 here; the paper doesn't say how it scales. "
    f"{source}*See:* {table['topology'].str.count('→').eq(2).sum()} of {len(table)} have one "
    "hidden layer.", decimals=5)  # fmt: skip

# %% [markdown]
# In the paper F1 grows as the error shrinks. The same is asked here of one kernel: each topology is trained once, from one start, and a run is anomalous if the error of one sample is beyond $RE_{mean} + 2\,RE_{standard\ deviation}$ of the training samples (the paper's rule).

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
drawn = sorted(np.random.default_rng(seed).permutation(len(space))[:40])
topologies = pd.DataFrame(parallel_map(judge_topology, [space[place] for place in drawn], workers),
                          columns=["topology", "error", "f1"])

# %%
@plot.styled
def draw_topologies(tables):
    """A point a topology: here, and the paper's, on equal axes."""
    figure, axes = blank(2.9, columns=2, sharex=True, sharey=True)
    looks = {"ls": "", "marker": "o", "color": palette(1)[0], "alpha": 0.6}, PAPER
    for ax, (title, table), look in zip(axes[0], tables.items(), looks, strict=True):
        ax.plot(table["error"], table["f1"], **look)
        ax.set(title=title, xlabel="mean reconstruction error", ylabel="F1")
        ax.tick_params(labelleft=True)
    return figure, axes[0]


pairs = pd.DataFrame(autoperf["error_and_f1"], columns=["error", "f1"])
here, theirs = (frame["error"].corr(frame["f1"], method="spearman")
                for frame in (topologies, pairs))  # fmt: skip
figure, _ = draw_topologies({f"{case.program.label}, here": topologies,
                             "MySQL, the paper's": pairs})
relation = f"the rank correlation is {here:.2f} here, " if np.isfinite(here) else ""
results.figure(
    figure, "fig10",
    f"**AutoPerf, Fig. 10.** F1 by the mean reconstruction error, a point a topology: left "
    f"{len(topologies)} of ours, right the paper's {len(pairs)}, by hardware events; equal axes. "
    f"{source}*See:* {relation}{theirs:.2f} in the paper.")

# %% [markdown]
# A narrower model has a larger error and therefore a larger threshold: the error of training alone does not say what will be found.

# %% [markdown]
# ## What the paper printed, and what was measured here

# %%
note = source.strip(". ")
seconds = sum(case.seconds for case in cases.values())
measured = [
    ("rank correlation of error and F1", here, "", theirs, f"{len(topologies)} topologies"),
    ("training with topology search", seconds, "s", None, "all programs, added"),
]
for name, value, unit, printed_value, about in measured:
    if np.isfinite(value):
        about = "; ".join(filter(None, (about, note)))
        results.number(name, value, unit, paper=printed_value, note=about)
display(results.numbers())
sign = "a sign" if here < -0.3 else "no sign"
finite = f"{here:.2f}" if np.isfinite(here) else "not defined"
rest = ", ".join(f"{name} {value:.2f}" for name, value in means.items() if name != "autoencoder")
results.finding(
    f"Mean F1 over {len(f1)} kernels is {means['autoencoder']:.2f} with the autoencoder; {rest}. "
    f"A smaller reconstruction error is {sign} of a better detector: over {len(topologies)} "
    f"topologies of {case.program.label} its rank correlation with F1 is {finite}, in the paper's "
    f"data {theirs:.2f}. {source}".strip())

# %% [markdown]
# ## What this doesn't show
#
# How the models do in large programs: here the changed function is alone. The two NUMA programs need two nodes. The tree's published ratios are of hardware events; principal components and the isolation forest have the settings of one attempt, and were not tuned. Figure 10 is of one kernel: in others the relation may be another.
#
# **References.** Alam, Gottschlich, Muzahid, *AutoPerf: A Generalized Zero-Positive Learning System to Detect Software Performance Anomalies*, §5.3, §5.5; data of its figures: their repository, mejbah/AutoPerf on GitHub. Jayasena et al., *Detection of false sharing using machine learning*, SC 2013. Liu, Ting, Zhou, *Isolation forest*, ICDM 2008.

# %%
results.save()
