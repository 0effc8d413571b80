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
# # More events: how multiplexing errors grow
#
# **Question.** How does the error of multiplexed counts grow with the number of events that take turns, before and after cleaning?
#
# *Reads* recordings of others that counted every event all the time: cBench (`a15-cbench`) and SPEC CPU2000 (`spec2000`). *Writes* the error by the number of groups, as CounterMiner's Figures 3 and 7.
#
# CounterMiner (§II-B, §V-A) multiplexes 10 to 36 events on four counters and compares them with other runs of the program. Where every event was counted all the time, a rotation can be replayed: a part of the counts is hidden, and the truth is known exactly. Notebook 02 has recordings made with multiplexing, and explains the ways of cleaning.

# %% tags=["parameters"]
slots = 12  # turns in an interval, which the groups share [6, 60]
settings = {}  # profile, results_folder

# %%
import pandas as pd
from IPython.display import Markdown

from cmlib import clean, plot
from cmlib.clean.distance import dtw, folded_error
from cmlib.experiments import published, repair
from cmlib.report import paper
from cmlib.report.notebook import begin

notebook = begin("02f_more_events", globals())
results, counterminer = notebook.results, paper("counterminer")
ROTATIONS = tuple((n, slots) for n in range(2, 7))
WAYS = repair.RIVALS | {"kalman": clean.clean_kalman}
LABELS = {"perf": "what perf prints", "lines": "straight lines",
          "counterminer": "CounterMiner's way", "kalman": "smoother (kalman)"}

# %% [markdown]
# ## The recordings
#
# Files are those of the judging list of notebook 02c, on which nothing was tuned: cBench on a Cortex-A15, a turn each 0.5 s, and SPEC CPU2000 on an AMD processor, a turn each 100 million instructions. Of two to six groups of events each has its turn once every two to six slots. An event then has a counter for a half to a sixth of the time, as 8 to 24 events have on four counters, however few these recordings have.

# %%
listed = repair.listed("judging").query("set in ['a15-cbench', 'spec2000']")
cases = {name: {file: repair.cases(file, ROTATIONS) for file in files}
         for name, files in listed.groupby("set")["file"]}
rows = [{"set": name, "file": file.rpartition("/")[2], "intervals": len(of_file[0].counts),
         "events that take turns": len(of_file[0].truth.columns)}
        for name, files in cases.items() for file, of_file in files.items() if of_file]
results.table(pd.DataFrame(rows), "files", f"**Table.** Files that are here, their intervals of "
              f"{slots} slots, and how many events take turns.", rows=18)

# %% [markdown]
# One rotation, one event: what is seen is scaled by the share of the slots in which it was seen, as perf does.

# %%
case = next(iter(cases["a15-cbench"].values()))[1]
event = case.truth.columns[0]
shown = {"truth": case.truth, "share of the slots": case.shares, "as perf prints it": case.counts}
print(f"{event}, {case.name}, counts per interval")
pd.DataFrame({name: frame[event] for name, frame in shown.items()}).head()

# %% [markdown]
# ## Distance from the truth
#
# With $x_i$ what was counted in interval $i$ and $\hat x_i$ what is left of it by a way of cleaning,
#
# $$error = \frac{\sum_i |\hat x_i - x_i|}{\sum_i x_i} \times 100\,\%,$$
#
# of which the mean over events and files is drawn. Where a curve is not seen, it lies under another.


# %%
def grows(cells):
    """Mean error by the number of groups, a column a way of cleaning."""
    return cells.groupby(["groups", "method"])["error"].mean().unstack()[list(WAYS)]


def draw(grown, measure):
    """A curve for each way of cleaning."""
    return plot.curves(grown.reset_index(), x="groups", ys=LABELS,
                       xlabel="groups that take turns", ylabel=f"error {measure}")[0]


# %%
grown = {}
for name, files in cases.items():
    if not any(files.values()):
        display(Markdown(published.how_to_get(name)))
        continue
    cells = repair.judge_cases({"kalman": WAYS["kalman"]}, sum(files.values(), []))
    grown[name] = grows(cells.assign(groups=cells["case"].str.split().str[0].astype(int)))
    figure = draw(grown[name], "[% of the mean]")
    display(results.figure(figure, f"fig03-fig07-{name}",
                           f"**Figures 3 and 7, replayed on others' hardware ({name}).** Mean "
                           "distance from the true counts, before (*what perf prints*) and after "
                           "cleaning."))

# %% [markdown]
# ## By the paper's Eq. 4
#
# The paper has no truth, only other runs. Its error compares the distance of a multiplexed run from an unmultiplexed one (Eq. 3) with the distance of two unmultiplexed runs (Eq. 2), both by dynamic time warping (Eq. 1):
#
# $$dist = DTW(S_1, S_2) \tag{1}$$
# $$dist_{ref} = DTW(S_{ocoe1}, S_{ocoe2}) \tag{2}$$
# $$dist_{mea} = DTW(S_{mlpx}, S_{ocoe}) \tag{3}$$
# $$error = \left|1 - \frac{dist_{ref}}{dist_{mea}}\right| \times 100\,\% \tag{4}$$
#
# cBench was recorded twice at each clock: $S_{ocoe1}$ is an event in one run, $S_{mlpx}$ the same with its rotation replayed, $S_{ocoe2}$ the event in the other run.


# %%
def eq4(case, other):
    """Error by Eq. 4 of each event and way of cleaning, of one rotation [%]."""
    rows, groups = [], int(case.name.split()[0])
    for name, way in WAYS.items():
        cleaned = way(case.counts, case.shares)
        for event, S_ocoe1 in case.truth.items():
            S_mlpx, S_ocoe2 = cleaned[event], other.truth[event]
            dist_ref, dist_mea = dtw(S_ocoe1, S_ocoe2), dtw(S_mlpx, S_ocoe2)
            rows.append((groups, name, folded_error(dist_ref, dist_mea)))
    return rows


first = {file: of_file for file, of_file in cases["a15-cbench"].items() if "-Run-1-" in file}
pairs = [pair for file, of_file in first.items()
         for pair in zip(of_file, cases["a15-cbench"][file.replace("-Run-1-", "-Run-2-")],
                         strict=True)]
errors = sum((eq4(*pair) for pair in pairs), [])
folded = grows(pd.DataFrame(errors, columns=["groups", "method", "error"]))

# %%
raw, cleaned = (counterminer[name] for name in
                ("raw_error_percent", "cleaned_error_by_events_percent"))
results.figure(draw(folded, "by Eq. 4 [%]"), "fig03-fig07-eq4",
               f"**Figures 3 and 7 by Eq. 4 (a15-cbench).** The paper prints {raw['mean']} % "
               f"before and {cleaned[10]} % after for 10 events on four counters (2.5 groups), and "
               f"{cleaned[24]} % after for 24 (6 groups).")

# %% [markdown]
# ## What was found

# %%
every = {**{(name, "% of the mean"): one for name, one in grown.items()},
         ("a15-cbench", "% by Eq. 4"): folded}
every = pd.concat(every, names=["set", "measure"])
results.table(every.reset_index(), "growth", "**Table.** The curves of all figures: errors [%] by "
              "the number of groups.")

# %%
for n, events, way, printed in [(3, 10, "perf", raw["mean"]), (3, 10, "counterminer", cleaned[10]),
                                (6, 24, "counterminer", cleaned[24])]:
    results.number(f"error by Eq. 4, {n} groups, {LABELS[way]}", folded.at[n, way], "%",
                   paper=printed, note=f"a15-cbench, replayed; the paper: {events} events on four "
                                       f"counters, {events / 4:g} groups")

growth = [f"from {one['perf'].iloc[0]:.1f} to {one['perf'].iloc[-1]:.1f} {measure} ({name})"
          for (name, measure), one in every.groupby(["set", "measure"], sort=False)]
means = every.xs("% of the mean", level="measure")
fewer = [f"{LABELS[way]} {(means[way] < 0.99 * means['perf']).sum()}"
         for way in LABELS if way != "perf"]
results.finding(
    f"From 2 groups of events to 6 the error of what perf prints grows {', '.join(growth)}. How "
    f"many of the {len(means)} mean distances from the truth cleaning brings down by more than a "
    f"hundredth: {', '.join(fewer)}.")

# %% [markdown]
# ## What this doesn't show
#
# Slots of half a second or of 100 million instructions are coarser than perf's turns of 4 ms: how large errors are depends on how fast the program changes within an interval, how they grow less so. Twelve slots hold whole rotations of 2, 3, 4 and 6 groups; of 5 groups two have a turn more than the others, and not the same ones in each interval. Other rotations are in notebook 02c. The recordings have two or five events that take turns, the paper up to 36.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §II-B, §V-A, Figures 3 and 7. Nikov, *ARMPM_BUILDMODEL*. Weaver, *perfevent_overhead*.

# %%
display(results.numbers())
results.save()
