"""Methods, programs and kinds side by side."""

import seaborn as sns

from cmlib.plot.style import blank, palette, styled

_LETTERS_IN_A_ROW = 70


@styled
def bars_by_program(frame, *, value, hue, ylabel, levels=None):
    """Bars grouped by program, one colour a `hue`, and dashed lines to compare with.

    Parameters
    ----------
    frame : DataFrame
        Columns ``program``, `hue` and `value`; several rows a bar are averaged,
        and their spread is drawn as a thin line from least to greatest.
    value, hue : str
    ylabel : str
    levels : dict of str to float, optional
        Label to height of a dashed line, such as the paper's mean.
    """
    figure, axes = blank(3.2)
    ax = axes[0, 0]
    hues = list(dict.fromkeys(frame[hue]))
    sns.barplot(
        frame,
        x="program",
        y=value,
        hue=hue,
        hue_order=hues,
        palette=palette(len(hues)),
        ax=ax,
        errorbar=("pi", 100),
        err_kws={"linewidth": 1.0, "color": "#333333"},
    )
    for (label, level), grey in zip((levels or {}).items(), ("#222222", "#8a8f94"), strict=False):
        ax.axhline(level, color=grey, linestyle="--", linewidth=1, label=f"{label}: {level:g}")
    ax.set(xlabel="", ylabel=ylabel, ylim=(0, None))
    if sum(map(len, frame["program"].unique())) > _LETTERS_IN_A_ROW:
        ax.set_xticks(
            ax.get_xticks(), [label.get_text() for label in ax.get_xticklabels()], rotation=40, ha="right"
        )
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), title="")
    return figure, ax


@styled
def heat(frame, *, label, centre=None, decimals=2):
    """A table as colours with its numbers written in: rows down, columns across.

    Parameters
    ----------
    frame : DataFrame of float
    label : str
        What the colour means, with its unit.
    centre : float, optional
        The value that is drawn neutral, such as 1 for ratios.
    """
    figure, axes = blank(0.6 + 0.3 * len(frame))
    ax = axes[0, 0]
    sns.heatmap(
        frame,
        ax=ax,
        annot=True,
        fmt=f".{decimals}f",
        cmap="vlag" if centre is not None else "crest",
        center=centre,
        robust=True,
        linewidths=0.5,
        annot_kws={"fontsize": 8},
        cbar_kws={"label": label},
    )
    ax.set(xlabel="", ylabel="")
    ax.grid(False)
    ax.tick_params(axis="both", length=0)
    ax.tick_params(axis="x", rotation=0)
    return figure, ax


@styled
def shares(frame, *, xlabel):
    """Cumulative distribution of a share, a line a kind.

    Parameters
    ----------
    frame : DataFrame
        Columns ``kind`` and ``share`` (0–1).
    """
    figure, axes = blank(2.8)
    ax = axes[0, 0]
    kinds = list(dict.fromkeys(frame["kind"]))
    sns.ecdfplot(frame, x="share", hue="kind", hue_order=kinds, palette=palette(len(kinds)), ax=ax)
    ax.set(xlabel=xlabel, ylabel="share of intervals", xlim=(0, 1.02), ylim=(0, 1.02))
    sns.move_legend(ax, "upper left", bbox_to_anchor=(1, 1), title="")
    return figure, ax


@styled
def counts(frame, *, ylabel):
    """Stacked bars: how many of each column there are in each row.

    Parameters
    ----------
    frame : DataFrame of int
        Index: bars; columns: what is stacked.
    """
    figure, axes = blank(3.0)
    ax = axes[0, 0]
    frame.plot.bar(stacked=True, ax=ax, color=palette(frame.shape[1]), width=0.7, rot=0)
    ax.set(xlabel="", ylabel=ylabel)
    ax.grid(False, axis="x")
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure, ax


@styled
def scatter(frame, *, x, y, xlabel, ylabel, named=(), log=False):
    """A point a row, some with their names.

    Parameters
    ----------
    frame : DataFrame
        Index: names.
    x, y : str
        Columns.
    xlabel, ylabel : str
    named : collection of str
        Rows whose names are written beside their points.
    log : bool, default False
        Whether x is on a logarithmic scale.
    """
    figure, axes = blank(3.4)
    ax = axes[0, 0]
    ax.scatter(frame[x], frame[y], s=16, color=palette(1)[0])
    for name in named:
        ax.annotate(
            name, (frame.at[name, x], frame.at[name, y]), (4, 3), textcoords="offset points", fontsize=8
        )
    if log:
        ax.set_xscale("log")
    ax.set(xlabel=xlabel, ylabel=ylabel)
    return figure, ax
