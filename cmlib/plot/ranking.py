"""Figures of event refinement and of rankings of events.

Event refinement fits a model, drops the least important events and fits again: its figure is the error against the
number of events left. A ranking is drawn as one bar per event, as long as its importance. Functions take dicts of
DataFrames and return (Figure, array of Axes); a missing column is a KeyError.
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

UNDECIDED = "place not decided"  # value of a hue that is drawn grey


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
    """Draw the error [%] of models against the number of events left, a panel for each of `histories`.

    Parameters
    ----------
    histories : dict of str to DataFrame
        A row per model: the column n_events, and those of `lines` and `baselines`, errors [%]; a line that is all NaN
        is left out.
    lines, baselines : dict of str to str
        Column to label: errors of the models (colored) and of predictions without events (grey).
    marked : dict of str to int
        Number of events of the model with the lowest error, by program: a vertical line.
    paper : dict of str to dict, optional
        Program to published errors [%] by number of events, drawn as crosses.
    colors : dict of str to color, optional
        Color of a column of `lines` or `baselines`; by default, lines are colored in turn and baselines are grey.

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
        for column, label in lines.items():
            if history[column].notna().any():
                ax.plot(
                    history["n_events"], history[column], label=label, color=color_by_column[column], lw=1.4
                )
        for (column, label), dashes in zip(baselines.items(), cycle(("--", ":")), strict=False):
            color = color_by_column[column]
            ax.plot(history["n_events"], history[column], label=label, color=color, ls=dashes, lw=1.2)
        if printed := (paper or {}).get(program):
            ax.plot(list(printed), list(printed.values()), label="paper: mean of its programs", **PAPER)
        ax.axvline(marked[program], color="#555555", lw=0.8, ls="-.", label="lowest error")
        ax.set(title=program, xlabel="number of events", ylabel="error [%]", ylim=(0, None))
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.tick_params(labelbottom=True)
    axes[0].invert_xaxis()
    labelled = max(axes, key=lambda ax: len(ax.get_legend_handles_labels()[1]))
    legend_below(figure, labelled, 3)
    return figure, axes


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
    """Draw horizontal bars, the first row at the top, a panel for each of `frames` (dict of title to DataFrame).

    Parameters
    ----------
    frames : dict of str to DataFrame
        A row per bar, at least one, in the order in which they are drawn.
    value, label : str
        Columns: length and name of each bar.
    low, high : str, optional
        Columns: ends of the line drawn on each bar, such as those of an interval. Both or none.
    xlabel : str
        Quantity and unit of `value`.
    columns : int, default 4
        Panels a row at most.
    row_height : float, default 0.2
        Height of a bar with its distance to the next [inches].
    hue : str, optional
        Column: what a bar's color stands for (str); :data:`UNDECIDED` is grey.
    colors : dict of str to color, optional
        Color of a value of `hue`; others take the package's colors in turn.

    Returns
    -------
    figure : Figure
    axes : array of Axes, shape (n_frames,)
    """
    rows = max(len(frame) for frame in frames.values())
    figure, axes = panels(list(frames), columns=columns, height=0.9 + row_height * rows)
    shown = sorted({kind for frame in frames.values() for kind in frame[hue]}) if hue else []
    kinds = dict(zip(shown, palette(len(shown)), strict=True))
    if UNDECIDED in kinds:
        kinds[UNDECIDED] = GREY
    if colors:
        kinds |= {kind: colors[kind] for kind in kinds if kind in colors}
    for ax, (program, frame) in zip(axes, frames.items(), strict=True):
        colours = [kinds[kind] for kind in frame[hue]] if hue else palette(1)[0]
        bars_across(ax, frame[value], frame[label], colours)
        if low is not None:
            ax.hlines(range(len(frame)), frame[low], frame[high], color="#333333", lw=1)
        ax.set(title=program, xlabel=xlabel)
    if hue:
        handles = [Patch(color=colour, label=kind) for kind, colour in kinds.items()]
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure, axes
