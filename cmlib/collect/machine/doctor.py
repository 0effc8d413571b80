"""Examine whether and how well this machine can count: a list of findings, each with its numbers and what to do.

:func:`examine` asks the host and returns an :class:`Examination`, which `cmlib doctor` prints. What is wrong with the
machine is a finding, not an error.
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

_LONGEST_ROTATION_MS = 25  # between turns of multiplexed groups: beyond it, intervals of 100 ms miss groups


@dataclass(frozen=True)
class Finding:
    """One line of `cmlib doctor`.

    Attributes
    ----------
    id : str
        What was examined, such as "counters".
    severity : {"ok", "note", "warning", "error"}
        How bad it is.
    what : str
        What was found.
    numbers : str
        The numbers behind it.
    todo : str
        What to do.
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
        Number of counters that the machine offers, and of those that count correctly.
    findings : list of Finding
    machine : dict
        Description of the machine, from :func:`cmlib.collect.machine.describe`.
    """

    offered_counters: int
    good_counters: int
    findings: list[Finding]
    machine: dict


def examine(root: str | Path = "/") -> Examination:
    """Examine this machine: its processor, perf, and how many counters count correctly.

    Parameters
    ----------
    root : path, default "/"
        Folder that holds proc and sys.

    Returns
    -------
    Examination
        Numbers of offered and good counters, `findings` with what to do about each, and the `machine` as
        :func:`cmlib.collect.machine.describe` returns it.
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
    """List the findings on a machine, with their texts from doctor.yaml.

    Parameters
    ----------
    facts : dict
        What :func:`examine` asks of the host: machine (dict), perf_complaint (str), pmus, others (tuples of names),
        paranoid (level, or None), privileged, watchdog (bool), names (number that perf knows), table (name of the
        event table, or None), census (a :class:`cmlib.collect.machine.counter_census.Census`) and busy (str, "" if
        the counters were free).

    Returns
    -------
    list of Finding
        Each has id, severity and text.
    """
    texts = yaml_beside(__file__)
    values = facts | facts["machine"] | _make_phrases(facts)
    return [
        Finding(name, **{key: text.format(**values) for key, text in texts[name][case].items()})
        for name, case in _select_cases(facts).items()
    ]


def _select_cases(facts):
    """Select for each finding's id the key of the text in doctor.yaml that fits this machine."""
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
    """Select the text on whether this user may count: a key of the finding's texts."""
    if facts["paranoid"] is None:
        return "no_events"
    if facts["privileged"]:
        return "privileged"
    return "none" if facts["paranoid"] > 2 else "user_mode" if facts["paranoid"] == 2 else "ok"


def _select_counters(facts):
    """Select the text on whether the counters count correctly: a key of the finding's texts."""
    if facts["busy"]:
        return "busy"
    if not facts["census"].offered:
        return "none"
    return "ok" if facts["census"].good == facts["census"].offered else "untrue"


def _make_phrases(facts):
    """Make the phrases that the texts in doctor.yaml are filled in with (dict)."""
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
    """Count the events in the output (str) of `perf list`."""
    try:
        return len(events.parse_perf_list(listed))
    except events.EventError:
        return 0
