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
# # Spectre attacks: does AutoPerf's detector notice them?
#
# **Question.** Does a detector that was trained on a system without attacks (one detector while it is quiet, one while it is busy) notice Spectre attacks on it, and does it do better than a simple threshold on each event?
#
# *Reads* the recordings of `cmlib fetch spectre-tables`, in the cache or in the folder `CMLIB_PUBLIC` (a variable of the environment). *Writes* how many runs are called anomalous. `cmlib run paper spectre` runs it.
#
# [Notebook 06](../06_anomaly_detection.ipynb) explains AutoPerf's detector and tests it on slow versions of programs; here it watches a whole system.

# %% [markdown] tags=["answer"]
# > **Answer** (Spectre attacks recorded by others, default parameters). Yes, but a simple threshold does as well: the detector and a threshold on each event's mean both find **100 %** of the attacked runs. The detector calls **0 %** of the normal runs anomalous, the threshold **3 %**, which is no significant difference.

# %% tags=["parameters"]
program: str = "all"  # any other than all leaves this notebook out
window: int = 20  # intervals (here: seconds) that are judged together as a run
seed: int = 0  # of the autoencoders' starts
settings: dict = {}  # profile, results_folder

# %%
import numpy as np
import pandas as pd
from IPython.display import Markdown
from scipy.stats import fisher_exact

from cmlib import plot
from cmlib.anomaly.autoencoder import Autoencoder
from cmlib.anomaly.detector import AutoPerf
from cmlib.errors import NothingRecordedError
from cmlib.experiments.published import counts_of, files_like, how_to_get
from cmlib.experiments.requested import resolve_names
from cmlib.plot.style import GREY, blank, palette
from cmlib.report.notebook import begin
from cmlib.topdown.run_levels import interval_lengths

limits = {"window": (2, 200), "seed": (0, 1_000_000)}
notebook = begin("spectre", settings, program=program, window=window, seed=seed)
results = notebook.results
resolve_names(program, [], about="programs of this notebook", todo="It takes program=all.")
files = files_like("spectre-tables", r"(?P<load>[\w-]+)\.(?P<what>[\w-]+)\.txt")
counts = {(row.load, row.what): counts_of(row.file) for row in files.itertuples()}
counts = {key: runs[0][0] for key, runs in sorted(counts.items()) if runs}
if not counts:
    raise NothingRecordedError(how_to_get("spectre-tables"))

# %%
LOADS = {"no_noise_raw": "quiet", "stress-c-raw": "busy"}  # their names there, and here
KINDS = {"normal": "normal", "normal-1": "normal, another recording", "spectre-v1": "Spectre 1",
         "evasive-spectre-memory": "evasive Spectre (memory)",
         "evasive-spectre-nop": "evasive Spectre (nop)"}
counts = {(LOADS.get(load, load), KINDS.get(what, what)): own
          for (load, what), own in counts.items()}
intervals = sum(map(len, counts.values()))
Markdown(f"**Data.** Others' recordings (`breatrice321/T-Smade` on GitHub, no licence stated): "
         f"{len(counts)} recordings, {intervals:,} intervals of one second in all, five hardware "
         "events of the whole system on an Intel client processor that is not named, quiet or busy "
         "(under CPU stress). None is the paper's. Spectre 1 makes a processor mispredict a branch "
         "and read beyond an array, and learns from the cache what was read; *evasive*, by the "
         "names of the recordings: with accesses to memory or instructions that do nothing (nop) "
         "put between, to be less conspicuous.")

# %% [markdown]
# The first seconds of one recording [counts per interval]. `r412e` and `r4f2e` are raw codes of Intel's processors: misses of the last-level cache, and references to it.

# %%
next(iter(counts.values())).head().map("{:,.0f}".format)

# %% [markdown]
# ## Runs
#
# Each recording is cut into runs of `window` intervals; a rest is left out, and so is a recording's first interval. A sample is one interval: its counts divided by its branches (AutoPerf divides by instructions, which are not among the events), interrupts by its seconds.


# %%
def cut(recording):
    """Runs of a recording, with the detector's columns."""
    rates = recording.drop(columns="branches").div(recording["branches"], axis=0)
    for event in (name for name in recording if "INTERRUPT" in name.upper()):
        rates[event] = recording[event] / interval_lengths(recording)
    rates = rates.iloc[1:].replace([np.inf, -np.inf], np.nan).dropna().reset_index(drop=True)
    samples = rates.assign(function="system", location="")
    starts = range(0, len(samples) - window + 1, window)
    return [samples[start : start + window] for start in starts]


runs = {key: cut(recording) for key, recording in counts.items()}
print(f"{sum(map(len, runs.values()))} runs of {len(runs)} recordings")

# %% [markdown]
# ## Trained on normal runs
#
# Of each load, the first half of the runs of `normal` trains an autoencoder, a network that sends a sample $x$ through fewer neurons than it has values, and back to $x'$. What it has not learned comes back with a large *reconstruction error* $RE$; its threshold comes from the training samples (AutoPerf, §3.3.2):
#
# $$RE = \sum_i (x_i - x'_i)^2, \qquad RE_{threshold} = RE_{mean} + 2\, RE_{sd}$$
#
# By the paper's rule a run is anomalous if one of its samples is above the threshold. Many runs without an attack have such a sample (table below); so the *calibrated* rule of notebook 06 decides here. It takes $d = \sqrt{RE / RE_{threshold}}$ of every sample, and of a run the two distances that half and a tenth of its samples exceed. With $m$ the median of that distance over the training runs (each judged by a network that did not learn it), and $S$ the sum of what the $k$ runs above the median have beyond it, the probability that a normal run lies so far out is
#
# $$p(d) = \tfrac{1}{2}\left(1 + \frac{d - m}{S}\right)^{-k} \quad (d > m)$$
#
# A run is anomalous if twice the smaller of its two $p$ is at most 0.005. The formula extrapolates: so few training runs cannot show what one run in 200 does.
#
# The *simple rule* to beat: some event's mean over the run is beyond four standard deviations of the means of the same training runs.
# %%
def is_beyond(run, normal):
    """The simple rule: some event's mean is beyond four standard deviations."""
    means = pd.DataFrame([known.mean(numeric_only=True) for known in normal])
    off = (run.mean(numeric_only=True) - means.mean()).abs()
    return bool((off > 4 * means.std()).any())


def p(d, good):
    """How likely a normal run lies as far out as the distance d."""
    beyond = good[good > good.median()] - good.median()
    S, k = beyond.sum(), len(beyond)
    return 0.5 * (1 + max(0, d - good.median()) / S) ** -k if d > good.median() else 1.0

# %%
DISTANCES = "distance_p50", "distance_p90"
rows, detectors = [], {}
for load in dict.fromkeys(load for load, _ in runs):
    normal = runs[load, "normal"][: len(runs[load, "normal"]) // 2]
    detector = AutoPerf(autoencoder=Autoencoder(), max_clusters=1, random_state=seed).fit(normal)
    detectors[load] = detector
    good = detector.held_out_  # the training runs, by networks that did not learn them
    for what in (other for at, other in runs if at == load):
        judged = runs[load, what][len(normal) if what == "normal" else 0 :]
        anomalous = [2 * min(p(run[part], good[part]) for part in DISTANCES) <= 0.005
                     for _, run in detector.summarize(judged).iterrows()]
        beyond = sum(is_beyond(run, normal) for run in judged)
        one_sample = int((detector.summarize(judged)["exceeding"] > 0).sum())
        rows.append((load, what, "yes" if "Spectre" in what else "no", len(judged),
                     sum(anomalous), beyond, one_sample))
columns = ["load", "recording", "attack", "runs", "anomalous", "beyond", "paper"]
judged = pd.DataFrame(rows, columns=columns).sort_values(["load", "attack", "recording"])
found, alarms = (judged.loc[judged["attack"] == kind, columns[3:]].sum()
                 for kind in ("yes", "no"))

# %%
results.table(
    judged.rename(columns={"beyond": "simple rule", "paper": "paper's rule"}), "intruder",
    "**Table.** Runs that were judged (the training runs are not), how many of them AutoPerf's "
    "detector (calibrated) calls anomalous, how many the simple rule, and how many the detector by "
    f"the paper's rule. *See:* of {found['runs']} attacked runs {found['anomalous']}, "
    f"{found['beyond']} and {found['paper']}, of {alarms['runs']} normal ones "
    f"{alarms['anomalous']}, {alarms['beyond']} and {alarms['paper']}. Neurons between "
    f"the {len(detector.counters_)} values and their way back (searched): "
    + "; ".join(f"{'-'.join(map(str, one.models_[0].autoencoder.topology_))} ({load})"
                for load, one in detectors.items()) + ".")

# %%
def line_of(good):
    """The distance from which on a run is anomalous: where p is 0.0025."""
    above = good[good > good.median()] - good.median()
    return good.median() + above.sum() * (200 ** (1 / len(above)) - 1)

# %%
def draw(load, ax):
    """A row a recording, a dot a run: the distance that half of its samples exceed."""
    names = [what for at, what in runs if at == load]
    good = detectors[load].held_out_["distance_p50"]
    for row, what in enumerate(names):
        d = detectors[load].summarize(runs[load, what])["distance_p50"]
        d = d[len(good) if what == "normal" else 0 :]
        ax.plot(d, [row] * len(d), "o", ms=4, alpha=0.6, color=palette(2)["Spectre" in what])
    ax.plot(good, [names.index("normal") + 0.3] * len(good), "o", ms=4, color=GREY)
    ax.axvline(line_of(good), color="#222222", ls="--")
    ax.set(xscale="log", title=load, ylim=(len(names) - 0.5, -0.5), xlabel="distance d")
    ax.set_xlim(min(0.1, ax.get_xlim()[0]), None)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.tick_params(labelbottom=True)
    ax.set_yticks(range(len(names)), names)


@plot.styled
def draw_loads():
    """A panel a load."""
    figure, axes = blank(4.8, rows=len(detectors), sharex=True)
    for load, ax in zip(detectors, axes[:, 0], strict=True):
        draw(load, ax)
    return figure, axes


# %%
def apart(at):
    """By which factor events differ between a recording's far runs and its near ones."""
    d = detectors[at[0]].summarize(runs[at])["distance_p50"].to_numpy()
    far = d > np.sqrt(d.min() * d.max())
    parts = [pd.concat([run for run, it_is in zip(runs[at], far, strict=True) if it_is == side])
             for side in (True, False)]
    high, low = (part[detector.counters_].median() for part in parts)
    return (high / low).rename(f"{at[1]}; {at[0]}"), d.max() / d.min()


clumps = [apart(at) for at in runs if "Spectre" in at[1]]
clumps = pd.DataFrame([factors for factors, span in clumps if span > 10])
differing = clumps.max().sort_values(ascending=False)
split = "" if clumps.empty else (
    f" Within {len(clumps)} recordings of attacks distances differ more than tenfold; in their far "
    f"half (logarithmic) `{differing.index[0]}` is {clumps[differing.index[0]].min():.1f} to "
    f"{differing.iloc[0]:.1f} times as large as in the near one, no other event more than "
    f"{differing.iloc[1]:.2f} times.")
limits_of = {load: line_of(one.held_out_["distance_p50"]) for load, one in detectors.items()}
highest = {load: max(detectors[load].summarize(runs[at])["distance_p50"].max() for at in runs
                     if at[0] == load and "Spectre" not in at[1]) for load in detectors}
hair = max(highest, key=lambda load: highest[load] / limits_of[load])

# %%
figure, _ = draw_loads()
nearest = {load: min(detectors[load].summarize(runs[at])["distance_p50"].min() for at in runs
                     if at[0] == load and "Spectre" in at[1]) for load in detectors}
results.figure(
    figure, "distances",
    "**Figure.** A dot a run: the distance *d* that half of its samples exceed (logarithmic; 1 is "
    "the paper's threshold), blue without and orange under attack, grey the training runs, each by "
    "networks that did not learn it; right of the dashed line a run is anomalous (left of it too, "
    "if a tenth of its samples lie far out). *See:* the attacked run that is nearest to normal has "
    f"a distance of {' and '.join(f'{d:.1f} ({load})' for load, d in nearest.items())}; the normal "
    f"run that is nearest to the line has {highest[hair]:.2f} of {limits_of[hair]:.2f} "
    f"({hair}).{split}")

# %% [markdown]
# ## What changes under attack
#
# Whether an autoencoder is needed at all: the median rate of each event under attack, as a multiple of its median in `normal` under the same load.

# %%
median = {at: pd.concat(own)[detector.counters_].median() for at, own in runs.items()}
ratios = {f"{what}; {load}": median[load, what] / median[load, "normal"]
          for load, what in runs if "Spectre" in what}
ratios = pd.DataFrame(ratios).rename_axis(index="event").T.rename_axis("attack; load")
largest, which = ratios.max(axis=1), ratios.idxmax(axis=1)
seconds = which.str.contains("INTERRUPT").sum()
a_second = {at: (own["branches"] / interval_lengths(own)).median() for at, own in counts.items()}
branches = [a_second[load, what] / a_second[load, "normal"] for load, what in runs
            if "Spectre" in what]
results.table(
    ratios.assign(**{"branches a second": branches}).reset_index(), "rates",
    "**Table.** Median rate of each event under attack, as a multiple of the normal one: per "
    "branch, interrupts per second; last, the branches themselves, of which an attack may "
    "execute many, so that what it does not cause falls per branch. *See:* "
    f"in each recording of an attack some event's median is {largest.min():.1f} times the normal "
    f"one or more "
    f"({', '.join(dict.fromkeys(which))}); in {seconds} of {len(which)} it is interrupts.")

# %%
detector_found, rule_found = (100 * found[name] / found["runs"] for name in ("anomalous", "beyond"))
detector_alarms, rule_alarms = (100 * alarms[name] / alarms["runs"]
                                for name in ("anomalous", "beyond"))
for name, share, wrong in (("detector", detector_found, detector_alarms),
                           ("threshold on each event", rule_found, rule_alarms)):
    results.number(f"Spectre: attacked runs found, {name}", share, "%",
                   note=f"false alarms {wrong:.0f} %")
    results.number(f"Spectre: normal runs called anomalous, {name}", wrong, "%")
better = detector_found > rule_found
wrong = [[of, alarms["runs"] - of] for of in (alarms["anomalous"], alarms["beyond"])]
p_alarms = fisher_exact(wrong).pvalue
verdict = "Yes, it notices them" if detector_found > 50 else "No, it misses most of them"
verdict += ", and it does better" if better else ", but it does no better than the threshold"
results.finding(
    f"{verdict}: of {found['runs']} attacked runs it finds {found['anomalous']}, the threshold on "
    f"each event's mean {found['beyond']}; of {alarms['runs']} normal runs it calls "
    f"{alarms['anomalous']} anomalous, the threshold {alarms['beyond']} (Fisher's exact test: p = "
    f"{p_alarms:.2f}, of runs that are windows of {len(counts)} recordings by others). By the "
    f"paper's own rule, one sample beyond, it calls {alarms['paper']} normal ones anomalous.")

# %% [markdown]
# ## What this doesn't show
#
# That it is the attack which is recognised: no other new program was run as a control, and any whose loop dilutes the system's rates would lie as far away (the table above has the branches, which all rates but that of interrupts are divided by). Attacks and normal runs were recorded one after another, so that whatever else changed with time goes with the class; the runs are windows of a few recordings, not so many attacks.
#
# ## On your own program
#
# This notebook is about these published recordings only (`program` takes `all`); the parameter to change first is `window`: with `cmlib run paper spectre -p window=10` runs are judged sooner, and by fewer samples. Nothing here watches a system of your own. Versions of a program of your own are compared by `cmlib compare './old input' './new input'` ([notebook 06](../06_anomaly_detection.ipynb)).
#
# **References.** Alam, Gottschlich, Muzahid, *AutoPerf: A Generalized Zero-Positive Learning System to Detect Software Performance Anomalies*, §3.3. Recordings: breatrice321/T-Smade.

# %%
results.save()
