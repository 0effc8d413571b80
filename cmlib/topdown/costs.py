"""The cost of events on each processor, in cycles: see `data/topdown/README.md`, "Costs"."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

import yaml

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
    table : str
        Its top-down table; empty where it has none.
    width : tuple of float
        Slots a cycle, at least and at most: two numbers where the processor is not known.
    ghz : float
        The fastest clock, where the recording tells none.
    latency : dict of str to (float, float)
        By name: cycles, and nanoseconds to be added.
    fused : bool
        Whether an instruction and a branch can be one op.
    kinds : dict of str to str
        From an event's name or pattern, as :func:`cmlib.spelling.spelling` makes it, to its kind.
    decide : dict of str to list
        By category: the events that count it, as perf takes them; ``with``: what these need beside them.
    metrics : dict of str to str
        Perf's metric groups that count level 1, where no events are named, by what processors have them.
    """

    name: str
    source: str
    table: str
    width: tuple
    ghz: float
    latency: dict
    fused: bool
    kinds: dict
    decide: dict
    metrics: dict

    def kind(self, event):
        """What kind of thing an event counts; None where nothing is known of it."""
        name = spelling(event)
        if name in self.kinds:
            return self.kinds[name]
        return next((kind for pattern, kind in self.kinds.items() if fnmatchcase(name, pattern)), None)

    def cycles(self, text, ghz=None):
        """A cost as the tables write it, in cycles at some clock: at least, and at most; infinite for ``any``."""
        if text == "any":
            return float("inf"), float("inf")
        values = {name: least + ns * (ghz or self.ghz) for name, (least, ns) in self.latency.items()}
        slots = [1 / width for width in self.width]
        return tuple(float(evaluate(str(text), values | {"slot": slot})) for slot in (min(slots), max(slots)))

    def charges(self, event):
        """Whether an event costs something, by what is known of the processor; of an unknown one, any may."""
        kind = self.kind(event)
        return bool(common()["kinds"].get(kind)) or (kind is None and self.name == UNKNOWN)

    def most(self, event, ghz=None):
        """The most that one event can cost [cycles]; NaN where that is not known."""
        costs = common()["kinds"].get(self.kind(event), {})
        cycles = [self.cycles(most, ghz)[1] for _, most in costs.values()]
        return max(cycles) if cycles and max(cycles) < float("inf") else float("nan")


def known_costs():
    """Names of the processors whose costs are known."""
    names = {file.stem for file in (places.topdown_dir() / "costs").glob("*.yaml")}
    return sorted(names - {"common", UNKNOWN} | {name for name in processors.known() if _costs_of(name)})


def _costs_of(name):
    """Costs that a processor's file holds; None where it has none."""
    return processors.read(name)["costs"] if name in processors.known() else None


@cache
def read_costs(name=UNKNOWN):
    """Read what events cost on a processor.

    Parameters
    ----------
    name : str, optional
        Of the processor, as its event table is called. Default: none that is known.

    Returns
    -------
    Costs
        Of the widest range, where there are none of that processor.
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
        fused=read["fused"],
        kinds={spelling(event): kind for event, kind in kinds.items()},
        decide=read["decide"],
        metrics=read.get("metrics", {}),
    )


@cache
def common():
    """Parts of the categories, kinds of events, and names that perf has on every processor."""
    return _read("common")


def _read(name):
    if costs := _costs_of(name):
        return costs | {"table": name if processors.read(name)["categories"] else ""}
    return yaml.safe_load((places.topdown_dir() / "costs" / f"{name}.yaml").read_text(encoding="utf-8"))
