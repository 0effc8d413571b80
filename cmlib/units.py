"""Units of what perf counts.

:func:`unit_of` takes the name of an event; most events are plain numbers.
"""

_UNITS = {
    "task-clock": "ms",
    "cpu-clock": "ms",
    "duration_time": "ns",
    "user_time": "ns",
    "system_time": "ns",
}
_ENERGY = "power/energy-"  # energy of the package, the cores, the memory and so on


def unit_of(event):
    """Return the unit of an event's counts (str): ``ms``, ``ns``, ``J``; "" for a plain number.

    Examples
    --------
    >>> unit_of("task-clock"), unit_of("power/energy-pkg/"), unit_of("cycles")
    ('ms', 'J', '')
    """
    if event.startswith(_ENERGY):
        return "J"
    return _UNITS.get(event, "")
