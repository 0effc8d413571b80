"""List the varied parameters of Spark and read their values.

The parameters are those of Table IV of the CounterMiner paper, and :data:`TABLE_IV` contains their ranges.
:func:`settings_of` converts the options of a recorded run to numbers. The options are a dict of setting names and
texts. For example, ``{"spark.memory.fraction": "0.6"}``.

During some runs, a second program caused events on purpose, for example page faults, at a fixed rate. The options
of such a run contain these rates, and :func:`emitted_of` returns them.
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
        Name of the setting in Spark.
    low, default, high : str
        Lowest, default and highest value.
    needs : dict of str to str
        Other settings without which the parameter has no effect.
    """

    name: str
    low: str
    default: str
    high: str
    needs: dict[str, str]


def _read_parameters():
    """Return the parameters of Table IV, keyed by the paper's abbreviation."""
    file = places.shipped("programs") / "spark_parameters.csv"
    rows = pd.read_csv(file, index_col="abbr", dtype=str, keep_default_na=False)
    needs = [dict(pair.split("=") for pair in text.split()) for text in rows["needs"]]
    return {abbr: SparkParameter(**row) for abbr, row in rows.assign(needs=needs).to_dict("index").items()}


FOLDER = "tuning"  # in the folder of recordings
LEVELS_FOLDER = "tuning-levels"  # recordings in which a single parameter was changed
EMIT = "emit."  # prefix of the options that contain the rate of an event
TABLE_IV = _read_parameters()
# Settings without which some parameters have no effect. For example, two executors.
ALWAYS = {name: value for parameter in TABLE_IV.values() for name, value in parameter.needs.items()}
_UNITS = {"": 1, "s": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_QUANTITY = re.compile(r"([0-9.]+)([skmg]?)")
# Software events that are counted. Some can be caused on purpose, and cause others.
EVENTS = pd.read_csv(places.shipped("programs") / "emitted_events.csv", comment="#").set_index("event")
# Events that can be caused at a fixed rate, with the events that they cause in addition.
EMITTERS = EVENTS.query("emitted == 1")["with"].fillna("").str.split().map(tuple).to_dict()
# Highest rate [1/s] at which each event can be caused.
HIGHEST = EVENTS["highest"].dropna().to_dict()


def emitted_of(options: dict[str, str]) -> dict[str, float]:
    """Return the rates of events that were caused on purpose during a run.

    In some recordings, a second program ran at the same time and caused events at a fixed rate.

    Parameters
    ----------
    options : dict of str to str
        Options of the run. For example, ``{"emit.page-faults": "1000"}``.

    Returns
    -------
    dict of str to float
        Rate of each event [1/s]. Empty if no second program ran.
    """
    return {key.removeprefix(EMIT): float(rate) for key, rate in options.items() if key.startswith(EMIT)}


def settings_of(options: dict[str, str]) -> dict[str, float]:
    """Return the values of Spark's parameters in a run.

    Parameters
    ----------
    options : dict of str to str
        Options of the run. A missing parameter has its default value.

    Returns
    -------
    dict of str to float
        Values in bytes, in seconds or without unit, keyed by the abbreviation in Table IV of the CounterMiner
        paper.

    Raises
    ------
    ValueError
        If a value is not a number with a known unit.
    """
    options_with_needs = ALWAYS | dict(options)
    texts = {
        abbr: options_with_needs.get(parameter.name, parameter.default)
        for abbr, parameter in TABLE_IV.items()
    }
    return {abbr: parse_quantity(text) for abbr, text in texts.items()}


def parse_quantity(text: str) -> float:
    """Convert a value of a Spark setting to a number.

    Parameters
    ----------
    text : str
        A number and its unit (k, m, g, s or none). For example, ``"64k"``, ``"120s"`` or ``"0.6"``.

    Returns
    -------
    float
        Value in bytes, in seconds or without unit.

    Raises
    ------
    ValueError
        If the text is not such a number.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r} is not a number with one of the units k, m, g or s, or without unit.")
    return float(match[1]) * _UNITS[match[2]]
