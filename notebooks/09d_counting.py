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
# # Counting itself: which events count what their names say?
#
# **Question.** Whoever ranks events by their counts trusts these counts. Which events are exact, and how far off can the others be?
#
# *Reads* `totals/deterministic/expected.csv` in the folder that the environment variable `CMLIB_PUBLIC` names, a table made from the logs of V. Weaver's `deterministic` tests: ten runs a machine of one assembly program whose events were counted by hand, in user mode. *Writes* how far each event's counts lie from these.

# %% tags=["parameters"]
program: str = "all"  # any other than all leaves this notebook out
settings: dict = {}  # profile, results_folder

# %%
import matplotlib.pyplot as plt
import pandas as pd
from IPython.display import Markdown

from cmlib import places, plot
from cmlib.errors import NothingRecordedError
from cmlib.experiments.requested import resolve_names
from cmlib.report.notebook import begin

# %%
notebook = begin("09d_counting", settings, program=program)
results = notebook.results
resolve_names(program, [], about="programs of this notebook", todo="It takes program=all.")
folder = places.external_data_dir()
files = sorted((folder / "totals/deterministic").glob("expected.csv*")) if folder else []
if not files:
    raise NothingRecordedError("CMLIB_PUBLIC names no folder with totals/deterministic")
counted = pd.read_csv(files[0]).query("expected > 0")
counted[["machine", "section", "expected", "raw_average"]].head()

# %%
machines = counted["machine"].unique()
display(
    Markdown(
        f"**Data.** {len(machines)} machines, as the logs name them ({', '.join(machines)}; fam: "
        f"AMD, others: Intel); "
        f"{counted['section'].nunique()} events, {len(counted)} counts of them in all, each "
        "the mean of ten runs. *expected*: counted by hand; *raw_average*: what was "
        "counted. Not every log has every event."
    )
)

# %% [markdown]
# ## Exact, repeatable, or neither
#
# With the counts $c_1, \dots, c_{10}$ of ten runs, $\bar c$ their mean, and $e$ what was counted by hand, a machine's count is
#
# $$\mathrm{exact}:\ c_1 = \dots = c_{10} = e, \qquad \mathrm{repeatable}:\ \max c - \min c \le 10^{-6}\, e, \qquad \mathrm{off\ by}:\ 100 \left|\frac{\bar c}{e} - 1\right| \%.$$

# %%
values = counted["all_values"].str.split(";", expand=True).astype(float)
spread = values.max(axis=1) - values.min(axis=1)
expected, mean = counted["expected"], counted["raw_average"]
judged = (
    counted[["section", "machine"]]
    .rename(columns={"section": "event"})
    .assign(
        exact=(mean == expected) & (spread == 0),
        repeatable=spread <= 1e-6 * expected,
        off=100 * (mean / expected - 1).abs(),
    )
)
by_event = judged.groupby("event")
exact = by_event[["exact", "repeatable"]].sum().assign(machines=by_event.size())
exact["off by, median"], exact["off by, most"] = by_event["off"].median(), by_event["off"].max()
exact["off by > 1 %"] = by_event["off"].agg(lambda off: (off > 1).sum())
exact = exact.sort_values("off by, median")

# %%
def percent(off):
    return f"{off:,.0f} %" if off >= 10 or off == 0 else f"{off:.2g} %"


first = exact.index[0]
wrong = [
    f"{event.lower()} on {row['off by > 1 %']:.0f} of {row.machines:.0f} machines (up to "
    f"{percent(row['off by, most'])})"
    for event, row in exact[exact["off by > 1 %"] > 0].iterrows()
]
retired = exact.loc["Retired Instructions"]
display(
    results.finding(
        f"{first.capitalize()} are exact on {exact.exact[first]:.0f} of "
        f"{exact.machines[first]:.0f} machines (others' hardware), no other event on more than "
        f"{exact.exact.drop(first).max():.0f}. Retired instructions, of which IPC is made, are off "
        f"by {percent(retired['off by, median'])} of the true count in the median and "
        f"{percent(retired['off by, most'])} at most. Off by more than 1 %: {'; '.join(wrong)}."
    )
)

# %%
FLOOR = 1e-4  # percent: the left edge


@plot.styled
def draw(judged):
    """A row an event, a dot a machine; what is exact stands at the left edge."""
    figure, ax = plt.subplots(figsize=(8, 2.6))
    for row, event in enumerate(exact.index[::-1]):
        off = judged.loc[judged.event == event, "off"].clip(lower=FLOOR)
        ax.plot(off, [row] * len(off), "o", alpha=0.6, color=plot.palette(1)[0])
    ax.set_yticks(range(len(exact)), exact.index[::-1])
    ax.set(xscale="log", xlabel=f"off by [%]; {FLOOR:g}: that or less", xlim=(FLOOR / 2, 1e4))
    ax.axvline(1, color="grey", linestyle="--")
    return figure, ax


# %%
figure, _ = draw(judged)
results.figure(
    figure,
    "counting",
    (
        "**Figure.** How far each machine's count lies from the count by hand: a row an event, "
        "a dot a "
        f"machine ({len(judged)} in all, some on top of each other), logarithmic; exact counts are "
        "drawn at the left edge; dashed: 1 %. *See:* medians from above are "
        f"{', '.join(map(percent, exact['off by, median']))}."
    ),
)

# %%
results.table(
    exact.reset_index(),
    "counting",
    "**Table.** On how many machines an event is exact, or at least repeatable, and how far "
    "it is off [%].",
    decimals=3,
)
# %%
results.number(
    "counted by hand: instructions off by, median",
    1e4 * retired["off by, median"],
    "ppm",
    note=f"{retired['off by, median']:.3f} %; {retired['exact']:.0f} of "
    f"{retired['machines']:.0f} machines exact",
)
results.numbers()

# %% [markdown]
# ## What this doesn't show
#
# Why an event is off: the table has no causes, and that most machines count many times the loads may be what the event means there. One program, without system calls or floating point, on machines of 2005 to 2017; those in the cloud and of Arm are not among them.
#
# ## On your own machine
#
# The table is the notebook's only data, so `cmlib run paper 09d` has no parameter to change. `cmlib doctor` finds counters of yours that disagree with each other about one event. It can't find an event that counts something else than its name says, on all counters alike: for that, count a program whose events you know: `perf stat -e EVENT:u -r 10 COMMAND`.
#
# **References.** Weaver, Terpstra, Moore, *Non-determinism and overcount on modern hardware performance counter implementations*, ISPASS 2013 (the method; the logs are of more and later machines).

# %%
results.save()
