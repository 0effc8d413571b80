"""Figures of cumulative counts and of the piecewise-linear segments (lines) that replace them."""

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
    """Draw samples and the lines that replace them; below each panel, the distances of the samples from their lines.

    Parameters
    ----------
    cases : dict of str to tuple
        Title of a panel to three parts: samples (Series of cumulative counts, indexed by the cumulative count of the
        timing event), lines (DataFrame from :func:`cmlib.compress.lines.line_ends`), and distances (Series with the
        index of the samples).
    xlabel, ylabel : str
        Names of the timing event and of the counted event.
    columns : int, default 2
        Panels side by side.

    Returns
    -------
    figure : Figure
    axes : array of Axes, shape (n_cases,)
    """
    figure, axes = panels(list(cases), columns=columns, height=3.8)
    blue, orange = palette(2)
    for ax, (title, (samples, lines, distances)) in zip(axes, cases.items(), strict=True):
        ends = lines[["x_start", "y_start", "x_end", "y_end"]].to_numpy().reshape(-1, 2, 2)
        starts = lines["x_start"].to_numpy()
        ax.plot(samples.index, samples.to_numpy(), ".", color=blue, ms=4, label="samples", rasterized=True)
        ax.add_collection(LineCollection(ends, colors=[orange], linewidths=1.2, zorder=3, label="lines"))
        strokes = {"color": "#333333", "ms": 7, "mew": 0.6, "label": "a line begins"}
        ax.plot(starts, [0.03] * len(starts), "|", transform=ax.get_xaxis_transform(), **strokes)
        ax.tick_params(labelbottom=False)
        ax.set(title=title, ylabel=ylabel)
        below = ax.inset_axes([0, -0.42, 1, 0.3], sharex=ax)
        below.plot(distances.index, distances.to_numpy(), ".", color=blue, ms=2, rasterized=True)
        below.axhline(0, color=orange, lw=1)
        below.set_ylabel("distance")
        _write_in_powers(below, xlabel, samples.index[-1])
    figure.get_layout_engine().set(hspace=0.12)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure, axes


def _write_in_powers(ax, label, largest):
    """Write the numbers of the horizontal axis in units of a thousand, million or billion."""
    power = 3 * int(math.log10(max(largest, 1)) // 3)
    ax.xaxis.set_major_formatter(lambda x, _: f"{x / 10**power:g}")
    ax.set_xlabel(f"{label} [$10^{{{power}}}$]", parse_math=True)
