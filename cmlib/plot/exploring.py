"""Pictures of the panels at the ends of the notebooks."""

from cmlib.plot.style import blank, palette, styled

# Rings around more samples than this hide the line: they become dots.
_RINGS = 60


@styled
def cleaned_series(ocoe, before, after, *, changed, ylabel, title):
    """One event counted all the time, multiplexed, and cleaned, over time.

    Parameters
    ----------
    ocoe : list of Series
        Unmultiplexed runs, indexed by time [s].
    before, after : Series
        The multiplexed run as perf prints it, and cleaned.
    changed : Series
        The samples of `after` that cleaning changed.
    ylabel, title : str
    """
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
