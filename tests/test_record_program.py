"""Programs that are got ready for every run: what is counted of them, and what is told when they fail."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from cmlib.collect import record
from cmlib.collect.record import LaunchSpec, Program
from cmlib.collect.schedule import make_plans
from cmlib.io import perf
from cmlib.io.archive import programs as archive
from cmlib_workloads.server import Server, ServerError
from tests.processes import processes, wait_until

TOUCH = "import time, mmap\nwhile True: mmap.mmap(-1, 1 << 22).write(b'x' * (1 << 22)); time.sleep(0.002)"
PLANS = make_plans("mlpx", ["page-faults"], 0, set_name="soft", pinned=("task-clock",), interval_ms=20)


def make(folder, program, *, passes=1):
    encodings, counters = {"page-faults": "page-faults"}, {"offered": 0, "good": 0}
    options = {"encodings": encodings, "counters": counters, "folder": folder, "passes": passes}
    return record.record("app", program, PLANS, **options)


def counts(folder, run="soft-p0-00"):
    raw = archive.read_raw(folder / "app", run)
    return perf.series(perf.parse_stat(raw.decode()))[0]


@contextmanager
def busy_server(log, command):
    """A process that keeps touching new pages, and a load that is `command`."""
    with Server("toucher", [sys.executable, "-c", TOUCH], log) as server:
        yield LaunchSpec(command, server.pids)


@pytest.mark.needs("perf")
def test_servers_are_counted_and_the_load_is_not(tmp_path):
    served = Program("served", lambda: busy_server(tmp_path / "log", ["sleep", "0.3"]))
    make(tmp_path / "one", served)
    made_by_server = counts(tmp_path / "one")["page-faults"].sum()

    loading = [sys.executable, "-c", TOUCH.replace("True", "time.monotonic() < end").replace(
        "\n", "\nend = time.monotonic() + 0.3\n", 1
    )]  # fmt: skip
    asleep = Program("asleep", lambda: idle_server(tmp_path / "log", loading))
    make(tmp_path / "two", asleep)
    assert counts(tmp_path / "two")["page-faults"].sum() < made_by_server / 10


@contextmanager
def idle_server(log, command):
    with Server("sleeper", ["sleep", "600"], log) as server:
        yield LaunchSpec(command, server.pids)


def test_a_program_is_got_ready_and_stopped_for_every_run(any_perf, tmp_path):
    happened = []

    @contextmanager
    def prepare():
        happened.append("ready")
        yield LaunchSpec(["sh", "-c", 'test "$MINE" = yes && sleep 0.05'], environment={"MINE": "yes"})
        happened.append("stopped")

    make(tmp_path, Program("as noted", prepare), passes=2)
    assert happened == ["ready", "stopped"] * 2
    assert {meta["command"] for meta in record.existing_runs(tmp_path / "app").values()} == {"as noted"}
    assert make(tmp_path, Program("as noted", prepare), passes=2) == []
    with pytest.raises(record.RecordError, match="another command"):
        make(tmp_path, Program("noted otherwise", prepare), passes=3)


def test_a_program_that_is_not_ready_leaves_no_run(any_perf, tmp_path):
    @contextmanager
    def prepare():
        raise ServerError("port 1 is taken")
        yield

    with pytest.raises(ServerError, match="port 1 is taken"):
        make(tmp_path, Program("never", prepare))
    assert not (tmp_path / "app").exists()


def test_a_load_that_fails_is_told_by_what_is_noted(any_perf, tmp_path):
    failing = Program("noted", lambda: idle_server(tmp_path / "log", ["sh", "-c", "echo why >&2; exit 3"]))
    with pytest.raises(record.RecordError, match=r"`noted` failed with exit code 3(.|\n)*why"):
        make(tmp_path, failing)


@pytest.mark.parametrize("code", [0, 1])
def test_a_server_that_dies_is_told_with_its_last_lines_whatever_its_load_says(any_perf, tmp_path, code):
    @contextmanager
    def prepare():
        command = ["sh", "-c", "echo out of memory; exec sleep 600"]
        with Server("the cache", command, tmp_path / "log") as server:
            kill = f"sleep 0.05; kill -9 {server.pids[0]}; sleep 0.1; exit {code}"
            yield LaunchSpec(["sh", "-c", kill], server.pids)

    with pytest.raises(
        ServerError, match=r"the cache died with exit code 137 while it was used(.|\n)*of memory"
    ):
        make(tmp_path, Program("cache", prepare))
    assert record.existing_runs(tmp_path / "app") == {}


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests import test_record_program as t
folder = Path(sys.argv[2])
t.make(folder, t.Program("x", lambda: t.idle_server(folder / "log", ["sh", "-c", "echo up >load; sleep 99.1"])))
"""


@pytest.mark.slow
def test_killed_it_leaves_neither_server_nor_load(best_perf, tmp_path):
    root = Path(__file__).parents[1]
    command = [sys.executable, "-c", KILLED, str(root), str(tmp_path)]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as recorder:
        assert wait_until(lambda: (tmp_path / "load").exists() and processes("99.1"))
        below = [int(pid) for pid in children(recorder.pid)]
        recorder.send_signal(signal.SIGKILL)
        recorder.wait()
    assert len(below) == 2
    assert wait_until(
        lambda: not processes("99.1") and not any(os.path.exists(f"/proc/{pid}") for pid in below)
    )


def children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
