"""Figures: each takes results and returns ``(figure, axes)``; nothing is computed here."""

import functools
import math

import matplotlib
import seaborn as sns
from matplotlib.figure import Figure

_WIDTH = 9.0
_STYLE = {
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.labelsize": 9,
    "font.size": 9,
    "grid.color": "#e3e5e8",
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "cmlib",
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
}


def _styled(draw):
    @functools.wraps(draw)
    def in_style(*args, **kwargs):
        with matplotlib.rc_context({**sns.axes_style("ticks"), **_STYLE}):
            return draw(*args, **kwargs)

    return in_style


def _palette(n):
    return sns.color_palette("colorblind", n)


def _figure(height, *, rows=1, columns=1, **sharing):
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **sharing)


def _panels(names, *, columns=2, height=2.3, **sharing):
    """One small axes a name, row by row; the left-over ones are taken away."""
    columns = min(columns, max(1, len(names)))
    rows = math.ceil(len(names) / columns)
    figure, axes = _figure(height * rows, rows=rows, columns=columns, **sharing)
    flat = axes.ravel()
    for left_over in flat[len(names) :]:
        left_over.remove()
    return figure, flat[: len(names)]


@_styled
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
    figure, axes = _figure(2.8)
    ax = axes[0, 0]
    # The first line is the widest, so that it shows where a later one covers it.
    widths = [3.4 - 1.1 * min(place, 2) for place in range(len(lines))]
    for (label, values), colour, width in zip(lines.items(), _palette(len(lines)), widths, strict=True):
        ax.plot(values.index, values.to_numpy(), label=label, color=colour, linewidth=width, alpha=0.9)
    if marks is not None and len(marks):
        ax.plot(
            marks.index, marks.to_numpy(), "o", mfc="none", mec="#444444", ms=5, label="changed by cleaning"
        )
    ax.set(xlabel="time [s]", ylabel=ylabel, title=title, ylim=(0, None))
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure, ax


@_styled
def series_by_program(runs, *, ylabel, xlabel="time [s]"):
    """A panel a program, a line a run.

    Parameters
    ----------
    runs : dict of str to dict of str to Series
        Program to label to values, indexed by what `xlabel` says.
    ylabel, xlabel : str
    """
    figure, axes = _panels(list(runs))
    for ax, (program, lines) in zip(axes, runs.items(), strict=True):
        for (label, values), colour in zip(lines.items(), _palette(len(lines)), strict=True):
            ax.plot(values.index, values.to_numpy(), label=label, color=colour, linewidth=1.0, alpha=0.85)
        ax.set(title=program, xlabel=xlabel, ylabel=ylabel, ylim=(0, None))
    if len(lines) > 1:
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=8)
    return figure, axes


@_styled
def bars_by_program(frame, *, value, hue, ylabel, levels=None):
    """Bars grouped by program, one colour a `hue`, and dashed lines to compare with.

    Parameters
    ----------
    frame : DataFrame
        Columns ``program``, `hue` and `value`; several rows a bar are averaged,
        and their spread is drawn as a thin line from least to greatest.
    value, hue : str
    ylabel : str
    levels : dict of str to float, optional
        Label to height of a dashed line, such as the paper's mean.
    """
    figure, axes = _figure(3.2)
    ax = axes[0, 0]
    hues = list(dict.fromkeys(frame[hue]))
    sns.barplot(
        frame,
        x="program",
        y=value,
        hue=hue,
        hue_order=hues,
        palette=_palette(len(hues)),
        ax=ax,
        errorbar=("pi", 100),
        err_kws={"linewidth": 1.0, "color": "#333333"},
    )
    for (label, level), grey in zip((levels or {}).items(), ("#222222", "#8a8f94"), strict=False):
        ax.axhline(level, color=grey, linestyle="--", linewidth=1, label=f"{label}: {level:g}")
    ax.set(xlabel="", ylabel=ylabel, ylim=(0, None))
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), title="")
    return figure, ax


@_styled
def heat(frame, *, label, centre=None, decimals=2):
    """A table as colours with its numbers written in: rows down, columns across.

    Parameters
    ----------
    frame : DataFrame of float
    label : str
        What the colour means, with its unit.
    centre : float, optional
        The value that is drawn neutral, such as 1 for ratios.
    """
    figure, axes = _figure(0.6 + 0.3 * len(frame))
    ax = axes[0, 0]
    sns.heatmap(
        frame,
        ax=ax,
        annot=True,
        fmt=f".{decimals}f",
        cmap="vlag" if centre is not None else "crest",
        center=centre,
        robust=True,
        linewidths=0.5,
        annot_kws={"fontsize": 8},
        cbar_kws={"label": label},
    )
    ax.set(xlabel="", ylabel="")
    ax.grid(False)
    ax.tick_params(axis="both", length=0)
    ax.tick_params(axis="x", rotation=0)
    return figure, ax


@_styled
def shares(frame, *, xlabel):
    """Cumulative distribution of a share, a line a kind.

    Parameters
    ----------
    frame : DataFrame
        Columns ``kind`` and ``share`` (0–1).
    """
    figure, axes = _figure(2.8)
    ax = axes[0, 0]
    kinds = list(dict.fromkeys(frame["kind"]))
    sns.ecdfplot(frame, x="share", hue="kind", hue_order=kinds, palette=_palette(len(kinds)), ax=ax)
    ax.set(xlabel=xlabel, ylabel="share of intervals", xlim=(0, 1.02), ylim=(0, 1.02))
    sns.move_legend(ax, "upper left", bbox_to_anchor=(1, 1), title="")
    return figure, ax


@_styled
def counts(frame, *, ylabel):
    """Stacked bars: how many of each column there are in each row.

    Parameters
    ----------
    frame : DataFrame of int
        Index: bars; columns: what is stacked.
    """
    figure, axes = _figure(3.0)
    ax = axes[0, 0]
    frame.plot.bar(stacked=True, ax=ax, color=_palette(frame.shape[1]), width=0.7, rot=0)
    ax.set(xlabel="", ylabel=ylabel)
    ax.grid(False, axis="x")
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure, ax


@_styled
def refinement(histories, *, lines, marked, paper=None):
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
    """
    figure, axes = _panels(list(histories), height=2.5, sharex=True)
    colours = _palette(len(lines) + 1)
    for ax, (program, history) in zip(axes, histories.items(), strict=True):
        for (column, label), colour in zip(lines.items(), colours, strict=False):
            if history[column].isna().all():
                continue
            ax.plot(history["n_events"], history[column], label=label, color=colour, marker=".", ms=3, lw=1.1)
        if paper:
            ax.plot(
                list(paper), list(paper.values()), "x", color=colours[-1], label="paper, mean of 16 programs"
            )
        ax.axvline(marked[program], color="#555555", lw=0.8, ls=":", label="model kept")
        ax.set(title=program, xlabel="number of events", ylabel="IPC error [%]", ylim=(0, None))
    axes[0].invert_xaxis()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure, axes


@_styled
def ranking(frames, *, value, label, low=None, high=None, xlabel, columns=4):
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
    """
    rows = max(len(frame) for frame in frames.values())
    figure, axes = _panels(list(frames), columns=columns, height=0.9 + 0.2 * rows)
    for ax, (program, frame) in zip(axes, frames.items(), strict=True):
        places = range(len(frame))
        ax.barh(places, frame[value], color=_palette(1)[0], height=0.7)
        if low is not None:
            ax.hlines(places, frame[low], frame[high], color="#333333", lw=1)
        ax.set_yticks(places, frame[label])
        ax.invert_yaxis()
        ax.grid(True, axis="x")
        ax.grid(False, axis="y")
        ax.set(title=program, xlabel=xlabel)
    return figure, axes
