"""Draw figures of pairs of events.

:func:`dots_by_pair` shows how important pairs are in several models. :func:`pair_surfaces` shows what a model predicts
for a pair. Functions take DataFrames and return a Figure and an array of Axes. A missing column raises a KeyError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.colors import CenteredNorm

from cmlib.plot.style import GREY, legend_below, palette, panels, styled

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

_N_TICKS = 4  # on each axis of a surface


@styled
def dots_by_pair(
    frames: dict[str, pd.DataFrame],
    *,
    label: str,
    value: str,
    others: list[str],
    xlabel: str,
    names: tuple[str, str],
) -> tuple[Figure, np.ndarray]:
    """Plot the importance of pairs of events in several models, one panel per program.

    Parameters
    ----------
    frames : dict of str to DataFrame
        One table per program. Each row is a pair, from top to bottom.
    label : str
        Column: the name of the pair.
    value : str
        Column: the importance in one model, drawn as a filled dot.
    others : list of str
        Columns: the importance in other models, drawn as rings.
    xlabel : str
        Label of the horizontal axis, with the unit.
    names : tuple of two str
        Labels of the filled dots and of the rings in the legend.

    Returns
    -------
    figure : Figure
    axes : array of Axes, shape (n_programs,)
    """
    n_rows = max(len(frame) for frame in frames.values())
    figure, axes = panels(list(frames), columns=2, height=0.9 + 0.2 * n_rows, sharex=True)
    highest = max(frame[[value, *others]].max().max() for frame in frames.values())
    color = palette(1)[0]
    for ax, (program, frame) in zip(axes, frames.items(), strict=True):
        rows = range(len(frame))
        for number, column in enumerate(others):
            name = names[1] if number == 0 else None
            ax.plot(frame[column], rows, "o", mfc="none", mec=GREY, mew=1.2, ms=6, label=name)
        ax.plot(frame[value], rows, "o", color=color, ms=6, label=names[0])
        ax.set_yticks(rows, frame[label])
        ax.invert_yaxis()
        ax.grid(True, axis="both")
        ax.set(title=program, xlabel=xlabel, xlim=(-0.03 * highest, 1.05 * highest))
        ax.tick_params(labelbottom=True)
    legend_below(figure, axes[0], 2)
    return figure, axes


@styled
def pair_surfaces(
    joint: pd.DataFrame, summed: pd.DataFrame, positions: pd.DataFrame, *, quantity: str
) -> tuple[Figure, np.ndarray]:
    """Plot what a model predicts for a pair of events, and the interaction.

    The three panels are the joint prediction, the sum of the single effects, and their difference (the interaction).

    Parameters
    ----------
    joint, summed : DataFrame, shape (n, n)
        Joint prediction and sum of the single effects, from :func:`cmlib.interact.dependence.pair_surface`. Index and
        columns are values of the events.
    positions : DataFrame
        One row per dot: its position along the columns and along the index of a surface, from
        :func:`cmlib.interact.dependence.positions_on_surface`.
    quantity : str
        Name of what is predicted, with its unit.

    Returns
    -------
    figure : Figure
    axes : array of Axes, shape (3,)
    """
    low = min(joint.to_numpy().min(), summed.to_numpy().min())
    high = max(joint.to_numpy().max(), summed.to_numpy().max())
    same = {"cmap": "viridis", "vmin": low, "vmax": high}
    surfaces = {
        f"both together: {quantity}": (joint, same),
        "sum of the single effects": (summed, same),
        "interaction: difference": (joint - summed, {"cmap": "RdBu_r", "norm": CenteredNorm()}),
    }
    figure, axes = panels(list(surfaces), columns=3, height=2.8)
    for ax, (title, (values, colors)) in zip(axes, surfaces.items(), strict=True):
        _draw_surface(ax, values, positions, colors)
        ax.set_title(title, fontsize=9)
    return figure, axes


def _draw_surface(ax, values, positions, colors):
    """Draw a surface as an image with equal steps between quantiles, and dots at `positions`."""
    columns, rows = values.columns, values.index
    look = {"color": "white", "mec": "#222222", "mew": 0.4, "ms": 4, "alpha": 0.7}
    ax.plot(positions[columns.name], positions[rows.name], ".", **look)
    _label_quantiles(ax.xaxis, columns)
    _label_quantiles(ax.yaxis, rows)
    ax.figure.colorbar(ax.imshow(values, origin="lower", aspect="auto", **colors), ax=ax, pad=0.02)
    ax.grid(False)


def _label_quantiles(axis, quantiles):
    """Label some steps of an axis with the quantiles (Index) at these steps."""
    steps = sorted({part * (len(quantiles) - 1) // (_N_TICKS - 1) for part in range(_N_TICKS)})
    axis.set_ticks(steps, [f"{value:.2g}" for value in quantiles[steps]], fontsize=7.5)
    axis.set_label_text(quantiles.name, fontsize=8)
