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
# # Missing values: is a zero a count?
#
# **Question.** When a multiplexed count reads 0, was it counted or not, and what does cleaning put in its place?
#
# *Reads* two published sets of recordings by others, `nfv-haswell` and `mlpx-ocoe` (without one of them, its part says how to get it: `cmlib fetch`). *Writes* where zeros are, what each cleaning makes of them, and how far that is from the truth where it is known.
#
# perf itself tells three things apart: `<not counted>` (the event had no turn on a counter), `<not supported>`, and 0 (it had a turn and did not happen). Where it prints running shares, the share of time on a counter, a zero beside a share above 0 was counted: nothing happened while the event had its turn. CounterMiner (§III-B) takes zeros for missing values wherever an event's largest count is above 0.01, that is, wherever the event happens at all, and fills them from the five nearest samples (Eq. 8); the rest of its cleaning replaces peaks by a median (Eq. 6, 7). *Shrinkage*, cmlib's default (notebook studies/repair), moves each count towards its neighbours in time by as much as multiplexing may have added.

# %% [markdown] tags=["answer"]
# > **Answer** (recordings by others: `nfv-haswell`, and `mlpx-ocoe` where it was fetched; default parameters). If perf prints running shares, a zero is a count: the event was on a counter and did not happen. Filling such zeros by Eq. 8 inflates the total of `node-stores` to **173 %** of what perf printed; shrinkage leaves it at **100 %**. Without running shares a zero can mean that nothing was counted. A rule by the order of the events recognizes **100 %** of these zeros in `mlpx-ocoe`, but that file has no true zeros, so its false alarms are unknown.

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
from cmlib.experiments import published
from cmlib.intervals import zeros_without_turn
from cmlib.io import public
from cmlib.report.notebook import begin

notebook = begin("missing_counts", settings, file=file, event=event)
results = notebook.results

# %% [markdown]
# ## Zeros that were counted
#
# **Data.** `nfv-haswell`, others' recording, not the paper's data: packet processing (*fastclick*) on a Xeon E5-2690 v3; one run, in intervals of a second, whose 26 hardware events take turns (5 software events need no counter). perf prints a running share beside every count, so each zero below was counted, in the part of the second in which the event had its turn; of the rest of that second nothing is known. (`node-stores`: stores that go to memory.)

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
# perf prints each count $c$ that it saw in a share $s$ of the interval as $c / s$. With a share of a thirteenth, one occurrence seen is printed as 13, none as 0: a single value is coarse, the mean of many is not. The paper takes the 0 of the series (Eq. 8)
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
    spread = ways["MLPX"].std() * np.sqrt(len(counts))
    totals["of printed [%]"] = 100 * totals["total"] / totals["total"].iloc[0]
    by_way = totals.set_index("way")["of printed [%]"]
    display(results.table(totals, "totals", f"**Table.** Total of `{event}` over the run by "
                          "each way; MLPX is what perf printed (standard error, by the spread of "
                          f"its intervals, {100 * spread / ways['MLPX'].sum():.0f} %). "
                          "Without running shares the paper's cleaning fills zeros and cuts peaks; "
                          "told by the shares which zeros were counted, it only cuts peaks. *See:* "
                          "a total far from 100 % is wrong; one near 100 % need not be right in "
                          "its intervals: without shares, two errors cancel.", decimals=0))
    without, known = (by_way[f"the paper's cleaning, {how} shares"] for how in ("without", "with"))

# %%
def filled_totals(file):
    """Total by Eq. 8 [% of what perf printed] of each event of a file that reads 0 at times."""
    for counts, running in published.counts_of(file):
        for name in counts.columns[counts.eq(0).any() & (counts.sum() > 0) & running.lt(1).any()]:
            X = counts[name].dropna().to_numpy(float)
            yield (file.rpartition("/")[2], name, len(X), (X == 0).sum(),
                   100 * fill_zeros(X).sum() / X.sum())


if runs:
    every = published.files_like("nfv-haswell", r".+\.txt")["file"]
    every = pd.DataFrame([row for name in every for row in filled_totals(name)], columns=[
        "file", "event", "intervals", "zeros", "by Eq. 8, of printed [%]"])
    every = every.sort_values("zeros", ascending=False, kind="stable")
    of_printed = every["by Eq. 8, of printed [%]"]
    n_files = every["file"].nunique()
    display(results.table(every, "every", f"**Table.** The same in all {n_files} files of the set: "
                          f"the 6 of {len(every)} series with most counted zeros (all in "
                          "every.csv). *See:* by Eq. 8 the total of a series is "
                          f"{of_printed.min():.0f} to {of_printed.max():.0f} % of what perf "
                          "printed.", rows=6, decimals=0))

# %%
if runs:
    for way in ("Eq. 8 alone", "shrinkage"):
        results.number(f"total of {event} with its zeros filled, {way}", by_way[way],
                       "% of what perf printed")
    display(results.finding(
        f"Where perf prints running shares a zero is a count: `{event}` was on a counter in all "
        f"{zeros.at[event, 'zeros']:.0f} of {len(counts)} intervals that read 0, for "
        f"{zeros.at[event, 'share']:.1f} % of the time (nfv-haswell, others' hardware); what "
        "happened in the rest is not known. Filling them (Eq. 8) makes the total "
        f"{by_way['Eq. 8 alone']:.0f} % of what perf printed (all {len(every)} series with zeros, "
        f"{n_files} files: {of_printed.min():.0f} to {of_printed.max():.0f} %), the paper's whole "
        f"cleaning, which cuts peaks as well, {without:.0f} % without the shares and {known:.0f} % "
        f"with them, *shrinkage* {by_way['shrinkage']:.0f} %."))

# %% [markdown]
# ## Zeros that were not counted
#
# **Data.** `mlpx-ocoe`, others' recordings on a machine that they don't name: 1,016 programs in a container, each run with 20 events at once, and again with four events at a time, which is taken for the truth. Its authors wrote 0 for `<not counted>` and no running shares. A row of the file is a whole run of a program, not an interval.

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
                          "which perf was given them, and those that the rule below recognizes "
                          f"as not counted. *See:* {(order['zero at once'] > 0).sum()} of "
                          f"{len(order)} events, the last of the list, read 0 at all.", rows=11))
else:
    display(Markdown(published.how_to_get("mlpx-ocoe")))

# %% [markdown]
# No other run is needed to see it. A program that is over before every group had its turn leaves the last of the list without a count, so that with $z_{ij} = 1$ where event $j$ of the list reads 0 in run $i$
#
# $$z_{ij} = 1 \;\Rightarrow\; z_{ik} = 1 \quad \text{for all } k > j.$$
#
# In words: once a zero, zeros to the end of the list. Where that holds for every zero of a table, and zeros begin at three different events or more, `cmlib.intervals.zeros_without_turn` takes all of them for what was not counted, else none, and `cmlib summarize` says so.

# %%
if all(content):
    starts = hidden.to_numpy().argmax(axis=1)[hidden.any(axis=1)]
    found = hidden.to_numpy().sum() / max(1, many.eq(0).to_numpy().sum())
    listed = pd.Series(many.columns[starts]).value_counts().reindex(many.columns, fill_value=0)
    began = listed[listed > 0].rename_axis("first event that reads 0").rename("runs").reset_index()
    display(results.table(began, "starts", "**Table.** With which event the zeros of a run "
                          f"begin, and in how many runs. *See:* {len(began)} different events."))
    truly = int(few.to_numpy()[many.eq(0).to_numpy()].astype(bool).sum())
    results.number("zeros of mlpx-ocoe recognized as not counted", 100 * found, "%",
                   note=f"of {many.eq(0).to_numpy().sum():,}; the truth is above 0 in {truly:,}")

# %% [markdown]
# What each way puts there, beside the truth: the 0 itself, straight lines between runs (*interpolate*), or Eq. 8. **A run's neighbours in the file are other programs, not the next intervals as in the paper**, so this is no test of Eq. 8 as the paper uses it: it shows what filling does to a table without times.

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
columns = ["event", "way", "runs", "truth", "filled", "filled / truth", "within factor 2 [%]"]
filled = pd.DataFrame(rows, columns=columns)
if all(content):
    own = filled[filled["way"] == "Eq. 8"].sort_values("filled / truth")
    ends = filled["event"].isin(own["event"].iloc[[0, -1]])
    filled = pd.concat([filled[ends], filled[~ends]])
    display(results.table(
        filled, "filled", "**Table.** The 2 events that Eq. 8 fills with least and with most times "
        f"the truth, by each way, of {len(filled)} rows (all in filled.csv), in runs that read 0: "
        "median of the true count, of what is put there, and of their ratio. *See:* at most "
        f"{filled[columns[-1]].max():.0f} % of the runs are within a factor 2.",
        rows=ends.sum(), decimals=1))

# %%
if all(content):
    wide = own.assign(label=own["event"])
    figure, _ = plot.ranking({"filled by Eq. 8 from other programs' runs": wide},
                             value="filled / truth", label="label",
                             xlabel="filled / true count, median", columns=1)
    figure.axes[0].set(xscale="log", xlim=(1, None))
    figure.axes[0].xaxis.set_major_formatter("{x:,.0f}")
    display(results.figure(figure, "filled",
                           "**Figure.** What Eq. 8 puts in place of zeros, from the nearest runs "
                           "of the file, which are other programs, as a multiple of the true "
                           "count (median of the "
                           "runs that read 0; log scale; 1, the left edge, is right); others' "
                           "hardware (mlpx-ocoe). *See:* up to "
                           f"{wide['filled / truth'].max():,.0f} times the truth."))
    most, ends = order["zero at once"], own["filled / truth"].agg(["min", "max"])
    display(results.finding(
        f"Without running shares a zero can be anything: {many.eq(0).to_numpy().sum():,} zeros of "
        f"mlpx-ocoe (others' hardware; {hidden.any().sum()} events, each in {most[most > 0].min()} "
        f"to {most.max()} of {len(many):,} runs) were not counted, as counted four at a time these "
        f"events always happened. A rule by the order of the list takes {100 * found:.0f} % of "
        "them for not counted; it was found on this file, which has no true zeros, so false alarms "
        "can't be measured. Filled by Eq. 8, from runs that are other programs and not the next "
        f"intervals as in the paper, they are {ends['min']:,.1f} to {ends['max']:,.0f} times the "
        "truth (medians by event)."))

# %% [markdown]
# ## What this doesn't show
#
# Of counted zeros (nfv-haswell) no truth is known interval by interval; what is certain is the total of what was counted. The recordings that counted every event all the time hold no event that is rare enough to read 0. The rule was seen on this file and is tested on it. It takes zeros for missing only where they are nested in the order of the list; a table with reordered columns, or one in which true zeros lie between, is left as it is.
#
# ## On your own program
#
# This page is about published data alone: `cmlib run paper missing_counts -p file=NAME` has another file of nfv-haswell (every.csv lists them); `file` is the parameter to change first. `cmlib summarize FILE` says of a recording of your own which zeros were not counted, and leaves them out; `cmlib import NAME FILE` and `cmlib run live outliers -p program=NAME` show what cleaning changes in it.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §II-B, §III-B, Figures 2 and 5. Recordings: theleos88, ml-for-highspeed-networks; kissaxin572, HPC_Classification.

# %%
display(results.numbers())
results.save()
