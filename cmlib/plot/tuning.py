"""Programs under other settings: what an event and a parameter do to the time."""

from cmlib.plot.style import legend_below, palette, panels, styled


@styled
def verdicts(frame, *, programs, xlabel):
    """What a model expects when an event is moved alone, and what was observed, a panel a program."""
    most = max([1, *(len(frame[frame["program"] == program]) for program in programs)])
    figure, axes = panels(programs, columns=1, height=0.9 + 0.24 * most, sharex=True)
    expects, observes = palette(2)
    for ax, program in zip(axes, programs, strict=True):
        of_program = frame[frame["program"] == program]
        places = range(len(of_program))
        ax.axvline(0, color="#777777", lw=0.8)
        ax.hlines(places, of_program["low"], of_program["high"], color=observes, lw=1.6)
        ax.plot(of_program["observed"], places, "o", ms=5, color=observes, label="observed, 95 %")
        ax.plot(of_program["expected"], places, "X", ms=6, color=expects, label="the model says")
        rows = zip(of_program["event"], of_program["verdict"], strict=True)
        ax.set_yticks(places, [f"{event}: {verdict}" for event, verdict in rows])
        ax.set_ylim(max(len(of_program), 1) - 0.5, -0.5)
        ax.grid(True, axis="x")
        ax.grid(False, axis="y")
        ax.set(title=program if len(of_program) else f"{program}: no event was moved alone", xlabel=xlabel)
    if not len(frame):
        axes[0].set_xticks([])
    legend_below(figure, axes[0], 2)
    return figure, axes
