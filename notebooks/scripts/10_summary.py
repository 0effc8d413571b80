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
# # Summary: how much of the five papers is shown here again
#
# **Question.** Which tables and figures of the five papers are reproduced, on whose data, and where do the numbers agree?
#
# *Reads* the results of the other notebooks of this profile; nothing is measured or fitted here. *Writes* each table and figure with its state, each number beside the paper's, and each notebook's answer.
#
# The papers: *CounterMiner* (cleaning, ranking and pairs of events), *GBRT* mining (merging runs), *AutoPerf* (new version against old), *fingerprinting* (bottlenecks by time slice), *online regression* (lines in place of samples).
#
# **On your own program.** Record it first, `cmlib record NAME -- COMMAND`; then `cmlib run live -p program=NAME` makes this page, too, of it. `profile` (in `settings`) says of which run the results are read: `smoke`, `paper`, `live`.

# %% [markdown] tags=["answer"]
# > **Answer** (paper profile, all public recordings fetched). Most tables and figures of the five papers are reproduced in part: the method runs, on other programs and often on other events than the paper's. Few of the numbers that a paper also prints agree with those measured here. The tables below name the data of each item and every number beside the paper's.

# %% tags=["parameters"]
settings: dict = {}  # profile: smoke, paper or live; results_folder

# %%
import json
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from cmlib import places, plot
from cmlib.errors import NothingRecordedError
from cmlib.report.inline import strip_markup
from cmlib.report.manifests import command_of, read_manifests
from cmlib.report.notebook import begin
from cmlib.report.reproduction import read_items, reproduction

CLOSE, FAR = 1.25, 4  # times the paper's value
notebook = begin("10_summary", settings)
results, settings = notebook.results, notebook.settings
profile = settings["profile"]
folder = Path(settings["results_folder"] or places.results_dir()) / profile
manifests = [manifest for manifest in read_manifests(folder).sections  # of the other notebooks
             if manifest["notebook"] != "10_summary"]
if not manifests:
    raise NothingRecordedError(f"no results of {profile!r}: run `{command_of(profile)}` first.")

# %%
items = reproduction(folder, manifests)
shown = items[items["status"] != "not"]
reproduced = items[items["status"] == "reproduced"]
measured = reproduced[reproduced["programs"] != ""]
missing = items[items["status"] == "not"]


def names(rows):
    """Papers' tables and figures by name; at most three, else nothing."""
    listed = ", ".join(rows["paper"] + " " + rows["item"])
    return f" ({listed})" if 0 < len(rows) < 4 else ""


display(results.finding(
    f"Of {len(items)} tables and figures of the five papers, {len(reproduced)} are reproduced "
    "(whether numbers agree is another question, below): "
    f"{len(measured)} with measurements{names(measured)}, the others are diagrams and lists. "
    f"{(items['status'] == 'in part').sum()} are reproduced in part, {len(missing)} not"
    f"{names(missing)}. Whose data, of the {len(shown)} in whole or in part: "
    + ", ".join(f"{kind} {n}" for kind, n in shown["data"].value_counts().items()) + "."))


# %%
def told(manifest):
    """What a notebook found, as text: first of all programs, then of each."""
    texts = [(finding["program"], finding["text"]) for finding in manifest["findings"]]
    texts.sort(key=lambda row: bool(row[0]))
    return [(manifest["notebook"], name, strip_markup(text)) for name, text in texts if text]


questions = {manifest["notebook"]: strip_markup(manifest["question"]) for manifest in manifests}
findings = pd.DataFrame([row for manifest in manifests for row in told(manifest)],
                        columns=["notebook", "program", "finding"])
numbers = pd.DataFrame([{"notebook": manifest["notebook"]} | number
                        for manifest in manifests for number in manifest["numbers"]],
                       columns=["notebook", "name", "paper", "value", "unit", "note"])
numbers["note"] = numbers["note"].map(strip_markup)


# %%
def whose_data(numbers):
    """Whose data numbers are: those of their notebook's figures, but for the authors' series."""
    listed = read_items()
    listed = listed[listed["data"] != "diagram or list"]
    kinds = (listed["data"] + ", " + listed["stand_ins"]).str.removesuffix(", ")
    kind = kinds.groupby(listed["notebook"]).agg(lambda kinds: kinds.mode()[0])
    kind = numbers["notebook"].map(kind).fillna("our hardware")
    return kind.mask(numbers["note"].str.contains("the authors published"), "the authors' series")


def by_data(rows):
    """How many numbers are of whose data, and in which notebooks."""
    of = rows["notebook"].str.split("_").str[0].groupby(rows["whose data"]).agg(["size", "unique"])
    return "; ".join(f"{n} {kind}, notebook {', '.join(of_kind)}"
                     for kind, n, of_kind in of.sort_values("size", ascending=False).itertuples())

# %%
printed = numbers.dropna(subset=["paper"]).copy()
printed["ratio"] = printed["value"] / printed["paper"]
printed["whose data"] = whose_data(printed)
near = printed["ratio"].between(1 / CLOSE, CLOSE)
far = ~printed["ratio"].between(1 / FAR, FAR)  # of the other sign, too
again = printed["whose data"].isin(["simulated", "the authors' series"])
display(results.finding(
    f"Of {len(printed)} numbers that a paper prints too, {near.sum()} are within {CLOSE:g} times "
    f"the paper's ({by_data(printed[near])}), so {(near & ~again).sum()} that are neither "
    f"simulated nor of the authors' own series (they stand beside "
    f"{printed['paper'][near & ~again].nunique()} different numbers of the papers); {far.sum()} "
    f"are beyond {FAR:g} times "
    f"({by_data(printed[far])}), {(printed['ratio'] <= 0).sum()} of these nothing or of the other "
    "sign."))

# %% [markdown]
# ## Words in the tables
#
# - Whose data. *Our hardware*: hardware counters, recorded for this project and part of cmlib, as are *software events* (perf's, where no hardware counters were) and *simulated* ones (Valgrind). *Others' hardware*: hardware counters, published by others; each notebook says by which processors. *The authors' series*: what a paper's authors published, computed again. *The paper's numbers*: as it prints them. *Diagram or list*: needs no measurement.
# - Stand-ins. *Kernels of ours* have the fault and the memory pattern of AutoPerf's programs; they are none of them. *Programs of Debian*: in place of SPEC CPU2006.
# - CounterMiner. *Eq. 4*: error of a multiplexed event, how far it is from a run without multiplexing, against how far two such runs are apart. *Eq. 8* puts a mean of neighbours in place of a zero. *Eq. 12*: intensity of a pair of events, what is left of IPC (instructions per cycle) after a plane has been laid through it over both events. *Friedman's H*: what of two events' joint effect is not the sum of their single ones. *Replayed*: not recorded so, but computed afterwards from a recording, by taking events away or by fitting its samples. *Shrinkage* and *straight lines*: two other ways of cleaning.
# - Models of IPC. *Aligned*: the runs of a program, side by side in one row by progress; *stacked*: one below the other, as GBRT has it. *Random fifth*: error on rows drawn at random, between rows that the model knows; *held-out stretches*: on parts of the run that it doesn't know, which is harder. Judged *by the mean IPC of all runs* errors are smaller than by the IPC of each run, whose noise the mean has lost.
# - AutoPerf. *F1*: harmonic mean of the share of bad runs that are found and the share of bad runs among those called bad. *The paper's rule* calls a run bad if one of its samples is off by more than mean + 2 standard deviations of the reconstruction error. *The calibrated rule*, our own, uses the same autoencoders but calls a run bad if half, or a tenth, of its samples are farther off than those of good runs that were not learned (p ≤ 0.005). So it alarms on fewer good runs, but finds fewer bad ones: F1 may be alike where false alarms differ. *Fixed threshold*: the paper's third way, one change of length for all programs; the best of three tried. *As many training runs as the paper*: not all that there are. *Diluted fault*: one that strikes in a share of the work only.
# - Online regression. Lines are laid through an event's cumulative count. *MNESD*: the largest standard deviation of samples about any line as a share of the range of that count (from 0 to the whole run's count, so a "% of the count").
#
# ## What is reproduced
#
# It says what was measured, not whether numbers agree. *Reproduced*: by hardware counters or, of run times, by the clock, on as many programs as the paper has, or a diagram or list that needs no measurement. *In part*: simulated, by software events, of fewer programs or of stand-ins, or with something lacking. *Not*: nothing here shows it.

# %%
counts = pd.crosstab(items["paper"], items["status"]).reindex(
    index=items["paper"].unique(), columns=["reproduced", "in part", "not"], fill_value=0)
figure, _ = plot.counts(counts, ylabel="tables and figures")
results.figure(figure, "reproduced", (
    f"**Figure.** Tables and figures of each paper ({len(items)} in all), by how far they are "
    f"reproduced. *See:* {counts['in part'].sum()} are in part; of the {len(reproduced)} that are "
    f"reproduced {len(reproduced) - len(measured)} are diagrams and lists."))

# %%
results.table(counts.reset_index(), "reproduced-counts",
              "**Table.** Tables and figures of each paper, by how far they are reproduced.")

# %%
kinds = pd.crosstab(items["data"].replace("", "none").rename("whose data"), items["status"])
kinds = kinds.reindex(columns=counts.columns, fill_value=0)
results.table(kinds.assign(together=kinds.sum(axis=1)).reset_index(), "reproduced-data", (
    f"**Table.** The same {kinds.to_numpy().sum()}, by whose data they are."))

# %%
results.table(items, "reproduced",
              "**Table.** Every table and figure of the five papers: what shows it here, on whose "
              "data, of how many programs (*2 of 16*: of the paper's; *13 kernels of ours for 15*: "
              "stand-ins), and what is lacking.", rows=100)

# %% [markdown]
# Our own recordings were made on these machines.

# %%
def describe_recording(file):
    """What kind of counts a file of ours holds, and of which machine."""
    meta = json.loads(file.read_text(encoding="utf-8"))
    offered, machine = meta.get("counters", {"offered": 0})["offered"], meta["machine"]
    data = "simulated" if offered is None else "our hardware" if offered else "software events"
    processor = "{model_name} (family {family}, model {model})".format_map(machine)
    return {"data": data, "processor": processor, "processors": machine["processors"],
            "microarchitecture": machine["microarchitecture"],
            "virtual machine": machine["virtual"]}


files = [file for kind in ("recordings", "regions", "samples")
         for file in sorted((places.data_dir() / kind).rglob("*.json"))]
if files:
    ours = pd.DataFrame(map(describe_recording, files)).fillna("")
    ours = ours.groupby(list(ours)).size().rename("recordings").reset_index()
    display(results.table(ours, "machines", "**Table.** The machines of our own recordings, as "
                          "their metadata name them."))

# %% [markdown]
# ## Where numbers agree
#
# For each number $q$ that a paper prints too, the ratio of what was computed here to what the paper prints:
#
# $$r_q = \frac{q_{here}}{q_{paper}}.$$
#
# A ratio far from 1 is no mistake as such: another processor, another decade, other programs and inputs. The note says of which programs a number is the mean. Where programs of a paper were recorded, only these enter the mean that stands beside its value; elsewhere it is of others' recordings or of stand-ins.

# %%
@plot.styled
def draw(printed):
    """A row a number, a dot the ratio of what was computed here to what the paper prints."""
    rows = printed[printed["ratio"] > 0].sort_values("ratio")
    rows = rows.assign(row=range(len(rows)))
    figure, ax = plt.subplots(figsize=(8, 0.8 + 0.22 * len(rows)))
    kinds = rows["whose data"].unique()
    for kind, colour in zip(kinds, plot.palette(len(kinds)), strict=True):
        of_kind = rows[rows["whose data"] == kind]
        ax.plot(of_kind["ratio"], of_kind["row"], "o", color=colour, label=kind)
    ax.axvspan(1 / CLOSE, CLOSE, color="#eeeeee", zorder=0)
    ax.axvline(1, color="#222222", lw=1)
    short = rows["name"].str.replace(r" \([^)]*\)", "", regex=True)
    labels = rows["notebook"].str.split("_").str[0] + ": " + short
    ax.set_yticks(rows["row"], labels, fontsize=9)
    ax.set(xscale="log", xlabel="computed here / printed in the paper")
    ax.legend(loc="upper left", title="whose data")
    return figure, ax

# %%
if len(printed):
    figure, _ = draw(printed)
    left_out = (printed["ratio"] <= 0).sum()
    display(results.figure(figure, "ratios", (
        "**Figure.** Ratio of what was computed here to what the paper prints, a dot a number "
        "(before it its notebook; colour: whose data), logarithmic; line: equal; grey: within "
        f"{CLOSE:g} times. Left of the line is smaller here, which is better for errors, overheads "
        "and false alarms and worse for F1, accuracy and samples a line. *See:* the median is "
        f"{printed['ratio'].median():.2g}. {left_out} of {len(printed)} numbers have no "
        "positive ratio and stand in the table.")))

# %%
as_text = printed["unit"].map(lambda unit: f" [{unit}]" if unit else "")
agreement = near.map({True: f"within {CLOSE:g}", False: ""}).mask(far, f"beyond {FAR:g}")
table = printed.assign(number=printed["name"] + as_text, agreement=agreement)
table = table.rename(columns={"value": "here"}).sort_values("ratio")
twice = table[table.duplicated(["notebook", "here"], keep=False)]
same = [" and ".join(rows["number"]) for _, rows in twice.groupby(["notebook", "here"])]
results.table(table[["notebook", "number", "here", "paper", "ratio", "agreement", "whose data",
                     "note"]], "printed", (
    "**Table.** Numbers that a paper prints too, by their ratio; all numbers are in numbers.csv."
    + " Programs are named in the notes. "
    + " ".join(f"Nothing changed here, though in the paper it did, between: {both}."
               for both in same)), rows=100)

# %% [markdown]
# ## What each notebook answers
#
# The question that heads each page, and the first sentence of its answer; what it rests on is on the page, and all that was found in `findings.csv`. A notebook for which nothing was recorded (*Not* above) has no answer.

# %%
def first_sentence(text):
    return re.split(r"(?<=\.) (?=[A-Z])", text, maxsplit=1)[0]


first = findings.groupby("notebook", sort=False).first().reset_index()
of_one = first["program"].where(first["program"] == "", first["program"] + ": ")
answers = pd.DataFrame({"notebook": first["notebook"],
                        "question": first["notebook"].map(questions),
                        "answer": of_one + first["finding"].map(first_sentence)})
results.table(answers, "answers", (
    f"**Table.** Question and answer of each of {len(answers)} notebooks."), rows=100)

# %%
results.table(findings, "findings", "Not on this page: every finding (findings.csv).",
              on_page=False)
results.table(numbers, "numbers", "Not on this page: every number (numbers.csv).", on_page=False);

# %% [markdown]
# ## What this doesn't show
#
# Whether the papers' programs would give the papers' numbers on this processor: most have no recordings by hardware counters here. Errors by *cleaned* counts of one notebook and of another are of other recordings and other events, as their names and notes say. What is counted (programs, kernels, events) differs from row to row; each notebook says why. Whatever a notebook's data can't show is said at its end.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018. Lv, Sun and Yu, *Mining CPU performance data based on gradient boosting regression tree*, 2018 (in Chinese). Yoo et al., *Automated fingerprinting of performance pathologies using performance monitoring units*, 2012. Alam et al., *AutoPerf*, NeurIPS 2019. Wu and Mencer, *Online linear regression of sampling data from performance event counters*.

# %%
results.save()
