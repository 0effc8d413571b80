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
# # Where the cycles go: what became of the pipeline's slots
#
# **Question.** What became of the pipeline's slots over the program's run, and do the counts add up?
#
# *Reads* the store, the database of all recorded runs, and the formulas of each processor under `data/topdown`. *Writes* the account of every program (what its slots went to) and how well it adds up.
#
# In every cycle the pipeline can take a fixed number of operations: eight on Zen 5, six on Zen 4, four to six on Intel's cores. Each of these *slots* is used by an operation that later retires (*retired*), wasted on an operation of a wrong path (*bad speculation*), or left empty, because no operation had arrived (*front end*) or because there was no room for it (*back end*). This is the top-down method of Yasin (ISPASS 2014); no paper of CounterMiner's authors computes it.
#
# The events behind it do not fit on the counters at once, so they come from several runs, in some of which events took turns (multiplexing). Such counts can be *cleaned* before runs are merged: *scaling* leaves what perf prints, extrapolated by the share of time on a counter; *interpolate* draws straight lines over what was not counted; *counterminer* replaces peaks and fills gaps as that paper does; *shrinkage*, the default, moves each count part of the way to the mean of its two neighbours in time, the further the more of the difference is error of multiplexing (notebook 02c has its formula).

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas, or all
method: str = "shrinkage"  # cleaning before runs are merged
settings: dict = {}  # jobs executor scheduler database processor interactive profile results_folder

# %%
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
from IPython.display import Markdown
from matplotlib.patches import Patch

from cmlib import clean, merge, topdown
from cmlib.errors import NothingRecordedError
from cmlib.experiments import data
from cmlib.experiments.commands import command_to_count
from cmlib.experiments.event_tables import table_name
from cmlib.io import events, store
from cmlib.parallel import parallel_map
from cmlib.plot.account import category_colours, stack_shares
from cmlib.plot.style import blank, card, styled
from cmlib.report.notebook import begin
from cmlib.shell import as_code
from cmlib.topdown.category_tables import evaluate, names_in

# %%
limits = {"method": "cmlib.clean.DISTINCT_METHODS"}
notebook = begin("02a_topdown", settings, program=program, method=method)
results, workers, url = notebook.results, notebook.workers, notebook.database
recorded = data.programs(url, program)
data.refuse_simulated(url, recorded, "where cycles go takes a processor's counters. Where "
                      "KCachegrind's estimate of them goes is in notebook 01a.")
PINNED, AT_WORK = ["instructions", "cycles"], ["retired", "at work"]  # the latter are no loss

# %% [markdown]
# ## The data
#
# What events mean differs between processors, so the formulas of each stand in a table (`data/topdown`). Where a program's processor is not known, that table is taken whose events were counted.

# %%
def load_runs(name):
    """Counts and running shares of a program's runs, by interval."""
    return [store.load(url, run).whole() for run in data.interval_runs(url, [name])["run_id"]]


def events_of(name):
    """The table of a processor's events that fits a program, where there is one."""
    return table_name(url, name, notebook.processor)


def choose_table(name):
    """The top-down table that fits what was counted of a program, as on the first page."""
    rates = topdown.totals([run for run in load_runs(name) if "cycles" in run[0]])["rate"]
    return topdown.choose_table(rates.index, events_of(name), rates)


# %%
tables = {name: choose_table(name) for name in recorded}
programs = [name for name in recorded if tables[name]]
if not programs:
    raise NothingRecordedError(
        "this account takes cycles and a processor's events for slots, and they were not counted "
        f"of {', '.join(recorded)}. What is known of its slots begins the report's first page.")
display(Markdown(data.describe_data(url, programs)))
for one in {tables[name].name: tables[name] for name in programs}.values():
    print(f"Formulas {one.name}: {one.source}")

# %% [markdown]
# ## The account of a whole run
#
# Of an event $e$ the rate is the sum of its counts over the sum of the cycles in which it was counted, over all runs $j$ and intervals $i$, $c$ being cycles; what was counted for a share $w$ of an interval weighs as much:
#
# $$\bar e = \frac{\sum_{j,i} w_{j,i} \, e_{j,i}}{\sum_{j,i} w_{j,i} \, c_{j,i}}$$
#
# By AMD's formulas for eight slots a cycle, with retired $r$ = `ex_ret_ops`, dispatched $d$ = `de_src_op_disp.all`, and the slots that were left empty for want of operations, $f$, and for want of room, $b$:
#
# $$\text{retired} = \frac{\bar r}{8}, \quad \text{bad speculation} = \frac{\bar d - \bar r}{8}, \quad \text{front end} = \frac{\bar f}{8}, \quad \text{back end} = \frac{\bar b}{8}.$$
#
# Nothing is cleaned here: these are sums of what perf printed.

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


AMD = ["retired", "bad speculation", "front end", "back end"]


def account_by_hand(runs):
    """Shares of the slots by AMD's formulas for Zen 5."""
    r, d = rate("ex_ret_ops", runs), rate("de_src_op_disp.all", runs)
    f = rate("de_no_dispatch_per_slot.no_ops_from_frontend", runs)
    b = rate("de_no_dispatch_per_slot.backend_stalls", runs)
    return pd.Series([r, d - r, f, b], AMD) / 8


# %%
wholes = {name: topdown.account(topdown.totals(load_runs(name))["rate"].to_frame().T, tables[name])
          for name in programs}
level = pd.DataFrame({name: whole.level().iloc[0] for name, whole in wholes.items()}).T
complete = level.index[level.reindex(columns=AMD).notna().all(axis=1)]
for name in [name for name in complete if tables[name].name == "amd_zen5"][:1]:
    by_hand = account_by_hand(load_runs(name))
    np.testing.assert_allclose(by_hand, level.loc[name, AMD], rtol=1e-9)
    text = ", ".join(f"{category} {100 * share:.1f} %" for category, share in by_hand.items())
    print(f"{name}: {text}; in all {100 * by_hand.sum():.1f} % of the slots. cmlib.topdown gives "
          "the same from the table.")

# %%
LIKE, by_loss = 0.01, {}  # of all slots: losses that are nearer to each other are named together
for name, shares in level.drop(columns=AT_WORK, errors="ignore").iterrows():
    losses, most = shares.sort_values(ascending=False), 100 * shares.max()
    losses = list(losses[losses >= losses.max() - LIKE].index)
    lost_to = " and ".join(losses) + " alike" * (len(losses) > 1)
    by_loss.setdefault(lost_to, []).append(f"{name} ({most:.0f} %)")
    results.number(f"largest loss of slots, {name}", most, "%", note=lost_to)
text = ", to the ".join(f"{losses} in {', '.join(names)}" for losses, names in by_loss.items())
totals = level.sum(axis=1)
low, high = (f"{100 * total:.1f}" for total in (totals.min(), totals.max()))
added = low if low == high else f"{low} to {high}"
for end, total in {"least": totals.min(), "most": totals.max()}.items():
    results.number(f"sum of the categories that were counted, {end} of a program", 100 * total, "%",
                   note="of all slots")
untested = ("; this does not test how retired and bad speculation are split"
            if len(complete) else "")
display(results.finding(f"The largest loss of slots is to the {text}. What perf counted adds up to "
                        f"{added} % of all slots{untested}."))

# %% [markdown]
# ### One level deeper
#
# Losses at the front end are latency (cycles without any operation, as after an instruction-cache miss or a misprediction) or bandwidth (too few at a time). Losses at the back end are waiting for memory or for execution units; the share of memory is split by where the lines came from. What retired is split into operations of the *microcode* and *plain ops* (all other operations); *pipeline restarts* are bad speculation without a mispredicted branch; the *sibling thread* is the other hardware thread of the core. Parts add up to the category above; in the formulas, `parent` stands for the slots of that category. *formula by* tells which formulas are the source's, and which are this project's (cmlib): these rest on nominal latencies or stand-ins, and no source vouches for them. What could not be split for want of an event is absent here and named below; the command that records it stands on the report's first page.

# %%
shares = pd.DataFrame({name: 100 * whole.shares.iloc[0] for name, whole in wholes.items()})
shares["formula"] = pd.Series({category: formula for whole in wholes.values()
                               for category, formula in whole.formulas.items()})
about = {part.name: part.about for whole in wholes.values() for part in whole.table.categories}
shares["formula by"] = ["" if formula == "what the others leave" else "cmlib"
                        if re.search(r"\bhere\b", about.get(category, "")) else "the source"
                        for category, formula in shares["formula"].items()]
order = dict.fromkeys(name for whole in wholes.values() for name in whole.shares)
shares = shares.loc[list(order)].rename_axis("category")
shares.loc["all of level 1"] = [*100 * totals, "", ""]
much = shares[programs].max(axis=1) >= 0.5
shares = pd.concat([shares[much], shares[~much]]).reset_index()
results.table(shares, "shares", "**Table.** Share of the run's slots by category and program [%]: "
              f"the {much.sum()} of {len(shares)} rows that take 0.5 % or more of some program; "
              "– : could not be split. Formulas are of slots, so without the "
              "division by all slots.", rows=much.sum(), decimals=1)

# %% [markdown]
# ## The account step by step
#
# Each run is cut into steps of equal instructions, so that the same step of two runs is the same work. Instructions and cycles were counted in every run, so each event's rate is moved to the mean speed of all runs by the regression of that event on IPC (instructions a cycle) within its own run (Cochran, §7.1; *adjusted to IPC* below, *as counted* without it). With $e_{j,t}$ the rate of an event a cycle in step $t$ of run $j$, of $R$ runs that counted it (often one), and $m_t$ the mean IPC of all runs:
#
# $$\hat{e}_t = \frac{1}{R} \sum_j \left( e_{j,t} + b_j \, (m_t - \mathrm{IPC}_{j,t}) \right), \quad b_j = \frac{\mathrm{cov}_t(e_j, \mathrm{IPC}_j)}{\mathrm{var}_t(\mathrm{IPC}_j)}.$$
#
# `adjust_by_hand` computes it, and an event of each program is checked against the library. The account's formulas over these rates give each step's shares. In the figure, steps are as wide as their cycles, so that areas are shares of the slots. (IPC can be above the retired operations a cycle: two instructions that are fused, such as a compare and its branch, are one operation.)

# %%
def adjust_by_hand(steps, event):
    """The formula above: an event's rate in each step, its runs adjusted to IPC, none below 0."""
    IPC, e_hat = [run["instructions"] / run["cycles"] for run in steps], []
    m = sum(IPC) / len(IPC)
    for run, IPC_j in zip(steps, IPC, strict=True):
        if event in run:
            e_j = run[event] / run["cycles"]
            b_j = e_j.cov(IPC_j) / IPC_j.var() if IPC_j.var() > 0 else 0.0
            e_hat.append((e_j + b_j * (m - IPC_j)).clip(lower=0))
    return sum(e_hat) / len(e_hat)


# %%
def clean_steps(name, how, wanted):
    """A program's runs, cleaned, in steps of equal instructions: the wanted events."""
    sets = sorted(set(data.interval_runs(url, [name])["set"]))
    cleaned = data.cleaned_runs(url, name, sets, method=how, workers=workers)["counts"]
    needed = [run[[event for event in run if event in wanted]] for run in cleaned]
    return merge.step_runs([run.dropna(axis=1, how="all").interpolate(limit_direction="both")
                            for run in needed])


# %%
def separate_sums(name):
    """Sums between events of which no run counted the whole together with a part."""
    table, runs = events_of(name), data.interval_runs(url, [name])
    counted = runs.explode("events").groupby("events")["run_id"].agg(set)
    return [(whole, [*parts])
            for whole, parts in (events.umask_sums(events.table(table)) if table else ())
            if {whole, *parts} <= set(counted.index)
            and not any(counted[part] & counted[whole] for part in parts)]


def miss_of_sums(rates, sums):
    """Root mean square distance of each whole from its parts / mean of the whole."""
    off = {whole: (((rates[whole] - rates[parts].sum(axis=1)) ** 2).mean()) ** 0.5
           for whole, parts in sums if {whole, *parts} <= set(rates)}
    return pd.Series({whole: distance / rates[whole].mean() for whole, distance in off.items()
                      if rates[whole].mean() > 1e-5}, dtype=float)

# %%
def account_by_every_way(name):
    """The account of a program, and rates, by every way of cleaning and of merging."""
    sums, found = separate_sums(name), {}
    counted = set(data.interval_runs(url, [name])["events"].explode())
    wanted = {*tables[name].takes(counted), *PINNED,
              *(event for whole, parts in sums for event in (whole, *parts))}
    for how in clean.DISTINCT_METHODS:
        steps = clean_steps(name, how, wanted)
        for merging, adjust in {"as counted": False, "adjusted to IPC": True}.items():
            rates, ipc = topdown.merge_steps(steps, adjust=adjust)
            found[name, how, merging] = SimpleNamespace(
                account=topdown.account(rates, tables[name]), ipc=ipc, n_runs=len(steps),
                sums=miss_of_sums(rates, sums))
        np.testing.assert_allclose(rates.iloc[:, 0], adjust_by_hand(steps, rates.columns[0]))
    return found


ways = {}
for several in parallel_map(account_by_every_way, programs, workers):
    ways |= several
accounts = {name: ways[name, method, "adjusted to IPC"] for name in programs}

# %%
@styled
def draw_accounts(shares, ipcs):
    """Stacked shares of the slots with IPC above, a column a program."""
    figure, axes = blank(4.2, rows=2, columns=len(shares), sharex=True, sharey="row")
    colours = category_colours([name for frame in shares.values() for name in frame], {})
    for (above, below), (program, frame) in zip(axes.T, shares.items(), strict=True):
        stack_shares((above, below), frame, ipcs[program], colours)
        above.set_title(program)
        below.set_xticks([0.25, 0.5, 0.75])
    axes[0, 0].set_ylabel("IPC")
    axes[1, 0].set_ylabel("share of slots")
    handles = [Patch(color=colour, label=name) for name, colour in colours.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(6, len(handles)))
    return figure, axes


# %%
levels = {name: one.account.level() for name, one in accounts.items()}
drawn = {name: frame.loc[:, frame.mean() > 0.001] for name, frame in levels.items()}
figure, _ = draw_accounts(drawn, {name: one.ipc for name, one in accounts.items()})
added = pd.concat({name: frame.sum(axis=1) for name, frame in levels.items()})
n_steps, n_runs = (" or ".join(dict.fromkeys(map(str, of))) for of in (
    map(len, levels.values()), (one.n_runs for one in accounts.values())))
results.figure(
    figure, "account", "**Figure.** IPC (above) and what became of the slots (below) over the "
    f"run, in {n_steps} steps of equal instructions, of {', '.join(levels)}, cleaned by {method}, "
    f"adjusted to IPC; IPC is of {n_runs} runs each, an event of those that counted it; dotted: "
    "all slots. *See:* the stack ends at "
    f"{100 * added.min():.0f} ({added.idxmin()[0]}) to {100 * added.max():.0f} % "
    f"({added.idxmax()[0]}) of all slots. That it ends near the line does not test how retired and "
    "bad speculation are split.")

# %% [markdown]
# ## Does it add up?
#
# Where the categories should be all slots, the distance of their sum from that tells how far counting, cleaning and merging of these events are from the truth. With the shares $s_{k,t}$ of the categories $k$ in step $t$, which has the share $p_t$ of all cycles,
#
# $$\mathrm{mean} = \sum_t p_t \sum_k s_{k,t}, \qquad \mathrm{rms}^2 = \sum_t p_t \Big( \sum_k s_{k,t} - 1 \Big)^2,$$
#
# *mean* should be 1, and *rms*, the distance of the single steps, small. (In *mean* each run weighs the same; in the sum of a whole run above each count weighs by the time it was counted: the two differ by a point or so.)
#
# By AMD's formulas $r$ cancels in the sum, and what is tested are three events, dispatched $d$, front end $f$ and back end $b$, against the slots of the cycles $c$:
#
# $$\sum_k s_k = \frac{r + (d - r) + f + b}{8 \, c} = \frac{d + f + b}{8 \, c}$$
#
# **No error in retired, nor in how what was dispatched is split into retired and bad speculation, can show here.** The share of a sibling thread is zero where its event was not counted (`0 * cycles`): assumed, not measured. How a category is split into its parts rests on its formula: the counts in it were measured, but no sum tests them.
#
# *sums* is a second test, independent of the first: some events are the sum of others, by their umasks (the bits that pick which cases an event counts), as all fills are of local and remote ones. All such events are compared with that sum of which no run counted the whole together with a part, so that merging is tested. What makes counts better by one test should make them better by the other.
#
# *worst step* is the part of the squared distances that one single step makes up, and *its sum* the sum of its shares. Where that is the last step, in which the program exits, slots are missing however runs are cleaned and merged: only user mode was counted, and what the processor does on its way into the kernel and back may be missing.

# %%
def closure_of(account, ipc):
    """How far an account is from all slots; unknown where it proves nothing."""
    uncounted = {part.name for part in account.table.parts()} & account.missing.keys()
    if uncounted or not account.table.closes:
        return dict.fromkeys(["mean", "rms", "worst step", "its sum"])
    total, p = account.level().sum(axis=1), 1 / ipc / (1 / ipc).sum()
    squares = p * (total - 1) ** 2
    return {"mean": (p * total).sum(), "rms": squares.sum() ** 0.5,
            "worst step": squares.max() / (squares.sum() or float("nan")),
            "its sum": total[squares.idxmax()]}


# %%
keys = ["program", "cleaning", "merging"]
closures = pd.DataFrame([dict(zip(keys, way, strict=True)) | closure_of(one.account, one.ipc)
                         | {"sums": one.sums.median()} for way, one in ways.items()])
closures = closures.astype(dict.fromkeys(closures.columns.drop(keys), float))
STAGES = [("scaling", "as counted"), ("scaling", "adjusted to IPC"), (method, "adjusted to IPC")]
named = closures[keys[1:]].apply(tuple, axis=1).isin(STAGES)
n_sums = " or ".join(dict.fromkeys(str(len(one.sums)) for one in accounts.values()))
caption = ("**Table.** What perf prints as counted and adjusted to IPC, and "
           f"{method} adjusted to IPC: {named.sum()} of {len(closures)} rows. *mean* and *rms* of "
           "the steps [share of the slots]; *sums*: root mean square distance between a whole and "
           f"its parts [share of the whole], median of {n_sums} sums of a program.")
closures = pd.concat([closures[named], closures[~named]])
results.table(closures, "closure", caption, rows=named.sum(), decimals=3)

# %%
def describe_gain(rms, sums, others):
    """What adjusting and cleaning bring, by both tests [%], each as counted, adjusted, and both."""
    gain = 100 * (rms[0] - rms[1]) / (rms[0] - rms[2]) if rms[2] < rms[0] else 0
    alike = bool((np.sign(np.diff(sums)) == np.sign(np.diff(rms))).all())
    others = ", ".join(f"{how} {off:.1f} %" for how, off in others.items())
    return ("In single steps the sum of the shares is off from all slots by {:.1f} % as perf "
            f"prints the counts, by {{:.1f}} % with runs adjusted to their mean IPC, by {{:.1f}} % "
            f"cleaned by {method} too ({others}; root mean square, mean of {len(programs)} "
            f"program{'s' * (len(programs) > 1)})").format(*rms) + (
        f": {gain:.0f} % of the gain is the adjustment's" * bool(gain)
        + (f"; sums of events {'agree' if alike else 'do not agree'}"
           " ({:.1f}, {:.1f}, {:.1f} %)".format(*sums) if np.isfinite(sums).all() else "") + ".")


# %%
first, second = (100 * closures.groupby(keys[1:])[test].mean() for test in ("rms", "sums"))
if first.notna().all():
    others = first.xs("adjusted to IPC", level="merging").drop(["scaling", method], errors="ignore")
    most = closures.set_index(keys).xs(STAGES[-1], level=[1, 2]).nlargest(1, "rms").iloc[0]
    display(results.finding(
        describe_gain(first[STAGES].to_numpy(), second[STAGES].to_numpy(), others)
        + f" Most is left in {most.name} ({100 * most['rms']:.1f} %), of whose squares "
        f"{100 * most['worst step']:.0f} % are one step, whose shares add up to "
        f"{100 * most['its sum']:.0f} %."))
    said = ["counts as perf prints them", "runs adjusted to IPC", f"adjusted, cleaned by {method}"]
    for how, stage in dict(zip(said, STAGES, strict=True)).items():
        results.number(f"account's error of a single step, {how}", first[stage], "% of the slots",
                       note="root mean square over the steps, mean of programs")

# %% [markdown]
# ## Program by program
#
# What a sum tests is told by the events that it depends on: one that cancels shows no error. Below stands the sentence of the first program, and of those that lack an event; others differ by the sum alone. A picture of each program, its losses split into their parts, stands in the report (index.html).

# %%
def tested_events(account):
    """Events of level 1, and whether the sum depends on them, or they cancel in it."""
    formulas = [account.formulas[name] for name in account.level()]
    names = dict.fromkeys(name for formula in formulas for name in names_in(formula))

    def total(values):
        return sum(evaluate(formula, dict.fromkeys(names, 1.0) | values) for formula in formulas)

    return {name: total({name: 2.0}) != total({}) for name in names if name not in PINNED}


# %%
def judge_sum(account, total):
    """Whether the shares add up, in a clause, and what their sum does and does not test."""
    if closure_of(account, pd.Series(1.0, account.shares.index))["mean"] is None:
        return "", "what was counted can't be tested by its sum"
    wrong = "" if abs(total - 1) <= 0.02 else ", **which is more than 2 % off**"
    sure = f"the shares add up to {100 * total:.1f} % of all slots{wrong}"
    shows = tested_events(account)
    used = {name: shows.keys() & set(names_in(account.formulas[name])) for name in account.level()}
    assumed = [name for name in used if not used[name]]
    split = [name for name in used if any(not shows[event] for event in used[name])]
    tested = [name for name in used if name not in assumed + split]
    together = [f"the sum of {' and '.join(split)}, but not how it is split"] * bool(split)
    return sure, (f"{sure}; this tests {', '.join(tested + together)}"
                  + f"; {', '.join(assumed)} was not counted and is taken as none" * bool(assumed))


# %%
def suggest_missing(name):
    """What was not counted for the account of a program, and what records it."""
    missing = {part: needed for part, needed in wholes[name].missing.items() if needed}
    needed = list(dict.fromkeys(event for several in missing.values() for event in several))
    meta = store.load(url, data.interval_runs(url, [name])["run_id"].iloc[0]).meta
    command = command_to_count(meta, [needed], PINNED, events_of(name))
    again = f"{as_code(command)} records them" if command else f"record {', '.join(needed)}"
    return f"{', '.join(missing)}: {again}" if missing else ""


def losses_by_part(whole):
    """Categories of level 1 from 0.5 % of the slots on, losses by their parts where known."""
    names = [part for name in whole.level() for part in
             ([name] if name in AT_WORK else list(whole.level(name)) or [name])]
    return [name for name in names if whole.shares[name].iloc[0] >= 0.005]


# %%
@styled
def account_card(shares, whole, ipc, parents):
    """IPC above stacked shares of the slots; the legend states those of the whole run."""
    figure, axes = card(3.6, 2, height_ratios=(1, 2.2))
    stack = stack_shares(axes, shares, ipc, category_colours(shares, parents))
    axes[0].set_ylabel("IPC")
    axes[1].set_ylabel("share of slots")
    total = whole[[name for name in whole.index if name not in parents]].sum()
    drawn = dict(whole[list(shares)])
    if (rest := total - sum(drawn.values())) >= 0.0005:  # the legend writes 0.1 %
        stack, drawn = [*stack, Patch(alpha=0)], drawn | {"not drawn": rest}
    texts = [f"{name} {100 * share:.1f} %" for name, share in drawn.items()]
    figure.legend([*stack, axes[1].lines[0]], [*texts, f"all slots (sum {100 * total:.1f} %)"],
                  loc="outside lower center", ncols=2, columnspacing=1.0, handlelength=1.1)
    return figure, axes

# %%
for name, one in accounts.items():
    whole, lacking = wholes[name], suggest_missing(name)
    figure, _ = account_card(one.account.shares[losses_by_part(whole)], whole.shares.iloc[0],
                             one.ipc, one.account.table.parents)
    parts = ", ".join(f"{part} {100 * share:.0f} %" for part, share in level.loc[name].items())
    results.overview_picture(
        name, figure, f"{name}: IPC over the run, and what became of the slots: {parts}")
    sure, judged = judge_sum(whole, totals[name])
    judged = results.finding(judged[0].upper() + judged[1:] + ".", program=name)
    results.overview(name, lacking=lacking, sure=sure)
    if lacking or name == programs[0]:
        display(judged)

# %% [markdown]
# ## What this doesn't show
#
# A slot that is lost to the front end behind a mispredicted branch counts as front-end latency, not as bad speculation. Which loads miss, and in which function, takes samples (`perf record`), not counts. The split of waiting for memory weighs fills by nominal latencies (14, 50 and 350 cycles), which overlap in reality. Kernel work was not counted (`:u`). Where one category is defined as what the others leave, as by Intel's formulas, the sum is one whatever was counted, and proves nothing.
#
# ## On your own program
#
# `cmlib record NAME -- COMMAND`, then `cmlib run live 02a_topdown -p program=NAME` (*live*: the profile for recordings of your own). Change `method` first, the cleaning of the counts: `scaling` shows the account as perf prints it. A table for another processor: `data/topdown/README.md`.
#
# **References.** Yasin, *A top-down method for performance analysis and counters architecture*, ISPASS 2014. AMD, Processor Programming Reference, guidance for pipeline utilization analysis. Cochran, *Sampling Techniques*, §7.1 (regression estimator).

# %%
results.save()
