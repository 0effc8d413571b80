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
# # Anomaly detection: is the new version slower, and why
#
# **Question.** Does a model that learns only good runs of a program find the runs of a slow version better than a comparison of run times does, and does it name the cause?
#
# AutoPerf (Alam, Gottschlich and Muzahid, called *the paper* here) counts events in the functions that changed. It trains an *autoencoder*, a neural network, on runs of the old version. A run of the new version is anomalous if the network cannot reproduce its counts.
#
# None of the paper's programs was run. A *kernel* represents each of them, except two that need several NUMA nodes: a small program of this project with one function, written from the paper's description of the fault. Each kernel has a good form and a bad form. In the bad form, threads compete for a cache line or a lock. This notebook shows the method on two counters and on one kernel, and then compares it with simpler rules on all kernels.

# %% [markdown] tags=["answer"]
# > **Answer** (13 kernels of this project, which represent the paper's programs, recorded with software events; default parameters). No: a comparison of run times does better, and the named cause is of little help. In this comparison, *time alone*, a run is anomalous if it takes longer than the slowest good run in training. It reaches a mean F1 of **0.89** over the kernels, and **0.97** with fewer training runs, namely as many as the paper used. The paper's rule, an autoencoder with a threshold, reaches **0.84** here (paper: 0.97, of its own programs). A calibrated rule of this project, with the same autoencoders, reaches **0.85** (**0.83** to **0.86**, depending on the initial weights). Calling every run anomalous gives **0.65**. The paper's rule raises a false alarm in **27 %** of the good runs, the calibrated rule in **0.8 %** (means of the kernels). In **10** of the 12 kernels with a detected run, the named cause is processor time itself, because no cache event was counted.

# %% tags=["parameters"]
program: str = "all"  # kernels to study, by their names here, separated by commas, or all
folder: str = ""  # of the recordings; empty: data/regions, by hardware events if there are any
max_runs: int = 100  # good runs that a detector is trained on, at most
n_seeds: int = 3  # trainings of each detector, with other initial weights
seed: int = 0  # of the first training
settings: dict = {}  # jobs, executor, scheduler, interactive, profile, results_folder

# %%
import numpy as np
import pandas as pd
from IPython.display import Markdown
from scipy.special import expit as sigma

from cmlib import anomaly, experiments, explore, plot
from cmlib.anomaly.samples import smallest_range
from cmlib.experiments import anomaly as study
from cmlib.experiments.kernels import recordings
from cmlib.experiments.kernels.programs import kernels
from cmlib.experiments.requested import split_names
from cmlib.experiments.targets import CLOCKS
from cmlib.locations import LOCATION_COLUMNS
from cmlib.parallel import parallel_map
from cmlib.plot.anomaly import errors_by_run, rules, two_counters
from cmlib.report import paper
from cmlib.report.notebook import begin

# %%
TYPES = {"fs": "false sharing", "ts": "true sharing", "np": "NUMA"}
limits = {"max_runs": (2, 1000), "n_seeds": (1, 20), "seed": (0, 1_000_000)}
notebook = begin("06_anomaly_detection", settings, program=program, folder=folder,
                 max_runs=max_runs, n_seeds=n_seeds, seed=seed)
results, workers, autoperf = notebook.results, notebook.workers, paper("autoperf")
known = {"all", *(kernel.name for kernel in kernels())}
if not set(split_names(program)) <= known:
    experiments.programs(notebook.database, program)  # an unknown program is an error
    notebook.stop("Anomaly detection needs runs of a good and of a bad version. `cmlib compare OLD "
                  "NEW` records two versions of a program and compares them.")
programs = recordings.recorded_programs(folder, program)
Markdown(recordings.describe_recordings(programs))

# %% [markdown]
# ## Samples and runs
#
# A *sample* is one invocation of a kernel's function, counted from its beginning to its end. Its counts are divided by the number of instructions and of threads. Where instructions cannot be counted, software events of Linux (processor time, page faults, system calls) are divided by the work that the program reports, for example rows read. A *run* is one execution with many invocations. Runs differ in the size of the input and in the number of threads.
#
# Good runs are split, in the order of recording, into runs for training and runs for the test. Bad runs are for the test only. The *second recording* holds more good runs, made at another time. They are also for training.
#
# The bad form executes the same instructions on the same data. Only the place of the data, or the lock that guards them, differs. In *true sharing*, all threads write the same word. In *false sharing*, each thread writes its own word, but the words lie in one cache line. In both cases the line moves from core to core with each update.

# %%
LISTING = [
    ("true sharing", "ticket_dispenser.cpp", "common(s.bad ? 1 : s.threads)",
     "bad: one dispenser of tickets for all threads"),
    ("false sharing", "kernel.hpp", "near_stride_(s.bad ? width : apart(width))",
     "distance of the threads' counts; bad: side by side"),
    ("false sharing", "row_counters.cpp", "add(*n_rows_read.at(t, i), 1)",
     "the update, equal in both forms")]
code = pd.DataFrame(LISTING, columns=["anomaly", "file", "code", "what it does"])
results.table(code, "fig01", "**AutoPerf, Fig. 1.** Code of the kernels that stand for bodytrack "
              "(true sharing) and MySQL (false sharing). `s.bad` is true in the bad form.", data=())

# %%
rows = []
for kernel in kernels():
    recorded = programs.get(kernel.name)
    missing = f"needs {kernel.nodes} NUMA nodes" if kernel.nodes > 1 else "not recorded"
    rows.append({
        "program here": kernel.name, "for the paper's": kernel.stands_for,
        "anomaly": TYPES[kernel.type],
        "training runs": len(recorded.training) if recorded else 0,
        "second recording": len(recorded.again) if recorded else 0,
        "good test runs": len(recorded.good) if recorded else 0,
        "bad test runs": len(recorded.bad) if recorded else 0,
        "why not": "" if recorded else missing})
results.table(pd.DataFrame(rows), "recorded", "**Table.** The fifteen programs of the paper's "
              "Table 2, the kernel that stands for each, and the number of its runs.")

# %%
standing = {kernel.stands_for: kernel.name for kernel in kernels()}
applications = pd.DataFrame([
    {"application": name, "lines of code": lines, "benchmark": benchmark,
     "anomaly found by the paper": "yes" if found else "no", "run here": standing.get(name, "")}
    for name, (lines, benchmark, found) in autoperf["table1"].items()])
results.table(applications, "table1", "**AutoPerf, Table 1.** The applications that the paper "
              "studies, as it prints them, and the kernel that was run instead, if any.", data=())

# %%
first = programs.get("hash_table_lock", next(iter(programs.values())))
counters = [column for column in first.training[0] if column not in LOCATION_COLUMNS]
millions = (1e6 * first.good[0][counters[:6]].head()).round(1)
results.table(millions, "samples", "**Table.** The first samples of one kernel's first good run: "
              "six of its counters, per million instructions, or per million units of work if "
              "instructions were not counted. `task-clock` is processor time [ns].",
              decimals=1)

# %% [markdown]
# ## A worked example: two counters
#
# The counts in this section are made up: cycles and cache misses of a function, per 1,000 instructions. In good runs both grow with the amount of work, so that the samples lie along a line. An autoencoder with one hidden neuron sends the two counts $x$ through one number and back to $x'$. It can keep the position along the line, and nothing else. Three new samples are judged:
#
# * *usual* lies on the line, among the good samples. It comes back nearly unchanged.
# * *more of both* lies on the line, but beyond all good samples. The neurons return values between 0 and 1, so it comes back smaller.
# * *another mix* has a usual number of cycles and a usual number of misses, but not in this combination. It comes back as a point on the line.
#
# A threshold for each counter would miss the third one; the autoencoder does not.
#
# The next cell is the training, written out for one hidden layer. The weights of the decoder are those of the encoder, transposed (§4.2).


# %%
def reconstruct(x, W, b, c):
    return sigma(sigma(x @ W + b) @ W.T + c)


def train(x, n_hidden, step, epochs=100, batch=100):
    """Weights W and biases b, c after backpropagation of the squared error."""
    rng = np.random.default_rng(seed)
    n = x.shape[1]
    parameters = [rng.normal(0, n**-0.5, (n, n_hidden)), np.zeros(n_hidden), np.zeros(n)]
    for _ in range(epochs):
        order = rng.permutation(len(x))
        for begin_batch in range(0, len(x), batch):
            X = x[order[begin_batch:begin_batch + batch]]
            W, b, c = parameters
            hidden = sigma(X @ W + b)
            X_new = sigma(hidden @ W.T + c)
            error_out = 2 * (X_new - X) * X_new * (1 - X_new) / len(X)
            error_hidden = error_out @ W * hidden * (1 - hidden)
            step(parameters, [X.T @ error_hidden + error_out.T @ hidden,
                              error_hidden.sum(axis=0), error_out.sum(axis=0)])
    return parameters


def gradient_descent(parameters, gradients):
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter -= 0.01 * gradient


def Adam():
    """Step of Adam (Kingma and Ba 2015), whose size depends on earlier gradients."""
    moments = []

    def step(parameters, gradients):
        if not moments:
            moments.extend([0, *([0 * p, 0 * p] for p in parameters)])
        moments[0] += 1
        t = moments[0]
        for p, gradient, m in zip(parameters, gradients, moments[1:], strict=True):
            m[0] = 0.9 * m[0] + 0.1 * gradient
            m[1] = 0.999 * m[1] + 0.001 * gradient**2
            p -= 0.01 * (m[0] / (1 - 0.9**t)) / (np.sqrt(m[1] / (1 - 0.999**t)) + 1e-8)

    return step


# %%
rng = np.random.default_rng(seed)
work = rng.uniform(0, 1, 1000)
good = pd.DataFrame({"cycles": 2000 + 2000 * work + rng.normal(0, 50, 1000),
                     "misses": 10 + 30 * work + rng.normal(0, 1, 1000)})
low, high = good.quantile(0.05), good.quantile(0.95)
scaled = 0.1 + 0.8 * (good - low) / (high - low)
weights = train(scaled.to_numpy(), 1, Adam())
RE = ((scaled - reconstruct(scaled.to_numpy(), *weights)) ** 2).sum(axis=1)
RE_threshold = RE.mean() + 2 * RE.std(ddof=0)
new = pd.DataFrame({"cycles": [3000, 6000, 2400], "misses": [25, 70, 34]},
                   index=["usual", "more of both", "another mix"])
x = 0.1 + 0.8 * (new - low) / (high - low)
x_new = reconstruct(x.to_numpy(), *weights)
parts = (x - x_new) ** 2
example = new.join(x.add_suffix(", x")).join(parts.add_suffix(", RE_i"))
example["RE"] = parts.sum(axis=1)
example["anomalous"] = np.where(example["RE"] > RE_threshold, "yes", "no")
results.table(example.rename_axis("sample"), "example", "**Table.** Made-up samples: counts, "
              "scaled counts (x), the part of each counter in the reconstruction error (RE_i), "
              "and their sum (RE). Formulas and threshold are explained below. The error of the "
              "third sample is split about equally: the network notices the combination, but not "
              "which of the two counters changed.", data=(), decimals={"cycles": 0, "misses": 0})

# %%
back = pd.DataFrame(reconstruct(scaled.to_numpy(), *weights), columns=scaled.columns)
figure, _ = two_counters(scaled, back, x.assign(error=example["RE"]), threshold=RE_threshold)
results.figure(figure, "example", "**Figure.** Made-up data. Left: good samples (gray), their "
               "reconstructions (black), and the new samples. Look at the distance of each new "
               "sample from the black curve. Right: the squared distance of each new sample from "
               "its reconstruction, on a logarithmic axis, and the threshold.", data=())

# %% [markdown]
# ## The algorithm
#
# A sample $X = [x_0, …, x_{n-1}]$ is sent through fewer neurons than it has counters, and back to $X'$. The *reconstruction error* is (§3.3, §3.5)
#
# $$RE = |X - X'|^2 = \sum_{i=0}^{n-1} RE_i, \qquad RE_i = |x_i - x'_i|^2$$
#
# A sample is anomalous if its error exceeds a threshold that is computed from the errors of the training samples (§3.3.2):
#
# $$RE_{threshold} = RE_{mean} + 2 \times RE_{standard\ deviation}$$
#
# A run is anomalous if one of its samples is (§3.3). Its cause is the counter that has the largest $RE_i$ in most of its anomalous samples (§3.5).
#
# Two things differ from the paper or are not in it:
#
# * **Optimizer.** The paper mentions gradient descent in its background section (§2). The section on the implementation gives a learning rate of 0.01, batches of 100 samples and 100 epochs, but names no optimizer (§4.2). We use Adam with these settings; the next table shows why.
# * **Scaling.** The paper divides counts by instructions and threads (§3.2) and describes no other scaling. A sigmoid neuron returns values between 0 and 1, so counts must be scaled. We map the 5 % and the 95 % quantile of each counter in the training samples to 0.1 and 0.9. Values outside this range are not clipped.

# %%
if not notebook.of_program:
    steps = {"Changed functions": "of the new version,\nmarked as regions",
             "Counts": "of each invocation,\nold and new version",
             "Training": "an autoencoder\nlearns the old\nversion",
             "Detection": "is an error of the\nnew version above\nthe threshold?",
             "Cause": "the counter with\nthe largest part of\nthe error"}
    figure, _ = plot.flow(steps)
    display(results.figure(figure, "fig03", "**AutoPerf, Fig. 3.** The method. Only the old "
                           "version is learned; no bad run takes part in training.", data=()))

# %%
learned = pd.concat(first.training[:max_runs])[counters]
bounds = learned.quantile([0.05, 0.95])
span = (bounds.loc[0.95] - bounds.loc[0.05]).clip(lower=smallest_range(learned))
kernel_x = (0.1 + 0.8 * (learned - bounds.loc[0.05]) / span).to_numpy()
errors = {}
for name, values in {"two counters": scaled.to_numpy(), first.label: kernel_x}.items():
    n_hidden = max(1, values.shape[1] // 2)
    errors[name] = {"the mean of all samples": ((values - values.mean(axis=0)) ** 2).sum(axis=1)}
    for label, step in {"gradient descent": gradient_descent, "Adam": Adam()}.items():
        returned = reconstruct(values, *train(values, n_hidden, step))
        errors[name][label] = ((values - returned) ** 2).sum(axis=1)
optimizers = pd.DataFrame({name: {label: RE.mean() for label, RE in by_label.items()}
                           for name, by_label in errors.items()})
results.table(optimizers.rename_axis("returned by"), "optimizers", "**Table.** Mean reconstruction "
              "error of the training samples: of the made-up samples above, and of one kernel. "
              "*The mean of all samples* is the baseline: it returns the mean counts for every "
              "sample. An autoencoder has learned something only if its error is smaller.",
              decimals=4)

# %% [markdown]
# ### On one kernel
#
# The next cell judges the runs of one kernel by the paper's rule. The network is trained by `cmlib.anomaly.Autoencoder` on the first recording. It tries *topologies* with one to four hidden layers, and keeps the one with the smallest error of the training samples (§4.2). In the next section, Algorithm 1 sets the number of training runs. The results for this kernel are different there.

# %%
start = {"random_state": np.random.RandomState(seed).randint(2**31)}
autoencoder = anomaly.Autoencoder(smallest_range=smallest_range(learned), **start)
autoencoder.fit(learned.to_numpy())


def RE_i(X):
    """Squared error of each sample and counter."""
    x = 0.1 + 0.8 * (X.to_numpy() - autoencoder.low_) / autoencoder.range_
    x_new = x
    for W, b, _ in autoencoder.layers_:  # encode
        x_new = sigma(x_new @ W + b)
    for W, _, c in reversed(autoencoder.layers_):  # decode
        x_new = sigma(x_new @ W.T + c)
    return pd.DataFrame((x - x_new) ** 2, columns=counters)


RE = RE_i(learned).sum(axis=1)
RE_threshold = RE.mean() + 2 * RE.std(ddof=0)
called, causes = [], []
for run in [*first.good, *first.bad]:
    parts = RE_i(run[counters])
    beyond = parts[parts.sum(axis=1) > RE_threshold]
    called.append(len(beyond) > 0)  # one sample is enough
    causes.append(beyond.idxmax(axis=1).mode()[0] if len(beyond) else "")

# %%
detector = anomaly.AutoPerf(rule="any", random_state=seed).fit(first.training[:max_runs])
by_library = detector.predict_runs([*first.good, *first.bad])
n_good = len(first.good)
most_frequent = pd.Series([cause for cause in causes[n_good:] if cause]).mode()
comparison = pd.DataFrame({
    "threshold": [RE_threshold, detector.models_[0].threshold],
    "good runs called anomalous": [sum(called[:n_good]), sum(by_library[:n_good])],
    "of good": n_good,
    "bad runs called anomalous": [sum(called[n_good:]), sum(by_library[n_good:])],
    "of bad": len(first.bad), "most frequent cause": [", ".join(most_frequent), ""]},
    index=["cell above", "library"])
results.table(comparison.rename_axis(first.name), "one-kernel", "**Table.** The runs of one kernel "
              "by the paper's rule: by the cell above and by the library "
              "(`cmlib.anomaly.AutoPerf`). Good runs called anomalous are false alarms.",
              decimals={"threshold": 3})

# %% [markdown]
# ## A detector for each kernel
#
# The paper's Algorithm 1 sets the number of training runs. It stops adding runs when the variance of the errors hardly changes any more ([training runs](studies/training_runs.ipynb)). Runs are added one by one: first those of the first recording, as many as the paper used, and then those of the second recording. If the algorithm does not stop, all runs are used.
#
# The result depends on the initial weights. Therefore each detector is trained several times (parameter `n_seeds`) on the same runs, each time with other initial weights.

# %%
longest_first = sorted(programs, key=lambda name: -len(programs[name].training))


def train_detector(name):
    return study.train_detector(programs[name], max_runs=max_runs, seed=seed)


trained = dict(zip(longest_first, parallel_map(train_detector, longest_first, workers),
                   strict=True))
cases = {name: trained[name] for name in programs}

# %% [markdown]
# ## When is a run anomalous?
#
# By the paper's rule, one sample above the threshold is enough. If errors were normally distributed, 2.3 % of the good samples would exceed it, and more than a third of all good runs of 20 samples would be false alarms.
#
# The *calibrated* rule is this project's own. It uses the same autoencoders, but compares a run with good runs that the network did not learn. The distance of a sample is $d = \sqrt{RE / RE_{threshold}}$. A run is described by two distances: the median and the 90th percentile of its samples. The good runs for comparison are the training runs that Algorithm 1 did not use, if there are at least ten. Otherwise cross-validation is used: the training runs are divided into fifths, and each fifth is judged by a network that was trained on the other four. No test run takes part.
#
# The following is done twice, once with each of the two distances of a run, now called $d$. Let $m$ be the median of $d$ over the good runs for comparison, $k$ the number of those with $d > m$, and $S$ the sum of their $d - m$. The probability that a good run has a distance of $d$ or more is estimated as
#
# $$p(d) = \tfrac{1}{2}\left(1 + \frac{d - m}{S}\right)^{-k} \quad (d > m)$$
#
# For $d \le m$ it is 1. A run is anomalous if twice the smaller of its two $p$ is at most 0.005, that is, if at most one good run in 200 would be so far out. (The factor two is Bonferroni's correction for two tests.) There are far fewer than 200 good runs for comparison. The formula therefore extrapolates, as if distances above the median were exponentially distributed. The cell below applies it to the kernel above.


# %%
def p(d, good):
    """Estimated probability that a good run lies as far out as d."""
    m = good.median()
    beyond = good[good > m] - m
    S, k = beyond.sum(), len(beyond)
    return 0.5 * (1 + (d - m) / S) ** -k if d > m else 1.0


runs = detector.summarize([*first.good, *first.bad])
p_values = [min(1, 2 * min(p(run[part], detector.held_out_[part])
                           for part in ("distance_p50", "distance_p90")))
            for _, run in runs.iterrows()]
np.testing.assert_allclose(p_values, detector.p_values_of([*first.good, *first.bad])["p_value"])
is_anomalous = np.array(p_values) <= 0.005
pd.DataFrame({"called anomalous": [is_anomalous[:n_good].sum(), is_anomalous[n_good:].sum()],
              "of": [n_good, len(first.bad)]}, index=["good runs", "bad runs"])

# %% [markdown]
# ## The rules compared
#
# The paper compares its threshold with *fixed* ones: a sample is anomalous if the lengths of the two vectors $X$ and $X'$ differ by more than 10, 20 or 40 % (§5.7). Two further rules need no model. By *time alone*, a run is anomalous if the median processor time of its samples, per unit of work, is larger than in the slowest training run. *Every run* calls each run anomalous; any useful rule must beat it.
#
# The measure is $F_1$ over the test runs (§5.3). With $t_p$ bad and $f_p$ good runs called anomalous, and $f_n$ bad runs missed, it is
#
# $$F_1 = \frac{2 \times \text{precision} \times \text{recall}}{\text{precision} + \text{recall}} = \frac{2\,t_p}{2\,t_p + f_p + f_n}$$

# %%
def compare_with_seed(job):
    """Compare the rules on one kernel, by a detector with these initial weights."""
    name, number = job
    case = cases[name]
    if number != seed:
        case = study.retrain_detector(case, seed=number)
    return study.compare_rules(case).assign(kernel=name, seed=number)


jobs = [(name, seed + number) for name in longest_first for number in range(n_seeds)]
by_seed = pd.concat(parallel_map(compare_with_seed, jobs, workers), ignore_index=True)
order = list(dict.fromkeys(by_seed["rule"]))
VALUES = ["F1", "false alarms"]
seed_means = by_seed.groupby(["rule", "seed"], sort=False)[VALUES].mean()
means = seed_means.groupby("rule").agg(["mean", "min", "max"]).loc[order]
means = means.rename(columns={"min": "low", "max": "high"})


def fit_like_paper(name):
    """Calibrated rule and time alone with as many training runs as the paper used."""
    recorded = programs[name]
    runs = recorded.training[:max_runs]
    fitted = anomaly.AutoPerf(random_state=seed).fit(runs)
    case = study.TrainedDetector(recorded, fitted, runs, [], False)
    return study.compare_rules(case).assign(kernel=name)


like_paper = pd.concat(parallel_map(fit_like_paper, programs, workers))
like_paper = like_paper[like_paper["rule"].isin([study.CALIBRATED, study.TIME])]
like_paper = like_paper.groupby("rule")[VALUES].mean()

# %%
paper_f1 = {}
for name, f1 in autoperf["f1_by_threshold"].items():
    paper_f1[f"fixed, {name}" if name.endswith("%") else study.PAPER_RULE] = f1
per_kernel = by_seed.groupby(["rule", "kernel"], sort=False)[VALUES].mean().reset_index()
figure, _ = rules(per_kernel, means, paper=paper_f1, values={
    "F1": "F1", "false alarms": "good runs called anomalous [%]"})
results.figure(figure, "fig11", "**AutoPerf, Fig. 11.** F1 (left) and false alarms (right) of each "
               "rule. A gray dot is a kernel, a diamond the mean of the kernels. The line through "
               "a diamond is the range of this mean over the seeds; where it is not visible, it is "
               "shorter than the diamond. Crosses are the paper's means of its own fifteen "
               "programs. Compare the rules with *time alone* and *every run*, which need no "
               "model.")

# %%
rule_table = pd.DataFrame({
    "F1": means["F1", "mean"], "lowest": means["F1", "low"], "highest": means["F1", "high"],
    "paper": pd.Series(paper_f1), "F1, paper's number of runs": like_paper["F1"],
    "false alarms [%]": means["false alarms", "mean"],
    "false alarms, paper's number of runs [%]": like_paper["false alarms"]}).loc[order]
results.table(rule_table.rename_axis("rule"), "rules", "**Table.** Mean of the kernels. *Lowest* "
              "and *highest*: range of the mean F1 over the seeds. *Paper*: its geometric mean of "
              "its own programs, by hardware events. In columns with *paper's number of runs*, our "
              "kernels are judged once more (one seed), by two of the rules, after training with "
              "as many runs as the paper used.")

# %% [markdown]
# Time alone depends on the number of training runs, because it compares with the slowest one. If Algorithm 1 does not stop, the training runs include the second recording, in which the machine may have been slower at times.
#
# **Explore.** In JupyterLab, choose a kernel and move the threshold of the paper's rule. False alarms and missed runs are counted below the figure.


# %%
def draw_runs(kernel, threshold):
    errors = study.errors_by_run(cases[kernel])
    figure, _ = errors_by_run(errors, threshold=threshold, title=cases[kernel].program.label)
    is_called = errors["largest"] > threshold
    good, bad = (list(is_called[errors["kind"] == kind]) for kind in ("good", "bad"))
    counted = pd.DataFrame({"false alarms": [sum(good)], "good runs": [len(good)],
                            "missed": [len(bad) - sum(bad)], "bad runs": [len(bad)],
                            "F1": [study.f1_of_calls(good, bad)]})
    return figure, counted.to_html(index=False, float_format="{:.2f}".format)


controls = {"kernel": explore.dropdown("kernel", list(cases), first.name),
            "threshold": explore.slider("threshold [standard deviations]", 0.0, 20.0, step=0.5,
                                        value=2.0)}
panel = explore.Panel(draw_runs, controls)
notebook.widget(panel, "explore", "**Figure.** One kernel: the largest error of a sample in each "
                "run, in standard deviations above the mean error of the learned samples. The "
                "dashed line is the paper's threshold. Blue dots above it are false alarms, orange "
                "dots below it are missed.")

# %% [markdown]
# ## Which runs are anomalous, and why
#
# In each bad run that the calibrated rule calls anomalous, the counters are ranked by their part $RE_i$ of the error. *Named first* is the counter that leads in most of these runs. Software events can name a lock, because waiting for it takes a system call (`futex`). If threads share a cache line, software events can only name time (`task-clock`, processor time). Only a hardware event can name the shared line, such as the paper's HITM, which counts loads of lines that another core has modified.


# %%
def evaluate(name):
    """Return the row of Table 2 of a kernel, by the first seed."""
    case = cases[name]
    own = case.program
    calls = study.call_runs(case)
    good, bad = calls[study.CALIBRATED]
    printed = autoperf["table2"][own.stands_for]
    f1 = by_seed[(by_seed["kernel"] == name) & (by_seed["rule"] == study.CALIBRATED)]["F1"]
    time = study.f1_of_calls(*calls[study.TIME]) if study.TIME in calls else np.nan
    return {"program": own.name, "F1": study.f1_of_calls(good, bad), "F1, lowest": f1.min(),
            "F1, highest": f1.max(), "F1, time alone": time, "F1, paper": printed[5],
            "named first": study.most_frequent_cause(case.detector, own.bad),
            "time, bad / good": study.slowdown(own.good, own.bad),
            "for the paper's": own.stands_for, "missed": len(bad) - sum(bad), "of bad": len(bad),
            "false alarms": sum(good), "of good": len(good), "type": own.type,
            "runs learned": len(case.learned), "runs, paper": printed[0]}


table = pd.DataFrame(map(evaluate, cases))
results.table(table, "table2", "**AutoPerf, Table 2.** Each kernel by the calibrated rule: F1 of "
              "the first seed and its range over the seeds, F1 of time alone, and the paper's F1 "
              "of the program that the kernel stands for. *Named first* is empty if no bad run is "
              "called anomalous. The last column is the median processor time of bad runs per unit "
              "of work (or cycles per instruction), divided by that of good runs.")

# %% [markdown]
# ## Result
#
# The paper's numbers are from its own programs, on two Xeons, with hardware counters.

# %%
of_paper = pd.DataFrame([autoperf["table2"][name] for name in table["for the paper's"]])
paper_alarms = 100 * (of_paper[4] / of_paper[1]).mean()
for rule in order:
    results.number(f"F1, {rule}", means.at[rule, ("F1", "mean")], paper=paper_f1.get(rule))
    results.number(f"false alarms, {rule}", means.at[rule, ("false alarms", "mean")], "%",
                   paper=paper_alarms if rule == study.PAPER_RULE else None)
for label, end in (("lowest", "low"), ("highest", "high")):
    results.number(f"F1, {study.CALIBRATED}, {label} of the seeds",
                   means.at[study.CALIBRATED, ("F1", end)])
for rule, row in like_paper.iterrows():
    results.number(f"F1, {rule}, as many training runs as the paper", row["F1"])
n_bad = int(table["of bad"].sum())
results.number("bad runs found by the calibrated rule", n_bad - int(table["missed"].sum()),
               f"of {n_bad}")
named = table.loc[table["named first"] != "", "named first"]
results.number("kernels whose first cause is time itself", int(named.isin(CLOCKS).sum()),
               f"of {len(named)}")
for name, value in optimizers["two counters"].items():
    results.number(f"mean error of two counters, {name}", value)
results.numbers()

# %% [markdown]
# ## Limitations
#
# * The recordings that come with cmlib hold software events only. They cannot show whether hardware counters would name the cause. `cmlib record-kernels` records the kernels with hardware events on a machine that has them, and this notebook then uses those recordings.
# * The recordings favor time alone. They were made with real-time priority, and executions while the machine was slow were discarded and repeated. Without these precautions, the time of an invocation varies several times as much.
# * Each kernel does nothing but execute the one function that changed. In a large program a bad form is harder to see. The study [many functions](studies/many_functions.ipynb) has several changed functions.
# * The two NUMA programs need two nodes, and were not run.
# * The study [small slowdowns](studies/small_slowdowns.ipynb) examines smaller faults, and false alarms between recordings of one version. The study [other detectors](studies/other_detectors.ipynb) examines simpler models.
#
# ## Your own program
#
# ```sh
# .venv/bin/cmlib compare './old input' './new input'    # two versions of your program
# .venv/bin/papermill notebooks/06_anomaly_detection.ipynb out.ipynb -p program histogram
# ```
#
# `cmlib compare` compares the run times of both versions. Where events can be counted, an autoencoder also names the counters that changed. This notebook itself reads only the recorded kernels, such as `histogram`. Its first parameter to change is `max_runs` (100 by default), the largest number of good runs to learn from.
#
# ## References
#
# * Alam, Gottschlich, Muzahid: *AutoPerf: a generalized zero-positive learning system to detect software performance anomalies*. The values of its figures are from the authors' repository, `mejbah/AutoPerf`.
# * Kingma, Ba: *Adam: a method for stochastic optimization*, ICLR 2015.

# %%
results.save()
