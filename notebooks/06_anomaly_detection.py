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
# *Reads* the recordings of the kernels under `data/regions`: small programs, each in a good form and in a bad one, whose threads contend for a cache line or a lock. All but one were written from the paper's descriptions; `spinlock_pool` is Boost's own code. *Writes* AutoPerf's Figures 1 to 3, 5 and 11 and its Tables 1 and 2.
#
# [06f](06f_training_runs.ipynb) has Algorithm 1, which ends the training; [06b](06b_many_functions.ipynb) many changed functions; [06d](06d_sensitivity.ipynb) false alarms, small slowdowns and overhead; [06e](06e_other_models.ipynb) other models and topologies. To compare two versions of a program of your own: `cmlib compare './old input' './new input'` (its options are described in the documentation; the parameters below are of this notebook, the first to change is `program`).

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
from scipy.special import expit

from cmlib import anomaly, explore, plot
from cmlib.anomaly.samples import LOCATION_COLUMNS, smallest_range
from cmlib.collect.compare.counters import CONTENTION, counters_with_role
from cmlib.experiments import anomaly as study
from cmlib.experiments.targets import CLOCKS
from cmlib.io.programs import kernels
from cmlib.parallel import parallel_map
from cmlib.plot.style import PAPER, bars_across, blank, legend_right, palette
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
source = study.describe_counts(programs)  # a sentence for captions

# %% [markdown]
# ## The anomalies
#
# The bad form executes the same instructions on the same data as the good form, and prints the same result. Only the place of the data, or the lock that guards them, differs: `s.bad` chooses. In *true sharing* all threads use the same word, in *false sharing* each its own word, but in one cache line; either way the line moves from core to core with each update.

# %%
LISTING = {
    "(a) true sharing: one dispenser for all threads, or one each": {
        "ticket_dispenser.cpp": ["common(s.bad ? 1", "value.fetch_add"]},
    "(b) false sharing: counts side by side, or a cache line each": {
        "row_counters.cpp": ["Slots n_rows_read", "add(*n_rows_read"],
        "kernel.hpp": ["near_stride_(s.bad ?"]},
}  # fmt: skip
folder_of_sources = files("cmlib_workloads") / "kernels/src"
rows = []
for anomaly_type, searched in LISTING.items():
    for file, parts in searched.items():
        code = (folder_of_sources / file).read_text(encoding="utf-8").splitlines()
        lines = [next(n for n, line in enumerate(code) if part in line) for part in parts]
        rows += [(anomaly_type, f"{file}:{n + 1}", code[n].strip()) for n in lines]
results.table(
    pd.DataFrame(rows, columns=["anomaly", "line", "code"]), "fig01",
    "**AutoPerf, Fig. 1.** The lines that make the caches contended, of the kernels for bodytrack "
    "(a) and MySQL (b). *See:* the code that updates is the same in both forms; where it writes is "
    "not.")  # fmt: skip

# %% [markdown]
# ## What was run
#
# None of the paper's applications was built. A small kernel stands for three of them, with the same pattern of sharing; a kernel is written with what it stands for, as "row_counters (for MySQL)".

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
# A *sample* is one invocation of a kernel, counted from its beginning to its end: its counts divided by its instructions and by the number of threads. Where instructions can't be counted, software events and tracepoints (processor time, page faults, system calls, …) are divided by the work that the program says it does. A *run* is one execution, of many invocations; runs differ in the size of the input and the number of threads. Good runs are split, in the order of recording, into those for training and those for the test; bad runs are for the test only.

# %%
TYPES = {"fs": "false sharing", "ts": "true sharing", "np": "NUMA"}
rows = []
for kernel in kernels():
    recorded = programs.get(kernel.name)
    runs = [getattr(recorded, kind) if recorded else [] for kind in ("training", "good", "bad")]
    missing = f"needs {kernel.nodes} NUMA nodes" if kernel.nodes > 1 else "not recorded"
    samples = sum(len(run) for kind in runs for run in kind)
    rows.append((kernel.name, kernel.stands_for, TYPES[kernel.type], *map(len, runs), samples,
                 "" if recorded else missing))
columns = ["program here", "for the paper's", "anomaly", "training runs", "good test runs",
           "bad test runs", "samples", "why not"]  # fmt: skip
first = programs.get("hash_table_lock", next(iter(programs.values())))
counters = [column for column in first.training[0] if column not in LOCATION_COLUMNS]
display(results.table(
    pd.DataFrame(rows, columns=columns), "recorded",
    f"**Table.** The fifteen programs of AutoPerf's Table 2 and what is recorded of each. {source}"
    f"*See:* {len(programs)} of {len(rows)} are recorded."))  # fmt: skip
print(f"{first.label}: the first samples of its first good run, {len(counters)} counters")
first.good[0][counters].iloc[:5, :7]

# %% [markdown]
# ## The method
#
# AutoPerf counts the functions that changed, trains an *autoencoder* on the good runs of the old version, and asks how well it reconstructs the runs of the new one. An autoencoder is a network that sends a sample $X = [x_0, …, x_{n-1}]$ through fewer neurons than it has counters, and back to $X'$. What looks like the training samples comes back nearly as it was; what does not has a large *reconstruction error* (§3.3, §3.5):
#
# $$RE = |X - X'|^2 = \sum_{i=0}^{n-1} RE_i, \qquad RE_i = |x_i - x'_i|^2$$
#
# A sample is anomalous if its error is beyond a threshold of the program's, from its training samples (§3.3.2):
#
# $$RE_{threshold} = RE_{mean} + 2 \times RE_{standard\ deviation}$$
#
# A run is anomalous if one of its samples is; the cause is the counter with the largest $RE_i$ in most of these samples (§3.5).

# %%
steps = {"Changed functions": "of the new version,\nmarked as regions",
         "Counts": "of every invocation,\nold and new version",
         "Training": "an autoencoder learns\nthe old version\n(Algorithm 1: 06f)",
         "Judging": "is an error of the\nnew version beyond\nthe threshold?",
         "Cause": "the counter with the\nlargest part of the\nerror"}  # fmt: skip
figure, _ = plot.flow(steps)
results.figure(figure, "fig03", "**AutoPerf, Fig. 3.** The method. *See:* no bad run takes part "
               "in training.")

# %% [markdown]
# On one program, in sight. Sigmoid layers, tied weights, 100 epochs of batches of 100, learning rate 0.01, as in the paper (§4.2); the topology with the smallest error is searched:

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
detector.fit(first.training[:max_runs], others=first.good)
np.testing.assert_allclose(detector.models_[0].threshold, RE_threshold)
assert detector.predict_runs([*first.good, *first.bad]) == called
n = len(first.good)
worst = int(np.argmax(called[n:]))
assert cause[n + worst] == next(iter(detector.causes(first.bad[worst])["counter"]), "")
print(f"{first.label}: trained on {len(first.training[:max_runs])} runs, threshold "
      f"{RE_threshold:.4f}; anomalous are {sum(called[:n])} of {n} good runs and "
      f"{sum(called[n:])} of {len(called) - n} bad ones, cause {pd.Series(cause[n:]).mode()[0]}.")

# %%
widths = [*map(str, autoencoder.topology_)]
steps = {"X": f"{len(counters)} counts\nof an invocation"}
steps |= {f"layer {n + 1}": f"{width} neurons" for n, width in enumerate(widths)}
steps |= {f"layer {n + 1}, back": f"{widths[n]} neurons" for n in range(len(widths) - 1)[::-1]}
steps |= {"X'": f"{len(counters)} counts,\nreconstructed",
          "RE": "the squared\ndifference\nof X and X'"}
figure, _ = plot.flow(steps, columns=max(5, len(steps)))
results.figure(figure, "fig02", "**AutoPerf, Fig. 2.** The autoencoder that was selected for "
               f"{first.label}; the paper's example sends 6 values through 3 neurons. *See:* "
               f"{len(counters)} counts come back from {min(autoencoder.topology_)} neurons.")

# %% [markdown]
# ## A detector of each program
#
# As in the paper, Algorithm 1 ([06f](06f_training_runs.ipynb)) sets the number of training runs: the runs of the first recording come first (as many as the paper used), then those of a second recording of the good form, made at another time. If the algorithm never stops, the runs of both are used. So the detectors below are not the one above, which was trained on the first recording alone.

# %%
def train(recorded):
    """Train a detector on as many good runs as Algorithm 1 says."""
    runs = [*recorded.training, *recorded.again][:max_runs]
    variance = study.error_variance_by_run(runs, seed=seed)["variance"]
    eps = 0.05 / 8 * variance.expanding().mean()  # the paper's variances are about 8
    stop = anomaly.stopping_run(variance, eps=eps, goal=1, max_runs=len(runs))
    others = recorded.training[stop:] if len(recorded.training[stop:]) >= 10 else ()
    detector = anomaly.AutoPerf(random_state=seed).fit(runs[:stop], others=others)
    as_paper = anomaly.AutoPerf(random_state=seed).fit(recorded.training[:max_runs])
    return SimpleNamespace(program=recorded, detector=detector, as_paper=as_paper,
                           learned=runs[:stop])


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
COLOURS = {"training": ("trained on", 7), "good": ("good, new", 0), "bad": ("bad", 3)}


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
    "**AutoPerf, Fig. 5.** Reconstruction error of every sample, run after run (logarithmic), of "
    f"the kernels for the paper's two programs. {source}*See:* beyond the threshold are {seen}.")

# %% [markdown]
# ## When is a run anomalous?
#
# The paper's rule needs one sample beyond the threshold. But if errors were normally distributed, 2.3 % of good samples would lie beyond two standard deviations: more than a third of all good runs of 20 samples would be false alarms.
#
# A second rule, *calibrated*, uses the same autoencoders and asks how many samples of a run are how far off. The *distance* of a sample is its reconstruction error above the threshold; of a run two distances are taken: the one that half of its samples exceed, and the one that a tenth exceed. The good runs that were left out of the training have such distances too. A run is anomalous if one of its two is so much larger than those of the good runs that less than 0.5 % of good runs would be (`cmlib.anomaly.p_value_of_distance`).
#
# The rule that both have to beat needs no model. *Time alone*: a run is anomalous if its median invocation took longer than the median of every training run.
#
# Over runs, with $t_p$ bad and $f_p$ good ones called anomalous, and $f_n$ bad ones that are not (§5.3):
#
# $$precision = \frac{t_p}{t_p + f_p}, \qquad recall = \frac{t_p}{t_p + f_n}, \qquad F_1 = \frac{2 \times precision \times recall}{precision + recall} = \frac{2\,t_p}{2\,t_p + f_p + f_n}$$

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
CALIBRATED, TIME = "mean + 2 sd, calibrated", "time alone"


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
    rows = [(name, f1_of(*both), 100 * np.mean(both[0])) for name, both in called.items() if both]
    table = pd.DataFrame(rows, columns=["rule", "f1", "false_alarms"])
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
                    label="paper, mean of its fifteen programs", **PAPER)
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
against = "".join(f", by {TIME} {f1:.2f}" for f1 in means["f1"].reindex([TIME]).dropna())
results.figure(
    figure, "fig11",
    f"**AutoPerf, Fig. 11.** F1 and false alarms of each rule: a dot a kernel ({len(cases)}), a "
    "bar their mean, crosses the paper's means over its own fifteen programs. Fixed: a sample is "
    f"anomalous if the length of its vector changes by so much. {source}*See:* by the calibrated "
    f"rule mean F1 is {means.at[CALIBRATED, 'f1']:.2f}{against}; the paper's rule calls "
    f"{means.at[ANY, 'false_alarms']:.0f} % of the good runs anomalous, the calibrated one "
    f"{means.at[CALIBRATED, 'false_alarms']:.0f} %.")

# %%
three = by_rules[by_rules["rule"].isin([ANY, CALIBRATED, TIME])]
of_paper = {case.program.label: autoperf["table2"][case.program.stands_for][5]
            for case in cases.values()}
figure, ax = plot.dots_by_program(three, value="f1", hue="rule", xlabel="F1", paper=of_paper)
ax.set_xlim(-0.03, 1.03)
wide = three.pivot(index="program", columns="rule", values="f1")
least = wide[CALIBRATED].nsmallest(2)
results.figure(
    figure, "fig11-programs",
    "**Figure.** F1 of each kernel by three rules; crosses: what the paper prints (Table 2) for "
    f"the program that it stands for. {source}*See:* the calibrated rule finds least in "
    f"{' and '.join(f'{name} ({f1:.2f})' for name, f1 in least.items())}.")

# %% [markdown]
# ## Which runs are anomalous, and why
#
# *Named first* is the counter that is the cause in most of the runs called anomalous. Software events tell of a lock that threads wait for, by its system call; false sharing shows in them only as time. With a PMU there is also the *rank of the cause*: the place of the HITM-equivalent event (cache lines that another core has modified) among the counters named. *Time* is cycles per instruction, or processor time per unit of work.

# %%
def name_causes(case, anomalous):
    """The counter that is named first in most anomalous runs, and the cause's median rank."""
    of_np = case.program.type == "np"
    cause = [] if of_np else counters_with_role(CONTENTION, case.detector.counters_)
    causes = [list(case.detector.causes(run)["counter"]) for run in anomalous]
    firsts = pd.Series([counters[0] for counters in causes if counters], dtype=object)
    ranks = [1 + min(map(counters.index, cause)) for counters in causes if counters and cause]
    rank = pd.Series(ranks, dtype=float).median()
    return {"named first": "" if firsts.empty else firsts.mode()[0], "rank of the cause": rank}


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
            **name_causes(case, anomalous)}


table = pd.DataFrame(map(evaluate, cases.values()))

# %%
columns = ["program", "for the paper's", "type", "F1", "F1, paper", "F1, time alone", "named first",
           "time, bad / good"]  # fmt: skip
named = table["named first"].replace("", np.nan).value_counts()
clocks = int(named[named.index.isin(CLOCKS)].sum())
display(results.table(
    table[columns], "table2",
    "**AutoPerf, Table 2.** F1 over the test runs of each kernel, calibrated, by a detector that "
    "knows good runs only (fs: false sharing, ts: true sharing, np: NUMA); the paper's F1 is of "
    f"the program that it stands for. {source}*See:* time itself is named first in {clocks} of "
    f"the {named.sum()} kernels that have a cause."))  # fmt: skip
columns = ["program", "missed", "of bad", "false alarms", "of good", "runs learned", "runs, paper",
           "rank of the cause"]  # fmt: skip
bad, missed, good, alarms = table[["of bad", "missed", "of good", "false alarms"]].sum()
results.table(
    table[columns].dropna(axis=1, how="all"), "table2-runs",
    "**Table.** The runs behind it: bad runs missed, good runs called anomalous, and training runs "
    f"(Algorithm 1), beside the paper's. {source}*See:* {bad - missed} of {bad} bad runs and "
    f"{alarms} of {good} good ones are called anomalous.")  # fmt: skip

# %% [markdown]
# ## What the paper printed, and what was measured here
#
# The paper's numbers are of its own programs, on two Xeons with hardware counters. *Paper's runs*: trained on the first recording alone, as many runs as the paper's, whatever Algorithm 1 says. Time alone depends on it most: it compares with the slowest training run, and where Algorithm 1 never stops, a slow run of the second recording is one.

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
best = max(f1 for rule, f1 in printed.items() if rule in fixed)
measured = [
    ("F1, calibrated rule", means.at[CALIBRATED, "f1"], "", of_paper[5].mean(), f"mean of {n}"),
    ("F1, the paper's rule", means.at[ANY, "f1"], "", of_paper[5].mean(), f"mean of {n}"),
    ("F1, time alone", table["F1, time alone"].mean(), "", None, f"mean of {n}; baseline"),
    ("F1, calibrated rule, paper's runs", as_paper[0], "", of_paper[5].mean(), f"mean of {n}"),
    ("F1, time alone, paper's runs", as_paper[1], "", None, f"mean of {n}; baseline"),
]  # fmt: skip

# %%
measured += [
    ("F1, best fixed threshold", max(fixed.values()), "", best, "paper: geometric mean of fifteen"),
    ("F1, calibrated rule, lowest", table["F1"].min(), "", of_paper[5].min(), "of a program"),
    ("false alarms, calibrated rule", means.at[CALIBRATED, "false_alarms"], "%", theirs, ""),
    ("false alarms, the paper's rule", means.at[ANY, "false_alarms"], "%", theirs, ""),
    ("rank of the cause, worst", table["rank of the cause"].max(), "", 2.0, "median of a program"),
]  # fmt: skip
for name, value, unit, of_paper, note in measured:
    if np.isfinite(value):
        note = "; ".join(filter(None, (note, source.strip(". "))))
        results.number(name, value, unit, paper=of_paper, note=note)
display(results.numbers())
mostly = table[2 * table["missed"] > table["of bad"]]
hidden = "".join(f" In {row['program']} they miss {row['missed']} of {row['of bad']} (F1 "
                 f"{row['F1']:.2f}, by time alone {row['F1, time alone']:.2f}; bad runs take "
                 f"{row['time, bad / good']:.2f} times as long)." for _, row in mostly.iterrows())

# %%
others = ", ".join(f"`{name}` in {count}" for name, count in named.items() if name not in CLOCKS)
f1, its_alarms = means.loc[CALIBRATED]
rivals = ""
if TIME in means.index:
    of_time, alarms_of_time = means.loc[TIME]
    rivals = (f"{'No' if of_time >= f1 else 'Yes'}: mean F1 is {f1:.2f} by the autoencoders and "
              f"{of_time:.2f} by time alone over {n} kernels ({its_alarms:.0f} % and "
              f"{alarms_of_time:.0f} % false alarms); trained on as many runs as the paper, "
              f"{as_paper[0]:.2f} and {as_paper[1]:.2f}. ")
results.finding(
    f"{rivals}The autoencoders find {bad - missed} of {bad} bad runs. The cause that they name "
    f"first is time itself in {clocks} of {named.sum()} kernels"
    f"{f', else {others}' if others else ''}.{hidden} {source}".strip())

# %% [markdown]
# ## Explore
#
# In JupyterLab: choose a program, the threshold, and a bad sample.

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
    samples = cases[program].samples
    error, kind = samples["error"], samples["kind"]
    learned, bad = error[kind == "training"], error[kind == "bad"].sort_values()
    threshold = learned.mean() + n_sd * learned.std(ddof=0)
    chosen = bad.index[place * (len(bad) - 1) // 100]
    parts = 100 * samples.drop(columns=["kind", "run", "error"]).loc[chosen] / error[chosen]
    title = f"{cases[program].program.label}: threshold {threshold:.3g}"
    figure, _ = draw_one(samples, parts.nlargest(6), threshold, chosen, title)
    above = (100 * (error > threshold).groupby(kind).mean()).rename("above the threshold [%]")
    return figure, above.to_frame().to_html(float_format="{:.1f}".format)


panel = explore.Panel(draw_errors, {
    "program": explore.dropdown("program", list(cases)),
    "n_sd": explore.slider("n (std. deviations)", 0.0, 10.0, step=0.5, value=2.0),
    "place": explore.slider("sample, by error [%]", 0, 100, step=5, value=50),
})
caption = "**Figure.** Every sample's error against the threshold, and the counters behind one. "
panel if notebook.interactive else results.figure(panel.figure(), "explore", caption + source)

# %% [markdown]
# ## What this doesn't show
#
# How a server with a thousand functions would fare: here the changed function and its pattern of sharing are alone, and a bad form is easier to see. The two NUMA programs need two nodes. The good form may itself be imperfect: a change is judged, not a program.
#
# Whether hardware counters would name the cause: without a PMU a lock has a tracepoint, but false sharing only a longer time, as any other slowdown has. On a machine with a PMU `cmlib record-kernels` records them (`--list` says what and how long), and this notebook then takes those.
#
# These recordings were made with real-time priority, and executions during which the machine was slow were repeated; otherwise the time of an invocation varies several times as much, and fewer anomalies are found.
#
# **References.** Alam, Gottschlich, Muzahid, *AutoPerf: A Generalized Zero-Positive Learning System to Detect Software Performance Anomalies*, §3–5; data of its figures and termination algorithm: their repository, mejbah/AutoPerf on GitHub. Jayasena et al., *Detection of false sharing using machine learning*, SC 2013.

# %%
results.save()
