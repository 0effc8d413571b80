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
# *Reads* recordings of others that counted every event all the time: cBench (`a15-cbench`, comes with cmlib) and SPEC CPU2000 (`cmlib fetch spec2000`). *Writes* the error by the number of events, as CounterMiner's Figures 3 and 7 and the GBRT paper's Figure 1.
#
# CounterMiner (§II-B, §V-A) multiplexes 10 to 36 events on four counters and compares them with other runs of the program. Where every event was counted all the time, a rotation can be *replayed*: a part of the counts is hidden, and the truth is known exactly. Notebook 02 has recordings made with multiplexing, and explains the ways of cleaning. A program of your own needs no replay: `cmlib record NAME -- COMMAND` records it both ways for notebook 02.

# %% tags=["parameters"]
slots: int = 12  # turns in an interval, which the groups share; 60: whole rotations always
settings: dict = {}  # profile, results_folder

# %%
import numpy as np
import pandas as pd
from IPython.display import Markdown

from cmlib import clean, plot
from cmlib.clean.distance import dtw, folded_error
from cmlib.experiments import published, repair
from cmlib.plot.style import PAPER
from cmlib.report import paper
from cmlib.report.notebook import begin

limits = {"slots": (6, 60)}
notebook = begin("02f_more_events", settings, slots=slots)
results, counterminer, gbrt = notebook.results, paper("counterminer"), paper("gbrt")
COUNTERS = 4  # of the paper's processor; so many events are in a group
ROTATIONS = tuple((n, slots) for n in range(2, 7))
WAYS = repair.BASELINE_METHODS | {"shrinkage": clean.clean_by_shrinkage}
LABELS = {"perf": "what perf prints", "lines": "straight lines",
          "counterminer": "CounterMiner's way", "shrinkage": "shrinkage"}

# %% [markdown]
# ## The recordings
#
# Files of notebook 02c's lists, at most twelve of each set: cBench on a Cortex-A15, a turn each 0.5 s, on which nothing was tuned, and SPEC CPU2000 on an AMD processor, a turn each 100 million instructions, on which *shrinkage* was. Of two to six groups of events each has its turn once every two to six slots. An event then has a counter for a half to a sixth of the time, as 8 to 24 events have on the paper's four counters. The figures below count events so: four times the groups.

# %%
listed = repair.listed().query("set in ['a15-cbench', 'spec2000']").groupby("set").head(12)
cases = {name: {file: repair.cases(file, ROTATIONS) for file in files}
         for name, files in listed.groupby("set")["file"]}
rows = [{"set": name, "file": file.rpartition("/")[2], "intervals": len(of_file[0].counts),
         "events that take turns": len(of_file[0].truth.columns)}
        for name, files in cases.items() for file, of_file in files.items() if of_file]
results.table(pd.DataFrame(rows), "files", f"**Table.** Files that are here, their intervals of "
              f"{slots} slots, and how many events take turns in the replay.", rows=18)

# %% [markdown]
# One rotation, one event: what is seen is scaled by the share of the slots in which it was seen, as perf does.

# %%
case = next(iter(cases["a15-cbench"].values()))[1]
event = case.truth.columns[0]
shown = {"truth": case.truth, "share of the slots": case.shares, "as perf prints it": case.counts}
print(f"{event}, {case.name}, counts per interval")
pd.DataFrame({name: frame[event] for name, frame in shown.items()}).head()

# %% [markdown]
# ## What hiding does
#
# A rotation of $G$ groups in $K$ slots: slot $k$ of the recording belongs to group $k \bmod G$. Of an event of group $g$ its slots $T_i$ of interval $i$ are seen, and what they hold is divided by the share of the interval that they are:
#
# $$s_i = \frac{|T_i|}{K}, \qquad \hat x_i = \frac{1}{s_i} \sum_{k \in T_i} x_{ik}, \qquad x_i = \sum_{k=1}^{K} x_{ik}.$$
#
# Below, that the shares and counts of the first case obey this: all shares are whole numbers of slots, and their mean is $1/G$.

# %%
G = int(case.name.split()[0])
T = case.shares[case.truth.columns] * slots  # |T_i| of each event
np.testing.assert_allclose(T, T.round())
np.testing.assert_allclose(T.mean(), slots / G, rtol=1 / slots)
x_hat, x = case.counts[event], case.truth[event]
print(f"{event}, {G} groups: perf's way is {100 * abs(x_hat - x).sum() / x.sum():.2f} % off in the "
      f"intervals and {100 * abs(x_hat.sum() / x.sum() - 1):.2f} % in the total")

# %% [markdown]
# ## Distance from the truth
#
# With $x_i$ what was counted in interval $i$ and $\hat x_i$ what is left of it by a way of cleaning,
#
# $$error = \frac{\sum_i |\hat x_i - x_i|}{\sum_i x_i} \times 100\,\%,$$
#
# of which the mean over events and files is drawn. Marks of the four ways are set a little apart, so that equal errors stay in sight.


# %%
def grows(cells):
    """Mean error by the number of groups, a column a way of cleaning."""
    return cells.groupby(["groups", "method"])["error"].mean().unstack()[list(WAYS)]


def mark_paper(ax, printed):
    """The paper's points: events, error and label."""
    for events, error, label in printed:
        ax.plot(events, error, **PAPER)
        ax.annotate(label, (events, error), (6, 0), textcoords="offset points", fontsize=8,
                    va="center")

# %%
@plot.styled
def draw(grown, measure, printed=()):
    """A mark for each way of cleaning, and the paper's points."""
    figure, (ax,) = plot.panels([""], height=3.2)
    for number, (way, colour) in enumerate(zip(LABELS, plot.palette(4), strict=True)):
        events = COUNTERS * grown.index + 0.5 * (number - 1.5)
        ax.plot(events, grown[way], "osD^"[number], color=colour, ms=6, label=LABELS[way])
    mark_paper(ax, printed)
    ax.set(xlabel="events that share four counters (four a group)", ylim=(0, None),
           ylabel=f"error {measure}", xticks=COUNTERS * grown.index)
    ax.margins(x=0.08)
    plot.legend_below(figure, ax, 4)
    return figure, ax

# %%
def describe_growth(grown):
    """From the fewest events to the most, before cleaning and after it."""
    ends = [f"from {grown[way].iloc[0]:.1f} to {grown[way].iloc[-1]:.1f} % ({LABELS[way]})"
            for way in ("perf", "counterminer", "shrinkage")]
    return (f"*See:* from {COUNTERS * grown.index[0]} to {COUNTERS * grown.index[-1]} events the "
            f"error grows {', '.join(ends)}.")


# %%
grown = {}
for name, files in cases.items():
    if not any(files.values()):
        display(Markdown(published.how_to_get(name)))
        continue
    cells = repair.score_cases({"shrinkage": WAYS["shrinkage"]}, sum(files.values(), []))
    grown[name] = grows(cells.assign(groups=cells["case"].str.split().str[0].astype(int)))
    figure, _ = draw(grown[name], "[% of the mean]")
    n_files = sum(map(bool, files.values()))
    display(results.figure(figure, f"fig03-fig07-{name}",
                           "**CounterMiner, Fig. 3 and 7, by the truth.** Mean distance from the "
                           "true counts [% of the mean] by the number of events, before and after "
                           f"cleaning; others' hardware ({name}, {n_files} files), replayed. "
                           f"{describe_growth(grown[name])}"))

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
printed = [(10, raw["mean"], "the paper, before"), *(
    (n_events, error, "the paper, after") for n_events, error in cleaned.items())]

# %%
figure, _ = draw(folded, "by Eq. 4 [%]", printed)
growth = gbrt["error_growth_percent"]
results.figure(figure, "fig03-fig07-eq4",
               "**CounterMiner, Fig. 3 and 7; GBRT paper, Fig. 1.** Error by Eq. 4 [%] by the "
               f"number of events, before and after cleaning; others' hardware (a15-cbench, "
               f"{len(first)} pairs of runs), replayed. Crosses: CounterMiner's, of another "
               f"processor and other programs; the GBRT paper prints a growth of "
               f"{growth['growth']} % from {growth['from_events']} to {growth['to_events']} "
               f"events. {describe_growth(folded)}")

# %%
every = {**{(name, "% of the mean"): one for name, one in grown.items()},
         ("a15-cbench", "% by Eq. 4"): folded}
every = pd.concat(every, names=["set", "measure"])
largest = every["perf"].xs("% of the mean", level="measure").idxmax()
results.table(every.reset_index(), "growth", "**Table.** All figures in numbers: errors [%] by the "
              "number of groups of four events. *See:* what perf prints is farthest from the truth "
              f"with {largest[1]} groups on {largest[0]}.")

# %% [markdown]
# ## What the paper printed, and what was measured here
#
# The paper's numbers are of its own programs and processor; these are of a15-cbench.

# %%
for n, events, way, error in [(3, 10, "perf", raw["mean"]), (3, 10, "counterminer", cleaned[10]),
                              (6, 24, "counterminer", cleaned[24])]:
    results.number(f"error by Eq. 4, {COUNTERS * n} events, {LABELS[way]}", folded.at[n, way], "%",
                   paper=error, note=f"a15-cbench, replayed; the paper: {events} events")
display(results.numbers())

# %%
growth = [f"from {one['perf'].iloc[0]:.1f} to {one['perf'].iloc[-1]:.1f} {measure} ({name})"
          for (name, measure), one in every.groupby(["set", "measure"], sort=False)]
means = every.xs("% of the mean", level="measure")
fewer = [f"{LABELS[way]} in {(means[way] < 0.99 * means['perf']).sum()}"
         for way in LABELS if way != "perf"]
ends = [COUNTERS * every.index.unique("groups")[place] for place in (0, -1)]
results.finding(
    f"From {ends[0]} events on four counters to {ends[1]}, the error of what perf prints grows "
    f"{', '.join(growth)}. Of {len(means)} mean distances from the truth, cleaning lowers by more "
    f"than a hundredth: {', '.join(fewer)}.")

# %% [markdown]
# ## What this doesn't show
#
# Slots of half a second or of 100 million instructions are coarser than perf's turns of 4 ms: how large errors are depends on how fast the program changes within an interval, how they grow less so. Twelve slots hold whole rotations of 2, 3, 4 and 6 groups; of 5 groups two have a turn more than the others, and not the same ones in each interval. Other rotations are in notebook 02c. The recordings have two or five events that take turns, the paper up to 36: here the share of time on a counter is that of 8 to 24 events, the number of events is not.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §II-B, §V-A, Figures 3 and 7. Lv, Sun and Yu, 2018 (GBRT paper), §2, Figure 1. Nikov, *ARMPM_BUILDMODEL*. Weaver, *perfevent_overhead*.

# %%
results.save()
