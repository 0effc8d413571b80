"""List the parameters of Spark that are varied (CounterMiner's Table IV), and read their values from recordings.

A run's options are a dict from the name of a setting, such as "spark.memory.fraction", to its value as text.
:func:`settings_of` converts such a dict to numbers [bytes, seconds, or without unit] by the parameters' abbreviations
in CounterMiner's Table IV. ValueError for a value that is not a quantity.
"""

import re
from dataclasses import dataclass

import pandas as pd

from cmlib import places
from cmlib.errors import InputError

__all__ = ["EMITTERS", "TABLE_IV"]


@dataclass(frozen=True)
class SparkParameter:
    """A parameter of Spark.

    Attributes
    ----------
    name : str
        Its name in Spark.
    low, default, high : str
        Its values at the ends of its range and by default.
    needs : dict of str to str
        Settings without which it has no effect: value by name.
    """

    name: str
    low: str
    default: str
    high: str
    needs: dict[str, str]


def _read_parameters():
    """Read the parameters of CounterMiner's Table IV: a dict by abbreviation."""
    file = places.shipped("programs") / "spark_parameters.csv"
    rows = pd.read_csv(file, index_col="abbr", dtype=str, keep_default_na=False)
    needs = [dict(pair.split("=") for pair in text.split()) for text in rows["needs"]]
    return {abbr: SparkParameter(**row) for abbr, row in rows.assign(needs=needs).to_dict("index").items()}


FOLDER = "tuning"  # among the recordings
LEVELS_FOLDER = "tuning-levels"  # a separate session of runs in which a single parameter was changed
EMIT = "emit."  # prefix, in a run's options, of an event that another program caused at a set rate
TABLE_IV = _read_parameters()
# Settings that some parameters need to have an effect, such as two executors that fetch from each other.
ALWAYS = {name: value for parameter in TABLE_IV.values() for name, value in parameter.needs.items()}
_UNITS = {"": 1, "s": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_QUANTITY = re.compile(r"([0-9.]+)([skmg]?)")
# Software events counted beside Spark, which can be emitted, and which others they cause.
EVENTS = pd.read_csv(places.shipped("programs") / "emitted_events.csv", comment="#").set_index("event")
# By event that can be caused at a set rate: the events that are caused with it.
EMITTERS = EVENTS.query("emitted == 1")["with"].fillna("").str.split().map(tuple).to_dict()
# By event: the highest rate [1/s] at which it can be caused.
HIGHEST = EVENTS["highest"].dropna().to_dict()


def emitted_of(options):
    """Return the rates at which another program caused events during a run.

    Parameters
    ----------
    options : dict of str to str
        Options of the run.

    Returns
    -------
    dict of str to float
        Rate [1/s] by event; empty if no events were caused.
    """
    return {key.removeprefix(EMIT): float(rate) for key, rate in options.items() if key.startswith(EMIT)}


def settings_of(options):
    """Return the values of Spark's parameters in a run.

    Parameters
    ----------
    options : dict of str to str
        Options of the run. A parameter that is not among them has its default.

    Returns
    -------
    dict of str to float
        Value by abbreviation of the parameter in CounterMiner's Table IV.

    Raises
    ------
    ValueError
        If a value is not a quantity.
    """
    options_with_needs = ALWAYS | dict(options)
    texts = {
        abbr: options_with_needs.get(parameter.name, parameter.default)
        for abbr, parameter in TABLE_IV.items()
    }
    return {abbr: parse_quantity(text) for abbr, text in texts.items()}


def parse_quantity(text):
    """Parse a number with one of Spark's units.

    Parameters
    ----------
    text : str
        Such as ``"64k"``, ``"120s"`` or ``"0.6"``.

    Returns
    -------
    float
        In bytes, in seconds, or without unit.

    Raises
    ------
    ValueError
        If the text is not a number with the unit k, m, g, s or none.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r} is not a number, alone or with one of the units k, m, g and s.")
    return float(match[1]) * _UNITS[match[2]]
