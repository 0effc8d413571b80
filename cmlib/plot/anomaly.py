"""Reconstruction errors of runs, and how well they tell good from bad."""

from cmlib.plot.style import blank, palette, panels, styled

_KINDS = {"training": "learned from", "good": "good, new", "bad": "anomalous"}
_LETTER = 0.0066  # of a counter's name, as a share of the figure's width


@styled
def settling(series, *, stops, ylabel):
    """A panel a program: a quantity against the number of training runs, and where Algorithm 1 stops."""
    figure, axes = panels(list(series), height=2.4)
    for ax, (name, values) in zip(axes, series.items(), strict=True):
        ax.plot(values.index, values.to_numpy(), color=palette(1)[0], lw=1.4)
        if name in stops:
            ax.axvline(stops[name], color="#444444", ls="--", lw=1)
            side = "right" if stops[name] > values.index[len(values) // 2] else "left"
            ax.annotate(f"stops at {stops[name]}", (stops[name], 0.94), xycoords=("data", "axes fraction"),
                        xytext=(-4 if side == "right" else 4, 0), textcoords="offset points", ha=side, va="top",
                        fontsize=8)  # fmt: skip
        ax.set(title=name, ylim=(0, None), xlabel="training runs")
    axes[0].set_ylabel(ylabel)
    return figure, axes


@styled
def sample_errors(samples, *, thresholds):
    """A panel a program: every sample's reconstruction error, run after run, against the threshold."""
    figure, axes = panels(list(samples), height=2.6)
    for ax, (name, frame) in zip(axes, samples.items(), strict=True):
        _scatter(ax, frame, thresholds[name])
        ax.set(title=name, xlabel="sample")
    axes[0].set_ylabel("reconstruction error")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure, axes


@styled
def curves(frame, *, x, ys, xlabel, ylabel, by=None, log=False, level=None):
    """Lines with a mark a row: one a column of `ys`, or one a value of `by`."""
    figure, axes = blank(2.9)
    ax = axes[0, 0]
    lines = [(label, frame[x], frame[y]) for y, label in ys.items()]
    if by is not None:
        column = next(iter(ys))
        lines = [(name, group[x], group[column]) for name, group in frame.groupby(by, sort=False)]
    for (label, across, up), colour in zip(lines, palette(len(lines)), strict=True):
        ax.plot(across, up, "o-", color=colour, label=label, ms=4, lw=1.3)
    if level:
        ax.axhline(level[1], color="#444444", ls="--", lw=1, label=level[0])
    ax.axhline(0, color="#999999", lw=0.8)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    if log:
        ax.set_xscale("log")
    ax.set_xticks(sorted(set(frame[x])))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure, ax


@styled
def sample_and_counters(samples, counters, *, threshold, chosen, title):
    """Above, every sample's error against the threshold, one ringed; below, the counters behind that one."""
    figure, axes = blank(5.2, rows=2)
    # Laid out by hand: to find the room for the labels takes longer than to draw the figure.
    figure.set_layout_engine(None)
    ax, below = axes[:, 0]
    names = 0.02 + _LETTER * max(map(len, counters.index))
    ax.set_position([0.08, 0.49, 0.76, 0.46])
    below.set_position([names, 0.09, 0.98 - names, 0.29])
    _scatter(ax, samples, threshold)
    ax.plot(
        chosen, samples["error"].iloc[chosen], "o", ms=10, mfc="none", mec="#111111", mew=1.6, label="chosen"
    )
    ax.set(title=title, xlabel="sample", ylabel="reconstruction error")
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
    below.barh(range(len(counters)), counters.to_numpy(), color=palette(4)[3])
    below.set(yticks=range(len(counters)), xlabel="share of the chosen sample's error [%]", xlim=(0, 100))
    below.set_yticklabels(counters.index, fontsize=7.5)
    below.invert_yaxis()
    return figure, ax


def _scatter(ax, frame, threshold):
    """Samples in their order, coloured by kind."""
    for (kind, label), colour in zip(
        _KINDS.items(), (palette(8)[7], palette(8)[0], palette(8)[3]), strict=True
    ):
        own = (frame["kind"] == kind).to_numpy().nonzero()[0]
        ax.plot(own, frame["error"].iloc[own], ".", ms=2.5, color=colour, label=label, rasterized=True)
    ax.axhline(threshold, color="#222222", lw=1, ls="--", label="threshold")
    ax.set_yscale("log")
