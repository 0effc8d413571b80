"""A widget for fingerprints: the classes of a program's slices, and the rule that decided for one of them."""

import html

from cmlib.experiments.micro_recordings import COMMAND
from cmlib.explore.panel import Panel, dropdown, offer, paragraph, slider
from cmlib.fingerprint.diagnosis import advice
from cmlib.plot.fingerprint import phase_timeline


def fingerprint(profiles, *, program="", unit="s", per="cycle"):
    """A Panel with the timeline of a program, and the rule of the tree that decided for one slice.

    `profiles` maps program to slice length [`unit`] to its profile, with `labelled` and `pace`; `per` is what events
    are divided by.
    """
    if not profiles:
        return Panel.empty(COMMAND)

    def lengths(program):
        return [(f"{length:g} {unit}", length) for length in profiles[program]]

    first = program if program in profiles else next(iter(profiles))
    controls = {
        "program": dropdown("program", list(profiles), first),
        "slice_s": dropdown("slice", lengths(first)),
        "number": slider("slice explained", 1, 2, value=1),
    }

    def fit(_=None):
        controls["number"].max = len(profiles[controls["program"].value][controls["slice_s"].value].labelled)

    def draw(program, slice_s, number):
        profile = profiles[program][slice_s]
        title = f"{program}, slices of {slice_s:g} {unit}"
        marked = profile.labelled.index[number - 1]
        figure, _ = phase_timeline(profile.labelled, profile.pace, title=title, marked=marked)
        return figure, _explain_slice(profile, number, slice_s, unit, per)

    def adjust_to_program(name):
        offer(controls["slice_s"], lengths(name))
        fit()

    fit()
    return Panel(draw, controls, {"program": adjust_to_program, "slice_s": fit})


def _explain_slice(profile, number, slice_s, unit, per):
    """The class and rule of slice `number` (from 1), and what to do about it, in HTML."""
    end, row = profile.labelled.index[number - 1], profile.labelled.iloc[number - 1]
    label, rule = html.escape(row["label"]), html.escape(row["rule"])
    meaning, remedy = advice(row["label"])
    shown = " ".join(profile.pace.name.split())
    return paragraph(
        f"Slice {number} of {len(profile.labelled)}, {end - slice_s:.1f}–{end:.1f} {unit}: "
        f"<strong>{label}</strong>, {shown}: {profile.pace.iloc[number - 1]:.2f}. {meaning.capitalize()}.",
        f"Rule: <code>{rule}</code> (events per {per}).",
        html.escape(remedy),
    )
