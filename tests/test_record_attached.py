"""What runs already is recorded as it is: processes, a cgroup, the whole system; and stays as it is."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from cmlib.cli import main
from cmlib.collect import machine, record
from cmlib.collect.machine.lock import counters_lock
from cmlib.collect.record import attached
from cmlib.collect.record import attached as running
from cmlib.io import store
from cmlib.io.archive.programs import read_raw
from cmlib_workloads.server import Server
from tests.processes import processes, wait_until

ROOT = Path(__file__).parents[1]
BUSY = "sh", "-c", "while :; do ls / >/dev/null; done"
QUICK = record.Request(
    events="page-faults,context-switches", pinned=("task-clock",), interval_ms=50, set_name="software"
)


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    return tmp_path / "recordings"


@pytest.fixture(scope="module")
def memcached(tmp_path_factory):
    """A memcached under load: its process, and a function that asks it something."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["memcached", "-l", "127.0.0.1", "-p", port, "-U", "0", "-t", "2"]
    command += ["-u", "root"] if os.geteuid() == 0 else []
    over = threading.Event()
    with Server("memcached", command, tmp_path_factory.mktemp("served") / "log", port=port) as server:
        load = threading.Thread(target=keep_asking, args=(port, over))
        load.start()
        yield server.pids[0], lambda: asked(port)
        over.set()
        load.join()


def keep_asking(port, over):
    with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
        while not over.is_set():
            ask(connection)
            time.sleep(0.001)


def asked(port):
    with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
        return ask(connection)


def ask(connection):
    connection.sendall(b"set key 0 0 5\r\nvalue\r\nget key\r\n")
    answer = b""
    while not answer.endswith(b"END\r\n"):
        answer += connection.recv(4096)
    return answer


@contextlib.contextmanager
def service(*command):
    """A process that is there for the length of a ``with``."""
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def once_counted(data, action, n_bytes=300):
    """Do something as soon as perf has written some intervals."""

    def wait():
        wait_until(lambda: any(file.stat().st_size > n_bytes for file in data.glob("*/*.partial/perf.csv")))
        action()

    waiting = threading.Thread(target=wait)
    waiting.start()
    yield
    waiting.join()


def cmlib(*arguments):
    return CliRunner().invoke(main, ["record", *map(str, arguments)])


def counting(running, **options):
    return record.record_attached("live", running, QUICK, **{"notify": lambda text: None} | options)


def metadata(data, name="live"):
    return record.existing_runs(data / name)


@pytest.mark.needs("memcached", "perf")
def test_a_service_under_load_is_counted_and_goes_on_answering(memcached, data, tmp_path, monkeypatch):
    pid, answer = memcached
    none = machine.Census(0, 0, complaint="branches:u was not counted")
    monkeypatch.setattr(machine, "census", lambda: none)
    for _ in range(2):
        done = cmlib("live", "--pid", pid, "--seconds", 0.5)
        assert done.exit_code == 0, done.output
        assert "run live -p program=live" in done.stdout and f"memcached (process {pid})" in done.stderr
    runs = metadata(data)
    assert list(runs) == ["software-p0-00", "software-p1-00"]
    meta = runs["software-p1-00"]
    assert (meta["mode"], meta["command"], meta["exit_code"]) == ("ocoe", "memcached (running)", None)
    (process,) = meta["attached"]["processes"]
    assert process["pid"] == pid and process["name"] == "memcached" and process["threads"] > 2
    assert (meta["attached"]["seconds"], meta["attached"]["ended"]) == (0.5, "time")
    assert meta["duration_s"] > 0.4  # however late it is asked
    assert set(meta["attached"]) == {"processes", "seconds", "ended"}
    store.rebuild(data, url := f"sqlite:///{tmp_path}/store.db")
    counts = store.load(url, "live/software-p1-00").counts
    assert len(counts) >= 2 and counts["task-clock"].sum() > 0 and counts["context-switches"].sum() > 0
    assert answer() == b"STORED\r\nVALUE key 0 5\r\nvalue\r\nEND\r\n" and Path(f"/proc/{pid}").exists()


@pytest.mark.needs("memcached", "perf")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=str)
def test_a_signal_ends_the_recording_and_keeps_it(memcached, data, number):
    pid, answer = memcached
    before, said = signal.getsignal(number), []
    with once_counted(data, lambda: os.kill(os.getpid(), number)):
        counting(running.processes([pid]), seconds=60, notify=said.append)
    (meta,) = metadata(data).values()
    assert meta["attached"]["ended"] == "stopped" and 0 < meta["duration_s"] < 60
    assert said[-1] == f"stopped after {meta['duration_s']:.1f} s: what was counted until then is kept"
    assert signal.getsignal(number) == before and answer().endswith(b"END\r\n")
    assert not processes(f"-p {pid}".replace(" ", "\0"))


@pytest.mark.needs("perf")
def test_what_was_counted_until_the_process_ended_is_kept(data):
    said = []
    with (
        service(*BUSY) as ending,
        service(*BUSY) as first,
        once_counted(data, first.kill),
        once_counted(data, ending.kill, n_bytes=600),
    ):
        counting(running.processes([ending.pid, first.pid]), seconds=60, notify=said.append)
    (meta,) = metadata(data).values()
    assert meta["attached"]["ended"] == "process" and 0 < meta["duration_s"] < 60
    assert f"sh (process {ending.pid}, {first.pid}) ended after" in said[-1]


KILLED = """
import sys
sys.path.insert(0, sys.argv[1])
from tests import test_record_attached as t
t.counting(t.running.processes([int(sys.argv[2])]), seconds=60)
"""


@pytest.mark.slow
@pytest.mark.needs("perf")
def test_killed_it_leaves_no_perf_and_a_service_that_goes_on(data):
    with service("sleep", "97.3") as asleep:
        command = [sys.executable, "-c", KILLED, str(ROOT), str(asleep.pid)]
        with service(*command) as recorder:
            perf = f"-p\0{asleep.pid}"
            assert wait_until(lambda: len(processes(perf)) == 2)  # its supervisor, and perf
            recorder.kill()
        assert wait_until(lambda: not processes(perf))
        assert asleep.poll() is None
    with counters_lock("another", wait=True):  # it ends only when the last of them has let go
        assert metadata(data) == {}


def test_events_that_do_not_fit_take_turns_and_one_is_counted_twice(fake_perf, data):
    how = ["--events", ",".join(f"r{i:02x}" for i in range(12)), "--interval-ms", 20]
    done = cmlib("live", "--system", "--seconds", 0.1, *how)
    assert done.exit_code == 0, done.output
    (meta,) = metadata(data).values()
    assert (meta["run"], meta["mode"]) == ("mlpx12-p0-00", "mlpx")
    assert list(map(len, meta["groups"])) == [3, 3, 3, 3, 1] and meta["groups"][-1] == ["r03#2"]
    assert meta["attached"] == {"system": True, "seconds": 0.1, "ended": "time"}
    assert meta["command"] == "whole system (running)"
    done = cmlib("live", "--system", "--seconds", 0.1, "--events", "r01,r02")
    assert done.exit_code == 0 and list(metadata(data)) == ["mlpx12-p0-00", "ocoe-p0-00"]


def test_a_cgroup_is_counted_by_the_path_that_was_given(fake_perf, data, tmp_path, monkeypatch):
    known = fake_cgroups(tmp_path)
    found = running.cgroup("system.slice/cache.service", root=tmp_path)
    assert found.options == ("-a", "-G", "/system.slice/cache.service")
    assert running.cgroup(str(known), root=tmp_path).options == found.options
    record.record_attached("live", found, record.Request(events="r01,r02"), seconds=0.1)
    (meta,) = metadata(data).values()
    assert meta["attached"]["cgroup"] == "system.slice/cache.service"
    assert read_raw(data / "live", "ocoe-p0-00").count(b",/system.slice/cache.service,") > 3
    store.rebuild(data, url := f"sqlite:///{tmp_path}/store.db")
    assert list(store.load(url, "live/ocoe-p0-00").counts) == ["instructions", "cycles", "r01", "r02"]


def test_cgroups_that_are_not_there_are_told(tmp_path):
    fake_cgroups(tmp_path)
    for wrong in ("system.slice/cache.servic", "a,b"):
        with pytest.raises(record.RecordError, match=f"no cgroup '{wrong}' under .*unified"):
            running.cgroup(wrong, root=tmp_path)
    (tmp_path / "proc/mounts").write_text("proc /proc proc rw 0 0\n")
    with pytest.raises(record.RecordError, match="under a mount of cgroup2"):
        running.cgroup("system.slice", root=tmp_path)


def fake_cgroups(folder):
    known = folder / "unified/system.slice/cache.service"
    known.mkdir(parents=True)
    (folder / "proc").mkdir()
    (folder / "proc/mounts").write_text(f"cgroup2 {folder}/unified cgroup2 rw 0 0\n")
    return known


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--pid", "999999999"], "there is no process 999999999: `pgrep -a NAME`"),
        (["--pid", "memcached"], "--pid takes comma-separated process numbers"),
        (["--pid", "1", "--system"], "give only one of them"),
        (["--pid", "1", "--seconds", "0"], "'--seconds': 0.0 is not in the range"),
        (["--system", "--seconds", "inf"], "'--seconds': inf is not in the range"),
        (["--seconds", "3", "--", "ls"], "It is valid with --pid, --cgroup and --system"),
        (["--pid", "1", "--", "ls"], "Do not give a command"),
        (["--pid", "1", "--runs", "3"], "--runs is not valid with --pid"),
        (["--pid", "1", "--samples"], "--samples are two ways"),
        (["--system", "--events", "all"], "one run, which can't hold all events"),
        (["--cgroup", "no/such", "--seconds", "1"], "cgroup"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(data, arguments, told):
    done = cmlib("live", *arguments)
    assert done.exit_code == 2 and told in done.stderr and "Traceback" not in done.output
    assert not data.exists()


def test_what_perf_refuses_is_told_in_its_words_and_with_what_helps(fake_perf, data, monkeypatch):
    monkeypatch.setenv(
        "FAKE_REFUSES", "Error:\nAccess to performance monitoring operations is limited.\n\n Usage: x"
    )
    monkeypatch.setattr(machine, "census", lambda: machine.Census(6, 5))
    done = cmlib("live", "--pid", os.getpid(), "--events", "r01")
    assert done.exit_code == 2 and not list(data.glob("*/*"))
    assert "monitoring operations is limited.\n`cmlib doctor` lists" in done.stderr
    assert "CAP_PERFMON" in done.stderr and "Usage" not in done.stderr


@pytest.mark.needs("perf")
def test_what_slept_all_the_time_or_too_short_is_no_run(data):
    with service("sleep", "97.4") as sleeping:
        asleep = running.processes([sleeping.pid])
        with pytest.raises(record.RecordError, match=r"sleep \(process \d+\) did nothing in \d+\.\d s"):
            counting(asleep, seconds=0.1)
        long = record.Request(events="page-faults", pinned=(), interval_ms=5000)
        with (
            once_counted(data, sleeping.kill, n_bytes=-1),
            pytest.raises(record.RecordError, match="ended before the first interval"),
        ):
            record.record_attached("live", asleep, long)
    assert not list(data.glob("*/*"))


def test_another_service_under_the_same_name_is_refused_before_it_is_counted(fake_perf, data):
    request = record.Request(events="r01", interval_ms=20)
    record.record_attached("live", running.system(), request, seconds=0.1)
    with pytest.raises(
        record.RecordError, match=r"another command: .*whole system.* there, .*\(running\).* now"
    ):
        record.record_attached("live", running.processes([os.getpid()]), request, seconds=60)


@pytest.mark.needs("perf")
def test_perf_that_is_refused_once_is_asked_again(data, tmp_path, monkeypatch):
    """Linux answered "No such device" for one event while the service started a program, in one of twelve tries."""
    tried, real = tmp_path / "tried", shutil.which("perf")
    script = tmp_path / "bin/perf"
    script.parent.mkdir()
    script.write_text(
        f"""#!/bin/sh
case "$*" in
  *" -p "*) echo >> {tried}; [ $(wc -l < {tried}) -gt 1 ] || {{ echo "No such device" >&2; exit 255; }} ;;
esac
exec {real} "$@"
"""
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
    with service(*BUSY) as process:
        made = attached.record_attached("app", running.processes([process.pid]), QUICK, seconds=0.3)
    assert made.exists() and len(tried.read_text().splitlines()) == 2
