"""Nothing that is printed gives orders to the terminal, wherever its text comes from."""

import ast
import io
import json
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from cmlib.cli import main
from cmlib.io.archive import readable
from cmlib.shell import spell_calls
from cmlib.terminal import abridged, printable, progress_bar, say, say_json
from tests.small_runs import add_run

CMLIB = Path(__file__).parent.parent / "cmlib"
ORDERS = "\x1b]0;x\x07\x9b2J\u202e\r"


@given(st.text(st.characters(exclude_categories=())))
def test_what_is_printed_has_no_control_characters_and_json_stays_what_it_was(text):
    shown = printable(text)
    assert all(char.isprintable() or char in "\n\t" for char in shown if ord(char) < 0x300)
    assert json.loads(printable(json.dumps(text, ensure_ascii=False))) == text
    assert printable(shown) == shown and (shown == text or not text.isprintable())


@pytest.mark.parametrize(
    "arguments", [["list"], ["store", "rebuild"], ["summarize", "bad"], ["import", ORDERS, "x"]]
)
def test_commands_escape_what_notes_folders_and_metadata_hold(tmp_path, monkeypatch, arguments):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    folder = tmp_path / "recordings"
    add_run(folder, "good", "ocoe", 0, 0, [("x", 1.0)])
    add_run(folder, "bad", "ocoe", 0, 0, [("x", 1.0)], note=ORDERS, command=ORDERS, mode=ORDERS)
    (folder / f"a{ORDERS}\nleft out: good").mkdir()
    (folder / f"a{ORDERS}\nleft out: good" / "ocoe-p0-00.json").write_text("{}")
    done = CliRunner().invoke(main, arguments)
    assert done.output and not set("\x1b\x07\x9b\u202e") & set(done.output)
    assert "\nleft out: good" not in done.output


def test_one_function_prints():
    for file in CMLIB.rglob("*.py"):
        if file.name == "terminal.py" or "experiments" in file.parts:  # notebooks' output
            continue
        text = file.read_text(encoding="utf-8")
        if not re.search("print|echo|secho|tqdm", text):  # most files, which need not be parsed
            continue
        for node in ast.walk(ast.parse(text)):
            called = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""
            assert called not in ("print", "click.echo", "click.secho", "tqdm.write"), f"{file}:{node.lineno}"


def test_of_thousands_of_broken_files_few_are_named_and_all_counted(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    folder = tmp_path / "recordings"
    for number in range(1100):
        (folder / f"p{number:04}").mkdir(parents=True)
        (folder / f"p{number:04}" / "ocoe-p0-00.json").write_text("{}")
    add_run(folder, "good", "ocoe", 0, 0, [("x", 1.0)])
    for arguments in (["list"], ["store", "rebuild"]):
        done = CliRunner().invoke(main, arguments)
        told = [line for line in done.stderr.splitlines() if line.startswith("left out: ")]
        assert len(told) == 21 and "p0000" in told[0] and "1,080 more" in told[-1], told
        assert "good" in done.stdout or "1 run in the store" in done.stdout
    readable(Path.read_bytes, [tmp_path / str(number) for number in range(21)])
    assert capsys.readouterr().err.count("\n") == 21


def test_a_message_about_thousands_of_names_has_its_beginning_and_its_end():
    assert abridged("x" * 4000) == "x" * 4000
    assert len(short := abridged("Error: " + "name, " * 10_000 + "rename them.")) < 4100
    assert short.startswith("Error: name, ") and short.endswith("rename them.")


class Terminal(io.StringIO):
    """A stream that calls itself a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize(("stream", "shown"), [(Terminal(), True), (io.StringIO(), False)])
def test_a_progress_bar_is_written_to_a_terminal_and_not_to_a_log(stream, shown):
    for _ in progress_bar(range(3), desc="busy", file=stream, mininterval=0):
        pass
    assert ("busy" in stream.getvalue()) == shown


def test_a_command_without_a_terminal_writes_no_progress_bar(tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    add_run(tmp_path / "recordings", "good", "ocoe", 0, 0, [("x", 1.0)])
    done = CliRunner().invoke(main, ["store", "rebuild"])
    assert done.exit_code == 0 and done.stderr == ""


def test_progress_bars_are_made_in_one_place():
    """Otherwise one of them is written to logs again."""
    makers = {
        file.name
        for file in CMLIB.rglob("*.py")
        if "tqdm" in (text := file.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tqdm")
    }
    assert makers == {"terminal.py"}


def test_calls_are_printed_as_they_can_be_typed_where_the_environment_is_not_activated(monkeypatch, capsys):
    commands = main.list_commands(click.Context(main))
    text = "cmlib has these: " + ", ".join(f"`cmlib {name}`" for name in commands)
    monkeypatch.setenv("PATH", "")
    assert spell_calls(text) == text  # pytest was not started by the name of cmlib
    monkeypatch.setattr("sys.argv", ["my env/bin/cmlib", "run"])
    say(text)
    said = capsys.readouterr().out
    assert said.count("`'my env/bin/cmlib' ") == len(commands) and said.startswith("cmlib has these: ")
    say_json('{"command": "cmlib run live"}')
    assert capsys.readouterr().out == '{"command": "cmlib run live"}\n'


def test_an_activated_environment_needs_no_path(monkeypatch, tmp_path):
    (tmp_path / "cmlib").write_text("#!/bin/sh\n")
    (tmp_path / "cmlib").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["other/cmlib"])
    assert spell_calls("cmlib run live") == "cmlib run live"
