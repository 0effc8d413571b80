"""Runs that are put together: how long each lasted, and the matrices they become."""

import seaborn as sns

from cmlib.plot.style import blank, palette, styled


@styled
def run_times(frame, *, ylabel):
    """Every run's time as a point, in the order they are stored, a colour a program."""
    figure, axes = blank(2.9)
    ax = axes[0, 0]
    programs = list(dict.fromkeys(frame["program"]))
    for name, colour in zip(programs, palette(len(programs)), strict=True):
        seconds = frame.loc[frame["program"] == name, "seconds"].to_numpy()
        ax.plot(range(1, len(seconds) + 1), seconds, "o-", color=colour, ms=3.5, lw=0.9, label=name)
    ax.set(xlabel="run", ylabel=ylabel, ylim=(0, None))
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure, ax


@styled
def matrices(frames, *, label):
    """Matrices as pictures beside each other; exact zeros are left white."""
    figure, axes = blank(3.8, columns=len(frames))
    shades = sns.color_palette("crest", as_cmap=True).with_extremes(under="white")
    for ax, (title, frame) in zip(axes[0], frames.items(), strict=True):
        picture = ax.imshow(
            frame.to_numpy(), aspect="auto", cmap=shades, vmin=1e-12, vmax=1, interpolation="nearest"
        )
        ax.set(title=title, xlabel="event", ylabel="row")
        ax.grid(False)
    figure.colorbar(picture, ax=list(axes[0]), label=label)
    return figure, axes[0]
