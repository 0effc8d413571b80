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
# # Summary: how much of the five papers is shown here again
#
# **Question.** Which tables and figures of the five papers are reproduced, on whose data, and where do the numbers agree?
#
# *Reads* the results of the other notebooks of this profile; nothing is measured or fitted here. *Writes* each table and figure with its state, each number beside the paper's, and each notebook's answer.
#
# The papers: *CounterMiner* (cleaning, ranking and pairs of events), *GBRT* mining (merging runs), *AutoPerf* (new version against old), *fingerprinting* (bottlenecks by time slice), *online regression* (lines in place of samples). Abbreviations:
#
# - OCOE, each event counted all the time by a counter of its own; MLPX, events taking turns on the counters; IPC, instructions per cycle;
# - *Eq. 4* of CounterMiner, error of a multiplexed event: how far it is from a run without multiplexing, against how far two such runs are apart; its *Eq. 8* puts a mean of neighbours in place of a zero; its *Eq. 12*, intensity of a pair of events: what a plane over the two leaves of IPC. *Friedman's H*: what of two events' joint effect is not the sum of their single ones;
# - *F1*: harmonic mean of the share of bad runs that are found and the share of bad runs among those that are called bad; *MNESD*: the largest standard deviation of samples about a line, as a share of the range of the count.
#
# **On your own program.** `cmlib run live -p program=NAME` makes this page of a program of yours, too; `profile` (in `settings`) says of which run the results are read.

# %% tags=["parameters"]
settings: dict = {}  # profile, results_folder

# %%
import json
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from cmlib import places, plot
from cmlib.errors import NothingRecordedError
from cmlib.report import count_reproduced
from cmlib.report.inline import strip_markup
from cmlib.report.manifests import command_of, read_manifests
from cmlib.report.notebook import begin
from cmlib.report.overview import sentences
from cmlib.report.reproduction import reproduction

CLOSE, FAR = 1.25, 4  # times the paper's value
notebook = begin("10_summary", settings)
results, settings = notebook.results, notebook.settings
profile = settings["profile"]
folder = Path(settings["results_folder"] or places.results_dir()) / profile
manifests = [manifest for manifest in read_manifests(folder).sections  # of the other notebooks
             if manifest["notebook"] != "10_summary"]
if not manifests:
    raise NothingRecordedError(f"no results of {profile!r}: run `{command_of(profile)}` first.")

# %% [markdown]
# ## What is reproduced
#
# *Reproduced*: by hardware counters, on as many programs as the paper has, or a diagram or list that needs no measurement. *In part*: simulated, by software events, of fewer programs, or with something lacking. *Not*: nothing here shows it.

# %%
items = reproduction(folder, manifests)
counts = count_reproduced(items)
reproduced = items[items["status"] == "reproduced"]
measured = reproduced[reproduced["programs"].astype(bool)]
display(results.finding(
    f"Of {len(items)} tables and figures of the five papers, {len(reproduced)} are reproduced, "
    f"of which {len(measured)} {'holds' if len(measured) == 1 else 'hold'} measurements and the "
    f"others are diagrams and lists; {(items['status'] == 'in part').sum()} are reproduced in "
    f"part, {(items['status'] == 'not').sum()} not."))

# %%
on_data = items.loc[items["status"] != "not", "data"].value_counts()
figure, _ = plot.counts(counts, ylabel="tables and figures")
results.figure(figure, "reproduced", (
    f"**Figure.** Tables and figures of each paper ({len(items)} in all), by how far they are "
    f"reproduced. *See:* in part are {counts['in part'].sum()}; on whose data: "
    + ", ".join(f"{of} {n}" for of, n in on_data.items()) + "."))

# %%
results.table(counts.reset_index(), "reproduced-counts",
              "**Table.** Tables and figures of each paper, by how far they are reproduced.")

# %%
results.table(items, "reproduced",
              "**Table.** Every table and figure of the five papers: what shows it here, on whose "
              "data, of how many of the paper's programs, and what is lacking.", rows=100)

# %% [markdown]
# *Own hardware* and *software events* are recordings of ours, which come with cmlib, by the machines of the next table, as are *simulated* ones. *Others' hardware*: recordings that others published; each notebook says by which processors.

# %%
def describe_recording(file):
    """What kind of counts a file of ours holds, and of which machine."""
    meta = json.loads(file.read_text(encoding="utf-8"))
    offered, machine = meta.get("counters", {"offered": 0})["offered"], meta["machine"]
    data = "simulated" if offered is None else "own hardware" if offered else "software events"
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
# For each quantity $q$ that a paper prints too, the ratio of what was computed here to what the paper prints:
#
# $$r_q = \frac{q_{here}}{q_{paper}}.$$
#
# A ratio far from 1 is no mistake as such: another processor, another decade, other programs and inputs. The note says of which programs a number is the mean. Where programs of a paper were recorded, only these enter the mean that stands beside its value; elsewhere it is of others' recordings, of stand-ins (kernels of our own in place of AutoPerf's programs) or of programs that Debian ships.

# %%
def told(manifest):
    """What a notebook found, as text: first of all programs, then of each."""
    texts = [(finding["program"], finding["text"]) for finding in manifest["findings"]]
    texts += [(name, sentences(topics)) for name, topics in manifest["overviews"].items()]
    texts.sort(key=lambda row: bool(row[0]))
    return [(manifest["notebook"], name, strip_markup(text)) for name, text in texts if text]


questions = {manifest["notebook"]: strip_markup(manifest["question"]) for manifest in manifests}
findings = pd.DataFrame([row for manifest in manifests for row in told(manifest)],
                        columns=["notebook", "program", "finding"])
numbers = pd.DataFrame([{"notebook": manifest["notebook"]} | number
                        for manifest in manifests for number in manifest["numbers"]],
                       columns=["notebook", "name", "paper", "value", "unit", "note"])
numbers["note"] = numbers["note"].map(strip_markup)
origins = {manifest["origin"] for manifest in manifests if manifest["overviews"]}
results.mark(origins.pop() if len(origins) == 1 else "")  # simulated numbers say so

# %%
printed = numbers.dropna(subset=["paper"]).copy()
printed.insert(3, "ratio", printed["value"] / printed["paper"])
near = printed["ratio"].between(1 / CLOSE, CLOSE)
far = printed[~printed["ratio"].between(1 / FAR, FAR)]  # of the other sign, too
display(results.finding(
    f"Of {len(printed)} quantities that a paper prints too, {near.sum()} are within {CLOSE:g} "
    f"times the paper's value, {len(far)} beyond {FAR:g} times (nothing, or of the other sign, "
    f"among these: {(printed['ratio'] <= 0).sum()})."))


# %%
@plot.styled
def draw(printed):
    """A row a quantity, a dot the ratio of what was computed here to what the paper prints."""
    rows = printed[printed["ratio"] > 0].sort_values("ratio")
    figure, ax = plt.subplots(figsize=(8, 0.8 + 0.22 * len(rows)))
    ax.plot(rows["ratio"], range(len(rows)), "o", color=plot.palette(1)[0])
    ax.axvline(1, color="#222222", lw=1)
    labels = rows["notebook"].str.split("_").str[0] + ": " + rows["name"]
    ax.set_yticks(range(len(rows)), labels, fontsize=8)
    ax.set(xscale="log", xlabel="computed here / printed in the paper")
    return figure, ax


if len(printed):
    figure, _ = draw(printed)
    left_out = (printed["ratio"] <= 0).sum()
    display(results.figure(figure, "ratios", (
        "**Figure.** Ratio of what was computed here to what the paper prints, a dot a quantity "
        "(before it its notebook), logarithmic; line: equal. *See:* the ratios' median is "
        f"{printed['ratio'].median():.2g}. {left_out} of {len(printed)} quantities have no "
        "positive ratio and stand in the table.")))

# %%
results.table(printed.sort_values("ratio"), "printed", (
    "**Table.** Quantities that a paper prints too, by their ratio; all quantities are in "
    "numbers.csv."), rows=100)

# %% [markdown]
# ## What each notebook answers
#
# The question that heads each page, and the first sentence of its answer; what it rests on is on the page, and all that was found in `findings.csv`.

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
results.table(findings, "findings", "Every finding of each notebook.", on_page=False)
results.table(numbers, "numbers", "Every quantity of each notebook.", on_page=False)
results.number("quantities that a paper also prints", len(printed))

# %% [markdown]
# ## What this doesn't show
#
# Whether the papers' programs would give the papers' numbers on this processor: most have no recordings by hardware counters here. Errors by *cleaned* counts of one notebook and of another are of other recordings and other events, as their names and notes say. What is counted (programs, kernels, events) differs from row to row; each notebook says why. Whatever a notebook's data can't show is said at its end.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018. Alam et al., *AutoPerf*, NeurIPS 2019. The other papers are named in the notebooks of the table.

# %%
results.save()
