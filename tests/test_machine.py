"""The doctor: what it reads of a host, how it judges counters, and what it says of healthy and sick machines."""

import dataclasses
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib.collect import machine
from cmlib.collect.machine import counter_census as counters
from cmlib.collect.machine.host import (
    core_pmus,
    counting_processes,
    has_watchdog,
    is_privileged,
    metric_group,
    paranoid_level,
    perf_list,
)
from cmlib.io import events

NAN = float("nan")


@pytest.fixture(autouse=True)
def own_counters(tmp_path, monkeypatch):
    """Another test's doctor, beside this one, does not hold the counters."""
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path / "data"))
    (tmp_path / "data/recordings").mkdir(parents=True)


ZEN5_IN_KVM = {
    "proc/cpuinfo": "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: "
    "2\nmodel name\t: AMD EPYC\n"
    "flags\t\t: fpu vme perfctr_core hypervisor\n\nprocessor\t: 1\nvendor_id\t: AuthenticAMD\n",
    "proc/loadavg": "0.20 0.18 0.12 1/80 11206\n",
    "proc/sys/kernel/osrelease": "6.18.0\n",
    "proc/sys/kernel/perf_event_paranoid": "2\n",
    "proc/sys/kernel/nmi_watchdog": "0\n",
    "proc/self/status": "Name:\tpython3\nCapEff:\t0000000000000000\n",
    "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc kvm-clock \n",
    "sys/bus/event_source/devices/cpu/type": "4\n",
    "sys/bus/event_source/devices/cpu/perf_event_mux_interval_ms": "4\n",
    "sys/bus/event_source/devices/software/type": "1\n",
}
INTEL_HYBRID = {
    "proc/cpuinfo": "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 151\n"
    "model name\t: 12th Gen Intel(R) Core(TM) i9-12900K\nflags\t\t: fpu vme\n\n",
    "proc/sys/kernel/perf_event_paranoid": "4\n",
    "proc/sys/kernel/nmi_watchdog": "1\n",
    "proc/self/status": "CapEff:\t0000004000000000\n",
    "sys/bus/event_source/devices/cpu_core/type": "4\n",
    "sys/bus/event_source/devices/cpu_core/perf_event_mux_interval_ms": "1\n",
    "sys/bus/event_source/devices/cpu_atom/type": "10\n",
}


ARM_IN_QEMU = {
    "proc/cpuinfo": "processor\t: 0\nBogoMIPS\t: 125.00\nFeatures\t: fp asimd aes cpuid\nCPU implementer\t: 0x41\n"
    "CPU architecture: 8\nCPU variant\t: 0x4\nCPU part\t: 0xd0c\nCPU revision\t: 1\n\nprocessor\t: 1\n",
    "proc/device-tree/compatible": "linux,dummy-virt\0",
    "sys/bus/event_source/devices/armv8_pmuv3_0/type": "8\n",
    "sys/bus/event_source/devices/armv8_pmuv3_0/cpus": "0-1\n",
    "sys/bus/event_source/devices/armv8_pmuv3_0/perf_event_mux_interval_ms": "4\n",
    "sys/bus/event_source/devices/arm_cmn_0/type": "9\n",
    "sys/bus/event_source/devices/arm_cmn_0/cpumask": "0\n",
}


def tree(folder, files):
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


# --- census -----------------------------------------------------------------


def copies(n, *, good, count=1e8):
    """Counts of n copies on counters of which only the first few tell the truth."""
    return [(count * (1 + 1e-6 * i), 1.0) if i < good else (0.0, 1.0) for i in range(n)]


def test_a_counter_that_reads_zero_while_it_says_it_ran_is_offered_and_not_good():
    refused = [*copies(6, good=6), (NAN, 0.0)]
    found = machine.check_census([*(copies(n, good=5) for n in range(1, 7)), refused])
    assert (found.offered, found.good) == (6, 5)


@given(st.integers(0, 12), st.integers(0, 12), st.floats(1.0, 1e12), st.integers(1, 3))
def test_planted_numbers_of_offered_and_good_counters_are_found(offered, good, count, repeats):
    good = min(offered, good)
    groups = [copies(n, good=good, count=count) for n in range(1, offered + 1) for _ in range(repeats)]
    refused = [(count, 1.0)] * offered + [(NAN, 0.0)]
    found = machine.check_census([*groups, refused])
    assert (found.offered, found.good) == (offered, good)


def test_one_disturbed_attempt_does_not_condemn_a_counter():
    disturbed = [(1e8, 1.0), (7e7, 0.8)]
    calm = copies(2, good=2)
    assert machine.check_census([copies(1, good=1), disturbed, calm]).good == 2
    assert machine.check_census([copies(1, good=1), disturbed, disturbed]).good == 1


@pytest.mark.parametrize(
    "groups, offered, good",
    [
        ([], 0, 0),
        ([[(NAN, 0.0)]], 0, 0),
        ([[]], 0, 0),
        ([[(0.0, 1.0)]], 1, 0),  # counts nothing, and says it ran
        ([[(1e8, 0.5)]], 1, 0),  # somebody else has it half of the time
        ([[(1e8, 1.0)], [(1e8, 1.0), (1.02e8, 1.0)]], 2, 1),
        ([[(1e8, 1.0)], [(1e8, 1.0), (1.005e8, 1.0)]], 2, 2),
        ([[(0.0, 1.0)], copies(2, good=2)], 2, 0),  # good means: up to here without a break
    ],
)
def test_edges_of_the_census(groups, offered, good):
    found = machine.check_census(groups)
    assert (found.offered, found.good) == (offered, good)


@pytest.mark.parametrize("offered, good", [(6, 5), (4, 4), (3, 0)])
def test_a_census_through_perf_finds_what_the_machine_is(fake_perf, monkeypatch, offered, good):
    monkeypatch.setenv("FAKE_OFFERED", str(offered))
    monkeypatch.setenv("FAKE_GOOD", str(good))
    found = machine.census()
    assert (found.offered, found.good) == (offered, good)
    assert max(map(len, found.copies)) == offered + 1


@pytest.mark.parametrize(
    ("branches", "loads", "found"),
    [((8, 8), (4, 4), (4, 4)), ((6, 5), (6, 5), (6, 5)), ((8, 8), (0, 0), (8, 8)), ((4, 4), None, (4, 4))],
)
def test_counters_that_cannot_count_loads_are_left_out(fake_perf, monkeypatch, branches, loads, found):
    told = {"branches:u": branches, "L1-dcache-loads:u": loads}
    monkeypatch.setattr(counters, "_count_event", lambda event: machine.Census(*told[event]))
    seen = machine.census()
    assert (seen.offered, seen.good, seen.without) == (*found, "")


def test_a_census_without_perf_counts_nothing_and_says_why(no_perf):
    found = machine.census()
    assert (found.offered, found.good) == (0, 0) and "not installed" in found.complaint


def test_what_perf_complains_of_is_passed_on(fake_perf):
    found = machine.census(events=("refused:u",))
    assert found.offered == 0 and "event syntax error: 'refused:u'" in found.complaint


def test_where_branches_cannot_be_counted_the_census_counts_instructions(fake_perf):
    found = machine.census(events=("refused:u", "instructions:u"))
    assert (found.offered, found.good, found.complaint, found.without) == (6, 5, "", "refused")
    assert "counts no refused" in changed(census=found)["counters"].numbers


# --- the host ---------------------------------------------------------------


def test_a_virtual_machine_is_described(tmp_path, fake_perf):
    assert machine.describe(tree(tmp_path, ZEN5_IN_KVM)) == {
        "vendor": "AuthenticAMD",
        "model_name": "AMD EPYC",
        "family": 26,
        "model": 2,
        "microarchitecture": "amd_zen5",
        "processors": 2,
        "virtual": "kvm",
        "kernel": "Linux 6.18.0",
        "perf": "6.1.fake",
        "mux_interval_ms": 4,
        "load_1min": 0.2,
    }


def test_a_description_has_the_keys_that_recordings_have():
    recorded = json.loads(
        (Path(__file__).parents[1] / "data/recordings/gcc/ocoe-p0-00.json").read_text(encoding="utf-8")
    )
    assert set(machine.describe()) - {"metric_group"} == set(recorded["machine"])


def test_a_hybrid_processor_is_described(tmp_path):
    found = machine.describe(tree(tmp_path, INTEL_HYBRID))
    assert (found["virtual"], found["mux_interval_ms"]) == (None, 1)
    assert found["microarchitecture"] == "GenuineIntel-6-97"
    assert core_pmus(tmp_path) == ["cpu_atom", "cpu_core"]
    assert is_privileged(tmp_path) and has_watchdog(tmp_path) and paranoid_level(tmp_path) == 4


def test_an_arm_processor_is_described_by_its_numbers_and_its_counters_are_found(tmp_path, no_perf):
    found = machine.describe(tree(tmp_path, ARM_IN_QEMU))
    names = ("vendor", "model_name", "family", "model", "microarchitecture", "processors", "virtual")
    assert [found[name] for name in names] == ["ARM", "Neoverse-N1", 8, 0xD0C, "ARM-8-D0C", 2, "kvm"]
    assert core_pmus(tmp_path) == ["armv8_pmuv3_0"] and found["mux_interval_ms"] == 4


@pytest.mark.parametrize(
    "cpu, files, expected",
    [
        ("CPU implementer: 0xc0\nCPU part: 0xac3\n", {}, ("Ampere", None, "Ampere-8-AC3", None)),
        ("CPU implementer: 0x99\nCPU part: 0x1\n", {}, ("0x99", None, "0x99-8-1", None)),
        (
            "CPU implementer: 0x41\nCPU part: 0xd40\n",
            {"sys_vendor": "Amazon EC2", "product_name": "c7g.metal"},
            ("ARM", "Neoverse-V1", "ARM-8-D40", None),
        ),
        (
            "CPU implementer: 0x41\nCPU part: 0xd40\n",
            {"sys_vendor": "Amazon EC2", "product_name": "c7g.large"},
            ("ARM", "Neoverse-V1", "ARM-8-D40", "kvm"),
        ),
    ],
)
def test_other_arm_processors_are_told_apart(tmp_path, cpu, files, expected):
    shown = {f"sys/class/dmi/id/{name}": text for name, text in files.items()}
    found = machine.describe(tree(tmp_path, {"proc/cpuinfo": f"processor: 0\n{cpu}"} | shown))
    names = ("vendor", "model_name", "microarchitecture", "virtual")
    assert tuple(found[name] for name in names) == expected


def test_core_events_of_an_arm_processor_are_those_that_perf_lists(monkeypatch):
    entry = {"EventName": "stall_backend", "Topic": "stall", "Encoding": "armv8_pmuv3_0/event=0x24/"}
    listed = [entry, entry | {"EventName": "l1i_cache_refill", "Encoding": "armv8_pmuv3_0/event=0x1/"}]
    monkeypatch.setattr("cmlib.collect.machine.event_names.perf_list", lambda: json.dumps(listed))
    known = machine.known_events({"vendor": "ARM", "family": 8, "model": 0xD40})
    assert events.core_events(known) == ["l1i_cache_refill", "stall_backend"] and known["named"].all()


def test_an_arm_processor_s_events_are_those_of_perf_s_own_list(monkeypatch):
    listed = (Path(__file__).parent / "golden/arm64-perf-list.txt").read_text(encoding="utf-8")
    monkeypatch.setattr("cmlib.collect.machine.event_names.perf_list", lambda: listed)
    known = machine.known_events({"vendor": "ARM", "family": 8, "model": 0xD0C})
    assert known.loc["br_pred", ["code", "umask", "named"]].tolist() == [0x12, 0, True] and len(known) == 7
    monkeypatch.setattr("cmlib.collect.machine.event_names.perf_list", lambda: "")
    assert machine.known_events({"vendor": "ARM", "family": 8, "model": 0xD0C}).empty


def test_perf_s_own_list_comes_before_the_table_of_a_vendor_s_file(fake_perf, monkeypatch):
    haswell = {"vendor": "GenuineIntel", "family": 6, "model": 0x3F}
    assert machine.known_events(haswell).loc["uops_issued.any", ["code", "named"]].tolist() == [0x0E, False]
    entry = {"EventName": "uops_issued.any", "Topic": "pipeline", "Encoding": "cpu/event=0x7e,umask=0x3/"}
    monkeypatch.setenv("FAKE_LIST", json.dumps([entry, entry | {"EventName": "only.perf_s"}]))
    known = machine.known_events(haswell)
    assert known.loc["uops_issued.any", ["code", "umask", "named"]].tolist() == [0x7E, 3, True]
    assert known.at["only.perf_s", "named"] and not known.at["resource_stalls.any", "named"]


def test_a_perf_without_such_metrics_names_no_group(fake_perf):
    assert metric_group() is None and "metric_group" not in machine.describe()


def test_of_an_empty_host_nothing_is_known(tmp_path, no_perf):
    assert set(machine.describe(tmp_path).values()) == {None}
    assert core_pmus(tmp_path) == [] and paranoid_level(tmp_path) is None
    assert not is_privileged(tmp_path) and not has_watchdog(tmp_path)
    assert perf_list() == ""


@pytest.mark.parametrize(
    "family, model, name",
    [
        (23, 0x01, "amd_zen1"),
        (23, 0x31, "amd_zen2"),
        (25, 0x01, "amd_zen3"),
        (25, 0x11, "amd_zen4"),
        (25, 0x21, "amd_zen3"),
        (25, 0x61, "amd_zen4"),
        (26, 0x44, "amd_zen5"),
        (21, 0x02, "AuthenticAMD-21-2"),
    ],
)
def test_microarchitectures_follow_from_family_and_model(tmp_path, family, model, name):
    cpuinfo = f"processor: 0\nvendor_id: AuthenticAMD\ncpu family: {family}\nmodel: {model}\n"
    assert machine.describe(tree(tmp_path, {"proc/cpuinfo": cpuinfo}))["microarchitecture"] == name


@pytest.mark.parametrize(
    "vendor, name",
    [("QEMU", "kvm"), ("VMware, Inc.", "vmware"), ("Microsoft Corporation", "hyper-v"), ("?", "unknown")],
)
def test_hypervisors_are_told_by_what_they_call_themselves(tmp_path, vendor, name):
    files = {"proc/cpuinfo": "processor: 0\nflags: fpu hypervisor\n", "sys/class/dmi/id/sys_vendor": vendor}
    assert machine.describe(tree(tmp_path, files))["virtual"] == name


def test_processes_that_hold_perf_events_are_found_by_what_they_hold(tmp_path):
    for process, name, link in (
        (41, "node", "socket:[1]"),
        (812, "profiler", "anon_inode:[perf_event]"),
        (9, "perf", None),
    ):
        folder = tree(tmp_path, {f"proc/{process}/comm": f"{name}\n"}) / f"proc/{process}"
        if link:
            (folder / "fd").mkdir()
            (folder / "fd/3").symlink_to(link)
    assert counting_processes(tmp_path) == ["perf (9)", "profiler (812)"]


# --- findings ---------------------------------------------------------------

HEALTHY = {
    "perf_complaint": "",
    "privileged": False,
    "watchdog": False,
    "others": (),
    "table": None,
    "busy": "",
    "machine": {
        "microarchitecture": "amd_zen4",
        "perf": "6.12",
        "mux_interval_ms": 4,
        "virtual": None,
        "processors": 8,
        "load_1min": 0.1,
    },
    "pmus": ("cpu",),
    "paranoid": 1,
    "names": 412,
    "census": machine.check_census([copies(n, good=6) for n in range(1, 7)]),
}


def changed(**facts):
    return {f.id: f for f in machine.find(HEALTHY | facts)}


def of_machine(**values):
    return {"machine": HEALTHY["machine"] | values}


def test_a_healthy_machine_has_nothing_to_do():
    found = machine.find(HEALTHY)
    assert {f.severity for f in found} == {"ok"} and {f.todo for f in found} == {"nothing to do"}
    assert len({f.id for f in found}) == len(found)


@pytest.mark.parametrize(
    "name, facts, severity, numbers, todo",
    [
        (
            "perf",
            of_machine(perf=None) | {"perf_complaint": "no perf on the PATH"},
            "error",
            "no perf",
            "apt-get install",
        ),
        ("pmu", {"pmus": ()}, "error", "event_source", "virtual PMU"),
        ("permission", {"paranoid": 3}, "error", "perf_event_paranoid = 3", "kernel.perf_event_paranoid=2"),
        ("permission", {"paranoid": 2}, "note", "perf_event_paranoid = 2", "kernel.perf_event_paranoid=1"),
        ("permission", {"paranoid": 4, "privileged": True}, "ok", "CAP_PERFMON", "nothing"),
        ("permission", {"paranoid": None}, "error", "missing", "CONFIG_PERF_EVENTS"),
        ("counters", {"census": machine.Census(0, 0, (), "why")}, "error", "why", "above"),
        ("counters", {"busy": "in use"}, "warning", "", "again"),
        ("watchdog", {"watchdog": True}, "warning", "nmi_watchdog = 1", "kernel.nmi_watchdog=0"),
        ("others", {"others": ("perf (812)",)}, "warning", "perf (812)", "end them"),
        ("names", {"names": 0}, "warning", "0 names", "newer"),
        ("names", {"names": 0, "table": "amd_zen5"}, "note", "amd_zen5.csv", "nothing"),
        ("rotation", of_machine(mux_interval_ms=100), "warning", "100", "write 4"),
        ("rotation", of_machine(mux_interval_ms=None), "note", "", ""),
        ("virtual", of_machine(virtual="kvm"), "note", "kvm", "user mode"),
        ("load", of_machine(load_1min=6.5), "warning", "load 6.5", "end other work"),
    ],
)
def test_a_sick_machine_is_told_what_shows_it_and_what_to_do(name, facts, severity, numbers, todo):
    found = changed(**facts)[name]
    assert found.severity == severity and numbers in found.numbers and todo in found.todo


def test_a_lying_counter_is_shown_by_the_copies_that_break():
    found = changed(census=machine.check_census([copies(n, good=5) for n in range(1, 7)]))["counters"]
    assert found.severity == "warning"
    assert "6 offered, 5 good" in found.numbers and found.numbers.endswith("1.000, 0.000")


# --- examination ------------------------------------------------------------


def test_this_machine_is_examined_whatever_it_is():
    found = machine.examine()
    assert 0 <= found.good_counters <= found.offered_counters
    again = json.loads(json.dumps(dataclasses.asdict(found)))
    assert {"offered_counters", "good_counters", "findings", "machine"} == set(again)
    assert all(f["what"] and f["todo"] for f in again["findings"])


def test_a_machine_with_a_lying_counter_is_examined(tmp_path, fake_perf):
    found = machine.examine(tree(tmp_path, ZEN5_IN_KVM))
    assert (found.offered_counters, found.good_counters) == (6, 5)
    assert {f.id: f.severity for f in found.findings} == {
        "perf": "ok",
        "pmu": "ok",
        "permission": "note",
        "counters": "warning",
        "watchdog": "ok",
        "others": "ok",
        "names": "note",
        "rotation": "ok",
        "virtual": "note",
        "load": "ok",
    }


def test_without_perf_and_without_a_host_there_are_findings_and_no_traceback(tmp_path, no_perf):
    found = {f.id: f.severity for f in machine.examine(tmp_path).findings}
    assert found["perf"] == found["pmu"] == found["permission"] == found["counters"] == "error"


def test_a_perf_that_is_only_a_stub_is_a_finding(tmp_path, monkeypatch):
    stub = tmp_path / "perf"
    stub.write_text("#!/bin/sh\necho 'E: linux-perf-5.10 is not installed' >&2\nexit 1\n")
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (found,) = (f for f in machine.examine(tmp_path).findings if f.id == "perf")
    assert found.severity == "error" and "linux-perf-5.10" in found.numbers


def test_the_doctor_does_not_disturb_a_recording(tmp_path, fake_perf, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    with machine.counters_lock("cmlib record gcc"):
        found = machine.examine(tree(tmp_path / "host", ZEN5_IN_KVM))
    (counters,) = (f for f in found.findings if f.id == "counters")
    assert counters.severity == "warning" and "cmlib record gcc" in counters.numbers
    assert found.offered_counters == 0


def test_a_lock_that_cannot_be_opened_is_a_finding(tmp_path, no_perf, monkeypatch):
    monkeypatch.setenv("CMLIB_LOCKS", str(tmp_path / "nowhere"))
    (counters,) = (f for f in machine.examine(tmp_path).findings if f.id == "counters")
    assert counters.severity == "error" and "nowhere" in counters.numbers
