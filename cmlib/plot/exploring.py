"""Pictures of the panels at the ends of the notebooks."""

from cmlib.plot.style import blank, palette, styled

# Rings around more samples than this hide the line: they become dots.
_RINGS = 60
# Names below a matrix that are longer than this, all together, run into each other: they become numbers.
_MATRIX_LETTERS = 60


@styled
def cleaned_series(ocoe, before, after, *, changed, ylabel, title):
    """One event counted all the time, multiplexed, and cleaned, over time."""
    figure, axes = blank(3.1)
    ax = axes[0, 0]
    truth, printed, cleaned = palette(3)
    for place, values in enumerate(ocoe):
        label = None if place else f"OCOE, {len(ocoe)} runs"
        ax.plot(values.index, values.to_numpy(), color=truth, lw=2.4, alpha=0.4, label=label)
    ax.plot(before.index, before.to_numpy(), color=printed, lw=1.6, label="MLPX")
    ax.plot(after.index, after.to_numpy(), color=cleaned, lw=1.0, label="MLPX, cleaned")
    if len(changed):
        ring = {"ms": 6, "mew": 1.0} if len(changed) <= _RINGS else {"ms": 3, "mew": 0.5}
        label = f"changed by cleaning ({len(changed)})"
        ax.plot(changed.index, changed.to_numpy(), "o", mfc="none", mec="#333333", label=label, **ring)
    ax.set(xlabel="time [s]", ylabel=ylabel, title=title, ylim=(0, None))
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure, ax


@styled
def ranking_and_errors(rows, history, *, n_events, title):
    """A program's most important events, and where their model stands in the refinement."""
    figure, axes = blank(_height(rows), columns=2)
    left, right = axes[0]
    _bars(left, rows, [palette(1)[0]] * len(rows))
    left.set(title=title, xlabel="importance [%]")
    named = {
        "error": "random rows",
        "blocks_error": "blocked cross-validation",
        "mean_baseline": "mean baseline",
    }
    for (column, label), colour in zip(named.items(), palette(len(named)), strict=True):
        right.plot(history["n_events"], history[column], label=label, color=colour, marker=".", ms=3, lw=1.1)
    right.axvline(n_events, color="#333333", lw=1, ls=":", label="model shown")
    right.set(title="error of the model", xlabel="number of events", ylabel="error [%]", ylim=(0, None))
    right.invert_xaxis()
    right.legend(loc="best", fontsize=8)
    return figure, axes[0]


_LONGEST = 30  # characters of an event's name, of which two stand beside each other


@styled
def two_rankings(rows, links):
    """Two programs' most important events back to back, events of both tied by a line."""
    figure, axes = blank(
        max(map(_height, rows.values())), columns=3, sharey=True, gridspec_kw={"width_ratios": [3, 6, 3]}
    )
    left, middle, right = axes[0]
    both, alone = palette(1)[0], "#b9bec4"
    for ax, (program, frame), side in zip((left, right), rows.items(), (0, 1), strict=True):
        tied = {link[side] for link in links}
        _bars(ax, frame, [both if place in tied else alone for place in range(len(frame))])
        ax.set(title=program, xlabel="importance [%]")
        # Shared axes share their labels too, so each side writes its own along the middle.
        ax.tick_params(axis="y", left=False, labelleft=False)
        ax.spines["left"].set_visible(False)
        for place, label in enumerate(frame["label"]):
            name = label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"
            middle.text(side, place, name, ha=("left", "right")[side], va="center", fontsize=7)
    left.invert_xaxis()
    left.set_ylim(max(map(len, rows.values())) - 0.4, -0.6)
    for one, other in links:
        middle.plot([0.46, 0.54], [one, other], color=both, lw=1.2)
    middle.set(xlim=(0, 1))
    middle.axis("off")
    return figure, axes[0]


@styled
def interactions(matrix, joint, summed, beyond, *, pair, rows, title, target="IPC"):
    """All pairs of events as a matrix, and the surface of one of them with its parts."""
    figure, axes = blank(5.6, rows=2, columns=2)
    # Laid out by hand: to find the room for seven axes anew takes longer than to draw them.
    figure.set_layout_engine(None)
    figure.subplots_adjust(
        left=0.3 if _is_long(matrix.index) else 0.1,
        right=0.955,
        bottom=0.085,
        top=0.95,
        wspace=0.33,
        hspace=0.34,
    )
    (all_pairs, together), (alone, left) = axes
    _matrix(all_pairs, matrix, pair, title)
    low, high = joint.to_numpy().min(), joint.to_numpy().max()
    low, high = min(low, summed.to_numpy().min()), max(high, summed.to_numpy().max())
    most = abs(beyond.to_numpy()).max() or 1e-9
    colours = {"cmap": "viridis", "vmin": low, "vmax": high}
    shown = _surface(together, joint, pair, rows, f"both together: {target}", **colours)
    _surface(alone, summed, pair, rows, "sum of each alone, same colours", **colours)
    figure.colorbar(shown, ax=together, pad=0.02)
    shown = _surface(left, beyond, pair, rows, "what is left", cmap="RdBu_r", vmin=-most, vmax=most)
    figure.colorbar(shown, ax=left, pad=0.02)
    return figure, axes


def _matrix(ax, matrix, pair, title):
    shown = ax.imshow(matrix.to_numpy(), cmap="crest", vmin=0, aspect="auto")
    names, places = list(matrix.index), range(len(matrix))
    long = _is_long(names)
    numbers = [str(place + 1) for place in places]
    ax.set_yticks(
        places,
        [f"{name} · {n}" for name, n in zip(names, numbers, strict=True)] if long else names,
        fontsize=7.5,
    )
    ax.set_xticks(places, numbers if long else names, fontsize=7.5, rotation=90 if len(names) > 12 else 0)
    ax.grid(False)
    low, high = sorted(map(names.index, pair))
    ax.plot(low, high, "s", mfc="none", mec="#d62728", mew=2, ms=150 / len(names))
    ax.set(title=title)
    ax.figure.colorbar(shown, ax=ax, pad=0.02)


def _is_long(names):
    return max(map(len, names), default=0) * len(names) > _MATRIX_LETTERS


def _surface(ax, values, pair, rows, title, **colours):
    shown = ax.imshow(values.to_numpy(), origin="lower", aspect="auto", **colours)
    ax.plot(rows["b"], rows["a"], ".", color="white", mec="#222222", mew=0.4, ms=4, alpha=0.7)
    for axis, at, name in ((ax.xaxis, values.columns, pair[1]), (ax.yaxis, values.index, pair[0])):
        places = sorted({0, (len(at) - 1) // 3, 2 * (len(at) - 1) // 3, len(at) - 1})
        axis.set_ticks(places, [f"{at[place]:.3g}" for place in places], fontsize=7.5)
        axis.set_label_text(name)
    ax.grid(False)
    ax.set(title=title)
    return shown


def _height(rows):
    return max(3.0, 0.9 + 0.2 * len(rows))


def _bars(ax, rows, colours):
    places = range(len(rows))
    ax.barh(places, rows["mean"], color=colours, height=0.7)
    if "low" in rows:
        ax.hlines(places, rows["low"], rows["high"], color="#333333", lw=1)
    ax.set_yticks(places, rows["label"])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.grid(True, axis="x")
    ax.grid(False, axis="y")
