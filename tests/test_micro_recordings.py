"""The micro-benchmarks are recorded in one go: the plan, the programs beside them, the events that count."""

import json
import os
import re
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest
from click.testing import CliRunner

from cmlib.cli import main
from cmlib.collect.workloads import kernels
from cmlib.collect.workloads.micro import case_runs, cases
from cmlib.collect.workloads.micro.case_runs import Application, applications, catalog
from cmlib.collect.workloads.micro.selection import (
    FOLDER,
    counting_events,
    probe,
    read_slices,
    recorded_key_events,
)
from cmlib.io import events
from cmlib.io.archive import programs as archive
from cmlib.io.archive.runs import run_name
from tests.micro_cases import ALL_CASES, SIZES
from tests.small_runs import add_run

pytestmark = pytest.mark.needs("cc")


@pytest.fixture
def recorder(monkeypatch):
    """In the place of `record`: writes what perf would have, with rates that depend on the case's class."""
    made = []

    def write(name, command, plans, *, passes, encodings, counters, folder, lock, on_demand, note):
        label, existing = json.loads(note)["label"], archive.existing_runs(folder / name)
        for number in range(passes):
            for plan in plans:
                run = run_name(plan.set, number, plan.part)
                if run in existing:
                    continue
                made.append((name, run, command, on_demand))
                assert isinstance(lock, int)
                meta = {
                    "program": name,
                    "run": run,
                    "set": plan.set,
                    "pass": number,
                    "part": plan.part,
                    "mode": plan.mode,
                    "command": "made up",
                    "pinned": list(plan.pinned),
                    "groups": [list(group) for group in plan.groups],
                    "modifier": plan.modifier,
                    "interval_ms": plan.interval_ms,
                    "encodings": encodings,
                    "counters": counters,
                    "machine": {},
                    "date": None,
                    "duration_s": 1.7,
                    "exit_code": 0,
                    "note": note,
                }
                (folder / name).mkdir(exist_ok=True)
                archive.add_run(folder / name, meta, written_by_perf(plan, label, seed=len(made)).encode())

    monkeypatch.setattr(case_runs, "record", write)
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


def test_all_recordings_are_made_in_one_go_and_only_once(recorder, micro_binaries, tmp_path, monkeypatch):
    monkeypatch.setattr(case_runs, "listed_events", lambda: None)
    monkeypatch.setattr(case_runs, "encodings", lambda asked, _: ({name: name for name in asked}, {}))
    options = case_runs.Settings(seconds=1, passes=2, all_per_run=4, key_events=3)
    names = [
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
        entry for entry in case_runs.plan_cases(sizes, options, len(names)) if entry[0].program.name in few
    ]
    own = tmp_path / FOLDER
    make = partial(
        case_runs.record_cases, plan, options, names, micro_binaries, own, counters={"offered": 6, "good": 5}
    )
    assert len(list(make())) == len(plan)
    chosen = recorded_key_events(own)
    assert {"ex_ret_brn_misp", "ls_stlf"} <= set(chosen)
    assert len(chosen) == 3
    assert len(recorder) == sum(n_runs for _, _, n_runs in plan)
    assert all(on_demand for _, _, _, on_demand in recorder)
    assert not any(os.sep in command[0] for _, _, command, _ in recorder)
    assert len(list(make())) == len(plan)
    assert recorded_key_events(own) == chosen
    assert len(recorder) == sum(n_runs for _, _, n_runs in plan)

    trained = [case for case in cases(sizes, trained=True) if case.program.name in few]
    X, about = read_slices(own, "key")
    y = about["label"]
    assert set(X.columns) == {"instructions", *chosen}
    assert dict(zip(X.index.get_level_values("program"), y, strict=True)) == {
        c.name: c.label for c in trained
    }
    assert X.groupby(["program", "pass"]).size().eq(3).all()
    npt.assert_allclose(X.loc[y == "P_CPU", "ex_ret_brn_misp"], 0.5, rtol=0.2)
    sizes_of = about.groupby("label")["size"].first()
    assert sizes_of["P_Mem_L3"] == 1 << 17 and np.isnan(sizes_of["P_CPU"])
    unseen, _ = read_slices(own, "key", "unseen")
    assert set(unseen.index.get_level_values("program")) == {"unseen-filter-P", "unseen-filter-N"}


def test_the_plan_says_how_long_it_takes(micro_binaries):
    options = case_runs.Settings(seconds=30, passes=2, all_per_run=60)
    plan = case_runs.plan_cases(SIZES, options, 225)[::20]
    minutes = case_runs.estimate_minutes(plan, options)
    assert [n for _, name, n in plan if name == "all"] == [4] * sum(name == "all" for _, name, _ in plan)
    assert all(0.5 * n <= m <= 0.7 * n for m, (_, _, n) in zip(minutes, plan, strict=True))


def test_which_events_count_is_learnt_from_recordings(tmp_path):
    assert counting_events(tmp_path, "amd_zen5") == []
    for part, own in enumerate(["amd_zen5", "intel_skl"]):
        meta = {"groups": [[f"b_{own}", "c"], ["a"]], "machine": {"microarchitecture": own}}
        add_run(tmp_path, "gcc", "sweep", 0, part, [], **meta)
    assert counting_events(tmp_path, "amd_zen5") == ["a", "b_amd_zen5", "c"]
    assert counting_events(tmp_path, None) == ["a", "b_amd_zen5", "b_intel_skl", "c"]


def test_a_probe_finds_which_events_count(fake_perf, micro_binaries, tmp_path, monkeypatch):
    known = (
        events.table()
        .loc[["ex_ret_brn", "ex_ret_brn_misp", "ls_locks.all"]]
        .rename({"ls_locks.all": "x.never"})
    )
    case = next(case for case in ALL_CASES if case.name == "micro-branch-P")
    monkeypatch.setenv("PATH", f"{micro_binaries}:{os.environ['PATH']}")
    found = probe(case, known, tmp_path, seconds=0.3, counters={"offered": 6, "good": 5}, lock=None)
    assert found == ["ex_ret_brn", "ex_ret_brn_misp"]


def test_the_command_lists_what_it_would_record(micro_binaries, tmp_path, monkeypatch):
    monkeypatch.setattr("cmlib.collect.workloads.micro.build", lambda _: micro_binaries)
    others = [Application("cpu-gcc", "CPU", None)], ["parallel programs: no C++ compiler"]
    monkeypatch.setattr("cmlib.cli.campaign.applications", lambda *_, **__: others)
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    meta = {"groups": [["a", "b"]], "machine": {"microarchitecture": "amd_zen5"}}
    add_run(tmp_path / "recordings", "gcc", "sweep", 0, 0, [], **meta)
    invoke = partial(CliRunner().invoke, main)
    listing = ["record-micro", "--list"]
    listed = invoke([*listing, "--sizes", "L2=64;L3=128;M=256", "--seconds", "60"])
    assert listed.exit_code == 0, listed.output
    rows = re.findall(r"^(micro|unseen)-\S+ +([PN]_\w+) .* (\d+) runs", listed.output, re.M)
    total, minutes = re.search(r"^(\d+) runs, about (\d+) minutes", listed.output, re.M).groups()
    assert sum(int(n) for _, _, n in rows) == int(total)
    assert int(total) <= int(minutes) <= 1.2 * int(total)
    assert re.search(r"^cpu-gcc +CPU +key +3 runs", listed.output, re.M) and "and 3 of other" in listed.output
    assert "left out: parallel programs: no C++ compiler" in listed.output
    assert not list((tmp_path / "recordings").glob("micro-*"))
    assert "give KiB for all of L2, L3 and M" in invoke([*listing, "--sizes", "L2=64"]).output


@pytest.mark.needs("c++")
def test_parallel_programs_are_recorded_by_name_and_last_as_long_as_before(tmp_path, monkeypatch):
    """One that can't be compiled, as without Boost's headers, concerns no other."""
    kernel = next(k for k in kernels.kernels() if k.name == "parallel_scalar_sum")
    broken = replace(kernel, name="spinlock_pool")
    monkeypatch.setattr(kernels, "kernels", lambda: [broken, kernel])
    monkeypatch.setattr(kernels, "SOURCES", tmp_path / "sources")
    shutil.copytree(Path(kernels.__file__).parent / "src", tmp_path / "sources")
    (tmp_path / "sources/spinlock_pool.cpp").write_text("#include <boost/that/is/not/there.hpp>\n")
    monkeypatch.setattr(catalog, "lacking", lambda: {"SPEC CPU2006": {"povray": ("povray",)}})
    (one,), left_out = applications(tmp_path / "built", tmp_path, seconds=0.1)
    assert left_out[0] == "cpu-povray: lacks povray" and len(left_out) == 2
    assert re.match(r"parallel-spinlock_pool: (.|\n)*not/there.hpp", left_out[1])
    assert (
        one.program.command.startswith("parallel_scalar_sum good 2 ")
        and str(tmp_path) not in one.program.command
    )
    with one.program.prepare() as counted:
        assert counted.command[0] == str(tmp_path / "built/parallel_scalar_sum")
    assert json.loads(one.note) == {"label": "parallel_scalar_sum", "size": None, "kind": "parallel"}
    add_run(tmp_path, one.name, "key", 0, 0, [], command="parallel_scalar_sum good 2 100 7 1")
    (again,), _ = applications(tmp_path / "built", tmp_path, seconds=0.1)
    assert again.program.command == "parallel_scalar_sum good 2 100 7 1"
