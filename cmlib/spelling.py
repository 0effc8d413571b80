"""One name for every spelling of an event, as perf, vendors and other tools write it."""

import re

_PMU = re.compile(r"(?:cpu(?:_[a-z]+)?|armv[0-9]+\w*|apple_\w+_pmu)/([^/]*)/?")
_MODIFIER = re.compile(r"(?<=[/:])[ukhIGHpPSDWeb]+(?=/?$)")
_NAME = re.compile(r"(?:^|,)name=([^,]+)")
# What perf and the vendor call differently; the first is the kernel's.
_ALIASES = {
    "cycles": "cpu-cycles cpu_clk_unhalted.thread cpu_clk_unhalted.core",
    "slots": "topdown.slots topdown.slots_p",
    "topdown-retiring": "topdown_retiring.all perf_metrics.retiring",
    "topdown-bad-spec": "topdown_bad_speculation.all perf_metrics.bad_speculation",
    "topdown-fe-bound": "topdown_fe_bound.all perf_metrics.frontend_bound",
    "topdown-be-bound": "topdown_be_bound.all perf_metrics.backend_bound",
    "topdown-heavy-ops": "perf_metrics.heavy_operations",
    "topdown-br-mispredict": "perf_metrics.branch_mispredicts",
    "topdown-fetch-lat": "perf_metrics.fetch_latency",
    "topdown-mem-bound": "perf_metrics.memory_bound",
    "stalled-cycles-frontend": "idle-cycles-frontend",
    "stalled-cycles-backend": "idle-cycles-backend",
}


def letters(name):
    """A name's letters and digits, in lower case, and the ``*`` of a pattern."""
    return re.sub(r"[^a-z0-9*]", "", name.lower())


_FIRST = {letters(other): letters(name) for name, others in _ALIASES.items() for other in others.split()}


def spelling(event):
    """An event without case, modifiers, the cores' PMU and the marks that other tools lose.

    Parameters
    ----------
    event : str
        Such as ``TOPDOWN.SLOTS``, ``cpu_core/slots/`` or ``slots:u``.

    Returns
    -------
    str
        Equal for all spellings of one event, such as ``slots``. What was counted in the kernel only, or with more
        terms than its name (``cmask=1``), is another event.

    Examples
    --------
    >>> spelling("cpu_core/TOPDOWN.SLOTS/u") == spelling("slots")
    True
    """
    modifier = _MODIFIER.search(event)
    name = event[: modifier.start()].rstrip(":") if modifier else event
    if inside := _PMU.fullmatch(name):
        named = _NAME.search(inside[1])
        name = named[1] if named else inside[1]
    in_kernel = modifier and "k" in modifier[0] and "u" not in modifier[0]
    plain = letters(name)
    return _FIRST.get(plain, plain) + ":k" * bool(in_kernel)
