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
# # Sensitivity: how small a slowdown is detected, how often wrongly, and what counting costs
#
# **Question.** Below which slowdown does AutoPerf's detector miss an anomaly, how often does it call two recordings of one version different, and how much does counting slow the program?
#
# *Reads* the recordings of the kernels under `data/regions`. *Writes* the rate of false alarms, the slowdowns that were found, and AutoPerf's Figure 12.
#
# The detector is that of [notebook 06](06_anomaly_detection.ipynb), the question that of a test before each commit: some twenty runs of the old version, ten of the new one.

# %% tags=["parameters"]
program = "all"  # programs to study, by their names here, separated by commas, or all
folder = ""  # where the recordings are instead of data/regions
max_runs = 100  # runs that are learned at most [2, 1000]
n_pairs = 104  # comparisons of a version with itself, shared among the programs [1, 5000]
seed = 0  # of the autoencoders and of the pairs [0, 1000000]
settings = {}  # jobs, executor, scheduler, profile, results_folder

# %%
import numpy as np
import pandas as pd

from cmlib import plot
from cmlib.anomaly import AutoPerf, compare_versions
from cmlib.anomaly.autoencoder import Autoencoder
from cmlib.experiments.anomaly import describe_counts, recorded_programs, slowdown
from cmlib.parallel import parallel_map
from cmlib.report import paper
from cmlib.report.notebook import begin

# %%
notebook = begin("06d_sensitivity", globals())
results, workers = notebook.results, notebook.workers
autoperf, programs = paper("autoperf"), recorded_programs(folder, program)
source = describe_counts(programs)
first = next(iter(programs.values()))
print(f"{first.name}, the first good run: {len(first.good[0])} samples, counts by {first.per}")
first.good[0].head()

# %% [markdown]
# ## The detector
#
# For each program the topology with the smallest mean reconstruction error is searched once, on its good runs. Every comparison below trains an autoencoder of that topology on the old version's runs.

# %%
def search(one):
    """Fit a detector to the good runs of a program; its autoencoder has the best topology."""
    return AutoPerf(random_state=seed).fit(one.training[:max_runs])


detectors = dict(zip(programs, parallel_map(search, programs.values(), workers), strict=True))
topologies = {name: one.models_[0].autoencoder.topology_ for name, one in detectors.items()}
pd.Series(topologies, name="widths of the encoding layers")

# %% [markdown]
# ## Two recordings of one version
#
# An anomaly is a difference that is significant and relevant. With the distances $d$ that half, or a tenth, of a run's samples exceed (good runs are judged by autoencoders that were not trained on them),
#
# $$p_{\text{Mann-Whitney}}(d_{new} > d_{good}) \le 0.01 \quad\wedge\quad \mathrm{median}(d_{new}) > \max(d_{good}).$$
#
# The good forms were recorded twice. Runs are drawn from both, each recording in turn as the new version: every difference that is found is a false alarm.

# %%
def compare(old, new, topology):
    """Judge ten runs of a new version by twenty of the old one."""
    autoencoder = Autoencoder(topologies=[topology], n_starts=1)
    detector = AutoPerf(autoencoder=autoencoder, random_state=seed)
    verdict = compare_versions(old[:20], new[:10], detector=detector)
    return verdict.p_value, bool(verdict.anomalous)


def compare_with_itself(one, topology):
    """Runs of two recordings drawn at random; of one recording where there is no second."""
    rng, compared, good = np.random.default_rng(seed), [], [*one.training, *one.good]
    third = len(good) // 3
    for number in range(-(-n_pairs // len(programs))):
        old, new = ([runs[i] for i in rng.permutation(len(runs))] for runs in (good, one.again))
        pair = (old, new) if number % 2 == 0 else (new, old)
        compared.append(compare(*(pair if new else (old[third:], old[:third])), topology))
    return compared


# %%
jobs = list(zip(programs.values(), topologies.values(), strict=True))
compared = sum(parallel_map(lambda job: compare_with_itself(*job), jobs, workers), [])
compared = pd.DataFrame(compared, columns=["p-value", "anomalous"])
compared["anomalous"].value_counts().rename("comparisons")

# %% [markdown]
# ## Diluted sharing
#
# In three programs the sharing was diluted: only part of the updates go to the contended place. Values below zero mean that the machine was slower while the good form was recorded.

# %%
def dilute(one, topology):
    """Which share of sharing, and so which slowdown, is still found."""
    return [
        (one.stands_for, 100 * sharing, 100 * (slowdown(control, new) - 1),
         *compare(control, new, topology))
        for sharing, (control, new) in one.diluted.items()
    ]


rows = sum(parallel_map(lambda job: dilute(*job), jobs, workers), [])
diluted = pd.DataFrame(rows, columns=["program", "sharing", "slowdown", "p_value", "found"])
if len(diluted):
    figure, _ = plot.curves(diluted, x="sharing", ys={"slowdown": "slowdown"}, by="program",
                            xlabel="share of the updates at the contended place [%]",
                            ylabel="time, above\nthe good form's [%]", log=True)
    display(results.figure(figure, "dilution",
                           source + "**Figure.** What diluted sharing costs (median runs)."))

# %%
results.table(diluted, "dilution",
              source + "**Table.** Ten runs with diluted sharing against twenty of the good form "
              "with the same path through the code: slowdown [%], p-value, verdict.", decimals=4)

# %% [markdown]
# ## What counting costs
#
# A region's time was taken in executions in which it was counted and in others in which it was not, in turns. Of each pair, the overhead is
#
# $$\mathrm{overhead} = \left(\frac{t_{counted}}{t_{uncounted}} - 1\right) \times 100\,\%.$$
#
# A program without a bar was no slower when it was counted.

# %%
times = {one.stands_for: one.overhead for one in programs.values()}
here = pd.Series({name: np.median(ratios) for name, ratios in times.items() if ratios}, dtype=float)
paper_times = pd.Series({name: autoperf["overhead"][name] for name in times})
overhead = 100 * (pd.concat({"here": here, "paper": paper_times}) - 1)
overhead = overhead.rename_axis(["where", "program"]).rename("overhead").reset_index()
levels = {"paper, mean": 100 * (autoperf["overhead"]["mean"] - 1)}
figure, _ = plot.bars_by_program(overhead, value="overhead", hue="where",
                                 ylabel="time, counted\nabove uncounted [%]", levels=levels)
results.figure(figure, "fig12",
               source + "**Figure 12.** Overhead of counting the regions, median of ten pairs of "
               "executions that took turns.")

# %% [markdown]
# ## What was found

# %%
hits = diluted.loc[diluted["found"].astype(bool), "slowdown"]
counted = overhead.loc[overhead["where"] == "here", "overhead"]
twice = all(one.again for one in programs.values())
drawn = "two recordings" if twice else "the good runs"
alarms = 100 * compared["anomalous"].mean()
found = [("false alarms between recordings of one version", alarms, None,
          f"of {len(compared)} pairs, drawn from {drawn} of each program"),
         ("smallest slowdown found", hits.min(), None, "time, diluted sharing"),
         ("profiling overhead, mean", counted.mean(), 3.7, f"{len(counted)} programs")]
for name, value, printed, note in found:
    if np.isfinite(value):
        note = "; ".join(filter(None, (note, source.strip("* ."))))
        results.number(name, value, "%", paper=printed, note=note)


# %%
def least_found(group):
    """The smallest share of sharing that is found, with all larger ones."""
    group = group.sort_values("sharing", ascending=False)
    found = group[group["found"].astype(bool).cummin()]
    if found.empty:
        return (f"Diluted sharing is not found in {group['program'].iloc[0]}, where it costs up to "
                f"{group['slowdown'].max():.0f} % of the time.")
    least = found.iloc[-1]
    share = f"In {least['program']} sharing is found down to {least['sharing']:g} % of the updates"
    return f"{share}, which costs {least['slowdown']:.1f} % of its time."


least = " ".join(least_found(own) for _, own in diluted.groupby("program", sort=False))
display(results.finding(
    f"{source}Two recordings of the same version are called different in "
    f"{compared['anomalous'].sum()} of {len(compared)} comparisons. {least} Counting the regions "
    f"costs {counted.mean():.1f} % of the time in the mean, up to {counted.max():.1f} %."))
results.numbers()

# %% [markdown]
# ## What this doesn't show
#
# Versions that differ by a recompilation, another compiler or another machine: both recordings are of one binary on one machine, made with real-time priority. Three programs were diluted; slowdowns between those that were recorded are not interpolated.
#
# **References.** Alam, Gottschlich, Muzahid, *AutoPerf: A Generalized Zero-Positive Learning System to Detect Software Performance Anomalies*, §5.9, Figure 12.

# %%
results.save()
