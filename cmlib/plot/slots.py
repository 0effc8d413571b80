"""Draw how the pipeline slots of a processor were used.

A slot is the chance to start one operation in one cycle. :func:`shares_by_program` compares programs.
:func:`shares_by_progress` shows one program from start to end. A category has the same color in all figures.
"""

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
    """Plot the shares of slots of each program as a stacked bar.

    Parameters
    ----------
    shares : DataFrame
        Shares [% of the slots]. One row per program, one column per category of :data:`COLORS`.

    Returns
    -------
    figure : Figure
    ax : Axes
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
    """Plot IPC and the shares of slots from the start to the end of a program.

    Progress is the share of all instructions that were executed so far, from 0 to 1.

    Parameters
    ----------
    ipc : Series
        Instructions per cycle, indexed by progress.
    shares : DataFrame
        Shares [% of the slots], indexed by progress. One column per category of :data:`COLORS`.
    title : str, default ""
        Title of the figure. For example, the name of the program.

    Returns
    -------
    figure : Figure
    axes : array of two Axes
        IPC above, shares below.
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
