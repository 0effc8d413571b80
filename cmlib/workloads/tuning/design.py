"""Which settings of Spark a program is run under."""

import math
import re
from dataclasses import dataclass

import numpy as np

from cmlib.workloads.spark import TABLE_IV

# Without these some of the parameters would do nothing; two executors that fetch from each other over the network.
_ALWAYS = {name: value for setting in TABLE_IV.values() for name, value in setting.needs.items()}
_UNITS = {"": 1, "s": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_QUANTITY = re.compile(r"([0-9.]+)([skmg]?)")


@dataclass(frozen=True)
class Run:
    """A program with its settings.

    Attributes
    ----------
    name : str
        Of the recording.
    options : dict of str to str
        Of the program's recipe.
    """

    name: str
    options: dict


def at_random(program, n, *, seed=0):
    """Settings drawn at random, as both papers do to model the execution time (GBRT study, §4.3).

    Each of Table IV's parameters is drawn by itself, uniformly in the logarithm between
    its lowest and its highest value. More runs begin with the same ones.

    Parameters
    ----------
    program : str
    n : int
    seed : int, default 0

    Returns
    -------
    list of Run
        ``sort-000``, ``sort-001``, ….
    """
    rng = np.random.default_rng(seed)
    runs = []
    for number in range(n):
        drawn = {setting.name: _between(setting, share) for setting, share in _shares(rng)}
        runs.append(Run(f"{program}-{number:03d}", _options(drawn)))
    return runs


def at_levels(program, parameters):
    """One parameter at a time at its lowest and its highest value, and all at their defaults.

    Parameters
    ----------
    program : str
    parameters : sequence of str
        Abbreviations of Table IV.

    Returns
    -------
    list of Run
        ``sort-default``, ``sort-dpl-low``, ``sort-dpl-high``, ….

    Raises
    ------
    ValueError
        If one is not in Table IV.
    """
    unknown = [abbr for abbr in parameters if abbr not in TABLE_IV]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no parameter of Table IV; there are {', '.join(TABLE_IV)}.")
    runs = [Run(f"{program}-default", _options({}))]
    for abbr in parameters:
        setting = TABLE_IV[abbr]
        for level in ("low", "high"):
            options = _options({setting.name: getattr(setting, level)})
            runs.append(Run(f"{program}-{abbr}-{level}", options))
    return runs


def settings_of(options):
    """Values of Table IV's parameters as numbers.

    Parameters
    ----------
    options : mapping of str to str
        Of a run; a parameter that is not named has its default.

    Returns
    -------
    dict of str to float
        By abbreviation: bytes, seconds, or a number.
    """
    given = _ALWAYS | dict(options)
    return {abbr: quantity(given.get(setting.name, setting.default)) for abbr, setting in TABLE_IV.items()}


def quantity(text):
    """``"64k"`` in bytes, ``"120s"`` in seconds, ``"0.6"`` as it is.

    Raises
    ------
    ValueError
        If it is nothing of that kind.
    """
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no number with one of the units k, m, g, s, or none.")
    number, unit = found.groups()
    return float(number) * _UNITS[unit]


def _shares(rng):
    return zip(TABLE_IV.values(), rng.random(len(TABLE_IV)), strict=True)


def _between(setting, share):
    low, high = quantity(setting.low), quantity(setting.high)
    value = math.exp(math.log(low) + share * math.log(high / low))
    unit = _QUANTITY.fullmatch(setting.low).group(2)
    if unit in ("k", "m", "g"):
        return f"{round(value / 1024)}k"
    return f"{value:.3f}" if "." in setting.low else f"{round(value)}{unit}"


def _options(chosen):
    return {"master": "standalone"} | _ALWAYS | chosen
