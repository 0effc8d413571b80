"""Figures of pairs of events: their importance in several models, and surfaces of what a model predicts for a pair.

Functions take frames of results and return (Figure, array of Axes); a missing column is a KeyError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.colors import CenteredNorm

from cmlib.plot.style import GREY, legend_below, palette, panels, styled

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

_N_TICKS = 4  # of an axis of a surface


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
    """Draw a dot for each model and pair: a panel for each program, a line for each pair, the first at the top.

    Parameters
    ----------
    frames : dict of str to DataFrame
        Program to its pairs, one row per pair.
    label : str
        Column: the text at the vertical axis.
    value : str
        Column: the value in one model, which is drawn as a filled dot.
    others : list of str
        Columns: the values in other models, drawn as rings.
    xlabel : str
        Quantity and unit of the values.
    names : tuple of two str
        Texts of the legend for the filled dot and for the rings.

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
            text = names[1] if number == 0 else None
            ax.plot(frame[column], rows, "o", mfc="none", mec=GREY, mew=1.2, ms=6, label=text)
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
    """Draw what a model predicts for a pair of events, what it predicts for each alone, and the difference.

    Parameters
    ----------
    joint, summed : DataFrame, shape (n, n)
        Prediction for both events together, and sum of the single effects, as of
        :func:`cmlib.interact.dependence.pair_surface`: index and columns are values of the events.
    positions : DataFrame
        One dot per row: its place along the columns and along the index of a surface, as of
        :func:`cmlib.interact.dependence.positions_on_surface`.
    quantity : str
        What is predicted, with its unit.

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
    """Draw a quantity by quantiles of two events, at equal distances, and a dot for each row."""
    across, upwards = values.columns, values.index
    look = {"color": "white", "mec": "#222222", "mew": 0.4, "ms": 4, "alpha": 0.7}
    ax.plot(positions[across.name], positions[upwards.name], ".", **look)
    for axis, at in ((ax.xaxis, across), (ax.yaxis, upwards)):
        ticks = sorted({part * (len(at) - 1) // (_N_TICKS - 1) for part in range(_N_TICKS)})
        axis.set_ticks(ticks, [f"{value:.2g}" for value in at[ticks]], fontsize=7.5)
        axis.set_label_text(at.name, fontsize=8)
    ax.figure.colorbar(ax.imshow(values, origin="lower", aspect="auto", **colors), ax=ax, pad=0.02)
    ax.grid(False)
