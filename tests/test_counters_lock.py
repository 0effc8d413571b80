"""The counters of a host are held by one at a time, whoever it is and wherever the recordings go."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from cmlib.collect import machine
from cmlib.collect.machine import lock
from cmlib.errors import CmlibError
from tests.processes import wait_until
from tests.soft_recordings import make


@pytest.fixture(autouse=True)
def locks(monkeypatch):
    """A folder of locks of its own, which the host's users share: pytest's own can be entered by one only."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o1777)
        monkeypatch.setenv("CMLIB_LOCKS", folder)
        yield Path(folder)


def test_who_holds_the_counters_is_told_and_they_are_free_afterwards():
    told = rf"cmlib record one, process {os.getpid()}, since 20"
    with (
        machine.counters_lock("cmlib record one"),
        pytest.raises(machine.CountersBusy, match=told),
        machine.counters_lock("cmlib record two"),
    ):
        pass
    with machine.counters_lock("cmlib record two") as held:
        assert os.pread(held, 100, 0).startswith(b"cmlib record two")


def test_recordings_into_different_folders_take_turns(fake_perf, tmp_path):
    with machine.counters_lock("another recording"), pytest.raises(machine.CountersBusy, match="another rec"):
        make(tmp_path / "elsewhere")
    assert len(make(tmp_path / "elsewhere")) == 2


def test_a_killed_holder_leaves_the_counters_free():
    holds = (
        "import sys; from cmlib.collect.machine.lock import counters_lock\n"
        "with counters_lock('held'): print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holds], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(machine.CountersBusy, match="held, process"), machine.counters_lock("mine"):
            pass
        holder.kill()
        holder.wait()
        with machine.counters_lock("mine") as held:
            assert held > 0


@pytest.mark.parametrize("kind", ["link", "dangling link", "hard link", "fifo", "folder"])
def test_something_else_in_the_lock_s_place_is_refused_and_left_as_it_is(tmp_path, locks, kind):
    outside, place = tmp_path / "outside", locks / "cmlib-counters"
    outside.write_text("years of work")
    put = {
        "link": lambda: place.symlink_to(outside),
        "dangling link": lambda: place.symlink_to(tmp_path / "nowhere"),
        "hard link": lambda: place.hardlink_to(outside),
        "fifo": lambda: os.mkfifo(place),
        "folder": place.mkdir,
    }
    put[kind]()
    with (
        pytest.raises(CmlibError, match="cmlib-counters.* (can't be opened|is not the lock)"),
        machine.counters_lock("mine"),
    ):
        pass
    assert outside.read_text() == "years of work" and not (tmp_path / "nowhere").exists()


def test_the_host_s_lock_is_where_all_users_may_write(monkeypatch):
    monkeypatch.delenv("CMLIB_LOCKS")
    folder = lock.lock_file().parent
    assert str(folder) in {"/run/lock", "/dev/shm", "/tmp"} and folder.stat().st_mode & 0o002


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user: run the tests as root")
def test_other_users_wait_for_the_same_lock(locks):
    with machine.counters_lock("root's"):
        pass
    assert (locks / "cmlib-counters").stat().st_mode & 0o777 == 0o666
    held = (
        "import os, sys; from cmlib.collect.machine.lock import counters_lock\n"
        "os.setuid(65534)\n"
        'with counters_lock("nobody\'s"): sys.stdin.read()'
    )
    with subprocess.Popen([sys.executable, "-c", held], stdin=subprocess.PIPE) as child:
        assert wait_until(lambda: b"nobody" in (locks / "cmlib-counters").read_bytes())
        with pytest.raises(machine.CountersBusy, match="nobody's"), machine.counters_lock("root's"):
            pass
    assert child.returncode == 0
