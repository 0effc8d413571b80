"""Estimate the share of the cycles that mispredicted branches and cache misses cost.

:func:`split_cycles` multiplies the number of events by the cost of one event. It returns a list of :class:`CycleShare`:
useful work, each kind of event, and the remaining cycles. Each share is a range, because the cost of an event is a
range. It is not a confidence interval.
"""

from dataclasses import dataclass, replace

USEFUL, MISPREDICTED, DATA_MISSES, REST = (
    "useful work",
    "mispredicted branches",
    "data misses",
    "not separated",
)
# Values of common cores, for an unknown processor: instructions per cycle, latencies (cycles and nanoseconds, which are
# added up) and the clock [GHz]. The ranges in `costs/unknown.yaml` are wider.
_USUAL_WIDTH = (4, 8)
_USUAL_LATENCY = {"L2": (16, 0), "L3": (70, 0), "memory": (50, 130), "walk": (50, 130)}
_USUAL_GHZ = 3.0
# For each kind of miss, the latency of the next cache level, and the name of the misses.
_NEXT_LATENCY = {"L1D miss": "L2", "L2 miss": "L3", "L3 miss": "memory"}
_MISSES = {"L1D miss": "L1 data misses", "L2 miss": "L2 misses", "L3 miss": "last-level cache misses"}
# Caches and memory whose misses were not counted, by the kinds of misses that were counted.
_REMAINS = {
    (): "memory",
    ("L1D miss",): "outer caches and memory",
    ("L2 miss",): "the L2 and memory",
    ("L3 miss",): "caches",
    ("L1D miss", "L2 miss"): "memory",
    ("L1D miss", "L3 miss"): "the outer caches",
    ("L2 miss", "L3 miss"): "the L2",
    ("L1D miss", "L2 miss", "L3 miss"): "",
}
# For each other kind of event, its name and its latency.
_OTHER_MISSES = {
    "page walk": ("page walks", "walk"),
    "instruction page walk": ("code page walks", "walk"),
    "L1I miss": ("code misses", "L3"),  # code is seldom missing in the L3
}
_ADVICE = {
    MISPREDICTED: "mispredicted branches",
    DATA_MISSES: "memory",
    "page walks": "memory",
    "code page walks": "front-end latency",
    "code misses": "front-end latency",
}


@dataclass(frozen=True)
class EventCost:
    """Cost of the events of one kind.

    Attributes
    ----------
    event : str
        Name of the event.
    name : str
        What the event counts, for example "mispredictions".
    count : float or None
        Number of events in a run. None if not known.
    each : tuple of float
        Smallest and largest cost of one event [cycles].
    low, high : float
        Smallest and largest cost of all events [share of the cycles, 0–1].
    """

    event: str
    name: str
    count: float | None
    each: tuple[float, float]
    low: float
    high: float

    def describe(self):
        """Describe in one sentence how the cost was computed."""
        least, most = self.each
        number = "Unknown number of " if self.count is None else f"{format_number(self.count)} "
        if least:
            return f"{number}{self.name}, {least:.0f} to {most:.0f} cycles each."
        return f"{number}{self.name}, up to {most:.0f} cycles each; other work may hide them."


@dataclass(frozen=True)
class CycleShare:
    """A share of the cycles, as a range.

    Attributes
    ----------
    name : str
        For example ``useful work``, ``mispredicted branches`` or ``data misses``. The remaining cycles are called
        ``not separated``.
    category : str
        Key of the advice against this cost, for example ``memory``. Empty for useful work and for the remaining cycles.
    low, high : float
        Smallest and largest share (0–1).
    width : tuple of float or None
        Smallest and largest number of instructions that the processor can begin per cycle. Only for useful work.
    events : tuple of EventCost
        The counted events.
    contains : tuple of str
        Possible causes of the remaining cycles, for example ``memory``. Empty for other shares.
    """

    name: str
    category: str
    low: float
    high: float
    width: tuple[float, float] | None = None
    events: tuple[EventCost, ...] = ()
    contains: tuple[str, ...] = ()

    def weight(self):
        """Return an estimate of the share (0–1), for comparisons with thresholds.

        It is the middle of the range if the events certainly cost cycles. Misses may cost nothing, because other work
        can continue. Their estimate is a quarter of the largest cost: in 605 recordings of SPEC, a last-level miss cost
        at most 110 cycles.
        """
        weights = [(event.low + event.high) / 2 if event.low else event.high / 4 for event in self.events]
        return min(self.high, sum(weights))

    def label(self):
        """Return the label of the table row that shows this share.

        The name of useful work includes the width. The remaining cycles are named after their possible causes.
        """
        if self.name == REST:
            return ", ".join(self.contains)
        if self.name == USEFUL:
            return f"useful work ({_describe_width(self.width)} per cycle)"
        return self.name


def split_cycles(totals, costs, shares, counts, *, ghz=None):
    """Estimate the share of the cycles that each kind of event costs.

    Parameters
    ----------
    totals : DataFrame
        Events per cycle (column ``rate``), one row per event, from :func:`cmlib.topdown.totals`.
    costs : cmlib.topdown.costs.Costs
        Costs and kinds of the processor's events, from :func:`cmlib.topdown.read_costs`.
    shares : DataFrame
        Lower and upper bound of the slots in each category, from :func:`cmlib.topdown.bounds`.
    counts : dict of str to float
        Number of events in a run, keyed by event name.
    ghz : float, optional
        Clock [GHz] that converts the latency of memory to cycles. Default: the processor's fastest clock.

    Returns
    -------
    list of CycleShare
        Useful work first, the remaining cycles last. Empty if instructions were not counted.
    """
    if "instructions" not in totals.index:
        return []
    cost_by_kind = _find_events(totals, costs, counts, ghz)
    known_shares = [_share_useful_work(totals.at["instructions", "rate"], costs)]
    if "misprediction" in cost_by_kind:
        limit = shares.at["bad speculation", "high"] + shares.at["front end", "high"]
        known_shares.append(_limit_share(MISPREDICTED, [cost_by_kind["misprediction"]], limit))
    missed_kinds = tuple(kind for kind in _NEXT_LATENCY if kind in cost_by_kind)
    if missed_kinds:
        known_shares.append(
            _limit_share(
                DATA_MISSES, [cost_by_kind[kind] for kind in missed_kinds], shares.at["back end", "high"]
            )
        )
    for kind, (name, _) in _OTHER_MISSES.items():
        if kind in cost_by_kind:
            known_shares.append(_limit_share(name, [cost_by_kind[kind]], 1.0))
    remaining_losses = [_REMAINS[missed_kinds], "core", "instruction supply"]
    return _make_consistent(known_shares, tuple(loss for loss in remaining_losses if loss))


def format_number(value):
    """Format a number with three significant digits and a prefix.

    Parameters
    ----------
    value : float >= 0

    Returns
    -------
    str
        For example ``1.23 G`` or ``45,600``.
    """
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if value >= size:
            return f"{value / size:.3g} {prefix}"
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 100 else f"{value:.3g}"


def usual_width(costs):
    """Return how many instructions a processor can begin per cycle.

    Parameters
    ----------
    costs : cmlib.topdown.costs.Costs
        Costs of the processor.

    Returns
    -------
    least, most : float
        Both are equal if the processor is known. For an unknown processor, at least 4 and at most 8, as on most
        processors.
    """
    least, most = costs.width
    if least == most:
        return costs.width
    return max(least, min(_USUAL_WIDTH[0], most)), min(most, _USUAL_WIDTH[1])


def _describe_width(width):
    """Format a width, for example ``4 to 8``."""
    least, most = width
    return f"{least:.0f}" if least == most else f"{least:.0f} to {most:.0f}"


def _find_events(totals, costs, counts, ghz):
    """Return the cost of each kind of event, keyed by kind.

    If several events of a kind were counted, the event with the largest cost is used.
    """
    cost_by_kind = {}
    for event, rate in totals["rate"].items():
        kind = costs.kind(event)
        name_and_cost = _find_name_and_cost(kind, costs, ghz)
        if name_and_cost is None:
            continue
        name, (least, most) = name_and_cost
        cost = EventCost(event, name, counts.get(event), (least, most), rate * least, rate * most)
        if kind not in cost_by_kind or cost.high > cost_by_kind[kind].high:
            cost_by_kind[kind] = cost
    return cost_by_kind


def _find_name_and_cost(kind, costs, ghz):
    """Return what events of a kind are called, and the smallest and largest cost of one event [cycles].

    Returns None if the cost is not known.
    """
    if kind == "misprediction":
        return "mispredictions", costs.restart
    if kind in _NEXT_LATENCY:
        return _MISSES[kind], (0.0, _find_latency(_NEXT_LATENCY[kind], costs, ghz))
    if kind in _OTHER_MISSES:
        name, latency = _OTHER_MISSES[kind]
        return name, (0.0, _find_latency(latency, costs, ghz))
    return None


def _share_useful_work(ipc, costs):
    """Return the share of useful work. It is the IPC divided by the width."""
    usual_least, usual_most = usual_width(costs)
    least = max(usual_least, ipc)
    most = max(usual_most, ipc)
    return CycleShare(USEFUL, "", ipc / most, min(1.0, ipc / least), width=(least, most))


def _find_latency(name, costs, ghz):
    """Return a latency in cycles. For an unknown processor, return a typical latency."""
    if costs.width[0] == costs.width[1]:
        return costs.cycles(name, ghz)[1]
    least, added_ns = _USUAL_LATENCY[name]
    return least + added_ns * (ghz or _USUAL_GHZ)


def _limit_share(name, events, limit):
    """Return the sum of the costs of some events, limited to `limit`."""
    high = min(1.0, limit, sum(event.high for event in events))
    low = min(high, sum(event.low for event in events))
    return CycleShare(name, _ADVICE[name], low, high, events=tuple(events))


def _make_consistent(shares, remaining):
    """Append the remaining cycles, and limit each share to the cycles that the others leave.

    Useful work may hide the costs of events. The lower bounds of the costs are therefore reduced if all lower bounds
    exceed the cycles in sum.
    """
    useful, *costs = shares
    available = 1.0 - useful.low
    lowest_costs = sum(share.low for share in costs)
    if lowest_costs > available:
        costs = [replace(share, low=share.low * (available / lowest_costs)) for share in costs]
    shares = [useful, *costs]
    lowest_sum = sum(share.low for share in shares)
    shares = [replace(share, high=min(share.high, 1.0 - (lowest_sum - share.low))) for share in shares]
    highest_sum = sum(share.high for share in shares)
    rest = CycleShare(REST, "", max(0.0, 1.0 - highest_sum), max(0.0, 1.0 - lowest_sum), contains=remaining)
    return [*shares, rest]
