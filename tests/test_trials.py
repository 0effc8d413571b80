"""Inputs on which earlier versions were wrong, end to end: `cmlib summarize` and `cmlib import`."""

import json

import pytest
from click.testing import CliRunner

from cmlib.cli import main
from tests.perf_output import GOLDEN

TRIALS = GOLDEN / "trials"


def summarize(name, *options):
    done = CliRunner().invoke(main, ["summarize", str(TRIALS / name), "--json", *options])
    assert done.exit_code == 0, done.output
    answers = json.loads(done.stdout)
    return answers if isinstance(answers, list) else [answers]


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        (
            "sleeping.csv",
            {
                "seconds": 8.0008,
                "instructions": 4.32e9,
                "instructions a second": 0.54e9,
                "CPUs": 0.2,
                "instructions a cycle": 0.9,
            },
        ),
        ("waits.txt", {"CPUs": 0.051, "seconds": 10.045, "instructions a cycle": 0.8}),
        (
            "hybrid-user-kernel.txt",
            {"cycles": 33e9, "kernel cycles": 90.9, "instructions a cycle": 27.6 / 33},
        ),
        ("mispredicts.txt", {"instructions a cycle": 0.35}),
        ("multiline-command.txt", {"instructions a cycle": 2.0}),
        ("retire-latency.csv", {"instructions a cycle": 0.8}),
        ("likwid-ivybridge.txt", {"instructions a cycle": 1.8}),
        ("jmh-throughput.txt", {"instructions a cycle": 1.11, "seconds": 5e-8}),
    ],
)
def test_levels(name, levels):
    (answer,) = summarize(name)
    for level, value in levels.items():
        assert answer["levels"][level] == pytest.approx(value, rel=0.01), level


def test_a_program_with_little_cpu_time_is_looked_at_off_the_cpu_first():
    (answer,) = summarize("waits.txt")
    assert answer["first"]["kind"] == "off CPU"
    assert "78 % of the CPU time in the kernel" in answer["first"]["headline"]
    assert answer["cycles"]


def test_runs_of_a_commented_table():
    (answer,) = summarize("commented.csv")
    assert answer["runs"] == 2 and answer["levels"]["instructions a cycle"] == 2.5


def test_parameters_of_a_benchmark_are_programs():
    small, large = summarize("jmh-perfnorm.csv")
    assert small["levels"]["instructions a cycle"] == 2.0 and large["levels"]["instructions a cycle"] == 0.25
    assert small["levels"]["seconds"] == pytest.approx(41.3e-9)
    assert large["levels"]["seconds"] == pytest.approx(820e-9)


def test_an_impossible_ipc_is_not_given():
    (answer,) = summarize("impossible-ipc.csv")
    assert "instructions a cycle" not in answer["levels"] and not answer["conclusive"]
    assert any("160" in remark for remark in answer["remarks"])


def test_a_count_of_two_milliseconds_gives_no_ipc():
    first, second = summarize("two-builds.txt")
    assert first["levels"]["instructions a cycle"] == pytest.approx(1.39, abs=0.01)
    assert "instructions a cycle" not in second["levels"]
    assert any("9,400,000 cycles" in remark for remark in second["remarks"])


def test_a_difference_below_zero_is_unknown_and_so_is_the_sum():
    (answer,) = summarize("likwid-underflow.txt")
    assert "instructions" not in answer["levels"]
    (core,) = summarize("likwid-underflow.txt", "--place", "Core 4")
    assert core["levels"]["instructions a cycle"] == pytest.approx(0.456, abs=0.001)


def test_a_latency_is_no_count():
    (answer,) = summarize("retire-latency.csv")
    assert "mem_load_retired.l3_hit:R" not in answer["counts"]
    assert any("latencies are not counts" in remark for remark in answer["remarks"])


def test_a_processor_without_a_table_is_named():
    (answer,) = summarize("likwid-ivybridge.txt")
    assert answer["processor"] is None
    assert any("IvyBridge" in remark for remark in answer["remarks"])


def test_repeated_runs_are_two_programs():
    names = [answer["name"] for answer in summarize("repeated-runs-old.csv")]
    assert names == ["repeated-runs-old.csv work", "repeated-runs-old.csv tiny"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("empty.csv", "empty"),
        ("no-events.csv", "--count"),
        ("perfevent.csv", "perfevent"),
        ("pmcarch.txt", "pmcarch"),
        ("hyperfine.txt", "cmlib compare './old' './new'"),
        ("linuxperf-jl.md", "Supported formats"),
        ("scylla.txt", "Supported formats"),
    ],
)
def test_what_is_no_recording_is_refused(name, message, tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    for command in (["summarize"], ["import", "app"]):
        done = CliRunner().invoke(main, [*command, str(TRIALS / name)])
        assert done.exit_code == 2 and message in done.output
    assert not (tmp_path / "recordings").exists()
