"""Figures of anomaly detection: errors of samples and runs with their threshold, and rules that call runs anomalous.

Functions take DataFrames and return (Figure, Axes), with an array of Axes if there are several panels. A missing column
is a KeyError; other input is not checked.
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
    """Compare rules: a row for each rule, a panel for each value.

    Parameters
    ----------
    kernels : DataFrame
        One row per program and rule: rule, and the values, which are drawn as small gray dots.
    means : DataFrame
        Indexed by rule, from top to bottom: the columns (value, "mean"), (value, "low") and (value, "high"), drawn as
        a large dot and a line.
    values : dict of str to str
        Column to the label of its axis.
    paper : dict of str to float, optional
        First value by rule as a paper prints it, drawn as a cross.

    Returns
    -------
    figure : Figure
    axes : array of Axes, shape (n_values,)
    """
    names = list(means.index)
    figure, grid = blank(1.1 + 0.4 * len(names), columns=len(values), sharey=True)
    axes = grid[0]
    color = palette(1)[0]
    for ax, (value, label) in zip(axes, values.items(), strict=True):
        for row, name in enumerate(names):
            dots = kernels.loc[kernels["rule"] == name, value].sort_values()
            heights = [row - 0.3 + 0.6 * rank / max(1, len(dots) - 1) for rank in range(len(dots))]
            ax.plot(dots, heights, "o", ms=3, color=GREY, label="a kernel" if row == 0 else None)
        rows = range(len(names))
        ax.hlines(
            rows, means[value, "low"], means[value, "high"], color=color, lw=4, label="range over seeds"
        )
        ax.plot(means[value, "mean"], rows, "D", ms=7, color=color, mec="white", label="mean of the kernels")
        ax.set(xlabel=label, ylim=(len(names) - 0.5, -0.5))
        ax.grid(True, axis="x")
        ax.grid(False, axis="y")
    axes[0].set_yticks(range(len(names)), names)
    if paper:
        axes[0].plot(list(paper.values()), [names.index(name) for name in paper], label="paper", **PAPER)
    legend_below(figure, axes[0], 4)
    return figure, axes


@styled
def errors_by_run(errors: pd.DataFrame, *, threshold: float, title: str = "") -> tuple[Figure, Axes]:
    """Draw the largest error of each run, in the order of the runs, with a threshold.

    Parameters
    ----------
    errors : DataFrame
        One row per run: kind (learned, good or bad) and largest [standard deviations].
    threshold : float
        In the same unit.
    title : str, default ""

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
    """Draw samples of two counters with their reconstructions, and the errors of the samples.

    Parameters
    ----------
    good, reconstructed : DataFrame
        Two columns, one row per sample: the scaled counts, and their reconstructions by an autoencoder.
    new : DataFrame
        The same two columns, and error; one row per new sample, indexed by its name.
    threshold : float
        Of the error.

    Returns
    -------
    figure : Figure
    axes : array of Axes, shape (2,)
    """
    figure, grid = blank(3.4, columns=2)
    plane, bars = grid[0]
    first, second = good.columns
    plane.plot(good[first], good[second], ".", ms=3, color=GREY, label="good sample")
    plane.plot(
        reconstructed[first], reconstructed[second], ".", ms=2, color="#222222", label="reconstruction"
    )
    colors = palette(len(new))
    for (name, row), color in zip(new.iterrows(), colors, strict=True):
        plane.plot(row[first], row[second], "D", ms=7, color=color, label=name)
    plane.set(xlabel=f"{first}, scaled", ylabel=f"{second}, scaled")
    bars.barh(range(len(new)), new["error"], color=colors)
    bars.axvline(threshold, color="#222222", lw=1.2, ls="--", label="threshold")
    bars.set_yticks(range(len(new)), new.index)
    bars.invert_yaxis()
    bars.grid(False, axis="y")
    bars.set(xlabel="reconstruction error", xscale="log")
    handles, labels = plane.get_legend_handles_labels()
    lines, texts = bars.get_legend_handles_labels()
    figure.legend(handles + lines, labels + texts, loc="outside lower center", ncols=6)
    return figure, grid[0]
