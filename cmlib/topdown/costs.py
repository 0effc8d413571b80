"""What events cost on each processor: see `data/topdown/README.md`, "Costs"."""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

import pandas as pd
import yaml

from cmlib import places
from cmlib.topdown.tables import evaluate

UNKNOWN = "unknown"
_PMU = re.compile(r"^(?:cpu_[a-z]+|armv[0-9]+\w*|apple_\w+_pmu)/(?=[^/:]*(?::[a-zA-Z]*u[a-zA-Z]*)?/)")


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
        From an event's name or pattern, as :func:`spelling` makes it, to its kind.
    decide : dict of str to list
        By category: the events that count it, as perf takes them; ``with``: what these need beside them.
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


def spelling(event):
    """An event's name without case, modifiers, the cores' PMU and the marks that other tools lose."""
    return re.sub(r"[^a-z0-9*]", "", _PMU.sub("", event).split(":")[0].lower())


def known_costs():
    """Names of the processors whose costs are known."""
    names = {file.stem for file in (places.topdown_dir() / "costs").glob("*.yaml")}
    return sorted(names - {"common", UNKNOWN})


@cache
def read_costs(name=UNKNOWN):
    """Read the costs of a processor: of the widest range, where there are none of it."""
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
    )


@cache
def common():
    """Parts of the categories, kinds of events, and names that perf has on every processor."""
    return _read("common")


def _read(name):
    return yaml.safe_load((places.topdown_dir() / "costs" / f"{name}.yaml").read_text(encoding="utf-8"))


@cache
def known_programs(name):
    """Events per cycle of programs whose account is known on a processor: a row an event, a column a program."""
    file = places.topdown_dir() / "known" / f"{name}.csv"
    return pd.read_csv(file, index_col="event") / 1000 if file.is_file() else pd.DataFrame()
