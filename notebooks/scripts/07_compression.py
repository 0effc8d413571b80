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
# # Compression: straight lines in place of samples
#
# **Question.** How much space is saved if straight lines replace the samples of an event's count, and how far are the samples from the lines?
#
# Wu and Mencer (*Online Linear Regression of Sampling Data from Performance Event Counters*) replace samples by straight lines while a program runs. A cumulative count is a straight line as long as the program does the same thing. When a sample does not fit the current line, a new line begins. Three numbers are stored for a line, two for a sample.
#
# This notebook runs the method by hand on ten samples, then on published recordings of the paper's suite and the paper's event (its Fig. 1 to 9). It compares the lines with a method that needs no regression: keeping every n-th sample.

# %% [markdown] tags=["answer"]
# > **Answer** (20 cases of SPEC CPU2006, last-level load misses recorded by others; default parameters). The lines take **14** times less space than the samples in the median of the 20 cases (**3.7** to **128** times), and the largest distance of a sample from its line is **3.6 %** of all misses of a run. There is a simpler method: keep every n-th sample, with n chosen so that it takes as much space as the lines. On these recordings it does about as well; in **11** of 20 cases its largest distance is smaller than that of the lines. On two other events, which this page also compresses, its largest distance is **35 %**, and that of the lines **3.1 %**. The paper's lines can drift away from the samples. A test for drift, which the paper does not have, lowers the **3.6 %** above to **0.34 %**, but these lines take more space. The paper's measure of fit hardly ever fails: even a single line for the whole run passes it in **18** of 20 cases.

# %% tags=["parameters"]
suite: str = "spec-llc"  # streams to compress
folder: str = ""  # with other streams of the suite's form; empty: CMLIB_PUBLIC and the cache
cases: str = "all"  # cases to study, separated by commas, or all
program: str = "all"  # or programs that were sampled here, separated by commas, not the suite
event: str = ""  # event to compress; empty: last-level misses, mispredicted branches, or the first
alpha: float = 0.01  # tolerance for a line's third sample, share of the count
n_sigma: float = 3.0  # tolerance for the later ones, standard deviations
drift: float = 20.0  # threshold of the drift test, standard deviations added up
bound: float = 0.01  # hard bound on a sample's distance, share of the event's count
settings: dict = {}  # interactive, profile, results_folder

# %%
import numpy as np
import pandas as pd
from IPython.display import Markdown

from cmlib import experiments, explore, plot
from cmlib.compress import compress, fit_quality, reconstruct
from cmlib.compress.lines import line_ends
from cmlib.errors import NothingRecordedError
from cmlib.experiments.sample_streams import EVENTS, load_streams, load_suite
from cmlib.report import paper
from cmlib.report.notebook import begin

# %%
limits = {"suite": ["spec-llc", "spec2000", "samples"], "alpha": (0, 1), "n_sigma": (0, 100),
          "drift": (0.5, 1000), "bound": (0.000001, 0.5)}
notebook = begin("07_compression", settings, suite=suite, folder=folder, cases=cases, event=event,
                 program=program, alpha=alpha, n_sigma=n_sigma, drift=drift, bound=bound)
results, printed = notebook.results, paper("online_linear_regression")

# %% [markdown]
# ## Data
#
# A *stream* has one row per sample: the cumulative counts of two events. The *timing event*, here instructions, takes the place of time on the horizontal axis. The other event is compressed. A *case* is a program with one of its inputs. By default the streams are published recordings of SPEC CPU2006 on a Xeon Gold 5120 (Navarro-Torres et al. 2019): 20 of the paper's 57 cases, with a sample every 100 million instructions. The paper samples every million cycles. `cmlib fetch spec-llc` downloads these recordings. Without them, the notebook compresses other recordings, which come with cmlib: page faults and other software events of Debian programs.

# %%
try:
    totals, provenance = load_streams(suite, event, cases, folder=folder, program=program)
except NothingRecordedError:
    if program == "all":
        raise
    experiments.programs(notebook.database, program)  # an unknown program is an error
    notebook.stop("Compression needs a stream of samples, and this program was recorded in "
                  "intervals. `cmlib record NAME --samples -- COMMAND` records one.")
totals = {name: totals[name] for name in sorted(totals) if np.ptp(totals[name].iloc[:, 1]) > 0}
if not totals:
    notebook.stop("The compressed event never happened. Choose another one with `-p event=NAME`.")
timer, event = next(iter(totals.values())).columns[:2]
display(Markdown(f"Cases: {len(totals)}. Compressed: `{event}` by `{timer}`. Data: {provenance}."))
next(iter(totals.values())).head()

# %% [markdown]
# ## Ten samples by hand
#
# A line is the least-squares line of its $n$ samples. Its slope and intercept follow from sums over the samples (Eq. 3 and 4). The standard deviation $\hat\sigma$ of the samples about the line is Eq. 7:
#
# $$k_n = \frac{n S_{xy} - S_x S_y}{n S_{x^2} - S_x^2}, \qquad b_n = \frac{S_y S_{x^2} - S_x S_{xy}}{n S_{x^2} - S_x^2}, \qquad \hat\sigma = \sqrt{\tfrac{1}{n-2} \textstyle\sum_i (y_i - k_n x_i - b_n)^2}$$
#
# The line predicts $\hat y_{n+1} = k_n x_{n+1} + b_n$ for the next sample. The line ends if the residual is too large (§3.4):
#
# $$r_{n+1} = |y_{n+1} - \hat y_{n+1}| > 3\hat\sigma$$
#
# After two samples there is no $\hat\sigma$ yet; then the tolerance is $\alpha\,|\hat y_3|$ with $\alpha = 0.01$. Counts are cumulative, so $\hat y_3$ grows during the run, and this tolerance grows with it. A new line starts at the last sample of the old one. The next cell is the paper's procedure (§3.5). It subtracts the line's first sample from $x$ and $y$, because sums over a long run lose digits. It computes $\hat\sigma$ by Eq. 7, which needs all samples of the line. The paper's Eq. 8 gives the same $\hat\sigma$ from five sums ($S_x$, $S_y$, $S_{xy}$, $S_{x^2}$, $S_{y^2}$), so its time and memory per sample are constant.


# %%
def online_linear_regression(x_all, y_all):
    """Yield for each sample: n, prediction, residual, tolerance, and whether a new line begins."""
    begin = n = 0
    for i, (x_new, y_new) in enumerate(zip(x_all, y_all, strict=True)):
        y_hat = r = tolerance = np.nan
        if n > 1:
            x, y = x_all[begin:i] - x_all[begin], y_all[begin:i] - y_all[begin]
            S_x, S_y, S_xy, S_x2 = x.sum(), y.sum(), (x * y).sum(), (x * x).sum()
            k = (n * S_xy - S_x * S_y) / (n * S_x2 - S_x**2)  # Eq. 3
            b = (S_y * S_x2 - S_x * S_xy) / (n * S_x2 - S_x**2)  # Eq. 4
            y_hat = k * (x_new - x_all[begin]) + b + y_all[begin]
            r = abs(y_new - y_hat)
            if n == 2:
                tolerance = alpha * abs(y_hat)
            else:
                tolerance = n_sigma * np.sqrt(((y - k * x - b) ** 2).sum() / (n - 2))  # Eq. 7
        ends = r > tolerance
        yield n, y_hat, r, tolerance, ends
        if ends:
            begin, n = i - 1, 1  # the last sample of the old line
        n += 1


x = np.arange(1.0, 11.0)
y = np.array([200, 401, 600, 801, 1000, 1500, 1999, 2499, 2999, 3499], dtype=float)
steps = pd.DataFrame(online_linear_regression(x, y), columns=[
    "samples in line", "predicted", "residual", "tolerance", "new line"])
steps.insert(0, "y", y)
steps.insert(0, "x", x)
steps["new line"] = np.where(steps["new line"], "yes", "")
results.table(steps.astype({"x": int, "y": int}), "ten_samples", "**Table.** The procedure on ten "
              "made-up samples: the rate changes from about 200 to 500 per step after the fifth. "
              "With the default parameters, the sixth sample is far outside the tolerance, so the "
              "first line ends. The new line starts at the fifth sample. *Samples in line* is how "
              "many samples the line has before this one.", decimals=1,
               data=())

# %% [markdown]
# The library (`cmlib.compress`) updates the sums sample by sample instead. On the shortest stream, both must find the same number of lines:

# %%
shortest = min(totals, key=lambda name: len(totals[name]))
x, y = totals[shortest][[timer, event]].to_numpy(float).T
cell_lines = 1 + sum(step[-1] for step in online_linear_regression(x, y))
library_lines = len(compress(x, y, alpha=alpha, n_sigma=n_sigma))
pd.DataFrame({"case": [shortest], "samples": [len(x)], "lines, cell above": [cell_lines],
              "lines, library": [library_lines]}).style.hide(axis="index")

# %% [markdown]
# ## All cases, and what the lines must beat
#
# The paper names a weakness of its rule. If samples move slowly away from the line, $\hat\sigma$ grows with them, and in the end every sample is within $3\hat\sigma$. The table below compares the paper's rule with two others that avoid this. They are not in the paper.
#
# * **paper's rule**: the one above.
# * **drift test** (E. S. Page, 1954): the line also ends if the residuals stay on one side for long. For this, residuals above the line are added up in $g^+$, and residuals below it in $g^-$ in the same way. A sum grows by the residual in units of $\hat\sigma$, minus ½, and never falls below 0: $g^{+}_{n+1} = \max(0,\ g^{+}_n + (y_{n+1} - \hat y_{n+1})/\hat\sigma - \tfrac12)$. The line ends when a sum exceeds `drift` (20 by default).
# * **hard bound** (O'Rourke 1981): every sample must be within `bound` of its line, $|y_i - k x_i - b| \le bound$. A line ends when no choice of $k$ and $b$ fulfills this any more. By default `bound` is 1 % of the run's count, which is usually much wider than $3\hat\sigma$.
#
# The baseline uses no regression: keep **every n-th** sample, and draw straight lines between those. The step $n$ is chosen so that the kept samples take about as many bytes as the lines of the paper's rule, and never more. The last sample is kept as well. Another baseline is **one line**, the least-squares line of the whole run.


# %%
def measure_methods(x, y):
    """Size and errors of one case by every method, errors as shares of the run's count."""
    whole = np.ptp(y)
    as_printed = {"alpha": alpha, "n_sigma": n_sigma}
    options = {"printed": as_printed, "drift": as_printed | {"drift": drift},
               "bounded": {"bound": bound * whole}}
    rows = {}
    for method, chosen in options.items():
        quality = fit_quality(compress(x, y, **chosen), x, y)
        rows[method] = quality.rename({"n_bytes": "bytes", "n_lines": "pieces"})
    room = max(2, int(rows["printed"]["bytes"] // 16))  # samples that fit into the lines' bytes
    every = int(np.ceil((len(x) - 1) / (room - 1)))
    kept = np.union1d(np.arange(0, len(x), every), len(x) - 1)
    rows["every n-th"] = measure_distances(y - np.interp(x, x[kept], y[kept]), len(kept) - 1, whole)
    rows["every n-th"]["bytes"] = 16 * len(kept)
    straight = np.polynomial.Polynomial.fit(x, y, 1)(x)
    rows["one line"] = measure_distances(y - straight, 1, whole)
    rows["one line"]["mnesd"] = np.sqrt(((y - straight) ** 2).sum() / (len(x) - 2)) / whole
    rows["one line"]["bytes"] = 24
    return pd.DataFrame(rows).T.rename_axis("method")


def measure_distances(distance, pieces, whole):
    """Errors of a series read from straight pieces."""
    return {"n_samples": len(distance), "pieces": pieces, "reduction": len(distance) / pieces,
            "largest": np.abs(distance).max() / whole,
            "rms": np.sqrt((distance**2).mean()) / whole}


def measure_cases(streams, timer, event):
    """A row for each case and method."""
    measured = {name: measure_methods(*own[[timer, event]].to_numpy(float).T)
                for name, own in streams.items()}
    integers = dict.fromkeys(["n_samples", "pieces", "bytes"], int)
    return pd.concat(measured, names=["case"]).astype(integers)


fits = measure_cases(totals, timer, event)
METHODS = {"printed": "paper's rule", "drift": "drift test", "bounded": "hard bound",
           "every n-th": "every n-th sample", "one line": "one line"}
size, mnesd, largest, rms, reduction = (
    fits[name].unstack("method")[list(METHODS)]
    for name in ("bytes", "mnesd", "largest", "rms", "reduction"))
samples_bytes = 16 * fits["n_samples"].xs("printed", level="method")
space = samples_bytes.to_frame().to_numpy() / size

# %%
overview = pd.DataFrame({
    "pieces per case": fits["pieces"].unstack("method").median(),
    "bytes of samples / bytes kept": space.median(),
    "MNESD, largest [%]": 100 * mnesd.max(),
    "largest distance, median [%]": 100 * largest.median(),
    "largest distance, worst case [%]": 100 * largest.max(),
    "rms distance, median [%]": 100 * rms.median()})
overview = overview.loc[list(METHODS)].rename(METHODS).rename_axis("method")
results.table(overview, "methods", "**Table.** Medians over the cases; two columns are "
              "the largest value of all cases instead (*worst case*, and *MNESD, largest*, a "
              "measure of fit explained below). *Bytes of "
              "samples / bytes kept*: 16 bytes for each sample, divided by the bytes that are "
              "kept. Distances of samples from their line are in percent of the run's count, which "
              "is the count at its end. *Pieces* are lines, or intervals between kept samples. "
              "Compare *paper's rule* with *every n-th sample*, which takes at most the same "
              "space. The hard bound saves more than the other two rules, because it is so "
              "wide.",
              decimals=3)

# %%
columns = ["n_samples", "pieces", "reduction", "mnesd", "largest", "rms", "bytes"]
results.table(fits[columns].reset_index(), "fits", "**Table.** Every case by every method, first "
              "rows. *Printed* is the paper's rule, *drift* the drift test, *bounded* the hard "
              "bound. *Reduction* is samples per piece; MNESD (explained below), largest and root "
              "mean square (rms) distance are shares of the run's count.", rows=10, decimals=5)

# %% [markdown]
# ## Size

# %%
sizes = pd.DataFrame({"samples": samples_bytes / 1e6, "lines": size["printed"] / 1e6})
most = printed["sample_data_mb"]
figure, _ = plot.by_case(sizes, ylabel="size [MB]", levels={
    "paper's samples, most above": most["most_from"],
    "paper's samples, most below": most["most_to"]})
results.figure(figure, "fig01", "**Online regression, Fig. 1.** Size of the samples (two numbers "
               "each) and of the lines by the paper's rule (three numbers each). Look at the "
               "distance between the two marks of a case. The samples of most of "
               "the paper's cases take 10 to 100 MB (horizontal lines), because the paper samples "
               "about a hundred times as often and counts more events.",
               data=provenance)

# %% [markdown]
# The paper's *reduction ratio* is the number of samples per line (§4.2). A line takes 24 bytes and a sample 16. So the bytes of the samples divided by those of the lines are two thirds of the reduction ratio.

# %%
of_paper = {printed["least_reduced"].replace(" ", "."): printed["reduction"]["min"],
            printed["most_reduced"].replace(" ", "."): printed["reduction"]["max"]}
ratios = reduction[["printed", "drift", "bounded"]].rename(columns=METHODS)
ratios = ratios.assign(paper=pd.Series(of_paper, dtype=float)).dropna(axis=1, how="all")
figure, _ = plot.by_case(ratios, ylabel="samples per line", levels={
    "paper, least": printed["reduction"]["min"], "paper, greatest": printed["reduction"]["max"]})
results.figure(figure, "fig02", "**Online regression, Fig. 2.** Samples per line by method. The "
               "mark *paper*, if there is one, is the value that the paper's text gives for the "
               "same case. The hard bound keeps few lines, because each line may be as far from "
               "its samples as the bound.", data=provenance)


# %%
def prepare(name, share=1.0, event=event, **options):
    """Samples, lines and distances of the beginning of a case, at least 60 samples."""
    x, y = totals[name][timer].to_numpy(float), totals[name][event].to_numpy(float)
    lines = compress(x, y, **({"alpha": alpha, "n_sigma": n_sigma} | options))
    samples = pd.Series(y, x)
    distances = samples - reconstruct(lines, x)
    shown = max(min(60, len(x)), int(np.ceil(share * len(x))))
    ends = line_ends(lines)
    ends = ends[ends["x_start"] < x[shown - 1]]
    thin = slice(None, shown, max(1, shown // 4000))
    return samples.iloc[thin], ends, distances.iloc[thin]


def title_of_beginning(name, kind, beginning):
    """A case, and how many of its lines start in its beginning."""
    n_lines = fits.loc[(name, "printed"), "pieces"]
    return f"{name}, {kind}: {len(beginning[1])} of {n_lines} lines"


least, greatest = reduction["printed"].idxmin(), reduction["printed"].idxmax()
panels = {}
for name, kind in ((least, "least reduced"), (greatest, "most reduced")):
    beginning = prepare(name, 0.01)
    panels[title_of_beginning(name, kind, beginning)] = beginning
figure, axes = plot.samples_and_lines(panels, xlabel=timer, ylabel=event)
for ax, (samples, *_) in zip(axes, panels.values(), strict=True):
    ax.set(xlim=(samples.index[0], samples.index[-1]), ylim=(0, 1.05 * samples.iloc[-1]))
results.figure(figure, "fig03-fig04", "**Online regression, Fig. 3 and 4.** The first percent of "
               "the run (at least 60 samples) of two cases: the one with the fewest and the one "
               "with the most samples per line over the whole run. A stroke at the foot marks "
               "where a line begins. The title says how many of the run's lines begin here. The "
               "lower panels show the distances of the samples from their lines. After the last "
               "stroke, one line continues. If distances stay near 0 there, the program is steady; "
               "if they become large, the tolerance has become too wide. The paper draws whole "
               "runs of 450.soplex and 453.povray.",
               data=provenance)

# %% [markdown]
# ## Fit
#
# The paper's measure is the *maximal normalized estimated standard deviation* (MNESD): the largest standard deviation about any line, as a share of the range of the counts (§4.2). Since the counts are cumulative, the range is the count of the whole run:
#
# $$\mathrm{MNESD} = \frac{\hat\sigma_{max}}{y_{max} - y_{min}}$$
#
# The abstract says that MNESD stays below 0.1, although three cases exceed it in the paper's Figure 5. The measure is lenient. A line that is far off during a short stretch hardly shows against the count of the whole run.

# %%
shown = mnesd[["printed", "drift", "one line"]].rename(columns=METHODS)
figure, _ = plot.by_case(shown, ylabel="MNESD [share of the count]",
                         levels={"paper's claim": printed["mnesd_below"]})
results.figure(figure, "fig05", "**Online regression, Fig. 5.** MNESD of the lines, with and "
               "without the drift test, and of one line for the whole run. Marks below the dashed "
               "line fulfill the paper's claim. Where even *one line* for the whole run is below "
               "it, the limit of 0.1 cannot tell a good fit from a bad one.",
               data=provenance)

# %%
worst, best = mnesd["printed"].idxmax(), mnesd["printed"].idxmin()
figure, _ = plot.samples_and_lines({f"{worst}: worst fit": prepare(worst),
                                    f"{best}: best fit": prepare(best)},
                                   xlabel=timer, ylabel=event)
results.figure(figure, "fig06-fig09", "**Online regression, Fig. 6 to 9.** Whole runs of the case "
               "with the largest and with the smallest MNESD here; the paper draws 436.cactusADM "
               "and 998.specrand (worst), 410.bwaves and 470.lbm (best). Look at the distances on "
               "the left: where they are far from 0 for a long time, a long line has drifted away "
               "from its samples, as in the paper's worst fits. A case can be among the worst in "
               "the paper and the best here, because the recordings are other ones.",
               data=provenance)

# %% [markdown]
# **Explore.** In JupyterLab, the panel below draws any case and event with other tolerances. Switch the drift test on by moving its slider from 0 (no test) to 20: long lines that are far from their samples are cut.


# %%
def draw_lines(stream, event, alpha, n_sigma, drift):
    """Samples of a stream and their lines, with size and errors."""
    options = {"alpha": alpha, "n_sigma": n_sigma, "drift": drift or None}
    figure, _ = plot.samples_and_lines({f"{stream}": prepare(stream, event=event, **options)},
                                       xlabel=timer, ylabel=event, columns=1)
    x, y = totals[stream][timer], totals[stream][event]
    quality = fit_quality(compress(x, y, **options), x, y).to_frame(stream)
    return figure, quality.to_html(float_format="{:.4g}".format)


astray = largest["printed"].idxmax()
controls = {
    "stream": explore.dropdown("stream", list(totals), astray),
    "event": explore.dropdown("event", list(totals[astray])[1:], event),
    "alpha": explore.slider("α (share of the count)", 0.0, 0.1, step=0.005, value=0.01),
    "n_sigma": explore.slider("σ (std. deviations)", 0.5, 10.0, step=0.5, value=3.0),
    "drift": explore.slider("drift test (0: none)", 0, 100, step=5, value=0),
}
panel = explore.Panel(draw_lines, controls, {
    "stream": lambda stream: explore.offer(controls["event"], list(totals[stream])[1:])})
notebook.widget(panel, "explore", "**Figure.** The panel as it opens: the case with the largest "
                "distance between a sample and its line, without the drift test.")

# %% [markdown]
# ## Other timers and another suite
#
# The paper's timing event is cycles. Of the recordings here, only those of store misses have cycles as well. So store misses are compressed twice, with cycles and with instructions as the timing event. The second suite is SPEC CPU2000 on an AMD processor (`cmlib fetch spec2000`): mispredicted branches by instructions.

# %%
others = {f"{event} by {timer}": fits}
if event == EVENTS["spec-llc"]:
    stores = load_suite("spec-llc", "LLC-store-misses", cases, folder=folder)
    stores = {name: own for name, own in stores.items() if np.ptp(own["LLC-store-misses"]) > 0}
    branches = EVENTS["spec2000"]
    older = load_suite("spec2000", branches, folder=folder)
    older = {name: own for name, own in older.items() if np.ptp(own[branches]) > 0}
    if stores:
        for axis in ("instructions", "cycles"):
            key = f"LLC-store-misses by {axis}"
            others[key] = measure_cases(stores, axis, "LLC-store-misses")
    if older:
        key = "SPEC CPU2000: mispredicted branches"
        others[key] = measure_cases(older, "instructions", branches)

grouped = pd.concat(others, names=["recordings"]).groupby(["recordings", "method"], sort=False)
summary = pd.DataFrame({
    "cases": grouped.size(), "samples per line, least": grouped["reduction"].min(),
    "median": grouped["reduction"].median(), "greatest": grouped["reduction"].max(),
    "largest distance, worst [%]": 100 * grouped["largest"].max(),
    "median [%]": 100 * grouped["largest"].median()})
order = [(name, method) for name in others for method in ("printed", "drift", "every n-th")]
summary = summary.loc[order].rename(METHODS, level="method")
results.table(summary, "bodies", "**Table.** Samples per line and largest distance [% of the "
              "count] over the cases of each set of recordings. *Every n-th sample* takes the "
              "space of the lines by the paper's rule.")

# %% [markdown]
# ## Result
#
# *Closer* means that the largest distance of any sample is smaller. The paper's values are of 57 cases with another processor and finer samples, so only orders of magnitude can be compared. The paper's value of MNESD is the claim of its abstract, not the largest value in its Fig. 5.

# %%
ratio, savings = reduction["printed"], space["printed"]
for what, value, of_paper in (("least", ratio.min(), printed["reduction"]["min"]),
                              ("greatest", ratio.max(), printed["reduction"]["max"]),
                              ("median", ratio.median(), None)):
    results.number(f"samples a line (the paper's reduction), {what}", value, "x", paper=of_paper,
                   data=provenance)
for what, value in savings.agg(["median", "min", "max"]).items():
    results.number(f"size of the samples / size of the lines, {what}", value, "x")
for method in ("printed", "drift", "bounded"):
    claim = 100 * printed["mnesd_below"] if method == "printed" else None
    results.number(f"greatest standard deviation about a line (MNESD), {METHODS[method]}",
                   100 * mnesd[method].max(), "% of the count", paper=claim,
               data=provenance)
for method in ("printed", "drift", "bounded", "every n-th"):
    results.number(f"largest distance of a sample from its line, {METHODS[method]}",
                   100 * largest[method].max(), "% of the count")
of_cases = f"of {len(totals)} cases"
results.number("cases in which one line passes the paper's measure of fit",
               int((mnesd["one line"] < printed["mnesd_below"]).sum()), of_cases)
for method in ("printed", "drift"):
    closer = largest["every n-th"] < largest[method]
    results.number(f"cases in which every n-th sample is closer than the {METHODS[method]}",
                   int(closer.sum()), of_cases)
others_worst = summary["largest distance, worst [%]"].iloc[3:]
if len(others_worst):
    by_method = others_worst.groupby("method").max()
    for label in ("paper's rule", "every n-th sample"):
        results.number(f"largest distance on the other recordings, {label}", by_method[label],
                       "% of the count")
results.numbers()

# %% [markdown]
# ## Limitations
#
# * The recordings that come with cmlib have 20 of the paper's 57 cases. 453.povray and 998.specrand, which it draws, are not among them.
# * Processor and cache differ from the paper's, and a sample is taken every 100 million instructions. What a program does within a sample is not seen. Another notebook, [Recording lines](studies/recording_lines.ipynb), compresses kernel events at the paper's rate of samples. It measures the overhead (the paper's Fig. 10) and tests whether lines change a ranking of events.
# * *Every n-th sample* is given the space that the paper's rule happens to need, so its $n$ is known only after the run. A recorder would have to fix $n$ beforehand.
# * The drift test and the hard bound have other numbers of lines than the paper's rule. So a comparison of their distances is not at equal space.
# * Sizes are plain numbers of eight bytes. A general compressor would make both samples and lines smaller.
# * Counts are of user mode only.
#
# ## Your own program
#
# Record samples of it, then run the notebook:
#
# ```sh
# .venv/bin/cmlib record myapp --samples -- ./myapp
# .venv/bin/papermill notebooks/07_compression.ipynb out.ipynb -p program myapp
# ```
#
# The notebook needs samples at a fine rate. It refuses recordings with a few hundred intervals, such as an imported file of `perf stat -I`, because lines cannot save much there. By default it compresses the first event of the samples (parameter `event`). The parameter to change first is `n_sigma` (3 by default), the factor of $\hat\sigma$ in the rule: a larger one makes fewer and coarser lines.
#
# ## References
#
# * Wu, Mencer: *Online Linear Regression of Sampling Data from Performance Event Counters*, §3 and §4.
# * Navarro-Torres et al.: *Memory hierarchy characterization of SPEC CPU2006 and SPEC CPU2017 on the Intel Xeon Skylake-SP*, PLOS ONE, 2019 (the recordings).
# * O'Rourke: *An on-line algorithm for fitting straight lines between data ranges*, Communications of the ACM, 1981.
# * Page: *Continuous inspection schemes*, Biometrika, 1954.

# %%
results.save()
