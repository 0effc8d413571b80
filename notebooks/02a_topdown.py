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
# # Where the cycles go
#
# **Question.** What became of the pipeline's slots over the program's run, and do the counts add up?
#
# *Reads* the store and the tables under `data/topdown`. *Writes* the account of every program, its closure, and one sentence on what limits it.
#
# In every cycle the pipeline can take a fixed number of operations: eight on Zen 5, six on Zen 4, four to six on Intel's cores. Each of these *slots* is used by an operation that later retires, wasted on an operation of a
# wrong path (*bad speculation*), or left empty, because no operation had arrived (*front end*) or because there was no room for it (*back end*). This is the top-down method of Yasin (ISPASS 2014).
#
# The events behind it do not fit on the counters at once, so they come from many runs. Where a sum of them should be all slots, its distance from that tells how far counting, cleaning and merging of these events are from the truth.

# %% tags=["parameters"]
program = "all"  # programs to study, separated by commas, or all
method = "kalman"  # cleaning before runs are merged {cmlib.clean.DISTINCT_METHODS}
settings = {}  # jobs, executor, scheduler, database, interactive, profile, results_folder

# %%
from functools import partial

import pandas as pd

from cmlib import explore
from cmlib.experiments import data, topdown
from cmlib.parallel import parallel_map
from cmlib.plot import topdown as plot
from cmlib.plot.overview import account_card
from cmlib.report.notebook import begin

# %%
notebook = begin("02a_topdown", globals())
results, workers, url = notebook.results, notebook.workers, notebook.database
recorded = data.programs(url, program)
programs = topdown.accounted(url, recorded)

# %% [markdown]
# ## The account
#
# Runs are aligned by progress, the share of the program's instructions that have retired. Instructions and cycles were counted in every run, so each event's rate is moved to the mean speed of all runs by the
# regression of that event on IPC within its own run (Cochran, §7.1):
#
# $$\hat{e}_t = \frac{1}{R} \sum_r \left( e_{r,t} + b_r \, (\overline{\mathrm{IPC}}_t - \mathrm{IPC}_{r,t}) \right), \quad b_r = \frac{\mathrm{cov}_t(e_r, \mathrm{IPC}_r)}{\mathrm{var}_t(\mathrm{IPC}_r)}.$$
#
# Each category's share of the slots is a formula over such rates, as the table of the processor has it (below). The dotted line is all slots: the nearer the stack comes to it, the better the counts agree.

# %%
ways = {}
for several in parallel_map(partial(topdown.account_in_every_way, url), programs, workers):
    ways |= several
accounts = {name: ways[name, method, "adjusted to IPC"] for name in programs}

# %%
levels = {name: one.account.level() for name, one in accounts.items()}
print({name: frame.shape for name, frame in levels.items()}, "steps x categories, share of slots")
display(levels[programs[0]].head())
ipcs = {name: one.ipc for name, one in accounts.items()}
figure, _ = plot.accounts(levels, ipcs)
results.figure(
    figure, "account", "**Figure.** IPC (above) and what became of the slots (below), by progress."
)

# %%
means = pd.DataFrame({name: frame.mean() for name, frame in levels.items()}).T
figure, _ = plot.account_bars(means)
results.figure(
    figure, "means", "**Figure.** The same, mean over the run. Dotted: all slots."
)

# %% [markdown]
# ## One level deeper
#
# Losses at the front end are latency (cycles without any operation, as after an instruction-cache miss or a misprediction) or bandwidth (too few at a time). Losses at the back end are waiting for memory or for execution units;
# the share of memory is split by where the lines came from. All shares are of all slots, so that parts add up to the category above; in the formulas, `parent` stands for the slots of that category.
# What could not be split for want of an event is absent here and named below, with the command that records it.

# %%
rows = [{"program": name, "category": category, "share of slots [%]": 100 * share.mean(),
         "5th percentile": 100 * share.quantile(0.05),
         "95th percentile": 100 * share.quantile(0.95), "formula": one.account.formulas[category]}
        for name, one in accounts.items() for category, share in one.account.shares.items()]
caption = "**Table.** Every category, by program: mean over the run, and percentiles of the steps."
results.table(pd.DataFrame(rows), "categories", caption, rows=80, decimals=1)

# %% [markdown]
# ## Does it add up?
#
# With the shares $s_{k,t}$ of the categories $k$ in step $t$ of $T$,
#
# $$\mathrm{mean} = \frac{1}{T} \sum_t \sum_k s_{k,t}, \qquad \mathrm{rms} = \sqrt{\frac{1}{T} \sum_t \Big( \sum_k s_{k,t} - 1 \Big)^2},$$
#
# *mean* should be 1, and *rms*, the distance of the single steps, small.
#
# By AMD's formulas retired is $r$ = `ex_ret_ops` and bad speculation $d - r$, $d$ = `de_src_op_disp.all`: in the sum $r$ cancels, and what is tested are three events, dispatched $d$, front end $f$ and back end $b$, against the slots of the cycles $c$:
#
# $$\sum_k s_k = \frac{r + (d - r) + f + b}{8 \, c} = \frac{d + f + b}{8 \, c}$$
#
# **No error in retired, nor in how what was dispatched is split into retired and bad speculation, can show here.** The share of a sibling thread is zero where its event was not counted (`0 * cycles`): assumed, not measured. So is every split of a category into its parts.
#
# *sums* is a second test, independent of the first: some events are by their umasks the sum of others, and are compared with that sum where no run counted the whole together with a part.
# A way of cleaning or merging that is better by one test should be better by the other.
#
# *worst step* is the part of the squared distances that one single step makes up. Of wordcount it is two thirds: in its last step, in which it exits, a quarter of the slots is missing, however runs are cleaned and merged. In user mode
# only was counted; what the processor does on its way into the kernel and back may be missing there, but no event recorded tells.

# %%
def closure_of(one):
    """How far an account is from all slots; unknown where it proves nothing."""
    if one.closes is None:
        return dict.fromkeys(["mean", "rms", "worst step"])
    total = one.account.level().sum(axis=1)
    squares = (total - 1) ** 2
    return {"mean": total.mean(), "rms": squares.mean() ** 0.5,
            "worst step": squares.max() / squares.sum()}


closures = pd.DataFrame([
    dict(zip(["program", "cleaning", "merging"], way, strict=True)) | closure_of(one)
    | {"sums": one.sums} for way, one in ways.items()
]).astype({"mean": float, "rms": float, "worst step": float})
results.table(
    closures,
    "closure",
    "**Table.** Mean and root mean square distance from all slots, over the steps of progress "
    "[share of the slots]; *sums*: root mean square distance between a whole and its parts [share "
    "of the whole], median of the sums.",
    decimals=4,
)

# %%
judged = closures.dropna(subset=["rms"]).set_index(["program", "cleaning", "merging"])["rms"]
for name in judged.index.unique("program"):
    before = judged[name, "scaling", "as counted"]
    after = judged[name, method, "adjusted to IPC"]
    results.number(
        f"{name}: closure, as perf prints it", 100 * before, "%",
        note="root mean square over the steps",
    )
    results.number(
        f"{name}: closure, {method} and adjusted",
        100 * after,
        "%",
        note=f"{100 * (1 - after / before):.0f} % lower",
    )

# %% [markdown]
# ## Where they go, program by program
#
# These pictures and sentences stand at the beginning of the report. Losses are split into their parts where these were counted; shades of a colour are parts of one category.

# %%
for name, one in accounts.items():
    summary = topdown.describe_account(one)
    shares, parents = topdown.losses_by_part(one.account), one.account.table.parents
    figure, _ = account_card(shares, one.ipc, parents=parents)
    alt = f"{name}: IPC over progress, and what became of the slots. {summary['limits']}"
    display(results.overview_picture(name, figure, alt))
    display(results.overview(name, **summary))

# %%
for name in sorted(set(recorded) - set(programs)):
    display(results.overview(name, lacking=topdown.describe_unaccounted(url, name)))

# %% [markdown]
# ## Explore
#
# Another program, one or two levels deeper, a stretch of the run, or another way of cleaning and merging: does the stack still end at the dotted line? *As counted* leaves out the adjustment to IPC.

# %%
panel = explore.topdown(ways)
caption = "**Figure.** The account of the panel that JupyterLab shows here, at its first setting."
panel if notebook.interactive else results.figure(panel.figure(), "explore", caption)

# %% [markdown]
# ## What this doesn't show
#
# A slot that is lost to the front end behind a mispredicted branch counts as front-end latency, not as bad speculation. Which loads miss, and in which function, takes samples (`perf record`), not counts.
# The split of waiting for memory weighs fills by nominal latencies (14, 50 and 350 cycles), which overlap in reality. Kernel work was not counted (`:u`).
# Where one category is defined as what the others leave, as by Intel's formulas, the sum is one whatever was counted, and proves nothing. By AMD's it tests dispatched, front end and back end; retired against bad speculation, the sibling thread and all parts below level 1 have no test here but *sums*.
#
# **References.** Yasin, *A top-down method for performance analysis and counters architecture*, ISPASS 2014. AMD, Processor Programming Reference, guidance for pipeline utilization analysis.
# Cochran, *Sampling Techniques*, §7.1 (regression estimator).

# %%
results.numbers()

# %%
results.save()
