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
# # Co-location: what changes when a program has a neighbor
#
# **Question.** How do the counts of a program change when another program runs on the same socket? And can a recording made beside such a neighbor tell how fast the program would be alone?
#
# CounterMiner (Lv et al., MICRO 2018, §V-E, Fig. 16) ranks the events of two programs that share a cluster. The paper counts both programs together, so it cannot rank the events of each. In the recordings used here every program is counted by itself, alone and beside a neighbor.
#
# The notebook compares IPC and the ranking of events with and without a neighbor. It splits each slowdown into *more* misses and *slower* misses, and then tests three ways to predict the speed on a quiet machine.

# %% [markdown] tags=["answer"]
# > **Answer** (five programs, each beside the solver SP, and mixes of four programs; recorded by others on machines with two Xeons each; default parameters). A neighbor (SP) slows canneal by **80 %**, mainly because more accesses of canneal miss the last-level cache; how fast a program would be alone cannot be told reliably from one recording beside a neighbor. canneal is slowed most of the five programs. streamcluster comes next, mostly because each miss takes longer. The neighbor also changes the ranking of events: in **7** of 10 recordings beside a neighbor, the ranking differs more from that of the program alone than the rankings of two halves of one recording differ from each other. Three ways to predict the cycles per instruction of the program alone were tested. None is better than simple guesses everywhere. In the ten recordings beside SP or of SP, the best way, *usual cost*, has a median error of **8.6 %**; the guess that the neighbor changes nothing has **10.0 %**. Five of these ten recordings are of SP itself, and its neighbors slow it by at most 14 %. In the other five, *model* has **8.5 %**, usual cost **10.1 %**, and no change **24.6 %**. In the mixes, all three ways have larger median errors than no change (**16.5 %**). The smallest error in the mixes is that of another guess, the mean slowdown of the ten recordings (**13.3 %**).

# %% tags=["parameters"]
program: str = "all"  # programs recorded beside SP, separated by commas
settings: dict = {}  # profile, results_folder

# %%
import numpy as np
import pandas as pd
from scipy import stats

from cmlib import plot
from cmlib.experiments import colocated
from cmlib.experiments.requested import resolve_names, split_names
from cmlib.report.notebook import begin

notebook = begin("09_colocation", settings, program=program)
results = notebook.results

# %% [markdown]
# ## Data
#
# Others published these recordings (dcslab-snu, 2018 and 2019). This page calls the collection *the set*; its name in cmlib is `colocated`. Each machine has two Xeon E5-2683 v4 with 40 MiB of last-level cache per socket. Hyper-Threading is off, and every program was started with 8 threads. Each core counts seven events on eight counters, so nothing should be multiplexed.
#
# | setting | recordings | what ran | compared with |
# |---|---|---|---|
# | alone | 27 | one program on one socket | |
# | pair | 10 | one of five programs and NPB's SP on one socket | the same programs alone |
# | mix | 64 | four programs, two per socket; another setup | other mixes only |
#
# There are 16 combinations of four programs, with one recording for each program of a mix. Its name lists the two sockets: in `CG+SP-nn+canneal`, CG and SP share one socket, and nn and canneal the other. A *neighbor* is the other program on the same socket.
#
# | program | what it is |
# |---|---|
# | SP, CG, MG | NAS Parallel Benchmarks (NPB): a penta-diagonal solver, conjugate gradients, multigrid |
# | MG.D | MG with a larger input |
# | nn, bfs, kmeans | Rodinia: nearest neighbors, breadth-first search, clustering |
# | sc | streamcluster (PARSEC), in names of mixes |
# | bodytrack, canneal, fluidanimate, freqmine, swaptions | PARSEC |
#
# | count | meaning |
# |---|---|
# | `l2miss` | misses of the L2 cache, which each core has for itself |
# | `l3miss` | misses of the last-level cache, which the programs on a socket share |
# | `intra_coh` | coherence events between cores of one socket |
# | `inter_coh` | coherence events between the two sockets |
# | `local_mem` | bytes to and from the memory of the same socket |
# | `remote_mem` | bytes to and from the memory of the other socket |
# | `llc_size` | bytes of the last-level cache that the program holds (a level, not a count) |
#
# The recordings also hold cycles, instructions and stall cycles.
#
# The set states no licence, so cmlib ships only tables computed from it (`data/colocated`, made by `tools/make_colocated_tables.py`). `cmlib fetch colocated` downloads the recordings.

# %%
totals = colocated.read_table("totals")
pairs = totals[totals["setting"] == "pair"]
beside_SP = sorted(set(pairs["program"]) - {"SP"})
if program != "all" and not set(split_names(program)) & set(beside_SP):
    notebook.stop("Co-location needs programs that were recorded alone and beside a neighbor. This "
                  f"notebook has such recordings of {', '.join(beside_SP)} only.")
partners = resolve_names(program, beside_SP, about="the programs recorded beside SP",
                         todo="This notebook is about recordings that others published.")
shown_pairs = [f"{name}+SP" for name in partners]
sizes = totals.groupby("setting").agg(recordings=("recording", "size"),
                                      programs=("program", "nunique"),
                                      intervals=("intervals", "sum"))
sizes.astype(int)

# %% [markdown]
# Two counts are impossible, just below $2^{64}$. Their intervals are left out.

# %%
results.table(
    colocated.read_table("impossible"),
    "impossible",
    "Impossible counts in the recordings.",
    decimals=0,
)

# %% [markdown]
# A program that ends later than its neighbor runs without it at the end. So every comparison is made over the *same work*, counted in instructions:
#
# * **Pairs.** Both runs of a pair are cut where the shorter one ends. The run of a program alone is then cut to as many instructions as its run in the pair has.
# * **Mixes.** No mix has a run alone with the same setup. But in some mixes the neighbor ends early, and the program runs on alone on its socket. Take the last third of a program's instructions, for example. In one mix the program executes this third alone, because its neighbor has ended (*quiet*). In another mix, with another neighbor, it executes the same third beside the neighbor (*shared*). So the quiet and the shared run come from two mixes. The part that both mixes have in common must be at least 20 % of the program's instructions. This leaves 13 of the 64 recordings.
#
# Below, *shared* is the run beside the neighbor and *quiet* the run without it.


# %%
def compare_rates(counts):
    """Rates of each recording, quiet and shared side by side."""
    rates = pd.DataFrame({
        "CPI": counts["cycles"] / counts["instructions"],
        "misses": counts["l3miss"] / counts["instructions"],  # of the last-level cache
        "cost": counts["stall_cycles"] / counts["l3miss"],  # stall cycles per miss
        "cache": counts["llc_size"] / 2**20,  # MiB of the last-level cache
        "cores": counts["cores"],
    })
    names = ["setting", "recording", "program", "neighbor", "machine"]
    return rates.set_index(pd.MultiIndex.from_frame(counts[names])).unstack("machine")


rates = compare_rates(colocated.read_table("shared")).dropna()
beside_sp = rates.loc["pair"].loc[shown_pairs]
in_mixes = rates.loc["mix"]

# %%
ipc = (1 / beside_sp["CPI"]).rename(columns={"quiet": "alone", "shared": "beside its neighbor"})
drawn = ipc.stack().rename("IPC").reset_index()
drawn["program"] = drawn["program"] + " (beside " + drawn["neighbor"] + ")"
figure, _ = plot.dots_by_program(
    drawn, value="IPC", hue="machine", xlabel="IPC [instructions per cycle]"
)
results.figure(figure, "ipc", "IPC of each program alone and beside its neighbor, over the same "
               "work. The slowdown in "
               "the next figure is the ratio of the two values, minus 1.")

# %% [markdown]
# ## More misses, or slower ones?
#
# A neighbor takes cache, so more accesses miss. It also uses the memory, so each miss takes longer. With $m$ misses of the last-level cache per instruction and $s$ stall cycles per miss, cycles per instruction are
#
# $$CPI = m \cdot s + b,$$
#
# where $b$ are the cycles per instruction without a stall (*busy cycles*: the core executes something). The change of the product $m \cdot s$ is split evenly between its factors (Shapley values). The part of the misses is their change, multiplied by the mean of the old and the new cost per miss. The part of the cost is its change, multiplied by the mean of the old and the new number of misses. The change of $b$ is the *rest*.
#
# $$\Delta CPI = \underbrace{\Delta m \cdot \bar s}_{\text{more misses}} + \underbrace{\Delta s \cdot \bar m}_{\text{slower misses}} + \underbrace{\Delta b}_{\text{rest}}$$
#
# A program with fewer than one miss per 1,000 instructions is not split: its core stalls for other reasons, so stall cycles per miss say nothing about misses. This holds for freqmine and nn.
#
# One of the tables below has a column *cores*: the cycles of all cores, divided by the cycles that one core at 2.1 GHz has in this time. Eight cores at 2.1 GHz would give 8, but the table shows up to 9.8. This corresponds to eight cores at 2.6 GHz. So turbo seems to have been on, although the set is described as recorded without it.
#
# By hand, for canneal beside SP: misses rise from 16.3 to 24.6 per 1,000 instructions, and stall cycles per miss from 205 to 265. More misses cost $0.0083 \cdot 235 \approx 1.95$ cycles per instruction, slower misses $60 \cdot 0.02045 \approx 1.23$. The CPI alone is 4.03, so these are 48 % and 31 % of it. (The table computes with unrounded values.)


# %%
FEWEST_MISSES = 1e-3  # per instruction; with fewer, stall cycles have other causes than misses


def split_slowdown(rates):
    """Split each slowdown into its parts [% of the quiet CPI]."""
    quiet, shared = (rates.xs(name, axis=1, level="machine") for name in ("quiet", "shared"))
    change, mean = shared - quiet, (shared + quiet) / 2
    can_be_split = quiet["misses"] >= FEWEST_MISSES
    parts = pd.DataFrame({
        "more misses": (change["misses"] * mean["cost"]).where(can_be_split, 0),
        "slower misses": (change["cost"] * mean["misses"]).where(can_be_split, 0),
    })
    rest = change["CPI"] - parts.sum(axis=1)
    parts["rest"] = rest.where(can_be_split, 0)
    parts["not split"] = rest.where(~can_be_split, 0)
    return 100 * parts.div(quiet["CPI"], axis=0)


def name_cases(parts):
    """Use one text per row instead of the index."""
    cases = parts.index.to_frame(index=False)
    text = cases["program"] + " beside " + cases["neighbor"]
    repeated = text.duplicated(keep=False)
    text = text.where(~repeated, text + " (" + cases["recording"] + ")")
    return parts.set_axis(text, axis=0)


pair_parts, mix_parts = split_slowdown(beside_sp), split_slowdown(in_mixes)
slowdown, mix_slowdown = pair_parts.sum(axis=1), mix_parts.sum(axis=1)
order = slowdown.sort_values(ascending=False).index
mix_order = mix_slowdown.sort_values(ascending=False).index
frames = {
    "pairs: against the program alone": name_cases(pair_parts.loc[order]),
    "mixes: against the time after the neighbor's end": name_cases(mix_parts.loc[mix_order]),
}
figure, _ = plot.parts_across(
    frames,
    xlabel="change of cycles per instruction [% of the quiet run]",
    totals={title: frame.sum(axis=1) for title, frame in frames.items()},
)
results.figure(figure, "split", "The slowdown of every program that can be compared, split into "
               "more and slower misses. *Rest*: the change that misses do not explain. *Not "
               "split*: programs with hardly any misses. The black mark is the sum. In the mixes, "
               "also look at the column *cores* of the table below.")


# %%
def list_parts(rates, parts):
    """The rates behind the figure, and the parts."""
    table = parts[["more misses", "slower misses"]].add_suffix(" [%]")
    table.insert(0, "slowdown [%]", parts.sum(axis=1))
    is_split = parts["not split"] == 0
    for name, scale in (("misses", 1000), ("cost", 1), ("cache", 1), ("cores", 1)):
        of_rate = (scale * rates[name]).round(1).astype(str)
        if name == "cost":
            of_rate = of_rate.where(is_split, "–")
        table[name] = of_rate["quiet"] + "\u00a0→\u00a0" + of_rate["shared"]
    return table


columns = ("The last columns show quiet → shared. *Misses*: of the last-level cache per 1,000 "
           "instructions. *Cost*: stall cycles per miss; – if the slowdown is not split (its parts "
           "are then shown as 0.0).")
table = list_parts(beside_sp, pair_parts).loc[order].drop(columns="cores")
table = table.reset_index("recording", drop=True)
results.table(table, "split-pairs", f"Pairs: slowdown and its parts. {columns} *Cache*: MiB of "
              "the last-level cache that the program holds.", decimals=1)

# %%
table = list_parts(in_mixes, mix_parts).loc[mix_order].drop(columns="cache")
table = table.swaplevel("recording", "program").reset_index("neighbor", drop=True)
results.table(table, "split-mixes", f"Mixes: slowdown and its parts. {columns} *Cores*: cycles of "
              "all cores per cycle of a 2.1 GHz clock.", decimals=1)

# %% [markdown]
# In the pairs, both parts are positive wherever the slowdown can be split: misses become more frequent and slower. In the mixes, canneal has more misses, but each costs no more than before.
#
# Where *cores* falls in a mix, two things changed at once. The program had a neighbor, and it also ran on fewer cores or at a lower clock. A miss then takes fewer cycles, and the program's own threads compete less. So a program can even become faster (SP beside CG).
#
# ## Importance alone and together
#
# This is the question of CounterMiner's Fig. 16. For each program, boosted trees explain IPC by the seven rows of the table of counts under *Data*: six counts per cycle, and the cache that the program holds (`llc_size`). Stall cycles are left out. Per cycle, they are nearly the target itself: IPC is high where few cycles stall.
#
# A *block* is a stretch of consecutive intervals of a recording. Each model is refitted 20 times on resampled blocks. A model is useful if it predicts unseen blocks better than two baselines: the mean, and a straight line through the best single event.

# %%
importances = colocated.read_table("importances")
importances["machine"] = importances["machine"].map(
    {"quiet": "alone", "shared": "beside its neighbor"}
)
largest = slowdown.drop("SP", level="program").nlargest(4).index.get_level_values("program")
frames = {}
for name in largest:
    rows = importances[(importances["program"] == name) & (importances["neighbor"] == "SP")]
    frames[f"{name} beside SP"] = rows
figure, _ = plot.ranges_by_case(
    frames,
    value="mean",
    low="low",
    high="high",
    label="event",
    hue="machine",
    xlabel="importance [%]",
)
results.figure(figure, "fig16", "**CounterMiner, Fig. 16.** The paper's kind of figure, with other "
               "programs and events, and each program counted by itself. Importance of the events "
               "alone and beside SP, for the four programs that SP slows most: mean of 20 refitted "
               "models and the range of 90 % of them. SP itself is left out. Events are in the "
               "order of their importance alone. Look for ranges that do not overlap.")

# %%
models = colocated.read_table("models").set_index(["recording", "program", "machine"])
models = models.loc[shown_pairs]
errors = models[["all events", "one event", "mean"]].unstack("machine")
table = pd.DataFrame(
    {
        f"{name}, {label}": errors[name, machine]
        for name in ("all events", "one event", "mean")
        for label, machine in (("alone", "quiet"), ("together", "shared"))
    }
)
results.table(table, "errors", "Error of IPC on unseen blocks [%]: the model by all events, a line "
              "through the best single event, and the mean.")

# %% [markdown]
# Beside the neighbor, a ranking may change. To compare two models, we take for each event the smaller of its two importances, and add these up over all events. The sum is 100 % if each event has the same importance in both models:
#
# $$\sum_e \min(I_e^{\text{one}}, I_e^{\text{other}}).$$
#
# Two models of one recording also differ. The table therefore shows the same measure for two halves of one recording. The recording is cut into 20 blocks, and each half has every second block. This is done for the recording alone and for the one beside the neighbor; the table has the mean of both values.

# %%
agreement = models.xs("shared", level="machine")[["shared importance", "shared by halves"]]
agreement.columns = ["alone and together", "two halves of one recording"]
keys = ["recording", "program", "machine"]
first = importances.sort_values("mean", ascending=False).groupby(keys)["event"].first()
l2 = importances[importances["event"] == "l2miss"].set_index(keys)["mean"]
for machine in ("alone", "beside its neighbor"):
    agreement[f"first, {machine}"] = first.xs(machine, level="machine").reindex(agreement.index)
    agreement[f"L2 misses, {machine}"] = l2.xs(machine, level="machine").reindex(agreement.index)
results.table(agreement, "agreement", "Importance on the same events [%], the most important "
              "event, and the importance of L2 misses [%].", decimals=1)

# %% [markdown]
# On average, the rankings alone and together give 63 % of the importance to the same events, and those of two halves 73 %. The rankings of SP change more with each neighbor than between its halves, except with kmeans. The halves of streamcluster agree so little that its rankings show nothing. If two halves of a recording agree even less than the recordings alone and beside the neighbor, the models show no effect of the neighbor. The importance of L2 misses, which rises in the paper, rises in 5 of 10 recordings.
#
# ## Which neighbors hurt, and which are hurt?
#
# Each row below is a program and its neighbor on the same socket. The CPI is that of whole recordings. The columns have the lowest and the highest value among all mixes with these two programs. Programs differ in CPI by themselves, so compare rows of the same program, or how much CPI varies in percent.

# %%
mixes = totals[totals["setting"] == "mix"].copy()
mixes["CPI"] = mixes["cycles"] / mixes["instructions"]
mixes["L2 misses"] = 1000 * mixes["l2miss"] / mixes["instructions"]
mixes["cache"] = mixes["llc_size"] / 2**20
who = mixes.groupby(["program", "neighbor"]).agg(
    mixes=("CPI", "size"),
    lowest=("CPI", "min"),
    highest=("CPI", "max"),
    cores=("cores", "mean"),
    cache=("cache", "mean"),
    l2=("L2 misses", "mean"),
)
who.columns = ["mixes", "lowest CPI", "highest CPI", "cores", "cache [MiB]", "L2 misses per 1,000"]
results.table(
    who,
    "neighbors",
    "Programs in the mixes by their neighbor on the same socket, whole recordings.",
)

# %% [markdown]
# The CPI of canneal varies most in percent, from 3.85 to 5.34. Once a neighbor takes the cache, most L2 misses of canneal also miss the last level. nn and swaptions seem to slow canneal; bfs and bodytrack do not. But bfs and bodytrack end after about half of canneal's time, so whole recordings understate their effect. bfs, bodytrack and MG keep nearly the same CPI in all their mixes.
#
# ## What would a quiet machine give?
#
# A user often has one recording, made while something else ran. Three candidates predict the quiet CPI from it. They learn from the recordings of programs that ran alone: 26 of the 27, because one (dedup) has only two intervals. The recording of the program that is to be predicted is always left out. The candidates were fixed before they were judged:
#
# * **model**: boosted trees predict CPI from what a neighbor can hardly change: misses of the private L2, coherence within the socket, and busy cycles, per instruction;
# * **usual cost**: among the programs alone, the median number of stall cycles per last-level miss is taken. If a miss costs more than this median in the recording, the CPI is computed again with the median as its cost. The number of misses stays as recorded;
# * **most cache**: the CPI over 10 % of the intervals of the same recording, namely those in which the program held the largest part of the cache.
#
# A candidate never predicts that the program is slower on a quiet machine: the prediction is at most the recorded CPI. The candidates have to beat two predictions that look at no event: *no change*, which takes the recorded CPI for the quiet one, and the *mean slowdown* of the other pairs. Pairs and mixes took no part in learning the candidates. The error is relative to the measured quiet CPI. Each candidate also gives a 90 % interval. It comes from the candidate's errors on the programs alone. For this, each program is predicted by a candidate that learned from the other programs only. The interval of the mean slowdown comes from the spread of the slowdowns of the other pairs. *Coverage* is the share of the recordings in which the measured quiet CPI lies in the interval. It should be 90 %.


# %%
def add_baselines(predictions):
    """Add no change, and the mean slowdown of the pairs without the pair itself."""
    names = ["setting", "recording", "program", "neighbor"]
    measured = predictions.drop_duplicates(names)[[*names, "recorded", "measured"]]
    no_change = measured.assign(candidate="no change", predicted=measured["recorded"])
    rows = []
    for row in measured.to_dict("records"):
        others = measured[
            (measured["setting"] == "pair") & (measured["recording"] != row["recording"])
        ]
        slowdowns = np.log(others["recorded"] / others["measured"])
        half = (
            stats.t.isf(0.05, len(slowdowns) - 1)
            * slowdowns.std()
            * np.sqrt(1 + 1 / len(slowdowns))
        )
        low, middle, high = row["recorded"] / np.exp(slowdowns.mean() + np.array([half, 0, -half]))
        rows.append(
            row | {"candidate": "mean slowdown", "predicted": middle, "low": low, "high": high}
        )
    no_change[["low", "high"]] = np.nan
    return pd.concat([no_change, pd.DataFrame(rows), predictions], ignore_index=True)


def judge(rows):
    """Errors, rank correlation and coverage of one candidate."""
    error = 100 * (rows["predicted"] / rows["measured"] - 1).abs()
    predicted, slowdown = rows["recorded"] / rows["predicted"], rows["recorded"] / rows["measured"]
    is_ranking = not set(rows["candidate"]) & {"no change", "mean slowdown"}
    has_interval = rows["low"].notna().all()
    is_inside = rows["measured"].between(rows["low"], rows["high"])
    return pd.Series({
        "number": len(rows),
        "median error [%]": error.median(),
        "mean error [%]": error.mean(),
        "rank correlation": stats.spearmanr(predicted, slowdown)[0] if is_ranking else np.nan,
        "coverage [%]": 100 * is_inside.mean() if has_interval else np.nan,
        "high / low": (rows["high"] / rows["low"]).median(),
    })


# %%
predictions = add_baselines(colocated.read_table("quiet"))
kept = (predictions["setting"] == "mix") | predictions["recording"].isin(shown_pairs)
predictions = predictions[kept]
of_pairs = predictions["setting"] == "pair"
groups = {"pairs": of_pairs, "pairs, without SP": of_pairs & (predictions["program"] != "SP"),
          "mixes": ~of_pairs}
judged = {}
for title, rows in groups.items():
    for candidate, of_candidate in predictions[rows].groupby("candidate", sort=False):
        judged[title, candidate] = judge(of_candidate)
judged = pd.DataFrame(judged).T.rename_axis(["recordings", "candidate"])
results.table(judged, "quiet", "Predictions of the quiet machine from one recording beside a "
              "neighbor. *high / low*: median width of the 90 % interval, as a ratio of its ends. "
              "The rank correlation is given for the candidates only, and *no change* has no "
              "interval.")

# %%
drawn = predictions[of_pairs].copy()
drawn["slowdown"] = 100 * (drawn["recorded"] / drawn["predicted"] - 1)
truth = drawn[drawn["candidate"] == "no change"].assign(candidate="measured")
truth["slowdown"] = 100 * (truth["recorded"] / truth["measured"] - 1)
drawn = pd.concat([truth, drawn[drawn["candidate"] != "no change"]])
drawn["program"] = drawn["program"] + " (beside " + drawn["neighbor"] + ")"
figure, _ = plot.dots_by_program(drawn, value="slowdown", hue="candidate",
                                 xlabel="slowdown by the neighbor [%]", grey=["mean slowdown"])
results.figure(figure, "quiet-pairs", "Slowdown of the pairs, measured and predicted from the "
               "recording beside the neighbor. No change is at 0. Compare the colored marks with "
               "the measured one: marks to its right predict too large a slowdown.")

# %% [markdown]
# * **Pairs.** *Usual cost* is the best candidate: its median error is 8.6 % (no change: 10.0 %), and its mean error is also the smallest. *Model* ranks the slowdowns best.
# * **Pairs, without SP.** In the five recordings of the other programs, *model* (8.5 %) and *usual cost* (10.1 %) are better than no change (24.6 %) and than the mean slowdown (16.8 %). But five recordings beside the same neighbor are few.
# * **Mixes.** All three candidates have a larger median error than no change (16.5 %); that of *usual cost* is 25.6 %.
# * **Mean error.** A few large slowdowns dominate it. *Model* has 16.0 % in the pairs and 18.1 % in the mixes, less than no change (21.6 % and 20.8 %). The mean slowdown of other pairs looks at no event and has 17.1 % and 16.5 %, which is also less than no change. Of *model* and mean slowdown, neither is better in both settings.
# * **Intervals.** They are too wide to be useful: in the median, the upper end is 1.7 to 4.9 times the lower one. Nevertheless, in the mixes the intervals of the candidates cover only 62 to 69 % of the measured values.
#
# So none of these candidates replaces a second recording on a quiet machine.
#
# ## Result
#
# The paper's pairs are other programs on a cluster, and its models have 229 events. Only the kind of change can be compared.

# %%
def count_rises(before, after):
    """In how many recordings the second value is larger."""
    return int((agreement[after] > agreement[before]).sum())


l2_rises = count_rises("L2 misses, alone", "L2 misses, beside its neighbor")
n_recordings = len(agreement)
pd.DataFrame(
    [("counted", "both programs together", "each program by itself"),
     ("events", "229", str(importances["event"].nunique())),
     ("ranking changes", "in 1 of 2 pairs", "more than between two halves in "
      f"{count_rises('alone and together', 'two halves of one recording')} of {n_recordings}"),
     ("events of L2 become important",
      "in 1 of 2 pairs (of the ten most important: none alone, 6 together)",
      f"importance of L2 misses rises in {l2_rises} of {n_recordings}")],
    columns=["", "CounterMiner, §V-E", "here"]).style.hide(axis="index")

# %%
for name in partners:
    parts = pair_parts.xs((name, "SP"), level=("program", "neighbor")).iloc[0]
    results.number(f"slowdown of {name} beside SP", parts.sum(), "%")
    if parts["not split"] == 0:
        for part in ("more misses", "slower misses"):
            results.number(f"{part}, {name} beside SP", 100 * parts[part] / parts.sum(),
                           "% of the slowdown")
results.number("slowdown of canneal in the mixes, median",
               mix_slowdown.xs("canneal", level="program").median(), "%")
results.number("importance on the same events, alone and together",
               agreement["alone and together"].mean(), "%")
results.number("recordings in which alone and together agree less than two halves",
               count_rises("alone and together", "two halves of one recording"),
               f"of {n_recordings}")
results.number("importance on the same events, two halves of one recording",
               agreement["two halves of one recording"].mean(), "%")
results.number("recordings in which the importance of L2 misses rises", l2_rises,
               f"of {n_recordings}")
for (recordings, candidate), row in judged.iterrows():
    for kind in ("median", "mean"):
        results.number(f"{kind} error of {candidate}, {recordings}", row[f"{kind} error [%]"], "%")
    for name in ("rank correlation", "coverage [%]"):
        if pd.notna(row[name]):
            results.number(f"{name.removesuffix(' [%]')} of {candidate}, {recordings}",
                           row[name], "%" if "%" in name else "")
results.numbers()

# %% [markdown]
# ## Limitations
#
# * Five programs and SP are not many. SP is in all ten recordings of pairs: five are of SP itself, and five are of a program beside it. They are not independent.
# * The 13 recordings of mixes are of three programs only: 8 of canneal, 4 of SP and 1 of nn.
# * Each setting was recorded once. How much results vary from run to run is unknown. The ranges of refitted models do not include this variation.
# * Programs recorded together are assumed to start at the same time. The files have no time column.
# * Seven events cannot show what a ranking of 229 shows. The front end and the branch predictor are not among them.
# * Stall cycles per miss are no latency. Stalls with other causes count too, and misses overlap.
# * In the mixes, many programs lose cores or clock besides having a neighbor. Beside streamcluster, MG uses 1.2 cores and SP 5.3 over the whole recording. About half of SP's time is after streamcluster's end. SP seems to have used 9.8 cores in this second half, as it does when it is alone. Since the mean of both halves is 5.3, it used only about 0.8 cores in the first half. The reason is not recorded.
# * The clock is not recorded. What is said above about turbo follows from the cycles.
# * The small MG of the mixes (MG) and the large one (MG.D) are two programs here.
# * `quiet` of a mix is a time after the neighbor's end. Programs on the other socket may still run.
#
# ## Your own program
#
# To compare a program with and without a neighbor, record it alone and beside the neighbor. Pin both to the same socket, on different cores (`lscpu -e` lists them; here 0-7 and 8-15 are cores of one socket). The neighbor must run until the last recording of `myapp` has ended.
#
# ```sh
# .venv/bin/cmlib record alone -- taskset -c 0-7 ./myapp
# taskset -c 8-15 ./neighbor & .venv/bin/cmlib record beside -- taskset -c 0-7 ./myapp; kill $!
# .venv/bin/cmlib run live 03 -p program=alone,beside
# ```
#
# Notebook 03 gives the ranking of each, to be compared with *Importance alone and together* above. Notebook 00 (`.venv/bin/cmlib run live 00 -p program=beside`) gives a first look at the counts. This notebook reads only the shipped tables: it cannot split the slowdown of your program.
#
# `cmlib record-all --only pairs` records the paper's own pairs on a machine with hardware counters. This notebook has one parameter: with `papermill`, `-p program canneal` limits it to one of the programs above. `live` is the profile for your own programs, in a folder of its own.
#
# ## References
#
# Lv, Sun, Luo, Wang, Yu, Qian: *CounterMiner*, MICRO 2018. The recordings: `dcslab-snu/experiment-data` and `dcslab-snu/atc19`. Shapley: *A value for n-person games*, 1953.

# %%
results.save()
