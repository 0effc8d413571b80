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
# # Cache attacks on twelve libraries: does AutoPerf's detector tell them from benign runs?
#
# **Question.** Does a detector that has seen benign runs alone tell cache attacks by twelve hardware events, better than simple rules, and under another load than it was trained on?
#
# *Reads* the runs of `cmlib fetch cache-attack`, in the cache or in the folder `CMLIB_PUBLIC`. *Writes* F1 and false alarms by detector and load, and the counter that each attack is blamed on.
#
# Whole system, 5 s a run, twelve events at once on an Intel processor that is not named (`aidancranfield/cache-attack-detection`, no licence stated): evict and reload (er), flush and flush (ff), flush and reload (fr), prime and probe (pp) on twelve libraries, or two to four benign commands. These are not the programs of AutoPerf's Table 2, which [notebook 06](06_anomaly_detection.ipynb) has on kernel events.

# %% tags=["parameters"]
program: str = "all"  # any other than all leaves this notebook out
folder: str = ""  # with other tables of the same columns; empty: CMLIB_PUBLIC and the cache
seed: int = 0  # of the models and of the shuffled labels
settings: dict = {}  # profile, results_folder

# %%
import io
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier, IsolationForest
from sklearn.metrics import f1_score
from sklearn.model_selection import cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from cmlib import places, plot
from cmlib.anomaly.autoencoder import Autoencoder
from cmlib.errors import NothingRecordedError
from cmlib.experiments.published import how_to_get
from cmlib.experiments.requested import resolve_names
from cmlib.fingerprint.c45 import C45Classifier
from cmlib.io.archive import plain, read_file
from cmlib.io.public import cache_dir
from cmlib.report.notebook import begin

# %%
limits = {"seed": (0, 1_000_000)}
notebook = begin("06c_cache_attack", settings, program=program, folder=folder, seed=seed)
results = notebook.results
resolve_names(program, [], about="programs of this notebook", todo="It takes program=all.")
roots = [root / "cache-attack" for root in (places.external_data_dir(), cache_dir()) if root]
roots = [Path(folder)] if folder else roots
files = [file for root in roots for file in sorted(root.glob("*.csv*"))]
tables = [pd.read_csv(io.BytesIO(plain(read_file(file), file))) for file in files]
if not tables:
    raise NothingRecordedError(how_to_get("cache-attack"))
runs = pd.concat(tables).drop_duplicates("id").reset_index(drop=True)
runs["target"] = runs["id"].str.extract(r"^[a-z]+_(.+)_[a-z]+-load_\d+$")[0]
loads = list(dict.fromkeys(runs["load_level"]))[::-1]
attacks = sorted(set(runs["attack_type"]) - {"benign"})
runs.groupby(["load_level", "attack_type"], sort=False).size().unstack()

# %% [markdown]
# ## The runs
#
# Runs were taken in blocks: first the attacks, a library after the other, under each load, then all benign runs. So class and time go together, and what drifts with time looks like an attack. Counts are per 1,000 instructions, as AutoPerf has them; the instructions themselves, which tell how much ran at all, are a rule of their own below.

# %%
counts = runs.loc[:, "cache-references":"dTLB-load-misses"]
X = 1000 * counts.drop(columns="instructions").div(counts["instructions"], axis=0)
middle = X.groupby([runs["load_level"], runs["attack_type"]]).median().T
middle.columns = [f"{kind}, {load}" for load, kind in middle.columns]
results.table(middle.rename_axis("event").reset_index(), "rates",
              "**Table.** Median of each event per 1,000 instructions, by class and load.",
              decimals=2)

# %% [markdown]
# ### Attacks that did not run
#
# An attack never rests, and keeps a core busy. On some libraries the runs that are labelled attacks have no more instructions than benign ones under the same load, whichever the attack: nothing attacked there, presumably because the library was not installed in that version. A detector by counters can't find them, and a model that does so has learned something else, such as the time. They count as attacks in *all labelled*, and are left out in *attacks that ran*.

# %%
work = counts["instructions"].groupby([runs["load_level"], runs["target"]]).median()
benign = counts["instructions"].where(runs["label"] == 0).groupby(runs["load_level"]).median()
busy = work.unstack(0).div(benign)
absent = list(busy.index[(busy <= 1).all(axis=1)])
results.table(busy.sort_values(busy.columns[0]).reset_index(), "targets",
              "**Table.** Median instructions of a run with an attack on each library, over those "
              "of benign runs, by load.", decimals=2, rows=12)

# %% [markdown]
# ## Detectors that know benign runs alone
#
# The first half of a load's benign runs trains; the second half and the attacks on every other library are judged. AutoPerf's autoencoder maps a run $x$ to $\hat x$, and calls it anomalous if its reconstruction error is beyond two standard deviations (§3.3.2); the counter with the largest part of the error is named (§3.5):
#
# $$RE(x) = \sum_i (x_i - \hat x_i)^2 > RE_{mean} + 2\,RE_{sd}, \qquad \text{named: } \underset{i}{\text{arg max}}\, (x_i - \hat x_i)^2.$$
#
# Beside it the same threshold on the distance from the mean, $\sum_i (x_i - \mu_i)^2 / \sigma_i^2$; *beyond*, some event more than four standard deviations off; an isolation forest; and the instructions alone.

# %%
order = runs.groupby(["load_level", "label"]).cumcount()
size = runs.groupby(["load_level", "label"])["id"].transform("size")
place = {target: number for number, target in enumerate(dict.fromkeys(runs["target"].dropna()))}
is_benign = runs["label"].eq(0).to_numpy()
first = np.where(is_benign, order < size / 2, runs["target"].map(place) % 2 == 0).astype(bool)
ran = ~runs["target"].isin(absent).to_numpy()
by_load = {load: runs["load_level"].eq(load).to_numpy() for load in loads}
trained_on = by_load | {"every load": np.full(len(runs), True)}


# %%
def above(scores, known):
    """Scores beyond two standard deviations above the mean of the known ones."""
    return np.asarray(scores > scores[known].mean() + 2 * scores[known].std())


def detect(known):
    """Which runs each detector calls anomalous, trained on the known ones; counters named."""
    model = Autoencoder(random_state=seed).fit(X[known])
    errors = model.squared_errors(X)
    far = (X - X[known].mean()).abs() / X[known].std()
    forest = IsolationForest(random_state=seed).fit(X[known])
    found = {"AutoPerf": above(errors.sum(axis=1), known),
             "mean distance": above((far**2).sum(axis=1), known),
             "beyond": (far > 4).any(axis=1).to_numpy(), "isolation forest": forest.predict(X) < 0,
             "instructions alone": above(counts["instructions"], known)}
    return found, X.columns[errors.argmax(axis=1)]


# %%
def score(found, name, load):
    """F1, attacks found and false alarms [%] among the judged runs of each load."""
    judgements = []
    for judged, own in by_load.items():
        own = own & ~first
        groups = {"all labelled": own, "attacks that ran": own & (ran | is_benign)}
        row = {"method": name, "trained on": load, "judged": judged}
        row |= {f"F1, {of}": f1_score(~is_benign[at], found[at], zero_division=0)
                for of, at in groups.items()}
        row["false alarms"] = 100 * found[own & is_benign].mean()
        of_kind = {kind: own & ran & runs["attack_type"].eq(kind) for kind in attacks}
        row |= {kind: 100 * found[at].mean() for kind, at in of_kind.items()}
        judgements.append(row)
    return judgements


rows, named = [], {}
for load, own in trained_on.items():
    found, counter = detect(own & first & is_benign)
    for name, alarms in (found | {"always": np.full(len(runs), True)}).items():
        rows += score(alarms, name, load)
    flagged = found["AutoPerf"] & ~first & ran & own
    named[load] = pd.Series(counter)[flagged].groupby(runs["attack_type"]).value_counts()

# %%
zero = pd.DataFrame(rows)
same = zero[zero["trained on"] == zero["judged"]].groupby("method")["F1, attacks that ran"].mean()
display(results.table(
    zero.drop(columns=attacks), "detectors",
    "**Table.** Detectors trained on benign runs: F1, and benign runs called anomalous [%]. *See:* "
    f"under the load that it was trained on, mean F1 of AutoPerf is {same['AutoPerf']:.2f}, of "
    f"calling every run an attack {same['always']:.2f}.", decimals=2, rows=40))
results.table(zero.drop(columns=["F1, all labelled", "false alarms"]), "detectors-attacks",
              "**Table.** The same: shares [%] of the runs of each attack that ran which are "
              "called anomalous.", decimals=1, rows=40, on_page=False)

# %%
causes = pd.concat(named, names=["trained on", "class", "counter"]).rename("runs").reset_index()
by_class = causes.groupby(["trained on", "class"], sort=False)
causes["share"] = 100 * causes["runs"] / by_class["runs"].transform("sum")
results.table(causes.loc[by_class.head(2).index], "causes",
              "**Table.** The counters that AutoPerf names first, of the runs that it found "
              "(benign: false alarms), under the load that it was trained on; share [%] of these "
              "runs.", decimals=1, rows=40)

# %% [markdown]
# ## Trees that know the attacks
#
# The fingerprinting paper's tree (C4.5) learns the classes from the first half of the benign runs and the attacks on every other library, and is judged on the same runs as above. Beside it scikit-learn's tree, boosted trees with the settings that the recordings' authors publish (20 trees of depth 5, learning rate 0.2), and C4.5 on shuffled labels.

# %%
trees = {"C4.5": C45Classifier(), "decision tree": DecisionTreeClassifier(random_state=seed),
         "boosted trees": GradientBoostingClassifier(
             n_estimators=20, max_depth=5, learning_rate=0.2, random_state=seed),
         "C4.5, shuffled labels": C45Classifier()}
rng, rows = np.random.default_rng(seed), []
for load, own in trained_on.items():
    for name, tree in trees.items():
        labels = runs.loc[own & first, "attack_type"].to_numpy()
        labels = rng.permutation(labels) if "shuffled" in name else labels
        tree.fit(X[own & first], labels)
        rows += score(np.asarray(tree.predict(X)) != "benign", name, load)
taught = pd.DataFrame(rows)
results.table(taught.drop(columns=attacks), "trees",
              "**Table.** Trees that learned the attacks: F1, and benign runs called attacks [%].",
              decimals=2, rows=40)

# %%
both = pd.concat([zero, taught])
how = both["trained on"] + " →\n" + both["judged"]
grid = both.assign(how=how.str.replace("-load", "").str.replace(" load", ""))
grid = grid.pivot(index="method", columns="how", values="F1, attacks that ran")
grid = grid.reindex(index=both["method"].unique(), columns=grid.columns.sort_values())
figure, _ = plot.heat(grid, label="F1")
results.figure(figure, "f1",
               "**Figure.** F1 by method, load trained on and load judged; attacks that ran, and "
               "the second half of the benign runs. *Always* calls every run an attack.")

# %% [markdown]
# ## What time alone tells
#
# Nothing differs between the first and the second half of the benign runs but the time. A tree that tells the halves apart, judged on blocks that it did not learn, shows how much of a class could be time.

# %%
drift = []
for load, own in by_load.items():
    rows = np.flatnonzero(own & is_benign)
    half, block = first[rows], (np.arange(len(rows)) * 24 // len(rows)) % 12 % 6
    folds = [(np.flatnonzero(block != held), np.flatnonzero(block == held)) for held in range(6)]
    predicted = cross_val_predict(trees["boosted trees"], X.iloc[rows], half, cv=folds)
    drift.append({"load": load, "accuracy": 100 * (predicted == half).mean()})
drift = pd.DataFrame(drift)
results.table(drift, "drift",
              "**Table.** First against second half of the benign runs: accuracy of boosted trees "
              "on held-out blocks [%]; the most frequent half has 50.", decimals=1)

# %% [markdown]
# ## What was found

# %%
alike = both[both["trained on"] == both["judged"]]
across = both[both["trained on"].ne(both["judged"]) & both["trained on"].ne("every load")]
kinds = {"same load": alike, "another load": across,
         "every load": both[both["trained on"] == "every load"]}
for where, own in kinds.items():
    for name, values in own.groupby("method", sort=False):
        results.number(f"{where}, {name}: F1", values["F1, attacks that ran"].mean(),
                       note=f"all labelled {values['F1, all labelled'].mean():.3f}; false alarms "
                            f"{values['false alarms'].mean():.1f} %")
results.number("time alone: halves of the benign runs told apart", drift["accuracy"].mean(), "%",
               note="the most frequent half has 50 %")
results.numbers()

# %%
columns = ["F1, attacks that ran", "F1, all labelled", "false alarms"]
found = {where: own.groupby("method")[columns].mean() for where, own in kinds.items()}
near, far = found["same load"], found["another load"]
rules = near.loc[["mean distance", "beyond", "isolation forest", "instructions alone"]]
results.finding(
    f"Trained on benign runs of the same load, AutoPerf's detector has an F1 of "
    f"{near.at['AutoPerf', 'F1, attacks that ran']:.2f} with "
    f"{near.at['AutoPerf', 'false alarms']:.1f} % false alarms "
    f"({rules['F1, attacks that ran'].idxmax()}: {rules['F1, attacks that ran'].max():.2f}; C4.5, "
    f"which knows attacks: {near.at['C4.5', 'F1, attacks that ran']:.2f}; always: "
    f"{near.at['always', 'F1, attacks that ran']:.2f}). Under another load it calls "
    f"{far.at['AutoPerf', 'false alarms']:.0f} % of the benign runs attacks, C4.5 "
    f"{far.at['C4.5', 'false alarms']:.0f} %. On {len(absent)} of {len(busy)} libraries no attack "
    f"ran, though all runs are labelled as attacks.")

# %% [markdown]
# ## What this doesn't show
#
# Class and time go together, so no figure here tells an attack from what else changed between the blocks. An attack that never rests is seen in the instructions alone where nothing else runs; one that works in short bursts was not recorded. Counts are of the whole system and scaled by perf without a share; runs with a missing count were left out by the recording script.
#
# **References.** Alam, Gottschlich, Muzahid, *AutoPerf: A Generalized Zero-Positive Learning System to Detect Software Performance Anomalies*, §3.3, §3.5. Yoo et al., *Automated fingerprinting of performance pathologies using performance monitoring units*, 2012. Recordings: aidancranfield/cache-attack-detection.

# %%
results.save()
