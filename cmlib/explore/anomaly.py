"""Widgets for anomaly detection: the threshold, and the counters behind a sample."""

from cmlib import plot
from cmlib.experiments.anomaly import RECORD
from cmlib.explore.panel import Panel, dropdown, name, number, paragraph, slider, table

_COUNTERS = 6
_KINDS = (("learned from", "training"), ("good, new", "good"), ("anomalous", "bad"))


def anomaly(evaluated):
    """Reconstruction error of every sample against mean + n standard deviations."""
    if not evaluated:
        return Panel.empty(RECORD)
    about = {name: _prepared(one) for name, one in evaluated.items()}

    def draw(program, n_sd, place):
        return _draw(program, about[program], n_sd, place)

    controls = {
        "program": dropdown("program", list(about)),
        "n_sd": slider("n (std. deviations)", 0.0, 10.0, step=0.5, value=2.0),
        "place": slider("sample, by error [%]", 0, 100, step=5, value=50),
    }
    return Panel(draw, controls)


def _prepared(evaluated):
    samples = evaluated.samples
    learned = samples.loc[samples["kind"] == "training", "error"]
    bad = samples.index[samples["kind"] == "bad"]
    by_error = samples.loc[bad, "error"].sort_values().index
    counters = samples.drop(columns=["kind", "run", "error"])
    return samples[["kind", "run", "error"]], counters, (learned.mean(), learned.std(ddof=0)), by_error


def _draw(program, prepared, n_sd, place):
    samples, counters, (mean, spread), by_error = prepared
    threshold = mean + n_sd * spread
    chosen = int(by_error[round(place / 100 * (len(by_error) - 1))])
    shares = 100 * counters.loc[chosen] / samples["error"].iloc[chosen]
    first = shares.sort_values(ascending=False).head(_COUNTERS)
    figure, _ = plot.sample_and_counters(
        samples, first, threshold=threshold, chosen=chosen, title=f"{program}: threshold {threshold:.3g}"
    )
    above = samples["error"] > threshold
    rows = [
        (label, f"{own.sum()}", number(100 * above[own].mean(), 1, "%"))
        for label, kind in _KINDS
        if (own := samples["kind"] == kind).any()
    ]
    error, most = samples["error"].iloc[chosen], name(first.index[0])
    sentence = f"The chosen sample's error is {error:.3g}; most of it is in {most}."
    return figure, table(("", "samples", "above the threshold"), rows) + paragraph(sentence)
