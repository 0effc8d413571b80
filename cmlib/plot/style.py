"""The look of all figures: size [inches], style and colours, and empty figures to draw in."""

import functools
import math

import matplotlib
import seaborn as sns
from matplotlib.figure import Figure

_WIDTH = 9.0
GREY = "#9aa0a6"  # of baselines, and of places in a ranking that are not decided
# The mark of a number that a paper prints, in all figures.
PAPER = {"color": "#222222", "marker": "x", "ls": "", "ms": 6, "zorder": 5}
_STYLE = matplotlib.rc_params_from_file(f"{__file__[:-3]}.mplstyle", use_default_template=False)


def styled(draw):
    """Decorate a function that returns (figure, axes), so that it draws in the style of this package."""

    @functools.wraps(draw)
    def in_style(*args, **kwargs):
        with matplotlib.rc_context({**sns.axes_style("ticks"), **_STYLE}):
            figure, axes = draw(*args, **kwargs)
            _write_powers(figure)
            return figure, axes

    return in_style


def palette(n):
    """A list of `n` colours that people with colour blindness can tell apart, too."""
    return sns.color_palette("colorblind", n)


@styled
def blank(height, *, rows=1, columns=1, **sharing):
    """A figure `height` inches high, and its empty axes as an array of shape (rows, columns); `sharing` as in
    plt.subplots."""
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **sharing)


def single(height):
    """A figure `height` inches high with one empty axes, and that."""
    figure, axes = blank(height)
    return figure, axes[0, 0]


def card(height, rows, **sharing):
    """A figure half as wide as others, for the report's first page, and its `rows` axes, one below the other, as an
    array."""
    figure = Figure(figsize=(3.9, height), layout="constrained")
    return figure, figure.subplots(rows, 1, sharex=True, squeeze=False, **sharing)[:, 0]


def bars_across(ax, values, labels, colours):
    """Draw a horizontal bar for each value, the first at the top."""
    ax.barh(range(len(values)), values, color=colours, height=0.7)
    ax.set_yticks(range(len(values)), labels)
    ax.invert_yaxis()
    ax.grid(True, axis="x")
    ax.grid(False, axis="y")


def legend_right(ax, **options):
    """Put the legend of an axes to the right of it."""
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), **options)


def legend_below(figure, ax, n_columns):
    """Put the legend of an axes below its figure."""
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=n_columns)


@styled
def panels(names, *, columns=2, height=2.3, **sharing):
    """A figure with a small axes for each name, row by row, and these axes as an array of one dimension.

    `height` is that of a row [inches].
    """
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
    """Let logarithmic axes draw their labels as formulas (10⁻³); elsewhere text has none, as names may hold
    dollars."""
    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis) if axis.get_scale() != "linear"):
        for label in axis.get_ticklabels(which="both"):
            label.set_parse_math(True)
