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
# # More events: how multiplexing errors grow
#
# **Question.** How does the error of multiplexed counts grow as more events share four counters, before and after cleaning?
#
# *Reads* recordings of others that counted every event all the time: cBench (`a15-cbench`, comes with cmlib) and SPEC CPU2000 (`cmlib fetch spec2000`). *Writes* the error by the number of events, as CounterMiner's Figures 3 and 7 and the GBRT paper's Figure 1 draw it.
#
# More events than counters take turns on them in groups (*multiplexing*), and perf extrapolates each count from the time that its group was on. CounterMiner (§II-B, §V-A) multiplexes 10 to 36 events on four counters and compares them with other runs of the program. Where every event was counted all the time, such a rotation can be *replayed*: a part of the counts is hidden, and the truth is known exactly. What is varied here is the share of time that an event has a counter, a half to a ninth, as it would be for 8 to 36 events on four counters; the recordings themselves have two or five events.
#
# Three ways of cleaning are compared with what perf prints: **CounterMiner's** replaces peaks by a median (Eq. 6, 7) and fills what was not counted from its nearest neighbours (Eq. 8); **straight lines** joins the stretches that were counted (Mathur and Cook); **shrinkage**, cmlib's default, moves each count towards its neighbours in time, as far as their differences look like error of multiplexing; where every interval holds whole rotations (all groups as often, as here for 8, 12, 16 and 24 events), it leaves counts as they are. With 20, 28, 32 and 36 events some groups have a turn more than the others in each interval. Notebooks studies/repair and studies/outliers have them step by step.

# %% [markdown] tags=["answer"]
# > **Answer** (cBench on an Arm Cortex-A15 and SPEC CPU2000, recorded by others and multiplexed here, default parameters). The error of perf's counts grows with the number of events: on cBench, by Eq. 4, from **21.6 %** with 8 events on four counters to **46.1 %** with 24 and **60.9 %** with 36. The paper's cleaning makes it larger, not smaller (**30.4 %** with 8 events; the paper: 28.3 % before and 5.3 % after cleaning, with 10 events). From 8 to 36 events the error grows by **182 %**; the GBRT paper prints 46 % from 10 to 36. Shrinkage leaves **1.00** times perf's distance from the truth on cBench and **0.99** times on SPEC CPU2000. Straight lines help on SPEC CPU2000 (**0.87** times) and harm on cBench (**1.36** times).

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
notebook = begin("more_events", settings, slots=slots)
results, counterminer, gbrt = notebook.results, paper("counterminer"), paper("gbrt")
COUNTERS = 4  # of the paper's processor; so many events are in a group
ROTATIONS = tuple((n, slots) for n in range(2, 10))
WAYS = repair.BASELINE_METHODS | {"shrinkage": clean_by_shrinkage}
LABELS = {"perf": "what perf prints", "lines": "straight lines",
          "counterminer": "CounterMiner's way", "shrinkage": "shrinkage"}

# %% [markdown]
# ## The recordings
#
# A *slot* is the time of one turn: 0.5 s in the recordings of cBench, 100 million instructions in those of SPEC. Of two to nine groups of events each has its turn once every two to nine slots. No constant of any cleaning was set on cBench; some of shrinkage's were on SPEC.

# %%
listed = repair.listed().query("set in ['a15-cbench', 'spec2000']").groupby("set").head(12)
cases = {name: {file: repair.cases(file, ROTATIONS) for file in files}
         for name, files in listed.groupby("set")["file"]}
ABOUT = {"a15-cbench": "cBench, its programs one after another, on a Cortex-A15 (by Nikov)",
         "spec2000": "SPEC CPU2000 on an AMD processor (by Weaver)"}
have = {name: [of_file for of_file in files.values() if of_file] for name, files in cases.items()}
used = listed[listed["file"].isin([file for files in cases.values() for file in files
                                   if files[file]])].groupby("set")["program"].nunique()
found = "; ".join(f"{ABOUT[name]}: {len(of)} recordings"
                  + f" of {used[name]} programs" * int(used[name] > 1)
                  + f", with {len(of[0][0].truth.columns)} events that take turns"
                  for name, of in have.items() if of)
display(Markdown(f"**Data.** Others' published recordings, not the paper's, and multiplexed here "
                 f"by replay, not by a processor. {found}."))

# %% [markdown]
# One rotation, one event: what is seen is scaled by the share of the slots in which it was seen, as perf does.

# %%
case = next(iter(cases["a15-cbench"].values()))[1]
event = case.truth.columns[0]
shown = {"truth": case.truth, "share of the slots": case.shares, "as perf prints it": case.counts}
print(f"{event}, {case.name} an interval, counts per interval. Single intervals can be far off:")
frame = pd.DataFrame({name: one[event] for name, one in shown.items()}).head()
display(frame.apply(lambda c: c.map(("{:.2f}" if "share" in c.name else "{:,.0f}").format)))

# %% [markdown]
# ## What hiding does
#
# A rotation of $G$ groups in intervals of $K$ slots: slot $k$ of the recording belongs to group $k \bmod G$. $x_{ik}$ is what happened in slot $k$ of interval $i$, $x_i$ what happened in the whole interval. Of an event of group $g$ only its slots $T_i$ are seen, and what they hold is divided by their share $s_i$ of the interval, which gives what perf would print, $\hat x_i$:
#
# $$s_i = \frac{|T_i|}{K}, \qquad \hat x_i = \frac{1}{s_i} \sum_{k \in T_i} x_{ik}, \qquad x_i = \sum_{k=1}^{K} x_{ik}.$$
#
# First the formula on slots that hold 1 to 12, then that the shares of the rotation above obey it: all are whole numbers of slots, and their mean is $1/G$.

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
        ax.annotate(label, (events, error), (8, 0), textcoords="offset points", fontsize=8,
                    va="center")


@plot.styled
def draw(grown, measure, printed=()):
    """A mark for each way of cleaning, and the paper's points."""
    figure, (ax,) = plot.panels([""], height=3.2)
    for number, (way, colour) in enumerate(zip(LABELS, plot.palette(4), strict=True)):
        events = COUNTERS * grown.index + 0.5 * (number - 1.5)
        ax.plot(events, grown[way], "osD^"[number], color=colour, ms=6, label=LABELS[way])
    mark_paper(ax, printed)
    ax.set(xlabel="events on four counters, of which each is counted 4 / events of the time",
           ylabel=f"error {measure}", xticks=COUNTERS * grown.index, ylim=(0, None))
    ax.margins(x=0.08)
    plot.legend_below(figure, ax, 4)
    return figure, ax

# %%
def describe_growth(grown):
    """From the fewest events to the most, before cleaning and after it."""
    ends = [f"from {grown[way].iloc[0]:.1f} to {grown[way].iloc[-1]:.1f} % ({LABELS[way]})"
            for way in ("perf", "counterminer", "shrinkage")]
    best, top = grown.mean().idxmin(), COUNTERS * grown["perf"].idxmax()
    highest = "" if top == COUNTERS * grown.index[-1] else f"perf's is highest at {top}; "
    return (f"*See:* from {COUNTERS * grown.index[0]} to {COUNTERS * grown.index[-1]} events the "
            f"error grows {', '.join(ends)}; {highest}lowest on average is {LABELS[best]}.")


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
# The paper has no truth, only other runs. Its error compares the distance of a multiplexed run from an unmultiplexed one (Eq. 3) with the distance of two unmultiplexed runs (Eq. 2), both by dynamic time warping (DTW, the least sum of differences over all ways of stretching two series in time; Eq. 1):
#
# $$dist = DTW(S_1, S_2) \tag{1}$$
# $$dist_{ref} = DTW(S_{ocoe1}, S_{ocoe2}) \tag{2}$$
# $$dist_{mea} = DTW(S_{mlpx}, S_{ocoe}) \tag{3}$$
# $$error = \left|1 - \frac{dist_{ref}}{dist_{mea}}\right| \times 100\,\% \tag{4}$$
#
# cBench was recorded twice at each clock: $S_{ocoe1}$ is an event in one run, $S_{mlpx}$ the same with its rotation replayed, $S_{ocoe2}$ the event in the other run (*ocoe*: one counter, one event, all the time). Two such runs differ little, so Eq. 4 is large where the plain distance above is small: it says by how much multiplexing adds to that difference.


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
               "processor and other programs. The GBRT paper (Fig. 1) has an error at "
               f"{growth['to_events']} events {growth['growth']} % above that at "
               f"{growth['from_events']}; here that at {COUNTERS * folded.index[-1]} is "
               f"{100 * (folded.at[9, 'perf'] / folded.at[2, 'perf'] - 1):.0f} % above that at "
               f"{COUNTERS * folded.index[0]}. {describe_growth(folded)}")

# %%
every = {**{(name, "% of the mean"): one for name, one in grown.items()},
         ("a15-cbench", "% by Eq. 4"): folded}
every = pd.concat(every, names=["set", "measure"])
display(results.table(
    every.reset_index(), "growth", "**Table.** Errors [%] of the figures by set, measure, number "
    f"of groups of four events and way of cleaning: the first 5 of {len(every)} rows (all in "
    "growth.csv).", rows=5, decimals=2))

# %% [markdown]
# ## What the paper printed, and what was measured here
#
# The paper's numbers are of its own programs and processor; these are of a15-cbench. The replay has no 10 events: 8 and 12 stand beside the paper's 10.

# %%
for n, events, way, of_paper in [(2, 10, "perf", raw["mean"]), (3, 10, "perf", raw["mean"]),
                              (2, 10, "counterminer", cleaned[10]),
                              (3, 10, "counterminer", cleaned[10]),
                              (6, 24, "counterminer", cleaned[24]),
                              (6, 24, "perf", None), (9, 36, "perf", None),
                              (9, 36, "counterminer", None)]:
    results.number(f"error by Eq. 4, {COUNTERS * n} events, {LABELS[way]}", folded.at[n, way], "%",
                   paper=of_paper, note="cBench on an Arm Cortex-A15 (a15-cbench), replayed; the "
                                     f"paper: {events} events")
for name, by_groups in grown.items():
    results.number(f"distance from the truth, 36 events, {LABELS['perf']}, {name}",
                   by_groups.at[9, "perf"], "%", note="replayed")
growth_here = 100 * (folded.at[9, "perf"] / folded.at[2, "perf"] - 1)
results.number("growth of the error by Eq. 4, 8 to 36 events, what perf prints", growth_here, "%",
               paper=growth["growth"], note="a15-cbench, replayed; the paper: 10 to 36 events")
display(results.numbers())

# %%
means = every.xs("% of the mean", level="measure")
means_by_set = every.xs("% of the mean", level="measure", drop_level=False)
CLEANED = [way for way in LABELS if way != "perf"]
ratios = means.div(means["perf"], axis=0).groupby("set", sort=False).mean()[CLEANED]
for name, row in ratios.iterrows():
    for way in CLEANED:
        results.number(f"distance from the truth / what perf prints, {LABELS[way]}, {name}",
                       row[way])
helps = [LABELS[way] for way in CLEANED if (ratios[way] < 0.995).all()]
helps = f"{' and '.join(helps)} help" if helps else "no cleaning helps"
replayed = [case for files in cases.values() for case in sum(files.values(), [])]
moved = [error(WAYS["shrinkage"](case.counts, case.shares).stack(), case.counts.stack())
         for case in replayed]
ends = [COUNTERS * every.index.unique("groups")[place] for place in (0, -1)]


def tell(way):
    """The distance that a way of cleaning leaves, as a multiple of what perf prints."""
    return f"{LABELS[way]} {' and '.join(f'{times:.2f}' for times in ratios[way])}"


def describe_perf(name, one):
    """From the fewest events to the most, and where it is highest if not there."""
    perf = one["perf"].droplevel(["set", "measure"])
    at = perf.idxmax()
    top = "" if at == perf.index[-1] else f" (highest at {COUNTERS * at})"
    return f"from {perf.iloc[0]:.1f} to {perf.iloc[-1]:.1f} %{top} on {name}"


# %%
distances = [describe_perf(name, one) for name, one in means_by_set.groupby("set", sort=False)]
display(results.finding(
    f"From {ends[0]} to {ends[1]} events on four counters perf's distance from the truth grows "
    f"{' and '.join(distances)}, its error by Eq. 4 from {folded['perf'].iloc[0]:.1f} to "
    f"{folded['perf'].iloc[-1]:.1f} % (a15-cbench), and {helps} on every set. Beside "
    f"perf's distance (1), {', '.join(map(tell, CLEANED))} (means over the numbers of events, in "
    "this order of the sets). Shrinkage leaves whole rotations as they are: of no recording does "
    f"it change the counts by more than {max(moved):.2g} %, on average."))
display(results.finding(
    "Eq. 4 relates the distance to that between two runs. By it the "
    f"paper's fall by cleaning at 10 events, from {raw['mean']:g} to {cleaned[10]:g} %, is not "
    f"seen: {folded.at[2, 'perf']:.1f} to {folded.at[2, 'counterminer']:.1f} % at 8 events and "
    f"{folded.at[3, 'perf']:.1f} to {folded.at[3, 'counterminer']:.1f} % at 12."))

# %% [markdown]
# ## What this doesn't show
#
# Slots of half a second or of 100 million instructions are coarser than perf's turns of 4 ms. Twelve slots hold whole rotations of 2, 3, 4 and 6 groups; of 5, 7, 8 and 9 groups some have a turn more than the others, and not the same ones in each interval. Other rotations are in notebook studies/repair. The number of events is not varied, only the share of time that each is counted: what more events would add beside that, such as more rare ones, can't show.
#
# ## On your own program
#
# This page is about published recordings alone; a program of your own needs no replay. `cmlib record NAME -- COMMAND` records it with and without multiplexing, and `cmlib run live 02_cleaning -p program=NAME` measures the error. Here, change `slots` first: with 60 all groups have as many turns in an interval.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §II-B, §V-A, Figures 3 and 7. Lv, Sun and Yu, 2018 (GBRT paper), §2, Figure 1. Nikov, *ARMPM_BUILDMODEL*. Weaver, *perfevent_overhead*.

# %%
results.save()
