"""Widgets for online regression: one event of a sample stream and its lines."""

import numpy as np

from cmlib import plot
from cmlib.compress import compress, fit_quality, line_ends
from cmlib.explore.panel import Panel, dropdown, number, offer, paragraph, slider, table

_RECORD = "cmlib record-samples"
_MOST_DRAWN = 4000


def compression(streams, *, stream="", event=""):
    """Samples and their lines, with size and errors."""
    if not streams:
        return Panel.empty(_RECORD)

    def draw(stream, event, alpha, n_sigma, drift):
        return _draw(stream, streams[stream], event, alpha, n_sigma, drift)

    first = stream if stream in streams else next(iter(streams))
    controls = {
        "stream": dropdown("stream", list(streams), first),
        "event": dropdown("event", list(streams[first].columns[1:]), event),
        "alpha": slider("α (share of the count)", 0.0, 0.1, step=0.005, value=0.01),
        "n_sigma": slider("σ (std. deviations)", 0.5, 10.0, step=0.5, value=3.0),
        "drift": slider("drift test (0: none)", 0, 100, step=5, value=0),
    }
    panel = Panel(draw, controls)
    panel.before_redraw("stream", lambda name: offer(controls["event"], list(streams[name].columns[1:])))
    return panel


def _draw(stream, totals, event, alpha, n_sigma, drift):
    timer = totals.columns[0]
    x, y = totals[timer], totals[event]
    lines = compress(x, y, alpha=alpha, n_sigma=n_sigma, drift=drift or None)
    quality = fit_quality(lines, x, y)
    shown = y.set_axis(x.to_numpy()).iloc[:: max(1, len(y) // _MOST_DRAWN)]
    figure, _ = plot.fits(
        {f"{stream}: {event}": (shown, line_ends(lines))},
        xlabel=f"{timer}, cumulated",
        ylabel=f"{event},\ncumulated",
        columns=1,
    )
    return figure, _says(quality, len(x))


def _says(quality, n_samples):
    header = ["", "samples or lines", "bytes", "MNESD", "largest distance"]
    share = [number(100 * quality[name], 3, "%") for name in ("mnesd", "largest")]
    rows = [
        ["samples (x, y)", f"{n_samples:,}", f"{16 * n_samples:,}", "", ""],
        ["lines (x, slope, intercept)", f"{quality['n_lines']:,.0f}", f"{quality['n_bytes']:,.0f}", *share],
    ]
    reduction = number(np.float64(quality["reduction"]), 1)
    return table(header, rows) + paragraph(
        f"{reduction} samples a line. MNESD and distance are shares of the event's whole count; the paper asks for an "
        "MNESD below 10 %.",
    )
