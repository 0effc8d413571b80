"""Split the cycles of a program into useful work, events with a known cost, and the rest.

:func:`split_cycles` multiplies counts by costs: mispredicted branches by the restart penalty of the core, misses by
latencies. It returns a list of :class:`CycleShare`, which add up to all cycles. Each share is a range over
plausible costs, not a confidence interval. The ranges are consistent: none exceeds what the lower ends of the
others leave.
"""

from dataclasses import dataclass, replace

USEFUL, MISPREDICTED, DATA_MISSES, REST = (
    "useful work",
    "mispredicted branches",
    "data misses",
    "not separated",
)
# Of the cores that are in use, where the processor is not known: instructions per cycle, and what `costs/unknown.yaml`
# has as the widest range: latencies [cycles, ns to be added] and the clock [GHz].
_USUAL_WIDTH = (4, 8)
_USUAL_LATENCY = {"L2": (16, 0), "L3": (70, 0), "memory": (50, 130), "walk": (50, 130)}
_USUAL_GHZ = 3.0
# What a miss takes longer if the next cache has the data, by kind of event, and what the misses are called.
_NEXT_LATENCY = {"L1D miss": "L2", "L2 miss": "L3", "L3 miss": "memory"}
_MISSES = {"L1D miss": "L1 data misses", "L2 miss": "L2 misses", "L3 miss": "last-level cache misses"}
# Of caches and memory, what remains not separated, by the kinds of misses that were counted.
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
# Events of the other kinds: what they are called, and the latency.
_OTHER_MISSES = {
    "page walk": ("page walks", "walk"),
    "instruction page walk": ("code page walks", "walk"),
    "L1I miss": ("code misses", "L3"),  # code that is not in the L3 either is rare
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
    """What the events of one kind take.

    Attributes
    ----------
    event, name : str
        Name of the event, and what it counts.
    count : float or None
        Events in a run; None if not known.
    each : tuple of float
        Least and most that one event takes [cycles].
    low, high : float
        Share of the cycles [0–1].
    """

    event: str
    name: str
    count: float | None
    each: tuple[float, float]
    low: float
    high: float

    def describe(self):
        """Describe how the cost was computed, in one sentence (str)."""
        least, most = self.each
        number = "Unknown number of " if self.count is None else f"{format_number(self.count)} "
        if least:
            return f"{number}{self.name}, {least:.0f} to {most:.0f} cycles each."
        return f"{number}{self.name}, up to {most:.0f} cycles each; other work may hide them."


@dataclass(frozen=True)
class CycleShare:
    """A share of the cycles, as a range over plausible costs.

    Attributes
    ----------
    name : str
        ``useful work``, ``mispredicted branches``, ``data misses``, ``code misses``, page walks, or ``not separated``.
    category : str
        Category of the top-down account whose advice holds for it; "" for useful work and the rest.
    low, high : float
        Share of the cycles [0–1].
    width : tuple of float or None
        Of useful work: least and most instructions that begin per cycle.
    events : tuple of EventCost
        The counted events.
    contains : tuple of str
        What the rest is made of; empty for other shares.
    """

    name: str
    category: str
    low: float
    high: float
    width: tuple[float, float] | None = None
    events: tuple[EventCost, ...] = ()
    contains: tuple[str, ...] = ()

    def weight(self):
        """Return the share of the cycles [0–1] by which known costs are compared with a threshold.

        For events that surely cost something, it is the middle of the range. For misses that other work may hide, a
        quarter of the latency counts: in 605 recordings of SPEC, a last-level miss cost at most 110 cycles.
        """
        weights = [(event.low + event.high) / 2 if event.low else event.high / 4 for event in self.events]
        return min(self.high, sum(weights))

    def label(self):
        """Return the text for the first column of a table: the name and, in brackets, the parts."""
        if self.name == REST:
            return ", ".join(self.contains)
        if self.name == USEFUL:
            return f"useful work ({_describe_width(self.width)} per cycle)"
        return self.name


def split_cycles(totals, costs, shares, counts, *, ghz=None):
    """Split the cycles of a program whose slots were not counted.

    Parameters
    ----------
    totals : DataFrame
        Index: event. ``rate`` [events per cycle], from :func:`cmlib.topdown.totals`, without events that do not count
        what they are named after.
    costs : cmlib.topdown.costs.Costs
        Of the processor: :func:`cmlib.topdown.read_costs`.
    shares : DataFrame
        Bounds of the slots by category (`low`, `high`), from :func:`cmlib.topdown.bounds`.
    counts : dict of str to float
        Events in a run.
    ghz : float, optional
        Clock, to convert latencies of memory. Default: the processor's fastest.

    Returns
    -------
    list of CycleShare
        Useful work first, the rest last; empty if instructions were not counted.
    """
    if "instructions" not in totals.index:
        return []
    cost_by_kind = _find_events(totals, costs, counts, ghz)
    parts = [_share_useful_work(totals.at["instructions", "rate"], costs)]
    if "misprediction" in cost_by_kind:
        limit = shares.at["bad speculation", "high"] + shares.at["front end", "high"]
        parts.append(_limit_share(MISPREDICTED, [cost_by_kind["misprediction"]], limit))
    missed_kinds = tuple(kind for kind in _NEXT_LATENCY if kind in cost_by_kind)
    if missed_kinds:
        parts.append(
            _limit_share(
                DATA_MISSES, [cost_by_kind[kind] for kind in missed_kinds], shares.at["back end", "high"]
            )
        )
    for kind, (name, _) in _OTHER_MISSES.items():
        if kind in cost_by_kind:
            parts.append(_limit_share(name, [cost_by_kind[kind]], 1.0))
    remaining = tuple(filter(None, [_REMAINS[missed_kinds], "core", "instruction supply"]))
    return _make_consistent(parts, remaining)


def format_number(value):
    """Return a number as text with three significant digits and a prefix: ``1.23 G``, ``45,600``.

    `value` is 0 or more.
    """
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if value >= size:
            return f"{value / size:.3g} {prefix}"
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 100 else f"{value:.3g}"


def usual_width(costs):
    """Return the least and most instructions per cycle that a processor begins, at most the usual ones if unknown."""
    least, most = costs.width
    if least == most:
        return costs.width
    return max(least, min(_USUAL_WIDTH[0], most)), min(most, _USUAL_WIDTH[1])


def _describe_width(width):
    least, most = width
    return f"{least:.0f}" if least == most else f"{least:.0f} to {most:.0f}"


def _find_events(totals, costs, counts, ghz):
    """Return the cost of the events of each kind (dict of EventCost by kind): of the event that happened most often."""
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
    """Return what the events of a kind are called, and what one takes [cycles]; None if it has no known cost."""
    if kind == "misprediction":
        return "mispredictions", costs.restart
    if kind in _NEXT_LATENCY:
        return _MISSES[kind], (0.0, _find_latency(_NEXT_LATENCY[kind], costs, ghz))
    if kind in _OTHER_MISSES:
        name, latency = _OTHER_MISSES[kind]
        return name, (0.0, _find_latency(latency, costs, ghz))
    return None


def _share_useful_work(ipc, costs):
    least, most = usual_width(costs)
    least, most = max(least, ipc), max(most, ipc)
    return CycleShare(USEFUL, "", ipc / most, min(1.0, ipc / least), width=(least, most))


def _find_latency(name, costs, ghz):
    """Return the most that an access takes longer [cycles]; of an unknown processor, that of the usual ones."""
    if costs.width[0] == costs.width[1]:
        return costs.cycles(name, ghz)[1]
    least, added_ns = _USUAL_LATENCY[name]
    return least + added_ns * (ghz or _USUAL_GHZ)


def _limit_share(name, events, limit):
    """Return the share of some events, at most what the account leaves to them."""
    high = min(1.0, limit, sum(event.high for event in events))
    low = min(high, sum(event.low for event in events))
    return CycleShare(name, _ADVICE[name], low, high, events=tuple(events))


def _make_consistent(shares, remaining):
    """Append the rest, and cut every range at what the lower ends of the others leave.

    A cost may be hidden by useful work and the other way round: where the lower ends exceed all cycles, those of the
    costs are reduced.
    """
    useful, *costs = shares
    room = 1.0 - useful.low
    surplus = sum(share.low for share in costs) - room
    if surplus > 0:
        factor = room / sum(share.low for share in costs)
        costs = [replace(share, low=share.low * factor) for share in costs]
    shares = [useful, *costs]
    lowest = sum(share.low for share in shares)
    shares = [replace(share, high=min(share.high, 1.0 - (lowest - share.low))) for share in shares]
    least = max(0.0, 1.0 - sum(share.high for share in shares))
    rest = CycleShare(REST, "", least, max(0.0, 1.0 - lowest), contains=remaining)
    return [*shares, rest]
