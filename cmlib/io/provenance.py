"""The provenance of counts: what counted them, in which programs, and which events.

Code that reads recordings passes their :class:`Provenance` to :func:`note_read`. Captions of a notebook's figures
(:meth:`cmlib.report.results.Results.figure`) and the list of reproduced results are made from these notes.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from cmlib.errors import InputError
from cmlib.io.archive.runs import VALGRIND, events_of, source_of
from cmlib.io.events.naming import needs_counter

__all__ = ["Provenance"]

OWN_HARDWARE = "own hardware"
OTHERS_HARDWARE = "others' hardware"
SOFTWARE_EVENTS = "software events"
SIMULATED = "simulated"
IMPORTED = "imported file"
SYNTHETIC = "synthetic"
KINDS = (OWN_HARDWARE, OTHERS_HARDWARE, SOFTWARE_EVENTS, SIMULATED, IMPORTED, SYNTHETIC)
# Sentences (Markdown) for the captions of figures with counts that no processor counted.
_WARNINGS = {
    SIMULATED: "**Simulated** by Valgrind's Callgrind, not measured.",
    SYNTHETIC: "**Synthetic** counts: nothing was measured.",
}

_read = []


@dataclass(frozen=True)
class Provenance:
    """Where counts come from.

    Attributes
    ----------
    kind : str
        ``own hardware``: hardware counters, recorded by cmlib; ``others' hardware``: hardware counters, published by
        others; ``software events``: events of the kernel, recorded by cmlib without hardware counters; ``simulated``:
        simulated by Valgrind; ``imported file``: read from a file that another tool wrote; ``synthetic``: made up for
        a test.
    programs : tuple of str
        Names of the programs in which events were counted, sorted.
    events : tuple of str
        Names of the events, sorted. Empty if only results computed from counts were read, and no counts.
    public_set : str
        Name of the public set, "" for other recordings.
    """

    kind: str
    programs: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    public_set: str = ""

    def __post_init__(self) -> None:
        """Check the kind, and sort programs and events."""
        if self.kind not in KINDS:
            raise InputError(f"kind of provenance {self.kind!r}; there are {', '.join(KINDS)}.")
        object.__setattr__(self, "programs", tuple(sorted(set(self.programs))))
        object.__setattr__(self, "events", tuple(sorted(set(self.events))))

    def __str__(self) -> str:
        """Return the kind, with the public set in parentheses."""
        return f"{self.kind} ({self.public_set})" if self.public_set else self.kind

    @property
    def warning(self) -> str:
        """Sentence (Markdown) for captions if no processor counted the events, "" otherwise."""
        return _WARNINGS.get(self.kind, "")


def kind_of_events(events: Iterable[str]) -> str:
    """Return the kind of provenance of events that cmlib recorded.

    Parameters
    ----------
    events : iterable of str
        Their names.

    Returns
    -------
    str
        ``own hardware`` if one of them takes a hardware counter, else ``software events``.
    """
    return OWN_HARDWARE if any(map(needs_counter, events)) else SOFTWARE_EVENTS


def provenance_of_run(meta: dict) -> Provenance:
    """Return the provenance of a recorded run's counts from its metadata (`meta`)."""
    events = events_of(meta)
    if source_of(meta) == VALGRIND:
        kind = SIMULATED
    elif meta.get("imported"):
        kind = IMPORTED
    else:
        kind = kind_of_events(events)
    return Provenance(kind, (meta["program"],), tuple(events))


def note_read(provenance: Provenance) -> Provenance:
    """Note that this process has read counts of this provenance, and return it unchanged."""
    if provenance not in _read:
        _read.append(provenance)
    return provenance


def forget_read() -> None:
    """Forget what this process has read; each notebook begins with this."""
    _read.clear()


def provenances_read() -> list[Provenance]:
    """Return what this process has read, one Provenance for each kind and public set."""
    return merge_provenances(_read)


def merge_provenances(provenances: Iterable[Provenance]) -> list[Provenance]:
    """Join Provenances of one kind and public set.

    Parameters
    ----------
    provenances : iterable of Provenance

    Returns
    -------
    list of Provenance
        One for each kind and public set, with all their programs and events.
    """
    groups = {}
    for provenance in provenances:
        groups.setdefault((provenance.kind, provenance.public_set), []).append(provenance)
    merged = []
    for (kind, public_set), group in groups.items():
        programs = tuple(name for provenance in group for name in provenance.programs)
        events = tuple(name for provenance in group for name in provenance.events)
        merged.append(Provenance(kind, programs, events, public_set))
    return merged
