"""All recordings in one go: what is listed, what is made, and what is told at the end."""

import itertools

import pytest
from click.testing import CliRunner

from cmlib.cli import main
from cmlib.collect import machine, record
from cmlib.collect.record import protocol
from cmlib.collect.schedule import make_plans
from cmlib.errors import CmlibError
from cmlib.experiments.folders import hardware_first
from cmlib.io import events
from cmlib_workloads import campaign, commands

COUNTERS = {"offered": 6, "good": 5}


@pytest.fixture(autouse=True)
def data(monkeypatch, tmp_path):
    monkeypatch.setattr(campaign, "_WATCHED_S", 0.01)
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    return tmp_path


def job(name, error=None):
    """A job that makes one recording of its own name, or fails."""

    def make():
        if error:
            raise error
        yield name

    return campaign.CampaignPart(name, 1, 0, 60.0, make)


def test_parts_are_made_in_turn_and_a_failure_ends_only_its_recording(capsys, monkeypatch):
    jobs = [job("one"), job("two", CmlibError("no room")), job("three")]
    part = campaign.Part("00", "what a is", lambda counters: jobs)
    monkeypatch.setattr(commands, "_PARTS", {"a": part})
    monkeypatch.setattr(machine, "census", lambda: machine.Census(6, 5))
    with pytest.raises(CmlibError, match="not complete: a, two"):
        commands._record(["a"], False)
    said = capsys.readouterr()
    assert "a (notebook 00): what a is" in said.out and "two failed: no room" in said.err
    assert "one is recorded" in said.out and "three is recorded" in said.out
    commands._record(["a"], True)
    listed = capsys.readouterr().out
    assert listed.count("1 of    1 runs     1.0 min") == 3 and "is recorded" not in listed


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
    campaign.check_quiet(root=quiet)
    counted = proc(tmp_path / "counted", 100, {12: "bash", 117: "perf"})
    with pytest.raises(CmlibError, match=r"others count already, perf \(117\)"):
        campaign.check_quiet(root=counted)


def test_a_machine_whose_processors_are_taken_is_not_quiet(tmp_path, monkeypatch):
    readings = iter([(0.0, 0.0, 0.0), (2.0, 3.0, 0.0)] * 5)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setattr("cmlib_workloads.campaign.processor_times", lambda root: next(readings))
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    with pytest.raises(CmlibError, match="other programs take 75 % .* 5 % is the most allowed"):
        campaign.check_quiet(root=proc(tmp_path, 100, {}))


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
    """The job of one program in a part of programs."""
    _, request, sets = commands._PARTS[part].jobs.args
    (job,) = campaign._programs([name], request, sets, COUNTERS)
    return job


@pytest.mark.slow
def test_programs_are_recorded_both_ways_by_degree_and_without_groups(small_zen5, tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "_PASSES", 1)
    monkeypatch.setattr(protocol, "_SWEEP_PASSES", 1)
    quick = record.Program("quick", record.execute.as_program(["sleep", "0.11"]).prepare)
    monkeypatch.setattr(campaign.catalog, "to_record", lambda name: quick)
    for part in ("programs", "degrees", "ungrouped"):
        assert list(of_one_program(part, "app").make()) == ["app"]
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
    job = of_one_program("programs", "app")
    assert (job.name, job.there, job.runs) == ("app", 4 + 1 + 1 + 4, 12 + 3 + 1 + 8)


def test_degrees_need_a_sweep_first(small_zen5, tmp_path, monkeypatch):
    monkeypatch.setattr(campaign.catalog, "to_record", lambda name: None)
    with pytest.raises(CmlibError, match="app has no sweep yet"):
        list(of_one_program("degrees", "app").make())


def test_hardware_events_come_first_where_they_were_recorded(tmp_path):
    assert hardware_first(tmp_path) == tmp_path
    (tmp_path / "hardware").mkdir()
    assert hardware_first(tmp_path) == tmp_path / "hardware"


@pytest.mark.slow
def test_the_command_lists_every_part_on_any_machine(no_pmu):
    done = CliRunner().invoke(main, ["record-all", "--list"])
    assert done.exit_code == 0, done.output
    for name, part in commands._PARTS.items():
        assert f"{name} (notebook {part.notebook})" in done.output
    refused = CliRunner().invoke(main, ["record-all", "--only", "nothing", "--list"])
    assert refused.exit_code == 2 and "'nothing' is not one of 'micro'" in refused.output


def test_without_counters_nothing_is_begun(no_pmu):
    done = CliRunner().invoke(main, ["record-all"])
    assert done.exit_code != 0 and "no hardware event can be counted here: perf is not" in done.output


@pytest.fixture
def no_pmu(monkeypatch):
    """A census that finds nothing."""
    nothing = machine.Census(0, 0, complaint="perf is not installed")
    monkeypatch.setattr("cmlib.collect.machine.census", lambda: nothing)
