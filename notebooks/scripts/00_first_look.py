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
# # First look: what each program does over time, and what limits it
#
# **Question.** What can be said of a program before anything is fitted: how it runs, in which phases, and what limits it?
#
# *Reads* the store, the database of all recorded runs. *Writes* the pictures and sentences about each program with which the report's first page begins.
#
# Of a measured program two things are told: its IPC (instructions per cycle) over time, and what its pipeline lost. In every cycle the pipeline can take a fixed number of operations (eight on this page's processor); each such *slot* is used by an operation that *retires*, wasted on a wrong path (*bad speculation*), or left empty because no operation arrived (*front end*) or because there was no room for it (*back end*). Where events are more than counters, they *take turns* (multiplexing): each is counted for a part of the time, and its total is an estimate. So a share is told by a lower and an upper bound. A simulated program has no cycles; of it KCachegrind's estimate is shown.

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas, or all
settings: dict = {}  # database, processor, profile, results_folder

# %%
import itertools

import numpy as np
import pandas as pd
from IPython.display import Markdown

from cmlib import plot, topdown
from cmlib.experiments import data, diagnosis, first_page
from cmlib.experiments.simulated_classes import classify_phases
from cmlib.experiments.summary import summarize_runs
from cmlib.fingerprint.phases import contributions
from cmlib.io import events, store
from cmlib.io.archive import readable
from cmlib.io.recording import INSTRUCTIONS, by_instructions
from cmlib.plot.style import card
from cmlib.report.notebook import begin

# %%
notebook = begin("00_first_look", settings, program=program)
results, url = notebook.results, notebook.database
WEIGHTS = events.simulated_events()["weight"]
LEVEL_1 = ["retired", "bad speculation", "front end", "back end"]

# %%
programs = data.programs(url, program)
display(Markdown(data.describe_data(url, programs)))
results.mark(data.describe_source(url, programs))  # simulated counts say so in every caption
runs = {name: [store.load(url, one) for one in data.interval_runs(url, [name])["run_id"]]
        for name in programs}
first = runs[programs[0]][0]
print(f"{first.meta['run']} of {first.meta['program']}, the first by name of its "
      f"{len(runs[programs[0]])} runs: counts of 5 of its "
      f"{first.counts.shape[1]} events in 5 of its {first.counts.shape[0]} intervals")
first.counts.iloc[:5, :5].map("{:,.0f}".format)

# %% [markdown]
# ## How well two runs agree
#
# Before anything is concluded from counts that took turns, look at what was counted all the time in every run, instructions and cycles:
#
# $$\mathrm{IPC}_t = \frac{\mathrm{instructions}_t}{\mathrm{cycles}_t}$$
#
# of each whole interval $t$; the last one, which ends with the program, may be a few milliseconds long and is left out.

# %%
def comparable_runs(own):
    """Instructions and cycles of unmultiplexed runs, or of the others where there are none."""
    known = [run for run in own
             if {"instructions", "cycles"} <= set(run.counts) and not run.holds_totals]
    for mode in ("ocoe", "mlpx", "unknown"):
        if chosen := [run.whole()[0] for run in known if run.meta["mode"] == mode]:
            return [counts[["instructions", "cycles"]] for counts in chosen], mode
    return [], ""


compared = {name: comparable_runs(own) for name, own in runs.items()}
ipc = {name: {f"run {number}": counts["instructions"] / counts["cycles"]
              for number, counts in enumerate(chosen, 1)}
       for name, (chosen, _) in compared.items() if chosen}

found = {name: topdown.series_phases(next(iter(by_run.values()))) for name, by_run in ipc.items()}

# %%
if ipc:
    levels = {name: pd.Series({run: line.mean() for run, line in by_run.items()})
              for name, by_run in ipc.items()}
    apart = {name: 100 * (level.max() / level.min() - 1) for name, level in levels.items()}
    farthest = max(apart, key=apart.get)
    n_runs = " or ".join(dict.fromkeys(str(len(level)) for level in levels.values()))
    modes = {mode for chosen, mode in compared.values() if chosen}
    chosen_of = ("those in which no event took turns" if modes == {"ocoe"} else
                 "those in which no event took turns where a program has any, else all of one kind")
    figure, axes = plot.series_by_program(ipc, ylabel="IPC [instructions per cycle]")
    for ax, phases in zip(axes, found.values(), strict=True):
        for start in phases["start"][1:]:
            ax.axvline(start, color="#222222", lw=1, ls=":")
    display(results.figure(figure, "ipc",
                           f"**Figure.** IPC over time, a line a run, {n_runs} runs a program: "
                           f"{chosen_of}; dotted: where phases of run 1 alone begin. Axes differ. "
                           "*See:* what comes in every run is the program's; how much runs are "
                           "alike is in the table below.",
                           on_page=len(ipc) > 1))  # of one program its card has it

# %% [markdown]
# Runs are merged, and events ranked, as if every run did the same: if the shape doesn't repeat, neither holds. Timing shifts from run to run, so runs are compared by progress, the share $q$ of all instructions executed, not by the clock: IPC of each of 50 steps of equal instructions, and the correlation $\mathrm{corr}_q(\mathrm{IPC}_a, \mathrm{IPC}_b)$ of two runs $a$, $b$ over the steps. A shape repeats if even the two runs of a program that are least alike are more alike than its runs are, on average, like those of another program. (A program whose IPC hardly changes has no shape to repeat.)

# %%
def ipc_by_progress(counts, n_steps=50):
    """IPC in steps of equal instructions; cycles interpolated within intervals."""
    done = counts.dropna().cumsum()
    ends = np.linspace(0, done["instructions"].iloc[-1], n_steps + 1)
    cycles = np.interp(ends, [0, *done["instructions"]], [0, *done["cycles"]])
    return np.diff(ends) / np.diff(cycles)


def correlations(pairs):
    """Correlation of each pair of runs."""
    return pd.Series([np.corrcoef(*pair)[0, 1] for pair in pairs], dtype=float)


def compare_shapes(shapes):
    """Correlation of a program's runs, and with those of the program most like it."""
    rows = {}
    for name, own in shapes.items():
        alike = correlations(itertools.combinations(own, 2))
        others = {other: correlations(itertools.product(own, of)).mean()
                  for other, of in shapes.items() if other != name}
        nearest = max(others, key=others.get, default="")
        rows[name] = [len(own), alike.mean(), alike.min(), others.get(nearest), nearest]
    columns = ["runs", "own runs", "least of a pair", "another program's", "which"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)

# %%
shapes = {name: [ipc_by_progress(counts) for counts in chosen if len(counts.dropna()) > 2]
          for name, (chosen, _) in compared.items() if len(chosen) > 1}
repeated = ""
if any(len(own) > 1 for own in shapes.values()):
    alike = compare_shapes({name: own for name, own in shapes.items() if len(own) > 1})
    others = alike["another program's"].astype(float)
    repeats = alike["least of a pair"] > others.fillna(0)
    alike["mean IPC apart [%]"] = pd.Series(apart)
    said = [(", ".join(alike.index[at]), word) for at, word in
            ((repeats, "repeats"), (~repeats, "doesn't repeat")) if at.any()]
    repeated = ("The shape of IPC " + " and ".join(f"{word} in {names}" for names, word in said)
                + f": by progress, two runs of a program correlate at "
                f"{alike['least of a pair'].min():.2f} or more"
                + f", runs of two programs at {others.max():.2f} or less on average"
                * bool(others.notna().any()) + ".")
    display(results.table(alike.rename_axis("program").reset_index(), "shapes",
                          "**Table.** Correlation of IPC by progress: mean over pairs of a "
                          "program's runs, the least of a pair, and the mean with the runs of the "
                          "program most like it; and by how much the mean IPC over time of two "
                          f"runs differs at most. *See:* {repeated}", decimals=2))

# %% [markdown]
# Series over time are compared by dynamic time warping in notebook 02 (DTW: both are stretched until they fit best). Where instructions and cycles were not counted, or only totals of whole runs, there is no IPC over time; then the rates of what was counted are shown instead, those of a simulated program by the instructions executed, as no clock runs there, totals run by run.

# %%
def rates_by_run(own):
    """Rates over time of every event that happened, by event and run."""
    found = {}
    for run in own:
        for event, rate in run.rates().items():
            if rate.sum() > 0 and event != INSTRUCTIONS:
                modelled = events.simulated_kind(event) == events.MODELLED
                name = f"{event} (modelled)" if modelled else event
                found.setdefault(name, {})[run.meta["run"]] = rate
    return found


rates = {name: rates_by_run(own) for name, own in runs.items() if name not in ipc}
for place, (name, by_event) in enumerate(rates.items()):
    axis, simulated = runs[name][0].axis, runs[name][0].simulated
    shown = dict(list(by_event.items())[: None if simulated else 8])
    if all(len(line) == 1 for by_run in shown.values() for line in by_run.values()):
        continue  # the total of one run is no line
    figure, _ = plot.series_by_program(shown, ylabel=axis.rate, xlabel=axis.label)
    display(results.figure(figure, f"rates-{place}",
                           f"**Figure.** Events {axis.rate} in the runs of {name}."))

# %% [markdown]
# ## In which phases it runs
#
# A run is cut where the mean of its IPC changes: a phase is described by that mean alone (within it the values may swing widely), is no shorter than 4 % of the run, and explains a tenth of the variance or more, and more than the best cut of noise would. What the eye takes for a phase may explain less.

# %%
if found:
    most = max(map(len, found.values()))
    where = ", ".join(name for name, phases in found.items() if len(phases) == most)
    display(results.table(pd.concat(found, names=["program"]).reset_index("program"), "ipc-phases",
                          "**Table.** Phases of IPC in run 1 of the figure, one run of each "
                          "program: ends of their first and last interval [s], and mean IPC over "
                          f"time (*level*). *See:* at most {most} phases ({where})."))

# %% [markdown]
# ## Where the estimated cycles of a simulated program go
#
# Only for programs that Valgrind simulated instead of a processor (none, where nothing is drawn below). A simulation counts no cycles. The viewer KCachegrind's estimate is a weighted sum: 1 for each instruction, 10 for each misprediction and miss of a first-level cache, 100 for each miss of the last level. A phase begins where the shares of this sum change, and is called after the largest of them beside instructions, from a tenth on. Functions have names where the program has symbols: build it with `-g`, or install the package with its debug symbols.

# %%
profiles = readable(lambda name: diagnosis.simulated_profile(*diagnosis.simulated_text(name),
                                                             classify=classify_phases),
                    programs if first.simulated else [])
estimates = {name: by_instructions(contributions(profile.counts, WEIGHTS))
             for name, profile in profiles.items()}
starts = {name: list(1000 * profile.phases["start"]) for name, profile in profiles.items()}
simulated = {name: diagnosis.answer_simulated(name, one) for name, one in profiles.items()}
for place, (name, estimate) in enumerate(estimates.items()):
    figure, _ = plot.simulated_phases(estimate, starts[name], title=name)
    display(results.figure(figure, f"phases-{place}",
                           f"**Figure.** Estimated cycles of {name} by what they are charged for; "
                           "none were counted. Dotted: phases."))

# %%
def phase_table(profile):
    """Phases, from and to [million instructions], and what stands out in each."""
    names = {"start": "from", "end": "to", "share": "estimated cycles [%]",
             "label": "what stands out"}
    phases = profile.phases.rename(columns=names)
    phases[["from", "to"]] *= 1000
    phases["estimated cycles [%]"] *= 100
    return phases[[*names.values(), "functions", "class"]]


if profiles:
    phases = {name: phase_table(one) for name, one in profiles.items()}
    phases = pd.concat(phases, names=["program"]).reset_index("program")
    phases = phases.drop(columns=["class"] if phases["class"].eq("").all() else [])
    display(results.table(phases, "phases",
                          "**Table.** Phases, from and to [million instructions], with the "
                          "functions of the largest shares.", rows=60, decimals=1))

# %% [markdown]
# ## What limits a measured program
#
# The shares $s_k$ of all slots that retired, bad speculation, front end and back end take add up to one. The events that were counted bound each share, $l_k \le s_k \le h_k$: an event that counts cycles or slots is a share of them; one that counts misses or mispredictions costs between nothing and its latency (by the table `data/topdown/costs`). Where a category's slots themselves were counted, its bounds are the share less and plus what it would change by if each of its events were off by its error (root of the sum of squares). With $y_i$ the counts of an event in $n$ intervals, $R = \sum_i w_i y_i / \sum_i w_i c_i$ its rate a cycle, $c_i$ the cycles and $\bar w$ the mean of the running shares $w_i$ (the share of the time for which it was on a counter), this relative error is twice a standard error (95 %), of what was not counted:
#
# $$\mathrm{error} = \frac{2}{\sum_i y_i} \sqrt{(1 - \bar w) \; n \; \tfrac12 \, \mathrm{mean}_i \, (\varepsilon_{i+1} - \varepsilon_i)^2}, \qquad \varepsilon_i = y_i - R \, c_i,$$
#
# or, where several runs counted the event and that is larger, twice the standard error of their mean. What one category surely takes is lost to the others (interval arithmetic; no paper's formula; the categories are those of Yasin's top-down method):
#
# $$\max\Big(l_k,\ 1 - \sum_{j \ne k} h_j\Big) \;\le\; s_k \;\le\; \min\Big(h_k,\ 1 - \sum_{j \ne k} l_j\Big).$$
#
# **What limits a program** is the category of lost slots (bad speculation, front end or back end) whose lower bound is above the upper bounds of the other two. If none is, those are named together, as *alike*, whose upper bound reaches the largest lower bound: any of them may be the largest loss. If at least 75 % of the slots surely retired, nothing much limits it. Of the parts below, *front-end latency* is slots of cycles in which no operation arrived at all, *memory* back-end slots that waited for loads and stores.

# %%
def tighten(low, high):
    """The inequality above, for all categories of level 1 at once."""
    return np.maximum(low, 1 - (high.sum() - high)), np.minimum(high, 1 - (low.sum() - low))


def error_by_hand(run, event):
    """The relative error of an event's total in one run that counted it."""
    y, c, w = run.counts[event], run.counts["cycles"], run.running[event]
    epsilon = y - (w * y).sum() / (w * c).sum() * c
    return 2 / y.sum() * np.sqrt((1 - w.mean()) * len(y) * (epsilon.diff() ** 2).mean() / 2)

# %%
def summarize(name, own):
    """What `cmlib summarize` says of a program's measured runs."""
    counted = []
    for run in own:
        ends = run.interval_s.cumsum() if run.holds_totals else run.counts.index
        counted.append((run.counts.set_axis(ends), run.running.set_axis(ends)))
    metas = [run.meta for run in own]
    return summarize_runs(name, metas, counted, machines=[own[0].machine],
                          processor=notebook.processor)

# %%
answers = {name: summarize(name, own) for name, own in runs.items() if not first.simulated}
bounds = {name: pd.DataFrame(one["account"]["categories"])[["name", "parent", "low", "high"]]
          for name, one in answers.items() if one["account"]}
if bounds:
    table = pd.concat(bounds, names=["program"]).reset_index("program")
    advised = {(name, one["category"]) for name, answer in answers.items() if answer["account"]
               for one in answer["account"]["advice"]}
    named = table.set_index(["program", "name"]).index.isin(list(advised))
    place = np.where(table["parent"] == "", 0, np.where(named, 1, 2))
    table, n_rows = table.iloc[np.argsort(place, kind="stable")], (place < 2).sum()
    told = {(name, row["name"]): row["events"] for name, one in answers.items() if one["account"]
            for row in one["account"]["categories"]}
    n_of = {sum(event in run.counts for run in runs[name]) for (name, of), events in told.items()
            if of in LEVEL_1 for event in events if event != "instructions"}
    widest = (table["high"] - table["low"])[table["parent"] == ""].max()
    display(results.table(table, "bounds",
                          "**Table.** Lower (*low*) and upper bound (*high*) of each category's "
                          "share of a program's slots [%]: the first level, and below it what is "
                          f"advised on ({n_rows} of {len(table)} rows). *See:* on the first level "
                          f"they are at most {widest:.1f} points apart. Each of its events was "
                          f"counted in {' or '.join(map(str, sorted(n_of)))} of a program's runs "
                          "(all together: topdown); how another run would go, one can't tell.",
                          rows=n_rows, decimals=1))

# %% [markdown]
# Retired counts operations, IPC instructions: two that are fused, such as a compare and its branch, are one operation, so IPC can be above eight times the retired share; and the figure draws runs in which no event took turns, while the bounds are of those that counted these events. `summarize_runs` computes the bounds of all levels at once.

# %%
for name, one in bounds.items():
    level = one[one["parent"] == ""].set_index("name")[["low", "high"]] / 100
    if answers[name]["account"]["how"] == "counted" and told.get((name, "front end")):
        for end, tight in zip(("low", "high"), tighten(level["low"], level["high"]), strict=True):
            np.testing.assert_allclose(tight, level[end], atol=0.02)  # they are tight already
        (event, *others), share = told[name, "front end"], level.loc["front end"].mean()
        runs_of = [run for run in runs[name] if event in run.counts]
        if not others and len(runs_of) == 1:
            print(f"{name}, front end: {100 * share:.1f} %, by hand "
                  f"±{np.ceil(1000 * share * error_by_hand(runs_of[0], event)) / 10:.1f}")

# %% [markdown]
# ## What is said of each program
#
# The sentences of the report's first page, a program each. What a remedy brings *at most* is the upper bound of the category that it is for, often a part of the front or back end (the table's last rows), as if all of it vanished; advice is on each loss, or part of one where its parts are known, that may be two thirds of the largest or more. It begins with the loss whose lower bound is largest; the upper bound of a later one may be higher, and which of the two is larger is then not decided. As the advised part is not all of a category, a category that is not the largest loss may have the largest part. Without instructions and cycles there is no IPC; then the rates are told that change most from phase to phase.

# %%
def phase_levels(series):
    """The mean of the phase that each value is in."""
    phases = topdown.series_phases(series)
    place = phases["start"].searchsorted(series.index, side="right") - 1
    return pd.Series(phases["level"].to_numpy()[place.clip(0)], series.index)


def with_phases(rows):
    """Add its phases to each quantity that one run tells."""
    return {quantity: lines | {"phases": phase_levels(*lines.values())} if len(lines) == 1
            else lines for quantity, lines in rows.items()}

# %%
@plot.styled
def series_card(rows):
    """Quantities of one program over time, one below the other, for the report's first page."""
    figure, axes = card(0.6 + 1.4 * len(rows), len(rows))
    for ax, (quantity, lines) in zip(axes, rows.items(), strict=True):
        for (name, line), colour in zip(lines.items(), plot.palette(len(lines)), strict=True):
            ax.plot(line.index, line.to_numpy(), label=name, color=colour, lw=1.0, alpha=0.85)
        ax.set(title=quantity, ylim=(0, None))
    axes[-1].set_xlabel("time [s]")
    in_phases = [ax for ax, lines in zip(axes, rows.values(), strict=True) if "phases" in lines]
    for ax in in_phases[:1]:
        plot.legend_below(figure, ax, 2)
    return figure, axes


@plot.styled
def simulated_card(parts, starts):
    """Estimated cycles over the run, as above, half as wide."""
    figure, (ax,) = card(3.2, 1)
    plot.stack_estimate(ax, parts, starts)
    ax.set(title="estimated cycles per instruction")
    plot.legend_below(figure, ax, 2)
    return figure, ax

# %%
for name in programs:
    details, rows, figure = answers.get(name, {}), {}, None
    if name in profiles:
        details = first_page.describe_saved_misses(profiles[name])
        details["limited_by"] = simulated[name]["limited_by"]
        figure, _ = simulated_card(estimates[name], starts[name])
        summary = first_page.describe_estimate(simulated[name], profiles[name])
        summary |= first_page.describe_simulation(runs[name][0].meta)
    elif answers[name]["account"]:
        summary = first_page.describe_account(answers[name])
        rows = {"IPC": ipc[name]} if name in ipc else {}
    else:
        often = pd.DataFrame([run.rates().mean() for run in runs[name]]).mean().nlargest(3)
        leading = {event: rates[name][event] for event in often.index if event in rates[name]}
        summary = first_page.summarize_rates(often, leading, runs[name], details["untold_text"])
        rows = {f"{event} {runs[name][0].axis.rate}": by_run for event, by_run in leading.items()}
    lines = [line for by_run in rows.values() for line in by_run.values()]
    if any(len(line) > 1 for line in lines) and not runs[name][0].holds_totals:
        figure, _ = series_card(with_phases(rows))
    if figure is not None:
        quantity = ", ".join(rows) or "estimated cycles by what they are charged for"
        alt = f"{name}: {quantity} over its run, a line a run, of one run with its phases."
        results.overview_picture(name, figure, alt)
    results.overview_summary(name, details)
    display(results.overview(name, **summary))

# %%
def describe_limits(account):
    """The categories that may be the largest loss of slots, and the bounds of their shares."""
    rows, how = {one["name"]: one for one in account["categories"]}, account["how"]
    named = {name: "the " * (name != "bad speculation") + name for name in account["limits"]}
    if how == "open":
        return f"{' or '.join(named.values())} (not decided)"
    bounds = [f"{named[name]} ({rows[name]['low']:.1f} to {rows[name]['high']:.1f} %"
              f"{', likely' * (how == 'likely')})" for name in named if name in rows]
    return " and ".join(bounds) or "hardly any"

# %%
if answers:
    accounts = {name: one for name, one in answers.items() if one["account"]}
    ipcs = {name: one["levels"]["instructions a cycle"] for name, one in answers.items()
            if "instructions a cycle" in one["levels"]}
    several = len(answers) > 1
    whole = ", ".join(f"{name * several} {of:.3g}".strip() for name, of in ipcs.items())
    limits = [f"in {name} " * several + describe_limits(accounts[name]["account"])
              for name in accounts]
    said = [f"the largest loss (of all slots) is {', '.join(limits)}" * bool(limits),
            f"IPC of a whole run is {whole} (median of all runs)" if ipcs else ""]
    if ipc:
        n_phases, every = {name: len(phases) for name, phases in found.items()}, pd.concat(found)
        told = ", ".join(f"{name} {number}" for name, number in n_phases.items())
        said.append(f"Run 1 has phases ({told}) of a mean IPC of {every['level'].min():.1f} to "
                    f"{every['level'].max():.1f}" if len(every) > len(found) else
                    "Run 1 has no phases that differ in IPC" + f" ({', '.join(found)})" * several)
        said += [repeated.rstrip("."), f"Between {n_runs} runs of one program ({chosen_of}), the "
                 f"mean over time differs by at most {apart[farthest]:.0f} % ({farthest})"
                 if n_runs != "1" else ""]
    if any(said):
        imported = all(run.meta.get("imported") for own in runs.values() for run in own)
        whose = "Imported" if imported else "Own hardware"
        display(results.finding(f"{whose} counts, {', '.join(answers)}: "
                                f"{'. '.join(filter(None, said))}."))

# %%
if answers and ipcs:
    for name, value in ipcs.items():
        results.number(f"IPC of the whole run, {name}", value, note="median of all runs")
        if name in ipc:
            results.number(f"phases of IPC, {name}", n_phases[name], note="of the first run")
        for c in accounts[name]["account"]["categories"] if name in accounts else ():
            if c["name"] in accounts[name]["account"]["limits"]:
                results.number(f"slots lost to the {c['name']}, {name}", (c["low"] + c["high"]) / 2,
                               "%", note=f"middle of the bounds {c['low']:.1f} to {c['high']:.1f}")
    display(results.numbers())

# %% [markdown]
# ## What this doesn't show
#
# Bounds hold for the runs that were recorded, and for one thread a core: where two share a core, as threads of a Spark program in a virtual machine may, what one takes from the other is lost in a category here, and the recordings don't tell. Counts in user mode, as `cmlib record` makes them, leave out what the kernel did on a program's behalf. How the slots divide over time, and whether the counts add up, is in notebook studies/topdown.
#
# ## On your own program
#
# `cmlib record NAME -- COMMAND`, then `cmlib run live 00_first_look -p program=NAME` (*live*: the profile for recordings of your own). `program` is the one parameter to change; where the processor is not recognized, `--processor NAME` names it.
#
# **References.** Yasin, *A top-down method for performance analysis and counters architecture*, ISPASS 2014. Weidendorfer, *KCachegrind*, on the estimate of cycles.

# %%
results.save()
