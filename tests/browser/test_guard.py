"""Nothing that a browser test starts outlives it, however the test ends."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from tests.browser.lab import GUARD, guarded

# A stubborn server whose stubborn kernel has a session of its own, as a kernel of Jupyter has.
STUBBORN = """
import os, pathlib, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path(sys.argv[1]).joinpath(str(os.getpid())).touch()
if len(sys.argv) == 2:
    subprocess.Popen([sys.executable, *sys.orig_argv[1:], "a kernel"], start_new_session=True)
time.sleep(60)
"""
HOLDER = "import subprocess, sys, time; subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE); time.sleep(60)"


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setenv("GRACE", "1")


def started(folder):
    """The two processes, once both have written down their numbers."""
    while len(names := os.listdir(folder)) < 2:
        time.sleep(0.05)
    return [psutil.Process(int(name)) for name in names]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_all_end_when_whoever_started_them_is_killed(tmp_path, end):
    command = [sys.executable, str(GUARD), sys.executable, "-c", STUBBORN, str(tmp_path)]
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, *command], start_new_session=True)
    processes = started(tmp_path)
    holder.send_signal(end)
    holder.wait()
    assert psutil.wait_procs(processes, timeout=300)[1] == []


def test_all_end_when_the_test_fails(tmp_path):
    command = [sys.executable, "-c", STUBBORN, str(tmp_path)]
    log = tmp_path.with_name("log.txt")
    with pytest.raises(ZeroDivisionError), guarded(command, env=os.environ, log=log) as guard:
        processes = started(tmp_path)
        1 / 0  # noqa: B018
    assert psutil.wait_procs(processes, timeout=300)[1] == []
    assert guard.returncode == 0


def test_the_guard_ends_with_its_command(tmp_path):
    with guarded(
        [sys.executable, "-c", "raise SystemExit(3)"], env=os.environ, log=tmp_path / "log"
    ) as guard:
        assert guard.wait(timeout=300) == 3
