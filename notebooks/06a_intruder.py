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
# # Spectre attacks on an Intel client: does AutoPerf's detector notice them?
#
# **Question.** Does a detector trained on a quiet and on a busy system notice Spectre attacks on it, and better than the simplest rule?
#
# *Reads* the recordings of `cmlib fetch spectre-tables`, in the cache or in the folder `CMLIB_PUBLIC`. *Writes* how many runs were found to be anomalous.
#
# Whole system, 1 s an interval, five events on an Intel client, quiet or under CPU stress, with and without attacks (`breatrice321/T-Smade`, no licence stated). It is notebook 06's detector on other people's hardware counters, and none of the paper's programs.

# %% tags=["parameters"]
program: str = "all"  # any other than all leaves this notebook out
window: int = 20  # intervals of a run
seed: int = 0  # of the autoencoders' starts
settings: dict = {}  # profile, results_folder

# %%
import numpy as np
import pandas as pd

from cmlib.anomaly.autoencoder import Autoencoder
from cmlib.anomaly.detector import AutoPerf
from cmlib.errors import NothingRecordedError
from cmlib.experiments.published import counts_of, files_like, how_to_get
from cmlib.experiments.requested import resolve_names
from cmlib.report.notebook import begin
from cmlib.topdown.run_levels import interval_lengths

limits = {"window": (2, 200), "seed": (0, 1_000_000)}
notebook = begin("06a_intruder", settings, program=program, window=window, seed=seed)
results = notebook.results
resolve_names(program, [], about="programs of this notebook", todo="It takes program=all.")
files = files_like("spectre-tables", r"(?P<load>[\w-]+)\.(?P<what>[\w-]+)\.txt")
counts = {(row.load, row.what): counts_of(row.file) for row in files.itertuples()}
counts = {key: runs[0][0] for key, runs in sorted(counts.items()) if runs}
if not counts:
    raise NothingRecordedError(how_to_get("spectre-tables"))
next(iter(counts.values())).head()

# %% [markdown]
# ## Runs
#
# Each recording is cut into runs of twenty seconds. A sample is counts per branch, interrupts per second.


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
{f"{load}, {what}": len(cuts) for (load, what), cuts in runs.items()}

# %% [markdown]
# ## Trained on normal runs
#
# Of each load, the first half of the normal runs trains an autoencoder; its threshold on the reconstruction error is that of AutoPerf, §3.3.2,
#
# $$RE_{threshold} = RE_{mean} + 2\, RE_{standard\ deviation}$$
#
# over the training samples ([notebook 06](06_anomaly_detection.ipynb) has the network and its calibrated rule, by which runs are judged here), and all other runs of that load are judged. *Beyond* is the simplest rule: some event's mean is beyond four standard deviations of the means of the same normal runs.


# %%
def is_beyond(run, normal):
    """Whether some event's mean is beyond four standard deviations."""
    means = pd.DataFrame([known.mean(numeric_only=True) for known in normal])
    off = (run.mean(numeric_only=True) - means.mean()).abs()
    return bool((off > 4 * means.std()).any())


def judge(load):
    """Judge all runs of a load by the first half of its normal ones."""
    normal = runs[load, "normal"][: len(runs[load, "normal"]) // 2]
    detector = AutoPerf(autoencoder=Autoencoder(), max_clusters=1, random_state=seed).fit(normal)
    rows = []
    for what in (other for at, other in runs if at == load):
        judged = runs[load, what][len(normal) if what == "normal" else 0 :]
        beyond = sum(is_beyond(run, normal) for run in judged)
        anomalous = int(sum(detector.predict_runs(judged)))
        rows.append((load, what, "spectre" in what, len(judged), anomalous, beyond))
    return rows


# %%
columns = ["load", "what", "attack", "runs", "anomalous", "beyond"]
rows = [row for load in dict.fromkeys(load for load, _ in runs) for row in judge(load)]
judged = pd.DataFrame(rows, columns=columns).sort_values(["load", "attack", "what"])
attacked = judged[judged["attack"]]
results.table(judged, "intruder",
              "**Table.** Runs that were judged (others' hardware counters), how many the detector "
              "calls anomalous, and how many the simplest rule. *See:* of "
              f"{attacked['runs'].sum()} attacked runs these are {attacked['anomalous'].sum()} and "
              f"{attacked['beyond'].sum()}.")

# %%
sums = judged.groupby("attack")[["runs", "anomalous", "beyond"]].sum()
share = 100 * sums[["anomalous", "beyond"]].div(sums["runs"], axis=0)
for name, column in (("detector", "anomalous"), ("simplest rule", "beyond")):
    results.number(f"Spectre: attacked runs found, {name}", share.at[True, column], "%",
                   note=f"false alarms {share.at[False, column]:.0f} %")
display(results.finding(
    f"AutoPerf's detector finds {share.at[True, 'anomalous']:.0f} % of the runs under a Spectre "
    f"attack, with {share.at[False, 'anomalous']:.0f} % false alarms; the simplest rule, a "
    f"threshold on each event's mean, finds {share.at[True, 'beyond']:.0f} %, with "
    f"{share.at[False, 'beyond']:.0f} %."))
results.numbers()

# %% [markdown]
# ## What this doesn't show
#
# An attack that never rests multiplies last-level misses and interrupts: it takes no autoencoder to see that. Attacks and normal runs were recorded one after another, so that time goes with the class. The processor is not stated.
#
# **References.** Alam, Gottschlich, Muzahid, *AutoPerf: A Generalized Zero-Positive Learning System to Detect Software Performance Anomalies*, §3.3. Recordings: breatrice321/T-Smade.

# %%
results.save()
