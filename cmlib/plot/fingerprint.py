"""Draw figures of fingerprints.

A fingerprint gives each slice of a run (a short stretch of time) a class. Examples are ``P_Mem_L2`` (pathological,
limited by the L2 cache), ``N_CPU`` (not pathological) and ``unknown`` (like none of the training data).
:func:`decision_tree` draws the classifier, :func:`phase_timeline` the classes of one run, :func:`class_tiles` the
classes of many programs, and :func:`accuracy_curve` the accuracy of several settings. Functions return a Figure and
its Axes.
"""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

from cmlib.places import yaml_beside
from cmlib.plot.style import GREY, blank, legend_right, palette, single, styled

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["accuracy_curve", "class_tiles", "decision_tree", "phase_timeline"]

_LOOK = yaml_beside(__file__)
COLOURS = _LOOK["classes"] | {"unknown": GREY}
# Sizes of the tree [inches]: height of a row, indentation of a level, and distance of a branch from its question.
_ROW_HEIGHT, _LEVEL_WIDTH, _BRANCH_OFFSET = 0.26, 0.7, 0.15
_DEEP = 10  # trees with this number of levels or more have smaller answers


@styled
def decision_tree(tree: dict, *, meanings: dict[str, str] | None = None) -> tuple[Figure, Axes]:
    """Plot a decision tree as an outline.

    Each line is a question. Its two answers, yes and no, are indented below it.

    Parameters
    ----------
    tree : dict
        The root node. A question has the keys node (a unique number), event, threshold, left (the node for values up
        to the threshold) and right. A leaf has the keys node, label (the class), n (number of training rows) and
        wrong (number of training rows of other classes).
    meanings : dict of str to str, optional
        Explanation of each class, written to the right of its leaves.

    Returns
    -------
    figure : Figure
    ax : Axes
    """
    rows = list(_outline(tree))
    depth = max(level for _, level, _, _ in rows)
    figure, ax = single(max(1.2, 0.4 + _ROW_HEIGHT * len(rows)))
    positions = {node["node"]: (level * _LEVEL_WIDTH, row) for row, (node, level, _, _) in enumerate(rows)}
    for node, _, parent, answer in rows:
        position = positions[node["node"]]
        if parent is not None:
            _draw_branch(ax, positions[parent["node"]], position, answer, is_deep=depth >= _DEEP)
        if "event" in node:
            _draw_question(ax, position, node)
        else:
            _draw_leaf(ax, position, node, (meanings or {}).get(node["label"]))
    ax.set(ylim=(len(rows) - 0.4, -0.6), xlim=(-0.1, max(8.8, depth * _LEVEL_WIDTH + 4)))
    ax.set_axis_off()
    return figure, ax


def _draw_branch(ax, parent_position, position, answer, *, is_deep):
    """Draw the line from a question to one of its answers, and the answer ("yes" or "no") on it."""
    parent_x, parent_y = parent_position
    x, y = position
    corner = parent_x + _BRANCH_OFFSET
    ax.plot([corner, corner, x], [parent_y, y, y], color=GREY, lw=1, zorder=1)
    box = {"boxstyle": "square", "fc": "white", "ec": "none", "pad": 0}
    if is_deep:
        ax.text(corner, y, answer, va="center", ha="left", fontsize=5, bbox=box)
    else:
        ax.text((corner + x) / 2, y, answer, va="center", ha="center", fontsize=7.5, bbox=box)


def _draw_question(ax, position, node):
    """Draw the question of an inner node: whether an event's value is at most the threshold."""
    text = f"{node['event']} ≤ {node['threshold']:.3g}"
    box = {"fc": "white", "ec": GREY, "lw": 0.8, "pad": 2}
    ax.text(*position, text, va="center", fontsize=8.5, zorder=2, weight="bold", bbox=box)


def _draw_leaf(ax, position, node, meaning):
    """Draw the class of a leaf with its number of training rows, and the meaning of the class."""
    wrong = f" ({node['wrong']:,} of other classes)" if node["wrong"] else ""
    text = f"{node['label']}   {node['n']:,}{wrong}"
    fill = COLOURS.get(node["label"], "#eeeeee")
    box = {"fc": fill, "ec": "none", "pad": 2.2}
    drawn = ax.text(*position, text, va="center", fontsize=8.5, zorder=2, color=_text_color(fill), bbox=box)
    if meaning is not None:
        offset = {"xytext": (8, 0), "textcoords": "offset points"}
        look = {"color": "#555555", "va": "center", "fontsize": 7.5}
        ax.annotate(meaning, (1, 0.5), xycoords=drawn, **offset, **look)


@styled
def class_tiles(frames: dict[str, pd.DataFrame]) -> tuple[Figure, np.ndarray]:
    """Plot the true class of each program and the classes that classifiers gave it.

    Each table is a panel of colored tiles, in one row of panels. A line separates the groups of a table.

    Parameters
    ----------
    frames : dict of str to DataFrame
        The tables, keyed by title of the panel. Each row is a program, indexed by its group and its name. Each column
        is the true class or a classifier. A value is a text that begins with a class.

    Returns
    -------
    figure : Figure
    axes : array of Axes, shape (n_frames,)
    """
    n_rows = max(len(frame) for frame in frames.values())
    figure, grid = blank(0.8 + 0.21 * n_rows, columns=len(frames))
    axes = grid[0]
    for ax, (title, frame) in zip(axes, frames.items(), strict=True):
        _draw_tiles(ax, frame)
        _separate_groups(ax, frame.index.get_level_values(0))
        ax.set_yticks(range(len(frame)), frame.index.get_level_values(1), fontsize=7.5)
        ax.set_xticks([column + 0.5 for column in range(frame.shape[1])], frame.columns)
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
        ax.set(xlim=(0, frame.shape[1]), ylim=(n_rows - 0.5, -0.5), title=title)
        ax.grid(False)
        ax.spines[:].set_visible(False)
    return figure, axes


def _draw_tiles(ax, frame):
    """Draw each text of a table on a tile in the color of its class."""
    for row, texts in enumerate(frame.to_numpy()):
        for column, text in enumerate(texts):
            fill = COLOURS.get(text.split(" ")[0], "#eeeeee")
            ax.barh(row, 0.96, left=column + 0.02, height=0.86, color=fill)
            ax.text(column + 0.5, row, text, ha="center", va="center", fontsize=7, color=_text_color(fill))


def _separate_groups(ax, groups):
    """Draw a line between neighboring rows of different groups."""
    for row in range(1, len(groups)):
        if groups[row] != groups[row - 1]:
            ax.axhline(row - 0.5, color="#222222", lw=1)


@styled
def phase_timeline(
    labelled: pd.DataFrame, pace: pd.Series, *, title: str = "", marked: float | None = None
) -> tuple[Figure, tuple[Axes, ...]]:
    """Plot the class of each slice of a run above a curve such as IPC.

    A third panel shows the share of slices in each class.

    Parameters
    ----------
    labelled : DataFrame
        One row per slice, with its class in the column label. Classes that are not in :data:`COLOURS` are not drawn.
        The index contains the ends of the slices. Its name is time_s [s], interval (a number), or a label of the
        horizontal axis.
    pace : Series
        Value of the curve in each slice. Its name is the label of the vertical axis.
    title : str, default ""
        Title of the figure.
    marked : float, optional
        End of a slice to mark by a dotted line through its middle.

    Returns
    -------
    figure : Figure
    axes : tuple of three Axes
        The classes, their shares [%] and the curve.
    """
    labels = set(labelled["label"])
    shown = [label for label in COLOURS if label in labels]
    ends = labelled.index.to_series()
    length = ends.diff().median() if len(ends) > 1 else ends.iloc[0]
    figure, axes = _make_timeline(len(shown))
    band, share, line = axes
    for lane, label in enumerate(shown):
        is_of_class = (labelled["label"] == label).to_numpy()
        _draw_class(axes, lane, label, ends[is_of_class], length, len(labelled))
    middles = ends - length / 2
    line.plot(middles.to_numpy(), pace.to_numpy(), color="#222222", lw=1.3, marker=".", ms=3)
    if marked is not None:
        for ax in (band, line):
            ax.axvline(marked - length / 2, color="#222222", lw=1, ls=":")
    band.set_yticks(range(len(shown)), shown)
    band.set(ylim=(len(shown) - 0.5, -0.5), title=title)
    band.tick_params(axis="x", length=0, labelbottom=False)
    share.set(xlim=(0, 150), xticks=[], title="share of slices")
    share.tick_params(axis="y", length=0, labelleft=False)
    for ax in (band, share):
        ax.grid(False)
    line.set(xlabel=_LOOK["progress"].get(labelled.index.name, labelled.index.name), ylabel=pace.name)
    line.set(ylim=(0, None), xlim=(ends.iloc[0] - length, ends.iloc[-1]))
    return figure, axes


def _make_timeline(n_classes):
    """Make a figure with empty Axes for the classes, their shares and the curve."""
    sizes = {"width_ratios": [5, 1], "height_ratios": [0.24 * n_classes + 0.1, 1.9]}
    figure, grid = blank(2.6 + 0.24 * n_classes, rows=2, columns=2, sharex="col", sharey="row", **sizes)
    grid[1, 1].remove()
    return figure, (grid[0, 0], grid[0, 1], grid[1, 0])


def _draw_class(axes, lane, label, ends, length, n_slices):
    """Draw the slices of one class: bars in its lane and behind the curve, and their share of all slices."""
    band, share, line = axes
    color = COLOURS[label]
    bars = [(end - length, length) for end in ends]
    band.broken_barh(bars, (lane - 0.42, 0.84), color=color, lw=0)
    line.broken_barh(bars, (0, 1), transform=line.get_xaxis_transform(), color=color, lw=0, alpha=0.35)
    percent = 100 * len(ends) / n_slices
    share.barh(lane, percent, color=color, height=0.84)
    share.text(percent + 3, lane, f"{percent:.1f} %", va="center", fontsize=8)


@styled
def accuracy_curve(
    curves: dict[str, pd.DataFrame],
    *,
    x: str,
    xlabel: str,
    lines: dict[str, float] | None = None,
    log: bool = False,
) -> tuple[Figure, Axes]:
    """Plot the accuracy of classification against a setting.

    Parameters
    ----------
    curves : dict of str to DataFrame
        The curves, keyed by label. Columns: `x` and accuracy [%].
    x : str
        Column of the horizontal axis. For example, the number of events.
    xlabel : str
        Label of the horizontal axis.
    lines : dict of str to float, optional
        Positions of vertical lines on the horizontal axis, keyed by label.
    log : bool, default False
        Whether the horizontal axis is logarithmic.

    Returns
    -------
    figure : Figure
    axes : Axes
    """
    figure, ax = single(3.0)
    markers = cycle("os^D")
    for number, (label, curve) in enumerate(curves.items()):
        # The first line is the widest, so that it shows where a later one covers it.
        widths = {"lw": 3.4, "ms": 7} if number == 0 else {"lw": 1.2, "ms": 4}
        color = palette(len(curves))[number]
        ax.plot(curve[x], curve["accuracy"], marker=next(markers), color=color, label=label, **widths)
    for (label, at), style in zip((lines or {}).items(), cycle(("--", ":")), strict=False):
        ax.axvline(at, color="#555555", lw=1, ls=style, label=f"{label}: {at:g}")
    ax.set(xlabel=xlabel, ylabel="slices in the right class [%]")
    ax.set_ylim(top=min(ax.get_ylim()[1], 101))
    if log:
        ax.set_xscale("log")
        ax.set_xticks(sorted({value for curve in curves.values() for value in curve[x]}))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.minorticks_off()
    legend_right(ax)
    return figure, ax


def _outline(node, level=0, parent=None, answer=""):
    """Yield the nodes of a tree, each before its children: node, level, parent, answer to the parent's question."""
    yield node, level, parent, answer
    if "event" in node:
        yield from _outline(node["left"], level + 1, node, "yes")
        yield from _outline(node["right"], level + 1, node, "no")


def _text_color(fill):
    """Return black or white, whichever is easier to read on the color `fill` (``#rrggbb``)."""
    red, green, blue = (int(fill[i : i + 2], 16) for i in (1, 3, 5))
    return "#ffffff" if 0.3 * red + 0.59 * green + 0.11 * blue < 140 else "#1d2126"
