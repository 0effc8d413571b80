"""Settings of Spark's runs: how they are drawn, and read back from recordings."""

import re

import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from cmlib.cli import main
from cmlib.errors import CmlibError, NothingRecordedError
from cmlib.experiments.tuning.labels import parse_program_label, program_label
from cmlib.experiments.tuning.recordings import load_levels, load_tuned
from cmlib.experiments.tuning.settings import TABLE_IV, emitted_of, parse_quantity, settings_of
from cmlib_workloads.tuning import at_levels, at_random, at_rates, order_runs, record_runs
from cmlib_workloads.tuning.rates import important_rates, rates_to_emit
from tests.notebook_functions import functions_of
from tests.small_runs import add_run

MACHINE = {"model_name": "one", "kernel": "Linux", "processors": 2}
OTHER = MACHINE | {"model_name": "other"}


def test_settings_lie_within_table_iv_and_reach_its_ends():
    drawn = [settings_of(run.options) for run in at_random("sort", 300)]
    for abbr, setting in TABLE_IV.items():
        low, high = parse_quantity(setting.low), parse_quantity(setting.high)
        values = [settings[abbr] for settings in drawn]
        assert low * 0.99 <= min(values) and max(values) <= high * 1.01
        assert min(values) < low * (high / low) ** 0.1 and max(values) > high / (high / low) ** 0.1


def test_more_runs_begin_with_the_same_ones():
    assert at_random("sort", 20)[:7] == at_random("sort", 7)
    assert len({tuple(run.options.items()) for run in at_random("sort", 20)}) == 20
    assert at_random("sort", 3, seed=1) != at_random("sort", 3)


def test_one_parameter_moves_at_a_time():
    default, *ends = at_levels("sort", ["bbs", "rdm"])
    assert [run.name for run in ends] == ["sort-bbs-low", "sort-bbs-high", "sort-rdm-low", "sort-rdm-high"]
    base = settings_of(default.options)
    for run in ends:
        moved = {abbr for abbr, value in settings_of(run.options).items() if value != base[abbr]}
        assert moved == {run.name.split("-")[1]}


def test_each_pass_has_an_order_of_its_own():
    runs = at_levels("sort", ["bbs", "exc", "nwt"])
    passes = [[run for number, run in order_runs(runs, 3) if number == of_pass] for of_pass in (1, 2, 3)]
    assert all(sorted(order, key=runs.index) == runs for order in passes)
    assert passes[0] != passes[1] != passes[2] != passes[0]
    assert [run for _, run in order_runs(runs, 1)] == runs


def test_rates_are_drawn_by_themselves_a_third_of_them_none():
    runs = at_rates("sort", {"page-faults": 500.0, "cpu-migrations": 20.0}, 300, at="exc-high")
    level = next(run for run in at_levels("sort", ["exc"]) if run.name == "sort-exc-high")
    assert runs[7].name == "sort-emit-exc-high-007" and all(run.options == level.options for run in runs)
    rates = pd.DataFrame([emitted_of(run.noted) for run in runs])
    assert (rates == 0).mean().between(0.25, 0.42).all()
    assert abs(rates.corr(method="spearman").iloc[0, 1]) < 0.15
    for event, top in (("page-faults", 500.0), ("cpu-migrations", 20.0)):
        some = rates.loc[rates[event] > 0, event]
        assert 0.1 * top <= some.min() < 0.11 * top and 0.98 * top < some.max() <= top
        assert some.median() == pytest.approx(top * 0.1**0.5, rel=0.2)
    alone = at_rates("sort", {"page-faults": 500.0}, 20, at="exc-high")
    assert [run.emitted["page-faults"] for run in runs[:20]] == [run.emitted["page-faults"] for run in alone]


@pytest.mark.parametrize(("text", "value"), [("64k", 65536), ("2g", 2 << 30), ("120s", 120), ("0.6", 0.6)])
def test_quantities(text, value):
    assert parse_quantity(text) == value


@pytest.mark.parametrize("text", ["", "k", "64kb", "-1", "1,5"])
def test_what_is_no_quantity_is_refused(text):
    with pytest.raises(ValueError):
        parse_quantity(text)


words = st.text("abcdefgh.012", min_size=1, max_size=12)


@given(words, st.floats(1e-3, 1e3), st.dictionaries(words, words, max_size=4))
def test_a_label_is_read_as_it_was_written(name, scale, options):
    scale = float(f"{scale:g}")
    assert parse_program_label(program_label(name, scale=scale, options=options)) == (name, scale, options)


@pytest.mark.parametrize(
    "text", ["./sort", "cmlib record --program sort", f"{program_label('sort')} --option", ""]
)
def test_what_is_no_label_is_refused(text):
    with pytest.raises(CmlibError, match="is not a command that records a program"):
        parse_program_label(text)


def test_the_list_names_the_designs(tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    done = CliRunner().invoke(main, ["record-tuning", "--list", "--program", "sort"])
    assert done.exit_code == 0, done.output
    assert re.search(r"sort at random +60 of +60 runs", done.output)
    assert re.search(r"sort at both ends of exc, nwt, ssb +28 of +28 runs", done.output)
    assert "sort beside emitted events, exc-high" in done.output
    done = CliRunner().invoke(main, ["record-tuning", "--list", "--program", "bzip2"])
    assert done.exit_code == 2 and "kmeans" in done.output


def test_only_programs_on_a_cluster_are_recorded(tmp_path):
    with pytest.raises(CmlibError, match="'bzip2' does not run on a cluster of Spark"):
        list(record_runs("bzip2", [], tmp_path / "tuning", counters={"offered": 0, "good": 0}))


@pytest.fixture
def write(tmp_path):
    def write(run, counts, *, seconds=10.0, scale=1.0, machine=MACHINE, folder=""):
        told = program_label(run.name.split("-")[0], scale=scale, options=run.noted)
        changes = {"command": told, "duration_s": seconds, "machine": machine}
        return add_run(tmp_path / folder, run.name, "tuning", 0, 0, counts.items(), **changes)

    return write


def test_without_cycles_events_are_rates_of_processor_time_and_a_run_is_an_example(write, tmp_path):
    for number, run in enumerate(at_random("sort", 3)):
        write(run, {"task-clock": 50, "page-faults": 100 * (number + 1)}, seconds=10.0 + number)
    tuned = load_tuned(tmp_path)["sort"]
    assert tuned.per == "task-clock" and tuned.scale == 1 and tuned.machine == MACHINE
    assert tuned.runs.rates["page-faults"].tolist() == [2, 4, 6]
    assert tuned.runs.seconds.tolist() == tuned.runs.performance.tolist() == [10, 11, 12]
    assert tuned.runs.parameters.loc["sort-001"].to_dict() == settings_of(at_random("sort", 2)[1].options)
    assert tuned.levels.empty


def test_with_cycles_every_whole_interval_is_an_example_of_ipc(write, tmp_path):
    for run in at_random("sort", 2):
        write(run, {"instructions:uD": 300, "cycles:uD": 200, "page-faults": 20})
    runs = load_tuned(tmp_path)["sort"].runs
    assert runs.examples.index.tolist() == ["sort-000"] * 2 + ["sort-001"] * 2
    assert runs.performance.tolist() == [1.5] * 4 and runs.examples["page-faults"].tolist() == [0.1] * 4
    assert list(runs.rates) == ["page-faults"]


def test_levels_stand_beside_the_defaults(write, tmp_path):
    for run, seconds in zip(at_levels("sort", ["bbs", "dpl"]), (10, 12, 11, 20, 9), strict=True):
        write(run, {"task-clock": 50, "page-faults": 1}, seconds=float(seconds))
    write(at_random("sort", 1)[0], {"task-clock": 50, "page-faults": 1})
    levels = load_tuned(tmp_path)["sort"].levels
    assert levels.groupby("parameter")["seconds"].apply(sorted).to_dict() == {
        "bbs": [10, 11, 12],
        "dpl": [9, 10, 20],
    }


def test_levels_are_told_apart_by_session(write, tmp_path):
    for run in at_levels("sort", ["dpl"]):
        write(run, {"task-clock": 50}, seconds=10.0, folder="tuning")
    for run, seconds in zip(at_levels("sort", ["bbs"]), (20, 22, 21), strict=True):
        write(run, {"task-clock": 50}, seconds=float(seconds), folder="tuning-levels", machine=OTHER)
    write(at_random("sort", 1)[0], {"task-clock": 50}, folder="tuning")
    write(at_random("pagerank", 1)[0], {"task-clock": 50}, folder="tuning")
    levels = load_levels(tmp_path)
    assert set(levels["program"]) == {"sort"}
    assert levels.groupby(["session", "parameter"])["seconds"].apply(list).to_dict() == {
        ("2026-11-21, one", "dpl"): [10, 10, 10],
        ("2026-11-21, other", "bbs"): [21, 22, 20],
    }
    with pytest.raises(NothingRecordedError, match="'pagerank' is not among .* one parameter"):
        load_levels(tmp_path, "pagerank")


def test_levels_of_several_machines_in_one_session_are_refused(write, tmp_path):
    default, low, _ = at_levels("sort", ["bbs"])
    write(default, {"task-clock": 50}, folder="tuning-levels")
    write(low, {"task-clock": 50}, folder="tuning-levels", machine=OTHER)
    with pytest.raises(CmlibError, match="times cannot be compared"):
        load_levels(tmp_path)


def test_runs_with_emitted_events_are_an_experiment_of_their_own(write, tmp_path):
    for number, run in enumerate(at_random("sort", 5)):
        write(run, {"task-clock": 500, "page-faults": 500 + 1000 * number, "cpu-migrations": 5}, seconds=10.0)
    for run in at_levels("sort", ["exc"])[::2]:
        write(run, {"task-clock": 500, "page-faults": 1500, "cpu-migrations": 5}, seconds=9.0)
    one = load_tuned(tmp_path)["sort"]
    assert one.emitted == {} and list(one.usual) == ["default", "exc-high"] and (one.pace == 150).all()
    highest = rates_to_emit(one, ["page-faults", "cpu-migrations"], at="exc-high")
    assert highest == pytest.approx({"page-faults": 150 * (9 - 3), "cpu-migrations": 0})
    assert important_rates(tmp_path, "sort", "exc-high") == pytest.approx(highest)

    for run in at_rates("sort", {"page-faults": 900.0}, 30, at="exc-high"):
        faults = 1500 + float(run.emitted["page-faults"])
        write(run, {"task-clock": 500, "page-faults": faults, "cpu-migrations": 5}, seconds=9.0)
    tuned = load_tuned(tmp_path)["sort"]
    emitted = tuned.emitted["exc-high"]
    assert len(tuned.runs) == 5 and len(emitted) == 30 and tuned.levels.equals(one.levels)
    expected = 3 + emitted.parameters["page-faults"] / 500
    assert emitted.rates["page-faults"].to_numpy() == pytest.approx(expected.to_numpy())
    experiments = [(tuned.runs, {}), (emitted, {"page-faults": ("page-faults",)})]
    names = {"CAUSES": "causes", "CORRELATES": "correlates only", "NOT_SHOWN": "not shown"}
    find_causes = functions_of("causes", seed=0, **names)["find_causes"]
    judged = find_causes(tuned.runs, ["page-faults", "cpu-migrations"], experiments)
    assert judged["factor"].tolist() == ["page-faults", ""]


@pytest.mark.parametrize("change", [{"scale": 2.0}, {"machine": OTHER}])
def test_times_that_cannot_be_compared_are_refused(write, tmp_path, change):
    one, other = at_random("sort", 2)
    write(one, {"task-clock": 50, "page-faults": 1})
    write(other, {"task-clock": 50, "page-faults": 1}, **change)
    with pytest.raises(CmlibError, match="sort at scale .* times cannot be compared"):
        load_tuned(tmp_path)


def test_what_is_not_recorded_is_told_with_its_command(write, tmp_path):
    with pytest.raises(NothingRecordedError, match=r"run `cmlib record-tuning`"):
        load_tuned(tmp_path)
    write(at_random("sort", 1)[0], {"task-clock": 50, "page-faults": 1})
    with pytest.raises(
        NothingRecordedError,
        match="'pagerank' is not among .* of Spark .sort.*record-tuning --program pagerank`",
    ):
        load_tuned(tmp_path, "sort, pagerank")
    write(at_levels("kmeans", ["dpl"])[1], {"task-clock": 50, "page-faults": 1})
    with pytest.raises(
        NothingRecordedError, match="of kmeans with random settings is recorded yet: run .*--program kmeans`"
    ):
        load_tuned(tmp_path, "kmeans")


def test_the_session_of_levels_is_listed_by_itself(tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    done = CliRunner().invoke(main, ["record-tuning", "--list", "--levels"])
    assert done.exit_code == 0, done.output
    assert re.search(r"sort at both ends of bbs, nwt, exc, one session +42 of +42 runs", done.output)
    assert "at random" not in done.output
