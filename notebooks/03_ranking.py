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
# # Ranking: which events explain IPC
#
# **Question.** Which few of the recorded events tell how fast a program runs, and how sure is that?
#
# *Reads* the store (the database of all recordings, notebook 01). *Writes* the error of the model at every number of events, and the ranking of each program with its spread.
#
# How fast a program runs is IPC, its instructions per cycle. A model of it (gradient boosted trees) ranks the events; the ten least important are dropped and the model is fitted again, until few are left; the most accurate model is kept
# (event importance refinement, CounterMiner §III-C). Importance says which events a model of IPC leans on, not what makes the program slow.

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas, or all
target: str = ""  # explained: IPC, EVENT (per second), or EVENT per EVENT; empty: IPC if known
method: str = "shrinkage"  # cleaning of the runs: shrinkage, counterminer, interpolate …
step: int = 10  # events dropped at a time, or a quarter of all if that is fewer
test_share: float = 0.2  # random share of steps kept back for the test, as in the paper
n_seeds: int = 10  # models behind the spread of an importance
top: int = 10  # events shown a program
seed: int = 0  # of the random share and of the models
settings: dict = {}  # jobs, executor, scheduler, database, interactive, profile, results_folder

# %%
from functools import partial

import numpy as np
import pandas as pd
from IPython.display import Markdown
from scipy.special import comb

from cmlib import experiments as study
from cmlib import explore, merge, plot
from cmlib.experiments.data import describe_data
from cmlib.experiments.targets import charged_shares, possible_targets
from cmlib.io import events, store
from cmlib.io.recording import AXES
from cmlib.parallel import parallel_map
from cmlib.rank import regressor, stability
from cmlib.rank.importance import influence
from cmlib.report import paper
from cmlib.report.notebook import begin

# %%
limits = {
    "method": "cmlib.clean.DISTINCT_METHODS", "step": (1, 100), "test_share": (0.05, 0.5),
    "n_seeds": (2, 100), "top": (3, 30), "seed": (0, 1_000_000),
}
notebook = begin(
    "03_ranking", settings, program=program, target=target, method=method, step=step,
    test_share=test_share, n_seeds=n_seeds, top=top, seed=seed,
)
results, workers = notebook.results, notebook.workers
counterminer = paper("counterminer")

# %% [markdown]
# ## The data: one matrix a program
#
# Where every run counted other events, a row of one run says nothing of the events of another. Such runs are therefore aligned by progress: the same share of retired instructions is taken to be the same
# place in the program. A row is a step of progress, a column an event per cycle, and IPC is the mean of all runs; notebook 03a compares this with the papers' way, runs one below the other.
# `instructions` and `cycles`, and events that are the same under another name, are left out: with them a model would have nothing to learn.
#
# Where one run counted all events, as of a service with `perf stat -I`, a row is an interval of time. Several such runs are put one after the other, and the last is kept back as another pass. Without instructions and cycles there is no IPC; then another event is explained, per second, and so it is by choice (`-p target=EVENT`).
#
# Of a simulated program a row is an interval of one run, and all events are per 1,000 instructions. The event to which KCachegrind's cycle estimate charges most is explained. What counts some of the same is left out: the misses of the same accesses at other levels, and of an exact count the misses and mispredictions among it. The loads of load misses and the branches of mispredictions stay: they tell how many there can be, not how many there are.

# %%
url = notebook.database
table = study.event_table(url)
programs, aim = study.choose_target(url, program, target)
display(Markdown(describe_data(url, programs)))
results.mark(simulated := study.describe_source(url, programs))
asked = programs if aim == study.IPC else []  # of these, what is about IPC alone
recorded = partial(study.recorded_matrix, url, target=aim, method=method, workers=workers)
matrices = {name: recorded(name) for name in programs}
if aim != study.IPC:
    counted = study.interval_runs(url, programs)
    others = ["IPC"] * bool(study.IPC.counted_in(counted).all())
    reason = "" if others else " Without both instructions and cycles there is no IPC."
    others += [one for one in possible_targets(url, counted) if one not in aim.events]
    choice = f" Others by `-p target=…`: {', '.join(others[:8])}." if others else ""
    display(results.finding(f"What is explained is **{aim.name}**.{reason}{choice}"))

# %% [markdown]
# Events that happen at a fixed rate in time, as timers' interrupts do, are left out as well: divided by instructions or by another event they are the time that these took. Over intervals the elasticity of their rate in time, in the time that an instruction takes, is 0; each of them would have to cost more cycles than an event does to be the cause of any (`cmlib.rank.leaks.find_ticking`).

# %%
for name, one in matrices.items():
    if len(one.ticking):
        rates = ", ".join(f"`{event}` {rate:,.0f}" for event, rate in one.ticking.items())
        display(Markdown(f"Left out of the ranking of {name}, as their rate in time is the same "
                         f"whatever {aim.name} is: {rates} a second."))

# %%
by_axis = {}
for name, one in matrices.items():
    axis = AXES[one.ipc.index.name].label if one.in_time else "progress [share of instructions]"
    line = "intervals" if one.in_time else "mean of all runs"
    by_axis.setdefault(axis, {})[name] = {line: one.ipc}
for place, (axis, series) in enumerate(by_axis.items()):
    figure, _ = plot.series_by_program(series, ylabel=aim.label, xlabel=axis)
    name = "ipc-by-progress" if place == 0 else "in-time"
    how = "the mean of all runs" if axis.startswith("progress") else "the intervals of its runs"
    means = [lines[list(lines)[0]].mean() for lines in series.values()]
    display(results.figure(figure, name,
                           f"**Figure.** {aim.name} of each program, {how}: "
                           + ", ".join(f"{of} {len(next(iter(lines.values())))} rows"
                                       for of, lines in series.items())
                           + f". *See:* its mean is {min(means):.3g} to {max(means):.3g}."
                           if len(means) > 1 else
                           f"**Figure.** {aim.name} of {', '.join(series)}, {how}. *See:* its mean "
                           f"is {means[0]:.3g}."))

# %% [markdown]
# This is what the models have to explain. Where it hardly varies, little can be explained: any model must be judged beside a prediction that looks at no event, the mean.
#
# ## Event importance refinement
#
# The model *perf* takes the values $e_1 \dots e_n$ of the $n$ events and gives IPC (CounterMiner, Eq. 9). Its error is relative to what was measured (Eq. 14), averaged over rows that took no part in training it:
#
# $$IPC = perf(e_1, e_2, \dots, e_i, \dots, e_n) \tag{9}$$
#
# $$err = \frac{|IPC_{meas} - IPC_{pred}|}{IPC_{meas}} \times 100\,\% \tag{14}$$
#
# The paper's algorithm (§III-C): fit *perf* on all events, rank them by their importance, drop the ten least important, fit again, until few are left; keep the model with the smallest error. *perf* is a gradient boosted regression tree, trained on $m$ random rows and tested on $m/4$ others (§V-B). Here it is for one program, as it stands there, after a drawing of the whole method. In it OCOE (one counter, one event) counts as many events at a time as there are counters; MLPX (multiplexing) lets more events take turns on them.

# %%
if not notebook.of_program:
    steps = {"Data collector": "OCOE or MLPX,\nevents in groups",
             "Data cleaner": "outliers,\nmissing values\n(notebook 02)",
             "Model": "IPC by all events\n(Eq. 9)",
             "Importance": "of each event\n(Eq. 10, 11)", "Refinement": "drop the least\nimportant",
             "Interactions": "of pairs of the\nfirst events\n(notebook 04)"}
    until = "until few events are left; the most accurate model goes on"
    figure, _ = plot.flow(steps, returns=[("Refinement", "Model", until)], columns=6)
    display(results.figure(figure, "flow", "**CounterMiner, Fig. 4; GBRT paper (Lv, Sun, Yu, 2018),"
                           " Fig. 4.** The method, each box with the notebook or the equation that "
                           "has it. *See:* the arrow back is the loop of the next cells, which is "
                           "all of the GBRT paper's figure."))

# %%
first = matrices[programs[0]]
e, IPC = sorted(first.X), first.ipc  # e_1 … e_n
order = np.random.default_rng(seed).permutation(len(IPC))
n_test = round(test_share * len(IPC))
test, train = np.sort(order[:n_test]), np.sort(order[n_test:])
# of IPC, Eq. 14; a rate that may be 0 takes its mean below the line
beside = IPC if aim == study.IPC else IPC * 0 + IPC.mean()

n_dropped = min(step, max(1, len(e) // 4))  # ten at a time leave little of a dozen

# %%
path = []
while True:
    perf = regressor(seed=seed).fit(first.X[e].iloc[train], IPC.iloc[train])
    IPC_pred = perf.predict(first.X[e].iloc[test])
    err = 100 * (abs(IPC.iloc[test] - IPC_pred) / beside.iloc[test]).mean()
    importance = influence(perf)  # percent, the most important first
    used = int((importance > 0).sum())  # events that some tree splits on
    path.append((len(e), used, err, importance.index[0]))
    if len(e) <= n_dropped:
        break
    e = sorted(importance.index[:-n_dropped])

path = pd.DataFrame(path, columns=["n_events", "used by the trees", "error", "first event"])
off = 100 * (abs(IPC.iloc[test] - IPC.iloc[train].mean()) / beside.iloc[test]).mean()
best = path.loc[path["error"].idxmin()]
print(f"{programs[0]}: {path['n_events'].iloc[0]} events err by {path['error'].iloc[0]:.2f} %, "
      f"{best['n_events']} by {best['error']:.2f} %, {path['n_events'].iloc[-1]} by "
      f"{path['error'].iloc[-1]:.2f} %; the mean of the training rows by {off:.2f} %. The first "
      f"and the last {min(4, len(path) // 2)} of {len(path)} rounds:")
ends = pd.concat([path.head(min(4, len(path) // 2)), path.tail(min(4, len(path) // 2))])
ends.round({"error": 2}).set_index("n_events")

# %% [markdown]
# As long as the events dropped are ones that no tree splits on, the model stays the same, and so does its error to all digits.
#
# The library's `cmlib.rank.refine` does this for every program (checked below), and takes two more errors. A random row's neighbours are in the training set, and tell much of it; so rows are also cut into twelve stretches of progress or time, in four folds, and each fold is predicted by a refinement that saw none of it (*unseen blocks*). The lowest of these picks the number of events, which may be another one than the loop above picks by its random fifth. As the lowest of many it is too good again, so a third error is taken by nested folds (*nested blocks*): the number is picked without the fold that it is then judged on.

# %%
refine = partial(study.refine, step=step, test_share=test_share, seed=seed)
refined = dict(zip(programs, parallel_map(refine, matrices.values(), workers=workers), strict=True))
np.testing.assert_allclose(refined[programs[0]].history["error"], path["error"])
print(f"cmlib.rank.refine and the loop above agree on the {len(path)} errors of {programs[0]}")

# %%
printed = dict.fromkeys(study.of_suites(asked, ["HiBench"]), counterminer["model_error_percent"])
figure, _ = plot.refinement(
    {name: r.history for name, r in refined.items()}, paper=printed,
    lines={"blocks_error": "unseen blocks", "error": "random fifth (as the paper)",
           "holdout_error": "another pass"},
    baselines={"blocks_mean_baseline": "the mean, unseen blocks"},
    marked={name: int(r.errors["n_events"]) for name, r in refined.items()})
at_first = [r.history["blocks_error"].iloc[0] for r in refined.values()]
at_best = [r.errors["blocks_error"] for r in refined.values()]
results.figure(figure, "fig08",
               f"**{study.paper_figures(programs, {'HiBench': '8'})}.** Error of the model of "
               f"{aim.name} against the number of events left, dropping {step} at a time."
               + (" Crosses, beside programs of HiBench (the paper's suite of Spark programs): the "
                  "paper's mean of eight, on other data, rows that are single intervals and a "
                  "random fifth." if printed else "")
               + " Dash-dotted: the number of events with the lowest error on unseen blocks. "
               "*See:* on unseen blocks all events err by "
               f"{np.mean(at_first):.1f} %, the model kept by {np.mean(at_best):.1f} %, means of "
               f"{len(refined)} program{'s' * (len(refined) > 1)}.")

# %% [markdown]
# Look at how flat a curve is before looking where it is lowest. On the recordings that come with cmlib the error hardly changes from all events down to some twenty: most events add nothing, and few do harm, where the paper's error falls by half to 150 events.
# On a flat curve the lowest point is a matter of luck. The column *kept without a fold* of the table shows it: the numbers of events that are picked when a quarter of the program is left out, each time another one. Where the number kept with the whole program lies outside of them, it is not the right number but one of many that are as good.

# %%
def errors_of(one):
    """Errors [%] of the model that was kept, and the numbers of events that were chosen."""
    chosen, everything, fewest = one.errors, one.history.iloc[0], one.history.iloc[-1]
    return {"kept": int(chosen["n_events"]),
            "random share": chosen["error"], "its mean": chosen["mean_baseline"],
            "blocks": chosen["blocks_error"], "nested blocks": one.nested_error,
            "their mean": chosen["blocks_mean_baseline"],
            "fewest": one.nested["n_events"].min(), "most": one.nested["n_events"].max(),
            "all": int(everything["n_events"]), "blocks, all": everything["blocks_error"],
            "few": int(fewest["n_events"]), "blocks, few": fewest["blocks_error"]}


errors = pd.DataFrame({name: errors_of(one) for name, one in refined.items()}).T
counts = dict.fromkeys(["kept", "fewest", "most", "all", "few"], "Int64")
errors = errors.rename_axis("program").astype(counts)
shown = errors.reset_index()[["program", "kept", "random share", "its mean", "nested blocks",
                              "their mean"]]
shown["kept without a fold"] = [f"{row.fewest} to {row.most}" for row in errors.itertuples()]
display(results.table(shown, "errors",
                      "**Table.** The number of events kept; the error [%] of that model on a "
                      "random share of the rows and on nested blocks, each beside that of the "
                      "mean of the training rows (*its mean*, *their mean*) on the same rows; and "
                      "the numbers of events picked without each fold."))

# %%
histories = {name: r.history for name, r in refined.items()}
history = pd.concat(histories, names=["program"]).reset_index("program")
ends = [h[h["n_events"].isin([h["n_events"].max(), errors.at[name, "kept"], h["n_events"].min()])]
        for name, h in history.groupby("program", sort=False)]
shown = pd.concat(ends)
history = pd.concat([shown, history]).drop_duplicates(["program", "n_events"])
results.table(history.dropna(axis=1, how="all"), "refinement",
              "**Table.** CounterMiner, Fig. 8 in numbers [%]: *error* on the random fifth, "
              "*blocks_error* on unseen blocks, *…_baseline* the mean's on the same rows. With "
              f"all events, those kept, and the fewest: {len(shown)} of {len(history)} rows, all "
              "in refinement.csv.", rows=len(shown))

# %% [markdown]
# ## Importance
#
# An event's importance is the squared error that the splits on it take away, added up over all trees (Friedman 2001, Eq. 44 and 45), in percent of all events'. With the trees $T_m$, their splits $s$ and the improvement $\hat\imath^2_s$ of each,
#
# $$\hat I_j^2 = \frac{1}{M} \sum_{m=1}^{M} \hat I_j^2(T_m), \qquad \hat I_j^2(T) = \sum_{s \in T,\ v_s = e_j} \hat\imath^2_s.$$
#
# Here $M$ is the number of trees, $v_s$ the event that split $s$ asks for, $\hat I_j$ the importance of event $e_j$. `cmlib.rank.importance.influence` adds this up; scaled to 100 % it is what LightGBM calls *gain*, and the loop above ranked by it.
#
# Bars are means over models of the events kept, trained on resampled blocks of rows with different seeds;
# lines show the range of 90 % of these models. An event whose line reaches down to its neighbours' bars has no rank of its own. These means may put another event first than one fit does, as in the loop above: that is what the lines are there to say.

# %%
seeds = range(n_seeds)
draws = {name: stability.draw_importances(data.X[refined[name].events], data.ipc, seeds=seeds)
         for name, data in matrices.items()}
spread = {name: stability.importance_spread(drawn) for name, drawn in draws.items()}
spread = {name: s.assign(abbr=events.abbreviate(s.index, table)) for name, s in spread.items()}
leading = {name: s.head(top) for name, s in spread.items()}

# %%
numbered = {"HiBench": "9", "CloudSuite 3.0": "10"}
DECIDED = "among the first three (90 % interval of its place)"
shown = {name: s.reset_index().assign(place=np.where(s["rank_high"] <= 3, DECIDED, plot.UNDECIDED))
         for name, s in leading.items()}
figure, _ = plot.ranking(shown, value="mean", low="low", high="high", label="event", columns=1,
                         hue="place", xlabel="importance [%]")
decided = sum((one["place"] == DECIDED).sum() for one in shown.values())
printed = counterminer["importance"].get("wordcount", {}) if "wordcount" in asked else {}
display(results.figure(
    figure, "fig09",
    f"**{study.paper_figures(programs, numbered)}.** The most important events for "
    f"{aim.name} of those kept. Bars: mean importance in {n_seeds} resampled models, lines: the "
    "range of 90 % of them."
    + (f" The paper's first of wordcount, on another processor: {', '.join(printed['top'])}, above "
       f"{printed['top_above_percent']:g} %, the rest below {printed['rest_below_percent']:g} %."
       if printed else "")
    + f" *See:* {decided} of {sum(map(len, shown.values()))} bars have a decided place (blue); the "
    "place of the grey ones changes with the rows and the seed of the model."))

# %%
shown = pd.concat(leading, names=["program", "event"]).reset_index()
shown["description"] = table["description"].reindex(shown["event"]).to_numpy()
results.table(shown.drop(columns=["sd"]), "importances",
              "**CounterMiner, Table III.** Events among the most important of some program: mean "
              f"importance [%], range (*low* to *high*) and range of ranks of 90 % of {n_seeds} "
              "models, a short name (as the paper abbreviates its events), and what they count.",
              rows=60)

# %% [markdown]
# ## The same ranking by the formula that the paper prints
#
# The paper's text describes Friedman's importance; its Eq. 10 and 11 are another quantity:
#
# $$I_j^2(T) = nt \cdot \sum_{k=1}^{nt} P^2(k), \qquad P(k) = \frac{IPC_k - IPC_{k-1}}{IPC_{k-1}} \tag{10}$$
#
# $$I_j^2 = \frac{1}{R} \sum_{m=1}^{R} I_j^2(T_m) \tag{11}$$
#
# (its sum runs over $i$, which can only mean $k$). This is the number $nt$ of splits on the event in a tree times the sum of the squared relative changes of predicted IPC that they make,
# averaged over the $R$ trees in which the event is used at all, so that an event used once counts as much as one used everywhere. $IPC_{k-1}$ and $IPC_k$ are the predictions before and after the split $k$.
#
# Here both, of one model each: the one that was kept, fitted on all rows. The figure above has means of resampled models, and so other shares: where an event leads here and is far down there, its lead is of this one fit.

# %%
both = {}
for name, r in refined.items():
    printed = influence(r.model, method="printed", X=matrices[name].X[sorted(r.events)])
    columns = {"Friedman [%]": r.importances, "Eq. 10 and 11 [%]": printed,
               "place by these": printed.rank(ascending=False, method="first").astype(int)}
    both[name] = pd.DataFrame(columns).loc[r.events[:5]]
    both[name]["resampled models, mean [%]"] = spread[name]["mean"]
results.table(pd.concat(both, names=["program", "event"]).reset_index(), "printed",
              "**Table.** The five most important events of the one model kept of each program, "
              "by Friedman's definition, beside Eq. 10 and 11 as printed, and the mean of the "
              "resampled models (figure above).")

# %% [markdown]
# All other notebooks use Friedman's. Where Eq. 10 and 11 disagree with it is a matter of definition, not of the data; where the last column disagrees with the first, of the rows that a model was fitted on.
#
# ## Do one to three events matter significantly more?
#
# CounterMiner calls it a law (§V-B); its companion, on eight of the same programs, finds one or two events. Some event always comes first, so it is tested here: is the widest gap after one of the first three (*ratio*: of the shares on both sides, *n_standing_out* events before it) wider than in shares broken at
# random (*p_value*) and in shares that fall by a power law (*p_power_law*), and do the same events lead in 95 % of resampled models (*stays*: the share in which they do)?
#
# Where a stick is broken at random, the gaps between its sorted shares $I_{(1)} \ge I_{(2)} \ge \dots$, each times its place, are exponential with one mean (Rényi); of shares by a power law, those of their logarithms are. The first three of them, against the $n$ others among the 20 most important events, give
#
# $$g_i = i \, ( I_{(i)} - I_{(i+1)} ), \qquad w = \frac{\max(g_1, g_2, g_3)}{\bar g_{i > 3}},$$
#
# $$p = - \sum_{j=1}^{3} (-1)^j \binom{3}{j} \left( 1 + \frac{j \, w}{n} \right)^{-n},$$
#
# where $g_i$ is the gap after place $i$ times its place, $\bar g_{i>3}$ the mean of the $n$ gaps after the third, $w$ how much wider the widest of the first three is, and $p$ the probability of a gap at least as wide if none is wider than the others.

# %%
def widest_gap_p(gaps):
    """Probability of so wide a gap among the first three, if all are exponential."""
    first, rest, j = gaps[:3], gaps[3:], np.arange(1, 4)
    if not rest.any():
        return 0.0 if first.any() else 1.0
    wide = first.max() / rest.mean()
    return -np.sum((-1.0) ** j * comb(3, j) * (1 + j * wide / len(rest)) ** -len(rest))


def smi_test(draws):
    """Whether one to three events are significantly more important than the rest."""
    mean = draws.mean().sort_values(ascending=False, kind="stable")
    mean = mean[mean > 0].iloc[:20]
    if len(mean) < 6:
        untested = ("n_standing_out", "ratio", "p_value", "p_power_law", "stays")
        return dict.fromkeys(untested, np.nan) | {"holds": False}
    places = np.arange(1, len(mean))
    gaps, of_logs = (-places * np.diff(shares) for shares in (mean, np.log(mean)))
    n, p = int(np.argmax(gaps[:3])) + 1, widest_gap_p(gaps)
    leaders = set(mean.index[:n])
    stays = np.mean([set(draw.nlargest(n).index) == leaders for _, draw in draws.iterrows()])
    return {"n_standing_out": n, "ratio": mean.iloc[n - 1] / mean.iloc[n], "p_value": p,
            "p_power_law": widest_gap_p(of_logs), "stays": stays,
            "holds": bool(p < 0.05 and stays >= 0.95)}


# %%
tests = {name: smi_test(drawn) for name, drawn in draws.items()}
smi = pd.DataFrame(tests).T.rename_axis("program").reset_index()
smi["n_standing_out"] = smi["n_standing_out"].astype("Int64")
smi["holds"] = smi["holds"].map({True: "yes", False: "no"})
results.table(smi, "smi",
              "**Table.** Test of the law that one to three events matter significantly more; it "
              "holds (*yes*) where p is below 0.05 and the same events lead in 95 % of the models.",
              decimals=3)

# %% [markdown]
# ## Twelve events, another pass
#
# A *pass* is one round of runs in which every group of events was counted once. Of the programs that come with cmlib a dozen *core events* (branches, cache misses, stalls and the like, four counters at a time) were counted all the time and in two passes. A model trained on one pass and tested on the other is the hardest test here: no row of the second was seen. *Repeat* predicts the IPC that the first pass had at the same place, and looks at no event: where it is as good, the model may have learnt the place and not the events. *Neighbours* interpolates between the nearest other rows.
# Programs without two such passes are left out of the table.

# %%
def core_errors(one):
    """Errors of one model of all columns, beside predictions that look at no event."""
    refined = study.refine(one, seed=seed)
    errors = refined.history.loc[0, ["error", "blocks_error", "holdout_error"]]
    return pd.concat([errors, refined.baselines.add_prefix("without events: ")])


alone = study.core_runs(url, programs, aim, workers=workers)
core = {name: study.matrix(runs, target=aim) for name, runs in alone.items()}
if core:
    tested = {name: core_errors(one) for name, one in core.items()}
    tested = pd.DataFrame(tested).T.rename_axis("program").reset_index()
    tested = tested.drop(columns="without events: mean")
    repeat = tested["without events: holdout_repeat"]
    beaten = list(tested["program"][tested["holdout_error"] < repeat])
    display(results.table(tested, "core",
                          "**Table.** Errors [%] of a model of the core events (*error* on the "
                          "random fifth, *blocks_error* on unseen blocks, *holdout_error* on the "
                          "other pass) and of predictions without any event. *See:* on the other "
                          "pass the model errs by less than the repeat for "
                          f"{len(beaten)} of {len(tested)} ({', '.join(beaten) or 'none'})."))

# %% [markdown]
# ## Does cleaning put IPC into the events?
#
# A rate per cycle is moved by cycles as well as by the event, and a model of IPC then ranks the events: partly a circle. Where the same events were also counted all the time, it can be measured:
# does their rank correlation with IPC come out above the true one once the multiplexed runs are cleaned?

# %%
def correlations(name, sets, how):
    """Rank correlation with IPC of the events of some runs, cleaned by a method."""
    runs = study.cleaned_runs(url, name, list(sets), method=how, workers=workers)
    X, ipc = merge.align_runs(list(runs["counts"]))
    return X.loc[:, X.nunique() > 1].corrwith(ipc, method="spearman")


circle = []
for name in asked:
    runs = store.runs(url, program=name).query("set != 'sweep'")
    sets = {mode: group["set"].unique() for mode, group in runs.groupby("mode")}
    if {"ocoe", "mlpx"} <= set(sets):
        true = correlations(name, sets["ocoe"], "interpolate")
        for how in ("interpolate", "counterminer", "shrinkage"):
            found = correlations(name, sets["mlpx"], how)
            both = pd.DataFrame({"counted": true, "multiplexed": found}).dropna()
            distance = (both["multiplexed"] - both["counted"]).abs().mean()
            circle.append({"program": name, "method": how, "events": len(both)}
                          | both.abs().mean().to_dict() | {"distance": distance})

# %%
if circle:
    caption = ("**Table.** Rank correlation with IPC, without sign, mean of the core events: "
               "counted all the time, multiplexed and cleaned; *distance*: mean difference of the "
               "two.")
    circle = pd.DataFrame(circle)
    display(results.table(circle, "correlations", caption, decimals=3))
    default = circle[circle["method"] == "shrinkage"]
    above = (default["multiplexed"] - default["counted"]).mean()
    plain = circle[circle["method"] == "interpolate"].set_index("program")["multiplexed"]
    smoothed = default.set_index("program")
    further = smoothed["multiplexed"] - plain[smoothed.index].clip(lower=smoothed["counted"])
    display(Markdown(
        "*See:* the default (shrinkage) lies above both *counted* and *interpolate* for "
        + (", ".join(f"{name} (by {by:.3f})" for name, by in further[further > 0].items())
           or "none") + f" of {len(further)} programs."))
    results.number("correlation with IPC, after cleaning (shrinkage) above the true one", above,
                   note=f"mean of {', '.join(default['program'])}; 0: no circle")

# %% [markdown]
# Where a cleaned correlation lies further above *counted* than that of *interpolate* (which fills gaps by straight lines and smooths nothing), cleaning has put some of IPC into the events, and part of their importance is owed to it.
#
# ## The answer
#
# Beside the paper's values stand means of the paper's own programs only, those of HiBench, and by its own error, on a random fifth.

# %%
of_paper = study.of_suites(asked, ["HiBench"])
if of_paper:
    everything = pd.DataFrame({name: refined[name].history.iloc[0] for name in of_paper}).T
    lowest = pd.DataFrame({name: refined[name].as_printed for name in of_paper}).T
    note = f"random fifth, mean of {', '.join(of_paper)}, aligned; the paper: HiBench's eight"
    results.number("model error, all events", everything["error"].mean(), "%",
                   paper=14.0, note=note)
    results.number("model error, lowest", lowest["error"].mean(), "%", paper=6.3, note=note)
    results.number("number of events where the error is lowest", lowest["n_events"].mean(),
                   "events", paper=150, note=note)

# %%
results.number("model error on nested blocks", errors["nested blocks"].mean(), "%",
               note=f"mean of {', '.join(programs)}")
results.number("error of the mean on the same blocks", errors["their mean"].mean(), "%")
results.number("programs where one to three events stand out", (smi["holds"] == "yes").sum(),
               "programs", note=f"of {len(smi)}"
               + ("" if notebook.of_program else "; the paper says so of all of its own"))

# %%
mean, of_its_mean = errors.mean(), "" if aim == study.IPC else " of its mean"
sure = {name: (drawn.rank(axis=1, ascending=False, method="min") <= 3).mean()
        for name, drawn in draws.items()}  # in which share of models an event is among the first 3
named = "; of ".join(
    f"{name}: `{s.index[0]}` ({s['mean'].iloc[0]:.0f} % of the importance, among the first three "
    f"in {100 * sure[name][s.index[0]]:.0f} % of {n_seeds} resampled models)"
    for name, s in spread.items())
settled = (f"that it is among the first three is decided for {decided} of the "
           f"{sum(map(len, leading.values()))} events shown (notebook 03c takes them in groups)")
again = ""
if core:
    losing = [name for name in tested["program"] if name not in beaten]
    again = (" On another pass of a dozen core events a model errs by "
             f"{tested['holdout_error'].mean():.1f} %, the first pass repeated, without any event, "
             f"by {repeat.mean():.1f} %: the model wins for {', '.join(beaten) or 'none'}, and "
             f"loses for {', '.join(losing) or 'none'}.")

# %%
span = {column: " to ".join(map(str, sorted({errors[column].min(), errors[column].max()})))
        for column in counts}
display(results.finding(
    f"The most important event of {named}. Which events lead is not sure: {settled}. A model of "
    f"{aim.name} errs by {mean['nested blocks']:.1f} %{of_its_mean} on stretches that took no part "
    "in training it or in choosing its events; the mean of the others errs by "
    f"{mean['their mean']:.1f} % there.{again} Such events go along with {aim.name}; that they "
    "cause it is not shown."))
display(results.finding(
    f"How many events are needed is not settled: with all ({span['all']}) the error on unseen "
    f"blocks is {mean['blocks, all']:.1f} %, with the most important ({span['few']}) "
    f"{mean['blocks, few']:.1f} %; the models kept have {span['kept']}, and chosen without a part "
    f"of the program it is {errors['fewest'].min()} to {errors['most'].max()}. That one to three "
    "events matter significantly more, which CounterMiner calls a law, holds for "
    f"{(smi['holds'] == 'yes').sum()} of {len(smi)} programs."))

# %%
def followed(name):
    """Which event a target follows that is not IPC, and how sure that is."""
    error, mean = errors.at[name, "nested blocks"], errors.at[name, "their mean"]
    error = errors.at[name, "blocks"] if pd.isna(error) else error
    charged = charged_shares(url, study.interval_runs(url, [name])["run_id"]).get(aim.event, 0)
    why = f"charged {100 * charged:.0f} % of KCachegrind's cycle estimate" if simulated else ""
    leads = (f"follows `{spread[name].index[0]}` most" if error < mean
             else "is told by none of the events better than by its mean")
    return (f"`{aim.name}`{f', {why},' if why else ''} {leads}: a model errs by {error:.1f} "
            f"%{of_its_mean} on stretches that it never saw, the mean by {mean:.1f} %")


# %%
for name in programs:  # on the first page, unless clusters take their place (notebook 03c)
    caption = (f"**What {aim.name} follows.** Events: importance [%] with the interval of 90 % of "
               "resampled models")
    bars = spread[name].head(5).rename_axis("name").rename(columns={"mean": "value"}).reset_index()
    ranks = [f"rank {row.rank_low} to {row.rank_high}" for row in bars.itertuples()]
    kinds = map(events.simulated_kind, bars["name"])
    bars["note"] = [", ".join(filter(None, both)) for both in zip(kinds, ranks, strict=True)]
    results.overview_bars(name, bars[["name", "value", "low", "high", "note"]], caption)
for name in sorted(set(programs) - set(asked)):
    results.overview(name, sure=followed(name))

# %%
def leaders(name, n=3):
    """The first events of a program: what they count, their importance and their direction."""
    mean, data = draws[name].mean().nlargest(n), matrices[name]
    slopes = data.X[mean.index].corrwith(data.ipc, method="spearman")
    for event, importance in mean.items():
        what = str(table["description"].get(event, "")).rstrip(".").split(":")[0].split(";")[0]
        way = "high" if slopes[event] > 0 else "low"
        way = f"more of it where {aim.name} is {way}" if abs(slopes[event]) >= 0.2 else "no trend"
        what = ", ".join(filter(None, [events.simulated_kind(event), what]))
        name = f"`{event}`{f', {what}' if what else ''}"
        yield f"{name} ({importance:.0f} % of the importance, {way})"


for name in programs:
    shares = sure[name][draws[name].mean().nlargest(3).index]
    often = ", ".join(f"{100 * share:.0f} %" for share in shares)
    display(results.finding(
        f"{aim.name} follows {'; '.join(leaders(name))}. How sure: these are among the first three "
        f"in {often} of {n_seeds} models of resampled stretches. A model of {aim.name}, of "
        f"{errors.at[name, 'kept']} events, errs by {errors.at[name, 'nested blocks']:.1f} "
        f"%{of_its_mean} on held-out stretches, the mean by {errors.at[name, 'their mean']:.1f} %.",
        program=name))
results.numbers()

# %% [markdown]
# ## Explore
#
# A program's ranking beside another's, from any step of the refinement, with more or fewer seeds behind the lines. Nothing is fitted anew: these are the models above.

# %%
panel = explore.ranking(refined, draws, top=top)
caption = ("**Figure.** The first setting of the panel that JupyterLab shows here: two rankings, "
           "importance [%]. Colour: whether an event is in both lists or in one (not, as above, "
           "whether its place is decided); lines on the bars: the range of 90 % of the resampled "
           "models. *See:* how few of the events two programs have in common.")
panel if notebook.interactive else results.figure(panel.figure(), "explore", caption)

# %% [markdown]
# ## What this doesn't show
#
# Importance in a model is no cause: an event may only go along with IPC. Per cycle, kinds of instructions (branches, fused pairs) follow IPC because they are instructions; the papers' rankings, made of counts per interval, share this.
# Two events that say the same share their importance, and which of them leads is decided by noise.
# All events were counted in one pass only, so the model of all events has no other pass to be tested on: the error on nested blocks stands in. That errors are lower than the paper's says nothing of the method: the programs' data, the rows (means of all runs instead of intervals of one) and the random split differ.
#
# ## On your own program
#
# `cmlib record NAME -- COMMAND` (or `cmlib import NAME FILE`), then `cmlib run live 03_ranking -p program=NAME`. Change `method` first: with `counterminer` the runs are cleaned the paper's way; `target=EVENT` explains an event instead of IPC.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §III-C and §V-B. Lv, Sun, Yu, *Mining CPU performance data based on gradient boosting regression tree*, 2018 (in Chinese), §3 and §4. Friedman, *Greedy function approximation*, Annals of Statistics 2001.

# %%
results.save()
