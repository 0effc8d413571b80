"""Labelled controls, wide enough for what they say."""

import ipywidgets as widgets

from cmlib.events import abbreviate

_LETTER, _TRACK_AND_VALUE = 0.55, 14.0  # widths [em]


def dropdown(label, options, value=None):
    """One of several options, as a list that opens; type a letter to get to the next that begins with it.

    Parameters
    ----------
    label : str
    options : sequence of values, or of (text, value)
    value : optional
        What is chosen at first; the first option where it is none of them.
    """
    control = widgets.Dropdown(
        description=label, options=options, layout=widgets.Layout(width="auto", max_width="100%")
    )
    _choose(control, value)
    return control


def slider(label, low, high, *, step=1, value):
    """A number of a range, redrawn when the handle is let go; a whole number where `step` is one.

    Parameters
    ----------
    label : str
    low, high, step, value : int or float
    """
    kind = widgets.IntSlider if isinstance(step, int) else widgets.FloatSlider
    return kind(
        description=label,
        min=low,
        max=high,
        step=step,
        value=value,
        continuous_update=False,
        layout=widgets.Layout(width=f"{_TRACK_AND_VALUE + _LETTER * len(label):.0f}em", max_width="100%"),
    )


def event_options(events, table):
    """Events as options, in order of their abbreviations, which stand first.

    Parameters
    ----------
    events : iterable of str
    table : DataFrame
        Event table.

    Returns
    -------
    list of (str, str)
        Such as ``("IMR · ic_tag_hit_miss.instruction_cache_miss", …)``; an event
        without abbreviation stands by its name.
    """
    events = list(events)
    shorts = abbreviate(events, table)
    shown = [
        event if short == event else f"{short} · {event}" for event, short in zip(events, shorts, strict=True)
    ]
    return sorted(zip(shown, events, strict=True))


def offer(control, options):
    """Give a dropdown other options; what is chosen stays where it still is one of them."""
    before = control.value
    control.options = options
    _choose(control, before)


def _choose(control, value):
    values = [option[1] if isinstance(option, tuple) else option for option in control.options]
    if value in values:
        control.value = value
