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
# # AutoPerf's Algorithm 1: after how many good runs can training stop?
#
# **Question.** After how many good runs does AutoPerf's Algorithm 1 end the training, and would more runs still lower the reconstruction error?
#
# *Reads* the two series that AutoPerf's authors published, and the recordings of the kernels under `data/regions`. *Writes* where Algorithm 1 stops on both, and AutoPerf's Figure 4.
#
# What is trained is in [notebook 06](../06_anomaly_detection.ipynb): an autoencoder, a network that sends a sample (the counts of one invocation of a function) through fewer neurons and back, learns the good runs of a program; its reconstruction error says how far a sample is from what it learned. A *kernel* is a small program with one such function.

# %% [markdown] tags=["answer"]
# > **Answer** (13 kernels of this project, by software events, and two series published by the paper's authors; default parameters). On the published series Algorithm 1 stops as the paper says, at run **58** (MySQL) and not within 100 runs (Boost). On the kernels it stops in **7** of **13**, after **3** to **24** runs, depending on the random start. In those, all runs lower the error by more than a tenth in **1**, if the number of training steps is the same.

# %% tags=["parameters"]
program: str = "all"  # kernels to study, by their names here, separated by commas, or all
folder: str = ""  # of the recordings; empty: data/regions, by hardware events if there are any
max_runs: int = 100  # training runs at most
eps_share: float = 0.00625  # ε as a share of the mean variance so far (a guess)
seed: int = 0  # of the autoencoder: another gives other series, often other stops
settings: dict = {}  # jobs, executor, scheduler, profile, results_folder

# %%
from math import ceil

import numpy as np
import pandas as pd
from IPython.display import Markdown

from cmlib import anomaly, plot
from cmlib.anomaly.samples import smallest_range
from cmlib.experiments import anomaly as study
from cmlib.experiments.kernels import recordings
from cmlib.locations import LOCATION_COLUMNS
from cmlib.parallel import parallel_map
from cmlib.plot.style import PAPER
from cmlib.report import paper
from cmlib.report.notebook import begin

limits = {"max_runs": (2, 1000), "eps_share": (0.00001, 10), "seed": (0, 1_000_000)}
notebook = begin("training_runs", settings, program=program, folder=folder,
                 max_runs=max_runs, eps_share=eps_share, seed=seed)
results, workers = notebook.results, notebook.workers
autoperf, programs = paper("autoperf"), recordings.recorded_programs(folder, program)
published = {name: pd.Series(values) for name, values in autoperf["variances"].items()}
Markdown(f"{recordings.describe_recordings(programs)} The paper's own are only the "
         f"{len(published)} series of {len(published['MySQL'])} variances each in the next "
         "section, by hardware events, which its authors published.")

# %% [markdown]
# ## Algorithm 1
#
# It reads a series of variances: $v_i$ is that of the reconstruction errors of all training samples, after training on the first $i + 1$ runs ($i$ is counted from 0). It stops at $i$ if the variance changes little there: its mean change over the last tenth of the series (*ave_piece*, $P$) is less than that over the whole series divided by about half its length (*ave_half*, $H$), and less than a constant $\varepsilon$. *met* counts how often in a row the first of the two held before $i$, and must have come to *goal* (the paper's §3.3.1 and its listing, lines 9 to 11 and 23 to 26). With the mean change from $a$ to $b$
#
# $$\bar{\Delta}(a, b) = \frac{1}{b - a + 1}\sum_{j=a}^{b-1} |v_j - v_{j+1}|$$
#
# (as printed: $b - a$ terms, divided by one more) it stops at the first $i$ with
#
# $$P < H, \qquad P < \varepsilon, \qquad met \ge goal$$
#
# $$P = \bar{\Delta}(i - \lceil 0.1\, i \rceil,\ i), \qquad H = \bar{\Delta}(0, i)\ /\ \lceil 1 + 0.5\, i \rceil$$
#
# As printed, line by line:

# %%
def average_variance(v, start, to):
    n = 0
    for i in range(start, to):
        n = n + abs(v[i] - v[i + 1])
    return n / (to - start + 1)


def terminate(v, eps, goal, most):
    met = 0
    for i in range(1, len(v)):
        if i > most:
            return most
        ave_piece = average_variance(v, i - ceil(i / 10), i)
        ave_half = average_variance(v, 0, i) / ceil(1 + i / 2)
        if ave_piece < ave_half and ave_piece < eps[i] and met >= goal:
            return i
        met = met + 1 if ave_piece < ave_half else 0
    return most

# %% [markdown]
# The paper gives neither $\varepsilon$ nor *goal*. The authors' program, published with the two series, has $\varepsilon$ = 0.05 and *goal* = 0, and takes each difference one entry earlier than the algorithm is printed. Here the printed algorithm runs with *goal* = 1, *because* it then stops where the paper says: the agreement below tests the formula, not the choice of *goal*. The division in $H$ is in line 24 and not in the text, which calls *ave_half* the average "over half of the iterations (so far)".
#
# The paper takes the $i$ at which it stops as the number of runs to train on, though $v_i$ is of one more: its 58 runs of MySQL are the 59th value. So do the numbers of runs below; figures of the variance have $i$ on their axis.

# %%
eps, goal, max_of_paper = (autoperf["algorithm1"][name] for name in ("eps", "goal", "max_runs"))
stops = {name: terminate(v, [eps] * len(v), goal, max_of_paper) for name, v in published.items()}
for name in published:
    note = "Algorithm 1 on the series that the authors published"
    results.number(f"stopping run of the paper's {name} series", stops[name], "runs",
                   paper=autoperf["stop_at_run"][name], note=note)
with_0 = {name: terminate(v, [eps] * len(v), 0, max_of_paper) for name, v in published.items()}
rows = [(name, len(v), stops[name], with_0[name], autoperf["stop_at_run"][name],
         f"{eps / v.mean():.4f}") for name, v in published.items()]
columns = ["published series", "entries", "stops at", "with goal = 0", "paper: runs",
           "ε / mean variance"]  # fmt: skip
never = dict.fromkeys(columns[2:4], {max_of_paper: "never"})
pd.DataFrame(rows, columns=columns).replace(never).set_index("published series")

# %%
@plot.styled
def draw_stops(series, stops, ylabel, xlabel="i, training runs counted from 0", *, printed=(),
               second=()):
    """A panel a program: a quantity by the number of runs, and where Algorithm 1 stops."""
    lines = {name: {"": values} for name, values in series.items()}
    figure, axes = plot.series_by_program(lines, xlabel=xlabel, ylabel=ylabel)
    for ax, name in zip(axes, series, strict=True):
        if name in stops:
            ax.axvline(stops[name], color="#444444", ls="--", lw=1)
        ax.set_title(f"{name}: " + (f"stops at {stops[name]}" if name in stops else "no stop"))
        if name in printed:
            ax.plot(printed[name], series[name].iloc[printed[name]], **PAPER)
        if name in second:
            ax.axvline(second[name], color="#999999", ls=":", lw=1)
            ax.text(second[name], ax.get_ylim()[1], " 2nd recording", va="top", fontsize=7)
    return figure, axes


# %%
stops_of_paper = {name: stop for name, stop in stops.items() if stop < len(published[name])}
of_paper = {name: stop for name, stop in autoperf["stop_at_run"].items()
            if stop < len(published.get(name, ()))}
rises = {name: 100 * (published[name][stop:].max() / published[name][stop] - 1)
         for name, stop in stops_of_paper.items()}
figure, _ = draw_stops(published, stops_of_paper, "variance of the errors", printed=of_paper)
results.figure(
    figure, "algorithm1",
    "**AutoPerf, Algorithm 1 and Fig. 4.** Variance of the reconstruction errors by the number of "
    "training runs, the two series that the authors published (the paper's figure is MySQL's; ε "
    f"{eps:g}, goal {goal}); dashed: where Algorithm 1 stops, cross: where it does in the paper. "
    "*See:* " + " ".join(
        f"{name}'s stops at {stops_of_paper[name]}, rises again by up to {rises[name]:.0f} % and "
        f"ends at {v.iloc[-1] / v[stops_of_paper[name]]:.2f} times that."
        if name in stops_of_paper else
        f"{name}'s does not within {len(v)} runs, nor in the paper."
        for name, v in published.items()))

# %% [markdown]
# ## On the recordings
#
# Here training is repeated with 1, 2, 3, … runs of a kernel: first those recorded for training (as many as the paper used), then those of the second recording of the good form. The autoencoder has one hidden layer, half as wide as its input, and is trained from one random start. The errors have another scale than the paper's; $\varepsilon$ is therefore a share of the mean variance so far, `eps_share`: 0.05 / 8, nearly what it is of MySQL's mean variance (table above). That is a guess, and half and twice of it are tried too. On the first kernel:

# %%
first = next(iter(programs.values()))
runs = [*first.training, *first.again][:max_runs]
series = study.error_variance_by_run(runs, seed=seed)
eps = eps_share * series["variance"].expanding().mean()
stop = anomaly.stopping_run(series["variance"], eps=eps, goal=goal, max_runs=len(runs))
print(f"{first.label}: {len(runs)} runs; Algorithm 1 stops at "
      f"{stop if stop < len(runs) else 'none of them'}. Its series begins:")
series.set_axis(pd.Index(range(len(series)), name="i")).head().round(4)

# %% [markdown]
# A series depends on the random start of the training, and so does the stop. So each kernel is trained from five starts: `seed`, whose series are shown, and the next four.

# %%
def stops_from(recorded, start):
    """Where Algorithm 1 stops on a kernel trained from one random start, by three shares."""
    runs = [*recorded.training, *recorded.again][:max_runs]
    variance = study.error_variance_by_run(runs, seed=start)["variance"]
    usual = eps_share * variance.expanding().mean()
    return [anomaly.stopping_run(variance, eps=times * usual, goal=goal, max_runs=len(runs))
            for times in TIMES]


TIMES, starts = (0.5, 1, 2), range(seed, seed + 5)
pairs = [(recorded, start) for recorded in programs.values() for start in starts]
by_share = list(parallel_map(lambda pair: stops_from(*pair), pairs, workers))
by_share = np.reshape(by_share, (-1, len(starts), len(TIMES)))
stops_of = by_share[:, :, TIMES.index(1)]  # a row a kernel, a column a start

# %%
variances, rows = {}, []
for recorded, by_start in zip(programs.values(), stops_of[:, 0], strict=True):
    runs, stop = [*recorded.training, *recorded.again][:max_runs], int(by_start)
    variances[recorded.label] = study.error_variance_by_run(runs, seed=seed)
    used = autoperf["table2"][recorded.stands_for][0]
    rows.append((recorded.name, recorded.stands_for, len(runs), stop, used))
stopped = pd.DataFrame(rows, columns=["program", "for the paper's", "runs", "stops at",
                                      "paper: runs trained on"])  # fmt: skip
stopping = stops_of < stopped["runs"].to_numpy()[:, None]
ends = stopped["stops at"][stopping[:, 0]]
shown = np.where(stopping, stops_of.astype(str), "never")
stopped["stops at"] = shown[:, 0]
stopped.insert(4, "stops, other starts", [", ".join(of) for of in shown[:, 1:]])

# %%
by_start = stopping.sum(axis=0)
n_all, n_none = int(stopping.all(axis=1).sum()), int((~stopping.any(axis=1)).sum())
ending = (by_share < stopped["runs"].to_numpy()[:, None, None])[:, 0].sum(axis=0)
of_share = ", ".join(f"{times:g} ε: {count}" for times, count in zip(TIMES, ending, strict=True))
by_starts = (f"from every one of {len(starts)} random starts in {n_all}, from none in {n_none}")
results.table(
    stopped, "stops",
    f"**Table.** Runs recorded, where Algorithm 1 stops with seed {seed} and with the next four "
    "(never: not within the runs recorded), and how many runs the paper trains the program on that "
    f"the kernel stands for. *See:* with seed {seed} it stops in {len(ends)} of {len(stopped)} "
    f"kernels; {by_starts}. Kernels in which it stops, by multiple of ε: {of_share}.")

# %%
variance = {name: of["variance"].set_axis(range(len(of))) for name, of in variances.items()}
stop_of = {variances_of: int(stop) for variances_of, stop, early in
           zip(variances, stops_of[:, 0], stopping[:, 0], strict=True) if early}
standing = {recorded.label: len(recorded.training) for recorded in programs.values()
            if recorded.stands_for in published and len(recorded.training) < max_runs}
drawn = [recorded.label for recorded in programs.values() if recorded.stands_for in published]
drawn = drawn or [*variances][:2]
figure, _ = draw_stops({name: variance[name] for name in drawn}, stop_of, "variance of the errors",
                       second=standing)
results.figure(
    figure, "fig04",
    "**AutoPerf, Fig. 4, of kernels.** Variance of the reconstruction errors, which Algorithm 1 "
    f"reads, by the number of training runs (seed {seed}), of {' and '.join(drawn)}; dashed: where "
    "it stops; dotted: where the runs of the second recording begin, which was made at another "
    "time. *See:* " + "; ".join(
        f"{name} stops at {stop_of[name]}, and ends at "
        f"{variance[name].iloc[-1] / variance[name][stop_of[name]]:.1f} times the variance there"
        if name in stop_of else f"{name} does not stop" for name in drawn) + ".")

# %% [markdown]
# ## Would more runs lower the error?
#
# The mean reconstruction error of the training samples, after training on all runs, as a multiple of that at the stop: far below 1 if more runs help. But training is 100 passes over the samples in batches of 100, so that more runs are also more *steps* (changes of the weights). Therefore the training at the stop is repeated with as many steps as all runs have: what is then left of the difference is due to the runs. The baseline stops every kernel after the same number of runs, the fewest that the paper trains a program on.

# %%
def train_on(runs, n, epochs=100):
    """Mean error, and batches a pass, after training on the first n runs."""
    values = [run.drop(columns=list(LOCATION_COLUMNS)) for run in runs]
    X, least = pd.concat(values[:n]).to_numpy(), smallest_range(pd.concat(values))
    model = anomaly.Autoencoder(topologies=[(max(1, X.shape[1] // 2),)], n_starts=1, epochs=epochs,
                                smallest_range=least, random_state=seed)
    return -model.fit(X).score_samples(X).mean(), ceil(len(X) / model.batch_size)


def errors_left(recorded, stop):
    """Mean error with all runs over that at the stop, as trained and with as many steps."""
    runs = [*recorded.training, *recorded.again][:max_runs]
    (after_all, most), (at_stop, fewer) = (train_on(runs, n) for n in (len(runs), stop))
    with_steps, _ = train_on(runs, stop, round(100 * most / fewer))
    _, fewest = train_on(runs, min(FIXED, len(runs)), 1)
    after_fixed, _ = train_on(runs, min(FIXED, len(runs)), round(100 * most / fewest))
    return [after_all / other for other in (at_stop, with_steps, after_fixed)]


FIXED = 10  # runs: the fewest that the paper trains a program on

# %%
early = [(recorded, stop_of[recorded.label]) for recorded in programs.values()
         if recorded.label in stop_of]
left = list(parallel_map(lambda pair: errors_left(*pair), early, workers))
STOP, STEPS = "all runs / at the stop", "the same, equal steps"
BASELINE = f"all runs / after {FIXED} runs, equal steps"
left = pd.DataFrame(left, columns=[STOP, STEPS, BASELINE])
left.insert(0, "program", [recorded.name for recorded, _ in early])
left.insert(1, "stops at", [stop for _, stop in early])
low, high = left.min(numeric_only=True), left.max(numeric_only=True)
n_lower = (left[[STOP, STEPS]] < 0.9).sum()  # lower by more than a tenth
for recorded, ratio in zip(early, left[STOP], strict=True):  # the series has the same errors
    errors = variances[recorded[0].label]["mean"]
    np.testing.assert_allclose(ratio, errors.iloc[-1] / errors.loc[recorded[1]], 1e-4)
if len(left):
    display(results.table(
        left, "errors",
        "**Table.** Mean reconstruction error of the training samples after training on all runs, "
        f"as a multiple of that after fewer (seed {seed}; kernels in which Algorithm 1 stops). "
        f"*See:* as trained, all runs lower the error by more than a tenth in {n_lower[STOP]} of "
        f"{len(left)} kernels, with equal steps in {n_lower[STEPS]}."))

# %%
kind = "software" if first.per == "work" else "hardware"
results.number("kernels", len(stopped), "kernels")
results.number("kernels in which Algorithm 1 stops", len(ends), "kernels")
if len(ends):
    results.number("runs at the earliest stop", ends.min(), "runs")
    results.number("runs at the latest stop", ends.max(), "runs")
    results.number("kernels whose error all runs lower by more than a tenth, equal steps",
                   n_lower[STEPS], "kernels", note=f"of {len(left)}")
answer = (f"After {ends.min()} to {ends.max()} runs in {len(ends)} of {len(stopped)} kernels of "
          f"ours ({kind} events, one random start), " if len(ends) else "In no kernel of ours, ")
others = stopped["runs"][~stopping[:, 0]]
answer += (f"never within {others.min()} to {others.max()} runs in {len(others)}. " if len(others)
           else "which are all. ")
if len(left):
    hardly = "hardly " if n_lower[STEPS] <= len(left) / 3 else ""
    answer += (
        f"More runs by themselves {hardly}lower the error further: after training on all it is "
        f"{low[STOP]:.2f} to {high[STOP]:.2f} times that at the stop, but all runs take more steps "
        "of training; with as many steps at the stop, all runs lower it by more than a tenth in "
        f"{n_lower[STEPS]} of {len(left)} kernels ({n_lower[STOP]} without).")
display(results.finding(answer))

# %%
fixed = (" With equal steps of training the error after all runs is "
         f"{left[BASELINE].median():.2f} times that after a fixed number of {FIXED} runs, "
         f"{left[STEPS].median():.2f} times that at Algorithm 1's stop (medians of {len(left)} "
         "kernels)." if len(left) else "")
turned = [f"{recorded.name} (for {recorded.stands_for}): {', '.join(of)}"
          for recorded, of in zip(programs.values(), shown, strict=True)
          if recorded.stands_for in published]
display(results.finding(
    f"The stop depends on the random start and on ε, which is a guess for the kernels: from "
    f"{len(starts)} starts it stops in {by_start.min()} to {by_start.max()} of {len(stopped)} "
    f"kernels ({'; '.join(turned) or by_starts}), with half and twice of ε in {ending[0]} and "
    f"{ending[-1]}.{fixed}"))
results.finding(
    "On the two series that the paper's authors published it "
    + " and ".join(f"stops at run {stops_of_paper[name]} ({name})" if name in stops_of_paper
                   else f"does not stop ({name})" for name in published)
    + f", as the paper says, with goal = {goal}, which was chosen because it then agrees.")

# %% [markdown]
# ## What this doesn't show
#
# Whether fewer runs would be enough for a detector: only the errors in training are read, and no bad run ([notebook studies/other_detectors](other_detectors.ipynb) tests detectors that learned as many runs as Algorithm 1 takes). Few samples are reconstructed more easily than many, so that errors of the training samples favour the stop. Each series has one order of the runs.
#
# ## On your own program
#
# This notebook is about the recorded kernels; `cmlib run paper training_runs -p program=histogram` takes one of them. The parameter to change first is `eps_share`: a larger share stops earlier. `cmlib compare './old input' './new input'` compares two versions of a program of your own.
#
# **References.** Alam, Gottschlich, Muzahid, *AutoPerf: A Generalized Zero-Positive Learning System to Detect Software Performance Anomalies*, §3.3.1, Algorithm 1, Figure 4; series and termination algorithm: their repository, mejbah/AutoPerf on GitHub.

# %%
results.save()
