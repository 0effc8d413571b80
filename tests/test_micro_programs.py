"""The micro-benchmarks: built, run, and controlled."""

import os
import re
import subprocess
import threading
from collections import Counter
from pathlib import Path

import numpy.testing as npt
import pytest

from cmlib.collect.record import record
from cmlib.collect.schedule import Plan
from cmlib.errors import CmlibError
from cmlib.experiments.kernels.programs import kernels
from cmlib.experiments.micro.programs import micro_benchmarks
from cmlib.io import perf
from cmlib.io.archive.programs import read_raw
from cmlib_workloads.micro import SOURCES, build, run
from tests.micro_cases import ALL_CASES

pytestmark = pytest.mark.needs("cc")

# Operations after which both forms have done the same work, at a size, and so computed the same.
SAME_WORK = {
    "array": (1 << 16, 1 << 13),
    "linked_list": (1 << 16, 1 << 11),
    "pointer": (1 << 16, 1 << 13),
    "floating_point": (1 << 16, 5000),
    "hash_join": (1 << 16, 1 << 11),
    "matrix_columns": (100_000, 12_500),
    "count_keys": (1 << 16, 1 << 13),
    "tree_walk": (1 << 16, 5000),
    "graph_search": (1 << 16, 5000),
    "filter": (1 << 16, 1 << 16),
    "logistic": (1 << 16, 2000),
    "decimal": (1 << 16, 5000),
    "varint": (1 << 16, 1 << 16),
    "median_filter": (1 << 16, 50_000),
    "stream_sum": (1 << 16, 1 << 10),
    "stream_loop": (1 << 16, 1 << 10),
    "stream_copy": (1 << 16, 1 << 10),
    "stream_stride": (1 << 16, 1 << 8),
    "quadruple": (1 << 16, 5000),
}


def argv(name, form, *, size=1 << 16, operations=1000, seed=1):
    return [name, "--form", form, "--size", str(size), "--operations", str(operations), "--seed", str(seed)]


def test_every_program_has_a_source_and_every_source_is_a_program():
    sources = {path.stem: path.parent.name for path in SOURCES.rglob("*.c")}
    assert {p.source or p.name: "src" if p.trained else "unseen" for p in micro_benchmarks()} == {
        name: place for name, place in sources.items() if name not in ("program", "sweep")
    }


def test_no_parallel_program_has_the_name_of_one_here():
    """They are built into the same folder."""
    assert not {kernel.name for kernel in kernels()} & {program.name for program in micro_benchmarks()}


def test_there_are_the_thirteen_of_the_paper_and_its_eight_classes():
    trained = [case for case in ALL_CASES if case.program.trained]
    assert len({(case.program.name, case.level) for case in trained}) == 13
    assert {case.program.table_1 for case in trained} == {"Array", "LL", "Pointer", "BranchMis", "RS", "FPU"}
    classes = {f"{form}_{bound}" for form in "PN" for bound in ("Mem_L2", "Mem_L3", "Mem_M", "CPU")}
    assert {case.label for case in trained} == classes
    assert {case.label for case in ALL_CASES} <= classes


def test_every_case_has_a_healthy_twin_and_a_name_of_its_own():
    twins = Counter((case.program.name, case.level, case.number, case.size) for case in ALL_CASES)
    assert set(twins.values()) == {2}
    assert len({case.name for case in ALL_CASES}) == len(ALL_CASES)
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", case.name) for case in ALL_CASES)


@pytest.mark.parametrize("program", micro_benchmarks(), ids=lambda program: program.name)
def test_a_run_does_what_it_was_asked_and_the_same_each_time(micro_binaries, program):
    for form in "PN":
        first, again = (run(argv(program.name, form), micro_binaries) for _ in range(2))
        assert first["operations"] == again["operations"] == 1000
        assert first["checksum"] == again["checksum"]
        npt.assert_allclose(first["ns_per_operation"] * 1000, first["seconds"] * 1e9, rtol=0.01, atol=1000)


@pytest.mark.parametrize("name", SAME_WORK)
@pytest.mark.parametrize("seed", [1, 20])
def test_both_forms_do_the_same_work(micro_binaries, name, seed):
    size, operations = SAME_WORK[name]
    results = [
        run(argv(name, form, size=size, operations=operations, seed=seed), micro_binaries) for form in "PN"
    ]
    assert results[0]["checksum"] == results[1]["checksum"]


def test_a_run_by_time_lasts_as_long(micro_binaries):
    case = next(case for case in ALL_CASES if case.name == "micro-branch-P")
    result = run(case.argv(seconds=0.1), micro_binaries)
    assert result["seconds"] >= 0.1
    assert result["operations"] > 0


def test_the_netlist_is_loaded_before_elements_are_swapped(micro_binaries):
    lines = (1 << 20) // 128
    assert "phase_swap_s" not in run(argv("netlist", "P", size=1 << 20, operations=lines - 1), micro_binaries)
    result = run(argv("netlist", "P", size=1 << 20, operations=lines + 1000), micro_binaries)
    assert 0 < result["phase_swap_s"] <= result["seconds"]


@pytest.mark.parametrize("name", ["pointer", "netlist"])
def test_counters_are_switched_on_after_the_initialization(micro_binaries, tmp_path, name):
    """In perf's place this answers on the FIFOs, and reads the program's page faults whenever it is told something."""
    size = 32 << 20
    control, ack = tmp_path / "control", tmp_path / "ack"
    os.mkfifo(control)
    os.mkfifo(ack)
    told, faults = [], []
    environment = os.environ | {"CMLIB_CONTROL": str(control), "CMLIB_ACK": str(ack)}
    command = [str(micro_binaries / name), *argv(name, "N", size=size, operations=1000)[1:]]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:

        def answer():
            with control.open() as commands, ack.open("wb", buffering=0) as answers:
                for line in commands:
                    told.append(line.strip())
                    faults.append(int(Path(f"/proc/{process.pid}/stat").read_text().split()[9]))
                    answers.write(b"ack\n\0")

        thread = threading.Thread(target=answer)
        thread.start()
        assert process.wait(timeout=300) == 0
        thread.join(timeout=300)
    assert told == ["enable", "disable"]
    prepared, executed = faults[0], faults[1] - faults[0]
    assert prepared > 0.1 * size / 4096
    assert executed < 0.02 * prepared


def test_a_recording_on_demand_counts_what_is_executed_only(any_perf, micro_binaries, tmp_path, request):
    plan = Plan("soft", "mlpx", 0, ("task-clock",), (("page-faults",),), interval_ms=20, modifier="")
    command = [
        str(micro_binaries / "pointer"),
        *argv("pointer", "P", size=64 << 20, operations=1_000_000)[1:],
    ]
    counted = {}
    for name, on_demand in (("all", False), ("executed", True)):
        encodings, counters = {"page-faults": "page-faults"}, {"offered": 0, "good": 0}
        options = {"encodings": encodings, "counters": counters, "folder": tmp_path, "on_demand": on_demand}
        record(name, command, [plan], **options)
        counts, _ = perf.series(perf.parse_stat(read_raw(tmp_path / name, "soft-p0-00").decode()))
        counted[name] = counts["page-faults"].sum()
    if "real" in request.node.name:
        assert counted["all"] > (64 << 20) / 4096
        assert counted["executed"] < 100
    else:
        assert min(counted.values()) > 0


def test_a_program_told_of_fifos_that_are_not_there_says_so(micro_binaries, tmp_path):
    environment = {"CMLIB_CONTROL": str(tmp_path / "none"), "CMLIB_ACK": str(tmp_path / "none")}
    with pytest.raises(CmlibError, match=r"no answer from perf; is it running with --control\?"):
        run(argv("branch", "P"), micro_binaries, environment)


@pytest.mark.parametrize(
    "wrong",
    [["--form", "Q"], ["--form", "P"], ["--form", "P", "--seconds", "x"], ["--form", "P", "--seconds"]],
)
def test_wrong_arguments_are_answered_with_the_usage(micro_binaries, wrong):
    with pytest.raises(CmlibError, match=r"exit code 2:\nusage: "):
        run(["branch", *wrong], micro_binaries)


def test_cases_need_either_seconds_or_operations():
    with pytest.raises(ValueError, match="either seconds or operations"):
        ALL_CASES[0].argv()


def test_without_a_compiler_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(CmlibError, match=r"no compiler \(no-such-compiler\).*install one"):
        build(tmp_path)


def test_what_is_built_is_not_built_again(tmp_path):
    build(tmp_path, ["branch"])
    before = (tmp_path / "branch").stat().st_mtime_ns
    build(tmp_path, ["branch"])
    assert (tmp_path / "branch").stat().st_mtime_ns == before
    os.utime(tmp_path / "branch", (1, 1))
    build(tmp_path, ["branch"])
    assert (tmp_path / "branch").stat().st_mtime > 1
    assert [path.name for path in tmp_path.iterdir()] == ["branch"]


def test_both_reservation_stations_are_one_source_and_two_programs(micro_binaries):
    assert not (SOURCES / "reservation_float.c").exists()
    whole, floating = (
        run(argv(name, "P"), micro_binaries)["checksum"] for name in ("reservation", "reservation_float")
    )
    assert whole != floating
