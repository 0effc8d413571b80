"""A widget for rankings of events by their importance for IPC: of one program, or of two programs side by side.

Controls choose the program, another one beside it, the number of events in the model, the number of bars, and the
number of models (with different seeds) over which importances are averaged. :func:`ranking` takes results of
:func:`cmlib.rank.refine` and returns a Panel (an ipywidgets VBox). Without results the Panel explains how to
record.
"""

from __future__ import annotations

import pandas as pd

from cmlib import plot
from cmlib.explore.panel import Panel, dropdown, offer, slider
from cmlib.rank import stability
from cmlib.rank.refinement import Refinement
from cmlib.templates import template

_IN_BOTH, _IN_ONE = "in both lists", "in one list"
_COLORS = {_IN_BOTH: plot.palette(1)[0], _IN_ONE: "#9dc6e0"}  # blue, light blue
_CHOSEN = 0  # in place of a number of events: the model that the refinement kept


def ranking(refined: dict[str, Refinement], draws: dict[str, pd.DataFrame], *, top: int = 10) -> Panel:
    """Make a Panel (a widget) with the most important events of a program, alone or beside another program's.

    Parameters
    ----------
    refined : dict of str to Refinement
        Program to what :func:`cmlib.rank.refine` gave (rankings and errors): models with fewer and fewer events.
        Empty: the Panel shows a message how to record a program.
    draws : dict of str to DataFrame
        Program to importances [%] in further models of the chosen number of events, as
        :func:`cmlib.rank.stability.draw_importances` gives them: a row per model, which differ by seed, a column per
        event. Every program of `refined` must be there (KeyError).
    top : int, default 10
        Events shown at first, 3 to 30.

    Returns
    -------
    Panel
        Controls: program, other ("" for none), n_events (0 for the model that the refinement chose), top and seeds
        (the number of models averaged; disabled unless n_events is 0).
    """
    if not refined:
        return Panel.empty()

    def draw(program, other, n_events, top, seeds):
        """Draw the figure and write the HTML of a Panel, for the values of its controls."""
        programs = [name for name in (program, other) if name]
        models = {name: refined[name] for name in programs}
        n_drawn = seeds if n_events == _CHOSEN else 0
        drawn = {name: draws[name].iloc[:n_drawn] for name in programs}
        return _draw_rankings(models, drawn, n_events, top)

    programs = list(refined)
    first = programs[0]
    n_seeds = max(map(len, draws.values()))
    controls = {
        "program": dropdown("program", programs, first),
        "other": dropdown("beside it", _list_others(first, programs), programs[1] if programs[1:] else ""),
        "n_events": dropdown("events in the model", _list_sizes(refined[first]), _CHOSEN),
        "top": slider("events shown", 3, 30, value=top),
        "seeds": slider("seeds", 1, n_seeds, value=n_seeds),
    }

    def follow(program):
        """Offer what goes with another program: programs beside it, and its numbers of events."""
        offer(controls["other"], _list_others(program, programs))
        offer(controls["n_events"], _list_sizes(refined[program]))

    def enable(n_events):
        """Let the number of seeds be chosen only for the model that the refinement chose."""
        controls["seeds"].disabled = n_events != _CHOSEN

    return Panel(draw, controls, {"program": follow, "n_events": enable})


def _draw_rankings(refined, drawn, n_events, top):
    """Draw the rankings of one or two programs: the figure, and the HTML of the text below it.

    `refined` and `drawn` have the Refinement and the importances to average of each program, `n_events` is the number
    of events in the model, `top` that of the bars.
    """
    steps = {name: _find_step(refinement, n_events) for name, refinement in refined.items()}
    frames = {name: _read_importances(refined[name], drawn[name], steps[name]) for name in refined}
    first_rows = {name: frame.head(top).reset_index() for name, frame in frames.items()}
    n_common = _mark_common(first_rows)
    is_averaged = any(map(len, drawn.values()))
    figure, _ = plot.ranking(
        first_rows,
        value="mean",
        label="event",
        xlabel="importance [%]",
        columns=2,
        hue="lists" if len(refined) > 1 else None,
        colors=_COLORS,
        low="low" if is_averaged else None,
        high="high" if is_averaged else None,
    )
    events = next(iter(first_rows.values()))["event"]
    html = template("cmlib.explore", "ranking.html.j2", autoescape=True).render(
        models={name: refined[name].history.iloc[steps[name]] for name in refined},
        compared=_compare(frames, first_rows, n_common) if len(refined) > 1 else None,
        drawn=max(map(len, drawn.values())),
        table=_write_table(frames, events),
    )
    return figure, html


def _mark_common(first_rows):
    """Add a column that says whether an event is in the lists of all programs; return the number of such events."""
    common = set.intersection(*(set(rows["event"]) for rows in first_rows.values()))
    for rows in first_rows.values():
        rows["lists"] = [_IN_BOTH if event in common else _IN_ONE for event in rows["event"]]
    return len(common)


def _find_step(refined, n_events):
    """Find the row of a Refinement's history with about `n_events` events; for 0, that of the chosen model."""
    if n_events == _CHOSEN:
        return refined.chosen
    return int((refined.history["n_events"] - n_events).abs().argmin())


def _read_importances(refined, drawn, step):
    """Return the importances of a program's events [%]: a DataFrame by event, the most important first.

    The column mean is averaged over the rows of `drawn` if there are any, and the columns of
    :func:`stability.importance_spread` are added; else mean is the importance in the one model at `step`.
    """
    if len(drawn):
        return stability.importance_spread(drawn)
    return refined.rankings[step].rename("mean").to_frame().rename_axis("event")


def _compare(frames, first, n_common):
    """Measure how far the rankings of two programs agree: a dict for the template.

    `frames` has all importances by program; `first` has the rows that are drawn, of which `n_common` events are in
    both.
    """
    either = list(dict.fromkeys(event for rows in first.values() for event in rows["event"]))
    means = {name: frame["mean"].reindex(either, fill_value=0.0) for name, frame in frames.items()}
    numbers = {"n_common": n_common, "n_first": max(map(len, first.values())), "n_either": len(either)}
    return numbers | {"correlation": pd.DataFrame(means).corr(method="spearman").iloc[0, 1]}


def _write_table(frames, events):
    """Write an HTML table of the first program's drawn events, with their importance in every program shown."""
    shown = pd.DataFrame({f"{name} [%]": frame["mean"].reindex(events) for name, frame in frames.items()})
    first = next(iter(frames.values())).reindex(events)
    if "rank_low" in first:
        shown["places it takes"] = first["rank_low"].astype(str) + "–" + first["rank_high"].astype(str)
    with pd.option_context("display.max_colwidth", None):
        table = shown.rename_axis("event").reset_index()
        return table.to_html(index=False, border=0, na_rep="–", float_format="{:,.1f}".format)


def _list_others(program, programs):
    """List the options (label, name) of a dropdown: no program, or one of `programs` other than `program`."""
    return [("no other program", ""), *((name, name) for name in programs if name != program)]


def _list_sizes(refined):
    """List the options (label, number) for the number of events: 0 for the chosen model, then every refinement step."""
    n_chosen = int(refined.errors["n_events"])
    return [(f"{n_chosen}: the refined model", _CHOSEN), *((str(n), n) for n in refined.history["n_events"])]
