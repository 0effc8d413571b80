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
# # Collection: what was counted, and how
#
# **Question.** Which events were counted in which programs, and how far can the counts be trusted?
#
# A processor has a handful of counters, but hundreds of events. There are two ways to count more events than there are counters (CounterMiner, Lv et al., MICRO 2018, §II-A):
#
# * **One counter, one event (OCOE).** A run counts as many events as there are counters, each all the time. More events need more runs.
# * **Multiplexing (MLPX).** Groups of events take turns on the counters within one run. `perf` extrapolates each count from the time in which its group had the counters.
#
# This notebook lists what was recorded and on which machine. Then it checks the counts in two ways: against runs without multiplexing, and against sums that must hold. A last table shows how counters of other machines compare with counts by hand. All other notebooks use the same recordings.

# %% [markdown] tags=["answer"]
# > **Answer** (bzip2, gcc, kmeans and wordcount as recorded for this project). The **116** runs count **231** events beside instructions and cycles, and the total of an event over a run differs by **1.9 %** in the median if it is counted with multiplexing instead of without it. In the worst case it differs by **170 %**. Much of this is not the fault of multiplexing: two runs without it differ by **1.1 %** in the median and by **133 %** in the worst case. These differences are of twelve events, which were counted both ways. (The paper measured 229 events of its processor. Of ours, **225** happen in at least one of the programs.) The other events were counted with multiplexing only, so their errors are not known. Counts of single intervals have larger errors (notebook 02). Where an event is the sum of others, the sum holds to **4.3** parts per million if all of them are counted at the same time. If they take turns, it is off by up to **6.8 %**.

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas
settings: dict = {}  # database, profile, results_folder

# %%
import pandas as pd
from IPython.display import Markdown

from cmlib import plot
from cmlib.experiments import collection, data, published
from cmlib.experiments.event_tables import event_table
from cmlib.io import store
from cmlib.report import paper
from cmlib.report.notebook import begin

notebook = begin("01_collection", settings, program=program)
results, url = notebook.results, notebook.database

# %% [markdown]
# ## Data
#
# A *recording* is one run of a program: a table of counts with a row per interval and a column per event. It also holds the *running share* of each event, which is the share of the interval in which the event had a counter. The table below shows the first intervals of the first recording, with its first four events.

# %%
programs = data.programs(url, program)
run_ids = data.interval_runs(url, programs)["run_id"]
recordings = [store.load(url, run_id) for run_id in run_ids]
own_data = [run.provenance for run in recordings]
display(Markdown(data.describe_data(url, programs)))
first = recordings[0]
first.counts.iloc[:5, :4].map("{:,.0f}".format)

# %% [markdown]
# In a table of counts, `NaN` means that `perf` printed no count: the event had no counter in the interval (`<not counted>`), or the processor cannot count it (`<not supported>`). This is not the same as 0, which means that the event did not happen.
#
# Some counters are wrong. Therefore, `cmlib record` first counts one event on all counters at the same time, and compares the counts. In the next table, *offered* is the number of counters that the kernel offers, and *good* is the number that agree. If a group had more events than there are good counters, some counts would be wrong, and `perf` would not warn. So `cmlib record` never forms such a group. Instructions and cycles take two of the good counters in every run.

# %%
results.table(collection.describe_machines(recordings), "machines", "**Table.** The machines and "
              "counters behind the recordings. Cells are empty where the recording does not say.",
              decimals=0)

# %% [markdown]
# The runs of a program belong to *sets*. A set is a plan of the events to count, and a *pass* carries out the whole plan once. `cmlib record` makes three sets. `ocoe` counts a dozen events without multiplexing, one group of events per run. `mlpx12` counts the same events in one run, in groups that take turns. `sweep` goes through all other events of the processor, a dozen per run, also in turns.

# %%
sets = collection.describe_sets(recordings)
results.table(sets.drop(columns="intervals"), "recordings", "**Table.** The sets. "
              "*Kind*: OCOE or MLPX. *Running share*: mean over all events and intervals; 1 "
              "without multiplexing. `ocoe` and `mlpx12` count the same events; multiplexing "
              "needs fewer runs. *Length*: of all runs of the set together.", rows=20)

# %%
kinds = sets.groupby("program")["kind"].agg(set)
has_both = set(kinds.index[kinds.map({"OCOE", "MLPX"}.issubset)])
of_others = set(published.files_like("cloudsuite", r".+\.(?P<program>\w+)\.csv")["program"])
of_others = {name.replace("_", "") for name in of_others}
table2 = pd.DataFrame({"program": list(paper("counterminer")["coverage_percent"])})
table2["recorded here, both ways"] = table2["program"].isin(has_both).map({True: "yes", False: ""})
table2["published by others, one way"] = (
    table2["program"].isin(of_others).map({True: "yes", False: ""}))
if not notebook.of_program:
    display(results.table(table2, "table2", "**CounterMiner, Table II.** The paper's sixteen "
                          "programs, and which of them are recorded. Errors of multiplexing can be "
                          "measured only for programs that were recorded both ways, with and "
                          "without it."))

# %% [markdown]
# ## Which events happen
#
# A processor documents many events that never happen in a given program. Counting them wastes the time of a counter.

# %%
totals = collection.total_counts(recordings)
by_event = totals.groupby(["program", "event"], sort=False)[["total", "per 1,000 instructions"]]
by_event = by_event.mean().reset_index("program")
units = event_table(url)["unit"].reindex(by_event.index).fillna("other")
KINDS = {"happened": by_event["total"] > 0, "always zero": by_event["total"] == 0,
         "no count": by_event["total"].isna()}
by_unit = pd.DataFrame(KINDS).groupby(units).sum() / len(programs)
figure, _ = plot.counts(by_unit.loc[:, by_unit.sum() > 0], ylabel="events (mean of programs)")
results.figure(figure, "counting", "**Figure.** Number of events by unit of the processor core, "
               "mean of the programs. *Always zero* events were counted and never happened. For "
               "*no count* events, perf never printed a count. Look for units in which many events "
               "never happen.")

# %%
frequent = by_event.groupby("event")["per 1,000 instructions"].agg(["mean", "min", "max"])
frequent = frequent.sort_values("mean", ascending=False, kind="stable")
frequent.insert(0, "unit", units.groupby(level=0).first().reindex(frequent.index))
results.table(frequent, "events", "**Table.** The most frequent events: counts per 1,000 "
              "instructions, mean, lowest and highest of the programs. The file of this table, "
              "`events.csv`, also lists events without any count.", rows=10, decimals=1)

# %% [markdown]
# ## Counts that cannot be true
#
# No event happens a thousand times per cycle. The next table lists such counts. They are left out of all totals on this page; the stored recordings keep them. In some of these intervals there are hardly any cycles, because the program had already ended when its counters were read.

# %%
impossible = collection.list_impossible(recordings)
shown = impossible[["program", "run", "event"]].assign(**{
    "count [million]": impossible["count"] / 1e6, "cycles [million]": impossible["cycles"] / 1e6})
results.table(shown, "impossible", "**Table.** Counts above a thousand per cycle, each in one "
              "interval. The table is empty if there are none.", rows=10, decimals=1)

# %% [markdown]
# ## What multiplexing costs
#
# An event that had a counter for a share $r$ of an interval was counted $c$ times. `perf` prints the extrapolated count (CounterMiner, §II-A)
#
# $$\hat c = \frac{c}{r}.$$
#
# **By hand.** An event happens 10, 50, 10 and 10 times in four equal slots of time, 80 times in all. Two groups of events take turns. Group 1 has the counters in the first and the third slot, group 2 in the others, so $r = 0.5$. If the event is in group 1, it is counted 20 times, and 40 is printed. In group 2, it is counted 60 times, and 120 is printed. Both are wrong by half, because the event comes in a burst. An event with a constant rate would be printed correctly.

# %%
def print_like_perf(c, r):
    return c / r


happens = pd.Series([10, 50, 10, 10])
has_counter = pd.DataFrame({"group 1": [1, 0, 1, 0], "group 2": [0, 1, 0, 1]})
example = pd.DataFrame({"counted": has_counter.mul(happens, axis=0).sum(), "r": has_counter.mean()})
example["printed"] = print_like_perf(example["counted"], example["r"])
example["truth"] = happens.sum()
results.table(example.rename_axis("event in"), "example", "**Table.** The example: what is counted "
              "and what perf prints.", decimals={"r": 1, "printed": 0}, data=())

# %% [markdown]
# Over a whole run, such errors partly cancel. The next figure compares the totals of events that were counted both ways, per 1,000 instructions. Each pass with multiplexing is compared with each pass without it, in percent of the latter. The figure shows the mean of these absolute differences. The baseline is the difference between two passes without multiplexing: even these differ, because no two runs of a program are equal. Errors within single intervals are larger; [notebook 02](02_cleaning.ipynb) measures them.

# %%
modes = collection.compare_modes(totals)
SHOWN = {"between passes [%]": "two passes without multiplexing",
         "multiplexed [%]": "with and without multiplexing"}
if len(modes):
    median = modes.groupby("event")[list(SHOWN)].median().rename(columns=SHOWN)
    median = median.sort_values(list(median)[1], ascending=False)
    drawn = median.rename_axis("program").melt(
        ignore_index=False, var_name="compared", value_name="difference").reset_index()
    figure, axes = plot.dots_by_program(drawn, value="difference", hue="compared",
                                        grey=[SHOWN["between passes [%]"]],
                                        xlabel="difference of totals [%]")
    axes.set_xscale("log")
    display(results.figure(figure, "modes", "**Figure.** Difference of the totals of an event, "
                           "median of the programs. Multiplexing matters only for an event whose "
                           "colored mark lies far to the right of its gray one."))

# %%
by_program = modes.groupby("program")
compared = pd.DataFrame({"events": by_program.size(),
                         "two passes, median": by_program["between passes [%]"].median(),
                         "multiplexed, median": by_program["multiplexed [%]"].median(),
                         "two passes, largest": by_program["between passes [%]"].max(),
                         "multiplexed, largest": by_program["multiplexed [%]"].max()})
results.table(compared, "modes", "**Table.** Differences of totals [%] by program, over its events "
              "that were counted both ways. It is empty if no program was recorded both ways. "
              "Rare events tend to have the largest differences.", decimals=1)

# %% [markdown]
# ## Sums that must hold
#
# Some events are the exact sum of others. For example, all fills of a cache are the fills from each source together. Let $e$ be the total of the whole in one run, and $e_k$ the totals of its parts. The difference is
#
# $$\mathrm{difference} = \left(\frac{\sum_k e_k}{e} - 1\right) \times 100\,\%.$$
#
# If whole and parts are in one group, they are counted at the same time. Then the difference must be 0, except for rounding. If it is not, a counter or our list of sums is wrong. If some of them are in different groups, they are counted at different times, and the difference is an error of multiplexing.

# %%
sums = collection.check_sums(recordings)
largest = sums.groupby("same group").head(4).sort_values("same group", kind="stable")
shown = pd.concat([largest, sums.drop(largest.index)])
shown = shown.assign(**{"same group": shown["same group"].map({True: "yes", False: "no"})})
results.table(shown, "sums", "**Table.** The four largest differences with parts in different "
              "groups, and the four largest in the same group. *Counts per interval*: the "
              "difference in counts, divided by the number of intervals. The table is empty if no "
              "sum is known for the events.",
              rows=len(largest), decimals=5)

# %% [markdown]
# ## Do counters count what their names say?
#
# Sums show only whether counts fit together. The following counts are not of this project's machines: V. Weaver counted the events of an assembly program by hand, and ran it ten times on each of several machines (user mode). An event is *exact* on a machine if all ten counts equal the count by hand. An event is *repeatable* if its ten counts differ from each other by at most a millionth of the count by hand.

# %%
by_hand = collection.compare_with_counts_by_hand()
if by_hand is not None and not notebook.of_program:
    display(results.table(by_hand, "by-hand", "**Table.** On how many machines an event is exact "
                          "or repeatable, and how far the mean of ten runs is from the count by "
                          "hand [%]: median and largest of the machines. An event with large "
                          "differences counts something else than its name says.", decimals=3,
                          data=collection.COUNTED_BY_HAND))

# %% [markdown]
# ## Result
#
# The paper measured all events that its Haswell processor documents. The number of events differs between generations of processors.

# %%
happened = KINDS["happened"].groupby(level="event").any()
has_count = by_event["total"].notna().groupby(level="event").any()
results.number("runs in the store", len(recordings), "runs", data=own_data)
results.number("events counted", int(has_count.sum()), "events", data=own_data,
               paper=None if notebook.of_program else 229)
results.number("events that happened in some program", int(happened.sum()), "events",
               data=own_data)
results.number("events without any count", int((~has_count).sum()), "events", data=own_data)
results.number("impossible counts", len(impossible), "counts", data=own_data)
for column, label in SHOWN.items():
    if len(modes):
        results.number(f"difference of totals, {label}, median of programs and events",
                       modes[column].median(), "%", data=own_data)
        results.number(f"difference of totals, {label}, largest", modes[column].max(), "%",
                       data=own_data)
for is_same, rows in sums.groupby("same group"):
    where = "one group" if is_same else "groups that took turns"
    results.number(f"sums measured in {where}", len(rows), "sums", data=own_data)
    largest = rows["difference [%]"].abs().max()
    results.number(f"largest difference of a sum, {where}", 1e4 * largest if is_same else largest,
                   "ppm" if is_same else "%", data=own_data)
results.numbers()

# %% [markdown]
# ## Limitations
#
# * The recordings that come with cmlib were made on one kind of processor, in a virtual machine.
# * `cmlib record` counts in user mode only. What the kernel does for a program is not counted.
# * In the recordings that come with cmlib, only twelve events take turns. More events, or events in rare bursts, have larger errors under multiplexing.
# * The events of `sweep` were counted with multiplexing only. So their totals cannot be compared with totals without multiplexing.
# * The check for impossible counts finds only gross errors.
# * Weaver's table needs the published recordings `totals/deterministic`, which do not come with cmlib. Without them it is left out.
#
# ## Your own program
#
# ```sh
# .venv/bin/cmlib record myapp -- ./myapp  # or: .venv/bin/cmlib import myapp FILE
# .venv/bin/papermill notebooks/01_collection.ipynb out.ipynb -p program myapp
# ```
#
# `cmlib doctor` says what your machine can count; run it first. `cmlib record` runs the program several times, 29 times with all events of an AMD Zen 5.
#
# In the notebook, first check whether events took turns (running share below 1), which events are always zero, and whether sums hold. `program` is the only parameter; several names, separated by commas, are compared.
#
# ## References
#
# * Lv, Sun, Luo, Wang, Yu, Qian: *CounterMiner*, MICRO 2018, §II-A and §III-A.
# * Weaver, Terpstra, Moore: *Non-determinism and overcount on modern hardware performance counter implementations*, ISPASS 2013.

# %%
results.save()
