"""Examine whether and how well this machine can count.

:func:`examine` returns an :class:`Examination` with one finding per topic, which `cmlib doctor` prints. Each finding
has its numbers and what to do. A problem of the machine is a finding and raises no error.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cmlib.collect.machine import host
from cmlib.collect.machine.counter_census import Census, census
from cmlib.collect.machine.lock import CountersBusy, counters_lock
from cmlib.errors import CmlibError
from cmlib.io import events
from cmlib.places import yaml_beside

_LONGEST_ROTATION_MS = (
    25  # between turns of multiplexed groups; with longer turns, 100 ms intervals miss groups
)


@dataclass(frozen=True)
class Finding:
    """One line of `cmlib doctor`.

    Attributes
    ----------
    id : str
        Topic. For example, "counters".
    severity : {"ok", "note", "warning", "error"}
        Importance.
    what : str
        Description.
    numbers : str
        Numbers that support the description.
    todo : str
        Recommended action.
    """

    id: str
    severity: str
    what: str
    numbers: str
    todo: str = "nothing to do"


@dataclass(frozen=True)
class Examination:
    """Result of :func:`examine`.

    Attributes
    ----------
    offered_counters, good_counters : int
        Number of counters, and number of counters that count correctly.
    findings : list of Finding
        One finding per topic.
    machine : dict
        Description of the machine, from :func:`cmlib.collect.machine.describe`.
    """

    offered_counters: int
    good_counters: int
    findings: list[Finding]
    machine: dict


def examine(root: str | Path = "/") -> Examination:
    """Examine this machine: its processor, its counters and the installed perf.

    Parameters
    ----------
    root : path-like, default "/"
        Folder that contains proc and sys.

    Returns
    -------
    Examination
        Numbers of counters, findings, and the description of the machine.
    """
    machine = host.describe(root)
    others, busy = tuple(host.counting_processes(root)), ""
    try:
        with counters_lock("cmlib doctor"):
            counted = census()
    except CmlibError as error:
        counted = Census(0, 0, complaint=str(error))
        busy = counted.complaint * isinstance(error, CountersBusy)
    facts = {
        "machine": machine,
        "perf_complaint": host.perf_version()[1],
        "pmus": tuple(host.core_pmus(root)),
        "paranoid": host.paranoid_level(root),
        "privileged": host.is_privileged(root),
        "watchdog": host.has_watchdog(root),
        "others": others,
        "names": _count_names(host.perf_list()),
        "table": events.find_table_name(machine),
        "census": counted,
        "busy": busy,
    }
    return Examination(counted.offered, counted.good, find(facts), machine)


def find(facts):
    """Select the findings that fit the facts, with their texts from doctor.yaml.

    Parameters
    ----------
    facts : dict
        The facts that :func:`examine` collects:

        - machine: description of the machine (dict)
        - perf_complaint: why perf does not work, or ""
        - pmus: names of the core PMUs
        - paranoid: level of perf_event_paranoid, or None
        - privileged: whether this process may count at any level
        - watchdog: whether the NMI watchdog takes a counter
        - others: other processes that count
        - names: number of events that perf lists
        - table: name of the event table, or None
        - census: a :class:`cmlib.collect.machine.counter_census.Census`
        - busy: why the counters are in use, or ""

    Returns
    -------
    list of Finding
    """
    texts = yaml_beside(__file__)
    values = facts | facts["machine"] | _make_phrases(facts)
    return [
        Finding(name, **{key: text.format(**values) for key, text in texts[name][case].items()})
        for name, case in _select_cases(facts).items()
    ]


def _select_cases(facts):
    """Select the key of the fitting text in doctor.yaml, for each topic."""
    keys = ("mux_interval_ms", "load_1min", "processors")
    interval, load, processors = map(facts["machine"].get, keys)
    return {
        "perf": "missing" if facts["machine"]["perf"] is None else "ok",
        "pmu": "ok" if facts["pmus"] else "missing",
        "permission": _select_permission(facts),
        "counters": _select_counters(facts),
        "watchdog": "on" if facts["watchdog"] else "ok",
        "others": "some" if facts["others"] else "ok",
        "names": "ok" if facts["names"] else "own" if facts["table"] else "none",
        "rotation": "unknown" if interval is None else "ok" if interval <= _LONGEST_ROTATION_MS else "rare",
        "virtual": "virtual" if facts["machine"]["virtual"] else "ok",
        "load": "busy" if load is not None and processors and load > processors / 2 else "ok",
    }


def _select_permission(facts):
    """Select the key of the text on whether this user may count."""
    if facts["paranoid"] is None:
        return "no_events"
    if facts["privileged"]:
        return "privileged"
    return "none" if facts["paranoid"] > 2 else "user_mode" if facts["paranoid"] == 2 else "ok"


def _select_counters(facts):
    """Select the key of the text on whether the counters count correctly."""
    if facts["busy"]:
        return "busy"
    if not facts["census"].offered:
        return "none"
    return "ok" if facts["census"].good == facts["census"].offered else "untrue"


def _make_phrases(facts):
    """Make the phrases that are inserted in the texts of doctor.yaml (dict)."""
    census = facts["census"]
    broken = next((group for group in census.copies if len(group) > census.good), ())
    shares = ", ".join(f"{count / max(max(broken), 1):.3f}" for count in broken)
    other = f"; found with another event, as this processor counts no {census.without}"
    return {
        "counted": f"{census.offered} offered, {census.good} good{other * bool(census.without)}",
        "broken": f"{len(broken)} copies of one event, relative to the largest: {shares}",
        "listed_pmus": ", ".join(facts["pmus"]),
        "first_pmu": next(iter(facts["pmus"]), "cpu"),
        "listed_others": ", ".join(facts["others"]),
    }


def _count_names(listed):
    """Count the events in the output of `perf list`."""
    try:
        return len(events.parse_perf_list(listed))
    except events.EventError:
        return 0
