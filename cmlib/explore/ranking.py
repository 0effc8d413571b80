"""Widgets for a ranking: how many events, which model, how many seeds, which other program."""

import pandas as pd

from cmlib import plot
from cmlib.explore.panel import Panel, dropdown, name, number, offer, paragraph, slider, table
from cmlib.rank import stability

_CHOSEN = 0


def ranking(refined, draws, *, top=10):
    """The most important events of a program, alone or beside another program's."""
    if not refined:
        return Panel.empty()

    def draw(program, other, n_events, top, seeds):
        shown = {
            name: _Shown(refined[name], draws[name], n_events, seeds) for name in (program, other) if name
        }
        if other:
            return _two(shown, top)
        return _one(program, refined[program], shown[program], top)

    programs = list(refined)
    first, n_seeds = programs[0], max(len(one) for one in draws.values())
    controls = {
        "program": dropdown("program", programs, first),
        "other": dropdown("beside it", _others(first, programs), programs[1] if programs[1:] else ""),
        "n_events": dropdown("events in the model", _steps(refined[first]), _CHOSEN),
        "top": slider("events shown", 3, 30, value=top),
        "seeds": slider("seeds", 1, n_seeds, value=n_seeds),
    }
    panel = Panel(draw, controls)

    def follow(program):
        offer(controls["other"], _others(program, programs))
        offer(controls["n_events"], _steps(refined[program]))

    panel.before_redraw("program", follow)
    panel.before_redraw(
        "n_events", lambda n_events: setattr(controls["seeds"], "disabled", n_events != _CHOSEN)
    )
    return panel


class _Shown:
    """The ranking of one program at the step of its refinement that has (about) so many events."""

    def __init__(self, refined, draws, n_events, seeds):
        sizes = refined.history["n_events"]
        step = refined.chosen if n_events == _CHOSEN else int((sizes - n_events).abs().argmin())
        self.errors = refined.history.iloc[step]
        self.drawn = min(seeds, len(draws)) if n_events == _CHOSEN else 0
        if self.drawn:
            self.frame = stability.importance_spread(draws.iloc[: self.drawn])
        else:
            self.frame = refined.rankings[step].rename("mean").to_frame().rename_axis("event")

    def head(self, top):
        rows = self.frame.head(top)
        return rows.assign(label=rows.index)


def _one(program, refined, shown, top):
    rows = shown.head(top)
    figure, _ = plot.ranking_and_errors(
        rows, refined.history, n_events=int(shown.errors["n_events"]), title=program
    )
    return figure, _model(program, shown) + _list({program: shown}, rows)


def _two(shown, top):
    rows = {program: one.head(top) for program, one in shown.items()}
    first, second = (list(one.index) for one in rows.values())
    common = [event for event in first if event in second]
    links = [(first.index(event), second.index(event)) for event in common]
    figure, _ = plot.two_rankings(rows, links)
    either = list(dict.fromkeys(first + second))
    means = pd.DataFrame(
        {program: one.frame["mean"].reindex(either, fill_value=0.0) for program, one in shown.items()}
    )
    correlation = means.corr(method="spearman").iloc[0, 1]
    sentence = paragraph(
        f"{len(common)} of the first {max(len(first), len(second))} events are in both lists.",
        f"Rank correlation (Spearman) over the {len(either)} events that are in either: "
        f"{number(correlation, 2)} (1: the same order, -1: the reverse).",
        "An event that a model has dropped counts as 0 %, so that lists with little in common come out below 0.",
    )
    models = "".join(_model(program, one) for program, one in shown.items())
    return figure, sentence + models + _list(shown, next(iter(rows.values())))


def _model(program, shown):
    errors = shown.errors
    spread = (
        f"Lines: nine of ten of {shown.drawn} models that differ by seed and rows."
        if shown.drawn > 1
        else "One model: no spread."
    )
    return paragraph(
        f"{name(program)}: the model of {errors['n_events']:.0f} events errs by "
        f"{number(errors['error'], 1, '%')} on random rows, {number(errors['blocks_error'], 1, '%')} "
        f"on blocks; predicting the mean by {number(errors['mean_baseline'], 1, '%')}.",
        spread,
    )


def _list(shown, rows):
    """The events of the first ranking, with their importance in every program shown."""
    first = next(iter(shown.values())).frame
    ranks = "rank_low" in first
    header = ["event", *(f"{program} [%]" for program in shown), *(["places it takes"] if ranks else [])]
    lines = []
    for event in rows.index:
        values = [number(one.frame["mean"].get(event, float("nan"))) for one in shown.values()]
        places = [f"{first.at[event, 'rank_low']}–{first.at[event, 'rank_high']}"] if ranks else []
        lines.append([event, *values, *places])
    return table(header, lines)


def _others(program, programs):
    return [("no other program", ""), *((name, name) for name in programs if name != program)]


def _steps(refined):
    n_chosen = int(refined.errors["n_events"])
    return [(f"{n_chosen}: the model kept", _CHOSEN), *((str(n), n) for n in refined.history["n_events"])]
