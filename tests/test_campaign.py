"""All recordings in one go: what is listed, what is made within a budget, and what is told at the end."""

import itertools
import json
from dataclasses import replace
from functools import partial

import pytest
from click.testing import CliRunner

from cmlib import places
from cmlib.cli import main
from cmlib.collect import campaign, machine, record
from cmlib.collect.campaign import Job, Part, Setting, check_quiet, rejections, run_parts
from cmlib.collect.schedule import make_plans
from cmlib.errors import CmlibError
from cmlib.io import events

COUNTERS = {"offered": 6, "good": 5}


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr("cmlib.collect.campaign._WATCHED_S", 0.01)


def job(name, ended, error=None):
    """A job that makes one recording of its own name, or fails."""

    def make():
        try:
            if error:
                raise error
            yield name
        finally:
            ended.append(name)

    return Job(name, 1, 0, 60.0, make)


def part(name, jobs):
    return Part(name, "00", f"what {name} is", lambda setting: iter(jobs))


def test_parts_are_made_in_turn_and_a_failure_ends_only_its_recording(tmp_path):
    said, ended = [], []
    failing = job("two", ended, CmlibError("no room"))
    parts = [part("a", [job("one", ended), failing, job("three", ended)]), part("b", [job("four", ended)])]
    outcome = run_parts(parts, Setting(tmp_path, COUNTERS), busy=1.0, progress=said.append)
    assert outcome.made == [("a", "one"), ("a", "three"), ("b", "four")]
    assert outcome.failed == {"a, two": "no room"} and outcome.left == []
    assert ended == ["one", "two", "three", "four"]
    assert said[0] == "a: what a is" and "a: two failed: no room" in said


def test_a_part_that_cannot_begin_does_not_stop_the_others(tmp_path):
    def broken(setting):
        raise CmlibError("perf is not installed")
        yield

    parts = [Part("a", "00", "", broken), part("b", [job("one", [])])]
    outcome = run_parts(parts, Setting(tmp_path, COUNTERS), busy=1.0)
    assert outcome.failed == {"a": "perf is not installed"} and outcome.made == [("b", "one")]


def test_a_spent_budget_ends_what_was_started_and_begins_nothing(tmp_path):
    ended = []
    parts = [part("a", [job("one", ended), job("two", ended)]), part("b", [job("three", ended)])]
    outcome = run_parts(parts, Setting(tmp_path, COUNTERS), budget=0.0001, busy=1.0)
    assert outcome.made == [("a", "one")] and outcome.left == ["a", "b"] and ended == ["one"]


def proc(folder, busy_jiffies, names):
    (folder / "proc").mkdir(parents=True)
    (folder / "proc/stat").write_text(f"cpu {busy_jiffies} 0 0 1000 0 0 0 0 0 0\n")
    for pid, name in names.items():
        (folder / f"proc/{pid}").mkdir()
        (folder / f"proc/{pid}/comm").write_text(f"{name}\n")
    return folder


def test_a_machine_on_which_perf_runs_is_not_quiet(tmp_path, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    quiet = proc(tmp_path / "quiet", 100, {12: "bash"})
    check_quiet(root=quiet)
    counted = proc(tmp_path / "counted", 100, {12: "bash", 117: "perf"})
    with pytest.raises(campaign.BusyMachine, match=r"others count already, perf \(117\)"):
        check_quiet(root=counted)


def test_a_machine_whose_processors_are_taken_is_not_quiet(tmp_path, monkeypatch):
    readings = iter([(0.0, 0.0, 0.0), (2.0, 3.0, 0.0)] * 5)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setattr("cmlib.collect.machine.processor_times", lambda root: next(readings))
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    with pytest.raises(campaign.BusyMachine, match="other programs take 75 % .* 5 % is the most allowed"):
        check_quiet(root=proc(tmp_path, 100, {}))


def test_what_was_thrown_away_is_told_from_the_recordings(tmp_path):
    for name, about in {
        "recordings/gcc/ocoe-p0-00": {"rejected": ["x was on its counter only 87 % of an interval"]},
        "recordings/gcc/ocoe-p0-01": {"rejected": []},
        "recordings/fingerprint/micro-array/key-p0-00": {"rejected": ["a", "b"]},
        "regions/hardware/histogram/good": {"rejected_executions": 3},
    }.items():
        file = tmp_path / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(about))
    assert rejections(tmp_path) == {
        "gcc/ocoe-p0-00": "x was on its counter only 87 % of an interval",
        "micro-array/key-p0-00": "a; b",
        "histogram/good": "3 executions were disturbed, or not counted all the time",
    }


def test_an_ungrouped_plan_leaves_the_turns_to_the_kernel():
    (plan,) = make_plans("ungrouped", ["a", "b", "c", "d"], 5)
    assert plan.groups == (("a",), ("b",), ("c",), ("d",)) and plan.mode == "mlpx"
    with pytest.raises(ValueError, match="named more than once"):
        make_plans("ungrouped", ["a", "a"], 5)


@pytest.fixture
def small_zen5(monkeypatch, fake_perf):
    """A Zen 5 of which forty events are known."""
    about = machine.describe() | {"vendor": "AuthenticAMD", "family": 26, "model": 2}
    monkeypatch.setattr(machine, "describe", lambda: about | {"microarchitecture": "amd_zen5"})
    whole = events.table()
    core = events.core_events(whole)
    table = whole.loc[[*core, *[name for name in whole.index if name not in core][:28]]]
    monkeypatch.setattr(events, "table_of", lambda about: table)
    return table


def of_one_program(part, name):
    """A part of programs, of this one only."""
    _, *others = part.jobs.args
    return replace(part, jobs=partial(part.jobs.func, lambda: [name], *others))


@pytest.mark.slow
def test_programs_are_recorded_both_ways_by_degree_and_without_groups(small_zen5, tmp_path, monkeypatch):
    monkeypatch.setattr(record.protocol, "_PASSES", 1)
    monkeypatch.setattr(record.protocol, "_SWEEP_PASSES", 1)
    quick = record.Program("quick", record.execute.as_program(["sleep", "0.11"]).prepare)
    monkeypatch.setattr(campaign.catalog, "to_record", lambda name: quick)
    setting = Setting(tmp_path, COUNTERS)
    for part in campaign.parts(["programs", "degrees", "ungrouped"]):
        (job,) = of_one_program(part, "app").jobs(setting)
        assert list(job.make()) == ["app"]
    metas = record.existing_runs(tmp_path / "recordings/app").values()
    sets = {meta["set"] for meta in metas}
    assert sets == {
        "ocoe",
        "mlpx12",
        "probe",
        "sweep",
        "ungrouped",
        *(f"mlpx{n}" for n in (6, 18, 24, 30, 36)),
    }
    counted = {meta["set"]: sum(map(len, meta["groups"])) for meta in metas}
    again = {
        meta["set"]: len(events.second_readings(itertools.chain.from_iterable(meta["groups"])))
        for meta in metas
    }
    assert counted["mlpx30"] - again["mlpx30"] == 30 and counted["ungrouped"] - again["ungrouped"] == 40
    assert again["mlpx6"] == again["mlpx30"] == again["ungrouped"] == 1
    assert again["ocoe"] == again["probe"] == 0
    (job,) = of_one_program(campaign.parts(["programs"])[0], "app").jobs(setting)
    assert (job.name, job.missing, job.runs) == ("app", 8 + 2 + 0 + 4, 12 + 3 + 1 + 8)


def test_degrees_need_a_sweep_first(small_zen5, tmp_path, monkeypatch):
    monkeypatch.setattr(campaign.catalog, "to_record", lambda name: None)
    (job,) = of_one_program(campaign.parts(["degrees"])[0], "app").jobs(Setting(tmp_path, COUNTERS))
    with pytest.raises(CmlibError, match="app has no complete sweep yet"):
        list(job.make())


def test_hardware_events_come_first_where_they_were_recorded(tmp_path):
    assert places.hardware_first(tmp_path) == tmp_path
    (tmp_path / "hardware").mkdir()
    assert places.hardware_first(tmp_path) == tmp_path / "hardware"


@pytest.mark.slow
def test_the_command_lists_every_part_on_any_machine(no_pmu, tmp_path):
    done = CliRunner().invoke(main, ["record-all", "--list", "--folder", str(tmp_path)])
    assert done.exit_code == 0, done.output
    for one in campaign.PARTS:
        assert f"{one.name} (notebook {one.notebook})" in done.output
    assert "with 5 counters" in done.output
    refused = CliRunner().invoke(main, ["record-all", "--only", "nothing", "--list"])
    assert "there is no part 'nothing'; there are micro, kernels" in refused.output


def test_without_counters_nothing_is_begun(no_pmu, tmp_path):
    done = CliRunner().invoke(main, ["record-all", "--folder", str(tmp_path)])
    assert done.exit_code != 0 and "no hardware event can be counted here: perf is not" in done.output


@pytest.fixture
def no_pmu(monkeypatch):
    """A census that finds nothing."""
    nothing = machine.Census(0, 0, complaint="perf is not installed")
    monkeypatch.setattr("cmlib.collect.machine.census", lambda: nothing)
