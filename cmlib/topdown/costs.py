"""Read how many cycles an event costs on each processor.

:func:`read_costs` takes the name of a processor and returns :class:`Costs`. It contains the slots per cycle, the
latencies, and the kinds of events. For an unknown processor, the costs are wide ranges. The section "Costs" of
`data/topdown/README.md` describes the files.
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
    """Costs of the events of one processor.

    Attributes
    ----------
    name : str
        Name of the processor.
    source : str
        Where the numbers are from.
    table : str
        Name of the processor's top-down table. Empty if it has no table.
    width : tuple of float
        Smallest and largest number of slots per cycle. Both are equal if the processor is known.
    ghz : float
        Fastest clock [GHz].
    latency : dict of str to (float, float)
        Latencies by name, for example ``L2`` or ``memory``. A latency is a number of cycles plus a number of
        nanoseconds.
    restart : tuple of float
        Smallest and largest number of cycles that a mispredicted branch costs.
    fused : bool
        True if the processor can combine an instruction and a branch to one operation.
    kinds : dict of str to str
        Kind of each event, for example ``L2 miss``. The keys are event names in the spelling of
        :func:`cmlib.spelling.spelling`. They may contain wildcards: ``*`` stands for any characters.
    decide : dict of str to list
        Events that count a category of slots, by category. An event is a name. If perf does not know the name, it is a
        dict of ``name`` and ``code``. The key ``with`` has events that must be counted together with the others.
    metrics : dict of str to str
        Names of perf's metric groups for the top-down categories, by processor. They are used if `decide` is empty.
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
        """Return the kind of an event, for example ``L2 miss``.

        Parameters
        ----------
        event : str
            Name of the event.

        Returns
        -------
        str or None
            None if the kind is not known.
        """
        name = spelling(event)
        if name in self.kinds:
            return self.kinds[name]
        return next((kind for pattern, kind in self.kinds.items() if fnmatchcase(name, pattern)), None)

    def cycles(self, text, ghz=None):
        """Convert a cost to cycles.

        Parameters
        ----------
        text : str or float
            A number, or a formula with the names of latencies. In a formula, ``slot`` is the duration of one slot. The
            word ``any`` is a cost without limit.
        ghz : float, optional
            Clock [GHz] that converts nanoseconds to cycles. Default: the processor's fastest clock.

        Returns
        -------
        least, most : float
            Smallest and largest number of cycles. Both are infinite for ``any``.
        """
        values = {name: least + ns * (ghz or self.ghz) for name, (least, ns) in self.latency.items()}
        values["any"] = float("inf")
        slots = [1 / width for width in self.width]
        return tuple(float(evaluate(str(text), values | {"slot": slot})) for slot in (min(slots), max(slots)))

    def charges(self, event):
        """Return True if an event can cost cycles.

        On an unknown processor, it is also True if the kind of the event is not known.

        Parameters
        ----------
        event : str
            Name of the event.

        Returns
        -------
        bool
        """
        kind = self.kind(event)
        return bool(common()["kinds"].get(kind)) or (kind is None and self.name == UNKNOWN)

    def most(self, event, ghz=None):
        """Return the largest number of cycles that one event can cost.

        Parameters
        ----------
        event : str
            Name of the event.
        ghz : float, optional
            Clock [GHz] that converts nanoseconds to cycles. Default: the processor's fastest clock.

        Returns
        -------
        float
            NaN if the cost is not known or has no limit.
        """
        costs = common()["kinds"].get(self.kind(event), {})
        cycles = [self.cycles(most, ghz)[1] for _, most in costs.values()]
        return max(cycles) if cycles and max(cycles) < float("inf") else float("nan")


def known_costs():
    """List the processors with known costs.

    Returns
    -------
    list of str
        Sorted names.
    """
    names_in_folder = {file.stem for file in (places.shipped("topdown") / "costs").glob("*.yaml")}
    names_of_tables = {name for name in processors.known() if _read_processor_costs(name)}
    return sorted(names_in_folder - {"common", UNKNOWN} | names_of_tables)


def _read_processor_costs(name):
    """Return the costs in the processor's file under data/processors, or None."""
    return processors.read(name)["costs"] if name in processors.known() else None


@cache
def read_costs(name: str = UNKNOWN) -> Costs:
    """Read what an event costs on a processor.

    Parameters
    ----------
    name : str, optional
        Name of the processor's event table. Default: an unknown processor.

    Returns
    -------
    Costs
        Costs of the processor. If the name is unknown, the default costs, which have the widest ranges.
    """
    name = name if name in known_costs() else UNKNOWN
    contents = _read(name)
    width = contents["width"]
    latencies = contents["latency"]
    kinds = common()["events"] | contents["events"]
    return Costs(
        name=name,
        source=" ".join(contents["source"].split()),
        table=contents.get("table", ""),
        width=tuple(width) if isinstance(width, list) else (width, width),
        ghz=contents["GHz"],
        latency={
            key: tuple(cost) if isinstance(cost, list) else (cost, 0) for key, cost in latencies.items()
        },
        restart=_find_restart(name),
        fused=contents["fused"],
        kinds={spelling(event): kind for event, kind in kinds.items()},
        decide=contents["decide"],
        metrics=contents.get("metrics", {}),
    )


def _find_restart(name):
    """Return the restart penalty of a processor from common.yaml.

    The keys are beginnings of processor names. The longest matching key is used.
    """
    penalties = common()["restart"]
    beginnings = [beginning for beginning in penalties if name.startswith(beginning)]
    return tuple(penalties[max(beginnings, key=len)])


@cache
def common():
    """Read `data/topdown/costs/common.yaml`, which is valid for all processors.

    Returns
    -------
    dict
        Keys:

        - ``parts`` and ``more``: the parts of each category
        - ``kinds``: for each kind of event, the categories that it costs cycles, and the least and the largest cost
        - ``events``: kinds of perf's own events, by name or pattern
        - ``restart``: cost of a misprediction [cycles], by the beginning of the processor's name
        - ``kernel``: duration of a page fault and of a context switch [µs]
        - ``rare``: largest share of rare categories, if no event bounds them
    """
    return _read("common")


def _read(name):
    """Read costs as a dict, from the processor's file or else from data/topdown/costs."""
    if costs := _read_processor_costs(name):
        return costs | {"table": name if processors.read(name)["categories"] else ""}
    return places.read_yaml(places.shipped("topdown") / "costs" / f"{name}.yaml")
