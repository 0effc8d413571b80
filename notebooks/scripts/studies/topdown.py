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
# # Where the cycles go: what became of the pipeline's slots
#
# **Question.** What became of the pipeline's slots over the program's run, and do the counts of whole runs add up to all slots?
#
# *Reads* the store, the database of all recorded runs, and the formulas of each processor under `data/topdown`. *Writes* the account of every program (what its slots went to), and its picture for the report's first page.
#
# In every cycle the pipeline can take a fixed number of operations: eight on Zen 5, six on Zen 4, four to six on Intel's cores. Each of these *slots* is used by an operation that later retires (*retired*), wasted on an operation of a wrong path (*bad speculation*), or left empty, because no operation had arrived (*front end*) or because there was no room for it (*back end*). This is the top-down method of Yasin (ISPASS 2014); no paper of CounterMiner's authors computes it.
#
# The events behind it do not fit on the counters at once, so they come from several runs, in some of which events took turns (multiplexing). How near cleaning and merging of runs bring the single steps to sums that must hold is asked in notebook studies/sums.

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas, or all
method: str = "shrinkage"  # cleaning of the counts that are drawn over the run
settings: dict = {}  # jobs executor scheduler database processor interactive profile results_folder

# %%
import re

import numpy as np
import pandas as pd
import seaborn as sns
from IPython.display import Markdown
from matplotlib.patches import Patch

from cmlib import experiments, topdown
from cmlib.experiments import data
from cmlib.experiments.commands import command_to_count
from cmlib.experiments.event_tables import table_name
from cmlib.io import store
from cmlib.parallel import parallel_map
from cmlib.plot.style import blank, styled
from cmlib.report.notebook import begin
from cmlib.shell import as_code
from cmlib.topdown.category_tables import evaluate, names_in

# %%
limits = {"method": "cmlib.clean.DISTINCT_METHODS"}
notebook = begin("topdown", settings, program=program, method=method)
results, workers, url = notebook.results, notebook.workers, notebook.database
recorded = data.programs(url, program)
data.refuse_simulated(url, recorded, "where cycles go takes a processor's counters. Where "
                      "KCachegrind's estimate of them goes is in notebook 00.")
PINNED, AT_WORK = ["instructions", "cycles"], ["retired", "at work"]  # the latter are no loss

# %% [markdown]
# ## The data
#
# What events mean differs between processors, so the formulas of each stand in a table (`data/topdown`). Where a program's processor is not known, that table is taken whose events were counted.

# %%
def load_runs(name):
    """Counts and running shares of a program's runs, by interval."""
    return [store.load(url, run).whole() for run in data.interval_runs(url, [name])["run_id"]]


# %%
tables = experiments.topdown_tables(url, recorded, notebook.processor)
programs = [*tables]
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

# %%
def runs_of_level_1(name):
    """How many runs counted the events of level 1."""
    taken = {event for of in level.loc[name].dropna().index
             for event in names_in(wholes[name].formulas[of])} - {*PINNED}
    return sum(not taken.isdisjoint(run) for run in data.interval_runs(url, [name])["events"])


counted_in = " or ".join(dict.fromkeys(str(runs_of_level_1(name)) for name in programs))
untested = ("; this does not test how retired and bad speculation are split"
            if len(complete) else "")
display(results.finding(f"The largest loss of slots is to the {text}. What perf counted, in "
                        f"{counted_in} runs of each program, adds up to {added} % of all slots"
                        f"{untested}."))

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
# Each run is cut into steps of equal instructions, so that the same step of two runs is the same work. Counts are cleaned first (`method`; shrinkage moves each count part of the way to the mean of its two neighbours in time, notebook studies/repair). Runs differ in speed, so each event's rate is moved to the mean speed of all runs, by its regression on IPC within its own run (*adjusted to IPC*; notebook studies/sums has the formula, and tells what it brings). The account's formulas over these rates give each step's shares.
#
# In the figure, steps are as wide as their cycles, so that areas are shares of the slots. (IPC can be above the retired operations a cycle: two instructions that are fused, such as a compare and its branch, are one operation.)

# %%
def account_by_step(name):
    """A program's account and IPC in steps of equal instructions, and how many runs they are of."""
    counted = set(data.interval_runs(url, [name])["events"].explode())
    steps = experiments.cleaned_steps(url, name, {*tables[name].takes(counted), *PINNED},
                                      method=method, workers=workers)
    rates, ipc = topdown.merge_steps(steps)
    return topdown.account(rates, tables[name]), ipc, len(steps)


found = dict(zip(programs, parallel_map(account_by_step, programs, workers), strict=True))
accounts = {name: account for name, (account, _, _) in found.items()}
ipcs = {name: ipc for name, (_, ipc, _) in found.items()}

# %%
COLOURS = {"retired": "#3b9c6a", "at work": "#3b9c6a", "bad speculation": "#c8553d",
           "front end": "#e0a030", "back end": "#3f6fb5", "sibling thread": "#8a8f98"}


def colours_of(names, parents):
    """A colour for each category: on level 1 its own, its parts lighter; grey if unknown."""
    above = {name: parents.get(name, name) for name in names}
    parts = {of: [part for part in above if above[part] == of] for of in above.values()}
    shades = {of: sns.light_palette(COLOURS.get(of, "#b8bcc4"), len(inside) + 2, reverse=True)
              for of, inside in parts.items()}
    return {name: shades[of][parts[of].index(name)] for name, of in above.items()}


# %%
@styled
def draw_accounts(shares, ipcs, labels, parents, width=9.0):
    """IPC above stacked shares of the slots, a column a program; the legend has the labels."""
    figure, axes = blank(4.0, rows=2, columns=len(shares), sharex=True, sharey="row",
                         height_ratios=(1, 2))
    figure.set_size_inches(width, 4.0)
    colours = colours_of([name for name in labels if name != "all slots"], parents)
    for (above, below), (program, frame) in zip(axes.T, shares.items(), strict=True):
        cycles = 1 / ipcs[program] / (1 / ipcs[program]).sum()
        middles = (cycles.cumsum() - cycles / 2).to_numpy()
        above.plot(middles, ipcs[program].to_numpy(), color="#333333", lw=1.2)
        above.set(title=program, ylim=(0, None))
        below.stackplot(middles, frame.clip(lower=0).T.to_numpy(), lw=0,
                        colors=[colours[name] for name in frame])
        line = below.axhline(1.0, color="black", lw=1.4, ls=":", zorder=5)
        below.set(xlabel="cycles so far [share]", xlim=(0, 1), ylim=(0, 1.1),
                  xticks=[0.25, 0.5, 0.75])
    axes[0, 0].set_ylabel("IPC")
    axes[1, 0].set_ylabel("share of slots")
    handles = [*(Patch(color=colour) for colour in colours.values()), line]
    figure.legend(handles, labels.values(), loc="outside lower center", ncols=int(width / 1.5),
                  columnspacing=1.0, handlelength=1.1)
    return figure, axes

# %%
levels = {name: account.level() for name, account in accounts.items()}
drawn = {name: frame.loc[:, frame.mean() > 0.001] for name, frame in levels.items()}
labels = {name: name for name in [*(of for frame in drawn.values() for of in frame), "all slots"]}
figure, _ = draw_accounts(drawn, ipcs, labels, {})
added = pd.concat({name: frame.sum(axis=1) for name, frame in levels.items()})
n_steps, n_runs = (" or ".join(dict.fromkeys(map(str, of))) for of in (
    map(len, levels.values()), (n for _, _, n in found.values())))
results.figure(
    figure, "account", "**Figure.** IPC (above) and what became of the slots (below) over the "
    f"run, in {n_steps} steps of equal instructions, of {', '.join(levels)}, cleaned by {method}, "
    f"adjusted to IPC; IPC is the mean of {n_runs} runs each, an event that of those that counted "
    "it. *See:* in single steps the shares add up to "
    f"{100 * added.min():.0f} ({added.idxmin()[0]}) to {100 * added.max():.0f} % "
    f"({added.idxmax()[0]}) of all slots.")

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
    if not account.is_tested():
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
    command = command_to_count(meta, [needed], PINNED,
                               table_name(url, name, notebook.processor))
    again = f"{as_code(command)} records them" if command else f"record {', '.join(needed)}"
    return f"{', '.join(missing)}: {again}" if missing else ""


def losses_by_part(whole):
    """Categories of level 1 from 0.5 % of the slots on, losses by their parts where known."""
    names = [part for name in whole.level() for part in
             ([name] if name in AT_WORK else list(whole.level(name)) or [name])]
    return [name for name in names if whole.shares[name].iloc[0] >= 0.005]


# %%
def account_card(shares, whole, ipc, parents):
    """The picture of one program; the legend states the shares of the whole run."""
    total = whole[[name for name in whole.index if name not in parents]].sum()
    rest = total - whole[list(shares)].sum()
    labels = {name: f"{name} {100 * whole[name]:.1f} %" for name in shares}
    rest = f", {100 * rest:.1f} % not drawn" if rest >= 0.0005 else ""  # the legend writes 0.1 %
    labels["all slots"] = f"all slots (sum {100 * total:.1f} %{rest})"
    figure, axes = draw_accounts({"": shares}, {"": ipc}, labels, parents, 3.9)
    return figure, axes[:, 0]

# %%
for name, account in accounts.items():
    whole, lacking = wholes[name], suggest_missing(name)
    figure, _ = account_card(account.shares[losses_by_part(whole)], whole.shares.iloc[0],
                             ipcs[name], account.table.parents)
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
# A slot that is lost to the front end behind a mispredicted branch counts as front-end latency, not as bad speculation. Which loads miss, and in which function, takes samples (`perf record`), not counts. The split of waiting for memory weighs fills by nominal latencies (14, 50 and 350 cycles), which overlap in reality. Kernel work was not counted (`:u`). Counts of different runs stand side by side, so that a run that went otherwise would show in the sum only. Where one category is defined as what the others leave, as by Intel's formulas, the sum is one whatever was counted, and proves nothing.
#
# ## On your own program
#
# `cmlib record NAME -- COMMAND`, then `cmlib run live topdown -p program=NAME` (*live*: the profile for recordings of your own). Change `method` first, the cleaning of what is drawn over the run: `scaling` leaves what perf prints, `interpolate` draws straight lines over what was not counted, `counterminer` replaces peaks and fills gaps as that paper does. A table for another processor: `data/topdown/README.md`.
#
# **References.** Yasin, *A top-down method for performance analysis and counters architecture*, ISPASS 2014. AMD, Processor Programming Reference, guidance for pipeline utilization analysis.

# %%
results.save()
