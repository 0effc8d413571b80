"""Widgets for cleaning: one event of a multiplexed run against its unmultiplexed runs."""

from cmlib import clean, plot
from cmlib.explore.panel import Panel, dropdown, event_options, number, offer, paragraph, slider, table

_OF_THE_PAPER = tuple(name for name, method in clean.REGISTERED.items() if "k" in method.options)


def cleaning(programs, table, *, event="", method="kalman"):
    """OCOE against multiplexed against cleaned, of programs by their references and multiplexed runs."""
    if not programs:
        return Panel.empty()

    def draw(program, event, method, n, k):
        return _draw(programs[program], program, event, method, n, k)

    def options(program):
        return event_options(programs[program][0], table)

    first = next((name for name, both in programs.items() if event in both[0]), next(iter(programs)))
    controls = {
        "program": dropdown("program", list(programs), first),
        "event": dropdown("event", options(first), event),
        "method": dropdown("method", _methods(), method),
        "n": slider("n (Eq. 6, std. deviations)", 1.0, 8.0, step=0.5, value=5.0),
        "k": slider("k (Eq. 8, neighbours)", 1, 20, value=5),
    }
    _enable(controls, method)
    return Panel(
        draw,
        controls,
        {
            "program": lambda name: offer(controls["event"], options(name)),
            "method": lambda chosen: _enable(controls, chosen),
        },
    )


def _methods():
    """The latest registered first; readings of another method last."""
    variants = [name for name in clean.METHODS if name not in clean.DISTINCT_METHODS]
    names = [*reversed(clean.DISTINCT_METHODS), *variants]
    return [(f"{name}: {clean.REGISTERED[name].about}", name) for name in names]


def _draw(both, program, event, method, n, k):
    run, reference = _run_with(both, event), both[0][event]
    counts, running = run.counts[[event]], run.running[[event]]
    given = (run.counts, run.running) if clean.REGISTERED[method].whole_run else (counts, running)
    options = {"n_gaussian": n, "n_long_tail": n, "k": k}
    cleaned = clean.clean_run(*given, method=method, run=f"program {program!r}", **options)[0][[event]]
    whole = clean.whole_intervals(run.interval_s)
    before, after = counts.loc[whole, event], cleaned.loc[whole, event]
    changed = (before != after) & after.notna()
    lines = {f"OCOE, run {number}": values for number, values in enumerate(reference.series, 1)}
    figure, _ = plot.series(
        lines | {"MLPX": before, "MLPX, cleaned": after},
        marks=after[changed],
        ylabel=f"count per {run.interval_s.median() * 1000:.0f} ms",
        title=f"{program}: {event}",
    )
    errors = [reference.compare(one[event]) for one in (counts, cleaned)]
    return figure, _errors(errors, method) + paragraph(
        f"{changed.sum()} of {len(after)} samples changed, {before.isna().sum()} of them gaps.",
        "A ratio of 1: as near to OCOE as OCOE is to itself. Eq. 4 folds there, so that being nearer "
        "counts as an error again.",
    )


def _errors(errors, method):
    header = ["", "error by Eq. 4", "distance ratio", "total-count error", "distribution error"]
    rows = [
        [name, *(number(value, 2, unit) for value, unit in zip(row, ("%", "", "%", "sd"), strict=True))]
        for name, row in zip(("before: what perf prints", f"after: {method}"), errors, strict=True)
    ]
    return table(header, rows)


def _run_with(both, event):
    return next(run for run in both[1] if event in run.counts and run.counts[event].notna().any())


def _enable(controls, method):
    for name in ("n", "k"):
        controls[name].disabled = method not in _OF_THE_PAPER
