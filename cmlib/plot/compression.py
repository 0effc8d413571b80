"""Samples as piecewise-linear segments: cases side by side, fits, and size against error."""

from matplotlib.collections import LineCollection

from cmlib.plot.style import legend_right, palette, panels, single, styled

_MARKS = "os^DvP"


@styled
def by_case(frame, *, ylabel, levels=None, log=True):
    """A mark a case and column, cases from left to right, with dashed lines to compare with."""
    figure, ax = single(3.4)
    places = range(len(frame))
    for column, colour, mark in zip(frame, palette(frame.shape[1]), _MARKS, strict=False):
        ax.plot(places, frame[column].to_numpy(), mark, color=colour, ms=4.5, label=column, alpha=0.9)
    for (label, level), style in zip((levels or {}).items(), ("--", ":", "-."), strict=False):
        ax.axhline(level, color="#333333", lw=1, ls=style, label=f"{label}: {level:g}")
    ax.set_xticks(places, frame.index, rotation=90)
    ax.set(ylabel=ylabel, xlim=(-0.7, len(frame) - 0.3))
    if log:
        ax.set_yscale("log")
    else:
        ax.set_ylim(0, None)
    legend_right(ax)
    return figure, ax


@styled
def fits(cases, *, xlabel, ylabel, columns=2):
    """Lines and the samples that they stand for, a panel a case; below each, how far its samples lie from them.

    A case is samples (Series by x), the ends of its lines, and the samples' distances from these.
    """
    figure, axes = panels(list(cases), columns=columns, height=3.6)
    below = []
    colours = palette(2)
    for ax, (title, (samples, lines, distances)) in zip(axes, cases.items(), strict=True):
        segments = lines[["x_start", "y_start", "x_end", "y_end"]].to_numpy().reshape(-1, 2, 2)
        ax.add_collection(
            LineCollection(segments, colors=[colours[1]], linewidths=2.4, alpha=0.6, label="lines")
        )
        ax.plot(
            samples.index, samples.to_numpy(), ".", color=colours[0], ms=1.2, label="samples", rasterized=True
        )
        ax.plot(
            lines["x_start"], lines["y_start"], "|", color="#333333", ms=5, mew=0.6, label="a line begins"
        )
        ax.set(title=title, ylabel=ylabel)
        rest = ax.inset_axes([0, -0.42, 1, 0.3], sharex=ax)
        rest.plot(distances.index, distances.to_numpy(), ".", color=colours[0], ms=1, rasterized=True)
        rest.axhline(0, color=colours[1], lw=1)
        rest.set(xlabel=xlabel, ylabel="off")
        ax.tick_params(labelbottom=False)
        below.append(rest)
    axes[0].legend(loc="upper left")
    return figure, [*axes, *below]
