"""Widgets for a program's settings: how many runs, and which parameter."""

from cmlib import plot
from cmlib.collect.workloads.spark import TABLE_IV
from cmlib.explore.panel import Panel, dropdown, name, number, paragraph, slider
from cmlib.tuning import rank_directly

_LEAST_RUNS = 20


def tuning(tuned):
    """What the first runs of a program say of its parameters, and each run's time by one of them."""
    if not tuned:
        return Panel.empty("cmlib record-tuning")

    def draw(program, runs, parameter):
        first = tuned[program].runs.take(range(min(runs, len(tuned[program].runs))))
        ranked = rank_directly(first)
        setting = TABLE_IV[parameter]
        figure, _ = plot.setting(
            list(ranked.index),
            list(ranked),
            x=first.parameters[parameter],
            y=first.seconds,
            xlabel=f"{setting.name} [{_unit(setting)}]",
            ylabel="execution time [s]",
            title=f"{program}, {len(first)} runs",
            chosen=parameter,
        )
        return figure, _said(first, ranked, parameter, setting)

    name, one = next(iter(tuned.items()))
    first = rank_directly(one.runs).index[0]
    most = max(len(each.runs) for each in tuned.values())
    controls = {
        "program": dropdown("program", list(tuned), name),
        "runs": slider("runs", min(_LEAST_RUNS, most), most, value=len(one.runs)),
        "parameter": dropdown(
            "parameter", [(f"{abbr} · {TABLE_IV[abbr].name}", abbr) for abbr in one.runs.parameters], first
        ),
    }
    return Panel(draw, controls)


def _unit(setting):
    unit = setting.low[-1]
    return "s" if unit == "s" else "bytes" if unit in "kmg" else "–"


def _said(runs, ranked, parameter, setting):
    correlation = runs.parameters[parameter].corr(runs.seconds, method="spearman")
    return paragraph(
        f"{name(setting.name)}: {number(ranked[parameter], 1, '%')} of the importance, place "
        f"{list(ranked.index).index(parameter) + 1} of {len(ranked)}.",
        f"Rank correlation with the time: {number(correlation, 2)}; Spark's default: {setting.default}.",
    )
