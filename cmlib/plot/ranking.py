"""Models and what matters in them."""

from matplotlib.patches import Patch

from cmlib.plot.style import palette, panels, styled

_CLASSES = {
    "stall": ("stalls", "#c8553d"),
    "miss": ("misses", "#e0a030"),
    "mix": ("instruction mix", "#5b8fc9"),
    "other": ("other events", "#9aa0a8"),
}


@styled
def refinement(histories, *, lines, marked, paper=None, paper_label="paper, mean of HiBench"):
    """Model error against the number of events left, a panel a program."""
    figure, axes = panels(list(histories), height=2.5, sharex=True)
    colours = palette(len(lines) + 1)
    for ax, (program, history) in zip(axes, histories.items(), strict=True):
        for (column, label), colour in zip(lines.items(), colours, strict=False):
            if history[column].isna().all():
                continue
            ax.plot(history["n_events"], history[column], label=label, color=colour, marker=".", ms=3, lw=1.1)
        if paper:
            ax.plot(list(paper), list(paper.values()), "x", color=colours[-1], label=paper_label)
        ax.axvline(marked[program], color="#555555", lw=0.8, ls=":", label="model kept")
        ax.set(title=program, xlabel="number of events", ylabel="error [%]", ylim=(0, None))
    axes[0].invert_xaxis()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure, axes


@styled
def ranking(frames, *, value, label, low=None, high=None, xlabel, columns=4, row_height=0.2):
    """The first entries of a ranking as horizontal bars, a panel a program."""
    rows = max(len(frame) for frame in frames.values())
    figure, axes = panels(list(frames), columns=columns, height=0.9 + row_height * rows)
    for ax, (program, frame) in zip(axes, frames.items(), strict=True):
        places = range(len(frame))
        ax.barh(places, frame[value], color=palette(1)[0], height=0.7)
        if low is not None:
            ax.hlines(places, frame[low], frame[high], color="#333333", lw=1)
        ax.set_yticks(places, frame[label])
        ax.invert_yaxis()
        ax.grid(True, axis="x")
        ax.grid(False, axis="y")
        ax.set(title=program, xlabel=xlabel)
    return figure, axes


@styled
def event_clusters(frames, *, columns=2):
    """Clusters of events as bars with their intervals, coloured by what they count, a panel a program."""
    rows = max(len(frame) for frame in frames.values())
    figure, axes = panels(list(frames), columns=columns, height=0.9 + 0.36 * rows)
    for ax, (program, frame) in zip(axes, frames.items(), strict=True):
        places = range(len(frame))
        ax.barh(places, frame["importance"], color=[_CLASSES[one][1] for one in frame["class"]], height=0.65)
        ax.hlines(places, frame["low"], frame["high"], color="#333333", lw=1.2)
        ax.set_yticks(places, frame["label"])
        ax.invert_yaxis()
        ax.grid(True, axis="x")
        ax.grid(False, axis="y")
        ax.set(title=program, xlabel="importance [%]")
    shown = {one for frame in frames.values() for one in frame["class"]}
    handles = [Patch(color=colour, label=label) for one, (label, colour) in _CLASSES.items() if one in shown]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure, axes
