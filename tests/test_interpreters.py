"""Which command starts an interpreter without its script."""

import subprocess
import sys

import pytest

from cmlib.compare.interpreters import replace_script


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("python3 -O SCRIPT input", "python3 -O EMPTY"),
        ("bash -c true", "bash -c "),
        ("bash -e SCRIPT input", "bash -e EMPTY"),
        ("perl -w -e 1", "perl -w -e "),
        ("SCRIPT input", f"{sys.executable} -I EMPTY"),
        ("python3 -m json.tool", None),
        ("python3 no-such-file", None),
        ("cat SCRIPT", None),
    ],
)
def test_the_script_is_an_empty_file_and_options_stay(tmp_path, words, expected):
    script, empty = tmp_path / "script", tmp_path / "empty"
    script.write_text(f"#!{sys.executable} -I\nprint(1)\n")
    script.chmod(0o755)
    empty.touch()
    command = replace_script([word.replace("SCRIPT", str(script)) for word in words.split(" ")], empty)
    if expected is None:
        assert command is None
    else:
        assert command == [word.replace("EMPTY", str(empty)) for word in expected.split(" ")]
        assert subprocess.run(command, check=True, capture_output=True).stdout == b""


@pytest.mark.parametrize("options", ["-S {python} -I", "{python}"])
def test_env_is_not_the_interpreter(tmp_path, options):
    script = tmp_path / "script"
    line = options.format(python=sys.executable)
    script.write_text(f"#!/usr/bin/env {line}\nprint(1)\n")
    script.chmod(0o755)
    assert subprocess.run([script], check=True, capture_output=True).stdout == b"1\n"
    assert replace_script([str(script)], "EMPTY") == [*line.removeprefix("-S ").split(" "), "EMPTY"]


def test_a_module_is_no_script_even_if_a_file_has_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tool").touch()
    assert replace_script(["python3", "-m", "tool"], "EMPTY") is None
    assert replace_script(["bash", "-m", "tool"], "EMPTY") == ["bash", "-m", "EMPTY"]


def test_a_missing_program_is_an_error():
    with pytest.raises(FileNotFoundError):
        replace_script(["no-such-program", "input"], "EMPTY")


def test_a_script_on_the_path_is_found(tmp_path, monkeypatch):
    script = tmp_path / "tool"
    script.write_text(f"#!{sys.executable} -I\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert replace_script(["tool", "list"], "EMPTY") == [sys.executable, "-I", "EMPTY"]
