"""Draw figures of anomaly detection.

:func:`rules` compares rules that call runs anomalous. :func:`errors_by_run` and :func:`two_counters` draw
reconstruction errors of an autoencoder next to the threshold. Functions take DataFrames and return a Figure and its
Axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmlib.plot.style import GREY, PAPER, blank, legend_below, legend_right, palette, single, styled

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["errors_by_run", "rules", "two_counters"]

_KINDS = {"learned": GREY, "good": "#0173b2", "bad": "#d55e00"}


@styled
def rules(
    kernels: pd.DataFrame,
    means: pd.DataFrame,
    *,
    values: dict[str, str],
    paper: dict[str, float] | None = None,
) -> tuple[Figure, np.ndarray]:
    """Plot the values of rules, one row per rule and one panel per value.

    Parameters
    ----------
    kernels : DataFrame
        One row per program and rule: the column rule, and a column for each value. The values are small gray dots.
    means : DataFrame
        Indexed by rule, in the order from top to bottom. The columns are (value, "mean"), drawn as a large dot, and
        (value, "low") and (value, "high"), the ends of a line.
    values : dict of str to str
        Label of the axis, keyed by value.
    paper : dict of str to float, optional
        Published numbers for the first value, keyed by rule. They are drawn as crosses.

    Returns
    -------
    figure : Figure
    axes : array of Axes, shape (n_values,)

    Raises
    ------
    KeyError
        If a column is missing.
    """
    names = list(means.index)
    figure, grid = blank(1.1 + 0.4 * len(names), columns=len(values), sharey=True)
    axes = grid[0]
    for ax, (value, label) in zip(axes, values.items(), strict=True):
        _plot_programs(ax, kernels, value, names)
        _plot_means(ax, means[value])
        ax.set(xlabel=label, ylim=(len(names) - 0.5, -0.5))
        ax.grid(True, axis="x")
        ax.grid(False, axis="y")
    axes[0].set_yticks(range(len(names)), names)
    if paper:
        axes[0].plot(list(paper.values()), [names.index(name) for name in paper], label="paper", **PAPER)
    legend_below(figure, axes[0], 4)
    return figure, axes


def _plot_programs(ax, kernels, value, names):
    """Plot a gray dot per program in the row of each rule, the smallest value lowest."""
    for row, name in enumerate(names):
        dots = kernels.loc[kernels["rule"] == name, value].sort_values()
        heights = [row - 0.3 + 0.6 * rank / max(1, len(dots) - 1) for rank in range(len(dots))]
        ax.plot(dots, heights, "o", ms=3, color=GREY, label="a kernel" if row == 0 else None)


def _plot_means(ax, means):
    """Plot the mean of each rule and its range over seeds."""
    rows = range(len(means))
    color = palette(1)[0]
    ax.hlines(rows, means["low"], means["high"], color=color, lw=4, label="range over seeds")
    ax.plot(means["mean"], rows, "D", ms=7, color=color, mec="white", label="mean of the kernels")


@styled
def errors_by_run(errors: pd.DataFrame, *, threshold: float, title: str = "") -> tuple[Figure, Axes]:
    """Plot the largest error of each run and the threshold.

    Parameters
    ----------
    errors : DataFrame
        One row per run. Columns: kind (learned, good or bad) and largest, the largest error [standard deviations].
    threshold : float
        Errors above it are anomalous [standard deviations].
    title : str, default ""
        Title of the figure.

    Returns
    -------
    figure : Figure
    ax : Axes
    """
    figure, ax = single(2.8)
    for kind, color in _KINDS.items():
        largest = errors.loc[errors["kind"] == kind, "largest"]
        ax.plot(largest.index, largest, "o", ms=4, color=color, label=kind)
    ax.axhline(threshold, color="#222222", lw=1.2, ls="--", label="threshold")
    ax.set(xlabel="run", ylabel="largest error of a sample\n[standard deviations]", title=title)
    ax.set_yscale("symlog", linthresh=10)
    ax.set_ylim(bottom=-5)
    ax.margins(y=0.1)
    legend_right(ax)
    return figure, ax


@styled
def two_counters(
    good: pd.DataFrame, reconstructed: pd.DataFrame, new: pd.DataFrame, *, threshold: float
) -> tuple[Figure, np.ndarray]:
    """Plot samples of two counters, their reconstructions and their errors.

    Parameters
    ----------
    good, reconstructed : DataFrame
        Scaled counts of good samples and their reconstructions by an autoencoder. One row per sample, two columns.
    new : DataFrame
        Scaled counts of new samples in the same two columns, and the column error. Indexed by name of the sample.
    threshold : float
        Errors above it are anomalous.

    Returns
    -------
    figure : Figure
    axes : array of Axes, shape (2,)
        The samples and the errors of the new samples.
    """
    figure, grid = blank(3.4, columns=2)
    plane, bars = grid[0]
    colors = palette(len(new))
    _plot_samples(plane, good, reconstructed, new, colors)
    _plot_errors(bars, new["error"], threshold, colors)
    handles, labels = plane.get_legend_handles_labels()
    lines, texts = bars.get_legend_handles_labels()
    figure.legend(handles + lines, labels + texts, loc="outside lower center", ncols=6)
    return figure, grid[0]


def _plot_samples(ax, good, reconstructed, new, colors):
    """Plot good samples, their reconstructions and new samples in the plane of two counters."""
    first, second = good.columns
    ax.plot(good[first], good[second], ".", ms=3, color=GREY, label="good sample")
    ax.plot(reconstructed[first], reconstructed[second], ".", ms=2, color="#222222", label="reconstruction")
    for (name, row), color in zip(new.iterrows(), colors, strict=True):
        ax.plot(row[first], row[second], "D", ms=7, color=color, label=name)
    ax.set(xlabel=f"{first}, scaled", ylabel=f"{second}, scaled")


def _plot_errors(ax, errors, threshold, colors):
    """Plot the errors of new samples as bars, and the threshold."""
    ax.barh(range(len(errors)), errors, color=colors)
    ax.axvline(threshold, color="#222222", lw=1.2, ls="--", label="threshold")
    ax.set_yticks(range(len(errors)), errors.index)
    ax.invert_yaxis()
    ax.grid(False, axis="y")
    ax.set(xlabel="reconstruction error", xscale="log")
