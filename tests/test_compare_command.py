"""`cmlib compare`: real programs counted by software events, recordings from files, and what is refused."""

import gzip
import hashlib
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from click.testing import CliRunner

from cmlib.anomaly.autoencoder import Autoencoder
from cmlib.anomaly.detector import AutoPerf
from cmlib.cli import main
from cmlib.collect.machine.event_names import countable
from cmlib.collect.machine.host import core_pmus
from cmlib.compare import comparison, versions
from cmlib.compare.counters import VersionComparison
from cmlib.compare.instrument import include_dir
from cmlib.compare.report import write_markdown
from cmlib.compare.versions import group_events, probe_command
from cmlib.errors import CmlibError
from cmlib.io import events
from cmlib.io.regions import load_recording, save_recording
from cmlib.locations import LOCATION_COLUMNS
from tests.planted_regions import planted_run
from tests.processes import processes, wait_until

ROOT = Path(__file__).parents[1]
MACHINE = {"model_name": "one", "processors": 2}
SOFTWARE = ["--events", "page-faults,context-switches"]
WORK = """
#include <stdlib.h>
static int step(int i) { return i * 3; }
int main(int count, char **words) {
    volatile int sum = 0;
    for (int i = 0; i < 1000000 * atoi(words[1]); i++) sum += step(i);
    return count < 2;
}
"""
LOCK = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "cmlib_region.h"
static int shared, turn;
static long total[2];
static pthread_mutex_t lock[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static void *work(void *number) {
    long me = (long)number;
    for (int i = 0; i < 100; i++) {
        pthread_mutex_t *own = &lock[shared ? 0 : me];
        pthread_mutex_lock(own);
        while (shared && turn != me) pthread_cond_wait(&moved, own);
        for (volatile int k = 0; k < 4000; k++) total[me] += k;
        if (shared) { usleep(200); turn = !me; pthread_cond_signal(&moved); }
        pthread_mutex_unlock(own);
    }
    return 0;
}
int main(int count, char **words) {
    shared = atoi(words[count - 1]);
    for (int r = 0; r < 5; r++) {
        pthread_t threads[2];
        turn = 0;
        CMLIB_REGION_BEGIN("handle");
        for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, (void *)i);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
        CMLIB_REGION_END("handle");
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("versions")
    for name, source in (("work", WORK), ("lock", LOCK)):
        (folder / f"{name}.c").write_text(source)
        flags = ["-O1", "-pthread", f"-I{include_dir()}"]
        subprocess.run(["cc", *flags, "-o", name, f"{name}.c"], cwd=folder, check=True)
    return folder


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A detector that learns fast; what it is worth is tried elsewhere."""
    settings = Autoencoder(n_starts=1, epochs=50)
    monkeypatch.setattr(
        comparison, "AutoPerf", lambda **how: AutoPerf(autoencoder=settings, max_clusters=1, folds=3, **how)
    )


def compared(*arguments, code):
    done = CliRunner().invoke(main, ["compare", *map(str, arguments)])
    assert done.exit_code == code, done.output
    assert "Traceback" not in done.stderr
    return done


def told(*arguments, code):
    return json.loads(compared("--json", *arguments, code=code).stdout)


def kept(
    folder, name, *, severity=0.0, factor=1.0, ipc=2.0, n_runs=10, machine=MACHINE, seed=0, without=(), **more
):
    """A recording of synthetic counters and times, written and read as a real one is."""
    rng = np.random.default_rng(seed)
    pieces = []
    for run in range(n_runs):
        rates = planted_run(rng, severity=severity, n_samples=10).drop(columns=list(without))
        counters = [column for column in rates if column not in LOCATION_COLUMNS]
        counts = rates[counters] * 1e7
        seconds = factor * rng.lognormal(-2, 0.02, 10)
        rows = rates[list(LOCATION_COLUMNS)].assign(
            thread=1, threads=1, work=1, seconds=seconds, running=1.0, instructions=round(5_000_000 * ipc)
        )
        pieces.append(f"# run={run:03d} part=0\n" + rows.join(counts.round()).to_csv(index=False))
    about = {"program": "synthetic", "events": [dict.fromkeys(counters, "0x1")], "machine": machine} | more
    return save_recording(folder / f"{name}.json", pieces, about)


@pytest.mark.full
@pytest.mark.needs("cc", "perf")
def test_a_slower_program_is_found_and_what_was_kept_is_compared_again(built, tmp_path):
    old, new = f"{built}/work 2", f"{built}/work 5"
    (tmp_path / "old.c").write_text(WORK)
    (tmp_path / "new.c").write_text(WORK.replace("i * 3", "i * 5"))
    sources = ["--old-source", tmp_path / "old.c", "--new-source", tmp_path / "new.c"]
    found = told(*SOFTWARE, "--keep", tmp_path / "kept", *sources, old, new, code=1)
    assert (found["verdict"], found["anomaly"], found["schema"]) == ("slower", True, 2)
    assert {(test["function"], test["measure"]) for test in found["times"]} == {
        ("whole program", "elapsed time"),
        ("whole program", "processor time"),
    }
    first = found["times"][0]
    assert first["ratio"] > 1.5 and first["significant"] and first["relevant"]
    assert first["p_slower"] == found["p_value"] <= found["rules"]["alpha"] == 0.002
    assert found["rules"]["paired"] and found["counters"]["counted_per"] == "work"
    assert [(c["function"], c["targets"], c["in_verdict"]) for c in found["changed_functions"]] == [
        ("step", ["main"], False)
    ]
    about, runs = load_recording(tmp_path / "kept/old.json")
    assert about["program"] == old and len(runs) >= 8 and not about["regions"]
    assert set(runs["000"]) == {"function", "location", "page-faults", "context-switches"}
    assert about["session"] == load_recording(tmp_path / "kept/new.json")[0]["session"]
    done = compared(*SOFTWARE, "--keep", tmp_path / "kept", old, new, code=2)
    assert "already contains old.csv.gz, old.json, new.csv.gz, new.json" in done.stderr
    # With a command now it is no pair, and only what is more than drift counts.
    mixed = compared("--runs", "8", tmp_path / "kept/old.json", new, code=1)
    assert "not in pairs" in mixed.stdout and "relevant from 25 %" in mixed.stdout


@pytest.mark.full
@pytest.mark.needs("cc", "perf")
def test_a_faster_program_is_no_anomaly(built):
    done = compared(*SOFTWARE, f"{built}/work 5", f"{built}/work 2", code=0)
    assert done.stdout.startswith("changed, faster: ") and ": faster" in done.stdout
    assert " to 40 pairs of runs, until the result is clear." in done.stderr


@pytest.mark.full
@pytest.mark.needs("cc", "perf")
def test_a_version_is_no_anomaly_of_itself(built):
    same = f"{built}/work 1 {{run}}"
    found = told("--events", "page-faults", "--runs", "13", "--alpha", "1e-3", same, same, code=0)
    assert found["anomaly"] is False and found["refused"] == [] and found["p_value"] > 1e-3


@pytest.mark.needs("cc")
def test_contention_for_a_lock_is_found_in_its_region_for_real(built, tmp_path):
    (tmp_path / "old.c").write_text("int handle(int a) { int b = a; b++; b--; return b; }")
    (tmp_path / "new.c").write_text("int handle(int a) { int b = a; b--; b++; return b; }")
    sources = ["--old-source", tmp_path / "old.c", "--new-source", tmp_path / "new.c"]
    done = compared(*SOFTWARE, *sources, f"{built}/lock 0", f"{built}/lock 1", code=1)
    assert done.stdout.startswith("ANOMALY, slower") and "handle, elapsed time: " in done.stdout
    assert "source: handle (new.c:1) was changed, which the verdict names" in done.stdout
    assert re.search(r"why, .*context-switches [\d.]+ times \(lock\.c:", done.stdout)


@pytest.mark.needs("cc", "perf")
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nonesuch", "{0}/work 1"], "nor a command"),
        (["'unbalanced", "{0}/work 1"], "is not valid shell syntax"),
        (["{0}/work", "{0}/work 1"], "failed with exit code 139 (signal 11)"),
        (["{0}/lock 0", "{0}/work 1"], "only `"),
        (["{0}/work 1", "{0}/none.json"], "does not exist"),
        (["--runs", "3", "{0}/work 1", "{0}/work 1"], "at least 10 are needed"),
        (["--events", "nonesuch", "{0}/work 1", "{0}/work 1"], "neither a software event"),
        (["--events", "no:such", "{0}/work 1", "{0}/work 1"], "no such tracepoint"),
        (
            ["--timeout", "0.2", "sleep 60.5", "{0}/work 1"],
            "took longer than 0.2 s and was ended",
        ),
        (
            ["--old-source", "{0}", "--new-source", "/dev", "{0}/work 1", "{0}/work 1"],
            "no source file in C, C++, Python",
        ),
    ],
)
def test_refusals_end_with_2_and_the_reason(built, arguments, reason):
    given = [part.format(built) for part in arguments]
    done = compared(
        "--json", *(["--events", "page-faults"] if "--events" not in given else []), *given, code=2
    )
    assert reason in done.stderr and reason in json.loads(done.stdout)["refused"][0]
    assert not processes("60.5")


def test_what_a_command_leaves_running_is_ended_and_not_waited_for():
    assert probe_command("sh -c 'sleep 61.25 & exit 0'").functions == ()
    assert not processes("61.25")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "run"),
    [
        (signal.SIGTERM, "from cmlib.cli import main; main(['compare', '--json', {0!r}, 'true'])"),
        (signal.SIGKILL, "from cmlib.compare.versions import probe_command; probe_command({0!r})"),
    ],
)
def test_ended_by_a_signal_it_ends_its_program(number, run):
    marker = f"62.{number.value:02d}"
    script = run.format(f"sh -c 'sleep {marker} & sleep {marker}'")
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    ) as compare:
        assert wait_until(lambda: len(processes(f"sleep\0{marker}")) == 2, 200)
        compare.send_signal(number)
        told, complained = compare.communicate()
    assert wait_until(lambda: not processes(f"sleep\0{marker}"))
    if number == signal.SIGTERM:
        assert compare.returncode == 2 and complained.strip() == "Aborted!"
        assert json.loads(told)["refused"] == ["interrupted"]


def test_interrupted_it_says_so_and_ends_with_2(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison, "generate_pairs", interrupted)
    assert told("true", "true", code=2)["refused"] == ["interrupted"]


@pytest.mark.needs("cc")
def test_hardware_events_without_a_pmu_are_refused(built, monkeypatch):
    monkeypatch.setattr(versions, "core_pmus", list)
    asked = ("--events", "cycles,page-faults")
    done = compared(*asked, f"{built}/work 1", f"{built}/work 1", code=2)
    assert "this machine has 0" in done.stderr and "--events task-clock,page-faults" in done.stderr


@pytest.mark.skipif(bool(core_pmus()), reason="this machine has a PMU")
def test_there_is_no_pmu_here():
    assert core_pmus() == []


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["one"],
        ["a.json", "b.json", "--runs", "0"],
        ["a.json", "b.json", "--alpha", "2"],
        ["a.json", "b.json", "--old-source", "/dev"],
    ],
)
def test_wrong_usage_ends_with_2(arguments):
    assert "Usage" in compared(*arguments, code=2).stderr


def test_recordings_are_judged_by_their_times(tmp_path):
    old = kept(tmp_path, "old")
    found = told(old, kept(tmp_path, "slow", factor=1.4, severity=0.003, seed=1), code=1)
    assert found["verdict"] == "slower" and found["counters"]["counted_per"] == "instructions"
    assert found["counters"]["causes"][0]["counter"] == "fills.near_cache"
    documented = set(re.findall(r"`(\w+)`", (ROOT / "docs/compare-method.md").read_text(encoding="utf-8")))
    keys = {*found, *found["rules"], *found["times"][0], *found["counters"], *found["old"]}
    keys |= {*found["counters"]["functions"][0], *found["counters"]["causes"][0]}
    assert keys <= documented, keys - documented


@pytest.mark.parametrize(("factor", "ipc", "verdict"), [(1.4, 4.0, "slower"), (0.7, 1.0, "faster")])
def test_ipc_is_not_taken_for_speed(tmp_path, factor, ipc, verdict):
    """A slower version with higher IPC is slower, and a faster one with lower IPC faster, by the same numbers."""
    old, new = kept(tmp_path, "old"), kept(tmp_path, "new", factor=factor, ipc=ipc, seed=1)
    medians = [(1 / pd.concat(load_recording(file)[1].values())["cycles"]).median() for file in (old, new)]
    assert medians[1] / medians[0] == pytest.approx(ipc / 2, rel=0.2)
    found, same_ipc = (
        told(old, file, code=int(verdict == "slower"))
        for file in (new, kept(tmp_path, "same", factor=factor, seed=1))
    )
    assert found["verdict"] == same_ipc["verdict"] == verdict
    assert found["times"] == same_ipc["times"] and found["p_value"] == same_ipc["p_value"]


@pytest.mark.slow
def test_neither_drift_nor_a_faster_version_nor_counters_alone_are_an_anomaly(tmp_path):
    old = kept(tmp_path, "old")
    assert told(old, kept(tmp_path, "drifted", factor=1.1, seed=2), code=0)["verdict"] == "no change"
    faster, differs = kept(tmp_path, "faster", factor=0.7), kept(tmp_path, "differs", severity=0.003, seed=3)
    assert told("--any-change", old, faster, code=1)["verdict"] == "faster"
    assert compared(old, differs, code=0).stdout.startswith("changed, counters differ")
    assert re.search(
        r"\n  why, by counters per \w+: fills.near_cache [\d.]+ times \(",
        compared("--any-change", old, differs, code=1).stdout,
    )


@pytest.mark.slow
def test_recordings_made_in_pairs_show_smaller_changes(tmp_path):
    old, new = (kept(tmp_path, f"{factor}", factor=factor, session="one") for factor in (1.0, 1.1))
    assert told(old, new, code=1)["rules"]["smallest_change"] == 0.04
    other = kept(tmp_path, "other", factor=1.1, session={"of": "another"})
    assert told(old, other, code=0)["rules"]["smallest_change"] == 0.25


def test_recordings_that_cannot_be_compared_are_refused(tmp_path):
    old = kept(tmp_path, "old")
    for reason, new in {
        "different machines": kept(tmp_path, "a", machine={**MACHINE, "processors": 4}),
        "not all runs counted cycles": kept(tmp_path, "b", without=["cycles"]),
        "at least": kept(tmp_path, "c", n_runs=1),
    }.items():
        assert reason in told(old, new, code=2)["refused"][0]
    assert "--events is only for commands" in compared("--events", "cycles", old, old, code=2).stderr


@pytest.fixture
def counting(tmp_path):
    """A command that writes a line to a file each time it runs, and that file."""
    notes = tmp_path / "executions"
    return f"sh -c 'echo once >> {notes}'", notes


def test_a_recording_with_regions_and_a_command_without_are_refused_at_once(tmp_path, counting):
    command, notes = counting
    recording = kept(tmp_path, "old")
    for pair in ((recording, command), (command, recording)):
        notes.unlink(missing_ok=True)
        assert f"only `{recording}` has regions" in told(*pair, code=2)["refused"][0]
        assert notes.read_text().split() == ["once"]


def test_too_few_runs_against_a_recording_are_refused_at_once(tmp_path, counting):
    command, notes = counting
    heading = "function,location,thread,threads,work,seconds,running,instructions,page-faults\n"
    pieces = [f"# run={run:03d} part=0\n{heading}whole program,sh,0,1,1,1,1.0,,100\n" for run in range(5)]
    about = {"program": "sh", "per": "work", "events": [{"page-faults": "1:2"}], "machine": MACHINE}
    recording = save_recording(tmp_path / "old.json", pieces, about)
    refused = told("--runs", "2", "--alpha", "0.002", recording, command, code=2)["refused"][0]
    assert "2 runs of" in refused and "against 5 in" in refused and "--runs" in refused
    assert notes.read_text().split() == ["once"]


@pytest.mark.parametrize(
    "damage",
    [
        "no recording",
        "deep",
        "machine",
        "per",
        "sha256",
        "changed",
        "cut off",
        "no gzip",
        "no number",
        "no columns",
    ],
)
def test_damaged_recordings_are_refused(tmp_path, damage):
    old, new = kept(tmp_path, "old"), kept(tmp_path, "new")
    content = new.with_suffix(".csv.gz")
    about, packed = json.loads(new.read_text()), content.read_bytes()
    text = gzip.decompress(packed).decode()
    packed = {
        "changed": b"",
        "cut off": packed[:-40],
        "no gzip": b"plain",
        "no number": gzip.compress(text.replace(",1.0,", ",often,").encode()),
        "no columns": gzip.compress(b"# run=0 part=0\na,b\n1,2\n"),
    }.get(damage, packed)
    about |= {"machine": {"machine": 3}, "per": {"per": ["work"]}, "sha256": {"sha256": 7}}.get(damage, {})
    if damage in ("cut off", "no gzip", "no number", "no columns"):
        about["sha256"] = hashlib.sha256(packed).hexdigest()
    described = {"no recording": "{}", "deep": "[" * 100_000}.get(damage, json.dumps(about))
    content.write_bytes(packed)
    new.write_text(described)
    found = told(old, new, code=2)
    assert found["verdict"] == "refused" and "new." in found["refused"][0]


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_verdict_that_cannot_be_written_ends_with_2(tmp_path, monkeypatch, capsys, options):
    old, slow = kept(tmp_path, "old"), kept(tmp_path, "slow", factor=2)
    with open("/dev/full", "w") as full, pytest.raises(SystemExit) as ended:
        monkeypatch.setattr(sys, "stdout", full)
        main(["compare", *options, str(old), str(slow)])
    assert ended.value.code == 2 and "No space left" in capsys.readouterr().err


def test_events_are_told_to_regions_and_to_perf():
    table = events.table("amd_zen5")
    names = "page-faults,branches,ls_dmnd_fills_from_sys.near_cache,mine=0x443,soft=1:3"
    faults, branches, near, mine, soft = countable(names, table)
    assert (faults.config, faults.encoding, faults.hardware) == ("1:2", "page-faults", False)
    assert (branches.config, branches.encoding, branches.hardware) == ("0:4", "branches:u", True)
    assert near.config == mine.config == "0x443" and "event=0x43,umask=0x4" in near.encoding
    assert not countable("soft=0x1:3")[0].hardware and mine.hardware
    assert mine.encoding == "r443/name=mine/u" and soft.encoding == "context-switches"
    per, parts = group_events([faults, branches, near, mine], 3)
    assert per == "instructions" and [[e.name for e in part][0] for part in parts] == ["instructions"] * 2
    assert sorted(e.name for part in parts for e in part[1:]) == sorted(
        e.name for e in (faults, branches, near, mine)
    )
    assert all(sum(event.hardware for event in part) <= 3 for part in parts)
    for wrong in ("", "mine=zero", "page-faults,page-faults", "odd=9:1", "odd=1:-1", "odd=-1"):
        with pytest.raises(CmlibError):
            countable(wrong)


def test_markdown_is_printed_or_added_to_the_summary_of_a_job(tmp_path, monkeypatch):
    versions = kept(tmp_path, "old"), kept(tmp_path, "slow|new\r\x1b[2J", factor=1.4, severity=0.003, seed=1)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    printed = compared("--markdown", *versions, code=1).stdout
    rows = [line for line in printed.splitlines() if line.startswith("|")]
    assert len(rows) > 2 and {line.count("|") for line in rows} == {6}
    assert "slower" in rows[2] and "`fills.near_cache`" in printed and "not in pairs" in printed
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    assert "|" not in compared("--markdown", *versions, code=1).stdout.replace("slow|new", "")
    summary = (tmp_path / "summary.md").read_bytes().decode()
    assert summary.strip() == printed.strip() and not set("\r\x1b") & set(summary)


def test_each_cause_has_a_line_of_its_own_in_markdown():
    locations = ["x.c:3", "???", "y.c:5"]
    causes = [
        {"counter": f"event{n}", "times_usual": 2.0, "function": "f", "location": location, "share": 0.5}
        for n, location in enumerate(locations)
    ]
    versions = {form: {"name": form, "runs": 12} for form in ("old", "new")}
    found = dict.fromkeys(("layouts", "code", "limited_by", "runs_needed"))
    found |= versions | {"verdict": "slower", "times": [], "changed_functions": [], "rules": {"paired": True}}
    lines = write_markdown(found | {"counters": {"causes": causes}}).splitlines()
    assert [line for line in lines if "cause" in line] == [
        "- cause: `event0` 2 times in `f` (`x.c:3`)",
        "- cause: `event1` 2 times in `f`",
        "- cause: `event2` 2 times in `f` (`y.c:5`)",
    ]


@pytest.mark.needs("cc", "perf")
@pytest.mark.parametrize("events", ["task-clock,page-faults", "task-clock"])
def test_a_longer_time_is_not_explained_by_a_clock(built, events):
    found = told("--events", events, "--runs", "12", f"{built}/work 1", f"{built}/work 3", code=1)
    assert found["verdict"] == "slower"
    assert "task-clock" not in {cause["counter"] for cause in found["counters"]["causes"]}
    assert not found["counters"]["differ"]


def test_an_inconclusive_comparison_ends_with_0_or_if_asked_with_3(tmp_path, monkeypatch):
    functions = pd.DataFrame({"function": ["synthetic_f"], "anomalous": [False]})
    same_counters = VersionComparison(False, 1.0, functions, pd.DataFrame())
    monkeypatch.setattr(comparison, "compare_versions", lambda *_, **settings: same_counters)
    versions = kept(tmp_path, "old"), kept(tmp_path, "new", factor=1.245, seed=2)
    found = told(*versions, code=0)
    assert found["verdict"] == "inconclusive" and "runs" in found["limited_by"] and not found["settled"]
    assert compared("--strict", *versions, code=3)


def test_the_action_hands_options_and_the_build_over_word_by_word(tmp_path):
    """As the last step of docs/action runs, with a `cmlib` that prints its arguments; an input may be left out."""
    action = yaml.safe_load((ROOT / "docs/action/action.yml").read_text(encoding="utf-8"))
    job = re.search(r"```yaml\n(jobs:.*?)```", (ROOT / "docs/compare.md").read_text(encoding="utf-8"), re.S)[
        1
    ]
    *_, compared = yaml.safe_load(job)["jobs"]["instructions"]["steps"]
    assert compared["with"].keys() <= action["inputs"].keys()
    step = action["runs"]["steps"][-1]
    names = {name: re.fullmatch(r"\$\{\{ inputs\.(\w+) \}\}", text)[1] for name, text in step["env"].items()}
    fake = tmp_path / "cmlib/bin/cmlib"
    fake.parent.mkdir(parents=True)
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    fake.chmod(0o755)
    for build, expected in (("make -B app", ["--build", "make -B app"]), ("", [])):
        inputs = {"old": "before/app 9", "new": "./app 9", "options": "--layouts 20", "build": build}
        environment = {name: inputs[of] for name, of in names.items()} | {"RUNNER_TEMP": str(tmp_path)}
        done = subprocess.run(
            ["bash", "-e", "-c", step["run"]], env=environment, capture_output=True, text=True, check=True
        )
        words = ["compare", "--markdown", "--layouts", "20", *expected, "before/app 9", "./app 9"]
        assert done.stdout.splitlines() == words
