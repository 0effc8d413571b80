"""Which events can be counted on this machine, and how perf is told them."""

from pathlib import Path

from cmlib import events, machine, perf
from cmlib.errors import CmlibError
from cmlib.record import existing_runs, record
from cmlib.record.archive import read_raw
from cmlib.schedule import PROBE, plan_probe


def listed_events():
    """The events of this processor: of cmlib's table, else of perf's own list.

    Returns
    -------
    DataFrame
        As :func:`cmlib.events.table`.

    Raises
    ------
    CmlibError
        If neither knows this processor.
    """
    known = machine.known_events(machine.describe())
    if known.empty:
        raise CmlibError(
            "neither cmlib nor perf has a list of this processor's events: `cmlib doctor` tells more."
        )
    return known.loc[machine.all_events(known)]


def encodings(names, known):
    """How perf is told each event, and how many counters each takes.

    Parameters
    ----------
    names : sequence of str
    known : DataFrame
        From `listed_events`.

    Returns
    -------
    codes : dict of str to str
    counters_of : dict of str to int
    """
    return {name: events.encode(name, known) for name in names}, known["counters"].to_dict()


def counting_events(folder, microarchitecture):
    """Events that a sweep of any program, or a probe, has seen counting on such a machine.

    Parameters
    ----------
    folder : path-like
        Of all recordings.
    microarchitecture : str or None
        As :func:`cmlib.machine.describe` names it; None for any.

    Returns
    -------
    list of str
        In alphabetical order; empty if there is no recording of all events from such a machine.
    """
    seen = set()
    for place in sorted(Path(folder).glob("*/")):
        for meta in existing_runs(place).values():
            if meta["set"] == "sweep" and microarchitecture in (None, meta["machine"]["microarchitecture"]):
                seen.update(event for group in meta["groups"] for event in group)
    return sorted(seen)


def probe(case, known, programs_folder, folder, *, seconds, counters, lock):
    """Find out which events count, by counting all of them under one case.

    Parameters
    ----------
    case : Case
    known : DataFrame
        From `listed_events`.
    programs_folder, folder : path-like
        Where `build` put the programs, and of the recordings.
    seconds : float
        Of each of the runs, one for every 48 events.
    counters : dict
        ``offered`` and ``good``.
    lock : int
        As for :func:`cmlib.record.record`.

    Returns
    -------
    list of str
        Those that were counted at least once, in alphabetical order.

    Raises
    ------
    CmlibError
        If none was.
    """
    codes, counters_of = encodings(list(known.index), known)
    width = counters["good"] - 2
    fitting = [name for name in machine.supported(codes) if counters_of.get(name, 1) <= width]
    plans = plan_probe(fitting, counters["good"], counters_of=counters_of)
    record(
        case.name,
        case.argv(seconds=seconds),
        plans,
        encodings=codes,
        counters=counters,
        folder=folder,
        lock=lock,
        note=case.note,
    )
    place, seen = Path(folder) / case.name, set()
    for name, meta in existing_runs(place).items():
        if meta["set"] == PROBE:
            counts, _ = perf.series(perf.parse_stat(read_raw(place, name).decode()))
            seen.update(event for event in counts.columns[counts.sum() > 0] if event in codes)
    if not seen:
        raise CmlibError(f"no event was ever counted in the probe of {case.name}; `cmlib doctor` tells why.")
    return sorted(seen)
