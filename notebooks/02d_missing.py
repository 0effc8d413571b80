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
# # Missing values: is a zero a count?
#
# **Question.** When multiplexed counts read 0, did nothing happen or was nothing counted, and what does cleaning put in its place?
#
# *Reads* two published sets of recordings by others, `nfv-haswell` and `mlpx-ocoe` (without one of them, its part says how to get it: `cmlib fetch`). *Writes* where zeros are, what each cleaning makes of them, and how far that is from the truth where it is known.
#
# perf itself tells three things apart: `<not counted>` (the event had no turn on a counter), `<not supported>`, and 0 (it had a turn and did not happen). Where it prints running shares, the share of time on a counter, a zero beside a share above 0 was counted. CounterMiner (§III-B) takes zeros for missing values wherever an event's largest count is above 0.01, that is, wherever the event happens at all, and fills them from the five nearest samples (Eq. 8); the rest of its cleaning replaces peaks by a median (Eq. 6, 7). *Shrinkage*, cmlib's default (notebook 02c), moves each count towards its neighbours in time by as much as multiplexing may have added.

# %% tags=["parameters"]
file: str = "1-vnf-collocated-core-freq-1-all-fastclick"  # recording of nfv-haswell
event: str = ""  # drawn; empty: of the multiplexed events the one with most zeros
settings: dict = {}  # profile, results_folder

# %%
import io

import numpy as np
import pandas as pd
from IPython.display import Markdown

from cmlib import clean, plot
from cmlib.clean.uncounted import zeros_without_turn
from cmlib.experiments import published
from cmlib.io import public
from cmlib.report.notebook import begin

notebook = begin("02d_missing", settings, file=file, event=event)
results = notebook.results

# %% [markdown]
# ## Zeros that were counted
#
# **Data.** `nfv-haswell`, others' recording: packet processing on a Xeon E5-2690 v3, a processor of the paper's kind (but not the paper's data); one run, in intervals of a second, whose 31 events share four counters. perf prints a running share beside every count, so each zero below was counted: the event did not happen in the part of the second in which it had its turn. Of the rest of that second nothing is known. (The rarest event, `node-stores`, counts stores that go to memory; *fastclick* in the file's name is the packet processing.)

# %%
runs = published.counts_of(f"intervals/nfv-haswell/{file}.txt")
counts, running = runs[0] if runs else (pd.DataFrame(), pd.DataFrame())
if runs:
    turning = [name for name in counts if running[name].lt(1).any()]
    zeros = pd.DataFrame({"share": 100 * running.mean(), "no turn": counts.isna().sum(),
                          "zeros": counts.eq(0).sum(), "mean": counts.mean()}).loc[turning]
    event = event or zeros["zeros"].idxmax()
    shown = zeros.sort_values("zeros", ascending=False).rename_axis("event").reset_index()
    display(results.table(shown, "zeros", f"**Table.** The 4 with most zeros of {len(shown)} "
                          f"multiplexed events of `{file}` (all in zeros.csv): running share [%], "
                          f"intervals of {len(counts)} without a turn and with a counted zero, "
                          "mean count. *See:* events with counted zeros: "
                          f"{(shown['zeros'] > 0).sum()}.", rows=4, decimals=1))
else:
    display(Markdown(published.how_to_get("nfv-haswell")))

# %% [markdown]
# perf prints each count $c$ that it saw in a share $s$ of the interval as $c / s$. With a share of a thirteenth, one occurrence seen is printed as 13, none as 0: a single value is coarse, and right on average. The paper takes the 0 of the series (Eq. 8)
#
# $$\{X_1, X_2, X_3, X_4, X_5, 0, X_7, \dots, X_i, \dots, X_m\} \tag{8}$$
#
# for missing, and puts the mean of the five nearest neighbours in its place, those that are not zero:
#
# $$\hat{X}_i = \frac{1}{k} \sum_{j \in N_k(i)} X_j, \quad X_j > 0, \quad k = 5.$$
#
# $N_k(i)$ are the places of the $k$ nearest values above 0. After multiplexing that counts the same occurrences again: what happened in the part that was not seen is already in the 13.

# %%
def fill_zeros(X, k=5):
    """Eq. 8: a zero becomes the mean of its k nearest neighbours that are not zero."""
    X_hat, above = X.copy(), np.flatnonzero(X > 0)
    for i in np.flatnonzero(X == 0):
        N_k = above[np.argsort(abs(above - i), kind="stable")[:k]]  # earlier first, if as near
        X_hat[i] = X[N_k].mean()
    return X_hat


if runs:
    X = counts[event].to_numpy(float)
    np.testing.assert_allclose(fill_zeros(X), clean.fill_missing(X, X == 0))
    print(f"{event}: cmlib.clean.fill_missing gives the same for all {(X == 0).sum()} zeros")

# %%
if runs:
    filled = pd.Series(fill_zeros(X), counts.index)
    ways = {"MLPX": counts[event], "Eq. 8 alone": filled}
    for name, way in (("counterminer-printed", "the paper's cleaning, without shares"),
                      ("counterminer", "the paper's cleaning, with shares"),
                      ("shrinkage", "shrinkage")):
        ways[way] = clean.clean_run(counts[turning], running[turning], method=name)[0][event]
    lines = {"MLPX": ways["MLPX"], "MLPX-CLN": ways["the paper's cleaning, without shares"]}
    lines = {name: values.iloc[10:70] for name, values in lines.items()}
    marks = lines["MLPX-CLN"][lines["MLPX"] == 0]
    title = f"{event}: {len(marks)} zeros in {len(lines['MLPX'])} intervals"
    figure, _ = plot.series(lines, marks=marks, ylabel="count per interval", title=title)
    display(results.figure(figure, "fig02b-fig05b",
                           "**CounterMiner, Fig. 2 b and 5 b.** What perf printed (MLPX), and what "
                           "the paper's cleaning without running shares makes of it (MLPX-CLN; "
                           "rings: in place of a zero; elsewhere it lies on MLPX), in 60 intervals "
                           "without great peaks; the paper's figures show gaps filled likewise, of "
                           "another event. Others' hardware (nfv-haswell). *See:* each of "
                           f"{len(marks)} zeros becomes a count, of {marks.mean():,.0f} on "
                           "average, so that the intervals drawn hold "
                           f"{lines['MLPX-CLN'].sum() / lines['MLPX'].sum():.1f} times what perf "
                           "printed. Which line is nearer in a single interval is not known."))

# %%
totals = pd.DataFrame(columns=["way", "total"])
if runs:
    totals = pd.DataFrame([(name, values.sum()) for name, values in ways.items()],
                          columns=["way", "total"])
    totals["of printed [%]"] = 100 * totals["total"] / totals["total"].iloc[0]
    by_way = totals.set_index("way")["of printed [%]"]
    display(results.table(totals, "totals", f"**Table.** Total of `{event}` over the run by "
                          "each way; MLPX is what perf printed, whose total is right on average. "
                          "Without running shares the paper's cleaning fills zeros and cuts peaks; "
                          "told by the shares which zeros were counted, it only cuts peaks. *See:* "
                          "a total far from 100 % is wrong; one near 100 % need not be right in "
                          "its intervals: without shares, two errors cancel.", decimals=0))
    without, known = (by_way[f"the paper's cleaning, {how} shares"] for how in ("without", "with"))
    display(results.finding(
        f"Where running shares tell, nothing happened: {event} (nfv-haswell) was counted in all "
        f"{zeros.at[event, 'zeros']:.0f} of {len(counts)} intervals that read 0, and the paper's "
        f"filling (Eq. 8) makes its total {by_way['Eq. 8 alone']:.0f} % of what perf printed. It "
        f"was on a counter for {zeros.at[event, 'share']:.1f} % of the time. The paper's whole "
        f"cleaning, which cuts peaks as well, makes the total {without:.0f} % "
        f"without the shares, and {known:.0f} % with them, as it then only cuts peaks; *shrinkage* "
        f"{by_way['shrinkage']:.0f} %."))

# %% [markdown]
# ## Zeros that were not counted
#
# **Data.** `mlpx-ocoe`, others' recordings: 1,016 programs in a container, each run with 20 events at once, and again with four events at a time, which is taken for the truth. Its authors wrote 0 for `<not counted>` and no running shares. A row is a run here, not an interval.

# %%
names = [f"mlpx-ocoe/{name}.10s.csv" for name in ("20_per_1_time", "4_per_5_times")]
content = [public.read(name) for name in names]
if all(content):
    many, few = (pd.read_csv(io.BytesIO(part)).drop(columns="label") for part in content)
    hidden = zeros_without_turn(many)
    order = pd.DataFrame({"zero at once": many.eq(0).sum(), "zero four at a time": few.eq(0).sum(),
                          "recognized as not counted": hidden.sum()})
    last = pd.concat([order.tail(11), order.head(-11)])
    display(results.table(last.rename_axis("event").reset_index(), "order",
                          f"**Table.** Runs of {len(many):,} that read 0, by event in the order in "
                          "which perf was given them, and those that the check below recognizes "
                          f"as not counted. *See:* {(order['zero at once'] > 0).sum()} of "
                          f"{len(order)} events, the last of the list, read 0 at all.", rows=11))
else:
    display(Markdown(published.how_to_get("mlpx-ocoe")))

# %% [markdown]
# No other run is needed to see it. A program that is over before every group had its turn leaves the last of the list without a count, so that with $z_{ij} = 1$ where event $j$ of the list reads 0 in row $i$
#
# $$z_{ij} = 1 \;\Rightarrow\; z_{ik} = 1 \quad \text{for all } k > j.$$
#
# In words: once a zero, zeros to the end of the list. Where that holds for every zero of a table, and zeros begin at three different events or more, `cmlib.clean.uncounted.zeros_without_turn` takes zeros for what was not counted, and `cmlib summarize` says so.

# %%
if all(content):
    starts = hidden.to_numpy().argmax(axis=1)[hidden.any(axis=1)]
    found = hidden.to_numpy().sum() / max(1, many.eq(0).to_numpy().sum())
    listed = pd.Series(many.columns[starts]).value_counts().reindex(many.columns, fill_value=0)
    began = listed[listed > 0].rename_axis("first event that reads 0").rename("rows").reset_index()
    display(results.table(began, "starts", "**Table.** With which event the zeros of a run "
                          f"begin, and in how many runs. *See:* {len(began)} different events."))
    truly = int(few.to_numpy()[many.eq(0).to_numpy()].astype(bool).sum())
    results.number("zeros of mlpx-ocoe recognized as not counted", 100 * found, "%",
                   note=f"of {many.eq(0).to_numpy().sum():,}; the truth is above 0 in {truly:,}")

# %% [markdown]
# What each way puts there, beside the truth: the 0 itself, straight lines between rows (*interpolate*), or Eq. 8. **A row's neighbours are other programs here, not the next intervals as in the paper**, so this is no test of Eq. 8 as the paper uses it: it shows what filling does to a table without times. Nothing in the file tells what a program did that was not counted.

# %%
rows = []
if all(content):
    for name in many.columns[hidden.any()]:
        at, truth = hidden[name].to_numpy(), few[name].to_numpy(float)
        read = many[name].to_numpy(float)
        lines, _ = clean.clean_series(np.where(at, np.nan, read), method="interpolate")
        ways = {"left at 0": read, "interpolate": lines, "Eq. 8": fill_zeros(read)}
        for way, series in ways.items():
            ratio = series[at] / truth[at]
            rows.append((name, way, at.sum(), np.median(truth[at]), np.median(series[at]),
                         np.median(ratio), 100 * np.mean((ratio > 0.5) & (ratio < 2))))
columns = ["event", "way", "rows", "truth", "filled", "filled / truth", "within factor 2 [%]"]
filled = pd.DataFrame(rows, columns=columns)
if all(content):
    own = filled[filled["way"] == "Eq. 8"].sort_values("filled / truth")
    ends = filled["event"].isin(own["event"].iloc[[0, -1]])
    filled = pd.concat([filled[ends], filled[~ends]])
    display(results.table(
        filled, "filled", "**Table.** The 2 events that Eq. 8 fills with least and with most times "
        f"the truth, by each way, of {len(filled)} rows (all in filled.csv), in runs that read 0: "
        "median of the true count, of what is put there, and of their ratio. *See:* a zero that "
        "is left is as wrong, but shows.", rows=ends.sum(), decimals=1))

# %%
if all(content):
    wide = own.assign(label=own["event"])
    figure, _ = plot.ranking({"filled by Eq. 8 from other programs' rows": wide},
                             value="filled / truth", label="label",
                             xlabel="filled / true count, median", columns=1)
    figure.axes[0].set(xscale="log", xlim=(1, None))
    figure.axes[0].xaxis.set_major_formatter("{x:,.0f}")
    display(results.figure(figure, "filled",
                           "**Figure.** What Eq. 8 puts in place of zeros, from the nearest rows, "
                           "which are other programs, as a multiple of the true "
                           "count (median of the "
                           "runs that read 0; log scale; 1, the left edge, is right); others' "
                           "hardware (mlpx-ocoe). *See:* up to "
                           f"{wide['filled / truth'].max():,.0f} times the truth."))
    most, ends = order["zero at once"], own["filled / truth"].agg(["min", "max"])
    display(results.finding(
        "Without running shares a zero can be anything: "
        f"{hidden.any().sum()} events of mlpx-ocoe read 0 in {most[most > 0].min()} to "
        f"{most.max()} of {len(many):,} runs and were never 0. By the order of the list "
        f"{100 * found:.0f} % of these zeros are recognized as not counted, without sight of the "
        "truth, but by a rule that was found on this file (which has no true zeros, so false "
        "alarms can't be measured). Filled as by Eq. 8, from rows that are other programs and not "
        f"the next intervals as in the paper, they are {ends['min']:,.1f} to {ends['max']:,.0f} "
        "times the truth (medians by event): no cleaning replaces a count that was not made."))

# %% [markdown]
# ## What this doesn't show
#
# Of counted zeros (nfv-haswell) no truth is known interval by interval; what is certain is the total of what was counted. The recordings that counted every event all the time hold no event that is rare enough to read 0. The rule was seen on this file and is tested on it. It takes zeros for missing only where they are nested in the order of the list; a table with reordered columns, or one in which true zeros lie between, is left as it is.
#
# ## On your own program
#
# This page is about published data alone. `cmlib summarize FILE` says of your own recording which zeros were not counted, and leaves them out; `cmlib import NAME FILE` and `cmlib run live 02e_outliers -p program=NAME` show what cleaning changes in it. Here, change `event` first: which series the first figure draws.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §II-B, §III-B, Figures 2 and 5. Recordings: theleos88, ml-for-highspeed-networks; kissaxin572, HPC_Classification.

# %%
display(results.numbers())
results.save()
