"""Is this machine fit to count on: findings with the numbers behind them, and what to do."""

from dataclasses import dataclass, field
from functools import partial

from cmlib.collect.machine.counters import Census, census
from cmlib.collect.machine.host import (
    core_pmus,
    counting_processes,
    describe,
    has_watchdog,
    is_privileged,
    paranoid_level,
    perf_list,
    perf_version,
)
from cmlib.collect.machine.lock import CountersBusy, counters_lock
from cmlib.io import events

_NOTHING = "nothing to do"
_LONGEST_ROTATION_MS = 25


@dataclass(frozen=True)
class Finding:
    """One thing found."""

    id: str
    severity: str
    what: str
    numbers: str
    todo: str = _NOTHING


@dataclass(frozen=True)
class Facts:
    """What the findings are drawn from; see the functions of :mod:`cmlib.collect.machine.host`."""

    machine: dict
    perf_complaint: str = ""
    pmus: tuple[str, ...] = ()
    paranoid: int | None = 2
    privileged: bool = False
    watchdog: bool = False
    others: tuple[str, ...] = ()
    names: int = 0
    table: str | None = None
    census: Census = field(default_factory=lambda: Census(0, 0))
    busy: str = ""
    lacking: dict | None = None


@dataclass(frozen=True)
class Examination:
    """Result of :func:`examine`."""

    offered_counters: int
    good_counters: int
    findings: list[Finding]
    machine: dict


def examine(root="/", *, lacking=None):
    """Examine this machine."""
    machine = describe(root)
    others = tuple(counting_processes(root))
    counted, busy = _census_if_free()
    facts = Facts(
        machine=machine,
        perf_complaint=perf_version()[1],
        pmus=tuple(core_pmus(root)),
        paranoid=paranoid_level(root),
        privileged=is_privileged(root),
        watchdog=has_watchdog(root),
        others=others,
        names=_count_names(perf_list()),
        table=events.table_for(machine),
        census=counted,
        busy=busy,
        lacking=lacking,
    )
    return Examination(counted.offered, counted.good, find(facts), machine)


def find(facts):
    """Draw findings from facts."""
    checks = (_perf, _pmu, _permission, _counters, _watchdog, _others, _names, _rotation, _virtual, _load)
    findings = [check(facts) for check in checks]
    return findings if facts.lacking is None else [*findings, _programs(facts)]


def _census_if_free():
    try:
        with counters_lock("cmlib doctor"):
            return census(), ""
    except CountersBusy as busy:
        return Census(0, 0, complaint=str(busy)), str(busy)


def _count_names(listed):
    try:
        return len(events.from_perf_list(listed))
    except events.EventError:
        return 0


def _perf(facts):
    version = facts.machine["perf"]
    if version is None:
        todo = "install it: on Debian, apt-get install linux-perf"
        return Finding("perf", "error", "perf not found or failed", facts.perf_complaint, todo)
    return Finding("perf", "ok", "perf is installed", f"version {version}")


def _pmu(facts):
    if facts.pmus:
        return Finding("pmu", "ok", "there is a PMU", ", ".join(facts.pmus))
    return Finding(
        "pmu",
        "error",
        "there is no PMU: no hardware event can be counted here",
        "no core PMU under /sys/bus/event_source/devices",
        "in a virtual machine, ask for a virtual PMU (perf in the host counts, QEMU: -cpu host,pmu=on; in clouds, "
        "metal or larger instances); `cmlib record`, `diagnose` and `compare` take --simulate, without counters; "
        "everything else works on the recordings there are, and `cmlib import` takes those made elsewhere",
    )


def _permission(facts):
    finding = partial(Finding, "permission")
    if facts.paranoid is None:
        return finding(
            "error",
            "this kernel has no perf events",
            "/proc/sys/kernel/perf_event_paranoid is missing",
            "use a kernel built with CONFIG_PERF_EVENTS",
        )
    shown = f"perf_event_paranoid = {facts.paranoid}"
    if facts.privileged:
        return finding("ok", "this user may count", f"{shown}, CAP_PERFMON or CAP_SYS_ADMIN is held")
    if facts.paranoid > 2:
        return finding(
            "error",
            "this user may not count",
            f"{shown}, and neither CAP_PERFMON nor CAP_SYS_ADMIN is held",
            "as root: sysctl kernel.perf_event_paranoid=2 (lasting: a line of it in /etc/sysctl.d), "
            "or in a container: --cap-add PERFMON",
        )
    if facts.paranoid == 2:
        todo = "to count the kernel as well, as root: sysctl kernel.perf_event_paranoid=1"
        return finding("note", "this user may count user mode only, which recordings do", shown, todo)
    return finding("ok", "this user may count", shown)


def _counters(facts):
    finding = partial(Finding, "counters")
    counted = facts.census
    if facts.busy:
        todo = "run doctor again when it has ended"
        return finding("warning", "counters were not counted: they are in use", counted.complaint, todo)
    if not counted.offered:
        return finding("error", "no counter counts", counted.complaint, "see the findings above")
    numbers = f"{counted.offered} offered, {counted.good} good"
    if counted.without:
        numbers += f"; found with another event, as this processor counts no {counted.without}"
    if counted.good == counted.offered:
        return finding("ok", "all counters agree", numbers)
    broken = next(group for group in counted.copies if len(group) > counted.good)
    shown = ", ".join(f"{count / max(max(broken), 1):.3f}" for count in broken)
    return finding(
        "warning",
        "not all counters offered can be trusted",
        f"{numbers}; {len(broken)} copies of one event, relative to the largest: {shown}",
        f"plan for {counted.good}, as `cmlib record` does; events outside groups would land on the others as well",
    )


def _watchdog(facts):
    if facts.watchdog:
        todo = "as root: sysctl kernel.nmi_watchdog=0"
        return Finding("watchdog", "warning", "the NMI watchdog holds a counter", "nmi_watchdog = 1", todo)
    return Finding("watchdog", "ok", "no watchdog holds a counter", "nmi_watchdog = 0")


def _others(facts):
    if facts.others:
        return Finding(
            "others",
            "warning",
            "other processes hold perf events, and may take counters from a recording",
            ", ".join(facts.others),
            "end them, or wait for them, before recording",
        )
    return Finding("others", "ok", "nobody else is counting", "0 other processes hold perf events")


def _names(facts):
    name = facts.machine["microarchitecture"]
    numbers = f"{facts.names} names of core events for {name}"
    if facts.names:
        return Finding("names", "ok", "perf knows this processor's event names", numbers)
    if facts.table:
        what = "perf has no event names for this processor, cmlib has"
        return Finding("names", "note", what, f"{numbers}; data/events/{facts.table}.csv")
    return Finding(
        "names",
        "warning",
        "perf has no event names for this processor, and cmlib has no table of them",
        numbers,
        "use a perf newer than the processor; until then `cmlib record` takes those of the general events that count",
    )


def _rotation(facts):
    interval = facts.machine["mux_interval_ms"]
    if interval is None:
        return Finding("rotation", "note", "the kernel does not say how often groups take turns", "no PMU")
    numbers = f"perf_event_mux_interval_ms = {interval}"
    if interval <= _LONGEST_ROTATION_MS:
        return Finding("rotation", "ok", "groups of events take turns often enough", numbers)
    return Finding(
        "rotation",
        "warning",
        "groups of events take turns rarely: at 100 ms many intervals would stay empty",
        numbers,
        f"as root, write 4 to /sys/bus/event_source/devices/{(facts.pmus or ('cpu',))[0]}/perf_event_mux_interval_ms, "
        "or use longer intervals",
    )


def _virtual(facts):
    if not facts.machine["virtual"]:
        return Finding(
            "virtual", "ok", "this is no virtual machine", "no hypervisor shows in /proc/cpuinfo or /sys"
        )
    return Finding(
        "virtual",
        "note",
        "this is a virtual machine: kernel work may be under-counted, and reported cache sizes be wrong",
        facts.machine["virtual"],
        "count user mode (the default) where a program is user-bound",
    )


def _load(facts):
    processors, load = facts.machine["processors"], facts.machine["load_1min"]
    numbers = f"{processors} processors, load {load} in the last minute"
    if load is not None and processors and load > processors / 2:
        todo = "end other work before recording: it takes caches and time from what is measured"
        return Finding("load", "warning", "this machine is busy", numbers, todo)
    return Finding("load", "ok", "this machine is quiet", numbers)


def _programs(facts):
    suites = facts.lacking
    ready = {suite: [name for name, words in each.items() if not words] for suite, each in suites.items()}
    n_ready, n_all = sum(map(len, ready.values())), sum(map(len, suites.values()))
    what = f"{n_ready} of {n_all} programs can be recorded by name, with `cmlib record --program`"
    numbers = ", ".join(f"{suite} {len(ready[suite])} of {len(each)}" for suite, each in suites.items())
    if n_ready == n_all:
        return Finding("programs", "ok", what, numbers)
    todo = "; ".join(_install(suite, each) for suite, each in suites.items() if any(each.values()))
    return Finding("programs", "note", what, numbers, todo)


def _install(suite, lacking):
    """What to install for the programs of one suite, every package once."""
    words = dict.fromkeys(word for each in lacking.values() for word in each)
    packages = [word for word in words if not word.endswith(" (Python)")]
    todo = []
    if packages:
        todo.append(f"apt-get install --no-install-recommends {' '.join(packages)}")
    if len(packages) < len(words):
        todo.append("pip install 'cmlib[spark]'")
    lacked_by = [name for name, each in lacking.items() if each]
    return f"for {suite} ({', '.join(lacked_by)}): {', '.join(todo)}"
