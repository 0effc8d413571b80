"""Temporary folders go with whoever made them, or with the next process if that one was killed."""

import os
import subprocess
import sys

import pytest

from cmlib.report.kernels import set_ipython_folder
from cmlib.scratch import lasting_folder

# Makes temporary folders as an argument says, prints their paths, and waits.
MAKER = """
import sys
from cmlib.scratch import lasting_folder, scratch_folder
with scratch_folder() as folder:
    (folder / "file").write_text("content")
    (lasting_folder() / "file").write_text("content")
    print("made", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def start(tmp_path):
    """A function that starts a process with temporary folders in `tmp_path`."""
    started = []

    def start():
        environment = os.environ | {"TMPDIR": str(tmp_path)}
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        process = subprocess.Popen([sys.executable, "-c", MAKER], env=environment, **streams)
        started.append(process)
        assert process.stdout.readline() == "made\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def end(process):
    process.stdin.close()
    assert process.wait() == 0


def test_temporary_folders_are_removed_at_the_end(start, tmp_path):
    process = start()
    assert len(list(tmp_path.glob("*/file"))) == 2
    end(process)
    assert os.listdir(tmp_path) == []


def test_what_a_killed_process_left_is_removed_by_the_next_and_a_living_ones_is_not(start, tmp_path):
    living, killed = start(), start()
    (tmp_path / "cmlib-of-somebody-else").mkdir()
    (tmp_path / "cmlib-01234567").symlink_to(tmp_path)
    killed.kill()
    killed.wait()
    assert len(list(tmp_path.glob("cmlib-????????/file"))) == 4
    end(start())
    assert len(list(tmp_path.glob("cmlib-????????/file"))) == 2
    end(living)
    assert sorted(os.listdir(tmp_path)) == ["cmlib-01234567", "cmlib-of-somebody-else"]


def test_ipython_gets_a_folder_that_is_removed_where_the_home_cannot_be_written(tmp_path, monkeypatch):
    """IPython would otherwise make three folders in each run of a notebook, and leave them."""
    monkeypatch.delenv("IPYTHONDIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    set_ipython_folder()
    assert "IPYTHONDIR" not in os.environ
    monkeypatch.setenv("IPYTHONDIR", "restored at the end")
    monkeypatch.delenv("IPYTHONDIR")
    monkeypatch.setenv("HOME", str(tmp_path / "absent"))
    set_ipython_folder()
    assert os.environ["IPYTHONDIR"] == str(lasting_folder())
