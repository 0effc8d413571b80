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
# # Compression: piecewise-linear segments in place of samples
#
# **Question.** How much smaller do the samples of an event's count get as piecewise-linear segments (*lines*), and how well do the lines fit?
#
# *Reads* the streams of `cmlib fetch spec-llc`, in the cache or in the folder `CMLIB_PUBLIC`; without them the sample streams of kernel events that come with cmlib. *Writes* reduction, fit and errors of every case, beside what Wu and Mencer print for the same program.
#
# A program of your own: `cmlib record NAME --samples -- COMMAND`, then `cmlib run paper 07_compression -p program=NAME`. First to change: `n_sigma`; a larger one makes fewer and coarser lines.
#
# With `spec-llc` the data are others' published recordings, not the paper's, but it is the paper's suite and the paper's event, last-level misses: 20 of its 57 cases (a *case* is a program with one of its inputs), on a Xeon Gold 5120. A sample was taken each 100 million instructions, where the paper has one each million cycles.

# %% [markdown] tags=["answer"]
# > **Answer** (20 cases of SPEC CPU2006, last-level load misses recorded by others; default parameters). Lines take **14** times less space than the samples in the median case (**3.7** to **128** times), and no sample is farther from its line than **3.6 %** of the run's count. That is **5.6** to **192** samples per line; the paper has about 6 to 4,000 for other recordings. The paper's measure of fit proves little, because a single line for the whole run passes it in **18** of 20 cases. A test for drift lowers the largest distance to **0.34 %**.

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
from matplotlib.collections import LineCollection

from cmlib import explore, plot
from cmlib.compress import OnlineRegression, compress, fit_quality, reconstruct
from cmlib.compress.lines import line_ends
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
# ## The streams
#
# Each file is one run of one program: cumulative counts, a row a sample. Loads and stores were counted in different runs; cycles stand beside the stores.

# %%
totals, source = load_streams(suite, event, cases, folder=folder, program=program)
one = next(iter(totals.values()))
timer, event = one.columns[:2]
about = f"{len(totals)} cases, `{event}` by `{timer}`; {source}."
one.head()

# %% [markdown]
# Three cases: the one whose rate is most even, a median one, and the most bursty one. A line ends at a sample that is unusual beside the line's own scatter, so that even the straightest case takes many lines.

# %%
def unevenness(counts):
    """Largest distance from a constant rate, as a share of the event's whole count."""
    x, y = counts[timer], counts[event]
    even = np.interp(x, [x.iloc[0], x.iloc[-1]], [y.iloc[0], y.iloc[-1]])
    return np.abs(y - even).max() / np.ptp(y) if np.ptp(y) > 0 else np.nan


def drawn(name, **options):
    """Samples of a case, its lines, and how far the samples lie from them, to be drawn."""
    x, y = totals[name][timer], totals[name][event]
    lines, samples = compress(x, y, **options), pd.Series(y.to_numpy(), x.to_numpy())
    return samples, line_ends(lines), samples - reconstruct(lines, x)

# %%
def draw_case(ax, samples, lines, colours):
    """Samples of a case, and the lines that stand for them."""
    ends = lines[["x_start", "y_start", "x_end", "y_end"]].to_numpy().reshape(-1, 2, 2)
    ax.plot(samples.index, samples.to_numpy(), ".", color=colours[0], ms=6, label="samples",
            rasterized=True)
    ax.add_collection(LineCollection(ends, colors=[colours[1]], linewidths=1, zorder=3,
                                     label="lines"))
    begins = np.full(len(lines), 0.03)  # at the foot, so that it hides neither samples nor lines
    ax.plot(lines["x_start"], begins, "|", color="#333333", ms=5, mew=0.4,
            label="a line begins", transform=ax.get_xaxis_transform())
    ax.tick_params(labelbottom=False)

# %%
@plot.styled
def draw_fits(cases, *, xlabel, ylabel, columns=2):
    """A panel a case; below each, how far its samples lie from its lines."""
    figure, axes = plot.panels(list(cases), columns=columns, height=3.6)
    colours = plot.palette(2)
    for ax, (title, (samples, lines, distances)) in zip(axes, cases.items(), strict=True):
        draw_case(ax, samples, lines, colours)
        ax.set(title=title, ylabel=ylabel)
        rest = ax.inset_axes([0, -0.42, 1, 0.3], sharex=ax)
        rest.plot(distances.index, distances.to_numpy(), ".", color=colours[0], ms=1,
                  rasterized=True)
        rest.axhline(0, color=colours[1], lw=1)
        rest.set(xlabel=xlabel, ylabel="distance")
        power = int(np.log10(max(samples.index[-1], 1)) // 3 * 3)
        rest.xaxis.set_major_formatter(lambda x, _, power=power: f"{x / 10**power:g}")
        rest.set_xlabel(f"{xlabel} [$10^{{{power}}}$]", parse_math=True)
    figure.get_layout_engine().set(hspace=0.12)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure, axes

# %%
uneven = pd.Series({name: unevenness(counts) for name, counts in totals.items()})
uneven = uneven.dropna().sort_values()
totals = {name: totals[name] for name in sorted(uneven.index)}
shown = dict.fromkeys(uneven.index[[0, len(uneven) // 2, -1]])
drawings = {name: drawn(name, alpha=alpha, n_sigma=n_sigma) for name in shown}
panels = {f"{name}\n{len(drawing[1]):,} lines for {len(drawing[0]):,} samples": drawing
          for name, drawing in drawings.items()}
figure, _ = draw_fits(panels, xlabel=timer, ylabel=event, columns=3)
results.figure(
    figure, "streams",
    f"**Figure.** Cumulated `{event}` and its lines by the paper's rule (next section). Strokes at "
    "the foot: a line begins; below, how far each sample is from its line. "
    f"{source.capitalize()}. *See:* a sample's largest distance from a constant rate is "
    + ", ".join(f"{100 * uneven[name]:.2g} %" for name in shown)
    + " of the count, from left to right.",
)

# %% [markdown]
# ## The method
#
# A line is the least-squares line of its $n$ samples, with slope and intercept (Eq. 3 and 4)
#
# $$k_n = \frac{n S_{xy} - S_x S_y}{n S_{x^2} - S_x^2}, \qquad b_n = \frac{S_y S_{x^2} - S_x S_{xy}}{n S_{x^2} - S_x^2}$$
#
# It ends before a sample whose residual $r_{n+1} = y_{n+1} - k_n x_{n+1} - b_n$ is, without its sign, more than three standard deviations (§3.4),
#
# $$|r_{n+1}| > 3\hat\sigma, \qquad \hat\sigma = \sqrt{\tfrac{1}{n-2} \textstyle\sum_i (y_i - \hat y_i)^2} \tag{7}$$
#
# and the next line starts at the last sample of the old one. After two samples there is no $\hat\sigma$ yet, and $|r_3| < \alpha |\hat y_3|$ decides. The whole method, on the first of the cases above, in the paper's letters:

# %%
first = next(iter(shown))
x_all, y_all = totals[first][[timer, event]].to_numpy(float).T
starts, begin_at = [], 0
for i in range(2, len(x_all)):
    if i - begin_at < 2:
        continue
    x, y = x_all[begin_at:i], y_all[begin_at:i]
    x, y, n = x - x[0], y - y[0], i - begin_at  # about the line's first sample
    S_x, S_y, S_xy, S_x2 = x.sum(), y.sum(), (x * y).sum(), (x * x).sum()
    k = (n * S_xy - S_x * S_y) / (n * S_x2 - S_x**2)  # Eq. 3
    b = (S_y * S_x2 - S_x * S_xy) / (n * S_x2 - S_x**2)  # Eq. 4
    y_hat = k * (x_all[i] - x_all[begin_at]) + b + y_all[begin_at]
    r = abs(y_all[i] - y_hat)
    sigma = np.sqrt(((y - k * x - b) ** 2).sum() / (n - 2)) if n > 2 else np.nan
    if r > (n_sigma * sigma if n > 2 else alpha * abs(y_hat)):  # Eq. 7
        starts.append(x_all[begin_at])
        begin_at = i - 1
starts.append(x_all[begin_at])
print(f"{first}: {len(x_all)} samples, {len(starts)} lines")

# %% [markdown]
# Written so, it fits each line anew with each sample. The sums can be updated instead, so that time and memory a sample are bounded (Eq. 5 and 6, here with the same denominator):
#
# $$k_{n+1} = \frac{(n+1)(S_{xy} + x_{n+1}y_{n+1}) - (S_x + x_{n+1})(S_y + y_{n+1})}{(n+1)(S_{x^2} + x_{n+1}^2) - (S_x + x_{n+1})^2} \tag{5}$$
# $$b_{n+1} = \frac{(S_y + y_{n+1})(S_{x^2} + x_{n+1}^2) - (S_x + x_{n+1})(S_{xy} + x_{n+1}y_{n+1})}{(n+1)(S_{x^2} + x_{n+1}^2) - (S_x + x_{n+1})^2} \tag{6}$$
#
# Here $x$ and $y$ are counted from the line's first sample. Counted from zero they grow with the run, and rounding hides the breaks that come late.

# %%
regression = OnlineRegression(alpha=alpha, n_sigma=n_sigma)  # finds the same, sample by sample
rows = [regression.feed([x], [y]) for x, y in zip(x_all, y_all, strict=True)]
lines = regression.as_frame(np.concatenate(rows))
np.testing.assert_allclose(lines["x_start"], starts[:-1])
shown_lines = lines.head()
shown_lines["slope"] *= 1e6
shown_lines.map("{:,.0f}".format).rename(columns={"slope": f"slope, a million {timer}"})

# %% [markdown]
# ## How much smaller?
#
# A sample is two numbers, a line is three: its first $x$, slope and intercept (§3.1). Every case by three methods:
#
# - *as printed*: the paper's rule above. The paper names a weakness: samples that move slowly to one side widen $\hat\sigma$ until any sample fits.
# - *drift test* (Page 1954): such a line also ends when its residuals on one side have added up, $g_{n+1} = \max(0,\ g_n \pm r_{n+1} / \hat\sigma - \tfrac{1}{2}) > drift$.
# - *hard bound* (O'Rourke 1981): a line ends only where no straight line stays within it, $\max_i |y_i - k x_i - b| \le bound$.
#
# The reduction ratio is the number of samples per line. The paper has it from 10 to 1000 for most cases (§4.2), typically 10 to 100 (§5), and names two programs: 450.soplex with input 2 is reduced least, 453.povray most.

# %%
def fit(counts, timer, event):
    """Reduction and errors of one case by every method."""
    x, y = counts[timer], counts[event]
    paper_way = {"alpha": alpha, "n_sigma": n_sigma}
    ways = {"printed": paper_way, "drift": paper_way | {"drift": drift}}
    ways["bounded"] = {"bound": bound * max(np.ptp(y), 1)}
    qualities = {way: fit_quality(compress(x, y, **how), x, y) for way, how in ways.items()}
    whole = dict.fromkeys(["n_samples", "n_lines", "n_bytes"], int)
    return pd.DataFrame(qualities).T.rename_axis("method").astype(whole)


fits = pd.concat({name: fit(own, timer, event) for name, own in totals.items()}, names=["case"])
results.table(
    fits.drop(columns="n_bytes").reset_index(), "fits",
    f"**Table.** First 12 of {len(fits)} rows, every case by every method: samples, lines, samples "
    "per line (reduction); MNESD (below), largest and root mean square (rms) distance of samples "
    f"[shares of the count]. {about}", rows=12, decimals=5)

# %%
samples_mb = 16 * fits["n_samples"].xs("printed", level="method") / 1e6
lines_mb = fits["n_bytes"].xs("printed", level="method") / 1e6
sizes = pd.DataFrame({"samples": samples_mb, "lines": lines_mb})
most = printed["sample_data_mb"]
levels = {"paper, most samples from [MB]": most["most_from"],
          "paper, most samples to [MB]": most["most_to"]}
figure, _ = plot.by_case(sizes, ylabel="size [MB]", levels=levels)
results.figure(
    figure, "fig01",
    "**Online regression, Fig. 1.** Size [MB] as two numbers a sample, and as lines of three. "
    f"{about} *See:* the samples take {(samples_mb / lines_mb).median():.1f} times the size of "
    "the lines, in the median.",
)

# %%
reduction, mnesd, largest, rms = (fits[name].unstack() for name in
                                  ("reduction", "mnesd", "largest", "rms"))
of_paper = {printed["least_reduced"].replace(" ", "."): printed["reduction"]["min"]}
of_paper[printed["most_reduced"].replace(" ", ".")] = printed["reduction"]["max"]
NAMES = {"printed": "as printed", "drift": "drift test", "bounded": "hard bound"}
ratios = reduction[list(NAMES)].rename(columns=NAMES).assign(paper=pd.Series(of_paper))
levels = {f"paper, {name}": printed["reduction"][name] for name in ("min", "max")}
figure, _ = plot.by_case(ratios.dropna(axis=1, how="all"), levels=levels,
                         ylabel="samples per line")
results.figure(
    figure, "fig02",
    "**Online regression, Fig. 2.** Reduction: samples per line by the three methods, the hard "
    f"bound at {100 * bound:g} % of the count, and the paper's number where it prints one. {about} "
    f"*See:* medians {reduction['printed'].median():.0f}, {reduction['drift'].median():.0f} and "
    f"{reduction['bounded'].median():,.0f}; the bound's lines are fewer because they may lie "
    f"farther from the samples (rms {100 * rms['bounded'].median():.2g} % of the count in the "
    f"median, as printed {100 * rms['printed'].median():.2g} %).",
)

# %% [markdown]
# ## How well do they fit?
#
# The paper's measure is the *maximum normalized error standard deviation* (MNESD), the largest standard deviation of any line as a share of the event's range (§4.2). Here $y$ is the event's cumulative count, so its range is the whole run's count:
#
# $$\mathrm{MNESD} = \frac{\hat\sigma_{max}}{y_{max} - y_{min}}$$
#
# Its abstract says that it stays below 0.1; in its Figure 5 three cases exceed that. The measure is lenient: it is a share of the whole run's count, so a line that is far off in a short stretch hardly shows, and one line for the whole run may pass as well. The figure has this as a baseline, *one line*.

# %%
levels = {"paper's claim": printed["mnesd_below"]}
axis = "MNESD [share of the count]"
one_line = {}
for name, counts in totals.items():  # the least-squares line of all samples
    x, y = counts[timer].to_numpy(float), counts[counts.columns[1]].to_numpy(float)
    rest = y - np.polynomial.Polynomial.fit(x, y, 1)(x)
    one_line[name] = np.sqrt((rest**2).sum() / (len(x) - 2)) / np.ptp(y)
one_line = pd.Series(one_line)
drawn_mnesd = mnesd[["printed", "drift"]].rename(columns=NAMES).assign(**{"one line": one_line})
figure, _ = plot.by_case(drawn_mnesd, ylabel=axis, levels=levels)
results.figure(
    figure, "fig05",
    f"**Online regression, Fig. 5.** Largest standard deviation of any line (MNESD). {about} "
    f"*See:* the greatest is {mnesd['printed'].max():.4f}, with the drift test "
    f"{mnesd['drift'].max():.4f}; the paper's claim is {printed['mnesd_below']:g}, and one line "
    f"for the whole run is below that in {(one_line < printed['mnesd_below']).sum()} of "
    f"{len(one_line)} cases.",
)

# %% [markdown]
# The paper draws the case that it reduces least and the one it reduces most (Figures 3 and 4), the two with the largest MNESD (6 and 7) and the two with the smallest (8 and 9). Each panel names that place *in the paper*; the curve is what was recorded here, of the same program or, where that is not among the recordings, of the case that has this place here (a star).

# %%
by_reduction, by_mnesd = (table["printed"].sort_values().index for table in (reduction, mnesd))
of_paper_figures = [printed["least_reduced"], printed["most_reduced"]]
of_paper_figures += [*printed["worst_fits"][::-1], *printed["best_fits"][::-1]]
own = [by_reduction[0], by_reduction[-1], by_mnesd[-1], by_mnesd[-2:][0], by_mnesd[0]]
own.append(by_mnesd[:2][-1])
same = [name for name in of_paper_figures if name.replace(" ", ".") in totals]
order = mnesd["printed"].rank().astype(int)
panels = {}
ROLES = {3: "least reduced", 4: "most reduced", 6: "a worst fit", 7: "a worst fit",
         8: "a best fit", 9: "a best fit"}
for number, theirs, ours in zip(ROLES, of_paper_figures, own, strict=True):
    name = theirs.replace(" ", ".") if theirs in same else ours
    ratio, spread = reduction.at[name, "printed"], mnesd.at[name, "printed"]
    star = "" if theirs in same else "*"
    title = f"{name}{star}: MNESD {100 * spread:.2g} %, {ratio:.0f} samples per line\n"
    title += f"(the paper's Fig. {number}: {ROLES[number]} of its own)"
    panels[title] = drawn(name, alpha=alpha, n_sigma=n_sigma)

# %%
figure, _ = draw_fits(panels, xlabel=timer, ylabel=event)
results.figure(
    figure, "fig03-fig09",
    "**Online regression, Fig. 3, 4, 6 to 9.** Fits as printed. The paper draws, in this order, "
    f"{', '.join(of_paper_figures)}; a star: another case, which has that place here. "
    f"{source.capitalize()}. *See:* "
    + ("the order is not the paper's: from the best fit (1) to the worst, "
       + ", ".join(f"{name} has place {order[name.replace(' ', '.')]}" for name in same)
       + f" of {len(order)}." if same else "none of the paper's programs is here."),
)

# %% [markdown]
# ## By cycles, and on another suite
#
# The paper's timer is cycles. Here they were counted beside the stores: the same method on last-level store misses, by cycles and by instructions. The second suite is SPEC CPU2000 on an AMD processor (`cmlib fetch spec2000`): mispredicted branches by instructions.

# %%
of_llc = event == EVENTS["spec-llc"]
cycles = load_suite("spec-llc", "LLC-store-misses", cases, folder=folder) if of_llc else {}
bodies = {f"{event} by {timer}, above": fits}
ways = {f"spec-llc: store misses by {name}": (cycles, name) for name in ("instructions", "cycles")}
older = load_suite("spec2000", EVENTS["spec2000"], folder=folder) if of_llc else {}
ways["spec2000: mispredicted branches by instructions"] = (older, "instructions")
for body, (found, axis) in ways.items():
    if found:
        counted = "LLC-store-misses" if found is cycles else EVENTS["spec2000"]
        every = {name: fit(own, axis, counted) for name, own in found.items()}
        bodies[body] = pd.concat(every, names=["case"])
a_sample = [np.ptp(own["cycles"]) / (len(own) - 1) / 1e6 for own in cycles.values()]
if a_sample:
    print(f"A sample of spec-llc is {np.median(a_sample):.0f} million cycles in the median of "
          f"{len(a_sample)} cases ({min(a_sample):.0f} to {max(a_sample):.0f}); the paper has one "
          "each million. What a program does within a sample is not seen here.")

# %%
by_body = pd.concat(bodies, names=["body"]).groupby(["body", "method"], sort=False)
summary = by_body[["reduction", "mnesd", "largest"]].agg(["min", "median", "max"])
summary.columns = [f"{name}, {what}" for name, what in summary.columns]
summary.loc[:, summary.columns.str.startswith(("mnesd", "largest"))] *= 100
summary.insert(0, "cases", by_body.size())
columns = ["cases", *(f"reduction, {what}" for what in ("min", "median", "max")), "mnesd, max"]
results.table(
    summary[[*columns, "largest, max"]].reset_index(), "bodies",
    "**Table.** Reduction [samples a line], largest MNESD and largest distance [% of the "
    "count] over the cases of each body (recordings, event and timer). A standard "
    "deviation divides by n − 2, so that of a short line may exceed its largest distance.")

# %% [markdown]
# ## The numbers

# %%
ratio = reduction["printed"]
for what, case, end in ("least", ratio.idxmin(), "min"), ("greatest", ratio.idxmax(), "max"):
    note = f"{case}; the paper: {printed['least_reduced' if end == 'min' else 'most_reduced']}"
    results.number(f"samples a line (the paper's reduction), {what}", ratio[case], "x",
                   paper=printed["reduction"][end], note=note)
results.number("samples a line (the paper's reduction), median", ratio.median(), "x",
               note="the paper: 10 to 1000 for most (§4.2), typically 10 to 100 (§5)")
for method, spread in mnesd.items():
    claim = 100 * printed["mnesd_below"] if method == "printed" else None
    note = "the paper's claim, which three of its cases exceed; " if claim else ""
    note += f"largest distance {100 * largest[method].max():.2f} % of the count; "
    note += f"reduction {reduction[method].min():.1f} to {reduction[method].max():.0f} x"
    results.number(f"greatest standard deviation about a line (MNESD), {method}",
                   100 * spread.max(), "% of the count", paper=claim, note=note)
results.numbers()

# %%
fewer, samples_lines = (largest["drift"] < largest["printed"]).sum(), samples_mb / lines_mb
for what, value in samples_lines.agg(["median", "min", "max"]).items():
    results.number(f"size of the samples / size of the lines, {what}", value, "x")
for method in largest:
    results.number(f"largest distance of a sample from its line, {method}",
                   100 * largest[method].max(), "% of the count")
results.number("cases in which one line passes the paper's measure of fit",
               (one_line < printed["mnesd_below"]).sum(), "cases", note=f"of {len(one_line)}")
bytes_a_line = (reduction["printed"] / samples_lines).median()
whose = ("last-level load misses of SPEC CPU2006, others' recordings on a Xeon Gold 5120"
         if source.endswith("spec-llc") else source)

# %%
display(results.finding(
    f"{samples_lines.median():.0f} times smaller (median of {len(reduction)} cases; {whose}; "
    f"{samples_lines.min():.1f} to {samples_lines.max():.0f} times), and no sample is farther from "
    f"its line than {100 * largest['printed'].max():.2g} % of the run's count. That is "
    f"{reduction['printed'].min():.1f} to {reduction['printed'].max():.0f} samples per line, which "
    f"takes as many bytes as {bytes_a_line:.1f} samples; the paper, of other recordings, has "
    f"about {printed['reduction']['min']} to {printed['reduction']['max']}. Its measure of the fit "
    f"(MNESD below {printed['mnesd_below']:g}) shows little: one line for the whole run passes it "
    f"in {(one_line < printed['mnesd_below']).sum()} of {len(one_line)} cases."))
display(results.finding(
    f"With a drift test the largest distance falls to {100 * largest['drift'].max():.2g} % (it is "
    f"smaller in {fewer} of {len(largest)} cases), at {reduction['drift'].median():.0f} samples "
    f"per line (median) in place of {reduction['printed'].median():.0f}. A hard bound of "
    f"{100 * bound:g} % of the count gets {reduction['bounded'].median():,.0f} samples per line "
    f"(median), but its rms is larger (median {100 * rms['bounded'].median():.2g} %, as printed "
    f"{100 * rms['printed'].median():.2g} %)."))
if "spec2000" in " ".join(bodies):
    older = next(body for body in bodies if body.startswith("spec2000"))
    of_older = bodies[older].xs("printed", level="method")
    few = 16 * of_older["n_samples"] / of_older["n_bytes"]
    results.finding(f"On SPEC CPU2000 (mispredicted branches, {len(few)} cases, others' recordings)"
                    f" {few.median():.1f} times smaller, {few.min():.1f} at least.")

# %% [markdown]
# ## Explore
#
# In JupyterLab: choose a case and a method; the figure shows where its lines end.

# %%
def draw_lines(stream, event, alpha, n_sigma, drift):
    """Samples of a stream and their lines, with size and errors."""
    x, y = totals[stream].iloc[:, 0], totals[stream][event]
    lines = compress(x, y, alpha=alpha, n_sigma=n_sigma, drift=drift or None)
    samples = y.set_axis(x.to_numpy())
    distances = (samples - reconstruct(lines, x)).iloc[:: max(1, len(y) // 4000)]
    figure, _ = draw_fits({f"{stream}: {event}": (samples.loc[distances.index], line_ends(lines),
                                                  distances)}, columns=1,
                          xlabel=f"{x.name}, cumulated", ylabel=f"{event},\ncumulated")
    found = pd.Series(fit_quality(lines, x, y)).to_frame(f"of {len(y):,} samples")
    return figure, found.to_html(float_format="{:.4g}".format)


astray = largest["printed"].idxmax()
controls = {
    "stream": explore.dropdown("stream", list(totals), astray),
    "event": explore.dropdown("event", list(totals[astray])[1:], event),
    "alpha": explore.slider("α (share of the count)", 0.0, 0.1, step=0.005, value=0.01),
    "n_sigma": explore.slider("σ (std. deviations)", 0.5, 10.0, step=0.5, value=3.0),
    "drift": explore.slider("drift test (0: none)", 0, 100, step=5, value=0),
}
# %%
panel = explore.Panel(draw_lines, controls, {
    "stream": lambda stream: explore.offer(controls["event"], list(totals[stream])[1:])})
caption = (f"**Figure.** What the widgets show at first: {astray}, the case whose samples lie "
           f"farthest from their lines. {source.capitalize()}. *See:* without the drift test a "
           "line goes on while samples move slowly to one side.")
panel if notebook.interactive else results.figure(panel.figure(), "explore", caption)

# %% [markdown]
# ## What this doesn't show
#
# Twenty of the paper's 57 cases; 453.povray and 998.specrand, which it draws, are not among them. The processor, its prefetchers and its last-level cache (1.75 MiB, one way of it) are others. Samples are coarser than the paper's, so that its least and greatest reduction stand beside ours for their order of magnitude only; how the method does at a sample each million cycles is seen only on kernel events (`-p suite=samples`, notebook studies/recording_lines). Loads and stores are of different runs, and counts of user mode only.
#
# **References.** Wu and Mencer, *Online Linear Regression of Sampling Data from Performance Event Counters*. Navarro-Torres et al., *Memory hierarchy characterization of SPEC CPU2006 and SPEC CPU2017 on the Intel Xeon Skylake-SP*, PLOS ONE 2019 (the streams). O'Rourke, *An on-line algorithm for fitting straight lines between data ranges*, 1981. Page, *Continuous inspection schemes*, 1954.

# %%
results.save()
