"""Draw figures of event refinement and of rankings of events.

Event refinement fits a model, drops the least important events and fits again. :func:`refinement` draws the error
against the number of events left. :func:`ranking` draws one bar per event, as long as its importance. Functions take
DataFrames keyed by title of the panel and return a Figure and an array of Axes. A missing column raises a KeyError.
"""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

from matplotlib.patches import Patch

from cmlib.plot.style import GREY, PAPER, bars_across, legend_below, palette, panels, styled

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

UNDECIDED = "place not decided"  # drawn in gray by `ranking`


@styled
def refinement(
    histories: dict[str, pd.DataFrame],
    *,
    lines: dict[str, str],
    baselines: dict[str, str],
    marked: dict[str, int],
    paper: dict[str, dict] | None = None,
    colors: dict[str, Any] | None = None,
) -> tuple[Figure, np.ndarray]:
    """Plot the error of models against the number of events left, one panel per program.

    Parameters
    ----------
    histories : dict of str to DataFrame
        One table per program. Each row is a model. Columns: n_events, and the errors [%] named in `lines` and
        `baselines`. A column of NaN is not drawn.
    lines, baselines : dict of str to str
        Label of each column. Lines are errors of models. Baselines are errors of predictions without events.
    marked : dict of str to int
        Number of events of the model with the lowest error, keyed by program. It is drawn as a vertical line.
    paper : dict of str to dict, optional
        Published errors [%] by number of events, keyed by program. They are drawn as crosses.
    colors : dict of str to color, optional
        Color of each column. By default, lines take different colors and baselines are gray.

    Returns
    -------
    figure : Figure
    axes : array of Axes, shape (n_programs,)
    """
    figure, axes = panels(list(histories), height=2.5, sharex=True)
    color_by_column: dict[str, Any] = dict(zip(lines, palette(len(lines)), strict=True))
    color_by_column |= dict.fromkeys(baselines, GREY)
    color_by_column |= colors or {}
    for ax, (program, history) in zip(axes, histories.items(), strict=True):
        _plot_errors(ax, history, lines, baselines, color_by_column)
        if published := (paper or {}).get(program):
            ax.plot(list(published), list(published.values()), label="paper: mean of its programs", **PAPER)
        ax.axvline(marked[program], color="#555555", lw=0.8, ls="-.", label="lowest error")
        ax.set(title=program, xlabel="number of events", ylabel="error [%]", ylim=(0, None))
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.tick_params(labelbottom=True)
    axes[0].invert_xaxis()
    longest_legend = max(axes, key=lambda ax: len(ax.get_legend_handles_labels()[1]))
    legend_below(figure, longest_legend, 3)
    return figure, axes


def _plot_errors(ax, history, lines, baselines, color_by_column):
    """Plot the errors of models as solid lines and the errors of baselines as broken lines."""
    for column, label in lines.items():
        if history[column].notna().any():
            color = color_by_column[column]
            ax.plot(history["n_events"], history[column], label=label, color=color, lw=1.4)
    for (column, label), dashes in zip(baselines.items(), cycle(("--", ":")), strict=False):
        color = color_by_column[column]
        ax.plot(history["n_events"], history[column], label=label, color=color, ls=dashes, lw=1.2)


@styled
def ranking(
    frames: dict[str, pd.DataFrame],
    *,
    value: str,
    label: str,
    low: str | None = None,
    high: str | None = None,
    xlabel: str,
    columns: int = 4,
    row_height: float = 0.2,
    hue: str | None = None,
    colors: dict[str, Any] | None = None,
) -> tuple[Figure, np.ndarray]:
    """Plot tables as horizontal bars, one panel per table.

    Parameters
    ----------
    frames : dict of str to DataFrame
        The tables, keyed by title of the panel. Each row is a bar, from top to bottom. No table is empty.
    value, label : str
        Columns: the length and the name of a bar.
    low, high : str, optional
        Columns: the ends of a line on the bar. For example, of a confidence interval. Give both or none.
    xlabel : str
        Label of the horizontal axis, with the unit.
    columns : int, default 4
        Largest number of panels in a row.
    row_height : float, default 0.2
        Height of a bar and the gap below it [inches].
    hue : str, optional
        Column that decides the color. Bars with the value :data:`UNDECIDED` are gray.
    colors : dict of str to color, optional
        Color of each value of `hue`. By default, values take different colors.

    Returns
    -------
    figure : Figure
    axes : array of Axes, shape (n_frames,)
    """
    n_rows = max(len(frame) for frame in frames.values())
    figure, axes = panels(list(frames), columns=columns, height=0.9 + row_height * n_rows)
    color_by_kind = _choose_colors(frames, hue, colors or {}) if hue else {}
    for ax, (title, frame) in zip(axes, frames.items(), strict=True):
        bar_colors = [color_by_kind[kind] for kind in frame[hue]] if hue else palette(1)[0]
        bars_across(ax, frame[value], frame[label], bar_colors)
        if low is not None:
            ax.hlines(range(len(frame)), frame[low], frame[high], color="#333333", lw=1)
        ax.set(title=title, xlabel=xlabel)
    if hue:
        handles = [Patch(color=color, label=kind) for kind, color in color_by_kind.items()]
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure, axes


def _choose_colors(frames, hue, colors):
    """Return the color of each value of the column `hue`, in sorted order; `colors` takes precedence."""
    kinds = sorted({kind for frame in frames.values() for kind in frame[hue]})
    color_by_kind = dict(zip(kinds, palette(len(kinds)), strict=True))
    if UNDECIDED in color_by_kind:
        color_by_kind[UNDECIDED] = GREY
    return color_by_kind | {kind: colors[kind] for kind in kinds if kind in colors}
