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
# *Reads* the store, the database of all recorded runs, and the formulas of each processor under `data/topdown`. *Writes* the account of every program (what its slots went to), how well it adds up, and one sentence on what limits it.
#
# In every cycle the pipeline can take a fixed number of operations: eight on Zen 5, six on Zen 4, four to six on Intel's cores. Each of these *slots* is used by an operation that later retires (*retired*), wasted on an operation of a
# wrong path (*bad speculation*), or left empty, because no operation had arrived (*front end*) or because there was no room for it (*back end*). This is the top-down method of Yasin (ISPASS 2014); no paper of CounterMiner's authors computes it.
#
# The events behind it do not fit on the counters at once, so they come from many runs. Where a sum of them should be all slots, its distance from that tells how far counting, cleaning and merging of these events are from the truth.

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas, or all
method: str = "shrinkage"  # cleaning before runs are merged
settings: dict = {}  # jobs executor scheduler database processor interactive profile results_folder

# %%
from types import SimpleNamespace

import numpy as np
import pandas as pd
import seaborn as sns
from IPython.display import Markdown

from cmlib import clean, explore, merge, topdown
from cmlib.clean.methods import SERIES_METHODS
from cmlib.errors import NothingRecordedError
from cmlib.experiments import data
from cmlib.experiments.event_tables import table_name
from cmlib.io import events, store
from cmlib.parallel import parallel_map
from cmlib.plot.style import styled
from cmlib.report.notebook import begin

# %%
limits = {"method": "cmlib.clean.DISTINCT_METHODS"}
notebook = begin("02a_topdown", settings, program=program, method=method)
results, workers, url = notebook.results, notebook.workers, notebook.database
processor = notebook.processor
recorded = data.programs(url, program)
data.refuse_simulated(url, recorded, "where cycles go takes a processor's counters. Where "
                      "KCachegrind's estimate of them goes is in notebook 01a.")
PINNED, AT_WORK = ["instructions", "cycles"], ["retired", "at work"]  # the latter are no loss
LEAST = 0.001  # of all slots, to be drawn

# %% [markdown]
# ## The data
#
# What events mean differs between processors, so the formulas of each stand in a table (`data/topdown`). Where a program's processor is not known, that table is taken whose events were counted.

# %%
def choose_table(name):
    """The top-down table that fits what was counted of a program, as on the first page."""
    whole = [store.load(url, run).whole() for run in data.interval_runs(url, [name])["run_id"]]
    timed = [run for run in whole if "cycles" in run[0]]
    rates = topdown.totals(timed)["rate"]
    return topdown.choose_table(rates.index, table_name(url, name, processor), rates)


# %%
from cmlib.experiments.commands import command_to_count
from cmlib.shell import as_code


def suggest(name, needed):
    """What records some events of a program again."""
    meta = store.load(url, data.interval_runs(url, [name])["run_id"].iloc[0]).meta
    command = command_to_count(meta, [needed], PINNED, table_name(url, name, processor))
    named = ", ".join(f"`{event}`" for event in needed)
    return f"{as_code(command)} records them" if command else f"record {named}"


def suggest_all(name):
    """What records the events of its processor's table; without one, where to look."""
    table = table_name(url, name, processor)
    if table not in topdown.tables():
        return ("what the recorded events bound, and what would decide it, begins the first page: "
                "`cmlib summarize FILE`")
    needed = topdown.read_table(table).events()
    return "where its cycles go: " + suggest(name, [one for one in needed if one not in PINNED])


# %%
tables = {name: choose_table(name) for name in recorded}
programs = [name for name in recorded if tables[name]]
printed = [name for name in recorded if not tables[name] and all(
    "printed" in store.load(url, run).meta for run in data.interval_runs(url, [name])["run_id"])]
if not programs and printed == recorded:
    raise NothingRecordedError(
        f"no event that tells where the cycles go was counted of {', '.join(recorded)}: the first "
        "page has the shares that the recording tool printed.")
if not programs:
    raise NothingRecordedError(
        f"no event that tells where the cycles go is recorded of {', '.join(recorded)}; which of "
        "the recorded events its speed goes along with is told by notebook 03. To know "
        f"{suggest_all(recorded[0])}.")
display(Markdown(data.describe_data(url, programs)))
for one in {tables[name].name: tables[name] for name in programs}.values():
    print(f"Formulas {one.name}: {one.source}")

# %% [markdown]
# ## The account
#
# Each run is cut into steps of equal instructions, so that the same step of two runs is the same work (*progress*). Instructions and cycles were counted in every run, so each event's rate is moved to the mean speed of all runs by the
# regression of that event on IPC within its own run (Cochran, §7.1; *adjusted to IPC* below, *as counted* without it). With $e_{r,t}$ the rate of an event a cycle in step $t$ of run $r$, of $R$ runs that counted it, and $m_t$ the mean IPC of all runs:
#
# $$\hat{e}_t = \frac{1}{R} \sum_r \left( e_{r,t} + b_r \, (m_t - \mathrm{IPC}_{r,t}) \right), \quad b_r = \frac{\mathrm{cov}_t(e_r, \mathrm{IPC}_r)}{\mathrm{var}_t(\mathrm{IPC}_r)}.$$
#
# Each category's share of the slots is a formula over such rates, as the table of the processor has it (below). The dotted line is all slots: the nearer the stack comes to it, the better the counts agree. (IPC can be above the retired operations a cycle: two instructions that are fused, such as a compare and its branch, are one operation.)
#
# A step of slow instructions holds more slots than one of fast ones, so the mean of the steps' shares is no share of the run's slots. What is said of the whole run comes from its totals: the same formulas over the sum of each event's counts over the sum of the cycles in which it was counted. In the figures, steps are as wide as their cycles, so that areas are shares of the slots, and the axis is the share of the run's cycles so far.

# %%
def separate_sums(name):
    """Sums between events of which no run counted the whole together with a part."""
    table, runs = table_name(url, name, processor), data.interval_runs(url, [name])
    counted = runs.explode("events").groupby("events")["run_id"].agg(set)
    return [(whole, [*parts])
            for whole, parts in (events.umask_sums(events.table(table)) if table else ())
            if {whole, *parts} <= set(counted.index)
            and not any(counted[part] & counted[whole] for part in parts)]


def miss_of_sums(rates, sums):
    """Root mean square distance of wholes from their parts / mean of the whole; their median."""
    off = {whole: (((rates[whole] - rates[parts].sum(axis=1)) ** 2).mean()) ** 0.5
           for whole, parts in sums if {whole, *parts} <= set(rates)}
    return pd.Series({whole: distance / rates[whole].mean() for whole, distance in off.items()
                      if rates[whole].mean() > 1e-5}, dtype=float).median()


# %%
def clean_steps(name, method, table, others):
    """A program's runs, cleaned, in steps of progress: the events of a table, and others."""
    runs = data.interval_runs(url, [name])
    wanted = {*table.takes(set(runs["events"].explode())), *others}
    if method in SERIES_METHODS:  # event by event: only those that are needed
        whole = [store.load(url, run_id).whole() for run_id in runs["run_id"]]
        cleaned = [clean.clean_run(*(part[[event for event in part if event in wanted]]
                                     for part in run), method=method, run=name)[0] for run in whole]
    else:
        cleaned = data.cleaned_runs(url, name, sorted(set(runs["set"])), method=method)["counts"]
    needed = [run[[event for event in run if event in wanted]] for run in cleaned]
    # What perf prints has gaps, which the other ways of cleaning fill.
    return merge.step_runs([run.dropna(axis=1, how="all").interpolate(limit_direction="both")
                            for run in needed])


# %%
def account_by_every_way(name):
    """The account of a program by every way of cleaning and of merging."""
    sums, found = separate_sums(name), {}
    parts = [event for whole, several in sums for event in (whole, *several)]
    for how in clean.DISTINCT_METHODS:
        steps = clean_steps(name, how, tables[name], {*parts, *PINNED})
        for merging, adjust in {"as counted": False, "adjusted to IPC": True}.items():
            rates, ipc = topdown.merge_steps(steps, adjust=adjust)
            found[name, how, merging] = SimpleNamespace(
                account=topdown.account(rates, tables[name]), ipc=ipc, n_runs=len(steps),
                sums=miss_of_sums(rates, sums))
    return found


ways = {}
for several in parallel_map(account_by_every_way, programs, workers):
    ways |= several
accounts = {name: ways[name, method, "adjusted to IPC"] for name in programs}


# %%
def account_of_totals(name):
    """The account of a program's whole runs: shares of all slots."""
    runs = [store.load(url, run_id).whole() for run_id in data.interval_runs(url, [name])["run_id"]]
    account = topdown.account(topdown.totals(runs)["rate"].to_frame().T, tables[name])
    return SimpleNamespace(account=account, shares=account.shares.iloc[0],
                           level=account.level().iloc[0])


wholes = {name: account_of_totals(name) for name in programs}

# %% [markdown]
# ### The account of a whole run, from raw totals
#
# Of an event $e$ the rate is the sum of its counts over the sum of the cycles in which it was counted, over all runs $r$ and intervals $i$; what was counted for a share $w$ of an interval weighs as much:
#
# $$\bar e = \frac{\sum_{r,i} w_{r,i} \, e_{r,i}}{\sum_{r,i} w_{r,i} \, c_{r,i}}$$
#
# By AMD's formulas for eight slots a cycle, with retired $r$ = `ex_ret_ops`, dispatched $d$ = `de_src_op_disp.all`, and the slots that were left empty for want of operations, $f$, and for want of room, $b$:
#
# $$\text{retired} = \frac{\bar r}{8}, \quad \text{bad speculation} = \frac{\bar d - \bar r}{8}, \quad \text{front end} = \frac{\bar f}{8}, \quad \text{back end} = \frac{\bar b}{8}.$$

# %%
def rate(event, runs):
    """Counts of an event a cycle, over all runs and intervals that counted it."""
    e = c = 0.0
    for counts, running in runs:
        if event in counts:
            w = running[event].fillna(1.0).where(counts[event].notna(), 0.0)
            e += (w * counts[event]).sum()
            c += (w * counts["cycles"]).sum()
    return e / c


def account_by_hand(name):
    """Shares of the slots by AMD's formulas for Zen 5."""
    runs = [store.load(url, run_id).whole() for run_id in data.interval_runs(url, [name])["run_id"]]
    r, d = rate("ex_ret_ops", runs), rate("de_src_op_disp.all", runs)
    f = rate("de_no_dispatch_per_slot.no_ops_from_frontend", runs)
    b = rate("de_no_dispatch_per_slot.backend_stalls", runs)
    return pd.Series({"retired": r, "bad speculation": d - r, "front end": f, "back end": b}) / 8


# %%
zen5 = [name for name in programs if tables[name].name == "amd_zen5"][:1]
for name in zen5:
    by_hand = account_by_hand(name)
    np.testing.assert_allclose(by_hand, wholes[name].level[by_hand.index], rtol=1e-9)
    text = ", ".join(f"{category} {100 * share:.1f} %" for category, share in by_hand.items())
    print(f"{name}: {text}; in all {100 * by_hand.sum():.1f} % of the slots. cmlib.topdown gives "
          "the same from the table.")

# %%
COLOURS = {"retired": "#3b9c6a", "at work": "#3b9c6a", "bad speculation": "#c8553d",
           "front end": "#e0a030", "back end": "#3f6fb5", "sibling thread": "#8a8f98"}


def shades(names, parents):
    """Colours by category: parts of one share its colour, lighter from one to the next."""
    colours = {}
    for parent in dict.fromkeys(parents.get(name, name) for name in names):
        parts = [name for name in dict.fromkeys(names) if parents.get(name, name) == parent]
        colour = COLOURS.get(parent, "#b8bcc4")
        lighter = sns.light_palette(colour, n_colors=len(parts) + 2, reverse=True)
        colours |= dict(zip(parts, lighter, strict=False))
    return {name: colours[name] for name in dict.fromkeys(names)}


# %%
def stack_shares(axes, shares, ipc, colours):
    """IPC above the stacked shares of the slots, steps as wide as their cycles."""
    above, below = axes
    cycles = 1 / ipc / (1 / ipc).sum()
    middles = (cycles.cumsum() - cycles / 2).to_numpy()
    above.plot(middles, ipc.to_numpy(), color="#333333", lw=1.2)
    above.set_ylim(0, None)
    chosen, heights = [colours[name] for name in shares], shares.clip(lower=0).T.to_numpy()
    stack = below.stackplot(middles, heights, colors=chosen, lw=0)
    below.axhline(1.0, color="#333333", lw=0.8, ls=":")
    below.set(xlabel="share of the run's cycles so far", xlim=(0, 1), ylim=(0, 1.1))
    return stack


# %%
from cmlib.plot.style import card


@styled
def account_card(shares, whole, ipc, parents):
    """IPC and shares of one program for the report's first page, those of its whole run named."""
    figure, axes = card(3.6, 2, height_ratios=(1, 2.2))
    stack = stack_shares(axes, shares, ipc, shades(shares, parents))
    axes[0].set_ylabel("IPC")
    axes[1].set_ylabel("share of slots")
    texts = [f"{name} {100 * whole[name]:.0f} %" for name in shares]
    narrow = {"columnspacing": 1.0, "handlelength": 1.1}
    figure.legend(stack, texts, loc="outside lower center", ncols=2, **narrow)
    return figure, axes


# %%
from matplotlib.patches import Patch

from cmlib.plot.style import blank


@styled
def draw_accounts(shares, ipcs, parents):
    """Stacked shares of the slots over progress with IPC above, a column a program."""
    figure, axes = blank(4.2, rows=2, columns=len(shares), sharex=True, sharey="row")
    names = [name for one in shares.values() for name in one if one[name].mean() > LEAST]
    colours = shades(names, parents)
    for (above, below), (program, frame) in zip(axes.T, shares.items(), strict=True):
        shown = frame[[name for name in frame if name in colours]]
        stack_shares((above, below), shown, ipcs[program], colours)
        above.set_title(program)
        below.set(xlabel="cycles so far [share]", xticks=[0.25, 0.5, 0.75])
    axes[0, 0].set_ylabel("IPC")
    axes[1, 0].set_ylabel("share of slots")
    handles = [Patch(color=colour, label=name) for name, colour in colours.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(6, len(handles)))
    return figure, axes


# %%
levels = {name: one.account.level() for name, one in accounts.items()}
print(f"{programs[0]}: {len(levels[programs[0]])} steps of equal instructions, the first 5; share "
      "of each step's slots")
display(levels[programs[0]].head().round(3))
ipcs = {name: one.ipc for name, one in accounts.items()}
figure, _ = draw_accounts(levels, ipcs, {})
rising = {name: (frame.max() - frame.min()).drop(AT_WORK, errors="ignore")
          for name, frame in levels.items()}
widest = max(rising, key=lambda name: rising[name].max())
what = rising[widest].idxmax()
n_runs = " or ".join(dict.fromkeys(str(one.n_runs) for one in accounts.values()))
results.figure(
    figure, "account", "**Figure.** IPC (above) and what became of the slots (below), over "
    f"the run, of {len(levels)} programs, {n_runs} runs of each merged; dotted: all slots. *See:* "
    f"a loss changes most in {widest}: {what} takes {100 * levels[widest][what].min():.0f} to "
    f"{100 * levels[widest][what].max():.0f} % of a single step's slots. That the stack ends at "
    "the line does not test how retired and bad speculation are split (below).")

# %%
from cmlib.plot.style import single


@styled
def draw_means(shares):
    """Shares of a run's slots as stacked horizontal bars, a bar a program."""
    figure, ax = single(0.9 + 0.45 * len(shares))
    shown, colours = shares.loc[:, shares.max() > LEAST].fillna(0.0), shades(shares, {})
    shown.plot.barh(stacked=True, ax=ax, color=colours, width=0.65, legend=False)
    for bars in ax.containers:
        texts = [f"{100 * width:.0f} %" if width >= 0.05 else "" for width in bars.datavalues]
        ax.bar_label(bars, labels=texts, label_type="center", color="white", fontsize=8)
    ax.axvline(1.0, color="#333333", lw=0.8, ls=":")
    ax.invert_yaxis()
    ax.grid(False)
    ax.set(xlim=(0, max(1.05, shown.sum(axis=1).max() + 0.02)), ylabel="",
           xlabel="share of the run's slots")
    figure.legend(loc="outside lower center", ncols=5)
    return figure, ax

# %%
means = pd.concat({name: whole.level for name, whole in wholes.items()}, axis=1).T
figure, _ = draw_means(means)
losses = means.drop(columns=AT_WORK, errors="ignore")
sums = 100 * means.sum(axis=1)
LIKE = 0.01  # of all slots: losses that are nearer to each other are named together


def largest_losses(shares):
    """The largest loss of a program, and others that are as large."""
    named = shares[shares >= shares.max() - LIKE].sort_values(ascending=False)
    named = [f"{loss} {100 * share:.0f} %" for loss, share in named.items()]
    return " and about as much ".join(named)


text = "; ".join(f"{name}: {largest_losses(shares)}" for name, shares in losses.iterrows())
far = "" if np.isclose(sums.min(), sums.max()) else f" to {sums.max():.1f}"
display(results.figure(
    figure, "means", f"**Figure.** What became of the slots over the whole run, {n_runs} runs of "
    f"each program; dotted: all slots. *See:* the largest losses are, {text}."))
results.finding(f"The largest loss of slots (share of all slots): {text}. The four categories add "
                f"up to {sums.min():.1f}{far} % of all slots over the whole run.")

# %% [markdown]
# ## One level deeper
#
# Losses at the front end are latency (cycles without any operation, as after an instruction-cache miss or a misprediction) or bandwidth (too few at a time). Losses at the back end are waiting for memory or for execution units;
# the share of memory is split by where the lines came from. What retired is split into operations of the *microcode* and *plain ops*, all others; *pipeline restarts* are bad speculation without a mispredicted branch; the *sibling thread* is the other hardware thread of the core. All shares are of all slots, so that parts add up to the category above; in the formulas, `parent` stands for the slots of that category.
# What could not be split for want of an event is absent here and named below, with the command that records it.

# %%
by_step = {name: one.account.shares.quantile([0.05, 0.95]) for name, one in accounts.items()}
rows = [{"program": name, "category": category, "share of slots [%]": 100 * whole.shares[category],
         "5th percentile": 100 * ends[0.05], "95th percentile": 100 * ends[0.95],
         "formula": whole.account.formulas[category]}
        for name, whole in wholes.items() for category, ends in by_step[name].items()]
categories = pd.DataFrame(rows)
formulas = categories.drop_duplicates("category").set_index("category")["formula"]
shares = categories.pivot(index="category", columns="program", values="share of slots [%]")
shares = shares.loc[formulas.index, list(by_step)].reset_index()
shown = shares[shares[list(by_step)].max(axis=1) >= 0.5]
shares = pd.concat([shown, shares.drop(shown.index)])
display(results.table(shares, "shares", "**Table.** Share of the run's slots by category and "
                      f"program [%]: the {len(shown)} of {len(shares)} that take 0.5 % or more of "
                      "some program (all in shares.csv); – : could not be split.",
                      rows=len(shown), decimals=1))
categories = categories.sort_values("share of slots [%]", ascending=False, kind="stable")
caption = (f"**Table.** The formulas of the 6 largest of {len(categories)} shares, by program "
           "(all in categories.csv), and percentiles of the steps, which are of equal "
           "instructions.")
display(results.table(categories, "categories", caption, rows=6, decimals=1))

# %% [markdown]
# ## Does it add up?
#
# With the shares $s_{k,t}$ of the categories $k$ in step $t$, which has the share $c_t$ of all cycles,
#
# $$\mathrm{mean} = \sum_t c_t \sum_k s_{k,t}, \qquad \mathrm{rms}^2 = \sum_t c_t \Big( \sum_k s_{k,t} - 1 \Big)^2,$$
#
# *mean* should be 1, and *rms*, the distance of the single steps, small. *mean* is that of the merged steps, in which each run weighs the same; the sums of whole runs above weigh each count by the time it was counted, so the two differ by a point or so, to either side of 1.
#
# By AMD's formulas retired is $r$ = `ex_ret_ops` and bad speculation $d - r$, $d$ = `de_src_op_disp.all`: in the sum $r$ cancels, and what is tested are three events, dispatched $d$, front end $f$ and back end $b$, against the slots of the cycles $c$:
#
# $$\sum_k s_k = \frac{r + (d - r) + f + b}{8 \, c} = \frac{d + f + b}{8 \, c}$$
#
# **No error in retired, nor in how what was dispatched is split into retired and bad speculation, can show here.** The share of a sibling thread is zero where its event was not counted (`0 * cycles`): assumed, not measured. So is every split of a category into its parts.
#
# *sums* is a second test, independent of the first: some events are by their umasks the sum of others, and are compared with that sum where no run counted the whole together with a part.
# A way of cleaning or merging that is better by one test should be better by the other; whether it is stands in the finding below.
#
# *worst step* is the part of the squared distances that one single step makes up, and *its sum* the sum of its shares. Where that step is the last, in which the program exits, and slots are missing however runs are cleaned and merged: in user mode
# only was counted; what the processor does on its way into the kernel and back may be missing there, but no event recorded tells.

# %%
def closure_of(account, ipc):
    """How far an account is from all slots; unknown where it proves nothing."""
    uncounted = {part.name for part in account.table.parts()} & account.missing.keys()
    if uncounted or not account.table.closes:
        return dict.fromkeys(["mean", "rms", "worst step", "its sum"])
    total, cycles = account.level().sum(axis=1), 1 / ipc / (1 / ipc).sum()
    squares = cycles * (total - 1) ** 2
    return {"mean": (cycles * total).sum(), "rms": squares.sum() ** 0.5,
            "worst step": squares.max() / (squares.sum() or float("nan")),
            "its sum": total[squares.idxmax()]}


# %%
closures = pd.DataFrame([
    dict(zip(["program", "cleaning", "merging"], way, strict=True))
    | closure_of(one.account, one.ipc) | {"sums": one.sums} for way, one in ways.items()
]).astype({"mean": float, "rms": float, "worst step": float, "its sum": float})
by_way = closures.groupby(["cleaning", "merging"])["rms"].mean().dropna()
at = {way: 100 * off for way, off in by_way.items()}
BEFORE, AFTER = ("scaling", "as counted"), (method, "adjusted to IPC")
see = "no sum can be tested"
if {BEFORE, AFTER} <= at.keys():
    adjusted = ", ".join(f"{how} {off:.1f} %" for (how, way), off in at.items()
                         if way == AFTER[1] and how != "scaling")
    see = (f"single steps of what perf prints are {at[BEFORE]:.1f} % off all slots (mean of "
           f"programs), {at['scaling', AFTER[1]]:.1f} % with runs adjusted to IPC; and then, "
           f"cleaned by {adjusted}")
first = closures[["cleaning", "merging"]].apply(tuple, axis=1).isin([BEFORE, AFTER])
caption = (f"**Table.** What perf prints as counted, and {method} adjusted to IPC: {first.sum()} "
           f"of {len(closures)} rows (all in closure.csv). Mean, root mean square distance of "
           "its steps from all slots, by their cycles [share of the slots]; *sums*: root mean "
           "square distance between a whole and its parts [share of the whole], median of the "
           f"sums. *See:* {see}.")
closures = pd.concat([closures[first], closures[~first]])
results.table(closures, "closure", caption, rows=max(1, first.sum()), decimals=3)

# %%
by_sums = 100 * closures.groupby(["cleaning", "merging"])["sums"].mean()
second = ""
if {BEFORE, AFTER} <= set(by_sums.dropna().index):
    steps = [by_sums[BEFORE], by_sums["scaling", AFTER[1]], by_sums[AFTER]]
    agree = "Both tests fall" if steps == sorted(steps)[::-1] else "The tests do not agree"
    second = (f" {agree}: the second, sums of events, goes from {steps[0]:.1f} % by {steps[1]:.1f} "
              f"(adjusted) to {steps[2]:.1f} % ({method}).")
if len(by_way):
    display(results.finding(f"Do the counts add up? {see[0].upper()}{see[1:]}.{second}"))
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
# Which events make up each sum, and what it can test. (A picture of each program, its losses split into their parts, stands on the report's first page, beside what limits it by notebook 01a.) Sums here are of whole runs, weighed by the time that events were counted; those in the table above are of merged steps.

# %%
def describe_shares(whole):
    """What became of the slots: losses and their parts from 3 % on, and what was at work."""
    account, shares, level = whole.account, whole.shares, whole.level
    losses = level.drop(AT_WORK, errors="ignore").sort_values(ascending=False)
    unit = "cycles" if account.table.name == "generic" else "slots"
    said = ["**hardly any**"] if losses.max() < 0.03 else []
    for name in losses.index[losses >= 0.03]:
        parts = shares.reindex([part.name for part in account.table.parts(name)])
        inside = ", ".join(f"{part} {100 * of:.0f} %" for part, of in parts[parts >= 0.03].items())
        said.append(f"**{name} {100 * losses[name]:.0f} %**" + (f" ({inside})" if inside else ""))
    worked = [f"{100 * share:.0f} % {name}" for name, share in level.drop(losses.index).items()]
    return f"{unit} lost: {', '.join(said)}; {', '.join(worked)}"


# %%
from cmlib.topdown.category_tables import evaluate, names_in


def tested_events(account):
    """Events of level 1, and whether the sum depends on them, or they cancel in it."""
    formulas = [account.formulas[name] for name in account.level()]
    names = dict.fromkeys(name for formula in formulas for name in names_in(formula))

    def total(values):
        return sum(evaluate(formula, dict.fromkeys(names, 1.0) | values) for formula in formulas)

    return {name: total({name: 2.0}) != total({}) for name in names if name not in PINNED}


# %%
def tested_categories(account):
    """Categories of level 1 that the sum tests, those it can't tell apart, those not counted."""
    shows = tested_events(account)
    used = {name: shows.keys() & set(names_in(account.formulas[name])) for name in account.level()}
    assumed = [name for name in used if not used[name]]
    untested = [name for name in used if any(not shows[event] for event in used[name])]
    return [name for name in used if name not in assumed + untested], untested, assumed


# %%
def judge_sum(one, closure):
    """Whether the account adds up, and what the sum says nothing of."""
    if closure["mean"] is None:
        return "what was counted can't be tested by its sum"
    tested, untested, assumed = tested_categories(one.account)
    wrong = "" if abs(closure["mean"] - 1) <= 0.02 else ": **it does not add up** within 2 %"
    return (f"The account adds up to {100 * closure['mean']:.1f} % of all slots "
            f"({one.n_runs} runs){wrong}"
            + f". This tests {' and '.join(tested)}" * bool(tested)
            + f"; it can't test how {' and '.join(untested)} are split" * bool(untested)
            + f"; {', '.join(assumed)} was not counted and is taken as none" * bool(assumed))


def describe_sum(one, closure):
    """The sum by its events: what is added, how far single steps are off, what cancels."""
    shows = tested_events(one.account)
    counted, cancels = (" + ".join(f"`{event}`" for event in shows if shows[event] == how)
                        for how in (True, False))
    return (f"The sum of the account: {counted}, merged from {one.n_runs} runs, against the slots; "
            f"single steps are {100 * closure['rms']:.1f} % off (root mean square)"
            + f"; {cancels} cancels in it" * bool(cancels) + ".")


# %%
def missing_events(name, closure):
    """What to record again: what was not counted, or all where it does not add up."""
    account = accounts[name].account
    missing = {name: needed for name, needed in account.missing.items() if needed}
    if missing:
        needed = dict.fromkeys(event for several in missing.values() for event in several)
        return f"{', '.join(missing)}: {suggest(name, list(needed))}"
    if closure["mean"] is None or abs(closure["mean"] - 1) <= 0.02:
        return ""
    return f"an account that adds up: {suggest(name, list(tested_events(account)))}"


# %%
def losses_by_part(whole):
    """Categories of level 1 from 0.5 % of the slots on, losses by their parts where known."""
    names = [part for name in whole.level.index for part in
             ([name] if name in AT_WORK else list(whole.account.level(name)) or [name])]
    return [name for name in names if whole.shares[name] >= 0.005]


# %%
for name, one in accounts.items():
    whole = wholes[name]
    closure, limits = closure_of(one.account, one.ipc), describe_shares(whole)
    if closure["mean"] is not None:
        closure["mean"] = whole.level.sum()
    figure, _ = account_card(one.account.shares[losses_by_part(whole)], whole.shares, one.ipc,
                             one.account.table.parents)
    alt = f"{name}: IPC over progress, and what became of the slots. {limits}"
    picture = results.overview_picture(name, figure, alt)
    if notebook.of_program:  # of several programs the figure above has them all
        display(picture)
    if closure["mean"] is not None:
        display(results.finding(describe_sum(one, closure), program=name))
    display(results.overview(name, sure=judge_sum(one, closure),
                             lacking=missing_events(name, closure)))

# %%
for name in sorted(set(recorded) - set(programs)):
    display(results.overview(name, lacking=suggest_all(name)))

# %% [markdown]
# ## Explore
#
# Another program, one or two levels deeper, or another way of cleaning and merging: does the stack still end at the dotted line? *As counted* leaves out the adjustment to IPC.

# %%
def at_level(account, level):
    """Categories of a level; where one is not split so far, the one above."""
    names = list(account.level())
    for _ in range(level - 1):
        names = [below for name in names for below in (list(account.level(name)) or [name])]
    return names


def draw_account(program, level, cleaning, merging):
    """Where the cycles of a program go, over its progress."""
    one = ways[program, cleaning, merging]
    shares = one.account.shares[at_level(one.account, level)]
    parents = one.account.table.parents
    figure, _ = draw_accounts({program: shares}, {program: one.ipc}, parents)
    whole = 100 * wholes[program].shares[list(shares)].rename("share of the run's slots [%]")
    return figure, whole.to_frame().to_html(float_format="{:.1f}".format)


# %%
every = [list(dict.fromkeys(key[place] for key in ways)) for place in range(3)]
panel = explore.Panel(draw_account, {
    "program": explore.dropdown("program", every[0]),
    "level": explore.dropdown("level", [1, 2, 3]),
    "cleaning": explore.dropdown("cleaning", every[1], every[1][-1]),
    "merging": explore.dropdown("merging", every[2], every[2][-1]),
})
panel if notebook.interactive else Markdown("The panel needs JupyterLab, and is not shown here.")

# %% [markdown]
# ## What this doesn't show
#
# A slot that is lost to the front end behind a mispredicted branch counts as front-end latency, not as bad speculation. Which loads miss, and in which function, takes samples (`perf record`), not counts.
# The split of waiting for memory weighs fills by nominal latencies (14, 50 and 350 cycles), which overlap in reality. Kernel work was not counted (`:u`).
# Where one category is defined as what the others leave, as by Intel's formulas, the sum is one whatever was counted, and proves nothing. By AMD's it tests dispatched, front end and back end; retired against bad speculation, the sibling thread and all parts below level 1 have no test here but *sums*.
#
# ## On your own program
#
# `cmlib record NAME -- COMMAND`, then `cmlib run live 02a_topdown -p program=NAME`. Change `method` first, the cleaning of the counts: `scaling` shows the account as perf prints it. A table for another processor: `data/topdown/README.md`.
#
# **References.** Yasin, *A top-down method for performance analysis and counters architecture*, ISPASS 2014. AMD, Processor Programming Reference, guidance for pipeline utilization analysis.
# Cochran, *Sampling Techniques*, §7.1 (regression estimator).

# %%
results.save()
