"""Set the size, style and colors of all figures.

:func:`styled` decorates functions that draw. :func:`single`, :func:`panels` and :func:`blank` make empty figures, all
9 inches wide. The other functions draw parts that many figures have.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib
import seaborn as sns
from matplotlib.figure import Figure

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes

__all__ = ["GREY", "PAPER", "bars_across", "blank", "legend_right", "palette", "panels", "single", "styled"]

_WIDTH = 9.0
GREY = "#9aa0a6"  # color of baselines and of undecided places in a ranking
# Look of published numbers in all figures.
PAPER: dict[str, Any] = {"color": "#222222", "marker": "x", "ls": "", "ms": 6, "zorder": 5}
_STYLE = matplotlib.rc_params_from_file(f"{__file__[:-3]}.mplstyle", use_default_template=False)


def styled(draw: Callable) -> Callable:
    """Decorate a function to draw in the style of this package.

    Parameters
    ----------
    draw : callable
        Function that returns a Figure and its Axes.

    Returns
    -------
    callable
    """

    @functools.wraps(draw)
    def in_style(*args, **kwargs):
        """Call `draw` in the style of this package."""
        with matplotlib.rc_context({**sns.axes_style("ticks"), **_STYLE}):
            figure, axes = draw(*args, **kwargs)
            _write_powers(figure)
            return figure, axes

    return in_style


def palette(n: int) -> list[tuple[float, float, float]]:
    """Return colors that people with color blindness can distinguish.

    There are ten. If more are requested, they repeat.

    Parameters
    ----------
    n : int
        Number of colors.

    Returns
    -------
    list of tuple of float
        Red, green and blue of each color, between 0 and 1.
    """
    return sns.color_palette("colorblind", n)


@styled
def blank(height: float, *, rows: int = 1, columns: int = 1, **sharing: Any) -> tuple[Figure, np.ndarray]:
    """Make a figure with a grid of empty Axes.

    Parameters
    ----------
    height : float
        Height of the figure [inches].
    rows, columns : int, default 1
        Size of the grid.
    **sharing
        Options of ``Figure.subplots``. For example, ``sharex=True``.

    Returns
    -------
    figure : Figure
    axes : ndarray of Axes, shape (rows, columns)
    """
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **sharing)


def single(height: float) -> tuple[Figure, Axes]:
    """Make a figure with one empty Axes.

    Parameters
    ----------
    height : float
        Height of the figure [inches].

    Returns
    -------
    figure : Figure
    axes : Axes
    """
    figure, axes = blank(height)
    return figure, axes[0, 0]


def bars_across(ax: Axes, values: Sequence[float], labels: Sequence[str], colors: Sequence) -> None:
    """Draw horizontal bars from top to bottom.

    Parameters
    ----------
    ax : Axes
        Axes to draw in.
    values : sequence of float
        Lengths of the bars.
    labels : sequence of str
        Names of the bars.
    colors : color or sequence of colors
        One color for all bars, or one color per bar.
    """
    ax.barh(range(len(values)), values, color=colors, height=0.7)
    ax.set_yticks(range(len(values)), labels)
    ax.invert_yaxis()
    ax.grid(True, axis="x")
    ax.grid(False, axis="y")


def legend_right(ax: Axes, **options: Any) -> None:
    """Draw the legend to the right of the Axes.

    Parameters
    ----------
    ax : Axes
        Axes with labeled lines or bars.
    **options
        Options of ``Axes.legend``, except its position.
    """
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), **options)


def legend_below(figure: Figure, ax: Axes, n_columns: int) -> None:
    """Draw the legend of an Axes below the figure.

    Parameters
    ----------
    figure : Figure
        Figure that contains `ax`.
    ax : Axes
        Axes with labeled lines or bars.
    n_columns : int
        Number of columns.
    """
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=n_columns)


@styled
def panels(
    names: Sequence[str], *, columns: int = 2, height: float = 2.3, **sharing: Any
) -> tuple[Figure, np.ndarray]:
    """Make a figure with one small empty Axes per name, row by row.

    Parameters
    ----------
    names : sequence of str
        Names of the panels. Only their number is used.
    columns : int, default 2
        Largest number of Axes in a row.
    height : float, default 2.3
        Height of a row [inches].
    **sharing
        Options of ``Figure.subplots``. For example, ``sharex=True``.

    Returns
    -------
    figure : Figure
    axes : ndarray of Axes, shape (n_names,)
    """
    columns = min(columns, max(1, len(names)))
    rows = math.ceil(len(names) / columns)
    figure, axes = blank(height * rows, rows=rows, columns=columns, **sharing)
    flat = axes.ravel()
    for left_over in flat[len(names) :]:
        left_over.remove()
    for ax in flat[: len(names)]:
        ax.locator_params(axis="x", nbins=6)
    return figure, flat[: len(names)]


def _write_powers(figure):
    """Draw the labels of logarithmic axes as formulas (10⁻³).

    Other texts are not formulas, because names may contain dollar signs.
    """
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            if axis.get_scale() != "linear":
                for label in axis.get_ticklabels(which="both"):
                    label.set_parse_math(True)
