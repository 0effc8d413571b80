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
# # Ranking: which events explain IPC
#
# **Question.** Which few of the recorded events tell how fast a program runs, and how sure is that?
#
# *Reads* the store (the database of all recordings, notebook 01). *Writes* the error of the model at every number of events, and the ranking of each program with its spread.
#
# How fast a program runs is IPC, its instructions per cycle. A model of it (gradient boosted trees) ranks the events; the ten least important are dropped and the model is fitted again, until few are left; the most accurate model is kept (event importance refinement, CounterMiner §III-C). Importance says which events a model of IPC leans on, not what makes the program slow.
#
# How sure a ranking is, is told by fitting the model again to resampled stretches of the program, each time with another seed. An event's place is *decided* here if at least 95 % of these models (of ten: all) put it among their first three; a program can have three decided places at most.

# %% tags=["parameters"]
program: str = "all"  # programs to study, separated by commas, or all
target: str = ""  # explained: IPC, EVENT (per second), or EVENT per EVENT; empty: IPC if known
method: str = "shrinkage"  # cleaning of the runs: shrinkage, counterminer, interpolate …
step: int = 10  # events dropped at a time, or a quarter of all if that is fewer
test_share: float = 0.2  # random share of rows kept back for the test, as in the paper
n_seeds: int = 10  # models behind the spread of an importance
top: int = 10  # events shown a program
seed: int = 0  # of the random share and of the models
settings: dict = {}  # jobs, executor, scheduler, database, interactive, profile, results_folder

# %%
from functools import partial

import numpy as np
import pandas as pd
from IPython.display import Markdown

from cmlib import experiments as study
from cmlib import explore, plot
from cmlib.experiments.data import describe_data
from cmlib.experiments.targets import possible_targets
from cmlib.io import events
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
# Every run of a program counted other events (a *pass* is the runs that together count every event), so a row of one run says nothing of the events of another. The runs are aligned by progress: the same share of retired instructions is taken to be the same place in the program. A row is a small share of progress, a column an event per cycle, and IPC is the mean of all runs; notebook studies/merging_runs compares this with the papers' way, runs one below the other. Runs that multiplex (more events than counters, which take turns) are cleaned first, by *shrinkage* unless `method` says otherwise: it moves each count of an event that took turns towards its neighbours in time, by as much as its own noise calls for (notebook studies/repair).
# `instructions` and `cycles`, and events that are the same under another name, are left out: with them a model would have nothing to learn. So are events that happen at a fixed rate in time, as timers' interrupts do: per cycle they only say how long the row took.

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

# %%
if simulated:
    display(Markdown(
        "A row is an interval of one simulated run, and all events are per 1,000 instructions. "
        "Explained is the event to which KCachegrind's cycle estimate charges most. What counts "
        "some of the same is left out: misses of the same accesses at other levels."))
elif any(one.in_time for one in matrices.values()):
    display(Markdown(
        "Here one run counted all events: a row is an interval of time. Several such runs are put "
        "one after the other, and the last is kept back as another pass."))
for name, one in matrices.items():
    if len(one.ticking):
        rates = ", ".join(f"`{event}` {rate:,.0f}" for event, rate in one.ticking.items())
        display(Markdown(f"Left out of the ranking of {name}, as their rate in time is the same "
                         f"whatever {aim.name} is: {rates} a second."))

# %%
by_axis = {}
for name, one in matrices.items():
    axis = AXES[one.ipc.index.name].label if one.in_time else "progress [share of instructions]"
    by_axis.setdefault(axis, {})[name] = {"": one.ipc}
for place, (axis, series) in enumerate(by_axis.items()):
    figure, _ = plot.series_by_program(series, ylabel=aim.label, xlabel=axis)
    how = "the mean of all runs" if axis.startswith("progress") else "the intervals of its runs"
    about = ", ".join(f"{y.mean():.3g} ± {y.std():.2g} ({of}, {len(y)} rows)"
                      for of, y in ((of, drawn[""]) for of, drawn in series.items()))
    display(results.figure(figure, "in-time" if place else "ipc-by-progress",
                           f"**Figure.** {aim.name} of each program, {how}. *See:* mean and "
                           f"standard deviation of rows are {about}."))

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
# The paper's algorithm (§III-C): fit *perf* on all events, rank them by their importance, drop the ten least important, fit again, until few are left; keep the model with the smallest error. *perf* (the paper's name of the model, not the tool) is a gradient boosted regression tree, trained on $m$ random rows and tested on $m/4$ others (§V-B). Here it is for one program, as it stands there, after a drawing of the whole method. In it OCOE (one counter, one event) counts as many events at a time as there are counters; MLPX (multiplexing) lets more events take turns on them.

# %%
if not notebook.of_program:
    steps = {"Data collector": "OCOE or MLPX,\nevents in groups",
             "Data cleaner": "outliers,\nmissing values\n(notebook 02)",
             "Model": "IPC by all events\n(Eq. 9)",
             "Importance": "of each event\n(section below)",
             "Refinement": "drop the least\nimportant",
             "Interactions": "of pairs of the\nfirst events\n(notebook 04)"}
    until = "until few events are left; the most accurate model goes on"
    figure, _ = plot.flow(steps, returns=[("Refinement", "Model", until)], columns=6)
    display(results.figure(figure, "flow", "**CounterMiner, Fig. 4; GBRT paper (Lv, Sun, Yu, 2018),"
                           " Fig. 4.** The method, each box with the notebook or the equation that "
                           "has it. *See:* the arrow back is the loop of the next cells; the GBRT "
                           "paper's figure has this loop only."))

# %%
first = matrices[programs[0]]
e, IPC = sorted(first.X), first.ipc  # e_1 … e_n
order = np.random.default_rng(seed).permutation(len(IPC))
n_test = round(test_share * len(IPC))
test, train = np.sort(order[:n_test]), np.sort(order[n_test:])
beside = IPC if aim == study.IPC else IPC * 0 + IPC.mean()  # Eq. 14; a rate may be 0: its mean
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
best, n = path.loc[path["error"].idxmin()], min(4, len(path) // 2)
print(f"{programs[0]}: the error is least with {best['n_events']} events, {best['error']:.2f} %; "
      f"the mean of the training rows errs by {off:.2f} %. First, best and last of {len(path)}:")
path.loc[sorted({*path.index[:n], best.name, *path.index[-n:]})].round(2).set_index("n_events")

# %% [markdown]
# As long as the events dropped are ones that no tree splits on, the model and its error stay the same. The first event is that of one model of these rows; that of resampled models (below) may be another. The library's `cmlib.rank.refine` does this for every program (checked below), and takes two more errors. A random row's neighbours are in the training set, and tell much of it; so rows are also cut into twelve stretches (blocks) of progress or time, in four folds, and each fold is predicted by a refinement that saw none of it (*unseen blocks*). The lowest of these picks the number of events, which may be another one than the loop above picks by its random fifth. As the lowest of many it is too good again, so a third error is taken by nested folds (*nested blocks*): the number is picked without the fold that it is then judged on.

# %%
refine = partial(study.refine, step=step, test_share=test_share, seed=seed)
refined = dict(zip(programs, parallel_map(refine, matrices.values(), workers=workers), strict=True))
np.testing.assert_allclose(refined[programs[0]].history["error"], path["error"])
print(f"cmlib.rank.refine and the loop above agree on the {len(path)} errors of {programs[0]}")

# %%
def errors_of(one):
    """Errors [%] of the model that was kept, and the numbers of events that were chosen."""
    chosen, everything, fewest = one.errors, one.history.iloc[0], one.history.iloc[-1]
    return {"kept": int(chosen["n_events"]), "blocks": chosen["blocks_error"],
            "nested blocks": one.nested_error, "their mean": chosen["blocks_mean_baseline"],
            "fewest": one.nested["n_events"].min(), "most": one.nested["n_events"].max(),
            "all": int(everything["n_events"]), "blocks, all": everything["blocks_error"],
            "few": int(fewest["n_events"]), "blocks, few": fewest["blocks_error"]}


errors = pd.DataFrame({name: errors_of(one) for name, one in refined.items()}).T
counts = dict.fromkeys(["kept", "fewest", "most", "all", "few"], "Int64")
errors = errors.rename_axis("program").astype(counts)
mean = errors.mean()
span = {column: " to ".join(map(str, sorted({errors[column].min(), errors[column].max()})))
        for column in counts}

# %%
printed = dict.fromkeys(study.of_suites(asked, ["HiBench"]), counterminer["model_error_percent"])
figure, _ = plot.refinement(
    {name: r.history for name, r in refined.items()}, paper=printed,
    lines={"blocks_error": "unseen blocks", "error": "random fifth (as the paper)",
           "holdout_error": "another pass"},
    baselines={"blocks_mean_baseline": "the mean, unseen blocks"}, marked=dict(errors["kept"]))
results.figure(figure, "fig08",
               f"**{study.paper_figures(programs, {'HiBench': '8'})}.** Error of the model of "
               f"{aim.name} against the number of events left (to the right: {step} dropped each)."
               + (" Crosses: the paper's mean of all eight programs of HiBench (its suite of Spark "
                  "programs), the same in their panels, on other data, rows that are single "
                  "intervals and a random fifth." if printed else "")
               + " Dash-dotted: the number with the lowest error on unseen blocks. *See:* on "
               f"unseen blocks all events err by {mean['blocks, all']:.1f} %, the model kept by "
               f"{mean['blocks']:.1f} % (too good, as these errors picked it), means of "
               f"{len(refined)} program{'s' * (len(refined) > 1)}.")

# %% [markdown]
# Where a curve is flat, its lowest point is a matter of luck: the column *kept* of the table shows in brackets which numbers of events are picked when a quarter of the program is left out, each time another one.

# %%
kept = [f"{row.kept} ({row.fewest} to {row.most})" for row in errors.itertuples()]
columns = ["all", "blocks, all", "kept", "blocks", "nested blocks", "blocks, few", "their mean"]
loses = errors["nested blocks"] > errors["blocks, all"]
results.table(errors.assign(kept=kept)[columns], "errors",
              "**Table.** Error [%] on unseen blocks. *all*: the number of all events, *blocks, "
              "all*: the error with them; *kept*: the number kept (in brackets: without a quarter "
              "of the program), *blocks*: the error with it (too good, as it picked the number), "
              "*nested blocks*: where each fold is predicted by a number picked without it; "
              f"*blocks, few*: with the last {span['few']} events; *their mean*: of predicting the "
              f"mean. *See:* dropping events takes the error from {mean['blocks, all']:.2f} to "
              f"{mean['nested blocks']:.2f} %, means of programs; in {loses.sum()} of {len(loses)} "
              "programs it rises.")

# %%
history = pd.concat({name: r.history for name, r in refined.items()}, names=["program"])
history = history.reset_index("program").dropna(axis=1, how="all")
results.table(history, "refinement",
              "**Table.** CounterMiner, Fig. 8 in numbers [%]: *error* on the random fifth, "
              "*blocks_error* on unseen blocks, *…_baseline* the mean's on these rows.", rows=2)

# %% [markdown]
# ## Importance
#
# An event's importance is the squared error that the splits on it take away, added up over all trees (Friedman 2001, Eq. 44 and 45), in percent of all events'. With the trees $T_m$, their splits $s$ and the improvement $\hat\imath^2_s$ of each,
#
# $$\hat I_j^2 = \frac{1}{M} \sum_{m=1}^{M} \hat I_j^2(T_m), \qquad \hat I_j^2(T) = \sum_{s \in T,\ v_s = e_j} \hat\imath^2_s.$$
#
# $M$ is the number of trees, $v_s$ the event that split $s$ asks for, $\hat I_j^2$ the importance of event $e_j$. `cmlib.rank.importance.influence` adds this up; scaled to 100 % it is what LightGBM calls *gain*, and the loop above ranked by it.
#
# The models below are of the events kept, trained on resampled blocks of rows (drawn with replacement) with different seeds. Whether a place is decided is told by how many of them have the event among their first three; the lines tell only how far its importance varies.

# %%
seeds = range(n_seeds)
draws = {name: stability.draw_importances(data.X[refined[name].events], data.ipc, seeds=seeds)
         for name, data in matrices.items()}
spread = {name: stability.importance_spread(drawn) for name, drawn in draws.items()}
sure = {name: (drawn.rank(axis=1, ascending=False, method="min") <= 3).mean()
        for name, drawn in draws.items()}  # in which share of models an event is among the first 3
spread = {name: s.assign(sure=sure[name], abbr=events.abbreviate(s.index, table))
          for name, s in spread.items()}
leading = {name: s.head(top) for name, s in spread.items()}
numbered = {"HiBench": "9", "CloudSuite 3.0": "10"}

# %%
DECIDED = f"decided: among the first three in 95 % of {n_seeds} models"
shown = {name: s.reset_index().assign(program=name) for name, s in leading.items()}
for frame in shown.values():
    frame["place"] = np.where(frame["sure"] >= 0.95, DECIDED, plot.UNDECIDED)
    frame["label"] = frame["event"] + (n_seeds * frame["sure"]).map(f"  {{:.0f}}/{n_seeds}".format)
figure, axes = plot.ranking(shown, value="mean", low="low", high="high", label="label",
                            columns=1, hue="place", xlabel="importance [%]")
figure.legends[0].set_title("behind the name: models that have it among the first three")
for ax in axes:
    ax.set_xlim(0, 1.05 * max(s["high"].max() for s in leading.values()))
decided = sum((one["place"] == DECIDED).sum() for one in shown.values())
n_places = sum(len(one.head(3)) for one in shown.values())

# %%
surest = max((one.loc[one["sure"].idxmax()] for one in shown.values()), key=lambda row: row["sure"])
printed = counterminer["importance"].get("wordcount", {}) if "wordcount" in asked else {}
display(results.figure(
    figure, "fig09",
    f"**{study.paper_figures(programs, numbered)}.** The {top} most important events for "
    f"{aim.name} of those kept, all on one scale. Behind the name: how many of {n_seeds} resampled "
    "models have it among their first three. Bars: mean importance, lines: from the 5th to "
    "the 95th percentile of the models."
    + (f" The paper's first of wordcount, on another processor: {', '.join(printed['top'])} (full "
       "instruction queue, branches, data reads from beyond the cores), above "
       f"{printed['top_above_percent']:g} %, the rest below {printed['rest_below_percent']:g} %."
       if printed else "")
    + f" *See:* of {n_places} places (three a program), {decided} are decided"
    + (" (coloured)" if decided else "") + f"; surest is `{surest['event']}` in "
    f"{surest['program']} ({n_seeds * surest['sure']:.0f} of {n_seeds} models)."))

# %%
shown = pd.concat(leading, names=["program", "event"]).reset_index()
shown["description"] = table["description"].reindex(shown["event"]).to_numpy()
shown["ranks"] = shown["rank_low"].astype(str) + " to " + shown["rank_high"].astype(str)
shown = shown[["program", "event", "abbr", "description", "mean", "low", "high", "ranks"]]
place = shown.groupby("program").cumcount()
shown = pd.concat([shown[place < 3], shown[place >= 3]])
results.table(shown, "importances",
              "**CounterMiner, Table III.** The first three events of each program: short name (as "
              "in the paper), what they count, mean importance [%], range of importance (*low* to "
              f"*high*) and of ranks (1: most important) in 90 % of {n_seeds} models.",
              rows=int((place < 3).sum()))

# %% [markdown]
# ## The formula that the paper prints
#
# CounterMiner's text describes Friedman's importance; its Eq. 10 and 11 are another quantity:
#
# $$I_j^2(T) = nt \cdot \sum_{k=1}^{nt} P^2(k), \qquad P(k) = \frac{IPC_k - IPC_{k-1}}{IPC_{k-1}} \tag{10}$$
#
# $$I_j^2 = \frac{1}{R} \sum_{m=1}^{R} I_j^2(T_m) \tag{11}$$
#
# (its sum runs over $i$, which can only mean $k$): the number $nt$ of splits on the event in a tree, times the sum of the squared relative changes of predicted IPC that they make (from $IPC_{k-1}$ before split $k$ to $IPC_k$), averaged over the $R$ trees in which the event is used at all, so that an event used once counts as much as one used everywhere. All other notebooks use Friedman's. Both are taken here of the same resampled models.

# %%
same = 0  # events among the first three by both
for name, data in matrices.items():
    by_print = stability.draw_importances(data.X[refined[name].events], data.ipc, seeds=seeds,
                                          importance="printed").mean()
    same += len(spread[name].index[:3].intersection(by_print.nlargest(3).index))
print(f"Of the first three events of each program by Friedman's importance, {same} of "
      f"{sum(min(3, len(s)) for s in spread.values())} are so by Eq. 10 and 11 as printed, too.")

# %% [markdown]
# ## Do one to three events matter significantly more?
#
# CounterMiner calls it a law (§V-B); the GBRT paper, on eight of the same programs, finds one or two events. Some event always comes first. If one, two or three mattered significantly more than all others, models of resampled rows would agree which: here is the share of the models whose first $n$ events are the same as those of the mean, for $n$ of 1, 2 and 3. Only where 95 % of the models agree for some $n$ can the law hold.

# %%
agree = {name: {n: 100 * np.mean([set(draw.nlargest(n).index) == set(spread[name].index[:n])
                                  for _, draw in drawn.iterrows()])
                for n in (1, 2, 3) if n < drawn.shape[1]} for name, drawn in draws.items()}
agree = pd.DataFrame(agree).T.rename_axis("program")
holds = (agree >= 95).any(axis=1)
results.table(agree.add_prefix("same first ").add_suffix(" [%]").reset_index(), "smi",
              f"**Table.** In which share of {n_seeds} resampled models the first event, the first "
              "two and the first three are those of the mean. *See:* one to three events lead in "
              f"95 % of the models of {holds.sum()} of {len(holds)} programs.", decimals=0)

# %% [markdown]
# ## The answer
#
# Beside the paper's values stand means of the paper's own programs only, those of HiBench, and by its own error, on a random fifth.

# %%
of_paper = study.of_suites(asked, ["HiBench"])
if of_paper:
    all_events = np.mean([refined[name].history["error"].iloc[0] for name in of_paper])
    lowest = pd.DataFrame([refined[name].as_printed for name in of_paper]).mean()
    of, note = ", ".join(of_paper), "aligned rows; the paper: HiBench's eight"
    results.number(f"model error on a random fifth, all events ({of})", all_events, "%",
                   paper=14.0, note=note)
    results.number(f"model error on a random fifth, lowest ({of})", lowest["error"], "%",
                   paper=6.3, note=note)
    results.number(f"events left where that error is lowest ({of})", lowest["n_events"], "events",
                   paper=150, note=note)
of = f"mean of {', '.join(programs)}"
results.number("model error on held-out blocks, nested", mean["nested blocks"], "%", note=of)
results.number("error of the mean on these blocks", mean["their mean"], "%", note=of)
results.number("events among the first three in 95 % of resampled models", decided, "events",
               note=f"of {n_places} places, three a program")
results.number("programs where one to three events stand out", holds.sum(), "programs",
               note=f"of {len(holds)}; the paper says so of all of its own")
of_its_mean, told = " of its mean" * (aim != study.IPC), mean["blocks, all"] / mean["their mean"]
named = ", ".join(f"`{s.index[0]}` ({name})" for name, s in spread.items())

# %%
display(results.finding(
    f"Which few events tell {aim.name} best is {'hardly' if decided else 'not'} sure: "
    f"{decided} of {n_places} leading events (three of each program) stay among the first three "
    f"in {np.ceil(0.95 * n_seeds):.0f} of {n_seeds} models of resampled stretches; "
    f"first on average: {named}. All events together {'do' if told < 0.9 else 'hardly'} tell it: "
    f"the model errs by {mean['blocks, all']:.2f} %{of_its_mean} on stretches that it never saw, "
    f"the mean by {mean['their mean']:.2f} %. Dropping events, CounterMiner's refinement, takes "
    f"that error to {mean['nested blocks']:.2f} %, and in {loses.sum()} of {len(loses)} programs "
    "raises it; its law, that one to three events matter significantly more, holds for "
    f"{holds.sum()} of {len(holds)}."))
results.numbers()

# %%
def leaders(name, n=3):
    """The first events of a program: what they count, their importance and their direction."""
    mean, data = spread[name]["mean"].head(n), matrices[name]
    slopes = data.X[mean.index].corrwith(data.ipc, method="spearman")
    for event, importance in mean.items():
        what = str(table["description"].get(event, "")).rstrip(".").split(":")[0].split(";")[0]
        way = f"more of it where {aim.name} is {'high' if slopes[event] > 0 else 'low'}"
        way = way if abs(slopes[event]) >= 0.2 else "no trend"
        what = ", ".join(filter(None, [events.simulated_kind(event), what]))
        name = f"`{event}`{f', {what}' if what else ''}"
        yield f"{name} ({importance:.0f} % of the importance, {way})"

# %%
for name in programs:  # for the report's first page, unless clusters take their place
    bars = spread[name].head(5).rename_axis("name").rename(columns={"mean": "value"}).reset_index()
    ranks = [f"rank {row.rank_low} to {row.rank_high}" for row in bars.itertuples()]
    kinds = map(events.simulated_kind, bars["name"])
    bars["note"] = [", ".join(filter(None, both)) for both in zip(kinds, ranks, strict=True)]
    results.overview_bars(name, bars[["name", "value", "low", "high", "note"]],
                          f"**What {aim.name} follows.** Events: importance [%] with the interval "
                          "of 90 % of resampled models")
    often = ", ".join(f"{100 * sure[name][event]:.0f} %" for event in spread[name].index[:3])
    error = errors.loc[name, ["nested blocks", "blocks"]].dropna().iloc[0]
    errs = (f"errs by {error:.1f} %{of_its_mean} on held-out stretches, the mean by "
            f"{errors.at[name, 'their mean']:.1f} %")
    results.finding(
        f"{aim.name} follows {'; '.join(leaders(name))}. How sure: these are among the first three "
        f"in {often} of {n_seeds} models of resampled stretches. A model of {aim.name}, its events "
        f"chosen without these stretches, {errs}.", program=name)
    if aim != study.IPC:  # of IPC notebook studies/clusters says it
        results.overview(name, sure=f"a model of `{aim.name}` {errs}")

# %% [markdown]
# ## Explore
#
# A program's ranking beside another's, at any number of events left, with more or fewer seeds behind the lines. Nothing is fitted anew: these are the models above.

# %%
panel = explore.ranking(refined, draws, top=top)
shared = len(set.intersection(*[set(s.index) for s in list(leading.values())[:2]]))
caption = ("**Figure.** The first setting of the panel that JupyterLab shows here: the ranking of "
           + " beside that of ".join(programs[:2]) + ", importance [%]. Colour: in both lists or "
           f"one. *See:* {shared} events are " + ("in both." if len(programs) > 1 else "shown."))
panel if notebook.interactive else results.figure(panel.figure(), "explore", caption)

# %% [markdown]
# ## What this doesn't show
#
# Importance in a model is no cause. Per cycle, kinds of instructions (branches, fused pairs) follow IPC because they are instructions, and stalls because they are what IPC lacks; the papers' rankings, of counts per interval, need not be free of it.
# All events together were counted in one pass of runs only, so their model has no other pass to be tested on: the error on unseen blocks stands in, and notebook [another_pass](studies/another_pass.ipynb) tests a dozen events on another pass, and how far cleaning moves the events' correlation with IPC. That errors are lower than the paper's says nothing of the method: the programs' data, the rows (means of all runs instead of intervals of one) and the random split differ.
#
# ## On your own program
#
# `cmlib record NAME -- COMMAND` (or `cmlib import NAME FILE`), then `cmlib run live 03_ranking -p program=NAME` (*live*: of your own recordings). Change `method` first: with `counterminer` the runs are cleaned the paper's way; `target=EVENT` explains an event instead of IPC.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §III-C and §V-B. Lv, Sun, Yu, *Mining CPU performance data based on gradient boosting regression tree*, 2018 (in Chinese), §3 and §4. Friedman, *Greedy function approximation*, Annals of Statistics 2001.

# %%
results.save()
