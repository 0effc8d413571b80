"""Small pictures for the report's first page: half as wide as the others, legible on a phone."""

from matplotlib.figure import Figure

from cmlib.plot.style import palette, styled
from cmlib.plot.topdown import shades

_WIDTH = 3.9
_TIGHT = {"fontsize": 8.5, "columnspacing": 1.0, "handlelength": 1.1, "handletextpad": 0.5}


@styled
def account_card(shares, ipc, *, parents=None):
    """What became of one program's slots over its progress, with IPC above."""
    figure = Figure(figsize=(_WIDTH, 3.6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1, 2.2))
    above.plot(ipc.index, ipc.to_numpy(), color="#333333", lw=1.2)
    above.set(ylabel="IPC", ylim=(0, None))
    colours, means = shades(list(shares), parents or {}), shares.mean()
    stack = below.stackplot(
        shares.index, shares.clip(lower=0).T.to_numpy(), colors=[colours[name] for name in shares], lw=0
    )
    below.axhline(1.0, color="#333333", lw=0.8, ls=":")
    below.set(xlabel="progress [share of instructions]", ylabel="share of slots", xlim=(0, 1), ylim=(0, 1.1))
    texts = [f"{name} {100 * means[name]:.0f} %" for name in shares]
    figure.legend(stack, texts, loc="outside lower center", ncols=2, **_TIGHT)
    return figure, (above, below)


@styled
def series_card(rows, *, xlabel="time [s]"):
    """Quantities of one program over time, one below the other."""
    figure = Figure(figsize=(_WIDTH, 0.6 + 1.4 * len(rows)), layout="constrained")
    axes = figure.subplots(len(rows), 1, sharex=True, squeeze=False)[:, 0]
    for ax, (quantity, lines) in zip(axes, rows.items(), strict=True):
        for (name, values), colour in zip(lines.items(), palette(len(lines)), strict=True):
            ax.plot(values.index, values.to_numpy(), color=colour, lw=1.0, alpha=0.85, label=name)
        if "phases" in lines:
            ax.legend(loc="lower right")
        ax.set(title=quantity, ylim=(0, None))
    axes[-1].set_xlabel(xlabel)
    return figure, axes
