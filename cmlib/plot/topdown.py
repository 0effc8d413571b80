"""Where the cycles go: the pipeline's slots over a program's progress."""

import seaborn as sns
from matplotlib.patches import Patch

from cmlib.plot.style import blank, styled

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
def accounts(shares, ipcs, *, parents=None):
    """Stacked shares of the slots over progress with IPC above, a column a program."""
    columns = len(shares)
    figure, axes = blank(4.2, rows=2, columns=columns, sharex=True)
    for ax in axes[0, 1:]:
        ax.sharey(axes[0, 0])
    colours = shades([name for frame in shares.values() for name in frame], parents or {})
    for column, (program, frame) in enumerate(shares.items()):
        above, below = axes[0, column], axes[1, column]
        above.plot(ipcs[program].index, ipcs[program].to_numpy(), color="#333333", lw=1.2)
        above.set(title=program, ylim=(0, None), ylabel="IPC" if not column else "")
        shown = frame.loc[:, frame.mean() > 0.001].clip(lower=0)
        below.stackplot(frame.index, shown.T.to_numpy(), colors=[colours[name] for name in shown], lw=0)
        below.axhline(1.0, color="#333333", lw=0.8, ls=":")
        below.set(
            xlabel="progress [share of instructions]",
            ylim=(0, 1.1),
            xlim=(0, 1),
            ylabel="share of slots" if not column else "",
        )
        above.grid(True, axis="y")
    figure.get_layout_engine().set(h_pad=0.06)
    used = [
        name
        for name in colours
        if any(name in frame and frame[name].mean() > 0.001 for frame in shares.values())
    ]
    handles = [Patch(color=colours[name], label=name) for name in used]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(6, len(handles)))
    return figure, axes


@styled
def account_bars(shares):
    """Mean shares of the slots as stacked horizontal bars, a bar a program."""
    figure, axes = blank(0.9 + 0.45 * len(shares))
    ax, colours = axes[0, 0], shades(list(shares), {})
    left = shares.iloc[:, 0] * 0
    for name in (name for name in shares if shares[name].max() > 0.001):
        widths = shares[name].fillna(0.0)
        bars = ax.barh(shares.index, widths, left=left, color=colours[name], label=name, height=0.65)
        texts = [f"{100 * width:.0f} %" if width >= 0.05 else "" for width in widths]
        ax.bar_label(bars, labels=texts, label_type="center", color="white", fontsize=8)
        left = left + widths
    ax.axvline(1.0, color="#333333", lw=0.8, ls=":")
    ax.invert_yaxis()
    ax.grid(False)
    ax.set(
        xlim=(0, max(1.05, float(left.max()) + 0.02)),
        xlabel="share of slots, mean over the program's progress",
    )
    figure.legend(loc="outside lower center", ncols=5)
    return figure, ax


def shades(names, parents):
    """Colours by category: those of one parent share its colour, lighter from one to the next."""
    names, colours = list(dict.fromkeys(names)), {}
    for name in names:
        family = parents.get(name, name)
        brothers = [other for other in names if parents.get(other, other) == family]
        lighter = sns.light_palette(_COLOURS.get(family, _OTHER), n_colors=len(brothers) + 2, reverse=True)
        colours[name] = lighter[brothers.index(name)]
    return colours
