"""Recordings that go wrong: what is told, what is repeated, and that nothing is left half."""

import shutil
import signal
import subprocess
import sys

import pytest

from cmlib.collect import record
from cmlib.collect.record.execute import run_supervised
from cmlib.collect.schedule import Plan, make_plans
from cmlib.errors import CmlibError, InterpreterError
from cmlib.io import perf
from cmlib.io.archive import programs as archive
from tests.processes import processes, wait_until
from tests.soft_recordings import ROOT, leftovers, make, ocoe_plans, runs, software_plans

# --- what goes wrong --------------------------------------------------------


@pytest.mark.parametrize(
    "command, told",
    [
        (["no-such-program"], "'no-such-program' does not exist"),
        (
            ["sh", "-c", "sleep 0.05; echo first >&2; echo the reason >&2; exit 3"],
            r"exit code 3. (.|\n)*the reason",
        ),
        (["sh", "-c", "sleep 0.05; kill -SEGV $$"], r"exit code 139 \(signal 11\)"),
        (["true"], r"ended after \d+ ms, before the first interval of 500 ms"),
        ([], "no command"),
    ],
)
def test_a_command_that_cannot_be_recorded_is_told_and_leaves_nothing(any_perf, tmp_path, command, told):
    with pytest.raises(record.RecordError, match=told):
        make(tmp_path, software_plans(interval_ms=500), command=command)
    assert runs(tmp_path) == {} and leftovers(tmp_path) == []


def test_a_python_that_can_t_be_started_is_named_and_leaves_nothing(fake_perf, tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.touch(mode=0o600)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(InterpreterError, match=f"{python}: Permission denied"):
        make(tmp_path)
    assert runs(tmp_path) == {} and leftovers(tmp_path) == []


def test_an_event_that_perf_refuses_is_told_in_perfs_words(any_perf, tmp_path):
    plans = make_plans("ocoe", ["refused"], 5, pinned=("task-clock",))
    with pytest.raises(
        record.RecordError,
        match=r"could not count task-clock, refused under `sh(.|\n)*event syntax error: '.?refused",
    ):
        make(tmp_path, plans)


def test_an_event_that_is_not_supported_is_told(fake_perf, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_OFFERED", "3")
    with pytest.raises(record.RecordError, match="can't count two"):
        make(tmp_path, ocoe_plans())


def test_without_perf_what_to_install_is_told(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/program").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(record.RecordError, match="apt-get install linux-perf"):
        make(tmp_path, command=["program"])


def test_what_perf_and_the_program_say_is_told_apart(fake_perf, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FAKE_WARNING", "WARNING: grouped events cpus do not match")
    make(tmp_path, software_plans(per_run=3), command=["sh", "-c", "echo WARNING: mine >&2; sleep 0.05"])
    (meta,) = runs(tmp_path).values()
    assert meta["warnings"] == ["WARNING: grouped events cpus do not match"]
    assert "perf says: WARNING: grouped" in capsys.readouterr().out


def test_output_that_is_cut_off_is_not_kept(fake_perf, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_CUT", "1")
    with pytest.raises(record.RecordError, match="is the disk full"):
        make(tmp_path)
    assert runs(tmp_path) == {}


def test_a_full_disk_is_told_and_nothing_is_kept(fake_perf, tmp_path, monkeypatch):
    full = shutil.disk_usage(tmp_path)._replace(free=4096)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    with pytest.raises(record.RecordError, match="could not write to .*sleepy.*: No space left on device"):
        make(tmp_path)
    assert runs(tmp_path) == {} and leftovers(tmp_path) == []


@pytest.mark.parametrize("name", ["", "sleepy"])
def test_a_folder_that_cannot_be_written_is_told(fake_perf, tmp_path, name):
    folder = tmp_path / "recordings"
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("in the way")
    with pytest.raises(CmlibError, match="could not write to .*recordings"):
        make(folder)


def test_metadata_that_is_broken_is_named(fake_perf, tmp_path):
    make(tmp_path)
    (tmp_path / "sleepy/soft-p0-01.json").write_text("{")
    with pytest.raises(record.RecordError, match="soft-p0-01.json is not JSON"):
        make(tmp_path)


# --- runs that are thrown away ----------------------------------------------


@pytest.fixture
def stolen(tmp_path, monkeypatch):
    """A folder that holds a file for each of the next runs that lose their counters for a while."""
    folder = tmp_path / "stolen"
    folder.mkdir()
    monkeypatch.setenv("FAKE_STOLEN", str(folder))

    def steal(times):
        for i in range(times):
            (folder / str(i)).touch()

    return steal


def test_an_unmultiplexed_run_that_left_its_counter_is_repeated(fake_perf, tmp_path, stolen):
    stolen(2)
    make(tmp_path, ocoe_plans())
    (meta,) = runs(tmp_path).values()
    assert meta["rejected"] == ["one was on its counter only 87 % of an interval"] * 2
    assert b",87.00," not in archive.read_raw(tmp_path / "sleepy", "ocoe-p0-00")


def test_after_as_many_attempts_as_allowed_the_reason_is_told(fake_perf, tmp_path, stolen):
    stolen(3)
    with pytest.raises(
        record.RecordError, match="thrown away 3 times, the last time because one was on .* 87 %"
    ):
        make(tmp_path, ocoe_plans())
    assert runs(tmp_path) == {} and leftovers(tmp_path) == []
    assert len(make(tmp_path, ocoe_plans())) == 1


def test_a_multiplexed_run_is_kept_whatever_its_shares(fake_perf, tmp_path, stolen):
    stolen(1)
    make(tmp_path, make_plans("mlpx", ["one", "two", "three", "four"], 5, per_run=4, interval_ms=20))
    (meta,) = runs(tmp_path).values()
    assert meta["rejected"] == []


def frame_of(rows):
    """Rows of (time, event, count or None, running %)."""
    return perf.parse_stat(
        "".join(
            f"{at:.9f},{'<not counted>' if count is None else count},,{event},1000,{share:.2f},,\n"
            for at, event, count, share in rows
        )
    )


PLAN = Plan("ocoe", "ocoe", 0, ("instructions", "cycles"), (("miss",),), 100)


def interval(at, instructions, miss, share=100.0):
    return [
        (at, "instructions:uD", instructions, 100.0),
        (at, "cycles:uD", instructions, 100.0),
        (at, "miss", miss, share),
    ]


def test_intervals_in_which_nothing_ran_are_legal():
    good = [row for i in range(1, 20) for row in interval(i / 10, 1000, 5)]
    assert (
        record.validate_run(frame_of([*good, *interval(2.0, None, None), *interval(2.05, None, None)]), PLAN)
        == ""
    )


def test_counts_that_are_missing_while_the_program_ran_are_not():
    good = [row for i in range(1, 20) for row in interval(i / 10, 1000, 5)]
    reason = record.validate_run(frame_of([*good, *interval(2.0, 1000, None)]), PLAN)
    assert reason == "some events were not counted in intervals with 5 % of instructions"
    assert record.validate_run(frame_of([*good, *interval(2.0, 10, None)]), PLAN) == ""


def test_the_recordings_there_are_would_all_be_accepted():
    for run, meta in record.existing_runs(ROOT / "data/recordings/kmeans").items():
        groups = tuple(tuple(group) for group in meta["groups"])
        plan = Plan(
            meta["set"], meta["mode"], meta["part"], tuple(meta["pinned"]), groups, meta["interval_ms"]
        )
        raw = archive.read_raw(ROOT / "data/recordings/kmeans", run)
        assert record.validate_run(perf.parse_stat(raw.decode()), plan) == ""


# --- killed -----------------------------------------------------------------


KILLED_AT_RANDOM = """
import os, random, signal, sys, time
from pathlib import Path
root, folder, seed, *command = sys.argv[1:]
sys.path.insert(0, root)
import tqdm
tqdm.tqdm.monitor_interval = 0
from cmlib.collect import machine
from cmlib.io import perf
from cmlib.collect.record import validate_run
from cmlib.io.archive import programs as archive
from tests.processes import processes
from tests.soft_recordings import make, runs, software_plans
folder, random = Path(folder), random.Random(int(seed))
for _ in range(6):
    recorder = os.fork()
    if not recorder:
        make(folder, passes=6, command=command)
        os._exit(0)
    time.sleep(random.uniform(0.0, 0.7))
    os.kill(recorder, signal.SIGKILL)
    os.waitpid(recorder, 0)
    with machine.counters_lock("check", wait=True):
        assert processes("0.0987652") == [], "an orphan is running while the lock is free"
    for run, meta in runs(folder).items():
        raw = archive.read_raw(folder / "sleepy", run)
        assert validate_run(perf.parse_stat(raw.decode()), software_plans()[meta["part"]]) == ""
"""


@pytest.mark.slow
def test_killed_at_any_moment_it_loses_at_most_the_run_in_progress(best_perf, tmp_path):
    program = ["sh", "-c", "sleep 0.0987652 & ls /proc >/dev/null; wait"]
    command = [sys.executable, "-c", KILLED_AT_RANDOM, str(ROOT), str(tmp_path), "7", *program]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    survived = runs(tmp_path)
    made = make(tmp_path, passes=6, command=program)
    assert {*survived, *(file.stem for file in made)} == {
        f"soft-p{i}-0{part}" for i in range(6) for part in (0, 1)
    }
    assert len(survived) + len(made) == 12 and leftovers(tmp_path) == []


def test_a_command_inherits_neither_open_files_nor_ignored_signals(tmp_path):
    command = ["sh", "-c", "grep SigIgn /proc/self/status; ls /proc/self/fd; exit 3"]
    with (
        open(tmp_path / "lock", "w") as lock,
        run_supervised(command, lock=lock.fileno(), stdout=subprocess.PIPE, text=True) as process,
    ):
        _, ignored, *descriptors = process.stdout.read().split()
        assert process.wait() == 3
    assert not int(ignored, 16) & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1)
    assert descriptors == ["0", "1", "2", "3"]  # the last is the folder that is listed


RECORDS_LONG = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.soft_recordings import make
make(Path(sys.argv[2]), command=["sh", "-c", "setsid sh -c 'sleep 98.7653; :' & sleep 98.7653"])
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_whatever_ends_the_recorder_ends_the_whole_tree_below_it(best_perf, tmp_path, number):
    command = [sys.executable, "-c", RECORDS_LONG, str(ROOT), str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as recorder:
        assert wait_until(lambda: len(processes("98.7653")) >= 5)
        recorder.send_signal(number)
        recorder.wait()
        assert wait_until(lambda: not processes("98.7653"))
    assert runs(tmp_path) == {}
    if number == signal.SIGINT:
        assert leftovers(tmp_path) == []
