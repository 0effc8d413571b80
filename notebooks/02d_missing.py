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
# *Reads* two published sets, `nfv-haswell` and `mlpx-ocoe`. *Writes* where zeros are, what each cleaning makes of them, and how far that is from the truth where it is known.
#
# Without one of the sets its part says how to get it (`cmlib fetch`). With running shares a zero beside a share above 0 was counted; without them, the second part below tells which zeros were not. `cmlib summarize` leaves those out and says so.
#
# CounterMiner (§III-B) takes zeros for missing values wherever an event reaches 0.01, and fills them from the five nearest samples (notebook 02e). perf itself tells the three apart: `<not counted>` (no turn), `<not supported>`, and 0.

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
from cmlib.io import public
from cmlib.report.notebook import begin

notebook = begin("02d_missing", settings, file=file, event=event)
results = notebook.results

# %% [markdown]
# ## Zeros that were counted
#
# `nfv-haswell`: packet processing on a Xeon E5-2690 v3, a processor of the paper's kind; 31 events share four counters. perf prints a running share beside every count, so each zero below was counted: the event did not happen in the part of the second in which it had its turn.

# %%
runs = published.counts_of(f"intervals/nfv-haswell/{file}.txt")
counts, running = runs[0] if runs else (pd.DataFrame(), pd.DataFrame())
if runs:
    turning = [name for name in counts if running[name].lt(1).any()]
    zeros = pd.DataFrame({"share": 100 * running.mean(), "no turn": counts.isna().sum(),
                          "zeros": counts.eq(0).sum(), "mean": counts.mean()}).loc[turning]
    event = event or zeros["zeros"].idxmax()
    shown = zeros.sort_values("zeros", ascending=False).rename_axis("event").reset_index()
    display(results.table(shown, "zeros", f"**Table.** Multiplexed events of `{file}`: running "
                          f"share [%], intervals of {len(counts)} without a turn and with a "
                          "counted zero, mean count.", rows=30))
else:
    display(Markdown(published.how_to_get("nfv-haswell")))

# %% [markdown]
# Each count $c$ in a share $s$ of the interval is printed as $c / s$: 0 stands beside $1 / s \approx 13$ and its multiples, and their mean is right. The paper takes the 0 of the series (Eq. 8)
#
# $$\{X_1, X_2, X_3, X_4, X_5, 0, X_7, \dots, X_i, \dots, X_m\} \tag{8}$$
#
# for missing, and puts the mean of the five nearest neighbours in its place, those that are not zero:
#
# $$\hat{X}_i = \frac{1}{k} \sum_{j \in N_k(i)} X_j, \quad X_j > 0, \quad k = 5.$$
#
# After multiplexing that counts the same occurrences again.

# %%
if runs:
    values = counts[event].to_numpy()
    filled = pd.Series(clean.fill_missing(values, values == 0), counts.index)
    ways = {"MLPX": counts[event], "zeros filled (Eq. 8) alone": filled}
    for name in ("counterminer-printed", "counterminer", "shrinkage"):
        ways[name] = clean.clean_run(counts[turning], running[turning], method=name)[0][event]
    lines = {"MLPX": ways["MLPX"], "MLPX-CLN": ways["counterminer-printed"],
             "shrinkage": ways["shrinkage"]}
    lines = {name: values.iloc[10:70] for name, values in lines.items()}
    marks = lines["MLPX-CLN"][lines["MLPX"] == 0]
    title = f"{event}: {len(marks)} zeros in {len(lines['MLPX'])} intervals"
    figure, _ = plot.series(lines, marks=marks, ylabel="count per interval", title=title)
    display(results.figure(figure, "fig02b-fig05b",
                           "**CounterMiner, Fig. 2 b and 5 b.** Zeros (MLPX) and what the paper's "
                           "cleaning (MLPX-CLN) and shrinkage put in their place, 60 "
                           "intervals; others' hardware (nfv-haswell). *See:* "
                           f"{len(marks)} counted zeros become {marks.mean():,.0f} on average."))

# %%
totals = pd.DataFrame(columns=["way", "total"])
if runs:
    totals = pd.DataFrame([(name, values.sum()) for name, values in ways.items()],
                          columns=["way", "total"])
    totals["of printed [%]"] = 100 * totals["total"] / totals["total"].iloc[0]
    by_way = totals.set_index("way")["of printed [%]"]
    display(results.table(totals, "totals", f"**Table.** Total of `{event}` by each way."))
    display(results.finding(f"{event} was counted for {zeros.at[event, 'share']:.1f} % of the time "
                    f"and reads 0 in {zeros.at[event, 'zeros']:.0f} of {len(counts)} intervals, "
                    "all counted. Filling them alone makes its total "
                    f"{by_way.iloc[1]:.0f} % of what was counted; the paper's cleaning, which cuts "
                    f"what is high as well, {by_way['counterminer-printed']:.0f} %; with running "
                    f"shares, by which zeros stay, {by_way['counterminer']:.0f} %; *shrinkage* "
                    f"{by_way['shrinkage']:.0f} %."))

# %% [markdown]
# ## Zeros that were not counted
#
# `mlpx-ocoe`: 1,016 programs in a container, 20 events at once, and the same programs again with four events at a time: the truth. Its authors wrote 0 for `<not counted>` and no running shares. Rows are runs here, not intervals.

# %%
names = [f"mlpx-ocoe/{name}.10s.csv" for name in ("20_per_1_time", "4_per_5_times")]
content = [public.read(name) for name in names]
if all(content):
    many, few = (pd.read_csv(io.BytesIO(part)).drop(columns="label") for part in content)
    hidden = clean.zeros_without_turn(many)
    order = pd.DataFrame({"zero at once": many.eq(0).sum(), "zero four at a time": few.eq(0).sum(),
                          "recognized as not counted": hidden.sum()})
    display(results.table(order.rename_axis("event").reset_index(), "order",
                          f"**Table.** Rows of {len(many)} that read 0, by event in the order in "
                          "which they were listed, and those that the check below recognizes.",
                          rows=20))
else:
    display(Markdown(published.how_to_get("mlpx-ocoe")))

# %% [markdown]
# No other run is needed to see it. A program that is over before every group had its turn leaves the last of the list without a count, so that with $z_{ij} = 1$ where event $j$ of the list reads 0 in row $i$
#
# $$z_{ij} = 1 \;\Rightarrow\; z_{ik} = 1 \quad \text{for all } k > j.$$
#
# Where that holds for every zero of a table, from three different events on or more, `cmlib.clean.zeros_without_turn` takes zeros for what was not counted, and `cmlib summarize` says so.

# %%
if all(content):
    starts = hidden.to_numpy().argmax(axis=1)[hidden.any(axis=1)]
    found = hidden.to_numpy().sum() / max(1, many.eq(0).to_numpy().sum())
    listed = pd.Series(many.columns[starts]).value_counts().reindex(many.columns, fill_value=0)
    began = listed[listed > 0].rename_axis("first event that reads 0").rename("rows").reset_index()
    display(results.table(began, "starts", "**Table.** With which event the zeros of a row begin."))
    truly = int(few.to_numpy()[many.eq(0).to_numpy()].astype(bool).sum())
    results.number("zeros of mlpx-ocoe recognized as not counted", 100 * found, "%",
                   note=f"of {many.eq(0).to_numpy().sum():,}; the truth is above 0 in {truly:,}")

# %% [markdown]
# What each cleaning puts there, beside the truth. A row's neighbours are other programs: nothing in the file tells what a program that was not counted did, and the honest value is *not counted*.

# %%
rows = []
if all(content):
    for name in many.columns[hidden.any()]:
        at, truth = hidden[name].to_numpy(), few[name].to_numpy(float)
        for method in ("scaling", "interpolate", "counterminer"):
            printed = many[name].mask(hidden[name] & (method == "interpolate")).to_numpy(float)
            filled, _ = clean.clean_series(printed, method=method)
            ratio = filled[at] / truth[at]
            rows.append((name, method, at.sum(), np.median(truth[at]), np.median(filled[at]),
                         np.median(ratio), 100 * np.mean((ratio > 0.5) & (ratio < 2))))
columns = ["event", "method", "rows", "truth", "filled", "filled / truth", "within factor 2 [%]"]
filled = pd.DataFrame(rows, columns=columns)
results.table(filled, "filled", "**Table.** Rows that read 0: median of the true count, of what a "
              "cleaning puts there, and of their ratio.", rows=30)

# %%
if all(content):
    own = filled[filled["method"] == "counterminer"]
    wide = own.assign(label=own["event"]).sort_values("filled / truth")
    figure, _ = plot.ranking({"CounterMiner's filling": wide}, value="filled / truth",
                             label="label", xlabel="filled / true count, median", columns=1)
    figure.axes[0].set(xscale="log", xlim=(1, None))
    figure.axes[0].xaxis.set_major_formatter("{x:,.0f}")
    display(results.figure(figure, "filled", "**Figure.** What filling from the nearest rows puts "
                           "in place of zeros, as a multiple of the true count (log scale; 1 is "
                           "right); others' hardware (mlpx-ocoe). *See:* up to "
                           f"{wide['filled / truth'].max():,.0f} times the truth."))
    most, ends = order["zero at once"], own["filled / truth"].agg(["min", "max"])
    display(results.finding(
                    f"{hidden.any().sum()} events of mlpx-ocoe read 0 in {most[most > 0].min()} "
                    f"to {most.max()} of {len(many)} rows and were never 0: "
                    f"{100 * found:.0f} % of these zeros are recognized as not counted without "
                    "sight of the truth. Filled from the nearest rows they are "
                    f"{ends['min']:,.1f} to {ends['max']:,.0f} times the truth (medians): no "
                    "cleaning replaces a count that was not made."))

# %% [markdown]
# ## What this doesn't show
#
# Of counted zeros (nfv-haswell) no truth is known interval by interval; what is certain is the total of what was counted. The recordings that counted every event all the time hold no event that is rare enough to read 0. The check takes zeros for missing only where they are nested in the order of the list; a table with reordered columns, or one in which true zeros lie between, is left as it is.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §II-B, §III-B, Figures 2 and 5. Recordings: theleos88, ml-for-highspeed-networks; kissaxin572, HPC_Classification.

# %%
display(results.numbers())
results.save()
