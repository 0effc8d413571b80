"""Which settings of Spark a program is run under."""

import math
import re
import zlib
from dataclasses import dataclass, field

import numpy as np

from cmlib.collect.workloads.spark import TABLE_IV

# Without these some of the parameters would do nothing; two executors that fetch from each other over the network.
_ALWAYS = {name: value for setting in TABLE_IV.values() for name, value in setting.needs.items()}
_UNITS = {"": 1, "s": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_QUANTITY = re.compile(r"([0-9.]+)([skmg]?)")
_EMIT = "emit."
_SILENT = 1 / 3  # of the runs, for each event
_LEAST = 0.1  # of its highest rate, where it is emitted at all


@dataclass(frozen=True)
class Run:
    """A program with its settings."""

    name: str
    options: dict
    emitted: dict = field(default_factory=dict)

    @property
    def noted(self):
        """Options as they are noted with the recording: also the emitted rates, as ``emit.EVENT``."""
        return self.options | {f"{_EMIT}{event}": rate for event, rate in self.emitted.items()}


def at_random(program, n, *, seed=0):
    """Settings drawn at random, as both papers do to model the execution time (GBRT study, §4.3)."""
    rng = np.random.default_rng(seed)
    runs = []
    for number in range(n):
        drawn = {setting.name: _between(setting, share) for setting, share in _shares(rng)}
        runs.append(Run(f"{program}-{number:03d}", _options(drawn)))
    return runs


def at_levels(program, parameters):
    """One parameter at a time at its lowest and its highest value, and all at their defaults."""
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


def at_rates(program, highest, n, *, at="default", seed=0):
    """One setting, and events emitted beside the program at rates drawn at random."""
    options = _setting(program, at).options
    drawn = {event: _rates(event, top, n, seed) for event, top in highest.items()}
    return [
        Run(f"{program}-emit-{at}-{number:03d}", options, {event: of[number] for event, of in drawn.items()})
        for number in range(n)
    ]


def emitted_of(options):
    """Rates of the events that were emitted beside a run [1/s]."""
    return {key.removeprefix(_EMIT): float(rate) for key, rate in options.items() if key.startswith(_EMIT)}


def settings_of(options):
    """Values of Table IV's parameters as numbers."""
    given = _ALWAYS | dict(options)
    return {abbr: quantity(given.get(setting.name, setting.default)) for abbr, setting in TABLE_IV.items()}


def quantity(text):
    """``"64k"`` in bytes, ``"120s"`` in seconds, ``"0.6"`` as it is."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no number with one of the units k, m, g, s, or none.")
    number, unit = match.groups()
    return float(number) * _UNITS[unit]


def _setting(program, at):
    known = {run.name.removeprefix(f"{program}-"): run for run in at_levels(program, TABLE_IV)}
    if at not in known:
        raise ValueError(f"{at!r} is no setting; there are {', '.join(known)}.")
    return known[at]


def _rates(event, highest, n, seed):
    """As they are given to the emitter; an event's draws don't depend on which others are emitted."""
    drawn = np.random.default_rng([seed, zlib.crc32(event.encode())]).random((n, 2))
    return ["0" if silent < _SILENT else f"{highest * _LEAST ** (1 - share):.4g}" for silent, share in drawn]


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
