"""Where the estimated cycles of a simulated run go."""

from matplotlib.figure import Figure

from cmlib.plot.style import blank, styled

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
