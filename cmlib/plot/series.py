"""Series over time or progress."""

from cmlib.plot.style import blank, palette, panels, styled


@styled
def series(lines, *, ylabel, marks=None, title=""):
    """Several series of one event over time.

    Parameters
    ----------
    lines : dict of str to Series
        Label to values, indexed by time [s].
    ylabel : str
        Quantity and unit.
    marks : Series, optional
        Points to ring: the samples that cleaning changed, at their new values.
    title : str
    """
    figure, axes = blank(2.8)
    ax = axes[0, 0]
    # The first line is the widest, so that it shows where a later one covers it.
    widths = [3.4 - 1.1 * min(place, 2) for place in range(len(lines))]
    for (label, values), colour, width in zip(lines.items(), palette(len(lines)), widths, strict=True):
        ax.plot(values.index, values.to_numpy(), label=label, color=colour, linewidth=width, alpha=0.9)
    if marks is not None and len(marks):
        ax.plot(
            marks.index, marks.to_numpy(), "o", mfc="none", mec="#444444", ms=5, label="changed by cleaning"
        )
    ax.set(xlabel="time [s]", ylabel=ylabel, title=title, ylim=(0, None))
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure, ax


@styled
def series_by_program(runs, *, ylabel, xlabel="time [s]"):
    """A panel a program, a line a run."""
    figure, axes = panels(list(runs))
    for ax, (program, lines) in zip(axes, runs.items(), strict=True):
        for (label, values), colour in zip(lines.items(), palette(len(lines)), strict=True):
            ax.plot(values.index, values.to_numpy(), label=label, color=colour, linewidth=1.0, alpha=0.85)
        ax.set(title=program, xlabel=xlabel, ylabel=ylabel, ylim=(0, None))
    if len(lines) > 1:
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=8)
    return figure, axes
