"""What is recorded is listed and removed; how the command line behaves at its edges."""

import os
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from cmlib.cli import main
from tests import small_runs


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    for name in ("alpha", "beta"):
        small_runs.add_run(tmp_path / "recordings", name, "ocoe", 0, 0, [("x", 3.0), ("y", None)])
    (tmp_path / "results/live/alpha").mkdir(parents=True)
    return tmp_path


def test_recordings_are_listed_and_removed_with_their_report(home):
    run = CliRunner().invoke
    listed = run(main, ["list"]).stdout
    assert [line.split()[0] for line in listed.splitlines()] == ["alpha", "beta"] and "ocoe" in listed
    assert " 1 run " in listed and " 2 events " in listed and " bytes " in listed
    assert run(main, ["remove", "alpha"], input="n\n").exit_code == 2 and (home / "recordings/alpha").is_dir()
    done = run(main, ["remove", "alpha", "--yes"])
    assert done.exit_code == 0 and done.stderr.count("removed ") == 2
    assert not (home / "recordings/alpha").exists() and not (home / "results/live/alpha").exists()
    assert (home / "recordings/beta").is_dir()


@pytest.mark.parametrize("name", ["gamma", "..", "", "../recordings/beta"])
def test_what_is_no_program_is_not_removed(home, name):
    done = CliRunner().invoke(main, ["remove", name, "--yes"])
    assert done.exit_code == 2 and "is recorded under" in done.output
    assert (home / "recordings/beta").is_dir()


def test_a_program_whose_folder_is_a_link_is_refused(home):
    (home / "recordings/linked").symlink_to(home / "recordings/beta")
    done = CliRunner().invoke(main, ["remove", "linked", "--yes"])
    assert done.exit_code == 2 and f"is a link to {home / 'recordings/beta'}" in done.stderr
    assert any((home / "recordings/linked").iterdir())


def python(*arguments, **variables):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=os.environ | variables
    )


def test_the_shell_completes_programs_and_profiles(home):
    words = {"_CMLIB_COMPLETE": "bash_complete", "COMP_CWORD": "2", "COMP_WORDS": "cmlib remove a"}
    done = python("-m", "cmlib", **words)
    assert done.stdout.split() == ["plain,alpha"], done.stderr


@pytest.mark.parametrize(
    ("line", "word", "is_there"),
    [("run l", "live", True), ("fetch clo", "cloudsuite", True), ("fetch l", "licence", False)],
)
def test_words_that_complete_a_line(line, word, is_there):
    command, beginning = line.split()
    completions = ShellComplete(main, {}, "cmlib", "_CMLIB_COMPLETE").get_completions([command], beginning)
    assert (word in [item.value for item in completions]) == is_there


def test_a_closed_pipe_is_silent(home):
    line = f"set -o pipefail; {sys.executable} -m cmlib list 2>errors | true"
    subprocess.run(["bash", "-c", line], cwd=home, timeout=300)
    assert (home / "errors").read_text() == ""


def test_no_color_is_heeded():
    setting = "from cmlib.cli import main; print(main.context_settings['color'])"
    assert python("-c", setting, NO_COLOR="1").stdout.split() == ["False"]
