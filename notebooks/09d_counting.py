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
# **Question.** On how many machines is an event exact, and what is counted beyond it?
#
# *Reads* `totals/deterministic/expected.csv` in the folder `CMLIB_PUBLIC`, a table made from the logs of V. Weaver (`deater/deterministic`; there is no file to be fetched). *Writes* how far counts are from what a hand-counted program does.
#
# The events of an assembly program were counted by hand, and the program run on many machines. `cmlib doctor` finds counters that disagree with others about the same event; that an event counts something else than its name says, on all counters alike, it can't see. The notebook is about this table alone: to see whether an event counts right on your machine, count a program whose events you know.

# %% tags=["parameters"]
program: str = "all"  # any other than all leaves this notebook out
settings: dict = {}  # profile, results_folder

# %%
import pandas as pd

from cmlib import places
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

# %% [markdown]
# ## Exact, repeatable, or neither
#
# With the counts $c$ of ten runs, and $e$ what was counted by hand,
#
# $$\mathrm{exact}:\ c_1 = \dots = c_{10} = e, \qquad \mathrm{repeatable}:\ \max c - \min c \le 10^{-6}\, e, \qquad \mathrm{too\ many} = 10^6 \left(\frac{\bar c}{e} - 1\right) \mathrm{ppm}.$$

# %%
values = counted["all_values"].str.split(";", expand=True).astype(float)
spread = values.max(axis=1) - values.min(axis=1)
expected, measured = counted["expected"], counted["raw_average"]
judged = pd.DataFrame({
    "event": counted["section"],
    "exact": (measured == expected) & (spread == 0),
    "repeatable": spread <= 1e-6 * expected,
    "too many": 1e6 * (measured / expected - 1),
})
by_event = judged.groupby("event")
exact = by_event[["exact", "repeatable"]].sum().assign(machines=by_event.size())
exact["too many"] = by_event["too many"].median()
exact["worst"] = by_event["too many"].agg(lambda off: off[off.abs().idxmax()])
results.table(exact.sort_values("too many").reset_index(), "counting",
              "**Table.** On how many machines an event is exact, or at least repeatable, and what "
              "is counted beyond: median and worst [parts per million].", decimals=0)

# %%
retired = exact.loc["Retired Instructions"]
results.number("counted by hand: instructions too many, median", retired["too many"], "ppm",
               note=f"of {retired['machines']:.0f} machines {retired['exact']:.0f} exact")
mostly = [f"{event} ({row['exact']:.0f} of {row['machines']:.0f})"
          for event, row in exact.iterrows() if row["exact"] > row["machines"] / 2]
never = [event for event, row in exact.iterrows() if not row["exact"]]
display(results.finding(
    f"Exact on most machines: {', '.join(mostly) or 'no event'}. On none: "
    f"{', '.join(never) or 'no event'}. Retired instructions are too many by "
    f"{retired['too many']:.0f} per million in the median."))
results.numbers()

# %% [markdown]
# ## What this doesn't show
#
# Why an event counts too many: the table has no causes. One program, without system calls or floating point, on machines of 2005 to 2015.
#
# **References.** Weaver, Terpstra, Moore, *Non-determinism and overcount on modern hardware performance counter implementations*, ISPASS 2013.

# %%
results.save()
