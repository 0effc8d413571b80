"""Draw the shares of the pipeline's slots: by program and over a program's progress, in the same colors everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmlib.plot.style import blank, legend_right, palette, styled

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CATEGORIES = ("retired", "bad speculation", "front end", "back end")
NOT_DECIDED = "not decided"
COLORS = dict(zip(CATEGORIES, palette(len(CATEGORIES)), strict=True)) | {NOT_DECIDED: "lightgray"}


@styled
def shares_by_program(shares: pd.DataFrame) -> tuple[Figure, Axes]:
    """Draw one stacked bar of shares per program.

    Parameters
    ----------
    shares : DataFrame
        One row per program, one column per category of :data:`COLORS` [% of the slots].

    Returns
    -------
    figure, axes : matplotlib Figure and Axes
    """
    figure, axes = blank(0.9 + 0.4 * len(shares))
    ax = axes[0, 0]
    colors = [COLORS[name] for name in shares]
    shares.plot.barh(stacked=True, ax=ax, color=colors, width=0.65)
    ax.invert_yaxis()
    ax.set(xlabel="share of slots [%]", ylabel="", xlim=(0, None))
    ax.grid(False, axis="y")
    legend_right(ax)
    return figure, ax


@styled
def shares_by_progress(ipc: pd.Series, shares: pd.DataFrame, *, title: str = "") -> tuple[Figure, np.ndarray]:
    """Draw IPC above the stacked shares of the slots over a program's progress.

    Parameters
    ----------
    ipc : Series
        Instructions per cycle; index: progress (0–1).
    shares : DataFrame
        One row per step of progress, one column per category of :data:`COLORS` [% of the slots].
    title : str, default ""
        Such as the program's name.

    Returns
    -------
    figure, axes : matplotlib Figure and array of two Axes
    """
    figure, axes = blank(4.0, rows=2, sharex=True, height_ratios=(1, 2))
    upper, lower = axes[:, 0]
    upper.plot(ipc.index, ipc.to_numpy(), color="black", lw=1)
    upper.set(ylabel="IPC", ylim=(0, None))
    colors = [COLORS[name] for name in shares]
    lower.stackplot(shares.index, shares.T.to_numpy(), labels=shares.columns, colors=colors, lw=0)
    lower.axhline(100, color="black", lw=0.8, ls="--")
    lower.set(
        xlabel="progress (share of instructions)", ylabel="share of slots [%]", xlim=(0, 1), ylim=(0, 110)
    )
    upper.set_title(title)
    legend_right(lower, reverse=True)
    return figure, axes[:, 0]
