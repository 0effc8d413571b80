"""Reconstruction errors of runs, and how well they tell good from bad."""

from cmlib.plot.series import series_by_program
from cmlib.plot.style import bars_across, blank, legend_right, palette, single, styled

# Label and place in the palette by kind of run.
_KINDS = {"training": ("learned from", 7), "good": ("good, new", 0), "bad": ("anomalous", 3)}


@styled
def settling(series, *, stops, ylabel):
    """A panel a program: a quantity against the number of training runs, and where Algorithm 1 stops."""
    lines = {name: {"": values} for name, values in series.items()}
    figure, axes = series_by_program(lines, xlabel="training runs", ylabel=ylabel)
    for ax, name in zip(axes, series, strict=True):
        if name in stops:
            ax.axvline(stops[name], color="#444444", ls="--", lw=1)
            ax.set_title(f"{name}: stops at {stops[name]}")
    return figure, axes


@styled
def curves(frame, *, x, ys, xlabel, ylabel, by=None, log=False, level=None):
    """Lines with a mark a row: one a column of `ys`, or one a value of `by`."""
    figure, ax = single(2.9)
    lines = [(label, frame[x], frame[y]) for y, label in ys.items()]
    if by is not None:
        column = next(iter(ys))
        lines = [(name, group[x], group[column]) for name, group in frame.groupby(by, sort=False)]
    for (label, across, up), colour in zip(lines, palette(len(lines)), strict=True):
        ax.plot(across, up, "o-", color=colour, label=label, ms=4, lw=1.3)
    if level:
        ax.axhline(level[1], color="#444444", ls="--", lw=1, label=level[0])
    ax.axhline(0, color="#999999", lw=0.8)
    ax.set(xlabel=xlabel, ylabel=ylabel, xscale="log" if log else "linear")
    ax.set_xticks(sorted(set(frame[x])))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    legend_right(ax)
    return figure, ax


@styled
def sample_and_counters(samples, counters, *, threshold, chosen, title):
    """Above, every sample's error against the threshold, one ringed; below, the counters behind that one."""
    figure, axes = blank(5.2, rows=2, gridspec_kw={"height_ratios": (3, 2)})
    ax, below = axes[:, 0]
    scatter_samples(ax, samples, threshold)
    error = samples["error"].iloc[chosen]
    ax.plot(chosen, error, "o", ms=10, mfc="none", mec="#111111", mew=1.6, label="chosen")
    ax.set(title=title, xlabel="sample", ylabel="reconstruction error")
    legend_right(ax)
    bars_across(below, counters, counters.index, palette(4)[3])
    below.set(xlabel="share of the chosen sample's error [%]", xlim=(0, 100))
    return figure, ax


def scatter_samples(ax, frame, threshold):
    """Samples in their order, coloured by kind."""
    for kind, (label, place) in _KINDS.items():
        own = (frame["kind"] == kind).to_numpy().nonzero()[0]
        errors = frame["error"].iloc[own]
        ax.plot(own, errors, ".", ms=2.5, color=palette(8)[place], label=label, rasterized=True)
    ax.axhline(threshold, color="#222222", lw=1, ls="--", label="threshold")
    ax.set_yscale("log")
