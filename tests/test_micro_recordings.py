"""The micro-benchmarks are recorded in one go: the plan, the programs beside them, the events that count."""

import itertools
import json
import os
import re
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from click.testing import CliRunner

from cmlib.cli import main
from cmlib.collect.schedule import make_plans
from cmlib.errors import CmlibError
from cmlib.experiments.micro.recordings import FOLDER
from cmlib.io.archive import programs as archive
from cmlib.io.archive.runs import run_name
from cmlib_workloads import kernels
from cmlib_workloads.micro import case_runs, cases
from cmlib_workloads.micro.case_runs import applications, catalog, read_slices, recorded_events

pytestmark = pytest.mark.needs("cc")


@pytest.fixture
def recorder(monkeypatch):
    """In the place of `record_program`: writes what perf would have, with rates that depend on the case's class."""
    made = []

    def write(name, command, request, *, counters, folder, lock, note, on_demand=False):
        label, existing = json.loads(note)["label"], archive.existing_runs(folder / name)
        chosen = NAMES if request.events == "all" else request.events.split(",")
        how = {"per_run": request.per_run, "set_name": request.set_name, "interval_ms": request.interval_ms}
        for number, plan in itertools.product(
            range(request.passes), make_plans(request.mode, chosen, counters["good"], **how)
        ):
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
                "encodings": {event: event for event in plan.events},
                "counters": counters,
                "machine": {},
                "date": None,
                "duration_s": 1.7,
                "exit_code": 0,
                "note": note,
            }
            (folder / name).mkdir(exist_ok=True)
            archive.add_run(folder / name, meta, written_by_perf(plan, label, seed=len(made)).encode())

    monkeypatch.setattr(case_runs, "record_program", write)
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


NAMES = [
    "ex_ret_brn_misp",
    "ls_stlf",
    "ex_div_busy",
    "ex_ret_brn",
    "ls_dispatch.all",
    "de_op_queue_empty",
]


@pytest.mark.full
def test_all_recordings_are_made_in_one_go_and_only_once(recorder, micro_binaries, tmp_path, monkeypatch):
    for name, value in {"SECONDS": 1, "PASSES": 2, "ALL_PER_RUN": 4, "KEY_EVENTS": 3}.items():
        monkeypatch.setattr(case_runs, name, value)
    monkeypatch.setattr(case_runs, "n_events", lambda: len(NAMES))
    sizes = {"L2": [1 << 16], "L3": [1 << 17], "M": [1 << 18]}
    few = {"array", "branch", "filter"}
    listed = partial(few_cases, few)
    monkeypatch.setattr(case_runs.micro, "cases", listed)
    monkeypatch.setattr(case_runs.micro, "build", lambda folder: micro_binaries)
    monkeypatch.setattr(case_runs, "stored_sizes", lambda folder: sizes)
    monkeypatch.setattr(case_runs.micro, "sweep", lambda built: pd.DataFrame({"size": [1], "ns": [1.0]}))
    monkeypatch.setattr(case_runs, "applications", lambda built: ({}, []))
    plan, own = case_runs.plan_cases(sizes), tmp_path / FOLDER
    make = partial(case_runs.record_cases, micro_binaries, own, {"offered": 6, "good": 5})
    assert len(list(make())) == len(plan)
    chosen = recorded_events(own, "key")
    assert {"ex_ret_brn_misp", "ls_stlf"} <= set(chosen)
    assert len(chosen) == 3
    assert len(recorder) == sum(n_runs for _, _, n_runs in plan)
    assert all(on_demand for _, _, _, on_demand in recorder)
    assert not any(os.sep in command[0] for _, _, command, _ in recorder)
    assert len(list(make())) == len(plan)
    assert recorded_events(own, "key") == chosen
    assert len(recorder) == sum(n_runs for _, _, n_runs in plan)

    trained = listed(sizes, trained=True)
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


def few_cases(few, sizes, *, trained):
    return [case for case in cases(sizes, trained=trained) if case.program.name in few]


def test_without_counters_nothing_is_begun(tmp_path):
    with pytest.raises(CmlibError, match="no hardware event can be counted here"):
        list(case_runs.record_cases(tmp_path, tmp_path, {"offered": 0, "good": 0}))


def test_the_command_lists_what_it_would_record(tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    listed = CliRunner().invoke(main, ["record-micro", "--list"])
    assert listed.exit_code == 0, listed.output
    assert re.search(r"cases, and programs never trained on +(\d+) of +\1 runs", listed.output)
    assert not list((tmp_path / "recordings").glob("**/micro-*"))


@pytest.mark.needs("c++")
def test_parallel_programs_are_recorded_by_name_and_last_as_long_as_before(tmp_path, monkeypatch):
    """One that can't be compiled, as without Boost's headers, concerns no other."""
    kernel = next(k for k in case_runs.all_kernels() if k.name == "parallel_scalar_sum")
    broken = replace(kernel, name="spinlock_pool")
    monkeypatch.setattr(case_runs, "all_kernels", lambda: [broken, kernel])
    monkeypatch.setattr(kernels, "SOURCES", tmp_path / "sources")
    shutil.copytree(Path(kernels.__file__).parent / "src", tmp_path / "sources")
    (tmp_path / "sources/spinlock_pool.cpp").write_text("#include <boost/that/is/not/there.hpp>\n")
    monkeypatch.setattr(catalog, "lacking", lambda: {"povray": ["povray"]})
    monkeypatch.setattr(catalog, "of_suites", lambda suite: ["povray"])
    found, left_out = applications(tmp_path / "built")
    ((name, (kind, program)),) = found.items()
    assert left_out[0] == "cpu-povray: lacks povray" and len(left_out) == 2
    assert re.match(r"parallel-spinlock_pool: (.|\n)*not/there.hpp", left_out[1])
    assert (name, kind) == ("parallel-parallel_scalar_sum", "parallel")
    assert program.command.startswith("parallel_scalar_sum good 2 ") and str(tmp_path) not in program.command
    with program.prepare() as counted:
        assert counted.command[0] == str(tmp_path / "built/parallel_scalar_sum")
