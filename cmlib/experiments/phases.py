"""Phases of what is shown over time on the report's first page."""

import pandas as pd

from cmlib.fingerprint.phases import find_phases

_NAMED = 4


def with_phases(rows):
    """Add the mean of each phase to quantities that one run tells."""
    return {
        quantity: lines | {"phases": _levels(*lines.values())} if len(lines) == 1 else lines
        for quantity, lines in rows.items()
    }


def describe_phases(series):
    """Into which phases a series falls."""
    phases = find_phases(series)
    if len(phases) == 1:
        return ""
    end = _million_instructions if series.index.name == "million_instructions" else "{:.0f} s".format
    named = [f"{round_to_three(row.level)} up to {end(row.end)}" for row in phases.head(_NAMED).itertuples()]
    further = f" and {len(phases) - _NAMED} more" if len(phases) > _NAMED else ""
    return f"in {len(phases)} phases: {', '.join(named)}{further}"


def round_to_three(value):
    """A number with three digits that count, without an exponent where it is large."""
    return f"{float(f'{value:.3g}'):,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _million_instructions(millions):
    return f"{round_to_three(millions)} million instructions"


def _levels(series):
    phases = find_phases(series)
    place = phases["start"].searchsorted(series.index, side="right") - 1
    return pd.Series(phases["level"].to_numpy()[place.clip(0)], series.index)
