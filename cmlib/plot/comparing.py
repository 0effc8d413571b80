"""Figures that compare methods, programs and cases: bars, dots, heat maps and scatter plots.

Functions take DataFrames and the names of the columns to draw, and return (Figure, Axes): an array of Axes where
there are several panels. A column that is missing is a KeyError or ValueError; other input is not checked.
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
_MARKS_OF_CASES = "os^DvP"


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
    """Draw a line for each value of the column "program", and on it a dot for each row, colored by the column `hue`.

    Parameters
    ----------
    frame : DataFrame
        The rows to draw, with the columns "program", `value` and `hue`.
    value : str
        Column drawn along the horizontal axis.
    hue : str
        Column that colors the dots.
    xlabel : str
        Text at the horizontal axis.
    paper : dict of str to float, optional
        Published numbers by program, drawn as crosses.
    grey : collection of str, optional
        Values of `hue` that are baselines, drawn in grey.

    Returns
    -------
    figure : Figure
    axes : Axes

    Raises
    ------
    ValueError
        If a program of `paper` is not in the frame.
    """
    programs, hues = list(dict.fromkeys(frame["program"])), list(dict.fromkeys(frame[hue]))
    slots = len(hues) + bool(paper)
    figure, ax = single(0.8 + max(0.25, 0.075 * slots) * len(programs))
    step = 0.8 / slots
    for number, (name, colour) in enumerate(zip(hues, palette(len(hues)), strict=True)):
        rows = frame[frame[hue] == name]
        heights = [programs.index(of) - 0.4 + (number + 0.5) * step for of in rows["program"]]
        color = GREY if name in grey else colour
        marker = _MARKERS[number % len(_MARKERS)]
        ax.plot(rows[value], heights, marker, color=color, markersize=5, label=name)
    if paper:
        heights = [programs.index(of) + 0.4 - step / 2 for of in paper]
        ax.plot(list(paper.values()), heights, label="paper", **PAPER)
    ax.set_yticks(range(len(programs)), programs)
    ax.set(xlabel=xlabel, ylim=(len(programs) - 0.5, -0.5))
    for row in range(1, len(programs)):
        ax.axhline(row - 0.5, color="#e3e5e8", lw=0.8)
    ax.grid(True, axis="x")
    ax.grid(False, axis="y")
    legend_right(ax)
    return figure, ax


@styled
def heat(frame: pd.DataFrame, *, label: str, centre: float | None = None) -> tuple[Figure, Axes]:
    """Draw a table of numbers as a heat map, rows down and columns across, each number written in its cell.

    Parameters
    ----------
    frame : DataFrame
        The numbers; cells of NaN stay empty.
    label : str
        Text at the color bar, whose ends are the 2nd and 98th percentile of the numbers.
    centre : float, optional
        Value from which colors diverge.

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
    """Draw stacked bars of a table of counts, one bar per row (named by the index), one color per column.

    Parameters
    ----------
    frame : DataFrame
        The counts.
    ylabel : str
        Text at the vertical axis.

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
    """Draw groups of bars, such as errors by program before and after cleaning, with a paper's values beside them.

    Parameters
    ----------
    frames : dict of str to DataFrame
        Title of a panel to its bars: one group per row (named by the index), one color per column. All panels have the
        same columns, and at most two are side by side.
    ylabel : str
        Quantity and unit.
    paper : dict of str to dict, optional
        Title of a panel to values that a paper prints, by column: a last group named "paper", with hatched bars.
    grey : collection of str, optional
        Columns that are baselines, drawn in grey.

    Returns
    -------
    figure : Figure
    axes : array of Axes, shape (n_panels,)
    """
    figure, axes = panels(list(frames), height=2.9)
    paper = paper or {}
    for ax, (title, frame) in zip(axes, frames.items(), strict=True):
        colors = dict(zip(frame, palette(frame.shape[1]), strict=True)) | dict.fromkeys(grey, GREY)
        width = 0.8 / frame.shape[1]
        names = list(frame.index)
        for place, column in enumerate(frame):
            offset = (place - (frame.shape[1] - 1) / 2) * width
            positions = [number + offset for number in range(len(names))]
            ax.bar(positions, frame[column], width, color=colors[column], label=column)
        printed = paper.get(title, {})
        for place, (column, height) in enumerate(printed.items()):
            at = len(frame) + (place - (len(printed) - 1) / 2) * width
            ax.bar(at, height, width, color=colors[column], hatch="///", edgecolor="white")
            ax.annotate(f"{height:g}", (at, height), ha="center", va="bottom", fontsize=8)
        if printed:
            names.append("paper")
        ax.set_xticks(range(len(names)), names)
        ax.margins(y=0.1)
        ax.set(title=title, ylabel=ylabel, ylim=(0, None))
        ax.grid(False, axis="x")
    legend_below(figure, axes[0], min(5, frame.shape[1]))
    return figure, axes


@styled
def points(
    frames: dict[str, pd.DataFrame], *, x: str, y: str, xlabel: str, ylabel: str, size: float = 3
) -> tuple[Figure, np.ndarray]:
    """Draw scatter plots of the columns `x` and `y`, a panel for each of `frames`.

    Points are drawn as pixels even in vector graphics, as there are many.

    Parameters
    ----------
    frames : dict of str to DataFrame
        Frames by title.
    x, y : str
        Names of the columns.
    xlabel, ylabel : str
        Texts at the axes.
    size : float, default 3
        Size of a point [points²]; from 10 on, points are less transparent.

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
    """Draw run times of programs in the order of their runs, one point per run, one color per program.

    Parameters
    ----------
    frame : DataFrame
        A row per run, with the columns "program" and "seconds".
    ylabel : str
        Text at the vertical axis.

    Returns
    -------
    figure : Figure
    axes : Axes
    """
    figure, ax = single(2.9)
    programs = list(dict.fromkeys(frame["program"]))
    for name, colour in zip(programs, palette(len(programs)), strict=True):
        seconds = frame.loc[frame["program"] == name, "seconds"].to_numpy()
        ax.plot(range(1, len(seconds) + 1), seconds, "o", color=colour, ms=3.5, label=name)
    ax.set(xlabel="run", ylabel=ylabel, ylim=(0, None))
    legend_right(ax)
    return figure, ax


@styled
def by_case(
    frame: pd.DataFrame, *, ylabel: str, levels: dict[str, float] | None = None, log: bool = True
) -> tuple[Figure, Axes]:
    """Draw a mark for each number of a table: rows are cases, from left to right; columns differ by color and mark.

    Parameters
    ----------
    frame : DataFrame
        The numbers; the index names the cases.
    ylabel : str
        Text at the vertical axis.
    levels : dict of str to float, optional
        Heights of lines across, by label.
    log : bool, default True
        True for a logarithmic vertical axis; else it begins at 0.

    Returns
    -------
    figure : Figure
    axes : Axes
    """
    figure, ax = single(3.4)
    places = range(len(frame))
    for column, colour, mark in zip(frame, palette(frame.shape[1]), cycle(_MARKS_OF_CASES), strict=False):
        ax.plot(places, frame[column].to_numpy(), mark, color=colour, ms=4.5, label=column, alpha=0.9)
    for (label, level), style in zip((levels or {}).items(), cycle(("--", ":", "-.")), strict=False):
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
def parts_across(
    frames: dict[str, pd.DataFrame], *, xlabel: str, totals: dict[str, pd.Series] | None = None
) -> tuple[Figure, np.ndarray]:
    """Draw signed parts of a sum as horizontal bars, stacked to both sides of 0.

    Parameters
    ----------
    frames : dict of str to DataFrame
        A panel for each, under its title: rows are cases (named by the index) from top to bottom, columns are parts.
    xlabel : str
        Quantity and unit of the parts.
    totals : dict of str to Series, optional
        The sum of each case, drawn as a black mark.

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
        ends = {True: [0.0] * len(frame), False: [0.0] * len(frame)}  # of the bars above and below 0
        for part, colour in zip(frame, palette(frame.shape[1]), strict=True):
            starts = [ends[value >= 0][row] for row, value in enumerate(frame[part])]
            ax.barh(rows, frame[part], left=starts, color=colour, height=0.7, label=part)
            for row, value in enumerate(frame[part]):
                ends[value >= 0][row] += value
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


@styled
def ranges_by_case(
    frames: dict[str, pd.DataFrame], *, value: str, low: str, high: str, label: str, hue: str, xlabel: str
) -> tuple[Figure, np.ndarray]:
    """Draw values with ranges: a panel for each of `frames`, a line for each label, a color for each `hue`.

    Parameters
    ----------
    frames : dict of str to DataFrame
        Title of a panel to its rows.
    value, low, high : str
        Columns: the value, and the ends of its range.
    label, hue : str
        Columns: the text at the vertical axis, in the order in which it first appears, and what colors stand for.
    xlabel : str
        Quantity and unit of the values.

    Returns
    -------
    figure : Figure
    axes : array of Axes, shape (n_frames,)
    """
    n_lines = max(frame[label].nunique() for frame in frames.values())
    figure, axes = panels(list(frames), columns=2, height=0.8 + 0.27 * n_lines, sharex=True)
    kinds = list(dict.fromkeys(kind for frame in frames.values() for kind in frame[hue]))
    for ax, (title, frame) in zip(axes, frames.items(), strict=True):
        labels = list(dict.fromkeys(frame[label]))
        for number, (kind, colour) in enumerate(zip(kinds, palette(len(kinds)), strict=True)):
            rows = frame[frame[hue] == kind]
            heights = [labels.index(name) + 0.3 * (number - (len(kinds) - 1) / 2) for name in rows[label]]
            ax.hlines(heights, rows[low], rows[high], color=colour, lw=1.5)
            ax.plot(rows[value], heights, _MARKERS[number % len(_MARKERS)], color=colour, ms=5, label=kind)
        ax.set_yticks(range(len(labels)), labels)
        ax.invert_yaxis()
        ax.grid(True, axis="x")
        ax.grid(False, axis="y")
        ax.set(title=title, xlabel=xlabel)
    legend_below(figure, axes[0], len(kinds))
    return figure, axes
