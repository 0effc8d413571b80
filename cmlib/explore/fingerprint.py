"""A widget for fingerprints: the classes of a program's slices, and the rule that gave one of them its class.

A slice is a short stretch of a run. Its class, found by a decision tree, says what limits it, such as P_Mem_L2
(pathological), or N_CPU (not). Without profiles the Panel explains how to record some; input is not checked.
"""

from typing import Any

from cmlib.explore.panel import Panel, dropdown, offer, slider
from cmlib.fingerprint.diagnosis import advice
from cmlib.plot.fingerprint import phase_timeline
from cmlib.templates import template


def fingerprint(
    profiles: dict[str, dict[float, Any]], *, program: str = "", unit: str = "s", per: str = "cycle"
) -> Panel:
    """Make a Panel (a widget) with the classes of a program's slices over time, and the rule behind one of them.

    Parameters
    ----------
    profiles : dict of str to dict of float to Profile
        Program, then length of a slice [`unit`], to a :class:`cmlib.experiments.measured_diagnosis.Profile`. An
        object with the same attributes `labelled` (DataFrame: one row per slice, columns label and rule, indexed by
        the ends of the slices) and `pace` (Series: one value per slice, named by its quantity, for example IPC) can
        be used instead. If empty, the Panel names the command that records.
    program : str
        The program that is shown first; the first one if there is no such program.
    unit : str, default "s"
        Unit of the slices' lengths and ends.
    per : str, default "cycle"
        What the events in the rules are divided by, for the text.

    Returns
    -------
    Panel
        Controls: program, slice_s (length of the slices) and number (of the slice explained, from 1).
    """
    if not profiles:
        return Panel.empty("cmlib record-micro")

    def lengths(program):
        """List the options (label, length) of the dropdown of slice lengths, for a program."""
        return [(f"{length:g} {unit}", length) for length in profiles[program]]

    first = program if program in profiles else next(iter(profiles))
    controls = {
        "program": dropdown("program", list(profiles), first),
        "slice_s": dropdown("slice", lengths(first)),
        "number": slider("slice explained", 1, 2, value=1),
    }

    def fit(_=None):
        """Let the slider of the slice explained end at the number of slices."""
        controls["number"].max = len(profiles[controls["program"].value][controls["slice_s"].value].labelled)

    def draw(program, slice_s, number):
        """Draw the figure and write the HTML of a Panel, for the values of its controls."""
        profile = profiles[program][slice_s]
        title = f"{program}, slices of {slice_s:g} {unit}"
        marked = profile.labelled.index[number - 1]
        figure, _ = phase_timeline(profile.labelled, profile.pace, title=title, marked=marked)
        return figure, _explain_slice(profile, number, slice_s, unit, per)

    def adjust_to_program(name):
        """Offer the slice lengths of another program, and fit the slider to it."""
        offer(controls["slice_s"], lengths(name))
        fit()

    fit()
    return Panel(draw, controls, {"program": adjust_to_program, "slice_s": fit})


def _explain_slice(profile, number, slice_s, unit, per):
    """Write as HTML the class and rule of slice `number` (from 1) of a Profile, and what to do about it."""
    end, row = profile.labelled.index[number - 1], profile.labelled.iloc[number - 1]
    meaning, remedy = advice(row["label"])
    shown = {"start": end - slice_s, "end": end, "unit": unit, "per": per, "n_slices": len(profile.labelled)}
    shown |= {"pace_name": profile.pace.name or "pace", "pace": profile.pace.iloc[number - 1]}
    html = template("cmlib.explore", "fingerprint.html.j2", autoescape=True)
    return html.render(row, number=number, meaning=meaning, remedy=remedy, **shown)
