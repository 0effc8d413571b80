"""Read what events cost on each processor [cycles], such as a cache miss.

:func:`read_costs` takes a processor's name, and returns :class:`Costs`: its width, its latencies, and the kinds of
events, from which follow the most cycles that an event costs. `data/topdown/README.md` describes the files
("Costs"). An unknown processor has the widest ranges.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

from cmlib import places, processors
from cmlib.spelling import spelling
from cmlib.topdown.category_tables import evaluate

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Costs:
    """What events cost on one processor.

    Attributes
    ----------
    name, source : str
        Name of the processor; where the numbers are from.
    table : str
        Name of its top-down table; empty if there is none.
    width : tuple of float
        Least and most slots per cycle; they differ where the processor is not known.
    ghz : float
        The fastest clock [GHz], used if the clock of the recording is not known.
    latency : dict of str to (float, float)
        By name, such as ``L2`` or ``memory``: cycles, and nanoseconds to be added.
    restart : tuple of float
        Least and most cycles that a mispredicted branch costs until the right instructions arrive.
    fused : bool
        True if an instruction and a branch can become one op.
    kinds : dict of str to str
        From an event's name or pattern, as :func:`cmlib.spelling.spelling` writes it, to its kind, such as
        ``L2 miss``.
    decide : dict of str to list
        By category the events that count it: names, or dicts of ``name`` and ``code`` where perf lacks the name. Key
        ``with``: events to be counted together with any of them.
    metrics : dict of str to str
        Perf's metric group that computes level 1, by the name of the processor that has it. Used if `decide` is
        empty.
    """

    name: str
    source: str
    table: str
    width: tuple
    ghz: float
    latency: dict
    restart: tuple
    fused: bool
    kinds: dict
    decide: dict
    metrics: dict

    def kind(self, event):
        """Return the kind (str) of an event, such as ``L2 miss``; None if it is not known.

        The kind is found by the event's name, or by the first pattern that matches it.
        """
        name = spelling(event)
        if name in self.kinds:
            return self.kinds[name]
        return next((kind for pattern, kind in self.kinds.items() if fnmatchcase(name, pattern)), None)

    def cycles(self, text, ghz=None):
        """Convert a cost to its least and most cycles (two floats).

        `text` is the cost as the files write it: a number, a formula of latencies' names and ``slot``, or ``any``,
        which has no limit (both results are infinite). `ghz` is the clock [GHz] that converts nanoseconds to
        cycles; by default the processor's fastest.
        """
        values = {name: least + ns * (ghz or self.ghz) for name, (least, ns) in self.latency.items()}
        values["any"] = float("inf")
        slots = [1 / width for width in self.width]
        return tuple(float(evaluate(str(text), values | {"slot": slot})) for slot in (min(slots), max(slots)))

    def charges(self, event):
        """Return True if the kind of an event costs cycles; on an unknown processor also if its kind is not known."""
        kind = self.kind(event)
        return bool(common()["kinds"].get(kind)) or (kind is None and self.name == UNKNOWN)

    def most(self, event, ghz=None):
        """Return the most cycles (float) that one event can cost; NaN if that is not known or has no limit.

        `event` is its name, `ghz` the clock [GHz], by which nanoseconds become cycles; by default the processor's
        fastest.
        """
        costs = common()["kinds"].get(self.kind(event), {})
        cycles = [self.cycles(most, ghz)[1] for _, most in costs.values()]
        return max(cycles) if cycles and max(cycles) < float("inf") else float("nan")


def known_costs():
    """List the names of the processors whose costs are known, sorted."""
    names = {file.stem for file in (places.shipped("topdown") / "costs").glob("*.yaml")}
    return sorted(
        names - {"common", UNKNOWN} | {name for name in processors.known() if _read_processor_costs(name)}
    )


def _read_processor_costs(name):
    """Return the costs in the file of a processor under data/processors; None if there are none."""
    return processors.read(name)["costs"] if name in processors.known() else None


@cache
def read_costs(name: str = UNKNOWN) -> Costs:
    """Read what events cost on a processor.

    Parameters
    ----------
    name : str, optional
        Name of the processor's event table. Default: a processor that is not known.

    Returns
    -------
    Costs
        Costs of this processor. If it has none, those of an unknown processor, whose ranges are the widest.
    """
    name = name if name in known_costs() else UNKNOWN
    read = _read(name)
    width, latency = read["width"], read["latency"]
    kinds = common()["events"] | read["events"]
    return Costs(
        name=name,
        source=" ".join(read["source"].split()),
        table=read.get("table", ""),
        width=tuple(width) if isinstance(width, list) else (width, width),
        ghz=read["GHz"],
        latency={key: tuple(cost) if isinstance(cost, list) else (cost, 0) for key, cost in latency.items()},
        restart=_find_restart(name),
        fused=read["fused"],
        kinds={spelling(event): kind for event, kind in kinds.items()},
        decide=read["decide"],
        metrics=read.get("metrics", {}),
    )


def _find_restart(name):
    """Return the restart penalty of the processor whose name begins with the longest key in common.yaml."""
    penalties = common()["restart"]
    beginnings = [beginning for beginning in penalties if name.startswith(beginning)]
    return tuple(penalties[max(beginnings, key=len)])


@cache
def common():
    """Read data/topdown/costs/common.yaml (dict), which holds for all processors.

    Its keys:

    - parts and more: the parts of each category;
    - kinds: for each kind of event, what it costs which categories;
    - events: kinds of perf's own events, by name or pattern;
    - restart: cycles that a misprediction costs, by the beginning of a processor's name;
    - kernel: microseconds that a fault or a switch takes;
    - rare: the most that categories take where nothing bounds them.
    """
    return _read("common")


def _read(name):
    """Read costs as a dict, from a processor's file or else from data/topdown/costs."""
    if costs := _read_processor_costs(name):
        return costs | {"table": name if processors.read(name)["categories"] else ""}
    return places.read_yaml(places.shipped("topdown") / "costs" / f"{name}.yaml")
