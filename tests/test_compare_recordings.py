"""`cmlib compare --recordings`: two recordings of a service, where both bore the same load."""

import gzip
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from cmlib import places
from cmlib.cli import main
from cmlib.compare.versions import is_recording


def compared(*arguments, code=0):
    done = CliRunner().invoke(main, ["compare", "--recordings", *map(str, arguments)])
    assert done.exit_code == code and "Traceback" not in done.stderr, done.output
    return done.stdout


def told(*arguments, code=0):
    return json.loads(compared("--json", *arguments, code=code))


def served(file, loads, *, cycles=1.0, misses=1.0, seed=0):
    """Write what perf stat -I writes of a service: per request 1e6 instructions, and cycles and misses times these."""
    rng = np.random.default_rng(seed)
    lines = []
    for second, load in enumerate(loads, 1):
        per_request = {
            "requests:served": 1,
            "instructions": 1e6,
            "cycles": 8e5 * cycles * rng.lognormal(0, 0.02),
            "cache-misses": 4e3 * misses * cycles * rng.lognormal(0, 0.02),
        }
        for event, number in per_request.items():
            lines.append(f"{second}.000000000,{load * number:.0f},,{event},1000000000,100.00,,")
    file.write_text("\n".join(lines) + "\n")
    return file


def beginning(folder, name, n_lines=900):
    """Write the first lines of a recording."""
    with gzip.open(places.recordings_dir() / f"{name}.csv.gz", "rt") as recording:
        lines = itertools.islice(recording, n_lines)
        (folder / f"{name.replace('/', '-')}.csv").write_text("".join(lines))
    return folder / f"{name.replace('/', '-')}.csv"


def rows(table):
    return {row["name"]: row for row in table}


def test_a_change_at_equal_load_is_told_and_other_loads_are_not_compared(tmp_path):
    low, middle, high = [100] * 20, [1000] * 30, [5000] * 25
    old = served(tmp_path / "old.csv", low + middle)
    new = served(tmp_path / "new.csv", high + middle, cycles=1.5, misses=2, seed=1)
    answer = told(old, new, "--load", "requests:served")
    assert [(p["old"], p["new"], p["comparable"]) for p in answer["phases"]] == [
        (20, 0, False),
        (30, 30, True),
        (0, 25, False),
    ]
    assert all(phase["from"] <= load < phase["to"] for phase, load in
               zip(answer["phases"], (100, 1000, 5000), strict=True))  # fmt: skip
    ipc, misses = rows(answer["levels"])["instructions a cycle"], rows(answer["rates"])["cache-misses"]
    assert answer["verdict"] == "differs" and ipc["differs"] and misses["differs"]
    assert ipc["low"] < 1 / 1.5 < ipc["high"] and misses["low"] < 2 < misses["high"]
    assert not rows(answer["levels"])["instructions a second"]["differs"]
    shown = compared(old, new, "--load", "requests:served", "--any-change", code=1)
    assert "DIFFERS" in shown and shown.count("not comparable") == 2


def test_equal_versions_under_any_mix_of_loads_do_not_differ(tmp_path):
    rng = np.random.default_rng(2)
    old, new = (
        served(tmp_path / f"{seed}.csv", rng.choice([300, 900, 2700], 60, p=shares), seed=seed)
        for seed, shares in enumerate(([0.6, 0.3, 0.1], [0.2, 0.3, 0.5]))
    )
    answer = told(old, new, "--any-change")
    assert answer["verdict"] == "no change" and all(phase["comparable"] for phase in answer["phases"])
    other = served(tmp_path / "other.csv", [50_000] * 40)
    apart = told(old, other, "--strict", code=3)
    assert apart["verdict"] == "not comparable" and not apart["levels"]


def test_recordings_have_account_and_rates_side_by_side(tmp_path):
    files = [
        beginning(tmp_path, name) for name in ("gcc/mlpx12-p0-00", "gcc/mlpx12-p1-00", "bzip2/mlpx12-p0-00")
    ]
    same = told(*files[:2])
    # Nothing differs, but the intervals of rare events in 75 intervals are wide.
    assert same["verdict"] == "inconclusive" and len(same["rates"]) == 13
    assert {row["verdict"] for row in same["levels"]} == {"no change"}
    assert {row["verdict"] for row in same["rates"]} == {"no change", "inconclusive"}
    other = told(files[0], files[2])
    assert rows(other["rates"])["op_cache_hit_miss.op_cache_hit"]["ratio"] > 1.3
    for row in other["account"]:
        assert row["low"] == pytest.approx(row["new"][0] - row["old"][1])
        assert row["high"] == pytest.approx(row["new"][1] - row["old"][0])
    latency = rows(other["account"])["front-end latency"]
    assert latency["high"] < 0 and "front-end latency" in compared(files[0], files[2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--load", "absent"], "absent"),
        (["--runs", "4"], "--runs"),
        (["--markdown"], "--markdown"),
        (["--simulate"], "--simulate"),
    ],
)
def test_what_recordings_have_no_part_for_is_refused(tmp_path, options, message):
    file = served(tmp_path / "a.csv", [100] * 20)
    done = CliRunner().invoke(main, ["compare", "--recordings", str(file), str(file), *options])
    assert done.exit_code in (1, 2) and message in done.stderr


def test_a_command_may_end_in_json_and_a_recording_have_blanks_in_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my old.json").write_text("{}", encoding="utf-8")
    assert is_recording("my old.json") and is_recording("new.json")
    assert not is_recording("cat input.json") and not is_recording("./app")


TRIALS = Path(__file__).parent / "golden/trials"


def test_a_change_within_a_wide_interval_is_inconclusive(tmp_path):
    """Misses are 1.7 times as many, and vary tenfold from interval to interval."""
    rng = np.random.default_rng(3)
    files = []
    for name, times in (("old", 1.0), ("new", 1.7)):
        lines = []
        for second in range(1, 13):
            counts = {"instructions": 1e9, "cycles": 8e8, "cache-misses": 1e6 * times * rng.lognormal(0, 1.2)}
            lines += [
                f"{second}.000000000,{n:.0f},,{event},1000000000,100.00,," for event, n in counts.items()
            ]
        files.append(tmp_path / f"{name}.csv")
        files[-1].write_text("\n".join(lines) + "\n")
    answer = told(*files)
    misses = rows(answer["rates"])["cache-misses"]
    assert misses["low"] < 1 < 1.7 < misses["high"] and misses["verdict"] == "inconclusive"
    assert rows(answer["levels"])["instructions a cycle"]["verdict"] == "no change"
    assert answer["verdict"] == "inconclusive"
    assert "INCONCLUSIVE" in compared(*files, "--strict", code=3)


def test_repeated_runs_of_two_builds_are_compared_by_program():
    files = TRIALS / "repeated-runs-old.csv", TRIALS / "repeated-runs-new.csv"
    answer = told(*files, code=1)
    assert answer["verdict"] == "slower" and answer["unmatched"] == []
    work, tiny = (next(p for p in answer["programs"] if p["name"] == name) for name in ("work", "tiny"))
    assert (work["verdict"], tiny["verdict"]) == ("slower", "no change")
    assert rows(work["totals"])["seconds"]["ratio"] == pytest.approx(1.5, abs=0.01)
    assert rows(work["totals"])["instructions"]["verdict"] == "no change"
    shown = compared(*files, code=1)
    assert "work: slower" in shown and "tiny: no change" in shown
    assert told(*files[::-1])["verdict"] == "faster"
    assert told(files[0], files[0])["verdict"] == "no change"


def test_totals_and_intervals_are_refused_once_with_what_can_be_compared(tmp_path):
    intervals = served(tmp_path / "intervals.csv", [100] * 20)
    one_run = tmp_path / "runs.csv"
    one_run.write_text(
        "program,iteration,cycles,instructions,elapsed_time\nwork,1,10,20,0.5\nwork,2,10,20,0.5\n"
    )
    done = CliRunner().invoke(main, ["compare", "--recordings", str(one_run), str(intervals)])
    assert done.exit_code == 2 and "perf stat -I 1000" in done.stderr and "perf stat -r 5" in done.stderr
    assert told(one_run, one_run, "--strict", code=3)["verdict"] == "not comparable"
