"""Draw cumulative counts and the piecewise-linear segments (lines) that replace them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from matplotlib.collections import LineCollection

from cmlib.plot.style import palette, panels, styled

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure


@styled
def samples_and_lines(
    cases: dict[str, tuple], *, xlabel: str, ylabel: str, columns: int = 2
) -> tuple[Figure, np.ndarray]:
    """Plot samples and the lines that replace them, one panel per case.

    A small panel below shows the distance of each sample from its line.

    Parameters
    ----------
    cases : dict of str to tuple
        Samples, lines and distances, keyed by title of the panel. Samples are a Series of cumulative counts, indexed
        by the cumulative count of the timing event. Lines are a DataFrame from
        :func:`cmlib.compress.lines.line_ends`. Distances are a Series with the index of the samples.
    xlabel, ylabel : str
        Names of the timing event and of the counted event.
    columns : int, default 2
        Number of panels in a row.

    Returns
    -------
    figure : Figure
    axes : array of Axes, shape (n_cases,)
    """
    figure, axes = panels(list(cases), columns=columns, height=3.8)
    for ax, (title, (samples, lines, distances)) in zip(axes, cases.items(), strict=True):
        _draw_samples_and_lines(ax, samples, lines)
        ax.tick_params(labelbottom=False)
        ax.set(title=title, ylabel=ylabel)
        below = _draw_distances(ax, distances)
        _write_in_powers(below, xlabel, samples.index[-1])
    figure.get_layout_engine().set(hspace=0.12)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure, axes


def _draw_samples_and_lines(ax, samples, lines):
    """Draw samples as dots, their lines, and a stroke at the start of each line."""
    blue, orange = palette(2)
    ends = lines[["x_start", "y_start", "x_end", "y_end"]].to_numpy().reshape(-1, 2, 2)
    starts = lines["x_start"].to_numpy()
    ax.plot(samples.index, samples.to_numpy(), ".", color=blue, ms=4, label="samples", rasterized=True)
    ax.add_collection(LineCollection(ends, colors=[orange], linewidths=1.2, zorder=3, label="lines"))
    strokes = {"color": "#333333", "ms": 7, "mew": 0.6, "label": "a line begins"}
    ax.plot(starts, [0.03] * len(starts), "|", transform=ax.get_xaxis_transform(), **strokes)


def _draw_distances(ax, distances):
    """Draw the distances of samples from their lines in new Axes below `ax`, which are returned."""
    blue, orange = palette(2)
    below = ax.inset_axes([0, -0.42, 1, 0.3], sharex=ax)
    below.plot(distances.index, distances.to_numpy(), ".", color=blue, ms=2, rasterized=True)
    below.axhline(0, color=orange, lw=1)
    below.set_ylabel("distance")
    return below


def _write_in_powers(ax, label, largest):
    """Label the horizontal axis in thousands, millions or billions, depending on the largest value."""
    power = 3 * int(math.log10(max(largest, 1)) // 3)
    ax.xaxis.set_major_formatter(lambda x, _: f"{x / 10**power:g}")
    ax.set_xlabel(f"{label} [$10^{{{power}}}$]", parse_math=True)
