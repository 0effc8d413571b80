"""Set the look of all figures: their size [inches], style and colors, and empty figures to draw in."""

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
GREY = "#9aa0a6"  # of baselines, and of places in a ranking that are not decided
# The mark of a number that a paper prints, in all figures.
PAPER: dict[str, Any] = {"color": "#222222", "marker": "x", "ls": "", "ms": 6, "zorder": 5}
_STYLE = matplotlib.rc_params_from_file(f"{__file__[:-3]}.mplstyle", use_default_template=False)


def styled(draw: Callable) -> Callable:
    """Decorate a function that returns (Figure, axes), so that it draws in the style of this package.

    Parameters
    ----------
    draw : callable
        The function.

    Returns
    -------
    callable
    """

    @functools.wraps(draw)
    def in_style(*args, **kwargs):
        """Return what `draw` returns, drawn in the style of this package."""
        with matplotlib.rc_context({**sns.axes_style("ticks"), **_STYLE}):
            figure, axes = draw(*args, **kwargs)
            _write_powers(figure)
            return figure, axes

    return in_style


def palette(n: int) -> list[tuple[float, float, float]]:
    """Return `n` colors (RGB tuples) that people with color blindness can distinguish; from the 11th on they repeat.

    Parameters
    ----------
    n : int
        Number of colors.

    Returns
    -------
    list of tuple of float
    """
    return sns.color_palette("colorblind", n)


@styled
def blank(height: float, *, rows: int = 1, columns: int = 1, **sharing: Any) -> tuple[Figure, np.ndarray]:
    """Make a figure 9 inches wide and `height` inches high, with rows and columns of empty Axes.

    Parameters
    ----------
    height : float
        Height [inches].
    rows, columns : int, default 1
        Numbers of Axes.
    **sharing
        Options of ``plt.subplots``, such as ``sharex=True``.

    Returns
    -------
    figure : Figure
    axes : ndarray of Axes, shape (rows, columns)
    """
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **sharing)


def single(height: float) -> tuple[Figure, Axes]:
    """Make a figure 9 inches wide and `height` inches high, with one empty Axes.

    Parameters
    ----------
    height : float
        Height [inches].

    Returns
    -------
    figure : Figure
    axes : Axes
    """
    figure, axes = blank(height)
    return figure, axes[0, 0]


def bars_across(ax: Axes, values: Sequence[float], labels: Sequence[str], colours: Sequence) -> None:
    """Draw a horizontal bar for each of `values`, the first at the top.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    values : sequence of float
        Lengths of the bars.
    labels : sequence of str
        Names of the bars.
    colours : color or sequence of colors
        One color, or one for each bar.
    """
    ax.barh(range(len(values)), values, color=colours, height=0.7)
    ax.set_yticks(range(len(values)), labels)
    ax.invert_yaxis()
    ax.grid(True, axis="x")
    ax.grid(False, axis="y")


def legend_right(ax: Axes, **options: Any) -> None:
    """Put the legend of `ax` to the right of it.

    Parameters
    ----------
    ax : Axes
        Axes with labeled lines or bars.
    **options
        Options of ``Axes.legend``, except its place.
    """
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), **options)


def legend_below(figure: Figure, ax: Axes, n_columns: int) -> None:
    """Put the legend of `ax` below its figure.

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
    """Make a figure with a small empty Axes for each of `names`, row by row.

    Parameters
    ----------
    names : sequence of str
        Titles of the Axes.
    columns : int, default 2
        Most Axes in a row.
    height : float, default 2.3
        Height of a row [inches].
    **sharing
        Options of ``plt.subplots``.

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
    """Let logarithmic axes draw their labels as formulas (10⁻³); other texts are not, as names may hold dollars."""
    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis) if axis.get_scale() != "linear"):
        for label in axis.get_ticklabels(which="both"):
            label.set_parse_math(True)
