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
# # Summary: what is reproduced of the five papers, and which numbers agree
#
# **Question.** Which tables and figures of the five papers are reproduced, on whose data, and which numbers agree with the papers'?
#
# This notebook measures nothing. It reads the results of the other notebooks of one run. A run executes them in full (`cmlib run paper`, called the *paper profile*) or quickly on less data (`cmlib run smoke`). Each result records which recordings were read for it, and the column *data* of the tables below is filled from these records.
#
# | paper | method | notebooks |
# |---|---|---|
# | *CounterMiner* (Lv et al., MICRO 2018) | cleaning, ranking and pairs of events, tuning | [01](01_collection.ipynb), [02](02_cleaning.ipynb), [03](03_ranking.ipynb), [04](04_interactions.ipynb), [08](08_tuning.ipynb), [09](09_colocation.ipynb), [more_events](studies/more_events.ipynb), [cloudsuite](studies/cloudsuite.ipynb), [cloudsuite_pairs](studies/cloudsuite_pairs.ipynb), [number_of_runs](studies/number_of_runs.ipynb) |
# | *GBRT paper* (Lv, Sun and Yu, 2018) | merging runs, ranking of events | [03](03_ranking.ipynb), [merging_runs](studies/merging_runs.ipynb), [across_programs](studies/across_programs.ipynb), [more_events](studies/more_events.ipynb), [number_of_runs](studies/number_of_runs.ipynb) |
# | *Fingerprinting* (Yoo et al., 2012) | the bottleneck of each time slice | [05](05_fingerprinting.ipynb) |
# | *AutoPerf* (Alam et al., 2019) | new version against old | [06](06_anomaly_detection.ipynb), [other_detectors](studies/other_detectors.ipynb), [training_runs](studies/training_runs.ipynb), [many_functions](studies/many_functions.ipynb), [small_slowdowns](studies/small_slowdowns.ipynb) |
# | *Online regression* (Wu and Mencer) | lines in place of samples | [07](07_compression.ipynb), [recording_lines](studies/recording_lines.ipynb) |

# %% [markdown] tags=["answer"]
# > **Answer** (paper profile with all public sets, default parameters). Of the **57** tables and figures of the five papers, **7** are reproduced and **50** in part, on other recordings than the papers', and numbers agree with the papers' no more often than by chance. The seven are diagrams and lists, so no measurement is reproduced completely. The others show fewer programs than the paper or programs that stand in for them, and many show software events in place of hardware counters. Where a paper prints numbers program by program, and we measured several of these programs or their stand-ins, the numbers can be compared: there are **60** of them. **25** agree within a quarter of the paper's number. Of these, 21 are AutoPerf's F1 and false alarms, which are nearly the same for all programs. As a test, each program was also compared with the paper's numbers for the *other* programs: **26.1** agree then, in the mean over all assignments. Most findings of CounterMiner are not confirmed (table near the end).

# %% tags=["parameters"]
settings: dict = {}  # profile: smoke, paper or live; results_folder

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from cmlib import places, plot
from cmlib.errors import NothingRecordedError
from cmlib.io.absent import note_absent
from cmlib.report import paper
from cmlib.report.inline import strip_markup
from cmlib.report.manifests import command_of, read_manifests
from cmlib.report.notebook import begin
from cmlib.report.reproduction import count_measured, find_provenances, reproduction

notebook = begin("10_summary", settings)
results, settings = notebook.results, notebook.settings
profile = settings["profile"]
folder = Path(settings["results_folder"] or places.results_dir()) / profile
manifests = {manifest["notebook"]: manifest for manifest in read_manifests(folder).sections
             if manifest["notebook"] != "10_summary"}
if not manifests:
    raise NothingRecordedError(f"no results of {profile!r}: run `{command_of(profile)}` first.")
for manifest in manifests.values():
    for public_set in manifest["absent_sets"]:  # what was absent there is absent here
        note_absent(public_set)

# %% [markdown]
# ## Data
#
# Each notebook leaves a *manifest*, a list of its figures, tables and numbers. It also says where the counts behind each result come from:
#
# | data | meaning |
# |---|---|
# | own hardware | hardware counters, recorded by cmlib |
# | others' hardware | hardware counters, published by others |
# | software events | events of the kernel, recorded by cmlib where no hardware counters were available |
# | simulated | counts by Valgrind, not measured |
# | run times | measured by the clock; no counters are needed |
# | the paper's numbers | as the paper prints them |
# | diagram or list | needs no data |
#
# None of the recordings is the papers' own.

# %%
def describe_data(manifest, *entries):
    """Where the counts behind some results come from."""
    read = [str(one) for entry in entries for one in find_provenances(manifest, entry)]
    return ", ".join(dict.fromkeys(read))


overview = pd.DataFrame([
    {"notebook": name, "figures": len(manifest["figures"]), "tables": len(manifest["tables"]),
     "numbers": len(manifest["numbers"]),
     "data": describe_data(manifest, *manifest["figures"], *manifest["tables"])}
    for name, manifest in manifests.items()])
results.table(overview, "notebooks", "**Table.** Results of each notebook of this run, and what "
              "was read for them. The name of the public set is in brackets.", rows=50)

# %% [markdown]
# ## What is reproduced
#
# Each table and figure of the papers, called an *item* below, has one of three states:
#
# * **Reproduced.** All of the paper's programs were measured, by hardware counters (or by the clock, if the item is about times), and nothing is lacking. Diagrams and lists need no data and are reproduced as well.
# * **In part.** The counts are software events or simulated, programs are missing or replaced, or something else is lacking.
# * **Not.** No notebook of this run made it.
#
# The state says what was measured. It does not say whether numbers agree.
#
# Most programs here are *stand-ins* for those of the papers:
#
# | stand-in | for |
# |---|---|
# | Spark programs of ours | programs of HiBench; they compute the same, in code of this project |
# | kernels of ours | AutoPerf's programs; they repeat the faulty memory or locking pattern |
# | micro-benchmarks of ours | those of the fingerprinting paper, written after its descriptions |
# | programs of Debian | SPEC CPU2006 |
# | programs of others | any of these, recorded by others |
#
# Two public sets hold programs of the papers themselves: `cloudsuite` (CloudSuite) and `spec-llc` (SPEC CPU2006).

# %% [markdown]
# **One item by hand.** Fig. 1 of *online regression* shows the size of the samples of 57 cases of SPEC CPU2006. It is figure `fig01` of notebook 07. These are the recordings that were read for it:

# %%
of_07 = manifests.get("07_compression", {"figures": []})
read = [one for entry in of_07["figures"] if entry["name"] == "fig01"
        for one in find_provenances(of_07, entry)]
pd.DataFrame([{"data": one.kind, "public set": one.public_set, "programs": len(one.programs),
               "first events": ", ".join(one.events[:3])} for one in read])

# %% [markdown]
# The state follows from these rows. The programs of the set `spec-llc` are programs of the paper, although others recorded them. Without the set, the notebook reads cmlib's own recordings of programs of Debian, which are stand-ins. Either way the item is reproduced in part only, because 20 of the 57 cases or fewer are measured.

# %%
items = reproduction(folder, manifests.values())
of_one = items[(items["paper"] == "Online regression") & (items["item"] == "Fig. 1")]
of_one[["item", "status", "data", "programs"]].set_index("item")

# %% [markdown]
# The next table counts the states of all items. *Measured* is the number of items that show hardware counters, software events or run times. Simulated counts are not measured.

# %%
STATES = ["reproduced", "in part", "not"]
counts = pd.crosstab(items["paper"], items["status"]).reindex(
    index=items["paper"].unique(), columns=STATES, fill_value=0)
measured = count_measured(items).rename("measured")
results.table(counts.join(measured).reset_index(), "reproduced-counts", "**Table.** Items of each "
              "paper by their state, and how many of them are measured.")

# %%
figure, ax = plot.counts(counts, ylabel="tables and figures")
ax.yaxis.get_major_locator().set_params(integer=True)
results.figure(figure, "reproduced", "**Figure.** Tables and figures of each paper by their state. "
               "Look at how small the reproduced part is. The next table shows which data it is "
               "from.")

# %%
by_data = pd.crosstab(items["data"].replace("", "none"), items["status"]).reindex(
    columns=STATES, fill_value=0)
results.table(by_data.reset_index(), "reproduced-data",
              "**Table.** Items of all papers by what was read for them.")

# %% [markdown]
# In the table of all items, *20 of 57* means that 20 of the paper's 57 programs were measured. *2 Spark programs of ours for 16* means that two stand-ins were measured in place of 16 programs. *Lacking* lists the other differences from the paper.

# %%
results.table(items, "reproduced", "**Table.** All items.", rows=100)

# %% [markdown]
# These commands record what the items lack, on a machine with hardware counters:

# %%
commands = items[items["record"] != ""].assign(item=items["paper"] + ", " + items["item"])
commands = commands.groupby("record")["item"].agg(["size", "; ".join]).reset_index()
commands.columns = ["command", "number of items", "items"]
results.table(commands, "record",
              "**Table.** Commands that record the programs or events that the items lack.")

# %% [markdown]
# ## Which numbers agree
#
# A number is compared if the paper prints it for one program and it was measured here for the same program or its stand-in. The two agree if they differ by at most a quarter of the paper's:
#
# $$|q_{\mathrm{here}} - q_{\mathrm{paper}}| \le 0.25\, |q_{\mathrm{paper}}|$$
#
# Some numbers agree by chance, for example where a paper prints nearly the same number for all programs. The baseline is therefore a *shuffle*: each program is compared with the paper's number for another program. *Shuffled* is the mean over all other programs, so it need not be a whole number. If as many agree after the shuffle, the agreement has nothing to do with the program.

# %%
TOLERANCE = 0.25  # of the paper's number


def agrees(here, of_paper):
    return abs(here - of_paper) <= TOLERANCE * abs(of_paper)


def count_shuffled(here, of_paper):
    """Agreements to expect if each program is compared with the numbers for other programs."""
    n = len(here)
    if n < 2:
        return float("nan")
    pairs = sum(agrees(here[i], of_paper[j]) for i in range(n) for j in range(n) if i != j)
    return pairs / (n - 1)


# %% [markdown]
# The next table shows three made-up programs. Two of them agree, and after a shuffle two agree as well.

# %%
example = pd.DataFrame({"here": [1.0, 0.9, 0.3], "paper": [1.0, 0.8, 0.9]})
example["agrees"] = agrees(example["here"], example["paper"])
print(f"shuffled: {count_shuffled(list(example['here']), list(example['paper'])):.1f}")
example

# %% [markdown]
# The numbers come from tables of other notebooks. CounterMiner's Table I prints the share of samples below a threshold. For any distribution, at least 90 % of the samples are below the mean plus three standard deviations (Cantelli's inequality), so this share would always agree. Therefore, the share of samples *above* the threshold is compared. F1 and false alarms of AutoPerf are those of this project's own decision rule (the *calibrated* rule of notebook 06). For the paper's rule, that notebook stores means over the programs, and no numbers of single programs.

# %%
COLUMNS = ["quantity", "program", "here", "paper", "data", "notebook"]


def compare(quantity, notebook, table, here, of_paper, program="program", data=""):
    """One row per program of a result for which the paper prints a number."""
    file = folder / notebook / f"{table}.csv"
    if notebook not in manifests or not file.is_file():
        return pd.DataFrame(columns=COLUMNS)
    entry = next(one for one in manifests[notebook]["tables"] if one["name"] == table)
    rows = pd.read_csv(file)
    compared = pd.DataFrame({"quantity": quantity, "program": rows[program], "here": here(rows),
                             "paper": of_paper(rows), "notebook": notebook,
                             "data": data or describe_data(manifests[notebook], entry)})
    return compared.dropna(subset=["here", "paper"])[COLUMNS]


autoperf = pd.DataFrame.from_dict(paper("autoperf")["table2"], orient="index", columns=[
    "training", "good", "bad", "missed", "false alarms", "F1", "type", "tree"])
false_alarms = 100 * autoperf["false alarms"] / autoperf["good"]
lines = paper("online_linear_regression")
reduction = {lines["least_reduced"].replace(" ", "."): lines["reduction"]["min"],
             lines["most_reduced"].replace(" ", "."): lines["reduction"]["max"]}

# %%
comparisons = [
    compare("CounterMiner, Table I: samples above mean + 3 sd [%]", "02_cleaning", "table1",
            lambda rows: 100 - rows["n = 3"], lambda rows: 100 - rows["paper, n = 3"]),
    compare("CounterMiner, Table I: samples above mean + 5 sd [%]", "02_cleaning", "table1",
            lambda rows: 100 - rows["n = 5"], lambda rows: 100 - rows["paper, n = 5"]),
    compare("CounterMiner, Fig. 12: share of the first pair [%]", "cloudsuite_pairs",
            "beside-paper", lambda rows: rows["here [%]"], lambda rows: rows["paper [%]"]),
    compare("GBRT, Fig. 2: sd of run times [% of mean]", "merging_runs", "run-times",
            lambda rows: rows["sd [% of mean]"], lambda rows: rows["sd, paper [%]"],
            data="run times"),
    compare("AutoPerf, Table 2: F1", "06_anomaly_detection", "table2",
            lambda rows: rows["F1"], lambda rows: rows["F1, paper"]),
    compare("AutoPerf, Table 2: false alarms [% of good runs]", "06_anomaly_detection", "table2",
            lambda rows: 100 * rows["false alarms"] / rows["of good"],
            lambda rows: rows["for the paper's"].map(false_alarms)),
    compare("AutoPerf, Table 3: reconstruction error", "other_detectors", "table3",
            lambda rows: rows["error"], lambda rows: rows["paper, error"]),
    compare("AutoPerf, Fig. 12: overhead of counting [%]", "small_slowdowns", "overhead",
            lambda rows: rows["overhead [%]"], lambda rows: rows["paper [%]"]),
    compare("Online regression, Fig. 2: samples per line", "07_compression", "fits",
            lambda rows: rows["reduction"].where(rows["method"] == "printed"),
            lambda rows: rows["case"].map(reduction), program="case"),
]

# %% [markdown]
# Three more quantities have a number for one program only, so they cannot be shuffled. Two say how much Spark's broadcast block size (bbs) and network timeout (nwt) change the time of sort (CounterMiner, Fig. 14). The third is the share of canneal's time slices that wait for memory. The fingerprinting paper (§4) ran canneal itself; here it is rebuilt and simulated. Sort was recorded twice; the later recording is used.

# %%
numbers = pd.DataFrame(
    [{"notebook": name} | number | {"data": describe_data(manifest, number)}
     for name, manifest in manifests.items() for number in manifest["numbers"]],
    columns=["notebook", "name", "value", "unit", "paper", "note", "data"])
numbers["note"] = numbers["note"].map(strip_markup)
printed = numbers.dropna(subset=["paper"])
SINGLE = {"of sort by broadcast.blockSize": "CounterMiner, Fig. 14: change of the time by bbs [%]",
          "of sort by network.timeout": "CounterMiner, Fig. 14: change of the time by nwt [%]",
          "canneal": "Fingerprinting, §4: slices that wait for memory [%]"}
phrase = printed["name"].str.extract(f"({'|'.join(SINGLE)})", expand=False)
is_of_one = phrase.notna()
of_one = printed[is_of_one].rename(columns={"value": "here"})
of_one["quantity"] = phrase[is_of_one].map(SINGLE)
of_one["program"] = of_one["name"].str.extract("(sort|canneal)", expand=False)
of_one = of_one.sort_values("name").drop_duplicates("quantity", keep="last")
of_one["data"] = of_one["data"].mask(of_one["program"] == "sort", "run times")

compared = pd.concat([*comparisons, of_one[COLUMNS]], ignore_index=True)
compared = compared.astype({"here": float, "paper": float})
compared["agrees"] = [agrees(here, of_paper) for here, of_paper
                      in zip(compared["here"], compared["paper"], strict=True)]
compared["ratio"] = (compared["here"] / compared["paper"]).where(compared["paper"] != 0)

# %%
agreement = pd.DataFrame([
    {"quantity": quantity, "programs": len(rows), "agree": int(rows["agrees"].sum()),
     "shuffled": count_shuffled(list(rows["here"]), list(rows["paper"])),
     "data": ", ".join(rows["data"].unique())}
    for quantity, rows in compared.groupby("quantity", sort=False)],
    columns=["quantity", "programs", "agree", "shuffled", "data"])
agreement = agreement.astype({"programs": int, "agree": int, "shuffled": float})
results.table(agreement, "agreement", "**Table.** How many programs were compared and how "
              "many agree, by quantity. *Shuffled*: how many agree on average if each program is "
              "compared with the paper's numbers for the other programs. It is empty if there is "
              "only one program.", decimals={"shuffled": 1})


# %%
@plot.styled
def draw_agreement(agreement):
    figure, ax = plt.subplots(figsize=(9, 1.2 + 0.3 * len(agreement)), layout="constrained")
    positions = range(len(agreement))
    ax.barh(positions, agreement["programs"], color="#dddddd", label="compared")
    ax.barh(positions, agreement["agree"], color=plot.palette(1)[0], label="agree")
    ax.plot(agreement["shuffled"], positions, "k|", ms=14, mew=2, label="agree if shuffled")
    ax.set_yticks(positions, agreement["quantity"])
    ax.invert_yaxis()
    ax.set(xlabel="programs")
    ax.legend(loc="upper right")
    return figure, ax


several = agreement[agreement["programs"] > 1]
figure, _ = draw_agreement(several)
results.figure(figure, "agreement", "**Figure.** Programs that were compared (gray) and that agree "
               "(blue), for quantities with several programs. Compare each blue bar with its black "
               "mark, the number of programs that agree after a shuffle.")

# %%
results.table(compared[["quantity", "program", "here", "paper", "ratio", "agrees", "data",
                        "notebook"]], "by-program", "**Table.** Every comparison. *Program* is the "
              "one that was measured here. *Ratio*: here divided by the paper's. The paper prints "
              "one reconstruction error for both Boost (spinlock_pool) and MySQL (row_counters).",
              rows=100, decimals={"here": 4, "paper": 4})

# %% [markdown]
# ## Numbers that are not compared
#
# The papers' texts mostly print means over programs, extremes and claims. The corresponding numbers here are means over other and fewer programs, so a ratio near 1 does not show agreement. The next table shows them without a verdict.
#
# Three numbers are left out because they could hardly have disagreed:
#
# * The stopping run of AutoPerf's Algorithm 1. The algorithm has a constant that the paper does not print. We chose it so that, on two series of numbers published by the authors, the algorithm stops where the paper says.
# * The accuracy on simulated micro-benchmarks in ten folds. Slices of one simulated program hardly differ.
# * The number of events counted. It is a property of the processor.
#
# | term in the table | meaning |
# |---|---|
# | error by Eq. 4 | CounterMiner's error of multiplexed counts: their distance from exact counts, relative to the distance between two exact runs |
# | CounterMiner's way | the paper's cleaning of multiplexed counts |
# | replayed | multiplexing that was computed afterwards from exact counts |
# | random fifth | test on rows drawn at random, as in the papers |
# | stacked runs | runs below each other in one matrix; elsewhere, runs are aligned by progress |
# | Eq. 12 | CounterMiner's measure of how strongly two events interact |
# | ISIF, BIEB | cycles with a full instruction queue, and branches executed |
# | topology | numbers of neurons in the layers of an autoencoder |
# | OCOE | one counter, one event: counts without multiplexing |
# | as perf prints | multiplexed counts before cleaning |
# | fixed, 10 % | a threshold that the AutoPerf paper compares with its own |
# | Friedman's H | a measure of interaction that finds planted pairs (notebook 04) |
# | samples a line | samples that one straight line replaces; the paper calls it the reduction ratio |
# | MNESD | largest standard deviation of samples about their line, as a share of the event's count |

# %%
could_not_disagree = printed["name"].str.startswith((
    "stopping run of the paper's", "accuracy on the micro-benchmarks", "events counted"))
is_compared = is_of_one | printed["name"].str.startswith((
    "samples at or below the threshold", "profiling overhead",
    "CloudSuite: share of the first pair", "largest share of a first pair",
    "smallest share of a first pair"))
means = printed[~could_not_disagree & ~is_compared].rename(columns={"value": "here"})
means["number"] = means["name"] + means["unit"].map(lambda unit: f" [{unit}]" if unit else "")
means["ratio"] = means["here"] / means["paper"]
results.table(means[["number", "here", "paper", "ratio", "data", "notebook", "note"]], "means",
              "**Table.** Numbers that the papers print, and the corresponding ones here.",
              rows=100)

# %% [markdown]
# ## CounterMiner's findings
#
# The table lists CounterMiner's conclusions, including those that no notebook examines. *Data* names the kind of recordings behind the answer. The answers are written by hand, from the results of the linked notebooks in the paper profile with all public sets.
#
# | finding | section | notebook | data | answer |
# |---|---|---|---|---|
# | Multiplexing causes large errors. | II-B | [02](02_cleaning.ipynb) | own hardware | In part. About half of the mean error over all events is a difference between runs. |
# | Outliers and missing values cause them. | II-B | [outliers](studies/outliers.ipynb), [missing_counts](studies/missing_counts.ipynb) | own and others' hardware | No. Most outliers are bursts of the program. Zeros are true counts: today's perf marks missing counts itself. |
# | Errors grow with the number of events. | II-B, V-A | [more_events](studies/more_events.ipynb) | others' hardware, replayed | Yes. |
# | Fewer than half of the events are Gaussian. The generalized extreme value distribution (GEV) fits the others best. | III-B | [outliers](studies/outliers.ipynb) | own hardware | Yes. Far fewer are Gaussian than in the paper. GEV fits most of the others best. |
# | Almost all samples are below mean + 5 sd. | III-B | [02](02_cleaning.ipynb) | own hardware | Yes, but at least 96 % of the samples are below it for any distribution. |
# | Cleaning removes most of the error. | V-A | [02](02_cleaning.ipynb), [repair](studies/repair.ipynb) | own and others' hardware | No. The paper's cleaning changes little on our recordings and adds to the error where the truth is exact. |
# | At most 20 events should be counted at a time. | V-A | [more_events](studies/more_events.ipynb) | others' hardware, replayed | No limit shows at 20: the error grows before and after it. |
# | Fewer events make a better model of IPC. | V-B | [03](03_ranking.ipynb) | own hardware | Hardly. The error on unseen parts of a program stays about the same. |
# | One to three events are much more important than the others. | V-B | [03](03_ranking.ipynb) | own hardware | No. They change when the model is refitted. |
# | The ranking varies across programs. | V-B | [across_programs](studies/across_programs.ipynb) | own hardware | Yes. The overlap of leading events is smaller between two programs than between two rankings of one program. |
# | Instruction queue, branches, TLBs and memory lead everywhere. | V-B | [cloudsuite](studies/cloudsuite.ipynb) | others' hardware | Not confirmed; only branches and caches were counted. A third of the events are of data caches. They have about half of the importance, but this could be chance. |
# | Stalls because the instruction queue is full are most important. | V-B | – | – | Cannot be examined. No processor recorded here counts them. |
# | HiBench is more diverse than CloudSuite. | V-B | [cloudsuite](studies/cloudsuite.ipynb) | others' hardware | Examined for CloudSuite only. Its programs show no diversity. HiBench is not recorded on the same processor. |
# | One or two pairs of events dominate. | V-C | [04](04_interactions.ipynb), [cloudsuite_pairs](studies/cloudsuite_pairs.ipynb) | own and others' hardware | No pair is certain. |
# | Most strong pairs have a branch event. | V-C | [04](04_interactions.ipynb), [cloudsuite_pairs](studies/cloudsuite_pairs.ipynb) | own and others' hardware | No. On our recordings, fewer of the strong pairs have a branch event than in the paper. On CloudSuite, strong pairs have a branch event as often as all pairs. |
# | Branches and mispredicted branches are the strongest pair of most programs. | V-C | [cloudsuite_pairs](studies/cloudsuite_pairs.ipynb) | others' hardware | No. |
# | Pairs of CloudSuite are stronger than those of HiBench. | V-C | – | – | Cannot be examined. HiBench is not recorded on the same processor. |
# | Pairs of an event and a parameter name the parameter to tune. | V-D | [08](08_tuning.ipynb) | software events | Not reliably. A model that explains the time by the parameters alone names it. |
# | Block size of broadcasts changes the time of sort much, network timeout less. | V-D | [08](08_tuning.ipynb) | run times | No. Neither has an effect that the runs can show. |
# | Important events can be tuned. | V-D | [causes](studies/causes.ipynb) | software events | No event is shown to cause the time. |
# | The method that uses events needs a quarter of the runs. | V-D | [number_of_runs](studies/number_of_runs.ipynb) | software events | No. The method that uses only the parameters needs fewer runs. |
# | A neighbor changes the ranking of events. | V-E | [09](09_colocation.ipynb) | others' hardware | Yes in most recordings. In the others, the ranking changes no more than between two halves of one recording. |
# | Events of the L2 cache rise to the top beside a neighbor. | V-E | [09](09_colocation.ipynb) | others' hardware | In 5 of 10 recordings. |
# | A program beside a copy of itself ranks nearly the same events. | V-E | – | – | Not examined. No recording here has such a pair. |

# %% [markdown]
# ## Result

# %%
results.number("tables and figures of the papers", len(items))
for state in STATES:
    results.number(f"tables and figures: {state}", (items["status"] == state).sum())
results.number("tables and figures that are measured", measured.sum())
results.number("tables and figures that are reproduced and measured",
               count_measured(items[items["status"] == "reproduced"]).sum())
results.number("comparisons by program", len(compared))
results.number("comparisons of quantities with several programs", several["programs"].sum())
results.number("comparisons of quantities with several programs that agree",
               several["agree"].sum())
results.number("comparisons of quantities with several programs that agree if shuffled",
               several["shuffled"].sum())
display(results.numbers())
results.table(numbers, "numbers", "All numbers of all notebooks are in the file `numbers.csv`.",
              on_page=False);

# %% [markdown]
# ## Limitations
#
# * Two things are written down by hand (`data/papers/items.csv`): which result corresponds to which figure, and what is lacking. The origin of the data is not among them: the code that reads recordings notes it.
# * The state does not weigh what is lacking: an item with one difference and an item with five are both *in part*.
# * Processors, inputs and events differ in all comparisons. A stand-in can agree or disagree for reasons of its own.
# * A quarter is an arbitrary tolerance.
#
# **Your own program.** This page is about the papers and has no parameter for a program. Record yours with `cmlib record NAME -- COMMAND`; `cmlib run live -p program=NAME` makes its page. `cmlib run paper` makes the page that is shown here.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018. Lv, Sun and Yu, *Mining CPU performance data based on gradient boosting regression tree*, 2018 (in Chinese). Yoo et al., *Automated fingerprinting of performance pathologies using performance monitoring units*, 2012. Alam et al., *AutoPerf*, NeurIPS 2019. Wu and Mencer, *Online linear regression of sampling data from performance event counters*.

# %%
results.save()
