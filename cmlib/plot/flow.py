"""Draw the steps of a method as a diagram of boxes and arrows (:func:`flow`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.patches as patches

from cmlib.plot.style import palette, single, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BOX: dict[str, Any] = {"boxstyle": "round,pad=0.02,rounding_size=0.08", "lw": 1.2}
_ARROW = {
    "arrowstyle": "-|>",
    "mutation_scale": 11,
    "lw": 1.2,
    "color": "#444444",
    "shrinkA": 0,
    "shrinkB": 0,
}
# Size of a box, horizontal distance to the next box, and vertical distance of two rows [units of the axes].
_WIDTH, _HEIGHT, _GAP, _ROW_STEP = 1.0, 0.8, 0.32, 1.35
_MARGIN = 0.03  # between a box and the end of an arrow


@styled
def flow(
    steps: dict[str, str], *, returns: Sequence[tuple[str, str, str]] = (), columns: int = 5
) -> tuple[Figure, Axes]:
    """Plot the steps of a method as boxes, with an arrow from each step to the next.

    Parameters
    ----------
    steps : dict of str to str
        A few words on each step, keyed by its name, in order.
    returns : sequence of (str, str, str), optional
        Arrows that lead back: a step, an earlier step in the same row, and the text at the arrow.
    columns : int, default 5
        Number of boxes in a row.

    Returns
    -------
    figure : Figure
    ax : Axes

    Raises
    ------
    KeyError
        If an arrow names an unknown step.
    """
    n_rows = -(-len(steps) // columns)
    figure, ax = single(1.45 * n_rows + 0.5 * bool(returns))
    corners = {}
    for number, name in enumerate(steps):
        row, column = divmod(number, columns)
        corners[name] = (column * (_WIDTH + _GAP), -row * _ROW_STEP)
    for name, corner in corners.items():
        _draw_box(ax, corner, name, steps[name])
    names = list(steps)
    for name, next_name in zip(names, names[1:], strict=False):
        _draw_arrow_to_next(ax, corners[name], corners[next_name])
    for name, earlier, label in returns:
        _draw_arrow_back(ax, corners[name], corners[earlier], label)
    ax.set_xlim(-0.06, columns * (_WIDTH + _GAP) - _GAP + 0.06)
    ax.set_ylim((1 - n_rows) * _ROW_STEP - (0.6 if returns else 0.08), _HEIGHT + 0.08)
    ax.axis("off")
    return figure, ax


def _draw_box(ax, corner, name, text):
    """Draw the box of a step, from its lower left corner."""
    x, y = corner
    box = patches.FancyBboxPatch(corner, _WIDTH, _HEIGHT, fc="#eef4f8", ec=palette(1)[0], **_BOX)
    ax.add_patch(box)
    ax.text(x + _WIDTH / 2, y + 0.66, name, ha="center", va="top", weight="bold", fontsize=8.5)
    ax.text(x + _WIDTH / 2, y + 0.38, text, ha="center", va="center", fontsize=7.5)


def _draw_arrow_to_next(ax, corner, next_corner):
    """Draw the arrow from a box to the next one, which is to its right or begins the row below."""
    x, y = corner
    next_x, next_y = next_corner
    if y == next_y:
        middle = y + _HEIGHT / 2
        _draw_arrow(ax, (x + _WIDTH + _MARGIN, middle), (next_x - _MARGIN, middle))
    else:
        _draw_arrow(ax, (x + _WIDTH / 2, y - _MARGIN), (next_x + _WIDTH / 2, next_y + _HEIGHT + _MARGIN))


def _draw_arrow_back(ax, corner, earlier_corner, label):
    """Draw the arrow below a row of boxes, from a box back to an earlier one, with its text."""
    x, y = corner
    start = (x + _WIDTH / 2, y - _MARGIN)
    end = (earlier_corner[0] + _WIDTH / 2, y - _MARGIN)
    _draw_arrow(ax, start, end, connectionstyle="bar,angle=180,fraction=-0.1")
    ax.text((start[0] + end[0]) / 2, y - 0.42, label, ha="center", va="top", fontsize=7.5)


def _draw_arrow(ax, start, end, **options):
    """Draw an arrow between two points, with options of FancyArrowPatch."""
    ax.add_patch(patches.FancyArrowPatch(start, end, **_ARROW, **options))
