"""Figures of fingerprints: the decision tree, a program's classes over time, accuracy curves, outcomes by program.

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
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LOOK = yaml_beside(__file__)
COLOURS, _OUTCOMES = (_LOOK[of] | {"unknown": GREY} for of in ("classes", "outcomes"))
_ROW, _STEP, _INDENT = 0.2, 0.42, 0.1  # of the tree [inches]


@styled
def decision_tree(tree: pd.DataFrame) -> tuple[Figure, Axes]:
    """Draw a decision tree, each node on a line of its own: (Figure, Axes).

    `tree` is a nested dict. Inner nodes have node (a number, unique), event, threshold, left (values at most the
    threshold) and right; leaves have node, label (the class), n (training rows) and wrong (those of other classes).
    """
    rows = list(_in_order(tree))
    depth = max(level for _, level, _ in rows)
    figure, ax = single(max(1.2, 0.5 + _ROW * len(rows)))
    place = {node["node"]: (level * _STEP, number) for number, (node, level, _) in enumerate(rows)}
    for node, _, parent in rows:
        x, y = place[node["node"]]
        if parent is not None:
            above_x, above_y = place[parent["node"]]
            corner = above_x + _INDENT
            ax.plot([corner, corner, x], [above_y, y, y], color=GREY, lw=1, zorder=1)
        if "event" in node:
            text = f"{node['event']} ≤ {node['threshold']:.3g}"
            style: dict[str, Any] = {
                "weight": "bold",
                "bbox": {"fc": "white", "ec": GREY, "lw": 0.8, "pad": 1.5},
            }
        else:
            wrong = f" ({node['wrong']:,} of other classes)" if node["wrong"] else ""
            text = f"{node['label']}   {node['n']:,}{wrong}"
            fill = COLOURS.get(node["label"], "#eeeeee")
            style = {"color": _ink(fill), "bbox": {"fc": fill, "ec": "none", "pad": 1.8}}
        ax.text(x, y, text, va="center", fontsize=8, zorder=2, **style)
    ax.set(ylim=(len(rows) - 0.4, -0.6), xlim=(-0.1, max(8.8, depth * _STEP + 4)))
    ax.set_axis_off()
    return figure, ax


@styled
def phase_timeline(
    labelled: pd.DataFrame, pace: pd.Series, *, title: str = "", marked: float | None = None
) -> tuple[Figure, tuple[Axes, ...]]:
    """Bands that show the class of each slice of a run, each class's share of the slices, and below a line such as
    IPC.

    Parameters
    ----------
    labelled : DataFrame
        A row a slice, with its class in the column label; classes without an entry in :data:`COLOURS` are not drawn.
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
    """Accuracy of classification against the column `x`, a line for each of `curves` (dict of label to DataFrame).

    The frames have the columns `x` and accuracy [%]; `xlabel` is the text at the horizontal axis; `lines` (dict of
    label to a value of `x`) are vertical lines; `log` makes the horizontal axis logarithmic. Returns (Figure, Axes).
    """
    figure, ax = single(3.0)
    markers = cycle("os^D")
    for (label, curve), colour, marker in zip(curves.items(), palette(len(curves)), markers, strict=False):
        ax.plot(curve[x], curve["accuracy"], marker=marker, ms=4, lw=1.2, color=colour, label=label)
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


@styled
def program_outcomes(outcomes: pd.DataFrame) -> tuple[Figure, Axes]:
    """Stacked bars of how slices were classified, a bar a program: (Figure, Axes).

    `outcomes` (DataFrame) has percentages of the program's slices: a row a program and, as far as they occur, the
    columns ``right class``, ``another P class``, ``missed: N``, ``false alarm: P`` and unknown. Other columns are not
    drawn.
    """
    figure, ax = single(0.9 + 0.24 * len(outcomes))
    shown = outcomes[[outcome for outcome in _OUTCOMES if outcome in outcomes]]
    shown.plot.barh(stacked=True, ax=ax, color=_OUTCOMES, width=0.8)
    ax.set(xlim=(0, 100), xlabel="slices [%]", ylabel="")
    ax.invert_yaxis()
    ax.grid(False)
    legend_right(ax)
    return figure, ax


def _in_order(node, level=0, parent=None):
    """Yield (node, depth, parent) of all nodes of a tree, from left to right."""
    if "event" in node:
        yield from _in_order(node["left"], level + 1, node)
    yield node, level, parent
    if "event" in node:
        yield from _in_order(node["right"], level + 1, node)


def _ink(fill):
    """White or black, whichever can be read on a colour ``#rrggbb``."""
    red, green, blue = (int(fill[i : i + 2], 16) for i in (1, 3, 5))
    return "#ffffff" if 0.3 * red + 0.59 * green + 0.11 * blue < 140 else "#1d2126"
