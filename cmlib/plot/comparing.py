"""Draw figures that compare methods, programs and cases.

The figures are bars, dots, heat maps and scatter plots. Functions take DataFrames and the names of the columns to
draw. They return a Figure and its Axes, or an array of Axes if there are several panels. A missing column raises a
KeyError. Other input is not checked.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import cycle
from typing import TYPE_CHECKING

import seaborn as sns

from cmlib.plot.style import GREY, PAPER, blank, legend_below, legend_right, palette, panels, single, styled

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = "osD^v"
_CASE_MARKERS = "os^DvP"


@styled
def dots_by_program(
    frame: pd.DataFrame,
    *,
    value: str,
    hue: str,
    xlabel: str,
    paper: dict[str, float] | None = None,
    grey: Collection[str] = (),
) -> tuple[Figure, Axes]:
    """Plot a dot for each row of a table, grouped by program.

    Parameters
    ----------
    frame : DataFrame
        The rows to draw, with the columns "program", `value` and `hue`.
    value : str
        Column of the horizontal axis.
    hue : str
        Column that decides the color. For example, the column with the name of the method.
    xlabel : str
        Label of the horizontal axis.
    paper : dict of str to float, optional
        Published numbers, keyed by program. They are drawn as crosses.
    grey : collection of str, optional
        Values of `hue` that are drawn in gray. For example, the names of baselines.

    Returns
    -------
    figure : Figure
    axes : Axes

    Raises
    ------
    ValueError
        If a program of `paper` is not in the frame.
    """
    programs = list(dict.fromkeys(frame["program"]))
    hues = list(dict.fromkeys(frame[hue]))
    slots = len(hues) + bool(paper)
    figure, ax = single(0.8 + max(0.25, 0.075 * slots) * len(programs))
    step = 0.8 / slots
    for number, (name, hue_color) in enumerate(zip(hues, palette(len(hues)), strict=True)):
        rows = frame[frame[hue] == name]
        heights = [programs.index(program) - 0.4 + (number + 0.5) * step for program in rows["program"]]
        color = GREY if name in grey else hue_color
        ax.plot(rows[value], heights, _marker(number), color=color, markersize=5, label=name)
    if paper:
        heights = [programs.index(program) + 0.4 - step / 2 for program in paper]
        ax.plot(list(paper.values()), heights, label="paper", **PAPER)
    _separate_rows(ax, programs)
    ax.set_xlabel(xlabel)
    legend_right(ax)
    return figure, ax


def _marker(number):
    """Return the marker with this number; markers repeat after the last one."""
    return _MARKERS[number % len(_MARKERS)]


def _separate_rows(ax, names):
    """Label the rows of the vertical axis from top to bottom, with a line between them."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    for row in range(1, len(names)):
        ax.axhline(row - 0.5, color="#e3e5e8", lw=0.8)
    ax.grid(True, axis="x")
    ax.grid(False, axis="y")


@styled
def heat(frame: pd.DataFrame, *, label: str, centre: float | None = None) -> tuple[Figure, Axes]:
    """Plot a table of numbers as a heat map.

    The color scale ends at the 2nd and the 98th percentile of the numbers.

    Parameters
    ----------
    frame : DataFrame
        The numbers. Cells with NaN stay empty.
    label : str
        Label of the color bar.
    centre : float, optional
        Middle of a diverging color scale. Without it, the scale is sequential.

    Returns
    -------
    figure : Figure
    axes : Axes
    """
    figure, ax = single(0.6 + 0.3 * len(frame))
    cmap = "vlag" if centre is not None else "crest"
    look = {"annot": True, "fmt": ".2f", "annot_kws": {"fontsize": 8}, "linewidths": 0.5, "robust": True}
    sns.heatmap(frame, ax=ax, cmap=cmap, center=centre, cbar_kws={"label": label}, **look)
    ax.set(xlabel="", ylabel="")
    ax.grid(False)
    ax.tick_params(axis="both", length=0)
    ax.tick_params(axis="x", rotation=0)
    return figure, ax


@styled
def counts(frame: pd.DataFrame, *, ylabel: str) -> tuple[Figure, Axes]:
    """Plot a table of counts as stacked bars.

    Parameters
    ----------
    frame : DataFrame
        The counts. Each row is a bar, each column a color. The index names the bars.
    ylabel : str
        Label of the vertical axis.

    Returns
    -------
    figure : Figure
    axes : Axes
    """
    figure, ax = single(3.0)
    frame.plot.bar(stacked=True, ax=ax, color=palette(frame.shape[1]), width=0.7, rot=0)
    ax.set(xlabel="", ylabel=ylabel)
    ax.grid(False, axis="x")
    legend_right(ax)
    return figure, ax


@styled
def grouped_bars(
    frames: dict[str, pd.DataFrame],
    *,
    ylabel: str,
    paper: dict[str, dict] | None = None,
    grey: Collection[str] = (),
) -> tuple[Figure, np.ndarray]:
    """Plot groups of bars in one or several panels.

    Published values are a last group of hatched bars, named "paper". At most two panels are in a row.

    Parameters
    ----------
    frames : dict of str to DataFrame
        Heights of the bars, keyed by title of the panel. Each row is a group, each column a color. The index names
        the groups. All frames have the same columns.
    ylabel : str
        Label of the vertical axes, with the unit.
    paper : dict of str to dict, optional
        Published values, keyed by title of the panel. Each is a dict of heights, keyed by column.
    grey : collection of str, optional
        Columns that are drawn in gray. For example, baselines.

    Returns
    -------
    figure : Figure
    axes : array of Axes, shape (n_panels,)
    """
    figure, axes = panels(list(frames), height=2.9)
    paper = paper or {}
    for ax, (title, frame) in zip(axes, frames.items(), strict=True):
        colors = dict(zip(frame, palette(frame.shape[1]), strict=True)) | dict.fromkeys(grey, GREY)
        published = paper.get(title, {})
        _draw_groups(ax, frame, colors)
        _draw_published(ax, published, len(frame), 0.8 / frame.shape[1], colors)
        groups = [*frame.index, "paper"] if published else list(frame.index)
        ax.set_xticks(range(len(groups)), groups)
        ax.margins(y=0.1)
        ax.set(title=title, ylabel=ylabel, ylim=(0, None))
        ax.grid(False, axis="x")
    legend_below(figure, axes[0], min(5, frame.shape[1]))
    return figure, axes


def _draw_groups(ax, frame, colors):
    """Draw a group of bars for each row of the frame, a bar for each column."""
    width = 0.8 / frame.shape[1]
    for number, column in enumerate(frame):
        offset = (number - (frame.shape[1] - 1) / 2) * width
        positions = [group + offset for group in range(len(frame))]
        ax.bar(positions, frame[column], width, color=colors[column], label=column)


def _draw_published(ax, published, group, width, colors):
    """Draw published values as hatched bars around the position `group`, each with its number."""
    for number, (column, height) in enumerate(published.items()):
        position = group + (number - (len(published) - 1) / 2) * width
        ax.bar(position, height, width, color=colors[column], hatch="///", edgecolor="white")
        ax.annotate(f"{height:g}", (position, height), ha="center", va="bottom", fontsize=8)


@styled
def points(
    frames: dict[str, pd.DataFrame], *, x: str, y: str, xlabel: str, ylabel: str, size: float = 3
) -> tuple[Figure, np.ndarray]:
    """Plot two columns against each other, one panel per table.

    Points are drawn as pixels in vector graphics too, because there may be many.

    Parameters
    ----------
    frames : dict of str to DataFrame
        The tables, keyed by title of the panel.
    x, y : str
        Columns of the horizontal and of the vertical axis.
    xlabel, ylabel : str
        Labels of the axes.
    size : float, default 3
        Area of a point [points²]. Points of 10 or more are less transparent.

    Returns
    -------
    figure : Figure
    axes : ndarray of Axes
    """
    figure, axes = panels(list(frames), height=2.7)
    for ax, (name, frame) in zip(axes, frames.items(), strict=True):
        look = {"alpha": 0.3 if size < 10 else 0.7, "linewidths": 0, "rasterized": True}
        ax.scatter(frame[x], frame[y], s=size, color=palette(1)[0], **look)
        ax.set(title=name, xlabel=xlabel, ylabel=ylabel)
    return figure, axes


@styled
def run_times(frame: pd.DataFrame, *, ylabel: str) -> tuple[Figure, Axes]:
    """Plot the run time of each run of several programs.

    Parameters
    ----------
    frame : DataFrame
        One row per run, in the order of the runs. Columns: "program" and "seconds".
    ylabel : str
        Label of the vertical axis.

    Returns
    -------
    figure : Figure
    axes : Axes
    """
    figure, ax = single(2.9)
    programs = list(dict.fromkeys(frame["program"]))
    for name, color in zip(programs, palette(len(programs)), strict=True):
        seconds = frame.loc[frame["program"] == name, "seconds"].to_numpy()
        ax.plot(range(1, len(seconds) + 1), seconds, "o", color=color, ms=3.5, label=name)
    ax.set(xlabel="run", ylabel=ylabel, ylim=(0, None))
    legend_right(ax)
    return figure, ax


@styled
def by_case(
    frame: pd.DataFrame, *, ylabel: str, levels: dict[str, float] | None = None, log: bool = True
) -> tuple[Figure, Axes]:
    """Plot a marker for each number of a table, rows from left to right.

    Parameters
    ----------
    frame : DataFrame
        The numbers. Each row is a position, each column a color and a marker. The index names the positions.
    ylabel : str
        Label of the vertical axis.
    levels : dict of str to float, optional
        Heights of horizontal lines, keyed by label.
    log : bool, default True
        Whether the vertical axis is logarithmic. A linear axis begins at 0.

    Returns
    -------
    figure : Figure
    axes : Axes
    """
    figure, ax = single(3.4)
    positions = range(len(frame))
    for column, color, marker in zip(frame, palette(frame.shape[1]), cycle(_CASE_MARKERS), strict=False):
        ax.plot(positions, frame[column].to_numpy(), marker, color=color, ms=4.5, label=column, alpha=0.9)
    for (label, level), style in zip((levels or {}).items(), cycle(("--", ":", "-.")), strict=False):
        ax.axhline(level, color="#333333", lw=1, ls=style, label=f"{label}: {level:g}")
    ax.set_xticks(positions, frame.index, rotation=90)
    ax.set(ylabel=ylabel, xlim=(-0.7, len(frame) - 0.3))
    if log:
        ax.set_yscale("log")
    else:
        ax.set_ylim(0, None)
    legend_right(ax)
    return figure, ax


@styled
def parts_across(
    frames: dict[str, pd.DataFrame], *, xlabel: str, totals: dict[str, pd.Series] | None = None
) -> tuple[Figure, np.ndarray]:
    """Plot the positive and negative parts of a sum as stacked horizontal bars.

    Parameters
    ----------
    frames : dict of str to DataFrame
        The parts, keyed by title of the panel. Each row is a bar, each column a part. The index names the bars.
    xlabel : str
        Label of the horizontal axis, with the unit.
    totals : dict of str to Series, optional
        The sum of each row, keyed by title of the panel. Sums are drawn as black marks.

    Returns
    -------
    figure : Figure
    axes : array of Axes, shape (n_frames,)
    """
    heights = [len(frame) for frame in frames.values()]
    figure, grid = blank(
        1.4 * len(frames) + 0.26 * sum(heights), rows=len(frames), height_ratios=heights, sharex=True
    )
    axes = grid[:, 0]
    for ax, (title, frame) in zip(axes, frames.items(), strict=True):
        rows = range(len(frame))
        _stack_parts(ax, frame)
        if totals is not None:
            ax.plot(totals[title], rows, "D", color="black", ms=4, label="sum")
        ax.set_yticks(rows, frame.index)
        ax.invert_yaxis()
        ax.axvline(0, color="#333333", lw=0.8)
        ax.use_sticky_edges = False  # leaves room for a mark at the end of the longest bar
        ax.margins(x=0.03)
        ax.grid(True, axis="x")
        ax.grid(False, axis="y")
        ax.set_title(title)
    axes[-1].set_xlabel(xlabel)
    legend_right(axes[0])
    return figure, axes


def _stack_parts(ax, frame):
    """Draw the parts of each row, positive parts to the right of 0 and negative parts to the left."""
    rows = range(len(frame))
    right_ends = [0.0] * len(frame)
    left_ends = [0.0] * len(frame)
    for part, color in zip(frame, palette(frame.shape[1]), strict=True):
        values = list(frame[part])
        starts = [right_ends[row] if value >= 0 else left_ends[row] for row, value in enumerate(values)]
        ax.barh(rows, frame[part], left=starts, color=color, height=0.7, label=part)
        for row, value in enumerate(values):
            ends = right_ends if value >= 0 else left_ends
            ends[row] += value


@styled
def ranges_by_case(
    frames: dict[str, pd.DataFrame], *, value: str, low: str, high: str, label: str, hue: str, xlabel: str
) -> tuple[Figure, np.ndarray]:
    """Plot values with their ranges, one panel per table.

    Parameters
    ----------
    frames : dict of str to DataFrame
        The tables, keyed by title of the panel.
    value, low, high : str
        Columns: the value and the ends of its range.
    label : str
        Column: the name of the row of the figure. Rows are in the order of first appearance.
    hue : str
        Column that decides the color.
    xlabel : str
        Label of the horizontal axis, with the unit.

    Returns
    -------
    figure : Figure
    axes : array of Axes, shape (n_frames,)
    """
    n_lines = max(frame[label].nunique() for frame in frames.values())
    figure, axes = panels(list(frames), columns=2, height=0.8 + 0.27 * n_lines, sharex=True)
    hues = list(dict.fromkeys(kind for frame in frames.values() for kind in frame[hue]))
    for ax, (title, frame) in zip(axes, frames.items(), strict=True):
        labels = list(dict.fromkeys(frame[label]))
        for number, (name, color) in enumerate(zip(hues, palette(len(hues)), strict=True)):
            rows = frame[frame[hue] == name]
            offset = 0.3 * (number - (len(hues) - 1) / 2)
            heights = [labels.index(row_label) + offset for row_label in rows[label]]
            ax.hlines(heights, rows[low], rows[high], color=color, lw=1.5)
            ax.plot(rows[value], heights, _marker(number), color=color, ms=5, label=name)
        ax.set_yticks(range(len(labels)), labels)
        ax.invert_yaxis()
        ax.grid(True, axis="x")
        ax.grid(False, axis="y")
        ax.set(title=title, xlabel=xlabel)
    legend_below(figure, axes[0], len(hues))
    return figure, axes
