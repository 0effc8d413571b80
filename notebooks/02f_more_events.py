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
# *Reads* recordings of others that counted every event all the time: cBench (`a15-cbench`, comes with cmlib) and SPEC CPU2000 (`cmlib fetch spec2000`). *Writes* the error by the number of events, as CounterMiner's Figures 3 and 7 and the GBRT paper's Figure 1 draw it.
#
# More events than counters take turns on them in groups (*multiplexing*), and perf extrapolates each count from the time that its group was on. CounterMiner (§II-B, §V-A) multiplexes 10 to 36 events on four counters and compares them with other runs of the program. Where every event was counted all the time, such a rotation can be *replayed*: a part of the counts is hidden, and the truth is known exactly. Notebook 02 has recordings made with multiplexing, and explains the ways of cleaning.

# %% tags=["parameters"]
slots: int = 12  # turns in an interval, which the groups share; 60: each group has as many
settings: dict = {}  # profile, results_folder

# %%
import numpy as np
import pandas as pd
from IPython.display import Markdown

from cmlib import plot
from cmlib.clean.distance import dtw, folded_error
from cmlib.clean.shrinkage import clean_by_shrinkage
from cmlib.experiments import published, repair
from cmlib.report import paper
from cmlib.report.notebook import begin

limits = {"slots": (6, 60)}
notebook = begin("02f_more_events", settings, slots=slots)
results, counterminer, gbrt = notebook.results, paper("counterminer"), paper("gbrt")
COUNTERS = 4  # of the paper's processor; so many events are in a group
ROTATIONS = tuple((n, slots) for n in range(2, 7))
WAYS = repair.BASELINE_METHODS | {"shrinkage": clean_by_shrinkage}
LABELS = {"perf": "what perf prints", "lines": "straight lines",
          "counterminer": "CounterMiner's way", "shrinkage": "shrinkage"}

# %% [markdown]
# ## The recordings
#
# **Data.** Others' recordings, not the paper's: cBench on a Cortex-A15 (by Nikov), in *slots* of 0.5 s, and SPEC CPU2000 on an AMD processor (by Weaver), in slots of 100 million instructions; of each set at most twelve files of notebook 02c's lists; on those of cBench nothing was tuned, on those of SPEC *shrinkage* was. A slot is the time of one turn. Of two to six groups of events each has its turn once every two to six slots. An event then has a counter for a half to a sixth of the time, as 8 to 24 events have on the paper's four counters: the figures below count events so, four times the groups.

# %%
listed = repair.listed().query("set in ['a15-cbench', 'spec2000']").groupby("set").head(12)
cases = {name: {file: repair.cases(file, ROTATIONS) for file in files}
         for name, files in listed.groupby("set")["file"]}
rows = [{"set": name, "file": file.rpartition("/")[2], "intervals": len(of_file[0].counts),
         "events that take turns": len(of_file[0].truth.columns)}
        for name, files in cases.items() for file, of_file in files.items() if of_file]
files = pd.DataFrame(rows)
found = ", ".join(f"{count} of {name}" for name, count in files["set"].value_counts().items())
results.table(files, "files", f"**Table.** The first 8 of {len(files)} files ({found}; all in "
              f"files.csv), their intervals of {slots} slots, and how many events take turns in "
              "the replay.", rows=8)

# %% [markdown]
# One rotation, one event: what is seen is scaled by the share of the slots in which it was seen, as perf does.

# %%
case = next(iter(cases["a15-cbench"].values()))[1]
event = case.truth.columns[0]
shown = {"truth": case.truth, "share of the slots": case.shares, "as perf prints it": case.counts}
print(f"{event}, {case.name}, counts per interval")
pd.DataFrame({name: frame[event] for name, frame in shown.items()}).head().round(2)

# %% [markdown]
# ## What hiding does
#
# A rotation of $G$ groups in intervals of $K$ slots: slot $k$ of the recording belongs to group $k \bmod G$. $x_{ik}$ is what happened in slot $k$ of interval $i$, $x_i$ what happened in the whole interval. Of an event of group $g$ only its slots $T_i$ are seen, and what they hold is divided by their share $s_i$ of the interval, which gives what perf would print, $\hat x_i$:
#
# $$s_i = \frac{|T_i|}{K}, \qquad \hat x_i = \frac{1}{s_i} \sum_{k \in T_i} x_{ik}, \qquad x_i = \sum_{k=1}^{K} x_{ik}.$$
#
# First the formula on slots that hold 1 to 12, then that the shares of the first case obey it: all are whole numbers of slots, and their mean is $1/G$.

# %%
def replay(x, g, G, K):
    """What perf would print of the event of group g, whose count in slot k is x[k]."""
    x_hat = []
    for start in range(0, len(x) - K + 1, K):
        T_i = [k for k in range(start, start + K) if k % G == g]
        s_i = len(T_i) / K
        x_hat.append(sum(x[k] for k in T_i) / s_i)
    return x_hat


print("slots 1 to 12, three groups, intervals of six slots:",
      [replay(range(1, 13), g, G=3, K=6) for g in range(3)], "truth:", [21, 57])
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
def error(x_hat, x):
    """The formula above [%]."""
    return 100 * (x_hat - x).abs().sum() / x.sum()


def grows(cells):
    """Mean error by the number of groups, a column a way of cleaning."""
    return cells.groupby(["groups", "method"])["error"].mean().unstack()[list(WAYS)]


# %%
from cmlib.plot.style import PAPER


def mark_paper(ax, printed):
    """The paper's points: events, error and label."""
    for events, error, label in printed:
        ax.plot(events, error, **PAPER)
        ax.annotate(label, (events, error), (6, 0), textcoords="offset points", fontsize=8,
                    va="center")


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
    best = grown.mean().idxmin()
    return (f"*See:* from {COUNTERS * grown.index[0]} to {COUNTERS * grown.index[-1]} events the "
            f"error grows {', '.join(ends)}; lowest on average is {LABELS[best]}.")


# %%
grown = {}
for name, files in cases.items():
    if not any(files.values()):
        display(Markdown(published.how_to_get(name)))
        continue
    cells = repair.score_cases({"shrinkage": WAYS["shrinkage"]}, sum(files.values(), []))
    one = next(iter(filter(None, files.values())))[0]
    printed = cells[(cells["case"] == one.name) & (cells["method"] == "perf")].iloc[0]
    np.testing.assert_allclose(error(one.counts, one.truth)[printed["event"]], printed["error"])
    grown[name] = grows(cells.assign(groups=cells["case"].str.split().str[0].astype(int)))
    figure, _ = draw(grown[name], "[% of the mean]")
    n_files = sum(map(bool, files.values()))
    display(results.figure(figure, f"fig03-fig07-{name}",
                           "**CounterMiner, Fig. 3 and 7, by the truth.** Mean distance from the "
                           "true counts [% of the mean] by the number of events, before and after "
                           f"cleaning; {name}, {n_files} files, replayed. "
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
               f"number of events, before and after cleaning; a15-cbench, {len(first)} pairs of "
               "runs, replayed. Crosses: CounterMiner's, of another "
               f"processor and other programs; the GBRT paper prints a growth of "
               f"{growth['growth']} % from {growth['from_events']} to {growth['to_events']} "
               f"events. {describe_growth(folded)}")

# %%
every = {**{(name, "% of the mean"): one for name, one in grown.items()},
         ("a15-cbench", "% by Eq. 4"): folded}
every = pd.concat(every, names=["set", "measure"])
largest = every["perf"].xs("% of the mean", level="measure").idxmax()
results.table(every.reset_index(), "growth", "**Table.** All figures in numbers: errors [%] by the "
              "number of groups of four events and by way of cleaning. *See:* what "
              "perf prints is farthest from the truth "
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


def tell(way):
    """On how many mean distances a way errs less and more than what perf prints."""
    ratio = means[way] / means["perf"]
    return f"{LABELS[way]} {(ratio < 0.99).sum()} lower, {(ratio > 1.01).sum()} higher"


ends = [COUNTERS * every.index.unique("groups")[place] for place in (0, -1)]
display(results.finding(
    f"From {ends[0]} events on four counters to {ends[1]}, the error of what perf prints grows "
    f"{', '.join(growth)}."))
display(results.finding(
    f"Of {len(means)} mean distances from the truth, cleaning leaves by more than a hundredth: "
    f"{'; '.join(tell(way) for way in LABELS if way != 'perf')} than what perf prints. The "
    f"paper's fall at {list(cleaned)[0]} events, from {raw['mean']:g} to {cleaned[10]:g} % by "
    f"Eq. 4, is not seen: {folded.at[3, 'perf']:.1f} and {folded.at[3, 'counterminer']:.1f} % with "
    f"{3 * COUNTERS} events."))

# %% [markdown]
# ## What this doesn't show
#
# Slots of half a second or of 100 million instructions are coarser than perf's turns of 4 ms: how large errors are depends on how fast the program changes within an interval, how they grow less so. Twelve slots hold whole rotations of 2, 3, 4 and 6 groups; of 5 groups two have a turn more than the others, and not the same ones in each interval. Other rotations are in notebook 02c. The recordings have two or five events that take turns, the paper up to 36: here the share of time on a counter is that of 8 to 24 events, the number of events is not.
#
# ## On your own program
#
# This page is about published recordings alone; a program of your own needs no replay. `cmlib record NAME -- COMMAND` records it with and without multiplexing, and `cmlib run live 02_cleaning -p program=NAME` measures the error. Here, change `slots` first: with 60 all groups have as many turns in an interval.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §II-B, §V-A, Figures 3 and 7. Lv, Sun and Yu, 2018 (GBRT paper), §2, Figure 1. Nikov, *ARMPM_BUILDMODEL*. Weaver, *perfevent_overhead*.

# %%
results.save()
