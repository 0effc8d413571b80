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
# # First look: where the cycles go
#
# **Question.** Where do a program's cycles go, and what should one try first to make it faster?
#
# Instructions per cycle (IPC) show how fast a program runs, but not why it is not faster. *Top-down analysis* (Yasin, ISPASS 2014) explains this from a few hardware events. It divides the capacity of the pipeline into one used and three lost shares, and the largest lost share is the first thing to work on.
#
# This notebook of the package cmlib applies the method to every selected program. Nothing is fitted or trained, so it is a good notebook to read first. The recordings that come with it are this project's own, not Yasin's.

# %% [markdown] tags=["answer"]
# > **Answer** (the four programs recorded for this project, default parameters). The front end, which delivers instructions, is the largest loss in bzip2 (**42** to **43 %**), gcc (**52** to **53 %**) and wordcount (**36** to **38 %**). The programs use only **18** to **29 %** of the pipeline's capacity. In kmeans the front end and the back end take **32** to **34 %** each, and either may be larger. These are shares of whole runs, and phases differ: in the last phase of wordcount, the back end loses more (**34 %**) than the front end (**26 %**). The same holds for the last phase of kmeans (**36** and **29 %**). As a test, the four shares were also counted independently of each other, in three different runs of each program. Their sum, which should be 100 %, is **98.9** to **100.7 %**. A single run is enough only if it counts the right events. The first run of each program counts twelve others, and shows the largest loss in **0** of 4 programs; all 29 runs of a program together show it in **3**. What to try first follows from the largest loss. In bzip2, gcc and wordcount this is to look at instruction-cache misses, ITLB misses and mispredicted branches; in kmeans it is to make fewer accesses to memory. No remedy was tried here.

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas, or all
settings: dict = {}  # jobs executor scheduler database processor interactive profile results_folder

# %%
import numpy as np
import pandas as pd
from IPython.display import Markdown

from cmlib import experiments, explore, plot, topdown
from cmlib.experiments import data
from cmlib.io import store
from cmlib.report.notebook import begin

# %%
notebook = begin("00_first_look", settings, program=program)
results, url = notebook.results, notebook.database

# %% [markdown]
# ## Data
#
# A recording holds the count of every event in each interval of a run, usually 0.1 s. A processor counts only a few events at a time, so the programs that come with cmlib were run several times with different events. Instructions and cycles were counted in each of these runs.

# %%
programs = data.programs(url, program)
display(Markdown(data.describe_data(url, programs)))
runs = {}
for name in programs:
    run_ids = data.interval_runs(url, [name])["run_id"]
    runs[name] = [store.load(url, run_id) for run_id in run_ids]

print(f"{programs[0]}: the first intervals of its first run")
runs[programs[0]][0].counts.iloc[:4, :4]

# %% [markdown]
# The next cell summarizes the runs of each program: bounds of the four shares, advice, and more. The command `cmlib summarize` prints the same for a file.

# %%
summaries = experiments.summarize_programs(runs, processor=notebook.processor)
results.summaries(summaries)
summaries = {name: summary for name, summary in summaries.items() if summary["account"]}
if not summaries:
    notebook.stop("Top-down analysis needs measured instructions and cycles.")

# %%
rows = {}
for name, summary in summaries.items():
    levels = summary["levels"]
    ipc_of_runs = [run.counts["instructions"].sum() / run.counts["cycles"].sum()
                   for run in runs[name] if data.knows_ipc(run.counts)]
    rows[name] = {"processor": summary["processor"], "runs": summary["runs"],
                  "events": summary["events"], "time [s]": levels.get("seconds"),
                  "instructions [10⁹]": levels.get("instructions", np.nan) / 1e9,
                  "IPC": levels.get("instructions a cycle"),
                  "lowest": min(ipc_of_runs, default=np.nan),
                  "highest": max(ipc_of_runs, default=np.nan)}
overview = pd.DataFrame.from_dict(rows, orient="index")
results.table(overview.drop(columns=["lowest", "highest"]).rename_axis("program"), "programs",
              "The recorded programs. Time, instructions and IPC are medians over the runs. "
              "Instructions are those of all threads of a program. Events that were never counted "
              "are left out of *events*.",
              decimals={"time [s]": 1, "instructions [10⁹]": 1})

# %% [markdown]
# The runs of a program counted different events. Below, their events are combined as if they came from one run. This is right only if all runs do the same work at the same speed. The next table shows how much the speed differs. The section *Do the shares add up?* tests it.

# %%
agreement = overview[["runs", "lowest", "highest"]].rename_axis("program")
agreement["difference [%]"] = 100 * (agreement["highest"] / agreement["lowest"] - 1)
results.table(agreement, "agreement", "Lowest and highest IPC among the runs of each program.",
              decimals={"difference [%]": 1})

# %% [markdown]
# ## Top-down analysis
#
# In every cycle the pipeline can accept a fixed number of operations, its *width*; each of these places is a *slot*. A slot is used by an operation that *retires*, wasted on a wrong path (*bad speculation*), or left empty because no operation arrived (*front end*) or because there was no room for it (*back end*). The four shares of all slots add up to 100 %, and the largest of the three losses limits the program. Operations are not instructions: a comparison and the branch that follows it are one operation, for example. So the retired share is not IPC divided by the width.
#
# Processors differ in the events that count these four categories. On AMD's Zen 5, with a width of 8, four events are enough:
#
# | symbol | event | counts |
# |---|---|---|
# | $r$ | `ex_ret_ops` | operations that retired |
# | $d$ | `de_src_op_disp.all` | operations that entered the pipeline |
# | $f$ | `de_no_dispatch_per_slot.no_ops_from_frontend` | slots empty because no operation arrived |
# | $b$ | `de_no_dispatch_per_slot.backend_stalls` | slots empty because there was no room |
#
# In $c$ cycles there are $8c$ slots, and
#
# $$\text{retired} = \frac{r}{8c}, \quad \text{bad speculation} = \frac{d - r}{8c}, \quad \text{front end} = \frac{f}{8c}, \quad \text{back end} = \frac{b}{8c}.$$
#
# ### A worked example
#
# One interval has $c = 1000$ cycles and therefore $8 \times 1000 = 8000$ slots. The four counts are $r = 2400$, $d = 2900$, $f = 3300$ and $b = 1800$.
#
# * *Retired*: 2400 slots, or 30 %.
# * *Bad speculation*: 2900 operations entered and 2400 retired. The other 500 were on a wrong path: 6.25 %.
# * *Front end*: 3300 slots, or 41.25 %.
# * *Back end*: 1800 slots, or 22.5 %.
#
# The shares add up to 100 %. The front end is the largest loss, so this program would be limited by its front end.

# %%
ZEN_5 = {"r": "ex_ret_ops", "d": "de_src_op_disp.all",
         "f": "de_no_dispatch_per_slot.no_ops_from_frontend",
         "b": "de_no_dispatch_per_slot.backend_stalls"}


def account_by_hand(r, d, f, b, width=8):
    """Return the four shares of the slots [%] from the events per cycle."""
    slots = {"retired": r, "bad speculation": d - r, "front end": f, "back end": b}
    return 100 * pd.Series(slots) / width


per_cycle = {"r": 2.4, "d": 2.9, "f": 3.3, "b": 1.8}
by_hand = account_by_hand(**per_cycle)
rates = pd.DataFrame([per_cycle]).rename(columns=ZEN_5)
by_library = 100 * topdown.account(rates, topdown.read_table("amd_zen5")).shares.iloc[0]
example = pd.DataFrame({"by hand [%]": by_hand, "cmlib [%]": by_library[by_hand.index]})
example.loc["sum"] = example.sum()
example

# %% [markdown]
# ### When an event is missing
#
# A recording often lacks some of the four events. The other events still bound each share from below and above. A cache miss, for example, costs between zero cycles (other work hides it) and its full latency.
#
# The four shares $s_k$ add up to 100 %, so the bounds $l_k \le s_k \le h_k$ of three categories also bound the fourth:
#
# $$\max\Big(l_k,\ 1 - \sum_{j \ne k} h_j\Big) \;\le\; s_k \;\le\; \min\Big(h_k,\ 1 - \sum_{j \ne k} l_j\Big).$$
#
# In the example, assume that $d$ and $b$ were not counted. At first, nothing is known about bad speculation and the back end, so their bounds are 0 and 100 %. The other two shares, 30 and 41.25 %, leave 28.75 % for both of them together. So each is at most 28.75 %, and the front end remains the largest loss. The bounds contain the shares that were counted above (6.25 and 22.5 %).

# %%
first = pd.DataFrame({"low": [30, 0, 41.25, 0], "high": [30, 100, 41.25, 100]}, by_hand.index)
low, high = first["low"], first["high"]
tightened = pd.DataFrame({"low": np.maximum(low, 100 - (high.sum() - high)),
                          "high": np.minimum(high, 100 - (low.sum() - low))})
pd.concat({"before [%]": first, "after [%]": tightened}, axis=1)

# %% [markdown]
# The bounds also allow for the error of multiplexing. An event that took turns with others on a counter was counted for only a part of the time, so its total is an estimate.
#
# ## Where the cycles go
#
# The table gives the bounds of each program twice: from all of its runs, and from its first run alone. In this project's recordings the first run counts twelve events beside instructions and cycles, multiplexed, as a first recording of a program often does.

# %%
rows, decided = {}, {"all": 0, "first": 0}
for name in summaries:
    first_run = experiments.summarize_recordings(name, runs[name][:1], processor=notebook.processor)
    for label, summary in {"all": summaries[name], "first": first_run}.items():
        if summary["account"]:
            bounds = experiments.frame_of_bounds(summary)
            row = {category: f"{low:.1f}–{high:.1f}" for category, low, high in bounds.itertuples()}
            row["largest loss"] = " or ".join(summary["account"]["limits"])
            rows[name, label] = {"events": summary["events"], **row}
            decided[label] += len(summary["account"]["limits"]) == 1
table = pd.DataFrame.from_dict(rows, orient="index").rename_axis(["program", "runs"])
results.table(table, "bounds", "Bounds of each share [% of the slots], from all runs and from "
              "the first run. *or*: any of these may be the largest loss, because their bounds "
              "overlap.")

# %%
shares = pd.DataFrame({name: experiments.frame_of_bounds(summary)["low"]
                       for name, summary in summaries.items()}).T
shares[plot.NOT_DECIDED] = (100 - shares.sum(axis=1)).clip(lower=0)
figure, _ = plot.shares_by_program(shares)
results.figure(figure, "shares", "Lower bound of each share, from all runs. *Not decided*: "
               "slots that the counts do not assign to a category. The more there are, the less is "
               "known.")

# %% [markdown]
# ### One level deeper
#
# Each category has parts. The front end loses slots by *latency* (cycles without a single new operation, as after an instruction-cache miss) or by *bandwidth* (cycles with too few). The back end waits for *memory* (loads and stores) or for the *core* (execution units and results of earlier instructions). Where the events of a part were not counted, its bounds are wide.

# %%
parts = {}
for name, summary in summaries.items():
    for category in plot.CATEGORIES:
        for part, low, high in experiments.frame_of_bounds(summary, category).itertuples():
            parts.setdefault((category, part), {})[name] = f"{low:.1f}–{high:.1f}"
if parts:
    parts = pd.DataFrame.from_dict(parts, orient="index").rename_axis(["category", "part"])
    display(results.table(parts, "parts", "Bounds of the parts of each category [% of the slots]."))
else:
    print("No part of a category was counted.")

# %% [markdown]
# ## Do the shares add up?
#
# In this project's recordings the events come from three runs: $r$ from one, $d$ from another, $f$ and $b$ from a third. Nothing forces the four shares to add up to 100 %, so their sum tests the counts. It does not test how slots are divided between retired and bad speculation, because $r$ appears in both and cancels.
#
# The rate of an event over a whole program is its count divided by the cycles in which it was counted. Both are added up over all intervals $i$ of the runs that counted the event. Here $w_i$ is the part of interval $i$ in which the event was on a counter, $c_i$ are the cycles of the interval, and $e_i$ is the count that perf prints for the whole interval, extrapolated from this part.
#
# $$\bar e = \frac{\sum_i w_i \, e_i}{\sum_i w_i \, c_i}.$$


# %%
def rate(event, recordings):
    """Return the events per cycle over all intervals in which the event was counted."""
    total = cycles = 0.0
    for recording in recordings:
        if event in recording.counts:
            counts, running = recording.whole()
            weight = running[event].fillna(1.0).where(counts[event].notna(), 0.0)
            total += (weight * counts[event]).sum()
            cycles += (weight * counts["cycles"]).sum()
    return total / cycles if cycles else np.nan


rows = {}
for name, summary in summaries.items():
    counted = experiments.counted_shares(runs[name], summary["processor"])
    rates = {symbol: rate(event, runs[name]) for symbol, event in ZEN_5.items()}
    rows[name] = {**counted, "sum": counted.sum(min_count=4),
                  "sum by hand": account_by_hand(**rates).sum(min_count=4)}
counted = pd.DataFrame.from_dict(rows, orient="index").rename_axis("program")
results.table(counted, "sum", "Share of each category [% of the slots], computed from its own "
              "events alone. *Sum*: the sum of these four columns. *Sum by hand*: the same sum, "
              "computed by the function of the worked example. A dash: the events were not "
              "counted, or belong to another processor.", decimals=1)

# %% [markdown]
# If the sum is more than about 2 % off, the runs differed, or an event was rarely on a counter. Do not rely on the bounds then.
#
# ## Over the run
#
# A program may have phases with different losses. We cut each run into steps of equal instructions, so that a step is the same work in every run. Each event is then averaged over the runs that counted it. Before that, the counts are cleaned of the errors of multiplexing, as in notebook 02. In JupyterLab the figure has a control for the program. On a web page it shows the first program.

# %%
progress = {}
for name in summaries:
    if experiments.have_steps(runs[name]):
        ipc, low, high = experiments.bounds_by_step(url, name, workers=notebook.workers,
                                                    processor=summaries[name]["processor"])
        low[plot.NOT_DECIDED] = (100 - low.sum(axis=1)).clip(lower=0)
        progress[name] = ipc, low


# %%
def draw_progress(program):
    """Return the figure of one program, with no text below it."""
    figure, _ = plot.shares_by_progress(*progress[program], title=program)
    return figure, ""


if progress:
    panel = explore.Panel(draw_progress, {"program": explore.dropdown("program", list(progress))})
    caption = ("IPC and the four shares over the run of one program. Compare steps of low and "
               "of high IPC: which loss takes the place of the retired share? If an event is "
               "missing, the lower bound of its share is shown. The shares are counted "
               "separately, so their sum can exceed 100 %.")
    display(notebook.widget(panel, "progress", caption))

# %% [markdown]
# The run is cut into phases. A new phase begins where the mean IPC changes by more than the noise, that is, by more than neighboring steps usually differ. A phase and the whole run can have different largest losses.

# %%
phases = {}
for name, (ipc, low) in progress.items():
    starts = topdown.series_phases(ipc)["start"]
    number = starts.searchsorted(ipc.index, side="right") - 1
    cycles = 1 / ipc  # of a step, which has the same instructions as any other
    of_phase = cycles.groupby(number).sum()
    shares = low[list(plot.CATEGORIES)].mul(cycles, axis=0).groupby(number).sum()
    phases[name] = pd.DataFrame({"start": starts, "cycles [%]": 100 * of_phase / of_phase.sum(),
                                 "IPC": ipc.groupby(number).size() / of_phase})
    phases[name] = phases[name].join(shares.div(of_phase, axis=0))
if phases:
    phases = pd.concat(phases, names=["program", "phase"]).droplevel("phase")
    display(results.table(phases, "phases", "Phases: the progress at which each begins, its "
                          "part of the program's cycles, its IPC, and its shares of the slots "
                          "[%] (a lower bound, if an event is missing).",
                          decimals=dict.fromkeys([*plot.CATEGORIES, "cycles [%]"], 1)))

# %% [markdown]
# In the figure all steps are equally wide, because each has the same number of instructions. A step with a low IPC takes more cycles, so it has more weight in the table of phases and in the shares of the whole run than in the figure. Where all four categories were counted, a gray gap or a sum above 100 % (the dashed line) is an error of the counts in that step. Recordings without intervals, or with fewer than 20, have no figure.
#
# ## What to try
#
# The library has remedies for each category and for its parts. The table lists the largest loss first. After it come all losses that may be nearly as large (at least two thirds of it). ITLB is the cache of address translations of code.
#
# *Saves at most* is the upper bound of the loss over the whole run. A share of the slots is the same share of the cycles, so a remedy that removed the whole loss would save at most this share of the time. There is one exception: fewer mispredicted branches can save more than their row says, because a part of their cost counts as front end. The values of one program cannot be added up. A remedy that acts in only one phase saves less.

# %%
advice = pd.concat({name: experiments.frame_of_advice(summary)
                    for name, summary in summaries.items()}, names=["program", "row"])
advice = advice.droplevel("row").rename(columns={"at_most": "saves at most [%]",
                                                 "remedy": "what to try"})
results.table(advice, "advice", "What to try, one row per remedy. The loss with the highest lower "
              "bound is first in each program.", decimals=1)

# %% [markdown]
# The largest loss can be undecided because events are missing. Then the next table has the command that records these events. A dash means that no further event would help: the largest loss is decided, or two losses are equally large.

# %%
commands = pd.Series({name: summary["account"]["decide"] for name, summary in summaries.items()})
commands = commands.replace("", None).rename("command that decides").rename_axis("program")
results.table(commands.to_frame(), "commands", "The command that records the missing events.")

# %% [markdown]
# ## Result
#
# For each program: IPC, the bounds of the used share and of each category that may be the largest loss, and the sum of the four shares. Then the front end and the back end in the last phase of each program. The last two numbers count the programs whose largest loss is decided, by all runs and by the first run alone.

# %%
for name, ipc_of_program in overview["IPC"].dropna().items():
    results.number(f"IPC, {name}", ipc_of_program)
for name, summary in summaries.items():
    bounds = experiments.frame_of_bounds(summary).dropna()
    for category in ["retired", *summary["account"]["limits"]]:
        if category in bounds.index:
            results.number(f"{category}, {name}, at least", bounds["low"][category], "%")
            results.number(f"{category}, {name}, at most", bounds["high"][category], "%")
for name, total in counted["sum"].dropna().items():
    results.number(f"sum of the four shares, {name}", total, "%")
if progress:
    for name, means in phases.groupby("program", sort=False).last().iterrows():
        for category in ("front end", "back end"):
            results.number(f"{category}, {name}, last phase", means[category], "%")
results.number("programs with one largest loss, all runs", decided["all"])
results.number("programs with one largest loss, first run", decided["first"])
results.numbers()

# %% [markdown]
# ## Limitations
#
# * A share says how many slots were lost, not which function lost them. Use `perf record` for that.
# * Slots lost while the front end recovers from a mispredicted branch count as front end, not as bad speculation. Bad speculation therefore understates the cost of mispredictions, and avoiding them can save more than the share of bad speculation.
# * In this project's recordings each of the four events was counted in one run of each program. The bounds include the error of multiplexing, but not the differences between runs. The study [sums](studies/sums.ipynb) tests other events whose counts should add up.
# * The shares over the run have no bounds for the error of multiplexing that remains after cleaning, so a single step is less certain than the whole run. They are means over steps in which runs are combined, so their mean can differ by a percent or two from the shares of the whole run.
# * The method assumes one thread per core. Where two threads share a core, it counts the slots taken by the other thread as lost.
# * `cmlib record` counts user mode only. Work of the kernel is missing.
# * The costs of misses and mispredictions are ranges over plausible latencies, not confidence intervals.
# * On Intel processors one category is defined as the rest, so the sum is always 100 % and tests nothing.
#
# ## Your own program
#
# One file is enough for bounds. `cmlib summarize` prints them within seconds, and also prints the `perf` command with the events that your processor needs:
#
# ```sh
# perf stat -I 100 -x, -o myapp.csv -e instructions:u,cycles:u,branch-misses:u,cache-misses:u -- ./myapp
# .venv/bin/cmlib summarize myapp.csv
# ```
#
# The option `-I` is needed for the figure over the run. To run this notebook on your program, import the file or let `cmlib record` record all events:
#
# ```sh
# .venv/bin/cmlib import myapp myapp.csv  # or: .venv/bin/cmlib record myapp -- ./myapp
# .venv/bin/cmlib run live 00_first_look -p program=myapp
# ```
#
# The option `--processor NAME` of `cmlib run` names the processor if it is not recognized.
#
# ## References
#
# Yasin: *A top-down method for performance analysis and counters architecture*, ISPASS 2014. AMD: *Processor Programming Reference*, pipeline utilization.

# %%
results.save()
