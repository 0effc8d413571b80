"""Which command starts an interpreter without its script."""

import subprocess
import sys

import pytest

from cmlib.compare.interpreters import remove_script


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
    command = remove_script([word.replace("SCRIPT", str(script)) for word in words.split(" ")], empty)
    if expected is None:
        assert command is None
    else:
        assert command == [word.replace("EMPTY", str(empty)) for word in expected.split(" ")]
        assert subprocess.run(command, check=True, capture_output=True).stdout == b""


def test_a_script_on_the_path_is_found(tmp_path, monkeypatch):
    script = tmp_path / "tool"
    script.write_text(f"#!{sys.executable} -I\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert remove_script(["tool", "list"], "EMPTY") == [sys.executable, "-I", "EMPTY"]
