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
# *Reads* `totals/deterministic/expected.csv` in the folder `CMLIB_PUBLIC`, a table made from the logs of V. Weaver's `deterministic` tests: ten runs a machine of one assembly program whose events were counted by hand, in user mode. *Writes* how far each event's counts lie from these. None of the five papers checks its counters in this way.
#
# **On your own machine.** `cmlib doctor` finds counters that disagree with each other about one event. It can't find an event that counts something else than its name says, on all counters alike: for that, count a program whose events you know, as here. The table is the notebook's only data, so no parameter changes what is read.

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
        f"**Data.** {len(machines)} machines, as the logs name them ({', '.join(machines)}); "
        f"{counted['section'].nunique()} events, {len(counted)} counts of them in all, each "
        "the mean of ten runs. *expected*: counted by hand; *raw_average*: what was counted."
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
        times=mean / expected,
    )
)
by_event = judged.groupby("event")
exact = by_event[["exact", "repeatable"]].sum().assign(machines=by_event.size())
exact["off by, median"], exact["off by, most"] = by_event["off"].median(), by_event["off"].max()
exact["off by > 1 %"] = by_event["off"].agg(lambda off: (off > 1).sum())
exact = exact.sort_values("off by, median")

# %%
first, last = exact.index[0], exact.index[-1]
surely_wrong = exact[exact["off by > 1 %"] > 0]
wrong = [
    f"{event.lower()} on {row['off by > 1 %']:.0f} of {row.machines:.0f} machines (up to "
    f"{judged.loc[judged.event == event, 'times'].max():.3g} times the true count)"
    for event, row in surely_wrong.iterrows()
]
display(
    results.finding(
        f"{first.capitalize()} are exact on {exact.exact[first]:.0f} of "
        f"{exact.machines[first]:.0f} machines (others' hardware), no other event on more than "
        f"{exact.exact.drop(first).max():.0f}; the others are up to "
        f"{judged['times'].max():.3g} times the true count. "
        "Off by more than 1 %: "
        f"{'; '.join(wrong)}."
    )
)
retired = exact.loc["Retired Instructions"]
display(
    results.finding(
        f"Retired instructions, of which IPC is made, are off by {retired['off by, median']:.3f} % "
        f"in the median and {retired['off by, most']:.2g} % at most."
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
        f"machine ({len(judged)} in all), logarithmic; dashed: 1 %. *See:* "
        f"{last.lower()} are off by {exact['off by, median'].iloc[-1]:.0f} % in the median, "
        f"{first.lower()} by {exact['off by, median'].iloc[0]:.2g} %."
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
    note=f"of {retired['machines']:.0f} machines {retired['exact']:.0f} exact",
)
results.numbers()

# %% [markdown]
# ## What this doesn't show
#
# Why an event is off: the table has no causes, and that loads are counted thirty times on three machines may be what the event means there. One program, without system calls or floating point, on machines of 2005 to 2017; those in the cloud and of Arm are not among them.
#
# **References.** Weaver, Terpstra, Moore, *Non-determinism and overcount on modern hardware performance counter implementations*, ISPASS 2013.

# %%
results.save()
