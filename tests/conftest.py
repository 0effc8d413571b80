"""Which perf a test runs: the real one, which counts software events anywhere, or one whose faults are known."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

FAKE = Path(__file__).parent / "fake"


def perf_works():
    """Whether a real perf can count here: in a container it may not."""
    probe = ["perf", "stat", "-e", "task-clock", "true"]
    return shutil.which("perf") is not None and subprocess.run(probe, capture_output=True).returncode == 0


@pytest.fixture
def fake_perf(monkeypatch):
    """A perf whose machine offers six counters, of which the sixth lies; see tests/fake/perf."""
    monkeypatch.setenv("PATH", f"{FAKE}:{os.environ['PATH']}")


@pytest.fixture(params=["fake", "real"] if perf_works() else ["fake"])
def any_perf(request):
    """The fake one, then the real one."""
    if request.param == "fake":
        request.getfixturevalue("fake_perf")


@pytest.fixture
def best_perf(request):
    """The real one where it works."""
    if not perf_works():
        request.getfixturevalue("fake_perf")


@pytest.fixture
def no_perf(monkeypatch):
    """Nothing on the PATH."""
    monkeypatch.setenv("PATH", "/nowhere")
