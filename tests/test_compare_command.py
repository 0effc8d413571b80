"""`cmlib compare`: real programs counted by software events, recordings from files, and what is refused."""

import json
import subprocess

import numpy as np
import pytest
from click.testing import CliRunner

from cmlib import events
from cmlib.anomaly import sides
from cmlib.anomaly.countable import countable
from cmlib.anomaly.planted import planted_run
from cmlib.anomaly.profiles import PLACE
from cmlib.anomaly.recordings import load_recording, save_recording
from cmlib.anomaly.regions import include_dir
from cmlib.anomaly.versions import plan_parts
from cmlib.cli.compare import compare
from cmlib.errors import CmlibError
from cmlib.machine.host import core_pmus

MACHINE = {"model_name": "one", "processors": 2}
SOFTWARE = ["--events", "page-faults,context-switches", "--runs", "8"]
FAULTS = """
#include <sys/mman.h>
#include <stdlib.h>
int main(int count, char **words) {
    int fresh = atoi(words[1]);
    char *memory = mmap(0, 200 * 4096, 3, 34, -1, 0);
    for (volatile int round = 0; round < 30; round++) {
        if (fresh) memory = mmap(0, 200 * 4096, 3, 34, -1, 0);
        for (int i = 0; i < 200; i++) memory[i * 4096] = 1;
        if (fresh) munmap(memory, 200 * 4096);
        for (volatile int i = 0; i < 100000; i++) ;
    }
    return count != 2 && count != 3;
}
"""
LOCK = """
#include <pthread.h>
#include <stdlib.h>
#include "cmlib_region.h"
static int shared, turn;
static long total[2];
static pthread_mutex_t lock[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static void *work(void *number) {
    long me = (long)number;
    for (int i = 0; i < 200; i++) {
        pthread_mutex_t *own = &lock[shared ? 0 : me];
        pthread_mutex_lock(own);
        while (shared && turn != me) pthread_cond_wait(&moved, own);
        for (volatile int k = 0; k < 4000; k++) total[me] += k;
        if (shared) { turn = !me; pthread_cond_signal(&moved); }
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
    for name, source in (("faults", FAULTS), ("lock", LOCK)):
        (folder / f"{name}.c").write_text(source)
        flags = ["-O1", "-pthread", f"-I{include_dir()}"]
        subprocess.run(["cc", *flags, "-o", name, f"{name}.c"], cwd=folder, check=True)
    return folder


def compared(*arguments, code):
    done = CliRunner().invoke(compare, [*map(str, arguments)])
    assert done.exit_code == code, done.output
    return done


def told(*arguments, code):
    return json.loads(compared("--json", *arguments, code=code).stdout)


def kept(folder, name, *, severity=0.0, n_runs=10, machine=MACHINE, seed=0, without=()):
    """A recording of synthetic counters, written and read as a real one is."""
    rng = np.random.default_rng(seed)
    pieces = []
    for run in range(n_runs):
        rates = planted_run(rng, severity=severity, n_samples=10).drop(columns=list(without))
        counters = [column for column in rates if column not in PLACE]
        counts = rates[counters] * 1e7
        rows = rates[list(PLACE)].assign(
            thread=1, threads=1, work=1, seconds=0.1, running=1.0, instructions=10_000_000
        )
        pieces.append(f"# run={run:03d} part=0\n" + rows.join(counts.round()).to_csv(index=False))
    about = {"program": "synthetic", "events": [dict.fromkeys(counters, "0x1")], "machine": machine}
    return save_recording(folder / f"{name}.json", pieces, about)


@pytest.mark.needs("cc", "perf")
def test_page_faults_of_a_whole_program_are_found_for_real(built, tmp_path):
    found = told(*SOFTWARE, "--keep", tmp_path, f"{built}/faults 0", f"{built}/faults 1", code=1)
    assert found["verdict"] == "anomaly" and found["counted_per"] == "work" and found["schema"] == 1
    assert [f["function"] for f in found["functions"]] == ["whole program"]
    assert found["counters"][0]["counter"] == "page-faults" and found["counters"][0]["times_usual"] > 2
    assert 0 < found["chance_of_false_alarm"] <= found["alpha"] == 0.01
    about, runs = load_recording(tmp_path / "old.json")
    assert about["program"].endswith("faults 0") and len(runs) == 8 and not about["regions"]
    assert set(runs["000"]) == {"function", "location", "page-faults", "context-switches"}
    # What was kept is compared again, with a command now and as it is
    again = told("--runs", "8", tmp_path / "old.json", f"{built}/faults 1", code=1)
    assert again["old"]["runs"] == again["new"]["runs"] == 8
    text = compared(tmp_path / "old.json", tmp_path / "new.json", code=1).stdout
    assert "ANOMALOUS" in text and "by page-faults" in text


@pytest.mark.needs("cc", "perf")
def test_a_version_is_no_anomaly_of_itself(built):
    found = told("--events", "page-faults", "--runs", "8", "--alpha", "1e-3", f"{built}/faults 0 {{run}}", f"{built}/faults 0 {{run}}", code=0)  # fmt: skip
    assert found["verdict"] == "no anomaly" and found["counters"] == [] and found["refused"] == []


@pytest.mark.needs("cc")
def test_contention_for_a_lock_is_found_in_its_region_for_real(built):
    found = told(*SOFTWARE, f"{built}/lock 0", f"{built}/lock 1", code=1)
    assert [f["function"] for f in found["functions"]] == ["handle"]
    assert found["counters"][0]["counter"] == "context-switches"
    assert found["counters"][0]["location"].startswith("lock.c:")


@pytest.mark.needs("cc", "perf")
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nonesuch", "{0}/faults 0"], "nor a command"),
        (["{0}/faults", "{0}/faults 0"], "failed with"),
        (["{0}/lock 0", "{0}/faults 0"], "only `"),
        (["{0}/faults 0", "{0}/none.json"], "no recording"),
        (["--runs", "3", "{0}/nonesuch", "{0}/faults 0"], "at least 5 good ones"),
        (["--events", "nonesuch", "{0}/faults 0", "{0}/faults 0"], "neither a software event"),
        (["--events", "no:such", "{0}/faults 0", "{0}/faults 0"], "no such tracepoint"),
    ],
)
def test_refusals_end_with_2_and_the_reason(built, arguments, reason):
    given = [part.format(built) for part in arguments]
    done = compared(
        "--json", *(["--events", "page-faults"] if "--events" not in given else []), *given, code=2
    )
    assert reason in done.stderr and "Traceback" not in done.output
    assert reason in " ".join(json.loads(done.stdout)["refused"])


@pytest.mark.needs("cc")
def test_hardware_events_without_a_pmu_are_refused(built, monkeypatch):
    monkeypatch.setattr(sides, "core_pmus", list)
    asked = ("--events", "cycles,page-faults")
    done = compared(*asked, f"{built}/faults 0", f"{built}/faults 0", code=2)
    assert "0 good counters" in done.stderr and "--events task-clock,page-faults" in done.stderr


@pytest.mark.skipif(bool(core_pmus()), reason="this machine has a PMU")
def test_there_is_no_pmu_here():
    assert core_pmus() == []


@pytest.mark.parametrize(
    "arguments", [[], ["one"], ["a.json", "b.json", "--runs", "0"], ["a.json", "b.json", "--alpha", "2"]]
)
def test_wrong_usage_ends_with_2(arguments):
    assert "Usage" in compared(*arguments, code=2).stderr


def test_recordings_are_judged(tmp_path):
    old = kept(tmp_path, "old", n_runs=20)
    found = told(old, kept(tmp_path, "bad", severity=0.003, seed=1), code=1)
    assert found["counters"][0]["counter"] == "fills.near_cache" and found["counted_per"] == "instructions"
    assert told(old, kept(tmp_path, "same", seed=2), code=0)["chance_of_false_alarm"] > 0.01


def test_recordings_that_cannot_be_compared_are_refused(tmp_path):
    old = kept(tmp_path, "old")
    for reason, new in {
        "different machines": kept(tmp_path, "a", machine={**MACHINE, "processors": 4}),
        "not all runs counted cycles": kept(tmp_path, "b", without=["cycles"]),
        "at least": kept(tmp_path, "c", n_runs=1),
    }.items():
        assert reason in told(old, new, code=2)["refused"][0]
    assert "--events is for commands" in compared("--events", "cycles", old, old, code=2).stderr
    old.with_suffix(".csv.gz").write_bytes(b"")
    assert "is not what was recorded" in compared(old, old, code=2).stderr
    (tmp_path / "other.json").write_text("{}")
    assert "is no recording" in compared(tmp_path / "other.json", old, code=2).stderr


def test_events_are_told_to_regions_and_to_perf():
    table = events.table("amd_zen5")
    names = "page-faults,branches,ls_dmnd_fills_from_sys.near_cache,mine=0x443,soft=1:3"
    faults, branches, near, mine, soft = countable(names, table)
    assert (faults.config, faults.told, faults.hardware) == ("1:2", "page-faults", False)
    assert (branches.config, branches.told, branches.hardware) == ("0:4", "branches:u", True)
    assert near.config == mine.config == "0x443" and "event=0x43,umask=0x4" in near.told
    assert mine.told == "r443/name=mine/u" and soft.told == "context-switches"
    per, parts = plan_parts([faults, branches, near, mine], 3)
    assert per == "instructions" and [[e.name for e in part][0] for part in parts] == ["instructions"] * 2
    assert sorted(e.name for part in parts for e in part[1:]) == sorted(
        e.name for e in (faults, branches, near, mine)
    )
    assert all(sum(event.hardware for event in part) <= 3 for part in parts)
    for wrong in ("", "mine=zero", "page-faults,page-faults", "odd=9:1"):
        with pytest.raises(CmlibError):
            countable(wrong)
