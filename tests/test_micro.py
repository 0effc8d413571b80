"""The micro-benchmarks: built, run, controlled, and their sizes chosen from a sweep."""

import json
import os
import re
import subprocess
import threading
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from cmlib import events, perf
from cmlib.errors import CmlibError
from cmlib.record import archive, record
from cmlib.record.archive import read_raw
from cmlib.schedule import Plan
from cmlib.workloads import kernels
from cmlib.workloads.micro import (
    applications,
    build,
    cases,
    countable,
    plateaus,
    programs,
    recording,
    run,
    selection,
    sweep,
    working_sets,
)
from cmlib.workloads.micro.__main__ import main
from cmlib.workloads.micro.build import SOURCES
from cmlib.workloads.micro.twins import compare_twins

pytestmark = pytest.mark.needs("cc")

SIZES = {"L2": [65536, 131072], "L3": [524288, 1048576], "M": [2097152, 4194304]}
ALL_CASES = [*cases(SIZES, trained=True), *cases(SIZES, trained=False)]
# Operations after which both forms have done the same work, at a size, and so computed the same.
SAME_WORK = {
    "array": (1 << 16, 1 << 13),
    "linked_list": (1 << 16, 1 << 11),
    "pointer": (1 << 16, 1 << 13),
    "floating_point": (1 << 16, 5000),
    "hash_join": (1 << 16, 1 << 11),
    "matrix_columns": (100_000, 12_500),
    "filter": (1 << 16, 1 << 16),
    "logistic": (1 << 16, 2000),
    "decimal": (1 << 16, 5000),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return build(tmp_path_factory.mktemp("micro"))


def argv(name, form, *, size=1 << 16, operations=1000, seed=1):
    return [name, "--form", form, "--size", str(size), "--operations", str(operations), "--seed", str(seed)]


def test_every_program_has_a_source_and_every_source_is_a_program():
    sources = {path.stem: path.parent.name for path in SOURCES.rglob("*.c")}
    assert {p.source or p.name: "src" if p.trained else "unseen" for p in programs()} == {
        name: place for name, place in sources.items() if name not in ("program", "sweep")
    }


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


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_a_run_does_what_it_was_asked_and_the_same_each_time(folder, program):
    for form in "PN":
        first, again = (run(argv(program.name, form), folder) for _ in range(2))
        assert first["operations"] == again["operations"] == 1000
        assert first["checksum"] == again["checksum"]
        npt.assert_allclose(first["ns_per_operation"] * 1000, first["seconds"] * 1e9, rtol=0.01, atol=1000)


@pytest.mark.parametrize("name", SAME_WORK)
@pytest.mark.parametrize("seed", [1, 20])
def test_both_forms_do_the_same_work(folder, name, seed):
    size, operations = SAME_WORK[name]
    results = [run(argv(name, form, size=size, operations=operations, seed=seed), folder) for form in "PN"]
    assert results[0]["checksum"] == results[1]["checksum"]


def test_a_run_by_time_lasts_as_long(folder):
    case = next(case for case in ALL_CASES if case.name == "micro-branch-P")
    result = run(case.argv(seconds=0.1), folder)
    assert result["seconds"] >= 0.1
    assert result["operations"] > 1000


def test_the_netlist_is_loaded_before_elements_are_swapped(folder):
    lines = (1 << 20) // 128
    assert "phase_swap_s" not in run(argv("netlist", "P", size=1 << 20, operations=lines - 1), folder)
    result = run(argv("netlist", "P", size=1 << 20, operations=lines + 1000), folder)
    assert 0 < result["phase_swap_s"] <= result["seconds"]


@pytest.mark.parametrize("name", ["pointer", "netlist"])
def test_counters_are_switched_on_after_the_initialization(folder, tmp_path, name):
    """In perf's place this answers on the FIFOs, and reads the program's page faults whenever it is told something."""
    size = 32 << 20
    control, ack = tmp_path / "control", tmp_path / "ack"
    os.mkfifo(control)
    os.mkfifo(ack)
    told, faults = [], []
    environment = os.environ | {"CMLIB_CONTROL": str(control), "CMLIB_ACK": str(ack)}
    command = [str(folder / name), *argv(name, "N", size=size, operations=1000)[1:]]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:

        def answer():
            with control.open() as commands, ack.open("wb", buffering=0) as answers:
                for line in commands:
                    told.append(line.strip())
                    faults.append(int(Path(f"/proc/{process.pid}/stat").read_text().split()[9]))
                    answers.write(b"ack\n\0")

        thread = threading.Thread(target=answer)
        thread.start()
        assert process.wait(timeout=60) == 0
        thread.join(timeout=10)
    assert told == ["enable", "disable"]
    prepared, executed = faults[0], faults[1] - faults[0]
    assert prepared > 0.1 * size / 4096
    assert executed < 0.02 * prepared


def test_a_recording_on_demand_counts_what_is_executed_only(any_perf, folder, tmp_path, request):
    plan = Plan("soft", "mlpx", 0, ("task-clock",), (("page-faults",),), interval_ms=20, modifier="")
    command = [str(folder / "pointer"), *argv("pointer", "P", size=64 << 20, operations=1_000_000)[1:]]
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


def test_a_program_told_of_fifos_that_are_not_there_says_so(folder, tmp_path):
    environment = {"CMLIB_CONTROL": str(tmp_path / "none"), "CMLIB_ACK": str(tmp_path / "none")}
    with pytest.raises(CmlibError, match=r"perf does not answer; is it running with --control\?"):
        run(argv("branch", "P"), folder, environment)


@pytest.mark.parametrize(
    "wrong",
    [["--form", "Q"], ["--form", "P"], ["--form", "P", "--seconds", "x"], ["--form", "P", "--seconds"]],
)
def test_wrong_arguments_are_answered_with_the_usage(folder, wrong):
    with pytest.raises(CmlibError, match=r"exit code 2:\nusage: "):
        run(["branch", *wrong], folder)


def test_cases_need_either_seconds_or_operations():
    with pytest.raises(ValueError, match="either seconds or operations"):
        ALL_CASES[0].argv()


def test_without_a_compiler_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(CmlibError, match=r"no C compiler \(no-such-compiler\).*install one"):
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


def test_a_sweep_has_four_sizes_an_octave(folder):
    frame = sweep(folder, smallest=8192, largest=32768, loads=2000, repeats=2)
    assert frame["size"].tolist() == [8192, 10240, 12288, 14336, 16384, 20480, 24576, 28672, 32768]
    assert frame["ns"].between(0.05, 1000).all()


@st.composite
def planted_hierarchies(draw):
    """Four levels that end at planted sizes, a size of transition after each, and noise."""
    sizes = np.array([2**octave * quarter // 4 for octave in range(13, 28) for quarter in (4, 5, 6, 7)])
    ends = np.cumsum([draw(st.integers(6, 12)), draw(st.integers(8, 14)), draw(st.integers(10, 14))])
    ns = np.array([1.0, 4.0, 20.0, 120.0])[np.searchsorted(ends, np.arange(len(sizes)), side="right")]
    ns[ends] = np.sqrt(ns[ends] * ns[ends - 1])
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return pd.DataFrame({"size": sizes, "ns": ns * rng.uniform(0.9, 1.2, len(sizes))}), sizes[ends - 1]


@settings(max_examples=30, deadline=None)
@given(planted_hierarchies())
def test_planted_levels_are_found_and_working_sets_lie_inside(planted):
    frame, ends = planted
    shuffled = frame.sample(frac=1, random_state=0)
    levels = plateaus(shuffled)
    assert levels["largest"].iloc[:3].tolist() == ends.tolist()
    npt.assert_allclose(levels["ns"], [1, 4, 20, 120], rtol=0.2)
    sets = working_sets(levels)
    for level, before, holds in (("L2", ends[0], ends[1]), ("L3", ends[1], ends[2])):
        assert all(before < size < holds and size % 4096 == 0 for size in sets[level])
    assert min(sets["M"]) >= 8 * ends[2] - 4096
    assert all(np.diff(sizes).min() > 0 for sizes in sets.values())


def test_too_few_sizes_and_latencies_that_fall_are_refused():
    frame = pd.DataFrame({"size": 1024 * 2 ** np.arange(16), "ns": np.repeat([4.0, 3.0, 2.0, 1.0], 4)})
    with pytest.raises(CmlibError, match="don't rise"):
        plateaus(frame)
    with pytest.raises(CmlibError, match="too few"):
        plateaus(frame.iloc[:8])


# --- all recordings in one go -------------------------------------------------


@pytest.fixture
def recorder(monkeypatch):
    """In the place of `record`: writes what perf would have, with rates that depend on the case's class."""
    made = []

    def write(name, command, plans, *, passes, encodings, counters, folder, lock, on_demand, note):
        label, existing = json.loads(note)["label"], archive.existing_runs(folder / name)
        for number in range(passes):
            for plan in plans:
                run_name = archive.run_name(plan.set, number, plan.part)
                if run_name in existing:
                    continue
                made.append((name, run_name, command, on_demand))
                assert folder.parent.joinpath(".lock").is_file() and isinstance(lock, int)
                meta = {
                    "program": name,
                    "run": run_name,
                    "set": plan.set,
                    "pass": number,
                    "part": plan.part,
                    "note": note,
                }
                meta |= {"groups": plan.groups, "encodings": encodings, "counters": counters}
                (folder / name).mkdir(exist_ok=True)
                archive.add_run(folder / name, meta, written_by_perf(plan, label, seed=len(made)).encode())

    monkeypatch.setattr(recording, "record", write)
    return made


def written_by_perf(plan, label, *, seed, n=17):
    rng = np.random.default_rng(seed)
    lines = ["# started on Sat Nov 21 03:00:46 2026\n\n"]
    for i in range(n):
        for event in (*plan.pinned, *plan.events):
            told = {"ex_ret_brn_misp": "P_CPU", "ls_stlf": "_M"}.get(event, "none")
            rate = 1.0 if event == "cycles" else 0.5 if told in label else 0.01
            count = "<not counted>" if i == 0 else round(3e8 * rate * rng.uniform(0.9, 1.1))
            lines.append(f"     {0.1 * (i + 1):.9f},{count},,{event}:u,99667417,100.00,,\n")
    return "".join(lines)


def test_all_recordings_are_made_in_one_go_and_only_once(recorder, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(recording, "known_events", lambda: None)
    monkeypatch.setattr(recording, "encodings", lambda names, _: ({name: name for name in names}, {}))
    options = recording.Settings(seconds=1, passes=2, all_per_run=4, key_events=3)
    events = [
        "ex_ret_brn_misp",
        "ls_stlf",
        "ex_div_busy",
        "ex_ret_brn",
        "ls_dispatch.all",
        "de_op_queue_empty",
    ]
    sizes = {"L2": [1 << 16], "L3": [1 << 17], "M": [1 << 18]}
    few = {"array", "branch", "filter"}
    plan = [
        entry for entry in recording.plan_cases(sizes, options, len(events)) if entry[0].program.name in few
    ]
    own = tmp_path / selection.FOLDER
    make = partial(
        recording.record_all, plan, options, events, folder, own, counters={"offered": 6, "good": 5}
    )
    chosen = make()
    assert {"ex_ret_brn_misp", "ls_stlf"} <= set(chosen)
    assert len(chosen) == 3
    assert len(recorder) == sum(n_runs for _, _, n_runs in plan)
    assert all(on_demand for _, _, _, on_demand in recorder)
    assert not any(os.sep in command[0] for _, _, command, _ in recorder)
    assert make() == chosen
    assert len(recorder) == sum(n_runs for _, _, n_runs in plan)

    trained = [case for case in cases(sizes, trained=True) if case.program.name in few]
    X, about = selection.read_slices(own, "key")
    y = about["label"]
    assert set(X.columns) == {"instructions", *chosen}
    assert dict(zip(X.index.get_level_values("program"), y, strict=True)) == {
        c.name: c.label for c in trained
    }
    assert X.groupby(["program", "pass"]).size().eq(3).all()
    npt.assert_allclose(X.loc[y == "P_CPU", "ex_ret_brn_misp"], 0.5, rtol=0.2)
    sizes_of = about.groupby("label")["size"].first()
    assert sizes_of["P_Mem_L3"] == 1 << 17 and np.isnan(sizes_of["P_CPU"])
    unseen, _ = selection.read_slices(own, "key", "unseen")
    assert set(unseen.index.get_level_values("program")) == {"unseen-filter-P", "unseen-filter-N"}


def test_the_plan_says_how_long_it_takes(folder):
    options = recording.Settings(seconds=30, passes=2, all_per_run=60)
    plan = recording.plan_cases(SIZES, options, 225)[::20]
    minutes = recording.estimate_minutes(plan, options, folder)
    assert [n for _, name, n in plan if name == "all"] == [4] * sum(name == "all" for _, name, _ in plan)
    assert all(0.5 * n <= m <= 0.7 * n for m, (_, _, n) in zip(minutes, plan, strict=True))


def test_which_events_count_is_learnt_from_recordings(tmp_path):
    assert countable.counting_events(tmp_path, "amd_zen5") == []
    place = tmp_path / "gcc"
    place.mkdir()
    for part, own in enumerate(["amd_zen5", "intel_skl"]):
        meta = {"set": "sweep", "groups": [[f"b_{own}", "c"], ["a"]], "machine": {"microarchitecture": own}}
        (place / f"sweep-p0-0{part}.json").write_text(json.dumps(meta))
    assert countable.counting_events(tmp_path, "amd_zen5") == ["a", "b_amd_zen5", "c"]
    assert countable.counting_events(tmp_path, None) == ["a", "b_amd_zen5", "b_intel_skl", "c"]


def test_sizes_are_measured_once_and_kept_with_the_recordings(tmp_path, monkeypatch):
    measured = []

    def measure(folder):
        measured.append(folder)
        sizes = np.array([2**octave * quarter // 4 for octave in range(13, 28) for quarter in (4, 5, 6, 7)])
        return pd.DataFrame({"size": sizes, "ns": np.repeat([1.0, 4.0, 20.0, 120.0], 15)})

    monkeypatch.setattr(selection, "sweep", measure)
    fresh = selection.recorded_sweep(tmp_path, tmp_path, keep=False)
    assert list(tmp_path.iterdir()) == []
    kept = selection.recorded_sweep(tmp_path, tmp_path, keep=True)
    again = selection.recorded_sweep(tmp_path, tmp_path, keep=True)
    assert len(measured) == 2
    pd.testing.assert_frame_equal(kept, fresh)
    pd.testing.assert_frame_equal(again, fresh)


def test_the_command_lists_what_it_would_record(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("cmlib.workloads.micro.__main__.build", lambda _: folder)
    others = [applications.Application("cpu-gcc", "CPU", None)], ["parallel programs: no C++ compiler"]
    monkeypatch.setattr("cmlib.workloads.micro.__main__.applications", lambda *_, **__: others)
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    (tmp_path / "recordings" / "gcc").mkdir(parents=True)
    meta = {"set": "sweep", "groups": [["a", "b"]], "machine": {"microarchitecture": "amd_zen5"}}
    (tmp_path / "recordings" / "gcc" / "sweep-p0-00.json").write_text(json.dumps(meta))
    invoke = partial(CliRunner().invoke, main)
    listed = invoke(["--sizes", "L2=64;L3=128;M=256", "--seconds", "60"])
    assert listed.exit_code == 0, listed.output
    rows = re.findall(r"^(micro|unseen)-\S+ +([PN]_\w+) .* (\d+) runs", listed.output, re.M)
    total, minutes = re.search(r"^(\d+) runs, about (\d+) minutes", listed.output, re.M).groups()
    assert sum(int(n) for _, _, n in rows) == int(total)
    assert int(total) <= int(minutes) <= 1.2 * int(total)
    assert re.search(r"^cpu-gcc +CPU +key +3 runs", listed.output, re.M) and "and 3 of other" in listed.output
    assert "left out: parallel programs: no C++ compiler" in listed.output
    assert not list((tmp_path / "recordings").glob("micro-*"))
    assert "give KiB for all of L2, L3 and M" in invoke(["--sizes", "L2=64"]).output


def test_twins_are_timed_at_equal_work(folder):
    timed = compare_twins({"L2": [65536], "L3": [131072], "M": [262144]}, folder, seconds=0.005)
    assert len(timed) == len(cases({"L2": [1], "L3": [1], "M": [1]}, trained=True)) / 2 + 11
    npt.assert_allclose(timed["ratio"], timed["P"] / timed["N"])
    assert (timed[["P", "N", "operations"]] > 0).all(axis=None)


def test_both_reservation_stations_are_one_source_and_two_programs(folder):
    assert not (SOURCES / "reservation_float.c").exists()
    whole, floating = (
        run(argv(name, "P"), folder)["checksum"] for name in ("reservation", "reservation_float")
    )
    assert whole != floating


@pytest.mark.needs("c++")
def test_parallel_programs_are_recorded_by_name_and_last_as_long_as_before(tmp_path, monkeypatch):
    kernel = next(k for k in kernels.programs() if k.name == "parallel_scalar_sum")
    monkeypatch.setattr(applications.kernel_recipe, "programs", lambda: [kernel])
    monkeypatch.setattr(
        applications.kernels, "build", lambda place: kernels.recipe.build(place, [kernel.name])
    )
    monkeypatch.setattr(applications.programs, "lacking", lambda: {"SPEC CPU2006": {"povray": ("povray",)}})
    (one,), left_out = applications.applications(tmp_path / "built", tmp_path, seconds=0.1)
    assert left_out == ["cpu-povray: lacks povray"]
    assert (
        one.program.command.startswith("parallel_scalar_sum good 2 ")
        and str(tmp_path) not in one.program.command
    )
    with one.program.prepare() as counted:
        assert counted.command[0] == str(tmp_path / "built/parallel_scalar_sum")
    assert json.loads(one.note) == {"label": "parallel_scalar_sum", "size": None, "kind": "parallel"}
    place = tmp_path / one.name
    place.mkdir()
    (place / "key-p0-00.json").write_text(json.dumps({"command": "parallel_scalar_sum good 2 100 7 1"}))
    (again,), _ = applications.applications(tmp_path / "built", tmp_path, seconds=0.1)
    assert again.program.command == "parallel_scalar_sum good 2 100 7 1"


def test_a_probe_finds_which_events_count(fake_perf, folder, tmp_path, monkeypatch):
    known = (
        events.table()
        .loc[["ex_ret_brn", "ex_ret_brn_misp", "ls_locks.all"]]
        .rename({"ls_locks.all": "x.never"})
    )
    case = next(case for case in ALL_CASES if case.name == "micro-branch-P")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    found = countable.probe(
        case, known, folder, tmp_path, seconds=0.3, counters={"offered": 6, "good": 5}, lock=None
    )
    assert found == ["ex_ret_brn", "ex_ret_brn_misp"]


def test_a_sweep_is_drawn_and_kept_among_the_results(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    monkeypatch.setattr(
        "cmlib.workloads.micro.__main__.build", lambda place: place.mkdir(parents=True) or place
    )
    sizes = np.array([2**octave * quarter // 4 for octave in range(13, 27) for quarter in (4, 5, 6, 7)])
    measured = pd.DataFrame({"size": sizes, "ns": np.repeat([1.0, 4.0, 20.0, 120.0], 14)})
    monkeypatch.setattr("cmlib.workloads.micro.__main__.sweep", lambda _: measured)
    done = CliRunner().invoke(main, ["--sweep"])
    assert done.exit_code == 0, done.output
    assert (
        "working sets [bytes]" in done.output
        and (tmp_path / "results/micro/sweep.png").stat().st_size > 10_000
    )
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "results/micro/sweep.csv"), measured)
