"""Widgets for a fingerprint: a program, the length of its slices, and why a slice got its class."""

import html

from cmlib.collect.workloads.micro.selection import COMMAND
from cmlib.explore.panel import Panel, dropdown, offer, paragraph, slider
from cmlib.fingerprint.diagnosis import advice
from cmlib.plot.fingerprint import phase_timeline


def fingerprint(profiles, *, program="", unit="s", per="cycle"):
    """The timeline of a program, and the rule that decided for one of its slices."""
    if not profiles:
        return Panel.empty(COMMAND)
    first = program if program in profiles else next(iter(profiles))
    controls = {
        "program": dropdown("program", list(profiles), first),
        "slice_s": dropdown("slice", _lengths(profiles[first], unit)),
        "number": slider("slice explained", 1, 2, value=1),
    }

    def fit():
        controls["number"].max = len(profiles[controls["program"].value][controls["slice_s"].value].labelled)

    def draw(program, slice_s, number):
        return _draw(profiles[program][slice_s], program, number, slice_s, unit, per)

    def adjust_to_program(name):
        offer(controls["slice_s"], _lengths(profiles[name], unit))
        fit()

    fit()
    panel = Panel(draw, controls)
    panel.before_redraw("program", adjust_to_program)
    panel.before_redraw("slice_s", lambda _: fit())
    return panel


def _lengths(by_length, unit):
    return [(f"{length:g} {unit}", length) for length in by_length]


def _draw(profile, program, number, slice_s, unit, per):
    labelled, pace = profile.labelled, profile.pace
    end, label, rule = labelled.index[number - 1], *labelled.iloc[number - 1][["label", "rule"]]
    title = f"{program}, slices of {slice_s:g} {unit}"
    figure, _ = phase_timeline(labelled, pace, title=title, marked=end)
    meaning, remedy = advice(label)
    shown = " ".join(pace.name.split())
    return figure, paragraph(
        f"Slice {number} of {len(labelled)}, {end - slice_s:.1f}–{end:.1f} {unit}: "
        f"<strong>{html.escape(label)}</strong>, {shown}: {pace.iloc[number - 1]:.2f}. {meaning.capitalize()}.",
        f"Rule: <code>{html.escape(rule)}</code> (events per {per}).",
        html.escape(remedy),
    )
