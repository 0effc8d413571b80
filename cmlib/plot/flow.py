"""Draw diagrams of a method: boxes from left to right, and arrows between them (:func:`flow`).

Raises a KeyError for an arrow of an unknown step.
"""

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
_WIDTH, _GAP, _HEIGHT = 1.0, 0.32, 0.8


@styled
def flow(
    steps: dict[str, str], *, returns: Sequence[tuple[str, str, str]] = (), columns: int = 5
) -> tuple[Figure, Axes]:
    """Draw the steps of a method as boxes, and an arrow from each to the next.

    Parameters
    ----------
    steps : dict of str to str
        Name of each step, and a few words on it, in their order.
    returns : sequence of (str, str, str), optional
        Arrows back: a step, an earlier one in the same row, and the text at the arrow. Unknown steps are a KeyError.
    columns : int, default 5
        Boxes a row.

    Returns
    -------
    figure : Figure
    ax : Axes
    """
    rows = -(-len(steps) // columns)
    figure, ax = single(1.45 * rows + 0.5 * bool(returns))
    places = {name: (k % columns, -(k // columns)) for k, name in enumerate(steps)}
    corners = {name: (x * (_WIDTH + _GAP), y * 1.35) for name, (x, y) in places.items()}
    colour = palette(1)[0]
    for name, (x, y) in corners.items():
        ax.add_patch(patches.FancyBboxPatch((x, y), _WIDTH, _HEIGHT, fc="#eef4f8", ec=colour, **_BOX))
        ax.text(x + _WIDTH / 2, y + 0.66, name, ha="center", va="top", weight="bold", fontsize=8.5)
        ax.text(x + _WIDTH / 2, y + 0.38, steps[name], ha="center", va="center", fontsize=7.5)
    names = list(steps)
    for name, following in zip(names, names[1:], strict=False):
        (x, y), (x_next, y_next) = corners[name], corners[following]
        if y == y_next:
            _arrow(ax, (x + _WIDTH + 0.03, y + _HEIGHT / 2), (x_next - 0.03, y + _HEIGHT / 2))
        else:
            _arrow(ax, (x + _WIDTH / 2, y - 0.03), (x_next + _WIDTH / 2, y_next + _HEIGHT + 0.03))
    for name, earlier, label in returns:
        (x, y), (x_earlier, _) = corners[name], corners[earlier]
        start, end = (x + _WIDTH / 2, y - 0.03), (x_earlier + _WIDTH / 2, y - 0.03)
        _arrow(ax, start, end, connectionstyle="bar,angle=180,fraction=-0.1")
        ax.text((start[0] + end[0]) / 2, y - 0.42, label, ha="center", va="top", fontsize=7.5)
    ax.set_xlim(-0.06, columns * (_WIDTH + _GAP) - _GAP + 0.06)
    ax.set_ylim((1 - rows) * 1.35 - (0.6 if returns else 0.08), _HEIGHT + 0.08)
    ax.axis("off")
    return figure, ax


def _arrow(ax, start, end, **options):
    """Draw an arrow between two points (x, y); `options` are those of FancyArrowPatch."""
    ax.add_patch(patches.FancyArrowPatch(start, end, **_ARROW, **options))
