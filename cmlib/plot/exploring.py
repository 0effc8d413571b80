"""Pairs of events, as the panel of notebook 04 shows them."""

from cmlib.plot.style import blank, styled


@styled
def interactions(matrix, joint, summed, beyond, *, pair, rows, title, target="IPC"):
    """All pairs of events as a matrix, and the surface of one of them with its parts."""
    figure, axes = blank(5.6, rows=2, columns=2)
    # Laid out by hand: to find the room for seven axes anew takes longer than to draw them.
    figure.set_layout_engine(None)
    figure.subplots_adjust(left=0.3, right=0.955, bottom=0.085, top=0.95, wspace=0.33, hspace=0.34)
    (all_pairs, together), (alone, left) = axes
    figure.colorbar(_matrix(all_pairs, matrix, pair, title), ax=all_pairs, pad=0.02)
    both = joint.to_numpy(), summed.to_numpy()
    colours = {
        "vmin": min(map(lambda part: part.min(), both)),
        "vmax": max(map(lambda part: part.max(), both)),
    }
    shown = _surface(together, joint, pair, rows, f"both together: {target}", **colours)
    _surface(alone, summed, pair, rows, "sum of each alone, same colours", **colours)
    figure.colorbar(shown, ax=together, pad=0.02)
    most = abs(beyond.to_numpy()).max() or 1e-9
    shown = _surface(left, beyond, pair, rows, "what is left", cmap="RdBu_r", vmin=-most, vmax=most)
    figure.colorbar(shown, ax=left, pad=0.02)
    return figure, axes


def _matrix(ax, matrix, pair, title):
    names, places = list(matrix.index), range(len(matrix))
    numbers = [str(place + 1) for place in places]
    named = [f"{name} · {number}" for name, number in zip(names, numbers, strict=True)]
    ax.set_yticks(places, named, fontsize=7.5)
    ax.set_xticks(places, numbers, fontsize=7.5)
    ax.grid(False)
    low, high = sorted(map(names.index, pair))
    ax.plot(low, high, "s", mfc="none", mec="#d62728", mew=2, ms=150 / len(names))
    ax.set(title=title)
    return ax.imshow(matrix.to_numpy(), cmap="crest", vmin=0, aspect="auto")


def _surface(ax, values, pair, rows, title, *, cmap="viridis", **colours):
    ax.plot(rows["b"], rows["a"], ".", color="white", mec="#222222", mew=0.4, ms=4, alpha=0.7)
    for axis, at, name in ((ax.xaxis, values.columns, pair[1]), (ax.yaxis, values.index, pair[0])):
        places = sorted({0, (len(at) - 1) // 3, 2 * (len(at) - 1) // 3, len(at) - 1})
        axis.set_ticks(places, [f"{at[place]:.3g}" for place in places], fontsize=7.5)
        axis.set_label_text(name)
    ax.grid(False)
    ax.set(title=title)
    return ax.imshow(values.to_numpy(), origin="lower", aspect="auto", cmap=cmap, **colours)
