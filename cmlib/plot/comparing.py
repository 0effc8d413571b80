"""Figures that compare methods, programs and cases: bars, dots, heat maps and scatter plots."""

from itertools import cycle

import seaborn as sns

from cmlib.plot.style import GREY, PAPER, legend_right, palette, panels, single, styled

_LETTERS_IN_A_ROW = 70  # longer labels of an axis are turned
_MARKERS = "osD^v"
_MARKS_OF_CASES = "os^DvP"


@styled
def bars_by_program(frame, *, value, hue, ylabel, levels=None):
    """Bars grouped by the column "program", a colour for each value of the column `hue`.

    A bar is the mean of the column `value`, with a line from the lowest to the highest; `levels` (label to height)
    are dashed lines across.
    """
    figure, ax = single(3.2)
    look = {"errorbar": ("pi", 100), "err_kws": {"linewidth": 1.0, "color": "#333333"}}
    sns.barplot(frame, x="program", y=value, hue=hue, palette=palette(frame[hue].nunique()), ax=ax, **look)
    for (label, level), grey in zip((levels or {}).items(), cycle(("#222222", "#8a8f94")), strict=False):
        ax.axhline(level, color=grey, linestyle="--", linewidth=1, label=f"{label}: {level:g}")
    ax.set(xlabel="", ylabel=ylabel, ylim=(0, None))
    if sum(map(len, frame["program"].unique())) > _LETTERS_IN_A_ROW:
        names = [label.get_text() for label in ax.get_xticklabels()]
        ax.set_xticks(ax.get_xticks(), names, rotation=40, ha="right")
    legend_right(ax, title="")
    return figure, ax


@styled
def dots_by_program(frame, *, value, hue, xlabel, paper=None, grey=()):
    """Dots in a row for each value of the column "program", a colour for each value of the column `hue`.

    `value` is the column drawn, `grey` the hues that are baselines, and `paper` (program to value) the published
    numbers, as crosses.
    """
    programs, hues = list(dict.fromkeys(frame["program"])), list(dict.fromkeys(frame[hue]))
    slots = len(hues) + bool(paper)
    figure, ax = single(0.8 + max(0.25, 0.075 * slots) * len(programs))
    step = 0.8 / slots
    for number, (name, colour) in enumerate(zip(hues, palette(len(hues)), strict=True)):
        rows = frame[frame[hue] == name]
        heights = [programs.index(of) - 0.4 + (number + 0.5) * step for of in rows["program"]]
        look = {"color": GREY if name in grey else colour, "ms": 5, "label": name}
        ax.plot(rows[value], heights, _MARKERS[number % len(_MARKERS)], **look)
    if paper:
        heights = [programs.index(of) + 0.4 - step / 2 for of in paper]
        ax.plot(list(paper.values()), heights, label="paper", **PAPER)
    ax.set_yticks(range(len(programs)), programs)
    ax.set(xlabel=xlabel, ylim=(len(programs) - 0.5, -0.5))
    for row in range(1, len(programs)):
        ax.axhline(row - 0.5, color="#e3e5e8", lw=0.8)
    ax.grid(True, axis="x")
    ax.grid(False, axis="y")
    legend_right(ax)
    return figure, ax


@styled
def heat(frame, *, label, centre=None):
    """A table as a heat map with its numbers written in, rows down and columns across.

    `label` says what the colours are; they end at the 2nd and 98th percentile. With `centre` they diverge from there.
    """
    figure, ax = single(0.6 + 0.3 * len(frame))
    cmap = "vlag" if centre is not None else "crest"
    look = {"annot": True, "fmt": ".2f", "annot_kws": {"fontsize": 8}, "linewidths": 0.5, "robust": True}
    sns.heatmap(frame, ax=ax, cmap=cmap, center=centre, cbar_kws={"label": label}, **look)
    ax.set(xlabel="", ylabel="")
    ax.grid(False)
    ax.tick_params(axis="both", length=0)
    ax.tick_params(axis="x", rotation=0)
    return figure, ax


@styled
def counts(frame, *, ylabel):
    """Stacked bars of a table of counts: a bar a row, a colour a column."""
    figure, ax = single(3.0)
    frame.plot.bar(stacked=True, ax=ax, color=palette(frame.shape[1]), width=0.7, rot=0)
    ax.set(xlabel="", ylabel=ylabel)
    ax.grid(False, axis="x")
    legend_right(ax)
    return figure, ax


@styled
def points(frames, *, x, y, xlabel, ylabel, size=3):
    """Scatter plots of columns `x` and `y`, a panel for each of `frames` (name to DataFrame).

    Points are drawn as pixels even in vector graphics, as there are many.
    """
    figure, axes = panels(list(frames), height=2.7)
    for ax, (name, frame) in zip(axes, frames.items(), strict=True):
        look = {"alpha": 0.3 if size < 10 else 0.7, "linewidths": 0, "rasterized": True}
        ax.scatter(frame[x], frame[y], s=size, color=palette(1)[0], **look)
        ax.set(title=name, xlabel=xlabel, ylabel=ylabel)
    return figure, axes


@styled
def run_times(frame, *, ylabel):
    """Run times, the columns "program" and "seconds", a point a run in the order of the rows, a colour a program."""
    figure, ax = single(2.9)
    programs = list(dict.fromkeys(frame["program"]))
    for name, colour in zip(programs, palette(len(programs)), strict=True):
        seconds = frame.loc[frame["program"] == name, "seconds"].to_numpy()
        ax.plot(range(1, len(seconds) + 1), seconds, "o-", color=colour, ms=3.5, lw=0.9, label=name)
    ax.set(xlabel="run", ylabel=ylabel, ylim=(0, None))
    legend_right(ax)
    return figure, ax


@styled
def by_case(frame, *, ylabel, levels=None, log=True):
    """A mark for each row (case, from left to right) and column of a table; `levels` (label to height) are dashed
    lines.

    `log`: whether the vertical axis is logarithmic.
    """
    figure, ax = single(3.4)
    places = range(len(frame))
    for column, colour, mark in zip(frame, palette(frame.shape[1]), cycle(_MARKS_OF_CASES), strict=False):
        ax.plot(places, frame[column].to_numpy(), mark, color=colour, ms=4.5, label=column, alpha=0.9)
    for (label, level), style in zip((levels or {}).items(), cycle(("--", ":", "-.")), strict=False):
        ax.axhline(level, color="#333333", lw=1, ls=style, label=f"{label}: {level:g}")
    ax.set_xticks(places, frame.index, rotation=90)
    ax.set(ylabel=ylabel, xlim=(-0.7, len(frame) - 0.3))
    if log:
        ax.set_yscale("log")
    else:
        ax.set_ylim(0, None)
    legend_right(ax)
    return figure, ax


def quantile_surface(ax, values, dots, **colours):
    """A table of two events' quantiles as colours, and dots at the places of rows in it."""
    axes = {ax.xaxis: values.columns, ax.yaxis: values.index}
    ax.plot(*dots, ".", color="white", mec="#222222", mew=0.4, ms=4, alpha=0.7)
    for axis, at in axes.items():
        ticks = sorted({part * (len(at) - 1) // 3 for part in range(4)})
        axis.set_ticks(ticks, [f"{value:.2g}" for value in at[ticks]], fontsize=7.5)
        axis.set_label_text(at.name)
    shown = ax.imshow(values, origin="lower", aspect="auto", **colours)
    ax.figure.colorbar(shown, ax=ax, pad=0.02)
    ax.grid(False)
