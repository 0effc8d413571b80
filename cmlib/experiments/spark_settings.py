"""Settings of Spark as they are noted with a recording, and as numbers."""

import re

from cmlib.io.programs import emitted_events, spark_parameters

FOLDER = "tuning"  # among the recordings
EMIT = "emit."  # before an event that was emitted beside a run, among its options
TABLE_IV = spark_parameters()
# Without these some of the parameters would do nothing; two executors that fetch from each other over the network.
ALWAYS = {name: value for parameter in TABLE_IV.values() for name, value in parameter.needs.items()}
_UNITS = {"": 1, "s": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_QUANTITY = re.compile(r"([0-9.]+)([skmg]?)")
_EVENTS = emitted_events()
# By event that can be emitted, what it brings along.
EMITTERS = _EVENTS.query("emitted == 1")["with"].fillna("").str.split().map(tuple).to_dict()
HIGHEST = _EVENTS["highest"].dropna().to_dict()


def emitted_of(options):
    """Rates of the events that were emitted beside a run [1/s]."""
    return {key.removeprefix(EMIT): float(rate) for key, rate in options.items() if key.startswith(EMIT)}


def settings_of(options):
    """Values of Table IV's parameters as numbers."""
    chosen = ALWAYS | dict(options)
    texts = {abbr: chosen.get(each.name, each.default) for abbr, each in TABLE_IV.items()}
    return {abbr: quantity(text) for abbr, text in texts.items()}


def quantity(text):
    """``"64k"`` in bytes, ``"120s"`` in seconds, ``"0.6"`` as it is."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no number with one of the units k, m, g, s, or none.")
    return float(match[1]) * _UNITS[match[2]]
