"""Figures of top-down analysis: how a pipeline's slots (issue slots x cycles) divide into categories, and IPC.

Categories of level 1 are such as "retired" and "front end"; each may have parts, such as "fetch latency".
:func:`stack_shares` draws on axes in colours of :func:`category_colours`; input is not checked.
"""

import seaborn as sns

_COLOURS = {
    "retired": "#3b9c6a",
    "at work": "#3b9c6a",
    "bad speculation": "#c8553d",
    "front end": "#e0a030",
    "back end": "#3f6fb5",
    "sibling thread": "#8a8f98",
}


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
