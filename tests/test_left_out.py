"""A file that can't be read is left out by name, wherever recordings are read, and the others go on."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from cmlib.cli import main
from cmlib.errors import CmlibError
from cmlib.experiments import simulated_runs
from cmlib.experiments.folders import hardware_first
from cmlib.experiments.kernels import recordings
from cmlib.experiments.micro import recordings as micro_recordings
from cmlib.experiments.tuning.recordings import load_tuned
from cmlib.io import perf
from cmlib.io.archive import in_recording
from cmlib.io.regions import read_runs
from tests.small_runs import add_run

ROOT = Path(__file__).parent.parent
EVENTS = [("instructions", 5), ("cycles", 9)]
ABSURD_NOTES = ["", "[]", "{}", '{"label": {}, "size": 1}', '{"label": "x", "size": "1"}', "[" * 10_000,
                f'{{"label": "x", "size": {10**400}}}']  # fmt: skip


def test_micro_recordings_go_on_without_a_pass_that_can_t_be_read(tmp_path, capsys):
    note = json.dumps({"label": "none", "size": 1})
    for part in range(2):
        add_run(tmp_path, "micro-a", "all", 0, part, EVENTS, note=note)
        damaged = add_run(tmp_path, "micro-a", "all", 1, part, EVENTS, note=note)
    damaged.with_suffix(".csv.gz").write_bytes(b"x")
    for number, absurd in enumerate(ABSURD_NOTES):
        add_run(tmp_path, f"micro-bad-{number}", "all", 0, 0, EVENTS, note=absurd)
    add_run(tmp_path, "micro-mode", "all", 0, 0, EVENTS, note=note, mode=[])
    series = micro_recordings.read_series(tmp_path, "all")
    assert [(one.program, one.number) for one in series] == [("micro-a", 0)] * 2
    told = capsys.readouterr().err
    assert str(damaged.with_suffix(".csv.gz")) in told and "micro-mode" in told
    assert all(f"micro-bad-{number}" in told for number in range(len(ABSURD_NOTES)))


def test_a_program_is_summarized_and_diagnosed_without_the_run_that_can_t_be_read(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    add_run(tmp_path / "recordings", "a", "ocoe", 0, 0, EVENTS)
    add_run(tmp_path / "recordings", "a", "ocoe", 0, 1, EVENTS, machine={"model": []})
    add_run(tmp_path / "recordings", "a", "ocoe", 0, 2, EVENTS, text="no counts")
    done = CliRunner().invoke(main, ["summarize", "a"])
    assert done.exit_code == 0 and "ocoe-p0-01" in done.stderr and "ocoe-p0-02" in done.stderr
    assert simulated_runs.find_simulated_run("a") is None and "ocoe-p0-01" in capsys.readouterr().err


@pytest.mark.parametrize("broken", ["overhead.json", "bad.csv.gz", "good.json"])
def test_programs_with_regions_go_on_without_one_that_can_t_be_read(tmp_path, capsys, broken):
    regions = hardware_first(ROOT / "data/regions")
    for program in ("histogram", "cache_server"):
        shutil.copytree(regions / program, tmp_path / program)
    (tmp_path / "histogram" / broken).write_text('{"ratios": [[]]}')
    assert list(recordings.recorded_programs(tmp_path)) == ["cache_server"]
    assert str(tmp_path / "histogram" / broken) in capsys.readouterr().err


def test_tuning_goes_on_without_runs_that_can_t_be_read(tmp_path, capsys):
    def add(number, command="cmlib record --program sort --scale 1", **changes):
        events = [("task-clock", 50), ("page-faults", number)]
        return add_run(tmp_path, f"sort-{number:03}", "tuning", 0, 0, events, command=command, **changes)

    for number in range(3):
        add(number)
    odd = "cmlib record --program sort --scale 1 --option spark.executor.cores="
    bad = [add(3, command="x"), add(4, duration_s="x"), add(5, text="1;2;3"), add(6, command=f"{odd}x")]
    assert len(load_tuned(tmp_path)["sort"].runs) == 3
    told = capsys.readouterr().err
    assert all(file.parent.name in told for file in bad)


@pytest.mark.parametrize("value", ["-5", "true", "inf", "1e400", "9" * 320])
def test_counts_that_no_counter_gives_are_refused_by_every_reader(value):
    regions = "function,location,thread,threads,work,seconds,running,instructions,cycles\nf,a.c:1,0,1,1,0.1,1"
    with pytest.raises(CmlibError, match="kept.json"):
        in_recording("kept.json", read_runs, f"# run=0\n{regions},100,{value}\n")
    for text in (
        f"1.000000000,{value},,instructions,10,100.00,,\n",
        f'{{"interval" : 1.000000000, "counter-value" : "{value}", "unit" : "", "event" : "instructions"}}\n',
        f"     1.000000000     {value}      instructions\n",
        f"time,instructions,cycles\n1,{value},3\n2,4,5\n3,6,7\n",
    ):
        with pytest.raises(ValueError):
            perf.series(perf.parse_stat(text))
