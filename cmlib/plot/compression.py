"""Measures of many cases side by side."""

from cmlib.plot.style import legend_right, palette, single, styled

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
