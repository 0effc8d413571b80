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
# # Outliers: errors of multiplexing, or bursts of the program?
#
# **Question.** Are the samples that CounterMiner's cleaning takes for outliers errors of multiplexing, or bursts of the program?
#
# *Reads* the store, the database of all recorded runs. *Writes* how each event's samples are distributed, which of them the cleaning changes, and the greatest ones beside those of runs without multiplexing.
#
# A program is run with every event on a counter all the time (one counter, one event: OCOE), and with events that take turns on the counters (multiplexing: MLPX), of which perf extrapolates each count. A burst that both show is the program's. *CounterMiner's cleaning* replaces peaks by the median of the time around them (Eq. 6, 7; Eq. 7 is printed otherwise, see below) and fills what was not counted from its neighbours (Eq. 8). How near cleaning brings whole series to OCOE is the question of notebook 02; what becomes of zeros, that of notebook studies/missing_counts.

# %% [markdown] tags=["answer"]
# > **Answer** (bzip2, gcc, kmeans and wordcount as recorded for this project, default parameters). Most samples that the paper's cleaning takes for outliers are bursts of the program. It replaces the greatest sample of **22** series; **82 %** of these samples are at most 1.5 times what the event also reaches when it is counted all the time. Of the greatest samples that it leaves, **100 %** pass the same test. In all, it replaces **27** of **13,209** multiplexed samples.

# %% tags=["parameters"]
program: str = "all"  # programs recorded both ways, separated by commas, or all
settings: dict = {}  # database, profile, results_folder

# %%
import math

import numba
import numpy as np
import pandas as pd
from IPython.display import Markdown
from scipy import optimize, stats

from cmlib import clean, plot
from cmlib import experiments as study
from cmlib.clean.distribution import is_gaussian
from cmlib.errors import UnfitRecordingError
from cmlib.experiments.data import describe_data, knows_ipc
from cmlib.io import store
from cmlib.report import paper
from cmlib.report.notebook import begin

notebook = begin("outliers", settings, program=program)
results, url, counterminer = notebook.results, notebook.database, paper("counterminer")
programs = study.programs(url, program, modes=["ocoe", "mlpx"])
display(Markdown(describe_data(url, programs)))


# %%
def load(program):
    """The runs of a program that know its IPC."""
    listed = store.runs(url, program=program)
    return [store.load(url, one) for one in listed["run_id"][listed["events"].map(knows_ipc)]]


def of_mode(program, mode):
    """Its runs without multiplexing (ocoe), or with (mlpx)."""
    return [run for run in runs[program] if run.meta["mode"] == mode]


runs = {name: load(name) for name in programs}
ocoe, mlpx = (of_mode(programs[0], mode) for mode in ("ocoe", "mlpx"))
print(f"Of {programs[0]} {len(ocoe)} OCOE runs and {len(mlpx)} multiplexed ones; the first of "
      f"these, counts per {mlpx[0].interval_s.median() * 1000:.0f} ms, 5 of "
      f"{mlpx[0].counts.shape[1]} events:")
mlpx[0].counts.iloc[:3, :5].map("{:,.0f}".format)

# %% [markdown]
# ## How the paper cleans
#
# A sample is an outlier above (Eq. 6)
#
# $$threshold = mean + n \times std \tag{6}$$
#
# with *mean* and *std* those of the event's samples in one run, and $n = 3$ for Gaussian events and $5$ for long-tailed ones. It is replaced by the median of its interval, whose length is printed as (Eq. 7; $TS_{ei}$: the samples of event $i$)
#
# $$L = \frac{Max(TS_{ei}) - Min(TS_{ei})}{Roundup(Sqrt(Count(TS_{ei})), 0)}. \tag{7}$$
#
# That is an interval of *values*, in which an outlier would be replaced by its like. Here it is one of time: the series of $m$ samples is cut into $\lceil\sqrt{m}\rceil$ intervals of equal length.

# %%
def clean_outliers(TS, n):
    """Eq. 6 and 7: samples above the threshold become the median of their interval."""
    threshold = TS.mean() + n * TS.std()
    outlier = threshold < TS
    m = len(TS)
    n_intervals = int(np.ceil(np.sqrt(m)))  # the denominator of Eq. 7
    interval = np.arange(m) * n_intervals // m
    cleaned = TS.copy()
    for i in np.flatnonzero(outlier):
        others = TS[(interval == interval[i]) & ~outlier]
        cleaned[i] = np.median(others if len(others) else TS[~outlier])
    return cleaned

# %% [markdown]
# A missing value of the series (Eq. 8)
#
# $$\{X_1, X_2, X_3, X_4, X_5, 0, X_7, \dots, X_i, \dots, X_m\} \tag{8}$$
#
# becomes the mean of its $k = 5$ nearest neighbours in time, $N_k(i)$ being their places:
#
# $$\hat X_i = \frac{1}{k} \sum_{j \in N_k(i)} X_j.$$

# %%
def fill_gaps(X, missing, k=5):
    """Eq. 8: a missing value becomes the mean of its k nearest neighbours that are known."""
    X_hat, known = X.copy(), np.flatnonzero(~missing)
    for i in np.flatnonzero(missing):
        N_k = known[np.argsort(abs(known - i), kind="stable")[:k]]  # earlier first, if as near
        X_hat[i] = X[N_k].mean()
    return X_hat


# %%
series = [run.whole()[0].dropna(axis=1).to_numpy(float).T for run in mlpx]
series = [TS[:500] for of_run in series for TS in of_run]  # plain loops are slow
missing_in = np.random.default_rng(0)
for TS in series:
    for n in (3, 5):
        expected, _ = clean.replace_outliers(TS, n_std=n)
        np.testing.assert_allclose(clean_outliers(TS, n), expected)
    missing = missing_in.random(len(TS)) < 0.1  # a tenth of the samples, at random
    np.testing.assert_allclose(fill_gaps(TS, missing), clean.fill_missing(TS, missing))
print(f"cmlib.clean.replace_outliers (n = 3 and 5) and fill_missing (a tenth hidden) give the same "
      f"on {len(series)} multiplexed series of {programs[0]}")

# %% [markdown]
# ## How events are distributed
#
# The $n$ of Eq. 6 depends on the distribution of an event, so it has to be known. The test is Anderson and Darling's at 5 %; of a long tail the family that fits best, by the same statistic, is named (GEV: generalized extreme values; Gumbel, a GEV of shape 0; logistic); *constant* is the same count in every interval, mostly zero.
#
# A family is fitted by maximum likelihood: least of minus the logarithm of the likelihood of the standardized samples $x$, at place $\mu$, scale $\sigma$ and, of a GEV, shape $\kappa$, with $z_i = (x_i - \mu) / \sigma$, and of a shape that is not 0 $-\log(1 - \kappa z_i) / \kappa$ for $z_i$:
#
# $$m \log \sigma + \sum_{i=1}^m \big( (1 - \kappa) z_i + e^{-z_i} \big), \qquad \text{logistic: } m \log \sigma + \sum_{i=1}^m \big( |z_i| + 2 \log(1 + e^{-|z_i|}) \big).$$

# %%
@numba.njit
def logistic_cost(p, x):
    """Minus log likelihood of a logistic distribution of place and scale p."""
    if p[1] <= 0:
        return np.inf
    z = np.abs(x - p[0]) / p[1]
    return len(x) * math.log(p[1]) + (z + 2 * np.log1p(np.exp(-z))).sum()


@numba.njit
def gev_cost(p, x):
    """Minus log likelihood of a GEV; from shape 1 on it has no bound, and none given is 0."""
    shape = p[2] if len(p) > 2 else 0.0
    if p[1] <= 0 or shape >= 1 or (shape * (x - p[0]) / p[1]).max() >= 1:
        return np.inf
    z = (x - p[0]) / p[1]
    if abs(shape) > 1e-8:
        z = -np.log(1 - shape * z) / shape
    return len(x) * math.log(p[1]) + ((1 - shape) * z + np.exp(-z)).sum()


# %%
def least(cost, x, start):
    """Parameters of least cost, by Nelder and Mead's search from where no sample is impossible."""
    start = np.array(start)
    while not np.isfinite(cost(start, x)):  # a wider scale, and a shape nearer to Gumbel's
        start[1] *= 2
        start[2:] /= 2
    return optimize.minimize(cost, start, args=(x,), method="Nelder-Mead").x


def gev_start(l1, l2, l3):
    """Hosking's approximation of a GEV by L-moments; its shape has SciPy's sign."""
    c = 2 / (3 + l3 / l2) - math.log(2) / math.log(3)
    shape = np.clip(7.8590 * c + 2.9554 * c**2, -0.9, 0.9) or 1e-6
    gamma = math.gamma(1 + shape)
    scale = l2 * shape / ((1 - 2**-shape) * gamma)
    return l1 - scale * (1 - gamma) / shape, scale, shape


# %%
def fits(values):
    """Each family of SciPy's, and its parameters: its own search does not start from L-moments."""
    centre, width = np.median(values), values.std()
    x = (values - centre) / width
    l1, l2, l3 = stats.lmoment(x, order=[1, 2, 3])
    spread = l2 / math.log(2)
    gumbel = least(gev_cost, x, (l1 - np.euler_gamma * spread, spread))
    gev = [least(gev_cost, x, start) for start in (gev_start(l1, l2, l3), (*gumbel, 1e-3))]
    gev = min(gev, key=lambda parameters: gev_cost(parameters, x))
    found = {"Gumbel": (stats.genextreme, (0.0,), gumbel), "GEV": (stats.genextreme, gev[2:], gev),
             "logistic": (stats.logistic, (), least(logistic_cost, x, (l1, l2)))}
    return {name: (family, (*shape, centre + width * at[0], width * at[1]))
            for name, (family, shape, at) in found.items()}


def kind_of(values):
    """Gaussian, constant, or the family of long tails of least Anderson-Darling statistic."""
    x, statistic = np.sort(values.dropna().to_numpy(float)), {}
    if x[0] == x[-1] or is_gaussian(x):
        return "constant" if x[0] == x[-1] else "gaussian"
    for name, (family, parameters) in fits(x).items():
        below = np.clip(family.cdf(x, *parameters), 1e-300, 1 - 1e-16)
        logs = np.log(below) + np.log1p(-below[::-1])
        statistic[name] = -((2 * np.arange(len(x)) + 1) * logs).mean()
    return f"long tail, best {min(statistic, key=statistic.get)}"


# %%
def coverage(counts, n):
    """Samples of each event up to the threshold of Eq. 6 [%]."""
    threshold = counts.mean() + n * counts.std(ddof=0)
    return 100 * (counts <= threshold).sum() / counts.count()


def distributions(program):
    """How each event's samples are distributed, and how many lie below Eq. 6's thresholds [%]."""
    tables = []
    for run in runs[program]:
        counts = run.whole()[0].drop(columns=run.meta["pinned"])
        counts = counts.loc[:, counts.count() >= 3].astype(float)
        below = {f"within {n} sd": coverage(counts, n) for n in (3, 5)}
        kind = pd.Series({name: kind_of(counts[name]) for name in counts}, dtype=object)
        tables.append(pd.DataFrame({"kind": kind, "mode": run.meta["mode"],
                                    "samples": counts.count(), **below}))
    return pd.concat(tables).rename_axis("event").reset_index().assign(program=program)


kinds = pd.concat(map(distributions, programs))

# %%
shape = kinds.groupby(["program", "kind"]).size().unstack(fill_value=0)
figure, _ = plot.counts(shape, ylabel="series of one event in one run")
gaussian = kinds["kind"] == "gaussian"
of_paper = study.of_suites(programs, ["HiBench", "CloudSuite 3.0"])
within_paper = gaussian[kinds["program"].isin(of_paper)]
caption = ("**CounterMiner, §III-B, drawn.** Distribution of each event's samples in each run: "
           f"{len(kinds)} series (an event in a run, with and without multiplexing) of "
           f"{', '.join(programs)}, of {kinds['samples'].min()} to {kinds['samples'].max()} "
           f"samples each. *See:* {100 * gaussian.mean():.0f} % are Gaussian and take n = 3"
           + (f" ({100 * within_paper.mean():.0f} % of those of {', '.join(of_paper)})"
              if 0 < len(within_paper) < len(gaussian) else "")
           + "; GEV has a parameter more than the others, and contains Gumbel.")
results.figure(figure, "distributions", caption)

# %%
within = ["within 3 sd", "within 5 sd"]
covered = kinds[kinds["mode"] == "mlpx"].groupby("program")[within].mean().reset_index()
unknown = [float("nan")] * 2
printed = [counterminer["coverage_percent"].get(name, unknown) for name in covered["program"]]
covered[["paper, n = 3", "paper, n = 5"]] = printed
caption = ("**CounterMiner, Table I.** Share of multiplexed samples up to mean + n standard "
           "deviations [%], here and in the paper (– : not one of its programs). *See:* "
           f"{covered[within[0]].mean():.1f} % for n = 3 and {covered[within[1]].mean():.1f} % for "
           f"n = 5, means of the events of {', '.join(covered['program'])}"
           + "".join(f"; {one.program} {one[2]:.1f} (the paper {one[4]:.1f}) and {one[3]:.1f} "
                     f"({one[5]:.1f})" for one in covered.dropna().itertuples()) + ".")
results.table(covered, "table1", caption)

# %% [markdown]
# ## How much is replaced
#
# Of each event and multiplexed run (`mlpx…`) whose event OCOE runs counted too, the greatest sample is followed: *mlpx* is what perf printed, *cleaned* what the paper's cleaning makes of it, *ocoe* the greatest sample of all runs without multiplexing; all as multiples of the event's median without multiplexing. *level* is the median of all multiplexed samples of that run, as such a multiple: where it is far from 1, the whole series is off, not its peak.

# %%
def peak(event, before, after, changed, exact):
    """An event's greatest multiplexed sample, and the greatest of runs without multiplexing."""
    usual, at = pd.concat(exact).median() or float("nan"), before.idxmax()
    highest = max(exact, key=pd.Series.max)
    place = highest.idxmax() / highest.index[-1]
    chance = min(place + 0.1, 1) - max(place - 0.1, 0)  # that a random time is as near
    return {"event": event, "samples": before.count(), "chance": chance,
            "replaced": int((changed & before.notna()).sum()),
            "level": before.median() / usual, "second": at, "ocoe_second": highest.idxmax(),
            "shift": abs(at / before.index[-1] - place), "mlpx": before[at] / usual,
            "cleaned": after[at] / usual, "ocoe": highest.max() / usual}


def greatest_samples(program):
    """What CounterMiner's cleaning makes of each event's greatest sample, run by run."""
    ocoe, rows = [run.whole()[0] for run in of_mode(program, "ocoe")], []
    for number, run in enumerate(of_mode(program, "mlpx")):
        counts, running = (frame.drop(columns=run.meta["pinned"]) for frame in run.whole())
        both = [name for name in counts if counts[name].notna().any()
                and any(name in other for other in ocoe)]
        cleaned, changed = clean.clean_run(counts[both], running[both], method="counterminer")
        rows += [{"program": program, "run": number, **peak(
            name, counts[name], cleaned[name], changed[name],
            [other[name] for other in ocoe if name in other])} for name in both]
    return pd.DataFrame(rows)


# %%
peaks = pd.concat(map(greatest_samples, programs))
if peaks.empty:
    raise UnfitRecordingError(
        f"of {', '.join(programs)} no event was counted both with and without multiplexing: record "
        "the same events in both ways: `cmlib record PROGRAM -- COMMAND`.")
by_program = peaks.groupby("program")[["samples", "replaced"]].sum().reset_index()
n_runs = peaks.groupby("program")["run"].nunique()
caption = ("**Table.** Multiplexed samples of the events recorded both ways, in "
           f"{' or '.join(map(str, sorted(set(n_runs))))} runs a program, and those of them that "
           "Eq. 6 and 7 replace. "
           f"*See:* {100 * by_program['replaced'].sum() / by_program['samples'].sum():.2f} % of "
           "all are replaced.")
display(results.table(by_program, "replaced", caption))
most = peaks.sort_values("replaced", ascending=False, kind="stable").iloc[0]
where = (f", at most {most['replaced']} of one event in one run ({most['event']} in "
         f"{most['program']})") if most["replaced"] else ""
few = (f"The paper's cleaning replaces {by_program['replaced'].sum()} of "
       f"{by_program['samples'].sum():,} multiplexed samples ({n_runs.sum()} runs, events that "
       f"were counted both ways){where}.")

# %% [markdown]
# ## Outliers, or bursts of the program?
#
# The run and event in which most is replaced: counted all the time (OCOE), as perf extrapolates it when it takes turns with others (MLPX), and cleaned as the paper does (MLPX-CLN, drawn only where it differs from MLPX). Rings are samples that were replaced. Of the OCOE runs the one with the greatest sample is drawn. OCOE and MLPX are two runs, so the curves differ in timing as well.


# %%
def draw(one):
    """Figure of one event in one multiplexed run, beside the OCOE run of its greatest sample."""
    event, run = one["event"], of_mode(one["program"], "mlpx")[one["run"]]
    counts, running = run.whole()
    cleaned, changed = clean.clean_run(counts, running, method="counterminer")
    ocoe = of_mode(one["program"], "ocoe")
    exact = max((other.whole()[0][event] for other in ocoe if event in other.counts),
                key=pd.Series.max)
    near = changed[event].rolling(3, center=True, min_periods=1).max() > 0
    lines = {"OCOE": exact, "MLPX": counts[event], "MLPX-CLN": cleaned[event].where(near)}
    interval = f"count per {run.interval_s.median():.2g} s"
    return plot.series(lines, marks=cleaned[event][changed[event]], ylabel=interval,
                       title=f"{one['program']}: {event}")[0]

# %%
def describe(one):
    """What the greatest samples of an event are, and how far apart the usual ones."""
    apart = (f" All of its multiplexed samples are far from OCOE: their median is "
             f"{one['level']:.1f} times that without multiplexing, which no cutting of peaks "
             "mends; beside that level the peak is "
             f"{one['mlpx'] / one['level']:.1f} times."
             if not 0.5 < one["level"] < 2 else "")
    return (
        f"greatest multiplexed sample {one['mlpx']:.1f} times the median without multiplexing, at "
        f"{one['second']:.1f} s, {one['cleaned']:.1f} times after cleaning; without multiplexing "
        f"the event reaches {one['ocoe']:.1f} times, at {one['ocoe_second']:.1f} s.{apart}")


caption = ("**CounterMiner, Fig. 2 a and 5 a.** The series in which most is replaced, "
           f"`{most['event']}` in {most['program']}, before and after cleaning; rings: replaced. "
           f"*See:* {describe(most)}")
results.figure(draw(most), "fig02-fig05", caption)

# %% [markdown]
# The paper's Figure 2 a shows an outlier. Here is the greatest multiplexed sample of all events, as a multiple of the event's median without multiplexing.

# %%
outlier = peaks.nlargest(1, "mlpx").iloc[0]
caption = ("**CounterMiner, Fig. 2 a.** The greatest sample of all, of "
           f"`{outlier['event']}` in {outlier['program']}; the paper's example, of another event, "
           f"is {counterminer['outlier_ratio']} times normal values. *See:* {describe(outlier)}")
results.figure(draw(outlier), "fig02-outlier", caption)

# %% [markdown]
# Are the same bursts there without multiplexing? What the paper's cleaning takes for an outlier may be what the program does, such as its cold start. A greatest sample counts as the program's where it is at most 1.5 times the greatest of all OCOE runs, at whatever time (our test, not the paper's; it leans towards bursts). Columns are as above, *second* and *ocoe_second* are when the two samples were taken. Beside it: how many are within a tenth of the run of that time (and how many random times would be), in how many of the others *mlpx* divided by *level* would pass, and how often greatest samples that were *not* replaced pass.

# %%
peaks["times"] = peaks["mlpx"] / peaks["ocoe"]
cut = peaks[peaks["cleaned"] < peaks["mlpx"]].sort_values("times", ascending=False)
uncut = peaks[(peaks["cleaned"] >= peaks["mlpx"]) & peaks["mlpx"].notna()]
there = cut["times"] <= 1.5
true, beyond = cut[there], cut[~there]
raised = beyond[beyond["mlpx"] / beyond["level"] <= 1.5 * beyond["ocoe"]]
shown = cut[["program", "event", "second", "ocoe_second", "level", "mlpx", "ocoe", "cleaned",
             "run"]]
n_shown = min(10, len(cut))
display(results.table(shown, "cut", f"**Table.** Of {len(cut)} greatest samples that the paper's "
                      f"cleaning replaces, the {n_shown} that are most times the greatest of the "
                      "runs without multiplexing [multiples of the event's median without "
                      f"multiplexing]. *See:* {len(true)} of {len(cut)} are at most 1.5 times as "
                      "high as those.", rows=10, decimals=1))

# %%
def describe_beyond():
    """Those that the test takes for no bursts, and how many of them a level explains."""
    ratios = ", ".join(f"{ratio:.2f}" for ratio in beyond["times"])
    levels = " and ".join(f"{level:.1f}" for level in raised["level"])
    text = f" The other {len(beyond)} are {ratios} times that"
    if len(raised):
        text += (f"; in {len(raised)} of them the whole series is too high, not its peak alone "
                 f"(median {levels} times that without multiplexing)")
    return text + f"; {len(beyond) - len(raised)} may be single errors of multiplexing."


# %%
if len(cut):
    passed = (uncut["times"] <= 1.5).sum()
    results.number("greatest samples cut that are there without multiplexing",
                   100 * len(true) / len(cut), "%",
                   note=f"at most 1.5 times as high; of {len(cut)}")
    results.number("greatest samples cut", len(cut), "samples")
    results.number("greatest samples left that are there without multiplexing",
                   100 * passed / len(uncut), "%", note=f"the same test; of {len(uncut)}")
    mostly = "Mostly bursts of the program" if 2 * len(true) > len(cut) else "Mostly not bursts"
    display(results.finding(
        f"{mostly}: of {len(cut)} greatest samples (one an event and multiplexed run; own "
        f"hardware, {peaks['event'].nunique()} events of {', '.join(programs)}) that the paper's "
        f"cleaning replaces, {len(true)} are at most 1.5 times what the event reaches when it is "
        "counted all the time, by a test that leans to bursts; "
        f"{(true['shift'] <= 0.1).sum()} of these also come within a tenth of the run of that time "
        f"(of random times {true['chance'].sum():.0f} would), and of {len(uncut)} greatest samples "
        f"that it leaves {passed} pass the test."
        + (describe_beyond() if len(beyond) else "")
        + f" After cleaning {(cut['cleaned'] < cut['ocoe']).sum()} are below what the event "
        f"reaches, at {(cut['cleaned'] / cut['ocoe']).median():.2f} of it in the median."))
display(results.finding(few))
results.number("samples replaced", by_program["replaced"].sum(), "samples")
results.number("multiplexed samples", by_program["samples"].sum(), "samples")

# %% [markdown]
# ## What the paper printed, and what was measured here

# %%
long_tails = kinds[kinds["kind"].str.startswith("long")]
printed = counterminer["distributions"]
if len(within_paper):
    results.number("series of an event that are Gaussian", 100 * within_paper.mean(), "%",
                   paper=100 * printed["gaussian"] / printed["events"],
                   note=f"in {', '.join(of_paper)}, constant ones included")
if len(long_tails):
    share = 100 * long_tails["kind"].str.endswith("GEV").mean()
    results.number("long-tailed series that GEV fits best", share, "%",
                   note=f"the paper: {printed['family']} fits best, without a number")

display(results.numbers())

# %% [markdown]
# ## What this doesn't show
#
# Why another share of series is Gaussian here than in the paper is not known: it names neither its test nor how many samples it took. OCOE and MLPX are different runs, and a burst that only one of them has can be that of this run: so the greatest sample is compared with the greatest of all OCOE runs, not with that at the same time. A sample is called the program's if OCOE reaches two thirds of it, wherever that is in the run. In the recordings that come with cmlib 12 events take turns on 3 free counters every 4 ms, in intervals of 100 ms, so that each has its turn several times an interval; where turns are rarer, perf scales what it counted by more, and may make peaks of its own.
#
# ## On your own program
#
# `cmlib record NAME -- COMMAND` records it both ways (OCOE and MLPX); then `cmlib run live outliers -p program=NAME`. `program` is the one parameter: several names, separated by commas, are put side by side.
#
# **References.** Lv et al., *CounterMiner*, MICRO 2018, §II-B, §III-B, Figures 2 and 5, Table I. Anderson and Darling, *A test of goodness of fit*, JASA 1954.

# %%
results.save()
