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
# # AutoPerf on kernels with contended caches: is the new version slower, and why?
#
# **Question.** Does a model that has seen only good runs of a program find the runs of a slow version, better than their time alone does, and does it name the cause?
#
# *Reads* the recordings of the kernels under `data/regions`: a *kernel* is a small program with one function, in a good form and in a bad one, whose threads contend for a cache line or a lock. *Writes* AutoPerf's Figures 1 to 3, 5 and 11 and its Tables 1 and 2.
#
# [06f](06f_training_runs.ipynb) has Algorithm 1, which ends the training; [06b](06b_many_functions.ipynb) many changed functions; [06d](06d_sensitivity.ipynb) small slowdowns, false alarms and overhead; [06e](06e_other_models.ipynb) other models and topologies.

# %% tags=["parameters"]
program: str = "all"  # kernels to study, by their names here, separated by commas, or all
folder: str = ""  # of the recordings; empty: data/regions, by hardware events if there are any
max_runs: int = 100  # good runs that a detector is trained on, at most
seed: int = 0  # of the autoencoders' starts
settings: dict = {}  # jobs, executor, scheduler, interactive, profile, results_folder

# %%
from importlib.resources import files
from types import SimpleNamespace

import numpy as np
import pandas as pd
from IPython.display import Markdown
from scipy.special import expit

from cmlib import anomaly, plot
from cmlib.anomaly.samples import LOCATION_COLUMNS, smallest_range
from cmlib.collect.compare.counters import CONTENTION, counters_with_role
from cmlib.experiments import anomaly as study
from cmlib.experiments.targets import CLOCKS
from cmlib.io.programs import kernels
from cmlib.parallel import parallel_map
from cmlib.plot.style import PAPER, blank, palette
from cmlib.report import paper
from cmlib.report.notebook import begin

# %%
limits = {"max_runs": (2, 1000), "seed": (0, 1_000_000)}
notebook = begin(
    "06_anomaly_detection", settings, program=program, folder=folder, max_runs=max_runs,
    seed=seed,
)
results, workers = notebook.results, notebook.workers
autoperf, programs = paper("autoperf"), study.recorded_programs(folder, program)
results.mark(study.synthetic_origin(programs))
Markdown(study.describe_recordings(programs))

# %% [markdown]
# ## The anomalies
#
# The bad form executes the same instructions on the same data as the good form, and prints the same result. Only the place of the data, or the lock that guards them, differs: `s.bad` chooses. In *true sharing* all threads use the same word, in *false sharing* each its own word, but in one cache line; either way the line moves from core to core with each update.

# %%
LISTING = [
    ("(a) true sharing", "ticket_dispenser.cpp", "common(s.bad ? 1 : s.threads)",
     "bad: one dispenser of tickets for all threads; good: one each"),
    ("(a) true sharing", "ticket_dispenser.cpp", "value.fetch_add(1, std::memory_order_relaxed)",
     "the update, in both forms"),
    ("(b) false sharing", "kernel.hpp", "near_stride_(s.bad ? width : apart(width))",
     "distance of the threads' counts; bad: side by side; good: two cache lines apart"),
    ("(b) false sharing", "row_counters.cpp", "add(*n_rows_read.at(t, i), 1)",
     "the update, in both forms"),
]  # fmt: skip
folder_of_sources, rows = files("cmlib_workloads") / "kernels/src", []
for anomaly_type, file, code, about in LISTING:
    lines = (folder_of_sources / file).read_text(encoding="utf-8").splitlines()
    place = 1 + next(n for n, line in enumerate(lines) if code in line)
    rows.append((anomaly_type, f"{file}:{place}", code, about))
results.table(
    pd.DataFrame(rows, columns=["anomaly", "line", "code", "what it does"]), "fig01",
    "**AutoPerf, Fig. 1.** The code that makes the caches contended, of the kernels that stand for "
    "bodytrack (a) and MySQL (b); `s.bad`: whether this is the bad form. *See:* the code that "
    "updates is the same in both forms; where it writes is not.")

# %% [markdown]
# ## What was run
#
# The paper studies seven applications and, in its Table 2, fifteen programs. None of them was built: a kernel stands for each, written from the paper's description of the fault and named with what it stands for, as "row_counters (for MySQL)". (`spinlock_pool` holds the pool of spin locks out of Boost's own code, but not the rest of Boost.)

# %%
standing = {kernel.stands_for: kernel.name for kernel in kernels()}
rows = [(name, *entry[:2], "yes" if entry[2] else "no", standing.get(name, ""))
        for name, entry in autoperf["table1"].items()]  # fmt: skip
columns = ["application", "lines of code", "benchmark", "anomaly found by the paper", "run here"]
results.table(
    pd.DataFrame(rows, columns=columns), "table1",
    "**AutoPerf, Table 1.** The applications that the paper studies, as it prints them, and the "
    "kernel that was run instead (last column; empty: none). *See:* "
    f"{sum(bool(row[-1]) for row in rows)} of {len(rows)} have one.")  # fmt: skip

# %% [markdown]
# A *sample* is one invocation of a kernel's function, counted from its beginning to its end: its counts divided by its instructions and by the number of threads. Where instructions can't be counted, software events and tracepoints of Linux (processor time, page faults, system calls, …) are divided by the work that the program says it does, such as rows read. A *run* is one execution, of many invocations; runs differ in the size of the input and the number of threads. Good runs are split, in the order of recording, into those for training and those for the test; bad runs are for the test only. The *second recording* of the good form was made at another time, for training.

# %%
TYPES = {"fs": "false sharing", "ts": "true sharing", "np": "NUMA"}
rows = []
for kernel in kernels():
    recorded = programs.get(kernel.name)
    kinds = ("training", "again", "good", "bad")
    runs = [getattr(recorded, kind) if recorded else [] for kind in kinds]
    missing = f"needs {kernel.nodes} NUMA nodes" if kernel.nodes > 1 else "not recorded"
    rows.append((kernel.name, kernel.stands_for, TYPES[kernel.type], *map(len, runs),
                 "" if recorded else missing))
columns = ["program here", "for the paper's", "anomaly", "training runs", "second recording",
           "good test runs", "bad test runs", "why not"]  # fmt: skip
first = programs.get("hash_table_lock", next(iter(programs.values())))
counters = [column for column in first.training[0] if column not in LOCATION_COLUMNS]
display(results.table(
    pd.DataFrame(rows, columns=columns), "recorded",
    "**Table.** The programs of AutoPerf's Table 2, and how many runs are recorded of the kernel "
    f"that stands for each. *See:* {len(programs)} of {len(rows)} are recorded."))
print(f"{first.label}: first 5 of {len(first.good[0])} samples of its first good run, 7 of "
      f"{len(counters)} counters;\ncounts (task-clock: ns of processor time) per million units of "
      f"{'work' if first.per == 'work' else 'instructions'}")
(1e6 * first.good[0][counters].iloc[:5, :7]).map("{:,.0f}".format)

# %% [markdown]
# ## The method
#
# AutoPerf counts the functions that changed, trains an *autoencoder* on the good runs of the old version, and asks how well it reconstructs the runs of the new one. An autoencoder is a network that sends a sample $X = [x_0, …, x_{n-1}]$ through fewer neurons than it has counters, and back to $X'$. What looks like the training samples comes back nearly as it was; what does not has a large *reconstruction error* (§3.3, §3.5):
#
# $$RE = |X - X'|^2 = \sum_{i=0}^{n-1} RE_i, \qquad RE_i = |x_i - x'_i|^2$$
#
# ($x_i$ is the count of counter $i$, scaled to 0.1 to 0.9 over the training samples.) A sample is anomalous if its error is beyond a threshold, from the mean and the standard deviation of the errors of the training samples (§3.3.2):
#
# $$RE_{threshold} = RE_{mean} + 2 \times RE_{standard\ deviation}$$
#
# By the paper's rule a run is anomalous if one of its samples is; the cause is the counter with the largest $RE_i$ in most of these samples (§3.5).

# %%
steps = {"Changed functions": "of the new version,\nmarked as regions",
         "Counts": "of every invocation,\nold and new version",
         "Training": "an autoencoder learns\nthe old version\n(Algorithm 1: 06f)",
         "Judging": "is an error of the\nnew version beyond\nthe threshold?",
         "Cause": "the counter with the\nlargest part of the\nerror"}  # fmt: skip
figure, _ = plot.flow(steps)
results.figure(figure, "fig03", "**AutoPerf, Fig. 3.** The method, left to right. *See:* only "
               "the old version is learned; no bad run takes part in training.")

# %% [markdown]
# On one kernel, in sight, trained on its first recording. Sigmoid layers, tied weights, 100 epochs of batches of 100, learning rate 0.01, as in the paper (§4.2); the topology with the smallest error is searched:

# %%
good = pd.concat(first.training[:max_runs])[counters]
start = {"random_state": np.random.RandomState(seed).randint(2**31)}
autoencoder = anomaly.Autoencoder(smallest_range=smallest_range(good), **start).fit(good.to_numpy())


def RE_i(X):  # of every sample and counter
    x = 0.1 + 0.8 * (X.to_numpy() - autoencoder.low_) / autoencoder.range_  # what sigmoids reach
    x_new = x
    for weight, bias, _ in autoencoder.layers_:  # encode
        x_new = expit(x_new @ weight + bias)
    for weight, _, bias in reversed(autoencoder.layers_):  # decode
        x_new = expit(x_new @ weight.T + bias)
    return pd.DataFrame((x - x_new) ** 2, columns=counters)


RE = RE_i(good).sum(axis=1)
RE_threshold = RE.mean() + 2 * RE.std(ddof=0)
called, cause = [], []
for run in [*first.good, *first.bad]:
    parts = RE_i(run[counters])
    beyond = parts[parts.sum(axis=1) > RE_threshold]
    called.append(len(beyond) > 0)  # one sample is enough
    cause.append(beyond.idxmax(axis=1).mode().squeeze() if len(beyond) else "")

# %%
detector = anomaly.AutoPerf(rule="any", random_state=seed)  # the library's: the same
detector.fit(first.training[:max_runs])
np.testing.assert_allclose(detector.models_[0].threshold, RE_threshold)
assert detector.predict_runs([*first.good, *first.bad]) == called
n = len(first.good)
worst = int(np.argmax(called[n:]))
assert cause[n + worst] == next(iter(detector.causes(first.bad[worst])["counter"]), "")
print(f"{first.label}: trained on {len(first.training[:max_runs])} runs, threshold "
      f"{RE_threshold:.4f}.\nBy the paper's rule anomalous are {sum(called[:n])} of {n} good runs "
      f"and {sum(called[n:])} of {len(called) - n} bad ones.\nCause of the bad ones: "
      f"{pd.Series(cause[n:]).mode()[0]}.")

# %%
widths = [*map(str, autoencoder.topology_)]
steps = {"X": f"{len(counters)} counts\nof an invocation"}
steps |= {f"layer {n + 1}": f"{width} neurons" for n, width in enumerate(widths)}
steps |= {f"layer {n + 1}, back": f"{widths[n]} neurons" for n in range(len(widths) - 1)[::-1]}
steps |= {"X'": f"{len(counters)} counts,\nreconstructed",
          "RE": "the squared\ndifference\nof X and X'"}
figure, _ = plot.flow(steps, columns=max(5, len(steps)))
results.figure(figure, "fig02", "**AutoPerf, Fig. 2.** The autoencoder that was selected for "
               f"{first.label}; layers from left to right; the paper's example sends 6 values "
               f"through 3 neurons. *See:* {len(counters)} counts come back from "
               f"{min(autoencoder.topology_)} neurons.")

# %% [markdown]
# ## A detector of each program
#
# As in the paper, Algorithm 1 ([06f](06f_training_runs.ipynb)) sets the number of training runs: it ends the training when the variance of the errors hardly changes any more, by less than $\varepsilon$ (0.05 where the paper's variances are about 8; in proportion here). The runs of the first recording come first (as many as the paper used), then those of the second. If the algorithm never stops, the runs of both are used. So the detectors below are not the one above, which was trained on the first recording alone, and their numbers differ.

# %%
def train(recorded):
    """Train a detector on as many good runs as Algorithm 1 says."""
    runs = [*recorded.training, *recorded.again][:max_runs]
    variance = study.error_variance_by_run(runs, seed=seed)["variance"]
    eps = 0.05 / 8 * variance.expanding().mean()  # the paper's variances are about 8
    stop = anomaly.stopping_run(variance, eps=eps, goal=1, max_runs=len(runs))
    rest = recorded.training[stop:]  # good runs that are not learned; no test run is among them
    others = rest if len(rest) >= 10 else ()  # they calibrate; else the learned ones do
    detector = anomaly.AutoPerf(random_state=seed).fit(runs[:stop], others=others)
    as_paper = anomaly.AutoPerf(random_state=seed).fit(recorded.training[:max_runs])
    return SimpleNamespace(program=recorded, detector=detector, as_paper=as_paper,
                           learned=runs[:stop], stopped=stop < len(runs), left_over=bool(others))


largest_first = sorted(programs, key=lambda name: -len(programs[name].training))
trained = parallel_map(train, [programs[name] for name in largest_first], workers)
trained = dict(zip(largest_first, trained, strict=True))
cases = {name: trained[name] for name in programs}


# %%
def errors_of(case):
    """Reconstruction error of every sample, and the part of each counter in it."""
    model, counters, parts = case.detector.models_[0].autoencoder, case.detector.counters_, []
    kinds = {"training": case.learned, "good": case.program.good, "bad": case.program.bad}
    for kind, runs in kinds.items():
        samples = pd.concat(runs, keys=range(len(runs)), names=["run", None]).reset_index("run")
        errors = model.squared_errors(samples[counters].to_numpy())
        errors = pd.DataFrame(errors, columns=counters)
        known = {"kind": kind, "run": samples["run"].to_numpy(), "error": errors.sum(axis=1)}
        parts.append(errors.assign(**known))
    return pd.concat(parts, ignore_index=True)


for case in cases.values():
    case.samples = errors_of(case)

# %%
# Label and place in the palette by kind of run.
COLOURS = {"training": ("trained on", 7), "good": ("good, for the test", 0), "bad": ("bad", 3)}


def scatter_samples(ax, samples, threshold):
    """Errors of samples in their order, coloured by kind of run."""
    for kind, (label, place) in COLOURS.items():
        rows = (samples["kind"] == kind).to_numpy().nonzero()[0]
        errors = samples["error"].iloc[rows]
        ax.plot(rows, errors, ".", ms=2.5, color=palette(8)[place], label=label, rasterized=True)
    ax.axhline(threshold, color="#222222", lw=1, ls="--", label="threshold")
    ax.set_yscale("log")


@plot.styled
def draw_samples(shown):
    """A panel a program: every sample's error, run after run, against the threshold."""
    figure, axes = plot.panels([case.program.label for case in shown], height=2.6)
    for ax, case in zip(axes, shown, strict=True):
        scatter_samples(ax, case.samples, case.detector.models_[0].threshold)
        ax.set(title=case.program.label, xlabel="sample")
    axes[0].set_ylabel("reconstruction error")
    plot.legend_below(figure, axes[0], 4)
    return figure, axes


# %%
def share_beyond(case):
    """Share of a program's samples beyond the threshold, by kind of run [%]."""
    beyond = case.samples["error"] > case.detector.models_[0].threshold
    return 100 * beyond.groupby(case.samples["kind"]).mean()


shown = [cases[name] for name in ("hash_table_lock", "row_counters") if name in cases]
shown = shown or list(cases.values())
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
# ## When is a run anomalous?
#
# The paper's rule needs one sample beyond the threshold. But if errors were normally distributed, 2.3 % of good samples would lie beyond two standard deviations: more than a third of all good runs of 20 samples would be false alarms.
#
# The *calibrated* rule is the project's own; it uses the same autoencoders and asks how many samples of a run are how far off. The distance of a sample is $d = \sqrt{RE / RE_{threshold}}$; of a run two distances are taken, the one that half of its samples exceed and the one that a tenth exceed. Good runs by which no network was trained have such distances too: the training runs that Algorithm 1 left over, if these are at least ten; else the learned runs themselves, each judged by networks of the same topology that learned the other four fifths. (No test run takes part in either.) With $m$ the median of these good runs' distances, and $S$ the sum of what the $k$ runs above the median have beyond it, the probability that a good run lies as far out as $d$ is taken to be
#
# $$p(d) = \tfrac{1}{2}\left(1 + \frac{d - m}{S}\right)^{-k} \quad (d > m)$$
#
# and a run is anomalous if twice the smaller of its two $p$ is at most 0.005. Twenty good runs can't show what one run in 200 does; the formula extrapolates. In sight, for the kernel above:

# %%
DISTANCES = "distance_p50", "distance_p90"
good_runs = detector.held_out_  # the training runs, by networks that did not learn them


def p(d, good):
    m = good.median()
    beyond = good[good > m] - m
    S, k = beyond.sum(), len(beyond)
    return 0.5 * (1 + (d - m) / S) ** -k if d > m else 1.0


test_runs = [*first.good, *first.bad]
p_values = [min(1, 2 * min(p(run[part], good_runs[part]) for part in DISTANCES))
            for _, run in detector.summarize(test_runs).iterrows()]
np.testing.assert_allclose(p_values, detector.p_values_of(test_runs)["p_value"])  # the library's
calibrated = np.array(p_values) <= 0.005
print(f"By the calibrated rule anomalous are {calibrated[:n].sum()} of {n} good runs and "
      f"{calibrated[n:].sum()} of {len(first.bad)} bad ones.")

# %% [markdown]
# ## The rules compared
#
# Two rules need no model. *Time alone*: a run is anomalous if its median invocation took longer than the median of every training run. *Every run* calls each run anomalous: the least that a rule has to beat.
#
# Rules are held against each other by $F_1$ over runs (§5.3). With $t_p$ bad and $f_p$ good ones called anomalous, and $f_n$ bad ones that are not:
#
# $$\text{precision} = \frac{t_p}{t_p + f_p}, \qquad \text{recall} = \frac{t_p}{t_p + f_n}, \qquad F_1 = \frac{2 \times \text{precision} \times \text{recall}}{\text{precision} + \text{recall}} = \frac{2\,t_p}{2\,t_p + f_p + f_n}$$

# %%
def f1_of(good, bad):
    """F1 of good and bad runs that were called anomalous or not."""
    return 2 * sum(bad) / (sum(bad) + len(bad) + sum(good))


def length_change(model, X):
    """By which part the length of a scaled sample changes on its way through (§5.7)."""
    scaled = [0.1 + 0.8 * (of - model.low_) / model.range_ for of in (X, model.reconstruct(X))]
    before, after = (np.linalg.norm(of, axis=1) for of in scaled)
    return np.abs(after - before) / before


def call_by_fixed(case, share):
    """Which good, and which bad, runs have a sample whose length changes by more than a share."""
    model, counters = case.detector.models_[0].autoencoder, case.detector.counters_
    return [[(length_change(model, run[counters].to_numpy()) > share).any() for run in runs]
            for runs in (case.program.good, case.program.bad)]


# %%
ANY = "mean + 2 sd, one sample (the paper's)"
CALIBRATED, TIME, EVERY = "mean + 2 sd, calibrated", "time alone", "every run"


def by_rule(case):
    """F1 and false alarms [%] of a program by each rule."""
    runs = case.program.good, case.program.bad
    called = {f"fixed, {share:.0%}".replace("%", " %"): call_by_fixed(case, share)
              for share in (0.1, 0.2, 0.4)}
    threshold = case.detector.models_[0].threshold
    errors = case.samples.groupby(["kind", "run"])["error"].max() > threshold
    called[ANY] = [errors["good"], errors["bad"]]
    called[CALIBRATED] = [case.detector.predict_runs(kind) for kind in runs]
    called[TIME] = study.slow_runs(case.learned, *runs)
    called[EVERY] = [[True] * len(kind) for kind in runs]
    rows = [(name, f1_of(*both), 100 * np.mean(both[0]), sum(both[1]))
            for name, both in called.items() if both]
    table = pd.DataFrame(rows, columns=["rule", "f1", "false_alarms", "bad found"])
    return table.assign(program=case.program.label)


by_rules = pd.concat(map(by_rule, cases.values()), ignore_index=True)
means = by_rules.groupby("rule", sort=False)[["f1", "false_alarms"]].mean()

# %%
@plot.styled
def draw_rules(table, printed):
    """A row a rule: a dot a program, a bar their mean, and a cross the paper's mean."""
    rules = list(dict.fromkeys(table["rule"]))
    figure, axes = blank(0.9 + 0.42 * len(rules), columns=2, sharey=True)
    for ax, value in zip(axes[0], ("f1", "false_alarms"), strict=True):
        by_rule = table.groupby("rule", sort=False)[value]
        row = table["rule"].map(rules.index) + 0.6 * (by_rule.rank("first", pct=True) - 0.5)
        ax.plot(table[value], row, "o", ms=3.5, color=palette(1)[0], label="a kernel")
        look = {"ms": 20, "mew": 2.5, "color": palette(2)[1], "label": "mean"}
        ax.plot(by_rule.mean(), range(len(rules)), "|", **look)
        ax.grid(True, axis="x")
    axes[0, 0].plot(*zip(*((f1, rules.index(rule)) for rule, f1 in printed.items()), strict=True),
                    label="paper, its own fifteen programs", **PAPER)
    plot.legend_below(figure, axes[0, 0], 3)
    return figure, axes[0]


# %%
printed = autoperf["f1_by_threshold"]
printed = {f"fixed, {name}" if name.endswith("%") else ANY: f1 for name, f1 in printed.items()}
figure, axes = draw_rules(by_rules, printed)
axes[0].set(xlabel="F1", xlim=(-0.03, 1.03), ylim=(len(means) - 0.5, -0.5))
axes[0].set_yticks(range(len(means)), means.index)
axes[1].set(xlabel="good test runs called anomalous [%]", title="False alarms")
axes[0].set_title("F1")
wide = by_rules.pivot(index="program", columns="rule", values="f1")
useless = list(wide.index[wide[ANY] < wide[EVERY]])
wrong = means.loc[means.index.str.startswith("fixed") | (means.index == ANY), "false_alarms"]
against = "".join(f", by {name} {means.at[name, 'f1']:.2f}" for name in (TIME, EVERY)
                  if name in means.index)  # fmt: skip
results.figure(
    figure, "fig11",
    f"**AutoPerf, Fig. 11.** F1 and false alarms of each rule: a dot a kernel ({len(cases)}; their "
    "heights tell them apart), a bar their mean. Crosses: the paper's geometric means, of "
    "fifteen other programs by hardware events, so a guide and no rival. Fixed: a sample is "
    f"anomalous if the length of its vector changes by so much (§5.7). *See:* by the calibrated "
    f"rule mean F1 is {means.at[CALIBRATED, 'f1']:.2f}{against}. Fixed rules and the paper's reach "
    f"theirs with {wrong.min():.0f} to {wrong.max():.0f} % false alarms, the calibrated one with "
    f"{means.at[CALIBRATED, 'false_alarms']:.1f} % (means of kernels). The paper's rule is worse "
    f"than calling every run anomalous for {', '.join(useless) or 'none'}.")

# %% [markdown]
# ## Which runs are anomalous, and why
#
# *Named first* is the counter that is the cause in most of the runs called anomalous. Software events tell of a lock that threads wait for, by its system call (`futex`); false sharing shows in them only as time (`task-clock`, processor time). *Time, bad / good* is of the medians, cycles per instruction or processor time per unit of work.

# %%
def named_first(case, anomalous):
    """The counter that is named first in most of the anomalous runs."""
    causes = [list(case.detector.causes(run)["counter"]) for run in anomalous]
    firsts = pd.Series([counters[0] for counters in causes if counters], dtype=object)
    return "" if firsts.empty else firsts.mode()[0]


# %%
def evaluate(case):
    """A row of Table 2: every test run, judged by the calibrated rule."""
    runs = case.program.good, case.program.bad
    printed = autoperf["table2"][case.program.stands_for]
    good, bad = (case.detector.predict_runs(kind) for kind in runs)
    anomalous = [run for run, hit in zip(case.program.bad, bad, strict=True) if hit]
    slow = study.slow_runs(case.learned, *runs)
    return {"program": case.program.name, "for the paper's": case.program.stands_for,
            "type": case.program.type, "F1": f1_of(good, bad), "F1, paper": printed[5],
            "F1, time alone": f1_of(*slow) if slow else np.nan,
            "time, bad / good": study.slowdown(*runs), "missed": len(bad) - sum(bad),
            "of bad": len(bad), "false alarms": sum(good), "of good": len(good),
            "runs learned": len(case.learned), "runs, paper": printed[0],
            "named first": named_first(case, anomalous)}


table = pd.DataFrame(map(evaluate, cases.values()))

# %%
columns = ["program", "for the paper's", "type", "F1", "F1, paper", "F1, time alone", "named first",
           "time, bad / good"]  # fmt: skip
named = table["named first"].replace("", np.nan).value_counts()
clocks = int(named[named.index.isin(CLOCKS)].sum())
display(results.table(
    table[columns], "table2",
    "**AutoPerf, Table 2.** F1 over the test runs of each kernel, calibrated, by a detector that "
    "knows good runs only (fs: false sharing, ts: true sharing); the paper's F1 is of the program "
    "that it stands for; *named first* is empty where no bad run is called anomalous. *See:* time "
    f"itself is named first in {clocks} of the {named.sum()} kernels that have a cause."))
columns = ["program", "missed", "of bad", "false alarms", "of good", "runs learned", "runs, paper"]
unstopped = [name for name, case in cases.items() if not case.stopped]
left_over = [name for name, case in cases.items() if case.left_over]
found_by_time = by_rules.loc[by_rules["rule"] == TIME, "bad found"].sum()
bad, missed, good, alarms = table[["of bad", "missed", "of good", "false alarms"]].sum()
results.table(
    table[columns], "table2-runs",
    "**Table.** The runs behind it: bad runs missed, good runs called anomalous, and training runs "
    f"(Algorithm 1), beside the paper's. *See:* {bad - missed} of {bad} bad runs and {alarms} of "
    f"{good} good ones are called anomalous; time alone finds {found_by_time} of the bad ones. "
    f"Algorithm 1 never stops for {', '.join(unstopped) or 'none'}; good runs that are left over "
    f"calibrate for {', '.join(left_over) or 'none'}, for the others the learned ones do.")

# %% [markdown]
# ## What the paper printed, and what was measured here
#
# The paper's numbers are of its own programs, on two Xeons with hardware counters. *Paper's runs*: trained on the first recording alone, as many runs as the paper's, whatever Algorithm 1 says. Time alone depends on it most: it compares with the slowest training run, and where Algorithm 1 never stops, a slow run of the second recording is one (so a kernel whose bad runs are clearly slower can have F1 0.00 by time alone in Table 2).

# %%
def f1_as_paper(case):
    """F1 of a detector, and of time alone, with as many training runs as the paper's."""
    runs = case.program.good, case.program.bad
    slow = study.slow_runs(case.program.training[:max_runs], *runs)
    return f1_of(*map(case.as_paper.predict_runs, runs)), f1_of(*slow) if slow else np.nan


as_paper = pd.DataFrame([f1_as_paper(case) for case in cases.values()]).mean()
of_paper = pd.DataFrame([autoperf["table2"][name] for name in table["for the paper's"]])
theirs, n = 100 * (of_paper[4] / of_paper[1]).mean(), len(table)
fixed = {rule: f1 for rule, f1 in means["f1"].items() if rule.startswith("fixed")}
best, paper_f1 = max(f1 for rule, f1 in printed.items() if rule in fixed), of_paper[5].mean()
of_both = f"means of {n}, ours and the paper's"
measured = [
    ("F1, calibrated rule", means.at[CALIBRATED, "f1"], "", paper_f1, of_both),
    ("F1, the paper's rule", means.at[ANY, "f1"], "", paper_f1, of_both),
    ("F1, time alone", table["F1, time alone"].mean(), "", None, f"mean of {n}; baseline"),
    ("F1, every run called anomalous", means.at[EVERY, "f1"], "", None, f"mean of {n}; baseline"),
    ("F1, calibrated rule, paper's runs", as_paper[0], "", paper_f1, of_both),
    ("F1, time alone, paper's runs", as_paper[1], "", None, f"mean of {n}; baseline"),
]  # fmt: skip

# %%
measured += [
    ("F1, best fixed threshold", max(fixed.values()), "", best, "paper: geometric mean of fifteen"),
    ("F1, calibrated rule, lowest", table["F1"].min(), "", of_paper[5].min(), "of a program"),
    ("false alarms, calibrated rule", means.at[CALIBRATED, "false_alarms"], "%", theirs, of_both),
    ("false alarms, the paper's rule", means.at[ANY, "false_alarms"], "%", theirs, of_both),
]  # fmt: skip
for name, value, unit, of_paper, note in measured:
    if np.isfinite(value):
        results.number(name, value, unit, paper=of_paper, note=note)
display(results.numbers())
mostly = table[2 * table["missed"] > table["of bad"]]
hidden = "; ".join(f"in {row['program']} they miss {row['missed']} of {row['of bad']} (F1 "
                   f"{row['F1']:.2f}, by time alone {row['F1, time alone']:.2f})"
                   for _, row in mostly.iterrows())  # fmt: skip

# %%
others = ", ".join(f"`{name}` in {count}" for name, count in named.items() if name not in CLOCKS)
no_cache_events = "" if counters_with_role(CONTENTION, counters) else (
    "; no event of caches was counted, so that false sharing can't be named, and the second half "
    "of the question has no answer here")
f1, its_alarms = means.loc[CALIBRATED, ["f1", "false_alarms"]]
rivals = f"Mean F1 over {n} kernels is {f1:.2f} with the autoencoders"
if TIME in means.index:
    of_time, alarms_of_time = means.loc[TIME, ["f1", "false_alarms"]]
    rivals = (f"{'No' if of_time >= f1 else 'Yes'}: mean F1 over {n} kernels is {f1:.2f} with the "
              f"autoencoders (calibrated rule; {its_alarms:.1f} % of good runs alarm, mean of "
              f"kernels) and {of_time:.2f} by time alone ({alarms_of_time:.1f} %)")
display(results.finding(
    f"{rivals}; {means.at[EVERY, 'f1']:.2f} by calling every run anomalous; the paper prints "
    f"{paper_f1:.2f} for its programs. By the paper's own rule it is {means.at[ANY, 'f1']:.2f}, "
    f"with {means.at[ANY, 'false_alarms']:.0f} % false alarms. The recordings favour time: "
    "executions while the machine was slow were repeated. The cause named first is time itself in "
    f"{clocks} of {named.sum()} kernels{f', else {others}' if others else ''}{no_cache_events}."))
results.finding(
    f"The autoencoders find {bad - missed} of {bad} bad runs, time alone {found_by_time}"
    f"{'; ' + hidden if hidden else ''}. Trained on as many runs as the paper, mean F1 is "
    f"{as_paper[0]:.2f}, by time alone {as_paper[1]:.2f}.")

# %% [markdown]
# ## What this doesn't show
#
# How a server with a thousand functions would fare: here the changed function and its pattern of sharing are alone, and a bad form is easier to see. The two NUMA programs need two nodes. The good form may itself be imperfect: a change is judged, not a program.
#
# Whether hardware counters would name the cause: without a PMU a lock has a tracepoint, but false sharing only a longer time, as any other slowdown has. On a machine with a PMU `cmlib record-kernels` records them (`--list` says what and how long), and this notebook then takes those.
#
# The recordings were made with real-time priority, and executions during which the machine was slow were repeated; otherwise the time of an invocation varies several times as much, and fewer anomalies are found.
#
# ## On your own program
#
# `cmlib compare './old input' './new input'` runs two versions of a program of your own and says whether the new one is slower, and by which counters; the option to change first is `--smallest-change`, the smallest change of the time that is to be reported [%]. This notebook takes the recorded kernels: `cmlib run paper 06_anomaly_detection -p program=histogram` takes one of them, and the first parameter to change is `max_runs`: fewer good runs to learn from.
#
# **References.** Alam, Gottschlich, Muzahid, *AutoPerf: A Generalized Zero-Positive Learning System to Detect Software Performance Anomalies*, §3–5; data of its figures and termination algorithm: their repository, mejbah/AutoPerf on GitHub.

# %%
results.save()
