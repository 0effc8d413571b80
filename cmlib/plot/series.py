"""Figures of counts or rates over time, or over the instructions executed: lines, and stacked estimates of cycles.

Functions take pandas Series or a DataFrame and return (Figure, Axes). Input is not checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cmlib.plot.style import legend_below, legend_right, palette, panels, single, styled

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Of the parts of estimated cycles, the lowest first.
_COLOURS = ("#c9ced3", "#f0b429", "#7a1257", "#00548f", "#2a7f62")


@styled
def series(
    lines: dict[str, pd.Series], *, ylabel: str, marks: pd.Series | None = None, title: str = ""
) -> tuple[Figure, Axes]:
    """Draw several series of one event over time, such as the counts before and after cleaning.

    Parameters
    ----------
    lines : dict of str to Series
        Label to values, indexed by time [s].
    ylabel : str
        Quantity and unit.
    marks : Series, optional
        Points to ring, indexed by time [s]: the samples that cleaning changed, at their new values.
    title : str

    Returns
    -------
    figure : Figure
    ax : Axes
    """
    figure, ax = single(2.8)
    for place, ((label, values), colour) in enumerate(zip(lines.items(), palette(len(lines)), strict=True)):
        # The first line is the widest, so that it shows where a later one covers it.
        width = 3.4 - 1.1 * min(place, 2)
        ax.plot(values.index, values.to_numpy(), label=label, color=colour, linewidth=width, alpha=0.9)
    if marks is not None and len(marks):
        ax.plot(
            marks.index, marks.to_numpy(), "o", mfc="none", mec="#444444", ms=5, label="changed by cleaning"
        )
    ax.set(xlabel="time [s]", ylabel=ylabel, title=title, ylim=(0, None))
    legend_right(ax)
    return figure, ax


@styled
def series_by_program(
    runs: dict[str, dict[str, pd.Series]],
    *,
    ylabel: str,
    xlabel: str = "time [s]",
    colors: dict[str, Any] | None = None,
) -> tuple[Figure, np.ndarray]:
    """Draw lines of several runs, a panel for each program.

    The panels have one legend, whose labels are those of the first program.

    Parameters
    ----------
    runs : dict of str to dict of str to Series
        Program (at least one), then label, to a Series that is indexed by what `xlabel` names.
    ylabel : str
        Text at the vertical axes.
    xlabel : str, default "time [s]"
        Text at the horizontal axis.
    colors : dict of str to color, optional
        Colors by label. Default: lines are colored in turn.

    Returns
    -------
    figure : Figure
    axes : ndarray of Axes
    """
    figure, axes = panels(list(runs))
    for ax, (program, lines) in zip(axes, runs.items(), strict=True):
        for (label, values), color in zip(lines.items(), palette(len(lines)), strict=True):
            color = (colors or {}).get(label, color)
            ax.plot(values.index, values.to_numpy(), label=label, color=color, linewidth=1.0, alpha=0.85)
        ax.set(title=program, xlabel=xlabel, ylabel=ylabel, ylim=(0, None))
    if len(lines) > 1:
        legend_below(figure, axes[0], 8)
    return figure, axes


@styled
def simulated_phases(parts: pd.DataFrame, starts: Sequence[float], *, title: str = "") -> tuple[Figure, Axes]:
    """Draw estimated cycles per instruction over a simulated run, stacked by their causes.

    Parameters
    ----------
    parts : DataFrame
        Cycles per instruction, one row per interval (index: instructions executed at its end [10⁹]) and at most five
        columns, one per cause, the lowest area first.
    starts : sequence of float
        Where phases begin [10⁹ instructions]; a dotted line each.
    title : str, optional
        By default the figure says that it is simulated.

    Returns
    -------
    figure, ax : matplotlib Figure and Axes
    """
    figure, ax = single(3.0)
    edges = [0.0, *parts.index]
    heights = [[*values, values.iloc[-1]] for _, values in parts.items()]
    ax.stackplot(edges, heights, labels=list(parts), colors=_COLOURS[: len(heights)], lw=0, step="post")
    for start in starts:
        if start > 0:
            ax.axvline(start, color="#222222", lw=0.8, ls=":")
    ax.set(
        title=title or "simulated, not measured",
        xlabel="instructions executed [10⁹]",
        xlim=(0, edges[-1]),
        ylabel="estimated cycles\nper instruction",
        ylim=(0, None),
    )
    legend_right(ax, reverse=True)
    return figure, ax
