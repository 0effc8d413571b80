"""Series over time or progress."""

from matplotlib.figure import Figure

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


_BILLIONS, _MILLIONS = "instructions executed [10⁹]", "instructions executed [million]"
_COLOURS = ("#c9ced3", "#f0b429", "#7a1257", "#00548f", "#2a7f62")


@styled
def simulated_phases(parts, starts, *, title=""):
    """Estimated cycles per instruction over the run, stacked by what they are charged for."""
    figure, axes = blank(3.0)
    ax = axes[0, 0]
    _stack(ax, parts, starts)
    ax.set(title=title or "simulated, not measured", ylabel="estimated cycles\nper instruction")
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), reverse=True)
    return figure, ax


@styled
def simulated_card(parts, starts):
    """The same for the report's first page, half as wide."""
    figure = Figure(figsize=(3.9, 3.2), layout="constrained")
    ax = figure.subplots()
    _stack(ax, parts, starts)
    ax.set(title="estimated cycles per instruction", ylabel="")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8.5)
    return figure, ax


def _stack(ax, parts, starts):
    ends = [0.0, *parts.index]
    edges = [edge for pair in zip(ends, ends[1:], strict=False) for edge in pair]
    heights = [[value for value in parts[name] for _ in range(2)] for name in parts]
    ax.stackplot(edges, heights, labels=list(parts), colors=_COLOURS[: len(heights)], lw=0)
    for start in starts:
        if start > 0:
            ax.axvline(start, color="#222222", lw=0.8, ls=":")
    xlabel = _MILLIONS if parts.index.name == "million_instructions" else _BILLIONS
    ax.set(xlim=(0, edges[-1]), ylim=(0, None), xlabel=xlabel)
