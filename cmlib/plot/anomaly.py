"""Reconstruction errors of runs, and how well they tell good from bad."""

from cmlib.plot.style import legend_right, palette, single, styled


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
