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
    """Samples as points and the lines that stand for them, a panel a case."""
    figure, axes = panels(list(cases), columns=columns, height=2.7)
    colours = palette(2)
    for ax, (title, (samples, lines)) in zip(axes, cases.items(), strict=True):
        ax.plot(
            samples.index, samples.to_numpy(), ".", color=colours[0], ms=2.5, label="samples", rasterized=True
        )
        segments = lines[["x_start", "y_start", "x_end", "y_end"]].to_numpy().reshape(-1, 2, 2)
        ax.add_collection(LineCollection(segments, colors=[colours[1]], linewidths=1.3, label="lines"))
        ax.plot(lines["x_start"], lines["y_start"], "|", color=colours[1], ms=6)
        ax.set(title=title, xlabel=xlabel, ylabel=ylabel)
    axes[0].legend(loc="upper left")
    return figure, axes
