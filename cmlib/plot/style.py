"""One look for all figures: their size [inches], style and colours."""

import functools
import math

import matplotlib
import seaborn as sns
from matplotlib.figure import Figure

_WIDTH = 9.0
GREY = "#9aa0a6"  # of baselines, and of ranks that are not decided
# The mark of a number that a paper prints, in all figures.
PAPER = {"color": "#222222", "marker": "x", "ls": "", "ms": 6, "zorder": 5}
_STYLE = matplotlib.rc_params_from_file(f"{__file__[:-3]}.mplstyle", use_default_template=False)


def styled(draw):
    """Have a function, which returns a figure and its axes, draw in this style."""

    @functools.wraps(draw)
    def in_style(*args, **kwargs):
        with matplotlib.rc_context({**sns.axes_style("ticks"), **_STYLE}):
            figure, axes = draw(*args, **kwargs)
            _write_powers(figure)
            return figure, axes

    return in_style


def palette(n):
    """As many colours, which people with any sight tell apart."""
    return sns.color_palette("colorblind", n)


@styled
def blank(height, *, rows=1, columns=1, **sharing):
    """A figure with rows and columns of empty axes, an array of two dimensions."""
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **sharing)


def single(height):
    """A figure with one empty axes."""
    figure, axes = blank(height)
    return figure, axes[0, 0]


def card(height, rows, **sharing):
    """Axes one below the other, half as wide as other figures, for the report's first page."""
    figure = Figure(figsize=(3.9, height), layout="constrained")
    return figure, figure.subplots(rows, 1, sharex=True, squeeze=False, **sharing)[:, 0]


def bars_across(ax, values, labels, colours):
    """A horizontal bar a value, the first above."""
    ax.barh(range(len(values)), values, color=colours, height=0.7)
    ax.set_yticks(range(len(values)), labels)
    ax.invert_yaxis()
    ax.grid(True, axis="x")
    ax.grid(False, axis="y")


def legend_right(ax, **options):
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), **options)


def legend_below(figure, ax, n_columns):
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=n_columns)


@styled
def panels(names, *, columns=2, height=2.3, **sharing):
    """As many small axes as there are names, row by row, an array of one dimension."""
    columns = min(columns, max(1, len(names)))
    rows = math.ceil(len(names) / columns)
    figure, axes = blank(height * rows, rows=rows, columns=columns, **sharing)
    flat = axes.ravel()
    for left_over in flat[len(names) :]:
        left_over.remove()
    for ax in flat[: len(names)]:
        ax.locator_params(axis="x", nbins=6)
    return figure, flat[: len(names)]


def _write_powers(figure):
    """Draw powers on logarithmic axes as formulas; elsewhere the style has none, as names may hold dollars."""
    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis) if axis.get_scale() != "linear"):
        for label in axis.get_ticklabels(which="both"):
            label.set_parse_math(True)
