"""Draw counts or rates over time or over the instructions executed.

:func:`series` and :func:`series_by_program` draw lines. :func:`simulated_phases` draws estimated cycles as stacked
areas. Functions take pandas Series or a DataFrame and return a Figure and its Axes. Input is not checked.
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

# Colors of the parts of estimated cycles, the lowest area first.
_PART_COLORS = ("#c9ced3", "#f0b429", "#7a1257", "#00548f", "#2a7f62")


@styled
def series(
    lines: dict[str, pd.Series], *, ylabel: str, marks: pd.Series | None = None, title: str = ""
) -> tuple[Figure, Axes]:
    """Plot several series of one event over time.

    For example, the counts before and after cleaning.

    Parameters
    ----------
    lines : dict of str to Series
        The series, keyed by label and indexed by time [s].
    ylabel : str
        Label of the vertical axis, with the unit.
    marks : Series, optional
        Samples that cleaning changed, with their new values, indexed by time [s]. Each gets a ring.
    title : str, default ""
        Title of the figure.

    Returns
    -------
    figure : Figure
    ax : Axes
    """
    figure, ax = single(2.8)
    colors = palette(len(lines))
    for number, (label, values) in enumerate(lines.items()):
        # The first line is the widest and stays visible where a later line covers it.
        width = 3.4 - 1.1 * min(number, 2)
        color = colors[number]
        ax.plot(values.index, values.to_numpy(), label=label, color=color, linewidth=width, alpha=0.9)
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
    """Plot series of several runs, one panel per program.

    All panels share the legend of the first program.

    Parameters
    ----------
    runs : dict of str to dict of str to Series
        The series of each program, keyed by label. The index of a series is the horizontal axis. Not empty.
    ylabel : str
        Label of the vertical axes, with the unit.
    xlabel : str, default "time [s]"
        Label of the horizontal axes.
    colors : dict of str to color, optional
        Color of each label. By default, labels take different colors.

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
    """Plot estimated cycles per instruction over a simulated run, stacked by cause.

    Parameters
    ----------
    parts : DataFrame
        Cycles per instruction. One row per interval, indexed by the instructions executed at its end [10⁹]. One
        column per cause, at most five, the lowest area first.
    starts : sequence of float
        Instructions executed at the start of each phase [10⁹]. They are drawn as dotted lines.
    title : str, default ""
        Title of the figure. If empty, the title is "simulated, not measured".

    Returns
    -------
    figure : Figure
    ax : Axes
    """
    figure, ax = single(3.0)
    edges = [0.0, *parts.index]
    heights = [[*values, values.iloc[-1]] for _, values in parts.items()]
    ax.stackplot(edges, heights, labels=list(parts), colors=_PART_COLORS[: len(heights)], lw=0, step="post")
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
