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
# # Cache attacks: does AutoPerf's detector tell them from benign runs?
#
# **Question.** Does a detector that has seen benign runs only tell cache attacks by hardware events, better than simpler rules do, and under another load than it was trained on?
#
# *Reads* the runs of `cmlib fetch cache-attack`, in the cache or in the folder `CMLIB_PUBLIC` (a variable of the environment). *Writes* F1 and false alarms by detector and load, and the event that each attack is blamed on.
#
# Four attacks: evict and reload (er), flush and flush (ff), flush and reload (fr), prime and probe (pp), each on twelve libraries, which are their *targets*; benign runs have two to four ordinary commands running instead. Load: nothing but these ran (*no-load*), or something more did (*avg-load*); how much, the authors do not say. [Notebook 06](../06_anomaly_detection.ipynb) has AutoPerf's detector on slow versions of programs.

# %% [markdown] tags=["answer"]
# > **Answer** (cache attacks recorded by others, default parameters). Under the load that it was trained on, AutoPerf's detector finds the attacks with a mean F1 of **0.98**, but instructions alone give **0.98** as well; calling every run an attack gives **0.62**. Under another load it is no better than calling every run an attack (**0.62**). Attacks and benign runs were recorded in separate blocks, so that none of these numbers separates an attack from whatever else changed.

# %% tags=["parameters"]
program: str = "all"  # any other than all leaves this notebook out
folder: str = ""  # with tables (CSV) of the same columns; empty: CMLIB_PUBLIC and the cache
seed: int = 0  # of the models and of the shuffled labels
settings: dict = {}  # profile, results_folder

# %%
import io
from pathlib import Path

import numpy as np
import pandas as pd
from IPython.display import Markdown
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
from cmlib.io.archive import decompress, read_file
from cmlib.io.public import cache_dir
from cmlib.report.notebook import begin

# %%
limits = {"seed": (0, 1_000_000)}
notebook = begin("cache_attacks", settings, program=program, folder=folder, seed=seed)
results = notebook.results
resolve_names(program, [], about="programs of this notebook", todo="It takes program=all.")
roots = [root / "cache-attack" for root in (places.external_data_dir(), cache_dir()) if root]
roots = [Path(folder)] if folder else roots
files = [file for root in roots for file in sorted(root.glob("*.csv*"))]
tables = [pd.read_csv(io.BytesIO(decompress(read_file(file), file))) for file in files]
if not tables:
    raise NothingRecordedError(how_to_get("cache-attack"))
runs = pd.concat(tables).drop_duplicates("id").reset_index(drop=True)
runs["target"] = runs["id"].str.extract(r"^[a-z]+_(.+)_[a-z]+-load_\d+$")[0]
loads = list(dict.fromkeys(runs["load_level"]))[::-1]
attacks = sorted(set(runs["attack_type"]) - {"benign"})
n_of = runs.groupby(["load_level", "attack_type"]).size()
Markdown(f"**Data.** Others' recordings (`aidancranfield/cache-attack-detection` on GitHub, no "
         f"licence stated): {len(runs):,} runs of 5 s, counts of the whole system on an Intel "
         f"processor that is not named; under each of {len(loads)} loads "
         f"{n_of.xs('benign', level=1).iloc[0]:,} benign runs and "
         f"{n_of.drop('benign', level=1).iloc[0]} of each of {len(attacks)} attacks, on "
         f"{runs['target'].nunique()} libraries. None is the paper's, "
         "which has no attacks: no number of it to compare with.")

# %% [markdown]
# ## The runs
#
# Runs were taken in blocks: first the attacks, a library after the other, under each load, then all benign runs. So class and time go together, and what drifts with time looks like an attack. Counts are per 1,000 instructions, as AutoPerf has them; the instructions themselves, which tell how much ran at all, are a rule of their own below.

# %%
counts = runs.loc[:, "cache-references":"dTLB-load-misses"]
X = 1000 * counts.drop(columns="instructions").div(counts["instructions"], axis=0)
kind = runs["attack_type"].where(runs["label"] == 0, "attack")
middle = X.groupby([runs["load_level"], kind]).median().T
middle.columns = [f"{kind}, {load}" for load, kind in middle.columns]
benign, attack = middle.loc["L1-dcache-load-misses", ["benign, no-load", "attack, no-load"]]
fewer = {load: int((middle[f"attack, {load}"] < middle[f"benign, {load}"]).sum()) for load in loads}
results.table(middle.rename_axis("event").reset_index(), "rates",
              f"**Table.** Median of each of {len(middle)} events per 1,000 instructions (all four "
              "attacks together), by class and load. *See:* under attack there are fewer "
              f"misses per instruction, not more (`L1-dcache-load-misses`: {attack:.2f} against "
              f"{benign:.2f} under no-load): the attack's loop executes many instructions. "
              f"Fewer under attack of {len(middle)} events are "
              f"{' and '.join(f'{n} ({load})' for load, n in fewer.items())}.", decimals=2)

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
              "**Table.** Median instructions of a run with an attack on each library, "
              f"as a multiple of benign runs', by load. *See:* on {len(absent)} of {len(busy)} "
              f"libraries ({', '.join(absent)}) nothing more ran than in benign runs.", rows=12)

# %% [markdown]
# ## Detectors that know benign runs alone
#
# Of a load, the first half of the benign runs trains; the second half is judged. The libraries are split as well, every other one in the order in which they were recorded: the attacks on half of them are judged, here and below (their names follow the next cell); those on the others are learned by the trees below, and by nothing here. AutoPerf's autoencoder, a network that sends a run's rates $x$ through fewer neurons than there are events, and back to $x'$, calls a run anomalous if its reconstruction error $RE$ is beyond the mean and two standard deviations of the training runs (§3.3.2); the event $i$ with the largest part of the error is named as the cause (§3.5):
#
# $$RE = \sum_i RE_i = \sum_i (x_i - x'_i)^2, \qquad RE > RE_{mean} + 2\, RE_{sd}, \qquad \text{cause} = \text{arg max}_i\ RE_i$$
#
# Beside it, trained on the same runs:
# - *mean distance*: the same threshold on the distance from the training runs' means, $\sum_i (x_i - \mu_i)^2 / \sigma_i^2$;
# - *4 sd*: some event is more than four standard deviations from its mean;
# - *isolation forest*: scikit-learn's, with its own threshold;
# - *instructions alone*: the same threshold on the number of instructions, which tell whether a core was kept busy;
# - *always* calls every run an attack.
#
# $F_1 = 2\, t_p / (2\, t_p + f_p + f_n)$ of $t_p$ attacks that are found, $f_n$ that are missed and $f_p$ benign runs that are called attacks. *Every load* is trained on benign runs of both.

# %%
order = runs.groupby(["load_level", "label"]).cumcount()
size = runs.groupby(["load_level", "label"])["id"].transform("size")
place = {target: number for number, target in enumerate(dict.fromkeys(runs["target"].dropna()))}
is_benign = runs["label"].eq(0).to_numpy()
first = np.where(is_benign, order < size / 2, runs["target"].map(place) % 2 == 0).astype(bool)
ran = ~runs["target"].isin(absent).to_numpy()
halves = [target for target, number in place.items() if number % 2]
idle = ", ".join(sorted(set(halves) & set(absent))) or "none"
print(f"Judged are the attacks on {', '.join(halves)}; of these nothing ran on {idle}.")
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
             "4 sd": (far > 4).any(axis=1).to_numpy(), "isolation forest": forest.predict(X) < 0,
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
same = zero[zero["trained on"] == zero["judged"]].groupby("method").mean(numeric_only=True)
least = zero.query("method == 'AutoPerf' and `trained on` == 'every load'")
least = least.set_index("judged")[attacks].stack()
least.index = [f"{attack}, {load}" for load, attack in least.index]
of_f1, shown = same["F1, attacks that ran"], 2 * zero["method"].nunique()
results.table(
    zero.drop(columns=attacks), "detectors",
    "**Table.** Detectors that know benign runs only, by the load of training and of judging: F1, "
    f"and benign runs called attacks [%] (the first {shown} of {len(zero)} rows; all in "
    "detectors.csv, F1 of all in the figure below). *See:* under the load that it was trained on, "
    f"mean F1 of AutoPerf is {of_f1['AutoPerf']:.2f}, of instructions alone "
    f"{of_f1['instructions alone']:.2f}, of calling every run an attack {of_f1['always']:.2f}.",
    rows=shown)

# %%
found_by = zero[zero["method"] == "AutoPerf"][["trained on", "judged", *attacks, "false alarms"]]
results.table(found_by, "found",
              "**Table.** Attacks that AutoPerf finds (only those that ran), by kind, and benign "
              "runs called attacks [%]. *See:* trained on both loads it finds "
              f"{least.min():.0f} % of {least.idxmin()}.", decimals=0)

# %%
causes = pd.concat(named, names=["trained on", "class", "counter"]).rename("runs").reset_index()
by_class = causes.groupby(["trained on", "class"], sort=False)
causes["share"] = 100 * causes["runs"] / by_class["runs"].transform("sum")
firsts = causes.loc[by_class["share"].idxmax()]
on_attack = firsts[firsts["class"].isin(attacks)]["counter"].value_counts()
results.table(firsts.drop(columns="runs"), "causes",
              "**Table.** The event that AutoPerf names most often as the cause, of the runs "
              "of each class that it calls anomalous (benign: false alarms) under the load that it "
              "was trained on; share of these runs [%]. Named is a difference of either "
              "sign: under attack there are mostly fewer of an event (first table). *See:* for "
              f"attacks it is one of {len(on_attack)} events and differs from load to load: it "
              "says what differs from benign runs under that load, not what the attack does.",
              decimals=1)

# %% [markdown]
# ## Trees that know the attacks
#
# The tree of the fingerprinting paper (Yoo 2012), C4.5, splits the runs by the event and threshold with the largest gain ratio ([05](../05_fingerprinting.ipynb) has the formula). It learns the classes from the first half of the benign runs and the attacks on the other libraries, and is judged on the same runs as all above. Beside it scikit-learn's tree, boosted trees with the settings that the recordings' authors publish (20 trees of depth 5, learning rate 0.2), and C4.5 on shuffled labels (one shuffle), whose answers tell nothing; without any count the best answer is *always*.

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
other = taught[(taught["trained on"] != taught["judged"]) & (taught["trained on"] != "every load")]
highest, always = other["F1, attacks that ran"].max(), of_f1["always"]
shown = 2 * len(trees)
results.table(taught.drop(columns=attacks), "trees",
              "**Table.** Trees that learned the attacks: F1, and benign runs called attacks [%] "
              f"(the first {shown} of {len(taught)} rows; all in trees.csv). *See:* trained on one "
              f"load and judged under the other the largest F1 is {highest:.2f}; calling every run "
              f"an attack has {always:.2f}.",
              rows=shown)

# %%
both = pd.concat([zero, taught])
names = both[["trained on", "judged"]].replace({"every load": "both", "no-load": "no",
                                              "avg-load": "avg"})  # fmt: skip
grid = both.assign(how=names["trained on"] + " →\n" + names["judged"])
grid = grid.pivot(index="method", columns="how", values="F1, attacks that ran")
order = ["no →\nno", "avg →\navg", "no →\navg", "avg →\nno",  # the same load, the other, both
         "both →\nno", "both →\navg"]  # fmt: skip
grid = grid.reindex(index=both["method"].unique(), columns=order)
always = grid.loc["always"].iloc[0]
figure, _ = plot.heat(grid, label="F1", centre=always)
methods = grid.drop(index=["always", "C4.5, shuffled labels"])
useless = (methods[order[2:4]].round(2) <= round(always, 2)).all(axis=1).sum()
results.figure(
    figure, "f1",
    "**Figure.** F1 by method (rows) and by load of training → load of judging (columns: "
    "first the same load, then the other, then trained on both); attacks that ran, and the second "
    f"half of the benign runs (false alarms: last table). White is {always:.2f}, calling every run "
    f"an attack; red is better, blue worse. *See:* under the other load {useless} of "
    f"{len(methods)} methods (without always and shuffled labels) are no better than that.")

# %% [markdown]
# ## What time alone tells
#
# This asks about drift within the benign runs; between them and the attacks, which were recorded in other blocks, it can't be asked. Nothing differs between the first and the second half of the benign runs but the time. A tree that tells the halves apart, judged on blocks that it did not learn, shows how much of a class could be time.

# %%
drift = []
for load, own in by_load.items():
    rows = np.flatnonzero(own & is_benign)
    # 24 blocks in the order of time, 12 a half, spread over 6 folds
    half, block = first[rows], (np.arange(len(rows)) * 24 // len(rows)) % 12 % 6
    folds = [(np.flatnonzero(block != held), np.flatnonzero(block == held)) for held in range(6)]
    predicted = cross_val_predict(trees["boosted trees"], X.iloc[rows], half, cv=folds)
    drift.append({"load": load, "accuracy": 100 * (predicted == half).mean()})
drift = pd.DataFrame(drift)
results.table(drift, "drift",
              "**Table.** First against second half of the benign runs: accuracy of boosted trees "
              "on held-out blocks [%]; guessing has 50. *See:* "
              f"{drift['accuracy'].mean():.0f} % in the mean: among benign runs "
              f"{'hardly any' if drift['accuracy'].mean() < 55 else 'a'} drift is seen; what "
              "changed between the blocks of attacks and of benign runs is not told by this.",
              decimals=1)

# %% [markdown]
# ## What was found

# %%
own, every = both["trained on"] == both["judged"], both["trained on"] == "every load"
kinds = {"same load": both[own], "another load": both[~own & ~every], "every load": both[every]}
summary = pd.DataFrame(index=pd.Index(both["method"].unique(), name="method"))
for where, rows in kinds.items():
    for name, values in rows.groupby("method", sort=False):
        f1, alarms = values["F1, attacks that ran"], values["false alarms"]
        results.number(f"cache attacks, {where}, {name}: mean F1", f1.mean(),
                       note=f"all labelled {values['F1, all labelled'].mean():.2f}; false alarms "
                            f"{alarms.mean():.1f} %")
        summary.loc[name, f"F1, {where}"] = " and ".join(map("{:.2f}".format, f1))
        summary.loc[name, f"false alarms [%], {where}"] = " and ".join(map("{:.0f}".format, alarms))
results.number("time alone: halves of the benign runs told apart", drift["accuracy"].mean(), "%",
               note="the most frequent half has 50 %")
near = kinds["same load"].groupby("method").mean(numeric_only=True)
rivals = ["mean distance", "4 sd", "isolation forest", "instructions alone"]
of_f1 = near["F1, attacks that ran"]
simple = of_f1[rivals].idxmax()
results.table(summary.reset_index(), "summary",
              "**Table.** F1 and false alarms, two numbers a cell: trained under no-load and under "
              "avg-load (every load: trained on both, judged under no-load and under avg-load). "
              f"*See:* under the same load mean F1 is {of_f1['AutoPerf']:.2f} for AutoPerf, "
              f"{of_f1[simple]:.2f} for {simple}, {of_f1['boosted trees']:.2f} for boosted trees. "
              "Where the benign training runs vary much, the thresholds of mean distance and 4 sd "
              "are so wide that no attack is beyond them, though a benign run may be.")

# %%
far = kinds["another load"].query("method == 'AutoPerf'")
f1_far, alarms = far["F1, attacks that ran"], far["false alarms"]
worst = kinds["same load"].groupby("method")["F1, attacks that ran"].min()
wide = kinds["every load"].groupby("method")[["F1, attacks that ran", "false alarms"]].mean()
f1_wide = wide["F1, attacks that ran"]
rule = f1_wide[rivals].idxmax()
blind = " and ".join(name for name in rivals if worst[name] < 0.1)  # under one of the loads

# %%
def in_words(name, of=wide):
    """Mean F1 and false alarms of a method."""
    return f"{name} {of.at[name, 'F1, attacks that ran']:.2f} ({of.at[name, 'false alarms']:.0f} %)"


won = [of_f1["AutoPerf"] > of_f1[simple] + 0.01, f1_wide["AutoPerf"] > f1_wide[rule] + 0.01]
display(results.finding(
    f"Under the load of its training yes, {'and' if won[0] else 'but no'} better than the best of "
    f"{len(rivals)} simple rules: mean F1 (false alarms, others' hardware events) "
    f"{in_words('AutoPerf', near)}, {in_words(simple, near)}, calling every run an attack "
    f"{of_f1['always']:.2f}. Trained on benign runs of both loads it is "
    f"{'' if won[1] else 'not '}better: {in_words('AutoPerf')}, {in_words(rule)}, but finds only "
    f"{least.min():.0f} % of one attack ({least.idxmin()}). Under a load that it was not trained "
    f"on it is useless, as are {useless - 1} of the {len(methods) - 1} other methods: it calls "
    f"{alarms.min():.0f} % of the benign runs attacks (F1 {f1_far.max():.2f})."))
display(results.finding(
    "Attacks and benign runs were recorded in different blocks, so that none of these numbers "
    "tells an attack from what else changed between the blocks. Models that know the attacks have "
    f"{in_words('C4.5', near)} and {in_words('boosted trees', near)} under the same load"
    f"{f'; {blind} find nothing under no-load' if blind else ''}."))
results.finding(
    f"On {len(absent)} of {len(busy)} libraries no attack ran, though their runs are labelled as "
    "attacks; they are left out of what is judged, not of what the trees learn.")

# %% [markdown]
# ## What this doesn't show
#
# Class and time go together, so no figure here tells an attack from what else changed between the blocks. Each rule has its own threshold, so that F1 compares thresholds as well as detectors. An attack that works in short bursts was not recorded. Counts are of the whole system. Twelve events are more than a processor counts at once; perf then takes turns and scales up, and the tables do not say for what share of the time an event was counted. They have no run with a missing count.
#
# ## On your own program
#
# This notebook is about these published runs only (`program` takes `all`). With tables (CSV) of your own the parameter to change first is `folder`, which they are in: `cmlib run paper cache_attacks -p folder=FOLDER`. Their columns: `id` (as `fr_LIBRARY_no-load_1`), `load_level`, `attack_type` (or benign), `label` (0: benign), and counts, `cache-references` to `dTLB-load-misses`, as in the first table, and `instructions` among them. Versions of a program are compared by `cmlib compare './old input' './new input'` ([notebook 06](../06_anomaly_detection.ipynb)).
#
# **References.** Alam, Gottschlich, Muzahid, *AutoPerf: A Generalized Zero-Positive Learning System to Detect Software Performance Anomalies*, §3.3, §3.5. Yoo et al., *Automated fingerprinting of performance pathologies using performance monitoring units*, 2012. Recordings: aidancranfield/cache-attack-detection.

# %%
results.save()
