"""Figures of fingerprints: the decision tree, a program's classes over time, accuracy curves, classes of cases.

A fingerprint gives each slice (a short stretch) of a program's run a class: pathological (P) or not (N), and which
resource limits it, such as P_Mem_L2 or N_CPU; "unknown" if it is like none of the training data. Functions return
(Figure, Axes); a missing column is a KeyError, else input is not checked.
"""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

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
_ROW, _STEP, _INDENT = 0.26, 0.7, 0.15  # of the tree [inches]
_DEEP = 10  # trees with this number of levels or more have smaller answers


@styled
def decision_tree(tree: dict, *, meanings: dict[str, str] | None = None) -> tuple[Figure, Axes]:
    """Draw a decision tree as an outline: a question on each line, and its two answers, yes and no, indented below it.

    Parameters
    ----------
    tree : dict
        Nested. Inner nodes have node (a number, unique), event, threshold, left (values at most the threshold) and
        right; leaves have node, label (the class), n (training rows) and wrong (those of other classes).
    meanings : dict of str to str, optional
        Meaning of a class, written to the right of its leaves.

    Returns
    -------
    figure : Figure
    ax : Axes
    """
    rows = list(_outline(tree))
    depth = max(level for _, level, _, _ in rows)
    figure, ax = single(max(1.2, 0.4 + _ROW * len(rows)))
    is_deep = depth >= _DEEP
    places = {node["node"]: (level * _STEP, number) for number, (node, level, _, _) in enumerate(rows)}
    for node, _, parent, answer in rows:
        x, y = places[node["node"]]
        if parent is not None:
            parent_x, parent_y = places[parent["node"]]
            corner = parent_x + _INDENT
            ax.plot([corner, corner, x], [parent_y, y, y], color=GREY, lw=1, zorder=1)
            box = {"boxstyle": "square", "fc": "white", "ec": "none", "pad": 0}
            if is_deep:
                ax.text(corner, y, answer, va="center", ha="left", fontsize=5, bbox=box)
            else:
                ax.text((corner + x) / 2, y, answer, va="center", ha="center", fontsize=7.5, bbox=box)
        if "event" in node:
            text = f"{node['event']} ≤ {node['threshold']:.3g}"
            style: dict[str, Any] = {
                "weight": "bold",
                "bbox": {"fc": "white", "ec": GREY, "lw": 0.8, "pad": 2},
            }
        else:
            wrong = f" ({node['wrong']:,} of other classes)" if node["wrong"] else ""
            text = f"{node['label']}   {node['n']:,}{wrong}"
            fill = COLOURS.get(node["label"], "#eeeeee")
            style = {"color": _ink(fill), "bbox": {"fc": fill, "ec": "none", "pad": 2.2}}
        drawn = ax.text(x, y, text, va="center", fontsize=8.5, zorder=2, **style)
        if meanings and "event" not in node and node["label"] in meanings:
            position = {"xytext": (8, 0), "textcoords": "offset points", "va": "center", "fontsize": 7.5}
            ax.annotate(meanings[node["label"]], (1, 0.5), xycoords=drawn, color="#555555", **position)
    ax.set(ylim=(len(rows) - 0.4, -0.6), xlim=(-0.1, max(8.8, depth * _STEP + 4)))
    ax.set_axis_off()
    return figure, ax


@styled
def class_tiles(frames: dict[str, pd.DataFrame]) -> tuple[Figure, np.ndarray]:
    """Draw the class that each case has, and the classes that it is given, as colored tiles in one row.

    Parameters
    ----------
    frames : dict of str to DataFrame
        Title of a panel to its tiles: a row for each case, indexed by its group and its name, a column for the true
        class and each classifier. Values are texts that begin with a class. Groups are separated by a line.

    Returns
    -------
    figure : Figure
    axes : array of Axes, shape (n_frames,)
    """
    n_rows = max(len(frame) for frame in frames.values())
    figure, grid = blank(0.8 + 0.21 * n_rows, columns=len(frames))
    axes = grid[0]
    for ax, (title, frame) in zip(axes, frames.items(), strict=True):
        for row, texts in enumerate(frame.to_numpy()):
            for column, text in enumerate(texts):
                fill = COLOURS.get(text.split(" ")[0], "#eeeeee")
                ax.barh(row, 0.96, left=column + 0.02, height=0.86, color=fill)
                ax.text(column + 0.5, row, text, ha="center", va="center", fontsize=7, color=_ink(fill))
        groups = frame.index.get_level_values(0)
        for row in range(1, len(frame)):
            if groups[row] != groups[row - 1]:
                ax.axhline(row - 0.5, color="#222222", lw=1)
        ax.set_yticks(range(len(frame)), frame.index.get_level_values(1), fontsize=7.5)
        ax.set_xticks([column + 0.5 for column in range(frame.shape[1])], frame.columns)
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
        ax.set(xlim=(0, frame.shape[1]), ylim=(n_rows - 0.5, -0.5), title=title)
        ax.grid(False)
        ax.spines[:].set_visible(False)
    return figure, axes


@styled
def phase_timeline(
    labelled: pd.DataFrame, pace: pd.Series, *, title: str = "", marked: float | None = None
) -> tuple[Figure, tuple[Axes, ...]]:
    """Draw the class of each slice of a run as bands, the classes' shares of the slices, and a line such as IPC.

    Parameters
    ----------
    labelled : DataFrame
        A row per slice, with its class in the column label; classes without an entry in :data:`COLOURS` are not drawn.
        The index has the slices' ends; its name is time_s [s], interval [number], or the label of the horizontal axis.
    pace : Series
        The line's value in each slice; its name is the label of the vertical axis.
    title : str
    marked : float, optional
        End of a slice, whose middle a dotted line marks.

    Returns
    -------
    figure : Figure
    axes : tuple of three Axes
        Of the bands, the shares [%] and the line.
    """
    labels = set(labelled["label"])
    shown = [label for label in COLOURS if label in labels]
    lanes = len(shown)
    sizes = {"width_ratios": [5, 1], "height_ratios": [0.24 * lanes + 0.1, 1.9]}
    figure, axes = blank(2.6 + 0.24 * lanes, rows=2, columns=2, sharex="col", sharey="row", **sizes)
    band, share, line = axes[0, 0], axes[0, 1], axes[1, 0]
    axes[1, 1].remove()
    ends = labelled.index.to_series()
    length = ends.diff().median() if len(ends) > 1 else ends.iloc[0]
    for lane, label in enumerate(shown):
        ends_of_class = ends[(labelled["label"] == label).to_numpy()]
        bars = [(end - length, length) for end in ends_of_class]
        band.broken_barh(bars, (lane - 0.42, 0.84), color=COLOURS[label], lw=0)
        look = {"color": COLOURS[label], "lw": 0, "alpha": 0.35}
        line.broken_barh(bars, (0, 1), transform=line.get_xaxis_transform(), **look)
        percent = 100 * len(ends_of_class) / len(labelled)
        share.barh(lane, percent, color=COLOURS[label], height=0.84)
        share.text(percent + 3, lane, f"{percent:.1f} %", va="center", fontsize=8)
    middles = ends - length / 2
    line.plot(middles.to_numpy(), pace.to_numpy(), color="#222222", lw=1.3, marker=".", ms=3)
    for ax in (band, line) if marked is not None else ():
        ax.axvline(marked - length / 2, color="#222222", lw=1, ls=":")
    band.set_yticks(range(lanes), shown)
    band.set(ylim=(lanes - 0.5, -0.5), title=title)
    band.tick_params(axis="x", length=0, labelbottom=False)
    share.set(xlim=(0, 150), xticks=[], title="share of slices")
    share.tick_params(axis="y", length=0, labelleft=False)
    for ax in (band, share):
        ax.grid(False)
    line.set(xlabel=_LOOK["progress"].get(labelled.index.name, labelled.index.name), ylabel=pace.name)
    line.set(ylim=(0, None), xlim=(ends.iloc[0] - length, ends.iloc[-1]))
    return figure, (band, share, line)


@styled
def accuracy_curve(
    curves: dict[str, pd.DataFrame],
    *,
    x: str,
    xlabel: str,
    lines: dict[str, float] | None = None,
    log: bool = False,
) -> tuple[Figure, Axes]:
    """Draw the accuracy of classification against the column `x`, a line for each of `curves`.

    Parameters
    ----------
    curves : dict of str to DataFrame
        Frames by label, with the columns `x` and accuracy [%].
    x : str
        Name of the column.
    xlabel : str
        Text at the horizontal axis.
    lines : dict of str to float, optional
        Values of `x`, by label, at which vertical lines are drawn.
    log : bool, default False
        True for a logarithmic horizontal axis.

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
    """Yield (node, depth, parent, answer to the parent's question) of all nodes, each before its children."""
    yield node, level, parent, answer
    if "event" in node:
        yield from _outline(node["left"], level + 1, node, "yes")
        yield from _outline(node["right"], level + 1, node, "no")


def _ink(fill):
    """Return white or black, the one that is easier to read on a color ``#rrggbb``."""
    red, green, blue = (int(fill[i : i + 2], 16) for i in (1, 3, 5))
    return "#ffffff" if 0.3 * red + 0.59 * green + 0.11 * blue < 140 else "#1d2126"
