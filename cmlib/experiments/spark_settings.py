"""Convert the settings of Spark that are stored with a recording to numbers.

A run's options are a dict from the name of a setting, such as "spark.memory.fraction", to its value as text.
:func:`settings_of` takes such a dict, and gives a dict of floats [bytes, seconds or as it is] by abbreviation of
CounterMiner's Table IV; a ValueError for a value that is no quantity.
"""

import re

from cmlib.io.programs import emitted_events, spark_parameters

FOLDER = "tuning"  # among the recordings
EMIT = "emit."  # prefix, in a run's options, of an event that another program caused at a set rate
TABLE_IV = (
    spark_parameters()
)  # CounterMiner's: dict from abbreviation to a parameter with name, default and needs
# Settings that some parameters need to have an effect, such as two executors that fetch from each other.
ALWAYS = {name: value for parameter in TABLE_IV.values() for name, value in parameter.needs.items()}
_UNITS = {"": 1, "s": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_QUANTITY = re.compile(r"([0-9.]+)([skmg]?)")
_EVENTS = emitted_events()
# By event that can be caused at a set rate: the events that are caused with it.
EMITTERS = _EVENTS.query("emitted == 1")["with"].fillna("").str.split().map(tuple).to_dict()
# By event: the highest rate [1/s] at which it can be caused.
HIGHEST = _EVENTS["highest"].dropna().to_dict()


def emitted_of(options):
    """Rates at which events were caused during a run, from its `options`: a dict from event to rate [1/s, float]."""
    return {key.removeprefix(EMIT): float(rate) for key, rate in options.items() if key.startswith(EMIT)}


def settings_of(options):
    """Dict from abbreviation to value (float) of each of Table IV's parameters, from a run's options.

    A parameter that is not among the options has its default. A ValueError if a value is no quantity.
    """
    chosen = ALWAYS | dict(options)
    texts = {abbr: chosen.get(each.name, each.default) for abbr, each in TABLE_IV.items()}
    return {abbr: quantity(text) for abbr, text in texts.items()}


def quantity(text):
    """Number (float) of a text: ``"64k"`` in bytes, ``"120s"`` in seconds, ``"0.6"`` as it is; else a ValueError."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no number with one of the units k, m, g, s, or none.")
    return float(match[1]) * _UNITS[match[2]]
