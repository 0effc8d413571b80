"""Where the cycles go: the pipeline's slots over a program's progress."""

import seaborn as sns
from matplotlib.patches import Patch

from cmlib.plot.style import blank, card, single, styled

_COLOURS = {
    "retired": "#3b9c6a",
    "at work": "#3b9c6a",
    "bad speculation": "#c8553d",
    "front end": "#e0a030",
    "back end": "#3f6fb5",
    "sibling thread": "#8a8f98",
}
_OTHER = "#b8bcc4"
_LEAST = 0.001  # of all slots, to be shown


@styled
def accounts(shares, ipcs, *, parents=None):
    """Stacked shares of the slots over progress with IPC above, a column a program."""
    figure, axes = blank(4.2, rows=2, columns=len(shares), sharex=True, sharey="row")
    names = {name: None for frame in shares.values() for name in frame if frame[name].mean() > _LEAST}
    colours = shades(names, parents or {})
    for column, (program, frame) in enumerate(shares.items()):
        _draw(axes[:, column], frame[[name for name in frame if name in colours]], ipcs[program], colours)
        axes[0, column].set_title(program)
    axes[0, 0].set_ylabel("IPC")
    axes[1, 0].set_ylabel("share of slots")
    figure.get_layout_engine().set(h_pad=0.06)
    handles = [Patch(color=colour, label=name) for name, colour in colours.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(6, len(handles)))
    return figure, axes


@styled
def account_card(shares, ipc, *, parents=None):
    """The same of one program for the report's first page: half as wide, legible on a phone."""
    figure, axes = card(3.6, 2, height_ratios=(1, 2.2))
    stack = _draw(axes, shares, ipc, shades(list(shares), parents or {}))
    axes[0].set_ylabel("IPC")
    axes[1].set_ylabel("share of slots")
    texts = [f"{name} {100 * mean:.0f} %" for name, mean in shares.mean().items()]
    figure.legend(stack, texts, loc="outside lower center", ncols=2, columnspacing=1.0, handlelength=1.1)
    return figure, axes


def _draw(axes, shares, ipc, colours):
    above, below = axes
    above.plot(ipc.index, ipc.to_numpy(), color="#333333", lw=1.2)
    above.set_ylim(0, None)
    heights = shares.clip(lower=0).T.to_numpy()
    stack = below.stackplot(shares.index, heights, colors=[colours[name] for name in shares], lw=0)
    below.axhline(1.0, color="#333333", lw=0.8, ls=":")
    below.set(xlabel="progress [share of instructions]", xlim=(0, 1), ylim=(0, 1.1))
    return stack


@styled
def account_bars(shares):
    """Mean shares of the slots as stacked horizontal bars, a bar a program."""
    figure, ax = single(0.9 + 0.45 * len(shares))
    shown = shares.loc[:, shares.max() > _LEAST].fillna(0.0)
    shown.plot.barh(stacked=True, ax=ax, color=shades(list(shares), {}), width=0.65, legend=False)
    for bars in ax.containers:
        texts = [f"{100 * width:.0f} %" if width >= 0.05 else "" for width in bars.datavalues]
        ax.bar_label(bars, labels=texts, label_type="center", color="white", fontsize=8)
    ax.axvline(1.0, color="#333333", lw=0.8, ls=":")
    ax.invert_yaxis()
    ax.grid(False)
    most = max(1.05, float(shown.sum(axis=1).max()) + 0.02)
    ax.set(xlim=(0, most), xlabel="share of slots, mean over the program's progress", ylabel="")
    figure.legend(loc="outside lower center", ncols=5)
    return figure, ax


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
