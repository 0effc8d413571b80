"""Where the cycles go: the pipeline's slots over a program's progress."""

import seaborn as sns

from cmlib.plot.style import card, styled

_COLOURS = {
    "retired": "#3b9c6a",
    "at work": "#3b9c6a",
    "bad speculation": "#c8553d",
    "front end": "#e0a030",
    "back end": "#3f6fb5",
    "sibling thread": "#8a8f98",
}
_OTHER = "#b8bcc4"


@styled
def account_card(shares, ipc, *, parents=None):
    """Shares of the slots over progress with IPC above, half as wide as others: legible on a phone."""
    figure, axes = card(3.6, 2, height_ratios=(1, 2.2))
    stack = stack_over_progress(axes, shares, ipc, shades(list(shares), parents or {}))
    axes[0].set_ylabel("IPC")
    axes[1].set_ylabel("share of slots")
    texts = [f"{name} {100 * mean:.0f} %" for name, mean in shares.mean().items()]
    figure.legend(stack, texts, loc="outside lower center", ncols=2, columnspacing=1.0, handlelength=1.1)
    return figure, axes


def stack_over_progress(axes, shares, ipc, colours):
    above, below = axes
    above.plot(ipc.index, ipc.to_numpy(), color="#333333", lw=1.2)
    above.set_ylim(0, None)
    heights = shares.clip(lower=0).T.to_numpy()
    stack = below.stackplot(shares.index, heights, colors=[colours[name] for name in shares], lw=0)
    below.axhline(1.0, color="#333333", lw=0.8, ls=":")
    below.set(xlabel="progress [share of instructions]", xlim=(0, 1), ylim=(0, 1.1))
    return stack


def shades(names, parents):
    """Colours by category: those of one parent share its colour, lighter from one to the next."""
    families = {}
    for name in dict.fromkeys(names):
        families.setdefault(parents.get(name, name), []).append(name)
    colours = {}
    for family, members in families.items():
        lighter = sns.light_palette(_COLOURS.get(family, _OTHER), n_colors=len(members) + 2, reverse=True)
        colours |= dict(zip(members, lighter, strict=False))
    return {name: colours[name] for name in dict.fromkeys(names)}
