"""Figures of top-down analysis: how a pipeline's slots (issue slots x cycles) divide into categories, and IPC.

Categories of level 1 are such as "retired" and "front end"; each may have parts, such as "fetch latency".
:func:`account_card` makes a figure, :func:`stack_shares` draws on axes; input is not checked.
"""

import seaborn as sns
from matplotlib.patches import Patch

from cmlib.plot.style import card, styled

_COLOURS = {
    "retired": "#3b9c6a",
    "at work": "#3b9c6a",
    "bad speculation": "#c8553d",
    "front end": "#e0a030",
    "back end": "#3f6fb5",
    "sibling thread": "#8a8f98",
}

_SHOWN = 0.0005  # least share of the slots that the legend writes as 0.1 %


def category_colours(names, parents):
    """A colour for each category: a dict of name to an RGB tuple.

    `names` (iterable of str) are the categories drawn, `parents` maps a part to its category of level 1. The parts of
    one category have lighter and lighter shades of its hue; categories that are not known are grey.
    """
    above = {name: parents.get(name, name) for name in names}
    colours = {}
    for name, parent in above.items():
        parts = [part for part in above if above[part] == parent]
        lighter = sns.light_palette(_COLOURS.get(parent, "#b8bcc4"), n_colors=len(parts) + 2, reverse=True)
        colours[name] = lighter[parts.index(name)]
    return colours


def stack_shares(axes, shares, ipc, colours):
    """Draw IPC on the upper and stacked shares of the slots on the lower of two axes.

    `axes` is a pair of Axes. `shares` (DataFrame, 0 to 1) has a row an interval and a column a category; negative
    shares are drawn as 0. `ipc` (Series) has the IPC of the same intervals, each above 0. Intervals are taken to have
    equally many instructions, so that each is drawn as wide as its share of all cycles: the horizontal axis is the
    share of the cycles so far. `colours` maps categories to colours. Returns the list of the stacked areas, one a
    category.
    """
    above, below = axes
    cycles = 1 / ipc / (1 / ipc).sum()
    middles = (cycles.cumsum() - cycles / 2).to_numpy()
    above.plot(middles, ipc.to_numpy(), color="#333333", lw=1.2)
    above.set_ylim(0, None)
    chosen, heights = [colours[name] for name in shares], shares.clip(lower=0).T.to_numpy()
    stack = below.stackplot(middles, heights, colors=chosen, lw=0)
    below.axhline(1.0, color="black", lw=1.4, ls=":", zorder=5)
    below.set(xlabel="cycles so far [share]", xlim=(0, 1), ylim=(0, 1.1))
    return stack


@styled
def account_card(shares, whole, ipc, parents):
    """A small figure for the report's first page: IPC above stacked shares of the slots, of one program's run.

    `shares` (DataFrame, a row an interval, a column a category drawn) and `ipc` (Series) are those of
    :func:`stack_shares`. `whole` (Series by category, 0 to 1) are the shares of the whole run, which the legend
    states as percentages, with the sum of the categories of level 1 and what of it is not drawn; `parents` (dict)
    maps parts to their categories of level 1. Returns (Figure, array of the two Axes).
    """
    figure, axes = card(3.6, 2, height_ratios=(1, 2.2))
    stack = stack_shares(axes, shares, ipc, category_colours(shares, parents))
    axes[0].set_ylabel("IPC")
    axes[1].set_ylabel("share of slots")
    total = whole[[name for name in whole.index if name not in parents]].sum()
    drawn = dict(whole[list(shares)])
    if (rest := total - sum(drawn.values())) >= _SHOWN:
        stack, drawn = [*stack, Patch(alpha=0)], drawn | {"not drawn": rest}
    texts = [f"{name} {100 * share:.1f} %" for name, share in drawn.items()]
    narrow = {"columnspacing": 1.0, "handlelength": 1.1}
    figure.legend(
        [*stack, axes[1].lines[0]],
        [*texts, f"all slots (sum {100 * total:.1f} %)"],
        loc="outside lower center",
        ncols=2,
        **narrow,
    )
    return figure, axes
