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
# # AutoPerf's sensitivity: how small a slowdown is found, how often wrongly, and what counting costs
#
# **Question.** Which slowdowns does AutoPerf's detector find, how often does it call two recordings of one version different, and how much does counting slow the program?
#
# *Reads* the recordings of the kernels under `data/regions`. *Writes* the rate of false alarms, the slowdowns that were found, and AutoPerf's Figure 12.
#
# It is the question of a test before each commit: some twenty runs of the old version, ten of the new one. The detector is that of [notebook 06](06_anomaly_detection.ipynb): an autoencoder learns the old version's counts, and a *distance* says how far a sample (one invocation) is from them. On programs of your own: `cmlib compare './old input' './new input'`.

# %% tags=["parameters"]
program: str = "all"  # kernels to study, by their names here, separated by commas, or all
folder: str = ""  # of the recordings; empty: data/regions, by hardware events if there are any
max_runs: int = 100  # runs by which a topology is chosen, at most
n_pairs: int = 104  # comparisons of a version with itself, shared among the programs
seed: int = 0  # of the autoencoders' starts and of the pairs
settings: dict = {}  # jobs, executor, scheduler, profile, results_folder

# %%
import numpy as np
import pandas as pd
from scipy.stats import mannwhitneyu

from cmlib import plot
from cmlib.anomaly import AutoPerf, compare_versions
from cmlib.anomaly.autoencoder import Autoencoder
from cmlib.experiments.anomaly import describe_counts, recorded_programs, slowdown
from cmlib.parallel import parallel_map
from cmlib.report import paper
from cmlib.report.notebook import begin

limits = {"max_runs": (2, 1000), "n_pairs": (1, 5000), "seed": (0, 1_000_000)}
notebook = begin(
    "06d_sensitivity", settings, program=program, folder=folder, max_runs=max_runs,
    n_pairs=n_pairs, seed=seed,
)
results, workers = notebook.results, notebook.workers
autoperf, programs = paper("autoperf"), recorded_programs(folder, program)
source = describe_counts(programs)  # a sentence for captions
first = next(iter(programs.values()))
print(f"{len(programs)} kernels; {first.label}: {len(first.training) + len(first.good)} good runs, "
      f"{len(first.again)} of a second recording, {len(first.good[0])} samples a run")
first.good[0].iloc[:5, :8]

# %% [markdown]
# ## The comparison
#
# A run of the old version is judged by an autoencoder that was not trained on it. Noted of a run are the distances $d$ that half of its samples exceed, and a tenth. A new version is anomalous if its runs are *significantly* and *relevantly* farther out than the old ones, at the half or at the tenth, whichever has the smaller $p$-value:
#
# $$p_{\text{Mann-Whitney}}(d_{new} > d_{good}) \le 0.01 \quad\wedge\quad \mathrm{median}(d_{new}) > \max(d_{good})$$
#
# The $p$-value is Bonferroni-corrected for the two. In sight, for the good and the bad form of one kernel; the topology with the smallest error is searched once for each, on its good runs:

# %%
def search(recorded):
    """Fit a detector to the good runs of a program; its autoencoder has the best topology."""
    return AutoPerf(random_state=seed).fit(recorded.training[:max_runs])


detectors = dict(zip(programs, parallel_map(search, programs.values(), workers), strict=True))
topologies = {name: of.models_[0].autoencoder.topology_ for name, of in detectors.items()}


def make_detector(topology):
    """A detector with one autoencoder of this topology, from one start."""
    autoencoder = Autoencoder(topologies=[topology], n_starts=1)
    return AutoPerf(autoencoder=autoencoder, random_state=seed)

# %%
detector = make_detector(topologies[first.name]).fit(first.training[:20])
d_good, d_new = detector.held_out_, detector.summarize(first.bad[:10])
p = {part: mannwhitneyu(d_new[part], d_good[part], alternative="greater").pvalue
     for part in ("distance_p50", "distance_p90")}
part = min(p, key=p.get)
p_value = min(1, 2 * p[part])
anomalous = p_value <= 0.01 and d_new[part].median() > d_good[part].max()
print(f"{first.label}, bad form: p = {p_value:.2g}, anomalous: {anomalous}")

# %%
library = compare_versions(first.training[:20], first.bad[:10],
                           detector=make_detector(topologies[first.name]))
np.testing.assert_allclose(library.p_value, p_value)
assert library.anomalous == anomalous

# %% [markdown]
# ## Two recordings of one version
#
# The good forms were recorded twice, at different times. Runs are drawn from both, each recording in turn as the new version: every difference is a false alarm.

# %%
def compare(old, new, topology):
    """Judge ten runs of a new version by twenty of the old one."""
    verdict = compare_versions(old[:20], new[:10], detector=make_detector(topology))
    return verdict.p_value, bool(verdict.anomalous)


def compare_with_itself(recorded, topology):
    """Runs of two recordings drawn at random; of one recording where there is no second."""
    rng, compared = np.random.default_rng(seed), []
    good = [*recorded.training, *recorded.good]
    third = len(good) // 3
    for number in range(-(-n_pairs // len(programs))):
        recordings = (good, recorded.again)
        old, new = ([runs[i] for i in rng.permutation(len(runs))] for runs in recordings)
        pair = (old, new) if number % 2 == 0 else (new, old)
        compared.append(compare(*(pair if new else (old[third:], old[:third])), topology))
    return compared


jobs = list(zip(programs.values(), topologies.values(), strict=True))
compared = sum(parallel_map(lambda job: compare_with_itself(*job), jobs, workers), [])
compared = pd.DataFrame(compared, columns=["p-value", "anomalous"])
compared["anomalous"].value_counts().rename("comparisons")

# %% [markdown]
# ## Diluted sharing
#
# In three kernels the sharing was *diluted*: only a part of the updates go to the contended place. Each is compared with a good form that takes the same path through the code.

# %%
def dilute(recorded, topology):
    """Which share of sharing, and so which slowdown, is still found."""
    return [
        (recorded.label, 100 * sharing, 100 * (slowdown(control, new) - 1),
         *compare(control, new, topology))
        for sharing, (control, new) in recorded.diluted.items()
    ]


rows = sum(parallel_map(lambda job: dilute(*job), jobs, workers), [])
diluted = pd.DataFrame(rows, columns=["program", "sharing", "slowdown", "p_value", "found"])
diluted["found"] = diluted["found"].astype(bool)
hits, misses = (diluted.loc[diluted["found"] == found, "slowdown"] for found in (True, False))
seen = f"the smallest slowdown found is {hits.min():.1f} %" if len(hits) else "none is found"
seen += f", the largest missed {misses.max():.1f} %" if len(misses) else ""
results.table(
    diluted, "dilution",
    "**Table.** Ten runs with diluted sharing against twenty of the good form: share of the "
    f"updates at the contended place [%], slowdown [%], p-value, verdict. {source}*See:* {seen}.",
    decimals=4)

# %%
@plot.styled
def draw_dilution(table):
    """What diluted sharing costs, a line a program; full marks were found."""
    figure, ax = plot.curves(table, x="sharing", ys={"slowdown": "slowdown"}, by="program",
                             xlabel="share of the updates at the contended place [%]",
                             ylabel="time, above\nthe good form's [%]", log=True)
    missed = table[~table["found"]]
    ax.plot(missed["sharing"], missed["slowdown"], "o", ms=9, mfc="none", mec="#222222",
            label="not found")
    legend = ax.get_legend_handles_labels()
    ax.legend(*legend, loc="upper left", bbox_to_anchor=(1, 1))
    return figure, ax


if len(diluted):
    figure, _ = draw_dilution(diluted)
    display(results.figure(
        figure, "dilution",
        "**Figure.** What diluted sharing costs, medians of runs (below zero: the machine was "
        f"slower while the good form was recorded). Ringed: not found. {source}*See:* {seen}."))

# %% [markdown]
# ## What counting costs
#
# A region's time was taken in executions in which it was counted and in others in which it was not, in turns. Of each pair, the overhead is
#
# $$\mathrm{overhead} = \left(\frac{t_{counted}}{t_{uncounted}} - 1\right) \times 100\,\%$$

# %%
overhead = pd.DataFrame([(recorded.label, 100 * (np.median(recorded.overhead) - 1), "here")
                         for recorded in programs.values() if recorded.overhead],
                        columns=["program", "overhead", "where"])  # fmt: skip
printed = autoperf["overhead"]
of_paper = {recorded.label: 100 * (printed[recorded.stands_for] - 1)
            for recorded in programs.values() if recorded.overhead}
if of_paper:
    figure, ax = plot.dots_by_program(overhead, value="overhead", hue="where", paper=of_paper,
                                      xlabel="time, counted above uncounted [%]")
    ax.axvline(0, color="#777777", lw=1)
    display(results.figure(
        figure, "fig12",
        "**AutoPerf, Fig. 12.** Overhead of counting the regions, median of ten pairs of "
        "executions; crosses: what the paper prints for the program that a kernel stands for, by "
        f"hardware events. {source}*See:* mean {overhead['overhead'].mean():.1f} % here, "
        f"{np.mean(list(of_paper.values())):.1f} % in the paper for the same programs."))

# %% [markdown]
# ## What the paper printed, and what was measured here

# %%
twice = all(recorded.again for recorded in programs.values())
drawn = "two recordings" if twice else "the good runs"
alarms = 100 * compared["anomalous"].mean()
note = f"{len(overhead)} kernels; the paper: 13 programs"
measured = [("false alarms between recordings of one version", alarms, None,
             f"of {len(compared)} pairs, drawn from {drawn} of each program"),
            ("smallest slowdown found", hits.min(), None, "time, diluted sharing"),
            ("profiling overhead, mean", overhead["overhead"].mean(),
             100 * (printed["mean"] - 1), note)]
for name, value, of_paper, note in measured:
    if np.isfinite(value):
        note = "; ".join(filter(None, (note, source.strip(". "))))
        results.number(name, value, "%", paper=of_paper, note=note)
display(results.numbers())
results.finding(
    f"Two recordings of one version are called different in {compared['anomalous'].sum()} of "
    f"{len(compared)} comparisons. Of {len(diluted)} diluted anomalies {len(hits)} are found: "
    f"{seen}. Counting costs {overhead['overhead'].mean():.1f} % of the time in the mean, at most "
    f"{overhead['overhead'].max():.1f} %. {source}".strip())

# %% [markdown]
# ## What this doesn't show
#
# Versions that differ by a recompilation, another compiler or another machine: both recordings are of one binary on one machine, made with real-time priority. Three kernels were diluted; slowdowns between those that were recorded are not interpolated.
#
# **References.** Alam, Gottschlich, Muzahid, *AutoPerf: A Generalized Zero-Positive Learning System to Detect Software Performance Anomalies*, §5.9, Figure 12.

# %%
results.save()
