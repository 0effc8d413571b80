"""Models and what matters in them."""

from matplotlib.patches import Patch

from cmlib.plot.style import blank, palette, panels, styled

_CLASSES = {
    "stall": ("stalls", "#c8553d"),
    "miss": ("misses", "#e0a030"),
    "mix": ("instruction mix", "#5b8fc9"),
    "other": ("other events", "#9aa0a8"),
}


@styled
def refinement(histories, *, lines, marked, paper=None, paper_label="paper, mean of HiBench"):
    """Model error against the number of events left, a panel a program.

    Parameters
    ----------
    histories : dict of str to DataFrame
        Program to a frame with ``n_events`` and the columns named in `lines` [%].
    lines : dict of str to str
        Column to its label.
    marked : dict of str to int
        Program to the number of events of the model that is kept.
    paper : dict of int to float, optional
        The paper's mean error [%] by number of events.
    paper_label : str
        Whose mean it is.
    """
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
    """The first entries of a ranking as horizontal bars, a panel a program.

    Parameters
    ----------
    frames : dict of str to DataFrame
        Program to the rows to show, first on top.
    value, label : str
        Columns with a bar's length and its name.
    low, high : str, optional
        Columns with the ends of the thin line that shows the spread.
    xlabel : str
    columns : int, default 4
        Panels beside each other.
    row_height : float, default 0.2
        Of a bar with its name [inches]; more for names of several lines.
    """
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
def families(frames, *, columns=2):
    """Families of events as bars with their intervals, coloured by what they count, a panel a program.

    Parameters
    ----------
    frames : dict of str to DataFrame
        Program to the rows to show, first on top: ``label``, ``class`` ("stall", "miss", "mix" or "other"),
        ``importance``, ``low`` and ``high`` [%].
    columns : int, default 2
        Panels beside each other.
    """
    rows = max(len(frame) for frame in frames.values())
    figure, axes = panels(list(frames), columns=columns, height=0.9 + 0.36 * rows)
    for ax, (program, frame) in zip(axes, frames.items(), strict=True):
        _family_bars(ax, frame, program)
    _class_legend(figure, {one for frame in frames.values() for one in frame["class"]})
    return figure, axes


@styled
def families_beside_cycles(rows, cycles, *, title):
    """A program's families as bars, and what one of them adds over progress.

    Parameters
    ----------
    rows : DataFrame
        As :func:`families` takes them.
    cycles : dict of str to Series
        Cycles per 1,000 instructions above the mean, by progress: of ``all``, as measured, and of one ``family``.
    title : str
    """
    figure, axes = blank(max(3.2, 1.0 + 0.36 * len(rows)), columns=2)
    left, right = axes[0]
    _family_bars(left, rows, title)
    labels = {"all": "measured", "family": "the family"}
    for (name, values), colour, width in zip(cycles.items(), ("#9aa0a8", "#222222"), (2.0, 1.2), strict=True):
        right.plot(values.index, values.to_numpy(), color=colour, lw=width, label=labels[name])
    right.axhline(0.0, color="#333333", lw=0.6)
    right.set(
        title="cycles per 1,000 instructions above the mean",
        xlabel="progress [share of instructions]",
        xlim=(0, 1),
    )
    right.legend(loc="best", fontsize=8)
    _class_legend(figure, set(rows["class"]))
    return figure, axes[0]


def _family_bars(ax, rows, title):
    places = range(len(rows))
    ax.barh(places, rows["importance"], color=[_CLASSES[one][1] for one in rows["class"]], height=0.65)
    ax.hlines(places, rows["low"], rows["high"], color="#333333", lw=1.2)
    ax.set_yticks(places, rows["label"])
    ax.invert_yaxis()
    ax.grid(True, axis="x")
    ax.grid(False, axis="y")
    ax.set(title=title, xlabel="importance [%]")


def _class_legend(figure, shown):
    handles = [Patch(color=colour, label=label) for one, (label, colour) in _CLASSES.items() if one in shown]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
